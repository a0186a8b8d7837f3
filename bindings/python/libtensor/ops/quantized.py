"""Arithmetic of quantized tensors whose result is quantized as the caller says, and linear layers of them."""

from .._base.dtypes import float32
from .._core.tensor import Tensor
from .._gen import gen_quantized as _q
from .._gen.gen_quantized import *  # noqa: F403
from .._gen.gen_quantized import __all__ as _names

__all__ = [
    *_names,
    "Conv2dPackedParams",
    "LinearPackedParams",
    "conv2d",
    "conv2d_prepack",
    "conv2d_relu",
    "conv2d_unpack",
    "linear",
    "linear_dynamic",
    "linear_prepack",
    "linear_relu",
    "linear_unpack",
]


class LinearPackedParams:
    """The qint8 weight (with a packed copy for products) and bias of a linear layer, as returned by linear_prepack()."""

    __slots__ = ("_bias", "_packed", "_weight")

    def __init__(self, weight, bias=None):
        self._packed = _q.linear_pack(weight)
        rows = (weight.shape[0],)
        if bias is not None and not (isinstance(bias, Tensor) and bias.dtype is float32 and bias.shape == rows and not bias.is_sparse):
            given = f"{bias.dtype} of sizes {list(bias.shape)}" if isinstance(bias, Tensor) else type(bias).__name__
            raise TypeError(
                f"quantized.linear_prepack(): argument 'B' must be a tensor of float32 with {rows[0]} elements, or None, not {given}"
            )
        self._weight, self._bias = weight.clone(), bias

    def unpack(self):
        """Returns a copy of the weight, and the bias or None."""
        return self._weight.clone(), self._bias

    def __repr__(self):
        return f"LinearPackedParams(weight={self._weight!r}, bias={self._bias!r})"

    def __reduce__(self):
        return LinearPackedParams, self.unpack()


def of(op, packed):
    """Parameters that are an argument of op: the weight, the bias, and the weight in the order of products."""
    if not isinstance(packed, LinearPackedParams):
        raise TypeError(f"quantized.{op}(): argument 'W_prepack' must be a result of linear_prepack(), not {type(packed).__name__}")
    return packed._weight, packed._bias, packed._packed


def linear_prepack(W, B=None):
    """The parameters of a linear layer: a weight of qint8 (out x in) and a bias of float32 (out).

    >>> torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.eye(2), 0.5, 0, torch.qint8)).unpack()[1] is None
    True
    """
    return LinearPackedParams(W, B)


def linear_unpack(W_prepack):
    """The weight and the bias of linear_prepack().

    >>> w = torch.quantize_per_tensor(torch.eye(2), 0.5, 0, torch.qint8)
    >>> torch.ops.quantized.linear_unpack(torch.ops.quantized.linear_prepack(w))[0].int_repr()
    tensor([[2, 0],
            [0, 2]], dtype=torch.int8)
    """
    of("linear_unpack", W_prepack)
    return W_prepack.unpack()


def linear(X, W_prepack, Y_scale_i, Y_zero_point_i):
    """A linear layer of a tensor of quint8 or qint8, whose result is quantized with a scale and a zero point.

    >>> w = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.eye(2), 0.5, 0, torch.qint8))
    >>> torch.ops.quantized.linear(torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8), w, 0.25, 0).int_repr()
    tensor([4, 4], dtype=torch.uint8)
    """
    weight, bias, packed = of("linear", W_prepack)
    return _q.linear(X, weight, bias, Y_scale_i, Y_zero_point_i, packed)


def linear_relu(X, W_prepack, Y_scale_i, Y_zero_point_i):
    """linear(), and 0 where it is less.

    >>> w = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(-torch.eye(2), 0.5, 0, torch.qint8))
    >>> torch.ops.quantized.linear_relu(torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8), w, 0.25, 0).int_repr()
    tensor([0, 0], dtype=torch.uint8)
    """
    weight, bias, packed = of("linear_relu", W_prepack)
    return _q.linear_relu(X, weight, bias, Y_scale_i, Y_zero_point_i, packed)


