"""Law 10: names of dimensions change nothing but names: operands with names give the elements that those without give, and a dimension by
its name gives what its position gives."""

import time
import traceback

from differentiated import flat, laid
from inputs import Inputs, rng_of
from law_languages import ELSEWHERE, plain
from library import FORMS, Tensor

import operators

NAME = "names"
HOST_ONLY = "names of dimensions are not a device's concern"
NUMBERS = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint64", "float32", "float64", "complex64", "complex128")
# Names make a difference to these (products reject one that is there twice), or their results are garbage or random.
ABOUT_NAMES = (
    *("equal", "names", "rename", "rename_", "align_to", "align_as", "align_tensors", "refine_names", "dim_by_name", "to_string"),
    *("outer", "ger", "addr", "addmv", "inner", "cdist", "meshgrid"),
    # A target or a variance lacks a dimension, so that its others are further right.
    *("nn.linear", "nn.nll_loss", "nn.cross_entropy", "nn.gaussian_nll_loss", "nn.cosine_embedding_loss"),
)
UNSEEN = ("empty", "new_empty", "resize_", "set_", "lend", "data_ptr", "storage", "share_memory", "gradient", "file", "random", "query")


def run(options, law, report):
    inputs = Inputs()
    names = [
        c
        for c, (o, f) in FORMS.items()
        if f["mode"] == "function" and (not options.operator or options.operator in (c, o["name"], o["id"], o["category"]))
    ]
    rounds = range(options.rounds)
    if options.case:
        names, rounds = [options.case.rsplit("/", 1)[0]], [int(options.case.rsplit("/", 1)[1])]
    end = time.monotonic() + options.budget if options.budget else None
    for n in rounds:
        for c in names:
            if end and time.monotonic() > end:
                return
            operator = FORMS[c][0]
            if (
                operator["name"] in ABOUT_NAMES
                or c in ELSEWHERE
                or any(operator["name"].startswith(u) or operator["category"] == u for u in UNSEEN)
            ):
                continue
            case = f"{c}/{n}"
            report.start(case)
            rng = rng_of(options.seed, law, case)
            calls = [call for call in inputs.calls[c] if all(t.dtype in NUMBERS for t, _ in call.tensors())]
            if not calls:
                continue
            try:
                text = differs(rng.choice(calls))
            except Exception:  # a defect of the test is reported as one, and the test continues
                text = f"the suite failed: {traceback.format_exc()}"
            report.tell(law, text is not None, c)
            if text:
                report.fail(law, case, text)


def name_of(i, dims):
    """The name of a dimension, by its place from the right, so that operands that broadcast have the same ones."""
    return f"d{dims - 1 - i}"


def values(call, named, by_name):
    stores, first = {}, None

    def value(kind, v, dim=False):
        nonlocal first
        if isinstance(v, Tensor):
            made = laid(v, stores)
            first = first or v
            return made.rename(*(name_of(i, made.dim()) for i in range(made.dim()))) if named and made.dim() else made
        if isinstance(v, list) and v and isinstance(v[0], Tensor):
            return [value(kind, item) for item in v]
        if by_name and dim and v is not None and first is not None:
            n = len(first.size)
            return [name_of(i % n, n) for i in v] if isinstance(v, list) else name_of(v % n, n)
        return operators.python_value(kind, plain(kind, v))

    return [value(kind, v, a["dim"]) for kind, v, a in zip(call.form["types"], call.args, call.operator["args"], strict=True)]


def answer(call, named=False, by_name=False):
    return operators.apply(call.operator, call.form, values(call, named, by_name))


def differs(call):
    """What differs; "" for nothing, None where the operator takes no such operands."""
    try:
        expected = answer(call)
    except Exception:
        return None
    try:
        got = answer(call, named=True)
    except NotImplementedError as rejected:
        return None if "named tensors" in str(rejected) else f"names are rejected: {rejected}"
    except Exception as rejected:
        return f"names are rejected: {rejected}"
    text = compared(expected, got)
    tensors, dims = call.tensors(), [a["dim"] and v is not None for a, v in zip(call.operator["args"], call.args, strict=True)]
    if text or not tensors or not tensors[0][0].size or not any(dims):
        return text
    try:
        by_name = answer(call, named=True, by_name=True)
    except Exception as rejected:
        return f"dimensions by name are rejected: {rejected}"
    if [t.names for t in flat(by_name)] != [t.names for t in flat(got)]:
        return f"dimensions by name give {[t.names for t in flat(by_name)]}, by position {[t.names for t in flat(got)]}"
    return compared(expected, by_name)


def compared(expected, got):
    one, other = flat(expected), flat(got)
    if len(one) != len(other):
        return f"{len(one)} results and {len(other)} with names"
    for a, b in zip(one, other, strict=True):
        if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
            return f"{a.dtype} {list(a.shape)} and with names {b.dtype} {list(b.shape)}"
        found = [name for name in b.names if name]
        if len(set(found)) < len(found):
            return f"a name is there twice: {b.names}"
        if (
            not a.is_meta
            and a.resolve_conj().contiguous().numpy().tobytes() != b.rename(None).resolve_conj().contiguous().numpy().tobytes()
        ):
            return "other elements with names"
    return ""
