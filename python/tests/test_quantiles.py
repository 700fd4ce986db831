"""Sketches: ranks within their bounds, merges, bytes, columns."""

import copy
import pickle
import threading

import numpy
import pytest

import retable

PHIS = numpy.array([0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999])
STREAMS = {
    "normal": lambda r: r.normal(size=100000),
    "uniform": lambda r: r.uniform(-5, 3, 100000),
    "exponential": lambda r: r.exponential(size=100000),
    "float32": lambda r: r.normal(size=100000).astype(numpy.float32),
    "two values": lambda r: r.integers(0, 2, 10000),
    "decimals": lambda r: numpy.round(r.normal(size=50000), 1),
}


def rank_error(data, phi, answer):
    below, through = (data < answer).mean(), (data <= answer).mean()
    return max(below - phi, phi - through, 0)


@pytest.mark.parametrize("name", STREAMS)
def test_ranks(name):
    data = STREAMS[name](numpy.random.default_rng(0))
    sketch = retable.QuantileSketch().update(data)
    assert sketch.n == len(data)
    answers = sketch.quantile(PHIS)
    bounds = sketch.rank_bound(PHIS)
    for phi, answer, bound in zip(PHIS, answers, bounds):
        assert rank_error(data, phi, answer) <= bound + 1e-9
        assert rank_error(data, phi, answer) < 0.01
    assert (sketch.get_min_value(), sketch.get_max_value()) == (data.min(), data.max())


@pytest.mark.parametrize("name", STREAMS)
def test_cdf_is_the_inverse_of_the_quantiles(name):
    data = STREAMS[name](numpy.random.default_rng(1))
    sketch = retable.QuantileSketch().update(data)
    xs = numpy.quantile(data, [0.2, 0.05, 0.5, 0.95]).astype(float)
    for x, fraction in zip(xs, sketch.cdf(xs)):
        assert (data < x).mean() - 0.01 <= fraction <= (data <= x).mean() + 0.01
    ends = sketch.cdf([data.max(), data.min() - 1, numpy.inf, -numpy.inf])
    assert ends.tolist() == [1, 0, 1, 0]
    assert isinstance(sketch.cdf(0.0), float)


def test_cdf_of_a_decimal_is_that_of_the_type_of_the_data_too():
    data = (numpy.random.default_rng(6).integers(1, 10, 10000) / 10).astype(numpy.float32)
    sketch = retable.QuantileSketch().update(data)
    for x in numpy.unique(data):  # 0.7 of 32 bits is less than 0.7, 0.3 is more; so are the ends
        assert sketch.cdf([x, round(float(x), 1)]) == pytest.approx((data <= x).mean(), abs=1e-6)
    between = sketch.cdf([0.75, 0.05, 0.95])
    assert between == pytest.approx([(data < 0.75).mean(), 0, 1], abs=1e-6)


def test_cdf_of_a_few_values_that_are_no_decimals():
    random = numpy.random.default_rng(7)
    wrong = []
    for _ in range(50):
        data = random.choice(numpy.append(random.normal(size=5), [-4, 4]), 1000)
        values, counts = numpy.unique(data, return_counts=True)
        wrong.append(numpy.abs(retable.QuantileSketch().update(data).cdf(values) - counts.cumsum() / 1000).max())
    assert numpy.mean(numpy.array(wrong) > 1e-3) < 0.1  # two values may lie too close for the moments


def test_merges_in_any_split_and_by_bytes():
    data = numpy.random.default_rng(2).lognormal(size=30000)
    whole = retable.QuantileSketch().update(data)
    merged = retable.QuantileSketch()
    for part in numpy.array_split(data, 17):
        sketch = retable.QuantileSketch().update(part)
        assert len(sketch.to_bytes()) == 84
        merged.merge(retable.QuantileSketch.from_bytes(sketch.to_bytes()))
    assert merged.n == whole.n
    assert numpy.allclose(merged.cdf([0.5, 1, 2]), whole.cdf([0.5, 1, 2]), atol=0.01)
    assert (whole + whole).n == 2 * whole.n and whole.n == 30000
    whole.merge(whole)
    assert whole.n == 60000


