#!/usr/bin/env python3
"""Values or interactions of an XGBoost model by a Python package, as a contender (docs/other-languages.md).

    python3 baselines/treeshap/package.py METHOD [cuda]

METHOD: retable; xgboost (pred_contribs and pred_interactions; from 3.3 on it computes by quadrature of eight fixed points,
before by EXTEND and UNWIND); lightgbm (pred_contrib on the same trees, written in its own format); shap, whose
TreeExplainer asks XGBoost; shap-own, the same with shap's own C++ code; fasttreeshap; or woodelf. A run goes from row-major
float32 rows to values, XGBoost's DMatrix and woodelf's frame included; what prepares a model is not timed. With "cuda" a
package that was built without CUDA is not available. Background rows, for interventional values, are for woodelf alone,
which counts them anew in each run.
"""

import importlib
import json
import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contender  # noqa: E402
import numpy  # noqa: E402


def booster(model, request):
    import xgboost

    settings = {"device": request["device"], "nthread": request["threads"]}
    loaded = xgboost.Booster(settings)
    loaded.load_model(bytearray(model))
    loaded.set_param(settings)
    return loaded


def xgboost(model, request):
    package, loaded = importlib.import_module("xgboost"), booster(model, request)
    return (lambda rows, what: loaded.predict(package.DMatrix(rows, nthread=request["threads"]), **{what: True}),
            lambda phi: phi)


def lightgbm_tree(number, tree):
    """A tree of XGBoost's JSON in LightGBM's text. LightGBM splits by <=, or lists the categories that go left, where
    XGBoost lists those that go right; it weighs children by whole numbers of rows: covers are scaled to about a billion
    at the root."""
    left, right = numpy.array(tree["left_children"]), numpy.array(tree["right_children"])
    leaf, limits = left < 0, numpy.array(tree["split_conditions"], "float32")
    # Nodes are numbered apart: inner ones 0, 1, ..., leaves -1, -2, ...
    place = numpy.where(leaf, -numpy.cumsum(leaf), numpy.cumsum(~leaf) - 1)
    cover = numpy.array(tree["sum_hessian"], float)
    count = numpy.maximum(1, numpy.rint(cover * (1e9 / max(cover[0], 1e-30)))).astype(int)
    for node in numpy.flatnonzero(~leaf)[::-1]:  # children stand behind their parents
        count[node] = count[left[node]] + count[right[node]]
    inner = ~leaf
    thresholds = numpy.nextafter(limits, numpy.float32(-numpy.inf)).astype(float)
    words, bounds = [], [0]
    for node, first, size in zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"]):
        right_ones = set(tree["categories"][first:first + size])
        thresholds[node] = len(bounds) - 1
        for begin in range(0, max(right_ones, default=-1) + 1, 32):
            words.append(sum(1 << bit for bit in range(32) if begin + bit not in right_ones))
        bounds.append(len(words))
    by_category = numpy.array(tree["split_type"])[inner]
    fields = {"split_feature": numpy.array(tree["split_indices"])[inner],
              "threshold": thresholds[inner],
              # By category (1); missing values are NaN (8), and go left (2) or right.
              "decision_type": 8 + 2 * numpy.array(tree["default_left"])[inner].astype(int) + by_category,
              "left_child": place[left[inner]], "right_child": place[right[inner]],
              "leaf_value": limits[leaf].astype(float), "leaf_count": count[leaf], "internal_count": count[inner]}
    if words:
        fields.update(cat_boundaries=numpy.array(bounds), cat_threshold=numpy.array(words))
    lines = [f"Tree={number}", f"num_leaves={leaf.sum()}", f"num_cat={len(bounds) - 1}"]
    lines += [f"{name}=" + " ".join(map(repr, values.tolist())) for name, values in fields.items() if len(values)]
    return "\n".join(lines) + "\nshrinkage=1\n\n\n"


def lightgbm(model, request):
    package = importlib.import_module("lightgbm")
    learner = json.loads(booster(model, request).save_raw("json"))["learner"]
    parameters, trees = learner["learner_model_param"], learner["gradient_booster"]["model"]
    features, outputs = int(parameters["num_feature"]), max(1, int(parameters["num_class"]))
    base = float(parameters["base_score"].strip("[]").split(",")[0])
    # LightGBM takes the outputs in turns.
    order = numpy.argsort(trees["tree_info"], kind="stable").reshape(outputs, -1).T.ravel()
    text = (f"tree\nversion=v4\nnum_class={outputs}\nnum_tree_per_iteration={outputs}\nlabel_index=0\n"
            f"max_feature_idx={features - 1}\nfeature_names={' '.join(f'f{i}' for i in range(features))}\n"
            f"feature_infos={' '.join(['none'] * features)}\n\n")
    text += "".join(lightgbm_tree(number, trees["trees"][at]) for number, at in enumerate(order))
    loaded = package.Booster(model_str=text + "end of trees\n\nparameters:\nend of parameters\n")

    def explain(rows, what):
        if what != "pred_contribs":
            raise ValueError("LightGBM has no interaction values")
        return loaded.predict(rows, pred_contrib=True, num_threads=request["threads"])

    def finish(phi):
        phi = phi.reshape(len(phi), outputs, features + 1).copy()
        phi[:, :, -1] += base
        return phi

    return explain, finish


