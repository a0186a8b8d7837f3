"""Limits on threads and addresses: fewer workers, or an error of the first call that names the limit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import libtensor as torch

PACKAGE = str(Path(torch.__file__).parent.parent)

USE = """
import os, resource, sys
import libtensor as torch
%s
try:
    x = torch.ones(300, 300)
except (MemoryError, RuntimeError) as error:
    print(type(error).__name__, error)
    sys.exit()
for _ in range(20):
    assert ((x + 1) @ x).eq(600).all() and x.flatten().sort().values.sum().item() == 90000
try:
    held = [torch.zeros(1 << 22, dtype=torch.float64) for _ in range(1000 if %d else 1)]
except (MemoryError, RuntimeError) as error:
    assert "memory" in str(error), error
held = None
assert (x @ x).eq(300).all()
print("works")
"""


def outcome(lines, fill=False):
    env = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run([sys.executable, "-c", USE % (lines, fill)], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 2, 4, 6, 8, 9, 10, 12, 16, 40])
def test_processes(limit):
    """The limit counts the threads of a user. Root's have none: there the child becomes another user, whom nobody else is."""
    root = os.getuid() == 0
    lines = f"resource.setrlimit(resource.RLIMIT_NPROC, ({limit}, {limit}))" + ("; os.setuid(100000 + os.getpid())" if root else "")
    told = outcome(lines)
    if limit >= 9 and root:
        assert told == "works\n"
    elif root:
        assert "needs 8 threads" in told
    else:  # the number of other processes of this user is unknown
        assert told == "works\n" or "needs 8 threads" in told


@pytest.mark.parametrize("left", [0, 1, 4, 7, 8, 12])
def test_descriptors(left):
    """Python itself takes one after the other away while it imports, so that they go when it has."""
    lines = f"""
import libtensor
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.dup(0))
except OSError:
    for fd in taken[len(taken) - {left} :]:
        os.close(fd)
"""
    assert outcome(lines) == "works\n" if left >= 8 else "needs 8 file descriptors" in outcome(lines)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [200, 600, 1000, 1200, 1400, 1800, 2000, 2500, 3000, 4000])
def test_addresses(limit):
    told = outcome(f"resource.setrlimit(resource.RLIMIT_AS, ({limit} << 20, {limit} << 20))", fill=True)
    assert told == "works\n" if limit > 1500 else "reserves 1376 MiB of addresses" in told
