"""The loop of a contender in Python; docs/other-languages.md tells the protocol.

    import contender
    class Mine(contender.Contender):
        name = "NumPy " + numpy.__version__
        def run(self): self.result = ...
        def answer(self, request): return [("out", self.result)]
    Mine().serve()
"""

import importlib.metadata
import importlib.util
import json
import os
import sys

# What pip calls a module, where that is another name, and what it installs it from, where that is no name.
_CALLED = {"sklearn": "scikit-learn", "woodelf": "woodelf-explainer"}
_SOURCE = {"retable": "."}


def unavailable(why):
    """Says what this machine lacks, and ends: the rows are NOT-RUN with this reason. Whatever else
    keeps a contender from starting is a failed row."""
    print(json.dumps({"unavailable": why}), flush=True)
    sys.exit(0)


def require(*modules):
    """To be called before these modules are imported: ends where one is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            source = _SOURCE.get(module, _CALLED.get(module, module))
            unavailable(f"{sys.executable} has no module {module}; install it (pip install {source}), "
                        "or name a Python that has it in RETABLE_PYTHON")


def package(module):
    """What the package of a module is called, and its version, for `name`. The module is not imported: whether a
    contender is available is asked at every plan. Ends where it is not installed."""
    require(module)
    called = _CALLED.get(module, module)
    try:
        return f"{called} {importlib.metadata.version(called)}"
    except importlib.metadata.PackageNotFoundError:  # not installed by pip, but on the path
        return called


def use_processors(count):
    """Keeps this process on so many processors (0: all); to be called before a package that starts threads is
    imported."""
    if count:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


require("numpy")
import numpy  # noqa: E402


class Contender:
    name = "a program"

    def load(self, request, arrays):
        """Untimed. Keeps what run() needs. @param arrays {name: ndarray}"""
        self.request, self.arrays = request, arrays

    def run(self):
        """Timed."""
        raise NotImplementedError

    def answer(self, request):
        """Untimed. @return [(name, ndarray)]"""
        raise NotImplementedError

    def serve(self):
        # What a package prints, by print or in C, is no answer: it goes to the standard error.
        source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)

        def say(reply, arrays=()):
            target.write(json.dumps(reply).encode() + b"\n")
            for array in arrays:
                target.write(numpy.ascontiguousarray(array).data)
            target.flush()

        say({"ready": self.name})
        for line in source:
            request = json.loads(line)
            arrays = {}
            for array in request.get("arrays", []):
                shape, kind = array["shape"], numpy.dtype(array["type"])
                data = bytearray(int(numpy.prod(shape)) * kind.itemsize)
                source.readinto(data)
                arrays[array["name"]] = numpy.frombuffer(data, kind).reshape(shape)
            try:
                out = []
                if request["do"] == "load":
                    self.load(request, arrays)
                elif request["do"] == "run":
                    self.run()
                elif request["do"] == "answer":
                    out = self.answer(request)
                elif request["do"] != "ping":
                    raise ValueError("unknown request " + request["do"])
                say({"ok": True, "arrays": [{"name": name, "type": str(array.dtype), "shape": list(array.shape)}
                                            for name, array in out]}, [array for _, array in out])
            except Exception as problem:  # a failure of one request, with its reason; the loop goes on
                say({"ok": False, "error": f"{type(problem).__name__}: {problem}"})
