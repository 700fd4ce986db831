#!/usr/bin/env python3
"""Extremely randomized trees of a Python package as a contender (docs/other-languages.md).

    python3 baselines/extratrees/package.py METHOD

METHOD: retable; retable-cuda; scikit-learn, which is given its features row by row (C order); or scikit-learn-columns, column by
column (Fortran order). A run is fit(); answered is the forest in the bytes of algorithms/extratrees/model/binary.hpp. Tables of
at most 5,000 rows are fitted by one job of scikit-learn where that is faster than all; which is, is tried before the clock starts.
"""

import importlib
import math
import os
import struct
import sys
import timeit
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contender  # noqa: E402
import numpy  # noqa: E402

METHODS = {"retable": "retable", "retable-cuda": "retable", "scikit-learn": "sklearn",
           "scikit-learn-columns": "sklearn"}


def tree_bytes(tree):
    """A tree of scikit-learn: its nodes field by field, then its leaves' values."""
    leaf = tree.children_left < 0
    values = tree.value[leaf, 0].astype("<f8")
    # A leaf's value is the number of its row of values, marked by the highest bit.
    row = numpy.where(leaf, 0x80000000 | (numpy.cumsum(leaf) - 1), 0)
    fields = [(numpy.where(leaf, 0, tree.threshold), "<f8"), (tree.impurity, "<f8"),
              (tree.weighted_n_node_samples, "<f8"), (tree.children_left, "<i4"), (tree.children_right, "<i4"),
              (numpy.where(leaf, -1, tree.feature), "<i4"), (tree.n_node_samples, "<u4"), (row, "<u4"),
              (numpy.where(leaf, 0, tree.missing_go_to_left), "<u1")]
    nodes = b"".join(field.astype(kind).tobytes() for field, kind in fields)
    return (struct.pack("<QQ", tree.node_count, values.size) + nodes + bytes(-len(nodes) % 8) + values.tobytes())


def value_bits(model, regression):
    """What ValueBits of algorithms/extratrees/model/forest.cpp chooses: leaves add up below 2^62 in units of 2^-bits."""
    if not regression:
        return 40
    largest = max(abs(single.tree_.value[single.tree_.children_left < 0]).max() for single in model.estimators_)
    return max(-1000, min(1000, 62 - math.frexp(largest)[1] - len(model.estimators_).bit_length()))


def forest_bytes(model, regression):
    outputs = 1 if regression else model.n_classes_
    body = struct.pack("<QIIiI", model.n_features_in_, outputs, regression, value_bits(model, regression),
                       len(model.estimators_))
    body += b"".join(tree_bytes(single.tree_) for single in model.estimators_)
    return b"RTFOREST" + struct.pack("<II", 1, zlib.crc32(body)) + body


class Package(contender.Contender):
    def __init__(self, method):
        self.method, self.module, self.jobs = method, METHODS[method], {}
        self.name = contender.package(self.module)
        if method == "retable-cuda" and not importlib.import_module(self.module).cuda_devices():
            contender.unavailable("the module retable was built without CUDA, or no device answers")

    def load(self, request, arrays):
        ensemble = importlib.import_module(self.module + ".ensemble")
        self.regression = request["regression"]
        kind = ensemble.ExtraTreesRegressor if self.regression else ensemble.ExtraTreesClassifier
        options = dict(request["options"], n_jobs=request["threads"] or -1)
        if self.module == "retable":
            options["device"] = request["device"]
        self.x, self.y = arrays["x"], arrays["y"]
        if self.method == "scikit-learn-columns":
            self.x = numpy.asfortranarray(self.x)
        self.weights = arrays["weights"] if len(arrays["weights"]) else None
        self.fit = lambda **more: kind(**(options | more)).fit(self.x, self.y, sample_weight=self.weights)
        if self.module == "sklearn" and len(self.x) <= 5000:
            options["n_jobs"] = self.faster_jobs(options["n_jobs"], options["n_estimators"])

    def faster_jobs(self, all_jobs, trees):
        """All jobs or one: whichever fits these trees, 32 at most, sooner. Tried once for each shape of table."""
        key = (self.x.shape, all_jobs, trees)
        if key not in self.jobs:
            self.jobs[key] = min((all_jobs, 1), key=lambda jobs: min(timeit.repeat(
                lambda: self.fit(n_jobs=jobs, n_estimators=min(trees, 32)), number=1, repeat=2)))
        return self.jobs[key]

    def run(self):
        self.model = self.fit()

    def answer(self, request):
        ours = self.module == "retable"
        data = self.model.forest_.to_bytes() if ours else forest_bytes(self.model, self.regression)
        return [("forest", numpy.frombuffer(data, "uint8"))]


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in METHODS:
        sys.exit(f"usage: package.py METHOD, one of {', '.join(METHODS)}")
    Package(sys.argv[1]).serve()
