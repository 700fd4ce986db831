"""report.html: one file that needs nothing else."""

import base64
import json
import math
import os
import re

import jinja2
from markupsafe import Markup

from . import model, numbers, pareto, vector
from .inputs import CLAIM_VERDICTS, VERDICTS, WORKS, cell_keys, inner, number

HERE = os.path.dirname(os.path.abspath(__file__))
TEACHING = os.path.join(os.path.dirname(HERE), "teaching")
OPEN_ROWS = 12                 #: a table of verdicts longer than this starts closed
DATA_LIMIT = 2_200_000         #: bytes of embedded data; beyond it samples, then cells are left to `retable explain`
CONFIG_KEYS_LEFT_OUT = ("key", "samples")


def plain_id(text):
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "x"


def recorded_id(machine):
    return "run-" + plain_id(machine)


class Ids:
    """Hands out ids that are unique on the page and keep to [a-z0-9-]."""

    def __init__(self):
        self.used = set()

    def __call__(self, text):
        base = plain_id(text)
        name, i = base, 2
        while name in self.used:
            name, i = f"{base}-{i}", i + 1
        self.used.add(name)
        return name


def figure_html(report, artifact, classes):
    """The artifact's figure inline; a PNG as data where the SVG is very large."""
    base = os.path.join(report.root, *artifact.name.split("/"))
    alt = f"Figure of {artifact.name}: {artifact.text('title')}"
    try:
        if os.path.getsize(base + ".svg") < 400_000:
            with open(base + ".svg", encoding="utf-8", errors="replace") as stream:
                return vector.inline(stream.read(), alt, classes)
        with open(base + ".png", "rb") as stream:
            data = base64.b64encode(stream.read()).decode()
        return Markup(f'<img class="plot raster" alt="{Markup.escape(alt)}" src="data:image/png;base64,{data}">')
    except OSError:
        return Markup("")


def breakable(text):
    """Text that may be broken after an underscore or a comma and before an argument list: names of
    kernels and data sets are long."""
    return Markup(re.sub(r"(?<=[_,])(?=\S)|(?<=\w)(?=\()", "<wbr>", str(Markup.escape(text))))


