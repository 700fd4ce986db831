"""What page.py and markdown.py both show, worked out once: verdict rows, layouts, counts, sentences."""

import re
from collections import Counter

from .figures.data import expand
from .inputs import CLAIM_VERDICTS, FAMILY_NAMES, JUDGED, VERDICTS, inner, number, printed
from . import numbers

GLYPHS = {"MATCH": "●", "TREND": "▲", "ORDER-ONLY": "△", "MISMATCH": "✖", "FAILED": "■", "DIFFERENT-HW": "◆", "NOT-RUN": "○",
          "NO-DATA": "–", "NOT-JUDGED": "◌", "HOLDS": "✔", "FAILS": "✖", "UNSTEADY": "≈"}
WORDS = {"MATCH": "match", "TREND": "trend", "ORDER-ONLY": "order only", "MISMATCH": "mismatch", "FAILED": "failed",
         "DIFFERENT-HW": "other hardware", "NOT-RUN": "not run", "NO-DATA": "no data", "NOT-JUDGED": "not judged",
         "HOLDS": "holds", "FAILS": "fails", "UNSTEADY": "unsteady"}
MEANING = {
    "MATCH": "The whole interval of the measured value lies within the cell's tolerance of the published one; of a bound: the measured value keeps it.",
    "TREND": "The size differs, by a factor of at most 3, and what the number says in its table still holds: its side of 1 or its place in the order.",
    "ORDER-ONLY": "Its side of 1 or its place in the order holds, but the size is more than 3 times off. Not counted as reproduced.",
    "MISMATCH": "The measured value lies outside the tolerance, and its place among the other rows differs too; or a published bound is broken. Where other data ran than in the work, as the coverage tells, that is a finding on these data and no error by itself.",
    "FAILED": "The method failed or answered wrongly here; the reason is its cell's.",
    "DIFFERENT-HW": "An absolute time or rate on another machine. It is shown, not judged; judge ratios and orders instead.",
    "NOT-RUN": "Not measured here, for the reason given: no GPU, a data set that is absent, a row that another profile has.",
    "NOT-JUDGED": "Measured at sizes too small to judge, as the smoke profile does, or only some of its cells so far.",
    "NO-DATA": "The work prints no number to compare with, or the measurement gave none.",
    "HOLDS": "The check came out true on the measured values beside it.",
    "FAILS": "The check came out false on the measured values beside it: a finding on this machine and these data. Where the reason is known it is told.",
    "UNSTEADY": "The check reads times that other work on the machine disturbed. It neither holds nor fails: repeat it on a quiet machine.",
}


def kind_of(verdict, known=VERDICTS):
    """The verdict's name, for colours and glyphs; an unknown word counts as NO-DATA but is shown as it is."""
    return verdict if verdict in known else "NO-DATA"


def label_of(verdict):
    return WORDS.get(verdict, verdict.lower())


def where(page, table):
    page = str(page).strip()
    parts = [str(table).strip(), f"page {page}" if page[:1].isdigit() else page]
    return ", ".join(part for part in parts if part)


def source_of(artifact):
    source = artifact.meta.get("source")
    if isinstance(source, dict):
        return str(source.get("where") or "") or where(source.get("page", ""), source.get("table", ""))
    return str(source or "")


def on(recorded):
    """'machine, date' of a recorded value."""
    return ", ".join(part for part in (recorded["machine"], recorded["date"]) if part)


def preference(artifact, machine):
    """By which a recorded run comes before others: of the works' sizes, then the newest."""
    return artifact.text("profile") == "paper", getattr(artifact, "date", ""), machine


def recorded_value(artifact, row):
    """(machine, date, verdict row) of the recorded run that measured this cell and is preferred; else None."""
    found = []
    for machine, other in artifact.recorded:
        for theirs in other.verdicts:
            if (theirs["row"], theirs["column"], theirs.get("kind")) == (row["row"], row["column"], row.get("kind")) \
                    and number(theirs.get("measured")) is not None:
                found.append((preference(other, machine), machine, getattr(other, "date", ""), theirs))
    return max(found, key=lambda item: item[0])[1:] if found else None


