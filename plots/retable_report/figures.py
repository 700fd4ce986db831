"""Draws one artifact. A kind is a function(artifact, figure) -> Drawing, entered in KINDS.

A function that finds nothing to draw raises Nothing with a sentence for the reader.
All lengths are inches and every margin is computed from the text it holds: a layout engine that measures
by rendering is several times slower and less even from figure to figure.
"""

import math
from dataclasses import dataclass

import numpy
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from . import style
from .inputs import natural, number
from .style import BAND, GRID, INK, MUTED, PAPER, SIZE, SMALL, WIDTH

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MAX_PANELS, MAX_ROWS = 24, 80


class Nothing(Exception):
    """There is nothing to draw, and why."""


@dataclass
class Drawing:
    figure: Figure
    band: float = 0.0        #: height of the title at the top, which the page cuts off
    note: str = ""


# ---------------------------------------------------------------------------------------------- text

def short(value):
    """A number in few letters: 1200, 0.05, 3e−7."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e5:
        text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    else:
        mantissa, exponent = f"{value:.2e}".split("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return text.replace("-", "−")


def power(base, exponent):
    return f"{base}{str(int(exponent)).translate(SUPERSCRIPT)}"


def logarithmic(axis, low, high, values=()):
    """Ticks of a log axis: powers of two where the data are, else powers of ten, else 1, 2, 5."""
    logs = {math.log2(v) for v in values if v > 0}
    if len(logs) > 1 and all(abs(v - round(v)) < 1e-9 for v in logs) and max(logs) - min(logs) >= 3 and max(logs) >= 8:
        exponents = sorted(int(round(v)) for v in logs)
        step = max(1, math.ceil((exponents[-1] - exponents[0]) / 6))
        axis.set_major_locator(FixedLocator([2.0 ** e for e in range(exponents[0], exponents[-1] + 1, step)]))
        axis.set_major_formatter(FuncFormatter(lambda v, _: power(2, round(math.log2(v))) if v > 0 else ""))
    elif high / low >= 100:
        plain = low >= .009 and high <= 2000
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_major_formatter(FuncFormatter(
            lambda v, _: "" if v <= 0 else short(v) if plain else power(10, round(math.log10(v)))))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low > 4 else (1, 1.5, 2, 3, 4, 5, 6, 8), numticks=8))
        axis.set_major_formatter(FuncFormatter(lambda v, _: short(v)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def linear(axis, bins=5):
    axis.set_major_locator(MaxNLocator(bins, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda v, _: short(round(v, 12))))


def scale(figure, axis):
    return "log" if str(figure.get(axis + "scale", "")).lower() == "log" or (
        figure.get("log" + axis) is True or str(figure.get("log" + axis, "")).lower() == "true") else "linear"


def limits(figure, axis):
    """(low, high) from xlim = [low, high] or {low, high} or xlim_low, xlim_high; None where open."""
    given = figure.get(axis + "lim")
    if isinstance(given, dict):
        given = [given.get("low"), given.get("high")]
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        given = [figure.get(axis + "lim_low"), figure.get(axis + "lim_high")]
    return number(given[0]), number(given[1])


def with_unit(name, unit):
    return f"{name} ({unit})" if unit else name


# ---------------------------------------------------------------------------------------------- data

def chosen_metric(artifact, figure):
    """(metric, unit): the figure's, else the first the data has."""
    names = [(row.get("metric", ""), row.get("unit", "")) for row in artifact.tidy + artifact.samples]
    wanted = figure.get("metric")
    if wanted:
        return str(wanted), next((unit for name, unit in names if name == wanted and unit), "")
    return names[0] if names else ("", "")


def points(artifact, metric, key_fields):
    """Rows of the tidy table with a number; where the local row has none, the recorded one, marked †.

    @return (rows with float median, low, high and text fields; the machines used)
    """
    def rows_of(source):
        for row in source.tidy:
            if metric and row.get("metric") != metric:
                continue
            value = number(row.get("median"))
            item = dict(row, median=value, low=number(row.get("ci_low")), high=number(row.get("ci_high")))
            if value is not None and row.get("status", "ok") not in ("ok", ""):
                item["median"] = None
            yield item

    local = list(rows_of(artifact))
    found = [row for row in local if row["median"] is not None]
    have = {tuple(row.get(field, "") for field in key_fields) for row in found}
    machines = []
    for machine, other in artifact.recorded:
        for row in rows_of(other):
            key = tuple(row.get(field, "") for field in key_fields)
            if row["median"] is not None and key not in have:
                have.add(key)
                found.append(dict(row, label=row.get("label", "") + " †"))
                machines = list(dict.fromkeys(machines + [machine]))
    if not found:
        why = sorted({row.get("reason", "") for row in local if row.get("reason")})
        raise Nothing("no row has a number" + (f" of {metric}" if metric else "") +
                      (f": {why[0]}" if len(why) == 1 else ""))
    return found, machines


