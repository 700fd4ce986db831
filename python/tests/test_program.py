"""The program from Python: folders of results as frames, contenders by their protocol, a run where it is built."""

import json
import pathlib
import subprocess
import sys

import numpy
import pytest

import retable

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "results" / "recorded" / "cpu2-quick"


@pytest.mark.skipif(not RECORDED.is_dir(), reason="no recorded results beside the tests")
def test_recorded_results():
    pytest.importorskip("pandas")
    found = retable.results(RECORDED)
    assert len(found.artifacts) > 2
    verdicts = found.verdicts
    assert {"artifact", "row", "column", "verdict"} <= set(verdicts.columns) and len(verdicts) > 50
    assert "verdict" in found.claims.columns
    assert found.environment
    name = found.artifacts[0]
    assert len(found[name]) > 0
    with pytest.raises(KeyError, match="there are"):
        found["nothing/at all"]
    with pytest.raises(KeyError, match="record --tables"):
        found.tidy(name)


def test_results_of_a_run(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "shuffle").mkdir()
    for end, text in ((".csv", "Method,time\nA,2\n"), (".tidy.csv", "metric,median\ntime,2\n"), (".paper.csv", "a\n")):
        (tmp_path / "shuffle" / ("table1" + end)).write_text(text)
    found = retable.results(tmp_path)
    assert found.artifacts == ["shuffle/table1"]
    assert len(found["shuffle/table1"]) == 1 and {"metric", "median"} <= set(found.tidy("shuffle/table1").columns)


def test_folders_without_results(tmp_path):
    with pytest.raises(FileNotFoundError):
        retable.results(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="no results"):
        retable.results(tmp_path)


def test_program_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("RETABLE_PROGRAM", raising=False)
    with pytest.raises(FileNotFoundError, match="RETABLE_PROGRAM"):
        retable.run("quantiles/table2")
    monkeypatch.setenv("RETABLE_PROGRAM", str(tmp_path / "no"))
    with pytest.raises(FileNotFoundError):
        retable.compare(tmp_path, tmp_path)
    with pytest.raises(ValueError, match="experiment"):
        retable.run()


PROGRAM = """#!/bin/sh
echo "called with $*"
case "$*" in *broken*) echo "no experiment broken"; exit 1;; esac
"""


def test_calls_and_errors_of_the_program(monkeypatch, tmp_path, capsys):
    program = tmp_path / "retable"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("RETABLE_PROGRAM", str(program))
    (tmp_path / "verdicts.csv").write_text("artifact,verdict\n")
    retable.run("quantiles/*", out=tmp_path, repeats=5, force=True, budget=None, profile="smoke")
    assert capsys.readouterr().out == (f"called with run quantiles/* --profile smoke --device auto --out "
                                       f"{tmp_path} --repeats 5 --force\n")
    with pytest.raises(RuntimeError, match="status 1(.|\n)*no experiment broken"):
        retable.run("broken", out=tmp_path, show=False)
    assert "compare" in retable.compare(tmp_path, retable.results(tmp_path))


CONTENDER = """
import numpy, retable

@retable.contender("FAMILY", name="mine")
def mine(*given):
    return BODY

mine.serve()
"""


def talk(family, body, requests):
    """Sends requests to a contender; returns its answers with their arrays."""
    sent = b""
    for request, arrays in requests:
        request = {**request, "arrays": [{"name": n, "type": str(a.dtype), "shape": list(a.shape)}
                                         for n, a in arrays.items()]}
        sent += json.dumps(request).encode() + b"\n" + b"".join(a.tobytes() for a in arrays.values())
    code = CONTENDER.replace("FAMILY", family).replace("BODY", body)
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answers, rest = [], done.stdout
    while rest:
        line, rest = rest.split(b"\n", 1)
        answer = json.loads(line)
        for array in answer.get("arrays", []):
            kind = numpy.dtype(array["type"])
            size = int(numpy.prod(array["shape"])) * kind.itemsize
            answer["value"] = numpy.frombuffer(rest[:size], kind).reshape(array["shape"])
            rest = rest[size:]
        answers.append(answer)
    assert answers[0] == {"ready": "mine"}
    return answers[1:]


def test_a_contender_of_shuffle():
    items = numpy.arange(40, dtype=numpy.uint8).reshape(10, 4)
    load, run, answer = talk("shuffle", "given[0][::-1].copy()", [
        ({"do": "load", "task": "shuffle", "seed": 1}, {"items": items}), ({"do": "run"}, {}),
        ({"do": "answer"}, {})])
    assert load["ok"] and run["ok"] and numpy.array_equal(answer["value"], items[::-1])


@pytest.mark.parametrize("body", ["lambda phis: numpy.quantile(given[0], phis)",
                                  "lambda phis: [int(given[0][int(at)]) for at in 100 * phis]"])
def test_a_contender_of_quantiles(body):
    values = numpy.arange(101.0)
    answers = talk("quantiles", body, [
        ({"do": "load", "task": "quantiles"}, {"values": values}), ({"do": "run"}, {}),
        ({"do": "answer", "phis": [0.1, 0.5]}, {})])
    assert answers[-1]["value"].tolist() == [10, 50] and answers[-1]["value"].dtype == numpy.float64


def test_a_contender_of_treeshap():
    rows = numpy.ones((3, 2), numpy.float32)
    answers = talk("treeshap", "numpy.zeros((len(given[1]), 1, 3), numpy.float32)", [
        ({"do": "load", "task": "treeshap", "device": "cpu", "threads": 1},
         {"model": numpy.frombuffer(b"model", numpy.uint8)}),
        ({"do": "load", "task": "treeshap", "what": "pred_contribs"}, {"rows": rows}),
        ({"do": "run"}, {}), ({"do": "answer"}, {})])
    assert answers[-1]["value"].shape == (3, 1, 3)


def test_errors_of_a_contender_are_answers():
    answers = talk("shuffle", "1 / 0", [
        ({"do": "load", "task": "shuffle", "seed": 1}, {"items": numpy.zeros((1, 1), numpy.uint8)}),
        ({"do": "run"}, {})])
    assert not answers[1]["ok"] and "ZeroDivisionError" in answers[1]["error"]
    with pytest.raises(ValueError, match="shapley"):
        retable.contender("shapley")


@pytest.mark.skipif(not (ROOT / "build" / "retable").exists(), reason="the program is not built")
def test_a_run_of_the_program(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    found = retable.run("quantiles/table2", profile="smoke", out=tmp_path / "out", show=False)
    assert "quantiles/table2" in found.artifacts
    assert "same" in retable.compare(found, found) or "no cell" in retable.compare(found, found)
