"""Turns a forest written by `retable forest fit` into a fitted scikit-learn model.

    from to_scikit_learn import load
    model = load("forest.json")         # or forest.bin: ExtraTreesClassifier or ExtraTreesRegressor
    model.predict_proba(x)

or, as a command, into a pickle:

    python3 to_scikit_learn.py forest.json model.pkl

Trees are scikit-learn's own Tree objects, with thresholds, children, covers, impurities and sides of
missing values as in the file; values of inner nodes are the covers' means of their children's.
Classes and features are those named in the file; a nominal feature's values are the places of its levels in the
file's "feature_levels". Written for scikit-learn 1.9; needs 1.3 or later.
"""

import json
import os
import pickle
import sys
import zlib

import numpy
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.tree._tree import Tree


def _inner_values(left, right, cover, value):
    """Fills inner nodes from the back: children stand behind their parents."""
    for i in range(len(left) - 1, -1, -1):
        if left[i] >= 0:
            l, r = left[i], right[i]
            value[i] = (cover[l] * value[l] + cover[r] * value[r]) / (cover[l] + cover[r])
    return value


def _tree(data, features, outputs, regression):
    left = numpy.asarray(data["left"])
    right = numpy.asarray(data["right"])
    inner = left >= 0
    depth = numpy.zeros(len(left), int)
    for i in numpy.flatnonzero(inner):
        depth[left[i]] = depth[right[i]] = depth[i] + 1
    counts = numpy.array([1 if regression else outputs], dtype=numpy.intp)
    tree = Tree(features, counts, 1)
    nodes = numpy.zeros(len(left), dtype=tree.__getstate__()["nodes"].dtype)
    nodes["left_child"] = numpy.where(inner, left, -1)
    nodes["right_child"] = numpy.where(inner, right, -1)
    nodes["feature"] = numpy.where(inner, data["feature"], -2)
    nodes["threshold"] = numpy.where(inner, data["threshold"], -2.0)
    nodes["impurity"] = data["impurity"]
    nodes["n_node_samples"] = data["samples"]
    nodes["weighted_n_node_samples"] = data["cover"]
    nodes["missing_go_to_left"] = data["default_left"]
    value = numpy.array(data["value"], dtype=float).reshape(len(left), -1)
    value = _inner_values(left, right, data["cover"], value)
    tree.__setstate__({
        "max_depth": int(depth.max()),
        "node_count": len(left),
        "nodes": nodes,
        "values": numpy.ascontiguousarray(value.reshape(len(left), 1, -1)),
    })
    return tree


class _Bytes:
    """Reads the compact form, of which algorithms/common/forest_bytes.hpp has the layout."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def array(self, kind, count=1):
        values = numpy.frombuffer(self.data, "<" + kind, count, self.at)
        self.at += values.nbytes
        return values

    def number(self, kind="u4"):
        return self.array(kind)[0].item()

    def texts(self, count):
        return [bytes(self.array("u1", self.number())).decode() for _ in range(count)]

    def pad(self):
        self.at += -self.at % 8


def from_bytes(data):
    """What the JSON file of the same forest holds."""
    source = _Bytes(data)
    source.at = 8
    version, checksum = source.number(), source.number()
    if version not in (1, 2):
        raise ValueError(f"version {version} of the compact form; 1 and 2 are read")
    if checksum != zlib.crc32(data[16:]):
        raise ValueError("the checksum differs: the file is damaged")
    forest = {"features": source.number("u8"), "groups": source.number(), "regression": source.number() != 0}
    source.number("i4")  # value_bits
    trees = source.number()
    if version > 1:
        classes, features = source.number(), source.number()
        forest["class_names"] = source.texts(classes)
        forest["feature_names"] = []
        for _ in range(features):
            forest["feature_names"].append(source.texts(2)[0])
            source.texts(source.number())
        source.pad()
    forest["trees"] = [_tree_from_bytes(source, forest["groups"]) for _ in range(trees)]
    return forest


def _tree_from_bytes(source, outputs):
    nodes, values = source.number("u8"), source.number("u8")
    tree = {name: source.array(kind, nodes) for name, kind in (
        ("threshold", "f8"), ("impurity", "f8"), ("cover", "f8"), ("left", "i4"), ("right", "i4"),
        ("feature", "i4"), ("samples", "u4"), ("value", "u4"), ("default_left", "u1"))}
    source.pad()
    mixed = source.array("f8", values).reshape(-1, outputs)
    leaf = tree["feature"] < 0
    rows = leaf & (tree["value"] >= 1 << 31)
    value = numpy.zeros((nodes, outputs))
    value[rows] = mixed[tree["value"][rows] - (1 << 31)]
    pure = numpy.flatnonzero(leaf & ~rows)
    value[pure, tree["value"][pure]] = 1
    tree["value"] = value
    return tree


def load(path):
    """The fitted model of a file that `retable forest fit` wrote."""
    with open(path, "rb") as file:
        content = file.read()
    if content.startswith(b"RTFOREST"):
        return model_of(from_bytes(content))
    data = json.loads(content)
    if data.get("format") != "retable-forest":
        raise ValueError(f"{path} is no retable-forest file")
    return model_of(data)


def _classes(names):
    """Names that are all numbers become numbers, as the labels of an array are."""
    try:
        numbers = numpy.array([float(name) for name in names])
    except ValueError:
        return numpy.asarray(names)
    whole = numpy.isfinite(numbers).all() and (numbers == numpy.floor(numbers)).all()
    return numbers.astype(numpy.int64) if whole else numbers


def model_of(data):
    """The fitted model of such a file's content."""
    regression, outputs, features = data["regression"], data["groups"], data["features"]
    names = data.get("class_names") or list(range(outputs))
    model = ExtraTreesRegressor() if regression else ExtraTreesClassifier()
    model.n_estimators = len(data["trees"])
    model.n_features_in_, model.n_outputs_ = features, 1
    model.estimators_ = []
    for tree in data["trees"]:
        single = ExtraTreeRegressor() if regression else ExtraTreeClassifier()
        single.n_features_in_, single.n_outputs_ = features, 1
        if not regression:
            single.classes_, single.n_classes_ = numpy.arange(outputs), outputs
        single.tree_ = _tree(tree, features, outputs, regression)
        model.estimators_.append(single)
    model.estimator_ = model.estimators_[0]
    if data.get("feature_names"):  # tables with columns in another order are refused
        model.feature_names_in_ = numpy.asarray(data["feature_names"], dtype=object)
    if not regression:
        model.classes_, model.n_classes_ = _classes(names), outputs
    return model


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if os.path.exists(sys.argv[2]) and os.path.samefile(sys.argv[1], sys.argv[2]):
        sys.exit(f"{sys.argv[2]} is read and would be overwritten; write to another file")
    model = load(sys.argv[1])
    part = f"{sys.argv[2]}.part"  # what is there stays until this is whole
    with open(part, "wb") as out:
        pickle.dump(model, out)
    os.replace(part, sys.argv[2])
