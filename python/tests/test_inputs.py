"""What an explainer does with input of every kind: the right values, or one clear exception."""

import gc
import locale
import pickle
import shutil
import subprocess
import sys
import threading
import weakref

import numpy
import pytest

import retable
from data import numbers, pandas, table, targets

xgboost = pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def model(frame):
    return xgboost.XGBRegressor(n_estimators=8, max_depth=4).fit(frame, targets(frame, "real"))


@pytest.fixture(scope="module")
def explainer(model):
    return retable.TreeExplainer(model)


@pytest.fixture(scope="module")
def x(frame):
    return numbers(frame)


@pytest.fixture(scope="module")
def want(explainer, x):
    return explainer.shap_values(x.astype(numpy.float32))


def test_layouts_and_types_give_the_same_values(explainer, x, want):
    floats = x.astype(numpy.float32)
    for other in (numpy.asfortranarray(floats), floats.astype(float), floats.tolist(),
                  numpy.concatenate([floats, floats], 1)[:, :6],
                  pandas.DataFrame(floats, columns=[f"feature {i}" for i in range(6)])):
        assert numpy.array_equal(explainer.shap_values(other), want)
    assert numpy.array_equal(explainer.shap_values(floats[::-1]), want[::-1])
    assert numpy.array_equal(explainer.shap_values(floats[::3]), want[::3])


def test_read_only_arrays_are_read(explainer, x, want):
    floats = x.astype(numpy.float32)
    floats.flags.writeable = False
    assert numpy.array_equal(explainer.shap_values(floats), want)


def test_integers_and_booleans_are_numbers(explainer, x):
    whole = numpy.round(x)
    values = explainer.shap_values(whole)
    assert numpy.array_equal(explainer.shap_values(whole.astype(numpy.int64)), values)
    assert numpy.array_equal(explainer.shap_values(whole.astype(numpy.int8)), values)
    assert numpy.array_equal(explainer.shap_values(whole > 0), explainer.shap_values((whole > 0) * 1.0))


def test_no_rows_give_no_values(explainer):
    assert explainer.shap_values(numpy.empty((0, 6))).shape == (0, 6)
    assert explainer.shap_interaction_values(numpy.empty((0, 6), numpy.float32)).shape == (0, 6, 6)


def test_one_row_without_its_axis(explainer, x, want):
    assert numpy.allclose(explainer.shap_values(x[0]), want[0], atol=1e-6)
    assert explainer.shap_interaction_values(x[0]).shape == (6, 6)


def test_more_rows_than_a_block(explainer, x, want):
    many = numpy.tile(x.astype(numpy.float32), (30, 1))
    assert numpy.array_equal(explainer.shap_values(many), numpy.tile(want, (30, 1)))


def test_wrong_width_is_named(explainer):
    for width in (0, 5, 7):
        with pytest.raises(ValueError, match=f"{width} columns, the model 6"):
            explainer.shap_values(numpy.zeros((3, width)))
    with pytest.raises(ValueError, match="axes"):
        explainer.shap_values(numpy.zeros((3, 6, 1)))


def test_wrong_names_are_named(explainer, frame):
    with pytest.raises(ValueError, match=r"missing \['feature 2'\], unknown \['other'\]"):
        explainer.shap_values(frame.rename(columns={"feature 2": "other"}))
    with pytest.raises(ValueError, match="another order"):
        explainer.shap_values(frame[frame.columns[::-1]])


def test_objects_words_and_dates_are_refused(explainer, frame):
    with pytest.raises(TypeError, match="dtype"):
        explainer.shap_values(numpy.full((2, 6), "a", object))
    words = frame.copy()
    words["feature 1"] = "word"
    with pytest.raises(TypeError, match="feature 1"):
        explainer.shap_values(words)
    times = pandas.Series(pandas.Timestamp("2020-01-01"), frame.index)
    arrow = pytest.importorskip("pyarrow").timestamp("ns")
    for column in (times, times.dt.tz_localize("UTC"), times - times, times.astype(pandas.ArrowDtype(arrow)),
                   frame["feature 3"] + 1j):
        with pytest.raises(TypeError, match="feature 3"):
            explainer.shap_values(frame.assign(**{"feature 3": column}))
    with pytest.raises(TypeError, match="complex"):
        explainer.shap_values(numpy.zeros((2, 6), complex))


