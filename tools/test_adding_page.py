#!/usr/bin/env python3
"""Follows docs/adding-an-algorithm.md as a reader would, in a copy of the tree.

    tools/test_adding_page.py BUILD_FOLDER

The file and the TOML come from the page's own code blocks. CMake is configured on the copy, to see that it finds
the new file without any other change; then only that file is compiled, with the flags that CMake gives it, and linked
to the objects of BUILD_FOLDER (for everything else `make build` would make the same objects again). The page's commands
are then run, in the smoke profile, and the new row must stand in the tables. Exit 1 with the reason when it does not.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

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
    """Writes the page's file and entry. @return the file's path in the tree, and the page's commands"""
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
    return source, commands


def compile_flags(build, source):
    """The command that CMake gives to a file, as a list."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for item in json.load(file):
            if item["file"].endswith(source):
                return item["command"].split()
    fail(f"CMake does not compile {source}: is its folder still globbed?")


def build_program(tree, build, source):
    """The program with the page's file in it, as build/retable of the tree."""
    fresh = os.path.join(tree, "build")
    run(["cmake", "-S", tree, "-B", fresh, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DRETABLE_ONLY=quantiles",
         "-DRETABLE_CUDA=OFF"], tree)
    command = compile_flags(fresh, source)
    run(command, fresh)
    made = os.path.join(fresh, command[command.index("-o") + 1])
    link = run(["ninja", "-t", "commands", "retable"], build).strip().splitlines()[-1]
    if " -o retable " not in link:
        fail("the program's link command is not understood: " + link[:300])
    program = os.path.join(fresh, "retable")
    run(link.replace(" -o retable ", f" -o {program} {made} "), build)


def main():
    build = os.path.abspath(sys.argv[1])
    tree = tempfile.mkdtemp(prefix="retable-page-")
    try:
        copy_tree(tree)
        source, commands = add_what_the_page_says(tree)
        build_program(tree, build, source)
        environment = dict(os.environ, RETABLE_ROOT=tree, NO_COLOR="1", RETABLE_CACHE=os.path.join(tree, "cache"))
        environment.pop("RETABLE_OPENML_URL", None)
        for command in commands:
            command = command.split("#")[0].strip()
            if command == "make build":
                continue
            if " run " in command:
                command += " --profile smoke"
            print("$", command, flush=True)
            said = run(command, tree, env=environment)
            if "list" in command and NAME not in said:
                fail(f"{NAME} is not listed:\n{said}")
        for table in ("results/latest/quantiles/table2.csv", "results/latest/report.html"):
            with open(os.path.join(tree, table), encoding="utf-8") as file:
                if NAME not in file.read():
                    fail(f"{NAME} has no row in {table}")
        with open(os.path.join(tree, "results/latest/quantiles/table2.csv"), encoding="utf-8") as file:
            row = next(line for line in file if line.startswith(NAME))
        print("the new row:", row.strip())
    finally:
        shutil.rmtree(tree, ignore_errors=True)


if __name__ == "__main__":
    main()
