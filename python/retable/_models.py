"""Models of other libraries as the library's own, and what shap's conventions make of their outputs."""

import json
import os

import numpy

from . import _device


class Source:
    """A model's bytes, and how it wants to be used.

    bytes : what the C++ readers take
    single_is_array : whether shap gives the expected value of one output as an array
    names : the features' names that the library compares, or None
    underscores : whether the names have underscores where the columns' have spaces (LightGBM)
    values_are_categories : whether an array's numbers are the categories themselves, not their codes
    counts_categories : whether a frame's categories that the model does not list stand for their codes (XGBoost,
        LightGBM), not for their numbers
    changed : a function that tells whether the model was trained on since it was read, by what `state` gives and,
        where the whole model is asked for, by the bytes that `read` makes again; it holds what it compares with,
        since the id of what is gone is given to another
    """

    def __init__(self, data, *, single_is_array=False, names=None, underscores=False,
                 values_are_categories=False, counts_categories=False, state=None, read=None):
        self.bytes = data
        self.single_is_array = single_is_array
        self.names = names
        self.underscores = underscores
        self.values_are_categories = values_are_categories
        self.counts_categories = counts_categories
        self._state, self._read = state, read
        self._seen = None if state is None else state()

    def __getstate__(self):  # a copy in another process has no model to watch
        return {**self.__dict__, "_state": None, "_seen": None, "_read": None}

    def changed(self, whole=False):
        if self._state is None:
            return False
        return self._state() != self._seen or (whole and self._read is not None and self._read() != self.bytes)


def _xgboost(model):
    booster = model if type(model).__name__ == "Booster" else model.get_booster()
    missing = getattr(model, "missing", None)
    if missing is not None and missing == missing:
        raise ValueError(f"the model takes {missing} for missing: give model.get_booster(), and rows with NaN in its "
                         "place")

    def state():
        now = booster if booster is model else model.get_booster()
        return id(now), now.num_boosted_rounds()

    def read():
        return bytes(booster.save_raw("ubj"))

    return Source(read(), names=booster.feature_names, counts_categories=True, state=state, read=read)


def _lightgbm(model):
    def get():
        return model if type(model).__name__ == "Booster" else model.booster_

    booster = get()

    def state():
        return get() is booster, get().num_trees()

    names = booster.feature_name()
    if names == [f"Column_{i}" for i in range(len(names))]:
        names = None

    def read():
        return booster.model_to_string().encode()

    return Source(read(), names=names, underscores=True, counts_categories=True, state=state, read=read)


def _scikit_learn(model):
    from . import from_scikit_learn

    content = from_scikit_learn.forest(model)  # ValueError for a model that it does not read
    parts = next(p for p in ("estimators_", "_predictors", "tree_") if hasattr(model, p))
    names = getattr(model, "feature_names_in_", None)
    held = getattr(model, parts)

    def state():
        now = getattr(model, parts)
        return now is held, len(now) if hasattr(now, "__len__") else 1

    try:
        text = json.dumps(content, allow_nan=False)
    except ValueError:
        raise ValueError("a value or weight of a node is not finite") from None
    return Source(text.encode(), single_is_array=True,
                  names=None if names is None else [str(n) for n in names],
                  values_are_categories="feature_levels" in content,
                  state=state)


def _catboost(model):
    from . import from_catboost

    content = from_catboost.forest(model)  # ValueError for what splits by more than numbers

    def state():
        trained = model.get_metadata().get("model_guid") if model.is_fitted() else None
        return trained, model.tree_count_, model.get_scale_and_bias()

    return Source(json.dumps(content).encode(), names=content.get("feature_names"), state=state)


def _retable(model):
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    held = model.forest_
    return Source(held.to_bytes(), single_is_array=True,
                  names=None if names is None else [str(n) for n in names],
                  state=lambda: getattr(model, "forest_", None) is held)  # a fit that failed leaves none


def _file(data):
    """A file's model. Arrays for a forest hold what its table held, as for the program `retable shap`."""
    binary, text = data.startswith(b"RTFOREST"), b"retable-forest" in data[:4096]
    return Source(data, values_are_categories=binary or (text and b'"feature_levels"' in data),
                  counts_categories=not binary and not text,
                  underscores=data[:4096].lstrip(b" \t\r\n").startswith(b"tree"))


def read(model):
    """The `Source` of a model object, a file's path or a file's bytes. TypeError for what is none."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _file(bytes(model))
    if isinstance(model, (str, os.PathLike)):
        with open(model, "rb") as file:
            return _file(file.read())
    modules = {base.__module__.split(".")[0] for base in type(model).__mro__}
    if "xgboost" in modules:
        return _xgboost(model)
    if "lightgbm" in modules:
        return _lightgbm(model)
    if "catboost" in modules:
        return _catboost(model)
    if "retable" in modules:
        return _retable(model)
    if "sklearn" in modules:
        return _scikit_learn(model)
    raise TypeError(f"{type(model).__module__}.{type(model).__name__} is no model of xgboost, lightgbm, "
                    "catboost, scikit-learn or retable, and no file")


# ------------------------------------------------------------------------------------------- rows


def _category_codes(model, feature, values, name):
    """Codes by the model's own list of categories."""
    codes = numpy.full(len(values), numpy.nan)
    known = {}
    for at, value in enumerate(values):
        if value is None or value != value:
            continue
        if value not in known:
            text = isinstance(value, str)
            try:
                code = model.category_code(feature, value if text else float(value))
                if code != code and isinstance(value, (bool, numpy.bool_)):
                    code = model.category_code(feature, str(value))  # of a list of True and False
                known[value] = code
            except (TypeError, ValueError) as error:
                raise ValueError(f"column {name!r}: {error}") from None
        codes[at] = known[value]
    return codes


