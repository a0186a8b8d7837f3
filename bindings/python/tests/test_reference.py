"""Calls recorded from PyTorch give the same results here."""

import gc
import gzip
import json
from pathlib import Path

import pytest
from reference import Case


def load():
    """The cases by operator variant."""
    cases = {}
    with gzip.open(Path(__file__).parent / "reference.jsonl.gz", "rt") as lines:
        for line in lines:
            record = json.loads(line)
            cases.setdefault(record["id"].split("/")[0], []).append(record)
    return cases


CASES = load()
gc.freeze()  # so that looking for leaks after every test does not visit the cases


@pytest.mark.parametrize("variant", CASES)
def test_variant(variant):
    problems = {record["id"]: Case(record).run() for record in CASES[variant]}
    assert {k: v for k, v in problems.items() if v} == {}
