"""Jacobian-vector products of reference cases agree with reverse mode and with finite differences, for every differentiable operator with
reference cases.
"""

import copy
import warnings

import golden_player
import pytest
from test_vmap_recorded import FILES, Recorded, changed, differ, flat

import libtensor as torch
from libtensor.autograd import functional
from libtensor.func import jvp

PART = 3  # one in this many calls of a file
ONE_WAY = (
    "torch.nn.functional.embedding",  # its row of padding has tangents, and gets no gradient
    *(f"torch.nn.functional.max_unpool{n}d" for n in (1, 2, 3)),  # of elements with the same place the last one counts, and all get the gradient
)


def unlike(got, want):
    """differ(), where numbers of few bits differ by what their sums are rounded to."""
    if got.dtype not in (torch.float16, torch.bfloat16) or got.shape != want.shape or not got.numel():
        return differ(got, want)
    room = 0.02 * max(1.0, want.double().nan_to_num(0, 0, 0).abs().max().item())
    return "" if torch.allclose(got.double(), want.double(), rtol=0.05, atol=room, equal_nan=True) else "other elements"


def smooth(t):
    return isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex())


class Product(Recorded):
    """A reference case as a function of its tensors that can have tangents."""

    def __init__(self, case):
        super().__init__(case)
        self.name = case["call"]

    def function_of(self, chosen):
        def function(*given):
            torch.manual_seed(0)
            given = iter(given)
            made = self(*(next(given) if i in chosen else t for i, t in enumerate(self.first)))
            return tuple(t for t in flat(made) if smooth(t))

        return function


def problem(call, chosen):
    if call.name in ONE_WAY:
        return ""
    f = call.function_of(chosen)
    primals = tuple(call.first[i].clone() for i in chosen)
    tangents = tuple(torch.randn_like(t) if t.dtype.itemsize > 1 else torch.ones_like(t) for t in primals)
    try:
        outputs, want = functional.jvp(f, primals, tangents)
        if not outputs or any(t.layout is not torch.strided or t.is_quantized for t in outputs):
            return ""
    except Exception:  # it has no derivative, or none that can be differentiated
        return ""
    try:
        values, slopes = jvp(f, primals, tangents)
    except Exception as e:
        return f"rejected: {e}"
    for what, made, expected in (("value", values, outputs), ("product", slopes, want)):
        for g, w in zip(made, expected, strict=True):
            if why := unlike(g, w):
                return f"{what}: {why}"
    return ""


def problems(path, problem, part=PART):
    for number, case in enumerate(golden_player.cases(path)):
        if number % part or "raises" in case or "call" not in case or "empty" in case["call"]:
            continue
        try:
            call = Product(case)
        except (AttributeError, ValueError, TypeError):
            continue  # no function of a name in the package, or arguments of another kind
        floats = [i for i, t in enumerate(call.first) if smooth(t)]
        if not call.suits() or not floats:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for chosen in {tuple(floats), *((i,) for i in floats)}:
                torch.manual_seed(1)
                if why := problem(call, chosen):
                    yield f"{case['call']} {number} of {path.name}, of tensors {chosen}: {why}"


@pytest.mark.slow
@pytest.mark.parametrize("letter", sorted({path.name[0] for path in FILES}))
def test_reference_calls(letter):
    wrong = [why for path in FILES if path.name[0] == letter for why in problems(path, problem)]
    assert not wrong, "\n".join(wrong[:20])


# -------------------------------------------------------------------------------------------------------- differences

STEP = 1e-4
TAKEN_AS_NUMBERS = ("torch.linspace", "torch.logspace", "torch.nextafter", "torch.normal")  # tensors that no derivative is with respect to


def wide(t):
    return t.to(torch.complex128 if t.is_complex() else torch.float64) if smooth(t) else t


def slopes_of(f, primals, tangents, step):
    """Differences of f's results on both sides, by the step."""
    before, at, behind = ([wide(t) for t in f(*(p + k * t for p, t in zip(primals, tangents, strict=True)))] for k in (-step, 0, step))
    return [(b - a) / step for a, b in zip(before, at, strict=True)], [(b - a) / step for a, b in zip(at, behind, strict=True)]


def difference(call, chosen):
    """Returns the error of the call's product, for elements whose finite differences do not depend on the step and the side: there the
    function is smooth.
    """
    if call.name in TAKEN_AS_NUMBERS:
        return ""
    call = copy.copy(call)
    call.args, call.kwargs = changed(lambda v: wide(v.detach()) if isinstance(v, torch.Tensor) else v, (call.args, call.kwargs))
    call.first = [t for t in flat([call.args, call.kwargs]) if isinstance(t, torch.Tensor)]
    f = call.function_of(chosen)
    primals = tuple(call.first[i].clone() for i in chosen)
    tangents = tuple(torch.randn_like(t) for t in primals)
    try:
        values, made = jvp(f, primals, tangents)
        whole, part = (slopes_of(f, primals, tangents, step) for step in (STEP, STEP / 3))
    except Exception:  # it takes no numbers of this precision, or has no derivative
        return ""
    if any((t.abs() > 1e6).any() for t in primals) or any(t.dtype not in (torch.float64, torch.complex128) for t in values):
        return ""  # steps would be rounded off
    for product, left, right, near, nearer in zip(made, *whole, *part, strict=True):
        middle = (left + right) / 2
        room = 1e-3 * (1 + middle.abs())
        known = ((left - right).abs() < 30 * room) & ((near - nearer).abs() < 10 * room) & ((middle - (near + nearer) / 2).abs() < room)
        wrong = known & ~((wide(product) - middle).abs() < 3 * room)
        if wrong.any():
            return f"{product[wrong][:3].tolist()}, not {middle[wrong][:3].tolist()}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("letter", sorted({path.name[0] for path in FILES}))
def test_differences(letter):
    wrong = [why for path in FILES if path.name[0] == letter for why in problems(path, difference)]
    assert not wrong, "\n".join(wrong[:20])
