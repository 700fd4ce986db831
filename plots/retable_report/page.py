"""report.html: one file that needs nothing else."""

import base64
import json
import os
import re

import jinja2
from markupsafe import Markup

from . import model, numbers, pictures, style
from .inputs import CLAIM_VERDICTS, VERDICTS, cell_keys, number

HERE = os.path.dirname(os.path.abspath(__file__))
TEACHING = os.path.join(os.path.dirname(HERE), "teaching")
OPEN_ROWS = 12                 #: a table of verdicts longer than this starts closed
DATA_LIMIT = 2_200_000         #: bytes of embedded data; beyond it samples, then cells are left to `retable explain`
CONFIG_KEYS_LEFT_OUT = ("key", "samples")


def recorded_id(machine):
    return "run-" + (re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-") or "x")


class Ids:
    """Hands out ids that are unique on the page and keep to [a-z0-9-]."""

    def __init__(self):
        self.used = set()

    def __call__(self, text):
        base = re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-") or "x"
        name, i = base, 2
        while name in self.used:
            name, i = f"{base}-{i}", i + 1
        self.used.add(name)
        return name


def inline_svg(svg, prefix, alt):
    """A figure for the page: without its title, in the page's colours and font, with ids of its own."""
    band = re.search(r'data-title-band="([\d.]+)"', svg)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if not box or "<svg" not in svg:
        return Markup("")
    width, height, cut = float(box.group(1)), float(box.group(2)), float(band.group(1)) if band else 0.0
    body = svg[svg.index(">", svg.index("<svg")) + 1:svg.rindex("</svg>")]
    body = re.sub(r'<g id="title">.*?</g>', "", body, count=1, flags=re.S)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', body))
    body = re.sub(r' id="([^"]*)"', lambda m: f' id="{prefix}-{m.group(1)}"' if m.group(1) in used else "", body)
    body = re.sub(r'(href="#|url\(#)', lambda m: m.group(1) + prefix + "-", body)
    body = body.replace("xlink:href", "href")
    colours = {style.INK: "--ink", style.MUTED: "--muted", style.GRID: "--grid", style.PAPER: "--paper", style.BAND: "--band",
               "#aab2bd": "--soft", **{c: f"--c{i}" for i, c in enumerate(style.COLOURS)}}
    for colour, name in colours.items():
        body = body.replace(colour, f"var({name})")
    body = re.sub(r"font: ([^;\"]*?)'DejaVu Sans', Verdana, sans-serif", r"font: \1var(--sans)", body)
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.S)
    body = re.sub(r"(\d+\.\d)\d+(?=[ \n\"])", r"\1", body)                       # a tenth of a point is enough on a screen
    body = re.sub(r' d="[^"]*"', lambda m: re.sub(r"\s*\n\s*|(?<=[MLCQHVz]) | (?=[MLCQHVz])", lambda n: " " if "\n" in n.group() else "", m.group()).replace(" L", "L"), body)
    body = re.sub(r' style="[^"]*"', lambda m: m.group().replace("stroke-linejoin: miter", "").replace("; ", ";").replace(": ", ":"), body)
    body = re.sub(r"\n+", "\n", body)
    return Markup(f'<svg class="plot" role="img" aria-label="{Markup.escape(alt)}" viewBox="0 {cut:.1f} {width:.1f} '
                  f'{height - cut:.1f}" style="--w:{width / 72:.2f}" stroke-linejoin="round" stroke-linecap="butt">{body}</svg>')


def figure_html(report, artifact, prefix):
    """The artifact's figure inline; a PNG as data where the SVG is very large."""
    base = os.path.join(report.root, *artifact.name.split("/"))
    alt = f"Figure of {artifact.name}: {artifact.text('title')}"
    try:
        if os.path.getsize(base + ".svg") < 400_000:
            with open(base + ".svg", encoding="utf-8", errors="replace") as stream:
                return inline_svg(stream.read(), prefix, alt)
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
    config = cell.get("cell") if isinstance(cell.get("cell"), dict) else {}
    facts = cell.get("facts") if isinstance(cell.get("facts"), dict) else {}
    told = [pair for pair in flatten(config) if pair[1] and pair[0].split(".")[-1] not in CONFIG_KEYS_LEFT_OUT][:24] + flatten(facts)[:24]
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
             row.get("n (2)", row.get("n", "")) or "", row.get("failures", "") or "", row.get("reason", "") or "",
             " ".join(brief[key] for key in cell_keys(row)), significant(row.get("share"), 3), row.get("ceiling", "") or ""])


