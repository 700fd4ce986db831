"""Asks the installed XGBoost what its base_score means: writes the tables that xgboost_test reads.

    python3 write_table.py FOLDER

writes FOLDER/base_scores.csv (a line for every objective and base_score: what the model file holds
and the margin of a model whose trees add nothing) and FOLDER/models-VERSION.json (small trained
models as JSON or, in hexadecimal digits, UBJSON, with rows and pred_contribs). Data are drawn here.
Run it once with each version of XGBoost, oldest first; an existing table is added to.
"""

import json
import pathlib
import sys
import warnings

import numpy
import xgboost

warnings.filterwarnings("ignore")
xgboost.set_config(verbosity=0)
VERSION = xgboost.__version__
RANDOM = numpy.random.default_rng(3)
ROWS = 60
X = RANDOM.normal(size=(ROWS, 3)).astype(numpy.float32)
SCORE = X[:, 0] + 0.5 * X[:, 1]
CLASS = numpy.floor(numpy.clip(SCORE + 1.5, 0, 2))
POSITIVE = numpy.exp(SCORE)
BINARY = (SCORE > 0).astype(float)
LABELS = {
    "reg:squarederror": SCORE, "reg:linear": SCORE, "reg:squaredlogerror": POSITIVE,
    "reg:pseudohubererror": SCORE, "reg:absoluteerror": SCORE, "reg:quantileerror": SCORE,
    "reg:expectileerror": SCORE, "reg:logistic": 1 / (1 + numpy.exp(-SCORE)),
    "binary:logistic": BINARY, "binary:logitraw": BINARY, "binary:hinge": BINARY,
    "count:poisson": numpy.floor(POSITIVE), "reg:gamma": POSITIVE, "reg:tweedie": POSITIVE,
    "survival:cox": POSITIVE, "survival:aft": POSITIVE, "multi:softmax": CLASS,
    "multi:softprob": CLASS, "rank:pairwise": CLASS, "rank:ndcg": CLASS, "rank:map": BINARY,
}
TWO_TARGETS = ("reg:squarederror", "reg:absoluteerror", "reg:logistic", "binary:logistic")
EDGES = (0.9999, 0.999999, 0.9999999, 0.0001, 1e-6, 1e-7, 1e-30)


def data(objective, label):
    rows = xgboost.DMatrix(X, label=None if objective == "survival:aft" else label)
    if objective == "survival:aft":
        rows.set_float_info("label_lower_bound", label)
        rows.set_float_info("label_upper_bound", 2 * label)
    if objective.startswith("rank:"):
        rows.set_group([20, 20, 20])
    return rows


def train(objective, label, base, rounds=1, **more):
    parameters = {"objective": objective, "max_depth": 2, "eta": 0.0, "tree_method": "hist", **more}
    if base is not None:
        parameters["base_score"] = base
    if objective.startswith("multi:"):
        parameters["num_class"] = 3
    if objective in ("reg:quantileerror", "reg:expectileerror"):
        parameters[objective[4:-5] + "_alpha"] = [0.2, 0.7]
    rows = data(objective, label)
    return xgboost.train(parameters, rows, rounds), rows


def base_scores():
    """Lines "objective,num_class,num_target,given,stored,margins"."""
    cases = [(o, y, b) for o, y in LABELS.items() for b in (None, 0.5, 0.3, 2.0)]
    cases += [(o, numpy.stack([LABELS[o], LABELS[o][::-1]], 1), b)
              for o in TWO_TARGETS for b in (None, 0.3, [0.2, 0.7])]
    cases += [(o, LABELS[o], b) for o in ("reg:logistic", "binary:logistic") for b in EDGES]
    cases += [(o, LABELS[o], 1e-30) for o in ("count:poisson", "reg:gamma", "survival:aft")]
    cases += [("binary:logistic", numpy.full(ROWS, float(v)), None) for v in (0, 1)]
    for objective, label, base in cases:
        try:
            model, rows = train(objective, label, base)
            contributions = model.predict(rows, pred_contribs=True)
        except (xgboost.core.XGBoostError, ValueError):
            continue  # this version has no such objective, or refuses the base_score
        learner = json.loads(model.save_raw("json"))["learner"]
        held, trees = learner["learner_model_param"], learner["gradient_booster"]["model"]
        margins = contributions[0].reshape(-1, 4).sum(1)
        leaves = numpy.ravel(model.predict(rows, pred_leaf=True)[0]).astype(int)
        for tree, group, leaf in zip(trees["trees"], trees["tree_info"], leaves):
            margins[group] -= tree["split_conditions"][leaf]  # 1.7 fits some whatever eta is
        if not numpy.isfinite(margins).all():
            continue
        given = "" if base is None else base
        yield ",".join([objective, held["num_class"], held.get("num_target", "1"),
                        str(given).replace(",", ""), held["base_score"].replace(",", " "),
                        " ".join(repr(float(m)) for m in margins)])


def model(name, booster, rows, ubj, **predict):
    """A model with rows and the values that its trainer gives them."""
    text = booster.save_raw("ubj" if ubj else "json")

    def values(**which):
        answers = booster.predict(xgboost.DMatrix(rows), pred_contribs=True, **which)
        return answers.reshape(len(rows), -1).tolist()

    return {"name": name, "values": values(**predict), "values_of_all_trees": values(),
            "rows": [[None if numpy.isnan(v) else float(v) for v in row] for row in rows],
            "ubj" if ubj else "json": bytes(text).hex() if ubj else json.loads(text)}


def models():
    rows = X[:3].copy()
    rows[1, 0] = numpy.nan
    rows[2, 1] = numpy.nan
    raw, _ = train("binary:logitraw", BINARY, None, eta=0.5)
    yield model("logitraw", raw, rows, ubj=False)
    dart, _ = train("binary:logistic", BINARY, 0.3, 2, eta=0.5, booster="dart", rate_drop=1.0,
                    max_depth=1)
    yield model("dart", dart, rows, ubj=True)
    if VERSION[:3] not in ("1.7", "3.2"):
        return  # what a file holds on early stopping changed in 2.0 alone
    train_rows = xgboost.DMatrix(X[:30], label=BINARY[:30])
    held_out = xgboost.DMatrix(X[30:], label=1 - BINARY[30:])
    early = xgboost.train(
        {"objective": "multi:softprob", "num_class": 2, "eta": 1.0, "max_depth": 1,
         "num_parallel_tree": 2, "subsample": 0.7, "seed": 1, "tree_method": "hist"},
        train_rows, 9, evals=[(held_out, "held")], early_stopping_rounds=1, verbose_eval=False)
    assert early.best_iteration + 1 < early.num_boosted_rounds()
    yield model("early stopping", early, rows, ubj=True,
                iteration_range=(0, early.best_iteration + 1))


def main(folder):
    folder = pathlib.Path(folder)
    table = folder / "base_scores.csv"
    versions = {}  # by line: those that agree on it
    if table.exists():
        for line in table.read_text().splitlines()[1:]:
            those, rest = line.split(",", 1)
            versions[rest] = those.split(" ")
    for rest in base_scores():
        those = versions.setdefault(rest, [])
        if VERSION not in those:
            those.append(VERSION)
    table.write_text("versions,objective,num_class,num_target,given,stored,margins\n" + "".join(
        " ".join(those) + "," + rest + "\n" for rest, those in versions.items()))
    with (folder / f"models-{VERSION}.json").open("w") as file:
        json.dump(list(models()), file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
