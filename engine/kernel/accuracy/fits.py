#!/usr/bin/env python3
"""Writes engine/kernel/src/fits.h: piecewise polynomials of functions that have no short formula.

Every table cuts its interval into pieces of one width. A piece has the Chebyshev interpolant of the
function on it, truncated where 2^-61 of the function is left, as a power series about a centre: the
middle of the piece, or the function's zero where one lies in the piece or within half a piece of
it. The centre and the first two coefficients are in double length. Needs mpmath, takes minutes, and
prints each table's degree.
"""
import functools
import pathlib
import sys

from mpmath import mp, mpf

mp.prec = 180
SAMPLES = 34
TARGET = pathlib.Path(__file__).resolve().parent.parent / "src" / "fits.h"
HEAD = """// Written by engine/kernel/accuracy/fits.py; change that instead.
//
// Piecewise polynomials: fit.h says how they are read.
#ifndef LIBTENSOR_KERNEL_FITS_H
#define LIBTENSOR_KERNEL_FITS_H

#include "fit.h"

// clang-format off
namespace lt {
namespace {

"""
TAIL = """}  // namespace
}  // namespace lt
// clang-format on
#endif
"""


def chebyshev(f, low, high):
    """The coefficients of f's interpolant on [low, high], those of T_0, T_1, ..."""
    angles = [(k + mpf(1) / 2) * mp.pi / SAMPLES for k in range(SAMPLES)]
    values = [f((low + high) / 2 + (high - low) / 2 * mp.cos(a)) for a in angles]
    sums = [mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles)) * 2 / SAMPLES for j in range(SAMPLES)]
    return [sums[0] / 2, *sums[1:]]


def power_series(coefficients, low, high):
    """The same polynomial in powers of the argument."""
    scale, shift = 2 / (high - low), -(high + low) / (high - low)  # to [-1, 1]

    def times(p):
        return [shift * (p[i] if i < len(p) else 0) + (scale * p[i - 1] if i else 0) for i in range(len(p) + 1)]

    def plus(p, q):
        return [(p[i] if i < len(p) else 0) + (q[i] if i < len(q) else 0) for i in range(max(len(p), len(q)))]

    before, now, out = [mpf(1)], [shift, scale], [coefficients[0]]
    for c in coefficients[1:]:
        out = plus(out, [c * x for x in now])
        before, now = now, plus([2 * x for x in times(now)], [-x for x in before])
    return out


def piece(f, low, high, zeros):
    """(centre, Chebyshev coefficients, how many are needed, whether they are those of f / (x - centre), bounds)"""
    margin = (high - low) / 2
    centre = next((z for z in zeros if low - margin <= z <= high + margin), None)
    zero = centre is not None
    if not zero:
        centre = (low + high) / 2
    bounds = low - centre, high - centre
    terms = chebyshev((lambda t: f(centre + t) / t) if zero else (lambda t: f(centre + t)), *bounds)
    least = min(abs(mp.fsum(c * mp.chebyt(j, s) for j, c in enumerate(terms))) for s in (-1, 0, 1))
    count = len(terms)
    while count and mp.fsum(map(abs, terms[count - 1:])) < least * mpf(2) ** -61:
        count -= 1
    if count > SAMPLES - 3:
        sys.exit(f"no polynomial of degree {SAMPLES} for [{float(low)}, {float(high)}]")
    return centre, terms, count, zero, bounds


def two(x):
    high = float(x)
    return [high, float(x - mpf(high))]


def table(name, f, start, stop, density, zeros=()):
    f = functools.cache(f)
    pieces = [piece(f, start + mpf(k) / density, start + mpf(k + 1) / density, zeros)
              for k in range(int((stop - start) * density))]
    terms = max(count + zero for _, _, count, zero, _ in pieces)
    print(name, len(pieces), "pieces of degree", terms - 1, file=sys.stderr, flush=True)
    out = f"inline constexpr Fit<{terms - 2}, {len(pieces)}> {name} = {{{float(start)}, {float(density)}, {{\n"
    for centre, coefficients, _, zero, bounds in pieces:
        powers = power_series(coefficients[:terms - zero], *bounds)
        powers = [mpf(0)] * zero + powers
        numbers = two(centre) + two(powers[0]) + two(powers[1])
        numbers += [float(x) for x in powers[2:]]
        out += f"  {{{', '.join(x.hex() for x in numbers)}}},\n"
    return out + "}};\n\n"


def phase(order):
    """x (arg(J + i Y) - x + (order / 2 + 1/4) pi) as a function of u = 1/x."""
    def f(u):
        x = 1 / u
        turn = mp.expj((mpf(order) / 2 + mpf(1) / 4) * mp.pi - x)
        return x * mp.arg((mp.besselj(order, x) + mp.j * mp.bessely(order, x)) * turn)
    return f


def amplitude(order):
    def f(u):
        return mp.sqrt((mp.besselj(order, 1 / u) ** 2 + mp.bessely(order, 1 / u) ** 2) / (2 * u / mp.pi))
    return f


