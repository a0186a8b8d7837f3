"""Numbers that are computed from variable sizes, with their expressions. Records comparisons of such numbers, and conversions to int, float
or str; later comparisons of a converted value cannot be recorded."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .expressions import FUNCTIONS, ROUNDING

__all__ = ["Conversion", "Guard", "GuardList", "SizeNumber", "make_number", "plain"]

OWN = str(Path(__file__).parents[1])
# The first instructions that use or discard the value of an expression, by the beginnings of their names.
USES = ("STORE_", "RETURN_", "YIELD_", "POP_JUMP_", "JUMP_IF_", "COMPARE_", "CONTAINS_", "IS_OP", "FOR_ITER", "GET_ITER")
DISCARDS = ("POP_TOP", "RAISE_VARARGS")


def list_size_names(code: CodeType) -> tuple[str, ...]:
    """Returns the names of the sizes in the code of an expression."""
    return tuple(name for name in code.co_names if name not in FUNCTIONS)


def locate(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def is_own(frame: FrameType) -> bool:
    """Returns whether a frame executes code of this package."""
    return frame.f_code.co_filename.startswith(OWN)


def is_logging(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == "logging"


class Guard:
    """A comparison: its expression, its result, and the place of the code. `names` are the sizes that it depends on."""

    def __init__(self, text: str, outcome: bool, where: str, is_own: bool) -> None:
        self.text, self.outcome, self.where, self.is_own = text, outcome, where, is_own
        self.code: CodeType = compile(text, "guard", "eval")
        self.names = list_size_names(self.code)

    def holds(self, values: dict[str, int]) -> bool:
        """Returns whether the comparison has the same result for other sizes; True if it has none."""
        try:
            return (
                bool(eval(self.code, {"__builtins__": {}, **FUNCTIONS}, values)) == self.outcome
            )  # the text has numbers and operators alone
        except (ArithmeticError, ValueError, TypeError):
            return True


class Conversion:
    """A conversion of a number: its expression, what the code at `where` does with the number, and the `names` of the sizes that it depends
    on."""

    def __init__(self, text: str, what: str, where: str) -> None:
        self.text, self.what, self.where = text, what, where
        self.names = list_size_names(compile(text, "guard", "eval"))


class GuardList:
    """The comparisons of one call, in order, and the conversions. `escaped` has the names of sizes that operators of this package have
    converted."""

    def __init__(self) -> None:
        self.found: list[Guard] = []
        self.seen: set[tuple[str, bool]] = set()
        self.conversions: list[Conversion] = []
        self.escaped: set[str] = set()

    def add(self, text: str, outcome: bool) -> None:
        if (text, outcome) in self.seen:
            return
        self.seen.add((text, outcome))
        frame = sys._getframe(2)
        self.found.append(Guard(text, outcome, locate(frame), is_own(frame)))

    def convert(self, number: SizeNumber, what: str) -> Any:
        """Returns the value of a number, whose method calls this."""
        frame = sys._getframe(2)
        if is_logging(frame):
            return number.value
        if is_own(frame):
            self.escaped.update(list_size_names(compile(number.text, "guard", "eval")))
        else:
            self.conversions.append(Conversion(number.text, what, locate(frame)))
        return number.value

    def convert_to_text(self, number: SizeNumber) -> Any:
        """Returns the value of a number. Code that only prints, logs or raises a string is not a conversion: no value depends on it."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and is_own(frame) and frame.f_code.co_name in ("__repr__", "__str__", "__format__"):
            frame = frame.f_back
        if frame is not None and not is_own(frame) and not is_logging(frame) and not discards_result(frame):
            self.conversions.append(Conversion(number.text, "makes a string of it", locate(frame)))
        return number.value


def discards_result(frame: FrameType) -> bool:
    """Returns whether the statement that a frame executes is a call without a use of its result, or raises an exception."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset > frame.f_lasti:
            if instruction.opname in DISCARDS:
                return True
            if instruction.opname.startswith(USES):
                return False
    return False


class SizeNumber:
    """An integer or a float with an expression. It is an instance of int or float for isinstance() alone, so that functions of C convert
    it."""

    __slots__ = ("guards", "text", "value")

    def __init__(self, value: int | float, text: str, guards: GuardList) -> None:
        self.value, self.text, self.guards = value, text, guards

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.value)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.value, name)
        self.guards.convert(self, f"uses {name} of it")
        return found

    def __bool__(self) -> bool:
        outcome = self.value != 0
        self.guards.add(f"{self.text} != 0", outcome)
        return outcome

    def __int__(self) -> int:
        return int(self.guards.convert(self, "converts it with int()"))

    def __index__(self) -> int:
        return operator.index(self.guards.convert(self, "passes it to a function or an index that requires an int"))

    def __float__(self) -> float:
        return float(self.guards.convert(self, "converts it with float(), or passes it to a function that does"))

    def __hash__(self) -> int:
        return hash(self.guards.convert(self, "looks it up in a dict or a set"))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __str__(self) -> str:
        return str(self.guards.convert_to_text(self))

    def __repr__(self) -> str:
        return repr(self.guards.convert_to_text(self))

    def __format__(self, form: str) -> str:
        return format(self.guards.convert_to_text(self), form)


def plain(value: Any) -> Any:
    """Returns a number without its expression."""
    return value.value if type(value) is SizeNumber else value


def make_number(value: Any, text: str, guards: GuardList) -> Any:
    return SizeNumber(value, text, guards) if type(value) in (int, float) else value


def _define(name: str, call: Callable[..., Any], form: str) -> None:
    """Defines a method of numbers with expressions. `form` has {0} for the number, and {1} for the other operand."""
    count, compares, is_reversed = form.count("{1}"), name in COMPARISONS, form.startswith("({1}")

    def method(self: SizeNumber, *others: Any) -> Any:
        if not all(isinstance(x, int | float) for x in others):
            return NotImplemented
        if len(others) != count:  # round(x, 2), pow(x, 2, 5)
            return call(self.guards.convert(self, f"calls {name.strip('_')}() of it"), *map(plain, others))
        operands = [self.value, *map(plain, others)]
        made = call(*(reversed(operands) if is_reversed else operands))
        text = form.format(self.text, *(x.text if type(x) is SizeNumber else repr(x) for x in others))
        if not compares:
            return make_number(made, text, self.guards)
        self.guards.add(text, made)
        return made

    setattr(SizeNumber, name, method)


COMPARISONS = {"__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**"}
ARITHMETIC |= {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}
for _name, _sign in ARITHMETIC.items():
    _call = pow if _name == "pow" else getattr(operator, f"__{_name}__")
    _define(f"__{_name}__", _call, "({0}" + _sign + "{1})")
    _define(f"__r{_name}__", _call, "({1}" + _sign + "{0})")
for _name, _sign in COMPARISONS.items():
    _define(_name, getattr(operator, _name), "({0}" + _sign + "{1})")
for _name, _sign in {"neg": "-", "pos": "+", "invert": "~"}.items():
    _define(f"__{_name}__", getattr(operator, f"__{_name}__"), f"({_sign}{{0}})")
for _name, _call in ROUNDING.items():
    _define(f"__{_name}__", _call, _name + "({0})")
