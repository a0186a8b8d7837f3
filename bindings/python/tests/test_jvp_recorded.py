"""Jacobian-vector products of reference cases agree with reverse mode, for every differentiable operator with reference cases. The law
derivatives compares reverse mode with finite differences.
"""

import warnings

import golden_player
import pytest
from test_vmap_recorded import FILES, Recorded, differ, flat

import libtensor as torch
from libtensor.autograd import functional
from libtensor.func import jvp

PART = 3  # one in this many calls of a file
ONE_WAY = (
    "torch.nn.functional.embedding",  # its row of padding has tangents, and gets no gradient
    *(
        f"torch.nn.functional.max_unpool{n}d" for n in (1, 2, 3)
    ),  # of elements with the same place the last one counts, and all get the gradient
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


def problems(path):
    for number, case in enumerate(golden_player.cases(path)):
        if number % PART or "raises" in case or "call" not in case or "empty" in case["call"]:
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
    wrong = [why for path in FILES if path.name[0] == letter for why in problems(path)]
    assert not wrong, "\n".join(wrong[:20])
