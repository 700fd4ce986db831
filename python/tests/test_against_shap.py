"""Values and interactions equal those of shap, XGBoost and LightGBM: model kinds x objectives x missing values
x categories. The others' own rounding is float32 for XGBoost."""

import itertools
import warnings

import numpy
import pytest

import retable
from data import numbers, table, targets

xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")
shap = pytest.importorskip("shap")
warnings.filterwarnings("ignore")

RELATIVE = 1e-5
ROWS = 40


def close(ours, theirs, relative=RELATIVE):
    """Off by at most `relative` of the largest value of the row's output."""
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = numpy.abs(theirs).max()
    assert numpy.abs(ours - theirs).max() <= relative * max(scale, 1e-3), \
        numpy.abs(ours - theirs).max() / scale


XGBOOST = [
    ("reg:squarederror", "real"), ("reg:absoluteerror", "real"), ("reg:pseudohubererror", "real"),
    ("reg:gamma", "positive"), ("reg:tweedie", "positive"), ("count:poisson", "counts"),
    ("reg:logistic", "unit"), ("binary:logistic", "binary"), ("binary:hinge", "binary"),
    ("binary:logitraw", "binary"), ("multi:softprob", "classes"), ("multi:softmax", "classes"),
    ("reg:squaredlogerror", "positive"), ("rank:pairwise", "binary"),
]
MISSING = [0.0, 0.15]
CATEGORIES = [0, 2]


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("categories", CATEGORIES)
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("objective,kind", XGBOOST)
def test_xgboost(objective, kind, missing, categories, booster):
    frame = table(missing=missing, categories=categories)
    y = targets(frame, kind)
    matrix = xgboost.DMatrix(frame, y, enable_categorical=True)
    parameters = {"objective": objective, "booster": booster, "max_depth": 4, "seed": 1,
                  "rate_drop": 0.1, "verbosity": 0}
    if kind == "classes":
        parameters["num_class"] = 3
    model = xgboost.train(parameters, matrix, 12)
    rows = frame[:ROWS]
    theirs = model.predict(xgboost.DMatrix(rows, enable_categorical=True), pred_contribs=True)
    explainer = retable.TreeExplainer(model)
    ours = explainer.shap_values(rows)
    if kind == "classes":
        close(ours, theirs[:, :, :-1].transpose(0, 2, 1))
        close(explainer.expected_value, theirs[0, :, -1])
    else:
        close(ours, theirs[:, :-1])
        assert abs(explainer.expected_value - theirs[0, -1]) < 1e-4
    pairs = model.predict(xgboost.DMatrix(rows, enable_categorical=True), pred_interactions=True)
    pairs = pairs[..., :-1, :-1]
    # XGBoost's diagonal and pairs are differences of float32: a tenth of the digits.
    close(explainer.shap_interaction_values(rows),
          pairs.transpose(0, 2, 3, 1) if kind == "classes" else pairs, 10 * RELATIVE)


LIGHTGBM = [
    ("regression", "real"), ("regression_l1", "real"), ("huber", "real"), ("fair", "real"),
    ("quantile", "real"), ("mape", "positive"), ("poisson", "counts"), ("gamma", "positive"),
    ("tweedie", "positive"), ("binary", "binary"), ("cross_entropy", "unit"),
    ("multiclass", "classes"), ("multiclassova", "classes"),
]


