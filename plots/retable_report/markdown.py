"""report.md: the same findings as plain text, for a terminal, a pull request or a diff."""

import os
import re

from . import model, numbers
from .inputs import CLAIM_VERDICTS, VERDICTS, inner

MAX_ROWS = 40


def escape(text):
    """Text for a cell of a Markdown table: no line breaks, no pipe, no markup."""
    text = " ".join(str(text).split())
    text = re.sub(r"([\\`*_|\[\]$~])", r"\\\1", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text):
    """Text as a code span, whatever backticks it holds."""
    text = " ".join(str(text).split())
    fence = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def table(header, rows, right=()):
    """A Markdown table; `right` holds the indices of columns of numbers."""
    lines = ["| " + " | ".join(header) + " |",
             "|" + "|".join("---:" if i in right else "---" for i in range(len(header))) + "|"]
    return lines + ["| " + " | ".join(escape(cell) for cell in row) + " |" for row in rows]


def summary(tally):
    return ", ".join(f"{n} {model.label_of(name)}" for name, n in tally)


def cells_line(rows):
    """'12 published cells: 11 match, 1 trend. 3 settings: 3 match.'"""
    parts = []
    if model.total(rows):
        parts.append(f"{numbers.count(model.total(rows), 'published cell')}: {summary(model.tally(rows, VERDICTS))}.")
    if model.settings_words(rows):
        parts.append(model.settings_words(rows) + ".")
    return " ".join(parts)


def verdict_lines(rows):
    lines = []
    for r in rows[:MAX_ROWS]:
        column = r["column"] + (f" ({r['unit']})" if r["unit"] else "")
        verdict = r["verdict"] + (f": {r['reason']}" if r["reason"] else "") + (f"; unsteady: {r['unsteady']}" if r["unsteady"] else "")
        if r["recorded"]:
            rec = r["recorded"]
            lines.append([r["row"], column, r["paper"], rec["measured"], rec["interval"], rec["ratio"],
                          f"{verdict}; recorded on {model.on(rec)}: {rec['verdict']}"])
        else:
            lines.append([r["row"], column, r["paper"] or "–", r["measured"] or "–", r["interval"], r["ratio"], verdict])
    text = table(["Row", "Column", "Paper", "Measured", "95 % interval", "Ratio", "Verdict"], lines, (2, 3, 4, 5))
    if len(rows) > MAX_ROWS:
        text += ["", f"{len(rows) - MAX_ROWS} more rows are in verdicts.csv."]
    return text


def image_path(artifact):
    """The figure's path as a link may hold it."""
    path = (artifact.name + ".svg").replace("%", "%25")
    for bad, good in ((" ", "%20"), ("<", "%3C"), (">", "%3E"), ('"', "%22"), ("(", "%28"), (")", "%29"), ("&", "%26"), ("#", "%23"), ("?", "%3F")):
        path = path.replace(bad, good)
    return path


def result_lines(artifact):
    """The published cells with their verdicts; without any, the table that was measured."""
    rows = model.verdict_rows(artifact)
    if rows:
        shared = model.shared_reasons(rows)
        return ["", cells_line(rows) +
                (f" All measured {escape('; '.join(shared))}." if shared else ""), ""] + verdict_lines(rows)
    if len(artifact.table) < 2:
        return []
    header, body = artifact.table[0], artifact.table[1:]
    width = len(header)
    shown = [[r[0]] + [numbers.shown(c) for c in (r + [""] * width)[1:width]] for r in body[:MAX_ROWS]]
    lines = [""] + table([escape(h) for h in header], shown, range(1, width))
    if len(body) > MAX_ROWS:
        lines += ["", f"{len(body) - MAX_ROWS} more rows are in {artifact.name}.csv."]
    return lines


def artifact_lines(report, artifact, note):
    lines = ["", f"### {escape(artifact.text('title') or artifact.short)}", ""]
    lines.append(f"{code(artifact.name)}" + (f", {escape(model.source_of(artifact))}" if model.source_of(artifact) else "") +
                 (f". {escape(artifact.text('question'))}" if artifact.text("question") else ""))
    if os.path.exists(os.path.join(report.root, *(artifact.name + ".svg").split("/"))):
        lines += ["", f"![{escape(artifact.text('title') or artifact.name)}]({image_path(artifact)})"]
    if note:
        lines += ["", escape(note)]
    lines += result_lines(artifact)
    coverage = inner(artifact.meta, "coverage").get("text")
    if coverage:
        lines += ["", f"Data: {escape(coverage)}"]
    statuses = model.statuses_of(artifact)
    if statuses:
        lines += ["", "Measurements: " + ", ".join(f"{n} {s}" for s, n in statuses) + "."]
    lines += [line for n in model.notes_of(report, artifact) for line in ("", f"> {escape(numbers.unsourced(n))}")]
    lines += [line for p in artifact.problems for line in ("", f"> Missing: {escape(p)}")]
    if artifact.text("repeat"):
        lines += ["", f"Repeat: {code(artifact.text('repeat'))}"]
    return lines


