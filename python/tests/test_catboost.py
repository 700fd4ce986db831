"""Values of CatBoost's models equal its own."""

import pathlib
import subprocess
import sys

import numpy
import pytest

import retable
from retable import from_catboost
from data import numbers, table, targets

catboost = pytest.importorskip("catboost")

ROWS = 40


def trained(kind, missing=0.0, **parameters):
    frame = table(missing=missing)
    x = numbers(frame).astype(numpy.float32)
    model = catboost.CatBoost({"iterations": 8, "depth": 4, "thread_count": 1, "random_seed": 1,
                               "logging_level": "Silent", "allow_writing_files": False, **parameters})
    return model.fit(x, targets(frame, kind)), x


def own(model, x, kind="ShapValues"):
    return model.get_feature_importance(catboost.Pool(x), type=kind, shap_calc_type="Regular")


def covers(model):
    return [c for tree in from_catboost.forest(model)["trees"] for c in tree["cover"]]


def close(ours, theirs, relative=1e-5):
    assert numpy.shape(ours) == theirs.shape
    assert numpy.abs(ours - theirs).max() <= relative * max(numpy.abs(theirs).max(), 1e-3)


@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("loss,kind", [
    ("RMSE", "real"), ("MAE", "real"), ("Quantile:alpha=0.8", "real"), ("Poisson", "counts"),
    ("Tweedie:variance_power=1.5", "positive"), ("Logloss", "binary"), ("CrossEntropy", "unit"),
    ("MultiClass", "classes"), ("MultiClassOneVsAll", "classes")])
def test_values(loss, kind, policy, missing, nan_mode):
    rows = {} if policy == "SymmetricTree" else {"bootstrap_type": "No"}  # samples leave leaves empty
    model, x = trained(kind, missing, loss_function=loss, grow_policy=policy, nan_mode=nan_mode, **rows)
    theirs, raw = own(model, x), model.predict(x, prediction_type="RawFormulaVal")
    misses = numpy.abs(theirs.sum(-1) - raw).max() > 1e-8 * numpy.abs(raw).max()
    assert not misses or policy != "SymmetricTree" and 0 in covers(model)
    theirs = theirs[:ROWS]
    for precision in ("float", "double"):
        explainer = retable.TreeExplainer(model, precision=precision)
        ours = explainer.shap_values(x[:ROWS])
        close(ours.sum(1) + explainer.expected_value, raw[:ROWS])
        if misses:  # CatBoost's own values, for a leaf without rows
            continue
        if kind == "classes":
            close(ours, theirs[:, :, :-1].transpose(0, 2, 1))
            close(explainer.expected_value, theirs[0, :, -1])
        else:
            close(ours, theirs[:, :-1])
            close(explainer.expected_value, theirs[0, -1])


def test_a_leaf_without_rows():
    """Our values add up to the output, where CatBoost's do not."""
    model, x = trained("real", grow_policy="Depthwise", min_data_in_leaf=3)
    assert 0 in covers(model)
    explainer = retable.TreeExplainer(model)
    close(explainer.shap_values(x).sum(1) + explainer.expected_value, model.predict(x))
    assert numpy.abs(own(model, x).sum(1) - model.predict(x)).max() > 0.1


def test_several_targets_and_scale():
    frame = table()
    x = numbers(frame).astype(numpy.float32)
    y = numpy.column_stack([targets(frame, "real"), targets(frame, "unit")])
    model = catboost.CatBoost({"iterations": 5, "loss_function": "MultiRMSE", "thread_count": 1,
                               "logging_level": "Silent", "allow_writing_files": False}).fit(x, y)
    explainer = retable.TreeExplainer(model)
    values = explainer.shap_values(x)
    raw = model.predict(x, prediction_type="RawFormulaVal")
    close(values.sum(1) + explainer.expected_value, raw)
    model.set_scale_and_bias(2.5, [0.5, -1.0])
    with pytest.raises(RuntimeError, match="trained on since"):
        explainer.shap_values(x)
    explainer = retable.TreeExplainer(model)
    raw = model.predict(x, prediction_type="RawFormulaVal")
    close(explainer.shap_values(x).sum(1) + explainer.expected_value, raw)


