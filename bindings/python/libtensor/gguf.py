"""GGUF files of weights: tensors are loaded as they are stored, with quantized ones in blocks, or dequantized.

Files are validated against the format: an invalid one raises GGUFError with the reason.
"""

import contextlib
import json

from ._base.dtypes import dtype as _dtype
from ._base.dtypes import uint8
from ._base.errors import in_name_of, wrong_type
from ._base.size import Size
from ._core.tensor import Tensor
from ._gen import gen_functions as _f
from ._storages.files import from_bytes, is_path, read, readable
from .nn import Module, Parameter

__all__ = ["Blocks", "GGUFError", "Linear", "load", "load_file", "load_metadata"]

_BYTES = {
    32: "Q4_0 18 Q4_1 20 Q5_0 22 Q5_1 24 Q8_0 34 Q8_1 36 IQ4_NL 18 MXFP4 17",
    256: "Q2_K 84 Q3_K 110 Q4_K 144 Q5_K 176 Q6_K 210 Q8_K 292 IQ1_S 50 IQ1_M 56 IQ2_XXS 66 IQ2_XS 74 IQ2_S 82 IQ3_XXS 98 IQ3_S 110 IQ4_XS "
    "136 "
    "TQ1_0 54 TQ2_0 66",
}
# Values and bytes of a block, by type.
_SIZES = {kind: (values, int(size)) for values, text in _BYTES.items() for kind, size in zip(*[iter(text.split())] * 2, strict=True)}


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
        if not isinstance(blocks, Tensor) or blocks.dtype is not uint8:
            raise TypeError(f"gguf.Blocks(): argument 'blocks' must be a uint8 tensor, not {getattr(blocks, 'dtype', blocks)!r:.99}")
        if type not in _SIZES:
            raise ValueError(f"gguf.Blocks(): type must be one of {', '.join(_SIZES)}, but is {type!r}")
        size = _SIZES[type][1]
        if not blocks.dim() or blocks.shape[-1] % size:
            raise ValueError(f"gguf.Blocks(): blocks of {type} have {size} bytes each, but the tensor has sizes {list(blocks.shape)}")
        self.blocks, self.type = blocks, type

    @property
    def shape(self):
        """The shape in values."""
        values, size = _SIZES[self.type]
        return Size((*self.blocks.shape[:-1], self.blocks.shape[-1] // size * values))

    device = property(lambda self: self.blocks.device, doc="The device of the blocks.")
    dtype = property(lambda self: self.blocks.dtype, doc="The dtype of the blocks: uint8.")
    nbytes = property(lambda self: self.blocks.nbytes, doc="The size of the blocks in bytes.")

    def dequantize(self, dtype=None):
        """Returns the values as a tensor of a dtype, float32 by default.

        >>> from libtensor import gguf
        >>> gguf.Blocks(torch.tensor([[0, 60] + [137] * 16], dtype=torch.uint8), "Q4_0").dequantize()[0, ::31]
        tensor([1., 0.])
        """
        return _f.gguf_dequantize(self.blocks, self.type, dtype=dtype)

    def to(self, device):
        """Returns the blocks on a device."""
        if isinstance(device, _dtype):
            raise TypeError(f"Blocks.to(): argument 'device' must be a device, not {device}; call dequantize({device})")
        return Blocks(self.blocks.to(device), self.type)

    def __repr__(self):
        return f"Blocks({self.type}, blocks={list(self.blocks.shape)})"


class Linear(Module):
    """A linear layer whose weight is in blocks and is not dequantized: see `gguf_linear` for the rounding of its input.

    State dicts contain the type of the blocks, which must be that of the layer. Casts do not change the blocks.

    >>> from libtensor import gguf
    >>> gguf.Linear(gguf.Blocks(torch.tensor([[0, 60] + [137] * 16], dtype=torch.uint8), "Q4_0"))(torch.ones(32))
    tensor([16.])
    """

    def __init__(self, weight, bias=None):
        super().__init__()
        if not isinstance(weight, Blocks):
            raise TypeError(f"gguf.Linear(): argument 'weight' must be Blocks, not {type(weight).__name__}")
        if len(weight.shape) != 2:
            raise ValueError(f"gguf.Linear(): weight must have two dimensions, but has shape {list(weight.shape)}")
        with in_name_of("gguf.Linear"):
            _f.gguf_dequantize(weight.blocks.to("meta"), weight.type)  # raises for types that can only be loaded
        self.out_features, self.in_features = weight.shape
        if bias is not None and getattr(bias, "shape", None) != (self.out_features,):
            raise ValueError(
                f"gguf.Linear(): bias must be None or a tensor of shape [{self.out_features}], not {getattr(bias, 'shape', bias)}"
            )
        self.block_type = weight.type
        self.register_buffer("weight", weight.blocks)
        (self.register_parameter if isinstance(bias, Parameter) else self.register_buffer)("bias", bias)

    def forward(self, input):
        bias = self.bias.to(input.dtype) if self.bias is not None and isinstance(input, Tensor) else self.bias
        return _f.gguf_linear(input, self.weight, self.block_type, bias)

    def get_extra_state(self):
        """Returns the type of the blocks as a uint8 tensor, which files of any format can store."""
        return from_bytes(self.block_type.encode())

    def set_extra_state(self, state):
        """Raises ValueError unless the state has the type of the blocks of this layer."""
        found = bytes(state.flatten().tolist()).decode("latin-1") if getattr(state, "dtype", None) is uint8 else state
        if not isinstance(found, str) or found != self.block_type:
            raise ValueError(f"gguf.Linear: the state has blocks of type {found}, but the layer has blocks of {self.block_type}")

    def _load_from_state_dict(self, state_dict, prefix, *args):
        extra, weight = state_dict.get(prefix + "_extra_state"), state_dict.get(prefix + "weight")
        try:  # before the blocks are copied
            if extra is not None:
                self.set_extra_state(extra)
            if isinstance(weight, Tensor) and weight.dtype is not uint8:
                raise ValueError(f"gguf.Linear: {prefix}weight must be uint8, but is {weight.dtype}")
        except ValueError as error:
            args[-1].append(str(error))
        else:
            super()._load_from_state_dict(state_dict, prefix, *args)

    def _apply(self, fn, recurse=True):
        blocks = self.weight
        super()._apply(fn, recurse)
        if self.weight.dtype is not uint8:
            self.weight = blocks.to(self.weight.device)
        return self

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, type={self.block_type}, bias={self.bias is not None}"


def _named(function, names, tensors, types, dequantize, device):
    """Returns a dict of tensors and Blocks, or of dequantized tensors."""
    found = {}
    for name, tensor, kind in zip(names, tensors, types, strict=True):
        value = Blocks(tensor, kind) if kind in _SIZES else tensor
        if dequantize is not False and isinstance(value, Blocks):
            try:
                value = value.dequantize(None if dequantize is True else dequantize)
            except NotImplementedError:
                why = (
                    f"{function}(): tensor {name!r} has blocks of {kind}, which cannot be dequantized; use load_file() with only=[other "
                    f"names]"
                )
                raise NotImplementedError(why) from None
        found[name] = value if device == "cpu" else value.to(device)
    return found


def _only(names):
    """Returns the argument `only` as a list."""
    if names is None:
        return None
    found = [names] if isinstance(names, str) or not hasattr(names, "__iter__") else list(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in found):
        raise TypeError(f"gguf.load_file(): argument 'only' must be a list of names of tensors, not {names!r:.99}")
    return found


def _contents(data, function, argument="data", accepted="bytes, a uint8 tensor or a file object (load_file() reads a path)"):
    """Returns the contents of a file, in any form, as a uint8 tensor."""
    if isinstance(data, Tensor) and data.dtype is uint8:
        return data.detach().to("cpu").flatten().clone()  # as the loaded tensors must not share memory with it
    if not hasattr(data, "read"):
        try:
            data = memoryview(None if isinstance(data, Tensor) else data)
        except TypeError:
            raise wrong_type(function, argument, accepted, data) from None
    return read(data, function)


def load_file(filename, device="cpu", *, dequantize=False, only=None, mmap=True):
    """Loads all tensors of a file, or those named in `only`, as a dict.

    Tensors in blocks are Blocks, or with `dequantize`, which is True or a dtype, tensors of float32 or this dtype. With `mmap` the file is
    mapped: bytes are read when they are used, writes stay in this process, and the file must not be truncated while a tensor exists.
    """
    path, only = readable(filename), _only(only)
    with _errors():
        names, tensors, types, _ = _f.gguf_load_file(path, only=only, mmap=mmap)
    return _named("gguf.load_file", names, tensors, types, dequantize, device)


def load(data, *, dequantize=False):
    """Loads all tensors from the contents of a file: bytes, a uint8 tensor, or a file object. `dequantize` is as in load_file()."""
    contents = _contents(data, "gguf.load")
    with _errors():
        names, tensors, types, _ = _f.gguf_load(contents)
    return _named("gguf.load", names, tensors, types, dequantize, "cpu")


def load_metadata(filename):
    """Returns the metadata of a file, a path or its contents as in load(), as a dict of strings, numbers, bools and lists."""
    source = (
        readable(filename)
        if is_path(filename)
        else _contents(filename, "gguf.load_metadata", "filename", "a path, bytes, a uint8 tensor or a file object")
    )
    with _errors():
        metadata = (_f.gguf_load_file(source, only=[]) if isinstance(source, str) else _f.gguf_load(source))[3]
    return {key: _numbers(value) for key, value in json.loads(metadata).items()}


def _numbers(value):
    """Returns a metadata value with the floats that JSON does not have, which are the only objects in values."""
    if isinstance(value, dict):
        return float(value["float"])
    return [_numbers(item) for item in value] if isinstance(value, list) else value


def __dir__():
    return __all__
