"""Small tables that the tests train on."""

import numpy
import pytest

pandas = pytest.importorskip("pandas")


def table(rows=400, features=6, missing=0.0, categories=0, seed=0, dtype=numpy.float64):
    """A frame of normal columns, the last `categories` of them of words, with missing values."""
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(rows, features)).astype(dtype)
    if missing:
        x[random.random(x.shape) < missing] = numpy.nan
    frame = pandas.DataFrame(x, columns=[f"feature {i}" for i in range(features)])
    words = ["red", "green", "blue", "grey", "pink"]
    for c in range(features - categories, features):
        codes = random.integers(0, len(words), rows)
        column = pandas.Series(pandas.Categorical.from_codes(codes, words))
        if missing:
            column[random.random(rows) < missing] = numpy.nan
        frame[frame.columns[c]] = column
    return frame


def numbers(frame):
    """The frame as floats: categories by their codes, missing as NaN."""
    columns = []
    for name in frame.columns:
        column = frame[name]
        if str(column.dtype) == "category":
            codes = column.cat.codes.to_numpy().astype(float)
            columns.append(numpy.where(codes < 0, numpy.nan, codes))
        else:
            columns.append(column.to_numpy(float))
    return numpy.column_stack(columns)


def targets(frame, kind, seed=1):
    """Targets that depend on several columns, two at a time."""
    random = numpy.random.default_rng(seed)
    x = numpy.nan_to_num(numbers(frame))
    score = x[:, 0] + x[:, 1] * x[:, 2] + 0.5 * numpy.abs(x[:, -1]) + 0.1 * random.normal(size=len(x))
    if kind == "real":
        return score
    if kind == "positive":
        return numpy.exp(0.3 * score)
    if kind == "counts":
        return random.poisson(numpy.exp(0.3 * score)).astype(float)
    if kind == "unit":
        return 1 / (1 + numpy.exp(-score))
    if kind == "binary":
        return (score > numpy.median(score)).astype(int)
    return numpy.digitize(score, numpy.quantile(score, [0.33, 0.66]))
