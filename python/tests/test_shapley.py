"""Sampling for Python functions: exact games, standard errors, batches."""

import numpy
import pytest

from retable import shapley


def model(rows):
    return rows[:, 0] * rows[:, 1] + 2 * rows[:, 2] + numpy.abs(rows[:, 3])


BACKGROUND = numpy.random.default_rng(0).normal(size=(20, 5))
X = numpy.array([1.0, -2.0, 0.5, 3.0, 1.0])
EXACT = shapley.exact(model, BACKGROUND, X)


def test_exact_values_add_up():
    assert EXACT.sum() == pytest.approx(model(X[None])[0] - model(BACKGROUND).mean())
    assert EXACT[2] == pytest.approx(2 * (0.5 - BACKGROUND[:, 2].mean()))
    assert EXACT[4] == pytest.approx(0)


@pytest.mark.parametrize("method", sorted(shapley.estimators()))
def test_every_estimator_comes_near(method):
    budget = 3000 if method == "SBQ" else 12000  # whose choice of n permutations costs O(n^3)
    found = shapley.estimate(model, BACKGROUND, X, budget=budget, method=method, repeats=5, seed=3)
    assert found.values.shape == found.standard_errors.shape == (5,)
    assert found.base_value == pytest.approx(model(BACKGROUND).mean())
    assert 0 < found.evaluations <= 2 * budget
    assert numpy.abs(found.values - EXACT).max() < 0.15
    again = shapley.estimate(model, BACKGROUND, X, budget=budget, method=method, repeats=5, seed=3)
    assert numpy.array_equal(found.values, again.values)


def test_methods_take_their_options():
    few, many = (shapley.estimate(model, BACKGROUND, X, 600, "Herding", candidates=n) for n in (1, 50))
    assert not numpy.array_equal(few.values, many.values)
    with pytest.raises(ValueError, match="candidate"):
        shapley.estimate(model, BACKGROUND, X, 600, "Herding", candidate=1)


def test_sums_beyond_a_double_are_refused():
    with pytest.raises(ValueError, match="beyond the range"):
        shapley.exact(lambda rows: numpy.where(rows[:, 0] == X[0], 1.7e308, -1.7e308), BACKGROUND[:1], X)


def test_errors_are_as_large_as_they_say():
    scores = []
    for seed in range(60):
        found = shapley.estimate(model, BACKGROUND, X, 1000, "MC", seed=100 * seed, repeats=10)
        # The other features add up: their contributions are the same in every order.
        scores.extend((found.values - EXACT)[:2] / found.standard_errors[:2])
    inside = numpy.mean(numpy.abs(scores) < 2.26)  # Student's t with 9 degrees of freedom, 95 %
    assert 0.88 < inside <= 1


@pytest.mark.parametrize("method", sorted(set(shapley.samplers())))
def test_every_sampler_gives_permutations(method):
    orders, weights = shapley.permutations(7, 24, method, seed=1)
    assert orders.shape == (24, 7) and (numpy.sort(orders, 1) == numpy.arange(7)).all()
    assert weights.shape == (24,) and weights.sum() == pytest.approx(1)
    assert numpy.array_equal(shapley.permutations(7, 24, method.lower(), seed=1)[0], orders)


def test_functions_are_not_called_for_no_rows():
    def sum_of(rows):
        assert len(rows)
        return rows.sum(1)

    for method in shapley.estimators():
        found = shapley.estimate(sum_of, BACKGROUND[:1], X, budget=600, method=method)
        assert numpy.allclose(found.values, X - BACKGROUND[0])


def test_a_budget_too_small_for_its_repeats_says_so():
    with pytest.raises(ValueError, match="a budget of 50 is 5 for each of 10 repeats: MC-antithetic needs 6"):
        shapley.estimate(model, BACKGROUND, X, budget=50)


def test_a_function_that_writes_to_its_rows_leaves_the_background_alone():
    def shifted(rows):
        rows -= 1
        return model(rows + 1)

    background = BACKGROUND.copy()
    found = shapley.estimate(shifted, background, X, budget=600)
    assert numpy.array_equal(background, BACKGROUND)
    assert found.base_value == pytest.approx(model(BACKGROUND).mean())


