#!/usr/bin/env python3
"""`retable shap --shard` and `--resume` with processes that are killed: the result is that of one call, to the byte.

    tools/test_shap_shards.py PROGRAM

Four processes of mpirun (or, where it is not installed, with what it would tell them) explain one file; one of them is
killed in the middle, and all are started again. A single call is killed at random moments until it ends. Processes of
the same and of different parts run at once. The joining meets a full disk. No piece is made twice, none is left.
"""

import array
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROWS, FEATURES = 4000, 6
TOOLS = os.path.dirname(os.path.abspath(__file__))


def check(good, what):
    if not good:
        sys.exit(f"test_shap_shards.py: {what}")


def grow(rng, tree, depth):
    node = len(tree["feature"])
    for name, value in {"feature": -1, "threshold": 0, "left": -1, "right": -1, "cover": 2 ** depth, "value": 0}.items():
        tree[name].append(value)
    if depth == 0:
        tree["value"][node] = rng.uniform(-1, 1)
        return node
    tree["feature"][node] = rng.randrange(FEATURES)
    tree["threshold"][node] = rng.random()
    tree["left"][node] = grow(rng, tree, depth - 1)
    tree["right"][node] = grow(rng, tree, depth - 1)
    return node


def write_inputs():
    rng = random.Random(7)
    trees = []
    for _ in range(100):
        trees.append({name: [] for name in ("feature", "threshold", "left", "right", "cover", "value")})
        grow(rng, trees[-1], 6)
    with open("model.json", "w") as file:
        json.dump({"format": "retable-forest", "version": 1, "features": FEATURES, "trees": trees}, file)
    rows = [[round(rng.random(), 3) for _ in range(FEATURES)] for _ in range(ROWS)]
    with open("rows.csv", "w") as file:
        file.write(",".join(f"f{i}" for i in range(FEATURES)))
        for r, row in enumerate(rows):  # quotes that hold a line, and no line feed at the end
            file.write("\n" + ",".join(f'"{x}"' if r % 9 == 0 else str(x) for x in row))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({ROWS}, {FEATURES}), }}".ljust(117) + "\n"
    with open("rows.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.write(array.array("d", [x for row in rows for x in row]).tobytes())


def words(data, out, *more):
    return ["--model", "model.json", "--data", data, "--out", out, "--device", "cpu", "--threads", "1", *more]


def start(arguments, **how):
    return subprocess.Popen([PROGRAM, "shap", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)


def end(process, status=0):
    text = process.communicate(timeout=120)[0]
    check(process.returncode == status, f"status {process.returncode}, not {status}: {text}")
    return text


def read(path):
    with open(path, "rb") as file:
        return file.read()


def pieces(out):
    """The finished pieces, and when each was made."""
    try:
        return {e.name: e.stat().st_mtime_ns for e in os.scandir(out + ".parts")
                if e.name[-8:].isdigit() and e.name[16] == "-"}
    except FileNotFoundError:
        return {}


def wait_for(condition):
    for _ in range(20000):
        if condition():
            return
        time.sleep(0.001)
    check(False, "waited in vain")


def ranks(arguments, n=4):
    """n processes as mpirun starts them, by tools/mpi_shards.sh."""
    return [subprocess.Popen([f"{TOOLS}/mpi_shards.sh", "shap", *arguments], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True,
                             env=dict(os.environ, RETABLE=PROGRAM, OMPI_COMM_WORLD_RANK=str(i), OMPI_COMM_WORLD_SIZE=str(n)))
            for i in range(n)]


def whole(data, out, *more):
    end(start(words(data, out, *more)))
    return read(out)


def nothing_left(out):
    check(not os.path.exists(out + ".parts"), f"{out}.parts is left")
    check(not [name for name in os.listdir(".") if name.endswith(".retable-tmp")], "a temporary file is left")


def one_of_four_is_killed(data, out, *more):
    want = whole(data, "whole" + out[-4:], *more)
    arguments = words(data, out, "--chunk-rows", "50", *more)  # 80 pieces
    processes = ranks(arguments)
    wait_for(lambda: len(pieces(out)) >= 4)
    processes[1].kill()
    texts = [end(process, process.wait()) for process in processes]
    if processes[1].returncode == 0 or os.path.exists(out):  # this process was stopped for so long that all was done
        check(read(out) == want, f"{out}, {more}: not the bytes of one call")
        os.remove(out)
        return one_of_four_is_killed(data, out, *more)
    check([process.returncode for process in processes] == [0, -signal.SIGKILL, 0, 0], f"other endings: {texts}")
    check(all("are missing" in texts[i] for i in (0, 2, 3)), f"it does not say that pieces are missing: {texts}")
    made = pieces(out)
    check(60 <= len(made) < 80, f"{len(made)} pieces after a kill")
    check("--resume" in end(start(words(data, out, "--chunk-rows", "50", *more)), 1), "a plain call passes over pieces")
    second = ranks(arguments)
    wait_for(lambda: len(pieces(out)) > len(made) or os.path.exists(out) or second[1].poll() is not None)
    check(all(pieces(out).get(name, when) == when for name, when in made.items()), "a piece was made twice")
    texts = [end(process) for process in second]
    check(read(out) == want, f"{out}, {more}: not the bytes of one call")
    nothing_left(out)
    check(not any("missing" in text for text in texts[1:2]), "the one that was killed does not end it")
    for process in ranks(arguments):
        check("complete already" in end(process), "a finished result is made again")
    return None


def killed_until_it_ends():
    want = whole("rows.csv", "whole.npy")
    rng, kills = random.Random(11), 0
    arguments = words("rows.csv", "killed.npy", "--chunk-rows", "50", "--resume")
    for delay in [0.02] * 4 + [rng.uniform(0.02, 0.12) for _ in range(200)]:
        process = start(arguments)
        time.sleep(delay)
        process.kill()
        if end(process, process.wait()) and process.returncode == 0:
            break
        kills += 1
        check(not os.path.exists("killed.npy") or read("killed.npy") == want, "half a result")
    end(start(arguments))
    check(read("killed.npy") == want, "killed.npy: not the bytes of one call")
    nothing_left("killed.npy")
    return kills


def same_parts_at_once():
    want = whole("rows.npy", "whole.csv")
    for attempt in range(6):
        out = f"once{attempt}.csv"
        processes = [start(words("rows.npy", out, "--chunk-rows", "100" if attempt % 2 else "1000", "--shard", shard))
                     for shard in ("1/2", "1/2", "2/2", "2/3", "1/1", "7/7")]
        for process in processes:
            end(process)
        check(read(out) == want, f"{out}: not the bytes of one call")
        nothing_left(out)


def full_disk():
    want = whole("rows.csv", "whole.csv")
    limit = len(want) // 2

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    arguments = words("rows.csv", "full.csv", "--chunk-rows", "500", "--resume")
    text = end(start(arguments, preexec_fn=small_files), 2)
    check("cannot write" in text and "full.csv: " in text, "it does not say what it cannot write: " + text)
    check(not os.path.exists("full.csv") and len(pieces("full.csv")) == 8, "pieces are lost by a full disk")
    check("0 rows explained" in end(start(arguments)), "pieces are made again after a full disk")
    check(read("full.csv") == want, "full.csv: not the bytes of one call")
    nothing_left("full.csv")


def main():
    write_inputs()
    one_of_four_is_killed("rows.csv", "a.npy")
    one_of_four_is_killed("rows.npy", "b.csv", "--top-k", "3")
    one_of_four_is_killed("rows.csv", "c.csv", "--background", "rows.npy")
    kills = killed_until_it_ends()
    same_parts_at_once()
    full_disk()
    how = "with what mpirun tells them (Debian: openmpi-bin)"
    if shutil.which("mpirun"):
        how = "under mpirun"
        want = whole("rows.csv", "whole.npy", "--interactions")
        subprocess.run(["mpirun", "--oversubscribe", "-n", "4", f"{TOOLS}/mpi_shards.sh", "shap",
                        *words("rows.csv", "mpi.npy", "--chunk-rows", "200", "--interactions")], check=True,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, RETABLE=PROGRAM, OMPI_ALLOW_RUN_AS_ROOT="1",
                                                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
        check(read("mpi.npy") == want, "mpi.npy: not the bytes of one call")
        nothing_left("mpi.npy")
    print(f"four processes {how}, one killed; one call killed {kills} times; the same parts at once; a full disk: "
          "the bytes of one call, no piece made twice")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PROGRAM = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
        os.chdir("/")
