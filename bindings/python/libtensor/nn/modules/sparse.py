"""Embeddings: tables of vectors, selected by indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._core.modes import no_grad
from ..._core.tensor import Tensor
from ..._gen.gen_functions import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Embedding", "EmbeddingBag"]


def _wrapped_padding_idx(padding_idx: int | None, num_embeddings: int, name: str) -> int | None:
    if padding_idx is None:
        return None
    if not -num_embeddings <= padding_idx < num_embeddings:
        raise AssertionError(f"{name} must be within num_embeddings")
    return padding_idx + num_embeddings if padding_idx < 0 else padding_idx


class _Table(Module):
    """The table of an embedding."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Parameter

    def _make_table(self, weight: Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        if weight is not None:
            if list(weight.shape) != [self.num_embeddings, self.embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=not freeze)
            return
        self.weight = Parameter(empty((self.num_embeddings, self.embedding_dim), device=device, dtype=dtype), requires_grad=not freeze)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new rows; that of `padding_idx` is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Returns rows of a table that are selected by indices: `out[..., :] = weight[input[...], :]`.

    Shapes: input (*) of int32 or int64, output (*, embedding_dim); `weight` (num_embeddings, embedding_dim), drawn from the normal
    distribution.

    The row `padding_idx` is initialized with zeros and gets no gradient. Rows whose p-norm, p = `norm_type`, is above `max_norm` are scaled
    to it in place when they are used. With `scale_grad_by_freq` the gradient of a row is divided by its number of occurrences in the input;
    with `sparse` the gradient of the weight is a sparse tensor.

    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2, 4, 5]])).shape
    torch.Size([1, 4, 3])
    """

    __constants__ = ["num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"]
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _wrapped_padding_idx(padding_idx, num_embeddings, "Padding_idx")
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        self._make_table(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            shown += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            shown += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            shown += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            shown += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return shown + (", sparse=True" if self.sparse is not False else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Returns an Embedding with the table `embeddings`, which does not require a gradient if `freeze`, the default."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)


class EmbeddingBag(_Table):
    """Returns sums, means or maxima of bags of rows that are selected by indices, without computing the rows.

    Shapes: input (B, N), B bags of N indices, or (N) with `offsets` (B), the start of each bag; output (B, embedding_dim); `weight`
    (num_embeddings, embedding_dim), drawn from the normal distribution. `mode` is sum, mean or max. `per_sample_weights`, of the input's
    shape, multiplies the rows in mode sum. With `include_last_offset` the last offset is the end of the last bag. Rows `padding_idx` are
    ignored. The other options are those of Embedding.
    """

    __constants__ = [
        *("num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse"),
        *("include_last_offset", "padding_idx"),
    ]
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    mode: str
    sparse: bool
    include_last_offset: bool

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.max_norm, self.norm_type = num_embeddings, embedding_dim, max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _wrapped_padding_idx(padding_idx, num_embeddings, "padding_idx")
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._make_table(_weight, False, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            shown += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            shown += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            shown += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        shown += f", mode={self.mode!r}"
        return shown + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Returns an EmbeddingBag with the table `embeddings`, which does not require a gradient if `freeze`, the default."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        options: Any = {"_weight": embeddings, "include_last_offset": include_last_offset, "padding_idx": padding_idx}
        rows, columns = embeddings.shape
        made = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, **options)
        made.weight.requires_grad = not freeze
        return made
