#!/usr/bin/env python3
"""A large plan and its shards: planning takes no longer, and no more memory, than docs/many-machines.md says, and three
shards have their part of the cells each, and none together.

    tools/test_large_plan.py PROGRAM [--cells N] [--shards N]

100,000 cells over 1,000 shards unless said otherwise. Prints processor seconds and memory of planning (`--dry-run`) and of
a whole run of two shards that have no time to measure anything.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOML = """version = 1
id = "selftest/large"
protocol = "selftest/behaviour"
title = "Large"
question = "How many?"
citation = "nobody"
datasets = ["here"]
[axes]
size = {axis}
[[algorithm]]
name = "good"
label = "k = {{k}}"
k = {parameter}
[table]
rows = "{{label}}"
over = ["size"]
columns = [{{ name = "product", metric = "product", statistic = "mean" }}]
[[claim]]
id = "positive"
text = "It is positive."
check = 'cell("k = 1", "product") > 0'
"""
# Of a million cells on one processor; what a hundredth of them takes besides is less than a second.
SECONDS, GIGABYTES = 30, 2


def timed(command, environment):
    """Output, processor seconds and gigabytes of a command."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        out.seek(0)
        text = out.read().decode()
    if status != 0:
        sys.exit(f"{command}: status {status}\n{text[-2000:]}")
    return text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=1000)
    given = parser.parse_args()
    root = tempfile.TemporaryDirectory()
    folder = pathlib.Path(root.name)
    for name in ("experiments/selftest", "plots"):
        (folder / name).mkdir(parents=True)
    rows = 100
    (folder / "experiments/selftest/large.toml").write_text(
        TOML.format(axis=list(range(given.cells // rows)), parameter=list(range(rows))))
    environment = {**os.environ, "RETABLE_ROOT": str(folder), "RETABLE_SELFTEST": "1", "NO_COLOR": "1"}
    run = [given.program, "run", "selftest/large", "--out", str(folder / "out")]
    share = given.cells / 1e6
    wrong = 0

    def check(what, more):
        nonlocal wrong
        text, seconds, gigabytes = timed(run + more, environment)
        bad = seconds > SECONDS * share + 1 or gigabytes > GIGABYTES * share + 0.1
        wrong += bad
        print(f"{what}: {seconds:.1f} s of a processor, {gigabytes:.2f} GB{' (too much)' if bad else ''}")
        return text

    check(f"planning {given.cells} cells", ["--dry-run"])
    keys = []
    for shard in (1, 2, given.shards):
        text = check(f"planning shard {shard} of {given.shards}", ["--dry-run", "--shard", f"{shard}/{given.shards}"])
        keys += re.findall(r"^miss ([0-9a-f]+)", text, re.MULTILINE)
    shares = [len(range(shard - 1, given.cells, given.shards)) for shard in (1, 2, given.shards)]
    if len(set(keys)) != len(keys) or len(keys) != sum(shares):
        print(f"three shards have {len(keys)} cells, {len(set(keys))} of them distinct, not {shares}")
        wrong += 1
    for shard in (1, 2):
        check(f"starting shard {shard}", ["--shard", f"{shard}/{given.shards}", "--budget", "0.001s"])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
