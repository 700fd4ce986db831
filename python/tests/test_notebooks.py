"""The notebooks of docs/notebooks run from top to bottom, and each ends in a picture."""

import json
import pathlib
import warnings

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks"
NEEDS = {"explain_a_model": ("shap", "xgboost", "sklearn"), "a_forest": ("sklearn",)}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path, monkeypatch):
    for package in NEEDS.get(path.stem, ()):
        pytest.importorskip(package)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    pictures = []
    monkeypatch.setattr(pyplot, "show", lambda *a, **k: pictures.append(len(pyplot.gcf().axes)))
    names = {"__name__": "notebook"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, cell in enumerate(code):
            pictures.clear()
            exec(compile(cell, f"{path.name}, code cell {number}", "exec"), names)
    assert pictures and pictures[-1] > 0
    pyplot.close("all")


def test_there_is_a_notebook_a_family():
    assert len(list(FOLDER.glob("*.ipynb"))) == 5
