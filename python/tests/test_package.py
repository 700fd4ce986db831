"""The package as a whole: import, fork, latency, what the program `retable` is asked."""

import importlib.util
import subprocess
import sys

import numpy
import pytest

import retable


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_version_is_the_packages():
    from importlib import metadata
    try:
        assert retable.__version__ == metadata.version("retable")
    except metadata.PackageNotFoundError:
        assert retable.__version__.count(".") == 2


def test_import_is_quick():
    """Under 0.2 s of processor time; NumPy and the rest are read when they are needed."""
    code = ("import time; b = time.process_time(); import retable; e = time.process_time() - b;"
            "import sys; print(e, 'numpy' in sys.modules, 'sklearn' in sys.modules)")
    times = []
    for _ in range(3):
        done = run(code)
        assert done.returncode == 0, done.stderr
        seconds, with_numpy, with_sklearn = done.stdout.split()
        assert (with_numpy, with_sklearn) == ("False", "False")
        times.append(float(seconds))
    assert min(times) < 0.2


def test_versions_are_shown(capsys):
    retable.show_versions()
    shown = capsys.readouterr().out
    for word in ("retable", "numpy", "CUDA", "threads"):
        assert word in shown


def test_names_are_listed_and_wrong_ones_refused():
    for name in retable.__all__:
        assert name in dir(retable)
        if name != "ensemble" or importlib.util.find_spec("sklearn"):
            getattr(retable, name)
        else:
            with pytest.raises(ImportError, match="pip install scikit-learn"):
                getattr(retable, name)
    with pytest.raises(AttributeError, match="nothing"):
        retable.nothing


FORK = """
import os, sys, numpy, retable
order = retable.permutation(10**6, 1)                  # threads are at work before the fork
x = numpy.random.default_rng(0).normal(size=(5000, 4)).astype(numpy.float32)
retable.sketch_columns(x)
child = os.fork()
if child == 0:
    same = numpy.array_equal(retable.permutation(10**6, 1), order)
    retable.sketch_columns(x)
    os._exit(0 if same else 3)
for _ in range(600):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        sys.exit(os.waitstatus_to_exitcode(status))
    import time
    time.sleep(0.1)
os.kill(child, 9)
sys.exit(4)
"""


def test_fork_after_use():
    done = run(FORK)
    assert done.returncode == 0, (done.returncode, done.stderr)


def test_fork_while_a_thread_is_in_a_sketch():
    code = """
import os, signal, sys, threading, numpy, retable
x = numpy.random.default_rng(0).normal(size=10**5)
sketch, stop = retable.QuantileSketch().update(x), threading.Event()
def work():
    while not stop.is_set():
        sketch.update(x).quantile([0.1, 0.5, 0.9])
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
ended = []
for _ in range(10):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        whole = sketch.n % len(x) == 0 and abs(sketch.quantile(0.5) - numpy.median(x)) < 0.01
        retable.QuantileSketch().merge(sketch)
        os._exit(0 if whole else 3)
    ended.append(os.waitpid(child, 0)[1])
stop.set()
for thread in threads:
    thread.join()
sys.exit(str(ended) if any(ended) else 0)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_a_signal_is_handled_by_a_call_of_the_sketch_that_it_interrupts():
    code = """
import signal, numpy, retable
x = numpy.random.default_rng(0).normal(size=10**5)
sketch, seen = retable.QuantileSketch().update(x), []
def handle(*_):
    sketch.update(x)
    seen.append((sketch.n, sketch.quantile(0.5)))
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.005)
calls = 1
while len(seen) < 100:
    sketch.update(x)
    calls += 1
signal.setitimer(signal.ITIMER_REAL, 0)
assert all(n % len(x) == 0 and abs(q - numpy.median(x)) < 0.01 for n, q in seen), seen
assert sketch.n == (calls + len(seen)) * len(x)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_interrupt_ends_a_long_explanation():
    xgboost = pytest.importorskip("xgboost")
    del xgboost
    code = """
import numpy, signal, threading, time, xgboost, retable
x = numpy.random.default_rng(0).normal(size=(4000, 20)).astype(numpy.float32)
m = xgboost.XGBRegressor(n_estimators=100, max_depth=6).fit(x, x[:, 0] * x[:, 1])
e = retable.TreeExplainer(m, threads=1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore
threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT)).start()
b = time.time()
try:
    e.shap_interaction_values(numpy.tile(x, (100, 1)))
    print('finished')
except KeyboardInterrupt:
    print('interrupted')
"""
    done = run(code)
    assert done.stdout.strip() == "interrupted", (done.stdout, done.stderr)


def test_interrupt_ends_a_fit_a_long_stream_and_a_search():
    pytest.importorskip("sklearn")
    code = """
import numpy, signal, threading, time, retable
from retable import _quantiles
from retable.ensemble import ExtraTreesRegressor
signal.signal(signal.SIGINT, signal.default_int_handler)
random = numpy.random.default_rng(0)
x = random.normal(size=(4000, 20)).astype(numpy.float32)
values = numpy.ones(1 << 24, numpy.float32)
_quantiles._BLOCK = 1  # as long as a stream that does not fit into memory
for work in (lambda: ExtraTreesRegressor(n_estimators=100000, n_jobs=1).fit(x, x[:, 0]),
             lambda: ExtraTreesRegressor(n_estimators=100000, n_jobs=2).fit(x, x[:, 0]),
             lambda: retable.QuantileSketch().update(values),
             lambda: retable.shapley.permutations(50, 100000, "Herding"),
             lambda: retable.shapley.permutations(50, 20000, "Foldover-descent")):
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    begun = time.time()
    try:
        work()
        print('finished')
    except KeyboardInterrupt:
        print('interrupted' if time.time() - begun < 30 else 'late')
"""
    done = run(code)
    assert done.stdout.split() == ["interrupted"] * 5, (done.stdout, done.stderr)


def test_stubs_name_what_is_there():
    """Each public name and its parameters stand in __init__.pyi as they are."""
    import ast
    import inspect
    import pathlib

    stub = pathlib.Path(retable.__file__).with_name("__init__.pyi")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    told = {node.name: node for node in tree.body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")}
    for name in retable.__all__:
        assert name in told or name in ("__version__", "ensemble", "shapley"), name
    for name, node in told.items():
        if name == "Results":
            continue
        pairs = [(getattr(retable, name), node)]
        if isinstance(node, ast.ClassDef):
            pairs = [(getattr(getattr(retable, name), part.name), part) for part in node.body
                     if isinstance(part, ast.FunctionDef)
                     and not isinstance(inspect.getattr_static(getattr(retable, name), part.name),
                                        (property, classmethod))]
        for function, declared in pairs:
            arguments = declared.args
            names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
            real = [p.name for p in inspect.signature(function).parameters.values()
                    if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            assert names == real, (name, declared.name)