def test_sparse_rows_are_refused(explainer):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="sparse"):
        explainer.shap_values(sparse.csr_matrix(numpy.eye(6)))


def test_arrays_on_a_gpu_are_refused(explainer):
    class OnGpu:
        __cuda_array_interface__ = {"shape": (2, 6), "typestr": "<f4", "data": (0, True), "version": 3}

    with pytest.raises(TypeError, match="GPU memory"):
        explainer.shap_values(OnGpu())


def test_cuda_without_a_device(model):
    if retable.cuda_devices():
        pytest.skip("a CUDA device answers")
    with pytest.raises(ValueError, match="CUDA"):
        retable.TreeExplainer(model, device="cuda")
    assert retable.TreeExplainer(model, device="auto").device == "cpu"


def test_missing_and_infinite_values(explainer, model, x):
    rows = x[:4].astype(numpy.float32)
    rows[0, 0], rows[1, 1], rows[2, 2] = numpy.nan, numpy.inf, -numpy.inf
    with numpy.errstate(all="ignore"):
        values = explainer.shap_values(rows)
    booster = model.get_booster()
    finite = numpy.clip(rows, -3e38, 3e38)
    theirs = booster.predict(xgboost.DMatrix(finite, feature_names=booster.feature_names),
                             pred_contribs=True)[:, :-1]
    assert numpy.allclose(values, theirs, atol=1e-5)


def test_a_model_trained_on_is_noticed(frame):
    model = xgboost.XGBRegressor(n_estimators=3).fit(frame, targets(frame, "real"))
    explainer = retable.TreeExplainer(model)
    model.fit(frame, targets(frame, "real"))
    with pytest.raises(RuntimeError, match="make a new one"):
        explainer.shap_values(frame)


def test_what_is_no_model(tmp_path):
    for nothing in (3, None, {"a": 1}, numpy.zeros(3)):
        with pytest.raises(TypeError, match="no model"):
            retable.TreeExplainer(nothing)
    with pytest.raises(FileNotFoundError):
        retable.TreeExplainer(tmp_path / "not there.json")
    for text in (b"", b"{", b"tree", b"\x00" * 64, b'{"format": "retable-forest"}'):
        with pytest.raises(ValueError):
            retable.TreeExplainer(text)


def test_models_that_are_no_tree_or_not_fitted():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LinearRegression
    for nothing in (RandomForestClassifier(), LinearRegression(), retable.ensemble.ExtraTreesRegressor()):
        with pytest.raises(ValueError, match="fit"):
            retable.TreeExplainer(nothing)
    with pytest.raises(ValueError, match="LinearRegression is not a tree model"):
        retable.TreeExplainer(LinearRegression().fit([[0], [1]], [0, 1]))


def test_models_that_hold_a_tree_model():
    ensemble = pytest.importorskip("sklearn.ensemble")
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    frame, y = normal()
    pipeline = make_pipeline(StandardScaler(), ensemble.RandomForestRegressor(2))
    search = GridSearchCV(pipeline, {"randomforestregressor__max_depth": [2]}, cv=2).fit(frame, y)
    with pytest.raises(ValueError, match=r"GridSearchCV is not a tree model .*: give model\.best_estimator_"):
        retable.TreeExplainer(search)
    model = search.best_estimator_
    with pytest.raises(ValueError, match=r"Pipeline is not a tree model .*: give model\[-1\], and rows"):
        retable.TreeExplainer(model)
    retable.TreeExplainer(model[-1]).shap_values(model[:-1].transform(frame), check_additivity=True)
    with pytest.raises(ValueError, match="IsolationForest is not a tree model that retable reads: it reads"):
        retable.TreeExplainer(ensemble.IsolationForest(n_estimators=2).fit(frame))


