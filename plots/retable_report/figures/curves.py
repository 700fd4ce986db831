"""Curves over the histogram of the data they estimate, one panel per data set."""

import numpy
from matplotlib.lines import Line2D

from .. import style
from ..inputs import natural, number
from ..style import GRID
from .axes import finish_axes, scale
from .data import Nothing, in_order
from .layout import MAX_PANELS, add_legend, panels


def series_of(artifact):
    """{(dataset, curve, label): [(x, y)]}. @throws Nothing"""
    series = {}
    for row in artifact.curves:
        x, y = number(row.get("x")), number(row.get("y"))
        if x is not None and y is not None:
            series.setdefault((row.get("dataset", ""), row.get("curve", ""), row.get("label", "")), []).append((x, y))
    if not series:
        raise Nothing("no curve is there to draw")
    return series


def curve_names(pairs):
    several = len({curve for _, curve in pairs}) > 1
    return [f"{label}: {curve}" if several and label and curve else label or curve or "curve" for label, curve in pairs]


def draw_data(ax, histogram):
    """The histogram behind the curves. @return its heights"""
    if not histogram:
        return []
    xs, ys = zip(*histogram)
    ax.fill_between(xs, ys, step="mid", color=GRID, linewidth=0)
    ax.plot(xs, ys, drawstyle="steps-mid", color="#aab2bd", linewidth=.8)
    return list(ys)


def draw_panel(ax, figure, series, title, pairs, looks):
    histogram = next((sorted(v) for (d, c, _), v in series.items() if d == title and c == "histogram"), None)
    tops = draw_data(ax, histogram)
    for (label, curve), (colour, dash, _) in zip(pairs, looks):
        values = series.get((title, curve, label))
        if values:
            xs, ys = zip(*sorted(values))
            ax.plot(xs, ys, color=colour, linestyle=dash, linewidth=1.3)
            tops += ys
    xs = [x for (d, _, _), v in series.items() if d == title for x, _ in v]
    yscale = scale(figure, "y")
    finish_axes(ax, scale(figure, "x"), yscale, xs, tops, "y")
    if yscale == "linear" and tops:
        # One wild estimate must not press the others flat: the panel ends at thrice the data's top.
        roof = max(histogram and max(y for _, y in histogram) or 0, float(numpy.percentile(tops, 97)))
        floor = min(0, float(numpy.percentile(tops, 1)))
        if roof > 0:
            ax.set_ylim(max(floor, -roof) * 1.1, min(max(tops), roof * 1.6) * 1.05)


def draw_curves(artifact, figure):
    series = series_of(artifact)
    titles = list(dict.fromkeys(dataset for dataset, _, _ in series))
    titles, dropped = titles[:MAX_PANELS], titles[MAX_PANELS:]
    pairs = list(dict.fromkeys((label, curve) for _, curve, label in series if curve != "histogram"))
    order = in_order(list(dict.fromkeys(label for label, _ in pairs)), artifact.labels())
    pairs.sort(key=lambda pair: (order.index(pair[0]), natural(pair[1])))
    background = any(curve == "histogram" for _, curve, _ in series)
    looks = style.looks(pairs)
    names = curve_names(pairs) + (["data"] if background else [])
    page, axs = panels(artifact, figure, titles, names, "", str(figure.get("xlabel") or "x"), str(figure.get("ylabel") or "density"))
    for ax, title in zip(axs, titles):
        draw_panel(ax, figure, series, title, pairs, looks)
    handles = [Line2D([], [], color=colour, linestyle=dash) for colour, dash, _ in looks]
    handles += [Line2D([], [], color="#aab2bd", linewidth=5)] if background else []
    add_legend(page, handles, names)
    return page.drawing(f"{len(dropped)} more panels are not drawn" if dropped else "")