def code_spans(text):
    """`words` between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(Markup.escape(text))))


def sourced(text):
    """A note whose figures show their references under the pointer."""
    parts, end = [], 0
    for match in numbers.SOURCED.finditer(str(text)):
        source = "in print" if match["reference"] == "paper" else f"recorded: {match['reference']}"
        parts += [breakable(numbers.raised(text[end:match.start()])), Markup('<abbr title="{}">{}</abbr>').format(source, match["figure"])]
        end = match.end()
    return Markup("").join([*parts, breakable(numbers.raised(text[end:]))])


def flatten(value, name="", depth=0):
    """[(dotted name, text)] of nested objects, for a table of two columns."""
    if isinstance(value, dict) and depth < 6:
        return [pair for key, item in value.items() for pair in flatten(item, f"{name}.{key}" if name else str(key), depth + 1)]
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value) and depth < 6:
        return [pair for i, item in enumerate(value) for pair in flatten(item, f"{name}[{i}]", depth + 1)]
    if isinstance(value, list):
        text = ", ".join(str(item) for item in value)
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif value is None:
        text = "none"
    else:
        text = numbers.plain(value, 6) if isinstance(value, float) else str(value)
    return [(name, text if len(text) <= 400 else text[:400] + "…")]


def environment_rows(report):
    return [(name, flatten(value)) for name, value in report.environment.items()]


def significant(value, digits=5):
    """A JSON number of few digits, or None."""
    value = number(value)
    return None if value is None else float(f"{value:.{digits}g}")


class Words:
    """Texts that many cells share, each kept once."""

    def __init__(self):
        self.places = {}

    def __call__(self, text):
        return self.places.setdefault(text, len(self.places))


def compact_cell(cell, samples, words):
    """What the page keeps of a cell: status, configuration, at most `samples` samples per metric."""
    metrics = []
    for metric in cell.get("metrics") or []:
        if isinstance(metric, dict):
            values = metric.get("samples")
            values = values if isinstance(values, list) else []
            clocks = metric.get("sm_mhz") if isinstance(metric.get("sm_mhz"), list) else []
            metrics.append([str(metric.get("name", "")), str(metric.get("unit", "")), len(values),
                            [significant(v) for v in values[:samples]]] +
                           ([[significant(v, 4) for v in clocks[:samples]]] if clocks else []))
    config, facts = flatten(inner(cell, "cell")), flatten(inner(cell, "facts"))
    told = [pair for pair in config if pair[1] and pair[0].split(".")[-1] not in CONFIG_KEYS_LEFT_OUT][:24] + facts[:24]
    return {"r": str(cell.get("reason") or ""), "t": significant(cell.get("seconds"), 3),
            "c": words(str(cell.get("command") or "")), "m": metrics,
            "f": [words(text[:120]) for pair in told for text in pair]}


def alike(row):
    """What rows that did not run have in common where one line tells of them all."""
    return tuple(row.get(k, "") for k in ("label", "device", "metric", "unit", "reason"))


def merged_rows(tidy, columns):
    """The tidy rows, those that did not run for one reason as one."""
    absent = {}
    for row in tidy:
        if row.get("status") == "not_run":
            absent.setdefault(alike(row), []).append(row)
    measured = []
    for row in tidy:
        group = absent.get(alike(row), [])
        if row.get("status") != "not_run" or len(group) == 1:
            measured.append(row)
        elif group[0] is row:
            merged = {c: row.get(c, "") if len({r.get(c, "") for r in group}) == 1 else
                      f"{len({r.get(c, '') for r in group})} of them" for c in columns}
            measured.append(dict(row, **merged, key=""))
    return measured


def drill_row(row, columns, brief):
    return ([row.get("label", "")] + [row.get(c, "") for c in columns] +
            [row.get("metric", ""), row.get("unit", ""), row.get("status", ""), significant(row.get("median")),
             significant(row.get("ci_low")), significant(row.get("ci_high")),
             row.get("n (2)", row.get("n", "")) or "", row.get("failures", "") or "", row.get("reason") or ("unsteady: " + row["unsteady"] if row.get("unsteady") else ""),
             " ".join(brief[key] for key in cell_keys(row)), significant(row.get("share"), 3), row.get("ceiling", "") or ""])


def drill_table(artifact, brief):
    axes = artifact.axes()
    columns = [c for c in ["device", "dataset"] if any(row.get(c) for row in artifact.tidy)] + axes
    rows = [drill_row(row, columns, brief) for row in merged_rows(artifact.tidy, columns)]
    if not any(row[-2] is not None for row in rows):
        rows = [row[:-2] for row in rows]
    return {"columns": columns, "rows": rows}


def json_text(value):
    """JSON that may stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
                  .replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def drill_data(report, ids, more):
    """The page's embedded data, made smaller in steps until it fits; `more` is kept whole."""
    keys = list(dict.fromkeys(key for a in report.artifacts.values() for row in a.tidy for key in cell_keys(row)))
    length = next((n for n in (12, 16, 24) if len({key[:n] for key in keys}) == len(keys)), None)
    brief = {key: key[:length] for key in keys}
    tables = {ids[a.name]: drill_table(a, brief) for a in report.artifacts.values() if a.tidy and a.name in ids}
    for samples, row_limit in ((50, 10**9), (25, 10**9), (12, 10**9), (5, 10**9), (0, 10**9), (None, 10**9), (None, 400), (None, 100), (None, 25), (None, 0)):
        words = Words()
        cells = {} if samples is None else {brief.get(key, key): compact_cell(cell, samples, words) for key, cell in report.cells.items()}
        cut = {name: dict(t, rows=t["rows"][:row_limit], total=len(t["rows"])) for name, t in tables.items()}
        text = json_text({"tables": cut, "cells": cells, "words": list(words.places), **more})
        if len(text.encode("utf-8")) <= DATA_LIMIT:
            break
    return text


def lessons(families, ids):
    """[{slug, name, html}] of the pages in teaching/: those of the families shown, in their order, then all others."""
    try:
        files = sorted(name[:-5] for name in os.listdir(TEACHING) if name.endswith(".html"))
    except OSError:
        files = []
    others = [name for name in files if name not in WORKS]
    found = []
    for name in [f for f in families if f in files] + others:
        with open(os.path.join(TEACHING, name + ".html"), encoding="utf-8") as stream:
            text = stream.read()
        headings = re.findall(r"<h[234][^>]*>(.*?)</h[234]>", text, re.S)
        said = re.sub("<.*?>", "", " · ".join(headings[:2])) or name
        found.append({"slug": ids("learn-" + name), "key": name, "heading": said if name in families else "", "html": Markup(text),
                      "name": model.family_name(name) if name in families else said})
    return found


