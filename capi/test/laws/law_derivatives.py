"""Law 9: the gradients of every operator, and their gradients, are what differences of its values give, in float64 and complex128."""

import time
import traceback

import numpy as np
from differentiated import Function, finite, torch
from inputs import COMPLEX, FLOATS, INTEGERS, Inputs, decode, encode, is_position, rng_of
from library import FORMS, dense
from program import program

NAME = "derivatives"
LARGE = 24  # elements from which random directions are tried rather than all
DRAWS = 12  # of arguments, until one suits an operator
# Ranges of elements: functions are defined on different parts of the line.
RANGES = ((-2, 2), (0.1, 0.9), (1.1, 3))
# What is refused while gradients are wanted.
REFUSED = {}
# What is not a function of numbers in the arguments that give numbers.
UNTRIED = {}


def run(options, law, report):
    inputs = Inputs()
    names = [c for c, (o, f) in FORMS.items() if f["mode"] != "out" and (not options.operator or options.operator in (c, o["name"], o["id"]))]
    rounds = range(options.rounds)
    if options.case:
        names, rounds = [options.case.rsplit("/", 1)[0]], [int(options.case.rsplit("/", 1)[1])]
    end = time.monotonic() + options.budget if options.budget else None
    for n in rounds:
        for c in names:
            if end and time.monotonic() > end:
                return
            case = f"{c}/{n}"
            report.start(case)
            tried = 0
            for dtype in ("float64", "complex128"):
                try:
                    found = attempt(inputs, c, dtype, rng_of(options.seed, law, case, dtype))
                except Exception:  # a fault of the suite is shown as one, and the run goes on
                    found = f"the suite failed: {traceback.format_exc()}", None
                if isinstance(found, tuple):
                    report.fail(law, case, f"{dtype}: {found[0]}", found[1] and program(found[1]))
                    tried = 1
                    break
                tried += found
            report.tell(law, bool(tried), c)
            if not tried and not reason(c):
                report.fail(law, case, "no arguments were found of which derivatives can be checked, and no reason is given")


def reason(c):
    operator, _ = FORMS[c]
    return UNTRIED.get(operator["name"]) or REFUSED.get(operator["name"])


def attempt(inputs, c, dtype, rng):
    """1 where a call was checked, 0 where none could be, and (what is wrong, the call)."""
    for n in range(DRAWS):
        call = inputs.draw(c, rng, changes=False)
        if call is None:
            return 0
        made = call.mapped(lambda t, at, call=call, n=n: generic(t, dtype, rng, RANGES[n // 2 % 3] if n % 2 else None) if not is_position(call, at) else t)
        function = Function(made)
        found = checked(function)
        if found is not None:
            return (found, made) if found else 1
    return 0


def generic(t, dtype, rng, limits):
    """A tensor with numbers at which functions are smooth: its own, moved a little, or random ones within limits."""
    if t.dtype not in FLOATS + COMPLEX or t.dtype in ("complex32", "bcomplex32"):
        return t
    draw = np.random.default_rng(rng.getrandbits(64))
    wide = np.complex128 if dtype == "complex128" else np.float64
    own = decode(t.elements(), t.dtype)
    own = own.astype(wide) if dtype == "complex128" else own.real.astype(wide)
    if limits is None:
        values = own * (1 + draw.uniform(-0.02, 0.02, own.shape)) + draw.uniform(0, 1e-3, own.shape)
    else:
        values = draw.uniform(*limits, own.shape).astype(wide)
    if dtype == "complex128":
        values = values + 1j * draw.uniform(-1, 1, own.shape)
    return dense(encode(values, dtype), dtype)


def checked(function):
    """None where the call says nothing, "" where its derivatives are right."""
    operands = function.operands()
    if not operands:
        return None
    try:
        outputs = function(*operands)
    except NotImplementedError as error:
        if "is not differentiable" in str(error):
            return None if function.operator["name"] in REFUSED else f"refused, without a reason in {__name__}.py: {error}"
        return None
    except (RuntimeError, ValueError, TypeError, IndexError):
        return None
    live = [t for t in outputs if t.requires_grad]
    if not finite(outputs) or not outputs or sum(t.numel() for t in outputs) == 0:
        return None
    if live:
        grads = torch.autograd.grad(live, operands, [torch.ones_like(t) for t in live], allow_unused=True)
        if not finite([g for g in grads if g is not None]):
            return None
    fast = max(t.numel() for t in (*operands, *outputs)) > LARGE
    try:
        torch.autograd.gradcheck(function, operands, fast_mode=fast, nondet_tol=1e-12)
        if live:
            torch.autograd.gradgradcheck(function, operands, fast_mode=True, nondet_tol=1e-12)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
