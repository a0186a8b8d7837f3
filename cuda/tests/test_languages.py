"""Devices, streams and events from C and from Node."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from libtensor._base import library as _library

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_c(tmp_path):
    library = Path(_library.path).resolve()
    program = tmp_path / "streams"
    (tmp_path / "libtensor.so.0").symlink_to(library)
    (tmp_path / "libtensor-cuda").symlink_to(ROOT / "build/libtensor-cuda")
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(["cc", *flags, str(HERE / "streams.c"), str(library), "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ADDON = ROOT / "bindings/node/build/libtensor.node"


@pytest.mark.skipif(not ADDON.exists() or not shutil.which("node"), reason="the addon is not built, or there is no node")
def test_node():
    done = subprocess.run(["node", "--test", str(HERE / "streams.test.mjs")], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout
