#!/usr/bin/env python3
"""Follows docs/other-languages.md to the letter: both contenders stand in a table of the smoke profile.

    tools/test_languages_page.py build/retable

Files, entries and the compiler's command come from the page's own code blocks. A language whose compiler or module is
not here is left out with a line. Exit 1 with the reason when the page cannot be followed.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join("docs", "other-languages.md")
EXPERIMENT = os.path.join("experiments", "shuffle", "beyond", "languages.toml")
LABEL = re.compile(r'label = "([^"]*)"')


def fail(reason):
    sys.exit(f"{PAGE}: {reason}")


def run(command, folder, **more):
    done = subprocess.run(command, shell=isinstance(command, str), cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    if done.returncode:
        fail(f"`{command}` ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def section(text, title):
    found = re.search(rf"^## {title}\n(.*?)(?=^## )", text, re.S | re.M)
    return found.group(1) if found else fail(f"no section \"{title}\"")


def block(text, language):
    found = re.search(rf"```{language}\n(.*?)```", text, re.S)
    return found.group(1) if found else fail(f"no block of {language}")


def add(tree, text, language, suffix):
    """Writes the section's file, runs its commands and adds its entry. @return its label"""
    named = re.search(rf"`([\w/]+\.{suffix})`", text) or fail(f"no name for the file of {language}")
    with open(os.path.join(tree, named.group(1)), "x", encoding="utf-8") as file:
        file.write(block(text, language))
    if "```sh" in text:
        run(block(text, "sh"), tree)
    entry = block(text, "toml")
    path = os.path.join(tree, EXPERIMENT)
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    start = whole.index("algorithm = [\n") + len("algorithm = [\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole[:start] + entry + whole[start:])
    return LABEL.search(entry).group(1)


def main():
    program = os.path.abspath(sys.argv[1])
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as page:
        text = page.read()
    tree = tempfile.mkdtemp(prefix="retable-languages-")
    try:
        for folder in ("baselines", "experiments", "plots"):
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(tree, folder))
        labels = []
        if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode == 0:
            labels.append(add(tree, section(text, "Add yours in Python"), "python", "py"))
        else:
            print("Python: /usr/bin/python3 has no numpy, left out")
        if shutil.which("rustc"):
            labels.append(add(tree, section(text, "Add yours in Rust"), "rust", "rs"))
        else:
            print("Rust: no rustc here, left out")
        environment = dict(os.environ, NO_COLOR="1", RETABLE_ROOT=tree, RETABLE_CACHE=os.path.join(tree, "cache"))
        run([program, "run", "shuffle/beyond_languages", "--profile", "smoke", "--device", "cpu", "--out", "out"], tree,
            env=environment)
        with open(os.path.join(tree, "out/shuffle/beyond_languages.csv"), newline="", encoding="utf-8") as file:
            rows = {row[0]: row[1:] for row in csv.reader(file)}
        for label in labels:
            values = rows.get(label) or fail(f"{label} has no row: {sorted(rows)}")
            if not values or not all(float(value) > 0 for value in values):
                fail(f"the row of {label} holds no rates: {values}")
            print(f"{label}: {', '.join(values)}")
    finally:
        shutil.rmtree(tree, ignore_errors=True)


if __name__ == "__main__":
    main()