def test_options_that_are_not_there(model):
    for options in ({"device": "tpu"}, {"precision": "half"}, {"threads": -1}, {"threads": 2**40},
                    {"model_output": "probability"}, {"feature_perturbation": "none"},
                    {"feature_perturbation": "interventional"}, {"data": numpy.empty((0, 6))}):
        with pytest.raises(ValueError):
            retable.TreeExplainer(model, **options)


def test_two_threads_on_one_explainer(explainer, x, want):
    rows, wrong = x.astype(numpy.float32), []

    def explain():
        for _ in range(20):
            if not numpy.array_equal(explainer.shap_values(rows), want):
                wrong.append(1)

    threads = [threading.Thread(target=explain) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_gil_is_released(frame):
    model = xgboost.XGBRegressor(n_estimators=60, max_depth=6).fit(frame, targets(frame, "real"))
    explainer = retable.TreeExplainer(model, threads=1)
    rows = numpy.tile(numbers(frame).astype(numpy.float32), (200, 1))
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            stop.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    explainer.shap_values(rows)
    during = counted[0] - before
    stop.set()
    thread.join()
    assert during >= 3


def test_rows_are_not_kept(explainer):
    rows = numpy.zeros((10, 6), numpy.float32)
    gone = weakref.ref(rows)
    explainer.shap_values(rows)
    del rows
    gc.collect()
    assert gone() is None


def test_results_outlive_the_explainer(model, x, want):
    values = retable.TreeExplainer(model).shap_values(x.astype(numpy.float32))
    gc.collect()
    assert numpy.array_equal(values, want)


def test_pickling(explainer, x, want):
    again = pickle.loads(pickle.dumps(explainer))
    assert numpy.array_equal(again.shap_values(x.astype(numpy.float32)), want)
    assert again.expected_value == explainer.expected_value


def test_arrow_tables(explainer, frame, want):
    pyarrow = pytest.importorskip("pyarrow")
    arrow = pyarrow.Table.from_pandas(frame.astype(numpy.float32))
    assert numpy.array_equal(explainer.shap_values(arrow), want)


def test_additivity_is_checked_on_request(explainer, x):
    explainer.shap_values(x, check_additivity=True)


def test_unknown_categories():
    lightgbm = pytest.importorskip("lightgbm")
    frame = table(categories=1)
    other = frame.copy()
    other["feature 5"] = pandas.Categorical(["purple"] * len(frame))
    model = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(frame, targets(frame, "real"))
    missing = frame.copy()
    missing["feature 5"] = pandas.Categorical([None] * len(frame), categories=["red"])
    explainer = retable.TreeExplainer(model)
    assert numpy.array_equal(explainer.shap_values(other), explainer.shap_values(missing))
    model = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True).fit(frame, targets(frame, "real"))
    with pytest.raises(ValueError, match="purple"):
        retable.TreeExplainer(model).shap_values(other)


def test_categories_that_no_row_has():
    frame = table(categories=1)
    model = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True).fit(frame, targets(frame, "real"))
    explainer = retable.TreeExplainer(model)
    more = frame.copy()
    more["feature 5"] = frame["feature 5"].cat.set_categories(["purple", *reversed(frame["feature 5"].cat.categories)])
    assert numpy.array_equal(explainer.shap_values(more), explainer.shap_values(frame))
    more.loc[3, "feature 5"] = "purple"
    with pytest.raises(ValueError, match="purple"):
        explainer.shap_values(more)


