"""The recorded runs as a static site: a page a family, with one style sheet and one script for all."""

import os
import re
import tempfile

from . import model, page, render
from .inputs import Report, number, read_report, recorded_digest

FILES = {"top": "index.html", "learn": "learn.html", "glossary": "reading.html", "environment": "machines.html"}
LARGEST = 35_000   #: bytes of a figure; a larger one is left to `retable report`
BANNER = "Recorded runs on several machines. Where a table mixes them, the machine of each value is named beside it."


def weight(artifact, run):
    """How much a recording has of an artifact: published cells with a value, then rows with one, then the paper's sizes; of equal ones the newer."""
    return (sum(number(v.get("measured")) is not None for v in artifact.verdicts),
            sum(number(row.get("median")) is not None for row in artifact.tidy),
            (artifact.text("profile") or run.run.get("profile")) in ("mixed", "paper"), artifact.date)


def merged(folder, root):
    """One Report of the recorded runs, without the quick ones where there are others: each artifact from the newest run of those that have most of it, the others beside it."""
    runs = []
    for machine in sorted(os.listdir(folder)):
        if os.path.isdir(os.path.join(folder, machine)) and not machine.startswith("."):
            run = read_report(os.path.join(folder, machine), with_cells=False)
            run.machine = machine
            runs.append((machine, run))
    runs = [pair for pair in runs if pair[1].run.get("profile") != "quick"] or runs  # the sizes of a quick run are not the works'
    whole = Report(root, run={"banner": [BANNER], "command": "make reproduce"}, recorded=runs, fill=True)
    model.stamp_recorded(whole)
    for name in dict.fromkeys(name for _, run in runs for name in run.artifacts):
        having = sorted((pair for pair in runs if name in pair[1].artifacts), key=lambda pair: weight(pair[1].artifacts[name], pair[1]),
                        reverse=True)
        best = having[0][1].artifacts[name]
        best.run = having[0][1]
        best.recorded = [(machine, run.artifacts[name]) for machine, run in having[1:]]
        whole.artifacts[name] = best
        whole.history.update({name: run.history[name] for _, run in having if name in run.history})
    return whole


def smaller(text):
    """The same page in fewer bytes: what several figures have is drawn from the first of them; no end tags of a table's rows and
    cells, paragraphs and items, and no quotes where HTML needs none."""
    first, same = {}, {}

    def once(match):
        _, name, shape = match.groups()
        known = shape in first
        same[name] = first.setdefault(shape, f"p{len(first)}")
        return "" if known else match.group().replace(name, same[name], 1)
    for shape in (r'<(path) id="(p\d+-\d+)"([^>]*)/>', r'<(marker|clipPath) id="(p\d+-\d+m?)">(.*?)</\1>'):  # a marker names its path
        text = re.sub(shape, once, text)
        text = re.sub(r"(?<=#)p\d+-\d+m?", lambda m: same.get(m.group(), m.group()), text)
    text = re.sub(r"</(?:t[dhr]|li)>\s*|</p>\s*(?=</?(?:p|div|details)\b)|<defs></defs>", "", text)

    def bare(tag):  # a slash after a value without quotes needs a space
        return re.sub(r' ([\w-]+)="([\w.#():,%-]+)"(/?)', lambda m: f" {m.group(1)}={m.group(2)}{m.group(3) and ' /'}", tag.group())
    return "".join(part if part.startswith("<script") else re.sub(r"<\w[^>]*>", bare, part)
                   for part in re.split(r"(<script.*?</script>)", text, flags=re.S))


def write(folder, out, scratch, say=lambda line: None):
    """Writes the site of the runs under `folder` into `out`; figures are drawn into `scratch`, or a folder of no duration."""
    if not scratch:
        with tempfile.TemporaryDirectory() as scratch:
            return write(folder, out, scratch, say)
    os.makedirs(out, exist_ok=True)
    whole = merged(folder, scratch)
    shown, trades, _ = page.content(whole, render.render(whole, say, png=False))
    for view in (v for f in shown["families"] for v in f["artifacts"] if len(v["figure"]) > LARGEST):
        view.update(figure="", figure_note="The figure is too large for this site; make report draws it.")
    files = {**FILES, **{f["slug"]: f["key"] + ".html" for f in shown["families"]}}
    places = dict(files)
    for family in shown["families"]:
        for anchor in [v["slug"] for v in family["artifacts"]] + [c["anchor"] for c in family["claims"]]:
            places[anchor] = files[family["slug"]] + "#" + anchor
    places.update({lesson["slug"]: "learn.html#" + lesson["slug"] for lesson in shown["lessons"]})
    places.update({machine["slug"]: "machines.html#" + machine["slug"] for machine in shown["machines"]})
    template = page.page_template(lambda anchor: places.get(anchor, "#" + anchor))
    titles = {f["slug"]: f["name"] for f in shown["families"]}
    for view, name in files.items():
        pictures = {f["key"]: trades[f["key"]] for f in shown["families"] if f["key"] in trades and view == f["slug"]}
        if view == "top":
            pictures = {key: dict(trade, panels=trade["panels"][:1]) for key, trade in trades.items()}
        text = template.render(**shown, shown=[view], site={"digest": recorded_digest(folder)}, title=titles.get(view, ""),
                               data=page.json_text({"pareto": pictures}))
        render.write_atomically(os.path.join(out, name), smaller(text))
    render.write_atomically(os.path.join(out, "site.css"), page.asset(*page.STYLE) + shown["plot_styles"])
    render.write_atomically(os.path.join(out, "site.js"), page.asset(*page.SCRIPT))
    return len(files)
