#!/usr/bin/env python3
"""Random models of every trainer against `retable shap`, for as long as there is time.

    oracle_trainers.py build/retable [--seconds 60] [--seed N] [--only NAME,...] [--cases N]

Draws data (missing values, categories, seconds since 1970, weights), an objective and parameters,
trains, explains rows with the program and compares: XGBoost, LightGBM and CatBoost (through
from_catboost.py) with their own contributions, scikit-learn (through from_scikit_learn.py) with the
definition, all subsets of the features, on the model's own trees, and its sums with the model's
predictions. Trainers that are not installed are named and left out.

A failing case is drawn again with fewer rows, features and trees for as long as it fails; the
smallest one's model, data and both answers are kept in ORACLE_FAILURES (default: oracle-failures)
for a regression test. Prints a table: suite, cases, seconds, failures. Exit 1 on a failure.
"""

import argparse
import csv
import importlib.util
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "apps" / "shap"))
sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")
TOLERANCE = 2e-5  # of the largest value: the trainers' contributions are floats


class Case:
    """What a case is drawn from: the same numbers give the same case."""

    def __init__(self, seed, rows=120, features=5, rounds=4):
        self.seed, self.rows, self.features, self.rounds = seed, rows, features, rounds
        self.random = None  # drawn from afresh by each use

    def smaller(self):
        for name, least in (("rounds", 1), ("features", 1), ("rows", 8)):
            size = getattr(self, name)
            for less in (size // 2, size - 1):
                if least <= less < size:
                    sizes = {"rows": self.rows, "features": self.features, "rounds": self.rounds}
                    yield Case(self.seed, **{**sizes, name: less})

    def __str__(self):
        return f"seed {self.seed}, rows {self.rows}, features {self.features}, rounds {self.rounds}"

    def table(self, missing=True):
        """Columns of several kinds; `missing`: with missing values, in one case of two."""
        kinds = (lambda: self.random.normal(size=self.rows),
                 lambda: self.random.integers(0, 4, self.rows),
                 lambda: self.random.integers(1_600_000_000, 1_600_000_500, self.rows),
                 lambda: numpy.round(self.random.lognormal(3, 1, self.rows), 2),
                 lambda: self.random.normal(size=self.rows) * 1e-3 + 0.1)
        x = numpy.stack([self.random.choice(kinds)() for _ in range(self.features)], 1).astype(float)
        if missing and self.random.random() < 0.5:
            x[self.random.random(x.shape) < 0.15] = numpy.nan
        return x

    def score(self, x):
        ranks = numpy.argsort(numpy.argsort(x, axis=0), axis=0) / max(1, len(x) - 1)
        return ranks @ self.random.normal(size=x.shape[1]) + 0.3 * self.random.normal(size=len(x))

    def labels(self, score, kind):
        """kind: real, positive, count, fraction, binary, or a number of classes."""
        if kind == "real":
            return score
        if kind in ("positive", "count"):
            return numpy.floor(numpy.exp(score)) if kind == "count" else numpy.exp(score)
        if kind == "fraction":
            return 1 / (1 + numpy.exp(-score))
        classes = 2 if kind == "binary" else kind
        order = numpy.argsort(numpy.argsort(score))
        return (order * classes // len(score)).astype(float)

    def weights(self):
        return self.random.integers(1, 4, self.rows) if self.random.random() < 0.3 else None


# --- XGBoost -----------------------------------------------------------------------------------------

XGBOOST = {"reg:squarederror": "real", "reg:squaredlogerror": "positive", "reg:logistic": "fraction",
           "reg:pseudohubererror": "real", "reg:absoluteerror": "real", "reg:gamma": "positive",
           "reg:tweedie": "positive", "reg:quantileerror": "real", "binary:logistic": "binary",
           "binary:logitraw": "binary", "binary:hinge": "binary", "count:poisson": "count",
           "survival:cox": "positive", "survival:aft": "positive", "multi:softmax": 3,
           "multi:softprob": 3, "rank:pairwise": 3, "rank:ndcg": 3, "rank:map": "binary"}


def xgboost_rows(xgboost, case, objective, x, label, weights):
    rows = xgboost.DMatrix(x, label=None if objective == "survival:aft" else label)
    if objective == "survival:aft":
        rows.set_float_info("label_lower_bound", label)
        rows.set_float_info("label_upper_bound", label * 1.5)
    if objective.startswith("rank:"):
        rows.set_group([case.rows // 2, case.rows - case.rows // 2])
    elif weights is not None:
        rows.set_weight(weights)
    return rows


def train_xgboost(case, folder):
    """(model file, rows, answers, options of the program)"""
    import xgboost
    xgboost.set_config(verbosity=0)
    objective = str(case.random.choice(list(XGBOOST)))
    x = case.table()
    score = case.score(x)
    label = case.labels(score, XGBOOST[objective])
    parameters = {"objective": objective, "max_depth": int(case.random.integers(1, 6)),
                  "eta": 0.5, "tree_method": "hist", "seed": case.seed % 1000,
                  "subsample": case.random.choice([0.6, 1.0]), "nthread": 1}
    if XGBOOST[objective] == 3 and objective.startswith("multi:"):
        parameters["num_class"] = 3
    if objective == "reg:quantileerror":
        parameters["quantile_alpha"] = [0.2, 0.7]
    if case.random.random() < 0.5:
        parameters["base_score"] = float(case.random.choice([0.5, 0.3, 0.999999, 1e-4]))
    if case.random.random() < 0.3:
        parameters.update(booster="dart", rate_drop=0.5)
    if case.random.random() < 0.3 and objective not in ("reg:absoluteerror", "reg:quantileerror"):
        parameters["num_parallel_tree"] = 2
    rows = xgboost_rows(xgboost, case, objective, x, label, case.weights())
    rounds, more = case.rounds, {}
    if case.random.random() < 0.3:
        noise = case.random.permutation(label)
        held_out = xgboost_rows(xgboost, case, objective, x, noise, None)
        more = {"evals": [(held_out, "held")], "early_stopping_rounds": 1, "verbose_eval": False}
    model = xgboost.train(parameters, rows, rounds, **more)
    path = folder / ("model." + str(case.random.choice(["json", "ubj"])))
    model.save_model(path)
    options, which = [], {}
    if model.attr("best_iteration") is not None:
        if case.random.random() < 0.5:
            options = ["--all-trees"]
        else:
            which = {"iteration_range": (0, model.best_iteration + 1)}
    answers = model.predict(xgboost.DMatrix(x), pred_contribs=True, **which)
    return path, x, answers.reshape(len(x), -1, case.features + 1), options


# --- LightGBM ----------------------------------------------------------------------------------------

LIGHTGBM = {"regression": "real", "regression_l1": "real", "huber": "real", "fair": "real",
            "poisson": "count", "quantile": "real", "mape": "positive", "gamma": "positive",
            "tweedie": "positive", "binary": "binary", "multiclass": 3, "multiclassova": 3,
            "cross_entropy": "fraction", "cross_entropy_lambda": "fraction", "lambdarank": 3,
            "rank_xendcg": 3}


def train_lightgbm(case, folder):
    import lightgbm
    objective = str(case.random.choice(list(LIGHTGBM)))
    x = case.table()
    label = case.labels(case.score(x), LIGHTGBM[objective])
    boosting = str(case.random.choice(["gbdt", "dart", "rf"]))
    if boosting == "rf" and objective in ("lambdarank", "rank_xendcg"):
        boosting = "gbdt"
    parameters = {"objective": objective, "boosting": boosting, "verbosity": -1, "num_threads": 1,
                  "num_leaves": int(case.random.integers(2, 16)), "min_data_in_leaf": 3,
                  "learning_rate": 0.4, "seed": case.seed % 1000, "bagging_freq": 1,
                  "bagging_fraction": 0.7, "use_missing": bool(case.random.random() < 0.8),
                  "zero_as_missing": bool(case.random.random() < 0.2)}
    if objective.startswith("multiclass"):
        parameters["num_class"] = 3
    codes = [f for f in range(case.features) if numpy.nanmax(numpy.append(x[:, f], -1)) in (1, 2, 3)
             and numpy.array_equal(x[:, f][x[:, f] == x[:, f]], numpy.floor(x[:, f][x[:, f] == x[:, f]]))]
    group = [case.rows // 2, case.rows - case.rows // 2] if "rank" in objective else None
    data = lightgbm.Dataset(x, label, group=group, free_raw_data=False,
                            weight=None if group else case.weights(),
                            categorical_feature=codes if case.random.random() < 0.5 else [])
    more = {}
    if case.random.random() < 0.3 and boosting == "gbdt" and not group:
        held_out = lightgbm.Dataset(x, case.random.permutation(label), reference=data)
        more = {"valid_sets": [held_out], "callbacks": [lightgbm.early_stopping(1, verbose=False)]}
    model = lightgbm.train(parameters, data, case.rounds, **more)
    path = folder / "model.txt"
    model.save_model(path)
    answers = model.predict(x, pred_contrib=True)
    return path, x, answers.reshape(len(x), -1, case.features + 1), []


# --- scikit-learn ------------------------------------------------------------------------------------


class Walk:
    """A node's side and the covers of a tree as scikit-learn holds them, not as the script writes it."""

    def __init__(self, model, tree, scale=1.0):
        self.histogram = hasattr(tree, "nodes")
        self.tree, self.scale, self.model = tree, scale, model
        nodes = tree.nodes if self.histogram else tree.tree_.__getstate__()["nodes"]
        self.nodes = nodes
        if self.histogram:
            self.left, self.right = nodes["left"].astype(int), nodes["right"].astype(int)
            self.feature = nodes["feature_idx"].astype(int)
            self.leaf = nodes["is_leaf"] != 0
            self.cover = nodes["count"].astype(float)
            self.threshold = nodes["num_threshold"]
            self.value = nodes["value"][:, None]
        else:
            self.left, self.right = nodes["left_child"], nodes["right_child"]
            self.feature, self.leaf = nodes["feature"], nodes["left_child"] < 0
            self.cover, self.threshold = nodes["weighted_n_node_samples"], nodes["threshold"]
            value = tree.tree_.value
            if hasattr(tree, "classes_"):
                sizes = numpy.atleast_1d(tree.n_classes_)
                value = [value[:, o, :k] / value[:, o, :k].sum(1, keepdims=True)
                         for o, k in enumerate(sizes)]
                self.value = numpy.concatenate(value, 1)
            else:
                self.value = value[:, :, 0]
        self.missing_left = nodes["missing_go_to_left"] != 0

    def goes_left(self, n, x):
        """x: the row as the model holds it (HistGradientBoosting reorders it)."""
        value = x[self.feature[n]]
        if numpy.isnan(value):
            return self.missing_left[n]
        if self.histogram and self.nodes["is_categorical"][n]:
            bits = self.tree.raw_left_cat_bitsets[self.nodes["bitset_idx"][n]]
            return bool((int(bits[int(value) // 32]) >> (int(value) % 32)) & 1)
        return (value if self.histogram else numpy.float32(value)) <= self.threshold[n]

    def expect(self, x, known, n=0):
        if self.leaf[n]:
            return self.scale * self.value[n]
        left, right = self.left[n], self.right[n]
        if self.feature[n] in known:
            return self.expect(x, known, left if self.goes_left(n, x) else right)
        share = self.cover[left] / (self.cover[left] + self.cover[right])
        return share * self.expect(x, known, left) + (1 - share) * self.expect(x, known, right)


def subsets(walks, groups, outputs, rows, base):
    """The definition: rows x outputs x (features + 1)."""
    features = rows.shape[1]
    answers = numpy.zeros((len(rows), outputs, features + 1))
    for r, x in enumerate(rows):
        games = {}
        for known in itertools.chain.from_iterable(
                itertools.combinations(range(features), k) for k in range(features + 1)):
            total = base.copy()
            for walk, group in zip(walks, groups):
                if group is None:
                    total += walk.expect(x, known)
                else:
                    total[group] += walk.expect(x, known)[0]
            games[known] = total
        answers[r, :, features] = games[()]
        for f in range(features):
            for known, value in games.items():
                if f not in known:
                    size = len(known)
                    weight = (math.factorial(size) * math.factorial(features - size - 1)
                              / math.factorial(features))
                    answers[r, :, f] += weight * (games[tuple(sorted(known + (f,)))] - value)
    return answers


def scikit_learn_model(case):
    """(fitted model, its table, rows to explain)"""
    from sklearn import ensemble, tree
    kinds = [("DecisionTree", tree), ("ExtraTree", tree), ("RandomForest", ensemble),
             ("ExtraTrees", ensemble), ("GradientBoosting", ensemble),
             ("HistGradientBoosting", ensemble)]
    name, module = kinds[case.seed % len(kinds)]
    classes = int(case.random.choice([0, 2, 3]))
    make = getattr(module, name + ("Classifier" if classes else "Regressor"))
    x = case.table(missing=name != "GradientBoosting")
    labels = [case.labels(case.score(x), classes or "real")]
    if name not in ("GradientBoosting", "HistGradientBoosting") and case.random.random() < 0.4:
        labels.append(case.labels(case.score(x), 2 if classes else "real"))
    y = labels[0] if len(labels) == 1 else numpy.stack(labels, 1)
    parameters = {"random_state": case.seed % 1000}
    if name == "HistGradientBoosting":
        parameters.update(max_iter=case.rounds, max_leaf_nodes=int(case.random.integers(2, 9)),
                          min_samples_leaf=3)
        codes = [f for f in range(case.features) if set(x[:, f][x[:, f] == x[:, f]]) <= {0, 1, 2, 3}]
        if codes and case.random.random() < 0.7:
            parameters["categorical_features"] = codes
        if not classes:
            parameters["loss"] = str(case.random.choice(["squared_error", "absolute_error"]))
    else:
        parameters["max_depth"] = int(case.random.integers(1, 4))
        if name == "GradientBoosting":
            parameters.update(n_estimators=case.rounds, subsample=float(case.random.choice([0.7, 1])),
                              init="zero" if case.random.random() < 0.3 else None)
        elif name in ("RandomForest", "ExtraTrees"):
            parameters.update(n_estimators=case.rounds, bootstrap=bool(case.random.random() < 0.5))
    model = make(**parameters)
    model.fit(x, y, sample_weight=case.weights())
    rows = x[:6].copy()
    if name != "GradientBoosting" and numpy.isnan(x).any():
        rows[0] = numpy.nan
    return model, rows


def train_scikit_learn(case, folder):
    import from_scikit_learn
    model, rows = scikit_learn_model(case)
    path = folder / "model.json"
    from_scikit_learn.save(model, path)
    inner, order = rows, numpy.arange(case.features)
    if isinstance(model, from_scikit_learn.HISTOGRAM):
        base = numpy.ravel(model._baseline_prediction).astype(float)
        if getattr(model, "_preprocessor", None) is not None:
            inner = model._preprocessor.transform(rows)
            order = numpy.argsort(~numpy.asarray(model.is_categorical_), kind="stable")
        walks = [Walk(model, p) for stage in model._predictors for p in stage]
        groups = [g for stage in model._predictors for g in range(len(stage))]
        sums = model._raw_predict(rows)
    elif isinstance(model, from_scikit_learn.BOOSTED):
        base = numpy.ravel(model._raw_predict_init(rows[:1].astype(numpy.float32))).astype(float)
        walks = [Walk(model, e, model.learning_rate) for stage in model.estimators_ for e in stage]
        groups = [g for stage in model.estimators_ for g in range(len(stage))]
        sums = model._raw_predict(rows.astype(numpy.float32))
    else:
        trees = getattr(model, "estimators_", [model])
        walks = [Walk(model, e, 1 / len(trees)) for e in trees]
        groups = [None] * len(walks)
        base = numpy.zeros(walks[0].value.shape[1])
        sums = model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)
        sums = numpy.concatenate(sums, 1) if isinstance(sums, list) else sums
    answers = subsets(walks, groups, len(base), inner, base)
    back = numpy.empty_like(answers)
    back[:, :, order] = answers[:, :, :case.features]
    back[:, :, case.features] = answers[:, :, case.features]
    difference = numpy.abs(answers.sum(2) - numpy.reshape(sums, (len(rows), -1))).max()
    if difference > 1e-6 * (1 + numpy.abs(sums).max()):
        raise AssertionError(f"the oracle's own sums miss the predictions by {difference}")
    return path, rows, back, []


# --- CatBoost ----------------------------------------------------------------------------------------


def train_catboost(case, folder):
    import catboost
    import from_catboost
    loss, kind = [("RMSE", "real"), ("Poisson", "count"), ("Logloss", "binary"),
                  ("MultiClass", 3), ("Quantile", "real")][case.random.integers(5)]
    x = case.table().astype(numpy.float32)
    label = case.labels(case.score(x), kind)
    weights = case.weights()
    policy = str(case.random.choice(["SymmetricTree", "Depthwise", "Lossguide"]))
    more = {} if policy == "SymmetricTree" else {"bootstrap_type": "No"}  # samples leave leaves empty
    model = catboost.CatBoost({"loss_function": loss, "iterations": case.rounds, "thread_count": 1,
                               "depth": int(case.random.integers(1, 5)), "logging_level": "Silent",
                               "allow_writing_files": False, "random_seed": case.seed % 1000,
                               "nan_mode": str(case.random.choice(["Min", "Max"])),
                               "grow_policy": policy, **more})
    model.fit(catboost.Pool(x, label, weight=weights))
    path = folder / "model.json"
    from_catboost.save(model, path)
    answers = model.get_feature_importance(catboost.Pool(x), type="ShapValues",
                                           shap_calc_type="Regular")
    raw = model.predict(x, prediction_type="RawFormulaVal")
    if policy != "SymmetricTree" and numpy.abs(answers.sum(-1) - raw).max() > 1e-8 * numpy.abs(raw).max():
        raise ValueError("CatBoost's own values miss its output, for a leaf without rows")
    return path, x.astype(float), answers.reshape(len(x), -1, case.features + 1), []


# --- The program's answers ---------------------------------------------------------------------------


def explain(program, path, rows, outputs, options, folder):
    data, out = folder / "rows.csv", folder / "phi.csv"
    with open(data, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"f{f}" for f in range(rows.shape[1])])
        writer.writerows([["" if v != v else repr(float(v)) for v in row] for row in rows])
    done = subprocess.run([program, "shap", "--model", path, "--data", data, "--out", out,
                           "--device", "cpu", "--precision", "double", *options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.strip()}")
    values = numpy.loadtxt(out, delimiter=",", skiprows=1, ndmin=2)[:, 2:]
    return values.reshape(len(rows), outputs, rows.shape[1] + 1)


TRAINERS = {"xgboost": ("xgboost", train_xgboost), "lightgbm": ("lightgbm", train_lightgbm),
            "scikit-learn": ("sklearn", train_scikit_learn),
            "catboost": ("catboost", train_catboost)}


def refused(problem):
    """Whether a trainer cannot train on the case, as shrinking leaves one row of a class."""
    return type(problem).__module__.split(".")[0] in ("xgboost", "lightgbm", "catboost",
                                                      "_catboost") or isinstance(problem, ValueError)


def failure(program, train, case, folder):
    """What is wrong with the case; empty where nothing is, None where it cannot be trained."""
    for file in folder.iterdir():
        file.unlink()
    case.random = numpy.random.default_rng(case.seed)
    try:
        path, rows, want, options = train(case, folder)
    except AssertionError as problem:
        return str(problem)
    except Exception as problem:  # the trainer's
        if refused(problem):
            return None
        raise
    if not numpy.isfinite(want).all():
        return None  # base_score 0 of counts: the trainer's own answer is minus infinity
    try:
        got = explain(program, path, rows, want.shape[1], options, folder)
    except AssertionError as problem:
        return str(problem)
    worst = numpy.abs(got - want).max()
    if worst <= TOLERANCE * max(1e-6, numpy.abs(want).max()):
        return ""
    numpy.savetxt(folder / "want.csv", want.reshape(len(rows), -1), delimiter=",")
    at = numpy.unravel_index(numpy.abs(got - want).argmax(), got.shape)
    return f"row {at[0]}, output {at[1]}, feature {at[2]}: {got[at]}, wanted {want[at]} {options}"


def shrink(program, train, case, folder):
    while True:
        for smaller in case.smaller():
            if failure(program, train, smaller, folder):
                case = smaller
                break
        else:
            return case, failure(program, train, case, folder)


def keep(name, case, what, folder):
    kept = pathlib.Path(os.environ.get("ORACLE_FAILURES", "oracle-failures")) / f"{name}-{case.seed}"
    kept.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        (kept / file.name).write_bytes(file.read_bytes())
    (kept / "what.txt").write_text(f"{name}: {case}\n{what}\n", encoding="utf-8")
    print(f"{name}: {case}: {what}\n  kept in {kept}", file=sys.stderr)


def run(program, name, train, seed, seconds, most):
    begun, cases, failures = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for draw in itertools.count():
            if cases > 0 and time.monotonic() - begun > seconds or draw >= most:
                break
            case = Case(seed + draw)
            what = failure(program, train, case, folder)
            cases += what is not None
            if what:
                failures += 1
                keep(name, *shrink(program, train, case, folder), folder)
    print(f"{'trainers.' + name:<44} {cases:>9} {time.monotonic() - begun:>9.1f} {failures:>9}",
          flush=True)
    return failures


def write(path, seed, cases):
    """Small models of scikit-learn with rows and answers, for the tests of the readers."""
    entries = []
    with tempfile.TemporaryDirectory() as temporary:
        for draw in range(cases):
            case = Case(seed + draw, rows=40, features=3, rounds=2)
            case.random = numpy.random.default_rng(case.seed)
            model, rows, answers, _ = train_scikit_learn(case, pathlib.Path(temporary))
            rows, answers = rows[:3], answers[:3]
            entries.append({
                "model": json.loads(model.read_text()), "values": numpy.ravel(answers).tolist(),
                "rows": [[None if v != v else v for v in row] for row in rows.tolist()]})
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    pathlib.Path(path).write_text("[" + lines + "]\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=60, help="of each trainer")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--cases", type=int, default=10**9, help="at most, of each trainer")
    parser.add_argument("--only", default=",".join(TRAINERS))
    parser.add_argument("--write", help="instead, write --cases models of scikit-learn to this file")
    a = parser.parse_args()
    if a.write:
        return write(a.write, a.seed, a.cases)
    print(f"trainers: --seed {a.seed}", flush=True)
    failures = 0
    for name in a.only.split(","):
        module, train = TRAINERS[name]
        if importlib.util.find_spec(module) is None:
            print(f"trainers.{name}: not installed, left out", flush=True)
            continue
        failures += run(str(pathlib.Path(a.program).resolve()), name, train, a.seed, a.seconds,
                        a.cases)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
