"""Fits small forests with the program, explains them with `retable shap` in every format, and
compares: a row's values and the base value add up to what `retable forest predict` answers, in
whatever order a table has its columns and a column its levels.

    python3 check_exports.py build/retable

Where Python has scikit-learn, the model that to_scikit_learn.py makes must answer the same.

Exit 77 where the program has no `shap` (built without the treeshap family).
"""

import csv
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

ROWS = [("1", "3", "0.5", "x", "10"), ("2", "", "1", "x", "20"), ("8", "1", "2", "y", "31.5"),
        ("9", "2", "1", "z", "-4"), ("4", "4", "1", "z", "7"), ("5", "0", "0", "y", "8"),
        ("", "1", "3", "x", "12"), ("7", "7", "1", "y", "3")]


def write(path, header, columns):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(header)
        out.writerows([row[c] for c in columns] for row in ROWS)


def read(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))[1:]


def check_scikit_learn(model, answers):
    if importlib.util.find_spec("sklearn") is None:
        return
    from to_scikit_learn import load
    rows = [[float(v) if v else float("nan") for v in row[:2]] for row in ROWS]
    forest = load(model)
    theirs = (forest.predict_proba(rows) if hasattr(forest, "predict_proba") else forest.predict(rows))
    for ours, its in zip(answers, theirs.ravel()):
        assert abs(ours - its) <= 1e-9 * max(1.0, abs(its)), (ours, its)


def check_turned_tables(run, folder):
    """The same rows with columns, levels and format changed: the same answers and values."""
    tables = {
        "as_learnt.arff": ("x real|kind {red,'light, blue',green}|y {no,yes}",
                           "1,red,no|2,'light, blue',no|8,green,yes|9,?,yes|4,red,yes"),
        "turned.arff": ("y {yes,no}|kind {green,unseen,'light, blue',red}|more real|x real",
                        "no,red,0,1|no,'light, blue',0,2|yes,green,0,8|yes,?,0,9|yes,red,0,4"),
    }
    for name, (attributes, rows) in tables.items():
        lines = [f"@attribute {attribute}" for attribute in attributes.split("|")]
        text = "\n".join(["@relation r", *lines, "@data", *rows.split("|")])
        (folder / name).write_text(text + "\n")
    (folder / "turned.csv").write_text(
        '#,kind,x\n0,red,1\n0,"light, blue",2\n0,green,8\n0,NA,9\n0,red,4\n')
    results = []
    for model in (folder / "levels.json", folder / "levels.bin"):
        run("forest", "fit", folder / "as_learnt.arff", "--target", "y", "--trees", 9, "--device", "cpu",
            "--out", model)
        for name in (*tables, "turned.csv"):
            run("forest", "predict", model, folder / name, "--proba", "--out", folder / "p.csv")
            run("shap", "--model", model, "--data", folder / name, "--out", folder / "s.csv", "--device",
                "cpu")
            results.append((read(folder / "p.csv"), read(folder / "s.csv")))
    for result in results:
        assert result == results[0], (results[0], result)


def check_arrays(run, folder):
    """numpy reads what the program writes of arrays that numpy wrote."""
    if importlib.util.find_spec("numpy") is None:
        return
    import numpy
    x = numpy.random.default_rng(1).normal(size=(50, 3))
    numpy.save(folder / "x.npy", numpy.asfortranarray(x))
    numpy.save(folder / "y.npy", (x[:, 0] > 0) + 2 * (x[:, 1] > 0))
    model = folder / "arrays.bin"
    run("forest", "fit", folder / "x.npy", "--labels", folder / "y.npy", "--trees", 9, "--device", "cpu",
        "--out", model)
    for out, more in (("c.npy", []), ("p.npy", ["--proba"])):
        run("forest", "predict", model, folder / "x.npy", "--out", folder / out, *more)
    run("shap", "--model", model, "--data", folder / "x.npy", "--out", folder / "phi.npy", "--device", "cpu",
        "--precision", "double")
    classes, proba, phi = (numpy.load(folder / name) for name in ("c.npy", "p.npy", "phi.npy"))
    assert classes.dtype == numpy.int64 and classes.shape == (50,), (classes.dtype, classes.shape)
    assert (classes == numpy.load(folder / "y.npy")).all(), classes
    assert proba.shape == (50, 4) and phi.shape == (50, 4, 4), (proba.shape, phi.shape)
    assert abs(phi.sum(2) - proba).max() < 1e-9


def main():
    program = sys.argv[1]
    if "shap" not in subprocess.run([program, "--help"], capture_output=True, text=True).stdout:
        print("built without the treeshap family")
        return 77

    def run(*words):
        subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder / "features.csv", ["a", "b"], (0, 1))
        for target, extra in ((3, []), (4, ["--regression"])):
            write(folder / "train.csv", ["a", "b", "w", "t"], (0, 1, 2, target))
            for kind in ("retable", "binary", "xgboost"):
                model = folder / kind
                run("forest", "fit", folder / "train.csv", "--weights", "w", "--trees", 9, "--format",
                    kind, "--min-samples-leaf", 2, "--device", "cpu", "--out", model, *extra)
                run("shap", "--model", model, "--data", folder / "features.csv", "--out",
                    folder / "shap.csv", "--device", "cpu", "--precision", "double")
                if kind != "xgboost":
                    run("forest", "predict", model, folder / "features.csv", "--proba", "--out",
                        folder / "answers.csv")
                answers = [float(v) for row in read(folder / "answers.csv") for v in row]
                if kind != "xgboost":
                    check_scikit_learn(model, answers)
                sums = [sum(map(float, row[2:])) for row in read(folder / "shap.csv")]
                assert len(sums) == len(answers), (len(sums), len(answers))
                for ours, theirs in zip(sums, answers):
                    assert abs(ours - theirs) <= 2e-6 * max(1.0, abs(theirs)), (kind, ours, theirs)
        check_turned_tables(run, folder)
        check_arrays(run, folder)
    print("values add up to the forests' answers in every format")
    return 0


if __name__ == "__main__":
    sys.exit(main())