def test_masked_values_are_missing():
    hidden = numpy.ma.array([[1.0, 2.0], [3.0, 999.0]], mask=[[False, False], [False, True]])
    exact = shapley.exact(lambda rows: numpy.nansum(rows, 1), hidden, [1.0, 1.0])
    assert exact == pytest.approx([-1, 0])
    with pytest.raises(ValueError):
        shapley.exact(lambda rows: numpy.ma.masked_equal(rows[:, 0], 1.0), hidden[:1], [1.0, 1.0])


def test_complex_numbers_are_refused():
    for f, background, x in ((lambda rows: 1j * model(rows), BACKGROUND, X), (model, 1j * BACKGROUND, X),
                             (model, BACKGROUND, 1j * X)):
        for call in (shapley.exact, shapley.estimate):
            with pytest.raises(TypeError, match="real numbers"):
                call(f, background, x)


@pytest.mark.parametrize("scale", [1e-170, 1e160])
def test_errors_of_values_whose_squares_are_no_doubles(scale):
    def errors(scale):
        found = shapley.estimate(lambda rows: scale * model(rows), BACKGROUND, X, 1000, "MC")
        return found.standard_errors[:2]  # the others are those of rounding
    assert errors(scale) == pytest.approx(scale * errors(1.0), rel=1e-9, abs=0)


def test_functions_are_called_in_batches():
    calls = []

    def counted(rows):
        calls.append(len(rows))
        return model(rows)

    shapley.estimate(counted, BACKGROUND, X, budget=1200, repeats=2)
    assert len(calls) <= 6


def test_a_call_has_so_many_numbers_at_most():
    calls = []

    def counted(rows):
        calls.append(rows.size)
        return rows[:, 0] + rows[:, 1] * rows[:, 2]

    background = numpy.random.default_rng(1).normal(size=(100, 14))
    values = shapley.exact(counted, background, numpy.arange(14.0))
    assert max(calls) <= 2**24 and sum(calls) == 2**14 * 100 * 14
    assert values[0] == pytest.approx(-background[:, 0].mean())
    assert numpy.abs(values[3:]).max() < 1e-9


def test_wrong_arguments():
    for call in (lambda: shapley.permutations(0, 5), lambda: shapley.permutations(5, -1),
                 lambda: shapley.permutations(4, 2**62, "MC"), lambda: shapley.permutations(2**31, 1),
                 lambda: shapley.permutations(5, 2**64), lambda: shapley.permutations(65536, 1),
                 lambda: shapley.estimate(model, BACKGROUND, X, budget=2**63),
                 lambda: shapley.estimate(model, BACKGROUND, X, repeats=2**31),
                 lambda: shapley.permutations(5, 5, "none"),
                 lambda: shapley.permutations(5, 5, nothing=3),
                 lambda: shapley.estimate(model, BACKGROUND, X[:4]),
                 lambda: shapley.estimate(model, BACKGROUND[:0], X),
                 lambda: shapley.exact(model, numpy.zeros((2 ** len(X), 3, len(X))), X),
                 lambda: shapley.exact(model, BACKGROUND, X.reshape(-1, 1)),
                 lambda: shapley.estimate(model, BACKGROUND, X, budget=3),
                 lambda: shapley.estimate(model, BACKGROUND, X, repeats=0),
                 lambda: shapley.estimate(model, BACKGROUND, X, method="none"),
                 lambda: shapley.estimate(lambda rows: rows, BACKGROUND, X),
                 lambda: shapley.estimate(lambda rows: rows[:, 0] * numpy.nan, BACKGROUND, X),
                 lambda: shapley.exact(lambda rows: rows[:, 0], numpy.zeros((1, 21)), numpy.ones(21))):
        with pytest.raises(ValueError):
            call()


def test_exceptions_of_the_function_pass_through():
    def broken(rows):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        shapley.estimate(broken, BACKGROUND, X)
