"""What the programs here that measure functions of the built package have in common."""

import argparse
import os
import struct
import subprocess
import sys

TIERS = ("baseline", "avx2", "avx512")


def arguments(doc, functions, count, what):
    """The command line of a program that measures some of the functions, with `count` arguments unless it says otherwise."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=count, metavar="N", help=what)
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=TIERS)
    parser.add_argument("--functions", nargs="+", metavar="NAME", choices=list(functions), default=list(functions))
    parser.add_argument("--evaluate", nargs=2, metavar=("NAME", "DTYPE"), help=argparse.SUPPRESS)
    return parser.parse_args()


def answers(program, name, dtype, tier, lists):
    """What `program --evaluate NAME DTYPE` prints for lists of numbers: a process of its own, which has the tier from the start."""
    return subprocess.run(
        [sys.executable, program, "--evaluate", name, dtype],
        input="\n".join(" ".join(v.hex() for v in numbers) for numbers in lists),
        text=True,
        check=True,
        capture_output=True,
        env=os.environ | {"LIBTENSOR_CPU": tier},
    ).stdout


def rounded(value, single):
    """The number as the dtype holds it, which has single precision or double."""
    return struct.unpack("f", struct.pack("f", value))[0] if single else value