def test_missing_words_of_a_column_of_strings():
    frame = table(categories=1)
    model = xgboost.XGBRegressor(n_estimators=3, enable_categorical=True).fit(frame, targets(frame, "real"))
    frame.loc[3, "feature 5"] = None
    explainer = retable.TreeExplainer(model)
    want = explainer.shap_values(frame)
    kinds = {"string", "object", str(pandas.Series(["red"]).dtype)}  # "str" since pandas 3
    for kind in kinds:
        assert numpy.array_equal(explainer.shap_values(frame.astype({"feature 5": kind})), want)


def normal(rows=300):
    random = numpy.random.default_rng(0)
    frame = pandas.DataFrame(random.normal(size=(rows, 3)), columns=list("abc"))
    return frame, 3 * frame.a - frame.b**2 + frame.c * frame.a


def test_files_check_the_names_of_a_frame(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    ensemble = pytest.importorskip("sklearn.ensemble")
    from retable import from_scikit_learn
    frame, y = normal()
    xgboost.XGBRegressor(n_estimators=3).fit(frame, y).save_model(tmp_path / "m.ubj")
    lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(frame, y).booster_.save_model(tmp_path / "m.txt")
    from_scikit_learn.save(ensemble.RandomForestRegressor(3).fit(frame, y), tmp_path / "m.json")
    for name in ("m.ubj", "m.txt", "m.json"):
        for model in (tmp_path / name, (tmp_path / name).read_bytes()):
            explainer = retable.TreeExplainer(model)
            assert explainer.shap_values(frame[:2]).shape == (2, 3)
            with pytest.raises(ValueError, match="another order"):
                explainer.shap_values(frame[["c", "b", "a"]])
    model = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(frame.to_numpy(), y)
    explainer = retable.TreeExplainer(model)
    explainer.shap_values(frame)  # no names of its own
    with pytest.raises(ValueError, match="another order"):
        explainer.shap_values(frame.set_axis(["Column_1", "Column_0", "Column_2"], axis=1))


def test_names_that_differ_by_spaces_alone(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    ensemble = pytest.importorskip("sklearn.ensemble")
    frame, y = normal()
    spaces = frame.set_axis(["a b", "a_b", "c"], axis=1)
    model = xgboost.XGBRegressor(n_estimators=3).fit(spaces, y)
    model.save_model(tmp_path / "m.json")
    for model in (model, tmp_path / "m.json", ensemble.RandomForestRegressor(3).fit(spaces, y)):
        explainer = retable.TreeExplainer(model)
        assert explainer.shap_values(spaces).shape == (300, 3)
        with pytest.raises(ValueError, match="another order"):
            explainer.shap_values(spaces[["a_b", "a b", "c"]])
        with pytest.raises(ValueError, match=r"missing \['a b'\], unknown \[\]"):
            explainer.shap_values(spaces.set_axis(["a_b", "a_b", "c"], axis=1))
    spaces = frame.set_axis(["a b", "b", "c"], axis=1)
    model = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(spaces, y)
    model.booster_.save_model(tmp_path / "m.txt")
    for model in (model, tmp_path / "m.txt"):
        explainer = retable.TreeExplainer(model)
        for names in (["a b", "b", "c"], ["a_b", "b", "c"]):
            assert explainer.shap_values(frame.set_axis(names, axis=1)).shape == (300, 3)
        with pytest.raises(ValueError, match="another order"):
            explainer.shap_values(spaces[["b", "a b", "c"]])
        with pytest.raises(ValueError, match="two columns have one name"):
            explainer.shap_values(frame.set_axis(["a b", "a_b", "c"], axis=1))


def test_names_of_one_row():
    frame, y = normal()
    model = xgboost.XGBRegressor(n_estimators=3).fit(frame, y)
    explainer = retable.TreeExplainer(model)
    row, want = frame.iloc[0], explainer.shap_values(frame[:1])[0]
    for other in (row, row.reset_index(drop=True), row.set_axis([2, 1, 0])):
        assert numpy.array_equal(explainer.shap_values(other), want)
    nameless = xgboost.XGBRegressor(n_estimators=3).fit(frame.to_numpy(), y)
    assert numpy.array_equal(retable.TreeExplainer(nameless).shap_values(row), want)
    with pytest.raises(ValueError, match="another order"):
        explainer.shap_values(row[["c", "b", "a"]])
    with pytest.raises(ValueError, match=r"missing \['b'\], unknown \['d'\]"):
        explainer.shap_interaction_values(row.rename({"b": "d"}))
    with pytest.raises(ValueError, match="2 columns, the model 3"):
        explainer.shap_values(row[["a", "b"]])


def test_names_that_are_not_utf_8():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = normal()
    model = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1).fit(frame.rename(columns={"a": "speed"}), y)
    data = model.booster_.model_to_string().encode().replace(b"speed", b"sp\xe9ed")
    for make in (lambda: retable.TreeExplainer(data),
                 lambda: retable.TreeExplainer(data, feature_names=list("abc")).shap_values(frame)):
        with pytest.raises(ValueError, match="name that is not UTF-8"):
            make()
    explainer = retable.TreeExplainer(data, feature_names=list("abc"))
    want = model.predict(frame.to_numpy(), pred_contrib=True)[:, :-1]
    assert numpy.allclose(explainer.shap_values(frame.to_numpy()), want, atol=1e-5)


def test_boolean_categories():
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = normal()
    frame["c"] = pandas.Categorical(frame.a > 0.3)
    model = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, min_data_per_group=1, cat_smooth=1)
    model.fit(frame, y + 5 * frame.c.astype(int))
    want = model.predict(frame, pred_contrib=True)[:, :-1]
    explainer = retable.TreeExplainer(model)
    for given in (frame, frame.astype({"c": bool}), frame.astype({"c": bool}).astype({"c": object})):
        assert numpy.allclose(explainer.shap_values(given), want, atol=1e-5)


