#!/usr/bin/env python3
"""Writes the trained models of this folder, rows, and what their trainers say of them.

For each case NAME: NAME.txt or NAME.json/.ubj (the model), NAME.csv (rows) and NAME.contributions.csv (the
trainer's own contributions: a line for each row, features and expected value of output after output). The
data are generated here. Run with lightgbm 4.7, xgboost 3.2 and pandas: python3 train.py
"""

import os

import lightgbm
import numpy as np
import pandas as pd
import xgboost

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 40  # explained
PARAMETERS = dict(
    verbose=-1, num_leaves=6, min_data_in_leaf=3, min_data_in_bin=1, min_data_per_group=1, cat_smooth=1,
    max_cat_to_onehot=2, learning_rate=0.5, num_threads=1, deterministic=True, seed=3,
)
# All that readers use of the parameters and of the trees.
KEPT = ("[boosting:", "[categorical_feature:")
UNUSED = ("split_gain=", "leaf_weight=", "internal_value=", "internal_weight=", "shrinkage=", "tree_sizes=")


def path(name):
    return os.path.join(HERE, name)


def write_rows(name, rows, contributions):
    rows.to_csv(path(name + ".csv"), index=False)
    np.savetxt(path(name + ".contributions.csv"), contributions, delimiter=",", fmt="%.17g")


def write_lightgbm(name, model, rows, table=None):
    """`table`: what the model is given, where that is not what the file holds."""
    contributions = model.predict(rows if table is None else table, pred_contrib=True)
    lines = [l for l in model.model_to_string().splitlines()
             if not l.startswith(UNUSED) and (not l.startswith("[") or l.startswith(KEPT))]
    with open(path(name + ".txt"), "w", newline="\n") as file:
        file.write("\n".join(lines) + "\n")
    write_rows(name, rows, contributions)


def train(data, target, trees=4, **parameters):
    return lightgbm.train({**PARAMETERS, **parameters}, lightgbm.Dataset(data, target), trees)


def doubles(random):
    """Values that floats round: neighbours that only doubles tell apart lie on both sides of a limit."""
    n = 300
    data = pd.DataFrame({
        "seconds": 1_700_000_000 + random.integers(0, 200, n),
        "id": 12_345_678 + random.integers(0, 60, n),
        "price": np.round(99_999.5 + random.integers(0, 300, n) * 0.01, 2),
        "latitude": 52.5 + random.integers(0, 400, n) * 1e-7,
    })
    target = (data["seconds"] % 7 + (data["id"] % 5) * 2 + (data["price"] * 100).round() % 3
              + ((data["latitude"] - 52.5) * 1e7).round() % 4 + random.normal(size=n) * 0.1)
    write_lightgbm("doubles", train(data, target, 8), data[:ROWS])


def zeros(random):
    """zero_as_missing: what lies in [-1e-35f, 1e-35f] is missing, and so is NaN."""
    n = 300
    data = pd.DataFrame(random.choice([0, 0, -1, 1, 2, 1e-30, -1e-30], (n, 3)), columns=list("abc"))
    target = (data["a"] == 0) * 3.0 + data["b"] - (data["c"] > 0) + random.normal(size=n) * 0.1
    rows = data[:ROWS].copy()
    rows.iloc[:10, 0] = [0, 1e-36, -1e-36, 1e-35, -1e-35, 1.1e-35, -1.1e-35, np.nan, 1e-34, -0.0]
    write_lightgbm("zeros", train(data, target, zero_as_missing=True), rows)


def missing(random):
    """Column a never lacked a value in training: NaN is 0 there. Column b did."""
    n = 300
    data = pd.DataFrame(random.normal(size=(n, 3)), columns=list("abc"))
    target = data["a"] + data["b"].fillna(2) * 2 + data["c"] ** 2
    data.loc[random.random(n) < 0.3, "b"] = np.nan
    rows = data[:ROWS].copy()
    rows.loc[:9, "a"] = np.nan
    rows.loc[5:14, "b"] = np.nan
    rows.loc[8:19, "c"] = [1e-36, -1e-36, 0, np.nan] * 3
    write_lightgbm("missing", train(data, target), rows)


def forest(random):
    """boosting=rf: contributions and raw scores are sums over trees, predictions means."""
    n = 300
    data = pd.DataFrame(random.normal(size=(n, 3)), columns=["mean radius", "a b c", "d_e"])
    target = (data.iloc[:, 0] + data.iloc[:, 1] ** 2 > 0.5) * 1
    model = train(data, target, 5, boosting="rf", objective="binary", bagging_freq=1, bagging_fraction=0.7)
    write_lightgbm("forest", model, data[:ROWS])


