"""The C files of the library and of the bindings lean on each other one way only."""

from pathlib import Path

import circles
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("folder", ["capi", "bindings/node/src", "bindings/python/direct"])
def test_c_files_lean_one_way(folder):
    assert list((ROOT / folder).glob("*.c"))
    assert list(circles.told(ROOT / folder)) == []


def test_a_circle_is_found_and_named():
    on = circles.leans(
        {
            "low.c": "int state;\nint low(int a) {\n  return a;\n}\n",
            "high.c": "// rise()\nint high(int a) {\n  return low(a) + rise(a) + state;\n}\n",
            "rise.c": 'static int low_of(int a) {\n  return 0;\n}\nint rise(int a) {\n  say("low()");\n  return high(a);\n}\n',
        }
    )
    assert on == {"low.c": {}, "high.c": {"low.c": ["low", "state"], "rise.c": ["rise"]}, "rise.c": {"high.c": ["high"]}}
    assert circles.circles(on) == [["high.c", "rise.c"]]
