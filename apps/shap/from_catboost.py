"""Writes a model of CatBoost as the JSON that `retable shap` reads.

    from from_catboost import save
    save(model, "forest.json")

or, as a command, from a file that CatBoost wrote (.cbm or .json):

    python3 from_catboost.py model.cbm forest.json

It takes symmetric, depthwise and lossguide trees over numbers, for any loss: values are raw predictions,
one output a class or target. Missing values go where the model's nan_mode sends them. A split on a
category, a text or an embedding is refused: the file holds hashes and statistics of these in place of
their values. Needs catboost 1.0 or later.
"""

import json
import math
import os
import sys
import tempfile

import numpy

_LEAF = {"feature": -1, "threshold": 0, "left": -1, "right": -1, "default_left": 0}


def _question(split, features):
    """A split as the fields of a node."""
    kind = split.get("split_type", "FloatFeature")
    if kind != "FloatFeature":
        raise ValueError(f"the model splits by {kind}, not by a number: a category, a text or an "
                         "embedding. Train it on numbers, such as one column for each category")
    feature = features[split["float_feature_index"]]
    # A float, which JSON rounds to 16 digits. What is greater goes right. NaN is not greater: it goes
    # left, unless the model takes it for the largest. Nothing finite is above the largest border, which
    # infinity is: a reader takes infinity for the largest float.
    border = numpy.float32(split["border"])
    if border == numpy.finfo(numpy.float32).max:
        border = numpy.nextafter(border, numpy.float32(0))
    return {"feature": feature["flat_feature_index"],
            "threshold": float(border),
            "default_left": int(feature.get("nan_value_treatment", "AsIs") != "AsTrue")}


def _symmetric(tree, features, outputs):
    """Nodes of a tree that asks one question on each level; leaf i has bit k where split k is true."""
    questions = [_question(split, features) for split in tree.get("splits") or []]
    leaves = 2 ** len(questions)
    inner = leaves - 1
    # The last split stands at the root.
    nodes = [{**questions[-1 - int(math.log2(n + 1))], "left": 2 * n + 1, "right": 2 * n + 2}
             for n in range(inner)]
    values = numpy.reshape(tree["leaf_values"], (leaves, outputs)).tolist()
    nodes += [{**_LEAF, "cover": weight, "value": value}
              for weight, value in zip(_weights(tree, "leaf_weights", leaves), values)]
    for n in reversed(range(inner)):
        nodes[n]["cover"] = nodes[2 * n + 1]["cover"] + nodes[2 * n + 2]["cover"]
    return nodes


def _weights(tree, name, leaves):
    weights = tree.get(name)
    if weights is None or numpy.size(weights) != leaves:
        raise ValueError("the model holds no weights of its leaves: train it anew; sum_models and some "
                         "conversions drop them")
    return numpy.ravel(weights).tolist()


def _nested(tree, features, outputs):
    """Nodes of a tree of any shape, a parent before its children."""
    nodes, waiting = [], [(tree, None, None)]
    while waiting:
        part, parent, side = waiting.pop()
        if parent is not None:
            nodes[parent][side] = len(nodes)
        if "split" in part:
            nodes.append(_question(part["split"], features))
            waiting += [(part[child], len(nodes) - 1, child) for child in ("right", "left")]
        else:
            value = numpy.reshape(part["value"], outputs).tolist()
            nodes.append({**_LEAF, "cover": _weights(part, "weight", 1)[0], "value": value})
    for node in reversed(nodes):
        if "cover" not in node:
            node["cover"] = nodes[node["left"]]["cover"] + nodes[node["right"]]["cover"]
    return nodes


def _tree(nodes, scale, outputs):
    value = [[scale * v for v in node.get("value", [0.0] * outputs)] for node in nodes]
    return {"value": value, **{key: [node[key] for node in nodes]
                               for key in ("feature", "threshold", "left", "right", "default_left",
                                           "cover")}}


def _content(model):
    """What CatBoost writes as JSON, which it does into a file alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json")
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def forest(model):
    """The catboost.CatBoost model as a dictionary. ValueError for what is no sum of trees over numbers."""
    if not model.is_fitted():
        raise ValueError(f"the {type(model).__name__} is not fitted: call fit first")
    content = _content(model)
    features = content["features_info"].get("float_features", [])
    scale, bias = content.get("scale_and_bias", [1, [0]])
    bias = numpy.ravel(bias).astype(float)
    outputs = len(bias)
    trees = [_symmetric(tree, features, outputs) for tree in content.get("oblivious_trees") or []] + \
            [_nested(tree, features, outputs) for tree in content.get("trees") or []]
    names = [str(name) for name in model.feature_names_]
    named = {} if names == [str(i) for i in range(len(names))] else {"feature_names": names}
    return {"format": "retable-forest", "version": 1, "features": len(names), **named,
            "groups": outputs, "split": "<=", "base_score": bias.tolist(),
            "trees": [_tree(nodes, scale, outputs) for nodes in trees]}


def save(model, path):
    text = json.dumps(forest(model), allow_nan=False)
    part = f"{path}.part"  # what is there stays until this is whole
    with open(part, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    os.replace(part, path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if os.path.exists(sys.argv[2]) and os.path.samefile(sys.argv[1], sys.argv[2]):
        sys.exit(f"{sys.argv[2]} is read and would be overwritten; write to another file")
    import catboost
    read = catboost.CatBoost()
    read.load_model(sys.argv[1], format="json" if sys.argv[1].endswith(".json") else "cbm")
    save(read, sys.argv[2])