def linear_dynamic(X, W_prepack, reduce_range=False):
    """A linear layer of a tensor of float32, which is quantized for it; the result is of float32.

    >>> w = torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(torch.eye(2), 0.5, 0, torch.qint8))
    >>> torch.ops.quantized.linear_dynamic(torch.tensor([0.0, 2.55]), w)
    tensor([0.0000, 2.5500])
    """
    weight, bias, packed = of("linear_dynamic", W_prepack)
    return _q.linear_dynamic(X, weight, bias, reduce_range, packed)


class Conv2dPackedParams:
    """The qint8 weight, the bias and the geometry of a convolution, as returned by conv2d_prepack()."""

    __slots__ = ("_arguments", "_bias", "_weight")

    def __init__(self, weight, bias, stride, padding, dilation, groups):
        self._weight, self._bias, self._arguments = weight.clone(), bias, (list(stride), list(padding), list(dilation), groups)

    def unpack(self):
        """Returns a copy of the weight, and the bias or None."""
        return self._weight.clone(), self._bias

    def stride(self):
        return self._arguments[0]

    def padding(self):
        return self._arguments[1]

    def dilation(self):
        return self._arguments[2]

    def groups(self):
        return self._arguments[3]

    def __reduce__(self):
        return Conv2dPackedParams, (*self.unpack(), *self._arguments)


def _convolution_of(op, packed):
    """Parameters that are an argument of op."""
    if not isinstance(packed, Conv2dPackedParams):
        raise TypeError(f"quantized.{op}(): argument 'packed_weight' must be a result of conv2d_prepack(), not {type(packed).__name__}")
    return packed._weight, packed._bias, *packed._arguments


def conv2d_prepack(weight, bias, stride, padding, dilation, groups):
    """The parameters of a convolution: a weight of qint8 (out x in / groups x height x width) and a bias of float32 (out).

    >>> w = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.qint8)
    >>> torch.ops.quantized.conv2d_prepack(w, None, [1, 1], [0, 0], [1, 1], 1).stride()
    [1, 1]
    """
    return Conv2dPackedParams(weight, bias, stride, padding, dilation, groups)


def conv2d_unpack(packed_weights):
    """The weight and the bias of conv2d_prepack().

    >>> w = torch.quantize_per_tensor(torch.ones(1, 1, 1, 1), 0.5, 0, torch.qint8)
    >>> torch.ops.quantized.conv2d_unpack(torch.ops.quantized.conv2d_prepack(w, None, [1, 1], [0, 0], [1, 1], 1))[0].int_repr().item()
    2
    """
    _convolution_of("conv2d_unpack", packed_weights)
    return packed_weights.unpack()


def conv2d(qx, packed_weight, output_scale, output_zero_point):
    """A convolution of a tensor of quint8 or qint8, whose result is quantized with a scale and a zero point.

    >>> w = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.qint8)
    >>> packed = torch.ops.quantized.conv2d_prepack(w, None, [1, 1], [0, 0], [1, 1], 1)
    >>> x = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.quint8)
    >>> torch.ops.quantized.conv2d(x, packed, 0.5, 1).int_repr().item()
    9
    """
    return _q.conv2d(qx, *_convolution_of("conv2d", packed_weight), output_scale, output_zero_point)


def conv2d_relu(qx, packed_weight, output_scale, output_zero_point):
    """conv2d(), and 0 where it is less.

    >>> w = torch.quantize_per_tensor(-torch.ones(1, 1, 2, 2), 0.5, 0, torch.qint8)
    >>> packed = torch.ops.quantized.conv2d_prepack(w, None, [1, 1], [0, 0], [1, 1], 1)
    >>> x = torch.quantize_per_tensor(torch.ones(1, 1, 2, 2), 0.5, 0, torch.quint8)
    >>> torch.ops.quantized.conv2d_relu(x, packed, 0.5, 1).int_repr().item()
    1
    """
    return _q.conv2d_relu(qx, *_convolution_of("conv2d_relu", packed_weight), output_scale, output_zero_point)
