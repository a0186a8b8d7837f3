"""Operators of torchvision: box suppression, pooling over regions and deformable convolution, as composite operators."""

from __future__ import annotations

from typing import Any

from .. import arange, empty, floor, full, int32, int64, matmul, maximum, minimum, stack
from .._core.tensor import Tensor
from ..nn import functional as F
from .operators import implement


@implement("torchvision::_cuda_version() -> int")
def cuda_version() -> int:
    return -1


@implement("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    if dets.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.dim()}D")
    if dets.size(1) != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.size(1)}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if dets.size(0) != scores.size(0):
        raise RuntimeError(f"boxes and scores should have same number of elements in dimension 0, got {dets.size(0)} and {scores.size(0)}")
    order = scores.detach().sort(stable=True, descending=True)[1]
    boxes = dets.detach()[order]
    low, high = boxes[:, :2], boxes[:, 2:]
    areas = (high - low).prod(1)
    is_kept = [True] * len(boxes)
    for i in range(len(boxes)):
        if not is_kept[i]:
            continue
        shared = (minimum(high[i], high[i + 1 :]) - maximum(low[i], low[i + 1 :])).clamp(min=0).prod(1)
        is_covered = shared / (areas[i] + areas[i + 1 :] - shared) > iou_threshold
        for j in is_covered.nonzero().flatten().tolist():
            is_kept[i + 1 + j] = False
    return order[[i for i, kept in enumerate(is_kept) if kept]] if is_kept else order


def _check_rois(name: str, image: Tensor, rois: Tensor) -> None:
    if rois.dim() != 2 or rois.size(1) != 5:
        raise RuntimeError(f"{name}: rois must have shape as Tensor[K, 5], got {list(rois.shape)}")
    if image.dtype != rois.dtype:
        raise RuntimeError(
            f"{name}: Expected tensor for input to have the same type as tensor for rois; but type {image.dtype} does not equal "
            f"{rois.dtype}"
        )


def _bilinear_weights(start: Tensor, size: Tensor, bins: int, points: int, length: int) -> Tensor:
    """Returns the weights (K, bins, length) by which elements along a dimension contribute to bins of regions: the mean over points of a
    bin of linear interpolation."""
    steps = (arange(bins * points, dtype=start.dtype, device=start.device) + 0.5) / (bins * points)
    at = start[:, None] + size[:, None] * steps
    is_inside = (at >= -1) & (at <= length)
    at = at.clamp(0, length - 1)
    weights = (1 - (at[..., None] - arange(length, dtype=at.dtype, device=at.device)).abs()).clamp(min=0) * is_inside[..., None]
    return weights.reshape(len(start), bins, points, length).mean(2)


def _pool_bilinear(image: Tensor, rois: Tensor, scale: float, height: int, width: int, points: int, is_aligned: bool) -> Tensor:
    """Returns (K, C, height, width): the means of bins at interpolated points."""
    batch = rois[:, 0].detach().to(int64)
    corners = rois[:, 1:].detach() * scale - (0.5 if is_aligned else 0.0)
    start, size = corners[:, :2], corners[:, 2:] - corners[:, :2]
    if not is_aligned:
        size = size.clamp(min=1)
    if points > 0:
        counts = [(points, points)] * len(rois)
    else:
        down = (size[:, 1] / height).ceil().to(int64).tolist()
        across = (size[:, 0] / width).ceil().to(int64).tolist()
        counts = list(zip(down, across, strict=True))
    rows: list[Any] = [None] * len(rois)
    for count in sorted(set(counts)):
        chosen = [i for i, c in enumerate(counts) if c == count]
        if min(count) <= 0:
            for i in chosen:
                rows[i] = image.new_zeros(image.size(1), height, width)
            continue
        s, z = start[chosen], size[chosen]
        down_weights = _bilinear_weights(s[:, 1], z[:, 1], height, count[0], image.size(2))
        across_weights = _bilinear_weights(s[:, 0], z[:, 0], width, count[1], image.size(3))
        made = matmul(matmul(down_weights[:, None], image[batch[chosen]]), across_weights[:, None].mT)
        for i, row in zip(chosen, made.unbind(0), strict=True):
            rows[i] = row
    return stack(rows) if rows else image.new_zeros(0, image.size(1), height, width)


