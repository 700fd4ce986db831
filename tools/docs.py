#!/usr/bin/env python3
"""Fills the measured figures of pages and notes in from results/recorded, or checks that they agree (`make docs`, `make test`).

A figure is a number that its reference follows at once. In Markdown the reference is a comment, in the TOML of an
experiment it stands in braces:

    114<!--cell("Cal_housing-large", "Kernel speedup")-->        114{cell('Cal_housing-large', 'Kernel speedup')}

A line `<!-- recorded: FOLDER ARTIFACT -->` says for the rest of a page which recorded table `cell` reads; a note reads its own
experiment's in the folder h100. A last argument 'FOLDER', 'ARTIFACT' or 'FOLDER
ARTIFACT' of `cell` and the others names another.

    cell(row, column)            a cell of ARTIFACT.csv            cells(rows, columns): all measured ones; * stands for anything
    ratios(rows, over, under)    column `over` by column `under`, row by row
    across(over, under, columns) row `over` by row `under`, column by column, for whatever * stands for in both
    verdicts(verdict, artifact, kind=..), claims(..)               how many
    beside(verdict, artifact)    measured by published, of the cells with that verdict
    + - * / **  min max sum len mean median abs round(x, -2)

A figure is written with as many decimals as it has, or with N digits where its reference is `digits(..., N)`, and with commas from
1,000 on. `{paper}` and `<!--paper-->` mark a published
figure. A number with a decimal point, or before "times" or "%", must bear a reference in a note, in a paragraph or table that has
references, and in a section "How fast" or "How well".

usage: docs.py [--check] [--program build/retable] [--root DIR]
What `retable advise` knows is written too, with the program docs/configuration.md; where recorded verdicts or claims changed, docs/site,
and with Chromium docs/report.png.
Exit: 0 all agree; 1 some do not (--check), or a reference leads nowhere.
"""

import argparse
import ast
import csv
import math
import operator
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?"
MARKDOWN = re.compile(rf"(?P<figure>{NUMBER})<!--(?P<reference>.*?)-->|<!-- recorded: (?P<source>\S+ \S+) -->", re.DOTALL)
NOTE = re.compile(rf"(?P<figure>{NUMBER})\{{(?P<reference>[^{{}}\n]*)\}}")
LOST = re.compile(r"(?:<!--|\{)\s*(?:[a-z]+\(|paper\b)")
BARE = re.compile(r"(?<![\w.^/-])(?:\d[\d,]*\.\d+(?!\w|\.\d)|\d[\d,]*(?=\s(?:times\b|%(?! interval))))")
CODE = re.compile(r"^(```|~~~).*?^\1|`(?:[^`\n]|\n(?!\s*\n))+`", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"(?:^.*\S.*\n?)+", re.MULTILINE)  # a paragraph or a table
SECTION = re.compile(r"^## How (?:well|fast)\b.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"(?P<start>!\[[^\]]*\]\((?P<path>[^)]+)\)(?:\]\([^)]*\))?<!--picture of docs/site: )(?P<digest>\w+)-->")
REMEDY = "make docs"

CONFIGURATION = """# Every field of an experiment's TOML

Written by `make docs` from the table that also validates the files (harness/config/schema.cpp). An unknown key, a wrong type or a
value out of range is an error with file, line and column. Precedence: built in < experiment < profile < machine file
(`--machine` or RETABLE_MACHINE) < `--set key=value`.

"""


class Wrong(Exception):
    """A reference that leads nowhere; what it says names the nearest thing that is there."""


def number(text):
    """@return the number that a field holds, or None (empty, NOT-RUN, nan)."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value else None


def agrees(pattern, name):
    """What the * of a pattern stand for in a name, or None where the name has no such form. `a; b` is either, `!a` what is not a."""
    if str(pattern).startswith("!"):
        return () if agrees(pattern[1:], name) is None else None
    for form in str(pattern).split("; "):
        match = re.fullmatch("(.*)".join(map(re.escape, form.split("*"))), name)
        if match:
            return match.groups()
    return None


class Tables:
    """The files of results/recorded, each read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root) / "results" / "recorded"
        self.read = {}

    def text(self, path):
        if not (self.root / path).is_file():
            raise Wrong(f"no file results/recorded/{path}")
        if path not in self.read:
            self.read[path] = (self.root / path).read_text(encoding="utf-8")
        return self.read[path]

    def rows(self, path):
        """@return the rows of a CSV, the header first; comment lines left out."""
        if ("rows", path) not in self.read:
            lines = [line for line in self.text(path).splitlines() if not line.startswith("#")]
            self.read["rows", path] = list(csv.reader(lines))
        return self.read["rows", path]


