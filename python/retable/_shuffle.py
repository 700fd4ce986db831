"""Random orders."""

import operator

import numpy

from . import _device, _retable
from ._numbers import count as _count, seed as _seed

_METHODS = """method : {"Partition", "FisherYates", "Rectangle", "Shuffle", ...}
        "Partition": every order equally likely, given ideal random bits; the same order on a GPU.
        "FisherYates": equally likely too, and what is fastest on a CPU, which alone has it.
        "Rectangle": the order of `Permutation` and `sample`. "Shuffle": what is fastest on a GPU, whose
        order depends on the bytes of an item too.
    device : {"cpu", "cuda"}
        Where the items are moved; host memory takes the way to the GPU and back."""


def permutation(n, seed, *, method="Partition", device="cpu"):
    """A random permutation of 0 .. n - 1.

    Parameters
    ----------
    n : int or array
        The number of items; or an array, whose shuffled copy is returned as `shuffle` does.
    seed : int
        One seed, one order, on every machine.
    {methods}

    Returns
    -------
    numpy.ndarray
        n values of int64. ``x[permutation(len(x), seed)]`` equals ``shuffle(x, seed)``.

    Raises
    ------
    ValueError
        For n over the method's limit or over this machine's memory.

    Notes
    -----
    O(n). "Partition" sends items to random parts that fit into the cache and shuffles each there
    (algorithms/shuffle/README.md); the problem is that of Mitchell, Stokes, Frank, Holmes, "Bandwidth-optimal random
    shuffling for GPUs", ACM TOPC 2022.
    """
    if _device.on_device(n) or numpy.ndim(n):
        return shuffle(n, seed, method=method, device=device)
    order = _retable.permutation(_count(n, "n"), _seed(seed), method, device)
    return order.view(numpy.int64)


def shuffle(x, seed, *, out=None, method="Partition", device="cpu"):
    """A copy of x whose items (along the first axis) are in random order.

    Parameters
    ----------
    x : array_like
        Items of any dtype but object; rows of more than one axis move as wholes. An array in GPU memory
        (row-major, any with __cuda_array_interface__ or DLPack) is shuffled there, on its stream, whatever
        `device` says.
    seed : int
        One seed, one order, on every machine.
    out : numpy.ndarray, optional
        Where to: row-major, of x's shape and dtype, not overlapping x; in GPU memory where x is.
    {methods}

    Returns
    -------
    numpy.ndarray
        `out`, or a new array: a `DeviceArray` where x lies in GPU memory.

    Raises
    ------
    TypeError
        For arrays of Python objects.
    ValueError
        For an `out` that does not fit or overlaps x (unless x has to be copied first), and for masked arrays.

    Notes
    -----
    O(n). Items of 4, 8 and 16 bytes are moved directly, others as rows.
    """
    if _device.on_device(x):
        return _shuffle_on_device(x, _seed(seed), out, method)
    if numpy.ma.isMaskedArray(x):
        raise ValueError("x has a mask: give an array without, missing values as NaN")
    x = numpy.asarray(x)
    if x.dtype.hasobject:
        raise TypeError("arrays of Python objects are not shuffled: x[retable.permutation(len(x), seed)] is")
    if x.ndim == 0:
        raise ValueError("x is a single number: give an array")
    x = numpy.ascontiguousarray(x)
    if out is None:
        out = numpy.empty_like(x)
    elif not (isinstance(out, numpy.ndarray) and out.shape == x.shape and out.dtype == x.dtype
              and out.flags.c_contiguous and out.flags.writeable):
        raise ValueError(f"out is no writable row-major array of shape {x.shape} and dtype {x.dtype}")
    item_bytes = x.dtype.itemsize * int(numpy.prod(x.shape[1:], dtype=numpy.int64))
    if item_bytes == 0 or len(x) == 0:
        return out
    _retable.shuffle(x.reshape(-1).view(numpy.uint8), out.reshape(-1).view(numpy.uint8), len(x), item_bytes,
                     _seed(seed), method, device)
    return out