def temme(order):
    """c_order(mu) of the uniform expansion of the incomplete gamma functions (DLMF 8.12.10 and 8.12.11)."""
    terms = 170

    def times(a, b):
        return [mp.fsum(a[i] * b[k - i] for i in range(k + 1)) for k in range(terms)]

    # eta = mu / r with 1 / r^2 = 2 (mu - log(1 + mu)) / mu^2: Newton's method for r.
    square, r = [2 * mpf(-1) ** k / (k + 2) for k in range(terms)], [mpf(1)] + [mpf(0)] * (terms - 1)
    for _ in range(9):
        error = times(square, times(r, r))
        r = times(r, [mpf(3 * (k == 0)) / 2 - e / 2 for k, e in enumerate(error)])
    c = [-x for x in r[1:]]  # (1 - r) / mu
    for n in range(1, order + 1):
        slope = [(k + 1) * c[k + 1] for k in range(len(c) - 1)]
        sums = [a + (slope[k - 1] if k else 0) for k, a in enumerate(slope)]  # (1 + mu) c'
        c = sums[1:]  # what Stirling's coefficient cancels is left out
    return lambda mu: mp.polyval(c[::-1], mu)


def tables():
    def zeros(find, stop):
        found, k = [], 1
        while not found or found[-1] < stop + 1:
            found.append(find(k))
            k += 1
        return found

    def airy_argument(zeta):
        return mp.cbrt((3 * zeta / 2) ** 2)

    def airy_turned(u):
        """pi^(1/2) x^(1/4) (Ai(-x) - i Bi(-x)) e^(-i (zeta - pi/4)), u = 1/zeta."""
        x = airy_argument(1 / u)
        return (mp.sqrt(mp.pi) * mp.root(x, 4) * (mp.airyai(-x) - mp.j * mp.airybi(-x))
                * mp.expj(mp.pi / 4 - 1 / u))

    def log_less(f, g, factor):
        return lambda x: f(x) - factor * mp.log(x) * g(x)

    bessel_stop = 26
    for order in (0, 1):
        j, y = functools.partial(mp.besselj, order), functools.partial(mp.bessely, order)
        i, k = functools.partial(mp.besseli, order), functools.partial(mp.besselk, order)
        roots = [mpf(0)] * order + zeros(lambda n, order=order: mp.besseljzero(order, n), bessel_stop)
        yield f"bessel_j{order}_fit", j, 0, bessel_stop, 2, roots
        roots = zeros(lambda n, order=order: mp.besselyzero(order, n), bessel_stop)
        yield f"bessel_y{order}_fit", y, mpf(1) / 2, bessel_stop, 2, roots
        # Y and K near 0, for order 1 times x, less what they have of the logarithm.
        power = (lambda x: 1) if order == 0 else (lambda x: x)
        yield (f"bessel_y{order}_rest", lambda x, y=y, j=j, power=power:
               power(x) * (y(x) - 2 / mp.pi * mp.log(x) * j(x)), 0, mpf(1) / 2, 4)
        yield (f"bessel_k{order}_rest", lambda x, k=k, i=i, power=power, order=order:
               power(x) * (k(x) + (-1) ** order * mp.log(x) * i(x)), 0, 1, 4)
        yield f"bessel_amplitude{order}", amplitude(order), 0, mpf(1) / 16, 64
        yield f"bessel_phase{order}", phase(order), 0, mpf(1) / 16, 64
        yield (f"bessel_i{order}_fit", lambda x, i=i, power=power: mp.exp(-x) * i(x) / power(x), 0, 16, 2)
        yield (f"bessel_i{order}_far", lambda u, i=i: mp.exp(-1 / u) * i(1 / u) / mp.sqrt(u), 0, mpf(1) / 16, 64)
        yield f"bessel_k{order}_fit", lambda x, k=k: mp.exp(x) * k(x), 1, 16, 2
        yield (f"bessel_k{order}_far", lambda u, k=k: mp.exp(1 / u) * k(1 / u) / mp.sqrt(u), 0, mpf(1) / 16, 64)
    yield "airy_fit", mp.airyai, -10, 10, 4, [mp.airyaizero(n) for n in range(1, 16)]
    yield ("airy_far", lambda u: 2 * mp.sqrt(mp.pi) * mp.root(airy_argument(1 / u), 4) * mp.exp(1 / u)
           * mp.airyai(airy_argument(1 / u)), 0, mpf(1) / 16, 64)
    yield "airy_amplitude", lambda u: abs(airy_turned(u)), 0, mpf(1) / 16, 64
    yield "airy_phase", lambda u: mp.arg(airy_turned(u)) / u, 0, mpf(1) / 16, 64
    yield "log_fit", mp.log, mpf(11) / 16, mpf(23) / 16, 64, [mpf(1)]
    yield "log_gamma_fit", mp.loggamma, 1, 10, 16, [mpf(1), mpf(2)]
    yield "gamma_exponent", lambda d: (d - mp.log1p(d)) / d ** 2, mpf(-1) / 2, 1, 32
    for order in range(6):
        yield f"temme{order}", temme(order), mpf(-1) / 2, mpf(1) / 2, 8
    yield "digamma_fit", mp.digamma, 1, 10, 4, [mp.findroot(mp.digamma, 1.46)]


def main():
    TARGET.write_text(HEAD + "".join(table(*entry) for entry in tables()) + TAIL)


if __name__ == "__main__":
    main()
