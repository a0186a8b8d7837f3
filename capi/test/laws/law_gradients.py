"""Law 10: gradients do not depend on the layout of operands, on threads nor on what becomes of what is saved, and a failing allocation is
an error and nothing more."""

import gc

import differentiated
from differentiated import NUMBERS, Function, torch
from inputs import apart, clones, draws, lazily, with_dtype, with_size, with_values
from library import CUDA

NAME = "gradients"
graph = torch.autograd.graph
LONGEST = 30  # allocations of a call and its run that are made to fail, one in each of as many tries
MOST = 1 << 17  # elements of a call's tensors
MANY = 1 << 10  # results of a call, each with a separate node
# Their results depend on the layout, or on uninitialized memory.
BY_LAYOUT = (
    "empty_like",
    "new_empty",
    "new_empty_strided",
    "as_strided",
    "as_strided_scatter",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "share_memory_",
)
TOLERANCE = {"float16": 5e-2, "bfloat16": 3e-1, "float32": 1e-3, "float64": 1e-8, "complex64": 1e-3, "complex128": 1e-8}


def check(library, call, rng):
    operator = call.operator
    name = operator["name"].split(".")[-1].removesuffix("_copy")  # A copy of a view is as the view.
    if (
        call.form["mode"] == "out"
        or draws(operator)
        or operator["category"] in ("file", "storage", "query", "gradient")
        or name in BY_LAYOUT
    ):
        return None
    if not {t.dtype for t, _ in call.tensors()} & NUMBERS:
        call = with_dtype(call, rng.choice(sorted(NUMBERS)))
    if any(t.dtype == "complex32" for t, _ in call.tensors()):
        return None
    made = call.mapped(lambda t, at: lazily(apart(t, rng)[0], rng)[0])
    large = rng.random() < 0.3 and library.place is not CUDA  # where a tensor has as many launches as views
    if large and call.tensors():
        size = max(n for t, _ in call.tensors() for n in (*t.size, 1))
        rest = max((t.numel // size for t, _ in call.tensors() if size in t.size), default=1)
        made = with_values(with_size(call, rng, max(2**16 // max(rest, 1), 2) + 3, size, MOST), rng, 0)
    differentiated.place = "cuda" if library.place is CUDA else "cpu"
    function = Function(made)
    if not function.places:
        return None
    library.threads(1)
    limited = library.limited()
    try:
        return held(library, function, made, rng.random() < 0.25 and not large)
    finally:
        limited()


def held(library, function, made, fails):
    one = gradients(function)
    if one is None:
        return None
    problem = one if isinstance(one, str) else layouts(made, one) or threads(library, function, one) or savings(function, one)
    if not problem and fails:
        problem = allocations(library, function, one)
    return (problem, made) if problem else ""


def gradients(function, operands=None):
    """The gradients of all operands for the same seeds; None where the call has none, and text for a run that fails."""
    operands = operands or function.operands()
    try:
        outputs = [t for t in function(*operands) if t.requires_grad]
    except (RuntimeError, ValueError, TypeError, IndexError, MemoryError):
        return None
    if not 0 < len(outputs) <= MANY or any(t.numel() > 8 * MOST for t in (*outputs, *operands)):  # can be views without separate memory
        return None
    try:
        grads = torch.autograd.grad(outputs, operands, [seed(t) for t in outputs], allow_unused=True)
        return [t if t is None else t.to_dense() for t in grads]
    except (NotImplementedError, MemoryError):  # a derivative that there is not, or not for the dtype, or one larger than memory
        return None
    except RuntimeError as error:
        # Of vectors that are unique up to a phase, which the seeds make a difference to.
        return None if "so it is ill-defined" in str(error) else f"backward: {error}"


def seed(t):
    """Numbers that follow the places of the elements."""
    return (torch.arange(t.numel(), device=t.device) % 7 - 2).to(t.dtype).reshape(t.shape)


def layouts(call, one):
    dense = gradients(Function(clones(call)))
    problem = unlike(dense, one)
    return problem and f"with dense operands {problem}"


def close(a, b):
    """Equal up to the rounding of sums, whose order follows the layout; NaNs and infinities, which may come of either order, apart."""
    tolerance = TOLERANCE[str(a.dtype).split(".")[-1]]
    wide = torch.complex128 if a.is_complex() else torch.float64
    a, b = a.to(wide), b.to(wide)
    finite = a.isfinite() & b.isfinite()
    a, b = a[finite], b[finite]
    scale = max(a.abs().max().item(), 1) if a.numel() else 1
    return not a.numel() or (a - b).abs().max().item() <= tolerance * scale


def shown(t):
    return f"{t.dtype} {tuple(t.shape)} {t.reshape(-1)[:6].tolist()}"


def bits(tensors):
    return [
        t if t is None else (t.dtype, tuple(t.shape), bytes(t.cpu().contiguous().untyped_storage()))
        for t in (u if u is None else u.clone() for u in tensors)
    ]


def threads(library, function, one):
    for n in (2, 3) if library.place is not CUDA else ():  # CUDA uses threads itself
        library.threads(n)
        many = gradients(function)
        library.threads(1)
        if isinstance(many, str) or many is None:
            return f"{n} threads: {many}"
        for i, (a, b) in enumerate(zip(bits(one), bits(many), strict=True)):
            if a != b:
                return f"gradient {i} with one thread and with {n} differs"
    return ""


SAVINGS = {
    "hooks that keep": lambda: graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "hooks that copy": lambda: graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t.clone()),
    "allow_mutation_on_saved_tensors": graph.allow_mutation_on_saved_tensors,
}


def savings(function, one):
    """Whatever becomes of what is saved, the gradients are the same."""
    for name, saving in SAVINGS.items():
        with saving():
            made = gradients(function)
        if problem := unlike(made, one):
            return f"under {name}: {problem}"
    operands = function.operands()
    again = lambda *operands: torch.utils.checkpoint.checkpoint(function, *operands, use_reentrant=False)  # noqa: E731
    problem = unlike(gradients(again, operands), one)
    return problem and f"in a checkpoint: {problem}"


def unlike(made, one):
    if made is None or isinstance(made, str):
        return made or "no gradients"
    for i, (a, b) in enumerate(zip(one, made, strict=True)):
        if (a is None) != (b is None) or a is not None and (a.shape != b.shape or a.dtype != b.dtype or not close(a, b)):
            return f"gradient {i} is {b if b is None else shown(b)}, but {a if a is None else shown(a)} elsewhere"
    return ""


def allocations(library, function, one):
    """Each allocation of the call and of its run fails in turn: leaves keep the gradients that they had, and nothing stays behind."""
    want = bits(one)
    del one
    for turn in range(1, LONGEST + 1):
        operands = function.operands()
        for t in operands:
            t.grad = torch.ones_like(t)
        before = state(library)
        failed = ""
        library.do("tensor_fail_allocation", turn)
        try:
            outputs = [t for t in function(*operands) if t.requires_grad]
            made = torch.autograd.grad(outputs, operands, [seed(t) for t in outputs], allow_unused=True)
        except (MemoryError, RuntimeError) as error:
            failed = f"{type(error).__name__}: {error}"
        finally:
            library.do("tensor_fail_allocation", 0)
        note = f"allocation {turn} fails"
        outputs = None
        if failed:
            if not failed.startswith(("MemoryError", "OutOfMemoryError")) and "memory" not in failed:
                return f"{note}: {failed}"
            if any(not bool((t.grad == 1).all()) for t in operands):
                return f"{note}: a leaf's gradient has changed"
            if state(library) != before and (after := state(library, True)) != before:
                return f"{note}: handles and bytes in use were {before} and are {after} ({failed})"
            continue
        return "" if bits(made) == want else f"{note}: other gradients"
    return ""


def state(library, collected=False):
    if collected:
        gc.collect()
    torch.zeros(1)  # a call makes the library release freed objects
    return library.c.tensor_live_handles(), library.stats()["in_use"]
