"""Tests of the report: every figure kind, torn and missing input, hostile text, the page and its script.

    /usr/bin/python3 -m unittest discover -s plots/tests
"""

import contextlib
import csv
import glob
import hashlib
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import fixture  # noqa: E402
import numpy  # noqa: E402
import report as program  # noqa: E402
from retable_report import figures, inputs, markdown, model, numbers, page, pareto, site, style, vector  # noqa: E402
from retable_report.figures import violin  # noqa: E402

VOID = {"meta", "link", "br", "wbr", "img", "input", "hr", "path", "line", "circle", "rect", "use", "polyline", "mspace"}


# Elements whose end HTML lets be left out before these tags ("Optional tags").
ENDED_BY = {"td": ("td", "th"), "th": ("td", "th"), "tr": ("td", "th", "tr"),
            "/thead": ("td", "th", "tr"), "/tbody": ("td", "th", "tr"), "/table": ("td", "th", "tr"), "li": ("li",), "/ul": ("li",),
            **{name: ("p",) for name in ("p", "div", "details", "/div", "/details")}}


class Page(html.parser.HTMLParser):
    """Collects ids, links, and text, and checks that tags nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.sources, self.stack, self.errors, self.words, self.tags = [], [], [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        for name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
            if name in attrs:
                (self.links if name == "href" else self.sources).append(attrs[name])
        self.errors += [f"{tag} has {name}" for name in attrs if name.startswith("on")]
        self.end_before(ENDED_BY.get(tag, ()))
        if tag not in VOID:
            self.stack.append(tag)

    def end_before(self, ended):
        while self.stack and self.stack[-1] in ended:
            self.stack.pop()

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        self.end_before(ENDED_BY.get("/" + tag, ()))
        if not self.stack or self.stack.pop() != tag:
            self.errors.append(f"</{tag}> at {self.getpos()} closes nothing or something else")

    def handle_data(self, data):
        self.words.append(data)


def raw(path):
    with open(path, "rb") as stream:
        return stream.read()


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def run(out, *more):
    """Runs the program in this process. @return (exit code, what it said)"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = program.main(["--out", out, *more])
    return code, said.getvalue()


def artifact(tidy=(), figure=None, samples=(), curves=(), verdicts=(), **meta):
    """An artifact in memory; rows are dicts of text."""
    made = inputs.Artifact("family/thing", meta={"figure": figure, "title": "A title", **meta})
    made.tidy, made.samples, made.curves, made.verdicts = list(tidy), list(samples), list(curves), list(verdicts)
    return made


def row(label, median, **more):
    return {"label": label, "device": "cpu", "dataset": "", "metric": "time", "unit": "s", "median": str(median),
            "ci_low": "", "ci_high": "", "status": "ok", "reason": "", **{k: str(v) for k, v in more.items()}}


def texts(drawing):
    """All visible text of a drawing, as the SVG has it."""
    stream = io.StringIO()
    drawing.figure.savefig(stream, format="svg")
    return [re.sub(r"&#x?[0-9a-f]+;", "?", t).strip() for t in re.findall(r"<text[^>]*>(.*?)</text>", stream.getvalue(), re.S)]


