import builtins
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

from . import accelerator as accelerator
from . import amp as amp
from . import array_api as array_api
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import cpu as cpu
from . import cuda as cuda
from . import dask as dask
from . import dispatch as dispatch
from . import distributed as distributed
from . import distributions as distributions
from . import export as export
from . import fft as fft
from . import foreach as foreach
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from . import gguf as gguf
from . import hdf5 as hdf5
from . import hub as hub
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import masked as masked
from . import mps as mps
from . import multiprocessing as multiprocessing
from . import nested as nested
from . import nn as nn
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from . import package as package
from . import profiler as profiler
from . import quasirandom as quasirandom
from . import random as random
from . import return_types as return_types
from . import safetensors as safetensors
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from . import torch_version as torch_version
from . import types as types
from . import utils as utils
from . import version as version
from . import xpu as xpu
from ._base.device import device as device
from ._base.dtypes import dtype as dtype
from ._base.dtypes import finfo as finfo
from ._base.dtypes import iinfo as iinfo
from ._base.dtypes import layout as layout
from ._base.dtypes import memory_format as memory_format
from ._base.dtypes import qscheme as qscheme
from ._base.gen_dtypes import *  # noqa: F403
from ._base.size import Size as Size
from ._core.autocast import autocast as autocast
from ._core.autocast import autocast_decrement_nesting as autocast_decrement_nesting
from ._core.autocast import autocast_increment_nesting as autocast_increment_nesting
from ._core.autocast import clear_autocast_cache as clear_autocast_cache
from ._core.autocast import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from ._core.autocast import get_autocast_dtype as get_autocast_dtype
from ._core.autocast import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from ._core.autocast import get_autocast_ipu_dtype as get_autocast_ipu_dtype
from ._core.autocast import get_autocast_xla_dtype as get_autocast_xla_dtype
from ._core.autocast import is_autocast_cache_enabled as is_autocast_cache_enabled
from ._core.autocast import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from ._core.autocast import is_autocast_enabled as is_autocast_enabled
from ._core.autocast import is_autocast_ipu_enabled as is_autocast_ipu_enabled
from ._core.autocast import is_autocast_xla_enabled as is_autocast_xla_enabled
from ._core.autocast import set_autocast_cache_enabled as set_autocast_cache_enabled
from ._core.autocast import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from ._core.autocast import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from ._core.autocast import set_autocast_dtype as set_autocast_dtype
from ._core.autocast import set_autocast_enabled as set_autocast_enabled
from ._core.autocast import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from ._core.autocast import set_autocast_ipu_dtype as set_autocast_ipu_dtype
from ._core.autocast import set_autocast_ipu_enabled as set_autocast_ipu_enabled
from ._core.autocast import set_autocast_xla_dtype as set_autocast_xla_dtype
from ._core.autocast import set_autocast_xla_enabled as set_autocast_xla_enabled
from ._core.modes import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from ._core.modes import enable_grad as enable_grad
from ._core.modes import get_deterministic_debug_mode as get_deterministic_debug_mode
from ._core.modes import get_num_interop_threads as get_num_interop_threads
from ._core.modes import inference_mode as inference_mode
from ._core.modes import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from ._core.modes import is_grad_enabled as is_grad_enabled
from ._core.modes import is_inference_mode_enabled as is_inference_mode_enabled
from ._core.modes import no_grad as no_grad
from ._core.modes import set_deterministic_debug_mode as set_deterministic_debug_mode
from ._core.modes import set_flush_denormal as set_flush_denormal
from ._core.modes import set_grad_enabled as set_grad_enabled
from ._core.modes import set_num_interop_threads as set_num_interop_threads
from ._core.modes import use_deterministic_algorithms as use_deterministic_algorithms
from ._core.tensor import Tensor as Tensor
from ._data.lists import _foreach_powsum as _foreach_powsum
from ._data.random import Generator as Generator
from ._data.random import _dirichlet_grad as _dirichlet_grad
from ._data.random import _sample_dirichlet as _sample_dirichlet
from ._data.random import _standard_gamma as _standard_gamma
from ._data.random import _standard_gamma_grad as _standard_gamma_grad
from ._data.random import get_rng_state as get_rng_state
from ._data.random import initial_seed as initial_seed
from ._data.random import manual_seed as manual_seed
from ._data.random import seed as seed
from ._data.random import set_rng_state as set_rng_state
from ._data.random import thread_safe_generator as thread_safe_generator
from ._gen.gen_functions import *  # noqa: F403
from ._gen.gen_lists import *  # noqa: F403
from ._gradients.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from ._gradients.anomaly import is_anomaly_enabled as is_anomaly_enabled
from ._interop.as_torch import install_as_torch as install_as_torch
from ._storages.storage import UntypedStorage as UntypedStorage
from ._storages.typed_storage import TypedStorage as TypedStorage
from .func import vmap as vmap

