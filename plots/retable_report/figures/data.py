"""Picks from an artifact what a figure shows, in the paper's order, recorded values in the gaps."""

from ..inputs import number


class Nothing(Exception):
    """There is nothing to draw, and why."""


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


def recorded_note(machines):
    return "† recorded on " + ", ".join(machines) if machines else ""


def foot_note(rows, machines):
    """What the foot of a figure says: the one data set all rows are of, and where recorded ones come from."""
    names = [name for name in distinct(rows, "dataset") if name]
    return "; ".join(part for part in (f"data: {names[0]}" if len(names) == 1 else "", recorded_note(machines)) if part)


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
