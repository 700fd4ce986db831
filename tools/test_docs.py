#!/usr/bin/env python3
"""Plants figures that differ from what was recorded, and sees docs.py report each and write it right."""

import contextlib
import io
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import docs  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = {
    "results/recorded/h100/family/table1.csv": 'Model,ours (s),theirs (s),factor\nsmall,0.5,1.75,3.5\nlarge,2,186.6,93.3\n"odd, one",NOT-RUN,4,\n',
    "results/recorded/h100/verdicts.csv":
        "artifact,row,column,kind,ratio,verdict\nfamily/table1,small,factor,ratio,0.98,MATCH\nfamily/table1,large,factor,ratio,0.27,MISMATCH\n",
    "results/recorded/h100/claims.csv": "artifact,id,verdict\nfamily/table1,a,HOLDS\nfamily/table1,b,FAILS\n",
    "results/recorded/h100/environment.json": '{"captured": "2026-11-20T15:26:10Z"}\n',
    "results/recorded/cpu2/family/table1.csv": "Model,factor\nlarge,12345.6\n",
    "README.md": """# A page

<!-- recorded: h100 family/table1 -->
Up to 93.3<!--cell("large", "factor")--> times, 3.5 times<!-- no figure stands here --> it is not.
""",
    "experiments/family/table1.toml": """version = 1
id = "family/table1"

[[claim]]
id = "a"
note = "93{cell('large', 'factor')} times, 2{cell('large', 'ours (s)')} s."
""",
}


