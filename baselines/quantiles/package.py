#!/usr/bin/env python3
"""Quantiles of an array by a Python package, as a contender (docs/other-languages.md).

    python3 baselines/quantiles/package.py METHOD

METHOD: retable (the sketch of 84 bytes), kll or tdigest (datasketches), or numpy (exact: numpy.quantile). A run takes in
the values and answers 99 quantiles, as a call from a notebook does.
"""

import importlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contender  # noqa: E402
import numpy  # noqa: E402

PERCENTILES = numpy.arange(1, 100) / 100


def retable(package, values):
    return package.QuantileSketch().update(values).quantile


def kll(package, values):
    sketch = package.kll_doubles_sketch(200)
    sketch.update(values)
    return sketch.get_quantiles


def tdigest(package, values):
    sketch = package.tdigest_double(100)
    sketch.update(values)
    return lambda phis: [sketch.get_quantile(phi) for phi in phis]


def exact(package, values):
    return lambda phis: package.quantile(values, phis, method="inverted_cdf")


# The module, and a function of it and the values that gives a function of phis.
METHODS = {
    "retable": ("retable", retable),
    "kll": ("datasketches", kll),
    "tdigest": ("datasketches", tdigest),
    "numpy": ("numpy", exact),
}


class Package(contender.Contender):
    def __init__(self, method):
        self.module, self.take = METHODS[method]
        self.name = contender.package(self.module)

    def load(self, request, arrays):
        self.package = importlib.import_module(self.module)
        self.values = arrays["values"].copy()  # datasketches wants an array that could be written

    def run(self):
        self.quantiles = self.take(self.package, self.values)
        self.quantiles(PERCENTILES)

    def answer(self, request):
        return [("quantiles", numpy.asarray(self.quantiles(numpy.asarray(request["phis"])), "float64"))]


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in METHODS:
        sys.exit(f"usage: package.py METHOD, one of {', '.join(METHODS)}")
    Package(sys.argv[1]).serve()
