"""Losses among the functions of the package, for programs that call them instead of those of nn.functional. `reduction` is a number: 0 for
none, which is the default as in PyTorch, 1 for the mean and 2 for the sum.
"""

from __future__ import annotations

from typing import Any

from ..nn import functional as F

__all__ = ["binary_cross_entropy_with_logits", "cosine_embedding_loss", "hinge_embedding_loss", "kl_div", "margin_ranking_loss"]
__all__ += ["poisson_nll_loss", "triplet_margin_loss"]

NAMES = ("none", "mean", "sum")


def _name(function: str, reduction: int) -> str:
    if reduction not in (0, 1, 2):
        raise ValueError(f"{function}: reduction must be 0 (none), 1 (mean) or 2 (sum), but is {reduction!r}")
    return NAMES[reduction]


def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0) -> Any:
    """Returns nn.functional.binary_cross_entropy_with_logits with the reduction as a number."""
    kind = _name("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=kind)


def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """Returns nn.functional.cosine_embedding_loss with the reduction as a number."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_name("cosine_embedding_loss", reduction))


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """Returns nn.functional.hinge_embedding_loss with the reduction as a number."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_name("hinge_embedding_loss", reduction))


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """Returns nn.functional.kl_div with the reduction as a number."""
    return F.kl_div(input, target, reduction=_name("kl_div", reduction), log_target=log_target)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """Returns nn.functional.margin_ranking_loss with the reduction as a number."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_name("margin_ranking_loss", reduction))


def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """Returns nn.functional.poisson_nll_loss with the reduction as a number."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_name("poisson_nll_loss", reduction))


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Any:
    """Returns nn.functional.triplet_margin_loss with the reduction as a number."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_name("triplet_margin_loss", reduction))
