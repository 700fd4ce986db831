"""Reads a result folder without ever failing: what is missing or torn becomes a sentence in `problems`.

A number that cannot be read is None; a NaN or an infinity is None as well, because neither can be drawn.
"""

import csv
import fnmatch
import hashlib
import json
import math
import os
import re
from dataclasses import dataclass, field

FAMILIES = ["quantiles", "treeshap", "shapley", "shuffle", "extratrees"]
FAMILY_NAMES = {"quantiles": "Quantile sketches", "treeshap": "Tree SHAP", "shapley": "Shapley values by sampling",
                "shuffle": "Shuffling", "extratrees": "Extremely randomized trees"}
#: (a tab's name, the authors, the title of the work)
WORKS = {"quantiles": ("Quantiles", "Mitchell, Frank, Holmes 2021", "An Empirical Study of Moment Estimators for Quantile Approximation"),
         "treeshap": ("Tree SHAP", "Mitchell, Frank, Holmes 2022", "GPUTreeShap: massively parallel exact calculation of SHAP scores for tree ensembles"),
         "shapley": ("Shapley", "Mitchell, Cooper, Frank, Holmes 2022", "Sampling Permutations for Shapley Value Estimation"),
         "shuffle": ("Shuffling", "Mitchell, Stokes, Frank, Holmes 2022", "Bandwidth-Optimal Random Shuffling for GPUs"),
         "extratrees": ("Extra-trees", "Phang, Tanna", "Extremely Randomized Trees on GPUs")}
VERDICTS = ["MATCH", "TREND", "ORDER-ONLY", "MISMATCH", "FAILED", "DIFFERENT-HW", "NOT-JUDGED", "NOT-RUN", "NO-DATA"]
JUDGED = ["MATCH", "TREND", "ORDER-ONLY", "MISMATCH", "FAILED"]
CLAIM_VERDICTS = ["FAILS", "UNSTEADY", "HOLDS", "NOT-JUDGED", "NO-DATA"]  #: as they are listed, what failed first
TIDY_FIXED = {"experiment", "algorithm", "label", "device", "dataset", "metric", "unit", "status", "n", "median",
              "ci_low", "ci_high", "mean", "std", "min", "max", "failures", "reason", "key", "share", "ceiling", "unsteady"}
SUFFIXES = (".tidy.csv", ".samples.csv", ".curves.csv", ".meta.json", ".csv")
csv.field_size_limit(1 << 26)


def number(text):
    """@return the finite number in `text`, else None."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def printed(text):
    """@return the number of a published value; a bound, "<=14.5", counts as its number."""
    return number(str(text or "").removeprefix("<=").removeprefix(">="))


def inner(value, key):
    """@return the object that an object has under `key`, {} where it has none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def natural(text):
    """Sorting key under which fig9 comes before fig10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", str(text)) if part]


@dataclass
class Artifact:
    """One table or figure of a paper; every part may be empty."""
    name: str
    meta: dict = field(default_factory=dict)
    table: list = field(default_factory=list)      #: rows of text, the header first
    tidy: list = field(default_factory=list)       #: dicts of text
    samples: list = field(default_factory=list)
    curves: list = field(default_factory=list)
    verdicts: list = field(default_factory=list)
    claims: list = field(default_factory=list)
    problems: list = field(default_factory=list)
    recorded: list = field(default_factory=list)   #: (machine, Artifact) of recorded runs
    run: object = None                             #: the Report it was taken from, where a page shows several runs as one

    @property
    def family(self):
        return self.name.split("/", 1)[0] if "/" in self.name else "other"

    @property
    def short(self):
        return self.name.split("/", 1)[-1]

    def text(self, key, default=""):
        value = self.meta.get(key)
        return value if isinstance(value, str) else default if value is None else str(value)

    def labels(self):
        """Row names in the paper's order, then those that only the data names."""
        given = [str(label) for label in self.meta.get("labels") or [] if isinstance(label, (str, int, float))]
        return list(dict.fromkeys(given + [row.get("label", "") for row in self.tidy + self.samples if row.get("label")]))

    def axes(self):
        given = [str(a) for a in self.meta.get("axes") or []]
        first = self.tidy[0] if self.tidy else {}
        return list(dict.fromkeys([a for a in given if a in first or not first] +
                                  [c for c in first if c and c.removesuffix(" (2)") not in TIDY_FIXED]))

    def figure(self):
        return inner(self.meta, "figure") or None