def drill_table(artifact, brief):
    axes = artifact.axes()
    columns = [c for c in ["device", "dataset"] if any(row.get(c) for row in artifact.tidy)] + axes
    rows = [drill_row(row, columns, brief) for row in merged_rows(artifact.tidy, columns)]
    if not any(row[-2] is not None for row in rows):
        rows = [row[:-2] for row in rows]
    return {"columns": columns, "rows": rows}


def drill_data(report, ids):
    """The page's embedded data, made smaller in steps until it fits."""
    keys = list(dict.fromkeys(key for a in report.artifacts.values() for row in a.tidy for key in cell_keys(row)))
    length = next((n for n in (12, 16, 24) if len({key[:n] for key in keys}) == len(keys)), None)
    brief = {key: key[:length] for key in keys}
    tables = {ids[a.name]: drill_table(a, brief) for a in report.artifacts.values() if a.tidy}
    for samples, row_limit in ((50, 10**9), (25, 10**9), (12, 10**9), (5, 10**9), (0, 10**9), (None, 10**9), (None, 400), (None, 0)):
        words = Words()
        cells = {} if samples is None else {brief.get(key, key): compact_cell(cell, samples, words) for key, cell in report.cells.items()}
        cut = {name: dict(t, rows=t["rows"][:row_limit], total=len(t["rows"])) for name, t in tables.items()}
        text = json.dumps({"tables": cut, "cells": cells, "words": list(words.places)}, ensure_ascii=False, separators=(",", ":"))
        if len(text.encode("utf-8", "replace")) <= DATA_LIMIT:
            break
    text = text.encode("utf-8", "replace").decode()
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
                  .replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def teaching_html(family):
    """The family's lesson, with its picture drawn in; "" where there is none."""
    path = os.path.join(TEACHING, re.sub(r"[^a-z0-9_]", "", family) + ".html")
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except OSError:
        return Markup("")
    return Markup(text.replace("<!-- picture -->", pictures.PICTURES[family]() if family in pictures.PICTURES else ""))


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


def artifact_view(report, artifact, slug, note):
    rows = model.verdict_rows(artifact)
    shared = model.shared_reasons(rows)
    layout = model.layout(artifact, rows)
    coverage = artifact.meta.get("coverage")
    covered = str(coverage.get("text") or "") if isinstance(coverage, dict) else ""
    return {
        "slug": slug, "name": artifact.name, "short": artifact.short, "title": artifact.text("title") or artifact.short,
        "question": artifact.text("question"), "citation": artifact.text("citation"), "source": model.source_of(artifact),
        "figure": figure_html(report, artifact, slug), "figure_note": note,
        "caption": str((artifact.figure() or {}).get("caption") or "") if artifact.figure() else
                   "Each mark is one published cell: the measured value over the paper's.",
        "rows": rows, "shared": shared, "layout": layout, "textual": textual_columns(layout), "wide": bool(layout and len(layout[2]) > 1 and len(layout[1]) > 1),
        "empty": bool(layout) and not rows and all(not c or c.get("absent") for _, cells in layout[2] for c in cells),
        "open": len(rows) <= OPEN_ROWS, "tally": model.tally(rows, VERDICTS), "total": model.total(rows), "settings": model.settings_words(rows), "claims": model.claim_rows(artifact),
        "statuses": model.statuses_of(artifact), "coverage": "" if covered.startswith("0 ") else covered,
        "datasets": dataset_rows(artifact), "notes": [str(n) for n in artifact.meta.get("notes") or []],
        "repeat": artifact.text("repeat"), "problems": artifact.problems, "cells": len(artifact.tidy),
        "recorded": model.recorded_runs(report, artifact, rows, layout), "why_not": model.why_not_run(rows),
        "ours": artifact.short.startswith("beyond"),
        "has_interval": any(r["interval"] or (r["recorded"] and r["recorded"]["interval"]) for r in rows),
    }


