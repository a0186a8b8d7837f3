"""Compares the times of small calls from C with PyTorch's C++ library, if it is installed: programs that run in turn, medians."""

import argparse
import importlib.util
import os
import statistics
import subprocess
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
CALLS = "a + b of 3 floats", "relu(linear(x)) of 64 units"


def build(compiler, source, folder, includes, libraries, names):
    """The path of a program."""
    made = os.path.join(folder, source.partition(".")[0])
    paths = [*(f"-I{path}" for path in includes), *(f"-L{path}" for path in libraries), *(f"-Wl,-rpath,{path}" for path in libraries)]
    subprocess.run([*compiler, os.path.join(here, source), "-o", made, *paths, *(f"-l{name}" for name in names)], check=True)
    return made


def programs(folder):
    include, library = os.path.join(root, "include"), os.path.join(root, "build")
    yield "libtensor", build(["cc", "-O2"], "small.c", folder, [include], [library], ["tensor"])
    if importlib.util.find_spec("torch"):
        from torch.utils.cpp_extension import include_paths, library_paths

        compiler = ["c++", "-O2", "-std=c++20", "-Wl,--no-as-needed"]
        yield "PyTorch", build(compiler, "small_torch.cpp", folder, include_paths(), library_paths(), ["torch", "torch_cpu", "c10"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each program (default 7)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = dict(programs(folder))
        times = {name: [] for name in found}
        for _ in range(options.rounds):
            for name, program in found.items():
                lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
                times[name].append([float(line) for line in lines])
    for i, call in enumerate(CALLS):
        for name, each in times.items():
            print(f"{name:10} {call} from C or C++: {statistics.median(run[i] for run in each):6.0f} ns")
        if len(times) == 2:
            print(f"ratio {statistics.median(a[i] / b[i] for a, b in zip(*times.values(), strict=True)):.2f}")


if __name__ == "__main__":
    main()
