"""Operators of ONNX, for functions that an export would call."""

from typing import Any

from .._inert import make_function


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return make_function(__name__, name, "the export to ONNX is not supported")
