#!/usr/bin/env python3
"""Writes apps/advise/advice_table.inc, what `retable advise` knows, from a run of shapley/beyond_estimators.

    apps/advise/write_advice.py FOLDER/shapley/beyond_estimators.tidy.csv

`make docs` runs it on the recorded one of h100, and `make test` fails where the two differ.
"""

import csv
import pathlib
import sys

FEATURES = {"adult": 107, "breast_cancer": 30, "bank-marketing": 16, "cal_housing": 8}


def features(dataset):
    return 10 if "make_regression" in dataset else FEATURES[dataset]


def table(path):
    """@return the text of the table of a tidy CSV of shapley/beyond_estimators."""
    cells = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["status"] != "ok" or row["metric"] not in ("mse", "time"):
                continue
            key = features(row["dataset"]), row["dataset"], int(row["rows_behind"]), row["label"]
            cell = cells.setdefault(key, {}).setdefault(int(row["per_player"]), {})
            cell[row["metric"]] = float(row["mean" if row["metric"] == "mse" else "median"])
    lines = ["// Written by write_advice.py from a run of shapley/beyond_estimators: data set, features, background\n"
             "// rows, method, and for numbers of coalitions a player {number, mean squared error, seconds}.\n"]
    for (d, dataset, background, method), row in sorted(cells.items()):
        lines.append('{"%s", %d, %d, "%s", {%s}},\n' % (dataset, d, background, method, ", ".join(
            "{%d, %.4g, %.3g}" % (per_player, cell["mse"], cell["time"]) for per_player, cell in sorted(row.items()))))
    return "".join(lines)


if __name__ == "__main__":
    pathlib.Path(__file__).with_name("advice_table.inc").write_text(table(sys.argv[1]), encoding="utf-8")
