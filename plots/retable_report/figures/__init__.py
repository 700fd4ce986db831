"""Draws one artifact. A kind is a function(artifact, figure) -> Drawing in a file of its own, entered in KINDS.

A function that finds nothing to draw raises Nothing with a sentence for the reader.
"""

from .agreement import draw_agreement
from .bar import draw_bar
from .curves import draw_curves
from .data import Nothing, points
from .heatmap import draw_heatmap
from .histogram import draw_histogram
from .layout import Drawing
from .line import draw_line
from .scatter import draw_scatter
from .violin import density, draw_violin

__all__ = ["KINDS", "Drawing", "Nothing", "density", "draw", "points"]

KINDS = {"violin": draw_violin, "histogram": draw_histogram, "line": draw_line, "curves": draw_curves,
         "bar": draw_bar, "heatmap": draw_heatmap, "scatter": draw_scatter, "agreement": draw_agreement}


def draw(artifact):
    """@return the Drawing of an artifact. @throws Nothing with the reason where there is nothing to draw"""
    figure = artifact.figure() or {"kind": "agreement"}
    kind = str(figure.get("kind", ""))
    if kind not in KINDS:
        raise Nothing(f"figure kind '{kind}' is not known here; known are {', '.join(sorted(KINDS))}")
    return KINDS[kind](artifact, figure)
