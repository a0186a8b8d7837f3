"""Plays the recorded calls of the Python package's suite on the CPU and on a CUDA device, and compares the two.

Results are equal to the last bit, or for elementary functions up to two units in the last place; where sums are added up in another order
they are within the bounds of the recorded results, or those of products within a few units in the last place of the largest number.
"""

import sys
from pathlib import Path

import numpy as np

import libtensor as torch

TESTS = Path(__file__).resolve().parents[2] / "bindings/python/tests"
sys.path.insert(0, str(TESTS))
import golden_player as recorded  # noqa: E402

ULP = 2  # the most that elementary functions may differ by
PRODUCTS = ("matmul", "mm", "bmm", "mv", "addmm", "addbmm", "baddbmm", "addmv", "tensordot", "einsum", "inner", "cov", "corrcoef")


class There(recorded.Storages):
    """The recorded bytes on a device."""

    def flat(self, index, dtype):
        key = (index, dtype)
        if key not in self.tensors:
            self.tensors[key] = super().flat(index, dtype).to("cuda")
        return self.tensors[key]


def called(case, storages):
    args = recorded.decode(case["args"], storages)
    kwargs = {k: recorded.decode(v, storages) for k, v in case["kwargs"].items()}
    return recorded.function(case["call"])(*args, **kwargs)


def distance(a, b):
    """How many numbers of a floating dtype lie between two arrays' elements, at most."""
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[a.itemsize]
    ordered = []
    for x in (a, b):
        bits = np.ascontiguousarray(x).view(kind).astype(np.int64)
        ordered.append(np.where(bits < 0, np.iinfo(kind).min - bits, bits))
    apart = np.abs(ordered[0] - ordered[1]).astype(np.float64)
    return float(np.max(np.where(np.isnan(a) & np.isnan(b) | (a == b), 0, apart), initial=0))


def differing(here, there):
    """How a result on the device differs from the host's; empty where it does not."""
    if isinstance(here, (list, tuple)):
        if not isinstance(there, (list, tuple)) or len(here) != len(there):
            return f"{there!r} instead of {here!r}"
        return next(filter(None, (differing(a, b) for a, b in zip(here, there, strict=True))), "")
    if not isinstance(here, torch.Tensor):
        return "" if here == there or here != here else f"{there!r} instead of {here!r}"
    if (here.dtype, here.shape, here.stride()) != (there.dtype, there.shape, there.stride()):
        return f"{there.dtype} {there.shape} {there.stride()} instead of {here.dtype} {here.shape} {here.stride()}"
    a, b = recorded.array(here), recorded.array(there.cpu())
    if a.dtype.kind == "c":
        a, b = (x.view(np.float32 if x.itemsize == 8 else np.float64) for x in map(np.atleast_1d, map(np.ascontiguousarray, (a, b))))
    if a.dtype.kind != "f":
        return "" if np.array_equal(a, b) else f"{b} instead of {a}"
    far = distance(a, b)
    return "" if far <= ULP else f"{far} units in the last place: {b} instead of {a}"


def near(here, there):
    """Whether products differ by no more than other orders of adding up make of terms that cancel each other."""
    a, b = recorded.array(here), recorded.array(there.cpu())
    return bool(np.all(np.abs(a - b) <= 8 * np.finfo(a.dtype).eps * np.max(np.abs(a), initial=0)))


def on_host(value):
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value)
    return list(map(on_host, value)) if isinstance(value, (list, tuple)) else value


def play(case):
    """equal, skipped, refused: why, or differs: how."""
    try:
        here = called(case, recorded.Storages(case["storages"]))
    except Exception:
        here = None
    try:
        there = called(case, There(case["storages"]))
        torch.cuda.synchronize()  # a result in pinned memory of the host may be on its way
        if here is None:
            return "differs: accepted what the cpu refuses"
        if "out_meta" in case or not list(recorded.tensors([case["args"]])) and not case["storages"]:
            return "skipped"
        found = differing(here, there)
        if found and not recorded.difference(on_host(there), case["out"], recorded.Storages(case["storages"])):
            found = ""
        if found and case["call"].split(".")[-1] in PRODUCTS and here.shape == there.shape and near(here, there):
            found = ""
        return f"differs: {found}" if found else "equal"
    except Exception as error:
        if here is None:
            return "equal"
        return f"refused: {type(error).__name__}: {error}"
