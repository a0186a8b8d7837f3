"""What context managers put back when they end."""

import threading


class Entered(threading.local):
    """What held before each context manager that the calling thread is in. One may be entered by several threads, and again
    within itself."""

    def __init__(self):
        self.outer = {}

    def begin(self, manager, before):
        self.outer.setdefault(id(manager), []).append(before)

    def end(self, manager):
        stack = self.outer[id(manager)]
        before = stack.pop()
        if not stack:
            del self.outer[id(manager)]
        return before


entered = Entered()