@dataclass
class Report:
    """A result folder."""
    root: str
    run: dict = field(default_factory=dict)
    environment: dict = field(default_factory=dict)
    history: dict = field(default_factory=dict)    #: {artifact: [what was found of it, the oldest first]}
    artifacts: dict = field(default_factory=dict)
    cells: dict = field(default_factory=dict)
    problems: list = field(default_factory=list)
    recorded: list = field(default_factory=list)   #: (machine, Report)
    machine: str = ""
    fill: bool = False                             #: recorded verdicts count where a cell was not run

    def date(self):
        """Day of the run, as the run itself tells it: 2026-01-02, or 2026-01-02 to 03."""
        first, last = (str(self.run.get(key) or "")[:10] for key in ("started", "finished"))
        first = first or last
        if not last or last <= first:
            return first
        return f"{first} to {last[8:] if last[:8] == first[:8] else last}"

    def banner(self):
        """Lines on what the run was, in its own words."""
        banner = self.run.get("banner")
        return [str(line) for line in banner] if isinstance(banner, list) else [str(banner)] if banner else []

    def remarks(self, artifact):
        """What the run says of this artifact alone: "remarks" maps globs to sentences."""
        return [str(text) for glob, text in inner(self.run, "remarks").items() if fnmatch.fnmatchcase(artifact, glob)]

    def families(self):
        """(family, its artifacts in reading order), the five families first."""
        groups = {}
        for artifact in self.artifacts.values():
            groups.setdefault(artifact.family, []).append(artifact)
        def order(family):
            return (FAMILIES.index(family), "") if family in FAMILIES else (len(FAMILIES), family)
        def reading(artifact):
            kind = 0 if artifact.short.startswith("table") else 1 if artifact.short.startswith("fig") else 2
            return kind, natural(artifact.short)
        return [(family, sorted(groups[family], key=reading)) for family in sorted(groups, key=order)]


def open_text(path, **how):
    """Opens a regular file; a pipe or a device would be waited for. @raise OSError"""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError("it is not a regular file")
    return open(path, encoding="utf-8", errors="replace", **how)


def checked(text):
    """The JSON of a file whose second line may hold the SHA-256 of all below it. @raise ValueError where it is another"""
    head = re.match(r'\{\n "sha256": "([0-9a-f]{64})",\n', text)
    if head and hashlib.sha256(text[head.end():].encode()).hexdigest() != head[1]:
        raise ValueError("its checksum is not that of its content")
    return json.loads(text)


def read_json(path, problems, shown, missing=True):
    """@return the object in `path`, or {} with a problem noted."""
    try:
        with open_text(path, newline="") as stream:
            value = checked(stream.read())
    except FileNotFoundError:
        if missing:
            problems.append(f"{shown} is missing")
        return {}
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"{shown} cannot be read: {error}")
        return {}
    if not isinstance(value, dict):
        problems.append(f"{shown} holds no object")
        return {}
    return value


def read_rows(path, problems, shown, missing=True):
    """@return the rows of a CSV as lists of text, the header first; [] with a problem noted."""
    try:
        with open_text(path, newline="") as stream:
            rows = [row for row in csv.reader(line.replace("\0", "") for line in stream) if row]
    except FileNotFoundError:
        if missing:
            problems.append(f"{shown} is missing")
        return []
    except (OSError, csv.Error) as error:
        problems.append(f"{shown} cannot be read: {error}")
        return []
    if not rows:
        problems.append(f"{shown} is empty")
    return rows


