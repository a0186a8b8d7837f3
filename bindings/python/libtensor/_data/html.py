"""HTML of tensors for notebooks: a summary, an image if the tensor can be one, and a table of values."""

import zlib
from base64 import b64encode
from html import escape
from struct import pack

from .._base import dtypes as _dtypes
from .._gen import gen_functions as _f
from . import print as _print
from .interop import raw_bytes

EDGE = 4  # rows and columns that a table shows at each end of a dimension
LARGEST = 384  # pixels along a side of an image; larger images are subsampled
SMALLEST = 96  # displayed side length
COLOURS = {1: 0, 3: 2, 4: 6}  # PNG color type, by the number of channels


def chunk(kind, data):
    return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))


def png(picture):
    """Returns the PNG file (ISO/IEC 15948) of a uint8 image of shape (rows, columns, channels)."""
    rows, columns, channels = picture.shape
    unfiltered = _f.zeros(rows, 1, dtype=_dtypes.uint8, device="cpu")
    lines = _f.cat([unfiltered, picture.reshape(rows, columns * channels)], 1)
    head = pack(">IIBBBBB", columns, rows, 8, COLOURS[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw_bytes(lines))) + chunk(b"IEND", b"")


def channels_last(tensor):
    """Returns the image of a tensor as (rows, columns, channels); None if it is not an image."""
    if tensor.dtype is not _dtypes.uint8 or not tensor.numel() or tensor.dim() not in (2, 3):
        return None
    if tensor.dim() == 2:
        return tensor.unsqueeze(2)
    if tensor.shape[2] in (3, 4):
        return tensor
    return tensor.permute(1, 2, 0) if tensor.shape[0] == 3 else None


def image(picture):
    rows, columns, _ = picture.shape
    step = -(-max(rows, columns) // LARGEST)
    shown = picture[::step, ::step].cpu()
    wide = max(shown.shape[1], SMALLEST * shown.shape[1] // max(shown.shape[:2]))
    data = b64encode(png(shown)).decode()
    return f'<img alt="{rows} × {columns} pixels" style="image-rendering: pixelated; width: {wide}px" src="data:image/png;base64,{data}">'


def ends(n):
    """Returns the indices that a table shows along a dimension, with None for a gap."""
    return [*range(n)] if n <= 2 * EDGE + 1 else [*range(EDGE), None, *range(n - EDGE, n)]


def text(value):
    if isinstance(value, (bool, int)):
        return str(value)
    return escape(format(value, f".{_print.options['precision']}g"))


def cells(tag, values):
    return "".join(f"<{tag}>{value}</{tag}>" for value in values)


def table(tensor):
    """Returns the values at the ends of the last two dimensions, at index 0 of the others."""
    caption = ""
    if tensor.dim() > 2:
        caption = f"<caption>[{', '.join(['0'] * (tensor.dim() - 2))}, :, :]</caption>"
        tensor = tensor[(0,) * (tensor.dim() - 2)]
    labelled = tensor.dim() == 2
    grid = tensor if labelled else tensor.reshape(1, -1)
    down, along = map(ends, grid.shape)
    values = grid[[i for i in down if i is not None]][:, [k for k in along if k is not None]].tolist()
    lines = ["<tr>" + "<th></th>" * labelled + cells("th", ("…" if k is None else k for k in along)) + "</tr>"] if tensor.dim() else []
    for i in down:
        row = iter(values.pop(0) if i is not None else ())
        shown = ["…" if i is None or k is None else text(next(row)) for k in along]
        lines.append("<tr>" + (f"<th>{'…' if i is None else i}</th>" if labelled else "") + cells("td", shown) + "</tr>")
    return f"<table>{caption}{''.join(lines)}</table>"


def about(tensor, name):
    """Returns the line with dtype, shape and other properties."""
    sizes = (f"{label}={n}" if label else str(n) for label, n in zip(tensor.names, tensor.shape, strict=True))
    facts = [f"[{', '.join(sizes)}]", str(tensor.dtype), str(tensor.device)]
    if tensor.layout is not _dtypes.strided:
        facts.append(str(tensor.layout))
    if tensor.grad_fn is not None:
        facts.append(tensor.grad_fn.name())
    elif tensor.requires_grad:
        facts.append("requires grad")
    return f"<div><b>{escape(name)}</b> {escape(' · '.join(facts))}</div>"


def values_of(tensor):
    if tensor.layout is not _dtypes.strided:
        return f"<pre>{escape(_f.to_string(tensor, **_print.options))}</pre>"
    if tensor.is_meta or not tensor.numel():
        return ""
    picture = channels_last(tensor)
    shown = image(picture) if picture is not None else ""
    return shown if shown and tensor.dim() == 3 else shown + table(tensor.dequantize() if tensor.is_quantized else tensor)


def html(tensor, name):
    """Returns the string of _repr_html_: a summary and some of the values. None if the printed form says more: for batched tensors of vmap,
    and in a forked child for tensors that it does not inherit.
    """
    try:
        return f"<div>{about(tensor, name)}{values_of(tensor.detach().rename(None))}</div>"
    except RuntimeError:
        return None
