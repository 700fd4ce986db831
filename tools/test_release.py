#!/usr/bin/env python3
"""Checks that the files that describe a release agree: one version and one title, JSON that parses, and a tree that an
archive without .git names by its commit."""

import json
import pathlib
import re
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def first(pattern, path):
    return re.search(pattern, (ROOT / path).read_text(), re.MULTILINE).group(1)


class Release(unittest.TestCase):
    def test_one_version(self):
        version = first(r"^project\(retable VERSION ([\d.]+)", "CMakeLists.txt")
        self.assertEqual(first(r"^version: (.*)$", "CITATION.cff"), version)
        self.assertEqual(json.loads((ROOT / "codemeta.json").read_text())["version"], version)
        self.assertEqual(first(r"^## ([\d.]+)", "CHANGELOG.md"), version)
        example = first(r"find_package\(retable ([\d.]+)", "examples/cpp/CMakeLists.txt")
        self.assertTrue(version.startswith(example), example)

    def test_one_title_and_licence(self):
        zenodo = json.loads((ROOT / ".zenodo.json").read_text())
        self.assertEqual(first(r'^title: "(.*)"$', "CITATION.cff"), zenodo["title"])
        self.assertEqual(first(r"^license: (.*)$", "CITATION.cff"), zenodo["license"])

    def test_an_archive_names_its_commit(self):
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        if commit.returncode != 0:
            self.skipTest("no git here")
        with tempfile.TemporaryDirectory() as folder:
            archive = pathlib.Path(folder) / "a.tar"
            subprocess.run(["git", "-C", ROOT, "archive", "-o", archive, "HEAD", "harness/machine/commit.txt"], check=True)
            with tarfile.open(archive) as tar:
                text = tar.extractfile("harness/machine/commit.txt").read().decode()
        self.assertEqual(text.strip(), commit.stdout.strip())


if __name__ == "__main__":
    unittest.main()
