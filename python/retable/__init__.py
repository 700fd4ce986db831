"""Retable: tree SHAP, extremely randomized trees, quantile sketches, random orders and Shapley sampling.

=============================== ====================================================================
`TreeExplainer`                 exact SHAP values of XGBoost's, LightGBM's, CatBoost's and scikit-learn's trees
`ensemble`                      `ExtraTreesClassifier`, `ExtraTreesRegressor`
`QuantileSketch`                quantiles of a stream in 84 bytes; `sketch_columns` for a table
`permutation`, `shuffle`,       random orders: one seed, one order, on a processor and on a GPU
`sample`, `Permutation`
`shapley`                       Shapley values of any function under a budget
`run`, `results`, `compare`,    the experiments of the program `retable`
`contender`
=============================== ====================================================================

Everything computes on the processor, and on a CUDA device where the package was built with a CUDA toolkit and
a device answers. `show_versions()` tells.
"""

import importlib as _importlib

from . import _retable

__version__ = _retable.version()

# Loaded when they are first used: `import retable` reads neither NumPy nor scikit-learn.
_PLACES = {
    "TreeExplainer": "_tree_explainer",
    "QuantileSketch": "_quantiles",
    "sketch_columns": "_quantiles",
    "permutation": "_shuffle",
    "shuffle": "_shuffle",
    "sample": "_shuffle",
    "Permutation": "_shuffle",
    "EpochSampler": "_shuffle",
    "run": "_program",
    "results": "_program",
    "compare": "_program",
    "contender": "_program",
}
_MODULES = ("ensemble", "shapley")

__all__ = ["__version__", "show_versions", "cuda_devices", *_PLACES, *_MODULES]


def __getattr__(name):
    if name in _PLACES:
        value = getattr(_importlib.import_module("." + _PLACES[name], __name__), name)
    elif name in _MODULES:
        value = _importlib.import_module("." + name, __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))


def cuda_devices():
    """The number of CUDA devices that answer; 0 without a driver, or in a build without CUDA."""
    return _retable.cuda_devices()


def show_versions():
    """Prints the versions of this package and of those that it works with, and what it computes on."""
    import platform
    from importlib import metadata

    print(f"retable       {__version__}")
    print(f"python        {platform.python_version()}, {platform.platform()}")
    for name in ("numpy", "pandas", "pyarrow", "scikit-learn", "shap", "xgboost", "lightgbm", "catboost"):
        try:
            print(f"{name:13} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            print(f"{name:13} not installed")
    built = "built in" if _retable.built_with_cuda() else "not built in"
    print(f"CUDA          {built}, {_retable.cuda_devices()} devices answer")
    print(f"threads       {_retable.threads()}")
