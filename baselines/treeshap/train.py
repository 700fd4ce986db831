#!/usr/bin/env python3
"""Trains a tree model by a Python package, for the zoo (docs/other-languages.md tells the protocol).

    python3 baselines/treeshap/train.py PACKAGE

PACKAGE: lightgbm (boosted trees), or scikit-learn (gradient boosting where a number of leaves is given, else a random
forest). "load" brings the rows, the labels (classes as 0, 1, ...) and the settings: rounds, depth (0: no limit), leaves
(0: as many as the depth allows), eta, classes (0: regression), categories (the columns of category codes; LightGBM
alone uses them), threads (0: all). Answered is one array of bytes, the model as a file that `retable shap` reads.
"""

import importlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "apps", "shap")]
import contender  # noqa: E402
import numpy  # noqa: E402

MODULES = {"lightgbm": "lightgbm", "scikit-learn": "sklearn"}


def lightgbm(rows, labels, wanted):
    package = importlib.import_module("lightgbm")
    depth, classes = wanted["depth"], wanted["classes"]
    settings = {"objective": "regression" if not classes else "binary" if classes == 2 else "multiclass",
                "num_leaves": wanted["leaves"] or 2 ** depth, "max_depth": depth or -1,
                "learning_rate": wanted["eta"], "num_threads": wanted["threads"], "deterministic": True, "verbose": -1}
    if classes > 2:
        settings["num_class"] = classes
    data = package.Dataset(rows, labels, categorical_feature=wanted["categories"])
    return package.train(settings, data, wanted["rounds"]).model_to_string()


def scikit_learn(rows, labels, wanted):
    ensemble = importlib.import_module("sklearn.ensemble")
    depth = wanted["depth"] or None
    if wanted["leaves"]:
        kind = ensemble.HistGradientBoostingClassifier if wanted["classes"] else ensemble.HistGradientBoostingRegressor
        model = kind(learning_rate=wanted["eta"], max_iter=wanted["rounds"], max_leaf_nodes=wanted["leaves"],
                     max_depth=depth, early_stopping=False, random_state=0)
    else:
        kind = ensemble.RandomForestClassifier if wanted["classes"] else ensemble.RandomForestRegressor
        model = kind(wanted["rounds"], max_depth=depth, n_jobs=wanted["threads"] or -1, random_state=0)
    return json.dumps(importlib.import_module("from_scikit_learn").forest(model.fit(rows, labels)))


class Trainer(contender.Contender):
    def __init__(self, package):
        self.train = {"lightgbm": lightgbm, "scikit-learn": scikit_learn}[package]
        self.name = contender.package(MODULES[package])

    def run(self):
        self.model = self.train(self.arrays["rows"], self.arrays["labels"], self.request)

    def answer(self, request):
        return [("model", numpy.frombuffer(self.model.encode(), numpy.uint8))]


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in MODULES:
        sys.exit(f"usage: train.py PACKAGE; PACKAGE is one of {', '.join(MODULES)}")
    Trainer(sys.argv[1]).serve()
