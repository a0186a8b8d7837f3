"""Helpers of the generated modules."""

from .._base import direct as _direct
from .._base import errors as _errors
from .._base import interrupt as _interrupt  # noqa: F401
from .._base.device import of
from .._base.dtypes import contiguous_format, preserve_format
from .._base.library import Device
from . import convert as _convert
from . import owner as _owner
from .results import leaf, named, pinned, result_type
from .tensor import Tensor

_contiguous_format, _preserve_format = contiguous_format, preserve_format

# The modules that export the functions of a generated one, unless the module of that name does.
PUBLIC = {"functions": "libtensor", "lists": "libtensor", "nn_functional": "libtensor.nn.functional"}
PUBLIC |= {"quantized": "libtensor.ops.quantized", "signal_windows": "libtensor.signal.windows"}


def _operator(names, inplace=False, results=None, switches=False):
    """Decorates a stub: a call selects one of the operators `names`; `results` are the names of several results. `switches` operators have
    the flag inplace as last positional parameter.
    """

    def decorate(stub):
        module = stub.__module__.rpartition(".gen_")[2]
        stub.__module__ = PUBLIC.get(module) or f"libtensor.{module}"
        several = results and result_type(f"{module.removeprefix('functions')}_{stub.__name__}".strip("_"), tuple(results.split()))
        return _direct.operators(names, inplace, several, switches=switches)(stub)

    return decorate


def _methods(namespace, names):
    """Makes functions methods of Tensor, unless it defines them itself."""
    functions = set(namespace["__all__"])
    for name in names:
        if name not in Tensor.__dict__:
            method = namespace[name]
            if name not in functions:
                method.__qualname__ = f"Tensor.{name}"
            setattr(Tensor, name, method)


_direct.help_with(
    *(_errors.no_overload, pinned, leaf, _convert.outputs),
    *(_owner.UntypedStorage._wrap, _owner.Generator._wrap, lambda type, index: of(Device(type, index)), named),
)
for _kinds, _converter in _convert.CONVERTERS.items():
    _direct.convert(_kinds, _converter)

__all__ = ["_contiguous_format", "_methods", "_operator", "_preserve_format"]