def spark(rows):
    """A line through the history of an artifact, a colour a machine; "" for fewer than two."""
    if len(rows) < 2:
        return ""
    rows = rows[::-1]
    values = [math.log(r["number"]) if all(r["number"] > 0 for r in rows) else r["number"] for r in rows]
    low, span = min(values), max(values) - min(values) or 1
    machines = list(dict.fromkeys(r["machine"] for r in rows))
    place = [(4 + 92 * i / (len(rows) - 1), 20 - 16 * (v - low) / span) for i, v in enumerate(values)]
    parts = []
    for k, machine in enumerate(machines):
        mine = [p for p, r in zip(place, rows) if r["machine"] == machine]
        parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in mine)}" fill="none" stroke="var(--c{k % 8})" stroke-width="1.5"/>')
    for (x, y), r in zip(place, rows):
        said = Markup.escape(f"{r['day']} {r['commit']} {r['machine']}: {r['value']}")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="var(--c{machines.index(r["machine"]) % 8})"><title>{said}</title></circle>')
    return Markup(f'<svg class="spark" viewBox="0 0 100 24" role="img" aria-label="{len(rows)} recordings">{"".join(parts)}</svg>')


def dataset_rows(artifact):
    rows = []
    for data in artifact.meta.get("datasets") or []:
        if isinstance(data, dict):
            shape = " × ".join(numbers.shown(data.get(k)) for k in ("rows", "columns") if data.get(k) not in (None, ""))
            present = bool(data.get("present"))
            rows.append({"name": str(data.get("name", "")), "present": present, "shape": shape if present else "",
                         "complete": data.get("complete", True), "reason": str(data.get("reason") or ""),
                         "origin": str(data.get("origin") or "")})
        else:
            rows.append({"name": str(data), "present": True, "shape": "", "complete": True, "reason": "", "origin": ""})
    return together(rows)


def together(rows, most=3):
    """Data sets that are absent for one reason in one row, where there are more than `most`."""
    alike = {}
    for row in rows:
        if not row["present"]:
            alike.setdefault(row["reason"], []).append(row)
    shown = []
    for row in rows:
        group = [] if row["present"] else alike[row["reason"]]
        if len(group) <= most:
            shown.append(dict(row, count=1))
        elif group[0] is row:
            shown.append(dict(row, name=", ".join(r["name"] for r in group), shape="", origin="", count=len(group)))
    return shown


def textual_columns(layout):
    """Indices of the columns that hold texts, to be set flush left."""
    lines = layout[2] if layout else []
    filled = [[cells[i] for _, cells in lines if cells[i] and not cells[i].get("absent")] for i in range(len(layout[1]) if layout else 0)]
    return {i for i, cells in enumerate(filled) if cells and all(c["value"] is None and not c["verdict"] for c in cells)}


def artifact_view(report, artifact, slug, note, classes):
    rows = model.verdict_rows(artifact)
    counted = model.filled_rows(rows, report.fill)
    shared = model.shared_reasons(rows)
    layout, history = model.layout(artifact, rows), model.history_rows(report, artifact)
    covered = str(inner(artifact.meta, "coverage").get("text") or "")
    return {
        "slug": slug, "name": artifact.name, "short": artifact.short, "title": artifact.text("title") or artifact.short,
        "question": artifact.text("question"), "citation": artifact.text("citation"), "source": model.source_of(artifact),
        "figure": figure_html(report, artifact, classes), "figure_note": note,
        "caption": str((artifact.figure() or {}).get("caption") or "") if artifact.figure() else
                   "Each mark is one published cell: the measured value over the paper's.",
        "rows": rows, "shared": shared, "layout": layout, "textual": textual_columns(layout), "wide": bool(layout and len(layout[2]) > 1 and len(layout[1]) > 1),
        "empty": bool(layout) and not rows and all(not c or c.get("absent") for _, cells in layout[2] for c in cells),
        "open": len(rows) <= OPEN_ROWS, "counted": counted, "tally": model.tally(counted, VERDICTS), "total": model.total(rows), "settings": model.settings_words(rows), "claims": [dict(c, slug=slug, anchor=f"claim-{slug}-{plain_id(c['id'])}") for c in model.claim_rows(artifact)],
        "statuses": model.statuses_of(artifact), "coverage": "" if covered.startswith("0 ") else covered,
        "datasets": dataset_rows(artifact), "notes": model.notes_of(report, artifact),
        "repeat": artifact.text("repeat"), "problems": artifact.problems, "cells": len(artifact.tidy),
        "recorded": model.recorded_runs(report, artifact, rows, layout), "why_not": model.why_not_run(counted),
        "ours": artifact.short.startswith(("beyond", "zoo")),
        "origins": model.origins_of(artifact, layout), "made": model.made_lines(report, artifact),
        "history": history, "spark": spark(history), "judged_why": "" if artifact.meta.get("judged", True) else
        numbers.sentence(artifact.text("judged_why") or "the sizes of this profile are too small to judge"),
        "has_interval": any(r["interval"] or (r["recorded"] and r["recorded"]["interval"]) for r in rows),
    }


