"""Compares the sizes of inputs with those that a program accepts, in Python: a trace of a call collects these comparisons."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from .._core.tensor import Tensor
from .._inert.names import _sym_sqrt, sym_float, sym_int, sym_max, sym_min, sym_not
from .arguments import list_names
from .expressions import FUNCTIONS, Expression, parse_expression, write_python

__all__ = ["compare_sizes"]

ATTRIBUTES = frozenset(
    ("size", "is_integer", "trunc", "floor", "ceil", "sqrt", "_sym_sqrt", "sym_float", "sym_int", "sym_not", "sym_max", "sym_min")
)
NAMES: dict[str, Any] = {
    "round": round,
    "abs": abs,
    "math": SimpleNamespace(trunc=math.trunc, floor=math.floor, ceil=math.ceil, sqrt=math.sqrt),
}
NAMES["torch"] = SimpleNamespace(
    _sym_sqrt=_sym_sqrt, sym_float=sym_float, sym_int=sym_int, sym_not=sym_not, sym_max=sym_max, sym_min=sym_min
)
SYNTAX: tuple[type[ast.AST], ...] = (
    ast.Expression,
    ast.Load,
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Call,
    ast.Compare,
    ast.BoolOp,
    ast.UnaryOp,
    ast.BinOp,
)
SYNTAX += (ast.cmpop, ast.boolop, ast.unaryop, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
ARITHMETIC_ERRORS = (ArithmeticError, ValueError, TypeError, AttributeError, LookupError)


class Arguments:
    """The arguments of a call in guards, where L['x'][0] is the input of the name x_0."""

    def __init__(self, named: dict[str, Any], name: str = "") -> None:
        self.named, self.name = named, name

    def __getitem__(self, key: str | int) -> Any:
        name = f"{self.name}_{key}" if self.name else str(key)
        return self.named[name] if name in self.named else Arguments(self.named, name)


def compare_sizes(text: dict[str, Any], specs: list[dict[str, Any]], leaves: Sequence[Any]) -> None:
    """Compares the sizes of the flat arguments `leaves`, which have `specs`, with the sizes, bounds and guards of a program with the JSON
    `text`.

    The results are not used: the arguments have passed the checks of the program."""
    metas = text["graph_module"]["graph"]["tensor_values"]
    named: dict[str, Any] = {}
    known: dict[str, Any] = {}
    expected: list[tuple[Any, str]] = []
    for i, (union, value) in enumerate(zip(specs, leaves, strict=True)):
        name = next(iter(list_names(union)), "") if "user_input" in union else ""
        named |= {name: value, f"flat_args_{i}": value}
        if not isinstance(value, Tensor) or name not in metas:
            continue
        for size, form in zip(value.size(), metas[name]["sizes"], strict=False):
            if "as_expr" not in form:
                _ = size == form.get("as_int")
                continue
            try:
                line = find_line(parse_expression(form["as_expr"]["expr_str"]))
            except NotImplementedError:  # runs do not check such a size, either
                continue
            if line is not None and line[0] not in known:
                symbol, factor, offset = line
                compare_bounds(size, text["range_constraints"].get(symbol, {}), factor, offset)
                if (factor, offset) == (1, 0):
                    known[symbol] = size
            else:
                expected.append((size, form["as_expr"]["expr_str"]))
    for size, expression_text in expected:
        with contextlib.suppress(NameError, NotImplementedError, *ARITHMETIC_ERRORS):
            _ = size == compute(write_python(expression_text), FUNCTIONS | known)
    for guard in text.get("guards_code", ()):
        if is_condition(guard):
            with contextlib.suppress(NameError, *ARITHMETIC_ERRORS):
                _ = bool(compute(guard, {**NAMES, "L": Arguments(named)}))


def compare_bounds(size: Any, bounds: dict[str, Any], factor: int, offset: int) -> None:
    """Compares a size with the bounds of `factor` times a symbol plus `offset`."""
    least, most = bounds.get("min_val"), bounds.get("max_val")
    _ = least is None or size >= factor * least + offset
    _ = most is None or size <= factor * most + offset


def find_line(x: Expression) -> tuple[str, int, int] | None:
    """Returns the symbol, the factor and the offset of a linear expression of one symbol; None for others."""
    offset = 0
    if x.function == "Add" and len(x.operands) == 2 and x.operands[1].function == "Integer":
        x, offset = x.operands[0], int(x.operands[1].value)
    factor = 1
    if x.function == "Mul" and len(x.operands) == 2 and x.operands[0].function == "Integer":
        factor, x = int(x.operands[0].value), x.operands[1]
    return (str(x.value), factor, offset) if x.function == "Symbol" and factor > 0 else None


def compute(text: str, names: dict[str, Any]) -> Any:
    """Returns the value of an expression, which has only the syntax that the caller has checked. Its comparisons are those of this file."""
    return eval(compile(text, __file__, "eval"), {"__builtins__": {}}, names)


def is_condition(guard: str) -> bool:
    """Returns whether a guard of a file consists of sizes, numbers, comparisons, arithmetic and the functions of NAMES."""
    try:
        tree = ast.parse(guard, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(isinstance(x, SYNTAX) and (not isinstance(x, ast.Attribute) or x.attr in ATTRIBUTES) for x in ast.walk(tree))
