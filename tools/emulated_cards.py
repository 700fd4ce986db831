#!/usr/bin/env python3
"""Runs CUDA tests, commands and experiments as on other cards (RETABLE_EMULATE_DEVICE) on this machine's GPU.

Each card must give the test results, the files and the accuracies of the present card, bit for bit. Prints a table: card,
tests, files, cells, and for each experiment how many times as long it took as on the present card without limits.
Ends 1 where something differs or fails. Needs a GPU."""

import argparse
import concurrent.futures
import csv
import hashlib
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

CARDS = ["t4", "a100", "rtx3060", "orin", "rtx4090", "h100", "b200", "rtx5090"]
SECONDS = {"s", "ms", "us", "ns"}
SPEEDS = {"share", "read", "speedup", "rate", "time"}  # metrics that say how fast, not how right


def run(command, card, **options):
    environment = {**os.environ, "NO_COLOR": "1", "RETABLE_TEST_SEED": "1"}
    environment.pop("RETABLE_EMULATE_DEVICE", None)
    if card:
        environment["RETABLE_EMULATE_DEVICE"] = card
    return subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, **options)


def write_table(path, rows, columns):
    """A table to train and explain on: the same numbers in every call."""
    draw = random.Random(1)
    with open(path, "w") as out:
        out.write(",".join(f"x{c}" for c in range(columns)) + ",y\n")
        for _ in range(rows):
            x = [round(draw.gauss(0, 1), 3) for _ in range(columns)]
            label = "abcd"[(x[0] * x[1] > 0) * 2 + (x[2] + x[3] > 0.5)]
            out.write(",".join(map(str, x)) + "," + label + "\n")


def digests(program, card, folder, table):
    """Of each command's output: {what: digest, or what went wrong}."""
    model = folder / "model.json"
    commands = {
        "forest": ["forest", "fit", table, "--trees", 64, "--seed", 3, "--format", "xgboost", "--out", model],
        "bootstrap": ["forest", "fit", table, "--trees", 16, "--seed", 4, "--bootstrap", "--out", folder / "bootstrap"],
        "values": ["shap", "--model", model, "--data", table, "--ignore", "y", "--out", folder / "values"],
        "interactions": ["shap", "--model", model, "--data", folder / "few.csv", "--ignore", "y", "--interactions", "--out",
                         folder / "interactions"],
    }
    with open(table) as rows:
        (folder / "few.csv").write_text("".join(rows.readline() for _ in range(1200)))
    found = {}
    for name, words in commands.items():
        done = run([program, *words, "--device", "cuda"], card)
        out = model if name == "forest" else folder / name
        found[name] = hashlib.sha256(out.read_bytes()).hexdigest() if done.returncode == 0 else done.stderr[-300:].strip()
    return found


def failed_tests(program, card, filter_, limit):
    """The names of a program's tests that fail, and how many ran."""
    try:
        done = run([program, f"--gtest_filter={filter_}"], card, timeout=limit)
    except subprocess.TimeoutExpired:
        return {f"{program.name}: more than {limit} s"}, 0
    ran = int((re.findall(r"^\[==========\] (\d+) tests? from .* ran", done.stdout, re.M) or ["0"])[0])
    failed = {f"{program.name}: {name}" for name in re.findall(r"^\[  FAILED  \] ([^ ,]+).*\)$", done.stdout, re.M)}
    if done.returncode not in (0, 1):
        failed.add(f"{program.name}: ended with {done.returncode}")
    return failed, ran


def cells(program, card, folder, experiments, profile):
    """{experiment: {cell and metric: (status, median, is a time)}}"""
    found = {}
    if not experiments:
        return found
    run([program, "run", *experiments, "--profile", profile, "--device", "cuda", "--out", folder], card)
    for path in sorted(folder.glob("*/*.tidy.csv")):
        rows = found.setdefault(f"{path.parent.name}/{path.name.split('.')[0]}", {})
        with open(path) as lines:
            for row in csv.DictReader(lines):
                stop = list(row).index("status")
                key = tuple(list(row.values())[:stop])
                rows[key] = (row["status"], row["median"], row["unit"] in SECONDS or row["unit"].endswith("/s") or
                             row["metric"] in SPEEDS)
    return found


