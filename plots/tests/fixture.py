"""A made-up result folder in the layout that report.py reads.

Every number here is synthetic: it only has the shape of a result. By hand, to look at a page:

    /usr/bin/python3 plots/tests/fixture.py OUT          # one folder with everything
    /usr/bin/python3 plots/report.py --out OUT --recorded OUT-recorded
"""

import csv
import json
import math
import os
import random
import sys

TIDY = ["metric", "unit", "status", "n", "median", "ci_low", "ci_high", "mean", "std", "min", "max",
        "failures", "reason", "key", "share", "ceiling"]
VERDICTS = ["artifact", "row", "column", "kind", "paper", "measured", "unit", "ratio", "verdict", "reason",
            "ci_low", "ci_high", "n", "page", "table"]
CLAIMS = ["artifact", "id", "text", "page", "verdict", "figures", "check"]
TABLE2_ROWS = [f"{name} (l={order})" for name in (
    "Legendre-naive", "Legendre-GPU", "Legendre-central", "ME-naive", "ME-GPU", "ME-central",
    "ME-log naive", "ME-log central") for order in (5, 10, 15)] + [f"KLL (m={m})" for m in (10, 50, 500)]


def write_csv(path, header, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(value, stream, indent=1)


def number(value):
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def quantile(values, share):
    """The value at a share of the sorted values, or None of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


class Folder:
    """Collects artifacts, then writes the files that are shared by all."""

    def __init__(self, out, seed=1):
        self.out, self.rng = out, random.Random(seed)
        self.verdicts, self.claims, self.keys = [], [], 0

    def key(self):
        self.keys += 1
        return f"{self.keys:04d}" + f"{self.rng.getrandbits(48):012x}"

    def tidy_row(self, experiment, label, axes, metric, unit, samples, device="cpu", dataset="",
                 status="ok", reason="", cell=True):
        """One row of a tidy table, and its cell file."""
        good = [v for v in samples if v is not None]
        middle = quantile(good, 0.5)
        spread = (quantile(good, 0.8) - quantile(good, 0.2)) / 4 if len(good) > 1 else None
        low = None if spread is None else middle - spread
        high = None if spread is None else middle + spread
        mean = sum(good) / len(good) if good else None
        std = math.sqrt(sum((v - mean) ** 2 for v in good) / max(1, len(good) - 1)) if good else None
        key = self.key()
        if cell:
            write_json(os.path.join(self.out, "cells", key + ".json"), {
                "key": key, "status": status, "reason": reason,
                "cell": {"algorithm": label.split(" (")[0], "device": device, "dataset": dataset,
                         "parameters": dict(axes), "seed": 1},
                "metrics": [{"name": metric, "unit": unit, "samples": samples,
                             **({"sm_mhz": [1980.0] * len(samples)} if unit == "s" else {})}],
                "facts": {"threads": 1, "verified": status == "ok"}, "seconds": 0.25,
                "command": f"build/retable run {experiment} --only {key[:8]}"})
        return ([experiment, label.split(" (")[0], label, device, dataset] + [v for _, v in axes] +
                [metric, unit, status, len(good)] +
                [number(v) for v in (middle, low, high, mean, std, min(good, default=None),
                                     max(good, default=None))] +
                [len(samples) - len(good), reason, key] +
                (["0.714", "copy, 4022 GB/s"] if (unit == "s" or unit.endswith("/s")) and middle else ["", ""]))

    def artifact(self, name, title, question, axes, tidy, figure=None, samples=None, curves=None, table=None,
                 labels=(), page="12", where="Table 2", datasets=(), notes=(), coverage="", citation=None, profile="quick"):
        family, short = name.split("/")
        base = os.path.join(self.out, family, short)
        write_csv(base + ".tidy.csv", ["experiment", "algorithm", "label", "device", "dataset"] + axes + TIDY, tidy)
        if samples is not None:
            write_csv(base + ".samples.csv", ["label", "algorithm", "device", "dataset"] + axes +
                      ["metric", "unit", "group", "item", "value"], samples)
        if curves is not None:
            write_csv(base + ".curves.csv", ["label", "dataset", "curve", "x", "y"], curves)
        if table is not None:
            write_csv(base + ".csv", table[0], table[1:])
        statuses = {}
        for row in tidy:
            status = row[len(axes) + 7]
            statuses[status] = statuses.get(status, 0) + 1
        write_json(base + ".meta.json", {
            "id": name, "family": family, "artifact": short, "title": title, "question": question,
            "citation": citation or "A. Author and B. Author, A made-up work, 2020", "source": {"page": page, "table": where},
            "profile": profile, "labels": list(labels), "axes": axes,
            "metrics": [{"name": n, "unit": u} for n, u in
                        sorted({(row[len(axes) + 5], row[len(axes) + 6]) for row in tidy})],
            "table": {"columns": list(table[0]) if table else []}, "figure": figure, "datasets": list(datasets),
            "coverage": {"text": coverage}, "statuses": statuses,
            "repeat": f"build/retable run {name} --profile quick", "notes": list(notes)})

    def verdict(self, artifact, row, column, kind, paper, measured, unit, verdict, reason="", page="12",
                table="Table 2", n=121):
        ratio = measured / paper if measured is not None and paper else None
        low, high = (measured * 0.97, measured * 1.04) if measured is not None else (None, None)
        self.verdicts.append([artifact, row, column, kind, number(paper), number(measured), unit, number(ratio),
                              verdict, reason, number(low), number(high), n if measured is not None else 0, page, table])

    def finish(self, run=None, environment=None):
        write_csv(os.path.join(self.out, "verdicts.csv"), VERDICTS, self.verdicts)
        write_csv(os.path.join(self.out, "claims.csv"), CLAIMS, self.claims)
        write_json(os.path.join(self.out, "run.json"), run or {
            "version": "0.0.1", "profile": "quick", "device": "cpu", "started": "2026-01-02T03:04:05Z",
            "finished": "2026-01-02T03:16:47Z", "seconds": 762.0, "offline": True,
            "banner": ["No network: embedded and generated data only"],
            "counts": {"ok": 310, "failed": 2, "not_run": 41}, "command": "build/retable run '*' --profile quick"})
        write_json(os.path.join(self.out, "environment.json"), environment or {
            "cpu": {"model": "Example CPU @ 2.1 GHz", "cores": 2, "isa": ["avx2", "avx512f"]},
            "memory": {"total_bytes": 16 * 2**30}, "os": {"kernel": "6.1.0", "distribution": "Debian 12"},
            "compiler": {"name": "g++", "version": "12.2", "flags": "-O3"},
            "libraries": {"Eigen": "3.4.0", "Boost": "1.74"}, "git": {"commit": "0123abcd", "dirty": False},
            "gpu": None})


def quantiles(folder):
    rng = folder.rng
    name = "quantiles/table2"
    datasets = ["iris", "wine", "digits"]
    tidy, samples, table = [], [], [["Estimator", "mean", "std", "median", "min", "max", "failures"]]
    for index, label in enumerate(TABLE2_ROWS):
        gpu = "GPU" in label
        centre = 0.02 + 0.006 * (index % 9) + (0.1 if "naive" in label and "l=15" in label else 0)
        values = [min(1.0, abs(rng.gauss(centre, centre / 2))) for _ in range(121)]
        if "naive" in label and "l=15" in label:
            values = [None if rng.random() < 0.2 else v for v in values]
        if gpu:
            tidy.append(folder.tidy_row(name, label, [], "NIAE", "", [], "cuda", status="not_run", reason="no CUDA device"))
            table.append([label, "", "", "", "", "", "NOT-RUN"])
            for column, paper in (("mean", centre), ("median", centre * 0.9)):
                folder.verdict(name, label, column, "accuracy", paper, None, "", "NOT-RUN", "no CUDA device")
            continue
        tidy.append(folder.tidy_row(name, label, [], "NIAE", "", values))
        good = [v for v in values if v is not None]
        mean = sum(good) / len(good)
        for item, value in enumerate(values):
            samples.append([label, label.split(" (")[0], "cpu", datasets[item % 3], "NIAE", "", datasets[item % 3],
                            f"column {item}", number(value)])
        table.append([label, f"{mean:.6f}", "0.01", f"{quantile(good, .5):.6f}", f"{min(good):.6f}",
                      f"{max(good):.6f}", len(values) - len(good)])
        for column, paper, got in (("mean", centre, mean), ("median", centre * 0.95, quantile(good, .5)),
                                   ("failures", 12.0 if "naive" in label else 0.0, float(len(values) - len(good)))):
            apart = abs(got - paper) / max(paper, 1e-9)
            folder.verdict(name, label, column, "count" if column == "failures" else "accuracy", paper, got, "",
                           "MATCH" if apart < .1 else "TREND" if apart < 1 else "MISMATCH",
                           "" if apart < .1 else "the order of the rows holds")
    folder.artifact(name, "Error statistics on OpenML datasets", "How far is each sketch's density from the data?",
                    [], tidy, {"kind": "violin", "metric": "NIAE", "xlabel": "NIAE", "xlim_low": 0, "xlim_high": 0.5,
                               "caption": "One violin per estimator over 121 columns; the bar is the middle half, the tick the median."},
                    samples, table=table, labels=TABLE2_ROWS, coverage="121 of 14,072 columns (0.9 %)",
                    datasets=[{"name": d, "present": d != "digits", "rows": 150, "columns": 4, "complete": True,
                               "reason": "" if d != "digits" else "not embedded and no network", "origin": "OpenML 61"} for d in datasets],
                    notes=["Only the embedded data was present."])
    folder.claims += [
        [name, "stable", "ME-central has no failure at l = 15.", "30", "HOLDS", "0 failures of 121", "failures('ME-central (l=15)') == 0"],
        [name, "naive-breaks", "Naive power sums lose accuracy as the order grows.", "31", "HOLDS", "0.031 at l=5, 0.142 at l=15", "mean(a) > mean(b)"],
        [name, "gpu", "The GPU's tree reduction is as accurate as central moments.", "31", "NO-DATA", "", "abs(a-b) < 1e-3"],
        [name, "kll", "KLL's error falls with m.", "31", "FAILS", "0.051, 0.062, 0.058", "a > b and b > c"]]

    name, curves = "quantiles/fig1", []
    labels = ["Legendre", "Chebyshev", "Fourier", "ME"]
    for dataset, shift in (("normal (synthetic)", 0.0), ("gamma (synthetic)", -.4), ("uniform (synthetic)", .3)):
        for i in range(30):
            x = -1 + (i + .5) / 15
            curves.append(["", dataset, "histogram", x, max(0, math.exp(-8 * (x - shift) ** 2) + rng.gauss(0, .05))])
        for j, label in enumerate(labels):
            for i in range(101):
                x = -1 + i / 50
                curves.append([label, dataset, "density", x, math.exp(-8 * (x - shift) ** 2) + .06 * j * math.cos(7 * x + j)])
    folder.artifact(name, "Density estimates of order l = 10", "What do the estimates look like?", [],
                    [folder.tidy_row(name, l, [], "NIAE", "", [.1, .11]) for l in labels],
                    {"kind": "curves", "xlabel": "x", "ylabel": "density"}, curves=curves, labels=labels)

    name = "quantiles/fig3"
    sizes = [["OpenML", "OpenML", "cpu", "", "rows", "", "", f"c{i}", number(10 ** rng.gauss(3.5, .6))] for i in range(400)]
    folder.artifact(name, "Histogram of sketch input size", "How large are the inputs?", [],
                    [folder.tidy_row(name, "OpenML", [], "rows", "", [100., 200.])],
                    {"kind": "histogram", "metric": "rows", "logx": True, "xlabel": "rows per column", "ylabel": "columns"},
                    samples=sizes, labels=["OpenML"])

    name, tidy = "quantiles/fig10", []
    for j, label in enumerate(["ME-central (l=10)", "ME-naive (l=10)", "KLL (m=50)", "KLL (m=500)"]):
        for power in range(10, 21, 2):
            n = 2 ** power
            base = n * (1e-9 * (j + 1)) + 1e-6
            tidy.append(folder.tidy_row(name, label, [("n", n)], "time", "s", [base * rng.uniform(.9, 1.15) for _ in range(15)]))
    folder.artifact(name, "Runtime of one-pass sketches on CPU", "What does a sketch cost?", ["n"], tidy,
                    {"kind": "line", "metric": "time", "x": "n", "xscale": "log", "yscale": "log", "xlabel": "values n", "ylabel": "time (s)"})


def trade(folder, better=1.0):
    """Sketches whose error and size are both measured: small and bad, large and good, and one that others beat in both."""
    name, tidy = "quantiles/beyond_bytes", []
    for dataset in ("normal (synthetic)", "iris", "wine"):
        for label, size, error in (("KLL (m=10)", 80, .1), ("KLL (m=500)", 4000, .001), ("Moments", 84, .002 * better), ("Beaten", 90, .2)):
            tidy.append(folder.tidy_row(name, label, [], "bytes", "B", [float(size)] * 3, dataset=dataset, cell=False))
            tidy.append(folder.tidy_row(name, label, [], "niae", "", [error * s for s in (.98, 1., 1.03)], dataset=dataset, cell=False))
    folder.artifact(name, "Accuracy for its bytes", "Which sketch is small and good?", [], tidy, {"kind": "bar", "metric": "niae"}, where="beyond the paper")


def treeshap(folder):
    rng, name, tidy = folder.rng, "treeshap/table6", []
    for model in ("adult-small", "adult-med", "covtype-small"):
        for device, base in (("cpu", 2.0), ("cuda", .1)):
            gone = device == "cuda"
            tidy.append(folder.tidy_row(name, "GPUTreeShap" if gone else "TreeShap", [], "time", "s",
                                        [] if gone else [base * rng.uniform(.95, 1.05) for _ in range(9)], device, model,
                                        "not_run" if gone else "ok", "no CUDA device" if gone else ""))
        folder.verdict(name, model, "CPU (s)", "time", 1.3, 2.05, "s", "DIFFERENT-HW", "40 cores in the paper", table="Table 6", n=9)
        folder.verdict(name, model, "GPU (s)", "time", .05, None, "s", "NOT-RUN", "no CUDA device", table="Table 6")
    folder.artifact(name, "Speedups for V100 against 40 CPU cores", "How much faster is one GPU than 40 cores?", [], tidy,
                    {"kind": "bar", "metric": "time", "xlabel": "time (s)"}, labels=["TreeShap", "GPUTreeShap"], where="Table 6")
    folder.claims.append([name, "faster", "One GPU is faster than 40 cores on large models.", "44", "NO-DATA", "", "a < b"])


def shapley(folder):
    rng, name, tidy = folder.rng, "shapley/fig3", []
    labels = ["MC", "MC-antithetic", "Herding", "SBQ", "Orthogonal", "Sobol", "QMC", "Owen", "Stratified"]
    for dataset in ("adult", "breast_cancer", "bank", "cal_housing", "make_regression (synthetic)", "year"):
        for j, label in enumerate(labels):
            for evaluations in (100, 300, 1000, 3000, 10000):
                tidy.append(folder.tidy_row(name, label, [("evaluations", evaluations)], "RMSE", "", [
                    (1 + j / 3) / math.sqrt(evaluations) * rng.uniform(.6, 1.6) for _ in range(25)], dataset=dataset, cell=evaluations < 200))
    folder.artifact(name, "Error against evaluations", "Which sampler needs the fewest evaluations?", ["evaluations"], tidy,
                    {"kind": "line", "metric": "RMSE", "x": "evaluations", "xscale": "log", "yscale": "log", "panel": "dataset"}, labels=labels, where="Fig. 3")
    name, tidy = "shapley/table4", []
    for d in (10, 50, 200):
        for j, label in enumerate(labels[:5]):
            tidy.append(folder.tidy_row(name, label, [("d", d)], "discrepancy", "", [(j + 1) * .01 * rng.uniform(.9, 1.1) / math.sqrt(d) for _ in range(9)]))
    folder.artifact(name, "Discrepancy of permutation samples", "How evenly do the samples lie?", ["d"], tidy,
                    {"kind": "heatmap", "metric": "discrepancy", "x": "d"}, labels=labels[:5], where="Table 4")
    folder.claims.append([name, "order", "Orthogonal beats MC-antithetic at the largest budget.", "101", "HOLDS", "0.0041 < 0.0083", "a < b"])


def shuffle(folder, gpu=False):
    rng, name, tidy = folder.rng, "shuffle/table1", []
    for j, label in enumerate(["VarPhilox", "LCG", "SortShuffle", "DartThrowing"]):
        for power in (20, 24, 29):
            paper = 4000.0 / (j + 1)
            values = [paper * rng.uniform(1.9, 2.1) for _ in range(9)] if gpu else []
            tidy.append(folder.tidy_row(name, label, [("n", 2 ** power)], "throughput", "M items/s", values, "cuda",
                                        status="ok" if gpu else "not_run", reason="" if gpu else "no CUDA device"))
            folder.verdict(name, label, f"2^{power}", "time", paper, quantile(values, .5), "M items/s",
                           "DIFFERENT-HW" if gpu else "NOT-RUN", "" if gpu else "no CUDA device", "140", "Table 1", 9)
    folder.artifact(name, "GPU shuffling throughput", "How fast is a shuffle on a GPU?", ["n"], tidy,
                    {"kind": "line", "metric": "throughput", "x": "n", "xscale": "log", "yscale": "log", "xlabel": "items n", "ylabel": "throughput (M items/s)"}, where="Table 1")
    folder.claims.append([name, "fast", "VarPhilox is the fastest at every size.", "141", "HOLDS" if gpu else "NO-DATA", "8.1 > 4.0 G/s" if gpu else "", "a > b"])


def extratrees(folder):
    rng, name, tidy = folder.rng, "extratrees/table1", []
    for column, value in (("accuracy", .95), ("time", 57.)):
        tidy.append(folder.tidy_row(name, "ExtraTrees", [], column, "s" if column == "time" else "", [value * rng.uniform(.99, 1.01) for _ in range(5)], dataset="MNIST 10k (synthetic)"))
        folder.verdict(name, "ExtraTrees", column, "accuracy" if column == "accuracy" else "time", value, value * 1.002, "", "MATCH", n=5)
    folder.artifact(name, "Time and accuracy", "Does it train?", [], tidy, None, labels=["ExtraTrees"], table=[["Method", "accuracy", "time"], ["ExtraTrees", ".95", "57"]])


def odd(folder):
    """Labels that a careless page would trip over."""
    name = "beyond/odd<names>&\"quotes\""
    label = "<script>alert('x')</script> & \"ünïcödé\" 漢字 $x_1^2$ | pipe"
    tidy = [folder.tidy_row(name, label, [("n", n)], "error", "%", [1.0, 2.0, None]) for n in ("a|b", "$c$")]
    folder.artifact(name, "<b>bold?</b> & co", "Is 1 < 2 && 3 > 2?", ["n"], tidy, {"kind": "sunburst", "metric": "error"}, labels=[label])
    folder.verdict(name, label, "a|b", "accuracy", 1.0, 1.5, "%", "TREND", "</script><img src=x onerror=alert(1)>")
    folder.claims.append([name, "odd", "A <i>claim</i> with | and & in it.", "1", "FAILS", "</td>", "1<2"])


def everything(out, with_odd=True):
    """A whole folder; and the recorded run of a GPU machine in `out`-recorded. @return its path"""
    folder = Folder(out)
    for family in (quantiles, treeshap, shapley, shuffle, extratrees):
        family(folder)
    trade(folder)
    if with_odd:
        odd(folder)
    folder.finish()
    recorded = Folder(os.path.join(out + "-recorded", "example-h200"), seed=7)
    shuffle(recorded, gpu=True)
    trade(recorded, better=.9)
    recorded.finish({"version": "0.0.1", "profile": "paper", "device": "cuda", "started": "2026-01-01T00:00:00Z",
                     "finished": "2026-01-01T01:00:00Z", "seconds": 3600, "offline": False, "banner": [], "counts": {"ok": 12},
                     "command": "build/retable run '*' --profile paper"},
                    {"cpu": {"model": "Other CPU", "cores": 16}, "gpu": {"name": "Example H200", "driver": "580.0"}})
    return out + "-recorded"


if __name__ == "__main__":
    print(everything(sys.argv[1], "--plain" not in sys.argv))
