"""Devices."""

from ctypes import c_char_p, c_void_p
from functools import lru_cache

from . import gen_names
from .entered import entered
from .errors import failure
from .library import Cell, Device, bind

NAMES = {-1: "none", **dict(enumerate(gen_names.DEVICES))}


class device:
    """The device of a tensor's memory: device("cpu"), device("cuda", 1), device("cuda:1"), device(1).

    As a context manager it sets the default device of the calling thread.
    """

    __slots__ = ("type", "index", "_c")

    def __new__(cls, type=None, index=None, *, device=None):
        if device is not None:
            if type is not None:
                raise TypeError("device(): 'type' and 'device' are the same argument; pass only one of them")
            type = device
        if isinstance(type, cls):
            return type
        self = object.__new__(cls)
        if isinstance(type, int) and not isinstance(type, bool):
            if index is not None:
                raise TypeError("device(): expected an index alone, or a type and an index")
            parsed = parse(f"cuda:{type}")
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, int or torch.device, not {type.__class__.__name__}")
        elif index is None:
            parsed = parse(type)
        elif ":" in type:
            raise RuntimeError(f"device(): type '{type}' already has an index; but index {index} was passed too")
        else:
            parsed = parse(f"{type}:{index}")
        return self._set(parsed)

    def _set(self, c):
        object.__setattr__(self, "_c", c)
        object.__setattr__(self, "type", NAMES[c.type])
        object.__setattr__(self, "index", None if c.index < 0 else c.index)
        return self

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute '{name}' of torch.device is not writable")

    def __enter__(self):
        entered.begin(self, default())
        set_default(self)
        return self

    def __exit__(self, *_):
        set_default(entered.end(self))

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __reduce__(self):
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def of(c):
    """Returns the device object of a C device."""
    key = c.type, c.index
    if key not in known:
        known[key] = object.__new__(device)._set(Device(*key))
    return known[key]


known = {}
c_parse = bind("tensor_parse_device", c_char_p, c_void_p)
c_default = bind("tensor_get_default_device", c_void_p)
c_set_default = bind("tensor_set_default_device", Device)


@lru_cache(maxsize=256)
def parse(text):
    cell = Cell()
    status = c_parse(text.replace("\0", "\\0").encode(), cell.address)  # C would read up to the NUL
    if status:
        raise failure(status)
    return Device(cell.d.type, cell.d.index)


def default():
    """Returns the default device of the calling thread."""
    cell = Cell()
    status = c_default(cell.address)
    if status:
        raise failure(status)
    return of(cell.d)


def set_default(value):
    """Sets the default device of the calling thread; None is the CPU."""
    status = c_set_default(device("cpu" if value is None else value)._c)
    if status:
        raise failure(status)