def read_table(path, problems, shown, needs, missing=True):
    """@return the names of a CSV's columns and its rows, short ones filled with ""; a missing column is a problem."""
    rows = read_rows(path, problems, shown, missing)
    header = []
    for name in rows[0] if rows else []:  # an axis may be called "n" like the column of counts: the axis comes first and keeps it
        name = name.strip().lstrip("\ufeff")
        header.append(name if name not in header else f"{name} (2)")
    lacking = [name for name in needs if name not in header]
    if rows and lacking:
        problems.append(f"{shown} lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}")
    return header, [row + [""] * (len(header) - len(row)) for row in rows[1:]]


def read_dicts(path, problems, shown, needs=(), missing=True):
    """@return the rows of a CSV as dicts, "" in columns that it lacks."""
    header, rows = read_table(path, problems, shown, needs, missing)
    filled = []
    for row in rows:
        item = dict.fromkeys(needs, "")
        item.update(zip(header, row))
        if item.get("unit") == "1":  # a pure number
            item["unit"] = ""
        filled.append(item)
    return filled


def read_samples(path, problems, shown):
    """@return of each label, device, metric and unit a dict of these and the values as text, "" a failed one."""
    header, rows = read_table(path, problems, shown, ("label", "metric", "value"))
    *names, value = [header.index(name) if name in header else None for name in ("label", "device", "metric", "unit", "value")]
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[at] if at is not None else "" for at in names), []).append(row[value] if value is not None else "")
    return [{"label": label, "device": device, "metric": metric, "unit": "" if unit == "1" else unit, "values": values}
            for (label, device, metric, unit), values in groups.items()]


def artifact_files(root):
    """@return {artifact name: set of suffixes present}."""
    found = {}
    try:
        folders = sorted(entry for entry in os.listdir(root)
                         if entry != "cells" and not entry.startswith(".") and os.path.isdir(os.path.join(root, entry)))
    except OSError:
        return found
    for folder in folders:
        try:
            files = sorted(os.listdir(os.path.join(root, folder)))
        except OSError:
            continue
        for name in files:
            suffix = next((s for s in SUFFIXES if name.endswith(s)), None)
            if suffix and not name.startswith(".") and not name.endswith(".paper.csv"):
                found.setdefault(f"{folder}/{name[:-len(suffix)]}", set()).add(suffix)
    return found


def read_artifact(root, name, suffixes):
    artifact = Artifact(name)
    base = os.path.join(root, *name.split("/"))
    artifact.meta = read_json(base + ".meta.json", artifact.problems, f"{name}.meta.json")
    artifact.tidy = read_dicts(base + ".tidy.csv", artifact.problems, f"{name}.tidy.csv", ("label", "metric", "median", "status"))
    if ".csv" in suffixes:
        artifact.table = read_rows(base + ".csv", artifact.problems, f"{name}.csv")
    if ".samples.csv" in suffixes:
        artifact.samples = read_samples(base + ".samples.csv", artifact.problems, f"{name}.samples.csv")
    if ".curves.csv" in suffixes:
        artifact.curves = read_dicts(base + ".curves.csv", artifact.problems, f"{name}.curves.csv", ("label", "curve", "x", "y"))
    return artifact


def read_cells(root, keys, problems):
    """@return {key: cell} of the keys that a tidy table names."""
    cells, torn = {}, 0
    for key in keys:
        quiet = []
        if re.fullmatch(r"[\w.-]{1,128}", key):
            cell = read_json(os.path.join(root, "cells", key + ".json"), quiet, key, missing=False)
            if cell:
                cells[key] = cell
        torn += bool(quiet)
    if torn:
        problems.append(f"{torn} cell file{'s' if torn > 1 else ''} under cells/ cannot be read")
    return cells


