"""Neural network functions without state."""

import warnings

from .._base import overrides as _overrides
from .._base.direct import open_to_overrides as _open_to_overrides
from .._base.dtypes import bool_ as _bool
from .._core.tensor import Tensor
from .._gen.gen_functions import zeros_like as _zeros_like
from .._gen.gen_nn_functional import *  # noqa: F403
from .._gen.gen_nn_functional import __all__  # noqa: F401
from .._gen.gen_nn_functional import embedding as _embedding
from .._gen.gen_nn_functional import gumbel_softmax as _gumbel_softmax
from .._gen.gen_nn_functional import linear_cross_entropy as _linear_cross_entropy
from .._gen.gen_nn_functional import log_softmax as _log_softmax
from .._gen.gen_nn_functional import multi_head_attention_forward as _multi_head_attention_forward
from .._gen.gen_nn_functional import softmax as _softmax
from .._gen.gen_nn_functional import softmin as _softmin
from .grouped_mm import grouped_mm  # noqa: F401
from .interpolation import *  # noqa: F403
from .linear_cross_entropy import LinearCrossEntropyOptions
from .pooling import *  # noqa: F403

_threshold = threshold  # noqa: F405  # its name in graphs


def _chosen(function, input, dim, stacklevel, dtype):
    """Applies `function` along `dim`; without `dim` warns and uses PyTorch's implicit choice of the dimension."""
    if dim is None:
        name = function.__name__
        if _overrides.hook(input) is not None:
            taken = _overrides.dispatch(globals()[name], (input,), {"dtype": dtype} if dtype is not None else {})
            if taken is not _overrides.NOBODY:
                return taken
        warnings.warn(f"Implicit dimension choice for {name} has been deprecated; pass dim", stacklevel=stacklevel)
        dim = 0 if input.dim() in (0, 1, 3) else 1
    return function(input, dim, dtype=dtype)


@_open_to_overrides
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if padding_idx is not None and isinstance(weight, Tensor) and not -len(weight) <= padding_idx < len(weight):
        raise AssertionError(
            f"Padding_idx must be within num_embeddings: embedding got {padding_idx} for a weight of shape {tuple(weight.shape)}"
        )
    return _embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)


embedding.__doc__ = _embedding.__doc__


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1, *, generator=None):
    """Samples from the Gumbel-softmax (concrete) distribution with `logits` along `dim`: `softmax((logits + g) / tau)`, where g is standard
    Gumbel noise from `generator`. Samples approach one-hot vectors as `tau` approaches 0. With `hard`, returns one-hot vectors that have
    the gradient of the soft samples (straight-through estimator). `eps` is ignored.

    >>> _ = torch.manual_seed(0)
    >>> torch.nn.functional.gumbel_softmax(torch.tensor([0., 0., 10.]), hard=True)
    tensor([0., 0., 1.])
    """
    return _gumbel_softmax(logits, tau, hard, eps, dim, generator=generator)


def sigmoid(input):
    """Returns `1 / (1 + exp(-x))` of every element.

    >>> torch.nn.functional.sigmoid(torch.tensor([0., 2.]))
    tensor([0.5000, 0.8808])
    """
    return input.sigmoid()


