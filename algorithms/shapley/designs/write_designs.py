#!/usr/bin/env python3
"""Writes designs/designs.inc from permutations as `retable permutations --method Foldover-descent` gives them.

    for s in 1 2 3; do retable permutations --d 10 --n 100 --option shipped=false --option sweeps=400 \\
        --seed $s --out designs/10-100-$s.csv; done
    algorithms/shapley/designs/write_designs.py designs/*.csv

Of several files of one size the one of least discrepancy (Mallows, lambda = 4) is kept. Players are
renamed so that the first order is 0, 1, 2, ...; a draw renames them at random.
"""

import pathlib
import sys

import numpy as np


def read(path):
    rows = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    return rows[::2, 1:].astype(int), len(rows)


def energy(base):
    """The part of the squared discrepancy that depends on the design."""
    ranks = np.argsort(base, axis=1)
    d = base.shape[1]
    i, j = np.triu_indices(d, 1)
    signs = np.where(ranks[:, i] < ranks[:, j], 1, -1).astype(np.float32)
    pairs = d * (d - 1) / 2
    distance = (pairs - signs @ signs.T) / 2
    return float(np.mean(np.exp(-4 * distance / pairs) + np.exp(-4 * (pairs - distance) / pairs)))


def digits(base):
    name = np.empty(base.shape[1], dtype=int)
    name[base[0]] = np.arange(base.shape[1])
    return "".join(chr(48 + p % 64) + chr(48 + p // 64) for p in name[base].ravel())


def main(paths):
    best = {}
    for path in paths:
        base, n = read(path)
        key = (base.shape[1], n)
        value = energy(base)
        if key not in best or value < best[key][0]:
            best[key] = (value, base)
    lines = ["// Written by write_designs.py.\n"]
    for (d, n), (_, base) in sorted(best.items()):
        text = digits(base)
        lines.append(f"{{{n}, {d},\n")
        for k in range(0, len(text), 96):
            part = text[k:k + 96].replace("\\", "\\\\").replace("?", "\\?")
            lines.append(f'"{part}"\n')
        lines.append("},\n")
    target = pathlib.Path(__file__).with_name("designs.inc")
    target.write_text("".join(lines), encoding="ascii")
    print(f"{len(best)} designs, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
