"""Annotations of TorchScript."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

from .._inert import declare_unsupported
from .._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingListCls
from ..futures import Future

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "BroadcastingListCls",
    "Dict",
    "Future",
    "List",
    "Optional",
    "Tuple",
    "Union",
]
declare_unsupported(globals(), "TorchScript is not supported", "get_signature try_ann_to_type ann_to_type")