def tanh(input):
    """Returns the hyperbolic tangent of every element.

    >>> torch.nn.functional.tanh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """
    return input.tanh()


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """Returns `exp(x) / sum(exp(x))` along `dim`, computed relative to the largest element to avoid overflow. `dtype` is the dtype of the
    computation and the result. Without `dim` (deprecated), a warning is issued, and `dim` is 0 for tensors with 0, 1 or 3 dimensions, and 1
    for others.

    >>> torch.nn.functional.softmax(torch.tensor([1., 1.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _chosen(_softmax, input, dim, _stacklevel, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """Returns the logarithm of `softmax` along `dim`, computed without cancellation. `dtype` is the dtype of the computation and the
    result. Without `dim` (deprecated), a warning is issued, and `dim` is 0 for tensors with 0, 1 or 3 dimensions, and 1 for others.

    >>> torch.nn.functional.log_softmax(torch.tensor([1., 1.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return _chosen(_log_softmax, input, dim, _stacklevel, dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """Returns `softmax(-input)` along `dim`. `dtype` is the dtype of the computation and the result.
    Without `dim` (deprecated), a warning is issued, and `dim` is 0 for tensors with 0, 1 or 3 dimensions, and 1 for others.

    >>> torch.nn.functional.softmin(torch.tensor([1., 1.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _chosen(_softmin, input, dim, _stacklevel, dtype)


@_open_to_overrides
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """Returns `max(0, d(anchor, positive) - d(anchor, negative) + margin)`, where d is `distance_function`, by default `pairwise_distance`.

    With `swap` d(positive, negative) is used instead of d(anchor, negative) where it is smaller. `reduction` is mean, sum or none.

    >>> torch.nn.functional.triplet_margin_with_distance_loss(torch.zeros(2), torch.tensor([3., 4.]), torch.tensor([0., 2.]))
    tensor(4.0000)
    """
    name = "triplet_margin_with_distance_loss"
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{name}: {reduction} is not a valid value for reduction; use one of mean, sum, none")
    if margin <= 0:
        raise ValueError(f"{name}: margin must be positive, but is {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        sizes = [tuple(t.shape) for t in (anchor, positive, negative)]
        raise RuntimeError(f"{name}: all tensors must have the same number of dimensions, but have sizes {sizes}")
    distance = distance_function or pairwise_distance  # noqa: F405
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = (near - far + margin).clamp_min(0)
    return loss if reduction == "none" else getattr(loss, reduction)()


@_open_to_overrides
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Returns the output of multi-head attention with `num_heads` heads, and the attention weights, or None without `need_weights`.

    Shapes: `query` (L, N, E), `key` and `value` (S, N, E), or without N; output (L, N, E). `in_proj_weight` (3 E, E) and `in_proj_bias`
    project query, key and value; with `use_separate_proj_weight` `q_proj_weight`, `k_proj_weight` and `v_proj_weight` do. Each head attends
    with E / `num_heads` features; `out_proj_weight` and `out_proj_bias` project the concatenated heads. `bias_k` and `bias_v` are appended
    as a key and a value, and `add_zero_attn` appends a key and a value of zeros; `static_k` and `static_v` replace the projected ones.

    `key_padding_mask` (N, S) and `attn_mask` (L, S) or (N * num_heads, L, S) are bool masks, True for keys that are ignored, or
    floating-point masks that are added to the scores; `is_causal` asserts that `attn_mask` is the causal mask.

    >>> x, w = torch.tensor([[1., 0.], [0., 1.]]), torch.eye(2)
    >>> projections = torch.cat([w, w, w]), None, None, None, False, 0.0, w, None
    >>> torch.nn.functional.multi_head_attention_forward(x, x, x, 2, 1, *projections, need_weights=False)
    (tensor([[0.6698, 0.3302],
            [0.3302, 0.6698]]), None)
    """
    projections = (in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias)
    separate = (use_separate_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v)
    masks = (training, key_padding_mask, need_weights, attn_mask)
    given = (query, key, value, embed_dim_to_check, num_heads, *projections, *masks, *separate, average_attn_weights, is_causal)
    out, weights = _multi_head_attention_forward(*given)
    return out, weights if need_weights else None


@_open_to_overrides
def linear_cross_entropy(
    input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0, options=None
):
    """Returns the cross-entropy loss of a linear layer: `cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    `input` has the shape (N, in_features), `linear_weight` (C, in_features) and `linear_bias` (C). `cross_entropy` describes the other
    arguments. With `options`, a `torch.nn.LinearCrossEntropyOptions`, the logits of a few samples at a time are computed, and computed
    again in the backward pass: the logits of all samples are never in memory at once.

    >>> torch.nn.functional.linear_cross_entropy(torch.tensor([[1., 0.]]), torch.tensor([[0., 1.], [0., 2.]]), torch.tensor([1]))
    tensor(0.6931)
    """
    rows = None
    if options is not None and not isinstance(options, LinearCrossEntropyOptions):
        raise TypeError(f"linear_cross_entropy: options must be LinearCrossEntropyOptions or None, but is of {type(options).__name__}")
    if options is not None and all(isinstance(t, Tensor) and t.dim() == 2 for t in (input, linear_weight)):
        rows = options.rows(*input.shape, linear_weight.shape[0])
    how = {"weight": weight, "reduction": reduction, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
    return _linear_cross_entropy(input, linear_weight, target, linear_bias=linear_bias, batch_chunk_size=rows, **how)


def _none_or_dtype(input):
    """Returns the dtype of a tensor, None for None."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """Returns a mask of dtype `target_type` to add to attention scores: negative infinity where a bool mask is True. Floating-point masks
    are returned unchanged."""
    if mask is None:
        return None
    if mask.dtype is not _bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=3)
    return mask if mask.is_floating_point() else _zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
