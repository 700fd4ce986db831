"""One house style: Okabe and Ito's colours, distinct dashes and markers, little ink, text kept as text.

The page recolours figures for a dark screen, so that ink, muted ink, grid and paper must be these exact colours.
"""

import functools
import textwrap

import matplotlib

matplotlib.use("Agg")

from matplotlib import font_manager, ft2font  # noqa: E402

INK, MUTED, GRID, PAPER, BAND = "#20242b", "#6a7280", "#dfe3e8", "#fefefe", "#f3f5f8"
#: Okabe and Ito (2008), the yellow darkened for thin lines on white; strongest contrasts first.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00", "#5a5f69"]
DASHES = ["-", (0, (5, 1.6)), (0, (1.2, 1.3)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1.2, 1, 1.2, 1, 1.2))]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "h"]
WIDTH = 4.9          # inches: 353 points, so that text stays readable on a screen 390 pixels wide
SIZE, SMALL = 9.2, 8.4
VERDICT_COLOURS = {"MATCH": "#009e73", "TREND": "#0072b2", "ORDER-ONLY": "#e69f00", "MISMATCH": "#d55e00", "FAILED": "#20242b",
                   "DIFFERENT-HW": "#cc79a7",
                   "NOT-RUN": "#6a7280", "NO-DATA": "#6a7280", "HOLDS": "#009e73", "FAILS": "#d55e00"}
VERDICT_MARKERS = {"MATCH": "o", "TREND": "^", "ORDER-ONLY": "v", "MISMATCH": "X", "DIFFERENT-HW": "D"}

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "retable", "font.family": ["DejaVu Sans"], "font.size": SIZE,
    "text.parse_math": False, "axes.edgecolor": MUTED, "axes.labelcolor": INK, "axes.titlecolor": INK,
    "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.linewidth": 0.7, "axes.grid": False,
    "axes.facecolor": "none", "figure.facecolor": PAPER, "savefig.facecolor": PAPER, "grid.color": GRID,
    "grid.linewidth": 0.7, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": SIZE,
    "axes.titleweight": "bold", "axes.labelsize": SIZE, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL,
    "xtick.bottom": False, "ytick.left": False, "xtick.major.size": 2, "ytick.major.size": 2, "legend.frameon": False, "legend.fontsize": SMALL,
    "lines.linewidth": 1.5, "lines.markersize": 4.2, "axes.unicode_minus": True, "axes.axisbelow": True,
    "path.simplify_threshold": 0.3})


@functools.lru_cache(maxsize=None)
def _font():
    return ft2font.FT2Font(font_manager.findfont("DejaVu Sans"))


@functools.lru_cache(maxsize=8192)
def text_width(text, size=SIZE):
    """@return the width of one line of text in inches."""
    font = _font()
    font.set_size(size, 72)
    font.set_text(text, 0.0, flags=ft2font.LOAD_NO_HINTING)
    return font.get_width_height()[0] / 64 / 72


def wrap(text, inches, size=SIZE):
    """Breaks `text` so that no line is wider than `inches`, as far as words (then letters) allow."""
    text = " ".join(str(text).split()).replace(" †", "\u00a0†")
    if not text or text_width(text, size) <= inches:
        return text
    letters = max(6, int(len(text) * inches / text_width(text, size)))
    return "\n".join(textwrap.wrap(text, letters)) or text


def widest(texts, size=SIZE):
    """@return the width in inches of the widest line among `texts`."""
    return max((text_width(line, size) for text in texts for line in str(text).split("\n")), default=0.0)


def looks(groups):
    """Colour, dash and marker for several lines, given the group of each: distinct in colour and without it.

    Lines of one group (a method with several parameters) share a colour and differ in dash and marker; where every
    line is a group of its own, dashes vary along with the colours.
    """
    kinds = list(dict.fromkeys(groups))
    alone, ranks, found = len(kinds) == len(groups), {}, []
    for group in groups:
        kind, rank = kinds.index(group), ranks.get(group, 0)
        ranks[group] = rank + 1
        dash = kind // len(COLOURS) + kind if alone else rank
        found.append((COLOURS[kind % len(COLOURS)], DASHES[dash % len(DASHES)], MARKERS[(kind + 3 * rank) % len(MARKERS)]))
    return found