def _column(frame, place, model, source):
    """A column of a pandas frame as float64."""
    column = frame.iloc[:, place]
    name = frame.columns[place]
    kind = str(column.dtype)
    if kind == "category":
        categories = column.cat.categories
        if model.has_categories(place):
            column = column.cat.remove_unused_categories()  # those that no row has matter to no library
            codes = _category_codes(model, place, column.cat.categories.tolist(), name)
        elif source.counts_categories:
            codes = numpy.arange(len(categories), dtype=float)
        elif categories.dtype.kind in "biuf":
            codes = categories.to_numpy(numpy.float64)
        else:
            raise TypeError(f"column {name!r} has categories, and the model was trained on numbers")
        places = column.cat.codes.to_numpy()
        return numpy.where(places < 0, numpy.nan, codes[places] if len(codes) else numpy.nan)
    if model.has_categories(place):
        known = column.astype(object).where(column.notna(), None)  # pandas.NA compares with nothing
        return _category_codes(model, place, known.tolist(), name)
    # pyarrow's flags that may be missing are objects in pandas.
    flags = kind == "object" and all(v is None or isinstance(v, (bool, numpy.bool_)) for v in column)
    if not flags and (column.dtype.kind in "mMc" or kind in ("object", "str") or kind.startswith("string")):
        raise TypeError(f"column {name!r} has the dtype {kind}: give numbers, or a category where the "
                        f"model was trained on categories")
    return column.to_numpy(dtype=numpy.float64, na_value=numpy.nan)


def feature_names(model, source):
    """The model's names, or None."""
    try:
        return source.names or model.feature_names or None
    except UnicodeDecodeError:
        raise ValueError("the model has a feature name that is not UTF-8: write its file in UTF-8") from None


def _check_names(given, model, source):
    names = feature_names(model, source)
    given = [str(name) for name in given]
    made_up = [f"Column_{f}" for f in range(model.features)]  # LightGBM's, for columns without names
    if names is None and sorted(given) == sorted(made_up):
        names = made_up
    if names is None:
        return
    wanted = [str(name) for name in names]
    if source.underscores:
        given, wanted = ([name.replace(" ", "_") for name in each] for each in (given, wanted))
        if len(set(given)) < len(given):
            raise ValueError(f"two columns have one name, with LightGBM's underscores for spaces: {given}")
    if given == wanted:
        return
    missing = [name for name in wanted if name not in given][:5]
    extra = [name for name in given if name not in wanted][:5]
    if not missing and not extra:
        raise ValueError("the columns are in another order than the model's features: "
                         "X[model's names] puts them right")
    raise ValueError(f"the columns are not the model's features: missing {missing}, unknown {extra}")


def check_width(width, model):
    if width != model.features:
        raise ValueError(f"X has {width} columns, the model {model.features} features")


def _check_categories(frame, model):
    """LightGBM does not write which columns its lists of categories belong to: the reader tells by values."""
    listed = [f for f in range(model.features) if model.has_categories(f)]
    given = [f for f, kind in enumerate(frame.dtypes) if str(kind) == "category"]
    if listed and not set(given) <= set(listed):
        raise ValueError(f"the frame's columns of categories are {[frame.columns[f] for f in given]}, the model's "
                         f"{[frame.columns[f] for f in listed]}: give an array of the codes that the model was "
                         "trained on")


def _frame_rows(frame, model, source):
    check_width(frame.shape[1], model)
    _check_names(frame.columns, model, source)
    _check_categories(frame, model)
    rows = numpy.empty(frame.shape, numpy.float64)
    for place in range(frame.shape[1]):
        rows[:, place] = _column(frame, place, model, source)
    return rows


def as_rows(x, model, source):
    """(rows, whether x was a single row): float32 or float64, row-major, a column a feature."""
    if type(x) is numpy.ndarray and x.ndim == 2 and x.dtype in (numpy.float32, numpy.float64) and \
            not source.values_are_categories:
        check_width(x.shape[1], model)
        return (x if x.flags.c_contiguous else numpy.ascontiguousarray(x)), False
    if _device.on_device(x):
        raise TypeError("X lies in GPU memory: give a host copy (X.get(), X.cpu())")
    if hasattr(x, "to_pandas") and hasattr(x, "schema"):  # pyarrow, polars
        x = x.to_pandas()
    if hasattr(x, "iloc") and hasattr(x, "columns"):
        return _frame_rows(x, model, source), False
    if hasattr(x, "iloc") and x.index.dtype.kind not in "iuf":  # a frame's row
        check_width(len(x), model)
        _check_names(x.index, model, source)
    if hasattr(x, "toarray"):
        raise TypeError("X is sparse: whether its zeros are missing is not known; give X.toarray()")
    if numpy.ma.isMaskedArray(x):
        x = x.astype(numpy.float64).filled(numpy.nan)
    rows = numpy.asarray(x)
    single = rows.ndim == 1
    if single:
        rows = rows.reshape(1, -1)
    if rows.ndim != 2:
        raise ValueError(f"X has {rows.ndim} axes: rows and features are two")
    check_width(rows.shape[1], model)
    if source.values_are_categories:
        coded = numpy.empty(rows.shape, numpy.float64)
        for f in range(model.features):
            coded[:, f] = (_category_codes(model, f, rows[:, f].tolist(), f)
                           if model.has_categories(f) else rows[:, f])
        return coded, single
    if rows.dtype.kind not in "biuf":
        raise TypeError(f"X has the dtype {rows.dtype}: give numbers")
    if rows.dtype != numpy.float32:
        rows = rows.astype(numpy.float64, copy=False)
    return numpy.ascontiguousarray(rows), single
