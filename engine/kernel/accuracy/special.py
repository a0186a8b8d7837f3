#!/usr/bin/env python3
"""Measures the special functions that have kernels against mpmath, through the built Python package.

Prints docs/accuracy.md's second table: the largest error of each function in units in the last
place (ulp) per dtype and CPU tier. Near a zero whose argument is no floating-point number the
relative error means little: there the functions marked in ZEROS are measured in the last place of
1. What follows a colon in a name tells which arguments a row is about. Exits with 1 when an error is above 1 ulp, or above what BOUNDS states. Needs mpmath, and libtensor.
"""
import math
import random
import sys

from asking import answers, arguments, rounded

DTYPES = {"float32": (24, -149), "float64": (53, -1074)}  # precision, exponent of the least number
BOUNDS = {"special.zeta": 2} | dict.fromkeys((f"nn.functional.{n}" for n in ("selu", "silu", "softsign", "hardswish")), 2)
ZEROS = {"digamma", "lgamma", "logaddexp", "logaddexp2"}


def spread(low, high):
    """Both uniform and, towards a bound that is 0, logarithmic."""
    def draw(rng):
        if low == 0 and rng.random() < 0.5:
            return high * 2.0 ** -rng.uniform(0, 60)
        return rng.uniform(low, high)
    return draw


def towards_one(rng):
    return rng.choice((1, -1)) * (1 - 2.0 ** -rng.uniform(0, 53))


def powers(low, high):
    return lambda rng: 2.0 ** rng.uniform(low, high)


def either(*draws):
    return lambda rng: rng.choice(draws)(rng)


def near(points, bits=52):
    """Numbers around zeros or poles of a function, ever closer."""
    return lambda rng: rng.choice(points) * (1 + rng.choice((1, -1)) * 2.0 ** -rng.uniform(1, bits))


