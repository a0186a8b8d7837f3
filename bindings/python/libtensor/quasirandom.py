"""Quasirandom sequences: points that fill the unit cube more evenly than random ones."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from . import Generator, Tensor, arange, cat, get_default_dtype, int64, no_grad, randint, tensor, zeros
from . import dtype as _dtype

__all__ = ["SobolEngine"]

_BITS = 30


@lru_cache(maxsize=1)
def _table() -> tuple[bytes, int]:
    """Returns the table of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections" (2008): for each
    dimension from the second on, half the distance of its primitive polynomial from the one before, and the free bits of the first
    direction numbers m_i, which are odd and less than 2**i, packed into one integer."""
    data = (Path(__file__).parent / "_data" / "sobol.bin").read_bytes()
    count = int.from_bytes(data[:2], "little")
    return data[2 : 2 + count], int.from_bytes(data[2 + count :], "little")


def _direction_numbers(dimension: int) -> list[list[int]]:
    """Returns 30 direction numbers, scaled by 2**30, for each dimension."""
    gaps, packed = _table()
    # Only the bits of the requested dimensions, to keep shifts small.
    rows, polynomial = [[1 << (_BITS - 1 - i) for i in range(_BITS)]], 1
    sizes = []
    for gap in gaps[: dimension - 1]:
        polynomial += 2 * gap
        degree = polynomial.bit_length() - 1
        sizes.append((polynomial, degree, degree * (degree - 1) // 2))
    free = (packed & ((1 << sum(size for _, _, size in sizes)) - 1)).to_bytes(sum(size for _, _, size in sizes) // 8 + 8, "little")
    at = 0
    for polynomial, degree, size in sizes:
        bits = int.from_bytes(free[at // 8 : (at + size) // 8 + 1], "little") >> at % 8
        at += size
        m = []
        for i in range(degree):
            m.append((bits & ((1 << i) - 1)) << 1 | 1)
            bits >>= i
        for i in range(degree, _BITS):
            value = m[i - degree] ^ m[i - degree] << degree
            for k in range(1, degree):
                if polynomial >> (degree - k) & 1:
                    value ^= m[i - k] << k
            m.append(value)
        rows.append([value << (_BITS - 1 - i) for i, value in enumerate(m)])
    return rows


def _advance(quasi: Tensor, n: int, state: Tensor, generated: int) -> Tensor:
    """Returns the `n` points (n, dimension) after `quasi`, as integers: each differs from it by the direction numbers of the bits in which
    the Gray codes of their indices differ."""
    index = arange(generated + 1, generated + n + 1, dtype=int64, device=quasi.device)
    code = (index ^ (index >> 1)) ^ (generated ^ (generated >> 1))
    points = quasi.expand(n, -1).clone()
    for bit in range(min(_BITS, (generated + n).bit_length())):
        points ^= ((code >> bit) & 1).unsqueeze(-1) * state[:, bit]
    return points


def _sobol_engine_initialize_state_(self: Tensor, dimension: int) -> Tensor:
    """Fills `self` (dimension, 30) with direction numbers."""
    return self.copy_(tensor(_direction_numbers(dimension), dtype=self.dtype))


def _sobol_engine_draw(
    quasi: Tensor, n: int, sobolstate: Tensor, dimension: int, num_generated: int, dtype: _dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the `n` points after `quasi`, in [0, 1), and the last of them as integers."""
    wanted = get_default_dtype() if dtype is None else dtype
    if not wanted.is_floating_point:
        raise NotImplementedError(f"_sobol_engine_draw: expected a floating-point dtype, but got {wanted}")
    points = _advance(quasi, n, sobolstate, num_generated)
    return points.to(wanted) * 2.0**-_BITS, points[-1].clone() if n > 0 else quasi.clone()


def _sobol_engine_ff_(self: Tensor, n: int, sobolstate: Tensor, dimension: int, num_generated: int) -> Tensor:
    """Replaces the point `self` by the `n`-th one after it."""
    index = num_generated + n
    code = (index ^ (index >> 1)) ^ (num_generated ^ (num_generated >> 1))
    for bit in range(_BITS):
        if code >> bit & 1:
            self ^= sobolstate[:, bit]
    return self


def _sobol_engine_scramble_(self: Tensor, ltm: Tensor, dimension: int) -> Tensor:
    """Multiplies the bits of direction numbers, the highest one first, by lower triangular matrices `ltm` (dimension, 30, 30), whose
    diagonals count as ones, modulo 2."""
    ltm = ltm.clone()
    ltm.diagonal(dim1=-2, dim2=-1).fill_(1)
    order = arange(_BITS - 1, -1, -1, dtype=int64)
    bits = (self.unsqueeze(-1) >> order) & 1  # (dimension, number, bit)
    return self.copy_(((bits @ ltm.mT) % 2 * 2**order).sum(-1))


class SobolEngine:
    """Draws points of Sobol sequences in [0, 1)^dimension, with the direction numbers of Joe and Kuo (2008).

    With `scramble`, the sequence is scrambled by random lower triangular matrices and shifts (Matousek, 1998) that are drawn from `seed`,
    or from the default generator. Raises ValueError for a `dimension` that is not in [1, MAXDIM].

    >>> torch.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = _BITS
    MAXDIM = 9721  # 21201 in PyTorch; limited by the size of the table

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = zeros(dimension, self.MAXBIT, dtype=int64, device="cpu")
        _sobol_engine_initialize_state_(self.sobolstate, dimension)
        if scramble:
            self._scramble()
        else:
            self.shift = zeros(dimension, dtype=int64, device="cpu")
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """Returns the next `n` points (n, dimension), of `dtype` or of the default dtype. Resizes and fills `out`, if it is given. Raises
        ValueError for a negative `n`.
        """
        if n < 0:
            raise ValueError(f"n must be non-negative, but got {n}")
        dtype = get_default_dtype() if dtype is None else dtype
        after_first = max(n - 1, 0) if self.num_generated == 0 else n
        before = max(self.num_generated - 1, 0)
        with no_grad():
            result, self.quasi = _sobol_engine_draw(self.quasi, after_first, self.sobolstate, self.dimension, before, dtype)
            if self.num_generated == 0 and n > 0:
                result = cat((self._first_point.to(dtype), result), dim=-2)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
        """Returns the next 2**`m` points. Raises ValueError if the total number of points is then not a power of 2, as the balance of the
        sequence requires.
        """
        n, total = 2**m, self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Restarts the sequence, and returns the engine."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skips `n` points, and returns the engine."""
        ahead, before = (n - 1, 0) if self.num_generated == 0 else (n, self.num_generated - 1)
        _sobol_engine_ff_(self.quasi, ahead, self.sobolstate, self.dimension, before)
        self.num_generated += n
        return self

    def _scramble(self) -> None:
        generator: Any = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        bits = randint(2, (self.dimension, self.MAXBIT), device="cpu", generator=generator)
        self.shift = (bits * 2 ** arange(0, self.MAXBIT, dtype=int64)).sum(-1)
        ltm = randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), device="cpu", generator=generator).tril()
        _sobol_engine_scramble_(self.sobolstate, ltm, self.dimension)

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"
