#!/usr/bin/env python3
"""tools/progress.sh: every line has stage, done/total, time and time left; nothing of the output is lost."""

import os
import pty
import re
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "progress.sh")
LINE = re.compile(r"^(?P<stage>[\w: ]+?) (?P<done>\d+)/(?P<total>\d+) (?P<unit>\w+), [\d ms]+, about (?P<left>[\d ms]+) left$")


def seconds(words):
    return sum(int(n) * (60 if unit == "m" else 1) for n, unit in re.findall(r"(\d+) ([ms])", words))


def read(screen):
    """The next bytes of a terminal, none at its end, which the system reports as an error."""
    try:
        return screen.read(65536)
    except OSError:
        return b""


class Progress(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def show(self, stage, plan, feed, terminal=False):
        """What progress.sh prints while the shell command `feed` writes into it; the log's text."""
        log, planned = (os.path.join(self.folder.name, name) for name in ("log", "plan"))
        with open(planned, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in plan))
        command = f'set -o pipefail; ({feed}) | "{SCRIPT}" "{stage}" targets "{log}" "{planned}"'
        environment = {**os.environ, "EVERY": "1", "JOBS": "2"}
        if terminal:
            reader, writer = pty.openpty()
            done = subprocess.run(["bash", "-c", command], stdout=writer, env=environment, check=False)
            os.close(writer)
            with open(reader, "rb", buffering=0) as screen:
                text = b"".join(iter(lambda: read(screen), b"")).decode()
        else:
            done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, text=True, env=environment, check=False)
            text = done.stdout
        self.status = done.returncode
        with open(log, encoding="utf-8") as file:
            return text, file.read()

    def checked(self, text, stage, steps):
        lines = text.splitlines()
        for line in lines[:-1]:
            match = LINE.match(line)
            self.assertTrue(match, line)
            self.assertEqual(match["stage"], stage)
        self.assertRegex(lines[-1], rf"^{stage} {steps} targets, \d+ s$")
        return [LINE.match(line) for line in lines[:-1]]

    def test_a_build(self):
        plan = [f"c++ -o CMakeFiles/a.dir/Unity/unity_{i}_cxx.cxx.o -c x.cxx" for i in range(4)]
        feed = "sleep 3; " + "; ".join(f"echo '[{i + 1}/4] Building CXX object CMakeFiles/a.dir/Unity/unity_{i}_cxx.cxx.o'; sleep 1.5"
                                       for i in range(4))
        text, log = self.show("build", plan, feed)
        lines = self.checked(text, "build", "4/4")
        self.assertEqual(self.status, 0)
        self.assertEqual(log.count("Building"), 4)
        # Before any step has ended: what the plan costs on two cores.
        self.assertEqual(lines[0]["done"], "0")
        self.assertIn(seconds(lines[0]["left"]), range(18, 27))
        self.assertLess(seconds(lines[-1]["left"]), 5)

    def test_tests_whose_last_line_has_no_end(self):
        plan = ["  Test #1: base.A", "  Test #2: smoke"]
        text, log = self.show("tests", plan, "echo '1/2 Test #1: base.A ... Passed 0.1 sec'; sleep 1.2; printf 'no end'")
        lines = self.checked(text, "tests", "1/2")
        self.assertEqual((lines[-1]["done"], lines[-1]["total"]), ("1", "2"))
        self.assertTrue(log.endswith("0.1 sec\nno end\n"), log)

    def test_packages_of_apt(self):
        text, _ = self.show("apt: installing", ["Inst a", "Inst b", "Inst c", "Inst d"],
                            "echo 'pmstatus:a:50.0:Unpacking a'; sleep 1.2; echo 'pmstatus:d:100.0:Installed d'")
        lines = self.checked(text, "apt: installing", "4/4")
        self.assertIn("2", [line["done"] for line in lines])

    def test_a_terminal_has_one_line(self):
        text, _ = self.show("build", ["a", "b"], "echo '[1/2] a'; sleep 0.2; echo '[2/2] b'", terminal=True)
        self.assertEqual(text.count("\n"), 1)
        self.assertRegex(text, r"\r\x1b\[Kbuild 1/2 targets, 0 s, about \d+ s left")

    def test_a_failure_is_the_pipelines(self):
        _, log = self.show("build", ["a"], "echo 'x.cpp:1: error: y'; exit 3")
        self.assertEqual(self.status, 3)
        self.assertEqual(log, "x.cpp:1: error: y\n")

    def test_nothing_to_do_prints_nothing(self):
        text, _ = self.show("build", ["a"], "echo 'ninja: no work to do.'")
        self.assertEqual(text, "")


if __name__ == "__main__":
    unittest.main()
