#!/usr/bin/env python3
"""Measures the vector mathematics of every CPU tier and prints docs/accuracy.md's tables.

Builds measure.cpp once per tier that this machine can run, sweeps every function in float32 and
float64, checks special values and independence of the lane, and compares hard cases with mpmath.
Exits with 1 when an error of more than one unit in the last place (ulp) or a wrong special value
is found. Needs g++ with libquadmath; mpmath goes into a virtual environment of its own.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
TIERS = {  # name: (compiler flags, CPU flags it needs)
    "baseline": ([], []),
    "AVX2": (["-march=x86-64-v3"], ["avx2", "fma"]),
    "AVX-512": (["-march=x86-64-v4"], ["avx512f", "avx512dq", "avx512vl"]),
}
DTYPES = ("float32", "float64")
# Difficult arguments: the double closest to a multiple of pi/2, both ends of the range, subnormal results, results next to a zero of the function.
HARD = {
    "sin": ["0x1.6ac5b262ca1ffp+849", "0x1.921fb54442d18p+1", "0x1p+1023", "0x1p-1074", "1e22"],
    "cos": ["0x1.6ac5b262ca1ffp+849", "0x1.921fb54442d18p+0", "0x1.fffffffffffffp+1023", "1e22"],
    "tan": ["0x1.6ac5b262ca1ffp+849", "0x1.921fb54442d18p+0", "0x1.fffffffffffffp+1023", "1e22"],
    "exp": ["709.782712893384", "-708.5", "-745.13", "1e-300"],
    "exp2": ["1023.9999999999999", "-1022.5", "-1074.49"],
    "expm1": ["709.782712893384", "0.3465735902799727", "-37.4", "1e-310"],
    "sigmoid": ["-708.5", "-745.1", "36.7", "-0.3465"],
    "log": ["0x1.fffffffffffffp-1", "0x1.0000000000001p+0", "0x1p-1074"],
    "log2": ["0x1.fffffffffffffp-1", "0x1.0000000000001p+0", "0x1p-1074"],
    "log10": ["0x1.fffffffffffffp-1", "0x1.0000000000001p+0", "1e22"],
    "log1p": ["-0x1.fffffffffffffp-1", "0x1p-1074", "0x1p-53", "0x1.fffffffffffffp+1023"],
    "acosh": ["0x1.0000000000001p+0", "0x1.fffffffffffffp+1023"],
    "atanh": ["0x1.fffffffffffffp-1", "0x1p-1074"],
    "asin": ["0x1.fffffffffffffp-1", "0.5"],
    "acos": ["0x1.fffffffffffffp-1", "-0x1.fffffffffffffp-1", "0.5"],
    "erf": ["0x1p-1074", "1e-310", "5.9", "1.0"],
    "erfc": ["26.5", "27.2", "-5.8", "1e-20"],
    "sinh": ["710.4758600739439", "0x1p-1074"],
    "cosh": ["710.4758600739439", "0x1p-1074"],
    "atan2": ["0x1p-1074", "0x1.8p+0", "0x1p-1074", "0x1p-1073", "1e-300", "1e20"],
    "pow": ["0x1.0000000000001p+0", "3e18", "0x1.fffffffffffffp-1", "-6e18", "2", "-1074.4"],
    "hypot": ["0x1p-1074", "0x1p-1074", "0x1p+1023", "0x1p+1023", "1e-200", "1e-201"],
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stride", type=int, default=101, metavar="N",
                        help="measure every Nth float32; 1 is exhaustive (default %(default)s)")
    parser.add_argument("--count", type=int, default=200_000, metavar="N",
                        help="doubles of each of nine distributions (default %(default)s)")
    parser.add_argument("--tiers", nargs="+", choices=list(TIERS), default=list(TIERS),
                        help="tiers to measure (default: all that this machine can run)")
    parser.add_argument("--functions", nargs="+", metavar="NAME", help="only these functions")
    parser.add_argument("--compiler", default="g++", help="C++ compiler (default %(default)s)")
    return parser.parse_args()


def with_mpmath():
    """Runs this script again in a virtual environment that has mpmath, unless it is there."""
    try:
        import mpmath  # noqa: F401
        return
    except ImportError:
        pass
    home = pathlib.Path(tempfile.gettempdir()) / f"libtensor-accuracy-{os.getuid()}"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "mpmath"], check=True)
    os.execv(python, [str(python), *sys.argv])


def cpu_flags():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    line = next((l for l in text.splitlines() if l.startswith("flags")), ":")
    return set(line.split(":")[1].split())


def build(compiler, tier, folder):
    program = pathlib.Path(folder) / tier
    flags = "-O3 -std=c++17 -fno-exceptions -fno-rtti".split() + TIERS[tier][0]
    subprocess.run([compiler, *flags, f"-I{HERE.parent / 'src'}", str(HERE / "measure.cpp"),
                    "-lquadmath", "-o", str(program)], check=True)
    return program


def output(program, *words, text=None):
    run = subprocess.run([program, *words], input=text, capture_output=True, text=True, check=True)
    sys.stderr.write(run.stderr)
    return run.stdout.split()


def true_value(name, args):
    """The function in arithmetic that is exact for this purpose, by mpmath."""
    from mpmath import mp
    # Reducing the largest argument by pi uses up 1024 bits.
    mp.prec = 1400 if name in ("sin", "cos", "tan") else 2400 if name == "sigmoid" else 400
    special = {
        "exp2": lambda x: mp.mpf(2) ** x,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
        "log2": lambda x: mp.log(x) / mp.log(2),
        "log10": lambda x: mp.log(x) / mp.log(10),
        "pow": lambda x, y: mp.mpf(x) ** y,
        "expm1": mp.expm1, "log1p": mp.log1p,
    }
    return special.get(name, getattr(mp, name, None))(*map(mp.mpf, args))


def mpmath_error(program, name, arity):
    """The largest error in ulps over the hard cases and random arguments, in float64."""
    from mpmath import mp
    rng = random.Random(name)
    low, high = {"log": (0, 9), "log2": (0, 9), "log10": (0, 9), "log1p": (-1, 9), "pow": (0, 9),
                 "acosh": (1, 9), "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1)}.get(name, (-9, 9))
    values = [float.fromhex(v) if "0x" in v else float(v) for v in HARD.get(name, [])]
    values += [rng.uniform(low, high) for _ in range(400)]
    got = output(program, "eval", name, "float64", text=" ".join(v.hex() for v in values))
    worst = 0.0
    for i, text in enumerate(got):
        want = true_value(name, values[i * arity:(i + 1) * arity])
        exponent = max(mp.frexp(want)[1] - 53, -1074) if want else -1074
        worst = max(worst, float(abs(mp.mpf(float.fromhex(text)) - want) / mp.mpf(2) ** exponent))
    return worst


def main():
    options = arguments()
    with_mpmath()
    tiers = [t for t in options.tiers if cpu_flags() >= set(TIERS[t][1])]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        programs = {tier: build(options.compiler, tier, folder) for tier in tiers}
        listed = output(programs[tiers[0]], "list")
        functions = {n: int(a) for n, a in zip(listed[::2], listed[1::2])
                     if not options.functions or n in options.functions}
        heads = [f"{dtype} {tier}" for dtype in DTYPES for tier in tiers]
        print("| function | " + " | ".join(heads) + " | float64 against mpmath |")
        print("|---" * (len(heads) + 2) + "|")
        for name, arity in functions.items():
            cells = []
            for dtype in DTYPES:
                amount = options.stride if dtype == "float32" else options.count
                for tier in tiers:
                    error, x, y, _ = output(programs[tier], "sweep", name, dtype, str(amount))
                    if float(error) > 1:
                        failures.append(f"{name} {dtype} {tier}: {error} ulp at {x} {y}")
                    for check in ("special", "lanes"):
                        bad, of = output(programs[tier], check, name, dtype)
                        if bad != "0":
                            failures.append(f"{name} {dtype} {tier}: {check}: {bad} of {of} wrong")
                    cells.append(f"{float(error):.3f}")
            worst = max(mpmath_error(programs[tier], name, arity) for tier in tiers)
            if worst > 1:
                failures.append(f"{name} float64: {worst} ulp against mpmath")
            print(f"| {name} | " + " | ".join(cells) + f" | {worst:.3f} |", flush=True)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
