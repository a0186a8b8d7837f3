"""Rarely used names of the package, which libtensor.__getattr__ loads on first access."""

import builtins
import math
import os
import sys

from .._base.device import device as _device
from .._base.dtypes import NAMES, contiguous_format
from .._base.overrides import NOBODY, dispatch, hook
from .._core.tensor import Tensor
from .._data.create import tensor
from .._gen import gen_functions as _f
from . import control_flow, declare_unsupported, losses
from .compilation import compile

ROOT = __name__.partition(".")[0]
_bool, _int64 = NAMES["bool"], NAMES["int64"]


class SymInt:
    """For isinstance() and annotations: sizes are Python's int."""

    def __init__(self, node):
        raise NotImplementedError("SymInt: not supported, sizes are ints")


class SymFloat:
    """For isinstance() and annotations: numbers are Python's float."""

    def __init__(self, node):
        raise NotImplementedError("SymFloat: not supported, use float")


class SymBool:
    """For isinstance() and annotations: truth values are Python's bool."""

    def __init__(self, node):
        raise NotImplementedError("SymBool: not supported, use bool")


class FatalError(RuntimeError):
    """The class of errors that end a program, which libtensor never raises."""


class AcceleratorError(RuntimeError):
    """The class of errors of an accelerator."""


class JITException(RuntimeError):
    """The class of errors in TorchScript, which libtensor never raises."""


class Tag:
    """Properties of operators, for annotations."""

    core = pointwise = pt2_compliant_tag = needs_fixed_stride_order = flexible_layout = nondeterministic_seeded = dynamic_output_shape = (
        None
    )


def sym_int(a):
    """Returns a number rounded towards zero."""
    return int(a)


def sym_float(a):
    """Returns a number as a float."""
    return float(a)


def sym_not(a):
    """Returns the negation of a truth value."""
    return not a


def sym_max(a, b):
    """Returns the larger of two numbers; a float when one of them is."""
    made = builtins.max(a, b)
    return float(made) if isinstance(a, float) or isinstance(b, float) else made


def sym_min(a, b):
    """Returns the smaller of two numbers; a float when one of them is."""
    made = builtins.min(a, b)
    return float(made) if isinstance(a, float) or isinstance(b, float) else made


def sym_ite(b, t, f):
    """Returns `t` where `b` is true, and otherwise `f`."""
    return t if b else f


def sym_sum(args=()):
    """Returns the sum of numbers."""
    return builtins.sum(args)


def _sym_sqrt(a):
    return math.sqrt(a)


def _text(message, default):
    return default if message is None else str(message() if callable(message) else message)


def _check_with(error_type, cond, message):
    """Raises `error_type` where `cond` is false."""
    if not cond:
        raise error_type(
            _text(message, "Expected cond to be True, but got False. (Could this error message be improved? Call with a message.)")
        )


