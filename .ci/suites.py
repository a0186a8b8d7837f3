#!/usr/bin/env python3
"""Runs targets of the Makefile that call .ci/suite.py in parallel: suites.py JOBS [VARIABLE=VALUE...] TARGET...

Prints the progress of the running suites: in one line on a terminal, elsewhere in a new line every 30 s, and less often in long runs. At
the end it prints the output of failed suites, then the time and the counts of each suite and their sum."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from count import sentence

INTERVAL = 30  # seconds between two lines without a terminal
ENDED = ("passed", "failed", "unchanged")


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"


class Progress:
    """Prints the state of all suites: in place on a terminal, elsewhere as periodic lines."""

    def __init__(self):
        self.start = self.printed = time.monotonic()
        self.terminal = sys.stdout.isatty()
        self.suites = {}

    def add(self, event):
        self.suites[event["name"]] = event
        if event["state"] == "failed":
            self.print_line(f"FAILED: {event['name']} (build/suites/{event['name']}.log)")
        now = time.monotonic()
        if self.terminal or now - self.printed >= max(INTERVAL, (now - self.start) / 8):
            self.printed = now
            self.show()

    def show(self):
        ended = [suite for suite in self.suites.values() if suite["state"] in ENDED]
        running = [suite for suite in self.suites.values() if suite["state"] not in ENDED]
        texts = [f"{suite['name']} {suite.get('text', '')[-40:]}".rstrip() for suite in running]
        line = f"{duration(time.monotonic() - self.start)}: {len(ended)} suites have ended; running: " + ", ".join(texts)
        if self.terminal:
            print(f"\r\033[K{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)
        else:
            print(line[:160], flush=True)

    def print_line(self, line):
        print(f"\r\033[K{line}" if self.terminal else line, flush=True)

    def close(self):
        """Prints the output of suites that failed and the table of all. Returns the suites that failed."""
        failed = [suite for suite in self.suites.values() if suite["state"] not in ("passed", "unchanged")]
        for name in [suite["name"] for suite in failed]:
            self.print_line(f"-- {name}")
            log = Path("build/suites", f"{name}.log")
            lines = log.read_text(errors="replace").splitlines(True) if log.exists() else []
            print("".join(f"  {line}" for line in lines), end="")  # indented, so that no count is read twice
        self.print_line("")
        total = Counter()
        for suite in sorted(self.suites.values(), key=lambda suite: -suite["seconds"]):
            state, found = suite["state"], Counter(suite.get("counts") or {})
            if state != "unchanged":
                total += found
            told = {"passed": "", "unchanged": "unchanged since ", "failed": "FAILED: "}.get(state, "FAILED: interrupted, ")
            print(f"{suite['name']:<20} {duration(suite['seconds']):>12}  {told}{sentence(found) if found.total() else state}")
        total["failed"] = max(total["failed"], len(failed))
        print(f"suites: {sentence(total)}, in {duration(time.monotonic() - self.start)}")
        return failed


def main(jobs, *targets):
    read, write = os.pipe()
    os.set_inheritable(write, True)
    # targets may contain variables of make (NAME=VALUE).
    command = ["make", "--no-print-directory", "-k", f"-j{jobs}", *targets]
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")} | {"SUITE_EVENTS": str(write)}
    log = open("build/suites.log", "w+")
    process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, close_fds=False)
    os.close(write)
    progress = Progress()
    with os.fdopen(read) as events:
        for line in events:
            progress.add(json.loads(line))
    status = process.wait()
    failed = progress.close()
    if status and {suite["state"] for suite in failed} != {"failed"}:  # make, or a target that suites depend on, failed
        log.seek(0)
        print(log.read(), end="")
    return 1 if status or failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
