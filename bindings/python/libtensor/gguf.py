"""GGUF files of weights: tensors are loaded as they are stored, with quantized ones in blocks, or dequantized.

Files are validated against the format: an invalid one raises GGUFError with the reason.
"""

import contextlib
import json

from ._gen import gen_functions as _f
from ._storages.files import read, readable
from .nn import Module

__all__ = ["Blocks", "GGUFError", "Linear", "load", "load_file", "load_metadata"]


class GGUFError(RuntimeError):
    """A file that violates the format."""


@contextlib.contextmanager
def _errors():
    try:
        yield
    except (MemoryError, NotImplementedError):
        raise
    except (RuntimeError, ValueError) as error:
        raise GGUFError(str(error).removeprefix("gguf_")) from None


class Blocks:
    """A tensor in blocks of values that share scales.

    `blocks` is a uint8 tensor whose last dimension is a row of blocks in bytes, and `type` the type of the blocks, such as "Q4_0".
    """

    __slots__ = ("blocks", "type")

    def __init__(self, blocks, type):
        self.blocks, self.type = blocks, type

    @property
    def shape(self):
        """The shape in values."""
        return _f.gguf_dequantize(self.blocks.to("meta"), self.type).shape

    def dequantize(self, dtype=None):
        """Returns the values as a tensor of a dtype, float32 by default.

        >>> from libtensor import gguf
        >>> gguf.Blocks(torch.tensor([[0, 60] + [137] * 16], dtype=torch.uint8), "Q4_0").dequantize()[0, ::31]
        tensor([1., 0.])
        """
        return _f.gguf_dequantize(self.blocks, self.type, dtype=dtype)

    def to(self, device):
        """Returns the blocks on a device."""
        return Blocks(self.blocks.to(device), self.type)

    def __repr__(self):
        return f"Blocks({self.type}, blocks={list(self.blocks.shape)})"


class Linear(Module):
    """A linear layer whose weight is in blocks and is not dequantized: see `gguf_linear` for the rounding of its input.

    >>> from libtensor import gguf
    >>> gguf.Linear(gguf.Blocks(torch.tensor([[0, 60] + [137] * 16], dtype=torch.uint8), "Q4_0"))(torch.ones(32))
    tensor([16.])
    """

    def __init__(self, weight, bias=None):
        super().__init__()
        if not isinstance(weight, Blocks):
            raise TypeError(f"gguf.Linear(): argument 'weight' must be Blocks, not {type(weight).__name__}")
        self.out_features, self.in_features = weight.shape
        self.type = weight.type
        self.register_buffer("weight", weight.blocks)
        self.register_buffer("bias", bias)

    def forward(self, input):
        return _f.gguf_linear(input, self.weight, self.type, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, type={self.type}, bias={self.bias is not None}"


def _named(names, tensors, types, dequantize, device):
    """Returns a dict of tensors and Blocks, or of dequantized tensors."""
    found = {}
    for name, tensor, kind in zip(names, tensors, types, strict=True):
        value = tensor if kind[0] in "FIB" and not kind.startswith("IQ") else Blocks(tensor, kind)
        if dequantize is not False and isinstance(value, Blocks):
            value = value.dequantize(None if dequantize is True else dequantize)
        found[name] = value if device == "cpu" else value.to(device)
    return found


def load_file(filename, device="cpu", *, dequantize=False, only=None, mmap=True):
    """Loads all tensors of a file, or those named in `only`, as a dict.

    Tensors in blocks are Blocks, or with `dequantize`, which is True or a dtype, tensors of float32 or this dtype. With `mmap` the file is
    mapped: bytes are read when they are used, writes stay in this process, and the file must not be truncated while a tensor exists.
    """
    with _errors():
        names, tensors, types, _ = _f.gguf_load_file(readable(filename), only=only, mmap=mmap)
    return _named(names, tensors, types, dequantize, device)


def load(data, *, dequantize=False):
    """Loads all tensors from the bytes of a file. `dequantize` is as in load_file()."""
    with _errors():
        names, tensors, types, _ = _f.gguf_load(read(data, "gguf.load"))
    return _named(names, tensors, types, dequantize, "cpu")


def load_metadata(filename):
    """Returns the metadata of a file as a dict of strings, numbers, bools and lists."""
    with _errors():
        metadata = _f.gguf_load_file(readable(filename), only=[])[3]
    return json.loads(metadata, object_hook=_special)


def _special(pairs):
    """Returns a number that JSON does not have, and other objects unchanged."""
    return float(pairs["float"]) if pairs.keys() == {"float"} and pairs["float"] in ("nan", "inf", "-inf") else pairs


def __dir__():
    return __all__
