#!/usr/bin/env python3
"""Runs the programs in .ci/world: libtensor in places that are not this tree. world.py [--minutes N] [--turn N] [--list] [NAME...]

Each program says in a line `# minutes: N` how long it takes at most, and is stopped after that. --minutes chooses as many as fit, beginning
with another one every day; --turn stands for the date. A program passes with status 0; what it needs and does not find, it fails with.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).with_suffix("")
DAY = 86400


def members(folder):
    """The programs by name, with the minutes that each takes."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and os.access(path, os.X_OK):
            said = re.search(r"^# minutes: (\d+)$", path.read_text(), re.M)
            if not said:
                sys.exit(f"world: {path} has no line `# minutes: N`")
            found[path.name] = int(said.group(1))
    return found


def chosen(minutes, turn, budget):
    """The names whose turn it is: from one of them on, those that fit."""
    names = list(minutes)
    names = names[turn % len(names) :] + names[: turn % len(names)]
    kept = []
    for name in names:
        if minutes[name] <= budget - sum(minutes[n] for n in kept):
            kept.append(name)
    return kept


def run(path, minutes):
    print(f"-- {path.name}, at most {minutes} min", flush=True)
    start = time.monotonic()
    process = subprocess.Popen([path], start_new_session=True)
    try:
        status = process.wait(60 * minutes)
    except subprocess.TimeoutExpired:
        status = f"took more than {minutes} min"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    print(f"world: {path.name} {'passed' if status == 0 else f'FAILED: {status}'}, {time.monotonic() - start:.0f} s", flush=True)
    return status == 0


def main():
    parser = argparse.ArgumentParser(prog="world", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, help="choose what fits into that time; all without it")
    parser.add_argument("--turn", type=int, default=int(time.time() // DAY), help="which one comes first; the day unless given")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--list", action="store_true", help="print the names and do nothing")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    minutes = members(options.folder)
    unknown = [name for name in options.names if name not in minutes]
    if unknown:
        sys.exit(f"world: {', '.join(unknown)} is none of {', '.join(minutes)}")
    names = options.names or (chosen(minutes, options.turn, options.minutes) if options.minutes is not None else list(minutes))
    if options.list:
        print("\n".join(names))
        return 0
    failed = [name for name in names if not run(options.folder / name, minutes[name])]
    left = [name for name in minutes if name not in names]
    print(f"world: {len(names) - len(failed)} passed, {len(failed)} failed" + (f"; not today: {', '.join(left)}" if left else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