def cell_keys(row):
    """The keys in a tidy row; one row may sum up several cells."""
    return [key for key in re.split(r"[\s;,]+", row.get("key", "") or "") if key]


def read_artifacts(root, names, files, only, problems):
    """{name: Artifact} of those that `only` matches."""
    artifacts = {}
    for name in names:
        if only and not (fnmatch.fnmatchcase(name, only) or fnmatch.fnmatchcase(name, only.rstrip("/") + "/*")):
            continue
        if name not in files and (set(name.split("/")) & {"", ".", ".."} or "\0" in name):
            problems.append(f"'{name}' is no name for an artifact; its verdicts and claims are left out")
            continue
        artifacts[name] = read_artifact(root, name, files[name]) if name in files else Artifact(
            name, problems=[f"no file of {name} is there; only verdicts or claims name it"])
    return artifacts


def read_report(root, only="*", with_cells=True):
    """@return the Report in `root`; an unreadable root gives an empty report that says so."""
    report = Report(root)
    if not os.path.isdir(root):
        report.problems.append("the folder of results does not exist")
        return report
    report.run = read_json(os.path.join(root, "run.json"), report.problems, "run.json")
    report.environment = read_json(os.path.join(root, "environment.json"), report.problems, "environment.json")
    report.history = read_json(os.path.join(root, "history.json"), report.problems, "history.json", missing=False)
    verdicts = read_dicts(os.path.join(root, "verdicts.csv"), report.problems, "verdicts.csv",
                          ("artifact", "row", "column", "kind", "paper", "measured", "verdict"))
    claims = read_dicts(os.path.join(root, "claims.csv"), report.problems, "claims.csv",
                        ("artifact", "id", "text", "verdict"))
    files = artifact_files(root)
    names = list(dict.fromkeys(list(files) + [row["artifact"] for row in verdicts + claims if row["artifact"]]))
    report.artifacts.update(read_artifacts(root, names, files, only, report.problems))
    for rows, attribute in ((verdicts, "verdicts"), (claims, "claims")):
        for row in rows:
            row["verdict"] = (row.get("verdict") or "NO-DATA").strip().upper().replace("_", "-")
            if row["artifact"] in report.artifacts:
                getattr(report.artifacts[row["artifact"]], attribute).append(row)
    if with_cells:
        keys = dict.fromkeys(key for a in report.artifacts.values() for row in a.tidy for key in cell_keys(row))
        report.cells = read_cells(root, keys, report.problems)
    if not report.artifacts:
        report.problems.append("no artifact was found" + (f" that matches {only}" if only not in ("", "*") else ""))
    return report


def recorded_digest(folder):
    """A short hash of what was measured and found in the runs under `folder`: the site of them changes with it."""
    seen = hashlib.sha256()
    for machine in sorted(os.listdir(folder)):
        for name, fields in (("verdicts.csv", ("artifact", "row", "column", "measured", "verdict")), ("claims.csv", ("artifact", "id", "verdict"))):
            for row in read_dicts(os.path.join(folder, machine, name), [], name, missing=False):
                seen.update("\x1f".join([machine] + [row.get(field, "") for field in fields]).encode())
    return seen.hexdigest()[:12]


def attach_recorded(report, folder, only="*"):
    """Reads every machine under `folder` and hangs its artifacts beside the local ones."""
    if not folder or not os.path.isdir(folder):
        return
    for machine in sorted(os.listdir(folder)):
        path = os.path.join(folder, machine)
        if machine.startswith(".") or not os.path.isdir(path) or os.path.realpath(path) == os.path.realpath(report.root):
            continue
        other = read_report(path, only, with_cells=False)
        if not other.artifacts or (other.run and other.run == report.run):  # the recording that this folder is a copy of
            continue
        other.machine = machine
        report.recorded.append((machine, other))
        for name, artifact in other.artifacts.items():
            if name in report.artifacts:
                report.artifacts[name].recorded.append((machine, artifact))