def recorded_only(report, ids):
    """Views of artifacts that a recorded run has and this one lacks, by family."""
    views = {}
    for machine, other in report.recorded:
        for family, artifacts in other.families():
            for artifact in artifacts:
                if artifact.name not in report.artifacts:
                    view = artifact_view(other, artifact, ids(f"recorded-{machine}-{artifact.name}"), "")
                    views.setdefault(family, []).append(dict(view, machine=machine, date=other.date()))
    return views


def head_view(report):
    run = report.run
    counts = run.get("counts") if isinstance(run.get("counts"), dict) else {}
    facts = [("Profile", run.get("profile")), ("Device", run.get("device")), ("Ran", numbers.moment(run.get("started"))),
             ("Took", numbers.seconds(run.get("seconds"))),
             ("Cells", ", ".join(f"{numbers.plain(number(v))} {k}" for k, v in model.by_status(counts))),
             ("Machine", model.machine_line(report)), ("Version", run.get("version") if isinstance(run.get("version"), str) else None)]
    return {"facts": [(name, str(value)) for name, value in facts if value not in (None, "")],
            "banner": report.banner(),
            "command": str(run.get("command") or "")}


def family_views(report, notes, ids, slugs):
    """What the page shows of each family; `slugs` gets the anchor of each artifact."""
    families = []
    for family, artifacts in report.families():
        slug = ids("family-" + family)
        views = []
        for artifact in artifacts:
            slugs[artifact.name] = ids(artifact.name)
            views.append(artifact_view(report, artifact, slugs[artifact.name], notes.get(artifact.name, "")))
        families.append({"slug": slug, "key": family, "name": model.family_name(family), "artifacts": views,
                         "teaching": teaching_html(family), "tally": model.tally([r for v in views for r in v["rows"]], VERDICTS)})
    return families


def claims_of(family):
    return [dict(claim, slug=view["slug"], silent=claim["verdict"] == "NO-DATA" and not claim["recorded"])
            for view in family["artifacts"] for claim in view["claims"]]


def page_template():
    env = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.join(HERE, "templates")), autoescape=True,
                             trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    env.globals.update(recorded_id=recorded_id, glyph=lambda v: model.GLYPHS.get(v, "–"), word=model.label_of, meaning=model.MEANING,
                       count=numbers.count)
    env.filters["raised"] = lambda text: breakable(numbers.raised(text))
    env.filters["sourced"] = sourced
    env.filters["code_spans"] = code_spans
    return env.get_template("report.html.j2")


def asset(name):
    with open(os.path.join(HERE, "templates", name), encoding="utf-8") as stream:
        return Markup(stream.read())


def build(report, notes):
    """@return report.html as text."""
    ids = Ids()
    for fixed in [recorded_id(machine) for machine, _ in report.recorded] + ["top", "claims", "scoreboard", "glossary", "environment", "data", "theme", "toc", "problems"]:
        ids(fixed)
    slugs = {}
    families = family_views(report, notes, ids, slugs)
    recorded = recorded_only(report, ids)
    for family in families:
        family["recorded"] = recorded.pop(family["key"], [])
    claims = [(family, claims_of(family)) for family in families]
    every = [row for family in families for view in family["artifacts"] for row in view["rows"]]
    all_claims = [claim for _, rows in claims for claim in rows]
    return page_template().render(
        head=head_view(report), families=families, claims=[(f, rows) for f, rows in claims if rows],
        claim_tally=model.tally(all_claims, CLAIM_VERDICTS), claim_total=len(all_claims),
        tally=model.tally(every, VERDICTS), total=model.total(every), settings=model.settings_words(every), recorded_cells=sum(bool(r["recorded"]) for r in every),
        problems=report.problems, failures=[dict(f, slug=slugs[f["artifact"]]) for f in model.failures(report)], environment=[(k, flatten(v)) for k, v in report.environment.items()],
        machines=[{"name": m, "slug": recorded_id(m), "date": r.date(), "line": model.machine_line(r),
                   "profile": str(r.run.get("profile") or ""), "banner": r.banner()} for m, r in report.recorded],
        verdicts=VERDICTS, claim_verdicts=CLAIM_VERDICTS, data=drill_data(report, slugs), leftover=recorded,
        css=asset("report.css"), js=asset("report.js"))
