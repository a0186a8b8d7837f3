"""Checks that a sanitized library tells of one element beyond a block, in each language that it is written in.

A caller that gives blocks shorter than it says makes the library read or write beyond them: AddressSanitizer must end each of these
programs with a report from the expected source. `sanitize` runs this first, since a watch that sees nothing lets every law pass."""

import os
import subprocess
import sys

CALL = """
import ctypes, sys
sys.path.insert(0, {here!r})
from library import NAMES, Device, Library, Scalar, c_int64, c_void_p, byref
library, made = Library(), c_void_p()
libc = ctypes.CDLL(None)
libc.malloc.restype = c_void_p
def blob(n, dtype, said):  # a tensor of `said` elements over memory for n
    size = 4 if dtype == "float32" else 8
    memory = c_void_p(libc.malloc(n * size))
    ctypes.memset(memory, 0, n * size)
    t = c_void_p()
    one, sizes = (c_int64 * 1)(1), (c_int64 * 1)(said)
    library.do("tensor_from_blob", memory, said * size, NAMES.index(dtype), sizes, 1, one, 1, None, None, False, byref(t))
    return t
"""
CASES = {
    "a kernel": ('library.do("tensor_exp", blob(1000, "float32", 1001), byref(made))', "src/units/"),
    "an indexed read": ('library.do("tensor_take", blob(3, "float32", 3), blob(100, "int64", 101), byref(made))', "src/units/"),
    "random numbers in C": ('library.do("tensor_uniform_", blob(1000, "float32", 1001), 0.0, 2.0, None)', "engine/random/"),
    "small sums in Go": ('t = blob(3, "float32", 4); library.do("tensor_mul", t, t, byref(made))', "engine/kernel/tiny.go"),
    "a block of the library's own": (
        't = c_void_p(); library.do("tensor_zeros", (c_int64 * 1)(3), 1, NAMES.index("float32"), -1, Device(-1, -1), byref(t))\n'
        'library.do("tensor_data_ptr", t, byref(made)); ctypes.string_at(made.value, 13)',
        "12-byte region",
    ),
}


def main():
    environment = os.environ | {"LD_PRELOAD": os.environ["LAWS_PRELOAD"]}
    missed = 0
    for name, (call, where) in CASES.items():
        program = CALL.format(here=os.path.dirname(os.path.abspath(__file__))) + call
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, errors="replace")
        if "heap-buffer-overflow" not in done.stderr or where not in done.stderr:
            missed += 1
            print(f"NOT REPORTED: {name}, expected in {where}: status {done.returncode}\n{done.stdout}{done.stderr[-1500:]}")
    print(f"sanitized library: {len(CASES) - missed} of {len(CASES)} overflows reported")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
