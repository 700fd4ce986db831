"""Exact quantiles with NumPy: sorts what comes in, as pandas and most notebooks do."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contender  # noqa: E402
import numpy  # noqa: E402


class NumpyQuantiles(contender.Contender):
    name = "NumPy " + numpy.__version__

    def load(self, request, arrays):
        self.values = arrays["values"]

    def run(self):
        self.sorted = numpy.sort(self.values)

    def answer(self, request):
        # The inverse of the empirical distribution: the smallest value with at least phi below or at it.
        n = len(self.sorted)
        ranks = numpy.clip(numpy.ceil(numpy.asarray(request["phis"]) * n).astype("int64") - 1, 0, n - 1)
        return [("quantiles", self.sorted[ranks].astype("float64"))]


if __name__ == "__main__":
    NumpyQuantiles().serve()
