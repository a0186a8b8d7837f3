"""Names of torch._C that packages query or call: each is the public function that PyTorch implements by it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .._base import overrides
from .._core.tensor import Tensor

ROOT: Any = sys.modules[__name__.partition(".")[0]]

# Public functions, by the names of torch._C.
PUBLIC = {
    "_set_default_dtype": "set_default_dtype",
    "_set_default_tensor_type": "set_default_tensor_type",
    "get_num_threads": "get_num_threads",
    "set_num_threads": "set_num_threads",
    "_get_float32_matmul_precision": "get_float32_matmul_precision",
    "_set_float32_matmul_precision": "set_float32_matmul_precision",
    "_get_deterministic_algorithms": "are_deterministic_algorithms_enabled",
    "_set_deterministic_algorithms": "use_deterministic_algorithms",
    "_set_warnAlways": "set_warn_always",
    "_get_warnAlways": "is_warn_always_enabled",
    "_show_config": "__config__.show",
    "_parallel_info": "__config__.parallel_info",
    "_to_dlpack": "utils.dlpack.to_dlpack",
    "_from_dlpack": "from_dlpack",
    "_get_math_sdp_enabled": "backends.cuda.math_sdp_enabled",
    "_get_flash_sdp_enabled": "backends.cuda.flash_sdp_enabled",
    "_get_mem_efficient_sdp_enabled": "backends.cuda.mem_efficient_sdp_enabled",
    "_set_sdp_use_flash": "backends.cuda.enable_flash_sdp",
    "_set_sdp_use_mem_efficient": "backends.cuda.enable_mem_efficient_sdp",
    "_set_sdp_use_math": "backends.cuda.enable_math_sdp",
    "_set_multithreading_enabled": "autograd.set_multithreading_enabled",
    "_has_torch_function": "overrides.has_torch_function",
    "_has_torch_function_unary": "overrides.has_torch_function_unary",
    "_has_torch_function_variadic": "overrides.has_torch_function_variadic",
    "_LinAlgError": "linalg.LinAlgError",
    "_InferenceMode": "inference_mode",
    "_cuda_getDevice": "cuda.current_device",
    "_cuda_setDevice": "cuda.set_device",
    "_cuda_emptyCache": "cuda.empty_cache",
    "_cuda_resetPeakMemoryStats": "cuda.reset_peak_memory_stats",
    "_cuda_isCurrentStreamCapturing": "cuda.is_current_stream_capturing",
    "_cuda_init": "cuda.init",
    "_CudaStreamBase": "cuda.Stream",
    "_CudaEventBase": "cuda.Event",
    "_CUDAGraph": "cuda.CUDAGraph",
    "_get_dispatch_mode": "utils._python_dispatch._get_current_dispatch_mode",
}


def _is_torch_function_mode_enabled() -> bool:
    """Returns whether a TorchFunctionMode is active."""
    return bool(overrides.state.modes)


def _function_modes() -> list[Any]:
    dispatch = ROOT.utils._python_dispatch.TorchDispatchMode
    return [mode for mode in overrides.state.modes if not isinstance(mode, dispatch)]


def _len_torch_function_stack() -> int:
    """Returns the number of active modes of functions."""
    return len(_function_modes())


def _get_function_stack_at(level: int) -> Any:
    """Returns an active mode of functions; the outermost one is 0."""
    return _function_modes()[level]


def _len_torch_dispatch_stack() -> int:
    """Returns the number of active modes of operators."""
    return len(ROOT.utils._python_dispatch._get_current_dispatch_mode_stack())


def _get_dispatch_stack_at(level: int) -> Any:
    """Returns an active mode of operators; the outermost one is 0."""
    return ROOT.utils._python_dispatch._get_current_dispatch_mode_stack()[level]


def _is_alias_of(a: Tensor, b: Tensor) -> bool:
    """Returns whether tensors share a storage."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and a.numel() > 0


def _data_address(t: Tensor) -> int:
    """Returns the address of a tensor's first element."""
    return t.data_ptr()


def _storage_id(t: Tensor) -> int:
    """Returns a number that identifies the storage of a tensor."""
    return int(t.untyped_storage().data_ptr())


def _has_storage(t: Tensor) -> bool:
    """Returns whether a tensor has a storage: sparse ones have none."""
    return bool(t.layout is ROOT.strided)


def _get_cpu_capability() -> str:
    """Returns the instruction set of the kernels: DEFAULT, AVX2 or AVX512."""
    tier = str(ROOT.cpu_tier())
    return "DEFAULT" if tier == "baseline" else tier.upper()


def _dispatch_get_all_op_names() -> list[str]:
    """Returns the names of all operators that can be called by name."""
    return list(ROOT.library.calls.list_operators())


def _dispatch_has_kernel(name: str) -> bool:
    """Returns whether an operator exists."""
    return ROOT.library.calls.find_schema(name) is not None


def _is_multithreading_enabled() -> bool:
    """Returns True: the setting has no effect."""
    return True


def _is_fwd_grad_enabled() -> bool:
    """Returns True: forward-mode derivatives are always enabled."""
    return True


def _is_xnnpack_enabled() -> bool:
    """Returns False: XNNPACK is not part of the library."""
    return False


def _false(*values: Any) -> bool:
    return False


def _none(*values: Any) -> None:
    return None


def _add_docstr(function: Any, text: str) -> Any:
    """Sets the documentation of a function that has none, and returns the function."""
    if not function.__doc__:
        function.__doc__ = text
    return function


FALSE = (
    "_jit_can_fuse_on_cpu _jit_can_fuse_on_gpu _jit_set_nvfuser_guard_mode _get_cudnn_enabled _get_cudnn_benchmark _is_view_replay_enabled"
)
NONE = (
    "_cuda_clearCublasWorkspaces _log_api_usage_metadata _set_worker_signal_handlers _remove_worker_pids _error_if_any_worker_fails "
    "_initExtension"
)
GIVEN: dict[str, Any] = {
    **dict.fromkeys(FALSE.split(), _false),
    **dict.fromkeys(NONE.split(), _none),
    "_distributed_rpc": SimpleNamespace(_is_current_rpc_agent_set=_false),
    "_nvtx": SimpleNamespace(),
}


def find(name: str) -> Any:
    """Returns a name of torch._C. Raises AttributeError for one that is not known."""
    if name in GIVEN:
        return GIVEN[name]
    found: Callable[..., Any] | None = globals().get(name) if name.startswith("_") and not name.startswith("__") else None
    if name in PUBLIC:
        parts: Sequence[str] = PUBLIC[name].split(".")
        found = ROOT
        for part in parts:
            found = getattr(found, part)
    if found is None:
        raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
    return found
