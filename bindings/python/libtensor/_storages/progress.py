"""Progress of reading or writing a file: a progress bar, or calls of a function.

The engine transfers the bytes of a file in one call. The progress is the operating system's count of bytes that the process has read and
written, which includes those of other threads.
"""

import contextlib
import os
import sys
import threading
import time

READ, WRITTEN = "rchar", "wchar"
PAUSE = 0.1  # seconds between updates
INTERVAL = 10  # seconds between lines without a terminal
BAR = 40


def count(what):
    """Returns the number of bytes that the process has read or written so far."""
    with open("/proc/self/io") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what))


def is_terminal(stream):
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # stderr is None, replaced, or closed
        return False


def show(text):
    """Writes to stderr, and ignores errors."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


class Bar:
    """A progress bar on a terminal, otherwise a line at intervals, on stderr."""

    def __init__(self, title):
        self.title, self.told, self.terminal = title, time.monotonic(), is_terminal(sys.stderr)

    def __call__(self, done, total):
        share = done / total if total else 1.0
        text = f"{self.title} {share:.0%} of {total / 2**20:.1f} MiB"
        if self.terminal:
            full = int(BAR * share)
            width = os.get_terminal_size(sys.stderr.fileno()).columns or len(text) + BAR + 3  # the total can be unknown
            show("\r" + f"[{'#' * full}{' ' * (BAR - full)}] {text}"[:width])
        elif time.monotonic() - self.told > INTERVAL:
            self.told = time.monotonic()
            show(f"  {text}\n")

    def end(self):
        if self.terminal:
            show("\n")


@contextlib.contextmanager
def shown(progress, title, what, total):
    """A context manager that reports progress. `progress` is True for a bar, or a function of the bytes so far and the total, which is
    called in another thread, and at the end in this one; its exceptions are raised here.
    """
    if not callable(progress) and not isinstance(progress, bool):
        raise TypeError(f"progress must be a bool or a function of two arguments, not {progress!r}")
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
