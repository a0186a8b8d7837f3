"""Pooling over windows, and its inverses."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _repeated

__all__ = [
    *("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d"),
    *("AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d"),
    *("MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"),
]

Sizes = int | tuple[int, ...]


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    kernel_size: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    return_indices: bool
    ceil_mode: bool
    _function: Any

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        options = {"ceil_mode": self.ceil_mode, "return_indices": self.return_indices}
        return type(self)._function(input, self.kernel_size, self.stride, self.padding, self.dilation, **options)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Computes the largest element of each window of signals.

    Shapes: input (N, C, L) or (C, L), output (N, C, L_out) with
    `L_out = floor((L + 2*padding - dilation*(kernel_size - 1) - 1) / stride + 1)`, rounded up with `ceil_mode`.

    `stride` defaults to `kernel_size`. The padding is negative infinity, at most half a window. With `return_indices` the result is the
    pair of the elements and their indices, which MaxUnpool1d takes."""

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """Computes the largest element of each window of images.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, H_out, W_out), each size as in MaxPool1d. Sizes are one value or a pair; the
    options are those of MaxPool1d.

    >>> torch.nn.MaxPool2d(2)(torch.arange(16.).reshape(1, 1, 4, 4))
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """Computes the largest element of each window of volumes.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, D_out, H_out, W_out), each size as in MaxPool1d. Sizes are one value or
    three; the options are those of MaxPool1d."""

    _function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    kernel_size: Sizes
    stride: Sizes
    padding: Sizes
    _dims: int
    _function: Any

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size = _repeated(kernel_size, self._dims)
        self.stride = _repeated(kernel_size if stride is None else stride, self._dims)
        self.padding = _repeated(padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return type(self)._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Writes the elements of a MaxPool1d back to the positions that its indices name; other elements are zero.

    Shapes: input and indices (N, C, L) or (C, L), output (N, C, L_out) with `L_out = (L - 1)*stride - 2*padding + kernel_size`, or
    `output_size`, an argument of forward."""

    _dims, _function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Writes the elements of a MaxPool2d back to the positions that its indices name; other elements are zero.

    Shapes: input and indices (N, C, H, W) or (C, H, W), output (N, C, H_out, W_out), each size as in MaxUnpool1d.
    """

    _dims, _function = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Writes the elements of a MaxPool3d back to the positions that its indices name; other elements are zero.

    Shapes: input and indices (N, C, D, H, W) or (C, D, H, W), output (N, C, D_out, H_out, W_out), each size as in MaxUnpool1d.
    """

    _dims, _function = 3, staticmethod(F.max_unpool3d)


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]
    kernel_size: Sizes
    stride: Sizes
    padding: Sizes
    ceil_mode: bool
    count_include_pad: bool

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Computes the mean of each window of signals.

    Shapes: input (N, C, L) or (C, L), output (N, C, L_out) with `L_out = floor((L + 2*padding - kernel_size) / stride + 1)`, rounded up
    with `ceil_mode`. `stride` defaults to `kernel_size`. The padding is zero; with `count_include_pad` it counts as elements of the window.
    """

    def __init__(
        self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        super().__init__()
        self.kernel_size = _repeated(kernel_size, 1)
        self.stride = _repeated(kernel_size if stride is None else stride, 1)
        self.padding, self.ceil_mode, self.count_include_pad = _repeated(padding, 1), ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    divisor_override: int | None
    _function: Any

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        # As in PyTorch, a stride of 0 is replaced too.
        self.kernel_size, self.stride, self.padding = kernel_size, stride or kernel_size, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Tensor) -> Tensor:
        options = (self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)
        return type(self)._function(input, *options)  # type: ignore[no-any-return]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name, default in (("padding", 0), ("ceil_mode", False), ("count_include_pad", True)):
            self.__dict__.setdefault(name, default)


class AvgPool2d(_AvgPoolWithDivisor):
    """Computes the mean of each window of images.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, H_out, W_out), each size as in AvgPool1d. Sizes are one value or a pair. With
    `divisor_override` the sum of the window is divided by it instead of the number of elements; the other options are those of AvgPool1d.
    """

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolWithDivisor):
    """Computes the mean of each window of volumes.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, D_out, H_out, W_out), each size as in AvgPool1d. Sizes are one value or
    three; the options are those of AvgPool2d."""

    _function = staticmethod(F.avg_pool3d)


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    kernel_size: Sizes
    return_indices: bool
    output_size: Sizes | None
    output_ratio: tuple[float, ...] | None
    _random_samples: Tensor | None
    _dims: int
    _function: Any

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n, name = self._dims, type(self).__name__
        self.kernel_size, self.return_indices = _repeated(kernel_size, n), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _repeated(output_size, n)
        self.output_ratio = None if output_ratio is None else _repeated(output_ratio, n)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        options = {"_random_samples": self._random_samples, "return_indices": self.return_indices}
        return type(self)._function(input, self.kernel_size, self.output_size, self.output_ratio, **options)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Computes the largest element of each window of images. The distances between windows are random, so that the output has a given size
    (Graham, 2015).

    Either `output_size` or `output_ratio`, the ratio of output to input sizes, is required; each is one value or a pair. Shapes: input (N,
    C, H, W) or (C, H, W), output (N, C, *output_size). With `return_indices` the result is the pair of the elements and their indices.
    Raises ValueError for both or neither, and for ratios outside of (0, 1).
    """

    _dims, _function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Computes the largest element of each window of volumes. The distances between windows are random, so that the output has a given
    size.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, *output_size). The options are those of FractionalMaxPool2d, one value or
    three.
    """

    _dims, _function = 3, staticmethod(F.fractional_max_pool3d)


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    norm_type: float
    kernel_size: Sizes
    stride: Sizes | None
    ceil_mode: bool
    _function: Any

    def __init__(self, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        function = type(self)._function
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """Computes `(sum over the window of x^p)^(1/p)` of signals, with p = `norm_type`.

    Shapes: input (N, C, L) or (C, L), output (N, C, L_out) with `L_out = floor((L - kernel_size) / stride + 1)`, rounded up with
    `ceil_mode`. `stride` defaults to `kernel_size`."""

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """Computes `(sum over the window of x^p)^(1/p)` of images, with p = `norm_type`.

    Shapes: input (N, C, H, W) or (C, H, W), output (N, C, H_out, W_out), each size as in LPPool1d.
    """

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """Computes `(sum over the window of x^p)^(1/p)` of volumes, with p = `norm_type`.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), output (N, C, D_out, H_out, W_out), each size as in LPPool1d.
    """

    _function = staticmethod(F.lp_pool3d)


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    output_size: Any
    return_indices: bool
    _function: Any

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return type(self)._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Computes the largest element of each of `output_size` windows, which cover signals (N, C, L) or (C, L).

    Window i spans the elements from floor(i L / output_size) to ceil((i + 1) L / output_size). With `return_indices` the result is the pair
    of the elements and their indices.
    """

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Computes the largest element of each of H_out x W_out windows, which cover images (N, C, H, W) or (C, H, W); the windows are those of
    AdaptiveMaxPool1d in each dimension.

    `output_size` is one size or a pair, with None for the size of the input. With `return_indices` the result is the pair of the elements
    and their indices.
    """

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Computes the largest element of each of D_out x H_out x W_out windows, which cover volumes (N, C, D, H, W) or (C, D, H, W); the
    windows are those of AdaptiveMaxPool1d in each dimension.

    `output_size` is one size or three, with None for the size of the input. With `return_indices` the result is the pair of the elements
    and their indices.
    """

    _function = staticmethod(F.adaptive_max_pool3d)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]
    output_size: Any
    _function: Any

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, self.output_size)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Computes the mean of each of `output_size` windows, which cover signals (N, C, L) or (C, L).

    Window i spans the elements from floor(i L / output_size) to ceil((i + 1) L / output_size).
    """

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Computes the mean of each of H_out x W_out windows, which cover images (N, C, H, W) or (C, H, W); the windows are those of
    AdaptiveAvgPool1d in each dimension.

    `output_size` is one size or a pair, with None for the size of the input.

    >>> torch.nn.AdaptiveAvgPool2d((5, None))(torch.ones(1, 64, 8, 9)).shape
    torch.Size([1, 64, 5, 9])
    """

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Computes the mean of each of D_out x H_out x W_out windows, which cover volumes (N, C, D, H, W) or (C, D, H, W); the windows are
    those of AdaptiveAvgPool1d in each dimension.

    `output_size` is one size or three, with None for the size of the input.
    """

    _function = staticmethod(F.adaptive_avg_pool3d)
