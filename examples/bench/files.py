"""Compare the times of saving and loading with PyTorch, safetensors and NumPy, if they are installed: interleaved, medians.

files.py [--megabytes N] [--rounds N] [--folder PATH]

libtensor's save flushes the file to the disk before it replaces the old one; the other libraries do not.
"""

import argparse
import importlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import libtensor
import libtensor.safetensors
import numpy


def optional(name: str):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, safetensors_numpy = optional("torch"), optional("safetensors.numpy")
safetensors_torch = optional("safetensors.torch") if torch else None


def cases(folder: Path, count: int):
    """A name, and for each library a call."""
    arrays = {str(i): numpy.random.default_rng(i).random(count // 4, dtype="float32") for i in range(4)}
    ours = {name: libtensor.from_numpy(a) for name, a in arrays.items()}
    theirs = torch and {name: torch.from_numpy(a) for name, a in arrays.items()}

    def path(library: str, suffix: str) -> str:
        return str(folder / f"{library}.{suffix}")

    yield (
        "save",
        {
            "libtensor": lambda: libtensor.save(ours, path("lt", "pt")),
            "torch": torch and (lambda: torch.save(theirs, path("torch", "pt"))),
        },
    )
    yield (
        "load",
        {
            "libtensor": lambda: libtensor.load(path("lt", "pt")),
            "torch": torch and (lambda: torch.load(path("torch", "pt"))),
        },
    )
    yield (
        "load, mapped",
        {
            "libtensor": lambda: libtensor.load(path("lt", "pt"), mmap=True),
            "torch": torch and (lambda: torch.load(path("torch", "pt"), mmap=True)),
        },
    )
    st = libtensor.safetensors
    package, values = (safetensors_torch, theirs) if safetensors_torch else (safetensors_numpy, arrays)
    yield (
        "safetensors: save",
        {
            "libtensor": lambda: st.save_file(ours, path("lt", "st")),
            "safetensors": package and (lambda: package.save_file(values, path("package", "st"))),
        },
    )
    yield (
        "safetensors: load, mapped",
        {
            "libtensor": lambda: st.load_file(path("lt", "st")),
            "safetensors": safetensors_torch and (lambda: safetensors_torch.load_file(path("package", "st"))),
        },
    )
    yield (
        "safetensors: load, read",
        {
            "libtensor": lambda: st.load_file(path("lt", "st"), mmap=False),
            "safetensors": safetensors_numpy and (lambda: safetensors_numpy.load_file(path("package", "st"))),
        },
    )
    first, array = ours["0"], arrays["0"]
    yield (
        "npy: save a quarter",
        {
            "libtensor": lambda: libtensor.save_npy(first, path("lt", "npy")),
            "numpy": lambda: numpy.save(path("numpy", "npy"), array),
        },
    )
    yield (
        "npy: load a quarter",
        {
            "libtensor": lambda: libtensor.load_npy(path("lt", "npy")),
            "numpy": lambda: numpy.load(path("numpy", "npy")),
        },
    )


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    kept = call()
    taken = time.perf_counter() - start
    del kept
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--folder",
        help="where the files go; the system's temporary folder unless given",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, calls in cases(Path(folder), options.megabytes * 250_000):
            times: dict[str, list[float]] = {library: [] for library, call in calls.items() if call}
            for turn in range(options.rounds + 1):
                for library in times:
                    taken = seconds(calls[library])
                    if turn:
                        times[library].append(taken)
            cells = "".join(f"  {library} {statistics.median(t) * 1e3:8.2f} ms" for library, t in times.items())
            ratios = [
                statistics.median(a / b for a, b in zip(times["libtensor"], t, strict=True)) for n, t in times.items() if n != "libtensor"
            ]
            print(
                f"{name + f' ({options.megabytes} MB)':38}{cells}" + "".join(f"  ratio {r:.2f}" for r in ratios),
                flush=True,
            )


if __name__ == "__main__":
    main()
