"""Expressions of symbolic sizes, which files contain as sympy's srepr writes them: Add(Mul(Integer(2), Symbol('s0', integer=True)),
Integer(1))."""

from __future__ import annotations

import ast
import functools
import keyword
import math
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

__all__ = ["FUNCTIONS", "ROUNDING", "Expression", "evaluate", "list_symbols", "parse_expression", "show_expression", "write_python"]

ROUNDING: dict[str, Callable[..., Any]] = {"abs": abs, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round}
FUNCTIONS: dict[str, Callable[..., Any]] = {**ROUNDING, "max": max, "min": min}  # that expressions of Python can call
SIGNS = {"Add": "+", "Mul": "*", "FloorDiv": "//", "CleanDiv": "//", "Mod": "%", "PythonMod": "%", "Pow": "**"}
DIVISIONS = ("FloorDiv", "CleanDiv", "Mod", "PythonMod")  # functions that sympy prints in parentheses in sums and products
MOST_DEPTH = 200  # nested functions; files with deeper ones are not read
MOST_FACTORS = 64  # numbers of 64 bits in a product, which bounds the time of an evaluation


class Expression(NamedTuple):
    """A function of expressions. The functions Symbol and Integer have a value, which is the name of a symbol or an integer of 64 bits."""

    function: str
    operands: tuple[Expression, ...] = ()
    value: str | int = 0


def fits(value: int) -> bool:
    """Returns whether an integer has at most 64 bits."""
    return -(2**63) <= value < 2**63


@functools.lru_cache(4096)
def parse_expression(text: str) -> Expression:
    """Raises NotImplementedError for a text that is not an expression of symbols and integers."""
    try:
        found = _read(ast.parse(text, mode="eval").body, 0)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        found = None
    if found is None:
        raise NotImplementedError(f"the size {text:.200} is not an expression of symbols and integers of 64 bits")
    return found


def _read(node: ast.expr, depth: int) -> Expression | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args or depth > MOST_DEPTH:
        return None
    function = node.func.id
    if function in ("Symbol", "Integer"):
        value = ast.literal_eval(node.args[0])
        is_value = (type(value) is int and fits(value)) if function == "Integer" else isinstance(value, str)
        return Expression(function, (), value) if is_value else None
    operands = [_read(x, depth + 1) for x in node.args]
    return None if None in operands else Expression(function, tuple(x for x in operands if x is not None))


def _count_factors(x: Expression) -> int:
    """Returns the largest number of 64-bit factors in a product of an expression."""
    counts = [_count_factors(y) for y in x.operands]
    if x.function == "Mul":
        return sum(counts)
    if x.function == "Pow" and len(counts) == 2 and x.operands[1].function == "Integer":
        return counts[0] * int(x.operands[1].value)
    return max(counts, default=1)


@functools.lru_cache(4096)
def write_python(text: str) -> str:
    """Returns an expression in sympy's srepr as Python. Raises NotImplementedError for functions other than those that runs compute, and
    powers other than small constant ones."""

    def visit(x: Expression) -> str:
        operands = list(map(visit, x.operands))
        if x.function == "Integer":
            return f"({x.value})"
        if x.function == "Symbol":
            name = str(x.value)
            if name.isidentifier() and not keyword.iskeyword(name) and name not in FUNCTIONS:
                return name
        elif x.function in ("Max", "Min"):
            return f"{x.function.lower()}({', '.join(operands)})" if len(operands) > 1 else operands[0]
        elif x.function in ("Add", "Mul") or (x.function in SIGNS and len(operands) == 2):
            if x.function != "Pow" or (x.operands[1].function == "Integer" and 0 <= int(x.operands[1].value) <= MOST_FACTORS):
                return f"({SIGNS[x.function].join(operands)})"
        raise NotImplementedError(f"run_decompositions: the size {text:.200} is not supported")

    expression = parse_expression(text)
    written = visit(expression)
    if _count_factors(expression) > MOST_FACTORS:
        raise NotImplementedError(
            f"run_decompositions: the size {text:.200} is not supported: it is a product of more than {MOST_FACTORS} numbers"
        )
    return written


@functools.lru_cache(4096)
def _compile(text: str) -> CodeType:
    return compile(write_python(text), "size", "eval")


def evaluate(text: str, symbols: dict[str, int]) -> int:
    """Returns the value of an expression for values of its symbols. Raises NotImplementedError if it has none of 64 bits."""
    try:
        value = int(eval(_compile(text), {"__builtins__": {}, **FUNCTIONS}, symbols))  # only symbols, integers, operators, min() and max()
    except ZeroDivisionError:
        value = None
    if value is None or not fits(value):
        values = ", ".join(f"{name} = {symbols[name]}" for name in list_symbols(text))
        raise NotImplementedError(f"the size {text:.200} has no value of 64 bits for {values}")
    return value


def _walk(x: Expression) -> Iterator[Expression]:
    yield x
    for operand in x.operands:
        yield from _walk(operand)


@functools.lru_cache(4096)
def list_symbols(text: str) -> tuple[str, ...]:
    """Returns the names of the symbols of an expression."""
    return tuple(dict.fromkeys(str(x.value) for x in _walk(parse_expression(text)) if x.function == "Symbol"))


def show_expression(text: str) -> str:
    """Returns an expression as sympy prints it, such as 4*s0 + 1. A text that is not an expression is returned unchanged."""
    try:
        return _show(parse_expression(text))
    except NotImplementedError:
        return text


def _show(expression: Expression) -> str:
    function, operands = expression.function, expression.operands
    if function in ("Symbol", "Integer"):
        return str(expression.value)

    def show(x: Expression, *names: str) -> str:
        return f"({_show(x)})" if x.function in names else _show(x)

    if function == "Add":
        numbers = [show(x) for x in operands if x.function == "Integer"]
        terms = [show(x, *DIVISIONS) for x in operands if x.function != "Integer"]
        terms = numbers + terms if all(x.startswith("-") for x in terms) else terms + numbers
        return " + ".join(terms).replace("+ -", "- ")
    if function == "Mul":
        factors = [show(x, "Add", *DIVISIONS) for x in operands]
        return "-" + "*".join(factors[1:]) if factors[0] == "-1" and len(factors) > 1 else "*".join(factors)
    if function in ("FloorDiv", "CleanDiv") and len(operands) == 2:
        return "({}//{})".format(*(show(x, "Add", "Mul", *DIVISIONS) for x in operands))
    if function == "Pow":
        return "**".join(show(x, "Add", "Mul", "Pow", *DIVISIONS) for x in operands)
    return f"{function.removeprefix('Python')}({', '.join(map(show, operands))})"