class Docs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name, text in FILES.items():
            self.write(name, text)
        self.write("README.md", FILES["README.md"].replace(", 3.5 times<!-- no figure stands here --> it is not", ""))

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def read(self, name):
        return (self.root / name).read_text(encoding="utf-8")

    def run_docs(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = docs.main(["--root", str(self.root), *arguments])
        return code, out.getvalue()

    def wrong(self, *said):
        """`docs.py --check` ends with 1 and says all of `said`."""
        code, out = self.run_docs("--check")
        self.assertEqual(code, 1, out)
        for text in said:
            self.assertIn(text, out)

    def value(self, reference, figure="0.00"):
        return docs.written(figure, docs.evaluate(reference, docs.Source(docs.Tables(self.root), "h100", "family/table1")))

    def test_what_agrees_is_left_alone(self):
        code, out = self.run_docs("--check")
        self.assertEqual((code, out), (0, "3 figures agree with results/recorded\n"))

    def test_a_figure_changed_by_hand_is_caught_and_written_right(self):
        good = self.read("README.md")
        self.write("README.md", good.replace("93.3", "114.0"))
        self.wrong("README.md:4: the text has 114.0, recorded is 93.3", "remedy: make docs")
        self.assertEqual(self.run_docs()[0], 0)
        self.assertEqual(self.read("README.md"), good)

    def test_a_note_changed_by_hand_is_caught_and_written_right(self):
        good = self.read("experiments/family/table1.toml")
        self.write("experiments/family/table1.toml", good.replace("93{", "114{").replace("2{", "3{"))
        self.wrong("table1.toml:6: the text has 114, recorded is 93", "table1.toml:6: the text has 3, recorded is 2")
        self.assertEqual(self.run_docs()[0], 0)
        self.assertEqual(self.read("experiments/family/table1.toml"), good)

    def test_a_new_recording_is_caught_and_written(self):
        name = "results/recorded/h100/family/table1.csv"
        self.write(name, self.read(name).replace("93.3", "1093.25"))
        self.wrong("README.md:4: the text has 93.3, recorded is 1,093.2", "table1.toml:6: the text has 93, recorded is 1,093")
        self.run_docs()
        self.assertIn("Up to 1,093.2<!--", self.read("README.md"))

    def test_a_reference_that_leads_nowhere_is_named_with_what_is_there(self):
        for reference, said in [("cell('huge', 'factor')", "0 rows 'huge' in h100/family/table1.csv; it has small, large, odd, one"),
                                ("cell('large', 'speed')", "0 columns 'speed'"), ("cell('odd, one', 'ours (s)')", "is NOT-RUN"),
                                ("cell('large', 'factor', 'h200')", "no file results/recorded/h200/family/table1.csv"),
                                ("cells('*', 'factor')", "no single number"),
                                ("verdicts('MATCH', 'family/table2')", "no row"),
                                ("1 / 0", "division by zero"),
                                ("__import__('os')", "none of the words of a reference"), ("cell.__class__", "none of the words"),
                                ("cell(", "was never closed")]:
            with self.subTest(reference):
                self.write("README.md", f"<!-- recorded: h100 family/table1 -->\n9<!--{reference}-->\n")
                self.wrong("README.md:2: 9: ", said)

    def test_values(self):
        for reference, figure, text in [
                ("cell('large', 'factor')", "0", "93"), ("cell('large', 'factor', 'cpu2')", "0", "12,346"),
                ("round(cell('large', 'factor', 'cpu2 family/table1'), -2)", "1", "12,300"), ("cell('small', 'ours (s)') * 1e3", "0", "500"),
                ("min(cells('*', 'factor'))", "0.0", "3.5"), ("max(cells('s*; l*', 'factor'))", "0.0", "93.3"), ("len(cells('*', '*'))", "0", "7"),
                ("min(ratios('*', 'theirs (s)', 'ours (s)'))", "0.00", "3.50"), ("min(across('large', 'small', 'ours (s)'))", "0", "4"),
                ("verdicts()", "0", "2"), ("verdicts('ORDER-ONLY')", "0", "0"), ("verdicts('M*', kind='ratio')", "0", "2"),
                ("verdicts(kind='ratio', row='!small')", "0", "1"),
                ("claims('HOLDS', 'family/*')", "0", "1"), ("1 - min(beside('MATCH', '*'))", "0.00", "0.02"),
                ("digits(93.3 * 4, 2)", "0", "370"),
                ("digits(3.504, 2)", "0", "3.5"), ("digits(0.0998, 2)", "0", "0.10"), ("digits(8, 2)", "0", "8.0"), ("digits(0.00304, 2)", "0", "0.0030")]:
            with self.subTest(reference):
                self.assertEqual(self.value(reference, figure), text)

    def test_a_figure_without_reference_is_caught(self):
        for text in ["It is 2.5 times as fast.", "It takes 70 % of it.", "An accuracy of 0.97."]:
            with self.subTest(text):
                self.write("README.md", f"# A\n\n## How fast\n\n{text}\n")
                self.wrong("README.md:5: ", "bears no reference")
                self.write("README.md", f"# A\n\n<!-- recorded: h100 family/table1 -->\n93<!--cell('large', 'factor')--> there. {text}\n")
                self.wrong("README.md:4: ", "bears no reference")
                self.write("README.md", f"# A\n\n## What it is\n\n{text}\n")
                self.assertEqual(self.run_docs("--check")[0], 0)
                self.write("experiments/family/table1.toml", f'id = "family/table1"\n[[claim]]\nnote = "{text}"\n')
                self.wrong("table1.toml:3: ", "bears no reference")
                self.write("experiments/family/table1.toml", FILES["experiments/family/table1.toml"])

    def test_what_needs_no_reference(self):
        text = ("A 95 % interval, XGBoost 3.4.1, `2.5 times`, 14 items, 2^26 + 1, two times; 2.5<!--paper--> times, [x](2.5.html)\n"
                "```\n2.5 times<!--cell('a', 'b')-->\n```\n")
        self.write("README.md", f"## How fast\n\n{text}")
        self.write("experiments/family/table1.toml", 'id = "family/table1"\nlabel = "{name} (m={m})"\nnote = "In print 2.5{paper} times."\n')
        self.assertEqual(self.run_docs("--check"), (0, "2 figures agree with results/recorded\n"))

    def test_a_reference_without_its_number_is_caught(self):
        self.write("README.md", FILES["README.md"].replace("93.3<!--", "Fast <!--"))
        self.wrong("README.md:4: a reference without a number directly before it")
        self.write("README.md", "5<!--cell('large', 'factor')-->\n")
        self.wrong("README.md:1: 5: no line `<!-- recorded: FOLDER ARTIFACT -->` stands above it")

    def test_a_picture_of_other_counts_is_caught(self):
        self.write("README.md", "[![Page](docs/report.png)](docs/site/index.html)<!--picture of docs/site: 0123456789ab-->\n")
        code, said = self.run_docs("--check")
        self.assertEqual(code, 1)
        self.assertIn("README.md:1: docs/report.png shows earlier verdicts", said)
        self.write("README.md", f"[![Page](docs/report.png)](docs/site/index.html)<!--picture of docs/site: {docs.digest(self.root)}-->\n")
        self.assertEqual(self.run_docs("--check")[0], 0)

    def test_a_site_of_other_verdicts_is_caught(self):
        self.write("docs/site/index.html", '<meta name=recorded content=0123456789ab>')
        code, said = self.run_docs("--check")
        self.assertEqual(code, 1)
        self.assertIn("docs/site shows earlier verdicts than results/recorded", said)
        self.write("docs/site/index.html", f'<meta name=recorded content={docs.digest(self.root)}>')
        self.assertEqual(self.run_docs("--check")[0], 0)
        verdicts = FILES["results/recorded/h100/verdicts.csv"]
        self.write("results/recorded/h100/verdicts.csv", verdicts.replace("verdict", "verdict,unsteady", 1).replace("MATCH", "MATCH,"))
        self.assertEqual(self.run_docs("--check")[0], 0)  # a column more is no other finding
        self.write("results/recorded/h100/verdicts.csv", verdicts.replace("MISMATCH", "TREND"))
        self.assertEqual(self.run_docs("--check")[0], 1)

    def test_each_figure_of_this_tree_is_caught_when_it_is_changed_by_hand(self):
        tables, pages, figures = docs.Tables(ROOT), 0, 0
        for name in docs.pages(ROOT):
            page = docs.Page(name, (ROOT / name).read_text(encoding="utf-8"), tables)
            found = [m for m in (docs.MARKDOWN if page.markdown else docs.NOTE).finditer(page.searched)
                     if m.group("figure") and m.group("reference").strip() != "paper"]
            changed = list(page.text)
            for match in found:
                digit = match.start() + re.search(r"\d", match.group()).start()
                changed[digit] = "3" if changed[digit] == "7" else "7"
            page = docs.Page(name, "".join(changed), tables)
            page.agree()
            said = sum("the text has" in problem for problem in page.problems)
            self.assertEqual(said, len(found), name)
            pages, figures = pages + bool(found), figures + len(found)
        self.assertGreater(pages, 5)
        self.assertGreater(figures, 100)


if __name__ == "__main__":
    unittest.main()
