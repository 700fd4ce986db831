#!/usr/bin/env python3
"""What each experiment takes, from the cells of a run on a quiet machine; for [expected] of its TOML.

    tools/expected.py DIR [--write]

DIR holds a run of one profile on two quiet processors (`build/retable run '*' --profile quick --out DIR`). An experiment
takes the sum of its cells' seconds; cells that are not timed run two at a time. Prints experiment, seconds, what the TOML
says; --write changes the TOMLs. Cells that are missing count as the mean of the others. Where some were not run, for want
of data, say, what the TOML says stays if it is more. Exit 1 where DIR has no cells.
"""

import argparse
import glob
import json
import os
import re
import sys
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def seconds_of(meta, folder, experiment):
    """Seconds of an artifact alone, or None where none of its cells is here."""
    exclusive = experiment.get("exclusive", False)
    times, cells = [], 0
    for cell in meta["cells"]:
        if cell.get("not_run"):
            continue
        cells += 1
        path = os.path.join(folder, "cells", cell["key"] + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                times.append(json.load(file)["seconds"])
    if cells == 0:
        return 0.0
    if not times:
        return None
    total = sum(times) * cells / len(times)
    return total if exclusive else max(total / 2, max(times))


def rounded(seconds):
    """Two digits, at least a tenth of a second."""
    return float(f"{max(seconds, 0.1):.2g}") if seconds > 0 else 0.0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder")
    arguments.add_argument("--write", action="store_true")
    options = arguments.parse_args()
    files = {}
    for path in glob.glob(os.path.join(ROOT, "experiments", "*", "*", "*.toml")):
        with open(path, "rb") as file:
            experiment = tomllib.load(file)
        files[experiment["id"]] = (path, experiment)
    found = 0
    for path in sorted(glob.glob(os.path.join(options.folder, "*", "*.meta.json"))):
        with open(path, encoding="utf-8") as file:
            meta = json.load(file)
        if meta["id"] not in files:
            continue
        toml, experiment = files[meta["id"]]
        profile = meta["profile"]
        seconds = seconds_of(meta, options.folder, experiment)
        if seconds is None:
            continue
        found += 1
        before = experiment.get("expected", {}).get(profile)
        if any(cell.get("not_run") for cell in meta["cells"]):
            seconds = max(seconds, before or 0)
        print(f"{meta['id']:32} {profile:6} {rounded(seconds):8g} s, was {before}")
        if options.write:
            with open(toml, encoding="utf-8") as file:
                text = file.read()
            head, table, rest = text.partition("[expected]\n")
            line = f"{profile} = {rounded(seconds):g}"
            rest, known = re.subn(rf"^{profile} = .*$", line, rest, count=1, flags=re.M)
            with open(toml, "w", encoding="utf-8") as file:
                file.write(head + (table or "\n[expected]\n") + ("" if known else line + "\n") + rest)
    if found == 0:
        sys.exit(f"{options.folder}: no cells of experiments here")


if __name__ == "__main__":
    main()