def compare_cells(plain, other):
    """Lines about cells whose status or accuracy differs."""
    lines = []
    for experiment, rows in plain.items():
        for key, (status, median, is_time) in rows.items():
            there = other.get(experiment, {}).get(key, ("none", "", is_time))
            if status != there[0] or (not is_time and median != there[1]):
                lines.append(f"{experiment} {'/'.join(filter(None, key[1:]))}: {there[0]} {there[1]}, plain {status} {median}")
    return lines


def slowdown(plain, other):
    """The median and the largest ratio of times, over a card's and the plain one's cells."""
    ratios = [float(other[key][1]) / float(median) for key, (status, median, is_time) in plain.items()
              if is_time and key[-1] in SECONDS and status == "ok" and other.get(key, ("",))[0] == "ok"
              and float(median) > 0]
    return f"{statistics.median(ratios):.2f}/{max(ratios):.2f}" if ratios else "-"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build", type=pathlib.Path, help="folder of the program and the tests")
    parser.add_argument("--cards", nargs="*", default=CARDS)
    parser.add_argument("--programs", nargs="*", help="test programs (default: all in the folder)")
    parser.add_argument("--filter", default="Cuda*:*/Cuda*:-CudaFaults*:CudaLargeN*:*Throughput*", help="which tests")
    parser.add_argument("--limit", type=int, default=300, help="seconds for a test program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="test programs at once; what is timed runs alone, later")
    parser.add_argument("--experiments", nargs="*", default=["quantiles/beyond_bandwidth", "shuffle/beyond_gpu",
                                                             "treeshap/beyond_values", "extratrees/beyond_twin"])
    parser.add_argument("--profile", default="smoke")
    parser.add_argument("--rows", type=int, default=20000, help="of the table that the commands work on")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results/emulated"))
    return parser.parse_args()


def main():
    asked = arguments()
    programs = sorted(asked.build / name for name in asked.programs) if asked.programs is not None else sorted(
        path for path in asked.build.glob("*_tests") if path.name not in ("program_tests", "harness_tests"))
    plain, wrong = {}, []
    cards = [None, *asked.cards]
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        tests = {card: [pool.submit(failed_tests, program, card, asked.filter, asked.limit) for program in programs]
                 for card in cards}
    experiments = list(asked.experiments)
    print("| card | tests | failed | files that differ | cells that differ | " + " | ".join(experiments) + " | s |")
    print("|---" * (len(experiments) + 6) + "|", flush=True)
    for card in cards:
        begin = time.monotonic()
        name = card or "as it is"
        folder = asked.out / (card or "plain")
        folder.mkdir(parents=True, exist_ok=True)
        if not card:
            write_table(asked.out / "table.csv", asked.rows, 30)
        failed = set().union(*(test.result()[0] for test in tests[card]))
        ran = sum(test.result()[1] for test in tests[card])
        files = digests(asked.build / "retable", card, folder, asked.out / "table.csv")
        measured = cells(asked.build / "retable", card, folder / "results", experiments, asked.profile)
        if not card:
            plain = {"files": files, "cells": measured}
            wrong += [f"{name}: {what}: {text}" for what, text in files.items() if len(text) != 64 or " " in text]
        other_files = [what for what in files if files[what] != plain["files"][what]]
        other_cells = compare_cells(plain["cells"], measured)
        wrong += [f"{name}: {text}" for text in sorted(failed)]
        wrong += [f"{name}: {what}: {files[what]}" for what in other_files] + [f"{name}: {text}" for text in other_cells]
        ratios = [slowdown(plain["cells"].get(e, {}), measured.get(e, {})) for e in experiments]
        print(f"| {name} | {ran} | {len(failed)} | {len(other_files)} of {len(files)} | {len(other_cells)} | " + " | ".join(ratios) +
              f" | {time.monotonic() - begin:.0f} |", flush=True)
    print("\nA ratio is the median and the largest over an experiment's cells.", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
