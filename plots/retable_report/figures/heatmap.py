"""A map of medians: rows are methods, columns an axis or the data sets."""

import math

import numpy
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .. import style
from ..inputs import natural
from ..style import MUTED, PAPER, SMALL, WIDTH
from .axes import short, with_unit
from .data import Nothing, chosen_metric, curves_of, distinct, foot_note, in_order, points
from .layout import MAX_ROWS, Page, add_legend, foot_height


def grid_of(artifact, rows, x):
    """(names, columns, medians), not a number where there is none."""
    lines = curves_of(rows, [f for f in ["device", "dataset"] + artifact.axes() if f != x])
    order = in_order(distinct(rows, "label"), artifact.labels())
    pairs = sorted(lines, key=lambda pair: (order.index(pair[1]), natural(pair[0])))[:MAX_ROWS]
    columns = sorted(distinct(rows, x), key=natural)
    grid = numpy.full((len(pairs), len(columns)), numpy.nan)
    for i, pair in enumerate(pairs):
        for row in lines[pair]:
            grid[i, columns.index(row.get(x, ""))] = row["median"]
    return [name for name, _ in pairs], columns, grid


def write_numbers(ax, grid, shade):
    """Each cell's value, light on a dark cell."""
    for (i, j), value in numpy.ndenumerate(grid):
        dark = math.isfinite(value) and shade[i, j] < .55
        ax.text(j + .5, i + .5, short(value), ha="center", va="center", size=SMALL - .5,
                color="#ffffff" if dark else "#101010" if math.isfinite(value) else MUTED)


def draw_scale(strip, palette, low, high, log):
    strip.pcolormesh(numpy.linspace(low, high, 65), [0, 1], numpy.linspace(low, high, 64)[None, :], cmap=palette)
    strip.set_yticks([])
    strip.spines["left"].set_visible(False)
    strip.spines["bottom"].set_visible(False)
    strip.xaxis.set_major_locator(MaxNLocator(4))
    strip.xaxis.set_major_formatter(FuncFormatter(lambda v, _: short(10 ** v if log else v)))
    strip.tick_params(length=0, pad=1)


def draw_heatmap(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    axes = artifact.axes()
    rows, machines = points(artifact, metric, ["label", "device", "dataset"] + axes)
    x = str(figure.get("x") or next((a for a in axes if len(distinct(rows, a)) > 1), "dataset"))
    if x not in rows[0]:
        raise Nothing(f"the table has no column '{x}' for the columns of the map")
    labels, columns, grid = grid_of(artifact, rows, x)
    finite = grid[numpy.isfinite(grid)]
    log = finite.size and finite.min() > 0 and finite.max() / finite.min() > 50
    shown = numpy.log10(grid) if log else grid
    low, high = numpy.nanmin(shown), numpy.nanmax(shown)
    high = high if high > low else low + 1
    names = [style.wrap(name, 1.7, SMALL) for name in labels]
    left, note = style.widest(names, SMALL) + .25, foot_note(rows, machines)
    turned = style.widest(columns, SMALL) > (WIDTH - left - .3) / len(columns) - .05
    ticks = .1 + (style.widest(columns, SMALL) if turned else .15)
    row, bar = .25, .5
    page = Page(artifact, figure, .08 + row * len(labels) + ticks + .25 + bar, foot_height([], note))
    width = min(WIDTH - left - .15, .75 * len(columns))
    ax = page.axes(left, .08, width, row * len(labels))
    palette = style.matplotlib.colormaps["cividis"].resampled(64)
    ax.pcolormesh(numpy.ma.masked_invalid(shown), cmap=palette, vmin=low, vmax=high, edgecolors=PAPER, linewidth=.8)
    if width / len(columns) > .34:
        write_numbers(ax, grid, (shown - low) / (high - low))
    ax.set_ylim(len(labels), 0)
    ax.set_yticks(numpy.arange(len(labels)) + .5)
    ax.set_yticklabels(names)
    ax.set_xticks(numpy.arange(len(columns)) + .5)
    ax.set_xticklabels(columns, rotation=90 if turned else 0)
    ax.tick_params(length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.set_xlabel(str(figure.get("xlabel") or x))
    strip = page.axes(left, .08 + row * len(labels) + ticks + .27, min(width, 2.6), .09)
    draw_scale(strip, palette, low, high, log)
    page.text(left + min(width, 2.6) + .1, .08 + row * len(labels) + ticks + .31, with_unit(metric, unit), va="center", color=MUTED)
    add_legend(page, [], [], note)
    return page.drawing()
