"""The OpenBLAS library that is used: the one in the package's folder, a named one, the system's, or none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from libtensor._base import library as _library

HERE = Path(__file__).parent


def with_32_bit_integers():
    scipy = pytest.importorskip("scipy")
    return next((Path(scipy.__file__).parent.parent / "scipy.libs").glob("libscipy_openblas*.so"))


def run(script, **environment):
    environment = {key: value for key, value in os.environ.items() if key != "LIBTENSOR_OPENBLAS"} | environment
    script = "import libtensor as torch\n" + script
    return subprocess.run([sys.executable, "-c", script], env=environment, cwd=HERE.parent, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_linear_algebra_with_32_bit_integers():
    environment = os.environ | {"LIBTENSOR_OPENBLAS": str(with_32_bit_integers())}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "test_linalg.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    # Negative info values of LAPACK, and wrong values that it writes to the operands.
    script = """
a = torch.eye(40, dtype=torch.float64); a[3, 3] = -1
print(torch.linalg.cholesky_ex(a).info.item(), torch.linalg.lstsq(a[:, :7].contiguous(), a, driver="gelsd").rank.item())
pivots = torch.linalg.ldl_factor(torch.tensor([[0.0, 1.0], [1.0, 0.0]]).repeat(40, 1, 1))[1]
print(pivots.unique().tolist())
"""
    done = run(script, LIBTENSOR_OPENBLAS=environment["LIBTENSOR_OPENBLAS"])
    assert done.stdout == "4 7\n[-2]\n", done.stdout + done.stderr


@pytest.mark.parametrize(("bits", "rejected"), [(32, True), (64, False)])
def test_matrices_beyond_the_integers(bits, rejected):
    script = """
try:
    torch.linalg.qr(torch.zeros(2**25, 1), mode="r")  # blocks of 64 of its rows are 2**31
except NotImplementedError as error:
    print(error)
"""
    done = run(script, **({"LIBTENSOR_OPENBLAS": str(with_32_bit_integers())} if bits == 32 else {}))
    assert not done.stderr
    assert ("a matrix of 33554432 by 1 is too large for this OpenBLAS, which uses 32-bit integers" in done.stdout) == rejected


def test_the_system_has_one(tmp_path):
    # The library alone, and a folder that the system looks into.
    shutil.copy(_library.path, tmp_path / "libtensor.so")
    (tmp_path / "system").mkdir()
    script = "print(torch.linalg.svdvals(torch.eye(20) * 2).tolist() == [2.0] * 20)"
    folders = f"{tmp_path / 'system'}:{with_32_bit_integers().parent}"
    settings = {"LIBTENSOR_LIBRARY": str(tmp_path / "libtensor.so"), "LD_LIBRARY_PATH": folders}
    (tmp_path / "system" / "libopenblas64_.so.0").write_text("not a library")  # the next name is tried
    (tmp_path / "system" / "libopenblas.so.0").symlink_to(with_32_bit_integers())
    assert run(script, **settings).stdout == "True\n"


WORDS = {
    "none": "LAPACK is required, but OpenBLAS was not found; set LIBTENSOR_OPENBLAS to its path",
    "/nowhere/libopenblas.so": "could not be opened at its first use: /nowhere/libopenblas.so: cannot open shared object file: No such "
    "file",
    "libm.so.6": "could not be opened at its first use: libm.so.6: it has not all of OpenBLAS's BLAS and LAPACK",
}


@pytest.mark.parametrize("named", WORDS)
def test_without_one(named):
    script = """
a = torch.ones(100, 100)
assert torch.equal(a @ a, torch.full((100, 100), 100.0))
torch.linalg.svdvals(a)
"""
    assert WORDS[named] in run(script, LIBTENSOR_OPENBLAS=named).stderr


SHORT = {
    "memory": ("resource.setrlimit(resource.RLIMIT_AS, (size() + (90 << 20), -1))", "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))"),
    "file descriptor": (
        "held = [os.dup(1) for _ in range(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - len(os.listdir('/proc/self/fd')) + 1)]",
        "[os.close(fd) for fd in held]",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", SHORT)
@pytest.mark.parametrize("call", ["torch.linalg.inv(a)", "a @ a", "torch.linalg.svd(a).S"])
def test_a_shortage_at_its_first_use_is_an_error_of_that_call(call, what):
    script = f"""
import os, resource
def size():
    return int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
torch.linalg.inv  # a module that is read when it is first asked for
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
a = torch.eye(300)
{SHORT[what][0]}
for _ in range(2):
    try:
        {call}
    except MemoryError as error:
        print(error)
{SHORT[what][1]}
print(torch.equal({call}, {"torch.ones(300)" if "svd" in call else "a"}))
"""
    told = f"OpenBLAS could not be opened at its first use: there is no {what} to open it\n"
    assert run(script).stdout == 2 * told + "True\n"
