"""Compare the times of operators on large sparse matrices with PyTorch and SciPy, if they are installed: interleaved, medians.

sparse.py [--size N] [--entries N] [--rounds N] [--threads N]
"""

import argparse
import importlib
import math
import os
import statistics
import time
import warnings

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import libtensor
import numpy


def optional(name: str):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, scipy = optional("torch"), optional("scipy.sparse")


def operands(library, rows, columns, values, size):
    """COO and CSR of the same random entries, and the COO that is not coalesced."""
    if library is scipy:
        raw = scipy.coo_array((values, (rows, columns)), shape=(size, size))
        coo = raw.copy()
        coo.sum_duplicates()
        return raw, coo, coo.tocsr()
    raw = library.sparse_coo_tensor(
        library.from_numpy(numpy.stack([rows, columns])),
        library.from_numpy(values),
        (size, size),
    )
    coo = raw.coalesce()
    return raw, coo, coo.to_sparse_csr()


def calls(library, entries, vector, matrix, size):
    """A name, and a call."""
    (raw, coo, csr), (_, other, other_csr) = (operands(library, *each, size) for each in entries)
    if library is scipy:

        def coalesce():
            copied = raw.copy()
            copied.sum_duplicates()
            return copied

        yield from {"COO to CSR": coo.tocsr, "coalesce": coalesce}.items()
    else:
        vector, matrix = library.from_numpy(vector), library.from_numpy(matrix)
        again = [raw._indices(), raw._values(), (size, size)]
        yield from {
            "COO to CSR": coo.to_sparse_csr,
            "coalesce": lambda: library.sparse_coo_tensor(*again).coalesce(),
        }.items()
    yield from {
        "CSR x vector": lambda: csr @ vector,
        "CSR x 64 columns": lambda: csr @ matrix,
    }.items()
    yield from {
        "CSR x CSR": lambda: csr @ other_csr,
        "COO + COO": lambda: coo + other,
    }.items()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=libtensor.get_num_threads())
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    random = numpy.random.default_rng(0)
    entries = [
        (
            random.integers(0, options.size, options.entries),
            random.integers(0, options.size, options.entries),
            random.standard_normal(options.entries, dtype="float32"),
        )
        for _ in range(2)
    ]
    vector, matrix = (
        random.standard_normal(options.size, dtype="float32"),
        random.standard_normal((options.size, 64), dtype="float32"),
    )
    libraries = [library for library in (libtensor, torch, scipy) if library]
    for library in libraries[: 2 if torch else 1]:
        library.set_num_threads(options.threads)
    cases = [dict(calls(library, entries, vector, matrix, options.size)) for library in libraries]
    print(f"{'':18}" + "".join(f"{library.__name__:>16}" for library in libraries) + f"{'/ the faster':>16}")
    ratios = []
    for name in cases[0]:
        times = [[] for _ in libraries]
        for _ in range(options.rounds + 1):  # the first does not count
            for taken, case in zip(times, cases, strict=True):
                start = time.perf_counter()
                case[name]()
                taken.append(time.perf_counter() - start)
        medians = [1e3 * statistics.median(taken[1:]) for taken in times]
        line = f"{name:18}" + "".join(f"{m:13.2f} ms" for m in medians)
        if len(medians) > 1:
            ratios.append(medians[0] / min(medians[1:]))
            line += f"{ratios[-1]:16.2f}"
        print(line, flush=True)
    if ratios:
        print(f"geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")


if __name__ == "__main__":
    main()
