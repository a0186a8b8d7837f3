"""Adaptive softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._core.tensor import Tensor
from ..._gen.gen_functions import cat
from ..functional import log_softmax
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Computes log-probabilities of many classes in clusters, with fewer features for rare classes (Grave et al., 2017).

    Classes are sorted by decreasing frequency and divided at `cutoffs`. The head computes the classes below the first cutoff, and one
    output for each other cluster, whose classes are computed from `in_features / div_value^i` features. `head_bias` adds a bias to the
    head.

    Shapes: input (N, in_features) or (in_features), target (N) or (); the result is the named tuple of output, the log-probabilities of the
    targets, and loss, the mean of their negatives. Raises ValueError unless `cutoffs` are increasing integers between 1 and n_classes - 1.
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        cutoffs = list(cutoffs)
        super().__init__()
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(a < b for a, b in zip([0, *cutoffs], [*cutoffs, n_classes], strict=True))
        if not rising or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 "
                "and "
                "n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        factory = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            size, features = self.cutoffs[i + 1] - self.cutoffs[i], int(in_features // (div_value ** (i + 1)))
            cluster = Linear(in_features, features, bias=False, **factory), Linear(features, size, bias=False, **factory)
            self.tail.append(Sequential(*cluster))

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.head.reset_parameters()
        for projection, output in self.tail:
            projection.reset_parameters()
            output.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs with size", input_.size())
        elif target_.dim() != 0:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        elif input_.dim() != 1:
            raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs with size", input_.size())
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        self._check_targets(target)
        # The class within the head of each target: its own, or that of its cluster.
        chosen, output = target.clone(), input.new_zeros(target.size(0))
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                chosen.index_fill_(0, rows, self.shortlist_size + i)
                logprobs = log_softmax(cluster(input.index_select(0, rows)), dim=1)
                local = logprobs.gather(1, (target.index_select(0, rows) - low).unsqueeze(1))
                output = output.index_copy(0, rows, local.squeeze(1).to(output.dtype))
        head = log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, chosen.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _check_targets(self, target: Tensor) -> None:
        if target.numel() and not bool(((target >= 0) & (target < self.n_classes)).all()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, {target.max().item()}] "
                "were "
                "found. "
            )

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = log_softmax(head_output, dim=1)
        clusters = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            at = self.shortlist_size + i
            clusters.append(log_softmax(cluster(input), dim=1) + head[:, at : at + 1])
        return cat(clusters, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Returns the log-probabilities (N, n_classes) of all classes for an input (N, in_features)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Returns the most probable class (N) of each row of an input (N, in_features). Computes the other clusters only for rows whose
        most probable output of the head is a cluster.
        """
        head_output = self.head(input)
        output = head_output.argmax(dim=1)
        rare = (output >= self.shortlist_size).nonzero().squeeze(1)
        if rare.numel() == 0:
            return output  # type: ignore[no-any-return]
        found = self._get_full_log_prob(input.index_select(0, rare), head_output.index_select(0, rare)).argmax(dim=1)
        return output.index_copy(0, rare, found)  # type: ignore[no-any-return]
