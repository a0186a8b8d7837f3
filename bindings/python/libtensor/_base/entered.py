"""State that context managers restore at their end."""

import threading


class Entered(threading.local):
    """The previous states of the context managers that the calling thread is in. Several threads may enter one context manager, also
    recursively.
    """

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