def recorded_note(machines):
    return "† recorded on " + ", ".join(machines) if machines else ""


def distinct(rows, field):
    return list(dict.fromkeys(row.get(field, "") for row in rows))


def in_order(names, order):
    """`names` in the order of `order`, a † variant right behind its own, the rest behind."""
    rank = {name: i for i, name in enumerate(order)}
    seen = {name: i for i, name in enumerate(names)}
    return sorted(seen, key=lambda n: (rank.get(n.removesuffix(" †"), len(rank)), n.endswith(" †"), seen[n]))


def kin(label):
    """What rows of one colour share: the method, without its parameters and its device."""
    base = label.removesuffix(" †").split(" (")[0]
    return base[:-4] if base.lower().endswith("-gpu") else base


# -------------------------------------------------------------------------------------------- layout

class Page:
    """A figure with a title band on top and a foot for the legend; places panels by inches."""

    def __init__(self, artifact, figure, body, foot=0.0, width=WIDTH):
        title = str(figure.get("title") or artifact.text("title") or artifact.name)
        text = style.wrap(title, width - 0.2, SIZE + 1)
        self.band = 0.12 + 0.185 * (text.count("\n") + 1)
        self.width, self.body, self.foot = width, body, foot
        self.height = self.band + body + foot
        self.figure = Figure(figsize=(width, self.height))
        self.figure.text(0.08 / width, 1 - 0.07 / self.height, text, size=SIZE + 1, weight="bold", va="top", ha="left",
                         gid="title", linespacing=1.15)

    def axes(self, left, top, width, height):
        """Axes whose upper left corner lies `left` and `top` inches inside the body."""
        return self.figure.add_axes([left / self.width, 1 - (self.band + top + height) / self.height,
                                     width / self.width, height / self.height])

    def text(self, left, top, text, **options):
        options.setdefault("size", SMALL)
        return self.figure.text(left / self.width, 1 - (self.band + top) / self.height, text, **options)

    def drawing(self, note=""):
        return Drawing(self.figure, self.band, note)


def legend_size(names):
    """(columns, height) of a legend below the figure."""
    if not names:
        return 1, 0.0
    each = style.widest(names, SMALL) + 0.55
    columns = max(1, min(len(names), int((WIDTH - 0.1) / each)))
    return columns, 0.175 * math.ceil(len(names) / columns) + 0.1


def add_legend(page, handles, names, note=""):
    columns, height = legend_size(names)
    if names:
        page.figure.legend(handles, names, loc="upper left", ncol=columns, borderpad=0, borderaxespad=0, handlelength=2.6,
                           columnspacing=1.4, labelspacing=0.35, handletextpad=0.6,
                           bbox_to_anchor=(0.1 / page.width, page.foot / page.height))
    if note:
        page.figure.text(0.1 / page.width, 0.06 / page.height, note, size=SMALL, color=MUTED, va="bottom", ha="left")


def foot_height(names, note):
    return legend_size(names)[1] + (0.2 if note else 0.0) + 0.04


def grid_of(count):
    """(columns, rows) for `count` panels."""
    columns = 1 if count == 1 else 2 if count <= 8 else 3
    return columns, math.ceil(count / columns)


