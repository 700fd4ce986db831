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

    def test_a_build_names_the_commit_of_its_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            source, out = pathlib.Path(folder) / "source", pathlib.Path(folder) / "commit.cpp"

            def git(*words):
                author = ["-c", "user.name=a", "-c", "user.email=a@b"]
                done = subprocess.run(["git", "-C", source, *author, *words], capture_output=True, text=True, check=True)
                return done.stdout.strip()

            def built():
                subprocess.run(["cmake", f"-DSOURCE={source}", f"-DOUT={out}", "-P",
                                ROOT / "harness/machine/commit.cmake"], check=True)
                return re.search(r'commit = "(\w*)", .dirty = (\w+)', out.read_text()).groups()

            source.mkdir()
            git("init", "-q")
            for text in "first", "second":
                (source / "a.cpp").write_text(text)
                git("add", "a.cpp")
                git("commit", "-q", "-m", text)
                self.assertEqual(built(), (git("rev-parse", "HEAD"), "false"))
            written = out.stat().st_mtime_ns
            built()
            self.assertEqual(out.stat().st_mtime_ns, written, "the same commit compiles nothing again")
            (source / "notes.txt").write_text("not a source")
            self.assertEqual(built()[1], "false")
            (source / "apps").mkdir()
            (source / "apps/new.cpp").write_text("a source that git does not track")
            self.assertEqual(built()[1], "true")
            (source / "apps/new.cpp").unlink()
            (source / "a.cpp").write_text("third")
            self.assertEqual(built(), (git("rev-parse", "HEAD"), "true"))
            (source / ".git").rename(source / "git")
            (source / "harness/machine").mkdir(parents=True)
            (source / "harness/machine/commit.txt").write_text("0123456789abcdef\n")
            self.assertEqual(built(), ("0123456789abcdef", "false"))


if __name__ == "__main__":
    unittest.main()
