"""Lines: a median against an axis, with its interval; one line per method, one panel per data set."""

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from .. import style
from ..inputs import natural, number
from ..style import INK, MUTED, PAPER, SMALL
from .axes import finish_axes, scale, with_unit
from .bar import draw_bar
from .data import (PRINTED, Nothing, chosen_metric, curves_of, distinct, foot_note, in_order, in_print, kin,
                   panel_names, points)
from .layout import MAX_PANELS, add_legend, panels


def thresholds_of(artifact, figure, x):
    """[(name, {place: limit})] of the metrics that the figure draws as limits: "metric: name; ..."."""
    found = []
    for part in str(figure.get("thresholds") or "").split(";"):
        metric, _, name = (piece.strip() for piece in part.partition(":"))
        limits = {}
        for row in artifact.tidy:
            if metric and row.get("metric") == metric and number(row.get(x)) is not None and number(row.get("median")) is not None:
                limits.setdefault(number(row[x]), []).append(number(row["median"]))
        if limits:
            found.append((name or metric, {at: max(values) for at, values in sorted(limits.items())}))
    return found


LIMIT_DASHES = [(0, (7, 3)), (0, (1.5, 2))]


class Lines:
    """The lines of a figure: which rows each joins, how it looks, and where its points lie."""

    def __init__(self, artifact, figure, rows, x, panel):
        self.figure, self.rows, self.x = figure, rows, x
        fields = panel_names(rows, panel)
        self.panel = bool(panel)
        titles = sorted(distinct(rows, "panel"), key=natural) if panel else [""]
        self.titles, self.dropped = titles[:MAX_PANELS], titles[MAX_PANELS:]
        self.numeric = all(number(row[x]) is not None for row in rows)
        self.places = {} if self.numeric else {v: i for i, v in enumerate(sorted(distinct(rows, x), key=natural))}
        self.lines = curves_of(rows, [f for f in ["device", "dataset"] + artifact.axes() if f not in [x] + fields])
        order = in_order(list(dict.fromkeys(label for _, label in self.lines)), artifact.labels())
        self.names = sorted(self.lines, key=lambda pair: (order.index(pair[1]), natural(pair[0])))
        self.xscale, self.yscale = scale(figure, "x"), scale(figure, "y")

    def choose_looks(self, machines):
        kinds = [kin(label) if len(self.names) > 4 or machines else name for name, label in self.names]
        self.looks = dict(zip((name for name, _ in self.names), style.looks(kinds)))

    def shown_names(self):
        """The legend's names: a recorded line needs none where its own line is there."""
        drawn = {name for name, _ in self.names}
        names = dict.fromkeys(name for name, _ in self.names)
        return [n for n in names if n.replace(" †", "", 1) == n or n.replace(" †", "", 1) not in drawn]

    def merged(self, pair, title):
        """{place: rows of one line in one panel}; what a logarithmic axis cannot show is left out."""
        merged = {}
        for row in self.lines[pair]:
            if self.panel and row.get("panel", "") != title:
                continue
            at = number(row[self.x]) if self.numeric else self.places[row[self.x]]
            if (self.xscale == "log" and self.numeric and at <= 0) or (self.yscale == "log" and row["median"] <= 0):
                continue
            merged.setdefault(at, []).append(row)
        return merged

    def draw_one(self, ax, pair, merged):
        """@return the numbers drawn: (places, heights)"""
        colour, dash, marker = self.looks[pair[0]]
        xs = sorted(merged)

        def mean(field):
            values = [[r[field] if r[field] is not None else r["median"] for r in merged[v]] for v in xs]
            return [sum(v) / len(v) for v in values]
        ys, lows, highs = mean("median"), mean("low"), mean("high")
        if self.yscale == "log":
            lows = [low if low > 0 else y for low, y in zip(lows, ys)]
        ax.fill_between(xs, lows, highs, color=colour, alpha=.16, linewidth=0)
        ax.plot(xs, ys, color=colour, linestyle=dash, marker=marker if len(xs) <= 40 else None,
                markerfacecolor=PAPER if pair[1].endswith(" †") else colour, markeredgecolor=colour, markeredgewidth=1)
        papers = {v: r["paper"] for v in xs for r in merged[v]
                  if r["paper"] is not None and (r["paper"] > 0 or self.yscale != "log")}
        ax.plot(list(papers), list(papers.values()), "x", color=colour, markersize=4.6, markeredgewidth=1.2)
        return xs, ys + list(papers.values())

    def draw_panel(self, ax, title, thresholds):
        drawn_x, drawn_y = [], []
        for pair in self.names:
            merged = self.merged(pair, title)
            if merged:
                xs, ys = self.draw_one(ax, pair, merged)
                drawn_x += xs
                drawn_y += ys
        for (_, limits), dash in zip(thresholds, LIMIT_DASHES * len(thresholds)):
            ax.plot(list(limits), list(limits.values()), color=INK, linestyle=dash, linewidth=1.1, zorder=1)
            drawn_y += limits.values()
        finish_axes(ax, self.xscale if self.numeric else "linear", self.yscale, drawn_x, drawn_y)
        if not self.numeric:
            ax.xaxis.set_major_locator(FixedLocator(list(self.places.values())))
            ax.set_xticklabels([style.wrap(str(name), 0.9, SMALL) for name in self.places])
            ax.set_xlim(-.4, len(self.places) - .6)

    def handle(self, name, dashes):
        """What the legend shows beside a name: a line, a limit, or the mark of a published value."""
        if name in self.looks:
            colour, dash, marker = self.looks[name]
            return Line2D([], [], color=colour, linestyle=dash, marker=marker, markeredgewidth=1,
                          markerfacecolor=PAPER if name.split(",")[0].endswith(" †") else colour)
        if name in dashes:
            return Line2D([], [], color=INK, linestyle=dashes[name], linewidth=1.1)
        return Line2D([], [], linestyle="", marker="x", color=MUTED, markeredgewidth=1.2)


