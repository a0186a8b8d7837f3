"""Law 12: what the table of dispatch says is so: an operator that is rejected for a kind of tensors rejects every call with one of them,
and one that the kind has a rule for takes some call."""

import time
import traceback

import libtensor as torch
from differentiated import laid
from inputs import Inputs, is_position, rng_of
from law_languages import ELSEWHERE, plain
from library import FORMS, Tensor

import operators

NAME = "dispatch"
HOST_ONLY = "what the table says of devices is cuda/tests/test_served.py's to try"
# Calls that are not among the reference calls: arguments that a tensor kind supports for some operators.
WITNESSES = {
    "clamp_max": lambda x: x.clamp_max(0),
    "clamp_min": lambda x: x.clamp_min(0),
    "add": lambda x: x + x,
    "copy_": lambda x: x.clone().copy_(x),
    "div": lambda x: x / 2,
    "divide": lambda x: x / 2,
    "broadcast_to": lambda x: x.broadcast_to(x.shape),
    "expand": lambda x: x.expand(x.shape),
    "float_power": lambda x: x.float_power(2),
    "fmod": lambda x: x.fmod(2),
    "new_full": lambda x: x.new_full((2,), 1, layout=torch.strided),
    "new_ones": lambda x: x.new_ones((2,), layout=torch.strided),
    "pow": lambda x: x**2,
    "put": lambda x: x.put(torch.tensor([0]), torch.ones(1)),
    "remainder": lambda x: x.remainder(2),
    "resize_": lambda x: x.resize_(x.shape),
    "resize_as_": lambda x: x.resize_as_(x.clone()),
    "true_divide": lambda x: x.true_divide(2),
    "to.options": lambda x: x.to("cpu", copy=True),
}
# They support tensors of every kind, but only with an autograd graph, another storage or an accelerator.
UNSEEN = ("backward", "set_requires_grad", "set_", "pin_memory")
CALLS = 60  # of those that are known of an operator
KINDS = {
    "named": lambda t: t.rename(*(f"d{t.dim() - 1 - i}" for i in range(t.dim()))) if t.dim() else None,
    "sparse_coo": lambda t: t.to_sparse(),
    "sparse_csr": lambda t: t.to_sparse_csr() if t.dim() == 2 else None,
    "quantized": lambda t: torch.quantize_per_tensor(t, 0.25, 10, torch.quint8) if t.dtype is torch.float32 else None,
}


def run(options, law, report):
    inputs = Inputs()
    forms = {}  # of each operator
    for c, (o, f) in FORMS.items():
        if (
            f["mode"] != "out"
            and c not in ELSEWHERE
            and o["name"] not in UNSEEN
            and (not options.operator or options.operator in (c, o["name"], o["id"], o["category"]))
        ):
            forms.setdefault(o["id"], []).append(c)
    if options.case:
        forms = {k: v for k, v in forms.items() if options.case.rsplit("/", 1)[0] in v}
    end = time.monotonic() + options.budget if options.budget else None
    for identity, names in forms.items():
        if end and time.monotonic() > end:
            return
        try:
            words = torch.dispatch.table(identity)[identity]["kind"]
        except (RuntimeError, KeyError):
            continue  # of no tensors
        c = names[0]
        report.start(f"{c}/0")
        calls = [call for name in names for call in inputs.calls[name]]
        for kind in KINDS:
            try:
                text = untrue(
                    identity,
                    calls,
                    kind,
                    words[kind],
                    rng_of(options.seed, law, identity),
                )
            except Exception:  # a defect of the test is reported as one, and the test continues
                text = f"the suite failed: {traceback.format_exc()}"
            report.tell(law, text is not None, c)
            if text:
                report.fail(law, f"{c}/0", text)


def untrue(identity, calls, kind, word, rng):
    """Law 12: what the table says of a kind that is not so; "" for nothing, None where no call tells."""
    tried = rejection = None
    if word == "rule" and identity in WITNESSES:
        try:
            WITNESSES[identity](KINDS[kind](torch.tensor([[0.0, 1.0], [2.0, 0.0]])))
            return ""
        except Exception as error:
            rejection = error
    for call in rng.sample(calls, min(CALLS, len(calls))):
        for which in ("first", "others", "all"):
            values = operands(call, kind, which)
            if values is None:
                continue
            tried = call
            try:
                operators.apply(call.operator, call.form, values)
            except Exception as error:
                rejection = error
                continue
            if word == "unsupported":
                return f"{kind} tensors are taken, and the table says that they are rejected"
            return ""
    if tried is None or word not in ("rule", "kernel"):
        return None if tried is None or word != "unsupported" else ""
    return f"the table says {word} for {kind} tensors, and all calls are rejected, as by: {rejection!r}"


def operands(call, kind, which):
    """The arguments with tensors of a kind in the places of some; None where none can be."""
    stores, made, seen = {}, 0, 0

    def value(kind_of, v, at):
        nonlocal made, seen
        if isinstance(v, Tensor):
            t = laid(v, stores)
            if is_position(call, at):
                return t
            seen += 1
            if which == "first" and seen > 1 or which == "others" and seen == 1:
                return t
            changed = KINDS[kind](t)
            made += changed is not None
            return t if changed is None else changed
        if isinstance(v, list) and v and isinstance(v[0], Tensor):
            return [value(kind_of, item, (*at, i)) for i, item in enumerate(v)]
        return operators.python_value(kind_of, plain(kind_of, v))

    try:
        values = [value(k, v, (i,)) for i, (k, v) in enumerate(zip(call.form["types"], call.args, strict=True))]
    except (RuntimeError, ValueError):
        return None
    return values if made else None
