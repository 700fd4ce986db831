"""The experiments of the program `retable`, from Python."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

_FAMILIES = ("shuffle", "quantiles", "treeshap")

def _program():
    """The program: $RETABLE_PROGRAM, build/retable of this folder or one above it, or one on the path."""
    given = os.environ.get("RETABLE_PROGRAM")
    if given:
        if not os.access(given, os.X_OK):
            raise FileNotFoundError(f"RETABLE_PROGRAM is {given}, which is no program")
        return given
    here = pathlib.Path.cwd()
    for folder in (here, *here.parents):
        if os.access(folder / "build" / "retable", os.X_OK) and (folder / "experiments").is_dir():
            return str(folder / "build" / "retable")
    found = shutil.which("retable")
    if found is None:
        raise FileNotFoundError("the program retable was not found: run this in a clone after `make build`, or "
                                "name it in RETABLE_PROGRAM")
    return found


def _call(arguments, show):
    """The program's exit status and output, which is shown as it comes where asked for."""
    process = subprocess.Popen([_program(), *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if show:
                sys.stdout.write(line)
    except BaseException:
        process.terminate()  # it keeps the cells that are done
        process.wait()
        raise
    return process.wait(), "".join(lines)


def run(*experiments, profile="quick", device="auto", out="results/latest", show=True, **settings):
    """Measures experiments, as `retable run` does; what is stored is not repeated.

    Parameters
    ----------
    *experiments : str
        Names or globs: "quantiles/table2", "shuffle/*".
    profile : {"smoke", "quick", "paper"}
    device : {"auto", "cpu", "cuda"}
    out : path
        Where the results go.
    show : bool
        Print the program's output as it comes.
    **settings
        Other options of `retable run`: repeats=5, force=True, budget="10m".

    Returns
    -------
    Results
        As of `results(out)`.

    Raises
    ------
    RuntimeError
        Where the program ends with an error (2: some cell failed, 3: a wrong result), with its last lines.
    FileNotFoundError
        Where the program is not found.
    """
    if not experiments:
        raise ValueError("no experiment: give a name or a glob, as \"quantiles/table2\"")
    arguments = ["run", *experiments, "--profile", profile, "--device", device, "--out", os.fspath(out)]
    for name, value in settings.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(option)
        elif value is not False and value is not None:
            arguments += [option, str(value)]
    status, text = _call(arguments, show)
    if status != 0:
        raise RuntimeError(f"retable {shlex.join(arguments)} ended with status {status}:\n"
                           + "".join(text.splitlines(True)[-15:]))
    return results(out)


class Results:
    """A folder of results as pandas frames.

    verdicts, claims : frames, a row a published cell and a claim
    environment : a dictionary: machine, program, date
    artifacts : the names of the tables here
    results[name] : the table in the paper's layout;  results.tidy(name): a line a measurement

    A recording (results/recorded/NAME) keeps the latter in its archive: `retable record --tables` unpacks all of
    them, and prints the folder.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"no folder {self.folder}: retable.run(...) makes one")
        self.artifacts = sorted(
            f"{path.parent.name}/{path.stem}" for path in self.folder.glob("*/*.csv")
            if "." not in path.stem)
        if not self.artifacts and not (self.folder / "verdicts.csv").exists():
            raise FileNotFoundError(f"{self.folder} holds no results")

    def _frame(self, name):
        import pandas

        path = self.folder / name
        if not path.exists():
            packed = name.endswith(".tidy.csv") and (self.folder / "cells.tar.zst").exists()
            raise KeyError(f"{name} is in the archive of {self.folder}: `retable record --tables` unpacks it" if packed
                           else f"{name} is not in {self.folder}; there are {', '.join(self.artifacts)}")
        return pandas.read_csv(path)

    @property
    def verdicts(self):
        return self._frame("verdicts.csv")

    @property
    def claims(self):
        return self._frame("claims.csv")

    @property
    def environment(self):
        with open(self.folder / "environment.json", encoding="utf-8") as file:
            return json.load(file)

    def __getitem__(self, artifact):
        return self._frame(artifact + ".csv")

    def tidy(self, artifact):
        return self._frame(artifact + ".tidy.csv")

    def __repr__(self):
        return f"Results({str(self.folder)!r}, {len(self.artifacts)} artifacts)"


def results(folder="results/latest"):
    """The `Results` of a folder. FileNotFoundError where there are none."""
    return Results(folder)


def compare(before, after):
    """Compares two folders of results cell by cell, as `retable compare` does.

    Returns
    -------
    str
        The program's table: faster, slower, same or ambiguous, with intervals.

    Raises
    ------
    RuntimeError
        Where the program cannot compare them, with its message.
    """
    paths = [os.fspath(f.folder if isinstance(f, Results) else f) for f in (before, after)]
    status, text = _call(["compare", *paths], show=False)
    if status not in (0, 5):
        raise RuntimeError(f"retable compare {shlex.join(paths)} ended with status {status}:\n{text}")
    return text


def contender(family, name=None):
    """Makes a function stand in a family's tables, by the protocol of docs/other-languages.md.

    An experiment's TOML names the file: ``command = "python3 mine.py"``. What the function does is timed; its start
    and the transfer of data are not.

    Parameters
    ----------
    family : {"shuffle", "quantiles", "treeshap"}
        What the function is given and gives:

        ========= ==================================== =========================================
        shuffle   items (n, item_bytes) uint8, seed    the rows in random order
        quantiles values (n,) float64                  a function of phis: a quantile for each
        treeshap  model bytes, rows float32, what      as XGBoost's pred_contribs (or whatever
                                                       `what` says) gives
        ========= ==================================== =========================================

    name : str, optional
        What tables call it; else the function's name.

    Returns
    -------
    callable
        The function, with an attribute ``serve`` that answers requests on the standard input.

    Examples
    --------
    >>> @retable.contender("shuffle")
    ... def reversed_items(items, seed):
    ...     return items[::-1].copy()
    >>> if __name__ == "__main__":
    ...     reversed_items.serve()
    """
    if family not in _FAMILIES:
        raise ValueError(f"family {family!r}: functions stand in {', '.join(_FAMILIES)}; a contender of "
                         "shapley asks questions (docs/other-languages.md)")

    def decorate(function):
        def serve():
            from . import contender_loop

            class Mine(contender_loop.Contender):
                arrays = {}

                def load(self, request, arrays):
                    self.arrays = {**self.arrays, **arrays}
                    self.request = request

                def run(self):
                    if family == "shuffle":
                        self.out = function(self.arrays["items"], self.request["seed"])
                    elif family == "quantiles":
                        self.out = function(self.arrays["values"])
                    else:
                        self.out = function(self.arrays["model"].tobytes(), self.arrays["rows"],
                                            self.request["what"])

                def answer(self, request):
                    if family == "quantiles":
                        numpy = contender_loop.numpy
                        found = self.out(numpy.asarray(request["phis"]))
                        return [("quantiles", numpy.asarray(found, numpy.float64))]
                    return [("items" if family == "shuffle" else "values", self.out)]

            Mine.name = name or function.__name__
            Mine().serve()

        function.serve = serve
        return function

    return decorate
