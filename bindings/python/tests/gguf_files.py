"""A writer of GGUF files, and the values of blocks by NumPy, from the specification (ggml, docs/gguf.md and ggml-common.h)."""

import struct

import numpy

# The numbers of types, and the values and bytes of a block.
NUMBERS = {
    "F32": 0,
    "F16": 1,
    "Q4_0": 2,
    "Q4_1": 3,
    "Q5_0": 6,
    "Q5_1": 7,
    "Q8_0": 8,
    "Q2_K": 10,
    "Q4_K": 12,
    "Q5_K": 13,
    "Q6_K": 14,
    "I8": 24,
    "I32": 26,
    "I64": 27,
    "F64": 28,
    "BF16": 30,
}
# Types whose blocks can only be loaded.
NUMBERS |= {"Q8_1": 9, "Q3_K": 11, "Q8_K": 15, "IQ2_XXS": 16, "IQ2_XS": 17, "IQ3_XXS": 18, "IQ1_S": 19, "IQ4_NL": 20, "IQ3_S": 21}
NUMBERS |= {"IQ2_S": 22, "IQ4_XS": 23, "IQ1_M": 29, "TQ1_0": 34, "TQ2_0": 35, "MXFP4": 39}
BLOCKS = {
    "Q4_0": (32, 18),
    "Q4_1": (32, 20),
    "Q5_0": (32, 22),
    "Q5_1": (32, 24),
    "Q8_0": (32, 34),
    "Q4_K": (256, 144),
    "Q5_K": (256, 176),
    "Q6_K": (256, 210),
}
# The bytes of a block at which there are halves.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def value(v):
    """The type and the bytes of a metadata value."""
    if isinstance(v, bool):
        return 7, struct.pack("<?", v)
    if isinstance(v, int):
        return (4, struct.pack("<I", v)) if 0 <= v < 2**32 else (11, struct.pack("<q", v))
    if isinstance(v, float):
        return 12, struct.pack("<d", v)
    if isinstance(v, str):
        return 8, text(v)
    items = [value(x) for x in v]
    kind = items[0][0] if items else 4
    return 9, struct.pack("<IQ", kind, len(v)) + b"".join(x for _, x in items)


def file_of(tensors, metadata=None, version=3, alignment=32):
    """The bytes of a file of tensors by name: a type, a shape in values, and bytes."""
    metadata = dict(metadata or {})
    if alignment != 32:
        metadata["general.alignment"] = alignment
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, v in metadata.items():
        kind, data = value(v)
        out += text(key) + struct.pack("<I", kind) + data
    offset, parts = 0, []
    for name, (kind, shape, data) in tensors.items():
        out += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), NUMBERS[kind], offset)
        parts.append(data + bytes(-len(data) % alignment))
        offset += len(parts[-1])
    return out + bytes(-len(out) % alignment) + b"".join(parts)


def random_blocks(kind, rows, columns, seed=0):
    """Random blocks, with scales of a moderate size: uint8 of rows and bytes."""
    values, size = BLOCKS[kind]
    random = numpy.random.default_rng(seed)
    blocks = random.integers(0, 256, (rows, columns // values, size), dtype=numpy.uint8)
    for at in HALVES[kind]:
        scales = (random.random((rows, columns // values)) * 0.02 + 0.001).astype("<f2")
        blocks[..., at : at + 2] = scales[..., None].view(numpy.uint8)
    return blocks.reshape(rows, -1)


def dequantized(kind, blocks):
    """The values of rows of blocks, in float64 from exact factors."""
    values, size = BLOCKS[kind]
    b = blocks.reshape(*blocks.shape[:-1], -1, size)

    def half(at):
        return b[..., at : at + 2].copy().view("<f2").astype(numpy.float64)

    def nibbles(q):  # the low ones first
        return numpy.concatenate([q & 15, q >> 4], -1).astype(numpy.int64)

    if kind == "Q8_0":
        x = half(0) * b[..., 2:].view(numpy.int8)
    elif kind in ("Q4_0", "Q4_1"):
        x = half(0) * nibbles(b[..., -16:]) + (half(2) if kind == "Q4_1" else -8 * half(0))
    elif kind in ("Q5_0", "Q5_1"):
        fifth = numpy.unpackbits(b[..., -20:-16].copy(), axis=-1, bitorder="little").astype(numpy.int64)
        x = half(0) * (nibbles(b[..., -16:]) + 16 * fifth) + (half(2) if kind == "Q5_1" else -16 * half(0))
    elif kind in ("Q4_K", "Q5_K"):
        packed = b[..., 4:16].astype(numpy.int64)
        scales = numpy.stack(
            [packed[..., j] & 63 if j < 4 else packed[..., j + 4] & 15 | packed[..., j - 4] >> 6 << 4 for j in range(8)], -1
        )
        least = numpy.stack(
            [packed[..., j + 4] & 63 if j < 4 else packed[..., j + 4] >> 4 | packed[..., j] >> 6 << 4 for j in range(8)], -1
        )
        q = nibbles(b[..., -128:].reshape(*b.shape[:-1], 4, 32)).reshape(*b.shape[:-1], 8, 32)
        if kind == "Q5_K":
            q += 16 * (b[..., None, 16:48] >> numpy.arange(8)[:, None] & 1)
        x = half(0)[..., None] * scales[..., None] * q - half(2)[..., None] * least[..., None]
    else:
        low = b[..., :128].reshape(*b.shape[:-1], 2, 2, 32)
        low = numpy.concatenate([low & 15, low >> 4], -2).reshape(*b.shape[:-1], 256)
        high = b[..., 128:192].reshape(*b.shape[:-1], 2, 1, 32) >> 2 * numpy.arange(4)[:, None] & 3
        q = low.astype(numpy.int64) + 16 * high.reshape(*b.shape[:-1], 256) - 32
        x = half(208) * numpy.repeat(b[..., 192:208].view(numpy.int8).astype(numpy.float64), 16, -1) * q
    return x.reshape(*blocks.shape[:-1], -1)
