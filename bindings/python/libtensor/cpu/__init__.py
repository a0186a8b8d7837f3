"""The CPU, in the form of the other kinds of device."""


def is_available():
    return True


def device_count():
    return 1


def current_device():
    return "cpu"


def synchronize(device=None):
    """Returns at once: calls are done when they return."""


def set_device(device):
    """Accepted: there is one CPU."""


def is_initialized():
    return True


class Stream:
    """The CPU's one stream, for programs that name a stream of any device: calls are done when they return."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Returns at once."""

    def record_event(self, event=None):
        """Returns the event, or a new one."""
        return event or Event()

    def wait_event(self, event):
        """Returns at once."""


class Event:
    """A point in the CPU's stream, which is reached at once."""

    def query(self):
        return True

    def record(self, stream=None):
        """Returns at once."""

    def synchronize(self):
        """Returns at once."""

    def wait(self, stream=None):
        """Returns at once."""


class StreamContext:
    """A context manager that selects a stream, of which the CPU has one."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


STREAM = Stream()


def current_stream(device=None):
    return STREAM


def stream(stream):
    """Returns a context manager that selects a stream."""
    return StreamContext(stream)


def __getattr__(name):
    if name == "amp":
        from .amp import GradScaler as _loaded

        return globals()["amp"]
    raise AttributeError(f"module 'libtensor.cpu' has no attribute '{name}'")
