#!/usr/bin/env python3
"""Does every exercise of docs/course.md, and looks for its answers.

    tools/test_course.py PROGRAM

The page's blocks of `sh` are run in order in an empty folder, `build/retable` being PROGRAM; a block of `text` after
them holds lines that must come out, in which … stands for anything. A command that is meant to fail says so by
`# exit N`. Exit 1 with the exercise, the line and what came out instead.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def pattern(line):
    """A line of the page as a regular expression over whole output."""
    return r"\s+".join(".*?".join(re.escape(part) for part in word.split("…")) for word in line.split())


def main():
    program = os.path.abspath(sys.argv[1])
    with open(os.path.join(ROOT, "docs", "course.md"), encoding="utf-8") as page:
        text = page.read()
    folder = tempfile.mkdtemp(prefix="retable-course-")
    os.makedirs(os.path.join(folder, "build"))
    os.symlink(program, os.path.join(folder, "build", "retable"))
    environment = dict(os.environ, RETABLE_ROOT=ROOT, NO_COLOR="1", RETABLE_CACHE=os.path.join(folder, "cache"))
    environment.pop("RETABLE_OPENML_URL", None)
    exercise, said, checked = "", "", 0
    try:
        for heading, language, code in re.findall(r"^## ([^\n]*)$|^```(\w+)\n(.*?)^```", text, re.M | re.S):
            if heading:
                exercise, said = heading, ""
            elif language == "sh":
                for line in code.strip().splitlines():
                    command, _, note = line.partition(" # ")
                    expected = int(note.split()[1]) if note.startswith("exit ") else 0
                    done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=folder, env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    if done.returncode != expected:
                        sys.exit(f"{exercise}: `{command}` ended with {done.returncode}, not {expected}:\n{done.stdout}")
                    said += done.stdout
            elif language == "text":
                for line in code.strip().splitlines():
                    checked += 1
                    if not re.search(pattern(line), said):
                        sys.exit(f"{exercise}: the page says\n  {line}\nbut this came out:\n{said[-4000:]}")
        if checked == 0:
            sys.exit("docs/course.md has no answers")
        print(f"{checked} lines of answers came out as the page says")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
