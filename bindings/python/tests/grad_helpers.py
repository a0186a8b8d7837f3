"""What the tests of gradients share."""

import gc

import libtensor as torch


def leaf(*values, dtype=torch.float32):
    return torch.tensor([float(v) for v in values], dtype=dtype, requires_grad=True)


def double_leaf(*values):
    return leaf(*values, dtype=torch.float64)


def in_use():
    gc.collect()
    torch.zeros(1)  # a call makes the library release freed objects
    return torch.memory_stats().in_use
