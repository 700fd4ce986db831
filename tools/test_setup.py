#!/usr/bin/env python3
"""What tools/setup.sh says where a card is seen: with stand-ins for nvidia-smi and the package tools."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parent / "setup.sh"


def said(card, toolkit, **environment):
    """What setup writes to stderr; `toolkit` is the version that the distribution offers. All packages are installed."""
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            "nvidia-smi": f"exit {0 if card else 9}",
            "dpkg-query": "echo install ok installed",
            "apt-cache": f"[ \"$1\" = policy ] && echo '  Candidate: {toolkit}'; true",
            "sudo": "exit 1",
        }
        for name, text in commands.items():
            path = pathlib.Path(folder, name)
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        for name in ("bash", "sh", "sed", "id", "head", "dirname", "grep", "realpath", "apt-get"):
            found = next((p for p in ("/usr/bin/", "/bin/") if os.path.exists(p + name)), None)
            if found:
                os.symlink(found + name, os.path.join(folder, name))
        run = subprocess.run([str(SETUP)], env={"PATH": folder, "CUDA_PATH": folder, **environment},
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


if __name__ == "__main__":
    unittest.main()
