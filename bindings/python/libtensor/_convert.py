"""Turns Python arguments into what C takes. Each function is called with a value, and the names of the function and of
the argument for the error message; the generated code calls them only for values that are not already right."""

from ctypes import c_bool, c_char_p, c_void_p
from struct import Struct
from struct import error as StructError

from ._device import device as DeviceObject
from ._dtypes import PYTHON, dtype, layout, memory_format
from ._errors import failure, wrong_type
from ._library import ABSENT, Cell, Scalar, bind, cells
from ._owner import Generator, TypedStorage, UntypedStorage
from ._results import wrap
from ._tensor import Tensor, checked

c_scalar_operand = bind("tensor_scalar_operand", Scalar, c_void_p)

pack_ints = [Struct(f"{n}q").pack for n in range(33)]
pack_double = Struct("d").pack
NUMBERS = frozenset((bool, int, float, complex))


def sequence(value):
    return value.__class__ in (tuple, list) or isinstance(value, (tuple, list, range))


def is_integer(value):
    """Tells whether a value counts as an integer: an int, or an integer of another library such as NumPy's."""
    if isinstance(value, Tensor):
        return not value.dim() and not value.is_floating_point() and not value.is_complex()
    return not isinstance(value, bool) and hasattr(value, "__index__")


def foreign(value):
    """The Python number of a number of another library such as NumPy's; None for everything else."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if len(kind) != 1 or getattr(value, "ndim", 1):
        return None
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex}.get(kind, lambda v: None)(value)


# Scalars of numbers that were used before. Zeros of floats are left out: 0.0 equals -0.0.
scalars = {}


def scalar(value, function, argument):
    kind = value.__class__
    key = kind, value
    if kind in NUMBERS:
        known = scalars.get(key)
        if known is not None:
            return known
    elif isinstance(value, Tensor):
        if value.numel() != 1:
            raise RuntimeError(f"{function}(): argument '{argument}' must be a number; a tensor with {value.numel()} elements is none")
        return scalar(value.item(), function, argument)
    elif isinstance(value, (bool, int, float, complex)):
        base = next(b for b in (bool, int, float, complex) if isinstance(value, b))
        return scalar(base(value), function, argument)
    else:
        number = foreign(value)
        if number is None and hasattr(value, "__index__"):
            number = value.__index__()
        if number is None:
            raise wrong_type(function, argument, "Number", value)
        return scalar(number, function, argument)
    made = Scalar()
    if kind is int:
        if not -(2**63) <= value < 2**64:
            raise OverflowError(f"{function}(): argument '{argument}': {value} does not fit into 64 bits")
        made.kind = 2 if value < 2**63 else 5  # beyond int64
        made.value.i = value
    elif kind is float:
        made.kind = 3
        made.value.f.re = value
    elif kind is bool:
        made.kind = 1
        made.value.i = value
    else:
        made.kind = 4
        made.value.f.re = value.real
        made.value.f.im = value.imag
    if kind is int or kind is bool or kind is float and value:
        if len(scalars) > 1000:
            scalars.clear()
        scalars[key] = made
    return made


ONE = scalar(1, "", "")
ZERO = scalar(0, "", "")
NO_SCALAR = Scalar()


def operand(value, function, argument):
    """A tensor, or a tensor that counts as the number `value`."""
    if isinstance(value, Tensor):
        return value
    cell = cells.pop() if cells else Cell()
    status = c_scalar_operand(number(value, function, argument), cell.address)
    if status:
        raise failure(status)
    made = wrap(cell.p)
    cells.append(cell)
    return made


def number(value, function, argument):
    """A tensor, or the Scalar of a number."""
    if isinstance(value, Tensor):
        return value
    if value.__class__ in NUMBERS or isinstance(value, (int, float, complex)) or foreign(value) is not None:
        return scalar(value, function, argument)
    raise wrong_type(function, argument, "Tensor or Number", value)


def integer(value, function, argument):
    if value.__class__ is bool or not is_integer(value):
        raise wrong_type(function, argument, "int", value)
    found = value.__index__()
    if not -(2**63) <= found < 2**63:
        raise ValueError(f"{function}(): argument '{argument}': {found} does not fit into 64 bits")
    return found


def optional_integer(value, function, argument):
    return ABSENT if value is None else integer(value, function, argument)


def real(value, function, argument):
    if isinstance(value, (int, float)):
        return float(value)
    found = value.item() if isinstance(value, Tensor) and not value.dim() else foreign(value)
    if found is None or isinstance(found, complex):
        raise wrong_type(function, argument, "float", value)
    return float(found)


def double(value, function, argument):
    return pack_double(real(value, function, argument))


def flag(value, function, argument):
    if value is True or value is False:
        return value
    number = foreign(value)
    if number.__class__ is bool:
        return number
    raise wrong_type(function, argument, "bool", value)


def text(value, function, argument):
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(f"{function}(): argument '{argument}' must not have NUL characters")
        return value.encode("utf-8", "surrogateescape")  # file names can be of any bytes
    raise wrong_type(function, argument, "str", value)


def texts(value, function, argument):
    """The addresses of a list of strings, and its length."""
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of strs", value)
    return (c_char_p * len(value))(*[text(v, function, argument) for v in value]), len(value)


def ints(value, function, argument):
    """The bytes of a list of integers, and its length."""
    try:
        if value.__class__ is int:
            return pack_ints[1](value), 1
        n = len(value)
        return pack_ints[n](*value), n
    except (TypeError, IndexError, StructError):
        return slow_ints(value, function, argument)


def slow_ints(value, function, argument):
    if is_integer(value):
        return pack_ints[1](integer(value, function, argument)), 1
    if isinstance(value, Tensor) or hasattr(value, "tolist"):
        value = value.tolist()
    if not sequence(value) and not hasattr(value, "__iter__"):
        raise wrong_type(function, argument, "tuple of ints", value)
    try:
        items = [integer(v, function, argument) for v in value]
    except ValueError as error:
        raise TypeError(str(error)) from None
    return Struct(f"{len(items)}q").pack(*items), len(items)


def floats(value, function, argument):
    if isinstance(value, (int, float)):
        value = (value,)
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of floats", value)
    return Struct(f"{len(value)}d").pack(*[real(v, function, argument) for v in value]), len(value)


def bools(value, function, argument):
    if value.__class__ is bool:
        value = (value,)
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of bools", value)
    return (c_bool * len(value))(*[flag(v, function, argument) for v in value]), len(value)


def numbers(value, function, argument):
    if value.__class__ in NUMBERS:
        value = (value,)
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of Numbers", value)
    return (Scalar * len(value))(*[scalar(v, function, argument) for v in value]), len(value)


def tensors(value, function, argument):
    """The handles of a list of tensors, and its length."""
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of Tensors", value)
    try:
        return Struct(f"{len(value)}P").pack(*[t._h for t in value]), len(value)
    except AttributeError:
        at = next(i for i, t in enumerate(value) if not isinstance(t, Tensor))
    raise TypeError(f"{function}(): argument '{argument}': expected Tensor as element {at}, but got {type(value[at]).__name__}")


def optional_tensors(value, function, argument):
    if not sequence(value):
        raise wrong_type(function, argument, "tuple of Tensors", value)
    return Struct(f"{len(value)}P").pack(*[0 if t is None else checked(t, function, argument)._h for t in value]), len(value)


def outputs(value, n, function):
    if not isinstance(value, (tuple, list)) or len(value) != n:
        raise TypeError(f"{function}(): argument 'out' must be a tuple of {n} Tensors, not {type(value).__name__}")
    return tuple(checked(t, function, "out") for t in value)


def storage(value, function, argument):
    if isinstance(value, UntypedStorage):
        return value
    if isinstance(value, TypedStorage):
        return value.untyped()
    raise wrong_type(function, argument, "UntypedStorage", value)


def generator(value, function, argument):
    if isinstance(value, Generator):
        return value
    raise wrong_type(function, argument, "torch.Generator", value)


def dtype_code(value, function, argument):
    if value.__class__ is dtype:
        return value.code
    known = PYTHON.get(value) if isinstance(value, type) else None
    if known is None:
        raise wrong_type(function, argument, "torch.dtype", value)
    return known.code


def layout_code(value, function, argument):
    if value.__class__ is layout:
        return value.code
    raise wrong_type(function, argument, "torch.layout", value)


def memory_format_code(value, function, argument):
    if value.__class__ is memory_format:
        return value.code
    raise wrong_type(function, argument, "torch.memory_format", value)


def device_struct(value, function, argument):
    if value.__class__ is DeviceObject:
        return value._c
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return DeviceObject(value)._c
    raise wrong_type(function, argument, "torch.device, str or int", value)
