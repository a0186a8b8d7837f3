"""Attention with user-defined functions of scores (`score_mod`) and masks (`mask_mod`), as a composite operator.

The functions are called once, with index tensors that broadcast, and consist of tensor operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import arange, float32, zeros
from ... import bool as _bool
from ... import int32 as _int32
from ..._core.tensor import Tensor

__all__ = [
    *("AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask", "flex_attention"),
    *("noop_mask", "or_masks"),
]

_Mask = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_Score = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
FlexKernelOptions = dict[str, Any]
_DEFAULT_SPARSE_BLOCK_SIZE = 128  # packages import it


class AuxRequest(NamedTuple):
    """The additional outputs of `flex_attention` to return."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Additional outputs of `flex_attention`: the logsumexp and the maximum of the scores of each query."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A `mask_mod` that masks nothing."""
    return batch.new_ones((), dtype=_bool)


def or_masks(*mask_mods: _Mask) -> _Mask:
    """Returns a `mask_mod` that is the logical or of the given ones. Raises RuntimeError for arguments that are not callable."""
    return _combined(mask_mods, False)


def and_masks(*mask_mods: _Mask) -> _Mask:
    """Returns a `mask_mod` that is the logical and of the given ones. Raises RuntimeError for arguments that are not callable."""
    return _combined(mask_mods, True)


def _combined(mask_mods: tuple[_Mask, ...], every: bool) -> _Mask:
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def combined(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        made = b.new_full((), every, dtype=_bool)
        for mask in mask_mods:
            made = made & mask(b, h, q_idx, kv_idx) if every else made | mask(b, h, q_idx, kv_idx)
        return made

    return combined


def _positions(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    """Returns the indices of each of four dimensions, as tensors that broadcast to `sizes`."""
    return [arange(size, device=device).view([-1 if i == dim else 1 for i in range(4)]) for dim, size in enumerate(sizes)]


def create_mask(mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """Returns the mask (B, H, Q_LEN, KV_LEN) of the function `mod_fn(b, h, q_idx, kv_idx)`, which returns True where a query attends to a
    key."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*_positions(sizes, device)).expand(sizes).clone()  # type: ignore[no-any-return]


class BlockMask:
    """A block-sparse attention mask. For each row of blocks it stores the number (`kv_num_blocks`) and the columns (`kv_indices`) of blocks
    with a True element, and those of blocks that are entirely True (`full_kv_num_blocks`, `full_kv_indices`), for which `mask_mod` is not
    called."""

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = 128,
        mask_mod: _Mask = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths, self.kv_num_blocks, self.kv_indices = seq_lengths, kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = 128,
        mask_mod: _Mask | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """Returns the mask of the given blocks. `seq_lengths` defaults to the lengths of whole blocks."""
        rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * rows, kv_indices.shape[-1] * columns)
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, (rows, columns), mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """Returns the number of elements of the mask."""
        made = 1
        for size in self.shape:
            made *= size
        return made

    @staticmethod
    def _dense(counts: Tensor, indices: Tensor) -> Tensor:
        """Returns a bool tensor that is True for the listed blocks."""
        listed = arange(indices.shape[-1], device=indices.device) < counts.unsqueeze(-1)
        made = zeros(*indices.shape, dtype=_int32, device=indices.device)
        return made.scatter_add_(-1, indices.long(), listed.to(_int32)) > 0

    def _kinds(self) -> tuple[Tensor, Tensor | None]:
        partial = self._dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return partial, None
        return partial, self._dense(self.full_kv_num_blocks, self.full_kv_indices)

    def to_dense(self) -> Tensor:
        """Returns 1 for each block that has a True element, 0 for others."""
        partial, full = self._kinds()
        return (partial if full is None else partial | full).to(_int32)

    def to_mask(self, sizes: tuple[int, ...]) -> Tensor:
        """Returns the mask (B, H, queries, keys) of all elements; `sizes` is its shape."""
        partial, full = self._kinds()

        def elements(blocks: Tensor) -> Tensor:
            spread = blocks.repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
            return spread[..., : sizes[-2], : sizes[-1]]

        mask = elements(partial) & self.mask_mod(*_positions(sizes, self.kv_indices.device))
        return mask if full is None else mask | elements(full)

    def sparsity(self) -> float:
        """Returns the percentage of the blocks without a True element."""
        dense = self.to_dense()
        return 100 * (1 - float(dense.sum()) / dense.numel())

    def to(self, device: Any) -> BlockMask:
        """Returns the mask on another device."""
        tensors = (self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices)
        a, b, c, d = (None if t is None else t.to(device) for t in tensors)
        assert a is not None and b is not None
        return BlockMask(self.seq_lengths, a, b, c, d, self.BLOCK_SIZE, self.mask_mod)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, BLOCK_SIZE={self.BLOCK_SIZE})"