@implement(
    "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor"
)
def roi_align(image: Tensor, rois: Tensor, scale: float, height: int, width: int, points: int, is_aligned: bool) -> Tensor:
    _check_rois("roi_align", image, rois)
    return _pool_bilinear(image, rois, scale, height, width, points, is_aligned)


def _diagonal(pooled: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Returns the channels that belong to each bin, of (K, C * height * width, height, width), and their indices."""
    count, channels = pooled.size(0), pooled.size(1) // (height * width)
    i, j = arange(height)[:, None], arange(width)[None, :]
    chosen = pooled.reshape(count, channels, height, width, height, width)[:, :, i, j, i, j]
    mapping = arange(channels * height * width, dtype=int32).reshape(1, channels, height, width).expand(count, -1, -1, -1)
    return chosen, mapping.contiguous().to(pooled.device)


def _check_channels(name: str, image: Tensor, height: int, width: int) -> None:
    if image.size(1) % (height * width):
        raise RuntimeError(
            f"{name}: input channels ({image.size(1)}) must be a multiple of pooling height * pooling width ({height} * {width})"
        )


@implement(
    "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int "
    "sampling_ratio) "
    "-> (Tensor, Tensor)"
)
def ps_roi_align(image: Tensor, rois: Tensor, scale: float, height: int, width: int, points: int) -> tuple[Tensor, Tensor]:
    _check_rois("ps_roi_align", image, rois)
    _check_channels("ps_roi_align", image, height, width)
    return _diagonal(_pool_bilinear(image, rois, scale, height, width, points, True), height, width)


def _round(x: Tensor) -> Tensor:
    """Rounds halves away from zero."""
    return floor(x.abs() + 0.5) * x.sign()


def _bin_edges(start: Tensor, size: Tensor, bins: int, length: int) -> tuple[Tensor, Tensor]:
    """Returns the first elements (K, bins) of bins and those after the last."""
    steps = arange(bins, dtype=size.dtype, device=size.device)
    width = (size / bins)[:, None]
    first = (steps * width).floor() + start[:, None]
    last = ((steps + 1) * width).ceil() + start[:, None]
    return first.clamp(0, length).to(int64), last.clamp(0, length).to(int64)


@implement(
    "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)"
)
def roi_pool(image: Tensor, rois: Tensor, scale: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    _check_rois("roi_pool", image, rois)
    corners = _round(rois[:, 1:].detach() * scale)
    size = (corners[:, 2:] - corners[:, :2] + 1).clamp(min=1)
    tops, bottoms = (e.tolist() for e in _bin_edges(corners[:, 1], size[:, 1], height, image.size(2)))
    lefts, rights = (e.tolist() for e in _bin_edges(corners[:, 0], size[:, 0], width, image.size(3)))
    channels, across = image.size(1), image.size(3)
    values, indices = [], []
    for k, batch in enumerate(rois[:, 0].detach().to(int64).tolist()):
        for top, bottom in zip(tops[k], bottoms[k], strict=True):
            for left, right in zip(lefts[k], rights[k], strict=True):
                if bottom <= top or right <= left:
                    values.append(image.new_zeros(channels))
                    indices.append(full((channels,), -1, dtype=int64, device=image.device))
                    continue
                largest, at = image[batch, :, top:bottom, left:right].reshape(channels, -1).max(1)
                values.append(largest)
                indices.append((at // (right - left) + top) * across + at % (right - left) + left)
    if not values:
        return image.new_zeros(0, channels, height, width), empty((0, channels, height, width), dtype=int32, device=image.device)
    sizes = (len(rois), height, width, channels)
    return stack(values).reshape(sizes).movedim(-1, 1).contiguous(), stack(indices).to(int32).reshape(sizes).movedim(-1, 1).contiguous()


def _mean_weights(start: Tensor, size: Tensor, bins: int, length: int, last_edge: int) -> Tensor:
    """Returns the weights (K, bins, length) of means over bins of elements before `last_edge`; zeros for empty bins."""
    first, last = _bin_edges(start, size, bins, last_edge)
    at = arange(length, device=start.device)
    is_inside = (at >= first[..., None]) & (at < last[..., None])
    return is_inside.to(size.dtype) / (last - first).clamp(min=1)[..., None]


@implement(
    "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) -> (Tensor, "
    "Tensor)"
)
def ps_roi_pool(image: Tensor, rois: Tensor, scale: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    _check_rois("ps_roi_pool", image, rois)
    _check_channels("ps_roi_pool", image, height, width)
    corners = _round(rois[:, 1:].detach() * scale)
    size = (corners[:, 2:] - corners[:, :2]).clamp(min=1)
    images = image[rois[:, 0].detach().to(int64)]

    def pool(excluded: int) -> Tensor:
        down = _mean_weights(corners[:, 1], size[:, 1], height, image.size(2), image.size(2) - excluded)
        across = _mean_weights(corners[:, 0], size[:, 0], width, image.size(3), image.size(3) - excluded)
        return matmul(matmul(down[:, None], images), across[:, None].mT)

    # torchvision's values exclude the last row and column of the image; its gradients include them.
    whole = pool(0)
    pooled = pool(1).detach() + (whole - whole.detach())
    return _diagonal(pooled, height, width)


@implement(
    "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor"
)
def deform_conv2d(
    image: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    if image.dim() != 4 or weight.dim() != 4 or offset.dim() != 4:
        raise RuntimeError(
            f"deform_conv2d: input, weight and offset must have 4 dimensions, got {image.dim()}, {weight.dim()} and {offset.dim()}"
        )
    batch, channels, height, width = image.shape
    filters, _, kernel_h, kernel_w = weight.shape
    taps = kernel_h * kernel_w
    out_h = (height + 2 * pad_h - dilation_h * (kernel_h - 1) - 1) // stride_h + 1
    out_w = (width + 2 * pad_w - dilation_w * (kernel_w - 1) - 1) // stride_w + 1
    if offset.size(1) != 2 * offset_groups * taps:
        raise RuntimeError(f"offset.shape[1] is not valid: got: {offset.size(1)} expected: {2 * offset_groups * taps}")
    if tuple(offset.shape[2:]) != (out_h, out_w):
        raise RuntimeError(f"offset output dims: ({offset.size(2)}, {offset.size(3)}) - computed output dims: ({out_h}, {out_w})")
    moved = offset.reshape(batch * offset_groups, taps, 2, out_h, out_w)
    tap_h = (arange(kernel_h, device=image.device) * dilation_h).repeat_interleave(kernel_w).reshape(taps, 1, 1)
    tap_w = (arange(kernel_w, device=image.device) * dilation_w).repeat(kernel_h).reshape(taps, 1, 1)
    y = moved[:, :, 0] + (tap_h + (arange(out_h, device=image.device) * stride_h - pad_h)[:, None])
    x = moved[:, :, 1] + (tap_w + (arange(out_w, device=image.device) * stride_w - pad_w))
    grid = stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1).reshape(batch * offset_groups, taps * out_h, out_w, 2)
    parts = image.reshape(batch * offset_groups, channels // offset_groups, height, width)
    columns = F.grid_sample(parts, grid, "bilinear", "zeros", False).reshape(batch, offset_groups, -1, taps, out_h, out_w)
    if use_mask:
        columns = columns * mask.reshape(batch, offset_groups, 1, taps, out_h, out_w)
    columns = columns.reshape(batch, groups, channels // groups * taps, out_h * out_w)
    made = matmul(weight.reshape(groups, filters // groups, -1), columns).reshape(batch, filters, out_h, out_w)
    return made + bias.reshape(1, filters, 1, 1)
