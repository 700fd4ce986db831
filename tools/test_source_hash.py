#!/usr/bin/env python3
"""Which files a family's hash is of (cmake/RetableSourceHash.cmake): those that its cells compute with, and no others."""

import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "cmake/RetableSourceHash.cmake"


def hashes(root):
    out = root / "hashes.cpp"
    subprocess.run(["cmake", f"-DRETABLE_SOURCE={root}", "-DRETABLE_FAMILIES=shapley,shuffle,treeshap",
                    f"-DRETABLE_OUTPUT={out}", "-P", SCRIPT], check=True)
    return dict(re.findall(r'"(\w+)", "(\w+)"', out.read_text()))


class SourceHash(unittest.TestCase):
    def test_a_change_reaches_whoever_computes_with_it(self):
        every = {"shapley", "shuffle", "treeshap"}
        reached = {"base/a.cpp": every, "algorithms/common/a.hpp": every, "baselines/contender.py": every,
                   "harness/timing/a.cpp": every,
                   "algorithms/shapley/a.cu": {"shapley"}, "algorithms/shuffle/a.cuh": {"shuffle"},
                   "baselines/shuffle/a.py": {"shuffle"}, "algorithms/shuffle/a_test.cpp": set(),
                   # Models of trees are games of the Shapley family.
                   "algorithms/treeshap/a.cpp": {"shapley", "treeshap"}}
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in reached:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("1")
            before = hashes(root)
            for name in reached:
                (root / name).write_text("2")
                after = hashes(root)
                self.assertEqual({f for f in every if after[f] != before[f]}, reached[name], name)
                before = after


if __name__ == "__main__":
    unittest.main()