def test_the_script_for_scikit_learn_reads_pickle_and_joblib(tmp_path):
    ensemble = pytest.importorskip("sklearn.ensemble")
    import joblib
    from retable import from_scikit_learn
    frame, y = normal()
    model = ensemble.RandomForestRegressor(3).fit(frame, y)
    joblib.dump(model, tmp_path / "m.joblib")
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    for name in ("m.joblib", "m.pkl"):
        subprocess.run([sys.executable, from_scikit_learn.__file__, tmp_path / name, tmp_path / "m.json"], check=True)
        explainer = retable.TreeExplainer(tmp_path / "m.json")
        assert numpy.allclose(explainer.shap_values(frame).sum(1) + explainer.expected_value, model.predict(frame), atol=1e-4)
    for kind in (ensemble.RandomForestRegressor, ensemble.GradientBoostingRegressor,
                 ensemble.HistGradientBoostingRegressor):
        with pytest.raises(ValueError, match="not fitted"):
            from_scikit_learn.forest(kind())


def test_categories_in_arrays_are_numbers(tmp_path):
    ensemble = pytest.importorskip("sklearn.ensemble")
    from retable import from_scikit_learn
    random = numpy.random.default_rng(0)
    x = numpy.column_stack([random.choice([10, 20, 30], 300), numpy.round(random.normal(size=300) * 10)])
    y = (x[:, 0] == 20) * 3.0 + x[:, 1]
    for trained in (x, x.astype(int), pandas.DataFrame(x.astype(int), columns=["a", "b"])):
        model = ensemble.HistGradientBoostingRegressor(max_iter=5, categorical_features=[0]).fit(trained, y)
        from_scikit_learn.save(model, tmp_path / "h.json")
        for explainer in map(retable.TreeExplainer, (model, tmp_path / "h.json")):
            for rows in (x, x.astype(int), x.astype(numpy.float32), x.astype(object)):
                sums = explainer.shap_values(rows).sum(1) + explainer.expected_value
                assert numpy.allclose(sums, model.predict(trained), atol=1e-4)


