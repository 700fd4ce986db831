"""Bars: the median of each row with its interval; dots where the sizes need a log axis."""

from .. import style
from ..inputs import natural
from ..style import INK, MUTED, PAPER, SMALL, WIDTH
from .axes import linear, logarithmic, scale, short, with_unit
from .data import (Nothing, blanks, chosen_metric, curves_of, distinct, foot_note, in_order, in_print, kin, left_out,
                   panel_names, points)
from .layout import MAX_PANELS, MAX_ROWS, Page, add_legend, foot_height, row_names


class Bars:
    """The rows of a figure of bars: their order, sections, axis and colours."""

    def __init__(self, artifact, figure, metric):
        self.artifact, self.figure, self.metric = artifact, figure, metric
        self.rows, self.machines = points(artifact, metric, ["label", "device", "dataset"] + artifact.axes())
        self.panel = str(figure.get("panel") or ("dataset" if len(distinct(self.rows, "dataset")) > 1 else ""))
        self.single = False
        if self.panel and "panel" not in figure and len(distinct(self.rows, "label")) == 1:
            # One method: its data sets are the rows.
            self.rows = [dict(row, label=row.get(self.panel, ""), dataset="") for row in self.rows]
            self.panel, self.single = "", True
        self.log = self.choose_scale()
        self.printed = in_print(artifact, metric)
        self.order_rows()

    def choose_scale(self):
        """Whether the axis is logarithmic: as the figure says, or where only the longest bar would be seen."""
        if "log" in (scale(self.figure, "x"), scale(self.figure, "y")):
            return True
        if self.figure.get("xscale") or self.figure.get("yscale"):
            return False
        sizes = [row["median"] for row in self.rows]
        return min(sizes) > 0 and max(sizes) > 500 * min(sizes)

    def order_rows(self):
        labels = self.artifact.labels()
        fields = panel_names(self.rows, self.panel)
        self.titles = sorted(distinct(self.rows, "panel"), key=natural)[:MAX_PANELS] if self.panel else [""]
        self.lines = curves_of(self.rows, [f for f in ["device", "dataset"] + self.artifact.axes() if f not in fields])
        order = in_order(list(dict.fromkeys(label for _, label in self.lines)), labels)
        pairs = sorted(self.lines, key=lambda pair: (order.index(pair[1]), natural(pair[0])))
        pairs, self.dropped = pairs[:MAX_ROWS], pairs[MAX_ROWS:]
        blank = self.blank_rows()
        pairs += [(name, name) for name, _ in blank]
        self.ranked = in_order([label for _, label in pairs], labels)
        pairs.sort(key=lambda pair: self.ranked.index(pair[1]))
        self.pairs = pairs
        for name, said in blank:
            self.lines[(name, name)] = [{"label": name, "median": None, "low": None, "high": None, "said": said}]

    def blank_rows(self):
        """[(label, why)] of rows without a number; three and more that were not run go into the foot."""
        if self.single or self.panel:
            self.absent = []
            return []
        blank = blanks(self.artifact, self.metric, {label.removesuffix(" †") for label in distinct(self.rows, "label")})
        absent = [name for name, said in blank if said == "not run"]
        self.absent = absent if len(absent) > 2 else []
        return [pair for pair in blank if pair[0] not in self.absent]

    def fits(self, row, title):
        return (not self.panel or row.get("panel", "") == title) and (
            row["median"] is None or not self.log or row["median"] > 0)

    def sections(self):
        """[(title, [(name, label, row)])]. @throws Nothing"""
        sections = []
        for title in self.titles:
            bars = [(name, label, r) for name, label in self.pairs for r in self.lines[(name, label)] if self.fits(r, title)]
            if bars:
                sections.append((str(title), bars))
        if not sections:
            raise Nothing("no row has a positive number, and the axis is logarithmic" if self.log else "no row has a number")
        return sections

    def marks(self, sections):
        """{id of a row: its published value}"""
        found = {id(r): self.printed(r) for _, bars in sections for _, _, r in bars}
        return {key: value for key, value in found.items() if value is not None and (value > 0 or not self.log)}

    def colours(self):
        kinds = list(dict.fromkeys(kin(label) for label in self.ranked))
        return {label: style.COLOURS[0 if self.single else kinds.index(kin(label)) % len(style.COLOURS)]
                for label in self.ranked}

    def span(self, sections, marks):
        """(left end, right end) of the axis."""
        values = [r[k] for _, bars in sections for _, _, r in bars for k in ("median", "high") if r[k] is not None]
        values += list(marks.values())
        floor = min(v for v in values if v > 0) / 2 if self.log else min(0, min(values))
        return floor, max(values) * (1.6 if self.log else 1.02) or 1

    def draw_row(self, ax, at, row, hollow, colour, mark):
        if self.log:
            ax.plot([row["median"]], [at], marker="o", color=colour, markerfacecolor=PAPER if hollow else colour, markersize=6)
        else:
            ax.barh(at, row["median"], height=.66, color=PAPER if hollow else colour, edgecolor=colour, linewidth=1, alpha=.85)
        if row["low"] is not None and row["high"] is not None:
            ax.plot([row["low"], row["high"]], [at, at], color=INK, linewidth=1.3, solid_capstyle="butt")
        if mark is not None:
            ax.plot([mark], [at], "P", color=INK, markeredgecolor=PAPER, markeredgewidth=.6, markersize=6.5, zorder=5)

    def finish(self, ax, names, span, last):
        ax.set_ylim(len(names) - .5, -.5)
        ax.set_yticks(range(len(names)))
        ax.set_yticklabels(names)
        ax.grid(True, axis="x")
        if self.log:
            ax.set_xscale("log")
        ax.set_xlim(*span)
        if self.log:
            logarithmic(ax.xaxis, *span)
        else:
            linear(ax.xaxis)
        ax.tick_params(axis="x", labelbottom=last)