def create_block_mask(
    mask_mod: _Mask,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = 128,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """Returns the BlockMask of the function `mask_mod(b, h, q_idx, kv_idx)`, which returns True where a query attends to a key.

    >>> mask = torch.nn.attention.flex_attention.create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4, BLOCK_SIZE=2)
    >>> mask.to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    """
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    dense = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    n, m = -(-Q_LEN // rows), -(-KV_LEN // columns)
    padded = zeros(*dense.shape[:2], n * rows, m * columns, dtype=_bool, device=dense.device)
    padded[..., :Q_LEN, :KV_LEN] = dense
    sums = padded.view(*dense.shape[:2], n, rows, m, columns).sum((3, 5))
    full = sums == rows * columns
    partial = (sums > 0) & ~full if separate_full_blocks else sums > 0

    def listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
        order = blocks.to(_int32).argsort(dim=-1, descending=True, stable=True)
        return blocks.sum(-1).to(_int32), order.to(_int32)

    full_counts, full_indices = listed(full) if separate_full_blocks else (None, None)
    return BlockMask((Q_LEN, KV_LEN), *listed(partial), full_counts, full_indices, (rows, columns), mask_mod)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _Score | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Computes `softmax(score_mod(query key^T * scale)) value` where `block_mask` is True; queries that attend to no key get zeros.

    Shapes: query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev), output (B, Hq, L, Ev). With `enable_gqa` Hq may be a multiple of
    Hkv, otherwise ValueError is raised. `score_mod(score, b, h, q_idx, kv_idx)` returns new scores. `scale` defaults to 1 / sqrt(E). With
    `return_lse` the result is the pair of the output and the logarithms of the sums of exponentials (B, Hq, L); with `return_aux` that of
    the output and an AuxOutput. All scores are in memory together; `kernel_options` has no effect."""
    heads, kv_heads = query.size(1), key.size(1)
    if heads != kv_heads:
        if not enable_gqa:
            raise ValueError(
                "Expect query and key/value to have the same number of heads "
                f"but got Hq={heads} and Hkv={kv_heads}. Try setting enable_gqa=True for GQA."
            )
        if heads % kv_heads:
            raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={kv_heads}.")
        key, value = (t.repeat_interleave(heads // kv_heads, 1) for t in (key, value))
    computed = float32 if query.dtype.itemsize < 4 else query.dtype
    factor = query.size(-1) ** -0.5 if scale is None else scale
    scores = query.to(computed) @ key.to(computed).mT * factor
    sizes = tuple(scores.shape)
    if score_mod is not None:
        scores = score_mod(scores, *_positions(sizes, query.device)).to(computed)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.to_mask(sizes), float("-inf"))
    lse = scores.logsumexp(-1)
    empty = (lse == float("-inf")).unsqueeze(-1)
    weights = (scores - lse.unsqueeze(-1).masked_fill(empty, 0.0)).exp()
    output = (weights @ value.to(computed)).to(query.dtype)
    if return_aux is not None:
        largest = scores.amax(-1) if return_aux.max_scores else None
        return output, AuxOutput(lse if return_aux.lse else None, largest)
    return (output, lse) if return_lse else output
