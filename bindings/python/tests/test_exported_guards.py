"""Guards of exported programs: conditions on sizes and integers of the inputs, without which another branch would have been exported."""

import io
import json
import math
import re
import types

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import load

pytestmark = pytest.mark.usefixtures("evaluated_too")

ROWS = w.meta("float32", [w.symbol("s0"), 2])
SAME = w.meta("float32", [w.symbol("s1"), 2])


def run(guards, x, y, n=6):
    text = w.model({"x": ROWS, "y_0": SAME, "n": None}, [w.aten("neg.default", "z", "x")], ["z"], guards=guards)
    return load(io.BytesIO(w.archive(text))).module()(torch.ones(x, 2), torch.ones(y, 2), n)


# Guards with x and y[0] of some rows and an integer n, and whether they hold.
CASES = [
    ("(L['x'].size()[0] % 2) == 0", (4, 1, 6), (3, 1, 6)),
    ("L['x'].size()[0] > L['y'][0].size()[0]", (3, 2, 6), (2, 2, 6)),
    ("L['x'].size()[0] == (1 + 2*L['y'][0].size()[0])", (5, 2, 6), (4, 2, 6)),
    ("(L['x'].size()[0] // 2) - 3*(L['n'] - 5) <= -1", (5, 1, 6), (5, 1, 5)),
    ("10 - 2 - L['x'].size()[0]*L['x'].size()[1] >= 0", (4, 1, 6), (5, 1, 6)),
    ("(6 % L['n']) == 0", (1, 1, 3), (1, 1, 4)),
    ("L['n'] >= 2 and L['n'] < 7", (1, 1, 6), (1, 1, 7)),
    ("L['n'] >= 2 and L['n'] != 7", (1, 1, 2), (1, 1, 1)),
]


@pytest.mark.parametrize(("guard", "held", "broken"), CASES, ids=[case[0] for case in CASES])
def test_a_run_checks_guards(guard, held, broken):
    assert run([guard], *held).tolist() == [[-1.0, -1.0]] * held[0]
    assert run(["L['n'] >= 0", guard], *held).shape == (held[0], 2)
    with pytest.raises(RuntimeError, match=r"program_run: node 'guard': Guard failed: .*L has the arguments of the exported function"):
        run(["L['n'] >= 0", guard], *broken)


@pytest.mark.parametrize(
    "guard",
    [
        "L['n'] == 1 or 6 % L['n'] == 1",
        "L['n'] == 1 or (7 < L['n'] ** 2) and L['n'] == 3",
        "1 < L['n'] < 1 / L['n']",
        "(L['n'] and L['n'] == 99)",
        "math.log10(L['n']) == 99.0",
        "round(L['n'] / 3, -1) == 99",
        "round(L['n'] / 3, L['n']) == 99",
        "round_to(L['n'] / 3, 1) == 99",
        "torch.sym_max(L['n']) == 99",
        "math.truncate(L['n']) == 99",
        "L['n'] == 1e999",
        "L['n'] == 1.5.5",
        "not " * 1000 + "L['n'] == 6",
        "-" * 1000 + "1 == 99",
        "2 ** " * 1000 + "1 == 99",
        "L['flat_args'][9] == 99",
        "L['unknown'].size()[0] == 99",
        "L['x'].stride()[0] == 99",
        "L['x'] == 3",
        "L['n'].size()[0] == 3",
        "L['n'] == 99999999999999999999",
        "L['n']",
        "L[",
        "L['",
        "(L['n'] == 99",
        "(" * 100000 + "1",
        "",
    ],
    ids=lambda guard: guard[:60],
)
def test_other_guards_are_ignored(guard):
    assert run([guard], 2, 1).shape == (2, 2)


