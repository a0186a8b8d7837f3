"""Guards of exported programs: conditions on sizes and integers of the inputs, without which another branch would have been exported."""

import io
import json

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import load

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
        "L['n'] == 1 or L['n'] == 2 and L['n'] == 3",
        "not L['n'] == 6",
        "math.trunc(0.5*torch.sym_float(L['x'].size()[0])) == 99",
        "0 <= L['n'] <= 1",
        "L['n'] ** 2 == 1",
        "L['n'] / 2 == 1",
        "L['unknown'].size()[0] == 99",
        "L['x'].stride()[0] == 99",
        "L['x'] == 3",
        "L['n'].size()[0] == 3",
        "L['n'] == 99999999999999999999",
        "L['n'] == 0.5",
        "L['n']",
        "L[",
        "L['",
        "(L['n'] == 99",
        "(" * 100000 + "1",
        "",
    ],
    ids=range(18),
)
def test_other_guards_are_ignored(guard):
    assert run([guard], 2, 1).shape == (2, 2)


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