def panels(artifact, figure, titles, names, note, xlabel, ylabel, height=None, y_room=0.55):
    """A grid of equal panels. @return (page, axes in the order of titles)"""
    columns, rows = grid_of(len(titles))
    tall = height or (2.9 if columns == 1 else 1.55 if columns == 2 else 1.25)
    wide = (WIDTH - 0.12 - 0.2 * bool(ylabel)) / columns
    head = 0.22 if len(titles) > 1 else 0.06
    step = head + tall + 0.36
    page = Page(artifact, figure, rows * step + (0.14 if xlabel else 0.0), foot_height(names, note))
    axes = []
    for i, title in enumerate(titles):
        left = 0.06 + 0.2 * bool(ylabel) + (i % columns) * wide
        top = (i // columns) * step
        ax = page.axes(left + y_room - 0.12, top + head, wide - y_room, tall)
        if len(titles) > 1:
            shown = title
            while style.text_width(shown, SMALL + .5) > wide - 0.3 and len(shown) > 8:
                shown = shown[:-2].rstrip("… ") + "…"
            page.text(left + y_room - 0.12, top + head - 0.07, shown, weight="bold", size=SMALL + .5, va="bottom", ha="left")
        axes.append(ax)
    middle = rows * step / 2
    if ylabel:
        page.text(0.14, middle, style.wrap(ylabel, rows * step), rotation=90, va="center", ha="center", size=SIZE)
    if xlabel:
        page.text(WIDTH / 2, rows * step - 0.1, style.wrap(xlabel, WIDTH - .4), va="top", ha="center", size=SIZE)
    return page, axes


# ---------------------------------------------------------------------------------------------- line

def curves_of(rows, x, fields):
    """Groups rows into lines; a field names a line only where it tells two lines of one label apart."""
    telling = [f for f in fields if any(len({r.get(f, "") for r in rows if r["label"] == label}) > 1
                                        for label in distinct(rows, "label"))]
    lines = {}
    for row in rows:
        extra = ", ".join(f"{row.get(f, '')}" if f in ("device", "dataset") else f"{f}={row.get(f, '')}" for f in telling)
        lines.setdefault((row["label"] + (f", {extra}" if extra else ""), row["label"]), []).append(row)
    return lines


def draw_line(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    axes = artifact.axes()
    rows, machines = points(artifact, metric, ["label", "device", "dataset"] + axes)
    x = str(figure.get("x") or next((a for a in axes if len(distinct(rows, a)) > 1), axes[0] if axes else ""))
    if not x:
        raise Nothing("the table has no axis to draw along")
    if x not in rows[0]:
        raise Nothing(f"the table has no column '{x}' to draw along")
    rows = [row for row in rows if row.get(x) not in ("", None)]
    if not rows:
        raise Nothing(f"no row has a value of '{x}'")
    panel = str(figure.get("panel") or "")
    if not panel and len(distinct(rows, "dataset")) > 1 and x != "dataset":
        panel = "dataset"
    titles = sorted(distinct(rows, panel), key=natural) if panel else [""]
    dropped, titles = titles[MAX_PANELS:], titles[:MAX_PANELS]
    numeric = all(number(row[x]) is not None for row in rows)
    places = {} if numeric else {v: i for i, v in enumerate(sorted(distinct(rows, x), key=natural))}
    lines = curves_of(rows, x, [f for f in ["device", "dataset"] + axes if f not in (x, panel)])
    order = in_order(list(dict.fromkeys(label for _, label in lines)), artifact.labels())
    names = sorted(lines, key=lambda pair: (order.index(pair[1]), natural(pair[0])))
    looks = {name: style.look(i) for i, (name, _) in enumerate(names)}
    note = recorded_note(machines)
    xscale, yscale = scale(figure, "x"), scale(figure, "y")
    shown = [name for name, _ in names]
    page, axs = panels(artifact, figure, [str(t) for t in titles], shown, note,
                       str(figure.get("xlabel") or x), str(figure.get("ylabel") or with_unit(metric, unit)))
    for ax, title in zip(axs, titles):
        drawn_x, drawn_y = [], []
        for pair in names:
            colour, dash, marker = looks[pair[0]]
            merged = {}
            for row in lines[pair]:
                if not panel or row.get(panel, "") == title:
                    at = number(row[x]) if numeric else places[row[x]]
                    if (xscale == "log" and numeric and at <= 0) or (yscale == "log" and row["median"] <= 0):
                        continue
                    merged.setdefault(at, []).append(row)
            if not merged:
                continue
            xs = sorted(merged)
            def mean(field):
                values = [[r[field] if r[field] is not None else r["median"] for r in merged[v]] for v in xs]
                return [sum(v) / len(v) for v in values]
            ys, lows, highs = mean("median"), mean("low"), mean("high")
            if yscale == "log":
                lows = [low if low > 0 else y for low, y in zip(lows, ys)]
            ax.fill_between(xs, lows, highs, color=colour, alpha=.16, linewidth=0)
            ax.plot(xs, ys, color=colour, linestyle=dash, marker=marker if len(xs) <= 40 else None,
                    markerfacecolor=PAPER if pair[1].endswith(" †") else colour, markeredgecolor=colour, markeredgewidth=1)
            drawn_x += xs
            drawn_y += ys
        finish_axes(ax, figure, xscale if numeric else "linear", yscale, drawn_x, drawn_y)
        if not numeric:
            ax.xaxis.set_major_locator(FixedLocator(list(places.values())))
            ax.set_xticklabels([style.wrap(str(name), 0.9, SMALL) for name in places])
            ax.set_xlim(-.4, len(places) - .6)
    handles = [Line2D([], [], color=looks[n][0], linestyle=looks[n][1], marker=looks[n][2], markeredgewidth=1,
                      markerfacecolor=PAPER if n.split(",")[0].endswith(" †") else looks[n][0]) for n in shown]
    add_legend(page, handles, shown, note)
    return page.drawing(f"{len(dropped)} more panels are not drawn: {', '.join(map(str, dropped))}" if dropped else "")


def finish_axes(ax, figure, xscale, yscale, xs, ys, grid="both"):
    """Scales, limits, ticks and grid of one panel."""
    ax.grid(True, axis=grid)
    if not xs or not ys:
        ax.text(.5, .5, "no value", transform=ax.transAxes, ha="center", va="center", color=MUTED, size=SMALL)
        ax.set_xticks([])
        ax.set_yticks([])
        return
    for name, kind, values, axis in (("x", xscale, xs, ax.xaxis), ("y", yscale, ys, ax.yaxis)):
        low, high = limits(figure, name)
        if kind == "log" and min(values) > 0:
            (ax.set_xscale if name == "x" else ax.set_yscale)("log")
            bottom, top = low if low and low > 0 else min(values) / 1.15, high if high and high > 0 else max(values) * 1.15
            if top / bottom < 2:
                bottom, top = bottom / 1.3, top * 1.3
            (ax.set_xlim if name == "x" else ax.set_ylim)(bottom, top)
            logarithmic(axis, bottom, top, values if name == "x" else ())
        else:
            linear(axis)
            if low is not None or high is not None:
                (ax.set_xlim if name == "x" else ax.set_ylim)(low, high)


# ------------------------------------------------------------------------------------------ violins

def density(values, low, high, count=72):
    """Gaussian kernel density (Silverman's rule) of `values` on a grid clipped to their range.

    Binned and smoothed by convolution: linear in the number of values. @return (grid, height) or None
    """
    values = numpy.asarray(values, float)
    if values.size < 3 or not high > low:
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
    return (grid, heights / heights.max()) if heights.max() > 0 else None


def sample_groups(artifact, metric):
    """{label: (values, failed)} in row order, recorded samples where the local ones are none. @return also machines"""
    def collect(source):
        devices = {}
        for row in source.samples:
            if not metric or row.get("metric") == metric:
                devices.setdefault(row.get("label", ""), set()).add(row.get("device", ""))
        groups = {}
        for row in source.samples:
            if metric and row.get("metric") != metric:
                continue
            label = row.get("label", "")
            name = f"{label}, {row.get('device', '')}" if len(devices[label]) > 1 else label
            value = number(row.get("value"))
            group = groups.setdefault(name, [[], 0])
            if value is None:
                group[1] += 1
            else:
                group[0].append(value)
        return groups

    groups, machines = collect(artifact), []
    for machine, other in artifact.recorded:
        for name, (values, failed) in collect(other).items():
            if values and not groups.get(name, ([], 0))[0] and name + " †" not in groups:
                groups[name + " †"] = (values, failed)
                machines = list(dict.fromkeys(machines + [machine]))
    return groups, machines


def draw_violin(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    groups, machines = sample_groups(artifact, metric)
    if not any(values for values, _ in groups.values()):
        raise Nothing("no sample" + (f" of {metric}" if metric else "") + " is there to draw")
    named = {name for name in groups} | {name.removesuffix(" †") for name in groups}
    labels = in_order(list(groups) + [l for l in artifact.labels() if l not in named], artifact.labels())
    labels, dropped = labels[:MAX_ROWS], labels[MAX_ROWS:]
    log = scale(figure, "x") == "log"
    forward = (lambda v: numpy.log10(v)) if log else (lambda v: numpy.asarray(v, float))
    drawn = {name: [v for v in groups.get(name, ([], 0))[0] if not log or v > 0] for name in labels}
    everything = [v for values in drawn.values() for v in values]
    if not everything:
        raise Nothing("no sample is positive, and the axis is logarithmic")
    low, high = limits(figure, "x")
    low = min(everything) if low is None else low
    if high is None:  # a few far tails must not press all violins flat; what lies beyond is counted
        tail = float(numpy.percentile(everything, 98))
        high = max(everything) if log or tail <= low else min(max(everything), low + 1.7 * (tail - low))
    if not high > low:
        low, high = low - .5 * abs(low) - 1e-12, high + .5 * abs(high) + 1e-12
    names = [style.wrap(name, 1.75, SMALL) for name in labels]
    left, right = style.widest(names, SMALL) + 0.24, 1.06
    row, head = 0.235, 0.24
    note = recorded_note(machines)
    xlabel = str(figure.get("xlabel") or with_unit(metric, unit))
    page = Page(artifact, figure, head + row * len(labels) + 0.52, foot_height([], note))
    ax = page.axes(left, head, WIDTH - left - right, row * len(labels))
    colours, base_before, shade = {}, None, False
    for i, name in enumerate(labels):
        base = name.removesuffix(" †").split(" (")[0]
        colour = colours.setdefault(kin(name), style.COLOURS[len(colours) % len(style.COLOURS)])
        shade = shade if base == base_before else not shade
        base_before = base
        if shade:
            ax.axhspan(i - .5, i + .5, color=BAND, linewidth=0, zorder=0)
        one_violin(ax, i, drawn[name], low, high, forward, log, colour, name.endswith(" †"))
        failed = groups.get(name, ([], 0))[1]
        inside = WIDTH - right
        y = head + (i + .5) * row
        if drawn[name]:
            page.text(inside + 0.53, y, short(float(numpy.median(drawn[name]))), ha="right", va="center")
            page.text(WIDTH - 0.06, y, f"{failed}" if failed else "·", ha="right", va="center",
                      color=style.COLOURS[1] if failed else MUTED, weight="bold" if failed else "normal")
        else:
            page.text(WIDTH - 0.06, y, "all failed" if failed else "not run", ha="right", va="center", color=MUTED, style="italic")
    page.text(WIDTH - right + 0.53, head - 0.07, "median", ha="right", va="bottom", color=MUTED)
    page.text(WIDTH - 0.06, head - 0.07, "failed", ha="right", va="bottom", color=MUTED)
    ax.set_ylim(len(labels) - .5, -.5)
    ax.set_yticks(range(len(labels)))
    ax.set_yticklabels(names)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(True, axis="x")
    if log:
        ax.set_xscale("log")
        ax.set_xlim(low, high)
        logarithmic(ax.xaxis, low, high)
    else:
        margin = (high - low) * .015
        ax.set_xlim(low - margin, high)
        linear(ax.xaxis, 6)
    ax.set_xlabel(style.wrap(xlabel, WIDTH - left - .2))
    add_legend(page, [], [], note)
    return page.drawing(f"{len(dropped)} more rows are not drawn" if dropped else "")


def one_violin(ax, at, values, low, high, forward, log, colour, hollow):
    if not values:
        return
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


# ---------------------------------------------------------------------------------------- histogram

def draw_histogram(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    groups, machines = sample_groups(artifact, metric)
    log = scale(figure, "x") == "log"
    groups = {name: [v for v in values if not log or v > 0] for name, (values, _) in groups.items()}
    groups = {name: groups[name] for name in in_order(list(groups), artifact.labels()) if groups[name]}
    if not groups:
        raise Nothing("no sample" + (f" of {metric}" if metric else "") + " is there to draw")
    everything = numpy.concatenate([numpy.asarray(v, float) for v in groups.values()])
    low, high = limits(figure, "x")
    low, high = everything.min() if low is None else low, everything.max() if high is None else high
    if not high > low:
        low, high = (low / 2, high * 2) if log and low > 0 else (low - .5, high + .5)
    count = int(min(60, max(10, 2 * math.sqrt(everything.size))))
    edges = numpy.geomspace(low, high, count + 1) if log else numpy.linspace(low, high, count + 1)
    titles = list(groups) if len(groups) > 1 else [""]
    titles, dropped = titles[:MAX_PANELS], titles[MAX_PANELS:]
    note = recorded_note(machines)
    page, axs = panels(artifact, figure, titles, [], note, str(figure.get("xlabel") or with_unit(metric, unit)),
                       str(figure.get("ylabel") or "count"))
    for i, (ax, name) in enumerate(zip(axs, groups)):
        counts, _ = numpy.histogram(groups[name], bins=edges)
        ax.bar(edges[:-1], counts, width=numpy.diff(edges), align="edge", color=style.COLOURS[0], alpha=.8,
               edgecolor=PAPER, linewidth=.5)
        finish_axes(ax, figure, "log" if log else "linear", scale(figure, "y"), list(edges), [c for c in counts if c] or [1], "y")
        ax.set_xlim(edges[0], edges[-1])
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=True)) if scale(figure, "y") == "linear" else None
        if len(titles) == 1:
            ax.text(.995, .97, f"n = {len(groups[name])}", transform=ax.transAxes, ha="right", va="top", size=SMALL, color=MUTED)
    add_legend(page, [], [], note)
    return page.drawing(f"{len(dropped)} more panels are not drawn" if dropped else "")


# ------------------------------------------------------------------------------------------- curves

def draw_curves(artifact, figure):
    series = {}
    for row in artifact.curves:
        x, y = number(row.get("x")), number(row.get("y"))
        if x is not None and y is not None:
            series.setdefault((row.get("dataset", ""), row.get("curve", ""), row.get("label", "")), []).append((x, y))
    if not series:
        raise Nothing("no curve is there to draw")
    titles = list(dict.fromkeys(dataset for dataset, _, _ in series))
    titles, dropped = titles[:MAX_PANELS], titles[MAX_PANELS:]
    pairs = list(dict.fromkeys((label, curve) for _, curve, label in series if curve != "histogram"))
    several = len({curve for _, curve in pairs}) > 1
    def name_of(label, curve):
        return f"{label}: {curve}" if several and label and curve else label or curve or "curve"
    order = in_order(list(dict.fromkeys(label for label, _ in pairs)), artifact.labels())
    pairs.sort(key=lambda pair: (order.index(pair[0]), natural(pair[1])))
    background = any(curve == "histogram" for _, curve, _ in series)
    names = [name_of(*pair) for pair in pairs] + (["data"] if background else [])
    page, axs = panels(artifact, figure, titles, names, "", str(figure.get("xlabel") or "x"), str(figure.get("ylabel") or "density"))
    xscale, yscale = scale(figure, "x"), scale(figure, "y")
    for ax, title in zip(axs, titles):
        tops = []
        histogram = next((sorted(v) for (d, c, _), v in series.items() if d == title and c == "histogram"), None)
        if histogram:
            xs, ys = zip(*histogram)
            ax.fill_between(xs, ys, step="mid", color=GRID, linewidth=0)
            ax.plot(xs, ys, drawstyle="steps-mid", color="#aab2bd", linewidth=.8)
            tops += ys
        for i, (label, curve) in enumerate(pairs):
            values = series.get((title, curve, label))
            if values:
                xs, ys = zip(*sorted(values))
                colour, dash, _ = style.look(i)
                ax.plot(xs, ys, color=colour, linestyle=dash, linewidth=1.3)
                tops += ys
        finish_axes(ax, figure, xscale, yscale, [x for (d, _, _), v in series.items() if d == title for x, _ in v], tops, "y")
        if yscale == "linear" and limits(figure, "y") == (None, None) and tops:
            # One wild estimate must not press the others flat: the panel ends at thrice the data's top.
            roof = max(histogram and max(y for _, y in histogram) or 0, float(numpy.percentile(tops, 97)))
            floor = min(0, float(numpy.percentile(tops, 1)))
            if roof > 0:
                ax.set_ylim(max(floor, -roof) * 1.1, min(max(tops), roof * 1.6) * 1.05)
    handles = [Line2D([], [], color=style.look(i)[0], linestyle=style.look(i)[1]) for i in range(len(pairs))]
    handles += [Line2D([], [], color="#aab2bd", linewidth=5)] if background else []
    add_legend(page, handles, names)
    return page.drawing(f"{len(dropped)} more panels are not drawn" if dropped else "")


# ---------------------------------------------------------------------------------------------- bar

def draw_bar(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    axes = artifact.axes()
    rows, machines = points(artifact, metric, ["label", "device", "dataset"] + axes)
    panel = str(figure.get("panel") or ("dataset" if len(distinct(rows, "dataset")) > 1 else ""))
    single = False
    if panel and "panel" not in figure and len(distinct(rows, "label")) == 1:  # one method: its data sets are the rows
        rows, panel, single = [dict(row, label=row.get(panel, "")) for row in rows], "", True
    titles = sorted(distinct(rows, panel), key=natural)[:MAX_PANELS] if panel else [""]
    lines = curves_of(rows, "", [f for f in ["device", "dataset"] + axes if f != panel])
    order = in_order(list(dict.fromkeys(label for _, label in lines)), artifact.labels())
    pairs = sorted(lines, key=lambda pair: (order.index(pair[1]), natural(pair[0])))
    pairs, dropped = pairs[:MAX_ROWS], pairs[MAX_ROWS:]
    log = "log" in (scale(figure, "x"), scale(figure, "y"))
    if not figure.get("xscale") and not figure.get("yscale"):  # bars of which only the longest can be seen say nothing
        sizes = [row["median"] for row in rows]
        log = log or (min(sizes) > 0 and max(sizes) > 500 * min(sizes))
    blank = [] if single or panel else blanks(artifact, metric, {label.removesuffix(" †") for label in distinct(rows, "label")})
    pairs += [(name, name) for name, _ in blank]
    ranked = in_order([label for _, label in pairs], artifact.labels())
    pairs.sort(key=lambda pair: ranked.index(pair[1]))
    lines.update({(name, name): [{"label": name, "median": None, "low": None, "high": None, "said": said}] for name, said in blank})
    sections = []
    for title in titles:
        bars = [(name, label, r) for name, label in pairs for r in lines[(name, label)]
                if (not panel or r.get(panel, "") == title) and (r["median"] is None or not log or r["median"] > 0)]
        if bars:
            sections.append((str(title), bars))
    if not sections:
        raise Nothing("no row has a positive number, and the axis is logarithmic" if log else "no row has a number")
    row, gap = 0.215, 0.3 if panel else 0.08
    names = {name: style.wrap(name, 1.7, SMALL) for name, _ in pairs}
    left, right = style.widest(names.values(), SMALL) + .22, .72
    height = sum(gap + row * len(bars) for _, bars in sections)
    note = recorded_note(machines)
    page = Page(artifact, figure, height + 0.55, foot_height([], note))
    values = [r[k] for _, bars in sections for _, _, r in bars for k in ("median", "high") if r[k] is not None]
    floor = min(v for v in values if v > 0) / 2 if log else min(0, min(values))
    base = limits(figure, "x")
    roof = base[1] if base[1] is not None else max(values) * (1.6 if log else 1.02) or 1
    kinds = list(dict.fromkeys(kin(label) for label in ranked))
    colours = {label: style.COLOURS[0 if single else kinds.index(kin(label)) % len(style.COLOURS)] for label in ranked}
    top = 0.0
    for i, (title, bars) in enumerate(sections):
        if panel:
            page.text(0.08, top + gap - .06, style.wrap(title, WIDTH - .3), weight="bold", size=SMALL + .5, va="bottom")
        ax = page.axes(left, top + gap, WIDTH - left - right, row * len(bars))
        for j, (name, label, r) in enumerate(bars):
            if r["median"] is None:
                page.text(WIDTH - .06, top + gap + (j + .5) * row, r["said"], ha="right", va="center", style="italic",
                          color=MUTED if r["said"] == "not run" else style.COLOURS[1])
                continue
            colour, hollow = colours[label], label.endswith(" †")
            if log:
                ax.plot([r["median"]], [j], marker="o", color=colour, markerfacecolor=PAPER if hollow else colour, markersize=6)
            else:
                ax.barh(j, r["median"], height=.66, color=PAPER if hollow else colour, edgecolor=colour, linewidth=1, alpha=.85)
            if r["low"] is not None and r["high"] is not None:
                ax.plot([r["low"], r["high"]], [j, j], color=INK, linewidth=1.3, solid_capstyle="butt")
            page.text(WIDTH - .06, top + gap + (j + .5) * row, short(r["median"]), ha="right", va="center")
        ax.set_ylim(len(bars) - .5, -.5)
        ax.set_yticks(range(len(bars)))
        ax.set_yticklabels([names[name] for name, _, _ in bars])
        ax.tick_params(axis="y", length=0)
        ax.grid(True, axis="x")
        last = i == len(sections) - 1
        if log:
            ax.set_xscale("log")
            ax.set_xlim(floor, roof)
            logarithmic(ax.xaxis, floor, roof)
        else:
            ax.set_xlim(base[0] if base[0] is not None else floor, roof)
            linear(ax.xaxis)
        ax.tick_params(axis="x", labelbottom=last, length=3 if last else 0)
        if last:
            ax.set_xlabel(str(figure.get("xlabel") or figure.get("ylabel") or with_unit(metric, unit)))
        top += gap + row * len(bars)
    add_legend(page, [], [], note)
    return page.drawing(f"{len(dropped)} more rows are not drawn" if dropped else "")


def blanks(artifact, metric, have):
    """[(label, "failed" or "not run")] of the labels of which no row has a number."""
    found = {}
    for row in artifact.tidy:
        label = row.get("label", "")
        if label and label not in have and (not metric or row.get("metric") in (metric, "")):
            status = row.get("status", "")
            said = "not run" if status in ("not_run", "skipped", "") else "failed" if status in ("ok", "failed") else status.replace("_", " ")
            if found.get(label, "not run") == "not run":
                found[label] = said
    return list(found.items())


# ------------------------------------------------------------------------------------------ heatmap

def draw_heatmap(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    axes = artifact.axes()
    rows, machines = points(artifact, metric, ["label", "device", "dataset"] + axes)
    x = str(figure.get("x") or next((a for a in axes if len(distinct(rows, a)) > 1), "dataset"))
    if x not in rows[0]:
        raise Nothing(f"the table has no column '{x}' for the columns of the map")
    labels = in_order(distinct(rows, "label"), artifact.labels())[:MAX_ROWS]
    columns = sorted(distinct(rows, x), key=natural)
    grid = numpy.full((len(labels), len(columns)), numpy.nan)
    for row in rows:
        if row["label"] in labels:
            grid[labels.index(row["label"]), columns.index(row.get(x, ""))] = row["median"]
    finite = grid[numpy.isfinite(grid)]
    log = finite.size and finite.min() > 0 and finite.max() / finite.min() > 50
    shown = numpy.log10(grid) if log else grid
    low, high = numpy.nanmin(shown), numpy.nanmax(shown)
    high = high if high > low else low + 1
    names = [style.wrap(name, 1.7, SMALL) for name in labels]
    left, note = style.widest(names, SMALL) + .25, recorded_note(machines)
    turned = style.widest(columns, SMALL) > (WIDTH - left - .3) / len(columns) - .05
    ticks = .1 + (style.widest(columns, SMALL) if turned else .15)
    row, bar = .25, .5
    page = Page(artifact, figure, .08 + row * len(labels) + ticks + .25 + bar, foot_height([], note))
    width = min(WIDTH - left - .15, .75 * len(columns))
    ax = page.axes(left, .08, width, row * len(labels))
    palette = style.matplotlib.colormaps["cividis"].resampled(64)
    ax.pcolormesh(numpy.ma.masked_invalid(shown), cmap=palette, vmin=low, vmax=high, edgecolors=PAPER, linewidth=.8)
    if width / len(columns) > .34:
        for i in range(len(labels)):
            for j in range(len(columns)):
                value = grid[i, j]
                dark = math.isfinite(value) and (shown[i, j] - low) / (high - low) < .55
                ax.text(j + .5, i + .5, short(value), ha="center", va="center", size=SMALL - .5,
                        color="#ffffff" if dark else "#101010" if math.isfinite(value) else MUTED)
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
    strip.pcolormesh(numpy.linspace(low, high, 65), [0, 1], numpy.linspace(low, high, 64)[None, :], cmap=palette)
    strip.set_yticks([])
    strip.spines["left"].set_visible(False)
    strip.spines["bottom"].set_visible(False)
    strip.xaxis.set_major_locator(MaxNLocator(4))
    strip.xaxis.set_major_formatter(FuncFormatter(lambda v, _: short(10 ** v if log else v)))
    strip.tick_params(length=0, pad=1)
    page.text(left + min(width, 2.6) + .1, .08 + row * len(labels) + ticks + .31, with_unit(metric, unit), va="center", color=MUTED)
    add_legend(page, [], [], note)
    return page.drawing()


# ---------------------------------------------------------------------------------------- agreement

def draw_agreement(artifact, figure):
    """What stands in for a figure where the work has a table: measured over paper, row by row."""
    rows = {}
    for verdict in artifact.verdicts:
        ratio, paper = number(verdict.get("ratio")), number(verdict.get("paper"))
        if ratio is not None and ratio > 0 and verdict["verdict"] in style.VERDICT_MARKERS:
            bounds = [number(verdict.get(k)) for k in ("ci_low", "ci_high")]
            rows.setdefault(verdict["row"], []).append(
                (ratio, verdict["verdict"], [b / paper if b is not None and paper else None for b in bounds]))
    if sum(map(len, rows.values())) < 3:
        raise Nothing("the table says it all: fewer than three cells have a ratio to draw")
    order = in_order(list(rows), list(dict.fromkeys(v["row"] for v in artifact.verdicts)))
    order, dropped = order[:MAX_ROWS], order[MAX_ROWS:]
    ratios = [r for name in order for r, _, _ in rows[name]]
    reach = min(100.0, max(1.6, *ratios, *[1 / r for r in ratios]) * 1.15)
    names = [style.wrap(name, 1.75, SMALL) for name in order]
    left, row, head = style.widest(names, SMALL) + .24, .21, .26
    present = [v for v in style.VERDICT_MARKERS if any(v == verdict for name in order for _, verdict, _ in rows[name])]
    page = Page(artifact, figure, head + row * len(order) + .5, foot_height(present, ""))
    ax = page.axes(left, head, WIDTH - left - .2, row * len(order))
    ax.axvspan(1 / 1.1, 1.1, color=BAND, linewidth=0, zorder=0)
    ax.axvline(1, color=MUTED, linewidth=1)
    for i, name in enumerate(order):
        count = len(rows[name])
        for j, (ratio, verdict, (low, high)) in enumerate(rows[name]):
            y = i + (0 if count == 1 else (j / (count - 1) - .5) * .62)
            colour = style.VERDICT_COLOURS[verdict]
            if low is not None and high is not None and low > 0 and high > low:
                ax.plot([max(low, 1 / reach), min(high, reach)], [y, y], color=colour, linewidth=1, alpha=.6)
            out = ratio > reach or ratio < 1 / reach
            ax.plot([min(max(ratio, 1 / reach), reach)], [y], clip_on=False, color=colour, markersize=5,
                    marker=(">" if ratio > reach else "<") if out else style.VERDICT_MARKERS[verdict])
    ax.set_xscale("log")
    ax.set_xlim(1 / reach, reach)
    logarithmic(ax.xaxis, 1 / reach, reach)
    ax.set_ylim(len(order) - .5, -.5)
    ax.set_yticks(range(len(order)))
    ax.set_yticklabels(names)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(True, axis="x")
    ax.set_xlabel("measured / paper  (1 = as published; band: within 10 %)")
    page.text(left, head - .07, "◂ measured is smaller", ha="left", va="bottom", color=MUTED)
    page.text(WIDTH - .2, head - .07, "measured is larger ▸", ha="right", va="bottom", color=MUTED)
    handles = [Line2D([], [], linestyle="", marker=style.VERDICT_MARKERS[v], color=style.VERDICT_COLOURS[v]) for v in present]
    add_legend(page, handles, present)
    return page.drawing(f"{len(dropped)} more rows are not drawn" if dropped else "")


KINDS = {"violin": draw_violin, "histogram": draw_histogram, "line": draw_line, "curves": draw_curves,
         "bar": draw_bar, "heatmap": draw_heatmap, "agreement": draw_agreement}


def draw(artifact):
    """@return the Drawing of an artifact. @throws Nothing with the reason where there is nothing to draw"""
    figure = artifact.figure() or {"kind": "agreement"}
    kind = str(figure.get("kind", ""))
    if kind not in KINDS:
        raise Nothing(f"figure kind '{kind}' is not known here; known are {', '.join(sorted(KINDS))}")
    return KINDS[kind](artifact, figure)
