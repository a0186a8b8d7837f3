"""The questions about a kind of device that scripts ask before they choose the CPU, which the library answers."""

from .._base import device as _device
from .._base.errors import in_name_of
from .._gen import gen_functions as _f


def count(kind):
    """How many devices of a kind there are."""
    return _f.device_count(kind)


class Kind:
    """The functions of a module such as torch.cuda for one kind of device."""

    def __init__(self, kind):
        self.kind = kind

    def is_available(self):
        """True when there is a device of this kind."""
        return self.device_count() > 0

    def device_count(self):
        """The number of devices of this kind."""
        return count(self.kind)

    def require(self, function, device=None):
        """The index of a device, the current one unless given; the error for one that is not there, in a function's name."""
        if device is not None and not isinstance(device, int):
            device = _device.device(device)
            if device.type != self.kind:
                raise ValueError(f"{function}: Expected a {self.kind} device, but got: {device}")
            device = device.index
        with in_name_of(function):
            return _f.empty(0, device=_device.device(self.kind, device)).device.index

    def current_device(self):
        """The index of the current device of the calling thread."""
        return self.require("current_device")

    def synchronize(self, device=None):
        """Waits for the device."""
        _f.device_synchronize(_device.device(self.kind, self.require("synchronize", device)))

    def set_device(self, device):
        """Makes a device the current one of the calling thread; nothing for a negative index."""
        if not isinstance(device, int) or device >= 0:
            _f.device_set_current(_device.device(self.kind, self.require("set_device", device)))

    def manual_seed(self, seed):
        """Accepted and, without a device, without effect."""

    manual_seed_all = manual_seed

    def empty_cache(self):
        """Gives memory that nobody uses back to the driver."""
        _f.empty_cache()


def functions(kind):
    """The functions that the modules of all kinds share, by name."""
    asked = Kind(kind)
    names = ("is_available", "device_count", "current_device", "synchronize", "set_device", "manual_seed", "manual_seed_all", "empty_cache")
    return {name: getattr(asked, name) for name in names}
