#!/usr/bin/env python3
"""Measures the estimators of the Python packages shap and shapiq on a table of all coalitions.

    retable coalitions --data make_regression --out game.csv
    python3 baselines/shapley/peers.py game.csv --name make_regression > peers.csv

The table is the very game of shapley/beyond_tabulated, so that errors can be set side by side. A
method gets the largest budget with which it asks for at most per_player * d different coalitions,
found by counting. Packages that are not installed are left out. The rows that were measured are kept
in peers.csv beside this file.
"""

import argparse
import csv
import importlib.metadata
import sys
import time

import numpy as np


class Table:
    """A game by look-up; counts the different coalitions it was asked for."""

    def __init__(self, path):
        self.exact, values = [], []
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                (self.exact if row["kind"] == "shapley" else values).append(float(row["value"]))
        self.exact, self.values = np.array(self.exact), np.array(values)
        self.players = len(self.exact)
        self.weights = 1 << np.arange(self.players)
        self.seen = set()

    def __call__(self, coalitions):
        index = np.asarray(coalitions).astype(bool).reshape(-1, self.players) @ self.weights
        self.seen.update(index.tolist())
        return self.values[index]


def shap_methods():
    import shap

    def permutation(table, budget, seed):
        masker = shap.maskers.Independent(np.zeros((1, table.players)))
        explainer = shap.explainers.Permutation(lambda z: table(z > 0.5), masker, seed=seed)
        return explainer(np.ones((1, table.players)), max_evals=budget, silent=True).values[0]

    def kernel(table, budget, seed):
        np.random.seed(seed)
        explainer = shap.KernelExplainer(lambda z: table(z > 0.5), np.zeros((1, table.players)))
        return explainer.shap_values(np.ones(table.players), nsamples=budget, silent=True, l1_reg=False)

    version = importlib.metadata.version("shap")
    return {f"shap {version} permutation": permutation, f"shap {version} kernel": kernel}


def shapiq_methods():
    import shapiq

    def wrap(make):
        def run(table, budget, seed):
            result = make(table.players, seed).approximate(budget, table)
            return np.array([result[(i,)] for i in range(table.players)])
        return run

    version = importlib.metadata.version("shapiq")
    known = {
        "permutation": lambda n, seed: shapiq.PermutationSamplingSV(n=n, random_state=seed),
        "KernelSHAP": lambda n, seed: shapiq.KernelSHAP(n=n, random_state=seed),
        "SVARM": lambda n, seed: shapiq.SVARM(n=n, random_state=seed),
    }
    return {f"shapiq {version} {name}": wrap(make) for name, make in known.items()}


def methods():
    found = {}
    for package in (shap_methods, shapiq_methods):
        try:
            found.update(package())
        except ImportError as missing:
            print(f"left out: {missing}", file=sys.stderr)
    return found


def asked(table, run, budget, seed):
    table.seen.clear()
    run(table, budget, seed)
    return len(table.seen)


def largest_budget(table, run, allowed):
    """By halving, over the worst of three seeds; None where the method wants more."""
    def fits(budget):
        try:
            return max(asked(table, run, budget, seed) for seed in range(3)) <= allowed
        except ValueError:
            return budget < allowed
    low, high = allowed // 2, 4 * allowed
    if not fits(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("--name", default="game")
    parser.add_argument("--per-player", type=int, nargs="+", default=[4, 8, 16, 32, 64])
    parser.add_argument("--repeats", type=int, default=200)
    arguments = parser.parse_args()
    table = Table(arguments.table)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("game players method per_player budget unique repeats mse mse_error seconds".split())
    for name, run in methods().items():
        for per_player in arguments.per_player:
            allowed = per_player * table.players
            if allowed >= 1 << table.players:
                continue
            budget = largest_budget(table, run, allowed)
            if budget is None:
                continue
            unique = asked(table, run, budget, 0)
            errors, start = [], time.perf_counter()
            for seed in range(arguments.repeats):
                errors.append(np.mean((run(table, budget, seed) - table.exact) ** 2))
            seconds = (time.perf_counter() - start) / arguments.repeats
            out.writerow([arguments.name, table.players, name, per_player, budget, unique,
                          arguments.repeats, f"{np.mean(errors):.6g}",
                          f"{np.std(errors, ddof=1) / len(errors) ** 0.5:.3g}", f"{seconds:.4g}"])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
