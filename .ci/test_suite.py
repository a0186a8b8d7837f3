"""What .ci/suite runs, and what it leaves out."""

import json
import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

SUITE = Path(__file__).with_name("suite.py")
COUNTING = "echo ran >> runs"
PLAIN = {k: v for k, v in os.environ.items() if k not in ("CI", "SUITE_EVENTS")}


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tests/deep").mkdir(parents=True)
    (tmp_path / "tests/deep/test_a").write_text("a")
    (tmp_path / "library").write_bytes(b"\0library")
    return tmp_path


def suite(tree, command=COUNTING, inputs=("tests", "library"), name="some", **environment):
    return subprocess.run(
        [sys.executable, SUITE, name, *inputs, "--", "bash", "-c", command],
        cwd=tree,
        env=PLAIN | environment,
        capture_output=True,
        text=True,
    )


def runs(tree):
    return len((tree / "runs").read_text().splitlines())


def test_what_has_passed_is_not_run_again(tree):
    assert suite(tree).returncode == 0
    again = suite(tree)
    assert again.returncode == 0 and runs(tree) == 1
    assert again.stdout.startswith("some: unchanged") and len(again.stdout.splitlines()) == 1


def change(path):
    def changed(tree):
        (tree / path).write_bytes(b"other")
        return {}

    return changed


def add(tree):
    (tree / "tests/test_b").write_text("")
    return {}


def remove(tree):
    (tree / "tests/deep/test_a").unlink()
    return {}


def rename(tree):
    (tree / "tests/deep/test_a").rename(tree / "tests/deep/test_c")
    return {}


def executable(tree):
    (tree / "tests/deep/test_a").chmod(0o755)
    return {}


def package(tree):
    (tree / "build/venv/lib/python3.11/site-packages/numpy-3.dist-info").mkdir(parents=True)
    return {}


def compiler(tree):
    (tree / "bin").mkdir()
    (tree / "bin/cc").write_text("#!/bin/sh\n")
    (tree / "bin/cc").chmod(0o755)
    return {"PATH": f"{tree}/bin:{os.environ['PATH']}"}


CHANGES = {
    "library": change("library"),
    "test": change("tests/deep/test_a"),
    "added": add,
    "removed": remove,
    "renamed": rename,
    "executable": executable,
    "package": package,
    "compiler": compiler,
    "tier": lambda tree: {"LIBTENSOR_CPU": "baseline"},
    "flags": lambda tree: {"CFLAGS": "-O0"},
    "inputs": lambda tree: {"inputs": ("library",)},
    "command": lambda tree: {"command": COUNTING + " "},
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_runs_it_again(tree, what):
    suite(tree)
    changed = CHANGES[what](tree)
    assert suite(tree, **changed).returncode == 0 and runs(tree) == 2
    assert suite(tree, **changed).returncode == 0 and runs(tree) == 2


def test_what_tools_leave_beside_sources_is_no_change(tree):
    suite(tree)
    for name in ("__pycache__", "node_modules", ".pytest_cache"):
        (tree / "tests" / name).mkdir()
        (tree / "tests" / name / "some").write_text(name)
    (tree / "other").write_text("")
    assert suite(tree, TERM="other").returncode == 0 and runs(tree) == 1


def test_copies_that_packages_are_made_with_are_no_change(tree):
    (tree / "bindings/node").mkdir(parents=True)
    assert suite(tree, inputs=("bindings",)).returncode == 0
    (tree / "bindings/node/LICENSE").write_text("")
    assert suite(tree, inputs=("bindings",)).returncode == 0 and runs(tree) == 1
    (tree / "bindings/LICENSE").write_text("")
    assert suite(tree, inputs=("bindings",)).returncode == 0 and runs(tree) == 2


def test_a_failure_is_run_again(tree):
    assert suite(tree, f"{COUNTING}; exit 3").returncode == 3
    assert suite(tree, f"{COUNTING}; exit 3").returncode == 3 and runs(tree) == 2


def test_a_failure_takes_back_that_it_passed(tree):
    """Also for the very state that passed: a suite that fails now and then is run until it passes."""
    assert suite(tree, f"{COUNTING}; test ! -e flag").returncode == 0
    (tree / "flag").write_text("")
    assert suite(tree, f"{COUNTING}; test ! -e flag", CI="true").returncode == 1
    assert suite(tree, f"{COUNTING}; test ! -e flag").returncode == 1 and runs(tree) == 3


def test_ci_runs_everything(tree):
    suite(tree)
    assert suite(tree, CI="true").returncode == 0 and runs(tree) == 2


def test_an_input_that_changes_meanwhile_has_it_run_again(tree):
    assert suite(tree, f"{COUNTING}; echo b > tests/deep/test_a").returncode == 0
    assert suite(tree, f"{COUNTING}; echo b > tests/deep/test_a").returncode == 0 and runs(tree) == 2


def test_suites_do_not_share_what_they_know(tree):
    suite(tree)
    assert suite(tree, name="other").returncode == 0 and runs(tree) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_suite_has_not_passed(tree, number):
    suite(tree)
    (tree / "library").write_bytes(b"new")
    line = (
        f"exec {shlex.join([sys.executable, str(SUITE), 'some', 'tests', 'library', '--'])} bash -c "
        f"{shlex.quote(COUNTING + '; echo on; sleep 60')}"
    )
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # which a shell has background jobs ignore
    started = {"cwd": tree, "env": PLAIN, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    process = subprocess.Popen(["bash", "-c", line], preexec_fn=heeded, **started)
    assert process.stdout.readline() == "on\n"
    os.killpg(process.pid, number)
    assert process.wait(20) != 0
    assert suite(tree).returncode == 0 and runs(tree) == 3


def test_an_input_that_is_not_there_is_an_error(tree):
    done = suite(tree, inputs=("tests", "librarie"))
    assert done.returncode != 0 and "librarie" in done.stderr and not (tree / "runs").exists()


@pytest.mark.parametrize("arguments", [["some"], ["some", "--"], ["--"], []])
def test_without_a_command_it_tells_how_it_is_called(tree, arguments):
    done = subprocess.run([sys.executable, SUITE, *arguments], cwd=tree, capture_output=True, text=True)
    assert done.returncode != 0 and "suite.py NAME INPUT... -- COMMAND..." in done.stderr


def test_events_tell_the_state_and_counts_of_a_suite(tree):
    read, write = os.pipe()
    os.set_inheritable(write, True)
    command = [sys.executable, SUITE, "some", "tests", "--", "bash", "-c", "echo 2 failed, 3 passed in 1.0s; echo err >&2; exit 4"]
    done = subprocess.run(command, cwd=tree, env=PLAIN | {"SUITE_EVENTS": str(write)}, stdout=subprocess.PIPE, text=True, close_fds=False)
    os.close(write)
    events = [json.loads(line) for line in os.read(read, 10000).splitlines()]
    os.close(read)
    assert done.returncode == 4 and done.stdout == ""
    assert (tree / "build/suites/some.log").read_text() == "2 failed, 3 passed in 1.0s\nerr\n"
    assert [(event["name"], event["state"]) for event in events] == [("some", "started"), ("some", "failed")]
    assert events[-1]["counts"] == {"passed": 3, "failed": 2, "skipped": 0}
