"""Names of torch._C that packages use."""

import enum as _enum
import sys as _sys
from threading import local as _local
from types import SimpleNamespace as _SimpleNamespace
from typing import Any

from . import Generator, Size, Tensor, device, dtype, layout, memory_format, qscheme
from ._base.overrides import disabled as DisableTorchFunctionSubclass
from ._base.overrides import disabled_torch_function as _disabled_torch_function_impl
from ._core.modes import is_grad_enabled, set_grad_enabled
from ._gen import gen_nn_functional
from ._gen.gen_functions import transform_level as _transform_level
from ._inert import declare_unsupported
from ._inert.core import find as _find

__path__: list[str] = []  # a package, for imports of names such as torch._C._functorch
__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "Size",
    "_disabled_torch_function_impl",
    "device",
    "dtype",
    "layout",
]
__all__ += ["is_grad_enabled", "memory_format", "qscheme"]


def _parse_to(*args, **kwargs):
    """Returns the device, dtype, non_blocking and memory format of the arguments of Module.to()."""
    from .nn.modules._state import parse_to

    return parse_to(args, kwargs)


_nn = _SimpleNamespace(**{name: getattr(gen_nn_functional, name) for name in gen_nn_functional.__all__}, _parse_to=_parse_to)
_nn.log_sigmoid = _nn.logsigmoid


class _Namespace:
    """The functions of a module under names that begin with its name: _fft.fft_rfft is torch.fft.rfft."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        found = None
        if name.startswith(self._module + "_"):
            found = getattr(getattr(_VariableFunctions, self._module), name[len(self._module) + 1 :], None)
        if found is None:
            raise AttributeError(f"module 'torch._C._{self._module}' has no attribute '{name}'")
        return found


_fft, _linalg, _special = map(_Namespace, ("fft", "linalg", "special"))
DisableTorchFunction = DisableTorchFunctionSubclass
TensorBase = _TensorBase = Tensor
_TensorMeta = type(Tensor)
_VariableFunctions = _VariableFunctionsClass = _sys.modules[__name__.partition(".")[0]]
has_cuda = has_mps = has_xpu = has_mkldnn = has_mkl = has_openmp = has_cudnn = _has_cuda = _has_mps = _has_xpu = _has_mkldnn = False
has_lapack = has_spectral = True
_GLIBCXX_USE_CXX11_ABI = True


class DispatchKey(_enum.Enum):
    """The purpose of an operator's implementation, for functions that register implementations."""

    Undefined, CPU, CUDA, Meta, MPS, XPU, SparseCPU, SparseCUDA, QuantizedCPU, QuantizedCUDA, NestedTensorCPU, NestedTensorCUDA = range(12)
    Autograd, AutogradCPU, AutogradCUDA, AutogradMeta, ADInplaceOrView, AutocastCPU, AutocastCUDA, AutocastMPS, AutocastXPU = range(12, 21)
    CompositeImplicitAutograd, CompositeExplicitAutograd, CompositeExplicitAutogradNonFunctional, BackendSelect = range(21, 25)
    Functionalize, FuncTorchBatched, FuncTorchGradWrapper, Python, PythonTLSSnapshot, PythonDispatcher = range(25, 31)