__version__: str
inf: builtins.float
nan: builtins.float
pi: builtins.float
e: builtins.float
newaxis: None

bool: dtype
float4_e2m1fn_x2: dtype
half: dtype
float: dtype
double: dtype
short: dtype
int: dtype
long: dtype
cfloat: dtype
cdouble: dtype
chalf: dtype
strided: layout
sparse_coo: layout
sparse_csr: layout
sparse_csc: layout
sparse_bsr: layout
sparse_bsc: layout
per_tensor_affine: qscheme
per_channel_affine: qscheme
per_tensor_symmetric: qscheme
per_channel_symmetric: qscheme
per_channel_affine_float_qparams: qscheme
contiguous_format: memory_format
preserve_format: memory_format
channels_last: memory_format
channels_last_3d: memory_format

class ForkedError(RuntimeError): ...
class OutOfMemoryError(MemoryError, RuntimeError): ...
class SymBool: ...
class SymFloat: ...
class SymInt: ...
class DoubleTensor(Tensor): ...
class DoubleStorage(TypedStorage): ...
class FloatTensor(Tensor): ...
class FloatStorage(TypedStorage): ...
class HalfTensor(Tensor): ...
class HalfStorage(TypedStorage): ...
class BFloat16Tensor(Tensor): ...
class BFloat16Storage(TypedStorage): ...
class LongTensor(Tensor): ...
class LongStorage(TypedStorage): ...
class IntTensor(Tensor): ...
class IntStorage(TypedStorage): ...
class ShortTensor(Tensor): ...
class ShortStorage(TypedStorage): ...
class CharTensor(Tensor): ...
class CharStorage(TypedStorage): ...
class ByteTensor(Tensor): ...
class ByteStorage(TypedStorage): ...
class BoolTensor(Tensor): ...
class BoolStorage(TypedStorage): ...
class ComplexDoubleTensor(Tensor): ...
class ComplexDoubleStorage(TypedStorage): ...
class ComplexFloatTensor(Tensor): ...
class ComplexFloatStorage(TypedStorage): ...
class QUInt8Storage(TypedStorage): ...
class QInt8Storage(TypedStorage): ...
class QInt32Storage(TypedStorage): ...
class QUInt4x2Storage(TypedStorage): ...
class QUInt2x4Storage(TypedStorage): ...

Storage: type[TypedStorage]
default_generator: Generator

_Device: TypeAlias = device | str | builtins.int | None
_dtype: TypeAlias = dtype
_DTypeLike: TypeAlias = dtype | type[Any]
_device: TypeAlias = device