def test_categories_of_histogram_boosting_are_its_own():
    ensemble = pytest.importorskip("sklearn.ensemble")
    code = numpy.random.default_rng(0).integers(0, 5, 400)
    y = numpy.array([3, 1, -4, 1, 5.0])[code]

    def fit(column):
        frame = pandas.DataFrame({"a": column, "b": 0.0})
        return ensemble.HistGradientBoostingRegressor(max_iter=5, categorical_features=[0]).fit(frame, y), frame
    for kind in (numpy.float32, numpy.float64):
        model, frame = fit((code * 0.1 + 0.1).astype(kind))
        explainer = retable.TreeExplainer(model)
        for rows in (frame, frame.to_numpy(kind)):
            sums = explainer.shap_values(rows).sum(1) + explainer.expected_value
            assert numpy.allclose(sums, model.predict(frame), atol=1e-4)
    words = numpy.array([None, "a", "b", "c", "d"], object)[code]
    for column, says in ((pandas.Series(words, dtype=object), "None among its categories"),
                         (pandas.Categorical(code + 2**53), "beyond 2"), (code * 1e30, "beyond 2")):
        with pytest.raises(ValueError, match=says):
            retable.TreeExplainer(fit(column)[0])


def test_additivity_is_judged_by_the_size_of_the_values():
    ensemble = pytest.importorskip("sklearn.ensemble")
    random = numpy.random.default_rng(3)
    x = random.normal(size=(400, 5))
    model = ensemble.RandomForestRegressor(50, random_state=0).fit(x, 1e6 * (x[:, 0] + x[:, 1]))
    retable.TreeExplainer(model).shap_values(x, check_additivity=True)


def test_scikit_learn_models_trained_on_are_noticed():
    ensemble = pytest.importorskip("sklearn.ensemble")
    from sklearn.tree import DecisionTreeRegressor
    frame, y = normal()
    for model, more in ((ensemble.RandomForestRegressor(3, warm_start=True), {"n_estimators": 5}),
                        (ensemble.HistGradientBoostingRegressor(max_iter=3, warm_start=True), {"max_iter": 5}),
                        (DecisionTreeRegressor(max_depth=3), {}),
                        (retable.ensemble.ExtraTreesRegressor(3), {})):
        explainer = retable.TreeExplainer(model.fit(frame, y))
        explainer.shap_values(frame)
        model.set_params(**more)
        for i in range(1 if more else 6):  # an id that was free may come back
            model.fit(frame, y if more else (i + 2) * y)
            with pytest.raises(RuntimeError, match="make a new one"):
                explainer.shap_values(frame)


def test_a_fit_that_failed_is_noticed():
    pytest.importorskip("sklearn")
    frame, y = normal()
    model = retable.ensemble.ExtraTreesRegressor(3).fit(frame, y)
    explainer = retable.TreeExplainer(model)
    with pytest.raises(ValueError):
        model.fit(frame, y * numpy.nan)
    for call in (explainer.shap_values, explainer.shap_interaction_values):
        with pytest.raises(RuntimeError, match="make a new one"):
            call(frame)


def test_interactions_refuse_background_rows(model, frame):
    explainer = retable.TreeExplainer(model, frame[:10])
    for call in (explainer.shap_interaction_values, explainer.top_interactions, explainer.interaction_index,
                 lambda x: explainer.interaction_index(x, index="banzhaf")):
        with pytest.raises(ValueError, match="without background rows"):
            call(frame[:3])


def test_columns_that_were_not_the_categories():
    lightgbm = pytest.importorskip("lightgbm")
    random = numpy.random.default_rng(0)
    frame = pandas.DataFrame({"c": random.integers(0, 3, 300),
                              "o": pandas.Categorical(random.integers(1, 4, 300), ordered=True)})
    data = lightgbm.Dataset(frame, (frame.c == 1) * 3.0 + frame.o.cat.codes, categorical_feature=["c"])
    model = lightgbm.train({"verbose": -1, "min_data_per_group": 1, "cat_smooth": 1}, data, 5)
    explainer = retable.TreeExplainer(model)
    with pytest.raises(ValueError, match=r"\['o'\], the model's \['c'\]"):
        explainer.shap_values(frame)
    codes = numpy.column_stack([frame.c, frame.o.cat.codes])
    assert numpy.allclose(explainer.shap_values(codes), model.predict(frame, pred_contrib=True)[:, :-1], atol=1e-5)


