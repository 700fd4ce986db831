"""Histograms of samples, one panel per label."""

import math

import numpy
from matplotlib.ticker import MaxNLocator

from .. import style
from ..style import PAPER
from .axes import finish_axes, scale, with_unit
from .data import Nothing, chosen_metric, in_order, recorded_note, sample_groups
from .layout import MAX_PANELS, add_legend, panels


def edges_of(everything, log):
    """The bins that all panels share."""
    low, high = everything.min(), everything.max()
    if not high > low:
        low, high = (low / 2, high * 2) if log and low > 0 else (low - .5, high + .5)
    count = int(min(60, max(10, 2 * math.sqrt(everything.size))))
    return numpy.geomspace(low, high, count + 1) if log else numpy.linspace(low, high, count + 1)


def draw_panel(ax, figure, values, edges, log):
    counts, _ = numpy.histogram(values, bins=edges)
    ax.bar(edges[:-1], counts, width=numpy.diff(edges), align="edge", color=style.COLOURS[0], alpha=.8,
           edgecolor=PAPER, linewidth=.5)
    finish_axes(ax, "log" if log else "linear", scale(figure, "y"), list(edges), [c for c in counts if c] or [1], "y")
    ax.set_xlim(edges[0], edges[-1])
    if scale(figure, "y") == "linear":
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))


def draw_histogram(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    groups, machines = sample_groups(artifact, metric)
    log = scale(figure, "x") == "log"
    groups = {name: [v for v in values if not log or v > 0] for name, (values, _) in groups.items()}
    groups = {name: groups[name] for name in in_order(list(groups), artifact.labels()) if groups[name]}
    if not groups:
        raise Nothing("no sample" + (f" of {metric}" if metric else "") + " is there to draw")
    everything = numpy.concatenate([numpy.asarray(v, float) for v in groups.values()])
    edges = edges_of(everything, log)
    titles = list(groups) if len(groups) > 1 else [""]
    titles, dropped = titles[:MAX_PANELS], titles[MAX_PANELS:]
    note = recorded_note(machines)
    page, axs = panels(artifact, figure, titles, [], note, str(figure.get("xlabel") or with_unit(metric, unit)) + (f" (n = {everything.size})" if len(titles) == 1 else ""),
                       str(figure.get("ylabel") or "count"))
    for ax, name in zip(axs, groups):
        draw_panel(ax, figure, groups[name], edges, log)
    add_legend(page, [], [], note)
    return page.drawing(f"{len(dropped)} more panels are not drawn" if dropped else "")
