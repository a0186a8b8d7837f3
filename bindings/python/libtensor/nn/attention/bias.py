"""Causal masks for queries and keys of different lengths."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from ... import bool as _bool
from ... import ones
from ..._C import _disabled_torch_function_impl
from ..._core.tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Alignment of a causal mask: UPPER_LEFT aligns the first query with the first key, LOWER_RIGHT the last query with the last key."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask of `seq_len_q` queries and `seq_len_kv` keys, True for the keys that a query attends to."""

    __torch_function__: Any = _disabled_torch_function_impl

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"expected a CausalVariant, but got {type(variant).__name__}")
        offset = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        made: Any = ones(seq_len_q, seq_len_kv, dtype=_bool).tril(offset).as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return repr(self.as_subclass(Tensor))


def _of(variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"causal_{variant.name.lower()} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """Returns the mask (queries, keys) in which query i attends to keys 0 to i.

    >>> torch.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return _of(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """Returns the mask (queries, keys) in which the last query attends to all keys, and each earlier one to one key less.

    >>> torch.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return _of(CausalVariant.LOWER_RIGHT, size)