def test_threads_take_turns():
    data = numpy.random.default_rng(5).normal(size=1000000)
    for _ in range(10):
        sketch, other = retable.QuantileSketch(), retable.QuantileSketch()
        calls = [lambda s=s: s.update(data) for s in (sketch, other) for _ in range(3)]
        calls += [lambda: other.merge(sketch), lambda: sketch.merge(other)]
        threads = [threading.Thread(target=call) for call in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in (sketch, other):
            assert one.n % len(data) == 0 and one.n >= 3 * len(data)
            assert one.quantile([0.1, 0.9]) == pytest.approx(numpy.quantile(data, [0.1, 0.9]), abs=0.005)


def test_copies_and_pickles():
    sketch = retable.QuantileSketch(order=9, log=True).update([1.0, 2.0, 3.0, 10.0])
    for other in (copy.copy(sketch), copy.deepcopy(sketch), pickle.loads(pickle.dumps(sketch))):
        assert repr(other) == repr(sketch) and other.quantile(0.5) == sketch.quantile(0.5)
        other.update(5.0)
        assert sketch.n == 4 and other.n == 5


def test_a_fraction_that_the_moments_do_not_determine_is_refused():
    far = numpy.append(numpy.random.default_rng(0).normal(size=9999), 1e300)
    sketch = retable.QuantileSketch().update(far)
    with pytest.raises(RuntimeError, match="fraction of values up to -1: "):
        sketch.cdf([-1.0, 0.0, 1.0])
    assert sketch.cdf([1e300, -1e300]).tolist() == [1, 0]


def test_missing_and_infinite_values():
    sketch = retable.QuantileSketch().update([numpy.nan, 1, 2, 3, numpy.inf, -numpy.inf, numpy.nan])
    assert sketch.n == 5
    assert sketch.quantile([0, 0.5, 1]).tolist() == [-numpy.inf, 2, numpy.inf]
    assert sketch.get_min_value() == -numpy.inf and sketch.get_max_value() == numpy.inf
    assert numpy.allclose(sketch.cdf([-numpy.inf, 2, numpy.inf]), [0.2, 0.6, 1])
    assert len(sketch.to_bytes()) == 98


def test_the_ends_of_a_range_too_narrow_for_moments():
    sketch = retable.QuantileSketch().update([0, 1e-310, 2e-310])
    assert (sketch.get_min_value(), sketch.get_max_value()) == (0, 2e-310)
    assert sketch.cdf([-1, 2e-310]).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="too narrow"):
        sketch.cdf(1e-310)
    for end in (retable.QuantileSketch().get_min_value, retable.QuantileSketch().get_max_value):
        with pytest.raises(RuntimeError, match="empty"):
            end()


def test_columns_of_every_layout():
    x = numpy.random.default_rng(3).normal(size=(5000, 7))
    want = [retable.QuantileSketch().update(x[:, c]).quantile(0.3) for c in range(7)]
    for table in (x, numpy.asfortranarray(x), numpy.repeat(x, 2, 1)[:, ::2], x[::-1][::-1]):
        assert [s.quantile(0.3) for s in retable.sketch_columns(table)] == want
    assert len(retable.sketch_columns(x.astype(numpy.float32))) == 7
    assert retable.sketch_columns(numpy.arange(6).reshape(3, 2))[1].n == 3
    assert retable.sketch_columns(numpy.empty((4, 0))) == []


def test_columns_of_odd_strides_and_masks():
    packed = numpy.zeros((50, 3), numpy.dtype([("a", "i4"), ("b", "f8")]))
    packed["b"] = numpy.arange(150).reshape(50, 3)
    assert packed["b"].strides[0] % 8 != 0
    assert [s.get_max_value() for s in retable.sketch_columns(packed["b"])] == [147, 148, 149]
    masked = numpy.ma.masked_greater(packed["b"], 100)
    assert [(s.n, s.get_max_value()) for s in retable.sketch_columns(masked)] == [(34, 99), (34, 100), (33, 98)]