def ndtr(mp, x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_ndtr(mp, x):
    return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def ndtri(mp, p):
    """Newton's method on the logarithm of the smaller tail."""
    q = min(p, 1 - p)
    if q > 0.1:
        x = -mp.sqrt(2) * mp.erfinv(1 - 2 * q)
    else:
        x = -mp.sqrt(-2 * mp.log(q))
        for _ in range(9):
            x -= mp.log(ndtr(mp, x) / q) * ndtr(mp, x) / mp.npdf(x)
    return x if p < 0.5 else -x


def zeta(mp, s, q):
    with mp.workprec(400):  # mpmath loses digits
        return mp.zeta(s, q)


def polynomial(first, step):
    """By the recurrence, from the polynomials of degree 0 and 1."""
    def value(mp, x, n):
        before, now = mp.mpf(1), first(x)
        for k in range(1, int(n)):
            before, now = now, step(x, now, before, k)
        return now if n >= 1 else before
    return value


def chebyshev(first, shift=lambda x: x):
    value = polynomial(first, lambda x, now, before, _: 2 * x * now - before)
    return lambda mp, x, n: value(mp, shift(x), n)


def degrees(rng):
    return float(rng.choice((rng.randrange(12), rng.randrange(60))))


def whole(low, high):
    return lambda rng: float(rng.randint(low, high))


def polygamma(mp, n, x):
    with mp.workprec(300):
        return mp.polygamma(int(n), x)


def multigammaln(mp, x, p):
    with mp.workprec(300):
        return p * (p - 1) / 4 * mp.log(mp.pi) + mp.fsum(mp.loggamma(x - mp.mpf(j) / 2) for j in range(int(p)))


def chebyshev_t(mp, x, n):
    with mp.workprec(300):
        return mp.cos(n * mp.acos(x))


def chebyshev_u(mp, x, n):
    if abs(x) == 1:
        return (n + 1) * x**n
    with mp.workprec(300):
        angle = mp.acos(x)
        return mp.sin((n + 1) * angle) / mp.sin(angle)


POINTS = [either(spread(-1, 1), spread(-3, 3)), degrees]
INSIDE = either(spread(-1, 1), towards_one)
LARGE = [INSIDE, either(whole(1000, 100000), lambda rng: float(rng.randrange(1 << 24)))]
WAVES = either(spread(0, 1), spread(0, 30), powers(0, 30))
GROWING = either(spread(0, 30), spread(-90, 80))
SLOPE = either(spread(-9, 9), spread(-700, 700), powers(-60, 0), lambda rng: -(2.0 ** -rng.uniform(0, 60)))
FALLING = either(spread(0, 2), spread(0, 30), spread(0, 80))


# name: (distribution of each argument, mpmath's value)
FUNCTIONS = {
    "erfinv": ([either(spread(-1, 1), spread(0, 1), towards_one, powers(-1074, 0))], lambda mp, x: mp.erfinv(x)),
    "lgamma": ([either(spread(0, 4), spread(-9, 0), spread(4, 100), spread(100, 1e6))],
               lambda mp, x: mp.re(mp.loggamma(x))),
    "digamma": ([either(spread(0, 4), spread(-9, 0), spread(4, 100), spread(100, 1e6))],
                lambda mp, x: mp.digamma(x)),
    "i0": ([GROWING], lambda mp, x: mp.besseli(0, x)),
    "special.i1": ([GROWING], lambda mp, x: mp.besseli(1, x)),
    "special.i0e": ([GROWING], lambda mp, x: mp.besseli(0, x) * mp.exp(-abs(x))),
    "special.i1e": ([GROWING], lambda mp, x: mp.besseli(1, x) * mp.exp(-abs(x))),
    "special.bessel_j0": ([either(WAVES, near([2.404825557695773, 5.520078110286311]))], lambda mp, x: mp.besselj(0, x)),
    "special.bessel_j1": ([either(WAVES, near([3.8317059702075125, 7.015586669815619]))], lambda mp, x: mp.besselj(1, x)),
    "special.bessel_y0": ([either(WAVES, near([0.8935769662791675, 3.957678419314858]))], lambda mp, x: mp.bessely(0, x)),
    "special.bessel_y1": ([either(WAVES, near([2.197141326031017, 5.429681040794135]))], lambda mp, x: mp.bessely(1, x)),
    "special.modified_bessel_k0": ([FALLING], lambda mp, x: mp.besselk(0, x)),
    "special.modified_bessel_k1": ([FALLING], lambda mp, x: mp.besselk(1, x)),
    "special.scaled_modified_bessel_k0": ([FALLING], lambda mp, x: mp.besselk(0, x) * mp.exp(x)),
    "special.scaled_modified_bessel_k1": ([FALLING], lambda mp, x: mp.besselk(1, x) * mp.exp(x)),
    "special.spherical_bessel_j0": ([either(spread(0, 1), spread(-30, 30))], lambda mp, x: mp.sinc(x)),
    "special.airy_ai": ([either(spread(-12, 12), spread(-100, 20))], lambda mp, x: mp.airyai(x)),
    "special.entr": ([either(spread(0, 9), spread(0.9, 1.1))], lambda mp, x: -x * mp.log(x)),
    "special.erfcx": ([either(spread(-9, 9), spread(0, 1), spread(0, 1e6))],
                      lambda mp, x: mp.exp(x * x) * mp.erfc(x)),
    "special.ndtr": ([either(spread(-3, 3), spread(-12, 9))], ndtr),
    "special.log_ndtr": ([either(spread(-3, 3), spread(-30, 12))], log_ndtr),
    "special.ndtri": ([either(spread(0, 1), spread(0.4, 0.6))], ndtri),
    "special.chebyshev_polynomial_t": (POINTS, chebyshev(lambda x: x)),
    "special.chebyshev_polynomial_u": (POINTS, chebyshev(lambda x: 2 * x)),
    "special.chebyshev_polynomial_v": (POINTS, chebyshev(lambda x: 2 * x - 1)),
    "special.chebyshev_polynomial_w": (POINTS, chebyshev(lambda x: 2 * x + 1)),
    "special.shifted_chebyshev_polynomial_t": (POINTS, chebyshev(lambda x: x, lambda x: 2 * x - 1)),
    "special.hermite_polynomial_h": (POINTS, polynomial(lambda x: 2 * x, lambda x, p, q, k: 2 * (x * p - k * q))),
    "special.hermite_polynomial_he": (POINTS, polynomial(lambda x: x, lambda x, p, q, k: x * p - k * q)),
    "special.laguerre_polynomial_l": (POINTS, polynomial(
        lambda x: 1 - x, lambda x, p, q, k: ((2 * k + 1 - x) * p - k * q) / (k + 1))),
    "special.legendre_polynomial_p": (POINTS, polynomial(
        lambda x: x, lambda x, p, q, k: ((2 * k + 1) * x * p - k * q) / (k + 1))),
    "sinc": ([either(spread(0, 1), spread(-30, 30))], lambda mp, x: mp.sincpi(x)),
    "logit": ([either(spread(0, 1), spread(0.4, 0.6))], lambda mp, x: mp.log(x / (1 - x))),
    "rsqrt": ([spread(0, 1e6)], lambda mp, x: 1 / mp.sqrt(x)),
    "xlogy": ([spread(-9, 9), either(spread(0, 9), spread(0.9, 1.1))], lambda mp, x, y: x * mp.log(y)),
    "special.xlog1py": ([spread(-9, 9), either(spread(-1, 9), spread(0, 1))],
                        lambda mp, x, y: x * mp.log1p(y)),
    "logaddexp": ([spread(-9, 9), spread(-9, 9)], lambda mp, x, y: mp.log(mp.exp(x) + mp.exp(y))),
    "logaddexp2": ([spread(-9, 9), spread(-9, 9)],
                   lambda mp, x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2)),
    "igamma": ([either(spread(0.1, 30), powers(-9, 9)), either(spread(0, 60), powers(-9, 9))],
               lambda mp, a, x: mp.gammainc(a, 0, x, regularized=True)),
    "igammac": ([either(spread(0.1, 30), powers(-9, 9)), either(spread(0, 60), powers(-9, 9))],
                lambda mp, a, x: mp.gammainc(a, x, mp.inf, regularized=True)),
    "special.zeta": ([spread(1.1, 20), spread(0.1, 30)], zeta),
    "polygamma": ([whole(2, 150), either(spread(0, 4), spread(-9, 0), spread(4, 100), near([-1, -4], 20))], polygamma),
    "polygamma: order 1": ([whole(1, 1), either(spread(0, 4), spread(4, 100))], polygamma),
    "special.multigammaln": ([either(spread(20, 40), spread(40, 1e6)), whole(1, 40)], multigammaln),
    "nn.functional.elu": ([SLOPE], lambda mp, x: x if x > 0 else mp.expm1(x)),
    "nn.functional.selu": ([SLOPE], lambda mp, x: mp.mpf("1.0507009873554804934193349852946") * (
        x if x > 0 else mp.mpf("1.6732632423543772848170429916717") * mp.expm1(x))),
    "nn.functional.logsigmoid": ([SLOPE], lambda mp, x: -mp.log1p(mp.exp(-x))),
    "nn.functional.gelu": ([SLOPE], lambda mp, x: x * ndtr(mp, x)),
    "nn.functional.silu": ([SLOPE], lambda mp, x: x / (1 + mp.exp(-x))),
    "nn.functional.mish": ([SLOPE], lambda mp, x: x * mp.tanh(mp.log1p(mp.exp(x)))),
    "nn.functional.tanhshrink": ([either(spread(-4, 4), powers(-60, 4))], lambda mp, x: x - mp.tanh(x)),
    "nn.functional.softsign": ([SLOPE], lambda mp, x: x / (1 + abs(x))),
    "nn.functional.hardswish": ([SLOPE], lambda mp, x: x * min(max(x + 3, 0), 6) / 6),
    "special.chebyshev_polynomial_t: large degrees": (LARGE, chebyshev_t),
    "special.chebyshev_polynomial_u: large degrees": (LARGE, chebyshev_u),
    "special.legendre_polynomial_p: large degrees": ([INSIDE, whole(1000, 3000)], None),
    "special.laguerre_polynomial_l: large degrees": ([either(spread(0, 1), spread(0, 12000)), whole(1000, 3000)], None),
}
for row, (draws, value) in FUNCTIONS.items():
    if value is None:
        FUNCTIONS[row] = draws, FUNCTIONS[row.split(":")[0]][1]