def test_whole_numbers_beyond_any_use(explainer, x):
    for call in (lambda: explainer.top_interactions(x, 2**64), lambda: explainer.interaction_index(x, 2**40),
                 lambda: explainer.top_interactions(x, 0), lambda: explainer.interaction_index(x, 0)):
        with pytest.raises(ValueError, match="give 1 to"):
            call()


def test_explanations_of_one_row(frame, explainer, x):
    one, all_rows = explainer(x[0]), explainer(x)
    assert one.values.shape == (6,) and numpy.shape(one.base_values) == () and one.data.shape == (6,)
    assert numpy.shape(all_rows.base_values) == (len(x),) and one.base_values == all_rows.base_values[0]
    model = xgboost.XGBClassifier(n_estimators=2).fit(frame, targets(frame, "classes"))
    assert retable.TreeExplainer(model)(x[0]).base_values.shape == (3,)
    assert retable.TreeExplainer(model)(x[:2]).base_values.shape == (2, 3)


def test_categories_that_are_numbers_to_the_model():
    ensemble = pytest.importorskip("sklearn.ensemble")
    frame, y = normal()
    frame["c"] = pandas.Categorical(numpy.where(frame.a > 0, 10, 30), categories=[30, 10, 20])
    y = y + frame.c.astype(int)
    for model in (ensemble.RandomForestRegressor(3), ensemble.GradientBoostingRegressor(n_estimators=3),
                  ensemble.HistGradientBoostingRegressor(max_iter=3, categorical_features=None),
                  retable.ensemble.ExtraTreesRegressor(3)):
        explainer = retable.TreeExplainer(model.fit(frame, y))
        sums = explainer.shap_values(frame).sum(1) + explainer.expected_value
        assert numpy.allclose(sums, model.predict(frame), rtol=1e-4)
        with pytest.raises(TypeError, match="'c' has categories"):
            explainer.shap_values(frame.assign(c=pandas.Categorical(["red"] * len(frame))))


def test_flags_that_may_be_missing():
    frame, y = normal()
    model = xgboost.XGBRegressor(n_estimators=3).fit(frame, y)
    flags = numpy.where(frame.a > 1, None, frame.a > 0)
    as_numbers = numpy.where(frame.a > 1, numpy.nan, frame.a > 0)
    explained = retable.TreeExplainer(model)
    assert numpy.array_equal(explained.shap_values(frame.assign(b=flags)),
                             explained.shap_values(frame.assign(b=as_numbers.astype(float))))


def test_another_value_for_missing_is_refused():
    frame, y = normal()
    model = xgboost.XGBRegressor(n_estimators=3, missing=-999.0).fit(frame.where(frame > -1, -999.0), y)
    with pytest.raises(ValueError, match="-999.0 for missing"):
        retable.TreeExplainer(model)
    values = retable.TreeExplainer(model.get_booster()).shap_values(frame.where(frame > -1))
    booster = model.get_booster()
    want = booster.predict(xgboost.DMatrix(frame.where(frame > -1)), pred_contribs=True)[:, :-1]
    assert numpy.allclose(values, want, atol=1e-5)


@pytest.fixture
def decimal_comma(tmp_path, monkeypatch):
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")],
                          capture_output=True) if shutil.which("localedef") else None
    if made is None or made.returncode != 0:
        pytest.skip("no locale with a decimal comma can be made: the package locales is not installed")
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    before = locale.setlocale(locale.LC_NUMERIC)
    locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
    yield
    locale.setlocale(locale.LC_NUMERIC, before)


