"""Law 1: a call answers alike whatever the layout of its operands."""

from dataclasses import replace

from compare import STEP, sums, unsound, values_differ
from inputs import apart, clones, draws, lazily, repeated, together
from library import ANY_ORDER, CUDA

NAME = "views"
# Results of queries about strides, storages and addresses depend on them.
SPEAKS_OF_LAYOUT = {
    **dict.fromkeys(("is_contiguous", "stride", "data_ptr", "lend", "is_set_to", "untyped_storage", "storage_offset"), "tells the layout"),
    **dict.fromkeys(("view", "view_as", "view_as_complex", "view_as_real"), "rejects layouts"),
    **dict.fromkeys(("is_conj", "is_neg"), "tells how elements are read"),
    **dict.fromkeys(("as_strided", "as_strided_scatter", "set_", "resize_", "resize_as_"), "works on the storage, not on the elements"),
    **dict.fromkeys(
        ("empty_like", "new_empty", "new_empty_strided", "empty", "empty_strided", "empty_permuted"),
        "leaves elements as they lie in memory",
    ),
    **dict.fromkeys(("load_bytes", "npy_length", "npy_load_bytes", "npz_load_bytes", "safetensors_load"), "takes contiguous bytes"),
    **dict.fromkeys(("save_bytes", "save", "save_dict"), "keeps the layout"),
    "share_memory_": "moves the storage",
}
IN_MEMORY = (
    "fused_sgd_",
    "fused_adam_",
    "fused_adamw_",
    "fused_adagrad_",
)  # They reject tensors whose elements are computed when they are read.


def check(library, call, rng):
    operator = call.operator
    name = operator["name"].split(".")[-1].removesuffix("_copy")  # The order of a copied view follows the layout as the view does.
    # Random numbers are drawn in the order of memory, as PyTorch draws them; the bytes of files must be contiguous.
    if draws(operator) or operator["category"] == "file":
        return None
    if name in SPEAKS_OF_LAYOUT or not call.tensors() or call.form["mode"] == "out":
        return None
    if library.place is CUDA and name.strip("_") in ANY_ORDER:
        return None
    views = layouts(call, rng)
    plain = clones(views)
    first, second = library.run(plain), library.run(views)
    for made, outcome in ((plain, first), (views, second)):
        if text := unsound(made, outcome):
            return text, made
    if first.status != second.status:
        return f"dense operands give status {first.status} ({first.message}), {views.note} ones {second.status} ({second.message})", views
    if first.status:
        return ""
    rounds = sums(call)
    step = max((STEP.get(t.dtype, 0) for t, _ in call.tensors()), default=0) if rounds else 0
    text = values_differ(first.results, second.results, step)
    for at in first.tensors:
        text = text or values_differ(first.tensors[at], second.tensors[at], step, path=f"argument {at} after the call")
    return (f"dense operands and {views.note} ones differ in {text}", views) if text else ""


def layouts(call, rng):
    """The call with operands laid out in some other way."""
    notes = []
    if rng.random() < 0.2:
        read = [(t, at) for t, at in call.tensors() if not call.mutated(at)]
        pairs = [(a, b) for a in read for b in read if a[1] < b[1] and a[0].dtype == b[0].dtype]
        if pairs:
            a, b = rng.choice(pairs)
            one, other = together(a[0], b[0], rng)
            made = call.mapped(lambda t, at: one if at == a[1] else other if at == b[1] else t)
            return replace(made, note="overlapping")

    def change(t, at):
        if rng.random() < 0.2 and not call.mutated(at):
            made, kind = repeated(t, rng)
        else:
            made, kind = apart(t, rng)
        made, lazy = lazily(made, rng) if call.operator["name"] not in IN_MEMORY else (made, "")
        kind += lazy
        notes.append(f"{kind} {at}")
        return made

    made = call.mapped(change)
    return replace(made, note=", ".join(notes))
