"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math
from typing import Any

from ..._core.tensor import Tensor
from ..._gen.gen_functions import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _repeated, _reverse_repeat_tuple

__all__ = [
    *("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"),
    *("LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"),
]

Sizes = int | tuple[int, ...]
_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """The weights and options of a convolution over `_dims` dimensions."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Parameter
    bias: Parameter | None
    _dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.kernel_size, self.stride = in_channels, out_channels, kernel_size, stride
        self.padding, self.dilation, self.transposed, self.output_padding = padding, dilation, transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = self._pad_sizes()
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*channels, *kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _pad_sizes(self) -> list[int] | tuple[int, ...]:
        """Returns the padding in the order of `F.pad`."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        sizes = [0] * (2 * len(self.kernel_size))
        if self.padding == "same":
            for i, (dilation, kernel) in enumerate(zip(reversed(self.dilation), reversed(self.kernel_size), strict=False)):
                total = dilation * (kernel - 1)
                sizes[2 * i : 2 * i + 2] = [total // 2, total - total // 2]
        return sizes

    def reset_parameters(self) -> None:
        """Draws new weights and biases."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * n:
            shown += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            shown += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            shown += f", output_padding={self.output_padding}"
        if self.groups != 1:
            shown += f", groups={self.groups}"
        if self.bias is None:
            shown += ", bias=False"
        if self.padding_mode != "zeros":
            shown += f", padding_mode={self.padding_mode}"
        return shown

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        n = self._dims
        super().__init__(
            in_channels,
            out_channels,
            _repeated(kernel_size, n),
            _repeated(stride, n),
            padding if isinstance(padding, str) else _repeated(padding, n),
            _repeated(dilation, n),
            False,
            (0,) * n,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return _CONVOLUTIONS[self._dims](input, weight, bias, self.stride, padding, self.dilation, self.groups)  # type: ignore[no-any-return]


_CONVOLUTIONS: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


class Conv1d(_Conv):
    """Applies a 1-D convolution (cross-correlation) to signals of several channels:
    `out[n, o, i] = bias[o] + sum over c, k of weight[o, c, k] * input[n, c, i*stride + k*dilation - padding]`.

    Shapes: input (N, C_in, L) or (C_in, L), output (N, C_out, L_out) or (C_out, L_out), with `L_out = floor((L + 2*padding -
    dilation*(kernel_size - 1) - 1) / stride + 1)`; `weight` (out_channels, in_channels / groups, kernel_size), `bias` (out_channels), None
    with `bias=False`. Both are drawn from the uniform distribution over [-k, k) with k = sqrt(groups / (in_channels * kernel_size)).

    `padding` is a size, "valid" (0) or "same" (the output has the size of the input; `stride` must be 1). `padding_mode` is zeros, reflect,
    replicate or circular. `groups` divides both numbers of channels. Raises ValueError for other options.

    >>> torch.nn.Conv1d(16, 33, 3, stride=2)(torch.ones(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    _dims = 1


class Conv2d(_Conv):
    """Applies a 2-D convolution (cross-correlation) to images of several channels:
    `out[n, o, i, j] = bias[o] + sum over c, k, l of weight[o, c, k, l] * input[n, c, i*stride + k*dilation - padding, ...]`.

    Shapes: input (N, C_in, H, W) or (C_in, H, W), output (N, C_out, H_out, W_out), with `H_out = floor((H + 2*padding -
    dilation*(kernel_size - 1) - 1) / stride + 1)`, and W_out likewise; `weight` (out_channels, in_channels / groups, *kernel_size), `bias`
    (out_channels), None with `bias=False`. Both are drawn from the uniform distribution over [-k, k) with k = sqrt(groups / (in_channels *
    prod(kernel_size))).

    Sizes are one value for both dimensions or a pair. `padding` is a size, "valid" (0) or "same" (the output has the size of the input;
    `stride` must be 1). `padding_mode` is zeros, reflect, replicate or circular. `groups` divides both numbers of channels. Raises
    ValueError for other options.

    >>> torch.nn.Conv2d(3, 8, 3, padding="same")(torch.ones(1, 3, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """

    _dims = 2


class Conv3d(_Conv):
    """Applies a 3-D convolution (cross-correlation) to volumes of several channels.

    Shapes: input (N, C_in, D, H, W) or (C_in, D, H, W), output (N, C_out, D_out, H_out, W_out), each size as in Conv2d; `weight`
    (out_channels, in_channels / groups, *kernel_size), `bias` (out_channels), None with `bias=False`. Options and initial values are those
    of Conv2d, sizes one value for all dimensions or three."""

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        n = self._dims
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            _repeated(kernel_size, n),
            _repeated(stride, n),
            _repeated(padding, n),
            _repeated(dilation, n),
            True,
            _repeated(output_padding, n),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(
        self,
        input: Tensor,
        output_size: list[int] | None,
        stride: Any,
        padding: Any,
        kernel_size: Any,
        num_spatial_dims: int,
        dilation: Any = None,
    ) -> Any:
        """Returns the padding with which the output has the size `output_size`."""
        if output_size is None:
            return self.output_padding
        n = num_spatial_dims
        batched = input.dim() == n + 2
        if len(output_size) == n + (2 if batched else 1):
            output_size = output_size[-n:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {n + (2 if batched else 1)} elements "
                f"(got {len(output_size)})"
            )
        dilation = dilation or (1,) * n
        least = [
            (size - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel_size[i] - 1) + 1 for i, size in enumerate(input.shape[-n:])
        ]
        most = [size + stride[i] - 1 for i, size in enumerate(least)]
        if not all(low <= size <= high for low, size, high in zip(least, output_size, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.size()[-n:]})"
            )
        return [size - low for size, low in zip(output_size, least, strict=True)]

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, self._dims, self.dilation)
        function = _TRANSPOSED[self._dims]
        return function(  # type: ignore[no-any-return]
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


_TRANSPOSED: dict[int, Any] = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


class ConvTranspose1d(_ConvTransposeNd):
    """Applies a 1-D transposed convolution: the gradient of Conv1d with respect to its input.

    Shapes: input (N, C_in, L) or (C_in, L), output (N, C_out, L_out) with `L_out = (L - 1)*stride - 2*padding + dilation*(kernel_size - 1)
    + output_padding + 1`; `weight` (in_channels, out_channels / groups, kernel_size), `bias` (out_channels), None with `bias=False`.
    `forward(input, output_size)` chooses `output_padding` so that the output has that size. Raises ValueError for sizes that no output can
    have and for a `padding_mode` other than zeros.
    """

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Applies a 2-D transposed convolution: the gradient of Conv2d with respect to its input.

    Shapes: input (N, C_in, H, W) or (C_in, H, W), output (N, C_out, H_out, W_out), each size as in ConvTranspose1d; `weight` (in_channels,
    out_channels / groups, *kernel_size), `bias` (out_channels). Options are those of ConvTranspose1d, sizes one value or a pair.

    >>> torch.nn.ConvTranspose2d(8, 4, 2, stride=2)(torch.ones(1, 8, 3, 3)).shape
    torch.Size([1, 4, 6, 6])
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Applies a 3-D transposed convolution: the gradient of Conv3d with respect to its input.

    Shapes: input (N, C_in, D, H, W) or (C_in, D, H, W), output (N, C_out, D_out, H_out, W_out), each size as in ConvTranspose1d; `weight`
    (in_channels, out_channels / groups, *kernel_size), `bias` (out_channels). Options are those of ConvTranspose1d, sizes one value or
    three.
    """

    _dims = 3


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution whose `in_channels` is the number of channels of its first input."""

    groups: int
    transposed: bool
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: UninitializedParameter
    bias: UninitializedParameter | None
    _dims: int

    def __init__(self, out_channels: int, kernel_size: Sizes, *args: Any, **kwargs: Any) -> None:
        names = _TRANSPOSED_OPTIONS if issubclass(type(self), _ConvTransposeNd) else _OPTIONS
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__}: expected at most {len(names) + 2} positional arguments, but got {len(args) + 2}")
        options = dict(zip(names, args, strict=False)) | kwargs
        bias = options.pop("bias", True)
        # The number of channels is unknown: the base class would draw a bias.
        super().__init__(0, 0, kernel_size, bias=False, **options)
        factory: dict[str, Any] = {"device": options.get("device"), "dtype": options.get("dtype")}
        self.weight = UninitializedParameter(**factory)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(**factory)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Allocates and draws the parameters for the channels of `input`."""
        if not self.has_uninitialized_params():
            return
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        channels = (self.in_channels, self.out_channels // self.groups)
        if not self.transposed:
            channels = (self.out_channels, self.in_channels // self.groups)
        self.weight.materialize((*channels, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


_OPTIONS = ("stride", "padding", "dilation", "groups", "bias", "padding_mode", "device", "dtype")
_TRANSPOSED_OPTIONS = ("stride", "padding", "output_padding", "groups", "bias", "dilation", "padding_mode", "device", "dtype")


class LazyConv1d(_LazyConvXdMixin, Conv1d):  # type: ignore[misc]
    """A Conv1d whose `in_channels` is the number of channels of its first input; the other arguments are those of Conv1d."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):  # type: ignore[misc]
    """A Conv2d whose `in_channels` is the number of channels of its first input; the other arguments are those of Conv2d."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):  # type: ignore[misc]
    """A Conv3d whose `in_channels` is the number of channels of its first input; the other arguments are those of Conv3d."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):  # type: ignore[misc]
    """A ConvTranspose1d whose `in_channels` is the number of channels of its first input; the other arguments are those of
    ConvTranspose1d."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):  # type: ignore[misc]
    """A ConvTranspose2d whose `in_channels` is the number of channels of its first input; the other arguments are those of
    ConvTranspose2d."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):  # type: ignore[misc]
    """A ConvTranspose3d whose `in_channels` is the number of channels of its first input; the other arguments are those of
    ConvTranspose3d."""

    cls_to_become = ConvTranspose3d