def _check(cond, message=None):
    """Raises RuntimeError, with what message() returns, where `cond` is false."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """Raises IndexError, with what message() returns, where `cond` is false."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """Raises ValueError, with what message() returns, where `cond` is false."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """Raises TypeError, with what message() returns, where `cond` is false."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """Raises NotImplementedError, with what message() returns, where `cond` is false."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """Raises RuntimeError for a negative number."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises `error_type` where an element of a tensor of dtype bool is false."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond, message=None):
    """Raises RuntimeError where an element of a tensor of dtype bool is false."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition, message=""):
    """Raises AssertionError where the condition is false."""
    if hook(condition) is not None:
        taken = dispatch(_assert, (condition, message), {})
        if taken is not NOBODY:
            return taken
    assert condition, message


def _assert_async(condition, message=""):
    """Raises RuntimeError where a tensor of one element is false or zero."""
    _check(bool(condition), message or "Expected Tensor with single nonzero value, but got zero")


def get_device_module(device=None):
    """Returns the module of a device type, such as torch.cuda; by default that of the accelerator, or of the CPU.

    >>> torch.get_device_module("cpu").__name__.rpartition(".")[2]
    'cpu'
    """
    from importlib import import_module

    from ..accelerator import current_accelerator

    found = (current_accelerator() or _device("cpu")) if device is None else _device(device)
    try:
        return import_module(f"{ROOT}.{found.type}")
    except ImportError:
        raise RuntimeError(f"get_device_module: device '{found.type}' has no module") from None


def compiled_with_cxx11_abi():
    """Returns True."""
    return True


def is_distributed(input):
    """Returns False: no tensor is spread over processes."""
    return False


def is_vulkan_available():
    """Returns False."""
    return False


def get_device(input):
    """Returns the index of the device of a tensor; -1 on the CPU."""
    return input.get_device()


def detach_(input):
    """Takes a tensor out of the autograd graph."""
    return input.detach_()


def _shape_as_tensor(self):
    """Returns the shape as a tensor of dtype int64."""
    return tensor(list(self.shape), dtype=_int64)


def _softmax(input, dim, half_to_float=False):
    """Returns the softmax along a dimension."""
    return _f.softmax(input, dim)


def _log_softmax(input, dim, half_to_float=False):
    """Returns the logarithm of the softmax along a dimension."""
    return _f.log_softmax(input, dim)


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """Returns the gradient of softmax from its output."""
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """Returns the gradient of log_softmax from its output."""
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _has_compatible_shallow_copy_type(self, from_):
    """Returns whether `self.data` can be set to `from_`: both are dense, on any device with memory, or both have one sparse layout."""
    return self.layout is from_.layout and self.is_meta == from_.is_meta


def _require_bool(operator, input):
    if input.dtype is not _bool:
        raise RuntimeError(f"{operator}: expected a tensor of dtype torch.bool, but got {input.dtype}")


def _is_all_true(self):
    """Returns a tensor of whether all elements are true. Raises RuntimeError for dtypes other than bool."""
    _require_bool("_is_all_true", self)
    return self.all()


def _is_any_true(self):
    """Returns a tensor of whether an element is true. Raises RuntimeError for dtypes other than bool."""
    _require_bool("_is_any_true", self)
    return self.any()


def native_dropout(input, p, train):
    """Returns the scaled elements that dropout keeps, and their mask."""
    if not train or p == 0:
        return input.clone(), _f.ones_like(input, dtype=_bool)
    mask = _f.bernoulli(_f.full_like(input, 1 - p)).bool()
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """Applies a convolution with as many dimensions as `stride` to a batch, or a transposed convolution."""
    if weight.dim() not in (3, 4, 5) or input.dim() != weight.dim():
        raise RuntimeError(
            f"convolution: expected input and weight of 3, 4 or 5 dimensions, but got input of shape {list(input.shape)} "
            f"and weight of shape {list(weight.shape)}"
        )
    dims = weight.dim() - 2
    if transposed:
        apply = getattr(_f, f"conv_transpose{dims}d")
        return apply(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(_f, f"conv{dims}d")(input, weight, bias, stride, padding, dilation, groups)


def _masked_softmax(input, mask, dim=None, mask_type=None):
    """Returns the softmax along `dim`, by default the last one, with probability 0 where `mask` is True. `mask_type` is 0 for a mask of
    shape (L, L), 1 for one of shape (N, L) and an input of shape (N, H, L, L), and 2 for the shape of the input.
    """
    _require_bool("_masked_softmax", mask)
    if mask_type == 1 and input.dim() == 4:
        mask = mask[:, None, None]
    return _f.softmax(input.masked_fill(mask, -math.inf), -1 if dim is None else dim)


SCRIPT = "TorchScript is not supported; functions and modules run as they are"
PUBLIC = (
    "SymInt SymFloat SymBool FatalError AcceleratorError JITException Tag sym_int sym_float sym_not sym_max sym_min sym_ite sym_sum "
    "_sym_sqrt"
)
PUBLIC += (
    " _check _check_with _check_index _check_value _check_type _check_not_implemented _check_is_size _check_tensor_all "
    "_check_tensor_all_with"
)
PUBLIC += " _assert _assert_async get_device_module compiled_with_cxx11_abi is_distributed is_vulkan_available get_device detach_"
PUBLIC += " _has_compatible_shallow_copy_type"
PUBLIC += (
    " _shape_as_tensor _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data _is_all_true _is_any_true native_dropout"
)
PUBLIC += " convolution _masked_softmax"
for _name in PUBLIC.split():
    globals()[_name].__module__ = ROOT
NAMED = {name: globals()[name] for name in PUBLIC.split()}
# Modules that PyTorch's own imports leave in the package.
NAMED |= {"math": math, "os": os, "sys": sys, "torch": sys.modules[ROOT]}
NAMED |= {"has_lapack": True, "has_mkl": False, "has_openmp": False, "has_spectral": True}
NAMED |= {"legacy_contiguous_format": contiguous_format, "compile": compile}
NAMED |= {name: getattr(losses, name) for name in losses.__all__}
NAMED |= {"cond": control_flow.cond, "while_loop": control_flow.while_loop}
control_flow.cond.__module__ = control_flow.while_loop.__module__ = ROOT
_unsupported = {"__name__": ROOT}
declare_unsupported(
    _unsupported,
    SCRIPT,
    "ScriptObject ScriptFunction ScriptModule ScriptMethod Graph Node Value Block Argument CompilationUnit FunctionSchema ErrorReport",
)
declare_unsupported(
    _unsupported,
    SCRIPT,
    "TensorType ListType DictType TupleType IntType FloatType BoolType StringType OptionalType NoneType AnyType ClassType",
)
declare_unsupported(_unsupported, "torch.load() reads files", "PyTorchFileReader PyTorchFileWriter")
declare_unsupported(_unsupported, "streams of any kind of device are not supported; torch.cuda has Stream and Event", "Stream Event")
NAMED |= {name: value for name, value in _unsupported.items() if name != "__name__"}
