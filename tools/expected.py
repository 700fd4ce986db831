#!/usr/bin/env python3
"""What each experiment takes, from the cells of a run on a quiet machine; for [expected] of its TOML.

    tools/expected.py DIR [--write]

DIR holds a run of one profile on two quiet processors (`build/retable run '*' --profile quick --out DIR`). An experiment
takes the sum of its cells' seconds; cells that are not timed run two at a time. Prints experiment, seconds, what the TOML
says; --write changes the TOMLs. Cells that are missing count as the mean of the others. Where some were not run, for want
of data, say, what the TOML says stays if it is more. Exit 1 where DIR has no cells.
"""

import argparse
import json
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def seconds_of(meta, folder, experiment):
    """Seconds of an artifact alone, or None where none of its cells is here."""
    planned = [folder / "cells" / f"{cell['key']}.json" for cell in meta["cells"] if not cell.get("not_run")]
    times = [json.loads(path.read_text())["seconds"] for path in planned if path.exists()]
    if not planned:
        return 0.0
    if not times:
        return None
    total = sum(times) * len(planned) / len(times)
    return total if experiment.get("exclusive", False) else max(total / 2, max(times))


def rounded(seconds):
    """Two digits, at least a tenth of a second."""
    return float(f"{max(seconds, 0.1):.2g}") if seconds > 0 else 0.0


def write(toml, profile, seconds):
    """Sets the profile's line in [expected] of a TOML."""
    head, table, rest = toml.read_text().partition("[expected]\n")
    line = f"{profile} = {seconds:g}"
    rest, known = re.subn(rf"^{profile} = .*$", line, rest, count=1, flags=re.M)
    toml.write_text(head + (table or "\n[expected]\n") + ("" if known else line + "\n") + rest)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--write", action="store_true")
    options = arguments.parse_args()
    files = {}
    for toml in ROOT.glob("experiments/*/*/*.toml"):
        experiment = tomllib.loads(toml.read_text())
        files[experiment["id"]] = (toml, experiment)
    found = 0
    for path in sorted(options.folder.glob("*/*.meta.json")):
        meta = json.loads(path.read_text())
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
            write(toml, profile, rounded(seconds))
    if found == 0:
        sys.exit(f"{options.folder}: no cells of experiments here")


if __name__ == "__main__":
    main()
