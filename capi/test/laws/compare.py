"""Compares what calls gave, and says what differs."""

import re

import numpy as np
from inputs import COMPLEX, FLOATS, decode
from library import INTERNAL, OK, SIZES, Seen, Store

# Floating-point sums in an order that depends on the layout of the operands, and linear algebra on them; other results must be bitwise
# identical.
SUMMING = ("reduction", "matrix", "linalg", "fft", "scan")
SUMMING_NAMES = {
    *("std", "var", "std_mean", "var_mean", "cov", "corrcoef", "trace", "dist", "trapezoid", "trapz", "cumulative_trapezoid", "histogram"),
    *(
        "histogramdd",
        "renorm",
        "cdist",
        "pdist",
        "gradient",
        "logcumsumexp",
        "logsumexp",
        "softmax",
        "log_softmax",
        "nanmean",
        "cross",
        "diff",
    ),
    *("index_add", "scatter_add", "scatter_reduce", "index_reduce", "put", "index_put", "bincount", "einsum", "quantile", "nanquantile"),
    *("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "conv_tbc"),
    *("mm", "norm", "powsum", "gguf_linear", "weight_int8pack_mm", "weight_int4pack_mm_for_cpu", "affine_grid_generator"),
    *(
        "linear",
        "bilinear",
        "cosine_similarity",
        "pairwise_distance",
        "normalize",
        "local_response_norm",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
    ),
    *("lp_pool1d", "lp_pool2d", "lp_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "fold"),
    *("scaled_dot_product_attention", "multi_head_attention_forward", "linear_cross_entropy", "gumbel_softmax"),
    *("layer_norm", "group_norm", "batch_norm", "native_layer_norm", "native_group_norm", "native_batch_norm", "instance_norm", "rms_norm"),
}
ITERATED = ("lobpcg",)  # whose steps, and with them when it stops, follow the last bits
STEP = {
    "float16": 2e-2,
    "bfloat16": 1e-1,
    "float32": 1e-4,
    "float64": 1e-10,
    "complex64": 1e-4,
    "complex128": 1e-10,
    "complex32": 5e-2,
    "bcomplex32": 2e-1,
}


def plain_name(operator):
    """The operator's name without its module, and of an operator of lists the name of what it does with each tensor."""
    return operator["name"].split(".")[-1].removeprefix("foreach_").rstrip("_")


def sums(call):
    operator = call.operator
    reduction = next((v for a, v in zip(operator["args"], call.args, strict=False) if a["name"] == "reduction"), "none")  # of a loss
    return reduction != "none" or operator["category"] in SUMMING or plain_name(operator) in SUMMING_NAMES


def elements_differ(a, b, dtype, tolerance=0.0, reordered=False, extreme=False):
    """Text on the first element that differs, "" when none does. NaNs are alike; in reordered sums infinities and NaNs
    are too, and where these are of extreme numbers, nothing is said of elements that one order makes either of."""
    if a.shape != b.shape:
        return f"sizes {a.shape} and {b.shape}"
    if a.tobytes() == b.tobytes():
        return ""
    x, y = (np.frombuffer(np.ascontiguousarray(v).tobytes(), np.uint8).reshape(-1, SIZES[dtype]) for v in (a, b))
    wrong = (x != y).any(1)
    if not wrong.any():
        return ""
    p, q = decode(a, dtype).reshape(-1), decode(b, dtype).reshape(-1)
    if dtype in FLOATS or dtype in COMPLEX:
        if dtype in COMPLEX:
            nan = (np.isnan(p.real) == np.isnan(q.real)) & (np.isnan(p.imag) == np.isnan(q.imag))
            same = nan & (np.isnan(p.real) | (p.real == q.real) & (np.signbit(p.real) == np.signbit(q.real)))
            same &= np.isnan(p.imag) | (p.imag == q.imag) & (np.signbit(p.imag) == np.signbit(q.imag))
        else:
            same = np.isnan(p) & np.isnan(q)
        wrong &= ~same
        if tolerance:
            wide = np.complex128 if dtype in COMPLEX else np.float64
            p, q = p.astype(wide), q.astype(wide)
            if dtype in COMPLEX or reordered:  # which parts of a sum infinities make infinite, and which NaN, depends on the order
                wrong &= np.isfinite(p) | np.isfinite(q)
            wrong &= ~(np.isnan(p) & np.isnan(q))
            finite = np.isfinite(p) & np.isfinite(q)
            with np.errstate(all="ignore"):
                scale = np.abs(np.concatenate([p, q]))
                scale = scale[np.isfinite(scale)].max(initial=1.0)
                wrong &= ~(finite & (np.abs(p - q) <= tolerance * scale))
                # Sums of extreme numbers overflow in one order and not in another.
                wrong &= finite | (scale < 1e4) & (not extreme)
    if not wrong.any():
        return ""
    i = int(np.argmax(wrong))
    return (
        f"{int(wrong.sum())} of {len(wrong)} elements, first at {i}: {p[i]!r} and {q[i]!r} (bytes {x[i].tobytes().hex()} and "
        f"{y[i].tobytes().hex()})"
    )


def values_differ(a, b, tolerance=0.0, strides=False, path="result", reordered=False, extreme=False):
    """Text on how two results differ, "" when they do not."""
    if isinstance(a, Seen) and isinstance(b, Seen):
        if a.dtype != b.dtype:
            return f"{path}: dtypes {a.dtype} and {b.dtype}"
        if a.size != b.size:
            return f"{path}: sizes {a.size} and {b.size}"
        if strides and a.stride != b.stride and 0 not in a.size:
            return f"{path}: strides {a.stride} and {b.stride} of sizes {a.size}"
        if a.elements is None or b.elements is None:
            return ""
        text = elements_differ(a.elements, b.elements, a.dtype, tolerance, reordered, extreme)
        return text and f"{path}: {text}"
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{path}: {len(a)} and {len(b)} items"
        return next(
            filter(
                None,
                (
                    values_differ(x, y, tolerance, strides, f"{path}[{i}]", reordered, extreme)
                    for i, (x, y) in enumerate(zip(a, b, strict=True))
                ),
            ),
            "",
        )
    if isinstance(a, float) and isinstance(b, float) and a != a and b != b:
        return ""
    return "" if repr(a) == repr(b) else f"{path}: {a!r} and {b!r}"


def written(t):
    """A mask of the bytes of a tensor's store that its elements lie in."""
    mask = np.zeros(len(t.store.data), bool)
    if t.numel and SIZES[t.dtype] * t.numel:
        item = SIZES[t.dtype]
        bytes_of = np.lib.stride_tricks.as_strided(
            mask[t.offset * item :], (*t.size, item), (*(s * item for s in t.stride), 1), writeable=True
        )
        bytes_of[...] = True
    return mask


# Operators that may change a storage's bytes or size beyond the elements of the tensors that they write.
FREE = (
    "resize_",
    "resize_as_",
    "set_",
    "share_memory_",
    "storage_resize_",
    "storage_fill_",
    "storage_copy_",
    "storage_byteswap_",
    "storage_share_memory_",
)


# They move bytes out of the count, or into it.
SHARED = ("share_memory_", "storage_share_memory_")


def unsound(call, outcome):
    """What no call may do: the first fault found, "" when there is none."""
    if outcome.status == INTERNAL or "internal error" in outcome.message:
        return f"an internal error: {outcome.message}"
    if outcome.live:
        return f"{outcome.live} handles more after the call"
    if outcome.leaked and call.operator["name"] not in SHARED:
        return f"{outcome.leaked} bytes stay in use when everything is freed"
    places = {at: t for t, at in call.tensors()}
    if outcome.status != OK:
        if not outcome.message:
            return f"status {outcome.status} without a message"
        if re.match(r"([\w.]+): \1: ", outcome.message):
            return f"the message names the operator twice ({outcome.message})"
        if re.search(r"\[-?\d+ -?\d+", outcome.message):
            return f"the message shows a list without commas ({outcome.message})"
        if outcome.used > 0:
            return f"a rejected call left {outcome.used} bytes in use ({outcome.message})"
        for at, t in places.items():
            seen = outcome.tensors.get(at)
            if seen and (seen.dtype, seen.size, seen.stride, seen.offset) != (t.dtype, t.size, t.stride, t.offset):
                was, became = (t.size, t.stride, t.offset), (seen.size, seen.stride, seen.offset)
                return f"a rejected call changed argument {at} from {was} to {became} ({outcome.message})"
        for store, data in outcome.stores.items():
            if data != store.data:
                return f"a rejected call changed the bytes of a storage ({outcome.message})"
        if outcome.counted:
            return f"a rejected call counted a write to argument {outcome.counted[0]} ({outcome.message})"
        return ""
    if call.operator["name"] in FREE:
        return ""
    allowed = {}
    for at, t in places.items():
        if call.mutated(at) and t.device != "meta":
            seen = outcome.tensors.get(at)
            if seen is not None and (seen.size, seen.stride) != (t.size, t.stride):
                allowed[t.store] = None  # resized
            elif allowed.get(t.store, ()) is not None:
                allowed[t.store] = allowed.get(t.store, False) | written(t)
    for i, value in enumerate(call.args):
        if isinstance(value, Store) and call.operator["args"][i]["mutated"]:
            allowed[value] = None
    for store, data in outcome.stores.items():
        mask = allowed.get(store, False)
        if mask is None:
            continue
        before, after = np.frombuffer(store.data, np.uint8), np.frombuffer(data, np.uint8)
        if len(before) != len(after):
            return f"a storage of {len(before)} bytes has {len(after)} after the call"
        if ((before != after) & ~mask).any() if mask is not False else (before != after).any():
            return "bytes changed that the call must not write"
        if (before != after).any() and not any(places[at].store is store for at in outcome.counted):
            return "a storage was written to, and no write counted"
    return ""