# Guards on the number of rows of x, in the forms that torch.export writes and by precedence. The reference is Python's evaluation.
N = "L['x'].size()[0]"
CONDITIONS = [
    f"math.trunc(0.5*torch.sym_float({N})) == 8",
    f"math.trunc({N} / 3) == 5",
    f"({N} / 3) > 2.5",
    f"1.5*torch.sym_float({N}) > 10.0",
    f"1e-01*{N} < .5",
    f"torch.sym_max(5, {N}) > 6",
    f"torch.sym_max(5, torch.sym_max({N}, 2.5)) >= 9.0",
    f"torch.sym_min({N}, L['y'][0].size()[0]) < 5",
    f"abs((-10) + {N}) > 3",
    f"abs(0.5 - {N}) == 3.5",
    f"math.ceil({N} / 3) == 2",
    f"math.floor({N} / 3) == 3",
    f"round({N} / 2) == 2",
    f"round({N} / 7, 2) == 1.57",
    f"round({N} * 0.125, 2) == 0.38",
    f"round({N} * 0.125, 2) == 0.62",
    f"round({N}, 3) == 4",
    f"math.log2({N}) > 3.0",
    f"math.log2({N}) == math.floor(math.log2({N}))",
    f"({N} == 3) | ({N} == 5)",
    f"({N} > 3) & ({N} < 9)",
    f"(({N} > 3) ^ ({N} < 9)) | ({N} == 4)",
    f"({N} > 3) & ({N} & 1 == 0)",
    f"torch._sym_sqrt(torch.sym_float({N})) > 3.0",
    f"math.trunc(math.sqrt({N})) == 3",
    f"math.trunc(torch.sym_float({N}) ** 0.5) == 3",
    f"torch.sym_float({N}) ** (-1.0) < 0.25",
    f"-{N} ** 2 < -50",
    f"2 ** {N} > 50",
    f"2 ** -{N} < .1",
    f"({N} / 4).is_integer()",
    f"not ({N} / 4).is_integer()",
    f"torch.sym_float(math.floor({N} / 4)) != ({N} / 4)",
    f"torch.sym_float(math.floor(((0.5*torch.sym_float({N})) / 3.0))) == 2.0",
    f"{N} & 4 != 0",
    f"({N} & 4) == 0",
    f"{N} | 2 > 6",
    f"{N} ^ 3 > 5",
    f"1 | {N} & 6 ^ 2 == 3",
    f"{N} << 1 + 1 > 20",
    f"{N} >> 1 == 2",
    f"{N} > 10 or {N} < 3",
    f"not ({N} > 10 or {N} < 3)",
    f"not ({N} > 10 and {N} < 13)",
    f"not {N} > 10 and {N} != 4",
    f"not not {N} == 5",
    f"not {N} // 9",
    f"{N} == 3 or {N} > 6 and {N} % 2 == 0 or {N} == 7",
    f"{N} < 4 or {N} / 2 > 5.5",
    f"({N} > 3) == ({N} < 8)",
    f"torch.sym_not({N} > 3)",
    f"3 < {N} <= 2*4 != 7",
    f"3 < {N} < 12 < 2*{N}",
    "L['flat_args'][0].size()[0] > L['flat_args'][2]",
]


@pytest.mark.parametrize("guard", CONDITIONS, ids=CONDITIONS)
def test_guards_are_evaluated_as_in_python(guard):
    functions = types.SimpleNamespace(sym_float=float, sym_max=max, sym_min=min, _sym_sqrt=math.sqrt, sym_not=lambda a: not a)
    results = set()
    for n in range(1, 18):
        x, y = torch.ones(n, 2), torch.ones(7, 2)
        names = {"L": {"x": x, "y": [y], "flat_args": [x, y, 6]}, "torch": functions, "math": math}
        holds = eval(guard, names)
        results.add(holds)
        if holds:
            assert run([guard], n, 7).shape == (n, 2)
        else:
            with pytest.raises(RuntimeError, match="Guard failed"):
                run([guard], n, 7)
    assert results == {True, False}


@pytest.mark.parametrize(
    ("guard", "n", "error"),
    [
        ("6 / L['n'] > 1", 0, "cannot compute truediv(the int 6, the int 0): the divisor is 0"),
        ("6 % L['n'] == 0", 0, "cannot compute mod(the int 6, the int 0): the divisor is 0"),
        ("2 ** L['n'] > 1", 63, "cannot compute pow(the int 2, the int 63): the result overflows int64"),
        ("math.trunc(1e19*L['n']) > 1", 1, "cannot compute trunc(the float 1e+19): the result overflows int64"),
        ("math.log2(L['n']) < 1", 0, "cannot compute log2(the int 0): the operand is not positive"),
        ("math.sqrt(L['n']) < 1", -1, "cannot compute sqrt(the int -1): the operand is negative"),
    ],
)
def test_a_guard_without_a_result_raises(guard, n, error):
    with pytest.raises(RuntimeError, match=re.escape(error)):
        run([guard], 1, 1, n)


@pytest.mark.parametrize("most", [None, 4])
@pytest.mark.parametrize("least", [None, 0, 1, 2, 3])
def test_lower_bounds_that_exports_assume_are_not_checked(least, most):
    """torch.export assumes sizes of at least 2. A run of PyTorch checks guards, upper bounds, and lower bounds above 2."""
    ranges = {"s0": {"min_val": least, "max_val": most}}
    text = w.model({"x": ROWS}, [w.aten("neg.default", "z", "x")], ["z"], ranges=ranges)
    other = {key: value for key, value in text.items() if key != "guards_code"}
    for model, low in ((text, least if least == 3 else 0), (other, least or 0)):
        module = load(io.BytesIO(w.archive(model))).module()
        for n in range(6):
            if low <= n <= (most or n):
                assert module(torch.ones(n, 2)).shape == (n, 2)
            else:
                with pytest.raises(RuntimeError, match=rf"float32\[{n}, 2\], where .*s0.* is required"):
                    module(torch.ones(n, 2))


def test_guards_have_the_cost_of_their_nodes():
    text = w.model({"x": ROWS}, [w.aten("neg.default", "z", "x")], ["z"], guards=["L['x'].size()[0] == 1" + "+1" * 300000])
    with pytest.raises(RuntimeError, match="program_load"):
        load(io.BytesIO(w.archive(json.dumps(text), compress=True)))
