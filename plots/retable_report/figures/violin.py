"""Violins: the samples of each row, in the paper's order, with median and failures in figures beside them."""

import numpy

from .. import style
from ..style import BAND, INK, MUTED, PAPER, SMALL, WIDTH
from .axes import linear, logarithmic, scale, short, with_unit
from .data import Nothing, chosen_metric, in_order, kin, left_out, medians_in_print, recorded_note, sample_groups
from .layout import MAX_ROWS, Page, add_legend, foot_height, row_names


def density(values, low, high, count=72):
    """Gaussian kernel density (Silverman's rule) of `values` on a grid clipped to their range.

    Binned and smoothed by convolution: linear in the number of values. @return (grid, height) or None
    """
    values = numpy.asarray(values, float)
    if values.size < 3 or not min(high, values.max()) > max(low, values.min()):  # all beyond an end of the axis
        return None
    spread = min(s for s in (values.std(), numpy.subtract(*numpy.percentile(values, [75, 25])) / 1.34) if s > 0) \
        if values.std() > 0 and numpy.subtract(*numpy.percentile(values, [75, 25])) > 0 else values.std()
    if spread <= 0:
        return None
    width = max(0.9 * spread * values.size ** -.2, (high - low) / 250)
    bins = 400
    pad = 4 * width
    counts, edges = numpy.histogram(values, bins=bins, range=(low - pad, high + pad))
    step = edges[1] - edges[0]
    reach = min(bins // 2 - 1, max(1, int(4 * width / step)))
    kernel = numpy.exp(-.5 * (numpy.arange(-reach, reach + 1) * step / width) ** 2)
    smooth = numpy.convolve(counts, kernel / kernel.sum(), "same")
    grid = numpy.linspace(max(low, values.min()), min(high, values.max()), count)
    heights = numpy.interp(grid, (edges[:-1] + edges[1:]) / 2, smooth)
    return needed(grid, heights / heights.max()) if heights.max() > 0 else None


def needed(x, y, error=.01):
    """The points of a line from which no other differs by more than `error` (Douglas and Peucker 1973). @return (x, y)"""
    kept, parts = {0, len(x) - 1}, [(0, len(x) - 1)]
    while parts:
        first, last = parts.pop()
        off = numpy.abs(y[first:last + 1] - numpy.interp(x[first:last + 1], x[[first, last]], y[[first, last]]))
        middle = first + int(off.argmax())
        if off.max() > error:
            kept.add(middle)
            parts += [(first, middle), (middle, last)]
    kept = sorted(kept)
    return x[kept], y[kept]


def span_of(everything, log):
    """(low, high) of the axis; what lies beyond is counted: a few far tails must not press all violins flat."""
    low, tail = min(everything), float(numpy.percentile(everything, 98))
    high = max(everything) if log or tail <= low else min(max(everything), low + 1.7 * (tail - low))
    if not high > low:
        low, high = low - .5 * abs(low) - 1e-12, high + .5 * abs(high) + 1e-12
    return low, high


class Violins:
    """The rows of a figure of violins: their samples, marks and axis."""

    def __init__(self, artifact, figure, metric):
        self.groups, self.machines = sample_groups(artifact, metric)
        if not any(values for values, _ in self.groups.values()):
            raise Nothing("no sample" + (f" of {metric}" if metric else "") + " is there to draw")
        self.choose_rows(artifact)
        self.log = scale(figure, "x") == "log"
        self.drawn = {name: [v for v in self.values(name) if not self.log or v > 0] for name in self.labels}
        everything = [v for values in self.drawn.values() for v in values]
        if not everything:
            raise Nothing("no sample is positive, and the axis is logarithmic")
        self.low, self.high = span_of(everything, self.log)
        printed = medians_in_print(artifact, metric)
        self.marks = {name: printed[base] for name in self.labels for base in [name.removesuffix(" †")]
                      if base in printed and self.low <= printed[base] <= self.high}

    def choose_rows(self, artifact):
        named = set(self.groups) | {name.removesuffix(" †") for name in self.groups}
        labels = in_order(list(self.groups) + [l for l in artifact.labels() if l not in named], artifact.labels())
        absent = [name for name in labels if not any(self.groups.get(name, ([], 0)))]
        self.absent = absent if len(absent) > 2 else []  # many empty rows say no more than a line does
        labels = [name for name in labels if name not in self.absent]
        self.labels, self.dropped = labels[:MAX_ROWS], labels[MAX_ROWS:]

    def values(self, name):
        return self.groups.get(name, ([], 0))[0]

    def failed(self, name):
        return self.groups.get(name, ([], 0))[1]

    def draw(self, ax):
        colours, base_before, shade = {}, None, False
        for i, name in enumerate(self.labels):
            base = name.removesuffix(" †").split(" (")[0]
            colour = colours.setdefault(kin(name), style.COLOURS[len(colours) % len(style.COLOURS)])
            shade = shade if base == base_before else not shade
            base_before = base
            if shade:
                ax.axhspan(i - .5, i + .5, color=BAND, linewidth=0, zorder=0)
            one_violin(ax, i, self.drawn[name], self.low, self.high, self.log, colour, name.endswith(" †"))
            if name in self.marks:
                ax.plot([self.marks[name]], [i], "P", color=style.COLOURS[1], markeredgecolor=PAPER, markeredgewidth=.6, markersize=6.5, zorder=5)

    def write_figures(self, page, right, head, row):
        """The median and the number of failed samples beside each row."""
        for i, name in enumerate(self.labels):
            failed, y = self.failed(name), head + (i + .5) * row
            if self.drawn[name]:
                page.text(WIDTH - right + 0.53, y, short(float(numpy.median(self.drawn[name]))), ha="right", va="center")
                page.text(WIDTH - 0.06, y, f"{failed}" if failed else "·", ha="right", va="center",
                          color=style.COLOURS[1] if failed else MUTED, weight="bold" if failed else "normal")
            else:
                page.text(WIDTH - 0.06, y, "all failed" if failed else "not run", ha="right", va="center", color=MUTED, style="italic")
        page.text(WIDTH - right + 0.53, head - 0.07, "median", ha="right", va="bottom", color=MUTED)
        page.text(WIDTH - 0.06, head - 0.07, "failed", ha="right", va="bottom", color=MUTED)

    def finish(self, ax, names):
        ax.set_ylim(len(names) - .5, -.5)
        ax.set_yticks(range(len(names)))
        ax.set_yticklabels(names)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(True, axis="x")
        if self.log:
            ax.set_xscale("log")
            ax.set_xlim(self.low, self.high)
            logarithmic(ax.xaxis, self.low, self.high)
        else:
            margin = (self.high - self.low) * .015
            ax.set_xlim(self.low - margin, self.high)
            linear(ax.xaxis, 6)


def draw_violin(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    chart = Violins(artifact, figure, metric)
    names, row = row_names(chart.labels, 1.9, .235)
    left, right = style.widest(names, SMALL) + 0.24, 1.06
    head = 0.24
    parts = ("+ the median in print" if chart.marks else "", recorded_note(chart.machines), left_out(chart.absent))
    note = "; ".join(part for part in parts if part)
    page = Page(artifact, figure, head + row * len(names) + 0.52, foot_height([], note))
    ax = page.axes(left, head, WIDTH - left - right, row * len(names))
    chart.draw(ax)
    chart.write_figures(page, right, head, row)
    chart.finish(ax, names)
    ax.set_xlabel(style.wrap(str(figure.get("xlabel") or with_unit(metric, unit)), WIDTH - left - .2))
    add_legend(page, [], [], note)
    return page.drawing(f"{len(chart.dropped)} more rows are not drawn" if chart.dropped else "")


def one_violin(ax, at, values, low, high, log, colour, hollow):
    if not values:
        return
    forward = numpy.log10 if log else (lambda v: numpy.asarray(v, float))
    shape = density(forward(values), float(forward(max(low, 1e-300) if log else low)), float(forward(high)))
    if shape is not None:
        grid = 10 ** shape[0] if log else shape[0]
        ax.fill_between(grid, at - .42 * shape[1], at + .42 * shape[1], facecolor=PAPER if hollow else colour,
                        alpha=.9 if hollow else .38, edgecolor=colour, linewidth=.9)
    elif len(values) < 20:
        ax.plot(values, [at] * len(values), "|", color=colour, markersize=7, alpha=.8)
    first, middle, third = numpy.percentile(values, [25, 50, 75])
    ax.plot([first, third], [at, at], color=INK, linewidth=2.2, solid_capstyle="butt")
    ax.plot([middle], [at], "|", color=INK, markersize=8.5, markeredgewidth=1.6)
    beyond = sum(v > high for v in values)
    if beyond:
        ax.text(.997, at, f"{beyond} ▸", transform=ax.get_yaxis_transform(), ha="right", va="center", size=SMALL - 1, color=MUTED)