class Source:
    """What a reference may call: FOLDER and ARTIFACT, with the functions that read them."""

    def __init__(self, tables, folder, artifact):
        self.tables, self.folder, self.artifact = tables, folder, artifact

    def elsewhere(self, name):
        """This source with FOLDER, ARTIFACT or both taken from `name`."""
        words = str(name).split() if name else []
        folder = [w for w in words if "/" not in w] or [self.folder]
        artifact = [w for w in words if "/" in w] or [self.artifact]
        return f"{folder[0]}/{artifact[0]}"

    def layout(self, where, suffix=".csv"):
        path = self.elsewhere(where) + suffix
        return path, self.tables.rows(path)

    def cells(self, rows, columns, where=None):
        path, table = self.layout(where)
        values = [number(value) for row in table[1:] if agrees(rows, row[0]) is not None
                  for name, value in zip(table[0][1:], row[1:]) if agrees(columns, name) is not None]
        values = [v for v in values if v is not None]
        if not values:
            raise Wrong(f"nothing measured in rows {rows} and columns {columns} of {path}")
        return values

    def cell(self, row, column, where=None):
        path, table = self.layout(where)
        row, column = str(row), str(column)
        found = [r for r in table[1:] if r and r[0] == row]
        if len(found) != 1:
            raise Wrong(f"{len(found)} rows '{row}' in {path}; it has {', '.join(r[0] for r in table[1:])}"[:400])
        if table[0].count(column) != 1:
            raise Wrong(f"{table[0].count(column)} columns '{column}' in {path}; it has {', '.join(table[0][1:])}"[:400])
        field = found[0][table[0].index(column)]
        if number(field) is None:
            raise Wrong(f"({row}, {column}) of {path} is {field or 'empty'}")
        return number(field)

    def ratios(self, rows, over, under, where=None):
        path, table = self.layout(where)
        pairs = [(number(row[table[0].index(over)]), number(row[table[0].index(under)])) for row in table[1:]
                 if agrees(rows, row[0]) is not None]
        return self.divided(pairs, path)

    def across(self, over, under, columns, where=None):
        path, table = self.layout(where)
        below = {agrees(under, row[0]): row for row in table[1:] if agrees(under, row[0]) is not None}
        pairs = [(number(row[k]), number(below[agrees(over, row[0])][k])) for row in table[1:]
                 for k in range(1, len(row)) if agrees(columns, table[0][k]) is not None and agrees(over, row[0]) in below]
        return self.divided(pairs, path)

    @staticmethod
    def divided(pairs, path):
        values = [over / under for over, under in pairs if over is not None and under]
        if not values:
            raise Wrong(f"nothing measured to divide in {path}")
        return values

    def judged(self, file, stat, verdict, artifact, wanted):
        """The column `stat` of verdicts.csv or claims.csv, of the rows that agree."""
        header, *rows = self.tables.rows(f"{self.folder}/{file}")
        wanted = {"artifact": artifact, **wanted}
        rows = [row for row in rows if all(agrees(value, row[header.index(name)]) is not None for name, value in wanted.items())]
        if not rows:
            raise Wrong(f"no row of {self.folder}/{file} agrees with {wanted}")
        return [row[header.index(stat)] for row in rows if agrees(verdict, row[header.index("verdict")]) is not None]

    def verdicts(self, verdict="*", artifact="*", **wanted):
        return len(self.judged("verdicts.csv", "verdict", verdict, artifact, wanted))

    def claims(self, verdict="*", artifact="*", **wanted):
        return len(self.judged("claims.csv", "verdict", verdict, artifact, wanted))

    def beside(self, verdict="*", artifact="*", **wanted):
        """Measured over published values of the cells that agree."""
        values = [number(field) for field in self.judged("verdicts.csv", "ratio", verdict, artifact, wanted)]
        if None in values or not values:
            raise Wrong(f"{len(values)} verdicts agree with {artifact} {wanted}, {values.count(None)} without a ratio")
        return values


def least(value, count):
    """As digits(), rounded down, for what is "at least" so: 17.6 is 17."""
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - count)
    return digits(math.floor(value / unit) * unit, count)


def digits(value, count):
    """The text of `value` in `count` digits: 3.5, 93, 470, 0.0030."""
    rounded = float(f"{value:.{count}g}")
    before = math.floor(math.log10(abs(rounded))) + 1 if rounded else 1  # digits before the point, or minus the zeros after it
    return f"{rounded:,.{max(0, count - before)}f}"


PLAIN = {"min": min, "max": max, "sum": sum, "len": len, "mean": statistics.mean, "median": statistics.median, "abs": abs,
         "round": round, "digits": digits,
         "least": least}
