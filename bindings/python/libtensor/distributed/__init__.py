"""Names of torch.distributed, which is not supported: is_available() is False.

Classes are for annotations and isinstance(); functions raise NotImplementedError. Functions that query a process group raise ValueError, as
in PyTorch before a group is initialized.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from .._inert import declare_unsupported

__all__ = [
    "Backend",
    "GroupMember",
    "ReduceOp",
    "default_pg_timeout",
    "get_node_local_rank",
    "group",
    "is_available",
    "is_backend_available",
]
__all__ += [
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
]

WHY = "programs in several processes are not supported: torch.distributed.is_available() is False; run one process"
default_pg_timeout = timedelta(minutes=30)


def is_available() -> bool:
    """Returns False: process groups are not supported."""
    return False


def is_initialized() -> bool:
    """Returns False: there is no process group."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = is_available


def is_backend_available(backend: str) -> bool:
    """Returns False."""
    return False


def is_torchelastic_launched() -> bool:
    """Returns whether a launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Returns the environment variable LOCAL_RANK as an integer; `fallback_rank` without it."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work")


class ReduceOp:
    """Reductions over processes."""

    class RedOpType:
        """The kinds of reductions."""

    SUM, PRODUCT, MIN, MAX, BAND, BOR, BXOR, AVG, PREMUL_SUM = "SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "AVG", "PREMUL_SUM"


reduce_op = ReduceOp


class Backend(str):
    """The name of a communication backend."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"


class GroupMember:
    """The group of all processes: None before it is initialized."""

    WORLD = None
    NON_GROUP_MEMBER = -100


class group:
    """The group of all processes: None before it is initialized."""

    WORLD = None


def _no_group(name: str) -> Any:
    def ask(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"{name}: Default process group has not been initialized, please make sure to call init_process_group. {WHY}")

    ask.__name__ = ask.__qualname__ = name
    ask.__module__, ask.__doc__ = __name__, "Raises ValueError: there is no group of processes."
    return ask


_ASKED = (
    "get_rank get_world_size get_backend get_backend_config get_process_group_ranks get_group_rank get_global_rank destroy_process_group"
)
globals().update({name: _no_group(name) for name in _ASKED.split()})
__all__ += _ASKED.split()

__all__ += declare_unsupported(
    globals(), WHY, "ProcessGroup ProcessGroupGloo ProcessGroupNCCL Work Store FileStore HashStore PrefixStore TCPStore DeviceMesh"
)
__all__ += declare_unsupported(globals(), WHY, "P2POp")
__all__ += declare_unsupported(
    globals(), WHY, "GradBucket Reducer Logger DistBackendError DistError DistNetworkError DistStoreError QueueEmptyError"
)
__all__ += declare_unsupported(globals(), WHY, "BackendConfig")
__all__ += declare_unsupported(
    globals(), WHY, "init_process_group init_device_mesh new_group new_subgroups split_group barrier monitored_barrier send recv"
)
__all__ += declare_unsupported(globals(), WHY, "isend irecv")
__all__ += declare_unsupported(
    globals(), WHY, "all_gather all_gather_coalesced all_gather_into_tensor all_gather_object all_reduce all_reduce_coalesced"
)
__all__ += declare_unsupported(globals(), WHY, "all_to_all")
__all__ += declare_unsupported(
    globals(), WHY, "all_to_all_single batch_isend_irecv broadcast broadcast_object_list gather gather_object reduce reduce_scatter"
)
__all__ += declare_unsupported(globals(), WHY, "scatter")
__all__ += declare_unsupported(
    globals(), WHY, "reduce_scatter_tensor scatter_object_list send_object_list recv_object_list set_debug_level get_debug_level"
)
declare_unsupported(globals(), WHY, "_all_gather_base _reduce_scatter_base _broadcast_coalesced")


def __getattr__(name: str) -> Any:
    from importlib import import_module
    from importlib.util import find_spec

    if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}'")
