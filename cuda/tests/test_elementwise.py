"""Elementwise operators over as many elements as a thread has one of, over more, of which it has several at a time (cuda/elementwise.go),
and over vectors of contiguous elements (cuda/contiguous.go)."""

import os
import subprocess
import sys

import pytest
from operands import DTYPES, check

import libtensor as torch

SIZES = [(1 << 18) - 1, (1 << 18) + 1, (1 << 20) + 3]


def values(dtype, n, seed=1):
    x = torch.randint(-4, 5, (n,), generator=torch.Generator().manual_seed(seed))
    return torch.complex(x.double(), x.flip(0).double()).to(dtype) if dtype.is_complex else x.to(dtype)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.complex128], ids=str
)
@pytest.mark.parametrize("n", SIZES)
def test_lines(n, dtype):
    """Operands that are adjacent, apart, backwards, the same all along, and numbers; one, two and three of them."""
    x, y = values(dtype, 2 * n), values(dtype, 2 * n, 2)
    check(lambda x, y: (x * y, x == y, x.clone()), x[:n], y[n:])
    check(lambda x, y: (x * y, torch.where(x == y, x, y)), x[::2], y[:n])
    check(lambda x, y: (x * y[3:4], y[3:4] != x, x * 3), x[1::2], y)
    check(lambda x: (x.masked_fill(x == 1, 2), x.flip(0)), x[:n])
    check(lambda x, y: x.clone().mul_(y), x[:n], y[:n])


@pytest.mark.parametrize("n", SIZES)
def test_conversions(n):
    """Halves are read and written where they lie, other dtypes one element at a time."""
    x = values(torch.float32, n)
    for to in (torch.float16, torch.bfloat16, torch.float64, torch.int32):
        check(lambda x, to=to: (x.to(to), x.to(to) + x, torch.add(x, x, out=torch.empty_like(x, dtype=torch.float64))), x)
    check(lambda x, y: (y + x, x.clone().add_(y), torch.mul(x, 2.5, out=torch.empty_like(y))), x.half(), x + 1)
    check(lambda x, y: (y + x, x.clone().add_(y), torch.mul(y, x, out=torch.empty_like(x))), x.bfloat16(), x.bfloat16() + 1)


@pytest.mark.parametrize("rows", [511, 513, 1500])
def test_planes(rows):
    """More dimensions than one."""
    x = values(torch.float32, rows * 600).view(rows, 600)
    check(lambda x: (x + x[:, :1], x.t() + x.t()[:1], x[:, 1:] * 2, x[1:].half()[:, ::3] + 1), x)


def test_results_of_two_dtypes():
    x = values(torch.float32, (1 << 18) + 5) * 1.5
    check(lambda x: tuple(torch.frexp(x)), x)
    check(lambda x: (torch.complex(x, x), torch.complex(x, x).abs()), x)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not torch.complex32], ids=str)
def test_contiguous(dtype):
    """Vectors of adjacent elements, elements behind the last one, and operands that do not begin at a vector."""
    for n in (1, 3, 15, 16, 17, 255, 1000):
        x, y = values(dtype, n + 5), values(dtype, n + 5, 2)
        check(lambda x, y, n=n: (x[:n] * y[:n], x[:n] == y[:n], x[:n].clone(), x.clone()[:n].fill_(1), x[5:] * y[:n]), x, y)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not torch.complex32], ids=str)
@pytest.mark.parametrize("columns", [16, 48, 50])
def test_rows(columns, dtype):
    """Rows of whole vectors and of others: a row for all, a column for all, gaps between rows, numbers, and constants in memory."""
    x = values(dtype, 7 * 5 * columns).view(7, 5, columns)
    row, column = values(dtype, columns, 2), values(dtype, 35, 3).view(7, 5, 1)
    check(lambda x, row, column: (x * row, row * x, x * column, column * row, x + column[1, 2], x * 3), x, row, column)
    check(lambda x, row: (x[:, 1:4] * x[:, :3], x[1:, :, :16].clone(), x[::2] * row, torch.where(x == row, x, row)), x, row)
    check(lambda x, row: (x.clone()[:, 1:4].fill_(3), x.transpose(0, 1).contiguous(), x[:, :, 1:] * row[1:]), x, row)


HALVES = """
import libtensor as torch
x = torch.arange(-20.0, 20.0).bfloat16()
for f in (lambda x: x + x[3], lambda x: x * 0.3, torch.exp, torch.nn.functional.silu, lambda x: x.exp() > 2):
    assert torch.equal(f(x), f(x.cuda()).cpu())
"""


@pytest.mark.parametrize("capability", [75, 80])
def test_devices_without_instructions_for_bfloat16(simulation, capability):
    subprocess.run([sys.executable, "-c", HALVES], check=True, env=os.environ | {"LIBTENSOR_SIM_CAPABILITY": str(capability)})
