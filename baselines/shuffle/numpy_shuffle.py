"""Shuffles with NumPy: a permutation of PCG64, then a gather of the rows."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contender  # noqa: E402
import numpy  # noqa: E402


class NumpyShuffle(contender.Contender):
    name = "NumPy " + numpy.__version__

    def load(self, request, arrays):
        items = arrays["items"]
        width = items.shape[1]
        # Rows of 4 or 8 bytes travel as one number each.
        self.items = items.view({4: "uint32", 8: "uint64"}[width]) if width in (4, 8) else items
        self.seed = request["seed"]

    def run(self):
        self.out = self.items[numpy.random.default_rng(self.seed).permutation(len(self.items))]

    def answer(self, request):
        return [("items", self.out.view("uint8").reshape(len(self.out), -1))]


if __name__ == "__main__":
    NumpyShuffle().serve()
