#!/usr/bin/env python3
"""Runs a suite, unless it has passed with everything that it depends on unchanged: suite.py NAME INPUT... -- COMMAND...

Inputs are files and folders, relative to the working directory. The command, this script, the processor, the interpreters and compilers,
the packages of build/venv and the environment variables of these tools are inputs too. build/suites/NAME contains the hash of all inputs
after the suite has passed. CI=true runs the suite in any case.

Under .ci/suites.py, which names a file descriptor in SUITE_EVENTS, the output goes to build/suites/NAME.log and each event (JSON, one a
line) to the descriptor."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from count import counts

STAMPS = Path("build/suites")
# Files that tools write into source folders: caches, builds and copies.
MADE = ("__pycache__", "node_modules", "build", ".pytest_cache", ".mypy_cache", ".ruff_cache", "libtensor.egg-info")
COPIES = (Path("bindings/node/LICENSE"), Path("bindings/python/LICENSE"))
TOOLS = ("python3", "go", "cc", "c++", "gcc", "g++", "clang", "node", "npm", "cmake", "pkg-config", "make", "ld", "build/venv/bin/python")
NAMES = ("CC", "CXX", "CPATH", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LIBRARY_PATH", "LANG", "TZ", "LAWS")
FAMILIES = (
    "LIBTENSOR_",
    "CGO_",
    "GO",
    "LD_",
    "LC_",
    "PYTHON",
    "PYTEST_",
    "NODE_",
    "NPM_",
    "OPENBLAS",
    "OMP_",
    "MALLOC_",
    "CUDA_",
    "HOSTILE_",
)
INTERVAL = 5  # seconds between two events of a suite that runs


def files(path):
    """Returns the files of an input in a fixed order."""
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
    """Yields what the outcome may depend on apart from files."""
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


def hash_inputs(inputs, command):
    digest = hashlib.sha256()
    for text in (*machine(), *command):
        digest.update(f"{len(text)} {text}".encode())
    for path in [file for name in (__file__, *inputs) for file in files(Path(name))]:
        content = path.read_bytes() if path.is_file() else b""  # a broken link
        digest.update(f"{path} {os.access(path, os.X_OK)} {len(content)}".encode())
        digest.update(content)
    return digest.hexdigest()


def run(command, events, log):
    """Runs the command and returns its exit status. With events, writes the output to the log."""
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"} if events else {}
    # A make that the suite calls has no part in the jobs of the make that runs this script.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "SUITE_EVENTS")}
    process = subprocess.Popen(command, env=environment, **kept)
    try:
        return attend(process, events, log) if events else process.wait()
    finally:
        process.terminate()


def attend(process, events, log):
    last = [""]

    def copy():
        with log.open("w") as file:
            for line in process.stdout:
                file.write(line)
                file.flush()
                last[0] = line.strip() or last[0]

    reader = threading.Thread(target=copy, daemon=True)
    reader.start()
    reader.join(INTERVAL)
    while reader.is_alive():
        events("running", text=last[0][-60:])
        reader.join(INTERVAL)
    return process.wait()


class Events:
    """Writes a suite's events to a file descriptor, or nowhere."""

    def __init__(self, name, descriptor):
        self.name, self.descriptor, self.start = name, descriptor, time.monotonic()

    def __bool__(self):
        return self.descriptor is not None

    def __call__(self, state, **facts):
        if self:
            event = {"name": self.name, "state": state, "seconds": time.monotonic() - self.start, **facts}
            os.write(int(self.descriptor), json.dumps(event).encode() + b"\n")


def main():
    try:
        cut = sys.argv.index("--")
        name, inputs, command = sys.argv[1], sys.argv[2:cut], sys.argv[cut + 1 :]
    except (ValueError, IndexError):
        sys.exit(__doc__)
    if not command:
        sys.exit(__doc__)
    stamp, log, events = STAMPS / name, STAMPS / f"{name}.log", Events(name, os.environ.get("SUITE_EVENTS"))
    events("started")
    before = hash_inputs(inputs, command)
    if os.environ.get("CI") != "true" and stamp.exists() and stamp.read_text() == before:
        if events:
            events("unchanged", counts=counts(log.read_text() if log.exists() else ""))
        else:
            print(f"{name}: unchanged since it passed; `rm {stamp}` runs it again")
        return 0
    stamp.unlink(missing_ok=True)
    STAMPS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = run(command, events, log)
    events("failed" if status else "passed", counts=events and counts(log.read_text()))
    # An input that changes meanwhile was not tested, or not all of it.
    if status == 0 and hash_inputs(inputs, command) == before:
        partial = stamp.with_suffix(f".{os.getpid()}")
        partial.write_text(before)
        partial.replace(stamp)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
