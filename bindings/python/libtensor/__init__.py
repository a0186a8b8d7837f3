"""libtensor: PyTorch's tensor model as one small library. `import libtensor as torch`."""

import math as _math
import sys as _sys

from . import _grad, _hooks, _methods, _names, gen_operators  # for the methods that they give Tensor
from . import gen_functions as _functions
from ._anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from ._arrow import from_arrow
from ._cast import METHODS as _METHODS
from ._compose import einsum, histogramdd, lu, nonzero, positive, tensordot, typename, unique, unique_consecutive
from ._create import LEGACY as _LEGACY
from ._create import (
    as_tensor,
    asarray,
    broadcast_shapes,
    frombuffer,
    get_default_device,
    is_complex,
    is_floating_point,
    is_inference,
    is_signed,
    is_storage,
    is_tensor,
    numel,
    scalar_tensor,
    set_default_device,
    set_default_dtype,
    set_default_tensor_type,
    tensor,
)
from ._create import legacy_class as _legacy_class
from ._device import device
from ._dlpack import from_dlpack, from_numpy, to_dlpack
from ._dtypes import NAMES as _NAMES
from ._dtypes import dtype, finfo, iinfo, layout, memory_format, qscheme
from ._errors import OutOfMemoryError
from ._files import load, load_npy, load_npz, save, save_npy, save_npz
from ._forked import refuse as _refuse_in_forks
from ._library import __version__
from ._modes import (
    are_deterministic_algorithms_enabled,
    autocast,
    enable_grad,
    get_deterministic_debug_mode,
    get_num_interop_threads,
    inference_mode,
    is_autocast_enabled,
    is_deterministic_algorithms_warn_only_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_deterministic_debug_mode,
    set_flush_denormal,
    set_grad_enabled,
    set_num_interop_threads,
    use_deterministic_algorithms,
)
from ._print import get_printoptions, set_printoptions
from ._quantized import PRIVATE as _QUANTIZED
from ._random import Generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state, thread_safe_generator
from ._random import default as _default_generator
from ._sharing import register as _register_sharing
from ._size import Size
from ._sparse import compressed_rows as _convert_indices_from_coo_to_csr
from ._sparse import coordinates as _convert_indices_from_csr_to_coo
from ._sparse import sparse_bsc_tensor, sparse_bsr_tensor, sparse_compressed_tensor, sparse_coo_tensor, sparse_csc_tensor, sparse_csr_tensor
from ._sparse import validate_compressed as _validate_sparse_compressed_tensor_args
from ._sparse import validate_coo as _validate_sparse_coo_tensor_args
from ._storage import UntypedStorage
from ._tensor import Tensor
from ._threadpools import watch as _watch_for_threadpoolctl
from ._typed_storage import LEGACY as _STORAGES
from ._typed_storage import TypedStorage
from ._typed_storage import legacy as _legacy_storage

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None

_SUBMODULES = frozenset(
    (
        *("accelerator", "autograd", "backends", "cpu", "cuda", "distributed", "fft", "func", "hdf5", "linalg", "mps", "multiprocessing", "nn"),
        *("dispatch", "ops", "overrides", "random", "return_types", "safetensors", "signal", "sparse", "special", "storage", "testing"),
        *("utils", "version", "xpu", "_C"),
    )
)

# Generated functions first: the ones above have a Python form of their own.
globals().update({name: getattr(_functions, name) for name in _functions.__all__ if name not in globals()})
globals().update(_NAMES)
globals().update({"_" + name: getattr(_functions, name) for name in _QUANTIZED})
globals().update({name + "Tensor": _legacy_class(name) for name in _LEGACY})
globals().update({name + "Storage": _legacy_storage(name) for name in _STORAGES})

# The classes that scripts print and pickles name are the package's, wherever they are defined.
for _class in (Tensor, Size, dtype, device, layout, memory_format, qscheme, finfo, iinfo, Generator, UntypedStorage, TypedStorage):
    _class.__module__ = __name__

_refuse_in_forks(Tensor)
_watch_for_threadpoolctl()

# Submodules that were imported above are no names of the package, unless they are public.
__all__ = [name for name in globals() if name[0] != "_" and (name in _SUBMODULES or not name.startswith("gen_"))]


def __getattr__(name):
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module("." + name, __name__)
    if name == "Storage":
        return globals()[next(k for k, d in _STORAGES.items() if d is _functions.get_default_dtype()) + "Storage"]
    if name == "default_generator":
        return _default_generator()
    raise AttributeError(f"module 'libtensor' has no attribute '{name}'")


def __dir__():
    special = {name for name in globals() if name.startswith("__")}
    return sorted(special | set(__all__) | {name for name in _SUBMODULES if name[0] != "_"} | {"Storage", "default_generator"})


# A process that already uses multiprocessing, such as a spawned worker, shares the tensors that it sends.
if "multiprocessing.reduction" in _sys.modules:
    _register_sharing()