def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
def _weight_int8pack_mm(input: Tensor, mat2: Tensor, scales: Tensor) -> Tensor: ...
def _convert_weight_to_int4pack_for_cpu(input: Tensor, inner_k_tiles: builtins.int) -> Tensor: ...
def _weight_int4pack_mm_for_cpu(input: Tensor, mat2: Tensor, q_group_size: builtins.int, q_scale_and_zeros: Tensor) -> Tensor: ...
def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: builtins.int, quant_max: builtins.int, grad_factor: builtins.float = ...
) -> Tensor: ...
def _fake_quantize_learnable_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: builtins.int,
    quant_min: builtins.int,
    quant_max: builtins.int,
    grad_factor: builtins.float = ...,
) -> Tensor: ...
def tensor(
    data: Any,
    *,
    dtype: _DTypeLike | None = ...,
    device: _Device = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
    names: Sequence[str | None] | None = ...,
) -> Tensor: ...
def as_tensor(data: Any, dtype: _DTypeLike | None = ..., device: _Device = ...) -> Tensor: ...
def asarray(
    obj: Any, *, dtype: _DTypeLike | None = ..., device: _Device = ..., copy: builtins.bool | None = ..., requires_grad: builtins.bool = ...
) -> Tensor: ...
def scalar_tensor(s: Any, *, dtype: _DTypeLike | None = ..., device: _Device = ...) -> Tensor: ...
def sparse_coo_tensor(
    indices: Any = ...,
    values: Any = ...,
    size: Any = ...,
    *,
    dtype: _DTypeLike | None = ...,
    device: _Device = ...,
    pin_memory: builtins.bool = ...,
    requires_grad: builtins.bool = ...,
    check_invariants: builtins.bool | None = ...,
    is_coalesced: builtins.bool | None = ...,
) -> Tensor: ...
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = ...,
    *,
    dtype: _DTypeLike | None = ...,
    layout: layout | None = ...,
    device: _Device = ...,
    pin_memory: builtins.bool = ...,
    requires_grad: builtins.bool = ...,
    check_invariants: builtins.bool | None = ...,
) -> Tensor: ...
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = ...,
    *,
    dtype: _DTypeLike | None = ...,
    layout: layout | None = ...,
    device: _Device = ...,
    pin_memory: builtins.bool = ...,
    requires_grad: builtins.bool = ...,
    check_invariants: builtins.bool | None = ...,
) -> Tensor: ...
def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = ...,
    *,
    dtype: _DTypeLike | None = ...,
    layout: layout | None = ...,
    device: _Device = ...,
    pin_memory: builtins.bool = ...,
    requires_grad: builtins.bool = ...,
    check_invariants: builtins.bool | None = ...,
) -> Tensor: ...
def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = ...,
    *,
    dtype: _DTypeLike | None = ...,
    layout: layout | None = ...,
    device: _Device = ...,
    pin_memory: builtins.bool = ...,
    requires_grad: builtins.bool = ...,
    check_invariants: builtins.bool | None = ...,
) -> Tensor: ...
def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = ...,
    *,
    dtype: _DTypeLike | None = ...,
    layout: layout | None = ...,
    device: _Device = ...,
    pin_memory: builtins.bool = ...,
    requires_grad: builtins.bool = ...,
    check_invariants: builtins.bool | None = ...,
) -> Tensor: ...
def from_numpy(ndarray: Any) -> Tensor: ...
def frombuffer(
    buffer: Any, *, dtype: _DTypeLike, count: builtins.int = ..., offset: builtins.int = ..., requires_grad: builtins.bool = ...
) -> Tensor: ...
def from_dlpack(ext_tensor: Any, *, device: _Device = ..., copy: builtins.bool | None = ...) -> Tensor: ...
def from_arrow(array: Any) -> Tensor: ...
def to_dlpack(tensor: Tensor) -> Any: ...
def is_tensor(obj: object) -> TypeGuard[Tensor]: ...
def is_storage(obj: object) -> builtins.bool: ...
def is_floating_point(input: Tensor) -> builtins.bool: ...
def is_inference(input: Tensor) -> builtins.bool: ...
def is_signed(input: Tensor) -> builtins.bool: ...
def is_complex(input: Tensor) -> builtins.bool: ...
def numel(input: Tensor) -> builtins.int: ...
def positive(input: Tensor) -> Tensor: ...
def einsum(equation: str | Tensor, *operands: Tensor | Sequence[Any]) -> Tensor: ...
def nonzero(input: Tensor, *, out: Tensor | None = ..., as_tuple: builtins.bool = ...) -> Any: ...
def unique(
    input: Tensor,
    sorted: builtins.bool = ...,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    dim: builtins.int | None = ...,
) -> Any: ...
def lu(A: Tensor, pivot: builtins.bool = ..., get_infos: builtins.bool = ..., out: Sequence[Tensor] | None = ...) -> tuple[Tensor, ...]: ...
def unique_consecutive(
    input: Tensor, return_inverse: builtins.bool = ..., return_counts: builtins.bool = ..., dim: builtins.int | None = ...
) -> Any: ...
def histogramdd(
    input: Tensor,
    bins: builtins.int | Sequence[builtins.int] | Sequence[Tensor],
    range: Sequence[builtins.float] | None = ...,
    weight: Tensor | None = ...,
    density: builtins.bool = ...,
) -> Any: ...
def typename(obj: Any) -> str: ...
def norm_except_dim(v: Tensor, pow: builtins.int = ..., dim: builtins.int = ...) -> Tensor: ...
def _weight_norm(v: Tensor, g: Tensor, dim: builtins.int = ...) -> Tensor: ...
def tensordot(a: Tensor, b: Tensor, dims: Any = ..., out: Tensor | None = ...) -> Tensor: ...
def broadcast_shapes(*shapes: Sequence[builtins.int] | builtins.int) -> Size: ...
def set_default_dtype(d: dtype) -> None: ...
def set_default_tensor_type(t: Any) -> None: ...
def set_default_device(device: _Device) -> None: ...
def get_default_device() -> _device: ...
def set_printoptions(
    precision: builtins.int | None = ...,
    threshold: builtins.float | None = ...,
    edgeitems: builtins.int | None = ...,
    linewidth: builtins.float | None = ...,
    profile: str | None = ...,
    sci_mode: builtins.bool | None = ...,
) -> None: ...
def get_printoptions() -> dict[str, Any]: ...

