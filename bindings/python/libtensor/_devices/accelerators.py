"""Functions of the device modules, such as torch.cuda, torch.mps and torch.xpu."""

from .._base import device as _device
from .._base.errors import in_name_of
from .._gen import gen_functions as _f


def count(kind):
    """Returns the number of devices of a type."""
    return _f.device_count(kind)


class Kind:
    """The functions of a module such as torch.cuda for one device type."""

    def __init__(self, kind):
        self.kind = kind

    def is_available(self):
        """Returns whether there is a device of this type."""
        return self.device_count() > 0

    def device_count(self):
        """Returns the number of devices of this type."""
        return count(self.kind)

    def require(self, function, device=None):
        """Returns the index of a device, by default of the current one. Raises an error with the function's name if there is no such
        device.
        """
        if device is not None and not isinstance(device, int):
            device = _device.device(device)
            if device.type != self.kind:
                raise ValueError(f"{function}: Expected a {self.kind} device, but got: {device}")
            device = device.index
        with in_name_of(function):
            return _f.empty(0, device=_device.device(self.kind, device)).device.index

    def current_device(self):
        """Returns the index of the current device of the calling thread."""
        return self.require("current_device")

    def synchronize(self, device=None):
        """Waits until the device is idle."""
        _f.device_synchronize(_device.device(self.kind, self.require("synchronize", device)))

    def set_device(self, device):
        """Sets the current device of the calling thread. A negative index has no effect."""
        if not isinstance(device, int) or device >= 0:
            _f.device_set_current(_device.device(self.kind, self.require("set_device", device)))

    def manual_seed(self, seed):
        """Accepted; without a device it has no effect."""

    manual_seed_all = manual_seed

    def empty_cache(self):
        """Releases cached memory to the driver."""
        _f.empty_cache()


def functions(kind):
    """Returns the functions that the modules of all device types share, by name."""
    asked = Kind(kind)
    names = ("is_available", "device_count", "current_device", "synchronize", "set_device", "manual_seed", "manual_seed_all", "empty_cache")
    return {name: getattr(asked, name) for name in names}
