#!/usr/bin/env python3
"""Repeats recorded cells, drawn at random, by the commands that they bear, and compares.

    tools/repeat_cells.py (--out DIR | --recorded NAME) [--cells 10] [--seed N] [--device cpu|cuda] [--noise DIR]
                          [--program PATH]

Draws from the tidy CSVs of a results folder (DIR) or of a recording. Each cell is repeated by the command that
`retable explain KEY` prints, in a folder of its own, and each of its metrics compared: the repeated median lies in the
recorded 95 % interval, of a time (s, or per second) widened by the noise of an A/A run (`retable noise --out DIR`; the
one of the results folder unless --noise names another), of another metric as it is. Without an A/A run two machines of
one kind are taken to agree within 30 %. Prints a Markdown table and
the number drawn with (--seed draws the same again). Exit 1 where a cell lies outside or was not repeated.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
METRIC = re.compile(r"^metric +(?P<name>.*) \[(?P<unit>.*?)\]: n = (?P<n>\d+), median (?P<median>\S+) "
                    r"\[(?P<low>\S+), (?P<high>\S+)\], mean ", re.MULTILINE)
ASSUMED = 0.3


def keys_of(folder, device):
    """Keys of the cells that were measured, each once, in a fixed order."""
    keys = set()
    for path in sorted(folder.glob("*/*.tidy.csv")):
        with open(path, newline="") as file:
            keys.update(row["key"] for row in csv.DictReader(file)
                        if row["status"] == "ok" and device in (None, row["device"]))
    return sorted(keys)


def tables_of(program, name):
    """The folder of a recording with all its tables, those of its archive too."""
    said = subprocess.run([program, "record", "--tables"], cwd=ROOT, capture_output=True, text=True, check=True)
    return ROOT / said.stdout.strip() / name


def noise_of(folder):
    path = folder / "noise.json"
    noise = json.loads(path.read_text()) if path.exists() else {"pairs": 0}
    return noise["floor"] if noise["pairs"] else ASSUMED


def explained(program, key, source):
    """What `retable explain` says of a cell: title, status, metrics by name, command; its last words where it fails."""
    said = subprocess.run([program, "explain", key, *source], capture_output=True, text=True, check=False)
    if said.returncode != 0:
        return last_words(said)
    title, status, command = (re.search(rf"^{word} +(.*?) *$", said.stdout, re.MULTILINE).group(1)
                              for word in ("what", "status", "repeat"))
    return title, status, {found["name"]: found for found in METRIC.finditer(said.stdout)}, command


def last_words(ran):
    """The end of an error; of a run that ended well, what it counts, with why a cell was not run."""
    error, counts = (" ".join(text.split()) for text in (ran.stderr, ran.stdout))
    return f"exit {ran.returncode}: {error[-200:] if ran.returncode else counts[:200]}"


def repeat(program, command, folder):
    """Runs a printed command with this program and that folder; its last words."""
    words, variables = shlex.split(command), {}
    while re.match(r"\w+=", words[0]):  # what was set for the plan
        name, _, variables[name] = words.pop(0).partition("=")
    words[0] = program
    if "--out" in words:  # a recording names no folders
        del words[words.index("--out"):words.index("--out") + 2]
    words += ["--out", str(folder)]
    return last_words(subprocess.run(words, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False))


def compare(before, after, noise):
    """(recorded, interval, repeated, verdict) of a metric."""
    value = float(after["median"])
    low, high = (float(before["median"] if before[end] == "nan" else before[end]) for end in ("low", "high"))  # one sample
    timed = before["unit"] in ("s", "ms", "us") or before["unit"].endswith("/s")
    slack = 1 + noise if timed else 1 + 1e-12
    inside = min(low / slack, low * slack) <= value <= max(high / slack, high * slack) or before["median"] == after["median"]
    return (f"{float(before['median']):.4g}", f"{low:.4g} to {high:.4g}", f"{value:.4g}", "inside" if inside else "outside")


def rows_of(program, key, source, noise):
    """Table rows of one cell."""
    cell = explained(program, key, source)
    if isinstance(cell, str):
        return [(key[:12], "", "", "", "", "", f"not in the source ({cell})")]
    title, _, metrics, command = cell
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "repeat"
        ran = repeat(program, command, out)
        again = explained(program, key, ["--out", str(out)])
    if isinstance(again, str) or again[1] != "ok":
        return [(key[:12], title, "", "", "", "", f"not repeated ({ran if isinstance(again, str) else again[1]})")]
    missing = {"median": "nan"}
    return [(key[:12], title, f"{name} ({before['unit']})", *compare(before, again[2].get(name, missing), noise))
            for name, before in metrics.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=pathlib.Path)
    where.add_argument("--recorded")
    parser.add_argument("--cells", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--noise", type=pathlib.Path)
    parser.add_argument("--program", default=str(ROOT / "build/retable"))
    given = parser.parse_args()
    folder = given.out or tables_of(given.program, given.recorded)
    source = ["--out", str(folder.resolve())] if given.out else ["--recorded", given.recorded]
    keys = keys_of(folder, given.device)
    if not keys:
        sys.exit(f"{folder} has no measured cells")
    seed = random.randrange(10**6) if given.seed is None else given.seed
    drawn = random.Random(seed).sample(keys, min(given.cells, len(keys)))
    noise = noise_of(given.noise or folder)
    print(f"{len(drawn)} of {len(keys)} cells of {folder.name}, drawn with --seed {seed}; times widened by {noise:.1%}\n")
    print("| cell | what | metric | recorded | 95 % interval | repeated | verdict |\n|---|---|---|---|---|---|---|")
    verdicts = collections.Counter()
    for key in drawn:
        rows = rows_of(given.program, key, source, noise)
        for row in rows:
            print("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |", flush=True)
        verdicts["inside" if all(row[-1] == "inside" for row in rows) else "outside or not repeated"] += 1
    print("\n" + ", ".join(f"{count} {what}" for what, count in sorted(verdicts.items())))
    return 0 if set(verdicts) == {"inside"} else 1


if __name__ == "__main__":
    sys.exit(main())