class DispatchKeySet:
    """A set of dispatch keys, for functions that register implementations."""

    def __init__(self, *keys):
        self._keys = frozenset(keys)

    def has(self, key):
        """Returns whether a key is in the set."""
        return key in self._keys

    def add(self, key):
        """Returns the set with a key."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key):
        """Returns the set without a key."""
        return DispatchKeySet(*(self._keys - {key}))

    def __or__(self, other):
        return DispatchKeySet(*(self._keys | other._keys))

    def __and__(self, other):
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other):
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other):
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self):
        return hash(self._keys)


class _IncludeDispatchKeyGuard:
    """A context manager without effect: libtensor has no other dispatch paths."""

    def __init__(self, keys=None):
        self._keys = keys or DispatchKeySet()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return None


_ForceDispatchKeyGuard = _AutoDispatchBelowAutograd = _AutoDispatchBelowADInplaceOrView = _IncludeDispatchKeyGuard
_guards = _local()


class _ExcludeDispatchKeyGuard(_IncludeDispatchKeyGuard):
    """A context manager that records keys as excluded, and changes no dispatch."""

    def __enter__(self):
        _guards.keys = (*getattr(_guards, "keys", ()), self._keys)
        return self

    def __exit__(self, *raised):
        _guards.keys = _guards.keys[:-1]


def _dispatch_tls_local_exclude_set():
    """Returns the keys that guards of the thread exclude."""
    keys = DispatchKeySet()
    for each in getattr(_guards, "keys", ()):
        keys = keys | each
    return keys


def _log_api_usage_once(event):
    """Does nothing."""


def _get_tracing_state():
    """Returns None: tracing is not supported."""
    return None


def _is_tracing():
    """Returns False: tracing is not supported."""
    return False


def _get_accelerator(check=None):
    """Returns the device of the accelerator, the CPU without one."""
    from .accelerator import current_accelerator

    return current_accelerator() or device("cpu")


def _set_grad_enabled(mode):
    """Enables or disables the autograd graph."""
    set_grad_enabled(mode)


def _get_privateuse1_backend_name():
    """Returns the name of the device type that another package registers: none."""
    return "privateuseone"


def _is_torch_function_enabled():
    """Returns whether __torch_function__ of subclasses is called."""
    from ._base.overrides import state

    return not state.disabled


def _are_functorch_transforms_active():
    """Returns whether the thread is inside vmap, grad or another transform of torch.func."""
    return _transform_level() > 0


def _has_torch_function_mode():
    """Returns whether a TorchFunctionMode is active."""
    from ._base.overrides import state

    return bool(state.modes)


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Returns lists of tensors by the device and dtype of those of the first list: `{(device, dtype): (lists, indices)}`. None stays in its
    position; indices are empty unless `with_indices`.
    """
    groups: dict[Any, Any] = {}
    for i, row in enumerate(zip(*tensorlistlist, strict=True)):
        lists, indices = groups.setdefault((row[0].device, row[0].dtype), ([[] for _ in row], []))
        for target, value in zip(lists, row, strict=True):
            target.append(value)
        if with_indices:
            indices.append(i)
    return groups


def _dispatch_keys(tensor):
    """Returns the dispatch keys of a tensor: that of its backend, and those of autograd."""
    kind = {"strided": "", "sparse_coo": "Sparse"}.get(str(tensor.layout).removeprefix("torch."), "SparseCsr")
    backend = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(tensor.device.type, "CPU")
    names = [kind + backend, "AutogradCPU" if backend == "CPU" else "Autograd" + backend, "ADInplaceOrView"]
    return DispatchKeySet(*(getattr(DispatchKey, name) for name in names if hasattr(DispatchKey, name)))


def _cuda_getDeviceCount():
    """Returns the number of CUDA devices."""
    from .cuda import device_count

    return device_count()


def _get_mkldnn_enabled():
    """Returns False: oneDNN is not part of the library."""
    return False


def _get_default_device():
    """Returns the name of the type of the default device."""
    from . import get_default_device

    return get_default_device().type


def _dispatch_has_kernel_for_dispatch_key(name, dispatch_key):
    """Returns whether a custom operator has a kernel for a dispatch key."""
    from .library.operators import KEYS, find

    return KEYS.get(str(dispatch_key), str(dispatch_key)) in find(name).kernels


def _cuda_isInBadFork():
    """Returns False: a forked child can use the library."""
    return False


def _jit_setting(*values):
    """Returns False, the previous setting: TorchScript is not supported."""
    return False


_jit_set_profiling_mode = _jit_set_profiling_executor = _jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _jit_setting
_jit_set_texpr_fuser_enabled = _jit_set_nvfuser_enabled = _debug_set_autodiff_subgraph_inlining = _jit_set_bailout_depth = _jit_setting
_jit_texpr_fuser_enabled = _jit_nvfuser_enabled = _jit_setting

declare_unsupported(
    globals(),
    "TorchScript is not supported",
    "Graph Node Value Block ScriptFunction ScriptModule ScriptObject ScriptMethod CompilationUnit FileCheck",
)
declare_unsupported(globals(), "TorchScript is not supported", "PyTorchFileReader PyTorchFileWriter parse_ir parse_schema import_ir_module")
declare_unsupported(
    globals(),
    "TorchScript is not supported",
    "TensorType ListType DictType TupleType IntType FloatType BoolType StringType OptionalType NoneType",
)


def __getattr__(name):
    return _find(name)
