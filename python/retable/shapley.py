"""Shapley values of any function, by sampling under a budget."""

from dataclasses import dataclass

import numpy

from . import _retable
from ._numbers import count as _count, seed as _seed

__all__ = ["permutations", "estimate", "exact", "Estimate", "samplers", "estimators"]

_NUMBERS = 1 << 24  # in the rows of one call of the function, unless one coalition has more


def _methods(rows):
    return {name: f"{summary} ({citation})" for name, summary, citation in rows}


def samplers():
    """The methods of `permutations`: {name: what it is}."""
    return _methods(_retable.shapley_samplers())


def estimators():
    """The methods of `estimate`: {name: what it is}."""
    return _methods(_retable.shapley_estimators())


def _method(name, known):
    """A method by its name, in any case."""
    for method in known:
        if method.lower() == str(name).lower():
            return method
    raise ValueError(f"no method {name!r}; there are {', '.join(known)}")


def permutations(d, n, method="Sobol", seed=0, **options):
    """n permutations of d players that stand for all of them.

    Parameters
    ----------
    d, n : int
        Players, at most 65535, and permutations.
    method : str
        A name of `samplers`, in any case.
    seed : int
        One seed, one set.
    **options
        Of the method, as candidates=100.

    Returns
    -------
    orders : numpy.ndarray
        (n, d), int32: players from the first to join to the last.
    weights : numpy.ndarray
        n weights of sum 1: the weighted mean of a function over the orders estimates its mean over all.

    Raises
    ------
    ValueError
        For arguments outside of these, and for a method or an option that is not there.

    Notes
    -----
    Mitchell, Cooper, Frank, Holmes, "Sampling Permutations for Shapley Value Estimation", JMLR 23(43), 2022.
    """
    return _retable.shapley_permutations(_count(d, "d", 1, 65535), _count(n, "n"), _method(method, samplers()),
                                         _seed(seed), options)


@dataclass
class Estimate:
    """Shapley values of a row.

    values : of each feature; they add up to f(x) - base_value for methods of whole permutations
    standard_errors : of the values, from repeats; NaN for one repeat
    base_value : the mean of f over the background
    evaluations : coalitions asked for, but for the empty one of base_value; each costs a call of f for every
        background row
    """

    values: numpy.ndarray
    standard_errors: numpy.ndarray
    base_value: float
    evaluations: int


def _real(values, name):
    """Values as float64; masked ones are NaN."""
    values = numpy.ma.asarray(values)
    if values.dtype.kind == "c":
        raise TypeError(f"{name} has the dtype {values.dtype}: give real numbers")
    return numpy.ma.filled(numpy.ma.asarray(values, numpy.float64), numpy.nan)


def _game(f, background, x):
    """The mean of f over the background, the coalition's features set to x."""

    def part(masks):
        rows = numpy.where(masks[:, None, :], x, background).reshape(-1, len(x))
        found = _real(f(rows), "what f gave")  # NaN is refused
        if found.shape not in ((len(rows),), (len(rows), 1)):
            raise ValueError(f"f gave an array of shape {found.shape} for {len(rows)} rows: one number a "
                             "row is needed")
        return found.reshape(len(masks), -1).mean(1)

    def values(masks):
        masks = masks.astype(bool)
        step = max(1, _NUMBERS // background.size)
        return numpy.concatenate([part(masks[first:first + step])
                                 for first in range(0, max(1, len(masks)), step)])

    return values


def _data(background, x):
    background, x = numpy.atleast_2d(_real(background, "background")), numpy.atleast_2d(_real(x, "x"))
    if background.ndim != 2 or x.ndim != 2 or len(x) != 1:
        raise ValueError(f"background has the shape {background.shape} and x {x.shape}: rows of features, and one row")
    x = x[0]
    if background.shape[1] != len(x):
        raise ValueError(f"x has {len(x)} features, the background {background.shape[1]}")
    if len(background) == 0:
        raise ValueError("the background has no rows")
    return background, x


def estimate(f, background, x, budget=2000, method="MC-antithetic", seed=0, repeats=10, **options):
    """Shapley values of f at the row x, under a budget.

    Parameters
    ----------
    f : callable
        Takes rows (m, features), float64, gives m numbers. Called with many rows at a time, of at most 2^24
        numbers (or those of one coalition).
    background : array_like of shape (rows, features)
        What stands for absent features.
    x : array_like of shape (features,)
    budget : int
        Marginal contributions v(S + i) - v(S) of two coalitions each, over all repeats: at most 2 budget coalitions are
        evaluated. Methods of whole permutations, which share them between neighbours, get up to twice the contributions.
    method : str
        A name of `estimators`, in any case.
    seed : int
        Of the first repeat; the next have seed + 1, seed + 2, ... Estimates are independent where their seeds lie
        `repeats` apart.
    repeats : int
        Independent estimates of budget / repeats each, whose spread gives the standard errors. 1: none.
    **options
        Of the method, as candidates=100.

    Returns
    -------
    Estimate

    Raises
    ------
    TypeError
        For complex numbers.
    ValueError
        For a budget under the method's least, and for values of f that are not finite.

    Notes
    -----
    Exceptions of f pass through. Sources as of `permutations`; each method's in `estimators()`.
    """
    background, x = _data(background, x)
    game = _game(f, background, x)
    values, errors, asked = _retable.shapley_estimate(
        len(x), game, _count(budget, "budget", 0, 2**63 - 1), _method(method, estimators()), _seed(seed),
        _count(repeats, "repeats", 1, 2**31 - 1), options)
    if len(errors) == 0:
        errors = numpy.full(len(x), numpy.nan)
    nobody = numpy.zeros((1, len(x)))
    return Estimate(values, errors, float(game(nobody)[0]), asked)


def exact(f, background, x):
    """Exact Shapley values from all 2^d coalitions, up to 20 features; arguments as of `estimate`."""
    background, x = _data(background, x)
    return _retable.shapley_exact(len(x), _game(f, background, x))