class _Drawing:
    def _repr_svg_(self) -> str: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...

def draw(*tensors: Tensor, labels: Sequence[str] | None = None) -> _Drawing: ...

class SupportsRead(Protocol):
    def read(self) -> bytes: ...

class SupportsWrite(Protocol):
    def write(self, data: Any, /) -> Any: ...

_Path: TypeAlias = str | os.PathLike[str]
_Readable: TypeAlias = SupportsRead | bytes | bytearray | memoryview
_Progress: TypeAlias = builtins.bool | Callable[[builtins.int, builtins.int], object]
_Place: TypeAlias = _Device | Mapping[Any, Any] | Callable[[Any, str], Any]

def save(
    obj: object,
    f: _Path | SupportsWrite,
    pickle_module: Any = ...,
    pickle_protocol: builtins.int = ...,
    _use_new_zipfile_serialization: builtins.bool = ...,
    *,
    compact: builtins.bool = ...,
    progress: _Progress = ...,
) -> None: ...
def load(
    f: _Path | _Readable,
    map_location: _Place = ...,
    pickle_module: Any = ...,
    *,
    weights_only: builtins.bool | None = ...,
    mmap: builtins.bool | None = ...,
    progress: _Progress = ...,
    **_: Any,
) -> Any: ...
def save_npy(tensor: Tensor, f: _Path | SupportsWrite) -> None: ...
def load_npy(f: _Path | _Readable, *, mmap: builtins.bool = ...) -> Tensor: ...
def save_npz(tensors: Mapping[str, Tensor], f: _Path | SupportsWrite) -> None: ...
def load_npz(f: _Path | _Readable) -> dict[str, Tensor]: ...
