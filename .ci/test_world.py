"""Which programs .ci/world.py runs, and what becomes of them."""

import subprocess
import sys
from pathlib import Path

import pytest

WORLD = Path(__file__).with_name("world.py")


@pytest.fixture
def folder(tmp_path):
    for name, minutes, body in (("a", 3, "echo a"), ("b", 4, "echo b"), ("c", 6, "echo c"), ("d", 2, "echo d")):
        write(tmp_path / name, minutes, body)
    (tmp_path / "notes.md").write_text("no program")
    return tmp_path


def write(path, minutes, body):
    path.write_text(f"#!/usr/bin/env bash\n# minutes: {minutes}\n{body}\n")
    path.chmod(0o755)


def world(folder, *arguments):
    return subprocess.run([sys.executable, WORLD, "--folder", folder, *arguments], capture_output=True, text=True, timeout=60)


def names(folder, *arguments):
    return world(folder, "--list", *arguments).stdout.split()


def test_all_run_without_a_budget(folder):
    done = world(folder)
    assert done.returncode == 0 and "world: 4 passed, 0 failed\n" in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) == 1] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("turn", "minutes", "chosen"),
    [(0, 9, "a b d"), (1, 9, "b d a"), (2, 9, "c d"), (3, 9, "d a b"), (4, 9, "a b d"), (2, 15, "c d a b"), (2, 5, "d a"), (0, 1, "")],
)
def test_a_budget_chooses_from_the_turn_on(folder, turn, minutes, chosen):
    assert names(folder, "--minutes", str(minutes), "--turn", str(turn)) == chosen.split()


def test_each_has_its_turn(folder):
    """A program runs within as many days as there are programs, if the budget allows it at all."""
    assert {names(folder, "--minutes", "6", "--turn", str(turn))[0] for turn in range(20, 24)} == {"a", "b", "c", "d"}


def test_a_failure_is_told_and_the_others_run(folder):
    write(folder / "b", 1, "exit 3")
    done = world(folder, "--minutes", "6", "--turn", "1")
    assert done.returncode == 1 and "world: b FAILED: 3" in done.stdout
    assert "world: d passed" in done.stdout and "world: 2 passed, 1 failed; not today: c" in done.stdout


def test_what_takes_longer_than_it_says_is_stopped(folder):
    write(folder / "b", 0, "sleep 50 & wait")
    done = world(folder, "b")
    assert done.returncode == 1 and "b FAILED: took more than 0 min" in done.stdout


def test_a_name_that_is_none_is_an_error(folder):
    done = world(folder, "e")
    assert done.returncode == 1 and "e is none of a, b, c, d" in done.stderr


def test_a_program_says_how_long_it_takes(folder):
    (folder / "e").write_text("#!/bin/sh\n")
    (folder / "e").chmod(0o755)
    assert "e has no line `# minutes: N`" in world(folder).stderr
