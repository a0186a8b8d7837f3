"""Finds the numbers that Python code compares sizes with, near which the operators of a function may change."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

__all__ = ["list_thresholds"]

OWN = str(Path(__file__).parents[1])
READS = frozenset(("shape", "size", "numel", "len", "nelement"))
DIVISIONS = ("%", "//", "%=", "//=", "BINARY_MODULO", "BINARY_FLOOR_DIVIDE")


def _value_of(read: dis.Instruction, frame: FrameType) -> Any:
    """Returns the value that an instruction reads: a constant, a global, a variable or an attribute of the first argument; None for
    others."""
    name = read.argval
    if read.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
        return name
    if read.opname == "LOAD_ATTR":
        first = frame.f_locals.get(frame.f_code.co_varnames[0]) if frame.f_code.co_argcount else None
        places = (getattr(first, "__dict__", {}), *map(vars, type(first).__mro__))  # properties are not evaluated
        return next((place[name] for place in places if name in place), None)
    if read.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return frame.f_globals.get(name)
    return frame.f_locals.get(name) if read.opname.startswith(("LOAD_FAST", "LOAD_DEREF")) and isinstance(name, str) else None


def _find_reads(code: CodeType) -> list[dis.Instruction]:
    """Returns the instructions whose values are compared or divided by, and those before them."""
    if not READS.intersection(code.co_names):
        return []
    found = []
    instructions = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "PRECALL", "EXTENDED_ARG")]
    for at, i in enumerate(instructions):
        divides = i.opname.startswith(("BINARY_", "INPLACE_")) and (i.argrepr in DIVISIONS or i.opname in DIVISIONS)
        if divides or i.opname in ("COMPARE_OP", "CONTAINS_OP"):
            found += instructions[max(at - 3, 0) : at]
    return found


def list_thresholds(call: Callable[[], Any]) -> list[int]:
    """Calls a function, and returns the integers that the Python code compares with sizes, or divides them by, in ascending order.

    Code is looked at if it reads sizes. The package's own functions are left out: their operators are compared anyway."""
    reads: dict[CodeType, list[dis.Instruction]] = {}
    numbers: set[int] = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "return" or code.co_filename.startswith(OWN):
            return
        if code not in reads:
            reads[code] = _find_reads(code)
        for read in reads[code]:
            value = _value_of(read, frame)
            items = value if isinstance(value, tuple | frozenset | list | set | range) and len(value) <= 64 else (value,)
            numbers.update(x for x in items if type(x) is int)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return sorted(numbers)
