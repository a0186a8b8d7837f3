#!/usr/bin/env python3
"""Runs a suite, unless it has passed with all that it depends on as it is now: suite.py NAME INPUT... -- COMMAND...

Inputs are files and folders, below the folder where this is called. Beside their contents the command, this script, the processor, the
interpreters and compilers, the packages of build/venv and the environment's variables of such tools count. build/suites/NAME holds the
hash of them all, from the moment when the suite has passed. CI=true runs every suite.

SUITE_PROGRESS may name a file descriptor that is told, every 20 seconds, where the suite is: `make test` keeps the output until the end.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

STAMPS = Path("build/suites")
# Of sources, by tools: folders, and the copies that packages are made with.
MADE = ("__pycache__", "node_modules", "build", ".pytest_cache", ".mypy_cache", ".ruff_cache", "libtensor.egg-info")
COPIES = (Path("bindings/node/LICENSE"), Path("bindings/python/LICENSE"))
TOOLS = ("python3", "go", "cc", "c++", "gcc", "g++", "clang", "node", "npm", "cmake", "pkg-config", "make", "ld", "build/venv/bin/python")
NAMES = ("CC", "CXX", "CPATH", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LIBRARY_PATH", "LANG", "TZ", "LAWS")
FAMILIES = ("LIBTENSOR_", "CGO_", "GO", "LD_", "LC_", "PYTHON", "PYTEST_", "NODE_", "NPM_", "OPENBLAS", "OMP_", "MALLOC_", "CUDA_", "HOSTILE_")
INTERVAL = 20  # seconds between two lines of progress


def files(path):
    """The files that an input stands for, in an order."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        sys.exit(f"suite: {path} is neither a file nor a folder")
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name not in MADE]
        found += [path for path in (Path(folder, name) for name in names) if path not in COPIES]
    return sorted(found)


def machine():
    """What the outcome may depend on beside files."""
    cpu = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    yield from (line for line in cpu if line.startswith(("model name", "flags", "Features")))
    yield f"{len(os.sched_getaffinity(0))} processors, {sorted(Path('/dev').glob('nvidia*'))}"
    yield f"{os.uname().release} {os.confstr('CS_GNU_LIBC_VERSION')}"
    for tool in (*TOOLS, *filter(None, map(os.environ.get, ("CC", "CXX")))):
        found = shutil.which(tool)
        stat = found and os.stat(found)
        yield f"{tool} {os.path.realpath(found)} {stat.st_size} {stat.st_mtime_ns}" if found else f"no {tool}"
    yield from sorted(path.name for path in Path("build/venv").glob("lib/python3*/site-packages/*.dist-info"))
    yield from (f"{k}={v}" for k, v in sorted(os.environ.items()) if k in NAMES or k.startswith(FAMILIES))


def state(inputs, command):
    """The hash of all that the suite depends on."""
    digest = hashlib.sha256()
    for text in (*machine(), *command):
        digest.update(f"{len(text)} {text}".encode())
    for path in [file for name in (__file__, *inputs) for file in files(Path(name))]:
        content = path.read_bytes() if path.is_file() else b""  # a link that leads nowhere
        digest.update(f"{path} {os.access(path, os.X_OK)} {len(content)}".encode())
        digest.update(content)
    return digest.hexdigest()


def run(name, command, progress):
    """The command's exit status. What it writes goes on, and the last line of it to whom it may interest."""
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"} if progress else {}
    # A make that the suite calls has no part in the jobs of the one that called this.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    process = subprocess.Popen(command, env=environment, **kept)
    try:
        return attend(name, process, progress) if progress else process.wait()
    finally:
        process.terminate()


def attend(name, process, progress):
    start, last = time.monotonic(), ["begun"]

    def pass_on():
        for line in process.stdout:
            print(line, end="", flush=True)
            last[0] = line.strip() or last[0]

    tell(progress, name, start, "begun")
    reader = threading.Thread(target=pass_on, daemon=True)
    reader.start()
    reader.join(INTERVAL)
    while reader.is_alive():
        tell(progress, name, start, last[0])
        reader.join(INTERVAL)
    status = process.wait()
    tell(progress, name, start, "FAILED" if status else "passed")
    return status


def tell(progress, name, start, text):
    os.write(progress, f".. {name}, {time.monotonic() - start:.0f} s: {text[-100:]}\n".encode())


def main():
    try:
        cut = sys.argv.index("--")
        name, inputs, command = sys.argv[1], sys.argv[2:cut], sys.argv[cut + 1 :]
    except (ValueError, IndexError):
        sys.exit(__doc__)
    if not command:
        sys.exit(__doc__)
    stamp, progress = STAMPS / name, os.environ.get("SUITE_PROGRESS")
    before = state(inputs, command)
    if os.environ.get("CI") != "true" and stamp.exists() and stamp.read_text() == before:
        print(f"{name}: passed before, and nothing that it depends on has changed since; `rm {stamp}` has it run again")
        return 0
    stamp.unlink(missing_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = run(name, command, progress and int(progress))
    # What changes meanwhile was not tested, or not all of it.
    if status == 0 and state(inputs, command) == before:
        STAMPS.mkdir(parents=True, exist_ok=True)
        partial = stamp.with_suffix(f".{os.getpid()}")
        partial.write_text(before)
        partial.replace(stamp)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
