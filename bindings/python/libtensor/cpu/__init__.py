"""The CPU, with the functions of the modules of other devices."""


def is_available():
    return True


def device_count():
    return 1


def current_device():
    return "cpu"


def synchronize(device=None):
    """Returns immediately: CPU calls are synchronous."""


def set_device(device):
    """Accepted without effect: there is one CPU."""


def is_initialized():
    return True


class Stream:
    """The only stream of the CPU, for programs that use streams of any device: calls are synchronous."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Returns immediately."""

    def record_event(self, event=None):
        """Returns the event, or a new one."""
        return event or Event()

    def wait_event(self, event):
        """Returns immediately."""


class Event:
    """An event of the CPU's stream, which has always completed."""

    def query(self):
        return True

    def record(self, stream=None):
        """Returns immediately."""

    def synchronize(self):
        """Returns immediately."""

    def wait(self, stream=None):
        """Returns immediately."""


class StreamContext:
    """A context manager without effect: the CPU has one stream."""

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
    """Returns a context manager without effect."""
    return StreamContext(stream)


def __getattr__(name):
    if name == "amp":
        from .amp import GradScaler as _loaded

        return globals()["amp"]
    raise AttributeError(f"module 'libtensor.cpu' has no attribute '{name}'")