@pytest.mark.parametrize("boosting", ["gbdt", "rf"])
@pytest.mark.parametrize("categories", CATEGORIES)
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("objective,kind", LIGHTGBM)
def test_lightgbm(objective, kind, missing, categories, boosting):
    frame = table(missing=missing, categories=categories)
    y = targets(frame, kind)
    parameters = {"objective": objective, "boosting": boosting, "num_leaves": 12, "verbose": -1,
                  "min_data_in_leaf": 5, "seed": 1, "num_threads": 1}
    if boosting == "rf":
        parameters.update(bagging_freq=1, bagging_fraction=0.7)
    if kind == "classes":
        parameters["num_class"] = 3
    model = lightgbm.train(parameters, lightgbm.Dataset(frame, y), 12)
    rows = frame[:ROWS]
    theirs = model.predict(rows, pred_contrib=True).reshape(ROWS, -1, frame.shape[1] + 1)
    explainer = retable.TreeExplainer(model)
    ours = explainer.shap_values(rows)
    if kind == "classes":
        close(ours, theirs[:, :, :-1].transpose(0, 2, 1))
        close(explainer.expected_value, theirs[0, :, -1])
    else:
        close(ours, theirs[:, 0, :-1])
        assert abs(explainer.expected_value - theirs[0, 0, -1]) < 1e-5 * max(1, abs(theirs[0, 0, -1]))
    exact = retable.TreeExplainer(model, precision="double").shap_values(rows)
    close(exact, theirs[:, :, :-1].transpose(0, 2, 1) if kind == "classes" else theirs[:, 0, :-1], 1e-8)


def scikit_models():
    from sklearn.ensemble import (ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingClassifier,
                                  GradientBoostingRegressor, HistGradientBoostingClassifier,
                                  HistGradientBoostingRegressor, RandomForestClassifier,
                                  RandomForestRegressor)
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    small = {"random_state": 1, "max_depth": 5}
    forest = {**small, "n_estimators": 8}
    for forest_class, kinds in [(RandomForestClassifier, ("binary", "classes")),
                                (ExtraTreesClassifier, ("binary", "classes")),
                                (RandomForestRegressor, ("real", "counts")),
                                (ExtraTreesRegressor, ("real", "counts"))]:
        for kind in kinds:
            yield forest_class, forest, kind
    for tree_class, kinds in [(DecisionTreeClassifier, ("binary", "classes")),
                              (DecisionTreeRegressor, ("real", "counts"))]:
        for kind in kinds:
            yield tree_class, small, kind
    for loss in ("squared_error", "absolute_error", "huber", "quantile"):
        yield GradientBoostingRegressor, {**forest, "loss": loss}, "real"
    for loss in ("log_loss", "exponential"):
        yield GradientBoostingClassifier, {**forest, "loss": loss}, "binary"
    histogram = {**small, "max_iter": 8, "min_samples_leaf": 5}
    for loss, kind in [("squared_error", "real"), ("absolute_error", "real"), ("poisson", "counts"),
                       ("gamma", "positive")]:
        yield HistGradientBoostingRegressor, {**histogram, "loss": loss}, kind
    for kind in ("binary", "classes"):
        yield HistGradientBoostingClassifier, histogram, kind


SCIKIT = list(scikit_models())


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
@pytest.mark.parametrize("which", range(len(SCIKIT)),
                         ids=[f"{c.__name__}-{p.get('loss', '')}-{k}" for c, p, k in SCIKIT])
def test_scikit_learn(which, dtype, missing):
    model_class, parameters, kind = SCIKIT[which]
    if missing and "GradientBoosting" in model_class.__name__ and "Hist" not in model_class.__name__:
        pytest.skip("GradientBoosting takes no missing values")
    frame = table(missing=missing)
    x = numbers(frame).astype(dtype)
    model = model_class(**parameters).fit(x, targets(frame, kind))
    rows = x[:ROWS]
    explainer, reference = retable.TreeExplainer(model), shap.TreeExplainer(model)
    ours = explainer.shap_values(rows)
    if missing and "Hist" not in model_class.__name__:
        # shap 0.51 sends missing values of scikit-learn's trees to one side, whatever the model says:
        # the model's own output is the reference.
        raw = model.predict_proba(rows) if kind in ("binary", "classes") else model.predict(rows)
        total = ours.sum(1) + explainer.expected_value
        close(total.reshape(raw.shape), raw)
    else:
        theirs = reference.shap_values(rows, check_additivity=False)
        close(ours, theirs)
        close(explainer.expected_value, numpy.asarray(reference.expected_value))
        close(explainer.shap_interaction_values(rows[:5]), reference.shap_interaction_values(rows[:5]))


def test_the_matrix_has_two_hundred_combinations():
    count = len(XGBOOST) * 8 + len(LIGHTGBM) * 8 + len(SCIKIT) * 4
    assert count >= 200, count


@pytest.mark.parametrize("kind", ["real", "binary", "classes"])
def test_histogram_boosting_with_categories(kind):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    frame = table(missing=0.1, categories=2)
    model_class = HistGradientBoostingRegressor if kind == "real" else HistGradientBoostingClassifier
    model = model_class(categorical_features="from_dtype", max_iter=10).fit(frame, targets(frame, kind))
    explainer = retable.TreeExplainer(model)
    values = explainer.shap_values(frame[:ROWS])
    raw = (model._raw_predict(frame[:ROWS]) if kind != "real"
           else model.predict(frame[:ROWS]).reshape(-1, 1))
    close(values.sum(1).reshape(raw.shape) + explainer.expected_value, raw)


def test_gradient_boosting_of_three_classes_that_shap_refuses():
    from sklearn.ensemble import GradientBoostingClassifier

    frame = table()
    x = numbers(frame)
    model = GradientBoostingClassifier(n_estimators=5).fit(x, targets(frame, "classes"))
    explainer = retable.TreeExplainer(model)
    close(explainer.shap_values(x).sum(1) + explainer.expected_value, model.decision_function(x))


@pytest.mark.parametrize("kind", ["real", "binary", "classes"])
def test_interventional_values(kind):
    frame = table(rows=200)
    x = numbers(frame).astype(numpy.float32)
    parameters = {"objective": {"real": "reg:squarederror", "binary": "binary:logistic",
                                "classes": "multi:softprob"}[kind], "max_depth": 3}
    if kind == "classes":
        parameters["num_class"] = 3
    model = xgboost.train(parameters, xgboost.DMatrix(x, targets(frame, kind)), 6)
    explainer = retable.TreeExplainer(model, x[:30])
    reference = shap.TreeExplainer(model, x[:30], feature_perturbation="interventional")
    close(explainer.shap_values(x[:10]), reference.shap_values(x[:10], check_additivity=False), 1e-4)
    # Not shap's own: 0.51 takes the last of XGBoost's base scores for several classes amiss.
    margins = model.predict(xgboost.DMatrix(x[:30]), output_margin=True)
    close(numpy.asarray(explainer.expected_value), margins.mean(0))


def test_files_and_bytes_give_the_same_values(tmp_path):
    frame = table()
    model = xgboost.train({"max_depth": 3}, xgboost.DMatrix(frame, targets(frame, "real")), 5)
    want = retable.TreeExplainer(model).shap_values(frame)
    for name in ("model.json", "model.ubj"):
        model.save_model(tmp_path / name)
        # XGBoost writes seven digits of a leaf into JSON.
        assert numpy.allclose(retable.TreeExplainer(tmp_path / name).shap_values(frame), want, atol=1e-6)
        with open(tmp_path / name, "rb") as file:
            assert numpy.allclose(retable.TreeExplainer(file.read()).shap_values(frame), want, atol=1e-6)


def test_explanation_is_drawn_by_shap():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    frame = table()
    model = xgboost.XGBRegressor(n_estimators=5).fit(frame, targets(frame, "real"))
    explanation = retable.TreeExplainer(model)(frame)
    assert isinstance(explanation, shap.Explanation)
    assert explanation.feature_names == list(frame.columns)
    assert explanation.base_values.shape == (len(frame),)
    shap.plots.beeswarm(explanation, show=False)
    shap.plots.waterfall(explanation[0], show=False)
    shap.plots.bar(explanation, show=False)
    assert len(pyplot.gcf().axes) >= 1
    pyplot.close("all")


