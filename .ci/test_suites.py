"""The output of .ci/suites.py and the sums of .ci/count.py."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PLAIN = {k: v for k, v in os.environ.items() if k not in ("CI", "SUITE_EVENTS")}
SUITES = {
    "quick": "echo noise; echo 4 passed, 1 skipped in 0.10s",
    "node": "for i in $(seq 500); do echo line $$i; done; echo 'Node: 7 passed, 0 failed, 2 skipped'",
    "silent": "true",
    "broken": "echo the reason; echo 1 failed, 2 passed in 0.10s; exit 1",
    "tag": "test $$COLOR = red",
}


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "input").write_text("")
    rules = [f'suite-{name}:\n\t@{sys.executable} {FOLDER}/suite.py {name} input -- bash -c "{line}"\n' for name, line in SUITES.items()]
    (tmp_path / "Makefile").write_text("export COLOR ?= blue\n" + "".join(rules))
    return tmp_path


def suites(tree, *targets):
    command = [sys.executable, FOLDER / "suites.py", "2", *targets]
    done = subprocess.run(command, cwd=tree, env=PLAIN, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout


def test_what_passes_is_a_line(tree):
    status, text = suites(tree, "suite-quick", "suite-node", "suite-silent")
    assert status == 0 and "noise" not in text and len(text.splitlines()) < 8
    assert re.search(r"^quick +\d+ s  4 passed, 0 failed, 1 skipped$", text, re.M) and re.search(r"^silent +\d+ s  passed$", text, re.M)
    assert re.search(r"^suites: 11 passed, 0 failed, 3 skipped, in \d+ s$", text.splitlines()[-1])


def test_the_output_of_a_failure_is_printed(tree):
    status, text = suites(tree, "suite-broken", "suite-quick")
    assert status == 1 and "  the reason\n" in text and "noise" not in text
    assert (
        re.search(r"^broken +\d+ s  FAILED: 2 passed, 1 failed, 0 skipped$", text, re.M)
        and "\nsuites: 6 passed, 1 failed, 1 skipped, in" in text
    )
    assert added_up(tree, text, 1) == "6 passed, 1 failed, 1 skipped"


def test_what_is_unchanged_is_told(tree):
    suites(tree, "suite-quick", "suite-node")
    status, text = suites(tree, "suite-quick", "suite-node", "suite-silent")
    assert status == 0 and re.search(r"^node +\d+ s  unchanged since 7 passed, 0 failed, 2 skipped$", text, re.M)
    assert "\nsuites: 0 passed, 0 failed, 0 skipped, in" in text


def test_variables_reach_the_suites(tree):
    assert suites(tree, "suite-tag")[0] == 1
    assert suites(tree, "COLOR=red", "suite-tag")[0] == 0


def test_a_target_that_is_missing_is_told(tree):
    status, text = suites(tree, "suite-quick", "suite-other")
    assert status == 1 and "No rule to make target 'suite-other'" in text


@pytest.mark.parametrize(
    ("line", "sum"),
    [
        ("ok  \tgithub.com/libtensor/libtensor/engine/ops\t3.1s", (1, 0, 0)),
        ("ok  \tgithub.com/libtensor/libtensor/engine/ops\t(cached)", (1, 0, 0)),
        ("FAIL\tgithub.com/libtensor/libtensor/engine/ops\t3.1s", (0, 1, 0)),
        ("FAIL\tgithub.com/libtensor/libtensor/engine/ops [build failed]", (0, 1, 0)),
        ("C programs: 81 passed, 2 failed", (81, 2, 0)),
        ("laws: 5 passed, 1 failed", (5, 1, 0)),
        ("========= 1 failed, 18635 passed, 40 skipped, 2 deselected, 96 warnings in 290.83s (0:04:50) =========", (18635, 1, 40)),
        ("18635 passed, 40 skipped, 96 warnings in 290.83s (0:04:50)", (18635, 0, 40)),
        ("3 passed, 2 errors in 1.00s", (3, 2, 0)),
        ("  3 passed in 1.00s", (0, 0, 0)),
    ],
)
def test_closing_lines(tree, line, sum):
    assert added_up(tree, f"before\n{line}\nafter\n", 0) == "{} passed, {} failed, {} skipped".format(*sum)


def test_a_step_that_failed_without_counts_counts(tree):
    assert added_up(tree, "3 passed in 1.00s\n", 2) == "3 passed, 2 failed, 0 skipped"


def added_up(folder, text, failed):
    (folder / "log").write_text(text)
    command = [sys.executable, FOLDER / "count.py", folder / "log", str(failed)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
