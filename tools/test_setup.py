#!/usr/bin/env python3
"""What setup.sh says where a card is seen, what arm.sh and container.sh ask others to do (with stand-ins for the programs that
they start), and what oracle.sh says of a suite that is not there."""

import os
import pathlib
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent


def stand_in(folder, commands):
    """Programs in a folder: {name: what its shell script does}."""
    for name, text in commands.items():
        path = pathlib.Path(folder, name)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


def asked(script, commands, *arguments):
    """What stand-ins, which write to $ASKED, are asked by a script."""
    with tempfile.TemporaryDirectory() as folder:
        stand_in(folder, commands)
        log = pathlib.Path(folder, "asked")
        subprocess.run([str(TOOLS / script), *(argument.format(folder) for argument in arguments)], capture_output=True,
                       env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "BUILD": f"{folder}/build",
                            "ASKED": str(log)})
        return log.read_text()


def said(card, toolkit, **environment):
    """What setup writes to stderr; `toolkit` is the version that the distribution offers. All packages are installed."""
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            "nvidia-smi": f"exit {0 if card else 9}",
            "dpkg-query": "echo install ok installed",
            "apt-cache": f"[ \"$1\" = policy ] && echo '  Candidate: {toolkit}'; true",
            "sudo": "exit 1",
        }
        stand_in(folder, commands)
        for name in ("bash", "sh", "sed", "id", "head", "dirname", "grep", "realpath", "apt-get"):
            found = next((p for p in ("/usr/bin/", "/bin/") if os.path.exists(p + name)), None)
            if found:
                os.symlink(found + name, os.path.join(folder, name))
        run = subprocess.run([str(TOOLS / "setup.sh")], env={"PATH": folder, "CUDA_PATH": folder, **environment},
                             capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return run.stderr


class ACardWithoutAToolkit(unittest.TestCase):
    def test_the_distributions_toolkit_is_offered(self):
        self.assertIn("apt-get install nvidia-cuda-toolkit", said(True, "12.0.140~12.0.1-4build4"))

    def test_one_that_is_too_old_or_none_is_not(self):
        for version in ("11.8.89~11.8.0-5", "(none)"):
            text = said(True, version)
            self.assertNotIn("nvidia-cuda-toolkit", text)
            self.assertIn("https://developer.nvidia.com/cuda-downloads", text)

    def test_no_card_or_a_named_compiler_needs_none(self):
        self.assertEqual("", said(False, "12.0.140"))
        self.assertEqual("", said(True, "12.0.140", CUDACXX="/opt/nvcc"))


class Scripts(unittest.TestCase):
    def test_arm_takes_every_library_of_the_build(self):
        dependencies = (TOOLS.parent / "cmake/RetableDependencies.cmake").read_text()
        packages = asked("arm.sh", {"aarch64-linux-gnu-g++": "", "qemu-aarch64-static": "",
                                    "apt-get": 'echo "$@" >>"$ASKED"; case "$*" in *install*) exit 1; esac'})
        for library, package in (("zstd.h", "libzstd-dev"), ("CURL", "libcurl4-openssl-dev"), ("fmt", "libfmt-dev")):
            self.assertIn(library, dependencies)
            self.assertIn(package, packages)

    def test_a_container_without_arguments_makes_the_default(self):
        commands = {"podman": "exit 1", "docker": "exit 1", "git": "tar -c -T /dev/null", "cp": "",
                    "debootstrap": 'mkdir -p "$3/etc"', "unshare": 'for last; do :; done; echo "$last" >>"$ASKED"'}
        self.assertEqual(asked("container.sh", commands, "{}/root").splitlines()[-1], "make reproduce")
        more = asked("container.sh", commands, "{}/root", "EXPERIMENTS=quantiles/*", "OUT=a b").splitlines()[-1]
        self.assertEqual(more.split(), ["make", "reproduce", "EXPERIMENTS=quantiles/\\*", "OUT=a\\", "b"])

    def test_the_oracle_names_a_suite_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([str(TOOLS / "oracle.sh")], env={**os.environ, "BUILD": folder, "ORACLE": "treeshap"},
                                 capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("ORACLE names treeshap: no test program of", run.stderr)


if __name__ == "__main__":
    unittest.main()
