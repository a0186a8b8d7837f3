"""Activation functions, elementwise and along a dimension, as modules."""

from __future__ import annotations

import warnings
from typing import Any

from ..._core.modes import is_grad_enabled
from ..._core.tensor import Tensor
from ..._gen.gen_functions import empty
from ..._gen.gen_functions import sigmoid as _sigmoid
from ..._gen.gen_functions import tanh as _tanh
from .. import functional as F
from .. import init as _init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = [
    *("CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish"),
    *("MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus"),
    *("Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold"),
]


class _Inplace(Module):
    """Base class of activations with the option `inplace`, which writes the result to the input. Default: False."""

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """Applies `max(0, x)` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.relu` states the dtypes.

    >>> torch.nn.ReLU()(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class SELU(_Inplace):
    """Applies `scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))` elementwise, with alpha = 1.6732632 and scale = 1.0507009
    (Klambauer et al., 2017). With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.selu` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_Inplace):
    """Applies `x * sigmoid(x)` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.silu` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_Inplace):
    """Applies `x * tanh(softplus(x))` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.mish` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class Hardsigmoid(_Inplace):
    """Applies `min(max(x / 6 + 1/2, 0), 1)` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.hardsigmoid` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_Inplace):
    """Applies `x * min(max(x + 3, 0), 6) / 6` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.hardswish` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Threshold(Module):
    """Applies `x if x > threshold else value` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.threshold` states the dtypes.
    """

    __constants__ = ["threshold", "value", "inplace"]
    threshold: float
    value: float
    inplace: bool

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{', inplace=True' if self.inplace else ''}"


class RReLU(Module):
    """Applies `x if x >= 0 else a * x` elementwise, with a drawn from the uniform distribution over [`lower`, `upper`) during training and
    a = (lower + upper) / 2 in evaluation mode. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.rrelu` states the dtypes.
    """

    __constants__ = ["lower", "upper", "inplace"]
    lower: float
    upper: float
    inplace: bool

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{', inplace=True' if self.inplace else ''}"


class Hardtanh(Module):
    """Applies `min(max(x, min_val), max_val)` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.hardtanh` states the dtypes.

    `min_value` and `max_value` are deprecated names of the bounds. Raises AssertionError unless `max_val > min_val`.
    """

    __constants__ = ["min_val", "max_val", "inplace"]
    min_val: float
    max_val: float
    inplace: bool

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            warnings.warn("keyword argument `min_value` is deprecated and rename to `min_val`", FutureWarning, stacklevel=2)
            min_val = min_value
        if max_value is not None:
            warnings.warn("keyword argument `max_value` is deprecated and rename to `max_val`", FutureWarning, stacklevel=2)
            max_val = max_value
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace
        if not max_val > min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{', inplace=True' if self.inplace else ''}"


class ReLU6(Hardtanh):
    """Applies `min(max(0, x), 6)` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.relu6` states the dtypes.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """Applies `1 / (1 + exp(-x))` elementwise.
    The result has the shape of the input; `sigmoid` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return _sigmoid(input)


class Tanh(Module):
    """Applies the hyperbolic tangent elementwise.
    The result has the shape of the input; `tanh` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return _tanh(input)


class LogSigmoid(Module):
    """Applies `log(1 / (1 + exp(-x)))` elementwise, without overflow.
    The result has the shape of the input; `nn.functional.logsigmoid` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """Applies `x / (1 + |x|)` elementwise.
    The result has the shape of the input; `nn.functional.softsign` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """Applies `x - tanh(x)` elementwise.
    The result has the shape of the input; `nn.functional.tanhshrink` states the dtypes.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class ELU(Module):
    """Applies `x if x > 0 else alpha * (exp(x) - 1)` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.elu` states the dtypes.
    """

    __constants__ = ["alpha", "inplace"]
    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


class CELU(Module):
    """Applies `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.celu` states the dtypes.
    """

    __constants__ = ["alpha", "inplace"]
    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


class GELU(Module):
    """Applies `x * Phi(x)` elementwise, with the standard normal distribution function Phi; with `approximate="tanh"`, `0.5 * x * (1 +
    tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`.
    The result has the shape of the input; `nn.functional.gelu` states the dtypes.
    """

    __constants__ = ["approximate"]
    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """Applies `a * sigmoid(b)` to the halves a and b of the input along `dim`.

    Shapes: input (*, 2 N, *), output (*, N, *).
    """

    __constants__ = ["dim"]
    dim: int

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LeakyReLU(Module):
    """Applies `x if x >= 0 else negative_slope * x` elementwise. With `inplace` the result is written to the input.
    The result has the shape of the input; `nn.functional.leaky_relu` states the dtypes.
    """

    __constants__ = ["inplace", "negative_slope"]
    negative_slope: float
    inplace: bool

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{', inplace=True' if self.inplace else ''}"