def recorded_only(report, ids, classes):
    """Views of artifacts that a recorded run has and this one lacks, by family."""
    views = {}
    for machine, other in report.recorded:
        for family, artifacts in other.families():
            for artifact in artifacts:
                if artifact.name not in report.artifacts:
                    view = artifact_view(other, artifact, ids(f"recorded-{machine}-{artifact.name}"), "", classes)
                    views.setdefault(family, []).append(dict(view, machine=machine, date=other.date()))
    return views


def sentences(value):
    return [str(line) for line in value] if isinstance(value, list) else [str(value)] if value else []


def head_view(report):
    run = report.run
    facts = [("Machine", model.machine_line(report)), ("Profile", run.get("profile")), ("Device", run.get("device")),
             ("Ran", numbers.moment(run.get("started"))), ("Took", numbers.seconds(run.get("seconds"))),
             ("Cells", ", ".join(f"{numbers.plain(number(v))} {k}" for k, v in model.by_status(inner(run, "counts"))))]
    return {"facts": [(name, str(value)) for name, value in facts if value not in (None, "")],
            "banner": report.banner(), "command": str(run.get("command") or ""),
            "busy": "; ".join(dict.fromkeys(sentences(report.environment.get("busy")) + sentences(run.get("busy")))),
            "skipped": sorted(((str(k), int(number(v) or 0)) for k, v in inner(inner(run, "reasons"), "skipped").items()), key=lambda p: -p[1])}


def grouped(views):
    """[(heading, views)]: what the work has, and what goes past it."""
    groups = [("Tables and figures of the work", [v for v in views if not v["ours"]]), ("Beyond the work", [v for v in views if v["ours"]])]
    return [(heading, members) for heading, members in groups if members]


def family_view(family, slug, views, trade):
    rows = [row for view in views for row in view["counted"]]
    tally = model.tally(rows, VERDICTS)
    reproduced, judged = model.judged(tally)
    filled = model.judged(model.tally(model.filled_rows(rows), VERDICTS))
    claims = model.failing_first([claim for view in views for claim in view["claims"]])
    brief, authors, about = WORKS.get(family, (model.family_name(family), views[0]["citation"] if views else "", ""))
    return {"slug": slug, "key": family, "name": model.family_name(family), "brief": brief, "work": authors, "about": about,
            "artifacts": views, "groups": grouped(views), "claims": claims, "claim_tally": model.tally(claims, CLAIM_VERDICTS),
            "tally": tally, "total": model.total(rows), "reproduced": reproduced, "judged": judged, "filled": filled, "pareto": trade["title"] if trade else ""}


def family_views(report, notes, ids, slugs, classes):
    """What the page shows of each family; `slugs` gets the anchor of each artifact. @return (views, pictures by family)"""
    families, trades = [], {}
    for family, artifacts in report.families():
        if not any(a.meta or a.tidy or a.verdicts or a.claims for a in artifacts):
            continue  # tables that another program wrote, such as gpu-check's
        slug = ids("family-" + family)
        for artifact in artifacts:
            slugs[artifact.name] = ids(artifact.name)
        views = [artifact_view(report, artifact, slugs[artifact.name], notes.get(artifact.name, ""), classes) for artifact in artifacts]
        trade = pareto.picture(family, report, slugs)
        if trade:
            trades[family] = trade
        families.append(family_view(family, slug, views, trade))
    absent = {a.family for _, other in report.recorded for a in other.artifacts.values()} & set(WORKS) - {f["key"] for f in families}
    for family in (name for name in WORKS if name in absent):
        trade = pareto.picture(family, report, slugs)
        trades.update({family: trade} if trade else {})
        families.append(family_view(family, ids("family-" + family), [], trade))
    return sorted(families, key=lambda f: list(WORKS).index(f["key"]) if f["key"] in WORKS else len(WORKS)), trades


