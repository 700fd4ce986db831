"""SHAP values of tree ensembles, in shap's shapes."""

import time
import types

import numpy

from . import _device, _models, _retable
from ._numbers import count as _count

_ROWS = 4096  # rows explained at a time on a processor, so that Ctrl-C is seen between


class TreeExplainer:
    """Exact SHAP values of a tree ensemble, as shap.TreeExplainer gives them.

    Parameters
    ----------
    model : model, path or bytes
        An xgboost Booster or XGB* model, a lightgbm Booster or LGBM* model, a CatBoost model that splits by
        numbers, scikit-learn's decision trees, forests, gradient boosting and histogram gradient boosting, a
        forest of `retable.ensemble`; or a file: XGBoost's JSON or UBJSON, LightGBM's text, a forest of
        `retable forest`. Where XGBoost's training stopped early, the trees up to the best iteration, as its
        scikit-learn interface predicts; `Booster.predict` takes all without `iteration_range`.
    data : array_like or frame, optional
        Background rows, for interventional values.
    model_output : "raw"
        Values of the model's margin (log odds, say); of probabilities for scikit-learn's forests.
    feature_perturbation : {"auto", "tree_path_dependent", "interventional"}
        "auto": interventional where `data` is given.
    feature_names : list of str, optional
        Names for `Explanation`; else those of the model or of the rows' columns.
    device : {"auto", "cpu", "cuda"}
        "auto" takes a GPU where one answers and the model is within its limits.
    precision : {"float", "double"}
        Of the sums; "double" is computed on the processor. Interventional values are doubles anyway.
    threads : int
        Processor threads; 0: all.

    Attributes
    ----------
    expected_value : float or numpy.ndarray
        What the values of a row add up from: to the model's raw output.

    Raises
    ------
    TypeError, ValueError
        For what is no such model, with what is wrong, and for options that are none of these.

    Notes
    -----
    Exact Gauss-Legendre quadrature: O(trees * leaves * depth) a row. Path-dependent values are those of
    Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for trees";
    method and bounds in algorithms/treeshap/README.md. Calls from several threads take turns. The explainer keeps
    a copy of the model, none of the rows. In a process that was forked while another thread was in a call of the
    explainer, its calls wait for ever: make a new one there.

    Examples
    --------
    >>> explainer = retable.TreeExplainer(model)
    >>> shap.plots.beeswarm(explainer(X))
    """

    def __init__(self, model, data=None, model_output="raw", feature_perturbation="auto",
                 feature_names=None, *, device="auto", precision="float", threads=0):
        if model_output != "raw":
            raise ValueError(f"model_output {model_output!r}: values are those of the raw output, \"raw\"")
        if feature_perturbation not in ("auto", "tree_path_dependent", "interventional"):
            raise ValueError(f"feature_perturbation {feature_perturbation!r} is none of auto, "
                             "tree_path_dependent, interventional")
        if feature_perturbation == "interventional" and data is None:
            raise ValueError("interventional values need background rows: data=...")
        self.model = model
        self._source = source = _models.read(model)
        native = _retable.TreeModel.read(source.bytes)
        rows = numpy.empty((0, native.features))
        if data is not None and feature_perturbation != "tree_path_dependent":
            rows = numpy.ascontiguousarray(_models.as_rows(data, native, source)[0], numpy.float64)
            if len(rows) == 0:
                raise ValueError("data has no rows")
        names = feature_names if feature_names is not None else _models.feature_names(native, source)
        self.feature_names = None if names is None else list(names) or None
        if feature_names is not None and len(self.feature_names or []) != native.features:
            raise ValueError(f"{len(feature_names)} feature_names for a model of {native.features} features")
        self._prepare(native, rows, (device, precision, _count(threads, "threads", most=2**31 - 1)))

    def _prepare(self, native, background, options):
        device, precision, threads = options
        self._model, self._background, self._options = native, background, options
        self._explainer = _retable.Explainer(native, device, precision, "shapley", threads, background)
        self._banzhaf = None
        self._outputs = native.outputs
        expected = native.expected_values()
        if len(background):  # the mean over the background, which each row's values hold
            expected = self._values(background[:1])[0, :, -1].copy()
        self.expected_value = (expected if self._outputs > 1 or self._source.single_is_array
                               else float(expected[0]))

    def __getstate__(self):
        return {"source": self._source, "background": self._background, "options": self._options,
                "feature_names": self.feature_names}

    def __setstate__(self, state):
        self.model, self._source = None, state["source"]
        self.feature_names = state["feature_names"]
        self._prepare(_retable.TreeModel.read(self._source.bytes), state["background"],
                      state["options"])

    @property
    def device(self):
        """"cpu" or "cuda": where values are computed."""
        return self._explainer.device

    def _check(self, whole=False):
        if self._source.changed(whole):
            raise RuntimeError("the model was trained on since this explainer was made: make a new one")

    def _blocks(self, rows):
        step = len(rows) if self._explainer.device == "cuda" else _ROWS
        for begin in range(0, len(rows), max(1, step)):
            yield slice(begin, begin + step)

    def _values(self, rows):
        phi = numpy.empty((len(rows), self._outputs, rows.shape[1] + 1))
        for block in self._blocks(rows):
            self._explainer.values(rows[block], phi[block])
        return phi

    def _rows(self, X):
        self._check()
        return _models.as_rows(X, self._model, self._source)

    def _on_device(self, X, explain, axes):
        """Values (axes = 1) or interactions (2) of rows in GPU memory: a view without the expected values."""
        self._check()
        x = _device.View(X, "X")
        if self.device != "cuda":
            raise TypeError("X lies in GPU memory, and this explainer computes on the processor "
                            f"({self._explainer.why_not_gpu}): give a host copy (X.get(), X.cpu())")
        if x.dtype != numpy.float32:
            raise TypeError(f"X has the dtype {x.dtype}: rows in GPU memory are float32, as X.astype('float32') or "
                            "X.float() gives")
        if self._source.values_are_categories and any(map(self._model.has_categories, range(self._model.features))):
            raise TypeError("the model's categories are looked up on the processor: give a host copy (X.get(), X.cpu())")
        if len(x.shape) not in (1, 2):
            raise ValueError(f"X has {len(x.shape)} axes: rows and features are two")
        rows, features = (1, *x.shape)[-2:]
        _models.check_width(features, self._model)
        outputs, side = self._outputs, features + 1
        memory = _device.answer(x, float, rows * outputs * side**axes,
                                lambda to, stream: explain(x.address, rows, to, stream))
        matrix = [8 * side**(axes - 1 - i) for i in range(axes)]
        shape, strides = [features] * axes, matrix
        if outputs > 1:
            shape, strides = [*shape, outputs], [*strides, 8 * side**axes]
        if len(x.shape) == 2:
            shape, strides = [rows, *shape], [8 * outputs * side**axes, *strides]
        return _device.DeviceArray(memory, x.stream, shape, float, strides)

    def shap_values(self, X, y=None, tree_limit=None, approximate=False, check_additivity=False):
        """SHAP values of the rows.

        Parameters
        ----------
        X : array_like, pandas.DataFrame or pyarrow.Table of shape (rows, features)
            NaN is a missing value. A frame's columns bear the model's names, in the model's order; columns
            of categories are taken by the model's own list. One row of shape (features,) is taken too; the names
            of a pandas.Series are compared as a frame's, numbers are none.
            An array in GPU memory (float32, row-major, any with __cuda_array_interface__ or DLPack) is explained
            there, on its stream, by an explainer whose `device` is "cuda". In other arrays a feature with
            categories holds its codes; for scikit-learn's models and files of forests the categories.
        check_additivity : bool
            Compare the sum of each row's values with the output of the model as it was read (1e-4 of the values' sum
            of magnitudes), and the model of XGBoost or LightGBM as it is with the one that was read, whole.

        Returns
        -------
        numpy.ndarray
            (rows, features), or (rows, features, outputs) for several outputs; without the first axis for
            one row. A view of memory that holds the expected values too. For an array in GPU memory a
            `DeviceArray` of the same numbers.

        Raises
        ------
        TypeError, ValueError
            For columns that are not the model's, and for values that are no numbers.
        RuntimeError
            For a model trained on since: its object or the number of its trees is another. Trees that change in
            their place (XGBoost's "update", LightGBM's rollback_one_iter and set_leaf_output, load_model) are noticed
            where check_additivity is asked for; it finds other differences too.
        """
        if y is not None or tree_limit is not None or approximate:
            raise ValueError("y, tree_limit and approximate are not taken: values are exact, of all trees "
                             "that the model predicts by")
        if _device.on_device(X):
            if check_additivity:
                raise ValueError("check_additivity predicts on the processor: give rows of host memory")
            return self._on_device(X, self._explainer.values_on_device, 1)
        rows, single = self._rows(X)
        phi = self._values(rows)
        if check_additivity:
            self._check(whole=True)
            margins = self._model.predict(numpy.ascontiguousarray(rows, numpy.float64), self._options[2])
            gap = numpy.abs(phi.sum(2) - margins) / numpy.maximum(1, numpy.abs(phi).sum(2))
            if gap.size and not gap.max() <= 1e-4:
                raise RuntimeError(f"the values of row {int(gap.max(1).argmax())} do not add up to the "
                                   f"model's output: off by {gap.max():.3g}")
        values = phi[:, 0, :-1] if self._outputs == 1 else phi[:, :, :-1].transpose(0, 2, 1)
        return values[0] if single else values

    def shap_interaction_values(self, X):
        """SHAP interaction values of the rows: (rows, features, features), and outputs behind.

        A row's matrix is symmetric, and each of its lines adds up to the feature's SHAP value (Lundberg et al.
        2020). Parameters and errors as of `shap_values`; ValueError for an explainer with background rows, since
        these values, those of `top_interactions` and of `interaction_index` are path-dependent.
        """
        if _device.on_device(X):
            return self._on_device(X, self._explainer.interactions_on_device, 2)
        rows, single = self._rows(X)
        side = rows.shape[1] + 1
        pairs = numpy.empty((len(rows), self._outputs, side, side))
        for block in self._blocks(rows):
            self._explainer.interactions(rows[block], pairs[block])
        values = pairs[:, 0, :-1, :-1]
        if self._outputs > 1:
            values = pairs[:, :, :-1, :-1].transpose(0, 2, 3, 1)
        return values[0] if single else values

    def __call__(self, X):
        """A shap.Explanation of the rows, for shap's plots; where shap is not installed an object with the
        same attributes."""
        begun = time.perf_counter()
        values = self.shap_values(X)
        expected = numpy.reshape(self.expected_value, -1)
        lead = values.shape[:1] if len(values.shape) > 1 + (self._outputs > 1) else ()  # not of one row
        base = (numpy.full(lead, expected[0])[()] if self._outputs == 1
                else numpy.broadcast_to(expected, (*lead, len(expected))).copy())
        columns = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow's columns are the values
        content = {"values": values, "base_values": base,
                   "data": X.to_numpy() if hasattr(X, "to_numpy") else numpy.asarray(X),
                   "feature_names": self.feature_names or (None if columns is None else list(map(str, columns))),
                   "compute_time": time.perf_counter() - begun}
        try:
            import shap
        except ImportError:
            return types.SimpleNamespace(**content)
        return shap.Explanation(**content)

    def top_interactions(self, X, k=10):
        """The k strongest pairs of features of each row, without the matrix of all pairs.

        Returns
        -------
        pairs : numpy.ndarray
            (rows, k, 2), or (rows, outputs, k, 2): features; -1 where a row has fewer pairs.
        values : numpy.ndarray
            (rows, k), or (rows, outputs, k): the interaction value of each, in float; 0 where there is none.
        """
        k = _count(k, "k", 1)
        rows = numpy.ascontiguousarray(self._rows(X)[0], numpy.float64)
        begin, features, found = self._explainer.top_interactions(rows, k)
        pairs = numpy.full((len(rows) * self._outputs, k, 2), -1, numpy.int32)
        values = numpy.zeros((len(rows) * self._outputs, k))
        counts = numpy.diff(begin)
        line = numpy.repeat(numpy.arange(len(counts)), counts)
        place = numpy.arange(len(found)) - begin[line]
        pairs[line, place], values[line, place] = features, found
        if self._outputs == 1:
            return pairs, values
        shape = (len(rows), self._outputs, k)
        return pairs.reshape(*shape, 2), values.reshape(shape)

    def interaction_index(self, X, order=2, index="shapley"):
        """The interaction index of every set of `order` features of each row.

        Parameters
        ----------
        X
            As of `shap_values`.
        order : int
            Features in a set, at least 1.
        index : {"shapley", "banzhaf"}
            Grabisch and Roubens 1999. Order 1 is the values; order 2 is twice the matrix's entry.

        Returns
        -------
        list of dict
            For each row {(features ...): value} of the sets whose index is not zero; for several outputs a
            list of one dictionary an output.
        """
        order = _count(order, "order", 1, 2**31 - 1)
        if index not in ("shapley", "banzhaf"):
            raise ValueError(f"index {index!r} is none of shapley, banzhaf")
        rows = numpy.ascontiguousarray(self._rows(X)[0], numpy.float64)
        explainer = self._explainer
        if index == "banzhaf" and not len(self._background):  # the other refuses background rows
            if self._banzhaf is None:
                none = numpy.empty((0, self._model.features))
                self._banzhaf = _retable.Explainer(self._model, "cpu", "double", index,
                                                   self._options[2], none)
            explainer = self._banzhaf
        begin, features, values = explainer.interaction_index(rows, order)
        sets, values = list(map(tuple, features.tolist())), values.tolist()
        found = [dict(zip(sets[b:e], values[b:e])) for b, e in zip(begin[:-1], begin[1:])]
        if self._outputs == 1:
            return found
        return [found[r:r + self._outputs] for r in range(0, len(found), self._outputs)]
