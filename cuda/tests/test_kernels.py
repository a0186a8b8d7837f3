"""Where the kernels are found, and what is said without them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from libtensor._base import library as _library

BUILT = Path(_library.path).resolve()
KERNELS = Path(__file__).resolve().parents[2] / "build/libtensor-cuda"
CODE = "import libtensor as torch\nprint(torch.cuda.absence())\nprint(torch.ones(2, device='cuda').sum().item())"
VERSION = _library.__version__
REMEDY = f": pip install libtensor-cuda=={VERSION}, npm install libtensor-cuda@{VERSION}, or apt-get install libtensor0-cuda brings them"


def said(library, **environment):
    environment = os.environ | {"LIBTENSOR_LIBRARY": str(library), "LIBTENSOR_CUDA_KERNELS": ""} | environment
    return subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment)


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "prefix/lib/machine/libtensor.so"
    path.parent.mkdir(parents=True)
    path.symlink_to(BUILT)
    return path


PLACES = {
    "a prefix": "prefix/lib/share/libtensor-cuda",
    "Debian": "prefix/share/libtensor-cuda",
    "Python": "prefix/libtensor_cuda",
    "Node": "prefix/libtensor-cuda",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_where_they_are_found(tmp_path, library, place):
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).symlink_to(KERNELS)
    done = said(library)
    assert done.stdout == "\n2.0\n", done.stderr


def test_a_variable_names_them(library):
    assert said(library, LIBTENSOR_CUDA_KERNELS=str(KERNELS)).stdout == "\n2.0\n"


def test_without_them(library):
    done = said(library)
    assert done.stdout == f"its kernels are not installed{REMEDY}\n"
    assert done.stderr.endswith(f"ones: device cuda is not available: its kernels are not installed{REMEDY}; use device='cpu'\n")


def test_those_of_another_version(tmp_path, library):
    other = tmp_path / "other"
    other.mkdir()
    (other / "gen_entries.txt").write_text((KERNELS / "gen_entries.txt").read_text().replace(VERSION, "99.0.0", 1))
    done = said(library, LIBTENSOR_CUDA_KERNELS=str(other))
    assert done.stdout == f"its kernels in {other} are those of libtensor 99.0.0, and this is libtensor {VERSION}{REMEDY}\n"