@pytest.mark.parametrize("model_name", ["xgb", "lgb", "forest", "tree", "hist"])
@pytest.mark.parametrize("kind", ["real", "binary", "classes"])
def test_shapes_are_those_of_shap(model_name, kind):
    from sklearn.ensemble import (HistGradientBoostingClassifier, HistGradientBoostingRegressor,
                                  RandomForestClassifier, RandomForestRegressor)
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    regression = kind == "real"
    model = {"xgb": (xgboost.XGBRegressor, xgboost.XGBClassifier),
             "lgb": (lightgbm.LGBMRegressor, lightgbm.LGBMClassifier),
             "forest": (RandomForestRegressor, RandomForestClassifier),
             "tree": (DecisionTreeRegressor, DecisionTreeClassifier),
             "hist": (HistGradientBoostingRegressor, HistGradientBoostingClassifier),
             }[model_name][0 if regression else 1]
    parameters = {"xgb": {"n_estimators": 4}, "lgb": {"n_estimators": 4, "verbose": -1},
                  "forest": {"n_estimators": 4}, "tree": {}, "hist": {"max_iter": 4}}[model_name]
    frame = table(rows=200)
    x = numbers(frame)
    model = model(**parameters).fit(x, targets(frame, kind))
    ours, theirs = retable.TreeExplainer(model), shap.TreeExplainer(model)
    assert ours.shap_values(x[:9]).shape == numpy.shape(theirs.shap_values(x[:9]))
    assert numpy.shape(ours.expected_value) == numpy.shape(theirs.expected_value)
    assert ours(x[:9]).base_values.shape == theirs(x[:9]).base_values.shape
    assert ours(x[:9]).values.shape == theirs(x[:9]).values.shape


@pytest.mark.parametrize("order,index", itertools.product([1, 2, 3], ["shapley", "banzhaf"]))
def test_interaction_index_agrees_with_values_and_matrices(order, index):
    frame = table()
    x = numbers(frame)[:6]
    model = xgboost.XGBRegressor(n_estimators=6, max_depth=4).fit(numbers(frame), targets(frame, "real"))
    explainer = retable.TreeExplainer(model, precision="double")
    found = explainer.interaction_index(x, order, index)
    assert len(found) == len(x) and all(len(s) == order for row in found for s in row)
    if index == "shapley" and order == 1:
        want = explainer.shap_values(x)
        for row, values in zip(found, want):
            assert all(abs(values[f] - v) < 1e-9 for (f,), v in row.items())
    if index == "shapley" and order == 2:
        matrices = explainer.shap_interaction_values(x)
        for row, matrix in zip(found, matrices):
            assert all(abs(2 * matrix[i, j] - v) < 1e-9 for (i, j), v in row.items())


def test_top_interactions_are_the_largest_of_the_matrix():
    frame = table()
    x = numbers(frame)
    for kind in ("real", "classes"):
        model = (xgboost.XGBRegressor if kind == "real" else xgboost.XGBClassifier)(
            n_estimators=6, max_depth=4).fit(x, targets(frame, kind))
        explainer = retable.TreeExplainer(model)
        pairs, values = explainer.top_interactions(x[:20], 3)
        matrices = explainer.shap_interaction_values(x[:20])
        if kind == "real":
            pairs, values, matrices = pairs[:, None], values[:, None], matrices[..., None]
        for row in range(20):
            for output in range(pairs.shape[1]):
                matrix = matrices[row, :, :, output]
                upper = numpy.sort(numpy.abs(matrix[numpy.triu_indices(6, 1)]))[::-1][:3]
                assert numpy.allclose(numpy.abs(values[row, output]), upper, atol=1e-5)
                for (i, j), value in zip(pairs[row, output], values[row, output]):
                    assert i == -1 or abs(matrix[i, j] - value) < 1e-5
