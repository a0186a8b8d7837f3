from collections.abc import Callable, Sequence
from typing import Literal, overload

from .._base.dtypes import dtype as _dtype
from .._core.tensor import Tensor
from .._data.random import Generator
from .._gen.gen_nn_functional import *  # noqa: F403
from .linear_cross_entropy import LinearCrossEntropyOptions

def gumbel_softmax(
    logits: Tensor, tau: float = ..., hard: bool = ..., eps: float = ..., dim: int = ..., *, generator: Generator | None = ...
) -> Tensor: ...
def sigmoid(input: Tensor) -> Tensor: ...
def tanh(input: Tensor) -> Tensor: ...
def softmax(input: Tensor, dim: int | None = ..., _stacklevel: int = ..., dtype: _dtype | None = ...) -> Tensor: ...
def log_softmax(input: Tensor, dim: int | None = ..., _stacklevel: int = ..., dtype: _dtype | None = ...) -> Tensor: ...
def softmin(input: Tensor, dim: int | None = ..., _stacklevel: int = ..., dtype: _dtype | None = ...) -> Tensor: ...
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = ...,
    margin: float = ...,
    swap: bool = ...,
    reduction: str = ...,
) -> Tensor: ...
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = ..., bias: Tensor | None = ..., out_dtype: _dtype | None = ...
) -> Tensor: ...
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = ...,
    weight: Tensor | None = ...,
    reduction: str = ...,
    ignore_index: int | None = ...,
    label_smoothing: float = ...,
    options: LinearCrossEntropyOptions | None = ...,
) -> Tensor: ...
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = ...,
    key_padding_mask: Tensor | None = ...,
    need_weights: bool = ...,
    attn_mask: Tensor | None = ...,
    use_separate_proj_weight: bool = ...,
    q_proj_weight: Tensor | None = ...,
    k_proj_weight: Tensor | None = ...,
    v_proj_weight: Tensor | None = ...,
    static_k: Tensor | None = ...,
    static_v: Tensor | None = ...,
    average_attn_weights: bool = ...,
    is_causal: bool = ...,
) -> tuple[Tensor, Tensor | None]: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    return_indices: bool = ...,
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None], return_indices: Literal[False] = ...) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: int | Sequence[int | None], *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = ...
) -> tuple[Tensor, Tensor]: ...
def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    return_indices: bool = ...,
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None], return_indices: Literal[False] = ...) -> Tensor: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None], *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = ...
) -> tuple[Tensor, Tensor]: ...
def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    return_indices: bool = ...,
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None], return_indices: Literal[False] = ...) -> Tensor: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None], *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = ...
) -> tuple[Tensor, Tensor]: ...
def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor: ...
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = ...,
    output_ratio: float | Sequence[float] | None = ...,
    return_indices: Literal[False] = ...,
    _random_samples: Tensor | None = ...,
) -> Tensor: ...
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = ...,
    output_ratio: float | Sequence[float] | None = ...,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = ...,
) -> tuple[Tensor, Tensor]: ...
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = ...,
    output_ratio: float | Sequence[float] | None = ...,
    return_indices: bool = ...,
    _random_samples: Tensor | None = ...,
) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = ...,
    output_ratio: float | Sequence[float] | None = ...,
    return_indices: Literal[False] = ...,
    _random_samples: Tensor | None = ...,
) -> Tensor: ...
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = ...,
    output_ratio: float | Sequence[float] | None = ...,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = ...,
) -> tuple[Tensor, Tensor]: ...
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = ...,
    output_ratio: float | Sequence[float] | None = ...,
    return_indices: bool = ...,
    _random_samples: Tensor | None = ...,
) -> tuple[Tensor, Tensor]: ...
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = ...,
    scale_factor: float | Sequence[float] | None = ...,
    mode: str = ...,
    align_corners: bool | None = ...,
    recompute_scale_factor: bool | None = ...,
    antialias: bool = ...,
) -> Tensor: ...
def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = ...,
    scale_factor: float | Sequence[float] | None = ...,
    mode: str = ...,
    align_corners: bool | None = ...,
) -> Tensor: ...
def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = ...,
    scale_factor: float | Sequence[float] | None = ...,
) -> Tensor: ...
def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = ...,
    scale_factor: float | Sequence[float] | None = ...,
) -> Tensor: ...
def _none_or_dtype(input: Tensor | None) -> _dtype | None: ...
def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: _dtype | None, other_name: str, target_type: _dtype, check_other: bool = ...
) -> Tensor | None: ...
