#!/usr/bin/env python3
"""tools/repeat_cells.py over a run whose numbers are the same again, over one whose numbers were changed, and over times.

    tools/test_repeat_cells.py PROGRAM
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import repeat_cells

PROGRAM = os.path.abspath(sys.argv.pop())
SCRIPT = pathlib.Path(repeat_cells.__file__)


class RepeatCells(unittest.TestCase):
    def test_cells_are_repeated_by_their_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "RETABLE_CACHE": folder + "/cache", "NO_COLOR": "1"}
            out = folder + "/out"
            subprocess.run([PROGRAM, "run", "quantiles/table2", "--profile", "smoke", "--set", 'datasets=["iris"]', "--out", out],
                           cwd=SCRIPT.parent.parent, env=environment, check=True, capture_output=True)
            command = [sys.executable, SCRIPT, "--out", out, "--cells", "3", "--seed", "1", "--program", PROGRAM]
            same = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
            self.assertIn("\n3 inside\n", same.stdout)
            for cell in pathlib.Path(out, "cells").glob("*.json"):  # of a damaged cell nothing is known
                cell.write_text(cell.read_text() + "\n")
            damaged = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(damaged.returncode, 1, damaged.stdout)
            self.assertIn("not in the source", damaged.stdout)

    def test_a_time_is_widened_and_an_accuracy_is_not(self):
        def verdict(unit, value, low="1.0", high="1.2"):
            before = {"unit": unit, "median": "1.1", "low": low, "high": high}
            return repeat_cells.compare(before, {"median": value}, 0.1)[-1]
        self.assertEqual(verdict("s", "1.31"), "inside")
        self.assertEqual(verdict("s", "1.33"), "outside")
        self.assertEqual(verdict("s", "0.92"), "inside")
        self.assertEqual(verdict("s", "0.90"), "outside")
        self.assertEqual(verdict("1", "1.21"), "outside")
        self.assertEqual(verdict("1", "1.2"), "inside")
        self.assertEqual(verdict("1", "nan"), "outside")
        self.assertEqual(verdict("1", "1.1", "nan", "nan"), "inside")
        self.assertEqual(verdict("1", "1.2", "nan", "nan"), "outside")

    def test_a_variable_before_the_program_is_set(self):
        command = "RETABLE_ONE='7 8' build/retable -c 'import os; print(os.environ[\"RETABLE_ONE\"])'"
        self.assertEqual(repeat_cells.repeat(sys.executable, command, "unused"), "exit 0: 7 8")

    def test_last_words_say_why_nothing_was_measured(self):
        def words(code, out, error):
            return repeat_cells.last_words(subprocess.CompletedProcess([], code, out, error))
        self.assertEqual(words(2, "", "a banner\nno such cell\n"), "exit 2: a banner no such cell")
        self.assertEqual(words(0, "0 measured; 1 not_run (no OpenCV)\n", "a banner\n"), "exit 0: 0 measured; 1 not_run (no OpenCV)")


if __name__ == "__main__":
    unittest.main()