def _shuffle_on_device(x, seed, out, method):
    items = _device.View(x, "x")
    if not items.shape:
        raise ValueError("x is a single number: give an array")
    n = items.shape[0]
    item_bytes = items.dtype.itemsize * (items.size // n if n else 0)

    def write(to, stream):
        if n * item_bytes:
            _retable.shuffle_on_device(items.address, to, n, item_bytes, seed, method, stream)

    if out is None:
        memory = _device.answer(items, items.dtype, items.size, write)
        return _device.DeviceArray(memory, items.stream, items.shape, items.dtype)
    if not _device.on_device(out):
        raise ValueError("x lies in GPU memory and out does not")
    to = _device.View(out, "out", writes=True)
    if (to.shape, to.dtype) != (items.shape, items.dtype):
        raise ValueError(f"out is no array of shape {items.shape} and dtype {items.dtype}")
    if to.stream != items.stream or items.kept is not None:
        raise ValueError("x and out are arrays of different streams: make both on one")
    write(to.address, items.stream)
    return out


def sample(n, k, seed):
    """k of n without replacement, in random order, without touching the other n - k.

    Parameters
    ----------
    n, k : int
        k values of 0 .. n - 1.
    seed : int
        One seed, one sample.

    Returns
    -------
    numpy.ndarray
        int64; the first k of ``Permutation(n, seed)``.

    Raises
    ------
    ValueError
        For k > n.

    Notes
    -----
    O(k) time and memory: ``sample(10**12, 5, 0)`` takes microseconds.
    """
    return _retable.sample(_count(n, "n"), _count(k, "k"), _seed(seed))


class Permutation:
    """A random permutation of 0 .. n - 1 that is evaluated, not stored.

    Parameters
    ----------
    n : int
        Up to 2**63.
    seed : int
        One seed, one order.

    Raises
    ------
    ValueError
        For an n or seed outside of these.

    Examples
    --------
    >>> order = Permutation(10**15, seed=1)
    >>> order[3], order[-1], order[5:8]        # O(1) memory, any place
    >>> for i in order: ...                    # an epoch over a data set
    >>> order.epochs(3)                        # three epochs, a new order each

    A slice is an array of int64; an array of positions gives an array. ``sample(n, k, seed)`` is
    ``order[:k]``, and ``permutation(n, seed, method="Rectangle")`` is ``order[:]``.

    Notes
    -----
    The generalised Feistel cipher of Black and Rogaway, CT-RSA 2002, up to 2**31 items; above, VariablePhilox of
    Mitchell et al. 2022 after a keyed addition, where values of n and more are mapped again. Both are
    pseudo-random orders: for n! of them given ideal random bits take `permutation`.
    """

    _BLOCK = 1 << 16  # positions that iteration evaluates at a time

    def __init__(self, n, seed):
        self._n = _count(n, "n")
        self._seed = _seed(seed)
        self._order = _retable.Permutation(self._n, self._seed)

    @property
    def n(self):
        return self._n

    @property
    def seed(self):
        return self._seed

    def __len__(self):
        return self._n

    def __getitem__(self, at):
        if isinstance(at, slice):
            start, stop, step = at.indices(self._n)
            values = numpy.empty(len(range(start, stop, step)), numpy.int64)
            # A step past the only value may have more than 64 bits.
            self._order.fill(start if len(values) else 0, step if len(values) > 1 else 1, values)
            return values
        if numpy.ndim(at):
            places = numpy.asarray(at)
            if places.size and (places.dtype == bool or not numpy.issubdtype(places.dtype, numpy.integer)):
                raise IndexError("positions are whole numbers")
            return numpy.array([self[p] for p in places.ravel().tolist()],
                               numpy.int64).reshape(places.shape)
        at = operator.index(at)
        place = at + self._n if at < 0 else at
        if not 0 <= place < self._n:
            raise IndexError(f"position {at} of a permutation of {self._n}")
        return self._order.at(place)

    def __iter__(self):
        for start in range(0, self._n, self._BLOCK):
            yield from self[start:start + self._BLOCK].tolist()

    def epochs(self, count):
        """Iterates over `count` orders, one after the other: seeds seed, seed + 1, ..."""
        for epoch in range(_count(count, "count")):
            yield from Permutation(self._n, (self._seed + epoch) % 2**64)

    def __reduce__(self):
        return Permutation, (self._n, self._seed)

    def __repr__(self):
        return f"Permutation(n={self._n}, seed={self._seed})"


class EpochSampler:
    """Positions of a data set in random order, for ``torch.utils.data.DataLoader(sampler=...)``.

    Parameters
    ----------
    n : int or sized
        The data set or its length.
    seed : int
        Epoch e has the order of ``Permutation(n, seed + e)``.
    rank, ranks : int
        This worker's share: positions rank, rank + ranks, ... of each epoch's order.

    Each iteration is an epoch; `set_epoch` goes to one. Memory is O(1), whatever n.
    """

    def __init__(self, n, seed=0, rank=0, ranks=1):
        self._n = len(n) if hasattr(n, "__len__") else _count(n, "n")
        self._seed, self._epoch = _seed(seed), 0
        self._ranks = _count(ranks, "ranks", 1)
        self._rank = _count(rank, "rank", 0, self._ranks - 1)

    def set_epoch(self, epoch):
        self._epoch = _count(epoch, "epoch")

    def __len__(self):
        return len(range(self._rank, self._n, self._ranks))

    def __iter__(self):
        order = Permutation(self._n, (self._seed + self._epoch) % 2**64)
        self._epoch += 1
        block = Permutation._BLOCK * self._ranks
        for start in range(self._rank, self._n, block):
            yield from order[start:start + block:self._ranks].tolist()


for _function in (permutation, shuffle):
    _function.__doc__ = (_function.__doc__ or "").replace("{methods}", _METHODS)
