#!/usr/bin/env python3
"""tools/emulated_cards.py with stand-ins for the program and a test program: what differs on one card is found."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "emulated_cards.py"

PROGRAM = """#!{python}
import os, pathlib, sys
card = os.environ.get("RETABLE_EMULATE_DEVICE", "")
words = sys.argv[1:]
out = pathlib.Path(words[words.index("--out") + 1])
if words[0] == "run":
    (out / "family").mkdir(parents=True)
    time, error = (2 if card == "t4" else 1), (0.25 if card == "{wrong}" and "{what}" == "cell" else 0.5)
    (out / "family/table.tidy.csv").write_text(
        "experiment,algorithm,device,dataset,metric,unit,status,n,median\\n"
        f"family/table,A,cuda,D,time,s,ok,5,{{time}}\\nfamily/table,A,cuda,D,error,1,ok,5,{{error}}\\n")
else:
    out.write_text("bits" if card != "{wrong}" or "{what}" != "file" else "other bits")
"""

TESTS = """#!/bin/sh
echo '[==========] 3 tests from 1 test suite ran. (1 ms total)'
[ "$RETABLE_EMULATE_DEVICE/{what}" = "{wrong}/test" ] && echo '[  FAILED  ] CudaThing.Fails (1 ms)' && exit 1
exit 0
"""


def compare(wrong="", what=""):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("retable", PROGRAM), ("thing_tests", TESTS)):
            path = pathlib.Path(folder, name)
            path.write_text(text.format(python=sys.executable, wrong=wrong, what=what))
            path.chmod(0o755)
        done = subprocess.run([sys.executable, str(SCRIPT), folder, "--cards", "t4", "a100", "--experiments", "family/table",
                               "--rows", "2", "--out", folder + "/out"], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class EmulatedCards(unittest.TestCase):
    def test_equal_bits_pass_and_times_are_compared(self):
        code, text = compare()
        self.assertEqual(0, code, text)
        self.assertIn("| t4 | 3 | 0 | 0 of 4 | 0 | 2.00/2.00 |", text)
        self.assertIn("| a100 | 3 | 0 | 0 of 4 | 0 | 1.00/1.00 |", text)

    def test_a_file_a_cell_or_a_test_that_differs_fails(self):
        for what, words in (("file", "a100: values: "), ("cell", "ok 0.25, plain ok 0.5"), ("test", "CudaThing.Fails")):
            code, text = compare("a100", what)
            self.assertEqual(1, code, text)
            self.assertIn(words, text)


if __name__ == "__main__":
    unittest.main()
