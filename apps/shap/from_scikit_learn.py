"""Writes a fitted tree model of scikit-learn as the JSON that `retable shap` reads.

    from from_scikit_learn import save
    save(model, "forest.json")

or, as a command, from a file of pickle or joblib that you trust:

    python3 from_scikit_learn.py model.pkl forest.json

It takes decision trees, extra trees and random forests (classes: probabilities; several outputs,
classes or targets: one after the other), GradientBoosting (raw predictions: log odds for classes)
and HistGradientBoosting (raw predictions, on the link's scale). Missing values go where the model
sends them; rows are compared as floats or as doubles, as the model does it. Values and base value
add up to predict_proba, predict, or the raw prediction. Needs scikit-learn 1.3 or later.
"""

import json
import os
import sys

import joblib
import numpy
from sklearn.base import BaseEstimator, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingClassifier,
                              GradientBoostingRegressor, HistGradientBoostingClassifier,
                              HistGradientBoostingRegressor, RandomForestClassifier,
                              RandomForestRegressor)
from sklearn.tree import (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier,
                          ExtraTreeRegressor)
from sklearn.utils.validation import check_is_fitted

TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
HISTOGRAM = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def _numbers(values):
    """A list for JSON, which has no infinity: a split of missing from all others has one."""
    return [v if numpy.isfinite(v) else str(v) for v in numpy.asarray(values, float).tolist()]


def _structure(tree):
    return {"feature": tree.feature.tolist(), "threshold": _numbers(tree.threshold),
            "left": tree.children_left.tolist(), "right": tree.children_right.tolist(),
            "default_left": tree.missing_go_to_left.astype(int).tolist(),
            "cover": _numbers(tree.weighted_n_node_samples)}


def _votes(model, tree):
    """Values of the nodes, nodes x outputs: for classes the fractions, for each output in turn."""
    if not is_classifier(model):
        return tree.value[:, :, 0]
    counts = numpy.atleast_1d(model.n_classes_)
    parts = [tree.value[:, o, :k] for o, k in enumerate(counts)]
    return numpy.concatenate([p / p.sum(1, keepdims=True) for p in parts], axis=1)


def _forest(model, trees):
    out = []
    for estimator in trees:
        votes = _votes(model, estimator.tree_)
        out.append({**_structure(estimator.tree_), "value": votes.tolist()})
    return {"groups": votes.shape[1], "split": "<=", "scale": 1 / len(trees), "trees": out}


def _boosted(model):
    # A stratified dummy draws each row's class anew.
    if getattr(model.init_, "strategy", None) == "stratified" or (
            not isinstance(model.init_, (DummyClassifier, DummyRegressor)) and model.init_ != "zero"):
        raise ValueError("the first prediction comes from " + type(model.init_).__name__ +
                         ", not from trees; train with init=None or init='zero'")
    first = model._raw_predict_init(numpy.zeros((1, model.n_features_in_), numpy.float32))
    trees = [{**_structure(e.tree_), "value": e.tree_.value[:, 0, 0].tolist(), "group": g}
             for stage in model.estimators_ for g, e in enumerate(stage)]
    return {"groups": model.estimators_.shape[1], "split": "<=", "scale": model.learning_rate,
            "base_score": numpy.ravel(first).tolist(), "trees": trees}


def _set(bits):
    """The categories of a bitset of 8 words."""
    return [c for c in range(256) if (int(bits[c // 32]) >> (c % 32)) & 1]


def _histogram_tree(predictor, columns, group):
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    by_category = inner & (nodes["is_categorical"] != 0)
    tree = {"feature": [columns[f] for f in nodes["feature_idx"].tolist()],
            "threshold": _numbers(nodes["num_threshold"]),
            "left": numpy.where(inner, nodes["left"].astype(int), -1).tolist(),
            "right": numpy.where(inner, nodes["right"].astype(int), -1).tolist(),
            "default_left": nodes["missing_go_to_left"].astype(int).tolist(),
            "cover": _numbers(nodes["count"]), "value": nodes["value"].tolist(), "group": group}
    if by_category.any():
        tree["categories"] = [
            _set(predictor.raw_left_cat_bitsets[n["bitset_idx"]]) if c else None
            for n, c in zip(nodes, by_category)]
    return tree


def _level(category, feature):
    """A category as text from which a reader has its number back."""
    if category is None:
        raise ValueError(f"feature {feature} has None among its categories, which scikit-learn tells from a "
                         "missing value: train with NaN or a text in its place")
    number = isinstance(category, (int, float, numpy.number)) and not isinstance(category, bool)
    if number and abs(category) >= 2 ** 53:
        raise ValueError(f"feature {feature} has a category beyond 2^53, {category}: train with these "
                         "categories as text")
    return repr(float(category)) if isinstance(category, numpy.floating) else str(category)


def _histogram(model):
    columns = list(range(model.n_features_in_))
    levels = [[] for _ in columns]
    if getattr(model, "is_categorical_", None) is not None and any(model.is_categorical_):
        if getattr(model, "_preprocessor", None) is None:
            raise ValueError("categorical features as scikit-learn before 1.4 keeps them are not "
                             "read; train with a later one")
        # The model's own order has the features with categories first.
        columns.sort(key=lambda f: not model.is_categorical_[f])
        encoder = model._preprocessor.named_transformers_["encoder"]
        for f, known in zip(columns, encoder.categories_):
            levels[f] = [_level(v, f) for v in known if v == v]
    trees = [_histogram_tree(p, columns, g)
             for stage in model._predictors for g, p in enumerate(stage)]
    forest = {"groups": len(model._predictors[0]), "split": "<=", "rows": "double",
              "base_score": numpy.ravel(model._baseline_prediction).tolist(), "trees": trees}
    if any(levels):
        forest.update(feature_levels=levels, unknown_levels_missing=True)
    return forest


def forest(model):
    """The model as a dictionary. ValueError where its predictions are no sum of trees, or it is not fitted."""
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if isinstance(model, HISTOGRAM):
        content = _histogram(model)
    elif isinstance(model, BOOSTED):
        content = _boosted(model)
    elif isinstance(model, FORESTS):
        content = _forest(model, model.estimators_)
    elif isinstance(model, TREES):
        content = _forest(model, [model])
    else:
        instead = ("give model.best_estimator_" if hasattr(model, "best_estimator_") else
                   "give model[-1], and rows that model[:-1].transform gives" if hasattr(model, "steps") else
                   "it reads decision trees, forests, gradient boosting and histogram gradient boosting")
        raise ValueError(f"{type(model).__name__} is not a tree model that retable reads: {instead}")
    names = getattr(model, "feature_names_in_", None)
    named = {} if names is None else {"feature_names": [str(n) for n in names]}
    return {"format": "retable-forest", "version": 1, "features": model.n_features_in_, **named,
            **content}


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
    save(joblib.load(sys.argv[1]), sys.argv[2])
