"""Picks from an artifact what a figure shows, in the paper's order, recorded values in the gaps."""

import re

from ..inputs import inner, number, printed


class Nothing(Exception):
    """There is nothing to draw, and why."""


def chosen_metric(artifact, figure):
    """(metric, unit): the figure's, else the first the data has."""
    names = [(row.get("metric", ""), row.get("unit", "")) for row in artifact.tidy + artifact.samples]
    wanted = figure.get("metric")
    if wanted:
        return str(wanted), next((unit for name, unit in names if name == wanted and unit), "")
    return names[0] if names else ("", "")


def tidy_rows(source, metric):
    """The tidy table's rows of a metric with float median, low and high; no median where the cell is not ok."""
    for row in source.tidy:
        if metric and row.get("metric") != metric:
            continue
        value = number(row.get("median"))
        item = dict(row, median=value, low=number(row.get("ci_low")), high=number(row.get("ci_high")))
        if value is not None and row.get("status", "ok") not in ("ok", ""):
            item["median"] = None
        yield item


def points(artifact, metric, key_fields):
    """Rows of the tidy table with a number; where the local row has none, the recorded one, marked †.

    @return (rows with float median, low, high and text fields; the machines used)
    """
    local = list(tidy_rows(artifact, metric))
    found = [row for row in local if row["median"] is not None]
    have = {tuple(row.get(field, "") for field in key_fields) for row in found}
    machines = []
    for machine, other in artifact.recorded:
        for row in tidy_rows(other, metric):
            key = tuple(row.get(field, "") for field in key_fields)
            if row["median"] is not None and key not in have:
                have.add(key)
                found.append(dict(row, label=row.get("label", "") + " †"))
                machines = list(dict.fromkeys(machines + [machine]))
    if not found:
        local += [row for row in artifact.tidy if not row.get("metric")]  # what did not run has no metric, but a reason
        why = sorted({row.get("reason", "") for row in local if row.get("reason")})
        raise Nothing("no row has a number" + (f" of {metric}" if metric else "") +
                      (f": {why[0]}" if len(why) == 1 else ""))
    return found, machines


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
            values = [number(value) for value in row["values"]]
            group = groups.setdefault(name, [[], 0])
            group[0] += [value for value in values if value is not None]
            group[1] += values.count(None)
        return groups

    groups, machines = collect(artifact), []
    for machine, other in artifact.recorded:
        for name, (values, failed) in collect(other).items():
            if values and not groups.get(name, ([], 0))[0] and name + " †" not in groups:
                groups[name + " †"] = (values, failed)
                machines = list(dict.fromkeys(machines + [machine]))
    return groups, machines


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


def expand(template, row):
    """A name from a template such as "2^{w}+1" and a row of the tidy table; None where it names something else."""
    fields = dict(row, label=row.get("label", "").removesuffix(" †"), name=row.get("algorithm", ""))
    unknown = [field for field in re.findall(r"\{(.*?)\}", template) if field not in fields]
    return None if unknown else re.sub(r"\{(.*?)\}", lambda m: str(fields[m.group(1)]), template)


def in_print(artifact, metric):
    """A function that tells the published value of a tidy row's metric (a median or a mean), else None."""
    table = inner(artifact.meta, "table")
    columns = [c for c in table.get("columns") or [] if isinstance(c, dict) and c.get("metric") == metric and
               c.get("statistic") in ("median", "mean") and not c.get("group")]
    values = {(v.get("row", "").strip(), v.get("column", "").strip()): printed(v.get("paper")) for v in artifact.verdicts}

    def look_up(row):
        name = expand(str(table.get("rows") or ""), row)
        for column in columns if name else []:
            where = column.get("where") or {}
            heading = expand(str(table["pivot"]), row) if table.get("pivot") else column.get("name", "")
            if heading and all(expand("{%s}" % key, row) == str(value) for key, value in where.items()):
                found = values.get((name.strip(), heading.strip()))
                if found is not None:
                    return found
        return None
    return look_up


def medians_in_print(artifact, metric):
    """{label: published median} where a row of the table is a label."""
    table = inner(artifact.meta, "table")
    if table.get("rows") != "{label}" or table.get("pivot"):
        return {}
    names = {c.get("name", "") for c in table.get("columns") or [] if isinstance(c, dict) and c.get("metric") == metric and
             c.get("statistic") == "median" and not c.get("group") and not c.get("where")}
    return {v.get("row", ""): printed(v.get("paper")) for v in artifact.verdicts
            if v.get("column") in names and printed(v.get("paper")) is not None}


PRINTED = "in print"


def left_out(names):
    """What the foot says of rows that were not run and are not drawn."""
    kinds = list(dict.fromkeys(name.split(" (")[0] for name in names))
    shown = ", ".join(kind.replace(", ", " ") for kind in kinds[:6]) + (f" and {len(kinds) - 6} more" if len(kinds) > 6 else "")
    return f"not run: {shown}" if names else ""


def recorded_note(machines):
    return "hollow, †: recorded on " + ", ".join(machines) if machines else ""


def foot_note(rows, machines, *more):
    """What the foot of a figure says: the one data set all rows are of, and where recorded ones come from."""
    names = [name for name in distinct(rows, "dataset") if name]
    return "; ".join(part for part in (f"data: {names[0]}" if len(names) == 1 else "", recorded_note(machines), *more) if part)


def panel_names(rows, panel):
    """Gives each row under "panel" the title of its panel; `panel` names one or more fields, as "dataset, rows_behind"."""
    fields = [field.strip() for field in panel.split(",") if field.strip()]
    for row in rows:
        row["panel"] = ", ".join(str(row.get(f, "")) if f in ("dataset", "label", "device") or number(row.get(f)) is None
                                 else f"{f.replace('_', ' ')} {row[f]}" for f in fields)
    return fields


def distinct(rows, field):
    return list(dict.fromkeys(row.get(field, "") for row in rows))


def curves_of(rows, fields):
    """Groups rows into lines; a field names a line only where it tells two lines of one label apart."""
    telling = [f for f in fields if any(len({r.get(f, "") for r in rows if r["label"] == label}) > 1
                                        for label in distinct(rows, "label"))]
    lines = {}
    for row in rows:
        extra = ", ".join(f"{row.get(f, '')}" if f in ("device", "dataset") else f"{f}={row.get(f, '')}" for f in telling)
        lines.setdefault((row["label"] + (f", {extra}" if extra else ""), row["label"]), []).append(row)
    return lines


def in_order(names, order):
    """`names` in the order of `order`, a † variant right behind its own, the rest behind."""
    rank = {name: i for i, name in enumerate(order)}
    seen = {name: i for i, name in enumerate(names)}
    return sorted(seen, key=lambda n: (rank.get(n.removesuffix(" †"), len(rank)), n.endswith(" †"), seen[n]))


def kin(label):
    """What rows of one colour share: the method, without its parameters and its device."""
    base = label.removesuffix(" †").split(" (")[0]
    return base[:-4] if base.lower().endswith("-gpu") else base
