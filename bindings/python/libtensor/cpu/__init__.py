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


def __getattr__(name):
    if name == "amp":
        from .amp import GradScaler as _loaded

        return globals()["amp"]
    raise AttributeError(f"module 'libtensor.cpu' has no attribute '{name}'")