def table(random, n=400):
    store = random.choice([3, 5, 7, 9], n)
    city = random.choice(["b", "a", "New York, NY", "NA x", "Zürich"], n)
    size = random.choice(["s", "m", "l"], n)
    flag = random.choice([True, False], n)
    data = pd.DataFrame({
        "store": pd.Categorical(store), "x": random.normal(size=n), "city": pd.Categorical(city),
        "size": pd.Categorical(size, categories=["s", "m", "l"], ordered=True), "flag": pd.Categorical(flag),
        "half": pd.Categorical(random.choice([0.5, 1.5, 2.5], n)), "one": pd.Categorical(["z"] * n),
    })
    target = ((store == 5) * 3.0 - (store == 9) * 2 + (city == "a") * 2 + (city == "Zürich") * 1.5
              + (size == "m") * 2 + flag * 1.0 + (data["half"] == 1.5) * 1.0 + data["x"])
    return data, target


def pandas(random):
    data, target = table(random)
    model = train(data, target, 6, num_leaves=8)
    rows = data[:ROWS].astype({name: object for name in data.columns if name != "x"})
    rows.loc[0, "store"] = 4  # unknown categories are missing
    rows.loc[1, "city"] = "Oslo"
    rows.loc[2, "size"] = "xl"
    rows.loc[3, ["store", "city", "size", "flag"]] = np.nan
    given = rows.copy()
    for name in data.columns:
        if name != "x":
            known = given[name].where(given[name].isin(data[name].cat.categories))
            given[name] = pd.Categorical(known, categories=data[name].cat.categories, ordered=name == "size")
    write_lightgbm("pandas", model, rows, given)


def codes(random):
    """Categories that are numbers, without a table of categories."""
    n = 400
    ids = np.array([1001, 1002, 1003, 1004, 7])
    data = pd.DataFrame({"id": random.choice(ids, n), "x": random.normal(size=n)})
    target = data["id"].map({1001: 1, 1002: -3, 1003: 5, 1004: 0, 7: 2}) + data["x"]
    model = lightgbm.train(PARAMETERS, lightgbm.Dataset(data, target, categorical_feature=["id"]), 2)
    rows = data[:ROWS].astype(float)
    rows.loc[:5, "id"] = [-1, np.nan, 8, 7.9, -0.5, 1005]
    write_lightgbm("codes", model, rows)


def mixed(random):
    """A feature that is a number in the first trees and categorical in the others."""
    n = 400
    data = pd.DataFrame({"k": random.integers(0, 9, n), "x": random.normal(size=n)})
    target = data["k"] * 0.5 + data["k"].isin([2, 5, 6]) * 3 + data["x"]
    first = train(data, target, 2)
    more = lightgbm.Dataset(data, target - first.predict(data), categorical_feature=[0])
    second = lightgbm.train(PARAMETERS, more, 2)
    lines, more = first.model_to_string(), second.model_to_string()
    trees = more[more.index("Tree=0"):more.index("end of trees")]
    for i in (1, 0):
        trees = trees.replace(f"Tree={i}\n", f"Tree={i + 2}\n")
    model = lightgbm.Booster(model_str=lines[:lines.index("tree_sizes")] + "\n"
                             + lines[lines.index("Tree=0"):lines.index("end of trees")] + trees
                             + lines[lines.index("end of trees"):])
    rows = data[:ROWS].astype(float)
    rows.loc[:6, "k"] = [np.nan, -1, 2.5, 99, -0.5, 1e-36, 8.5]
    write_lightgbm("mixed", model, rows)


def classes(random):
    n = 300
    data = random.normal(size=(n, 3))  # no names
    target = (data[:, 0] > 0) * 1 + (data[:, 1] > 0.5) * 1
    model = train(data, target, 2, objective="multiclass", num_class=3)
    write_lightgbm("classes", model, pd.DataFrame(data[:ROWS], columns=list("abc")))


def cats(random):
    """XGBoost keeps the categories of words and whole numbers; ordered ones are categories too."""
    data, target = table(random)
    data = data.drop(columns=["flag", "half"])
    data["store"] = data["store"].cat.rename_categories({9: 1_000_000})
    data["city"] = data["city"].cat.rename_categories({"Zürich": "Zurich"})  # it counts letters, not bytes
    matrix = xgboost.DMatrix(data, target, enable_categorical=True)
    parameters = dict(max_depth=3, max_cat_to_onehot=2, learning_rate=0.5, nthread=1, seed=3)
    model = xgboost.train(parameters, matrix, 3)
    rows = data[:ROWS].copy()
    rows.loc[3, ["store", "city", "size"]] = np.nan
    contributions = model.predict(xgboost.DMatrix(rows, enable_categorical=True), pred_contribs=True)
    model.save_model(path("cats.json"))
    model.save_model(path("cats.ubj"))
    write_rows("cats", rows, contributions)


if __name__ == "__main__":
    for number, case in enumerate((doubles, zeros, missing, forest, pandas, codes, mixed, classes, cats)):
        case(np.random.default_rng(number))