def like_shap(explainer, told_by=None, **more):
    """What explains, and what makes of its answer one array with the expected values in the last place: those of
    `told_by` where the explainer's own are not the trees'."""
    def explain(rows, what):
        if what == "pred_contribs":
            return explainer.shap_values(rows, **more)
        return explainer.shap_interaction_values(rows)

    def finish(values):
        values = numpy.asarray(values)
        expected = numpy.atleast_1d((told_by or explainer).expected_value)
        features = values.shape[1]
        sides = values.ndim - 1 if len(expected) == 1 else values.ndim - 2
        values = numpy.moveaxis(values.reshape(values.shape[:1 + sides] + (-1,)), -1, 1)
        phi = numpy.zeros(values.shape[:2] + (features + 1,) * sides)
        phi[(..., *[slice(features)] * sides)] = values
        phi[(..., *[features] * sides)] = expected
        return phi

    return explain, finish


def retable(model, request):
    package = importlib.import_module("retable")
    return like_shap(package.TreeExplainer(model, device=request["device"], threads=request["threads"]))


def shap_explainer(model, request):
    loaded = booster(model, request)
    explainer = importlib.import_module("shap").TreeExplainer(loaded)
    # Until XGBoost has answered once, the expected value is not that of the trees.
    explainer.shap_values(numpy.zeros((1, loaded.num_features())))
    return explainer


def shap(model, request, own=False):
    explainer = shap_explainer(model, request)
    if own:
        explainer.model.model_type = "internal"  # else it asks XGBoost
    return like_shap(explainer, check_additivity=False)


def fasttreeshap(model, request):
    package = importlib.import_module("fasttreeshap")
    return like_shap(package.TreeExplainer(booster(model, request), n_jobs=request["threads"]),
                     check_additivity=False)


def woodelf(model, request, background=None):
    pandas, package = importlib.import_module("pandas"), importlib.import_module("woodelf")
    loaded = booster(model, request)
    if background is None:
        explainer, told_by = package.WoodelfExplainer(loaded), shap_explainer(model, request)
    else:
        explainer = package.WoodelfExplainer(loaded, pandas.DataFrame(background))
        # Its own expected value is that of 100 background rows.
        margins = loaded.predict(importlib.import_module("xgboost").DMatrix(background), output_margin=True)
        told_by = types.SimpleNamespace(expected_value=margins.mean(0, dtype=float))
    explain, finish = like_shap(explainer, told_by=told_by)
    return lambda rows, what: explain(pandas.DataFrame(rows), what), finish


# The modules a method needs, its own first; and what makes of a model two functions: (rows, what) -> an answer, which is
# timed, and answer -> an array [rows, outputs, features + 1], or with its last extent twice.
METHODS = {
    "retable": (["retable"], retable),
    "xgboost": (["xgboost"], xgboost),
    "lightgbm": (["lightgbm", "xgboost"], lightgbm),
    "shap": (["shap", "xgboost"], shap),
    "shap-own": (["shap", "xgboost"], lambda model, request: shap(model, request, own=True)),
    "fasttreeshap": (["fasttreeshap", "xgboost"], fasttreeshap),
    "woodelf": (["woodelf", "shap", "xgboost"], woodelf),
}


def lacks_cuda(module):
    package = importlib.import_module(module)
    if module == "xgboost":
        return not package.build_info().get("USE_CUDA")
    return module != "retable" or package.cuda_devices() == 0


class Package(contender.Contender):
    def __init__(self, method, cuda):
        modules, self.make = METHODS[method]
        contender.require(*modules)
        if method in ("xgboost", "lightgbm"):  # import these if they can, for seconds, and need neither
            sys.modules.update(sklearn=None, pandas=None)
        self.name = contender.package(modules[0])
        if method == "fasttreeshap" and not numpy.__version__.startswith("1."):
            contender.unavailable(f"{self.name} is compiled for NumPy 1; this is {numpy.__version__}")
        if cuda and lacks_cuda(modules[0]):
            contender.unavailable(f"this {modules[0]} was built without CUDA, or no device answers")

    def load(self, request, arrays):
        if "model" in arrays:
            request["threads"] = request["threads"] or len(os.sched_getaffinity(0))
            self.model, self.request = arrays["model"].tobytes(), request
            self.explain, self.finish = self.make(self.model, request)
        if "background" in arrays:
            if self.make is not woodelf:
                raise ValueError(f"{self.name} is given no background here")
            self.explain, self.finish = woodelf(self.model, self.request, arrays["background"])
        if "rows" in arrays:
            self.rows, self.what = arrays["rows"], request["what"]

    def run(self):
        self.phi = self.explain(self.rows, self.what)

    def answer(self, request):
        return [("phi", numpy.ascontiguousarray(self.finish(self.phi), dtype="float32"))]


if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in METHODS or sys.argv[2:] not in ([], ["cuda"]):
        sys.exit(f"usage: package.py METHOD [cuda]; METHOD is one of {', '.join(METHODS)}")
    Package(sys.argv[1], sys.argv[2:] == ["cuda"]).serve()
