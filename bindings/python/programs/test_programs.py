"""Runs the programs of programs.py, each in a separate process."""

import os
import subprocess
import sys

import pytest
import recorded  # noqa: F401 - adds programs

from programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, tmp_path):
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-W", "ignore", "-m", "libtensor", "-c", PROGRAMS[name][1]]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
