"""Lines: a median against an axis, with its interval; one line per method, one panel per data set."""

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from .. import style
from ..inputs import natural, number
from ..style import INK, MUTED, PAPER, SMALL
from .axes import finish_axes, scale, with_unit
from .data import PRINTED, Nothing, chosen_metric, distinct, foot_note, in_order, in_print, kin, panel_names, points
from .layout import MAX_PANELS, add_legend, panels


def curves_of(rows, x, fields):
    """Groups rows into lines; a field names a line only where it tells two lines of one label apart."""
    telling = [f for f in fields if any(len({r.get(f, "") for r in rows if r["label"] == label}) > 1
                                        for label in distinct(rows, "label"))]
    lines = {}
    for row in rows:
        extra = ", ".join(f"{row.get(f, '')}" if f in ("device", "dataset") else f"{f}={row.get(f, '')}" for f in telling)
        lines.setdefault((row["label"] + (f", {extra}" if extra else ""), row["label"]), []).append(row)
    return lines


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


def drawn_once(names):
    return list(dict.fromkeys(name for name, _ in names))


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
    if len(distinct(rows, x)) == 1:  # points above one place are no line
        from .bar import draw_bar
        return draw_bar(artifact, dict(figure, xlabel=figure.get("ylabel") or with_unit(metric, unit), xscale=figure.get("yscale"), xlim=figure.get("ylim")))
    fields = panel_names(rows, panel)
    titles = sorted(distinct(rows, "panel"), key=natural) if panel else [""]
    dropped, titles = titles[MAX_PANELS:], titles[:MAX_PANELS]
    numeric = all(number(row[x]) is not None for row in rows)
    places = {} if numeric else {v: i for i, v in enumerate(sorted(distinct(rows, x), key=natural))}
    lines = curves_of(rows, x, [f for f in ["device", "dataset"] + axes if f not in [x] + fields])
    order = in_order(list(dict.fromkeys(label for _, label in lines)), artifact.labels())
    names = sorted(lines, key=lambda pair: (order.index(pair[1]), natural(pair[0])))
    looks = dict(zip((name for name, _ in names), style.looks([kin(label) if len(names) > 4 or machines else name for name, label in names])))
    note = foot_note(rows, machines)
    xscale, yscale = scale(figure, "x"), scale(figure, "y")
    printed = in_print(artifact, metric)
    for row in rows:
        row["paper"] = printed(row)
    marked = any(row["paper"] is not None for row in rows)
    drawn = {name for name, _ in names}
    shown = [name for name in drawn_once(names) if name.replace(" †", "", 1) == name or name.replace(" †", "", 1) not in drawn]
    shown += [PRINTED] if marked else []
    thresholds = thresholds_of(artifact, figure, x) if numeric else []
    shown += [name for name, _ in thresholds]
    page, axs = panels(artifact, figure, [str(t) for t in titles], shown, note,
                       str(figure.get("xlabel") or x), str(figure.get("ylabel") or with_unit(metric, unit)))
    for ax, title in zip(axs, titles):
        drawn_x, drawn_y = [], []
        for pair in names:
            colour, dash, marker = looks[pair[0]]
            merged = {}
            for row in lines[pair]:
                if not panel or row.get("panel", "") == title:
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
            papers = {v: r["paper"] for v in xs for r in merged[v] if r["paper"] is not None and (r["paper"] > 0 or yscale != "log")}
            ax.plot(list(papers), list(papers.values()), "x", color=colour, markersize=4.6, markeredgewidth=1.2)
            drawn_y += papers.values()
        for (_, limits), dash in zip(thresholds, LIMIT_DASHES * len(thresholds)):
            ax.plot(list(limits), list(limits.values()), color=INK, linestyle=dash, linewidth=1.1, zorder=1)
            drawn_y += limits.values()
        finish_axes(ax, figure, xscale if numeric else "linear", yscale, drawn_x, drawn_y)
        if not numeric:
            ax.xaxis.set_major_locator(FixedLocator(list(places.values())))
            ax.set_xticklabels([style.wrap(str(name), 0.9, SMALL) for name in places])
            ax.set_xlim(-.4, len(places) - .6)
    dashes = dict(zip((name for name, _ in thresholds), LIMIT_DASHES * len(thresholds)))
    handles = [Line2D([], [], color=INK, linestyle=dashes[n], linewidth=1.1) if n in dashes and n not in looks else
               Line2D([], [], linestyle="", marker="x", color=MUTED, markeredgewidth=1.2) if n == PRINTED and n not in looks else
               Line2D([], [], color=looks[n][0], linestyle=looks[n][1], marker=looks[n][2], markeredgewidth=1,
                      markerfacecolor=PAPER if n.split(",")[0].endswith(" †") else looks[n][0]) for n in shown]
    add_legend(page, handles, shown, note)
    return page.drawing(f"{len(dropped)} more panels are not drawn: {', '.join(map(str, dropped))}" if dropped else "")