READING = ("cell", "cells", "ratios", "across", "verdicts", "claims", "beside")
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.Pow: operator.pow, ast.USub: operator.neg}


def evaluate(reference, source):
    """@return the number that a reference names. @throws Wrong"""
    def value(node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.operand))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            function = PLAIN.get(name) or (name in READING and getattr(source, name))
            if function:
                return function(*map(value, node.args), **{k.arg: value(k.value) for k in node.keywords})
        raise Wrong(f"`{ast.unparse(node)}` is none of the words of a reference")

    try:
        result = value(ast.parse(reference.strip(), mode="eval").body)
    except (SyntaxError, TypeError, ValueError, ZeroDivisionError, re.error) as error:
        raise Wrong(f"`{reference.strip()}`: {error}") from error
    if not isinstance(result, (int, float, str)):
        raise Wrong(f"`{reference.strip()}` is no single number: take min, max, mean or another")
    return result


def written(figure, value):
    """`value` as the text has it: with the decimals of `figure`, commas from 1,000 on."""
    if isinstance(value, str):
        return value
    decimals = len(figure.partition(".")[2])
    return f"{value:,.{decimals}f}"


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Page:
    """A text with figures. `agree()` gives the text with every figure as recorded; `problems` says what differed."""

    def __init__(self, name, text, tables):
        self.name, self.text, self.tables, self.problems = name, text, tables, []
        self.markdown = name.endswith(".md")
        self.searched = CODE.sub(blank, text) if self.markdown else text

    def say(self, position, what):
        self.problems.append(f"{self.name}:{line_of(self.text, position)}: {what}")

    def recorded(self, match, source):
        """The figure as it should be, or as it stands where its reference leads nowhere."""
        figure, reference = match.group("figure"), match.group("reference")
        if reference.strip() == "paper":
            return figure
        try:
            if not source:
                raise Wrong("no line `<!-- recorded: FOLDER ARTIFACT -->` stands above it")
            right = written(figure, evaluate(reference, source))
        except Wrong as error:
            self.say(match.start(), f"{figure}: {error}")
            return figure
        if right != figure:
            self.say(match.start(), f"the text has {figure}, recorded is {right}: {reference.strip()}; remedy: {REMEDY}")
        return right

    def agree(self):
        experiment = re.search(r'^id = "([^"]+)"', self.text, re.MULTILINE)
        source = None
        if experiment and not self.markdown:
            source = Source(self.tables, "h100", experiment.group(1))
        parts, end, known = [], 0, []
        for match in (MARKDOWN if self.markdown else NOTE).finditer(self.searched):
            known.append(match.span())
            if self.markdown and match.group("source"):
                source = Source(self.tables, *match.group("source").split())
                continue
            right = self.recorded(match, source)
            parts += [self.text[end:match.start()], right]
            end = match.end("figure")
        for match in LOST.finditer(self.searched):
            if not any(a <= match.start() < b for a, b in known):
                self.say(match.start(), "a reference without a number directly before it")
        self.bare()
        return "".join([*parts, self.text[end:]])

    def bare(self):
        """Says which numbers should bear a reference and bear none."""
        hidden = (MARKDOWN if self.markdown else NOTE).sub(blank, self.searched)
        if self.markdown:
            hidden = re.sub(r"<!--.*?-->|\]\([^)]*\)", blank, hidden, flags=re.DOTALL)
            figures = [m.start() for m in MARKDOWN.finditer(self.searched) if m.group("figure")]
            regions = [(m.start(), m.end()) for m in BLOCK.finditer(hidden) if any(m.start() <= f < m.end() for f in figures)]
            regions += [m.span() for m in SECTION.finditer(hidden)]
        else:
            regions = [m.span() for m in re.finditer(r'^note = ".*"$', hidden, re.MULTILINE)]
        said = set()
        for start, end in regions:
            for match in BARE.finditer(hidden, start, end):
                if match.start() not in said:
                    said.add(match.start())
                    self.say(match.start(), f"{match.group()} bears no reference to what was recorded; remedy: give it one"
                             " (tools/docs.py says how), or say it without a figure")


def pages(root):
    """The pages and notes that may hold figures: Markdown but for the log of experiments in docs/lab, and experiments."""
    found = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md", "experiments/*.toml"],
                           capture_output=True, text=True, check=False)
    names = found.stdout.splitlines() if found.returncode == 0 else [
        str(p.relative_to(root)) for p in [*root.rglob("*.md"), *root.glob("experiments/**/*.toml")]]
    return sorted(n for n in names if (root / n).is_file() and not n.startswith(("docs/lab/", "build", "results/latest")))