class Temporary(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="report-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = os.path.join(self.folder, "out")


class WholeFolder(unittest.TestCase):
    """The made-up folder with everything, drawn once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="report-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.out = os.path.join(cls.folder, "out")
        cls.recorded = fixture.everything(cls.out)
        cls.code, cls.said = run(cls.out, "--recorded", cls.recorded)
        cls.html = read(os.path.join(cls.out, "report.html"))
        cls.page = Page(cls.html)

    def test_writes_everything(self):
        self.assertEqual(self.code, 0, self.said)
        for name in ("quantiles/table2", "quantiles/fig1", "quantiles/fig3", "quantiles/fig10", "treeshap/table6",
                     "shapley/fig3", "shapley/table4", "shuffle/table1"):
            for suffix in (".svg", ".png"):
                self.assertGreater(os.path.getsize(os.path.join(self.out, name + suffix)), 2000, name + suffix)
        self.assertEqual(glob.glob(os.path.join(self.out, "**", "*.tmp"), recursive=True), [])

    def test_markup_nests_and_ids_are_unique(self):
        self.assertEqual(self.page.errors, [])
        self.assertEqual(self.page.stack, [])
        twice = {i for i in self.page.ids if self.page.ids.count(i) > 1}
        self.assertEqual(twice, set())

    def test_links_lead_somewhere_and_nothing_is_loaded(self):
        for link in self.page.links:
            self.assertTrue(link.startswith("#") or link.startswith("data:"), link)
            if link.startswith("#"):
                self.assertIn(link[1:], self.page.ids)
        for source in self.page.sources:
            self.assertTrue(source.startswith("data:"), source)
        for pattern in (r"https?://(?!www\.w3\.org/2000/svg)", r"@import", r"url\((?!#)", r"\bfetch\(", r"XMLHttpRequest", r"<script src"):
            self.assertIsNone(re.search(pattern, self.html), pattern)
        for reference in re.findall(r'url\(#([^)"]+)\)', self.html):
            self.assertIn(reference, self.page.ids)

    def test_hostile_text_stays_text(self):
        self.assertNotIn("<script>alert", self.html)
        self.assertNotIn("<img", self.html)
        self.assertIn("&lt;b&gt;bold?&lt;/b&gt; &amp; co", self.html)
        taught = sum(read(f).count("<script") for f in glob.glob(os.path.join(page.TEACHING, "*.html")))
        self.assertEqual(self.page.tags.count("script"), 2 + taught)
        self.assertIn("ünïcödé", self.html)
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', self.html, re.S).group(1))
        labels = [r[0] for table in data["tables"].values() for r in table["rows"]]
        self.assertTrue(any("<script>alert('x')</script>" in label for label in labels))

    def test_unknown_figure_kind_is_named(self):
        self.assertIn("figure kind &#39;sunburst&#39; is not known here", self.html)

    def test_teaching_of_every_family_present(self):
        for title in ("Moments bend a density", "A path through a tree is a box", "Permutations on a sphere",
                      "A bijection shuffles", "A frontier grows"):
            self.assertIn(title, self.html)
        self.assertNotIn("<!-- picture -->", self.html)

    def test_the_first_screen_names_the_works_and_folds_the_claims(self):
        for authors in ("Mitchell, Frank, Holmes 2021", "Mitchell, Frank, Holmes 2022", "Mitchell, Cooper, Frank, Holmes 2022",
                        "Mitchell, Stokes, Frank, Holmes 2022", "Phang, Tanna"):
            self.assertIn(authors, self.html)
        self.assertLess(self.html.index('id="scoreboard"'), self.html.index('class="cards"'))
        self.assertLess(self.html.index('class="cards"'), self.html.index('id="claims"'))
        verdicts = re.findall(r'<li class="claim[^"]*" data-verdict="([^"]+)"', self.html[self.html.index('id="claims"'):self.html.index('id="family-quantiles"')])
        self.assertEqual(verdicts, sorted(verdicts, key=inputs.CLAIM_VERDICTS.index))
        self.assertEqual(verdicts[0], "FAILS")
        text = " ".join(self.page.words)
        for word in ("holds", "fails", "no data", "match", "trend", "mismatch", "other hardware", "not run"):
            self.assertIn(word, text)

    def test_recorded_run_stands_in_for_what_did_not_run(self):
        self.assertIn("example-h200, 2026-01-01", self.html)
        svg = read(os.path.join(self.out, "shuffle", "table1.svg"))
        self.assertIn("VarPhilox †", svg)
        self.assertIn("recorded on example-h200", svg)
        text = read(os.path.join(self.out, "report.md"))
        self.assertIn("NOT-RUN: no CUDA device; recorded on example-h200, 2026-01-01: DIFFERENT-HW", text)

    def test_every_verdict_row_is_shown(self):
        with open(os.path.join(self.out, "verdicts.csv"), newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        cells = re.findall(r"<tbody>(.*?)</tbody>", self.html, re.S)
        self.assertGreaterEqual(sum(body.count("<tr>") for body in cells), len(rows))

    def test_drawn_again_it_is_the_same_to_the_byte_and_nothing_is_redrawn(self):
        def state():
            return {f: hashlib.sha256(raw(f)).hexdigest()
                    for f in sorted(glob.glob(os.path.join(self.out, "**", "*.*"), recursive=True)) if os.path.isfile(f)}
        before = state()
        code, said = run(self.out, "--recorded", self.recorded)
        self.assertEqual(code, 0)
        self.assertNotIn("drawn", said)
        self.assertEqual(state(), before)
        os.remove(os.path.join(self.out, ".figures.json"))
        run(self.out, "--recorded", self.recorded, "--quiet")
        self.assertEqual(state(), before)

    def test_changed_input_redraws_its_figure_alone(self):
        copy = os.path.join(self.folder, "copy")
        shutil.copytree(self.out, copy)
        self.addCleanup(shutil.rmtree, copy)
        path = os.path.join(copy, "quantiles", "fig10.tidy.csv")
        text = read(path).replace("ME-central (l=10)", "ME-other (l=10)")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        _, said = run(copy, "--recorded", self.recorded)
        self.assertEqual([line for line in said.splitlines() if "drawn" in line], ["figure quantiles/fig10: drawn"])
        self.assertIn("ME-other", read(os.path.join(copy, "quantiles", "fig10.svg")))

    def test_only_keeps_what_matches(self):
        copy = os.path.join(self.folder, "only")
        shutil.copytree(self.out, copy)
        self.addCleanup(shutil.rmtree, copy)
        run(copy, "--only", "shapley/*", "--quiet")
        text = read(os.path.join(copy, "report.html"))
        self.assertIn('id="family-shapley"', text)
        self.assertNotIn('id="family-quantiles"', text)

    def test_it_prints(self):
        browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not browser:
            self.skipTest("no chromium on this machine")
        path, pdf = os.path.join(self.folder, "print.html"), os.path.join(self.folder, "print.pdf")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(self.html)
        try:
            subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--print-to-pdf=" + pdf,
                            "--user-data-dir=" + os.path.join(self.folder, "profile-print"), "file://" + path], capture_output=True, timeout=60)
        except subprocess.TimeoutExpired:
            self.skipTest("chromium did not answer within 60 s")
        if not os.path.exists(pdf):
            self.skipTest("chromium does not run here")
        with open(pdf, "rb") as stream:
            pages = len(re.findall(rb"/Type\s*/Page\b", stream.read()))
        self.assertGreater(pages, self.html.count('<details class="art"') // 3)

    def test_figures_share_their_styles_and_keep_their_text(self):
        classes = vector.Classes()
        made = vector.inline('<svg viewBox="0 0 10 10"><g style="fill: none; stroke: red"><text>data: a; b</text></g></svg>', "a: b; c", classes)
        self.assertIn('<g class="s0"><text>data: a; b</text></g>', made)
        self.assertEqual(classes.sheet(), ".s0{fill:none;stroke:red}\n")
        self.assertIn('aria-label="a: b; c"', made)

    def test_paths_become_relative_and_stay_where_they_were(self):
        made = vector.small_path(re.match(r' d="(.*)"', ' d="M 10.04 20 L 11.04 19.5 L 11.5 19.5 L 0 0 z "'))
        self.assertEqual(made, ' d="M10 20l1-.5h.5l-11.5-19.5z"')
        x = y = 0
        for dx, dy in ((10, 20), (1, -.5), (.5, 0), (-11.5, -19.5)):
            x, y = x + dx, y + dy
        self.assertEqual((round(x, 6), round(y, 6)), (0, 0))
        straight = vector.small_path(re.match(r' d="(.*)"', ' d="M 1 1 L 2 2 L 2 2 L 4 4 L 4 6 L 4 5 L 4 4.5 M 7 7 L 8 7 L 9 7 "'))
        self.assertEqual(straight, ' d="M1 1l3 3v2-1.5M7 7h2"')
        curve = vector.small_path(re.match(r' d="(.*)"', ' d="M 1.25 2 C 3.04 4 5 6 7 8.26 z"'))
        self.assertEqual(curve, ' d="M1.2 2C3 4 5 6 7 8.3z"')

    def test_a_shape_that_is_used_once_stands_where_it_is_used(self):
        body = ('<defs><path id="a" d="M 0 0 L 1 1" style="stroke: red"/></defs><g><use xlink:href="#a" x="2.5" y="3" style="fill: red"/></g>'
                '<defs><path id="b" d="M 0 0"/></defs><use xlink:href="#b" x="0" y="0"/><use xlink:href="#b" x="1" y="1"/><g/>')
        made = vector.inline(f'<svg viewBox="0 0 10 10">{body}</svg>', "", vector.Classes())
        self.assertIn('<path d="M2.5 3l1 1" class="s0"/>', made)
        self.assertEqual(made.count("<use"), 2)
        self.assertNotIn("<g>", made)
        curve = vector.inline('<svg viewBox="0 0 10 10"><path id="a" d="M 0 0 C 1 1 2 2 3 3"/><use xlink:href="#a" x="2.5" y="3"/></svg>',
                              "", vector.Classes())
        self.assertIn('<path d="M0 0C1 1 2 2 3 3" transform="translate(2.5 3)"/>', curve)

    def test_a_line_of_one_point_goes(self):
        line = '<path d="M 1 2 {}" style="stroke: red"/>'
        made = vector.inline(f'<svg viewBox="0 0 9 9">{line.format("")}{line.format("L 3 3")}</svg>', "", vector.Classes())
        self.assertEqual(re.findall(r' d="([^"]*)"', made), ["M1 2l2 1"])

    def test_groups_that_are_clipped_alike_are_one(self):
        group = '<g clip-path="url(#{})"><path d="M 0 {} L 1 1" style="stroke: red"/></g>'
        made = vector.inline(f'<svg viewBox="0 0 9 9">{group.format("c", 1)}{group.format("c", 2)}{group.format("e", 3)}</svg>',
                             "", vector.Classes())
        self.assertEqual(made.count("<g "), 2)
        self.assertEqual(made.count("<path"), 2)
        self.assertIn('d="M0 1h1M0 2l1-1"', made)

    def test_shapes_of_one_style_are_one_where_only_words_stand_between_them(self):
        shape, word = '<path d="M 0 {} L 1 1" style="{}"/>', '<text style="fill: red">{}</text>'
        def made(style, between=word.format("a")):
            return vector.inline(f'<svg viewBox="0 0 9 9">{shape.format(1, style)}{between}{shape.format(2, style)}</svg>', "", vector.Classes())
        self.assertIn('<path d="M0 1h1M0 2l1-1" class="s0"/><text class="s1">a</text></svg>', made("stroke: red"))
        self.assertEqual(made("stroke: red; opacity: 0.5").count("<path"), 2)  # where they cross it is darker
        self.assertEqual(made("stroke: red", shape.format(3, "stroke: blue")).count("<path"), 3)

    def test_marks_in_a_row_are_the_corners_of_a_line(self):
        body = '<path id="a" d="M 0 0 L 1 1"/>' + "".join(f'<use href="#a" x="{x}" y="3.26"/>' for x in (1, 2, 5)) + '<text>t</text><use href="#a" x="7" y="8"/>'
        made = vector.inline(f'<svg viewBox="0 0 9 9">{body}</svg>', "", vector.Classes())
        self.assertIn('<path d="M0 0l1 3.3h1 3z" marker-mid="url(#p1-0m)"/><text>t</text><use href="#p1-0" x="7" y="8"/>'
                      '<marker id="p1-0m"><use href="#p1-0"/></marker></svg>', made)

    def test_a_site_page_has_each_shape_once_and_no_tag_or_quote_that_html_can_do_without(self):
        figure = ('<svg><defs><path id="p{0}-0" d="M0 0" class="s1"/></defs><use href="#p{0}-0" x="1" y="2"/><path marker-mid="url(#p{0}-0m)"/>'
                  '<marker id="p{0}-0m"><use href="#p{0}-0"/></marker></svg>')
        self.assertEqual(site.smaller(figure.format(1) + figure.format(2) + '<script>a = "b"</script><p>y</p>\n<p>z</p> w<td class="t u">x</td>'),
                         '<svg><defs><path id=p0 d="M0 0" class=s1 /></defs><use href=#p0 x=1 y=2 /><path marker-mid=url(#p1) />'
                         '<marker id=p1><use href=#p0 /></marker></svg><svg><use href=#p0 x=1 y=2 /><path marker-mid=url(#p1) /></svg>'
                         '<script>a = "b"</script><p>y<p>z</p> w<td class="t u">x')

    def test_a_violin_has_the_points_that_its_shape_needs(self):
        x = numpy.linspace(0, 1, 101)
        for y, most in ((0 * x, 2), (numpy.abs(x - .5), 3), (numpy.exp(-50 * (x - .5) ** 2), 20)):
            kept = violin.needed(x, y)
            self.assertLessEqual(len(kept[0]), most)
            self.assertLess(numpy.abs(numpy.interp(x, *kept) - y).max(), .011)

    def test_code_and_long_names(self):
        self.assertEqual(page.code_spans("type `a <b>` now"), "type <code>a &lt;b&gt;</code> now")
        self.assertEqual(page.breakable("kernel_a <b>"), "kernel_<wbr>a &lt;b&gt;")
        self.assertEqual(page.breakable("made(n=10,noise=0.1) (l=5)"), "made<wbr>(n=10,<wbr>noise=0.1) (l=5)")

    def test_shares_of_the_ceiling_and_clocks_are_on_the_page(self):
        data = json.loads(re.search(r'id="data">(.*?)</script>', self.html, re.S).group(1))
        rows = [row for table in data["tables"].values() for row in table["rows"]]
        self.assertIn([0.714, "copy, 4022 GB/s"], [row[-2:] for row in rows])
        clocks = [metric[4] for cell in data["cells"].values() for metric in cell["m"] if len(metric) > 4]
        self.assertTrue(clocks and all(set(c) == {1980.0} for c in clocks if c))

    def test_recorded_only_artifacts_are_listed(self):
        few = os.path.join(self.folder, "few")
        folder = fixture.Folder(few)
        fixture.quantiles(folder)
        folder.finish()
        self.addCleanup(shutil.rmtree, few)
        run(few, "--recorded", self.recorded, "--quiet")
        text = read(os.path.join(few, "report.html"))
        self.assertIn("Recorded elsewhere, not in this run", text)
        self.assertIn("GPU shuffling throughput", text)
        self.assertEqual(Page(text).errors, [])


    def test_tables_of_other_programs_stand_with_the_machines(self):
        report = inputs.Report("nowhere")
        report.artifacts["family/thing"] = artifact([row("A", 1)])
        report.artifacts["gpu-check/shuffle"] = inputs.Artifact("gpu-check/shuffle", table=[["test", "said"], ["cold start", "2.64"]])
        text = page.build(report, {})
        self.assertNotIn('id="family-gpu-check"', text)
        self.assertGreater(text.index("cold start"), text.index('<div class="view" id="environment">'))


class TornInput(Temporary):
    """Any subset of files, and any damage to them, gives a page that names what is missing."""

    def check(self, *named):
        code, said = run(self.out)
        self.assertEqual(code, 0, said)
        text = read(os.path.join(self.out, "report.html"))
        self.assertEqual(Page(text).errors, [])
        whole = " ".join(Page(text).words)
        for name in named:
            self.assertIn(name, whole)
        self.assertTrue(read(os.path.join(self.out, "report.md")).startswith("# Retable"))
        return whole

    def small(self):
        folder = fixture.Folder(self.out)
        fixture.extratrees(folder)
        fixture.treeshap(folder)
        folder.finish()

    def test_empty_folder(self):
        os.makedirs(self.out)
        self.check("run.json is missing", "environment.json is missing", "verdicts.csv is missing", "claims.csv is missing", "no artifact was found")

    def test_no_folder(self):
        code, said = run(os.path.join(self.folder, "nowhere"))
        self.assertEqual(code, 1)
        self.assertIn("nowhere is not a folder", said)

    def test_each_file_missing(self):
        self.small()
        for path in sorted(glob.glob(os.path.join(self.out, "*.*")) + glob.glob(os.path.join(self.out, "*", "*.csv")) +
                           glob.glob(os.path.join(self.out, "*", "*.json"))):
            if os.sep + "cells" + os.sep in path or os.path.basename(path) in ("report.html", "report.md"):
                continue
            with self.subTest(os.path.relpath(path, self.out)):
                kept = raw(path)
                os.remove(path)
                self.check()
                with open(path, "wb") as stream:
                    stream.write(kept)

    def test_each_file_damaged(self):
        self.small()
        for name in ("run.json", "environment.json", "verdicts.csv", "claims.csv", "treeshap/table6.tidy.csv", "treeshap/table6.meta.json"):
            path = os.path.join(self.out, name)
            kept = raw(path)
            for damage in (b"", b"\xff\xfe\x00garbage\n,,\"", kept[:len(kept) // 2], b"[]", b"null", b"\"text\"", b"{\"figure\": 3, \"labels\": 7, \"source\": []}"):
                with self.subTest(name, damage=damage[:20]):
                    with open(path, "wb") as stream:
                        stream.write(damage)
                    self.check()
            with open(path, "wb") as stream:
                stream.write(kept)

    def test_header_only(self):
        self.small()
        for path in glob.glob(os.path.join(self.out, "**", "*.csv"), recursive=True):
            first = read(path).split("\n")[0]
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(first + "\n")
        self.check("No published cell was compared")

    def test_torn_cells_are_counted(self):
        self.small()
        for path in glob.glob(os.path.join(self.out, "cells", "*.json"))[:3]:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write('{"key": "0')
        self.check("3 cell files under cells/ cannot be read")

    def test_altered_cells_and_pipes_are_counted(self):
        self.small()
        good, altered, pipe = sorted(glob.glob(os.path.join(self.out, "cells", "*.json")))[:3]
        for path, as_written in ((good, True), (altered, False)):
            body = read(path).split("\n", 1)[1]
            with open(path, "w", encoding="utf-8") as stream:
                stream.write('{\n "sha256": "' + hashlib.sha256((body if as_written else body + " ").encode()).hexdigest() + '",\n' + body)
        os.remove(pipe)
        os.mkfifo(pipe)
        self.check("2 cell files under cells/ cannot be read")

    def test_odd_types_in_meta_and_run(self):
        self.small()
        path = os.path.join(self.out, "treeshap", "table6.meta.json")
        meta = json.loads(read(path))
        meta.update(datasets=["one", {"name": "two", "present": False, "reason": "gone"}, 3, None], notes=[1, None, "text"],
                    labels=[None, 3, "TreeShap"], source="page 3", coverage="all", statuses=[], figure={"kind": None}, axes=None, title=None)
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(meta, stream)
        with open(os.path.join(self.out, "run.json"), "w", encoding="utf-8") as stream:
            json.dump({"banner": "one line", "counts": [1], "seconds": "soon", "started": 5, "command": None}, stream)
        with open(os.path.join(self.out, "environment.json"), "w", encoding="utf-8") as stream:
            json.dump({"cpu": "a name", "gpu": [{"name": "G"}], "deep": {"a": {"b": [{"c": None}]}}, "list": [1, 2]}, stream)
        self.check("one line", "gone")

    def test_the_gpus_of_a_machine_are_counted(self):
        folder = fixture.Folder(self.out)
        folder.finish(environment={"cpu": {"model": "C", "cores": 64}, "gpu": [{"name": "Example GPU"}] * 4})
        self.check("C, 64 cores, 4 Example GPU", "no artifact was found")

    def test_a_name_that_leads_out_of_the_folder(self):
        folder = fixture.Folder(self.out)
        for name in ("../escaped", "/escaped", "a//b", ""):
            for i in range(4):
                folder.verdict(name, f"r{i}", "c", "accuracy", 1.0, 1.1, "", "MATCH")
        folder.finish()
        self.check("'../escaped' is no name for an artifact", "no artifact was found")
        self.assertEqual(sorted(os.listdir(self.folder)), ["out"])

    def test_failed_measurements_are_named_on_top(self):
        folder = fixture.Folder(self.out)
        tidy = [folder.tidy_row("shuffle/t", f"M{i}", [("n", 8)], "rate", "", [], status=status, reason="why so")
                for i, status in enumerate(("crash", "timeout", "ok", "wrong_result", "not_run"))]
        folder.artifact("shuffle/t", "T", "Q?", ["n"], tidy)
        folder.finish()
        words = self.check("3 measurements gave no usable answer", "M0, cpu, n = 8", "wrong result", "why so")
        self.assertNotIn("M4, cpu, n = 8:", words)
        self.assertIn("- shuffle/t, M1, cpu, n = 8: timeout, why so", read(os.path.join(self.out, "report.md")))

    def test_unwritable_folder(self):
        self.small()
        os.makedirs(os.path.join(self.out, "report.html.tmp"))  # a name that cannot be written, for root too
        code, said = run(self.out)
        self.assertEqual(code, 1)
        self.assertIn("cannot write to", said)


class Figures(unittest.TestCase):
    """Each kind on sound and on degenerate data."""

    def nothing(self, words, **made):
        with self.assertRaises(figures.Nothing) as caught:
            figures.draw(artifact(**made))
        self.assertIn(words, str(caught.exception))

    def test_every_kind_without_data_says_so(self):
        for kind in figures.KINDS:
            self.nothing("", figure={"kind": kind})

    def test_line_orders_points_and_names_lines(self):
        drawing = figures.draw(artifact([row("A", v, size=n) for n, v in ((100, 3), (10, 1), (1, .1))], {"kind": "line", "x": "size", "xscale": "log"}))
        line = drawing.figure.axes[0].lines[0]
        self.assertEqual(list(line.get_xdata()), [1, 10, 100])
        self.assertEqual(list(line.get_ydata()), [.1, 1, 3])
        self.assertIn("A", texts(drawing))

    def test_one_data_set_is_named_in_the_foot(self):
        for kind in ("line", "bar", "heatmap"):
            drawing = figures.draw(artifact([row("A", i, size=i, dataset="digits") for i in (1, 2)] + [row("B", 2, size=2, dataset="digits")],
                                            {"kind": kind, "x": "size"}))
            self.assertIn("data: digits", texts(drawing), kind)

    def test_line_tells_devices_apart_only_where_needed(self):
        both = [row("A", 1, size=n, device=d) for n in (1, 2) for d in ("cpu", "cuda")]
        self.assertIn("A, cuda", texts(figures.draw(artifact(both, {"kind": "line", "x": "size"}))))
        one = [row("A", 1, size=n, device="cpu") for n in (1, 2)] + [row("B", 1, size=n, device="cuda") for n in (1, 2)]
        self.assertIn("B", texts(figures.draw(artifact(one, {"kind": "line", "x": "size"}))))

    def test_lines_differ_without_colour(self):
        for groups in (list(range(24)), ["A"] * 3 + ["B"] * 3, ["A", "B"] * 4):
            looks = style.looks(groups)
            self.assertEqual(len({(str(dash), marker) for _, dash, marker in looks}), len(groups))
        self.assertEqual([colour for colour, _, _ in style.looks(["A", "B", "A"])], [style.COLOURS[0], style.COLOURS[1], style.COLOURS[0]])

    def test_line_drops_what_a_log_axis_cannot_hold(self):
        drawing = figures.draw(artifact([row("A", v, size=n) for n, v in ((0, 1), (1, -1), (2, 5), (4, 7))],
                                        {"kind": "line", "x": "size", "xscale": "log", "yscale": "log"}))
        self.assertEqual(list(drawing.figure.axes[0].lines[0].get_xdata()), [2, 4])

    def test_line_with_words_on_the_axis_and_panels(self):
        rows = [row("A", i, size=s, dataset=d) for d in ("d2", "d10") for i, s in enumerate(("small", "large"))]
        drawing = figures.draw(artifact(rows, {"kind": "line", "x": "size", "panel": "dataset"}))
        self.assertEqual(len(drawing.figure.axes), 2)
        self.assertIn("small", texts(drawing))

    def test_line_without_its_axis(self):
        self.nothing("no column 'rows'", tidy=[row("A", 1)], figure={"kind": "line", "x": "rows"})

    def test_an_axis_may_be_called_n(self):
        with tempfile.TemporaryDirectory() as folder:
            fixture.write_csv(os.path.join(folder, "f", "t.tidy.csv"), ["label", "n", "metric", "unit", "status", "n", "median"],
                              [["A", 8, "time", "s", "ok", 3, 1.5], ["A", 16, "time", "s", "ok", 3, 2.5]])
            made = inputs.read_report(folder).artifacts["f/t"]
            made.meta = {"axes": ["n"], "figure": {"kind": "line", "x": "n"}}
            self.assertEqual(list(figures.draw(made).figure.axes[0].lines[0].get_xdata()), [8, 16])
            self.assertEqual(made.axes(), ["n"])

    def test_failed_rows_and_nan_are_not_drawn(self):
        self.nothing("boom", tidy=[row("A", 3, size=1, status="crash", reason="boom"), row("A", "nan", size=2), row("A", "inf", size=3)],
                     figure={"kind": "line", "x": "size"})

    def samples(self, label, values, **more):
        return [{"label": label, "metric": "NIAE", "unit": "", "device": "cpu", "values": values, **more}]

    def test_violin_keeps_row_order_and_counts_failures(self):
        data = self.samples("B", [str(.01 * i) for i in range(30)] + ["", "nan"]) + self.samples("A", ["0.5"] * 5) + self.samples("C", [""])
        drawing = figures.draw(artifact(samples=data, figure={"kind": "violin", "metric": "NIAE"}, labels=["C", "A", "B", "D"]))
        ax = drawing.figure.axes[0]
        self.assertEqual([t.get_text() for t in ax.get_yticklabels()], ["C", "A", "B", "D"])
        shown = texts(drawing)
        self.assertIn("2", shown)
        self.assertIn("all failed", shown)
        self.assertIn("not run", shown)

    def test_a_far_tail_does_not_press_the_violins_flat(self):
        drawing = figures.draw(artifact(samples=self.samples("A", [str(i / 100) for i in range(100)] + ["1000"]), figure={"kind": "violin"}))
        self.assertLess(drawing.figure.axes[0].get_xlim()[1], 3)
        self.assertTrue(any(text.startswith("1 ") for text in texts(drawing)), texts(drawing))

    def test_violin_on_a_log_axis(self):
        figures.draw(artifact(samples=self.samples("A", ["0", "-1", "1e-9", "1", "10", "100"]), figure={"kind": "violin", "xscale": "log"}))
        self.nothing("positive", samples=self.samples("A", ["0", "-1"]), figure={"kind": "violin", "xscale": "log"})

    def test_density_integrates_to_its_shape(self):
        grid, heights = figures.density([0.0] * 5 + [1.0] * 5 + [.5] * 40, 0, 1)
        self.assertEqual(heights.max(), 1)
        self.assertAlmostEqual(grid[heights.argmax()], .5, delta=.03)
        self.assertIsNone(figures.density([1.0, 1.0, 1.0], 0, 2))
        self.assertIsNone(figures.density([], 0, 2))
        self.assertIsNone(figures.density([.08, .09, .12, .16], 0, .04))  # all beyond the axis: no end was found

    def test_histogram_counts_every_sample(self):
        for figure in ({"kind": "histogram"}, {"kind": "histogram", "logx": True}):
            drawing = figures.draw(artifact(samples=self.samples("A", [str(10 ** (i / 20)) for i in range(100)]), figure=figure))
            self.assertEqual(sum(patch.get_height() for patch in drawing.figure.axes[0].patches), 100)
        figures.draw(artifact(samples=self.samples("A", ["3", "3"]), figure={"kind": "histogram", "logx": "true"}))

    def test_curves_draw_the_histogram_behind(self):
        curves = [{"label": label, "dataset": "d", "curve": curve, "x": str(x), "y": str(x * x)}
                  for label, curve in (("ME", "density"), ("", "histogram")) for x in range(5)] + [
                      {"label": "ME", "dataset": "d", "curve": "density", "x": "", "y": "nan"}]
        shown = texts(figures.draw(artifact(curves=curves, figure={"kind": "curves"})))
        self.assertIn("data", shown)
        self.assertIn("ME", shown)

    def test_bar_and_heatmap(self):
        rows = [row(label, v, d=d, ci_low=v * .9, ci_high=v * 1.1) for label, v in (("A", 1), ("B", 300)) for d in (2, 10)]
        self.assertEqual(len(figures.draw(artifact(rows, {"kind": "bar", "metric": "time"})).figure.axes), 1)
        figures.draw(artifact(rows, {"kind": "bar", "xscale": "log"}))
        shown = texts(figures.draw(artifact(rows, {"kind": "heatmap", "x": "d"})))
        self.assertLess(shown.index("2"), shown.index("10"))
        two = [row("A", v, d=1, dataset=name) for v, name in ((3, "x"), (7, "y"))] + [row("A", 5, d=2, dataset="x")]
        shown = texts(figures.draw(artifact(two, {"kind": "heatmap", "x": "d"})))
        for text in ("A, x", "A, y", "3", "7", "5"):
            self.assertIn(text, shown)
        figures.draw(artifact([row("A", -1)], {"kind": "bar"}))
        figures.draw(artifact([row("A", 0)], {"kind": "heatmap"}))

    def test_scatter_draws_costs_against_sizes_and_the_floor(self):
        rows = [row(label, v * k, dataset=f"d{k}", rows="10", share=".1" if label == "A" else "")
                for label, v in (("A", 1), ("B", 3)) for k in (1, 2)] + [row("A", 5, dataset="unknown", rows="10")]
        made = artifact(rows, {"kind": "scatter", "x": "Features; Leaves", "per": "rows; Leaves", "yscale": "log"})
        made.meta["table"] = {"rows": "{dataset}"}
        made.table = [["Model", "Features", "Leaves"], ["d1", "4", "8"], ["d2", "9", "16"]]
        page = figures.draw(made).figure
        self.assertIn("floor", " ".join(texts(figures.draw(made))))
        first = page.axes[0].lines
        self.assertEqual(len(page.axes), 2)
        self.assertEqual([list(first[0].get_xdata()), list(first[0].get_ydata())], [[4, 9], [1 / 80, 2 / 160]])
        for floor, want in zip(first[1].get_ydata(), (.1 / 80, .2 / 160)):
            self.assertAlmostEqual(floor, want)
        for cost, want in zip(first[2].get_ydata(), (3 / 80, 6 / 160)):
            self.assertAlmostEqual(cost, want)
        self.assertEqual(list(page.axes[1].lines[0].get_xdata()), [8, 16])
        made.table = []
        with self.assertRaisesRegex(figures.Nothing, "Features, Leaves, rows, Leaves"):
            figures.draw(made)

    def test_agreement_stands_in_for_a_missing_figure(self):
        verdicts = [{"row": f"r{i}", "column": "c", "paper": "2", "ratio": str(r), "verdict": "MATCH", "ci_low": "1", "ci_high": "3"}
                    for i, r in enumerate((.9, 1.0, 1.1, 5000, 1e-9))]
        figures.draw(artifact(verdicts=verdicts))
        self.nothing("fewer than three", verdicts=verdicts[:2])

    def test_many_rows_and_panels_are_cut_and_said(self):
        rows = [row("A", i, size=s, dataset=f"d{i}") for i in range(36) for s in (1, 2)]
        self.assertIn("6 more panels", figures.draw(artifact(rows, {"kind": "line", "x": "size"})).note)

    def test_long_labels_are_wrapped(self):
        figures.draw(artifact([row("word " * 40, 1), row("x" * 200, 2)], {"kind": "bar", "title": "t " * 200}))

    def test_recorded_rows_fill_only_the_gaps(self):
        local = artifact([row("A", 1, size=1), row("B", "", size=1, status="not_run")], {"kind": "line", "x": "size"})
        local.recorded = [("box", artifact([row("A", 9, size=1), row("B", 5, size=1)]))]
        rows, machines = figures.points(local, "time", ["label", "size"])
        self.assertEqual([(r["label"], r["median"]) for r in rows], [("A", 1.0), ("B †", 5.0)])
        self.assertEqual(machines, ["box"])

    def test_thresholds_are_drawn_as_limits(self):
        rows = [row("A", v, size=s) for s, v in ((1, 2), (2, 3))] + [dict(row("A", 9, size=s), metric="limit") for s in (1, 2)]
        made = artifact(rows, {"kind": "line", "metric": "time", "x": "size", "thresholds": "limit: rejected above; gone: not there"}, axes=["size"])
        from retable_report.figures.line import thresholds_of
        self.assertEqual(thresholds_of(made, made.figure(), "size"), [("rejected above", {1.0: 9.0, 2.0: 9.0})])
        texts = [t.get_text() for t in figures.draw(made).figure.legends[0].get_texts()]
        self.assertEqual(texts, ["A", "rejected above"])


class Words(unittest.TestCase):
    """Numbers and text as a reader sees them."""

    def test_plain(self):
        for value, text in ((0, "0"), (0.0532123, "0.05321"), (123.456, "123.5"), (5.0, "5"), (1234.5678, "1235"),
                            (12345.0, "12\u202f345"), (1.234e-7, "1.23e-7"), (-2.5, "-2.5"), (3e9, "3e9"), (0.000123456, "0.0001235"), (None, "")):
            self.assertEqual(numbers.plain(value).replace("−", "-"), text)

    def test_ratio_and_time(self):
        self.assertEqual([numbers.ratio(v) for v in ("1", "0.0213", "12.34", "1e-9", "0", "", "nan")], ["1.00×", "0.021×", "12.3×", "1e−9×", "0×", "", ""])
        self.assertEqual([numbers.interval(*v) for v in (("1", "2"), ("1", "1"), ("", ""), ("-inf", "inf"))], ["1 … 2", "", "", "unbounded"])
        self.assertEqual([numbers.seconds(v) for v in (0.25, 61, 7322, "x")], ["0.25 s", "1 min 1 s", "2 h 2 min", ""])
        self.assertEqual([numbers.published(v) for v in ("6.2e-05", "0.673525", "1e-9", "NaN", "")], ["0.000062", "0.673525", "1e−9", "NaN", ""])
        self.assertEqual(numbers.moment("2026-01-02T03:04:05Z"), "2026-01-02 03:04 UTC")

    def test_powers(self):
        self.assertEqual(numbers.raised("2^26+1 and 2^9. x^2.5 e^-1 |MMD^2| 2^n"), "2²⁶+1 and 2⁹. x^2.5 e^-1 |MMD²| 2^n")
        self.assertEqual([figures.axes.scientific(v) for v in (1e-4, 2e-5, 1.5e7)], ["10⁻⁴", "2·10⁻⁵", "1.5·10⁷"])

    def test_values_of_a_claim(self):
        self.assertEqual(model.values_of("cell(ME (l=5), mean) = 0.0123456789; cell(A, b) = missing; cell(1.5, x) = 7"), ["ME (l=5), mean: 0.01235", "1.5, x: 7"])
        self.assertEqual(model.values_of(""), [])

    def test_markdown_escapes(self):
        self.assertEqual(markdown.escape("a|b *c*\n<d> & `e`"), "a\\|b \\*c\\* &lt;d&gt; &amp; \\`e\\`")
        self.assertEqual(markdown.code("a `b` c"), "``a `b` c``")

    def test_many_absent_data_sets_share_a_row(self):
        sets = [{"name": n, "present": n == "a", "reason": "" if n == "a" else "far", "shape": "", "origin": ""} for n in "abcdef"]
        self.assertEqual([(r["name"], r["count"]) for r in page.together(sets)], [("a", 1), ("b, c, d, e, f", 5)])
        self.assertEqual(len(page.together(sets[:4])), 4)

    def test_ids_are_unique_and_plain(self):
        ids = page.Ids()
        self.assertEqual([ids("A/B c"), ids("a-b-c"), ids("<>"), ids("漢")], ["a-b-c", "a-b-c-2", "x", "x-2"])

    def test_natural_order(self):
        self.assertEqual(sorted(["fig10", "fig9", "fig1"], key=inputs.natural), ["fig1", "fig9", "fig10"])
        self.assertEqual(sorted(["10", "9.5", "a"], key=inputs.natural), ["9.5", "10", "a"])
        self.assertEqual(sorted(["2³", "2²", "1"], key=inputs.natural), ["1", "2²", "2³"])

    def test_names_of_rows_are_not_rounded(self):
        made = artifact()
        made.table = [["n", "time"], ["16777216", "0.123456"], ["16777217", "NOT-RUN"]]
        self.assertEqual(markdown.result_lines(made)[-2:], ["| 16777216 | 0.1235 |", "| 16777217 | NOT-RUN |"])

    def test_data_shrinks_until_it_fits(self):
        report = inputs.Report("nowhere")
        report.artifacts["family/thing"] = artifact([row("A", i, key=f"k{i}") for i in range(500)])
        report.cells = {f"k{i}": {"metrics": [{"name": "t", "samples": [.1] * 50}], "cell": {"long": "x" * 100}} for i in range(500)}
        limit = page.DATA_LIMIT
        try:
            sizes = []
            for page.DATA_LIMIT in (10**7, 150_000, 60_000, 1000):
                sizes.append(len(page.drill_data(report, {"family/thing": "family-thing"}, {})))
                self.assertLessEqual(sizes[-1], max(page.DATA_LIMIT, 200))
        finally:
            page.DATA_LIMIT = limit
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_settings_are_counted_apart(self):
        rows = [{"verdict": "MATCH", "kind": "accuracy"}, {"verdict": "ORDER-ONLY", "kind": "ratio"}] + [{"verdict": "MATCH", "kind": "setting"}] * 3
        self.assertEqual(model.tally(rows, model.VERDICTS), [("MATCH", 1), ("ORDER-ONLY", 1)])
        self.assertEqual((model.total(rows), model.settings_words(rows)), (2, "3 settings: 3 match"))
        self.assertEqual(model.settings_words(rows[:2]), "")

    def test_a_bound_is_shown_with_its_sign_and_drawn_at_its_number(self):
        made = artifact(verdicts=[{"row": "A", "column": "x", "kind": "bound", "paper": "<=14.5", "measured": "18.98", "verdict": "MISMATCH"}])
        row = model.verdict_rows(made)[0]
        self.assertEqual((row["paper"], row["paper_value"]), ("≤ 14.5", 14.5))

    def test_what_all_reasons_say_is_said_once(self):
        rows = [{"verdict": "TREND", "reason": f"order {i}; on 5 of 9 columns"} for i in range(3)] + [{"verdict": "NOT-RUN", "reason": "no GPU"}]
        self.assertEqual(model.shared_reasons(rows), ["on 5 of 9 columns"])
        self.assertEqual([r["reason"] for r in rows], ["order 0", "order 1", "order 2", "no GPU"])
        self.assertEqual(model.shared_reasons([]), [])

    def test_layout_puts_verdicts_on_the_csvs_cells(self):
        made = artifact(verdicts=[{"row": "A", "column": "x", "paper": "1", "measured": "1.1", "verdict": "MATCH", "artifact": ""},
                                  {"row": "Z", "column": "x", "paper": "1", "measured": "", "verdict": "ODD WORD", "artifact": ""}])
        made.table = [["Name", "x", "y"], ["A", "1.1"], ["B", "2", "text"]]
        rows = model.verdict_rows(made)
        corner, columns, lines = model.layout(made, rows)
        self.assertEqual((corner, columns), ("Name", ["x", "y"]))
        self.assertEqual(lines[0][1][0]["verdict"]["verdict"], "MATCH")
        self.assertIsNone(lines[0][1][1])
        self.assertEqual(lines[1][1][1]["text"], "text")
        self.assertEqual((rows[1]["verdict"], rows[1]["word"]), ("NO-DATA", "odd word"))
        self.assertEqual([name for name, _ in lines], ["A", "B", "Z"])  # a published row that did not run is not hidden

    def test_layout_fills_gaps_with_what_was_recorded(self):
        made, there = artifact(), artifact()
        made.table = [["Name", "10000", "y"], ["A", "NOT-RUN", "3"], ["B", "", "NOT-RUN"]]
        there.table = [["Name", "y", "10000"], ["A", "9", "1.5"], ["B", "NOT-RUN", "2.5"]]
        there.date = "2026-01-01"
        made.recorded = [("far", there)]
        _, _, lines = model.layout(made, [])
        self.assertEqual(lines[0][1][0]["recorded"], {"machine": "far", "date": "2026-01-01", "measured": "1.5"})
        self.assertEqual(lines[0][1][1]["text"], "3")
        self.assertEqual(lines[1][1][0]["value"], 2.5)
        self.assertTrue(lines[1][1][1]["absent"])
        self.assertEqual(numbers.raised("10000"), "10\u202f000")
        self.assertEqual(numbers.raised("1000"), "1000")

    def test_claims_carry_reasons_notes_and_what_was_recorded(self):
        made, there, later = artifact(), artifact(), artifact()
        made.claims = [{"id": "a", "text": "A.", "verdict": "NO-DATA", "figures": "cell(r, c) = missing", "reason": "needs x", "note": "known"},
                       {"id": "b", "text": "B.", "verdict": "HOLDS", "figures": "cell(r, c) = 1.23456789", "note": "known"}]
        there.claims, there.date = [{"id": "a", "verdict": "FAILS", "figures": "cell(r, c) = 2"}], "2026-01-01"
        later.claims, later.date = [{"id": "a", "verdict": "HOLDS", "figures": ""}, {"id": "b", "verdict": "NO-DATA"}], "2026-02-01"
        made.recorded = [("far", there), ("near", later)]
        first, second = model.claim_rows(made)
        self.assertEqual([(r["machine"], r["verdict"]) for r in first["recorded"]], [("near", "HOLDS"), ("far", "FAILS")])
        self.assertEqual((first["reason"], first["note"]), ("needs x", "known"))  # it fails somewhere
        self.assertEqual((second["note"], second["recorded"], second["said"]), ("", [], ["r, c: 1.235"]))

    def test_figures_of_notes_show_their_references_apart(self):
        note = "On it 93{cell('a <b>', 'x')} times, 2^26 items, 0.5{paper} in print."
        self.assertEqual(numbers.unsourced(note), "On it 93 times, 2^26 items, 0.5 in print.")
        self.assertEqual(page.sourced(note), 'On it <abbr title="recorded: cell(&#39;a &lt;b&gt;&#39;, &#39;x&#39;)">93</abbr> times, 2²⁶ items, '
                         '<abbr title="in print">0.5</abbr> in print.')

    def test_dates_and_remarks_of_a_run(self):
        report = inputs.Report("nowhere", run={"started": "2026-01-30T10:00:00Z", "finished": "2026-01-30T11:00:00Z",
                                               "remarks": {"shuffle/fig*": "Old."}, "banner": "One line."})
        self.assertEqual(report.date(), "2026-01-30")
        report.run["finished"] = "2026-01-31T00:00:00Z"
        self.assertEqual(report.date(), "2026-01-30 to 31")
        report.run["finished"] = "2026-02-01T00:00:00Z"
        self.assertEqual(report.date(), "2026-01-30 to 2026-02-01")
        self.assertEqual(report.remarks("shuffle/fig3"), ["Old."])
        self.assertEqual(report.remarks("shuffle/table1"), [])
        one = inputs.Artifact("shuffle/fig3", meta={"notes": ["Always."]})
        self.assertEqual(model.notes_of(report, one), ["Always.", "Old."])
        one.run = inputs.Report("elsewhere", run={"remarks": {"*": "Of that run."}})
        self.assertEqual(model.notes_of(report, one), ["Always.", "Of that run."])
        self.assertEqual(report.banner(), ["One line."])

    def test_published_values_are_found_for_points(self):
        verdicts = [{"row": "2^8+1", "column": "A", "paper": "7"}, {"row": "A", "column": "median", "paper": ".5"}]
        made = artifact(verdicts=verdicts, table={"rows": "2^{w}+1", "pivot": "{label}", "columns": [{"name": "", "metric": "rate", "statistic": "median"}]})
        look_up = figures.data.in_print(made, "rate")
        self.assertEqual(look_up({"label": "A †", "w": "8"}), 7)
        self.assertIsNone(look_up({"label": "A", "w": "9"}))
        self.assertIsNone(look_up({"label": "A"}))  # nothing to put for {w}
        self.assertIsNone(figures.data.in_print(made, "time")({"label": "A", "w": "8"}))
        made.meta["table"] = {"rows": "{label}", "columns": [{"name": "median", "metric": "rate", "statistic": "median"}]}
        self.assertEqual(figures.data.medians_in_print(made, "rate"), {"A": .5})


class Origins(unittest.TestCase):
    """What a page tells of where its numbers come from."""

    def mixed(self):
        """A table of a synthetic model here and a real one recorded on a machine with a GPU."""
        here = artifact([row("CPU", 18.57, dataset="synthetic housing")], table={"rows": "{label}"})
        here.table = [["Estimator", "time"], ["CPU", "18.57"], ["GPU", "NOT-RUN"]]
        there = artifact([row("GPU", .0156, dataset="housing", device="cuda")], table={"rows": "{label}"})
        there.table = [["Estimator", "time"], ["CPU", ""], ["GPU", "0.0156"]]
        here.recorded = [("h200", there)]
        return here

    def test_a_table_of_several_machines_has_a_column_for_data_and_machine(self):
        mixed = self.mixed()
        origins = model.origins_of(mixed, model.layout(mixed, []))
        self.assertEqual(origins["CPU"], [{"data": "synthetic housing", "machine": "", "synthetic": True}])
        self.assertEqual(origins["GPU"], [{"data": "housing", "machine": "h200", "synthetic": False}])
        mixed.recorded = []
        self.assertEqual(model.origins_of(mixed, model.layout(mixed, [])), {})

    def test_the_column_is_on_the_page(self):
        report = inputs.Report("nowhere", artifacts={"family/thing": self.mixed()})
        text = page.build(report, {})
        self.assertIn("<th class=\"from\">Data, machine</th>", text)
        self.assertRegex(text, r'<span class="syn">synthetic housing</span>, here')
        self.assertRegex(text, r"<span>housing</span>, <em>h200</em>")

    def test_a_mixed_folder_is_described_by_its_artifacts(self):
        report = inputs.Report("nowhere", run={"profile": "paper", "started": "2026-01-09"})
        entries = [{"profile": "quick", "started": "2026-01-02T03:00:00Z", "finished": "2026-01-03T01:00:00Z", "commit": "0123456789ab+changes",
                    "machine": "laptop", "cells": 7}, {"profile": "paper", "started": "2026-01-05T00:00:00Z", "commit": "fff", "machine": "h200", "cells": 2}]
        report.artifacts["family/thing"] = artifact([row("A", 1)], provenance=entries)
        report.artifacts["family/other"] = artifact([row("A", 1)])
        made = model.stretches(report)
        self.assertEqual([(m["machine"], m["profile"], m["day"], m["commit"], m["cells"]) for m in made],
                         [("laptop", "quick", "2026-01-02 to 2026-01-03", "0123456789ab+changes", 7), ("h200", "paper", "2026-01-05", "fff", 2),
                          ("", "paper", "2026-01-09", "", 0)])
        text = page.build(report, {})
        self.assertIn("Measured 2026-01-02 to 2026-01-03, profile quick, commit 0123456789ab+changes, laptop, 7 cells.", text)
        self.assertIn("3 combinations of machine", text)

    def test_groups_are_shown_with_card_and_time(self):
        at = {"machine": "laptop", "started": "2026-01-02T03:00:00Z", "finished": "2026-01-02T03:20:00Z", "cells": 7}
        report = inputs.Report("nowhere")
        report.artifacts["family/thing"] = artifact([row("A", 1)], provenance=[at], groups=[
            dict(at, group="cuda", card="NVIDIA H200, card 1f2e3d4c"), dict(at, group="cpu, adult", card="", finished="2026-01-03T00:01:00Z"),
            dict(at, group="cpu, adult", machine="desk", finished=at["started"])])
        text = page.build(report, {})
        self.assertIn("cuda: timed cells measured in one stretch: NVIDIA H200, card 1f2e3d4c, 2026-01-02 03:00 to 03:20.", text)
        self.assertIn("cpu, adult: timed cells measured in 2 stretches: laptop, 2026-01-02 03:00 to 2026-01-03 00:01; desk, 2026-01-02 03:00.", text)

    def test_groups_of_one_stretch_on_one_card_share_a_line(self):
        at = {"machine": "laptop", "started": "2026-01-02T03:00:00Z", "finished": "2026-01-02T03:20:00Z", "cells": 7}
        later = dict(at, started="2026-01-02T03:20:00Z", finished="2026-01-02T03:40:00Z")
        made = model.group_lines(artifact([row("A", 1)], groups=[
            dict(later, group="cpu, wine"), dict(at, group="cpu, adult"), dict(at, group="cpu, iris", machine="desk"),
            dict(at, group="cuda, wine", card="card 1"), dict(at, group="cuda, adult", card="card 2"), dict(later, group="cuda, adult", card="card 1")]))
        self.assertEqual(made, [
            "cpu: timed cells of 2 groups, each measured in one stretch: laptop, 2026-01-02 03:00 to 03:40.",
            "cpu, iris: timed cells measured in one stretch: desk, 2026-01-02 03:00 to 03:20.",
            "cuda, wine: timed cells measured in one stretch: card 1, 2026-01-02 03:00 to 03:20.",
            "cuda, adult: timed cells measured in 2 stretches: card 2, 2026-01-02 03:00 to 03:20; card 1, 2026-01-02 03:20 to 03:40."])

    def test_history_is_a_line_and_a_table(self):
        report = inputs.Report("nowhere", history={"family/thing": [
            {"folder": "a", "commit": "111", "date": "2026-01-01", "machine": "laptop", "label": "A", "metric": "time", "unit": "s", "median": 2, "low": 1.9, "high": 2.1},
            {"folder": "b", "commit": "222", "date": "2026-01-02", "machine": "h200", "label": "A", "metric": "time", "unit": "s", "median": .5}, {"median": "no"}]})
        report.artifacts["family/thing"] = artifact([row("A", 1)])
        text = page.build(report, {})
        self.assertEqual(text.count('<svg class="spark"'), 1)
        self.assertIn("2026-01-01 111 a: laptop: 2 s", text)
        rows = model.history_rows(report, report.artifacts["family/thing"])
        self.assertEqual([(r["commit"], r["value"], r["interval"]) for r in rows], [("222", "0.5 s", ""), ("111", "2 s", "1.9 … 2.1")])

    def test_unsteady_values_and_claims_are_marked(self):
        report = inputs.Report("nowhere", environment={"busy": ["Other programs took 1.2 of 2 processors."]})
        made = artifact([row("A", 1)], verdicts=[{"row": "A", "column": "time", "kind": "ratio", "paper": "1", "measured": "1.1", "unit": "",
                                                   "verdict": "MATCH", "unsteady": "other programs took 1.2 of 2 processors"}])
        made.claims = [{"id": "fast", "text": "A is fast.", "verdict": "UNSTEADY", "figures": "", "check": "a < b", "reason": "measured on a busy machine"}]
        report.artifacts["family/thing"] = made
        text = page.build(report, {})
        self.assertIn("The machine was busy: Other programs took 1.2 of 2 processors.", text)
        self.assertIn('title="other programs took 1.2 of 2 processors">≈ unsteady', text)
        self.assertIn("1 unsteady", text)
        self.assertIn("measured on a busy machine", text)
        self.assertIn("MATCH; unsteady: other programs took 1.2 of 2 processors", markdown.build(report, {}))

    def test_a_smoke_run_says_that_it_judges_nothing(self):
        report = inputs.Report("nowhere")
        made = artifact([row("A", 1)], judged=False, judged_why="smoke sizes are too small to judge", verdicts=[
            {"row": "A", "column": "time", "kind": "ratio", "paper": "1", "measured": "1.1", "unit": "", "verdict": "NOT-JUDGED"}])
        report.artifacts["family/thing"] = made
        text = page.build(report, {})
        self.assertEqual(text.count("Smoke sizes are too small to judge."), 2)  # on the first screen, and above the table
        self.assertIn("1 not judged", text)

    def test_settings_that_recorded_runs_fill_are_not_counted_among_the_cells_they_are_apart_from(self):
        report = inputs.Report("nowhere")
        made, there = artifact(), artifact()
        for kind in ("ratio", "setting"):
            cell = {"row": kind, "column": "c", "kind": kind, "paper": "1", "unit": ""}
            made.verdicts.append(dict(cell, measured="", verdict="NOT-RUN"))
            there.verdicts.append(dict(cell, measured="1", verdict="MATCH"))
        made.recorded = [("far", there)]
        report.artifacts["family/thing"] = made
        self.assertIn("recorded runs fill 1 that were not run here: 1 match.", page.build(report, {}))

    def test_an_overview_says_reasons_without_their_commands(self):
        rows = [{"verdict": "NOT-RUN", "reason": f"needs rows of the quick profile: build/retable run {name} --profile quick"} for name in ("a", "b", "b")]
        rows += [{"verdict": "NOT-RUN", "reason": "no CUDA device"}, {"verdict": "MATCH", "reason": ""}]
        self.assertEqual(model.reasons_in_short(rows), [("needs rows of the quick profile", 3), ("no CUDA device", 1)])

    def test_reasons_are_counted(self):
        report = inputs.Report("nowhere", run={"reasons": {"skipped": {"no network": 3, "too large": 5}}})
        report.artifacts["family/thing"] = artifact([], verdicts=[{"row": str(i), "column": "c", "kind": "ratio", "paper": "1", "measured": "", "unit": "",
                                                                   "verdict": "NOT-RUN", "reason": "no CUDA device"} for i in range(4)])
        text = page.build(report, {})
        self.assertIn("Not run: 4 published cells (no CUDA device).", text)
        self.assertIn("Skipped: 5 cells (too large); 3 cells (no network).", text)


class Trades(unittest.TestCase):
    """The pictures of quality against cost."""

    def spec(self, fill=False, recorded=()):
        cells = [row(label, value, metric=metric, dataset=dataset, unit="")
                 for dataset in ("iris", "wine", "digits") for label, size, error in (("KLL (m=10)", 80, .1), ("ME", 84, .02))
                 for metric, value in (("bytes", size), ("niae", error if dataset != "wine" else 2 * error))]
        cells += [row("half", 3, metric="niae", dataset="iris"), dict(row("bad", 3, metric="niae", dataset="iris"), status="failed")]
        report = inputs.Report("nowhere", recorded=list(recorded), fill=fill)
        report.artifacts["quantiles/beyond_bytes"] = artifact(cells)
        return pareto.picture("quantiles", report, {"quantiles/beyond_bytes": "anchor"})

    def points(self, made, panel):
        words = made["words"]
        return [[words[v] if k in (0, 1, 2, 10, 11) else v for k, v in enumerate(point)] for point in dict(made["panels"])[panel]]

    def test_points_have_both_metrics_and_medians_are_over_all_data_sets(self):
        made = self.spec()
        self.assertEqual([name for name, _ in made["panels"]], ["median over 3 data sets", "wine", "iris", "digits"])
        self.assertEqual(self.points(made, "wine")[0], ["KLL", "KLL (m=10)", "CPU", 0, 80, None, None, .2, None, None, "", "anchor"])
        self.assertEqual([(p[1], p[7]) for p in self.points(made, "median over 3 data sets")], [("KLL (m=10)", .1), ("ME", .02)])

    def test_numbers_are_brief_and_an_interval_that_is_a_point_has_no_ends(self):
        self.assertEqual(json.dumps(pareto.drawn({"median": "1234567.0", "ci_low": "1", "ci_high": "2.00001"})), "[1235000, 1, 2]")
        self.assertEqual(pareto.drawn({"median": ".5", "ci_low": ".5", "ci_high": ".5"}), [.5, None, None])
        self.assertEqual(pareto.drawn({"median": "3"}), [3, None, None])

    def test_a_family_without_both_axes_has_no_picture(self):
        self.assertIsNone(pareto.picture("quantiles", inputs.Report("nowhere"), {}))
        self.assertIsNone(pareto.picture("unknown", inputs.Report("nowhere"), {}))

    def test_every_axis_is_one_that_its_experiments_measure(self):
        if "RETABLE_PROGRAM" not in os.environ:
            self.skipTest("the recordings' archives are unpacked by the program: name it in RETABLE_PROGRAM")
        recorded = subprocess.check_output([os.environ["RETABLE_PROGRAM"], "record", "--tables"], text=True).strip()
        runs = [inputs.read_report(os.path.join(recorded, m), with_cells=False) for m in sorted(os.listdir(recorded))]
        for family in pareto.TRADES:
            self.assertTrue(any(pareto.picture(family, run, {}) for run in runs), family)


class Site(Temporary):
    """The recorded runs as static pages."""

    def test_pages_link_to_each_other_and_nothing_is_missing(self):
        recorded = os.path.join(self.folder, "recorded")
        for machine, families in (("laptop", (fixture.treeshap, fixture.trade)), ("h200", (lambda f: fixture.shuffle(f, gpu=True), fixture.trade))):
            folder = fixture.Folder(os.path.join(recorded, machine))
            for family in families:
                family(folder)
            folder.finish()
        code = program.main(["--site", self.out, "--recorded", recorded, "--quiet"])
        self.assertEqual(code, 0)
        files = {name: read(os.path.join(self.out, name)) for name in os.listdir(self.out)}
        self.assertEqual(sorted(files), ["index.html", "learn.html", "machines.html", "quantiles.html", "reading.html", "shuffle.html", "site.css", "site.js", "treeshap.html"])
        pages = {name: Page(text) for name, text in files.items() if name.endswith(".html")}
        for name, made in pages.items():
            self.assertEqual(made.errors, [], name)
            self.assertIn(f"content={inputs.recorded_digest(recorded)}>", files[name])
            for link in made.links:
                if link in ("site.css", "data:,"):
                    continue
                target, _, anchor = link.partition("#")
                self.assertIn(target or name, files, link)
                if anchor:
                    self.assertIn(anchor, pages[target or name].ids, link)
        self.assertIn("GPU shuffling throughput", files["shuffle.html"])
        self.assertNotIn("GPU shuffling throughput", files["quantiles.html"])
        self.assertEqual(files["machines.html"].count("Everything known about this machine"), 2)

    def test_each_artifact_comes_from_the_run_that_has_most_of_it(self):
        for machine, cells in (("small", 1), ("large", 2)):
            folder = fixture.Folder(os.path.join(self.folder, "recorded", machine))
            tidy = [folder.tidy_row("family/thing", f"row {i}", [], "time", "s", [1.]) for i in range(cells)]
            folder.artifact("family/thing", "T", "Q?", [], tidy)
            for i in range(2):
                folder.verdict("family/thing", f"row {i}", "time", "ratio", 1., 1. if i < cells else None, "", "MATCH" if i < cells else "NOT-RUN")
            folder.finish()
        whole = site.merged(os.path.join(self.folder, "recorded"), self.out)
        self.assertEqual(whole.artifacts["family/thing"].run.machine, "large")
        self.assertEqual([m for m, _ in whole.artifacts["family/thing"].recorded], ["small"])

    def test_of_equal_runs_that_of_the_papers_sizes_is_shown(self):
        for machine, profile in (("a", "quick"), ("b", "paper"), ("c", "quick")):
            folder = fixture.Folder(os.path.join(self.folder, "recorded", machine))
            folder.artifact("family/thing", "T", "Q?", [], [folder.tidy_row("family/thing", "row", [], "time", "s", [1.])], profile=profile)
            folder.finish()
        self.assertEqual(site.merged(os.path.join(self.folder, "recorded"), self.out).artifacts["family/thing"].run.machine, "b")

    def test_of_equal_runs_the_newer_is_shown(self):
        for machine, day in (("a", "02"), ("b", "03"), ("c", "01")):
            folder = fixture.Folder(os.path.join(self.folder, "recorded", machine))
            folder.artifact("family/thing", "T", "Q?", [], [folder.tidy_row("family/thing", "row", [], "time", "s", [1.])], profile="paper")
            folder.finish(run={"profile": "paper", "started": f"2026-01-{day}T03:04:05Z"})
        whole = site.merged(os.path.join(self.folder, "recorded"), self.out)
        self.assertEqual(whole.artifacts["family/thing"].run.machine, "b")

    def test_what_a_run_lacks_counts_as_another_recorded_it(self):
        for machine, has in (("a", (0,)), ("b", (1, 2))):
            folder = fixture.Folder(os.path.join(self.folder, "recorded", machine))
            folder.artifact("shuffle/thing", "T", "Q?", [], [folder.tidy_row("shuffle/thing", f"row {i}", [], "time", "s", [1.]) for i in has])
            for i in range(3):
                folder.verdict("shuffle/thing", f"row {i}", "time", "ratio", 1., 1. if i in has else None, "", "MATCH" if i in has else "NOT-RUN")
            folder.finish()
        program.main(["--site", self.out, "--recorded", os.path.join(self.folder, "recorded"), "--quiet"])
        self.assertIn("<b>3</b> of 3 judged cells reproduced", read(os.path.join(self.out, "index.html")))

    def test_no_recordings(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(program.main(["--site", self.out, "--recorded", os.path.join(self.folder, "nowhere")]), 1)
        self.assertIn("give it with --recorded", said.getvalue())


class Golden(Temporary):
    """The Markdown of a small folder, to the letter."""

    def test_markdown(self):
        folder = fixture.Folder(self.out)
        fixture.write_csv(os.path.join(self.out, "quantiles", "table9.tidy.csv"), ["experiment", "algorithm", "label", "device", "dataset"] + fixture.TIDY,
                          [["quantiles/table9", "ME", "ME (l=5)", "cpu", "iris", "NIAE", "", "ok", 4, .02, .01, .03, .02, .0, .01, .03, 0, "", ""]])
        fixture.write_json(os.path.join(self.out, "quantiles", "table9.meta.json"), {
            "title": "Errors | small", "question": "How far off?", "source": {"page": 31, "table": "Table 9"},
            "repeat": "build/retable run quantiles/table9", "coverage": {"text": "4 of 8 columns"}, "notes": ["A note."]})
        folder.verdict("quantiles/table9", "ME (l=5)", "mean", "accuracy", .021, .02, "", "MATCH")
        folder.verdict("quantiles/table9", "ME-GPU", "mean", "accuracy", .021, None, "", "NOT-RUN", "no CUDA device")
        folder.verdict("quantiles/table9", "ME (l=5)", "speed-up", "ratio", 2.0, 20.0, "x", "ORDER-ONLY", "more than 3 times off")
        folder.verdict("quantiles/table9", "ME (l=5)", "max", "bound", .03, .02, "", "MATCH", "at most 0.03, as published")
        folder.verdicts[-1][4] = "<=0.03"
        folder.verdict("quantiles/table9", "iris", "rows", "setting", 150, 150, "", "MATCH", "within 0 % of the paper")
        folder.claims.append(["quantiles/table9", "c1", "It is <small>.", "31", "HOLDS", "0.02 < 0.1", "a < b"])
        folder.finish(environment={"cpu": {"model": "Example CPU", "cores": 2}, "gpu": None})
        code, _ = run(self.out, "--quiet")
        self.assertEqual(code, 0)
        path = os.path.join(HERE, "golden.md")
        if os.environ.get("RETABLE_UPDATE_GOLDEN"):
            shutil.copyfile(os.path.join(self.out, "report.md"), path)
        self.assertEqual(read(os.path.join(self.out, "report.md")), read(path))


if __name__ == "__main__":
    unittest.main()
