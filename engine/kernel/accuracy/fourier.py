"""The relative error of Fourier transforms, in the L2 norm, against those of NumPy in 64-bit mantissas (long double).

Prints the table of docs/accuracy.md, the largest error of each kind of number of points, and exits with 1 where one is above
its bound: 5e-7 in float32, 5e-16 * log2(n) in float64. Needs a built package and NumPy 2.
"""

import argparse
import math
import os
import subprocess
import sys

from asking import TIERS

POINTS = {
    "powers of two": [2**k for k in range(1, 18)],
    "products of 2 to 13": [
        6,
        12,
        30,
        210,
        360,
        1000,
        1001,
        1848,
        2187,
        3125,
        16807,
        30030,
        44100,
    ],
    "primes up to 127": [3, 5, 7, 11, 13, 17, 31, 61, 97, 127],
    "primes by Rader's method": [131, 257, 1009, 4001, 65537],
    "all other numbers, by Bluestein's": [262, 263, 1018, 10007, 20014],
}
KINDS = ("fft", "ifft", "rfft", "irfft")


def bound(dtype, n):
    return 5e-7 if dtype == "float32" else 5e-16 * max(math.log2(n), 1)


def measure():
    """Prints for each kind of number and dtype the largest error, and how much of its bound the worst one takes."""
    import numpy as np

    import libtensor as torch

    rng = np.random.default_rng(7)
    for name, points in POINTS.items():
        for dtype in ("float32", "float64"):
            worst = share = 0.0
            for n in points:
                for kind in KINDS:
                    x = rng.standard_normal(n // 2 + 1 if kind == "irfft" else n)
                    if kind != "rfft":
                        x = x + 1j * rng.standard_normal(len(x))
                    x = x.astype(np.complex128 if kind != "rfft" else np.float64)
                    if dtype == "float32":
                        x = x.astype(np.complex64 if kind != "rfft" else np.float32)
                    keywords = {"n": n} if kind == "irfft" else {}
                    got = getattr(torch.fft, kind)(torch.from_numpy(x), **keywords).numpy()
                    want = getattr(np.fft, kind)(
                        x.astype(np.longdouble if kind == "rfft" else np.clongdouble),
                        **keywords,
                    )
                    error = float(np.linalg.norm((got - want).ravel()) / np.linalg.norm(want.ravel()))
                    worst, share = (
                        max(worst, error),
                        max(share, error / bound(dtype, n)),
                    )
            print(f"{name}|{dtype}|{worst}|{share}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=TIERS)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure()
    errors = {name: {} for name in POINTS}
    for tier in options.tiers:
        command = [sys.executable, __file__, "--measure"]
        run = subprocess.run(
            command,
            env={**os.environ, "LIBTENSOR_CPU": tier},
            capture_output=True,
            text=True,
            check=True,
        )
        for line in run.stdout.splitlines():
            name, dtype, worst, share = line.split("|")
            errors[name][dtype, tier] = (float(worst), float(share))
    columns = [(dtype, tier) for dtype in ("float32", "float64") for tier in options.tiers]
    print("| points | " + " | ".join(f"{dtype} {tier}" for dtype, tier in columns) + " |")
    print("|" + "---|" * (len(columns) + 1))
    for name, row in errors.items():
        print(f"| {name} | " + " | ".join(f"{row[c][0]:.2g}" for c in columns) + " |")
    share = max(s for row in errors.values() for _, s in row.values())
    print(f"\nthe worst error is {share:.2f} of its bound")
    return int(share > 1)


if __name__ == "__main__":
    sys.exit(main())
