"""Turns a forest written by `retable forest fit` into a fitted scikit-learn model.

    from to_scikit_learn import load
    model = load("forest.json")         # ExtraTreesClassifier or ExtraTreesRegressor
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


def load(path):
    """The fitted model of a retable-forest file."""
    with open(path) as file:
        data = json.load(file)
    if data.get("format") != "retable-forest":
        raise ValueError(f"{path} is no retable-forest file")
    return model_of(data)


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
    # Rows may have missing values: every node says where they go.
    model.estimators_[0].missing_values_in_feature_mask_ = numpy.ones(features, dtype=bool)
    model.estimator_ = model.estimators_[0]
    if data.get("feature_names"):  # tables with columns in another order are refused
        model.feature_names_in_ = numpy.asarray(data["feature_names"], dtype=object)
    if not regression:
        model.classes_, model.n_classes_ = numpy.asarray(names), outputs
    return model


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if os.path.exists(sys.argv[2]) and os.path.samefile(sys.argv[1], sys.argv[2]):
        sys.exit(f"{sys.argv[2]} is read and would be overwritten; write to another file")
    model = load(sys.argv[1])
    with open(sys.argv[2], "wb") as out:
        pickle.dump(model, out)