class Hardshrink(Module):
    """Applies `x if |x| > lambd else 0` elementwise.
    The result has the shape of the input; `nn.functional.hardshrink` states the dtypes.
    """

    __constants__ = ["lambd"]
    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """Applies `x - lambd if x > lambd, x + lambd if x < -lambd, else 0` elementwise. `lambd` must not be negative.
    The result has the shape of the input; `nn.functional.softshrink` states the dtypes.
    """

    __constants__ = ["lambd"]
    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softplus(Module):
    """Applies `log(1 + exp(beta * x)) / beta` elementwise, and the identity where `beta * x > threshold`.
    The result has the shape of the input; `nn.functional.softplus` states the dtypes.
    """

    __constants__ = ["beta", "threshold"]
    beta: float
    threshold: float

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """Applies `x if x >= 0 else weight * x` elementwise, with a learned `weight` of shape (num_parameters): 1, or the number of channels,
    dimension 1 of the input. `init` is the initial value of the weight. The result has the shape of the input; `nn.functional.prelu` states
    the dtypes."""

    __constants__ = ["num_parameters"]
    num_parameters: int
    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fills the weight with `init`."""
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Module):
    __constants__ = ["dim"]
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """Applies `exp(-x_i) / sum over j of exp(-x_j)` along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """Applies `exp(x_i) / sum over j of exp(x_j)` along `dim`.

    >>> torch.nn.Softmax(dim=0)(torch.tensor([1., 1.]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """Applies `log(exp(x_i) / sum over j of exp(x_j))` along `dim`, without cancellation."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Applies softmax over the channels of images: along dimension -3 of an input (N, C, H, W) or (C, H, W). Raises ValueError for
    others."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class MultiheadAttention(Module):
    """Multi-head attention (Vaswani et al., 2017): `concat(head_1, ..., head_h) W_out` with
    `head_i = softmax(Q_i K_i^T / sqrt(head_dim)) V_i`, where Q, K and V are linear projections of query, key and value.

    Shapes: query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), with N first if `batch_first`, or without N; output as query.
    `kdim` and `vdim` default to `embed_dim`, which must be divisible by `num_heads`.

    `dropout` is the probability with which attention weights are zeroed during training. `add_bias_kv` appends a learned key and value,
    `add_zero_attn` a key and value of zeros. The projections are drawn by `init.xavier_uniform_`, biases begin as zeros. Raises ValueError
    unless both numbers are positive; AssertionError unless `embed_dim` is divisible by `num_heads`.

    >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.ones(1, 3, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([1, 3, 8]), torch.Size([1, 3, 3]))
    """

    __constants__ = ["batch_first"]
    bias_k: Parameter | None
    bias_v: Parameter | None
    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(empty((3 * embed_dim, embed_dim), **factory))
            for name in ("q", "k", "v"):
                self.register_parameter(f"{name}_proj_weight", None)
        else:
            for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
                self.register_parameter(f"{name}_proj_weight", Parameter(empty((embed_dim, size), **factory)))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim, **factory)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **factory)
        self.bias_k = Parameter(empty((1, 1, embed_dim), **factory)) if add_bias_kv else None
        self.bias_v = Parameter(empty((1, 1, embed_dim), **factory)) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                _init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            _init.constant_(self.in_proj_bias, 0.0)
            _init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                _init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Returns the attention outputs and the attention weights, None without `need_weights`.

        `key_padding_mask` (N, S) and `attn_mask` (L, S) or (N * num_heads, L, S) are bool masks, True for masked keys, or floating-point
        masks that are added to the scores. The weights are averaged over the heads, (N, L, S), or with `average_attn_weights=False` (N,
        num_heads, L, S). `is_causal` asserts that `attn_mask` is the causal mask.
        """
        fast = self._is_fast(query, key, value)
        if self.batch_first and query.dim() == 3:
            turned: dict[int, Tensor] = {}  # the same object stays one: its projections are then one product
            query, key, value = (turned.setdefault(id(t), t.transpose(1, 0)) if t.dim() > 1 else t for t in (query, key, value))
        masked = key_padding_mask is not None or attn_mask is not None
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=F._canonical_mask(key_padding_mask, "key_padding_mask", F._none_or_dtype(attn_mask), "attn_mask", query.dtype),
            # In evaluation mode rows without an unmasked key are NaN, as they are with weights.
            need_weights=need_weights or (fast and masked),
            attn_mask=F._canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False),
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        if self.batch_first and query.dim() == 3:
            output = output.transpose(1, 0)
        return output, weights if need_weights else None

    def _is_fast(self, query: Tensor, key: Tensor, value: Tensor) -> bool:
        """Returns whether PyTorch's inference path takes the call, which computes the weights whether they are needed or not."""
        parameters = (query, self.in_proj_weight, self.in_proj_bias, self.out_proj.weight, self.out_proj.bias)
        return (
            not self.training
            and self.batch_first
            and query.dim() == 3
            and query is key is value
            and self._qkv_same_embed_dim
            and self.in_proj_bias is not None
            and self.bias_k is None
            and not self.add_zero_attn
            and self.num_heads % 2 == 0
            and (not is_grad_enabled() or not any(t is not None and t.requires_grad for t in parameters))
        )

    def merge_masks(self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor) -> tuple[Tensor | None, int | None]:
        """Returns one mask for both and its type: 0 for `attn_mask` (L, L) alone, 1 for `key_padding_mask` (N, L) alone, 2 for their sum
        (N, num_heads, L, L); (None, None) without a mask."""
        if key_padding_mask is None and attn_mask is None:
            return None, None
        if attn_mask is None:
            return key_padding_mask, 1
        batch, length = query.shape[:2]
        merged = attn_mask.expand(batch, self.num_heads, -1, -1) if attn_mask.dim() != 3 else attn_mask.view(batch, -1, length, length)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2
