"""Times operators in absolute terms, on one thread: nanoseconds for each element, GFLOP/s and GB/s, and the percentage of what one core
reaches, which peak.c measures first: multiply-adds in registers, and a triad over memory beyond the caches. The Fourier transforms are also
those of NumPy and SciPy (pocketfft), if they are installed.

Each time is the least processor time of all rounds: other programs on the machine only add to it.

python examples/bench/absolute.py --rounds 15
"""

import argparse
import importlib
import math
import os
import platform
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import libtensor as t

here = os.path.dirname(os.path.abspath(__file__))
LEAST = 0.02  # seconds of a measurement


def peaks():
    """The GFLOP/s of float32 and float64, and the GB/s of memory, that one core reaches."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "peak")
        subprocess.run(["cc", "-O3", "-march=native", "-ffp-contract=fast", os.path.join(here, "peak.c"), "-o", program], check=True)
        return tuple(map(float, subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()))


def processor():
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def least(call, rounds):
    """The least seconds of a call."""
    call()
    start = time.process_time()
    call()
    repeat = max(1, int(LEAST / max(time.process_time() - start, 1e-7)))
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(repeat):
            call()
        best = min(best, (time.process_time() - start) / repeat)
    return best


def cases():
    """Names, calls, elements, and floating-point operations and bytes of a call (0: not what limits it), with the dtype of the
    operations."""
    for n, d in ((1024, t.float32), (256, t.float32), (512, t.float64)):
        a, b = t.rand(n, n, dtype=d), t.rand(n, n, dtype=d)
        yield f"matmul {n}³ {str(d).partition('.')[2]}", (lambda a=a, b=b: a @ b), n * n, 2 * n**3, 0, d
    a, b, out = (t.rand(20_000_000) for _ in range(3))
    yield "add of 20 million float32 into out", lambda: t.add(a, b, out=out), a.numel(), 0, 12 * a.numel(), None
    yield "sum of 20 million float32", lambda: a.sum(), a.numel(), 0, 4 * a.numel(), None
    matrix, vector = t.rand(4096, 4096), t.rand(4096)
    yield "matrix times vector, 4096² float32", lambda: matrix @ vector, matrix.numel(), 0, 4 * matrix.numel(), None
    x = t.rand(10_000)
    for name in ("exp", "log", "tanh"):
        yield f"{name} of 10,000 float32", (lambda f=getattr(t, name): f(x)), x.numel(), 0, 0, None
    for n, d in ((10**6, t.float32), (10**4, t.float32), (10**6, t.float64)):
        keys = t.rand(n, dtype=d)
        yield f"sort of {n:,} {str(d).partition('.')[2]}", (lambda keys=keys: t.sort(keys)), n, 0, 0, None
    keys = t.randint(0, 2**62, (10**5,))
    yield "argsort of 100,000 int64", lambda: t.argsort(keys), keys.numel(), 0, 0, None


def show(name, seconds, elements, operations, size, peak):
    cells = [f"{seconds / elements * 1e9:10.3f} ns"]
    for amount, unit, most in ((operations, "GFLOP/s", peak[0]), (size, "GB/s", peak[1])):
        cells.append(f"{amount / seconds / 1e9:9.1f} {unit} {amount / seconds / 1e7 / most:4.0f} %" if amount else " " * (len(unit) + 17))
    print(f"{name:36}{''.join(cells)}".rstrip(), flush=True)


def transforms(rounds):
    """Fourier transforms of complex64 in GFLOP/s, by the usual count of 5 n log₂ n operations."""
    others = {}
    for name in ("numpy.fft", "scipy.fft"):
        try:
            others[name] = importlib.import_module(name).fft
        except ImportError:
            continue
    print(f"\n{'fft of complex64':20}" + "".join(f"{name:>24}" for name in ("libtensor", *others)))
    for power in range(10, 21, 2):
        n = 2**power
        x = t.complex(t.rand(n), t.rand(n))
        seconds = [least(lambda x=x: t.fft.fft(x), rounds)]
        array = x.numpy() if others else None
        seconds += [least(lambda call=call, array=array: call(array), rounds) for call in others.values()]
        print(f"2^{power:<18}" + "".join(f"{s * 1e6:10.2f} µs {5 * n * power / s / 1e9:4.1f} GFLOP/s" for s in seconds), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="measurements of each call, of which the least counts (default 15)")
    rounds = parser.parse_args().rounds
    t.set_num_threads(1)
    single, double, memory = peaks()
    print(f"{processor()}, {time.strftime('%Y-%m-%d')}, one thread, load average {os.getloadavg()[0]:.1f}")
    print(f"peak of one core: {single:.0f} GFLOP/s float32, {double:.0f} GFLOP/s float64; triad {memory:.1f} GB/s\n")
    for name, call, elements, operations, size, dtype in cases():
        show(name, least(call, rounds), elements, operations, size, (double if dtype == t.float64 else single, memory))
    transforms(rounds)


if __name__ == "__main__":
    sys.exit(main())
