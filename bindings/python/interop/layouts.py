"""Tensors of odd layouts and kinds, for tests of what becomes of them elsewhere: the values, or an error that says what would work."""

import numpy as np
import pytest

import libtensor as torch

GRID = torch.arange(12.0).view(3, 4)
LINE = torch.arange(6.0)


class Marked(torch.Tensor):
    pass


def made_in_inference_mode(t):
    with torch.inference_mode():
        return t.clone().t() if t.dim() == 2 else t.clone()


def complex_of(t):
    return torch.complex(t, t + 1)


# Tensors whose memory can be exported, whatever their strides.
SHARED = {
    "bool": lambda t: t > 2,
    "uint16": lambda t: t.to(torch.uint16) * 5000,
    "uint64": lambda t: t.to(torch.uint64) + 2**63,
    "half": lambda t: t.half(),
    "real part": lambda t: complex_of(t).real,
    "flipped": lambda t: t.flip(0),
    "subclass": lambda t: t.as_subclass(Marked),
    "inference": made_in_inference_mode,
    "detached": lambda t: (t.clone().requires_grad_() * 1).detach(),
    "read-only": lambda t: torch.from_numpy(np.frombuffer(t.tobytes(), "f4").reshape(t.shape)),
}
MATRICES = {name: lambda make=make: make(GRID) for name, make in SHARED.items()} | {
    "transposed": lambda: GRID.t(),
    "strided": lambda: GRID[::2, 1:],
    "expanded": lambda: GRID[:1].expand(3, 4),
    "overlapping": lambda: LINE.unfold(0, 3, 1),
    "offset": lambda: LINE[1:5].view(2, 2),
    "named": lambda: GRID.clone().rename("a", "b").t(),
}
VECTORS = {name: lambda make=make: make(LINE) for name, make in SHARED.items()} | {
    "column": lambda: GRID[:, 1],
    "diagonal": lambda: GRID.diagonal(),
    "expanded": lambda: LINE[:1].expand(5),
    "offset": lambda: LINE[2:],
    "empty": lambda: LINE[:0],
    "named": lambda: LINE.clone().rename("a"),
}

# What has no plain memory, and a word of the way out.
REJECTED = {
    "negative imaginary part": (lambda t: complex_of(t).conj().imag, "resolve_neg"),
    "conjugate": (lambda t: complex_of(t).conj(), "resolve_conj"),
    "requires grad": (lambda t: t.clone().requires_grad_(), "detach"),
    "has a history": (lambda t: t.clone().requires_grad_() * 2, "detach"),
    "sparse_coo": (lambda t: t.to_sparse(), "to_dense"),
    "quantized": (lambda t: torch.quantize_per_tensor(t, 0.5, 0, torch.quint8), "dequantize|no type for this dtype"),
    "meta": (lambda t: t.to("meta"), r"meta|cpu\(\)"),
    "bfloat16": (lambda t: t.bfloat16(), "another dtype|no type for this dtype"),
    "complex32": (lambda t: complex_of(t).to(torch.complex32), "another dtype|no type for this dtype"),
}
LAZY = ("negative imaginary part", "conjugate")
ERRORS = (RuntimeError, TypeError, ValueError, AttributeError, BufferError)


def values(found):
    found = found.detach().rename(None) if isinstance(found, torch.Tensor) else np.asarray(found)
    return found.tolist(), tuple(found.shape)


def of_all(*kinds, without=()):
    """The decorator of a test that is called with each tensor of some kinds, by the name of the argument `t`."""
    found = {f"{len(make().shape)}d {name}": make for kind in kinds for name, make in kind.items() if name not in without}
    return pytest.mark.parametrize("t", [pytest.param(make(), id=name) for name, make in found.items()])


def rejected(like, without=()):
    """The decorator of a test that is called with a tensor that cannot be exported and a pattern for the error, as `t` and `fact`."""
    found = {name: value for name, value in REJECTED.items() if name not in without}
    return pytest.mark.parametrize(("t", "fact"), [pytest.param(make(like), fact, id=name) for name, (make, fact) in found.items()])
