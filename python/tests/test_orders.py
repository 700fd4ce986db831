"""Permutations, shuffles and samples: one order a seed, in every form."""

import pickle

import numpy
import pytest

import retable

SIZES = [0, 1, 2, 3, 10, 255, 256, 257, 1000, 4096, 65537, 300001]


@pytest.mark.parametrize("n", SIZES)
def test_all_forms_have_one_order(n):
    order = retable.permutation(n, 5)
    assert order.dtype == numpy.int64
    assert numpy.array_equal(numpy.sort(order), numpy.arange(n))
    x = numpy.arange(n) * 3
    assert numpy.array_equal(retable.shuffle(x, 5), x[order])
    assert numpy.array_equal(retable.permutation(x, 5), x[order])
    order = retable.permutation(n, 5, method="Rectangle")
    assert numpy.array_equal(numpy.sort(order), numpy.arange(n))
    lazy = retable.Permutation(n, 5)
    assert numpy.array_equal(lazy[:], order)
    assert len(lazy) == n
    for k in {0, n // 2, n}:
        assert numpy.array_equal(retable.sample(n, k, 5), order[:k])
    assert numpy.array_equal(retable.shuffle(x, 5, method="Rectangle"), x[order])


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "f8", "c16", "S5", "M8[s]", "f4,f8,u1"])
@pytest.mark.parametrize("tail", [(), (1,), (3,), (2, 5)])
def test_items_of_every_size(dtype, tail):
    random = numpy.random.default_rng(0)
    size = numpy.dtype(dtype).itemsize * int(numpy.prod(tail, dtype=int))
    x = random.integers(0, 100, (1000, size), dtype=numpy.uint8).reshape(-1).view(dtype).reshape(1000, *tail)
    assert retable.shuffle(x, 9).tobytes() == x[retable.permutation(1000, 9)].tobytes()


def test_seeds_differ_and_repeat():
    orders = {tuple(retable.permutation(50, seed)) for seed in range(200)}
    assert len(orders) == 200
    assert numpy.array_equal(retable.permutation(1000, 2**64 - 1), retable.permutation(1000, 2**64 - 1))


def test_every_place_is_as_likely():
    counts = numpy.zeros((8, 8))
    for seed in range(8000):
        order = retable.permutation(8, seed)
        counts[numpy.arange(8), order] += 1
    assert ((counts - 1000) ** 2 / 1000).sum() < 110  # 49 degrees of freedom: above one time in 10^6


@pytest.mark.parametrize("method", ["Shuffle", "InPlace", "VarPhilox-mended"])
def test_other_methods(method):
    order = retable.permutation(100000, 3, method=method)
    assert numpy.array_equal(numpy.sort(order), numpy.arange(100000))


def test_slices_and_places():
    order = retable.Permutation(1000, 2)
    all_of_it = order[:]
    for slice_ in (slice(10, 20), slice(None, None, 7), slice(None, None, -1), slice(-5, None),
                   slice(900, 2), slice(900, 2, -3), slice(0, 0), slice(3, None, 2**64), slice(None, None, -2**64)):
        assert numpy.array_equal(order[slice_], all_of_it[slice_]), slice_
    assert order[-1] == all_of_it[-1] and order[numpy.int32(3)] == all_of_it[3]
    assert numpy.array_equal(order[[5, 5, 9]], all_of_it[[5, 5, 9]])
    assert order[[]].shape == (0,) and order[numpy.empty((0, 3), int)].shape == (0, 3)
    assert list(order) == all_of_it.tolist()
    for place in (1000, -1001):
        with pytest.raises(IndexError):
            order[place]
    with pytest.raises(IndexError):
        order[[0.5]]
    for step in (2**62, -2**62):  # 4 of them are 0 in 64 bits
        with pytest.raises(IndexError):
            order._order.fill(0, step, numpy.empty(5, numpy.int64))


def test_orders_beyond_memory():
    huge = retable.Permutation(10**15, 1)
    some = [huge[i] for i in range(1000)]
    assert len(set(some)) == 1000 and max(some) < 10**15 and max(some) > 9 * 10**14
    assert numpy.array_equal(huge[10**15 - 5:], [huge[-5 + i] for i in range(5)])
    assert numpy.array_equal(retable.sample(10**15, 1000, 1), some)
    assert repr(pickle.loads(pickle.dumps(huge))) == repr(huge)


def test_epochs_and_samplers():
    order = retable.Permutation(100, 4)
    two = list(order.epochs(2))
    assert two[:100] == order[:].tolist() and two[100:] == retable.Permutation(100, 5)[:].tolist()
    shares = [retable.EpochSampler(1003, 4, rank, 4) for rank in range(4)]
    seen = [i for share in shares for i in share]
    assert sorted(seen) == list(range(1003)) and [len(s) for s in shares] == [251, 251, 251, 250]
    again = retable.EpochSampler([0] * 1003, 4, 0, 4)
    first, second = list(again), list(again)
    again.set_epoch(0)
    assert first != second and list(again) == first


def test_wrong_arguments():
    for call in (lambda: retable.permutation(-1, 0), lambda: retable.permutation(10, -1),
                 lambda: retable.permutation(10, 2**64), lambda: retable.sample(3, 4, 0),
                 lambda: retable.permutation(2**64, 0), lambda: retable.Permutation(2**64, 0),
                 lambda: retable.Permutation(2**63 + 1, 0), lambda: retable.sample(10, 2**64, 0),
                 lambda: retable.permutation(2**31 + 1, 0, method="Rectangle"), lambda: retable.sample(2**62, 2**61, 0),
                 lambda: retable.shuffle(5.0, 0), lambda: retable.permutation(5, 0, method="none"),
                 lambda: retable.permutation(5, 0, method="Gather"),
                 lambda: retable.shuffle(numpy.arange(4), 0, method="Gather"),
                 lambda: retable.permutation(5, 0, device="tpu"),
                 lambda: retable.EpochSampler(10, 0, 2, 2), lambda: retable.EpochSampler(10, 0, 0, 0),
                 lambda: retable.shuffle(numpy.arange(4), 0, out=numpy.arange(5))):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: retable.permutation(2.5, 0), lambda: retable.permutation(5, "a"),
                 lambda: retable.EpochSampler(10, 0, 0.5, 2), lambda: retable.EpochSampler(10, 0, 0, 2.0),
                 lambda: retable.shuffle(numpy.array([object()]), 0)):
        with pytest.raises(TypeError):
            call()
    x = numpy.arange(10)
    with pytest.raises(ValueError, match="overlap"):
        retable.shuffle(x, 0, out=x)
    frozen = numpy.arange(10)
    frozen.flags.writeable = False
    assert len(retable.shuffle(frozen, 0)) == 10
    with pytest.raises(ValueError):
        retable.shuffle(x, 0, out=frozen)


def test_masks_are_refused():
    with pytest.raises(ValueError, match="x has a mask"):
        retable.shuffle(numpy.ma.array([1, 2, 3], mask=[False, True, False]), 1)


def test_layouts():
    x = numpy.arange(60).reshape(10, 6)
    order = retable.permutation(10, 1)
    for view in (x, x[:, ::-1], numpy.asfortranarray(x), x[:, 1:3]):
        assert numpy.array_equal(retable.shuffle(view, 1), view[order])
    assert numpy.array_equal(retable.shuffle(x[::-1], 1), x[::-1][order])
    out = numpy.empty_like(x)
    assert retable.shuffle(x, 1, out=out) is out and numpy.array_equal(out, x[order])