def test_masked_values_are_missing():
    for dtype in ("f4", "f8", "i8"):
        masked = numpy.ma.masked_equal(numpy.array([3, 1, 999, 2], dtype), 999)
        sketch = retable.QuantileSketch().update(masked)
        assert sketch.n == 3 and sketch.get_max_value() == 3
    assert retable.QuantileSketch().update(numpy.ma.masked).n == 0


def test_masked_questions_are_refused():
    sketch = retable.QuantileSketch().update(numpy.arange(101.0))
    for ask in (sketch.quantile, sketch.rank_bound, sketch.cdf):
        for asked in (numpy.ma.array([0.1, 0.5], mask=[False, True]), numpy.ma.masked):
            with pytest.raises(ValueError, match="nan"):
                ask(asked)
        assert numpy.array_equal(ask(numpy.ma.array([0.1, 0.5])), ask([0.1, 0.5]))


def test_columns_of_a_frame():
    pandas = pytest.importorskip("pandas")
    x = numpy.random.default_rng(3).normal(size=(5000, 3))
    with pytest.raises(ValueError, match="one name"):
        retable.sketch_columns(pandas.DataFrame(x, columns=list("aba")))
    sketches = retable.sketch_columns(pandas.DataFrame(x, columns=list("abc")))
    with pytest.raises(TypeError, match="column 'word': a sketch takes numbers"):
        retable.sketch_columns(pandas.DataFrame({"a": [1.0], "word": ["b"]}))
    assert [sketches[c].quantile(0.3) for c in "abc"] == [s.quantile(0.3) for s in retable.sketch_columns(x)]


def test_wrong_arguments():
    sketch = retable.QuantileSketch()
    with pytest.raises(RuntimeError, match="empty"):
        sketch.quantile(0.5)
    with pytest.raises(RuntimeError, match="empty"):
        sketch.cdf(0.5)
    sketch.update([1.0, 2.0])
    for wrong in (-0.1, 1.1, numpy.nan, [0.5, 2]):
        with pytest.raises(ValueError):
            sketch.quantile(wrong)
    with pytest.raises(ValueError, match=r"phi 1.0000000000000002 is not in \[0, 1\]"):
        sketch.quantile(1.0000000000000002)
    with pytest.raises(ValueError, match="phi nan"):
        sketch.quantile(numpy.nan)
    with pytest.raises(ValueError, match="order"):
        retable.QuantileSketch(16)
    with pytest.raises(ValueError, match="order is 2147483648: give 1 to 15"):
        retable.QuantileSketch(2**31)
    for make in (lambda: retable.QuantileSketch(order=0), lambda: retable.QuantileSketch(order=16),
                 lambda: retable.QuantileSketch(device="tpu"),
                 lambda: retable.QuantileSketch.from_bytes(b""),
                 lambda: retable.QuantileSketch.from_bytes(b"x" * 84),
                 lambda: retable.QuantileSketch.from_bytes(sketch.to_bytes()[:-1] + b"?"),
                 lambda: sketch.merge(retable.QuantileSketch(order=7)),
                 lambda: retable.sketch_columns(numpy.zeros(3)),
                 lambda: retable.sketch_columns(numpy.zeros((3, 1)), order=2**31)):
        with pytest.raises(ValueError):
            make()
    for wrong in ("text", ["a"], numpy.array([object()]), 1j, numpy.array([1, "NaT"], "m8[s]")):
        with pytest.raises(TypeError):
            sketch.update(wrong)
    for wrong in (84, [1, 2], "text"):
        with pytest.raises(TypeError):
            retable.QuantileSketch.from_bytes(wrong)
    with pytest.raises(TypeError):
        sketch.merge(3)
    assert sketch.n == 2


def test_more_values_than_are_counted_are_refused():
    sketch = retable.QuantileSketch().update([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="2\\^53 values"):
        for _ in range(64):
            sketch.merge(sketch)
    assert 2**51 < sketch.n <= 2**53 and sketch.quantile(0.5) == 2
