"""Quantile sketches."""

import os
import threading
import weakref

import numpy

from . import _device, _retable
from ._numbers import count as _count

_BLOCK = 1 << 24  # values added at a time, so that Ctrl-C is seen between

_fork = threading.RLock()
_locks = weakref.WeakValueDictionary()  # of all sketches
_held = []  # for a fork


def _before_fork():
    """Waits for the calls of other threads: the child has whole sketches and free locks."""
    _fork.acquire()
    for lock in filter(None, [reference() for reference in _locks.valuerefs()]):
        lock.acquire()
        _held.append(lock)


def _after_fork():
    while _held:
        _held.pop().release()
    _fork.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def _floats(values):
    """Values as one-dimensional floats: float32 stays, all others become float64; masked ones become NaN."""
    values = numpy.asanyarray(values)
    if values.dtype.kind == "c":
        raise TypeError("a sketch takes real numbers")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"a sketch takes numbers, not {values.dtype}")
    wanted = numpy.float32 if values.dtype in (numpy.float32, numpy.float16) else numpy.float64
    if numpy.ma.isMaskedArray(values):
        values = values.astype(wanted).filled(numpy.nan)
    return numpy.ascontiguousarray(values, wanted).reshape(-1)


class QuantileSketch:
    """Quantiles of a stream of any length, in 84 bytes.

    Parameters
    ----------
    order : int
        Moments kept, 1 to 15.
    log : bool
        Keep moments of log x too (133 bytes): for positive values with heavy tails.
    device : {"cpu", "cuda"}
        Who sums the values.

    Raises
    ------
    ValueError
        For parameters outside of these.

    Notes
    -----
    NaN is a missing value and skipped; infinite values are counted and answered at the ends. `update` costs
    O(values * order), a question 0.1 to 5 ms for all its quantiles, `rank_bound` 20 to 100 us each. Integers become
    float64, exact to 2^53. Sums of Chebyshev polynomials on growing
    intervals; the answer is the distribution of maximum entropy with these moments (after Mitchell, Frank,
    Holmes, "An Empirical Study of Moment Estimators for Quantile Approximation", ACM TODS 2021). Each answer
    has a bound on its error of rank, `rank_bound`, that holds for every stream. Calls from several threads take
    turns; threads that each have a sketch do not, and `merge` joins these. A fork waits for the calls of other threads.

    Examples
    --------
    >>> sketch = QuantileSketch()
    >>> for block in stream:
    ...     sketch.update(block)
    >>> sketch.quantile([0.5, 0.99])
    >>> sketch.merge(QuantileSketch.from_bytes(bytes_of_another_machine))
    """

    def __init__(self, order=15, log=False, device="cpu"):
        self._hold(_retable.QuantileSketch(_count(order, "order", 1, 15), bool(log), device))

    def _hold(self, sketch):
        with _fork:  # a fork that has begun holds the locks of all sketches
            self._sketch, self._lock = sketch, threading.RLock()  # a signal's handler may interrupt a call
            _locks[id(self._lock)] = self._lock
        return self

    @classmethod
    def _of(cls, sketch):
        return cls.__new__(cls)._hold(sketch)

    def _call(self, name, *arguments):
        with self._lock:
            return getattr(self._sketch, name)(*arguments)

    def update(self, x):
        """Adds a number or an array of numbers, of any shape. Returns the sketch.

        After Ctrl-C the sketch holds a part of the array. An array in GPU memory (float32 or float64) is summed
        there, on its stream, by a sketch of device "cuda"."""
        if _device.on_device(x):
            values = _device.View(x, "x")
            if values.dtype not in (numpy.float32, numpy.float64):
                raise TypeError(f"x has the dtype {values.dtype}: values in GPU memory are float32 or float64")
            self._call(f"update_on_device_{values.dtype.itemsize}", values.address, values.size, values.stream)
            return self
        values = _floats(x)
        for begin in range(0, max(1, len(values)), _BLOCK):
            self._call("update", values[begin:begin + _BLOCK])
        return self

    def merge(self, other):
        """Adds the other sketch's stream. Returns the sketch. ValueError for another order or log, and for more than 2^53
        values in all."""
        if not isinstance(other, QuantileSketch):
            raise TypeError(f"a {type(other).__name__} is no QuantileSketch")
        self._call("merge", other._call("copy"))
        return self

    @property
    def n(self):
        """Values seen; NaN not counted."""
        return self._call("count")

    def is_empty(self):
        return self.n == 0

    def _answer(self, ask, values):
        """What the call `ask` answers to the values in ascending order, in their own order and shape."""
        asked = numpy.ma.filled(numpy.ma.asarray(values, numpy.float64), numpy.nan)  # which is refused
        flat = asked.reshape(-1)
        order = numpy.argsort(flat, kind="stable")
        answer = numpy.empty(len(order))
        answer[order] = self._call(ask, flat[order])
        return answer.reshape(asked.shape) if asked.ndim else float(answer[0])

    def quantile(self, q):
        """The value of rank floor(n q), counted from 0, of the n sorted values; the last one for q = 1. Where the values
        are decimals but for the rounding of their type, the decimal: of float32 0.2 it is the double 0.2. The smallest
        and the largest value are answered as they came: of float32 0.2 alone 0.20000000298023224.

        Parameters
        ----------
        q : float or array_like
            In [0, 1].

        Returns
        -------
        float or numpy.ndarray
            In the data's units; of q's shape.

        Raises
        ------
        ValueError
            For q outside of [0, 1], NaN or masked.
        RuntimeError
            For an empty sketch, and where the moments do not determine an answer.
        """
        return self._answer("quantiles", q)

    def rank_bound(self, q):
        """The largest error of rank, in [0, 1], that `quantile(q)` can have over all streams with this sketch.
        Decimals count as equal where they are but for the rounding of the values' type, as in `cdf`."""
        return self._answer("rank_bounds", q)

    def cdf(self, x):
        """The fraction of values that are at most x, as datasketches' get_rank with inclusive=True: of x's shape.
        Decimals count as equal where they are but for the rounding of the values' type. ValueError for an x that is NaN
        or masked, RuntimeError as of `quantile`."""
        return self._answer("cdf", x)

    # datasketches' names for the same.
    get_quantile = get_quantiles = quantile
    get_rank = cdf

    def get_min_value(self):
        """The smallest value."""
        return self._call("min")

    def get_max_value(self):
        """The largest value."""
        return self._call("max")

    def to_bytes(self):
        """84 bytes (133 with log; 14 more where the stream held infinite values, or after several transports), the
        same on every machine. ValueError from 2^44 values on, and from 2^40 on one end or infinite."""
        return self._call("to_bytes")

    @classmethod
    def from_bytes(cls, data):
        """The sketch of `to_bytes`, whose moments are rounded: an answer at a tie may be another value of it. ValueError
        for other bytes, with the reason."""
        return cls._of(_retable.QuantileSketch.from_bytes(bytes(memoryview(data))))

    serialize, deserialize = to_bytes, from_bytes

    def copy(self):
        return self._of(self._call("copy"))

    __copy__ = copy

    def __deepcopy__(self, memo):
        return self.copy()

    def __add__(self, other):
        return self.copy().merge(other)

    def __reduce__(self):
        return QuantileSketch.from_bytes, (self.to_bytes(),)

    def __repr__(self):
        return f"QuantileSketch(order={self._sketch.order}, log={self._sketch.log}, n={self.n})"