def digest(root):
    """A short hash of all recorded verdicts and claims, which docs/site and its picture show."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "plots"))
    from retable_report import inputs  # pylint: disable=import-outside-toplevel
    return inputs.recorded_digest(root / "results" / "recorded")


def readable(root, program):
    """The folder of the recordings with all their tables: the program unpacks those that archives hold."""
    if not program:
        return root / "results" / "recorded"
    said = subprocess.run([program, "record", "--tables"], capture_output=True, text=True, check=True, env={**os.environ, "RETABLE_ROOT": str(root)})
    return pathlib.Path(said.stdout.strip())


def site(root, program, check):
    """Writes or checks docs/site. @return what is wrong with it."""
    index = root / "docs" / "site" / "index.html"
    if not index.is_file() or f"content={digest(root)}>" in index.read_text(encoding="utf-8"):
        return []
    if check:
        return [f"docs/site shows earlier verdicts than results/recorded; remedy: {REMEDY}"]
    made = subprocess.run(["/usr/bin/python3", root / "plots" / "report.py", "--site", index.parent, "--recorded", readable(root, program),
                           "--quiet"], capture_output=True, text=True, check=False)
    return [f"docs/site: plots/report.py failed: {made.stderr.strip()[-300:]}"] if made.returncode else []


def draw(root, picture):
    """Draws the first screen of docs/site. @return why not, or None."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        return "no Chromium here to draw it: apt-get install chromium"
    with tempfile.TemporaryDirectory() as scratch:
        shot = pathlib.Path(scratch) / "head.png"
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,720",
                        "--virtual-time-budget=5000", f"--user-data-dir={scratch}/profile", f"--screenshot={shot}",
                        f"file://{root}/docs/site/index.html"], capture_output=True, timeout=300, check=False)
        if not shot.is_file():
            return "Chromium does not run here"
        shutil.copyfile(shot, picture)
    return None


def picture(root, name, text, check):
    """@return (the text with the digest of what its picture shows, what is wrong with it or None)."""
    match = PICTURE.search(text)
    if not match or digest(root) == match["digest"]:
        return text, None
    place = f"{name}:{line_of(text, match.start())}: {match['path']} shows earlier verdicts of results/recorded"
    if check:
        return text, f"{place}; remedy: {REMEDY} (with Chromium)"
    reason = draw(root, (root / name).parent / match["path"])
    if reason:
        return text, f"{place}; {reason}"
    return text[:match.start("digest")] + digest(root) + text[match.end("digest"):], None


def whole_files(root, program):
    """(name, text, its source) of each file that is written as a whole: without a program none."""
    if not program:
        return
    fields = subprocess.run([program, "list", "--fields"], capture_output=True, text=True, check=True).stdout
    yield "docs/configuration.md", CONFIGURATION + fields, "what the program knows"
    advise = root / "apps" / "advise"
    if advise.is_dir():
        sys.path.insert(0, str(advise))
        import write_advice  # pylint: disable=import-outside-toplevel
        source = "h100/shapley/beyond_estimators.tidy.csv"
        yield "apps/advise/advice_table.inc", write_advice.table(readable(root, program) / source), f"results/recorded/{source}"


def write_whole(root, program, check):
    """Writes or checks these files. @return what is wrong with them."""
    wrong = []
    for name, text, source in whole_files(root, program):
        if (root / name).is_file() and (root / name).read_text(encoding="utf-8") == text:
            continue
        if check:
            wrong.append(f"{name}: it differs from {source}; remedy: {REMEDY}")
        else:
            (root / name).write_text(text, encoding="utf-8")
    return wrong


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where something differs")
    parser.add_argument("--program", help="build/retable, for docs/configuration.md and the table of `retable advise`")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    options = parser.parse_args(arguments)
    tables, wrong, figures, changed = Tables(options.root), [], 0, 0
    wrong += write_whole(options.root, options.program, options.check) + site(options.root, options.program, options.check)
    for name in pages(options.root):
        old = (options.root / name).read_text(encoding="utf-8")
        page = Page(name, old, tables)
        new, stale = picture(options.root, name, page.agree(), options.check)
        wrong += [p for p in page.problems if options.check or REMEDY not in p] + ([stale] if stale else [])
        figures += sum(1 for m in (MARKDOWN if page.markdown else NOTE).finditer(page.searched) if m.group("figure"))
        if new != old and not options.check:
            (options.root / name).write_text(new, encoding="utf-8")
            changed += 1
    print("\n".join(wrong) if wrong else f"{figures} figures agree with results/recorded" +
          (f"; {changed} files written" if changed else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `docs.py --check | head`
    sys.exit(main())
