#!/usr/bin/env python3
"""Builds with go and tells how far it is: go_build.py ARGUMENTS OF GO BUILD. On a terminal with a bar, elsewhere with a line every 30 s.

A file of `-o` that comes out as it was keeps its time, so that nothing is made anew for it; another takes its place at once, so that
processes that have the old one go on with that.
"""

import filecmp
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INTERVAL = 30  # seconds between two lines
BAR = 40


def stale(arguments):
    """How many packages are to be compiled."""
    values = ("-o", "-ldflags", "-tags", "-buildmode", "-gcflags", "-p")
    kept, skipped = [], ("-o", "-ldflags")  # which change nothing of that
    i = 0
    while i < len(arguments):
        taken = arguments[i : i + (2 if arguments[i] in values else 1)]
        kept += taken if taken[0] not in skipped else []
        i += len(taken)
    listed = subprocess.run(["go", "list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", *kept], stdout=subprocess.PIPE, text=True)
    return set(listed.stdout.split())


def build(arguments):
    waiting = stale(arguments)
    total, begun, told, terminal = len(waiting), 0, time.monotonic(), sys.stderr.isatty()
    if total > 1:
        print(f"compiling {total} packages", file=sys.stderr, flush=True)
    process = subprocess.Popen(["go", "build", "-v", *arguments], stderr=subprocess.PIPE, text=True, errors="replace")
    for line in process.stderr:
        if line.strip() not in waiting:
            print(line, end="", file=sys.stderr, flush=True)
            continue
        begun += 1
        if terminal:
            done = BAR * begun // total
            text = f"[{'#' * done}{' ' * (BAR - done)}] {begun} of {total} packages"
            print(f"\r{text}"[: shutil.get_terminal_size().columns], end="", file=sys.stderr, flush=True)
        elif time.monotonic() - told > INTERVAL:
            told = time.monotonic()
            print(f"  {begun} of {total} packages", file=sys.stderr, flush=True)
    if terminal and begun:
        print(file=sys.stderr)
    return process.wait()


def main(arguments):
    if "-o" not in arguments:
        return build(arguments)
    at = arguments.index("-o") + 1
    target = Path(arguments[at])
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=target.parent) as folder:
        made = Path(folder, target.name)
        status = build([*arguments[:at], str(made), *arguments[at + 1 :]])
        if status == 0 and not (target.exists() and filecmp.cmp(made, target, shallow=False)):
            made.replace(target)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
