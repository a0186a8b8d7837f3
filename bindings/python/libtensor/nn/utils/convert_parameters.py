"""Conversion of parameters to a vector and back."""

from __future__ import annotations

from collections.abc import Iterable

from ... import cat
from ..._core.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_devices(parameters: list[Tensor]) -> None:
    if len({param.device for param in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Returns the elements of all parameters, concatenated in one vector. Raises TypeError if they are on different devices."""
    parameters = list(parameters)
    _check_devices(parameters)
    return cat([param.view(-1) for param in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the data of each parameter a view of its elements of `vec`: the inverse of `parameters_to_vector`."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _check_devices(parameters)
    begin = 0
    for param in parameters:
        param.data = vec[begin : begin + param.numel()].view_as(param).data
        begin += param.numel()
