"""Compare the times of libtensor with NumPy, and with SciPy and PyTorch if they are installed: interleaved runs in one process, medians.

run.py [--only GLOB] [--family NAME] [--rounds N] [--threads N] [--processor-time] [--json FILE]

A ratio is the median over the rounds; below 1 means that libtensor is faster. The last lines contain each family's and the overall
geometric mean of the ratios to PyTorch.
"""

import argparse
import fnmatch
import importlib
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable

# Threads that wait for work without sleeping would take the processor from the other libraries.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import libtensor
from cases import cases


def optional(name: str):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def seconds(call: Callable[[], object], repeat: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeat):
        call()
    return (clock() - start) / repeat


def measure(calls: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Returns the seconds of a call of each library in every round, which times all of them, one after the other."""
    repeat = {}
    for name, call in calls.items():
        call()
        once = max(seconds(call, 1, clock), 1e-7)
        repeat[name] = max(1, min(20000, int(0.01 / once)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call, repeat[name], clock))
    return times


def ratio(times: dict[str, list[float]], other: str) -> float | None:
    if other not in times:
        return None
    return statistics.median(ours / theirs for ours, theirs in zip(times["libtensor"], times[other], strict=True))


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def show(value: float | None) -> str:
    if value is None:
        return "-"
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.2f} {unit}"
    return f"{value * 1e9:.0f} ns"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="run the cases whose names match a pattern")
    parser.add_argument("--family", help="run one family of cases")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0, help="threads of every library; 0 keeps each one's default")
    parser.add_argument(
        "--processor-time", action="store_true", help="measure processor time, on a machine that is shared; with --threads 1"
    )
    parser.add_argument("--json", help="write all figures to a file")
    options = parser.parse_args()
    clock = time.process_time if options.processor_time else time.perf_counter
    libraries = {"libtensor": libtensor, "numpy": optional("numpy"), "scipy": optional("scipy"), "torch": optional("torch")}
    if options.threads:
        for name in ("libtensor", "torch"):
            if libraries[name] is not None:
                libraries[name].set_num_threads(options.threads)
    print(f"{'case':42}{'libtensor':>12}{'NumPy':>12}{'SciPy':>12}{'PyTorch':>12}{'/NumPy':>9}{'/SciPy':>9}{'/PyTorch':>9}")
    rows: dict[str, dict[str, float]] = {}
    ratios: dict[str, list[float]] = {}
    for family, name, make in cases():
        if not fnmatch.fnmatch(name, options.only) or options.family not in (None, family):
            continue
        calls = {}
        for library, module in libraries.items():
            call = module and make(library, module)
            if call:
                calls[library] = call
        times = measure(calls, options.rounds, clock)
        rows[name] = {library: statistics.median(t) for library, t in times.items()}
        against = [ratio(times, other) for other in ("numpy", "scipy", "torch")]
        if against[-1]:
            ratios.setdefault(family, []).append(against[-1])
            rows[name]["ratio"] = against[-1]
        cells = [f"{show(rows[name].get(library)):>12}" for library in libraries]
        cells += ["        -" if r is None else f"{r:9.2f}" for r in against]
        print(f"{name:42}{''.join(cells)}", flush=True)
    for family, values in ratios.items():
        print(f"{family}: geometric mean to PyTorch over {len(values)} cases {mean(values):.2f}; slowest {max(values):.2f}")
    if len(ratios) > 1:
        values = sum(ratios.values(), [])
        print(f"all: geometric mean to PyTorch over {len(values)} cases {mean(values):.2f}; slowest {max(values):.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
