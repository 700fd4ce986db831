"""What each family trades: one picture of quality against cost, with every method and peer that was measured.

The page's script draws it (templates/pareto.js), so that a reader can choose a data set and leave methods out.
"""

import statistics
from dataclasses import dataclass

from .figures.data import kin
from .inputs import number


@dataclass(frozen=True)
class Axis:
    metric: str
    name: str
    unit: str = ""
    log: bool = True
    low: bool = True        #: lower is better
    enough: float = 0.0     #: values on the better side of this are equally good
    floor: float = 0.0      #: smaller values are drawn here


@dataclass(frozen=True)
class Trade:
    """Where the points of a family come from, and what its two axes are."""
    title: str
    artifacts: tuple
    x: Axis
    y: Axis
    panel: tuple = ()       #: axes that, with the data set, name a panel
    pooled: bool = False    #: a first panel holds the medians over all data sets
    note: str = ""


TIME = Axis("time", "time", "s")
TRADES = {
    "quantiles": Trade("Error against size", ("quantiles/beyond_bytes",), Axis("bytes", "size of the sketch", "bytes"),
                       Axis("niae", "integrated absolute error (NIAE)"), pooled=True),
    "treeshap": Trade("Preparation against time", ("treeshap/beyond_values",), Axis("prepare", "preparation of the model, once", "s"),
                      Axis("time", "explanation of 10,000 rows", "s"),
                      note="All methods are exact: an answer that differs from the reference is not timed. They trade preparation against time per batch."),
    "shapley": Trade("Error against time", ("shapley/beyond_estimators", "shapley/beyond_packages"), TIME,
                     Axis("mse", "mean squared error"), panel=("rows_behind",)),
    "shuffle": Trade("Uniformity against speed", ("shuffle/beyond_overview",), Axis("rate", "speed", "million items/s", low=False),
                     Axis("fairness", "p of the worst uniformity test", low=False, enough=1e-4, floor=1e-6),
                     note="Below p = 0.0001 a test rejects the shuffle; above it, a larger p says nothing more."),
    "extratrees": Trade("Accuracy against time",
                        ("extratrees/fig2", "extratrees/beyond_peer", "extratrees/beyond_ladder", "extratrees/fig1", "extratrees/beyond_baseline"),
                        TIME, Axis("accuracy", "accuracy on the test set", log=False, low=False)),
}


def pairs(artifact, trade):
    """[(fields of the row, x row, y row)] of the cells that have both metrics."""
    found = {}
    axes = artifact.axes()
    for row in artifact.tidy:
        if row.get("metric") in (trade.x.metric, trade.y.metric) and number(row.get("median")) is not None \
                and row.get("status", "ok") in ("ok", ""):
            key = tuple(row.get(k, "") for k in ["label", "device", "dataset"] + axes)
            found.setdefault(key, {})[row["metric"]] = row
    return [(cells[trade.x.metric], cells[trade.y.metric]) for cells in found.values()
            if trade.x.metric in cells and trade.y.metric in cells]


def method_of(label):
    """What marks of one colour share: the method, whatever its parameters and its device."""
    return kin(label).removesuffix(", GPU").removesuffix(" GPU").removesuffix(" CPU").removesuffix("-cpu")


def words(axis, value):
    return f"{axis.replace('_', ' ')} {value}"


def points_of(artifact, trade, source, slug):
    """{panel: [point]} of one artifact; a point is what the script reads: see `picture`."""
    panels = {}
    varying = [a for a in artifact.axes() if a not in trade.panel and len({row.get(a, "") for row in artifact.tidy}) > 1]
    for x, y in pairs(artifact, trade):
        panel = ", ".join([x.get("dataset", "")] + [words(a, x[a]) for a in trade.panel if x.get(a)])
        detail = ", ".join(words(a, x[a]) for a in varying if x.get(a))
        panels.setdefault(panel, []).append(
            [method_of(x["label"]), x["label"], "GPU" if x.get("device") == "cuda" else "CPU", source, *drawn(x), *drawn(y), detail, slug])
    return panels


def brief(value):
    """A number of four significant digits, a whole one without its `.0`."""
    value = None if value is None else float(f"{value:.4g}")
    return int(value) if value is not None and value.is_integer() else value


def drawn(row):
    """[median, its interval]; no ends of an interval that is a point."""
    median, low, high = (brief(number(row.get(k))) for k in ("median", "ci_low", "ci_high"))
    return [median, None, None] if low == high else [median, low, high]


def pool(panels):
    """The medians over all panels of the methods that have a point in each of them."""
    alike = {}
    for name, points in panels.items():
        for point in points:
            alike.setdefault((*point[:4], point[10], point[11]), {})[name] = point
    pooled = []
    for (method, label, device, source, detail, slug), by_panel in alike.items():
        if len(by_panel) == len(panels):
            x, y = (brief(statistics.median(point[k] for point in by_panel.values())) for k in (4, 7))
            pooled.append([method, label, device, source, x, None, None, y, None, None, detail, slug])
    return pooled


def axis_of(axis):
    return {"name": axis.name, "unit": axis.unit, "log": axis.log, "low": axis.low, "enough": axis.enough, "floor": axis.floor}


def picture(family, report, slugs):
    """What the script needs to draw the family's picture, or None where no run measured both axes.

    A point is [method, label, device, source, x, its interval, y, its interval, detail, anchor of the artifact], each text as
    its place in `words`.
    """
    trade = TRADES.get(family)
    if trade is None:
        return None
    sources, panels = [], {}
    for machine, run in ([] if report.fill else [("", report)]) + list(report.recorded):
        mine = {}
        for name in trade.artifacts:
            if name in run.artifacts:
                artifact = run.artifacts[name]
                for panel, points in points_of(artifact, trade, len(sources), slugs.get(name, "")).items():
                    mine.setdefault(panel, []).extend(points)
        if mine:
            sources.append({"name": machine or "this run", "date": run.date(), "recorded": bool(machine) and not report.fill})
            if trade.pooled and len(mine) > 2:
                mine[f"median over {len(mine)} data sets"] = pool(mine)
            for panel, points in mine.items():
                panels.setdefault(panel, []).extend(points)
    if not panels:
        return None
    here = {i for i, source in enumerate(sources) if not source["recorded"]}
    ranked = sorted(panels, key=lambda p: (not any(point[3] in here for point in panels[p]), not p.startswith("median over"), -len({point[0] for point in panels[p]}), -len(panels[p]),
                                            -max((point[7] for point in panels[p]), default=0)))
    words = {}
    packed = [[name, [[words.setdefault(v, len(words)) if isinstance(v, str) else v for v in point] for point in panels[name]]]
              for name in ranked if panels[name]]
    return {"title": trade.title, "note": trade.note, "x": axis_of(trade.x), "y": axis_of(trade.y), "sources": sources,
            "words": list(words), "panels": packed}
