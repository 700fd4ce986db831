#!/usr/bin/env python3
"""Times of whole calls of the Python package beside the calls of the library within them.

    PYTHONPATH=build/python tools/time_python_calls.py [--device cuda|cpu] [--rows 10000]

The library's call writes into new memory too. Medians of calls in turns, so that both see the same machine; arrays in
GPU memory (rows "on GPU") with the wait for their answer. Exit 1 where a call of 10,000 rows or more costs over 5 % more
than the library's, or where `import retable` takes over 0.2 s.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python/tests"))


def import_seconds():
    """Of a fresh process, the median of nine after one."""
    code = "import time; t = time.perf_counter(); import retable; print(time.perf_counter() - t)"
    return statistics.median(float(subprocess.run([sys.executable, "-c", code], check=True, text=True,
                                                  capture_output=True).stdout) for _ in range(10))


def medians(calls, seconds=1.0):
    """Of each call's seconds, calls in turns."""
    for call in calls:
        call()
    times = [[] for _ in calls]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for call, mine in list(zip(calls, times))[::(-1) ** len(times[0])]:
            begun = time.perf_counter()
            call()
            mine.append(time.perf_counter() - begun)
    return [statistics.median(mine) for mine in times]


def model_of(numpy):
    """A forest of 100 trees on 28 features where scikit-learn is at hand, else a small model of LightGBM's."""
    try:
        from retable import ensemble
    except ImportError:
        return ROOT / "algorithms/treeshap/testing/trained/classes.txt"
    random = numpy.random.default_rng(1)
    x = random.normal(size=(5000, 28)).astype(numpy.float32)
    return ensemble.ExtraTreesRegressor(100, max_depth=7, random_state=1).fit(x, x[:, 0] + x[:, 1] * x[:, 2])


def host_calls(numpy, retable, device, rows):
    """(name, the package's call, the library's)."""
    native = retable._retable
    random = numpy.random.default_rng()
    explainer = retable.TreeExplainer(model_of(numpy), device=device)
    features, outputs = explainer._model.features, explainer._model.outputs
    x = random.normal(size=(rows, features)).astype(numpy.float32)
    yield ("shap_values", lambda: explainer.shap_values(x),
           lambda: explainer._explainer.values(x, numpy.empty((rows, outputs, features + 1))))
    few = x[:max(1, rows // 10)]
    yield ("shap_interaction_values, a tenth", lambda: explainer.shap_interaction_values(few),
           lambda: explainer._explainer.interactions(few, numpy.empty((len(few), outputs, features + 1, features + 1))))
    items = random.random(100 * rows)
    yield ("shuffle of 100 times as many", lambda: retable.shuffle(items, 1, device=device),
           lambda: native.shuffle(items.view(numpy.uint8), numpy.empty_like(items).view(numpy.uint8), len(items), 8, 1,
                                  "Partition", device))
    sketch = retable.QuantileSketch(device=device)
    yield "QuantileSketch.update of 100 times as many", lambda: sketch.update(items), lambda: sketch._sketch.update(items)
    try:
        from retable import ensemble
    except ImportError as error:
        print(f"no times of forests: {error}")
        return
    y = (x[:, 0] > 0).astype(numpy.uint32)
    forest = ensemble.ExtraTreesClassifier(100, random_state=1, device=device)
    forest.fit(x, y)
    options = forest._options(*x.shape)
    yield ("ExtraTreesClassifier.fit, 100 trees", lambda: forest.fit(x, y),
           lambda: native.Forest.fit_classes(x, y, numpy.empty(0), options))
    yield "predict_proba", lambda: forest.predict_proba(x), lambda: forest.forest_.predict(x)


def gpu_calls(numpy, retable, rows):
    """The same for arrays in GPU memory; each waits for its answer."""
    from gpu import Interface

    random = numpy.random.default_rng()
    explainer = retable.TreeExplainer(model_of(numpy), device="cuda")
    features, outputs = explainer._model.features, explainer._model.outputs
    x = Interface(random.normal(size=(rows, features)).astype(numpy.float32))
    items = Interface(random.random(100 * rows))

    def native(numbers, write):
        memory = retable._retable.DeviceMemory(8 * numbers)
        write(memory.address)
        memory.written_on(0)
        memory.synchronize()

    def address(a):
        return a.__cuda_array_interface__["data"][0]

    yield ("shap_values on GPU", lambda: explainer.shap_values(x)._memory.synchronize(),
           lambda: native(rows * outputs * (features + 1),
                          lambda to: explainer._explainer.values_on_device(address(x), rows, to, 0)))
    few = max(1, rows // 10)
    less = Interface(random.normal(size=(few, features)).astype(numpy.float32))
    yield ("shap_interaction_values on GPU, a tenth",
           lambda: explainer.shap_interaction_values(less)._memory.synchronize(),
           lambda: native(few * outputs * (features + 1)**2,
                          lambda to: explainer._explainer.interactions_on_device(address(less), few, to, 0)))
    yield ("shuffle on GPU of 100 times as many", lambda: retable.shuffle(items, 1)._memory.synchronize(),
           lambda: native(100 * rows, lambda to: retable._retable.shuffle_on_device(
               address(items), to, 100 * rows, 8, 1, "Partition", 0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--rows", type=int, default=10000)
    given = parser.parse_args()
    seconds = import_seconds()
    late = seconds > 0.2
    print(f"import retable: {1e3 * seconds:.1f} ms{'  OVER 200' if late else ''}")
    import numpy

    import retable

    calls = list(host_calls(numpy, retable, given.device, given.rows))
    if given.device == "cuda":
        calls += gpu_calls(numpy, retable, given.rows)
    print(f"{given.rows} rows, {given.device}; ms{'package':>46}{'library':>10}{'ratio':>8}")
    for name, ours, library in calls:
        mine, theirs = medians([ours, library])
        over = mine > 1.05 * theirs
        late = late or (over and given.rows >= 10000)
        print(f"{name:52}{1e3 * mine:10.3f}{1e3 * theirs:10.3f}{mine / theirs:8.3f}{'  OVER' if over else ''}", flush=True)
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