def rows_along(rows, x):
    """The rows that have a place on the axis `x`. @throws Nothing"""
    if not x:
        raise Nothing("the table has no axis to draw along")
    if x not in rows[0]:
        raise Nothing(f"the table has no column '{x}' to draw along")
    rows = [row for row in rows if row.get(x) not in ("", None)]
    if not rows:
        raise Nothing(f"no row has a value of '{x}'")
    return rows


def draw_line(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    axes = artifact.axes()
    rows, machines = points(artifact, metric, ["label", "device", "dataset"] + axes)
    x = str(figure.get("x") or next((a for a in axes if len(distinct(rows, a)) > 1), axes[0] if axes else ""))
    rows = rows_along(rows, x)
    panel = str(figure.get("panel") or "")
    if not panel and len(distinct(rows, "dataset")) > 1 and x != "dataset":
        panel = "dataset"
    ylabel = figure.get("ylabel") or with_unit(metric, unit)
    if len(distinct(rows, x)) == 1:  # points above one place are no line
        return draw_bar(artifact, dict(figure, xlabel=ylabel, xscale=figure.get("yscale")))
    lines = Lines(artifact, figure, rows, x, panel)
    lines.choose_looks(machines)
    note = foot_note(rows, machines)
    printed = in_print(artifact, metric)
    for row in rows:
        row["paper"] = printed(row)
    thresholds = thresholds_of(artifact, figure, x) if lines.numeric else []
    shown = lines.shown_names()
    shown += [PRINTED] if any(row["paper"] is not None for row in rows) else []
    shown += [name for name, _ in thresholds]
    page, axs = panels(artifact, figure, [str(t) for t in lines.titles], shown, note,
                       str(figure.get("xlabel") or x), str(ylabel))
    for ax, title in zip(axs, lines.titles):
        lines.draw_panel(ax, title, thresholds)
    dashes = dict(zip((name for name, _ in thresholds), LIMIT_DASHES * len(thresholds)))
    add_legend(page, [lines.handle(name, dashes) for name in shown], shown, note)
    dropped = lines.dropped
    return page.drawing(f"{len(dropped)} more panels are not drawn: {', '.join(map(str, dropped))}" if dropped else "")