def test_rows_at_the_borders_go_where_the_model_sends_them():
    model, x = trained("real", 0.15, nan_mode="Max")
    explainer = retable.TreeExplainer(model)
    borders = model.get_borders()
    random = numpy.random.default_rng(0)
    rows = numpy.column_stack([random.choice(borders[f] or [0.0], 500) for f in range(x.shape[1])])
    rows = numpy.concatenate([rows.astype(numpy.float32), [[value] * x.shape[1] for value in (
        numpy.nan, numpy.inf, -numpy.inf)]]).astype(numpy.float32)
    raw = model.predict(rows, prediction_type="RawFormulaVal")
    close(explainer.shap_values(rows).sum(1) + explainer.expected_value, raw)


def test_interactions():
    model, x = trained("real")
    theirs = own(model, x[:5], "ShapInteractionValues")[:, :-1, :-1]
    close(retable.TreeExplainer(model).shap_interaction_values(x[:5]), theirs)


def test_names_are_those_of_the_frame():
    frame = table()
    model = catboost.CatBoostRegressor(iterations=3, verbose=False, allow_writing_files=False)
    model.fit(frame, targets(frame, "real"))
    explainer = retable.TreeExplainer(model)
    assert explainer(frame).feature_names == list(frame.columns)
    with pytest.raises(ValueError, match="another order"):
        explainer.shap_values(frame[frame.columns[::-1]])


@pytest.mark.parametrize("kind", ["real", "binary", "classes"])
def test_shapes_are_those_of_shap(kind):
    shap = pytest.importorskip("shap")
    frame = table(rows=200)
    x = numbers(frame)
    model_class = catboost.CatBoostRegressor if kind == "real" else catboost.CatBoostClassifier
    model = model_class(iterations=4, verbose=False, allow_writing_files=False).fit(x, targets(frame, kind))
    ours, theirs = retable.TreeExplainer(model), shap.TreeExplainer(model)
    assert ours.shap_values(x[:9]).shape == numpy.shape(theirs.shap_values(x[:9]))
    assert numpy.shape(ours.expected_value) == numpy.shape(theirs.expected_value)


def test_what_is_no_sum_of_trees_over_numbers_is_refused():
    frame = table(categories=2)
    frame[frame.columns[-2:]] = frame[frame.columns[-2:]].astype(str)
    for most in (1, 10):  # by statistics of the target, and by one category against the others
        model = catboost.CatBoostRegressor(iterations=5, verbose=False, allow_writing_files=False,
                                           cat_features=list(frame.columns[-2:]), one_hot_max_size=most)
        model.fit(frame, targets(table(categories=2), "real"))
        with pytest.raises(ValueError, match="category"):
            retable.TreeExplainer(model)
    with pytest.raises(ValueError, match="not fitted"):
        retable.TreeExplainer(catboost.CatBoostRegressor())


def test_a_model_trained_anew_is_noticed():
    frame = table()
    x = numbers(frame)
    model = catboost.CatBoostRegressor(iterations=3, verbose=False, allow_writing_files=False)
    model.fit(x, targets(frame, "real"))
    explainer = retable.TreeExplainer(model)
    explainer.shap_values(x)
    model.fit(x, -targets(frame, "real"))
    with pytest.raises(RuntimeError, match="trained on since"):
        explainer.shap_values(x)


def test_the_script_takes_a_file(tmp_path):
    model, x = trained("classes", loss_function="MultiClass")
    want = retable.TreeExplainer(model).shap_values(x)
    script = pathlib.Path(retable.__file__).with_name("from_catboost.py")
    for name in ("model.cbm", "model.json"):
        model.save_model(str(tmp_path / name), format=name.split(".")[1])
        subprocess.run([sys.executable, script, tmp_path / name, tmp_path / "forest.json"], check=True)
        close(retable.TreeExplainer(tmp_path / "forest.json").shap_values(x), want, 1e-12)


def test_infinity_is_above_every_border():
    x = numpy.arange(20.0)[:, None]
    x[:5] = numpy.nan
    model = catboost.CatBoostRegressor(iterations=20, nan_mode="Max", verbose=0, allow_writing_files=False)
    model.fit(x, numpy.r_[numpy.full(5, 10.0), numpy.zeros(15)])
    rows = numpy.array([[numpy.nan], [numpy.inf], [-numpy.inf], [3e38], [19.0]])
    explainer = retable.TreeExplainer(model)
    close(explainer.shap_values(rows).sum(1) + explainer.expected_value, model.predict(rows))