# Functions that take a Python integer, at this place, for all elements.
INTEGER_AT = {"polygamma": 0, "special.multigammaln": 1}
# Rows with expensive reference values, and the divisor of their number of arguments.
SLOW = {"polygamma": 4, "special.legendre_polynomial_p: large degrees": 20, "special.laguerre_polynomial_l: large degrees": 20}


def evaluate(name, dtype):
    """The library's side."""
    import libtensor

    function, name = libtensor, name.split(":")[0]
    for part in name.split("."):
        function = getattr(function, part)
    columns = [[float.fromhex(word) for word in line.split()] for line in sys.stdin]
    at = INTEGER_AT.get(name)
    out = [0.0] * len(columns[0])
    for integer in sorted(set(columns[at])) if at is not None else [None]:
        places = [i for i in range(len(out)) if integer is None or columns[at][i] == integer]
        given = [libtensor.tensor([c[i] for i in places], dtype=getattr(libtensor, dtype)) for c in columns]
        if integer is not None:
            given[at] = int(integer)
        for i, value in zip(places, function(*given).tolist(), strict=True):
            out[i] = value
    print(*(v.hex() for v in out))


def true_values(name, columns):
    from mpmath import mp

    mp.prec = 200
    value = FUNCTIONS[name][1]
    return [value(mp, *map(mp.mpf, args)) for args in zip(*columns, strict=True)]


