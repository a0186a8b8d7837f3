"""Law 9: the gradients of every operator, and their gradients, are what differences of its values give, in float64 and complex128."""

import time
import traceback
from dataclasses import replace

import numpy as np
from differentiated import Function, finite, torch
from inputs import COMPLEX, FLOATS, Inputs, decode, encode, is_position, rng_of
from law_languages import ELSEWHERE
from library import FORMS, dense
from program import program

NAME = "derivatives"
HOST_ONLY = "a derivative is the same composition of operators everywhere, whose operators law devices compares"
LARGE = 24  # elements from which random directions are tried rather than all
# Ranges of elements, after those that are recorded: functions are defined on different parts of the line.
RANGES = (None, (-2, 2), (0.1, 0.9), (1.1, 3))
MIXED = "float64 and complex128"  # the first operand real, and others complex
DRAWS = 3  # of elements, since one draw can hit a step of the function
HERMITIAN = ("cholesky", "cholesky_ex", "eigvalsh", "matrix_sqrth")  # which read one half of a matrix that is its own adjoint
STEEP = ("remainder", "fmod")  # their steps are close together for small divisors
CHOSEN = ("padding_idx", "scale_grad_by_freq")  # arguments that, where given, choose a gradient that is not that of the values
CHECKED, DISCRETE, UNSUITED = "checked", "discrete", "unsuited"
# Operators, or C functions, with numbers in and out that have no derivatives, or none that differences would show.
REASONS = {
    **dict.fromkeys(
        ("floor_divide", "heaviside", "unique", "unique_consecutive", "scatter", "histogram", "histogramdd", "bincount"), "not implemented"
    ),
    **dict.fromkeys(("resize_", "resize_as_", "set_"), "changes the geometry of a tensor, which is rejected"),
    **dict.fromkeys(("empty_like", "new_empty", "new_empty_strided"), "leaves elements as they lie in memory"),
    **dict.fromkeys(("linspace", "logspace"), "a factory: its results depend on no tensor, though numbers may come as tensors"),
    **dict.fromkeys(("igamma", "igammac", "zeta"), "one of the two derivatives is not implemented; bindings/python/tests/test_autograd.py"),
    **dict.fromkeys(
        ("normal", "binomial"), "numbers that are drawn have no derivatives, as in PyTorch, though they move with the mean or the count"
    ),
    **dict.fromkeys(
        ("standard_gamma", "sample_dirichlet"),
        "has the derivatives at a fixed probability, not at fixed draws; bindings/python/tests/test_distributions.py",
    ),
    **dict.fromkeys(("standard_gamma_grad", "dirichlet_grad", "weight_int8pack_mm", "weight_int4pack_mm_for_cpu"), "not implemented"),
    "gguf_linear": "rounds its input, and has the derivatives of the product without rounding; bindings/python/tests/test_gguf.py",
    **dict.fromkeys((f"fused_{kind}_" for kind in ("sgd", "adam", "adamw", "adagrad")), "updates leaves, without a history"),
    **dict.fromkeys(
        (f"fake_quantize_{of}_affine{mask}" for of in ("per_tensor", "per_channel") for mask in ("", "_cachemask")),
        "has the derivative of what it rounds; bindings/python/tests/test_quantized.py",
    ),
    **dict.fromkeys(
        (f"fake_quantize_learnable_per_{kind}_affine" for kind in ("tensor", "channel")),
        "has the derivatives of what it rounds; bindings/python/tests/test_quantized_products.py",
    ),
    **dict.fromkeys(
        ("svd_lowrank", "pca_lowrank"),
        "draws at random; vectors are unique up to a factor; bindings/python/tests/test_lowrank.py tries the values",
    ),
    **dict.fromkeys(
        (f"max_unpool{n}d" for n in (1, 2, 3)),
        "of elements with the same place one stays, and all get the gradient; bindings/python/tests/test_pooling.py",
    ),
    "gumbel_softmax": "with hard its gradient is that of what it rounds; bindings/python/tests/test_linear_cross_entropy.py",
    **dict.fromkeys(
        (f"tensor_{cells}_data" for cells in ("lstm", "gru", "rnn_tanh", "rnn_relu")),
        "rows of sequences that are packed are counted by another operand; bindings/python/tests/test_recurrence.py",
    ),
    "ctc_loss": "has the gradient of what log_softmax was taken of, and no second one, as in PyTorch; "
    "bindings/python/tests/test_alignment.py",
    "adaptive_avg_pool3d": "its recorded calls have more elements than are tried; bindings/python/tests/test_pooling.py tries others",
    "lobpcg": "is of Hermitian matrices, of which one element does not change alone; bindings/python/tests/test_lowrank.py compares with "
    "eigh",
    **dict.fromkeys(("eigh", "eig", "svd"), "vectors are unique up to a factor; eigvalsh, eigvals and svdvals are tried"),
    **dict.fromkeys(("ldl_factor", "ldl_factor_ex", "ldl_solve", "geqrf", "spherical_bessel_j0", "airy_ai"), "not implemented"),
    **dict.fromkeys((f"{kind}chebyshev_polynomial_{letter}" for kind in ("", "shifted_") for letter in "tuvw"), "not implemented"),
    **dict.fromkeys(("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"), "not implemented"),
    **dict.fromkeys(
        ("to_sparse_bsr", "to_sparse_bsc", "sparse_compressed_tensor"),
        "want blocks that divide the sizes, or indices in order; bindings/python/tests/test_sparse.py",
    ),
    **dict.fromkeys(("align_as", "align_tensors"), "wants names; bindings/python/tests/test_names.py"),
    **dict.fromkeys(("detach", "detach_copy"), "ends the history"),
    **dict.fromkeys(
        (f"native_{kind}_norm" for kind in ("layer", "group", "batch")),
        "its statistics have no gradients, as in PyTorch; layer_norm and its like are tried",
    ),
    "lend": "gives an address",
    "pin_memory": "wants an accelerator",
}
ALIASES = {"gammainc": "igamma", "gammaincc": "igammac"}


