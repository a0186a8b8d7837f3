"""The recorded calls on the device: each answers as the CPU does, or is refused by name. support.json says which of them have no
refusal."""

import json
from pathlib import Path

import cuda_player
import pytest

FILES = sorted((cuda_player.TESTS / "golden").glob("*.jsonl.gz"))
SUPPORT = Path(__file__).parent / "support.json"


def state(path):
    """How the calls of a file came out: all equal, some or none of them; and what is wrong."""
    found = {case["id"]: cuda_player.play(case) for case in cuda_player.recorded.cases(path)}
    wrong = [
        f"{case}: {how}" for case, how in found.items() if how.startswith("differs") or how.startswith("refused") and not refused_well(how)
    ]
    refused = sum(how.startswith("refused") for how in found.values())
    return "all" if not refused else "none" if refused == len(found) else "some", wrong


def refused_well(how):
    return "NotImplementedError" in how and "on cuda" in how or "expected all tensors to be on the same device" in how


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_answers_as_the_cpu(path):
    found, wrong = state(path)
    assert not wrong, "\n".join(wrong)
    assert found == json.loads(SUPPORT.read_text()).get(path.name.removesuffix(".jsonl.gz"), "none")


if __name__ == "__main__":
    names = {path.name.removesuffix(".jsonl.gz"): state(path)[0] for path in FILES}
    text = json.dumps({name: how for name, how in names.items() if how != "none"}, indent=1)
    SUPPORT.write_text(text + "\n")
