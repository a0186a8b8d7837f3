"""Names of torch.cuda that libtensor does not support, which torch.cuda loads on first access."""

from typing import Any

from . import declare_unsupported

ROOT = __name__.partition(".")[0] + ".cuda"
NAMED = {"__name__": ROOT}
GRAPHS, POOLS = "CUDA graphs are not supported; call the function", "pools of memory are not supported; the library allocates"
declare_unsupported(NAMED, GRAPHS, "CUDAGraph graph make_graphed_callables graph_pool_handle")
declare_unsupported(NAMED, POOLS, "MemPool MemPoolContext CUDAPluggableAllocator use_mem_pool change_current_allocator memory_snapshot")
declare_unsupported(
    NAMED,
    "measurements of the device are not supported; nvidia-smi shows them",
    "utilization temperature power_draw clock_rate memory_usage",
)
declare_unsupported(NAMED, "the CUDA runtime is not exposed", "cudart current_blas_handle list_gpu_processes")
del NAMED["__name__"]


def ipc_collect():
    """Does nothing: no memory of devices is shared between processes."""


def get_sync_debug_mode():
    """Returns 0: synchronizations are not reported."""
    return 0


def set_sync_debug_mode(debug_mode):
    """Does nothing: synchronizations are not reported."""


def _is_compiled():
    """Returns whether the library finds a CUDA device that it can use."""
    from ..backends.cuda import is_built

    return is_built()


def _is_in_bad_fork():
    """Returns False."""
    return False


_function: Any
for _function in (ipc_collect, get_sync_debug_mode, set_sync_debug_mode, _is_compiled, _is_in_bad_fork):
    _function.__module__ = ROOT
    NAMED[_function.__name__] = _function
