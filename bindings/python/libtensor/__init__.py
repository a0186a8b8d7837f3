"""libtensor: PyTorch's tensor model as one small library. `import libtensor as torch`."""

import math as _math
import sys as _sys

from ._base.device import device
from ._base.dtypes import NAMES as _NAMES
from ._base.dtypes import dtype, finfo, iinfo, layout, memory_format, qscheme
from ._base.dtypes import named as _constant
from ._base.errors import ForkedError, OutOfMemoryError
from ._base.extend import publish as _publish
from ._base.library import __version__
from ._base.size import Size
from ._core import autocast as _autocast
from ._core.autocast import autocast
from ._core.modes import (
    are_deterministic_algorithms_enabled,
    enable_grad,
    get_deterministic_debug_mode,
    get_num_interop_threads,
    inference_mode,
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
from ._core.results import rebuild as _result
from ._core.tensor import Tensor
from ._core.tensor import as_leaf as _as_leaf
from ._core.tensor import with_names as _with_names
from ._data import scaling as _scaling
from ._data.arrow import from_arrow
from ._data.cast import METHODS as _METHODS
from ._data.compose import einsum, histogramdd, lu, nonzero, norm_except_dim, positive, tensordot, typename, unique, unique_consecutive
from ._data.compose import weight_norm as _weight_norm
from ._data.create import LEGACY as _LEGACY
from ._data.create import (
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
from ._data.create import legacy_class as _legacy_class
from ._data.dlpack import from_dlpack, from_numpy, to_dlpack
from ._data.draw import draw
from ._data.print import get_printoptions, set_printoptions
from ._data.quantized import PRIVATE as _QUANTIZED
from ._data.random import PRIVATE as _RANDOM
from ._data.random import Generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state, thread_safe_generator
from ._data.random import default as _default_generator
from ._data.random import restore as _restore_generator
from ._data.sparse import compressed_rows as _convert_indices_from_coo_to_csr
from ._data.sparse import coordinates as _convert_indices_from_csr_to_coo
from ._data.sparse import (
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from ._data.sparse import validate_compressed as _validate_sparse_compressed_tensor_args
from ._data.sparse import validate_coo as _validate_sparse_coo_tensor_args
from ._devices.threadpools import watch as _watch_for_threadpoolctl
from ._gen import gen_functions as _functions
from ._gen.gen_functions import pack_padded_sequence as _pack_padded_sequence  # PyTorch's name
from ._gen.gen_functions import pad_packed_sequence as _pad_packed_sequence
from ._gradients import grad as _grad  # imported for the methods of Tensor
from ._gradients import hooks as _hooks
from ._gradients.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from ._gradients.vmap import vmap
from ._interop import watch as _watch_for_packages
from ._storages import serialize as _serialize
from ._storages.files import load, load_npy, load_npz, save, save_npy, save_npz
from ._storages.sharing import register as _register_sharing
from ._storages.storage import UntypedStorage
from ._storages.storage import meta as _meta_storage
from ._storages.storage import restore as _restore_storage
from ._storages.typed_storage import LEGACY as _STORAGES
from ._storages.typed_storage import TypedStorage
from ._storages.typed_storage import legacy as _legacy_storage
from ._storages.typed_storage import typed as _typed
from ._tensors import gen_operators
from ._tensors import methods as _methods  # imported for the methods of Tensor
from ._tensors import names as _names

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
newaxis = None

_SUBMODULES = frozenset(
    (
        *(
            "accelerator",
            "amp",
            "array_api",
            "autograd",
            "backends",
            "cpu",
            "cuda",
            "dask",
            "dispatch",
            "distributed",
            "fft",
            "func",
            "gguf",
            "hdf5",
        ),
        *(
            "library",
            "linalg",
            "mps",
            "multiprocessing",
            "nn",
            "ops",
            "optim",
            "overrides",
            "profiler",
            "random",
            "return_types",
            "safetensors",
        ),
        *("serialization", "signal", "sparse", "special", "storage", "testing", "utils", "version", "xpu", "_C", "_utils", "hub"),
        *(
            "torch_version",
            "__config__",
            "_dynamo",
            "_guards",
            "_higher_order_ops",
            "_inductor",
            "_jit_internal",
            "_logging",
            "_ops",
            "_subclasses",
        ),
        *("_tensor", "_VF", "ao", "classes", "compiler", "export", "functional", "_tensor_str", "_functorch", "__future__"),
        *("distributions", "quasirandom"),
        *("foreach", "futures", "fx", "jit", "masked", "monitor", "mtia", "nested", "onnx", "package", "quantization", "types"),
    )
)

# Generated functions come first: the functions above replace some of them.
globals().update({name: getattr(_functions, name) for name in _functions.__all__ if name not in globals()})
globals().update(_NAMES)
globals().update({"_" + name: getattr(_functions, name) for name in _QUANTIZED})
globals().update({f.__name__: f for f in (*_autocast.FUNCTIONS, _scaling.check_and_unscale, _scaling.update_scale)})
globals().update({"_" + name: getattr(_functions, name) for name in _RANDOM})
_segment_reduce, _neg_view = _functions.segment_reduce, _functions.neg_view
globals().update({name + "Tensor": _legacy_class(name) for name in _LEGACY})
globals().update({name + "Storage": _legacy_storage(name) for name in _STORAGES})

_watch_for_threadpoolctl()
_watch_for_packages()

# Submodules imported above are not names of the package, unless they are public.
__all__ = [name for name in globals() if name[0] != "_" and (name in _SUBMODULES or not name.startswith("gen_"))]
_publish(globals(), __all__)

# Functions that pickles call, under permanent names.
_REBUILDS = {"tensor": _serialize.rebuild, "sparse": _serialize.rebuild_sparse, "quantized": _serialize.rebuild_quantized}
_REBUILDS |= {"meta": _serialize.rebuild_meta, "leaf": _as_leaf, "names": _with_names, "constant": _constant, "result": _result}
_REBUILDS |= {"generator": _restore_generator, "storage": _restore_storage, "meta_storage": _meta_storage, "typed_storage": _typed}
for _name, _made in _REBUILDS.items():
    _made.__module__, _made.__qualname__ = __name__, "_rebuild_" + _name
    globals()[_made.__qualname__] = _made


def __getattr__(name):
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module("." + name, __name__)
    if name == "GradScaler":
        from .amp import GradScaler

        return GradScaler
    if name == "install_as_torch":
        from ._interop.as_torch import install_as_torch

        return install_as_torch
    if name == "Storage":
        return globals()[next(k for k, d in _STORAGES.items() if d is _functions.get_default_dtype()) + "Storage"]
    if name.startswith("_sobol_engine_"):
        import importlib

        return getattr(importlib.import_module(".quasirandom", __name__), name)
    if name.startswith(("_foreach_", "_fused_")):
        from ._data import lists

        if name == "_foreach_powsum":
            return lists._foreach_powsum
        if hasattr(lists.gen_lists, name[1:]):
            return globals().setdefault(name, lists.public(name[1:]))
    if name == "default_generator":
        return _default_generator()
    if not name.startswith("__"):
        from ._inert.names import NAMED

        if name in NAMED:
            return globals().setdefault(name, NAMED[name])
        from ._inert.absent import list_names

        if name in list_names().get("", {}) or name in list_names():
            raise AttributeError(
                f"module 'libtensor' has no attribute '{name}', which PyTorch has: https://github.com/libtensor/libtensor/blob/main/docs/differences.md",
                name=name,
            )
    raise AttributeError(f"module 'libtensor' has no attribute '{name}'", name=name, obj=_sys.modules[__name__])


def __dir__():
    special = {name for name in globals() if name.startswith("__")}
    return sorted(
        special | set(__all__) | {name for name in _SUBMODULES if name[0] != "_"} | {"Storage", "default_generator", "install_as_torch"}
    )


# A process that already uses multiprocessing, such as a spawned worker, shares the tensors that it sends.
if "multiprocessing.reduction" in _sys.modules:
    _register_sharing()