def head_lines(report):
    """What the run was, on what, and what is missing of it."""
    run = report.run
    lines = ["# Retable: paper and measurement, side by side", ""]
    for line in report.banner():
        lines += [f"> {escape(line)}", ""]
    facts = [("Profile", run.get("profile")), ("Device", run.get("device")), ("Ran", numbers.moment(run.get("started"))),
             ("Took", numbers.seconds(run.get("seconds"))), ("Machine", model.machine_line(report))]
    lines += [f"- {name}: {escape(value)}" for name, value in facts if value not in (None, "")]
    if run.get("command"):
        lines.append(f"- Command: {code(run['command'])}")
    if report.problems:
        lines += ["", "Missing from this folder:", ""] + [f"- {escape(p)}" for p in report.problems]
    failed = model.failures(report)
    if failed:
        lines += ["", f"{numbers.count(len(failed), 'measurement')} gave no usable answer:", ""]
        lines += [f"- {escape(f['artifact'])}, {escape(f['what'])}: {f['status']}" + (f", {escape(f['reason'])}" if f["reason"] else "")
                  for f in failed[:MAX_ROWS]]
        lines += [f"- and {len(failed) - MAX_ROWS} more"] if len(failed) > MAX_ROWS else []
    return lines


def claim_cells(claim):
    """A row of the table of claims."""
    silent = claim["verdict"] == "NO-DATA"
    parts = [] if silent else [claim["figures"]]
    parts += [claim["reason"], numbers.unsourced(claim["note"])]
    parts += [f"{rec['verdict']} as recorded on {model.on(rec)}" + (f": {'; '.join(rec['figures'])}" if silent else "")
              for rec in claim["recorded"]]
    values = ". ".join(part.rstrip(".") for part in parts if part)
    return [model.GLYPHS[claim["verdict"]] + " " + claim["verdict"], claim["text"] or claim["id"], values, claim["artifact"]]


def claim_lines(artifacts):
    claims = [claim for artifact in artifacts for claim in model.claim_rows(artifact)]
    if not claims:
        return []
    lines = ["", "## Claims", "", f"{numbers.count(len(claims), 'claim')}: {summary(model.tally(claims, CLAIM_VERDICTS))}.", ""]
    return lines + table(["Verdict", "Claim", "Values", "Artifact"], [claim_cells(claim) for claim in claims])


def scoreboard_lines(artifacts):
    views = [(artifact, model.verdict_rows(artifact)) for artifact in artifacts]
    every = [row for _, rows in views for row in rows]
    lines = ["", "## Scoreboard", ""]
    if not every:
        return lines + ["No published cell was compared: verdicts.csv has no row."]
    names = [name for name, _ in model.tally(every, VERDICTS)]
    apart = bool(model.settings_words(every))
    body = []
    for artifact, rows in views:
        if rows:
            counts = dict(model.tally(rows, VERDICTS))
            body.append([artifact.name, model.total(rows)] + [counts.get(name, "") for name in names])
            if apart:
                body[-1].append(len(rows) - model.total(rows) or "")
    lines += [cells_line(every), ""]
    return lines + table(["Artifact", "Cells"] + names + ["Settings"] * apart, body, range(1, len(names) + 2 + apart))


def build(report, notes):
    """@return report.md as text."""
    families = report.families()
    every = [artifact for _, artifacts in families for artifact in artifacts]
    lines = head_lines(report) + claim_lines(every) + scoreboard_lines(every)
    for family, artifacts in families:
        lines += ["", f"## {escape(model.family_name(family))}"]
        for artifact in artifacts:
            lines += artifact_lines(report, artifact, notes.get(artifact.name, ""))
    lines += ["", "## How to read a verdict", ""]
    lines += [f"- {model.GLYPHS[name]} **{name}**: {model.MEANING[name]}" for name in VERDICTS]
    if report.recorded:
        lines += ["", "Recorded runs shown beside this one:", ""]
        lines += [f"- {escape(machine)}" + (f" ({other.date()})" if other.date() else "") +
                  "".join(f" {escape(line)}" for line in other.banner()) for machine, other in report.recorded]
    return "\n".join(lines) + "\n"
