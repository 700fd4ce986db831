"""Stands for a figure where the work has a table: measured over paper, row by row."""

from matplotlib.lines import Line2D

from .. import style
from ..inputs import number, printed
from ..style import BAND, MUTED, SMALL, WIDTH
from .axes import logarithmic
from .data import Nothing, in_order
from .layout import MAX_ROWS, Page, add_legend, foot_height, row_names


def ratios_of(artifact):
    """{row: [(ratio, verdict, interval over paper)]} of the cells that have a ratio. @throws Nothing"""
    rows = {}
    for verdict in artifact.verdicts:
        ratio, paper = number(verdict.get("ratio")), printed(verdict.get("paper"))
        if ratio is not None and ratio > 0 and verdict["verdict"] in style.VERDICT_MARKERS:
            bounds = [number(verdict.get(k)) for k in ("ci_low", "ci_high")]
            rows.setdefault(verdict["row"], []).append(
                (ratio, verdict["verdict"], [b / paper if b is not None and paper else None for b in bounds]))
    if sum(map(len, rows.values())) < 3:
        raise Nothing("the table says it all: fewer than three cells have a ratio to draw")
    return rows


def draw_ratio(ax, y, ratio, verdict, low, high, reach):
    """One cell: its interval, and its mark; beyond the axis an arrow."""
    colour = style.VERDICT_COLOURS[verdict]
    if low is not None and high is not None and low > 0 and high > low:
        ax.plot([max(low, 1 / reach), min(high, reach)], [y, y], color=colour, linewidth=1, alpha=.6)
    out = ratio > reach or ratio < 1 / reach
    ax.plot([min(max(ratio, 1 / reach), reach)], [y], clip_on=False, color=colour, markersize=5,
            marker=(">" if ratio > reach else "<") if out else style.VERDICT_MARKERS[verdict])


def finish(page, ax, names, reach, left, head):
    ax.set_xscale("log")
    ax.set_xlim(1 / reach, reach)
    logarithmic(ax.xaxis, 1 / reach, reach)
    ax.set_ylim(len(names) - .5, -.5)
    ax.set_yticks(range(len(names)))
    ax.set_yticklabels(names)
    ax.spines["left"].set_visible(False)
    ax.grid(True, axis="x")
    wide = WIDTH - left - .2 > 3.4
    ax.set_xlabel("measured / paper  (1 = as published; band: within 10 %)" if wide else "measured / paper (band: within 10 %)")
    page.text(left, head - .07, "◂ measured is smaller" if wide else "◂ smaller", ha="left", va="bottom", color=MUTED)
    page.text(WIDTH - .2, head - .07, "measured is larger ▸" if wide else "larger ▸", ha="right", va="bottom", color=MUTED)


def draw_agreement(artifact, figure):
    """Stands for a figure where the work has a table: measured over paper, row by row."""
    rows = ratios_of(artifact)
    order = in_order(list(rows), list(dict.fromkeys(v["row"] for v in artifact.verdicts)))
    order, dropped = order[:MAX_ROWS], order[MAX_ROWS:]
    ratios = [r for name in order for r, _, _ in rows[name]]
    reach = min(100.0, max(1.6, *ratios, *[1 / r for r in ratios]) * 1.15)
    names, row = row_names(order, 2.1, .21)
    left, head = style.widest(names, SMALL) + .24, .26
    seen = {verdict for name in order for _, verdict, _ in rows[name]}
    present = [v for v in style.VERDICT_MARKERS if v in seen]
    page = Page(artifact, figure, head + row * len(order) + .5, foot_height(present, ""))
    ax = page.axes(left, head, WIDTH - left - .2, row * len(order))
    ax.axvspan(1 / 1.1, 1.1, color=BAND, linewidth=0, zorder=0)
    ax.axvline(1, color=MUTED, linewidth=1)
    for i, name in enumerate(order):
        count = len(rows[name])
        for j, (ratio, verdict, (low, high)) in enumerate(rows[name]):
            y = i + (0 if count == 1 else (j / (count - 1) - .5) * .62)
            draw_ratio(ax, y, ratio, verdict, low, high, reach)
    finish(page, ax, names, reach, left, head)
    handles = [Line2D([], [], linestyle="", marker=style.VERDICT_MARKERS[v], color=style.VERDICT_COLOURS[v]) for v in present]
    add_legend(page, handles, present)
    return page.drawing(f"{len(dropped)} more rows are not drawn" if dropped else "")