def run(options, law, report):
    inputs = Inputs()
    names = [
        c
        for c, (o, f) in FORMS.items()
        if f["mode"] != "out" and (not options.operator or options.operator in (c, o["name"], o["id"], o["category"]))
    ]
    rounds = range(options.rounds)
    if options.case:
        names, rounds = [options.case.rsplit("/", 1)[0]], [int(options.case.rsplit("/", 1)[1])]
    end = time.monotonic() + options.budget if options.budget else None
    for n in rounds:
        for c in names:
            if end and time.monotonic() > end:
                return
            if reason(c):
                continue
            case = f"{c}/{n}"
            report.start(case)
            try:
                found = [attempt(inputs, c, dtype, rng_of(options.seed, law, case, dtype)) for dtype in ("float64", "complex128", MIXED)]
            except Wrong as wrong:
                report.fail(law, case, *wrong.args)
                continue
            except Exception:  # a defect of the test is reported as one, and the test continues
                report.fail(law, case, f"the suite failed: {traceback.format_exc()}")
                continue
            report.tell(law, CHECKED in found, c)
            if set(found) == {UNSUITED} and candidates(inputs, c):
                report.fail(law, case, "no arguments were found of which derivatives can be checked, and no reason is given")


def reason(c):
    name = FORMS[c][0]["name"].split(".")[-1]
    return REASONS.get(ALIASES.get(name, name)) or REASONS.get(c) or c in ELSEWHERE


def candidates(inputs, c):
    """Known calls of a C function, or of another name of it."""
    operator, form = FORMS[c]
    alike = [
        k
        for k, (o, f) in FORMS.items()
        if o["go"] == operator["go"] and f["types"] == form["types"] and f["mode"] in (form["mode"], "function")
    ]
    calls = inputs.calls[c] or [replace(call, c=c) for k in alike for call in inputs.calls[k]]
    chosen = [(i, argument["default"]) for i, argument in enumerate(operator["args"]) if argument["name"] in CHOSEN]
    return [call for call in calls if all(str(call.args[i]) == default for i, default in chosen)]


class OfHermitian(Function):
    """A call of the Hermitian part of its first operand."""

    def __call__(self, first, *others):
        return super().__call__((first + first.transpose(-2, -1).conj()) / 2, *others)


class Wrong(Exception):
    """A derivative is: what of it, and the program of the call."""


def attempt(inputs, c, dtype, rng):
    """What became of the first of some calls whose derivatives can be checked."""
    result = UNSUITED
    calls = candidates(inputs, c)
    kind = OfHermitian if FORMS[c][0]["name"].split(".")[-1] in HERMITIAN else Function
    for limits in RANGES if FORMS[c][0]["name"] not in STEEP else RANGES[-1:]:
        for call in rng.sample(calls, len(calls)):
            for n in range(DRAWS):
                made = call.mapped(
                    lambda t, at, call=call, limits=limits: t if is_position(call, at) else generic(t, one_of(dtype, at), rng, limits)
                )
                try:
                    found = checked(kind(made), made)
                except Wrong:
                    if n + 1 == DRAWS:
                        raise
                    continue
                if found == CHECKED:
                    return CHECKED
                if found == DISCRETE:
                    result = DISCRETE
                break
    return result


def one_of(dtype, at):
    return dtype if dtype != MIXED else "complex128" if at != (0,) else "float64"


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


def checked(function, call):
    operands = function.operands()
    if not operands:
        return DISCRETE
    try:
        outputs = function(*operands)
    except (RuntimeError, ValueError, TypeError, IndexError):
        return UNSUITED
    if not outputs:
        return DISCRETE
    if not finite(outputs) or any(t.dtype not in (torch.float64, torch.complex128) for t in outputs) or not any(t.numel() for t in outputs):
        return UNSUITED
    live = [t for t in outputs if t.requires_grad]
    gradients = (
        torch.autograd.grad(live, operands, [torch.ones_like(t) for t in live], allow_unused=True, materialize_grads=True) if live else ()
    )
    if any(t.layout is not torch.strided for t in gradients):
        return UNSUITED  # the error is caused by an argument; the same call without it is tested
    if not finite(gradients):
        raise Wrong(f"{operands[0].dtype}: a gradient is not finite, though the results are", program(call))
    fast = max(t.numel() for t in (*operands, *outputs)) > LARGE
    try:
        torch.autograd.gradcheck(function, operands, fast_mode=fast)
        if live:
            torch.autograd.gradgradcheck(function, operands, fast_mode=True)
    except Exception as error:
        raise Wrong(f"{operands[0].dtype}: {type(error).__name__}: {error}", program(call)) from error
    return CHECKED
