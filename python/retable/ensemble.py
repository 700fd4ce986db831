"""Extremely randomized trees in scikit-learn's form, grown on a processor or a GPU."""

import numbers

import numpy

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state, compute_sample_weight
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("retable.ensemble needs scikit-learn 1.6 or later: pip install scikit-learn") from error

from . import _device, _retable

__all__ = ["ExtraTreesClassifier", "ExtraTreesRegressor"]


_MOST = 2**31 - 1  # no forest has so many rows or nodes: above it, limits are alike


def _whole(value, name, least, more=""):
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} is {value!r}: give a whole number from {least} on{more}")
    return min(int(value), _MOST)


def _share(value, rows, name, least):
    """A number of rows, given as one or as a fraction of all."""
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral) and 0 < value <= 1:
        return max(least, int(numpy.ceil(value * rows)))
    return _whole(value, name, least, ", or a fraction up to 1.0")


class _ExtraTrees(BaseEstimator):
    def __init__(self, n_estimators=100, *, max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 max_features=1.0, max_leaf_nodes=None, min_weight_fraction_leaf=0.0,
                 min_impurity_decrease=0.0, bootstrap=False, n_jobs=None, random_state=None, device="auto"):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.device = device

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _candidates(self, features):
        given = self.max_features
        if given is None:
            return features
        if given in ("sqrt", "log2"):
            return max(1, int(getattr(numpy, given)(features)))
        if isinstance(given, numbers.Integral) and not isinstance(given, bool) and \
                1 <= given <= features:
            return int(given)
        if isinstance(given, numbers.Real) and not isinstance(given, numbers.Integral) and \
                0 < given <= 1:
            return max(1, int(given * features))
        raise ValueError(f"max_features is {given!r}: give \"sqrt\", \"log2\", None, 1 to {features}, or a "
                         "fraction up to 1")

    def _options(self, rows, features):
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        if isinstance(self.random_state, numbers.Integral):
            seed = int(self.random_state)
        depth = 0 if self.max_depth is None else _whole(self.max_depth, "max_depth", 1)
        if not isinstance(self.bootstrap, (bool, numpy.bool_)):
            raise ValueError(f"bootstrap is {self.bootstrap!r}: give True or False")
        if not isinstance(self.device, str):
            raise ValueError(f"device is {self.device!r}: give \"auto\", \"cpu\" or \"cuda\"")
        leaves = 0 if self.max_leaf_nodes is None else _whole(self.max_leaf_nodes, "max_leaf_nodes", 2)
        return {"trees": _whole(self.n_estimators, "n_estimators", 1), "max_depth": depth,
                "min_samples_split": _share(self.min_samples_split, rows, "min_samples_split", 2),
                "min_samples_leaf": _share(self.min_samples_leaf, rows, "min_samples_leaf", 1),
                "max_features": self._candidates(features), "max_leaf_nodes": leaves,
                "min_weight_fraction_leaf": float(self.min_weight_fraction_leaf),
                "min_impurity_decrease": float(self.min_impurity_decrease),
                "bootstrap": bool(self.bootstrap), "seed": seed, "device": self.device,
                "threads": self._threads()}

    def _threads(self):
        return 0 if self.n_jobs in (None, -1) else _whole(self.n_jobs, "n_jobs", 1, ", or None or -1 for all")

    def _fit(self, grow, x, targets, weights):
        weights = numpy.empty(0) if weights is None else numpy.ascontiguousarray(weights, numpy.float64)
        self.forest_ = grow(x, targets, weights, self._options(*x.shape))
        return self

    def _rows(self, X):
        return validate_data(self, _device.to_host(X, "X"), dtype=numpy.float32, order="C", reset=False,
                             ensure_all_finite="allow-nan")

    def _predicted(self, X):
        """(rows, outputs): of rows in GPU memory a DeviceArray, predicted there."""
        check_is_fitted(self)
        if not _device.on_device(X):
            return self.forest_.predict(self._rows(X), self._threads())
        x = _device.View(X, "X")
        if x.dtype != numpy.float32 or len(x.shape) != 2:
            raise TypeError(f"X has the dtype {x.dtype} and {len(x.shape)} axes: rows in GPU memory are float32, of "
                            "two axes")
        rows, features = x.shape
        if features != self.n_features_in_:
            raise ValueError(f"X has {features} features, but {type(self).__name__} is expecting "
                             f"{self.n_features_in_} features as input")
        shape = rows, self.forest_.outputs
        memory = _device.answer(x, float, rows * shape[1], lambda to, stream:
                                self.forest_.predict_on_device(x.address, rows, to, stream))
        return _device.DeviceArray(memory, x.stream, shape, float)

    def _training_data(self, X, y, **checks):
        # A fit that fails or is interrupted leaves no older forest beside the new names of features and classes.
        vars(self).pop("forest_", None)
        X, y = _device.to_host(X, "X"), _device.to_host(y, "y")
        return validate_data(self, X, y, dtype=numpy.float32, order="C", ensure_all_finite="allow-nan", **checks)

    def _weights(self, sample_weight, x):
        return _check_sample_weight(_device.to_host(sample_weight, "sample_weight"), x, dtype=numpy.float64,
                                    ensure_non_negative=True)

    def apply(self, X):
        """The number of each row's leaf in each tree: (rows, n_estimators), int64."""
        check_is_fitted(self)
        return self.forest_.apply(self._rows(X), self._threads())

    @property
    def feature_importances_(self):
        """Mean decrease of impurity by feature; the sum is 1, or 0 where no tree splits."""
        check_is_fitted(self)
        return self.forest_.feature_importances()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "forest_")

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "forest_" in state:
            state["forest_"] = state["forest_"].to_bytes()
        return state

    def __setstate__(self, state):
        if isinstance(state.get("forest_"), bytes):
            state = {**state, "forest_": _retable.Forest.from_bytes(state["forest_"])}
        super().__setstate__(state)

    def _names(self):
        return [str(n) for n in getattr(self, "feature_names_in_", [])]

    def to_sklearn(self):
        """The same forest as a fitted scikit-learn model. Predictions are equal but for rounding: class fractions to
        within 1e-12, real targets to within the largest one's size times n_estimators / 2^60."""
        from . import to_scikit_learn

        check_is_fitted(self)
        content = to_scikit_learn.from_bytes(self.forest_.to_bytes())
        content["feature_names"] = self._names()
        content["class_names"] = list(getattr(self, "classes_", []))
        return to_scikit_learn.model_of(content)

    def to_xgboost(self):
        """The same forest as an xgboost.Booster: thresholds and leaves are rounded to float32."""
        import xgboost

        check_is_fitted(self)
        booster = xgboost.Booster()
        booster.load_model(bytearray(self.forest_.to_xgboost(self._names()).encode()))
        return booster


