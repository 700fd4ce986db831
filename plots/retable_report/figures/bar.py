"""Bars: the median of each row with its interval; dots where the sizes need a log axis."""

from .. import style
from ..inputs import natural
from ..style import INK, MUTED, PAPER, SMALL, WIDTH
from .axes import limits, linear, logarithmic, scale, short, with_unit
from .data import Nothing, blanks, chosen_metric, distinct, foot_note, in_order, in_print, kin, left_out, panel_names, points
from .layout import MAX_PANELS, MAX_ROWS, Page, add_legend, foot_height, row_names
from .line import curves_of


def draw_bar(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    axes = artifact.axes()
    rows, machines = points(artifact, metric, ["label", "device", "dataset"] + axes)
    panel = str(figure.get("panel") or ("dataset" if len(distinct(rows, "dataset")) > 1 else ""))
    single = False
    if panel and "panel" not in figure and len(distinct(rows, "label")) == 1:  # one method: its data sets are the rows
        rows, panel, single = [dict(row, label=row.get(panel, ""), dataset="") for row in rows], "", True
    fields = panel_names(rows, panel)
    titles = sorted(distinct(rows, "panel"), key=natural)[:MAX_PANELS] if panel else [""]
    lines = curves_of(rows, "", [f for f in ["device", "dataset"] + axes if f not in fields])
    order = in_order(list(dict.fromkeys(label for _, label in lines)), artifact.labels())
    pairs = sorted(lines, key=lambda pair: (order.index(pair[1]), natural(pair[0])))
    pairs, dropped = pairs[:MAX_ROWS], pairs[MAX_ROWS:]
    log = "log" in (scale(figure, "x"), scale(figure, "y"))
    if not figure.get("xscale") and not figure.get("yscale"):  # bars of which only the longest can be seen say nothing
        sizes = [row["median"] for row in rows]
        log = log or (min(sizes) > 0 and max(sizes) > 500 * min(sizes))
    blank = [] if single or panel else blanks(artifact, metric, {label.removesuffix(" †") for label in distinct(rows, "label")})
    absent = [name for name, said in blank if said == "not run"]
    absent = absent if len(absent) > 2 else []
    blank = [pair for pair in blank if pair[0] not in absent]
    printed = in_print(artifact, metric)
    pairs += [(name, name) for name, _ in blank]
    ranked = in_order([label for _, label in pairs], artifact.labels())
    pairs.sort(key=lambda pair: ranked.index(pair[1]))
    lines.update({(name, name): [{"label": name, "median": None, "low": None, "high": None, "said": said}] for name, said in blank})
    sections = []
    for title in titles:
        bars = [(name, label, r) for name, label in pairs for r in lines[(name, label)]
                if (not panel or r.get("panel", "") == title) and (r["median"] is None or not log or r["median"] > 0)]
        if bars:
            sections.append((str(title), bars))
    if not sections:
        raise Nothing("no row has a positive number, and the axis is logarithmic" if log else "no row has a number")
    gap = 0.3 if panel else 0.08
    shown, row = row_names([name for name, _ in pairs], 1.9, .215)
    names = dict(zip((name for name, _ in pairs), shown))
    left, right = style.widest(names.values(), SMALL) + .22, .72
    height = sum(gap + row * len(bars) for _, bars in sections)
    marks = {id(r): printed(r) for _, bars in sections for _, _, r in bars if printed(r) is not None and (printed(r) > 0 or not log)}
    note = foot_note(rows, machines, "+ the value in print" if marks else "", left_out(absent))
    page = Page(artifact, figure, height + 0.55, foot_height([], note))
    values = [r[k] for _, bars in sections for _, _, r in bars for k in ("median", "high") if r[k] is not None] + list(marks.values())
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
            if id(r) in marks:
                ax.plot([marks[id(r)]], [j], "P", color=INK, markeredgecolor=PAPER, markeredgewidth=.6, markersize=6.5, zorder=5)
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
