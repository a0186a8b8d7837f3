"""What the namespace can do: __array_namespace_info__."""

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
        """All of the standard is there; a tensor has any number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        """The device of functions that are given none."""
        return default_device()

    def default_dtypes(self, *, device=None):
        """The dtypes of functions that are given none, by kind."""
        real = default_dtype()
        return {"real floating": real, "complex floating": real.to_complex(), "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of the standard by name; of a kind, or of a tuple of kinds, alone."""
        kinds = LEAVES if kind is None else kind if isinstance(kind, tuple) else (kind,)
        return {dtype.name: dtype for each in kinds for dtype in KINDS[each]}

    def devices(self):
        """The devices that hold data."""
        return (Device("cpu"), *(Device("cuda", index) for index in range(_f.device_count("cuda"))))


def __array_namespace_info__():
    """What the namespace can do, as an object with the methods of the standard."""
    return Info()
