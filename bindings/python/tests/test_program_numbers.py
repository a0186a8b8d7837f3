"""Arithmetic on the integers and floats of exported programs has Python's results, or is an error."""

import io
import math
import operator
import random

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import load

NAMES = ("add", "sub", "mul", "floordiv", "mod", "truediv", "pow", "eq", "ne", "lt", "le", "gt", "ge")
OVERFLOW, ZERO, UNREAL = "the result overflows int64", "the divisor is 0", "the result is not a finite real number"
FORMS = {"integers": (1, 1), "a float and an integer": (8, 1), "an integer and a float": (1, 8), "floats": (8, 8)}


def program(name, form):
    """Returns a module of two integers, which it divides by those of `form` before the operation."""
    nodes, operands = [], []
    for value, divisor in zip("ab", FORMS[form], strict=True):
        if divisor != 1:
            nodes.append(w.node("_operator.truediv", [w.sym(f"{value}_quotient")], w.sym(value), divisor))
            value = f"{value}_quotient"
        operands.append(w.sym(value))
    nodes.append(w.node(f"_operator.{name}", [w.sym("r")], *operands))
    return load(io.BytesIO(w.archive(w.model({"a": None, "b": None}, nodes, [w.sym("r")])))).module()


def draw(rng):
    bits = rng.choice((0, 1, 2, 3, 5, 12, 31, 52, 53, 54, 55, 60, 62, 63))
    value = rng.choice((2**bits, rng.getrandbits(bits) if bits else 0)) + rng.choice((-1, 0, 0, 1))
    return max(-(2**63), min(2**63 - 1, rng.choice((-1, 1)) * value))


def expect(name, form, a, b):
    """Returns Python's result; the reason, as a pattern of the error, for an exception and for results that are neither floats nor integers
    of 64 bits."""
    x, y = (value if divisor == 1 else value / divisor for value, divisor in zip((a, b), FORMS[form], strict=True))
    if name == "pow" and isinstance(x, int) and isinstance(y, int) and y > 4096 and abs(x) > 1:
        return OVERFLOW
    try:
        made = getattr(operator, name)(x, y)
    except ZeroDivisionError:
        return ZERO
    except ArithmeticError:
        return UNREAL
    return UNREAL if isinstance(made, complex) else OVERFLOW if isinstance(made, int) and not -(2**63) <= made < 2**63 else made


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_arithmetic_has_the_results_of_python(name, form):
    rng, module, results = random.Random(f"{name} {form}"), program(name, form), 0
    for _ in range(300):
        a, b = draw(rng), draw(rng)
        expected = expect(name, form, a, b)
        if isinstance(expected, str):
            with pytest.raises(RuntimeError, match=rf"cannot compute {name}\(.*\): {expected}$"):
                module(a, b)
            continue
        found = module(a, b)
        assert (type(found), repr(found)) == (type(expected), repr(expected)), (a, b)
        results += 1
    assert results > 50


def test_a_result_of_more_than_64_bits_names_the_operands():
    with pytest.raises(RuntimeError, match=r"cannot compute pow\(the int 10, the int 60\)"):
        program("pow", "integers")(10, 60)


def test_quotients_of_large_integers_are_rounded_once():
    for a, b in ((2**62 + 513, 3), (2**63 - 1, 2**53 + 1), (-(2**63), 3), (2**53 + 1, 1), (9007199254740993, 9007199254740995)):
        found = program("truediv", "integers")(a, b)
        assert found == a / b and math.copysign(1, found) == math.copysign(1, a / b)


def test_the_predicate_of_cond():
    yes, no = (w.subgraph(name, ["a"], [w.aten(f"{name}.default", "b", "a")], ["b"]) for name in ("sin", "cos"))
    nodes = [w.node("torch.ops.higher_order.cond", "y", "p", yes, no, w.tensors("x"))]
    module = load(io.BytesIO(w.archive(w.model({"p": w.meta("bool", [2]), "x": w.meta("float32", [3])}, nodes, ["y"])))).module()
    with pytest.raises(RuntimeError, match=r"the predicate must be a bool or a tensor with one element; it has the shape \[2\]"):
        module(torch.tensor([True, False]), torch.ones(3))