def error(got, want, name, dtype):
    """The distance in ulps of the true value."""
    from mpmath import mp

    if mp.isinf(want) or mp.isnan(want):
        return 0.0 if repr(got) == repr(float(want)) else math.inf
    precision, least = DTYPES[dtype]
    scale = max(abs(want), 1) if name in ZEROS else abs(want)
    last = max(mp.frexp(scale)[1] - precision, least) if scale else least
    if not math.isfinite(got):
        return 0.0 if abs(want) >= mp.mpf(2) ** (128 if dtype == "float32" else 1024) else math.inf
    return float(abs(mp.mpf(got) - want) / mp.mpf(2) ** last)


def main():
    options = arguments(__doc__, FUNCTIONS, 4000, "arguments of each function")
    if options.evaluate:
        evaluate(*options.evaluate)
        return
    print("| function | " + " | ".join(f"{d} {t}" for d in DTYPES for t in options.tiers) + " |")
    print("|---" * (1 + len(DTYPES) * len(options.tiers)) + "|")
    failed = False
    for name in options.functions:
        cells = []
        for dtype in DTYPES:
            rng = random.Random(name)
            draws = FUNCTIONS[name][0]
            count = max(options.count // SLOW.get(name, 1), 1)
            columns = [[rounded(draw(rng), dtype == "float32") for _ in range(count)] for draw in draws]
            wanted = true_values(name, columns)
            for tier in options.tiers:
                out = answers(__file__, name, dtype, tier, columns)
                errors = [error(float.fromhex(g), w, name, dtype) for g, w in zip(out.split(), wanted, strict=True)]
                worst = max(range(len(errors)), key=errors.__getitem__)
                print(name, dtype, tier, errors[worst], [c[worst] for c in columns], file=sys.stderr)
                cells.append(f"{errors[worst]:.2f}")
                failed |= errors[worst] > BOUNDS.get(name, 1)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
