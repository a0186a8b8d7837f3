"""The deprecated arguments `size_average` and `reduce` of losses."""

from __future__ import annotations

import warnings


def get_enum(reduction: str) -> int:
    """Returns 0 for none, 1 for mean, 2 for sum. Raises ValueError for others."""
    kinds = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
    if reduction not in kinds:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return kinds[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """Returns the reduction that corresponds to the deprecated arguments, with a warning."""
    reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.", stacklevel=4)
    return reduction


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Returns `get_enum` of `legacy_get_string`."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
