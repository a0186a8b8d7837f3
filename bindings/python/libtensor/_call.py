"""What the generated modules use: C types, argument conversion, overload choice, results."""

from ctypes import c_char_p, c_double, c_void_p

from . import _convert, _direct, _errors, _index, _library, _match, _owner, _results
from ._device import of
from ._dtypes import DTYPES, contiguous_format, preserve_format
from ._tensor import Tensor, checked

# Addresses and integers of every width travel as c_void_p, which ctypes converts in half of the time of its integer types;
# the generated code has checked their ranges.
P, D, T = c_void_p, c_double, c_char_p
_Int, _Float, _Bool = int, float, bool
_LOW, _HIGH = _library.LOW, _library.HIGH
_Tensor, _Storage, _Generator = Tensor, _owner.UntypedStorage, _owner.Generator
_Scalar, _Device, _Cell = _library.Scalar, _library.Device, _library.Cell

_bind, _cells = _library.bind, _library.cells
_take, _put = _cells.pop, _cells.append
_makes, _views, _changes, _tells = _direct.makes, _direct.views, _direct.changes, _direct.tells
_several, _lists = _direct.several, _direct.lists
_first, _reflected, _element, _open = _direct.first, _direct.reflected, _direct.element, _direct.open_to_overrides

_ONE, _ZERO, _NO_SCALAR = _convert.ONE, _convert.ZERO, _convert.NO_SCALAR
_contiguous_format, _preserve_format = contiguous_format, preserve_format
_NO_DEVICE = _Device(-1, -1)
_tensor, _operand, _number, _scalar = checked, _convert.operand, _convert.number, _convert.scalar
_integer, _optional_integer, _real, _double = _convert.integer, _convert.optional_integer, _convert.real, _convert.double
_flag, _text, _texts = _convert.flag, _convert.text, _convert.texts
_ints, _floats, _bools, _scalars = _convert.ints, _convert.floats, _convert.bools, _convert.numbers
_tensors, _optional_tensors, _outputs = _convert.tensors, _convert.optional_tensors, _convert.outputs
_dtype_code, _layout_code, _memory_format_code = _convert.dtype_code, _convert.layout_code, _convert.memory_format_code
_device, _index = _convert.device_struct, _index.index
_storage, _generator = _convert.storage, _convert.generator

_absent, _arg, _or_none = _match.absent, _match.arg, _match.or_none
_rename = _match.rename
_is_tensor, _is_operand, _is_number, _is_int, _is_real = _match.is_tensor, _match.is_operand, _match.is_number, _match.is_int, _match.is_real
_is_bool, _is_text, _is_dtype, _is_storage = _match.is_bool, _match.is_text, _match.is_dtype, _match.is_storage
_is_tensors, _is_ints, _is_reals, _is_numbers = _match.is_tensors, _match.is_ints, _match.is_reals, _match.is_numbers

_failure, _no_overload, _unpinned = _errors.failure, _errors.no_overload, _errors.unpinned
_invertible = _errors.invertible
_dtypes, _device_of, _value_of = DTYPES, of, _Cell.number
_made, _wrap, _wrap_list, _leaf = _results.made, _results.wrap, _results.wrap_list, _results.leaf
_string, _strings, _result_type = _results.string, _results.strings, _results.result_type
_wrap_storage, _wrap_generator = _Storage._wrap, _Generator._wrap


def _methods(namespace, names):
    """Makes functions methods of Tensor, where it does not define them itself."""
    for name in names:
        if name not in Tensor.__dict__:
            setattr(Tensor, name, namespace[name])


__all__ = [n for n in globals() if n in ("P", "D", "T") or n[0] == "_" and n[1] != "_"]
