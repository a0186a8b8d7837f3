"""Decorators of functions that an export to ONNX would call."""

from collections.abc import Callable
from typing import Any

from .._inert import declare_unsupported, identity

_onnx_unsupported = None


def parse_args(*descriptors: Any) -> Callable[..., Any]:
    """Returns a decorator that returns the function."""
    return identity


quantized_args = parse_args
declare_unsupported(
    globals(),
    "the export to ONNX is not supported",
    "_get_tensor_rank _get_tensor_sizes _maybe_get_const _is_none _unimplemented _get_const",
)