def page_template(ref):
    """The template; `ref` turns an anchor into the link to it."""
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.join(HERE, "templates")), autoescape=True,
                             trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    env.globals.update(recorded_id=recorded_id, glyph=lambda v: model.GLYPHS.get(v, "–"), word=model.label_of, meaning=model.MEANING,
                       count=numbers.count, claim_count=model.claim_count, ref=ref)
    env.filters["raised"] = lambda text: breakable(numbers.raised(text))
    env.filters["sourced"] = sourced
    env.filters["code_spans"] = code_spans
    return env.get_template("report.html.j2")


def asset(*names):
    texts = []
    for name in names:
        with open(os.path.join(HERE, "templates", name), encoding="utf-8") as stream:
            texts.append(stream.read())
    return Markup("".join(texts))


FIXED = ["top", "claims", "scoreboard", "ran", "learn", "glossary", "environment", "data", "theme", "toc", "problems"]
STYLE, SCRIPT = ("report.css",), ("pareto.js", "report.js")


def content(report, notes):
    """All that the page shows, for the template; and the pictures by family and the anchors by artifact."""
    ids, slugs, classes = Ids(), {}, vector.Classes()
    for fixed in FIXED + [recorded_id(machine) for machine, _ in report.recorded]:
        ids(fixed)
    families, trades = family_views(report, notes, ids, slugs, classes)
    recorded = recorded_only(report, ids, classes)
    known = {family["key"] for family in families}
    for family, artifacts in [] if report.fill else report.families():
        if family not in known:
            recorded.setdefault(family, []).extend(dict(artifact_view(report, a, ids(a.name), "", classes), machine="", date="") for a in artifacts)
    taught = lessons([family["key"] for family in families], ids)
    for family in families:
        family["recorded"] = recorded.pop(family["key"], [])
        family["learn"] = next((lesson["slug"] for lesson in taught if lesson["key"] == family["key"]), "")
    every = [row for family in families for view in family["artifacts"] for row in view["counted"]]
    claims = model.failing_first([claim for family in families for claim in family["claims"]])
    shown = {
        "head": head_view(report), "families": families, "lessons": taught, "all_claims": claims,
        "claim_tally": model.tally(claims, CLAIM_VERDICTS), "origins": model.stretches(report),
        "reasons": model.reasons_in_short([row for row in every if not model.is_setting(row)]),
        "judged_why": list(dict.fromkeys(view["judged_why"] for family in families for view in family["artifacts"] if view["judged_why"])),
        "tally": model.tally(every, VERDICTS), "filled": model.tally(model.filled_rows(every), VERDICTS),
        "total": model.total(every), "settings": model.settings_words(every), "recorded_cells": model.total(r for r in every if r["recorded"]),
        "problems": report.problems, "failures": [dict(f, slug=slugs[f["artifact"]]) for f in model.failures(report)],
        "environment": environment_rows(report),
        "machines": [{"name": m, "slug": recorded_id(m), "date": r.date(), "line": model.machine_line(r), "environment": environment_rows(r),
                      "profile": str(r.run.get("profile") or ""), "banner": r.banner()} for m, r in report.recorded],
        "verdicts": VERDICTS, "claim_verdicts": CLAIM_VERDICTS, "leftover": recorded, "plot_styles": classes.sheet()}
    return shown, trades, slugs


def build(report, notes):
    """@return report.html as text."""
    shown, trades, slugs = content(report, notes)
    views = ["top", *(f["slug"] for f in shown["families"]), "learn", "glossary", "environment"]
    return page_template(lambda anchor: "#" + anchor).render(
        **shown, shown=views, site=None, title="", data=drill_data(report, slugs, {"pareto": trades}), css=asset(*STYLE) + shown["plot_styles"], js=asset(*SCRIPT))
