"""What the generated modules use."""

from . import _convert, _direct, _errors, _owner
from ._device import of
from ._dtypes import contiguous_format, preserve_format
from ._library import Device
from ._results import leaf, named, pinned, result_type
from ._tensor import Tensor

_contiguous_format, _preserve_format = contiguous_format, preserve_format


def _operator(names, inplace=False, results=None):
    """The decorator of a stub: `names` are the operators that calls choose from, `results` the names of several results."""

    def decorate(stub):
        module = stub.__module__.rpartition(".gen_")[2].removeprefix("functions")
        several = results and result_type(f"{module}_{stub.__name__}".strip("_"), tuple(results.split()))
        return _direct.operators(names, inplace, several)(stub)

    return decorate


def _methods(namespace, names):
    """Makes functions methods of Tensor, where it does not define them itself."""
    for name in names:
        if name not in Tensor.__dict__:
            setattr(Tensor, name, namespace[name])


_direct.help_with(
    *(_errors.no_overload, pinned, leaf, _convert.outputs),
    *(_owner.UntypedStorage._wrap, _owner.Generator._wrap, lambda type, index: of(Device(type, index)), named),
)
for _kinds, _converter in _convert.CONVERTERS.items():
    _direct.convert(_kinds, _converter)

__all__ = ["_contiguous_format", "_methods", "_operator", "_preserve_format"]