def sketch_columns(table, order=15, log=False):
    """A `QuantileSketch` of each column: of an array on all processor threads, of a table with names in turn.

    Parameters
    ----------
    table : array_like of shape (rows, columns), pandas.DataFrame or pyarrow.Table
        Numbers; float32 and float64 arrays of any strides are read where they lie.
    order, log
        As of `QuantileSketch`.

    Returns
    -------
    list of QuantileSketch, or a dictionary by column name for a table with names, where no two are the same.
    """
    if hasattr(table, "column_names"):  # pyarrow
        table = table.to_pandas()
    if hasattr(table, "columns"):
        if len(set(table.columns)) < len(table.columns):
            raise ValueError("two columns have one name: rename one, or pass the table's array")
        made = {}
        for c in table.columns:
            try:
                made[c] = QuantileSketch(order, log).update(table[c].to_numpy())
            except TypeError as error:
                raise TypeError(f"column {c!r}: {error}") from None
        return made
    if not numpy.ma.isMaskedArray(table):
        table = numpy.asarray(table)
    if table.ndim != 2:
        raise ValueError(f"a table has two axes, not {table.ndim}")
    # A field of a structured array may have strides that are no multiple of an item.
    if (table.dtype not in (numpy.float32, numpy.float64) or numpy.ma.isMaskedArray(table)
            or any(stride % table.itemsize for stride in table.strides)):
        table = _floats(table).reshape(table.shape)
    return [QuantileSketch._of(s) for s in
            _retable.sketch_columns(table, _count(order, "order", 1, 15), bool(log))]