def test_a_decimal_comma_changes_nothing(model, explainer, x, decimal_comma):
    assert locale.localeconv()["decimal_point"] == ","
    fresh = retable.TreeExplainer(model)
    assert numpy.array_equal(fresh.shap_values(x), explainer.shap_values(x))
    assert fresh.expected_value == explainer.expected_value


def test_masked_values_are_missing(explainer, x):
    masked = numpy.ma.masked_array(x, x > 0.5)
    assert numpy.array_equal(explainer.shap_values(masked), explainer.shap_values(masked.filled(numpy.nan)))


def test_names_of_explanations(explainer, model, frame):
    ensemble = pytest.importorskip("sklearn.ensemble")
    names = [f"feature {i}" for i in range(6)]
    for given in (names, numpy.array(names), frame.columns):
        assert retable.TreeExplainer(model, feature_names=given).feature_names == names
    pyarrow = pytest.importorskip("pyarrow")
    nameless = ensemble.RandomForestRegressor(2).fit(numbers(frame), targets(frame, "real"))
    explained = retable.TreeExplainer(nameless)(pyarrow.Table.from_pandas(frame.astype(float)))
    assert list(explained.feature_names) == names


def test_sums_beyond_the_precision_are_refused():
    stump = ('{"format": "retable-forest", "version": 1, "features": 1, "trees": [{"feature": [0, -1, -1], "threshold": '
             '[0, 0, 0], "left": [1, -1, -1], "right": [2, -1, -1], "cover": [2, 1, 1], "value": [0, -LEAF, LEAF]}]}')
    rows = numpy.array([[-1.0], [1.0]])
    large = retable.TreeExplainer(stump.replace("LEAF", "1e39").encode())
    for call in (large.shap_values, large.shap_interaction_values):
        with pytest.raises(ValueError, match="32 bits: use precision double"):
            call(rows)
    large = retable.TreeExplainer(stump.replace("LEAF", "1e39").encode(), precision="double")
    assert numpy.array_equal(large.shap_values(rows), [[-1e39], [1e39]])
    huge = retable.TreeExplainer(stump.replace("LEAF", "1.7e308").encode(), precision="double")
    with pytest.raises(ValueError, match="64 bits"):
        huge.shap_values(rows)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_trees_that_change_in_their_place(library):
    trainer = pytest.importorskip(library)
    r = numpy.random.default_rng(0)
    x = r.normal(size=(200, 4))
    y = x[:, 0] + x[:, 1] * x[:, 2]
    if library == "xgboost":
        model = trainer.train({}, trainer.DMatrix(x, label=y), 5)
    else:
        model = trainer.train({"verbose": -1}, trainer.Dataset(x, y), 5)
    explainer = retable.TreeExplainer(model)
    model.predict(trainer.DMatrix(x) if library == "xgboost" else x)
    explainer.shap_values(x, check_additivity=True)
    if library == "xgboost":
        model.set_param({"process_type": "update", "updater": "refresh", "refresh_leaf": 1})
        for i in range(5):
            model.update(trainer.DMatrix(x, label=-3 * y), i)
    else:
        model.set_leaf_output(0, 0, 7.0)
    with pytest.raises(RuntimeError, match="make a new one"):
        explainer.shap_values(x, check_additivity=True)


def test_feature_names_are_one_a_feature():
    trainer = pytest.importorskip("xgboost")
    x = numpy.random.default_rng(0).normal(size=(50, 4))
    model = trainer.train({}, trainer.DMatrix(x, label=x[:, 0]), 2)
    for names in (["a"], list("abcdefg")):
        with pytest.raises(ValueError, match=f"{len(names)} feature_names for a model of 4 features"):
            retable.TreeExplainer(model, feature_names=names)
    assert retable.TreeExplainer(model, feature_names=list("abcd")).feature_names == list("abcd")
