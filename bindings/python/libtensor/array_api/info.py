"""Capabilities of the namespace: __array_namespace_info__."""

from .._base.device import default as default_device
from .._base.device import device as Device
from .._base.dtypes import default as default_dtype
from .._base.dtypes import int64
from .._gen import gen_functions as _f
from .dtypes import KINDS

LEAVES = ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")


class Info:
    """Capabilities, devices and dtypes, by the methods that the standard names."""

    def capabilities(self):
        """Returns the capabilities: all optional ones, and any number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        """Returns the default device."""
        return default_device()

    def default_dtypes(self, *, device=None):
        """Returns the default dtypes by kind."""
        real = default_dtype()
        return {"real floating": real, "complex floating": real.to_complex(), "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        """Returns the dtypes of the standard by name, optionally of a kind or of a tuple of kinds."""
        kinds = LEAVES if kind is None else kind if isinstance(kind, tuple) else (kind,)
        return {dtype.name: dtype for each in kinds for dtype in KINDS[each]}

    def devices(self):
        """Returns the devices."""
        return (Device("cpu"), *(Device("cuda", index) for index in range(_f.device_count("cuda"))))


def __array_namespace_info__():
    """Returns the capabilities of the namespace as an object with the standard's methods."""
    return Info()