def draw_bar(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    chart = Bars(artifact, figure, metric)
    sections = chart.sections()
    gap = 0.3 if chart.panel else 0.08
    shown, row = row_names([name for name, _ in chart.pairs], 1.9, .215)
    names = dict(zip((name for name, _ in chart.pairs), shown))
    left, right = style.widest(names.values(), SMALL) + .22, .72
    height = sum(gap + row * len(bars) for _, bars in sections)
    marks = chart.marks(sections)
    note = foot_note(chart.rows, chart.machines, "+ the value in print" if marks else "", left_out(chart.absent))
    page = Page(artifact, figure, height + 0.55, foot_height([], note))
    span, colours = chart.span(sections, marks), chart.colours()
    top = 0.0
    for i, (title, bars) in enumerate(sections):
        if chart.panel:
            page.text(0.08, top + gap - .06, style.wrap(title, WIDTH - .3), weight="bold", size=SMALL + .5, va="bottom")
        ax = page.axes(left, top + gap, WIDTH - left - right, row * len(bars))
        for j, (_, label, r) in enumerate(bars):
            y = top + gap + (j + .5) * row
            if r["median"] is None:
                page.text(WIDTH - .06, y, r["said"], ha="right", va="center", style="italic",
                          color=MUTED if r["said"] == "not run" else style.COLOURS[1])
                continue
            chart.draw_row(ax, j, r, label.endswith(" †"), colours[label], marks.get(id(r)))
            page.text(WIDTH - .06, y, short(r["median"]), ha="right", va="center")
        last = i == len(sections) - 1
        chart.finish(ax, [names[name] for name, _, _ in bars], span, last)
        if last:
            ax.set_xlabel(str(figure.get("xlabel") or figure.get("ylabel") or with_unit(metric, unit)))
        top += gap + row * len(bars)
    add_legend(page, [], [], note)
    return page.drawing(f"{len(chart.dropped)} more rows are not drawn" if chart.dropped else "")
