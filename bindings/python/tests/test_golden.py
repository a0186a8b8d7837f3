"""Calls recorded from PyTorch 2.15: golden/*.jsonl.gz, one file for each form of an operator.

golden/differences.json lists the cases that answer otherwise, with the reason. A listed case that comes to agree fails the
test, so that the list stays true. conftest.py checks that each file leaves no handle and no byte in use.
"""

import json
from pathlib import Path

import pytest
from golden_player import cases, play

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.jsonl.gz"))
DIFFERENCES = {case: why for why, ids in json.loads((FOLDER / "differences.json").read_text()).items() for case in ids}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_answers_as_recorded(path):
    wrong = []
    for case in cases(path):
        found = play(case)
        if found and case["id"] not in DIFFERENCES:
            wrong.append(f"{case['id']}: {found}")
        if not found and case["id"] in DIFFERENCES:
            wrong.append(f"{case['id']}: agrees by now; take it off golden/differences.json")
    assert not wrong, "\n".join(wrong)


def test_every_listed_difference_is_a_recorded_case():
    recorded = {case["id"] for path in FILES for case in cases(path)}
    assert set(DIFFERENCES) <= recorded