def verdict_rows(artifact):
    """One dict of text per published cell, in the file's order."""
    rows = []
    for v in artifact.verdicts:
        measured = number(v.get("measured"))
        row = {"row": v["row"], "column": v["column"], "kind": v.get("kind", ""), "unit": v.get("unit", ""),
               "paper": numbers.published(v.get("paper")), "paper_value": printed(v.get("paper")),
               "measured": numbers.shown(v.get("measured")), "measured_value": measured,
               "interval": numbers.interval(v.get("ci_low"), v.get("ci_high")), "n": numbers.shown(v.get("n")),
               "ratio": numbers.ratio(v.get("ratio")), "ratio_value": number(v.get("ratio")),
               "verdict": kind_of(v["verdict"]), "word": label_of(v["verdict"]), "reason": v.get("reason", ""),
               "where": where(v.get("page", ""), v.get("table", "")), "unsteady": v.get("unsteady", "") or "", "recorded": None}
        if measured is None and row["verdict"] in ("NOT-RUN", "NO-DATA"):
            found = recorded_value(artifact, v)
            if found:
                machine, date, theirs = found
                row["recorded"] = {
                    "machine": machine, "date": date, "measured": numbers.shown(theirs.get("measured")),
                    "value": number(theirs.get("measured")), "ratio": numbers.ratio(theirs.get("ratio")),
                    "interval": numbers.interval(theirs.get("ci_low"), theirs.get("ci_high")),
                    "verdict": kind_of(theirs["verdict"]), "word": label_of(theirs["verdict"])}
        rows.append(row)
    return rows


def why_not_run(rows):
    """[(reason, cells)] of the cells that were not run, the commonest first."""
    return Counter(row["reason"] for row in rows if row["verdict"] == "NOT-RUN" and row["reason"]).most_common()


def reasons_in_short(rows):
    """[(reason without the command that helps, cells)] of the cells that were not run: what an overview says."""
    found = Counter()
    for reason, amount in why_not_run(rows):
        found[re.sub(r"[:;]?\s*build/retable .*", "", reason)] += amount
    return found.most_common()


def shared_reasons(rows):
    """Takes out of every judged row's reason what all of them say. @return these parts, to be said once"""
    judged = [row for row in rows if row["verdict"] in ("MATCH", "TREND", "ORDER-ONLY", "MISMATCH", "DIFFERENT-HW")]
    parts = [[part.strip() for part in row["reason"].split(";") if part.strip()] for row in judged]
    if len(judged) < 3:
        return []
    said = [part for part in dict.fromkeys(parts[0]) if all(part in other for other in parts)]
    for row, own in zip(judged, parts):
        row["reason"] = "; ".join(part for part in own if part not in said)
    return said


def recorded_tables(artifact):
    """[({(row, column): text}, machine, date)] of the recorded tables, the preferred first."""
    tables = []
    for machine, other in sorted(artifact.recorded, key=lambda pair: preference(pair[1], pair[0]), reverse=True):
        header = other.table[0] if other.table else []
        cells = {(line[0].strip(), name.strip()): text for line in other.table[1:] if line for name, text in zip(header[1:], line[1:])}
        tables.append((cells, machine, getattr(other, "date", "")))
    return tables


def recorded_cell(tables, row, column):
    """A cell of the table that was measured elsewhere, else None."""
    for cells, machine, date in tables:
        text = cells.get((row.strip(), column.strip()), "")
        if number(text) is not None:
            return {"text": "", "value": number(text), "verdict": None,
                    "recorded": {"machine": machine, "date": date, "measured": numbers.shown(text)}}
    return None


def layout_cell(text, verdict, recorded, name, column):
    """One cell of the layout, or None."""
    value = number(text)
    if verdict and text.strip().upper().replace("_", "-") == verdict["verdict"]:
        text = ""  # the glyph says it
    if not verdict and text in ("", "NOT-RUN", "NO-DATA"):
        absent = {"text": GLYPHS[text], "value": None, "verdict": None, "absent": True} if text else None
        return recorded_cell(recorded, name, column) or absent
    shown = numbers.shown(text) if text else verdict["measured"] if verdict else ""
    if not shown and not verdict:
        return None
    return {"text": shown, "value": value if value is not None else verdict and verdict["measured_value"], "verdict": verdict}


