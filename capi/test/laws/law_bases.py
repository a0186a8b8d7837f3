"""Law 16: a result with a gradient is a view where, and only where, it shares memory with an operand; others are written to as tensors of
their own."""

import differentiated
from differentiated import NUMBERS, Function, torch
from inputs import with_dtype
from library import CUDA

NAME = "bases"
ITSELF = ("cartesian_prod",)  # of one vector is that vector, under another handle


def check(library, call, rng):
    operator = call.operator
    if (
        call.form["mode"] != "function"
        or operator["name"] in ITSELF
        or operator["category"] in ("random", "file", "storage", "query", "gradient")
    ):
        return None
    if not {t.dtype for t, _ in call.tensors()} & NUMBERS:
        call = with_dtype(call, "float64")
    if any(t.dtype in ("complex32", "bcomplex32") for t, _ in call.tensors()):
        return None
    differentiated.place = "cuda" if library.place is CUDA else "cpu"
    function = Function(call)
    if not function.places:
        return None
    tried = False
    for problem in (owned(function, write) for write in (added, detached)):
        if problem:
            return problem, call
        tried = tried or problem is not None
    return "" if tried else None


def owned(function, write):
    """What is wrong with the results of a call when they are written to; None where none has a gradient."""
    operands = [t.clone() for t in function.operands()]  # to which may be written
    memory = {t.untyped_storage().data_ptr() for t in operands}
    try:
        results = [t for t in function.results(*operands) if t.requires_grad and t.numel() and t.layout is torch.strided]
    except (RuntimeError, ValueError, TypeError, IndexError, MemoryError):
        return None
    for i, t in enumerate(results):
        if any(t is operand for operand in operands):
            continue
        shares = t.untyped_storage().data_ptr() in memory
        if t._is_view() != shares:
            return f"result {i} {'shares' if shares else 'shares no'} memory with an operand, but _is_view() gives {not shares}"
        if not shares and (problem := write(t)):
            return f"result {i}, which shares no memory with an operand: {problem}"
    return "" if results else None


def added(t):
    node = t.grad_fn
    try:
        t.add_(1)
    except NotImplementedError:  # of dtypes without arithmetic
        return ""
    except RuntimeError as error:
        return f"{error}"
    after = t.grad_fn.next_functions[0][0]
    return "" if after is node else f"hooks of {node.name()} are lost when it is written to, which {after.name()} follows then"


def detached(t):
    try:
        t.detach_()
    except RuntimeError as error:
        return f"{error}"
    return "" if t.is_leaf else "detach_() gives no leaf"
