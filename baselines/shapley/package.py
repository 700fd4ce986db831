#!/usr/bin/env python3
"""An estimator of the Python packages shap and shapiq as a contender (docs/other-languages.md).

    python3 baselines/shapley/package.py METHOD

METHOD: shap-permutation, shap-kernel, shapiq-permutation, shapiq-kernel or shapiq-svarm. The package
asks for values by calling a function; it runs in a thread of its own, which waits at that call until
the values have come.
"""

import importlib
import os
import queue
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import contender  # noqa: E402
import numpy  # noqa: E402

METHOD = sys.argv[1] if len(sys.argv) == 2 else ""


def shap_permutation(shap, players, evaluations, seed, game):
    masker = shap.maskers.Independent(numpy.zeros((1, players)))
    explainer = shap.explainers.Permutation(lambda z: game(z > 0.5), masker, seed=seed)
    return explainer(numpy.ones((1, players)), max_evals=evaluations, silent=True).values[0]


def shap_kernel(shap, players, evaluations, seed, game):
    numpy.random.seed(seed)
    explainer = shap.KernelExplainer(lambda z: game(z > 0.5), numpy.zeros((1, players)))
    # Both ends are asked for beside the samples.
    return explainer.shap_values(numpy.ones(players), nsamples=evaluations - 2, silent=True, l1_reg=False)


def shapiq_method(name, **options):
    def run(shapiq, players, evaluations, seed, game):
        result = getattr(shapiq, name)(n=players, random_state=seed, **options).approximate(evaluations, game)
        return [result[(i,)] for i in range(players)]
    return run


METHODS = {
    "shap-permutation": shap_permutation,
    "shap-kernel": shap_kernel,
    "shapiq-permutation": shapiq_method("PermutationSamplingSV"),
    "shapiq-kernel": shapiq_method("KernelSHAP", pairing_trick=True),
    "shapiq-svarm": shapiq_method("SVARM"),
}


class Package(contender.Contender):
    def __init__(self, method):
        self.module, self.method = method.split("-")[0], METHODS[method]
        self.name = contender.package(self.module)

    def load(self, request, arrays):
        if request["task"] == "values":
            self.values.put(arrays["values"])
            return
        self.package = importlib.import_module(self.module)
        self.wanted, self.values = queue.Queue(), queue.Queue()
        threading.Thread(target=self.work, args=(request, self.wanted, self.values), daemon=True).start()

    def work(self, request, wanted, values):
        players = request["players"]

        def game(coalitions):
            wanted.put(("coalitions", numpy.asarray(coalitions).reshape(-1, players).astype(bool).astype("uint8")))
            return values.get()

        try:
            phi = self.method(self.package, players, request["evaluations"], request["seed"], game)
            wanted.put(("values", numpy.asarray(phi, "float64")))
        except Exception as problem:  # told to whoever waits
            wanted.put((problem, None))

    def run(self):
        self.want = self.wanted.get()
        if isinstance(self.want[0], Exception):
            raise self.want[0]

    def answer(self, request):
        return [self.want]


if __name__ == "__main__":
    if METHOD not in METHODS:
        sys.exit(f"usage: package.py METHOD, one of {', '.join(METHODS)}")
    Package(METHOD).serve()
