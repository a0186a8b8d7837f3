"""Operands of every dtype and layout for the tests of kernels, on the host and alike on the device."""

import libtensor as torch

UNSIGNED = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]
INTEGERS = [*UNSIGNED, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128, torch.complex32]
ORDERED = [torch.bool, *INTEGERS, *FLOATS]
DTYPES = [*ORDERED, *COMPLEX]
SPECIAL = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, float("nan")]


def values(dtype, *size, high=9, seed=1):
    """Few different values, of both signs where the dtype has them, with NaN and the like among those of floats."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(0 if dtype in (torch.bool, *UNSIGNED) else -high, high, size, generator=g)
    x = x.to(dtype)
    if dtype in FLOATS and x.numel() > 20:
        at = torch.randint(0, x.numel(), (len(SPECIAL),), generator=g)
        x.view(-1)[at] = torch.tensor(SPECIAL, dtype=dtype)
    return x


def layouts(x):
    """Views of a tensor of 3 dimensions, of every kind."""
    return {
        "whole": x,
        "turned": x.permute(2, 0, 1),
        "stepped": x[:, ::2, 1:],
        "offset": x[1:, 1:-1],
        "expanded": x[:, :1].expand(-1, 5, -1),
        "empty": x[:0],
        "line": x[0, 0],
        "item": x[1, 0, 2],
        "flipped": x.flip(0, 2).transpose(0, 1),
    }


def moved(x):
    """The same view of the same memory, on the device."""
    whole = torch.empty(x.untyped_storage().nbytes() // x.element_size(), dtype=x.dtype)
    whole.copy_(torch.as_strided(x, whole.shape, (1,), 0))
    return torch.as_strided(whole.cuda(), x.shape, x.stride(), x.storage_offset())


def same(here, there):
    """Whether a result of the device is the host's to the last bit but for the bits of NaN, and lies as that does."""
    if isinstance(here, (tuple, list)):
        return len(here) == len(there) and all(map(same, here, there))
    if not isinstance(here, torch.Tensor):
        return here == there
    assert there.device.type == "cuda" and (here.dtype, here.shape, here.stride()) == (there.dtype, there.shape, there.stride())
    there = there.cpu()
    if not here.dtype.is_floating_point:
        return torch.equal(here, there)
    return torch.equal(here.signbit() & ~here.isnan(), there.signbit() & ~there.isnan()) and torch.allclose(
        here, there, 0, 0, equal_nan=True
    )


def check(f, *operands):
    """f of operands on the host and of the same on the device."""
    here, there = f(*operands), f(*map(moved, operands))
    assert same(here, there), f"{there} instead of {here}"
    return there
