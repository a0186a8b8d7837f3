#!/usr/bin/env python3
"""Measures the functions of complex numbers against mpmath, through the built Python package.

Prints docs/accuracy.md's table of them: the largest error of each function in units in the last place (ulp) of the absolute
value of the result, and of each of its parts alone, per dtype, in all CPU tiers. Arguments are of moderate size, close to
zeros, poles and ends of cuts, and of any size that the dtype has. Exits with 1 when an error of an absolute value is above
BOUND or what BOUNDS states, or a result is not finite that should be. Needs mpmath, and libtensor.
"""

import math
import random
import sys

from asking import answers, arguments, rounded

DTYPES = {"complex64": (24, -149, 128), "complex128": (53, -1074, 1024)}  # precision, exponents of the least and the largest number
BOUND = 8
BOUNDS = {"exp2": 64}  # angles of up to 2^1000 log 2 need multiple-precision reduction
POINTS = [0, 0.5, 1, -1, 2, 4, math.pi / 2, math.pi, -math.pi, 3 * math.pi, 2 * math.pi]


def moderate(rng, _):
    return rng.gauss(0, 1) * 10 ** rng.uniform(-3, 1.5)


def close(rng, _):
    point = rng.choice(POINTS) * (1 + rng.choice((0, 0, 1, -1)) * 2 ** -rng.uniform(3, 50))
    return point + rng.choice((0, 1)) * 10 ** -rng.uniform(2, 30)


def either(rng, largest):
    return rng.choice((moderate, close))(rng, largest)


def any_size(rng, largest):
    return rng.choice((1, -1)) * 2 ** rng.uniform(-0.98 * largest, 0.98 * largest)


GROUPS = [(moderate, moderate), (close, close), (close, moderate), (moderate, close), (any_size, any_size), (any_size, either)]

# The value in mpmath's arithmetic.
FUNCTIONS = {
    "exp": lambda mp, z: mp.exp(z),
    "exp2": lambda mp, z: mp.exp(z * mp.log(2)),
    "expm1": lambda mp, z: mp.exp(z) - 1,
    "log": lambda mp, z: mp.log(z),
    "log2": lambda mp, z: mp.log(z) / mp.log(2),
    "log10": lambda mp, z: mp.log(z) / mp.log(10),
    "log1p": lambda mp, z: mp.log(1 + z),
    "sqrt": lambda mp, z: mp.sqrt(z),
    "rsqrt": lambda mp, z: 1 / mp.sqrt(z),
    "sigmoid": lambda mp, z: 1 / (1 + mp.exp(-z)),
    "sinc": lambda mp, z: mp.sin(mp.pi * z) / (mp.pi * z) if z else mp.mpf(1),
    "sin": lambda mp, z: mp.sin(z),
    "cos": lambda mp, z: mp.cos(z),
    "tan": lambda mp, z: mp.tan(z),
    "asin": lambda mp, z: mp.asin(z),
    "acos": lambda mp, z: mp.acos(z),
    "atan": lambda mp, z: mp.atan(z),
    "sinh": lambda mp, z: mp.sinh(z),
    "cosh": lambda mp, z: mp.cosh(z),
    "tanh": lambda mp, z: mp.tanh(z),
    "asinh": lambda mp, z: mp.asinh(z),
    "acosh": lambda mp, z: mp.acosh(z),
    "atanh": lambda mp, z: mp.atanh(z),
    "abs": lambda mp, z: abs(z),
    "angle": lambda mp, z: mp.arg(z),
    "sgn": lambda mp, z: z / abs(z) if z else z,
    "square": lambda mp, z: z * z,
    "reciprocal": lambda mp, z: 1 / z,
    "mul": lambda mp, z, w: z * w,
    "div": lambda mp, z, w: z / w,
    "pow": lambda mp, z, w: mp.exp(w * mp.log(z)),
    "logaddexp": lambda mp, z, w: mp.log(mp.exp(z) + mp.exp(w)),
}
BINARY = ("mul", "div", "pow", "logaddexp")
# These functions have a branch cut on the real axis, of which mpmath knows one side: signs of zeros, which tests check, select the side.
CUT = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "asin", "acos", "atan", "asinh", "acosh", "atanh", "angle", "pow")


