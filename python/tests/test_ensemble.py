"""Extra-trees estimators: scikit-learn's own checks, and the same forest in every form."""

import pickle

import numpy
import pytest

from data import numbers, pandas, table, targets

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris  # noqa: E402
from sklearn.ensemble import ExtraTreesClassifier as TheirClassifier  # noqa: E402
from sklearn.ensemble import ExtraTreesRegressor as TheirRegressor  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import retable  # noqa: E402
from retable.ensemble import ExtraTreesClassifier, ExtraTreesRegressor  # noqa: E402

@parametrize_with_checks([ExtraTreesClassifier(n_estimators=10), ExtraTreesRegressor(n_estimators=10)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_as_accurate_as_scikit_learns():
    for data, ours, theirs in ((load_breast_cancer, ExtraTreesClassifier, TheirClassifier),
                               (load_iris, ExtraTreesClassifier, TheirClassifier),
                               (load_diabetes, ExtraTreesRegressor, TheirRegressor)):
        x, y = data(return_X_y=True)
        mine = cross_val_score(ours(random_state=0), x, y, cv=4).mean()
        other = cross_val_score(theirs(random_state=0), x, y, cv=4).mean()
        assert mine > other - 0.02, (data.__name__, mine, other)


def test_masked_values_are_missing():
    x, y = load_diabetes(return_X_y=True)
    masked = numpy.ma.masked_greater(x, 0.05)
    forest = ExtraTreesRegressor(n_estimators=5, random_state=0)
    with_nan = forest.fit(masked.filled(numpy.nan), y).predict(masked.filled(numpy.nan))
    assert numpy.array_equal(forest.fit(masked, y).predict(masked), with_nan)
    with pytest.raises(ValueError):
        forest.fit(x, numpy.ma.masked_greater(y, 300))


def test_a_missing_target_of_a_pandas_array_is_said():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="NaN"):
        ExtraTreesClassifier(3).fit(numpy.eye(4), pandas.array([1, None, 3, 1], dtype="Int64"))


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_one_seed_one_forest(cancer):
    x, y = cancer
    a, b = (ExtraTreesClassifier(20, random_state=3, n_jobs=j).fit(x, y) for j in (1, 2))
    assert a.forest_.to_bytes() == b.forest_.to_bytes()
    other = ExtraTreesClassifier(20, random_state=4).fit(x, y)
    assert a.forest_.to_bytes() != other.forest_.to_bytes()


@pytest.mark.parametrize("regression", [False, True])
def test_the_same_forest_in_every_form(regression, tmp_path):
    frame = table(missing=0.1)
    x = numbers(frame).astype(numpy.float32)
    y = targets(frame, "real" if regression else "classes")
    model = (ExtraTreesRegressor if regression else ExtraTreesClassifier)(12, random_state=0).fit(x, y)
    want = model.predict(x) if regression else model.predict_proba(x)
    for other in (pickle.loads(pickle.dumps(model)), model.to_sklearn()):
        got = other.predict(x) if regression else other.predict_proba(x)
        assert numpy.allclose(got, want, atol=1e-9)
        assert numpy.array_equal(other.predict(x), model.predict(x)) or regression
        assert numpy.array_equal(other.apply(x), model.apply(x))
        assert numpy.allclose(other.feature_importances_, model.feature_importances_)
    xgboost = pytest.importorskip("xgboost")
    got = model.to_xgboost().predict(xgboost.DMatrix(x))
    assert numpy.allclose(got.reshape(want.shape), want, atol=1e-5)
    explainer = retable.TreeExplainer(model)
    total = explainer.shap_values(x).sum(1) + explainer.expected_value
    assert numpy.allclose(total.reshape(want.shape), want, atol=1e-5)


def test_apply_names_leaves(cancer):
    x, y = cancer
    model = ExtraTreesClassifier(5, random_state=0).fit(x, y)
    leaves = model.apply(x)
    assert leaves.shape == (len(x), 5)
    for t in range(5):
        tree = model.forest_.tree(t)
        assert (tree["left"][leaves[:, t]] == -1).all()
        assert numpy.bincount(leaves[:, t], minlength=len(tree["left"]))[leaves[0, t]] == \
            tree["samples"][leaves[0, t]]


def test_weights_and_classes(cancer):
    x, y = cancer
    half = numpy.arange(len(y)) < 300
    alone = ExtraTreesClassifier(10, random_state=0).fit(x[half], y[half], numpy.ones(300))
    weighed = ExtraTreesClassifier(10, random_state=0).fit(x, y, half.astype(float))
    assert alone.forest_.to_bytes() == weighed.forest_.to_bytes()
    words = numpy.array(["benign", "malign"])[y]
    model = ExtraTreesClassifier(10, class_weight="balanced", random_state=0).fit(x, words)
    assert model.classes_.tolist() == ["benign", "malign"]
    assert (model.predict(x) == words).mean() > 0.95
    numbered = numpy.arange(len(y)) % 3
    for none in range(3):
        weighed = ExtraTreesClassifier(5, class_weight={none: 0}).fit(x, numbered)
        assert weighed.classes_.tolist() == [0, 1, 2]  # as scikit-learn has it
        assert not weighed.predict_proba(x)[:, none].any()
    for wrong in (-1, numpy.nan, numpy.inf):
        with pytest.raises(ValueError, match="class_weight"):
            ExtraTreesClassifier(5, class_weight={0: 1, 1: wrong}).fit(x, y)
    only = ExtraTreesClassifier(5).fit(x, words, (words == "benign").astype(float))
    assert only.classes_.tolist() == ["benign", "malign"] and not only.predict_proba(x)[:, 1].any()


def test_balanced_classes_count_the_weights_of_rows():
    random = numpy.random.default_rng(0)
    x = random.normal(size=(400, 3))
    y = numpy.digitize(x[:, 0], [-0.5, 1])
    w = numpy.array([0.1, 3, 1])[y] * random.random(400)
    model = ExtraTreesClassifier(5, class_weight="balanced", random_state=0)
    assert model.fit(x, y, w).forest_.tree(0)["value"][0] == pytest.approx([1 / 3] * 3)
    totals = numpy.bincount(y, w)
    by_hand = ExtraTreesClassifier(5, random_state=0).fit(x, y, w * (totals.sum() / (3 * totals))[y])
    assert model.forest_.to_bytes() == by_hand.forest_.to_bytes()
    assert model.fit(x, y, w * (y > 0)).forest_.tree(0)["value"][0] == pytest.approx([0, 0.5, 0.5])
    assert model.fit(x, y, numpy.ones(400)).forest_.to_bytes() == model.fit(x, y).forest_.to_bytes()


def test_frames_and_search(cancer):
    x, y = cancer
    frame = pandas.DataFrame(x, columns=[f"c{i}" for i in range(x.shape[1])])
    model = ExtraTreesClassifier(5, random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    search = GridSearchCV(ExtraTreesClassifier(5, random_state=0), {"max_depth": [1, 8]}, cv=3)
    assert search.fit(frame, y).best_params_["max_depth"] == 8
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("regression", [False, True])
def test_trees_with_a_limit_of_leaves_are_scikit_learns(regression):
    ours, theirs = (ExtraTreesRegressor, TheirRegressor) if regression else (ExtraTreesClassifier, TheirClassifier)
    x, y = (load_diabetes if regression else load_breast_cancer)(return_X_y=True)

    def forests(kind, seed):
        model = kind(40, max_leaf_nodes=12, random_state=seed).fit(x[::2], y[::2])
        return (model.to_sklearn() if kind is ours else model), model.score(x[1::2], y[1::2])

    sizes = {}
    for kind in (ours, theirs):
        made = [forests(kind, seed) for seed in range(3)]
        trees = [t.tree_ for model, _ in made for t in model.estimators_]
        assert {t.n_leaves for t in trees} == {12}
        sizes[kind] = numpy.array([[t.max_depth, t.n_node_samples[0], t.n_node_samples[t.feature < 0].max()]
                                   for t in trees]), numpy.mean([score for _, score in made])
    (mine, score), (other, their_score) = sizes[ours], sizes[theirs]
    error = numpy.sqrt((mine.var(0) + other.var(0)) / len(mine))
    assert (abs(mine.mean(0) - other.mean(0)) <= 4 * error).all(), (mine.mean(0), other.mean(0), error)
    assert abs(score - their_score) < 0.03
    a = ours(5, max_leaf_nodes=10**6, random_state=0).fit(x, y)
    assert a.forest_.to_bytes() == ours(5, random_state=0).fit(x, y).forest_.to_bytes()


def test_leaves_hold_their_share_of_the_weight(cancer):
    random = numpy.random.default_rng(4)
    for (x, y), ours in ((cancer, ExtraTreesClassifier), (load_diabetes(return_X_y=True), ExtraTreesRegressor)):
        for weights in (None, random.random(len(y))):
            model = ours(10, min_weight_fraction_leaf=0.1, random_state=0).fit(x, y, sample_weight=weights)
            total = len(y) if weights is None else weights.sum()
            for t in range(10):
                tree = model.forest_.tree(t)
                assert tree["cover"][tree["feature"] < 0].min() >= 0.1 * total * (1 - 1e-9)
            assert model.forest_.tree(0)["feature"].size > 1
    with pytest.raises(ValueError, match="min_weight_fraction_leaf"):
        ExtraTreesClassifier(min_weight_fraction_leaf=0.7).fit(*cancer)


def test_a_fit_that_fails_leaves_no_older_forest(cancer):
    x, y = cancer
    model = ExtraTreesClassifier(3, random_state=0).fit(x, y)
    with pytest.raises(ValueError, match="max_depth"):
        model.set_params(max_depth=-1).fit(x, numpy.array(["benign", "malign", "other"])[numpy.arange(len(y)) % 3])
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.predict(x)


def test_limits_beyond_any_forest(cancer):
    x, y = cancer
    free = ExtraTreesClassifier(3, random_state=0).fit(x, y).forest_.to_bytes()
    for name in ("max_depth", "max_leaf_nodes"):
        assert ExtraTreesClassifier(3, random_state=0, **{name: 2**40}).fit(x, y).forest_.to_bytes() == free
    for name in ("min_samples_leaf", "min_samples_split"):
        assert len(ExtraTreesClassifier(3, **{name: 2**70}).fit(x, y).forest_.tree(0)["feature"]) == 1


def test_wrong_parameters(cancer):
    x, y = cancer
    for wrong in ({"n_estimators": 0}, {"n_estimators": 1.5}, {"max_depth": 0}, {"max_features": 0},
                  {"max_features": 31}, {"max_features": "all"}, {"max_leaf_nodes": 1}, {"min_samples_leaf": 0},
                  {"min_samples_leaf": -2**40},
                  {"min_samples_split": 1.5}, {"min_samples_split": 1}, {"min_samples_split": -5}, {"min_impurity_decrease": -1.0}, {"device": "tpu"},
                  {"device": None}, {"n_jobs": 0}, {"n_jobs": -2}, {"bootstrap": "no"}):
        with pytest.raises(ValueError):
            ExtraTreesClassifier(**wrong).fit(x, y)
    assert len(ExtraTreesClassifier(2, min_samples_split=1.0).fit(x, y).forest_.tree(0)["feature"]) == 3  # all rows
    with pytest.raises(ValueError, match="zero|add up to 0"):
        ExtraTreesClassifier(3).fit(x, y, numpy.zeros(len(y)))
    with pytest.raises(ValueError, match="infinity|inf"):
        ExtraTreesClassifier(3).fit([[numpy.inf], [1]], [0, 1])
    with pytest.raises(ValueError, match="there are 65535 at most"):
        ExtraTreesClassifier(1).fit(numpy.arange(65536.0)[:, None], numpy.arange(65536))
    with pytest.raises(ValueError, match="checksum"):
        data = bytearray(ExtraTreesClassifier(3).fit(x, y).forest_.to_bytes())
        data[60] ^= 1
        from retable import _retable
        _retable.Forest.from_bytes(bytes(data))
