#!/usr/bin/env python3
"""Follows docs/adding-an-algorithm.md to the letter, in a copy of the tree.

    tools/test_adding_page.py

The file, the TOML entry and the commands come from the page's own code blocks; every command is given to the shell as
it stands there. The new row must then stand in the table and in the report. What `make build` finds in the compiler's
cache (the same sources, compiled before in another folder) it does not compile again. Exit 1 with the reason when the
page cannot be followed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "adding-an-algorithm.md")
NAME = "Every64th"


def fail(reason):
    sys.exit(f"docs/adding-an-algorithm.md: {reason}")


def blocks(text):
    """[(the line before the block, language, code)]"""
    return re.findall(r"([^\n]*)\n+```(\w+)\n(.*?)```", text, re.S)


def run(command, folder, **more):
    done = subprocess.run(command, shell=isinstance(command, str), cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    if done.returncode:
        fail(f"`{command}` ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def copy_tree(target):
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT)
    for name in filter(None, listed.split("\0")):
        if name.startswith("results/") or not os.path.isfile(os.path.join(ROOT, name)):
            continue
        os.makedirs(os.path.join(target, os.path.dirname(name)), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, name), os.path.join(target, name))


def add_what_the_page_says(tree):
    """Writes the page's file and entry. @return the page's commands"""
    with open(PAGE, encoding="utf-8") as page:
        found = blocks(page.read())
    source = entry = commands = None
    for before, language, code in found:
        named = re.search(r"`([\w/]+\.(?:cpp|toml))`", before)
        if language == "cpp" and named and source is None:
            source = named.group(1)
            with open(os.path.join(tree, source), "x", encoding="utf-8") as file:
                file.write(code)
        elif language == "toml" and named and entry is None:
            entry = named.group(1)
            with open(os.path.join(tree, entry), encoding="utf-8") as file:
                whole = file.read()
            at = whole.index("[[algorithm]]")  # anywhere among its like
            with open(os.path.join(tree, entry), "w", encoding="utf-8") as file:
                file.write(whole[:at] + code + "\n" + whole[at:])
        elif language == "sh" and commands is None:
            commands = code.strip().splitlines()
    if not (source and entry and commands):
        fail("no file, no TOML or no commands found on the page")
    return commands


def main():
    tree = tempfile.mkdtemp(prefix="retable-page-")
    try:
        copy_tree(tree)
        commands = add_what_the_page_says(tree)
        environment = dict(os.environ, NO_COLOR="1", RETABLE_CACHE=os.path.join(tree, "cache"))
        for name in ("RETABLE_ROOT", "RETABLE_OPENML_URL", "MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "BUILD", "ONLY"):
            environment.pop(name, None)
        for command in commands:
            print("$", command, flush=True)
            begun = time.monotonic()
            said = run(command, tree, env=environment)
            print(f"  {time.monotonic() - begun:.0f} s", flush=True)
            if " list " in command and NAME not in said:
                fail(f"{NAME} is not listed:\n{said}")
        for table in ("results/latest/quantiles/table2.csv", "results/latest/report.html"):
            with open(os.path.join(tree, table), encoding="utf-8") as file:
                if NAME not in file.read():
                    fail(f"{NAME} has no row in {table}")
        with open(os.path.join(tree, "results/latest/quantiles/table2.csv"), encoding="utf-8") as file:
            row = next(line for line in file if line.startswith(NAME))
        print("the new row:", row.strip())
        if len(set(row.strip().split(","))) < 4:
            fail(f"the new row holds no numbers: {row}")
    finally:
        shutil.rmtree(tree, ignore_errors=True)


if __name__ == "__main__":
    main()
