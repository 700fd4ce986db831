#!/usr/bin/env python3
"""Does every exercise of docs/course, and looks for its answers.

    tools/test_course.py PROGRAM [PAGE...]

The blocks of `sh` of all pages are run in order in an empty folder, `build/retable` being PROGRAM; a block of `text`
after them holds lines that must come out, in which … stands for anything. A command that is meant to fail says so by
`# exit N`. Exit 1 with the page, the heading, the line and what came out instead. A page without exercise or answer, an
exercise of more than a minute, and a session of more than two screens (110 lines) are errors too.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINES, SECONDS = 110, 60


def pattern(line):
    """A line of the page as a regular expression over whole output."""
    return r"\s+".join(".*?".join(re.escape(part) for part in word.split("…")) for word in line.split())


def run_page(page, folder, environment):
    """Runs a page's commands and looks for its answers. @return how many lines of answers it has"""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    name, exercise, said, commands, checked = os.path.basename(page), "", "", 0, 0
    if name[0].isdigit() and text.count("\n") > LINES:
        sys.exit(f"{name} has more than {LINES} lines")
    for heading, language, code in re.findall(r"^## ([^\n]*)$|^```(\w+)\n(.*?)^```", text, re.M | re.S):
        if heading:
            exercise, said = heading, said if heading == "Answer" else ""
        elif language == "sh":
            began = time.monotonic()
            for line in code.strip().splitlines():
                command, _, note = line.partition(" # ")
                expected = int(note.split()[1]) if note.startswith("exit ") else 0
                done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=folder, env=environment, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if done.returncode != expected:
                    sys.exit(f"{name}, {exercise}: `{command}` ended with {done.returncode}, not {expected}:\n{done.stdout}")
                said += done.stdout
                commands += 1
            if time.monotonic() - began > SECONDS:
                sys.exit(f"{name}, {exercise} took {time.monotonic() - began:.0f} s; at most {SECONDS} are promised")
        elif language == "text":
            for line in code.strip().splitlines():
                checked += 1
                if not re.search(pattern(line), said):
                    sys.exit(f"{name}, {exercise}: the page says\n  {line}\nbut this came out:\n{said[-4000:]}")
    if commands == 0 or checked == 0:
        sys.exit(f"{name} has no {'exercise' if commands == 0 else 'answer'}")
    return checked


def main():
    program = os.path.abspath(sys.argv[1])
    pages = sys.argv[2:] or sorted(set(glob.glob(os.path.join(ROOT, "docs", "course", "*.md"))) -
                                   {os.path.join(ROOT, "docs", "course", "README.md")})
    if not sys.argv[2:] and len([page for page in pages if os.path.basename(page)[0].isdigit()]) != 10:
        sys.exit("docs/course has not ten sessions")
    folder = tempfile.mkdtemp(prefix="retable-course-")
    os.makedirs(os.path.join(folder, "build"))
    os.symlink(program, os.path.join(folder, "build", "retable"))
    environment = dict(os.environ, RETABLE_ROOT=ROOT, NO_COLOR="1", RETABLE_CACHE=os.path.join(folder, "cache"))
    environment.pop("RETABLE_OPENML_URL", None)
    try:
        checked = sum(run_page(page, folder, environment) for page in pages)
        print(f"{len(pages)} pages: {checked} lines of answers came out as they say")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
