"""The check for leaks (conftest.py) sees what a test keeps, and nothing that it gave up."""

import shutil
import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest
import libtensor as torch

kept = []


class Ring:
    def __init__(self):
        self.ring, self.tensor = self, torch.ones(3)


def test_all_memory_is_released():
    torch.ones(3) + 1


def test_reference_cycles_are_released():
    Ring()


def test_keeps_a_tensor():
    kept.append(torch.ones(3))


def test_keeps_a_ring():
    kept.append(Ring())


def test_memory_is_released_after_its_last_user():
    Ring()


@pytest.mark.keeps_memory
def test_may_keep():
    kept.append(Ring())
"""


def test_tests_that_keep_tensors_fail(tmp_path):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-rE", "-W", "ignore", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    errors = [line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR ")]
    assert errors == ["test_keeps_a_tensor", "test_keeps_a_ring"] and "6 passed, 2 errors" in done.stdout, done.stdout