class ExtraTreesClassifier(ClassifierMixin, _ExtraTrees):
    """Extremely randomized trees for classes (Gini), with these parameters of scikit-learn.

    Parameters
    ----------
    n_estimators : int
        Trees.
    max_depth : int or None
        None: no limit.
    min_samples_split, min_samples_leaf : int or float
        A number of rows, or a fraction of all rows.
    max_features : {"sqrt", "log2"}, int, float or None
        Features tried at a node; None: all.
    max_leaf_nodes : int or None
        Leaves of a tree: the split that gains most comes first. None: no limit.
    min_weight_fraction_leaf : float
        The share of all weight that a leaf has at least, up to 0.5.
    min_impurity_decrease : float
    bootstrap : bool
        Each tree on rows drawn with replacement, by weight where rows have weights: as many as have a weight above 0. A
        row counts as often as it is drawn, for min_samples_split and min_samples_leaf too.
    class_weight : {"balanced"}, dict or None
        "balanced": such that the rows of each class, by sample_weight where it is given, have the same sum.
    n_jobs : int or None
        Processor threads, of predictions too; None and -1: all.
    random_state : int, RandomState or None
        One integer, one forest: on every machine, on a processor and on a GPU.
    device : {"auto", "cpu", "cuda"}

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, feature_importances_

    Notes
    -----
    Up to 2,097,152 rows and 65,535 classes; a larger table is refused. Rows of float32; NaN is a missing value, whose
    side is drawn with each cut. Training rows in GPU memory are copied to the host, where they are encoded, also for a
    GPU. O(rows max_features) a level of a tree.
    Geurts, Ernst, Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006; on GPUs after Phang,
    Tanna (algorithms/extratrees/README.md).
    """

    def __init__(self, n_estimators=100, *, max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 max_features="sqrt", max_leaf_nodes=None, min_weight_fraction_leaf=0.0,
                 min_impurity_decrease=0.0, bootstrap=False, n_jobs=None, random_state=None, class_weight=None, device="auto"):
        super().__init__(n_estimators, max_depth=max_depth, min_samples_split=min_samples_split,
                         min_samples_leaf=min_samples_leaf, max_features=max_features,
                         max_leaf_nodes=max_leaf_nodes, min_weight_fraction_leaf=min_weight_fraction_leaf,
                         min_impurity_decrease=min_impurity_decrease,
                         bootstrap=bootstrap, n_jobs=n_jobs, random_state=random_state,
                         device=device)
        self.class_weight = class_weight

    def fit(self, X, y, sample_weight=None):
        """Grows the forest on rows X and classes y. Returns the classifier."""
        x, y = self._training_data(X, y)
        check_classification_targets(y)
        self.classes_, codes = numpy.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        weights = None if sample_weight is None else self._weights(sample_weight, x)
        if self.class_weight is not None:
            if weights is not None and self.class_weight == "balanced":
                # As scikit-learn has it from 1.9 on; before, it counted rows.
                totals = numpy.bincount(codes, weights)
                by_class = (totals.sum() / (self.n_classes_ * numpy.where(totals > 0, totals, 1)))[codes]
            else:
                by_class = compute_sample_weight(self.class_weight, y)
            if not (numpy.isfinite(by_class) & (by_class >= 0)).all():
                raise ValueError(f"class_weight is {self.class_weight!r}: give each class a finite weight, 0 or more")
            weights = by_class if weights is None else weights * by_class
        return self._fit(_retable.Forest.fit_classes, x, codes.astype(numpy.uint32), weights)

    def predict_proba(self, X):
        """Mean class fractions of the trees' leaves: (rows, classes); for rows in GPU memory (float32, row-major) a
        `DeviceArray`, predicted there on the rows' stream."""
        return self._predicted(X)

    def predict_log_proba(self, X):
        """The logarithm of `predict_proba`."""
        with numpy.errstate(divide="ignore"):
            return numpy.log(self._host_proba(X))

    def predict(self, X):
        """The class of each row, in host memory; the first of equal ones."""
        proba = self._host_proba(X)
        return self.classes_[proba.argmax(1)]

    def _host_proba(self, X):
        proba = self.predict_proba(X)
        return proba.to_numpy() if isinstance(proba, _device.DeviceArray) else proba


class ExtraTreesRegressor(RegressorMixin, _ExtraTrees):
    """Extremely randomized trees for one real target (squared error).

    Parameters, attributes and notes are those of `ExtraTreesClassifier`, without classes and their weights;
    max_features is 1.0, all features. Targets are rounded, by the largest one's size times trees / 2^60 at most:
    beside a target of 1e20, those of a few units are 0.
    """

    def fit(self, X, y, sample_weight=None):
        """Grows the forest on rows X and targets y. Returns the regressor."""
        x, y = self._training_data(X, y, y_numeric=True)
        weights = None if sample_weight is None else self._weights(sample_weight, x)
        return self._fit(_retable.Forest.fit_targets, x, numpy.ascontiguousarray(y, numpy.float64), weights)

    def predict(self, X):
        """The mean of the trees' leaves; for rows in GPU memory (float32, row-major) a `DeviceArray`, predicted there
        on the rows' stream."""
        results = self._predicted(X)
        if isinstance(results, _device.DeviceArray):
            return results.of_shape(results.shape[:1])
        return results[:, 0]
