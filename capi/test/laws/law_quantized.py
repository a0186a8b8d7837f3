"""Law 11: quantized operands, per tensor and per channel, whatever they lie like, give what their numbers give, quantized as the result is;
or they are rejected. A failing allocation is an error that leaves nothing behind."""

import time
import traceback

import libtensor as torch
from differentiated import flat, laid
from inputs import Inputs, rng_of
from law_languages import ELSEWHERE, plain
from library import FORMS, Tensor

import operators

NAME = "quantized"
HOST_ONLY = "devices have no kernels for quantized tensors, and reject them by name"
# Their results are garbage, random, or not about numbers.
UNSEEN = (
    "empty",
    "new_empty",
    "resize_",
    "set_",
    "lend",
    "data_ptr",
    "storage",
    "share_memory",
    "gradient",
    "file",
    "random",
    "query",
    "is_quantized",
)
ABOUT = (
    "to_string",
    "equal",
    "is_set_to",
    "to",
    "clone_with",
    "view_as_real",
    "result_type",
    "quantized",
)


def run(options, law, report):
    inputs = Inputs()
    names = [
        c
        for c, (o, f) in FORMS.items()
        if f["mode"] == "function" and (not options.operator or options.operator in (c, o["name"], o["id"], o["category"]))
    ]
    rounds = range(options.rounds)
    if options.case:
        names, rounds = (
            [options.case.rsplit("/", 1)[0]],
            [int(options.case.rsplit("/", 1)[1])],
        )
    end = time.monotonic() + options.budget if options.budget else None
    for n in rounds:
        for c in names:
            if end and time.monotonic() > end:
                return
            operator = FORMS[c][0]
            if (
                c in ELSEWHERE
                or operator["name"] in ABOUT
                or any(operator["name"].startswith(u) or operator["category"] == u for u in (*UNSEEN, "quantized"))
            ):
                continue
            case = f"{c}/{n}"
            report.start(case)
            rng = rng_of(options.seed, law, case)
            calls = [call for call in inputs.calls[c] if any(t.dtype == "float32" for t, _ in call.tensors())]
            if not calls:
                continue
            try:
                text = differs(rng.choice(calls), rng)
            except Exception:  # a defect of the test is reported as one, and the test continues
                text = f"the suite failed: {traceback.format_exc()}"
            report.tell(law, text is not None, c)
            if text:
                report.fail(law, case, text)


def quantizer(made, rng):
    """What quantizes a tensor: of several dtypes, with one scale, or one for each channel."""
    dtype = rng.choice((torch.quint8, torch.qint8, torch.qint32))
    zero = rng.randint(0, 100)
    if not made.dim() or rng.random() < 0.6:
        scale = rng.choice((0.0625, 0.1, 1.5))
        return lambda x: torch.quantize_per_tensor(x, scale, zero, dtype)
    axis = rng.randrange(made.dim())
    n = made.shape[axis]
    scales, zeros = (
        torch.tensor([rng.choice((0.0625, 0.1)) for _ in range(n)]),
        torch.tensor([rng.randint(0, 100) for _ in range(n)], dtype=torch.int64),
    )
    return lambda x: torch.quantize_per_channel(x, scales, zeros, axis, dtype)


def pairs(call, rng):
    """The arguments with quantized tensors, and with their numbers."""
    stores, shared = {}, None

    def value(kind, v):
        nonlocal shared
        if isinstance(v, Tensor):
            made = laid(v, stores)
            if v.dtype != "float32":
                return made, made
            shared = shared or quantizer(made, rng)
            try:
                q = shared(made)
            except (RuntimeError, IndexError):
                q = torch.quantize_per_tensor(made, 0.0625, 50, torch.quint8)
            return q, q.dequantize()
        if isinstance(v, list) and v and isinstance(v[0], Tensor):
            both = [value(kind, item) for item in v]
            return [a for a, _ in both], [b for _, b in both]
        one = operators.python_value(kind, plain(kind, v))
        return one, one

    return list(
        zip(
            *(value(kind, v) for kind, v in zip(call.form["types"], call.args, strict=True)),
            strict=True,
        )
    )


def differs(call, rng):
    """What differs; "" for nothing, None where the operator takes no such operands."""
    quantized, numbers = pairs(call, rng)
    try:
        got = operators.apply(call.operator, call.form, list(quantized))
    except (RuntimeError, TypeError, ValueError, IndexError) as rejected:
        return f"an internal error: {rejected}" if "internal error" in str(rejected) else None
    want = operators.apply(call.operator, call.form, list(numbers))
    if text := compared(want, got, call.operator):
        return text
    return failing(call, quantized, got, rng)


def compared(want, got, operator):
    one, other = flat(want), flat(got)
    if len(one) != len(other):
        return f"{len(one)} results of numbers and {len(other)} of quantized tensors"
    for a, b in zip(one, other, strict=True):
        if a.shape != b.shape:
            return f"{list(a.shape)} of numbers and {list(b.shape)} of quantized tensors"
        if b.is_meta or b.dtype is torch.int64 and (len(one) > 1 or operator["category"] == "sort"):
            continue  # the indices of equal elements may differ
        if b.is_quantized:
            a, b = again(a.float(), b).dequantize(), b.dequantize()
        if a.contiguous().numpy().tobytes() != b.contiguous().numpy().tobytes() and not torch.equal(a.nan_to_num(), b.nan_to_num()):
            return f"other elements: {b.tolist()} for {a.tolist()}"
    return ""


def again(numbers, like):
    """Numbers quantized as a tensor is."""
    if like.qscheme() is torch.per_tensor_affine:
        return torch.quantize_per_tensor(numbers, like.q_scale(), like.q_zero_point(), like.dtype)
    return torch.quantize_per_channel(
        numbers,
        like.q_per_channel_scales(),
        like.q_per_channel_zero_points(),
        like.q_per_channel_axis(),
        like.dtype,
    )


def failing(call, arguments, first, rng):
    """A call whose k-th allocation fails gives an error, or what it gives else."""
    from libtensor._gen import gen_functions as f

    f.fail_allocation(rng.randint(1, 4))
    try:
        again_ = operators.apply(call.operator, call.form, list(arguments))
    except MemoryError:
        return ""
    finally:
        f.fail_allocation(0)
    return "" if [t.shape for t in flat(again_)] == [t.shape for t in flat(first)] else "another result beside a failing allocation"
