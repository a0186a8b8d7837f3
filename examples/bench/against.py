"""Time two builds of libtensor against each other: the cases interleaved, the least of several runs in several processes.

against.py OLD NEW [--only GLOB] [--family NAME] [--rounds N] [--processes N] [--threads N]
           [--above RATIO]

OLD and NEW are source trees in which `make lib` was run. A ratio above 1 means that NEW is slower. Memory addresses differ from process to
process, and change single cases by a third: compare a tree with itself to see how much."""

import argparse
import fnmatch
import math
import os
import subprocess
import sys
from pathlib import Path

from cases import cases

# The other process: reads the number of a case and of the runs, answers with the nanoseconds of a call.
WORKER = """
import sys, time
import libtensor
from cases import cases
libtensor.set_num_threads(int(sys.argv[1]))
made = {}
chosen = list(cases())
for line in sys.stdin:
    at = int(line)
    if at not in made:
        made.clear()
        try:
            call = chosen[at][2]("libtensor", libtensor)
            call()
            start = time.perf_counter_ns()
            call()
            made[at] = call, max(1, min(20000, 10_000_000 // max(time.perf_counter_ns() - start, 1)))
        except Exception:
            made[at] = None, 0
    call, repeat = made[at]
    if call is None:
        print("inf", flush=True)
        continue
    start = time.perf_counter_ns()
    for _ in range(repeat):
        call()
    print((time.perf_counter_ns() - start) / repeat, flush=True)
"""


def worker(tree: Path, threads: int) -> "subprocess.Popen[str]":
    paths = [str(tree / "bindings/python"), str(Path(__file__).parent)]
    environment = {
        **os.environ,
        "LIBTENSOR_LIBRARY": str(tree / "build/libtensor.so"),
        "PYTHONPATH": os.pathsep.join(paths),
        "OPENBLAS_THREAD_TIMEOUT": "4",
    }
    command = [sys.executable, "-P", "-c", WORKER, str(threads)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(process: "subprocess.Popen[str]", number: int) -> float:
    assert process.stdin and process.stdout
    print(number, file=process.stdin, flush=True)
    return float(process.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", default="*", help="run the cases whose names match a pattern")
    parser.add_argument("--family", help="run one family of cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=3, help="of each build, one after the other")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--above", type=float, default=1.1, help="name the cases whose ratio is larger")
    options = parser.parse_args()
    chosen = {
        number: f"{family}: {name}"
        for number, (family, name, _) in enumerate(cases())
        if fnmatch.fnmatch(name, options.only) and options.family in (None, family)
    }
    least = {number: [math.inf, math.inf] for number in chosen}
    for generation in range(options.processes):
        workers = [worker(tree.resolve(), options.threads) for tree in (options.old, options.new)]
        for done, (number, name) in enumerate(chosen.items()):
            for _ in range(options.rounds):
                least[number] = [min(t, ask(w, number)) for t, w in zip(least[number], workers, strict=True)]
            if sys.stderr.isatty():
                share = (generation + done / len(chosen)) / options.processes
                print(f"\r{share:4.0%} {name:60}", end="", file=sys.stderr)
        for w in workers:
            w.communicate()
    ratios = {chosen[number]: new / old for number, (old, new) in least.items() if math.isfinite(old + new)}
    for name, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        if ratio > options.above:
            print(f"{ratio:6.2f}  {name}")
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    print(f"{len(ratios)} cases: geometric mean of NEW to OLD {mean:.3f}")


if __name__ == "__main__":
    main()
