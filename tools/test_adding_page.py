#!/usr/bin/env python3
"""Follows docs/adding-an-algorithm.md to the letter, in a copy of the tree.

    tools/test_adding_page.py

Files, TOML entries and commands come from the page's own code blocks, in its order: a block is written to the last file
that the paragraph before it names, or added to it where that is there; every command is given to the shell as it stands.
The new rows must then stand in the tables and in the report. The CUDA backend is compiled where there is an nvcc. What
`make build` finds in the compiler's cache (the same sources, compiled before in another folder) it does not compile
again. Exit 1 with the reason when the page cannot be followed.
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
NAME = "EveryNth"


def fail(reason):
    sys.exit(f"docs/adding-an-algorithm.md: {reason}")


def blocks(text):
    """[(the paragraph before the block, language, code)]"""
    return re.findall(r"((?:[^\n]+\n)*)\n*```(\w+)\n(.*?)```", text, re.S)


def run(command, folder, **more):
    done = subprocess.run(command, shell=isinstance(command, str), cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    if done.returncode:
        fail(f"`{command}` ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def copy_tree(target):
    """All but what builds and runs made; there may be no git."""
    def made(folder, names):
        return [n for n in names
                if n in (".git", "__pycache__") or folder == ROOT and n.startswith(("build", "results"))]
    shutil.copytree(ROOT, target, ignore=made, dirs_exist_ok=True)


def write(path, code):
    """A new file, or a further line of a TOML's list of algorithms."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            whole = file.read()
        start = whole.index("algorithm = [\n") + len("algorithm = [\n")
        code = whole[:start] + code + whole[start:]
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)


def compile_cuda(tree, sources):
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    for source in sources:
        if nvcc is None:
            print(f"{source}: no nvcc here, not compiled")
            continue
        print("$ nvcc", source, flush=True)
        run([nvcc, "-std=c++20", "-DRETABLE_HAS_CUDA=1", "-I.", "-Xcompiler=-Wall,-Wextra,-Werror", "-c", source, "-o",
             os.devnull], tree)


def follow(tree, environment):
    """Writes the page's files and gives its commands, in order. @return (source files, what was listed)"""
    with open(PAGE, encoding="utf-8") as page:
        found = blocks(page.read())
    written, listed = [], ""
    for before, language, code in found:
        named = re.findall(r"`([\w/]+\.(?:cpp|hpp|cu|toml))`", before)
        if language in ("cpp", "cuda", "toml"):
            if not named:
                fail(f"no file is named before this block of {language}:\n{code[:300]}")
            write(os.path.join(tree, named[-1]), code)
            written.append(named[-1])
            continue
        for command in code.strip().splitlines():
            print("$", command, flush=True)
            begun = time.monotonic()
            said = run(command, tree, env=environment)
            print(f"  {time.monotonic() - begun:.0f} s", flush=True)
            listed += said if " list " in command else ""
    return written, listed


def row_of(tree, table, name):
    with open(os.path.join(tree, table), encoding="utf-8") as file:
        row = next((line for line in file if line.startswith(name)), None)
    if row is None:
        fail(f"{name} has no row in {table}")
    print("the new row:", row.strip())
    return row.strip().split(",")


def main():
    tree = tempfile.mkdtemp(prefix="retable-page-")
    try:
        copy_tree(tree)
        environment = dict(os.environ, NO_COLOR="1", RETABLE_CACHE=os.path.join(tree, "cache"))
        for name in ("RETABLE_ROOT", "RETABLE_OPENML_URL", "MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "BUILD", "ONLY"):
            environment.pop(name, None)
        written, listed = follow(tree, environment)
        if NAME not in listed:
            fail(f"{NAME} is not listed:\n{listed}")
        for name in (f"{NAME} (1 of 64)", f"{NAME} (1 of 256)"):
            if len(set(row_of(tree, "results/latest/quantiles/table2.csv", name))) < 4:
                fail(f"the row of {name} holds no numbers")
        with open(os.path.join(tree, "results/latest/report.html"), encoding="utf-8") as file:
            if NAME not in file.read():
                fail(f"{NAME} is not in the report")
        plain, compensated = (float(row_of(tree, "results/latest/sums/beyond_error.csv", name)[1])
                              for name in ("std::accumulate", "compensated"))
        if not 0 <= compensated <= plain:
            fail(f"the errors of the new family are {plain} and {compensated}")
        compile_cuda(tree, [source for source in written if source.endswith(".cu")])
    finally:
        shutil.rmtree(tree, ignore_errors=True)


if __name__ == "__main__":
    main()
