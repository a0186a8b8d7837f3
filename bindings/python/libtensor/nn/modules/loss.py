"""Losses: differences between predictions and targets.

All have `reduction`: mean (the default), sum, or none for the losses of all elements. `size_average` and `reduce` are its deprecated forms.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..._core.tensor import Tensor
from .. import _reduction as _Reduction
from .. import functional as F
from ..linear_cross_entropy import LinearCrossEntropyOptions
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module

__all__ = [
    *(
        "BCELoss",
        "BCEWithLogitsLoss",
        "CTCLoss",
        "CosineEmbeddingLoss",
        "CrossEntropyLoss",
        "GaussianNLLLoss",
        "HingeEmbeddingLoss",
        "HuberLoss",
    ),
    *("KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss"),
    *("MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss"),
    "TripletMarginWithDistanceLoss",
]


class _Loss(Module):
    __constants__ = ["reduction"]
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        former = size_average is not None or reduce is not None
        self.reduction = _Reduction.legacy_get_string(size_average, reduce) if former else reduction


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """Computes `|x - y|`. Shapes: input and target (*), result () or (*) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.

    >>> torch.nn.L1Loss()(torch.tensor([1., 2.]), torch.tensor([2., 4.]))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Computes `(x - y)^2`. Shapes: input and target (*), result () or (*) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Computes `0.5 * (x - y)^2 / beta` where `|x - y| < beta`, else `|x - y| - 0.5 * beta`. Shapes: input and target (*), result () or (*)
    with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Computes `0.5 * (x - y)^2` where `|x - y| < delta`, else `delta * (|x - y| - 0.5 * delta)`. Shapes: input and target (*), result ()
    or (*) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none".
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """Computes `-weight[y] * x[y]` for log-probabilities x of C classes and classes y.

    Shapes: input (N, C), (C) or (N, C, d1, ...), target (N), () or (N, d1, ...), result () or that of the target with `reduction="none"`;
    `weight` (C). Targets `ignore_index` are left out. The mean is weighted: the sum divided by the sum of `weight[y]`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    __constants__ = ["ignore_index", "reduction"]

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """Former name of NLLLoss."""


class CrossEntropyLoss(_WeightedLoss):
    """Computes `-weight[y] * log(exp(x[y]) / sum over c of exp(x[c]))` for logits x of C classes and classes y, or the cross entropy with
    probabilities y.

    Shapes: input (N, C), (C) or (N, C, d1, ...); target of class indices (N), () or (N, d1, ...), or of probabilities as the input; result
    () or that of indices with `reduction="none"`; `weight` (C). Targets `ignore_index` are left out. The mean for indices is weighted: the
    sum divided by the sum of `weight[y]`. With `label_smoothing` the target is mixed with the uniform distribution.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.

    >>> torch.nn.CrossEntropyLoss()(torch.zeros(2, 4), torch.tensor([1, 3]))
    tensor(1.3863)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        options = {"ignore_index": self.ignore_index, "reduction": self.reduction, "label_smoothing": self.label_smoothing}
        return F.cross_entropy(input, target, self.weight, **options)  # type: ignore[arg-type]