def layout(artifact, rows):
    """The paper's layout: (row header, columns, [(row name, [cell or None, ...])]).

    A cell has the text of the CSV and the verdict row that judges it, either of which may be absent; where nothing
    was measured here it has what was recorded elsewhere. Published rows that this run lacks follow the others.
    """
    judged = {(v["row"].strip(), v["column"].strip()): v for v in rows}
    recorded = recorded_tables(artifact)
    if len(artifact.table) > 1:
        header = artifact.table[0]
        columns, corner = header[1:], header[0]
        grid = [(line[0], line[1:] + [""] * (len(header) - len(line))) for line in artifact.table[1:]]
    elif rows:
        columns, corner, grid = [], "", []
    else:
        return None
    columns = columns + [c for c in dict.fromkeys(v["column"] for v in rows) if c.strip() not in [k.strip() for k in columns]]
    known = {name.strip() for name, _ in grid}
    grid += [(name, []) for name in dict.fromkeys(v["row"] for v in rows) if name.strip() not in known]
    lines = []
    for name, texts in grid:
        padded = texts + [""] * (len(columns) - len(texts))
        lines.append((name, [layout_cell(text, judged.get((name.strip(), column.strip())), recorded, name, column)
                             for column, text in zip(columns, padded)]))
    return corner, columns, lines


def data_words(names):
    """The data sets of a row: their names, or how many they are."""
    synthetic = [name for name in names if name.startswith("synthetic")]
    if len(names) <= 2:
        return ", ".join(names)
    return numbers.count(len(names), "data set") + (f", {len(synthetic)} of them synthetic" if synthetic else "")


def datasets_by_row(artifact):
    """{row of the layout: the data sets that it was measured on}"""
    table = inner(artifact.meta, "table")
    template = str(table.get("rows") or "{label}")
    found = {}
    for row in artifact.tidy:
        if row.get("dataset") and number(row.get("median")) is not None:
            found.setdefault((expand(template, row) or "").strip(), {})[row["dataset"]] = True
    return found


def origin(datasets, name, machine):
    """The data sets that a row of the layout was measured on, and the machine ("" is this run's)."""
    names = list(datasets.get(name.strip(), ()))
    return {"data": data_words(names), "machine": machine, "synthetic": any(n.startswith("synthetic") for n in names)}


def origins_of(artifact, grid):
    """{row: its origins} where the numbers of a table are of several machines, or some of them of synthetic data; else {}."""
    found, own = {}, datasets_by_row(artifact)
    recorded = {machine: datasets_by_row(other) for machine, other in artifact.recorded}
    machine_here = artifact.run.machine if artifact.run else ""
    for name, cells in grid[2] if grid else []:
        elsewhere = [c.get("recorded") or (c["verdict"] or {}).get("recorded") for c in cells if c]
        machines = list(dict.fromkeys(r["machine"] for r in elsewhere if r))
        here = any(c and c["value"] is not None and not r for c, r in zip([c for c in cells if c], elsewhere))
        found[name] = ([origin(own, name, machine_here)] if here else []) + [
            origin(recorded[machine], name, machine) for machine in machines if machine in recorded]
    every = [o for rows in found.values() for o in rows]
    mixed = len({o["machine"] for o in every}) > 1 or len({o["synthetic"] for o in every}) > 1
    return found if mixed else {}


def day(text):
    return str(text or "")[:10]


