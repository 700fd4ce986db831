"""Points: one per row of the table, its cost against the row's sizes; a panel per size, a colour per method."""

from matplotlib.lines import Line2D

from .. import style
from ..inputs import number
from ..style import MUTED, PAPER
from .axes import finish_axes, scale, with_unit
from .data import Nothing, chosen_metric, expand, foot_note, in_order, points
from .layout import add_legend, panels

FLOOR = "floor: the method's arithmetic and bytes at the measured ceilings"


def names_in(figure, key):
    return [name.strip() for name in str(figure.get(key) or "").split(";") if name.strip()]


def sizes_by_row(artifact):
    """{(row of the layout, column): number}, of recorded layouts where this one has none."""
    found = {}
    for source in [artifact] + [other for _, other in artifact.recorded]:
        header = source.table[0] if source.table else []
        for line in source.table[1:]:
            for column, text in zip(header[1:], line[1:]):
                if number(text) is not None:
                    found.setdefault((line[0].strip(), column.strip()), number(text))
    return found


def placed(artifact, figure, rows, xs):
    """The rows whose sizes are known and positive, with "at" ({size: number}), "cost" and "floor". @throws Nothing"""
    template = str((artifact.meta.get("table") or {}).get("rows") or "{label}")
    sizes, found = sizes_by_row(artifact), []
    for row in rows:
        name = (expand(template, row) or "").strip()

        def size(column):
            return number(row[column]) if column in row else sizes.get((name, column))
        divisors, at = [size(column) for column in names_in(figure, "per")], {x: size(x) for x in xs}
        if row["median"] <= 0 or any(not d or d < 0 for d in divisors) or any(v is None for v in at.values()):
            continue
        unit = 1.0
        for divisor in divisors:
            unit /= divisor
        share = number(row.get("share"))
        found.append(dict(row, at=at, cost=row["median"] * unit, floor=row["median"] * unit * share if share else None))
    if not found:
        raise Nothing(f"no row of the table has a number of each of {', '.join(xs + names_in(figure, 'per'))}")
    return found


def draw_scatter(artifact, figure):
    metric, unit = chosen_metric(artifact, figure)
    xs = names_in(figure, "x")
    if not xs:
        raise Nothing("the figure names no size to draw along (x)")
    rows, machines = points(artifact, metric, ["label", "device", "dataset"] + artifact.axes())
    rows = placed(artifact, figure, rows, xs)
    labels = in_order([row["label"] for row in rows], artifact.labels())
    looks = dict(zip(labels, style.looks([label.removesuffix(" †") for label in labels])))
    note = foot_note(rows, machines)
    shown = labels + ([FLOOR] if any(row["floor"] for row in rows) else [])
    page, axs = panels(artifact, figure, xs, shown, note, str(figure.get("xlabel") or ("" if len(xs) > 1 else xs[0])),
                       str(figure.get("ylabel") or with_unit(metric, unit)))
    for ax, x in zip(axs, xs):
        for label in labels:
            colour, _, marker = looks[label]
            own = [row for row in rows if row["label"] == label]
            ax.plot([r["at"][x] for r in own], [r["cost"] for r in own], linestyle="", marker=marker, color=colour, markersize=4,
                    markerfacecolor=PAPER if label.endswith(" †") else colour, alpha=.85)
            low = [r for r in own if r["floor"]]
            ax.plot([r["at"][x] for r in low], [r["floor"] for r in low], linestyle="", marker="_", color=colour, markersize=6)
        finish_axes(ax, scale(figure, "x"), scale(figure, "y"), [r["at"][x] for r in rows],
                    [v for r in rows for v in (r["cost"], r["floor"]) if v])
    handles = [Line2D([], [], linestyle="", marker=looks[label][2], color=looks[label][0],
                      markerfacecolor=PAPER if label.endswith(" †") else looks[label][0]) for label in labels]
    handles += [Line2D([], [], linestyle="", marker="_", color=MUTED, markersize=6)] * (len(shown) - len(labels))
    add_legend(page, handles, shown, note)
    return page.drawing()