class LinearCrossEntropyLoss(_WeightedLoss):
    """Computes CrossEntropyLoss of the logits of a linear layer, without logits of all samples in memory if `options` divide them.

    Shapes: input (N, in_features) or (in_features), target (N), () or (N, *out_features) of class indices, or probabilities (N, C,
    *out_features); result () or that of indices with `reduction="none"`. `linear` has the weight (num_classes * prod(out_features),
    in_features), and a bias with `bias=True`. `ignore_index` is -100 for class indices by default.

    `reduction` is "mean", "sum" or "none".
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, num_classes * prod(out_features), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        sizes, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*sizes, -1) if self.linear.in_features else self.linear.weight.reshape(*sizes, 0),
            target,
            linear_bias=None if bias is None else bias.reshape(sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        shown = f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
        shown += f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
        return shown + f"label_smoothing={self.label_smoothing}, options={self.options}"


class PoissonNLLLoss(_Loss):
    """Computes `exp(x) - y * x`, or with `log_input=False` `x - y * log(x + eps)`: the negative log-likelihood of counts y.

    With `full` the Stirling approximation of `log(y!)` is added where y > 1. Shapes: input and target (*), result () or (*) with
    `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """Computes `0.5 * (log(max(var, eps)) + (x - y)^2 / max(var, eps))`, with `full` plus `0.5 * log(2 * pi)`: the negative log-likelihood
    of targets y with means x and variances `var`.

    Shapes: input and target (*); `var` (*), or (*) with a last dimension of size 1, or (*) without the last dimension; result () or (*)
    with `reduction="none"`.

    `reduction` is "mean", "sum" or "none".
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """Computes the Kullback-Leibler divergence `y * (log(y) - x)` for log-probabilities x and probabilities y, or `exp(y) * (y - x)` with
    `log_target`, for log-probabilities y. Shapes: input and target (*), result () or (*) with `reduction="none"`.

    `reduction` is "mean" (over all elements), "batchmean" (the sum divided by the size of the first dimension, the mathematical
    definition), "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Computes `-weight * (y * log(x) + (1 - y) * log(1 - x))` for probabilities x, with logarithms not below -100. Shapes: input and
    target (*), `weight` broadcast to them, result () or (*) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Computes `-weight * (pos_weight * y * log(sigmoid(x)) + (1 - y) * log(1 - sigmoid(x)))` without overflow. Shapes: input and target
    (*), `weight` and `pos_weight` broadcast to them, result () or (*) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        options = {"pos_weight": self.pos_weight, "reduction": self.reduction}
        return F.binary_cross_entropy_with_logits(input, target, self.weight, **options)  # type: ignore[arg-type]


class HingeEmbeddingLoss(_Loss):
    """Computes `x` where y = 1 and `max(0, margin - x)` where y = -1. Shapes: input and target (*), result () or (*) with
    `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Computes `sum over i, j of max(0, 1 - (x[y[j]] - x[i])) / C` for classes y[j] up to the first -1 and other classes i. Shapes: input
    and target (N, C) or (C), result () or (N) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """Computes `log(1 + exp(-y * x))` for targets y of 1 and -1. Shapes: input and target (*), result () or (*) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Computes `-1/C * sum over c of weight[c] * (y[c] * log(sigmoid(x[c])) + (1 - y[c]) * log(sigmoid(-x[c])))`. Shapes: input and target
    (N, C) or (C), `weight` (C), result () or (N) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """Computes `1 - cos(x1, x2)` where y = 1 and `max(0, cos(x1, x2) - margin)` where y = -1. Shapes: inputs (N, D) or (D), target (N) or
    (), result () or that of the target with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """Computes `max(0, -y * (x1 - x2) + margin)` for targets y of 1, if x1 should rank higher, and -1. Shapes: inputs and target (N) or (),
    result () or (N) with `reduction="none"`.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    __constants__ = ["margin", "reduction"]

    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """Computes `sum over i != y of max(0, weight[y] * (margin - x[y] + x[i]))^p / C` for p = 1 or 2. Shapes: input (N, C) or (C), target
    (N) or (), `weight` (C), result () or that of the target with `reduction="none"`. Raises ValueError for other p and weights of other
    dimensions.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """Computes `max(0, d(a, p) - d(a, n) + margin)` with d the p-norm of the difference plus `eps`. With `swap` d(p, n) counts where it is
    smaller than d(a, n). Shapes: anchor, positive and negative (N, D) or (D), result () or (N) with `reduction="none"`. Raises ValueError
    unless `margin` is positive.

    `reduction` is "mean", "sum" or "none". `size_average` and `reduce` are deprecated forms of it.
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        options = {"margin": self.margin, "p": self.p, "eps": self.eps, "swap": self.swap, "reduction": self.reduction}
        return F.triplet_margin_loss(anchor, positive, negative, **options)  # type: ignore[arg-type]


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with any distance: `distance_function(x, y)`, which returns (N), is `PairwiseDistance` by default.

    `reduction` is "mean", "sum" or "none".
    """

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        options = {"margin": self.margin, "swap": self.swap, "reduction": self.reduction}
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            **options,  # type: ignore[arg-type]
        )


class CTCLoss(_Loss):
    """Computes the negative log-probability of target sequences, summed over all alignments with the input (Graves et al., 2006).

    Shapes: log_probs (T, N, C) or (T, C), of log-probabilities; targets (N, S), or concatenated (sum of target_lengths); input_lengths and
    target_lengths (N) or (); result () or (N) with `reduction="none"`. `blank` is the class between labels. The mean divides by the target
    lengths, then averages. With `zero_infinity` infinite losses, of targets longer than their input, are zero, and so are their gradients.

    `reduction` is "mean", "sum" or "none".
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)