def provenance(report, artifact):
    """[{machine, profile, day, commit, cells}]: where the cells of an artifact come from, as its meta file says or else the run's."""
    entries = artifact.meta.get("provenance")
    entries = [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []
    if not entries:
        report = artifact.run or report
        entries = [{"profile": artifact.text("profile") or report.run.get("profile"), "started": report.date(), "machine": machine_line(report)}]
    made = []
    owner = artifact.run.machine + ": " if artifact.run else ""
    for entry in entries:
        first, last = day(entry.get("started")), day(entry.get("finished"))
        made.append({"machine": owner + str(entry.get("machine") or machine_line(artifact.run or report)), "profile": str(entry.get("profile") or ""),
                     "day": str(entry.get("started") or "") if len(str(entry.get("started"))) < 20 and not last else
                     f"{first} to {last}" if last > first else first or last,
                     "commit": str(entry.get("commit") or "")[:20], "cells": int(number(entry.get("cells")) or 0)})
    return made


def stretches(report):
    """What ran where: [{machine, profile, day, commit, artifacts, cells}], what has most cells first."""
    groups = {}
    for artifact in report.artifacts.values():
        if any(number(row.get("median")) is not None for row in artifact.tidy):
            for made in provenance(report, artifact):
                key = tuple(made[k] for k in ("machine", "profile", "day", "commit"))
                group = groups.setdefault(key, dict(made, artifacts=[], cells=0))
                group["artifacts"].append(artifact.name)
                group["cells"] += made["cells"]
    return sorted(groups.values(), key=lambda g: (-g["cells"], -len(g["artifacts"]), g["machine"]))


def made_lines(report, artifact):
    """'Measured on …' of an artifact whose meta file tells its own origin."""
    if not artifact.meta.get("provenance") and not artifact.run:
        return []
    return [", ".join(part for part in (f"Measured {made['day']}", f"profile {made['profile']}" if made["profile"] else "",
                                        f"commit {made['commit']}" if made["commit"] else "", made["machine"],
                                        numbers.count(made["cells"], "cell") if made["cells"] else "") if part) + "."
            for made in provenance(report, artifact)] + group_lines(artifact)


def group_lines(artifact):
    """'cuda: timed cells measured in one stretch: …': card, or machine, and time of each group of timed cells that the table compares; one
    line for all groups of a device that were each measured in one stretch of the same card or machine."""
    groups, lines = {}, {}
    for entry in artifact.meta.get("groups") or []:
        first, last = (str(entry.get(key) or "")[:16].replace("T", " ") for key in ("started", "finished"))
        groups.setdefault(str(entry.get("group") or ""), []).append((str(entry.get("card") or entry.get("machine")), first, max(first, last)))
    for name, found in groups.items():
        line = (name.split(",")[0], found[0][0]) if len(found) == 1 else (name, None)
        lines.setdefault(line, []).append((name, found))

    def time(first, last):
        return first + (f" to {last[11:] if last[:10] == first[:10] else last}" if last > first else "")
    made = []
    for members in lines.values():
        name, found = members[0]
        what = "timed cells"
        if len(members) > 1:
            name, what = name.split(",")[0], f"timed cells of {len(members)} groups, each"
            found = [(found[0][0], min(f[0][1] for _, f in members), max(f[0][2] for _, f in members))]
        made.append(f"{name}: {what} measured in {'one stretch' if len(found) == 1 else f'{len(found)} stretches'}: "
                    f"{'; '.join(f'{place}, {time(first, last)}' for place, first, last in found)}.")
    return made


def history_rows(report, artifact):
    """What the artifact's main figure was in each run that is known: the newest first."""
    entries = report.history.get(artifact.name)
    rows = []
    for entry in entries if isinstance(entries, list) else []:
        value = number(entry.get("median")) if isinstance(entry, dict) else None
        if value is not None:
            what = ", ".join(str(entry[k]) for k in ("label", "device", "dataset", "metric") if entry.get(k))
            rows.append({"day": day(entry.get("date")), "commit": str(entry.get("commit") or "")[:20], "number": value,
                         "machine": ": ".join(str(entry[k]) for k in ("folder", "machine") if entry.get(k)), "what": what,
                         "value": numbers.plain(value) + (f" {entry['unit']}" if entry.get("unit") not in ("", "1", None) else ""),
                         "interval": numbers.interval(entry.get("low"), entry.get("high"))})
    return rows[::-1]


def notes_of(report, artifact):
    """The notes of its experiment, and what its run says of it."""
    return [str(note) for note in artifact.meta.get("notes") or []] + (artifact.run or report).remarks(artifact.name)


def recorded_runs(report, artifact, rows, grid):
    """The recorded runs of which something stands with this artifact: [{machine, date, remarks}]."""
    by_machine = {machine: other for machine, other in report.recorded}
    used = [r["recorded"]["machine"] for r in rows if r["recorded"]]
    used += [cell["recorded"]["machine"] for _, cells in (grid[2] if grid else []) for cell in cells if cell and cell.get("recorded")]
    used += [machine for machine, other in artifact.recorded if any(number(row.get("median")) is not None for row in other.tidy)]
    return [{"machine": machine, "date": by_machine[machine].date(), "remarks": by_machine[machine].remarks(artifact.name)}
            for machine in sorted(set(used)) if machine in by_machine]


def rounded(text):
    """Text with the long decimals in it cut to four digits."""
    return re.sub(r"(?<![\w.^])-?\d+\.\d{4,}(?:e[-+]?\d+)?(?![\w.])", lambda m: numbers.plain(float(m.group())), str(text))


def values_of(figures):
    """The values behind a claim, one a line: "cell(A, mean) = 0.012345678; …" -> ["A, mean: 0.01235", …]."""
    parts = [part.strip() for part in str(figures).split("; ")]
    said = []
    for part in parts:
        part = re.sub(r"^cell\((.*)\) = ", r"\1: ", part)
        said.append(rounded(part))
    return [part for part in said if part and not part.endswith(": missing")]


def recorded_claims(artifact, claim_id):
    """What recorded runs found of a claim, the newest first."""
    found = [{"machine": machine, "date": getattr(other, "date", ""), "verdict": theirs["verdict"],
              "word": label_of(theirs["verdict"]), "figures": values_of(theirs.get("figures", ""))}
             for machine, other in artifact.recorded for theirs in other.claims
             if theirs.get("id") == claim_id and theirs["verdict"] in ("HOLDS", "FAILS")]
    return sorted(found, key=lambda r: (r["date"], r["machine"]), reverse=True)


def claim_rows(artifact):
    rows = []
    for claim in artifact.claims:
        row = {"id": claim.get("id", ""), "text": claim.get("text", ""), "where": where(claim.get("page", ""), ""),
               "verdict": kind_of(claim["verdict"], CLAIM_VERDICTS), "word": label_of(claim["verdict"]),
               "figures": "; ".join(values_of(claim.get("figures", ""))), "said": values_of(claim.get("figures", "")), "check": claim.get("check", ""), "artifact": artifact.name,
               "reason": claim.get("reason", "") or "", "recorded": recorded_claims(artifact, claim.get("id", ""))}
        fails = "FAILS" in [row["verdict"]] + [r["verdict"] for r in row["recorded"]]
        row["note"] = (claim.get("note", "") or "") if fails else ""
        rows.append(row)
    return rows


def failing_first(claims):
    """Claims in the order of CLAIM_VERDICTS; of those without data here, first what a recorded run can tell of."""
    return sorted(claims, key=lambda c: (CLAIM_VERDICTS.index(c["verdict"]), not c["recorded"]))


def claim_count(verdict, amount):
    """'3 fail', '1 holds', '2 have no data'."""
    one = amount == 1
    words = {"HOLDS": "holds" if one else "hold", "FAILS": "fails" if one else "fail", "UNSTEADY": "unsteady",
             "NOT-JUDGED": "not judged", "NO-DATA": "has no data" if one else "have no data"}
    return f"{amount} {words.get(verdict, verdict.lower())}"


def judged(tally_of):
    """(reproduced, judged) of a tally."""
    counts = dict(tally_of)
    return counts.get("MATCH", 0) + counts.get("TREND", 0), sum(counts.get(name, 0) for name in JUDGED)


def filled_rows(rows, fill=True):
    """The rows, each with its recorded verdict where it was not run here."""
    return [dict(row, verdict=row["recorded"]["verdict"]) if fill and row["recorded"] else row for row in rows]


def is_setting(row):
    """A fact of the data or a hyperparameter: that it agrees says little, and it is counted apart."""
    return row.get("kind") == "setting"


def total(rows):
    return sum(not is_setting(row) for row in rows)


def settings_words(rows):
    """'12 settings: 11 match, 1 mismatch', or nothing."""
    rows = [row for row in rows if is_setting(row)]
    counts = Counter(row["verdict"] for row in rows)
    said = ", ".join(f"{counts[name]} {label_of(name)}" for name in VERDICTS if counts[name])
    return f"{numbers.count(len(rows), 'setting')}: {said}" if rows else ""


def tally(rows, names):
    """[(verdict, count)] of those that occur, in the order of `names`; settings are left out."""
    counts = Counter(row["verdict"] for row in rows if not is_setting(row))
    return [(name, counts[name]) for name in names if counts[name]]


def family_name(family):
    return FAMILY_NAMES.get(family, family.replace("_", " ").capitalize())


def by_status(counts):
    """[(status in words, count)], what went well first."""
    order = ["ok", "failed", "wrong_result", "timeout", "oom", "crash", "skipped", "not_run"]
    return [(name.replace("_", " "), counts[name]) for name in sorted(counts, key=lambda s: (order.index(s) if s in order else 99, s))
            if number(counts[name])]


BAD = ("wrong_result", "timeout", "oom", "crash", "failed")


def failures(report):
    """Measurements that gave no usable answer: [{artifact, what, status, reason, key}], each once."""
    found = {}
    for artifact in report.artifacts.values():
        for row in artifact.tidy:
            if row.get("status") in BAD:
                what = ", ".join(part for part in [row.get("label", ""), row.get("device", ""), row.get("dataset", "")] +
                                 [f"{axis} = {row.get(axis)}" for axis in artifact.axes() if row.get(axis)] if part)
                found.setdefault((artifact.name, what), {
                    "artifact": artifact.name, "what": what, "status": row["status"].replace("_", " "),
                    "reason": rounded(row.get("reason", "")), "key": (row.get("key", "") or "")[:12]})
    return list(found.values())


def statuses_of(artifact):
    """'310 ok, 2 failed', from the artifact's own count or else from its tidy table."""
    return by_status(inner(artifact.meta, "statuses") or Counter(row["status"] for row in artifact.tidy if row.get("status")))


def stamp_recorded(report):
    """Gives every recorded artifact the date of its run."""
    for _, other in report.recorded:
        for artifact in other.artifacts.values():
            artifact.date = other.date()


def first_scalar(tree, *names):
    """The first scalar under any of these names, wherever it is nested."""
    queue = [tree]
    while queue:
        node = queue.pop(0)
        for name in names:
            if isinstance(node.get(name), (str, int, float)) and node.get(name) not in ("", None):
                return node[name]
        queue += [v for v in node.values() if isinstance(v, dict)]
    return None


def gpu_words(env):
    gpu = env.get("gpu")
    several = isinstance(gpu, list) and len(gpu) > 1
    gpu = gpu[0] if isinstance(gpu, list) and gpu else gpu
    if isinstance(gpu, dict) and gpu.get("name"):
        return f"{len(env['gpu'])} {gpu['name']}" if several else str(gpu["name"])
    if isinstance(gpu, str) and gpu:
        return gpu
    return "no GPU" if "gpu" in env else ""


def machine_line(report):
    """One line on what the run ran on: CPU, cores, memory, GPU."""
    env = report.environment
    cpu, memory = inner(env, "cpu"), inner(env, "memory")
    words = [" ".join(str(cpu.get("model") or cpu.get("name") or "").split())]
    cores = next((cpu[k] for k in ("cores_used", "cores", "logical_cores", "threads") if isinstance(cpu.get(k), (int, str)) and cpu.get(k)), None)
    if cores:
        words.append(numbers.count(cores if not str(cores).isdigit() else int(cores), "core"))
    total = next((v for k, v in memory.items() if number(v) and "total" in k and "byte" in k), None)
    if total:
        words.append(numbers.size(total))
    words.append(gpu_words(env))
    return ", ".join(word for word in words if word) or str(first_scalar(env, "hostname", "model", "name") or "")