def evaluate(name, dtype):
    """The library's side."""
    import libtensor

    rows = [[float.fromhex(word) for word in line.split()] for line in sys.stdin]
    operands = [libtensor.tensor([complex(*row[i : i + 2]) for row in rows], dtype=getattr(libtensor, dtype)) for i in range(0, len(rows[0]), 2)]
    for v in map(complex, getattr(libtensor, name)(*operands).tolist()):
        print(v.real.hex(), v.imag.hex())


def draw(name, dtype, count):
    """Rows of the parts of the arguments."""
    rng, largest, rows = random.Random(name), DTYPES[dtype][2], []
    for group in GROUPS:
        for _ in range(count):
            row = [part(rng, largest) for part in group]
            if name == "logaddexp":  # 1 + e^(w - z) close to its zero
                row += [row[0] - rng.choice((0, 0, 0.1, 1)), row[1] + rng.choice((0, 1, -1)) * math.pi]
            elif name == "pow":
                row += [either(rng, largest), either(rng, largest)]
            elif name in BINARY:
                row += [part(rng, largest) for part in group]
            rows.append([rounded(v, dtype == "complex64") for v in row])
    return rows


def errors(name, dtype, row, got):
    """The distances from the true value in ulps of the absolute value and of the parts, None of a value that no dtype holds."""
    from mpmath import mp

    if name in CUT and (row[1] == 0 or row[0] == 0):
        return None
    precision, least, largest = DTYPES[dtype]
    try:
        want = mp.mpc(FUNCTIONS[name](mp, *(mp.mpc(*row[i : i + 2]) for i in range(0, len(row), 2))))
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
    if not mp.isfinite(want) or abs(want) > mp.mpf(2) ** (largest - 2):
        return None
    if not (math.isfinite(got[0]) and math.isfinite(got[1])):
        return math.inf, math.inf
    if name == "logaddexp":  # whichever turn the angle is in
        want += 2j * mp.pi * mp.nint((got[1] - want.imag) / (2 * mp.pi))

    def ulps(distance, value):
        return float(distance / mp.mpf(2) ** (max(mp.frexp(value)[1] - precision, least) if value else least))

    parts = [ulps(abs(g - w), abs(w)) for g, w in zip(got, (want.real, want.imag), strict=True)]
    return ulps(abs(mp.mpc(*got) - want), abs(want)), max(parts)


def main():
    options = arguments(__doc__, FUNCTIONS, 200, "arguments of each function in each of six groups")
    if options.evaluate:
        evaluate(*options.evaluate)
        return
    from mpmath import mp

    mp.prec = 1500  # of angles as large as 2^1000
    print("| function | " + " | ".join(f"{d} | its parts" for d in DTYPES) + " |")
    print("|---" * (1 + 2 * len(DTYPES)) + "|")
    failed = False
    for name in options.functions:
        cells = []
        for dtype in DTYPES:
            rows = draw(name, dtype, options.count)
            found = set()
            for tier in options.tiers:
                for row, line in zip(rows, answers(__file__, name, dtype, tier, rows).splitlines(), strict=True):
                    found.add((tuple(row), tuple(float.fromhex(word) for word in line.split())))
            whole = parts = (0.0, None)
            for row, got in found:
                e = errors(name, dtype, row, got)
                if e:
                    whole, parts = max(whole, (e[0], row)), max(parts, (e[1], row))
            print(name, dtype, *whole, *parts, file=sys.stderr)
            cells += [f"{whole[0]:.2f}", f"{parts[0]:.2f}" if parts[0] < 10 else f"{parts[0]:.0e}"]
            failed |= whole[0] > BOUNDS.get(name, BOUND)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
