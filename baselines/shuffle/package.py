#!/usr/bin/env python3
"""A shuffle or a permutation of a Python package as a contender (docs/other-languages.md).

    python3 baselines/shuffle/package.py METHOD [PROCESSORS]

METHOD: retable, numpy or torch, which copy the items into a random order; or retable-permutation,
numpy-permutation or torch-permutation, which make a random order of as many indices: then the items are
gathered by them when they are asked for, untimed. PROCESSORS: how many it may use; all by default.
"""

import importlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contender  # noqa: E402
import numpy  # noqa: E402


def torch_order(torch, items, seed):
    return torch.randperm(len(items), generator=torch.Generator().manual_seed(seed))


# What is timed: of the module, the items and the seed.
METHODS = {
    "retable": lambda retable, items, seed: retable.shuffle(items, seed),
    "retable-permutation": lambda retable, items, seed: retable.permutation(len(items), seed),
    "numpy": lambda np, items, seed: np.random.default_rng(seed).permutation(items),
    "numpy-permutation": lambda np, items, seed: np.random.default_rng(seed).permutation(len(items)),
    "torch": lambda torch, items, seed: items[torch_order(torch, items, seed)],
    "torch-permutation": torch_order,
}


class Package(contender.Contender):
    def __init__(self, method):
        self.method, self.module = method, method.split("-")[0]
        self.name = contender.package(self.module)

    def load(self, request, arrays):
        self.package = importlib.import_module(self.module)
        items, self.seed = arrays["items"], request["seed"]
        # Rows of 4 or 8 bytes travel as one number each.
        width = items.shape[1]
        self.items = items.view({4: "int32", 8: "int64"}[width]).reshape(-1) if width in (4, 8) else items
        self.given = self.package.from_numpy(self.items.copy()) if self.module == "torch" else self.items

    def run(self):
        self.out = METHODS[self.method](self.package, self.given, self.seed)

    def answer(self, request):
        out = numpy.asarray(self.out)
        if self.method.endswith("permutation"):
            out = self.items[out]
        return [("items", out.view("uint8").reshape(len(out), -1))]


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in METHODS:
        sys.exit(f"usage: package.py METHOD [PROCESSORS]; METHOD is one of {', '.join(METHODS)}")
    contender.use_processors(int(sys.argv[2]) if len(sys.argv) == 3 else 0)
    Package(sys.argv[1]).serve()
