"""How far a file is that is read or written: a bar, or calls of a function, meanwhile.

The engine moves a file's bytes in one call. The system counts what the process reads and writes, which tells how far that is; what other
threads read and write meanwhile counts too.
"""

import contextlib
import os
import sys
import threading
import time

READ, WRITTEN = "rchar", "wchar"
PAUSE = 0.1  # seconds between two looks
INTERVAL = 10  # seconds between two lines where there is no terminal
BAR = 40


def count(what):
    """The bytes that the process has read or written so far, of whatever."""
    with open("/proc/self/io") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what))


def is_terminal(stream):
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # there is none, it is somebody's own, it is closed
        return False


def show(text):
    """Writes to stderr, where that is there to be written to. The file is what matters."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


class Bar:
    """A bar on a terminal, elsewhere a line now and then, on stderr."""

    def __init__(self, title):
        self.title, self.told, self.terminal = title, time.monotonic(), is_terminal(sys.stderr)

    def __call__(self, done, total):
        share = done / total if total else 1.0
        text = f"{self.title} {share:.0%} of {total / 2**20:.1f} MiB"
        if self.terminal:
            full = int(BAR * share)
            width = os.get_terminal_size(sys.stderr.fileno()).columns or len(text) + BAR + 3  # of some it is not known
            show("\r" + f"[{'#' * full}{' ' * (BAR - full)}] {text}"[:width])
        elif time.monotonic() - self.told > INTERVAL:
            self.told = time.monotonic()
            show(f"  {text}\n")

    def end(self):
        if self.terminal:
            show("\n")


@contextlib.contextmanager
def shown(progress, title, what, total):
    """While bytes are read or written. `progress` is True for a bar, or called with the bytes so far and all of them, in another thread
    but for the last time; what it raises then is raised here."""
    if not callable(progress) and not isinstance(progress, bool):
        raise TypeError(f"progress must be True for a bar, a function of two numbers, or False, not {progress!r}")
    if not progress:
        yield
        return
    bar = None if callable(progress) else Bar(title)
    tell = bar or progress
    begin, ended, failed = count(what), threading.Event(), []

    def watch():
        try:
            while not ended.wait(PAUSE):
                tell(min(count(what) - begin, total), total)
        except BaseException as error:
            failed.append(error)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
        ended.set()
        watcher.join()
        if failed:
            raise failed[0]
        tell(total, total)
    finally:
        ended.set()
        watcher.join()
        if bar:
            bar.end()
