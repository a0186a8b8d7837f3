"""GGUF files, dequantized blocks and linear layers of blocks, compared with NumPy."""

import math
import struct

import gguf_files as files
import numpy
import pytest

import libtensor as torch
from libtensor import gguf

KINDS = sorted(files.BLOCKS)


def test_tensors_and_metadata(tmp_path):
    metadata = {
        "general.name": "é",
        "n": 7,
        "big": -(2**40),
        "x": 0.5,
        "inf": float("inf"),
        "yes": True,
        "tokens": ["a", "b"],
        "list": [1, 2],
        "nested": [[1], [2, 3]],
        "none": [],
    }
    x = numpy.arange(6, dtype="f4").reshape(2, 3)
    q = files.random_blocks("Q4_0", 2, 64)
    tensors = {
        "x": ("F32", x.shape, x.tobytes()),
        "q": ("Q4_0", (2, 64), q.tobytes()),
        "h": ("BF16", (2,), b"\x80\x3f\x00\x40"),
        "i": ("I64", (1,), struct.pack("<q", -3)),
    }
    for version, alignment in ((2, 32), (3, 8), (3, 4096)):
        data = files.file_of(tensors, metadata, version, alignment)
        (tmp_path / "a.gguf").write_bytes(data)
        loads = [gguf.load(data), gguf.load_file(tmp_path / "a.gguf"), gguf.load_file(str(tmp_path / "a.gguf"), mmap=False)]
        for found in loads:
            assert list(found) == list(tensors)
            assert numpy.array_equal(found["x"].numpy(), x) and found["h"].tolist() == [1, 2] and found["i"].tolist() == [-3]
            assert found["q"].type == "Q4_0" and found["q"].shape == (2, 64) and numpy.array_equal(found["q"].blocks.numpy(), q)
        found = gguf.load_metadata(tmp_path / "a.gguf")
        assert {k: v for k, v in found.items() if k != "general.alignment"} == metadata
    only = gguf.load_file(tmp_path / "a.gguf", only=["q"], dequantize=torch.float16)
    assert list(only) == ["q"] and only["q"].dtype == torch.float16
    with pytest.raises(gguf.GGUFError, match='no tensor "z"'):
        gguf.load_file(tmp_path / "a.gguf", only=["z"])


def test_mapped_tensors_do_not_write_to_the_file(tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(files.file_of({"q": ("Q8_0", (1, 32), bytes(34))}))
    before = path.read_bytes()
    q = gguf.load_file(path)["q"]
    q.blocks.fill_(1)
    assert path.read_bytes() == before
    path.unlink()
    assert q.blocks.sum() == 34


def test_blocks_that_cannot_be_dequantized_are_loaded():
    found = gguf.load(files.file_of({"q": ("Q2_K", (1, 256), bytes(84))}))["q"]
    assert found.type == "Q2_K" and found.blocks.shape == (1, 84)
    with pytest.raises(NotImplementedError, match='Q6_K, but is "Q2_K"'):
        found.dequantize()


@pytest.mark.parametrize("kind", KINDS)
def test_dequantized_values(kind):
    values = files.BLOCKS[kind][0]
    for rows, columns in ((1, values), (3, 7 * values), (40, 5 * values), (2, 0)):
        blocks = files.random_blocks(kind, rows, columns, rows)
        found = torch.gguf_dequantize(torch.from_numpy(blocks), kind)
        assert numpy.array_equal(found.numpy(), files.dequantized(kind, blocks).astype("f4")), (rows, columns)
    assert torch.equal(torch.gguf_dequantize(torch.from_numpy(blocks.T.copy()).t(), kind), found)
    assert torch.gguf_dequantize(torch.from_numpy(blocks), kind, dtype=torch.bfloat16).dtype == torch.bfloat16
    assert gguf.Blocks(torch.from_numpy(blocks).view(2, 1, -1), kind).shape == (2, 1, 0)


def rounded(x):
    """Activations as a linear layer of blocks rounds them."""
    groups = x.astype("f4").reshape(*x.shape[:-1], -1, 32)
    most = numpy.abs(groups).max(-1, keepdims=True)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        integers = numpy.where(most > 0, numpy.rint(groups * (numpy.float32(127) / most)), 0)
    return (integers.astype(float) * (most / numpy.float32(127))).reshape(x.shape)


@pytest.mark.parametrize("kind", KINDS)
def test_linear_layers(kind):
    values = files.BLOCKS[kind][0]
    random = numpy.random.default_rng(1)
    for m, n, k in (
        (1, 1, values),
        (1, 70, 8 * values),
        (3, 33, 9 * values),
        (4, 5, 16 * values),
        (5, 300, 8 * values),
        (9, 2, 7 * values),
    ):
        blocks, x, bias = (
            files.random_blocks(kind, n, k, m),
            random.standard_normal((m, k)).astype("f4"),
            random.standard_normal(n).astype("f4"),
        )
        weight = files.dequantized(kind, blocks)
        found = torch.gguf_linear(torch.from_numpy(x), torch.from_numpy(blocks), kind, torch.from_numpy(bias)).numpy()
        magnitude = numpy.abs(x) @ numpy.abs(weight).T + 1
        assert numpy.all(numpy.abs(found - (rounded(x) @ weight.T + bias)) < 1e-6 * magnitude), (m, n, k)
        # half a step of the largest value in each group of 32
        assert numpy.all(numpy.abs(found - (x @ weight.T + bias)) < 4e-3 * numpy.abs(x).max() * numpy.abs(weight).sum(1) + 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_threads_other_rows_and_strides(kind):
    weight = torch.from_numpy(files.random_blocks(kind, 2050, 512))
    x = torch.randn(7, 512)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = torch.gguf_linear(x, weight, kind)
        torch.set_num_threads(3)
        assert torch.equal(torch.gguf_linear(x, weight, kind), expected)
    finally:
        torch.set_num_threads(before)
    for row in range(7):
        assert torch.equal(torch.gguf_linear(x[row], weight, kind), expected[row])
    assert torch.equal(torch.gguf_linear(x.t().contiguous().t(), weight, kind), expected)
    assert torch.equal(torch.gguf_linear(x.view(7, 1, 512), weight.t().contiguous().t(), kind), expected[:, None])


def test_special_activations():
    weight = torch.from_numpy(files.random_blocks("Q4_0", 2, 64))
    for special in (float("nan"), float("inf"), -float("inf")):
        x = torch.ones(2, 64)
        x[0, 40] = special
        y = torch.gguf_linear(x, weight, "Q4_0")
        assert y[0].isnan().all() and y[1].isfinite().all()
    assert torch.gguf_linear(torch.zeros(64), weight, "Q4_0").tolist() == [0, 0]
    assert torch.gguf_linear(torch.full((64,), 1e-40), weight, "Q4_0").tolist() == [0, 0]
    assert torch.gguf_linear(torch.full((64,), 1e30), weight, "Q4_0").isfinite().all()
    assert torch.gguf_linear(torch.ones(0, 64), weight, "Q4_0").shape == (0, 2)


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"])
@pytest.mark.parametrize("scale", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("minimum", [0.25, math.inf, math.nan])
def test_scales_that_are_infinite_or_nan(kind, scale, minimum):
    size = 34 if kind == "Q8_0" else 16 + 2 + 2 * kind.endswith("1") + 4 * kind.startswith("Q5")
    block = numpy.arange(size, dtype=numpy.uint8)
    block[:2] = numpy.float16([1.0]).view(numpy.uint8)
    if kind.endswith("1"):
        block[2:4] = numpy.float16([0]).view(numpy.uint8)
    blocks = torch.from_numpy(block.copy())
    integers = gguf.Blocks(blocks, kind).dequantize()
    blocks[:2] = torch.tensor([scale], dtype=torch.float16).view(torch.uint8)
    if kind.endswith("1"):
        blocks[2:4] = torch.tensor([minimum], dtype=torch.float16).view(torch.uint8)
    values = gguf.Blocks(blocks, kind).dequantize()
    expected = integers * scale + (minimum if kind.endswith("1") else 0)
    torch.testing.assert_close(values, expected, rtol=0, atol=0, equal_nan=True)
    layer = gguf.Linear(gguf.Blocks(blocks.repeat(8, 1), kind))
    made = layer(torch.ones(40, 32))
    assert not made.isfinite().any() and torch.testing.assert_close(made, made[:1, :1].expand_as(made), equal_nan=True) is None


def test_modules():
    weight = gguf.Blocks(torch.from_numpy(files.random_blocks("Q4_K", 3, 256)), "Q4_K")
    layer = gguf.Linear(weight, torch.ones(3))
    x = torch.randn(2, 256)
    assert torch.allclose(layer(x), torch.nn.functional.linear(x, weight.dequantize(), torch.ones(3)), atol=1)
    for dtype in (torch.float16, torch.bfloat16):
        half = gguf.Linear(weight)(x.to(dtype))
        assert half.dtype == dtype and torch.equal(half, gguf.Linear(weight)(x.to(dtype).float()).to(dtype))
    other = gguf.Linear(gguf.Blocks(torch.zeros(3, 144, dtype=torch.uint8), "Q4_K"), torch.zeros(3))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), layer(x)) and "in_features=256" in repr(layer)
    assert torch.gguf_linear(x.to("meta"), weight.blocks.to("meta"), "Q4_K").shape == (2, 3)


@pytest.mark.parametrize(
    "arguments, fact",
    [
        ((torch.ones(32), torch.zeros(1, 18, dtype=torch.uint8), "Q9"), "type must be one of Q4_0"),
        ((torch.ones(32), torch.zeros(1, 18), "Q4_0"), "uint8"),
        ((torch.ones(32), torch.zeros(1, 17, dtype=torch.uint8), "Q4_0"), "18 bytes"),
        ((torch.ones(32), torch.zeros(18, dtype=torch.uint8), "Q4_0"), "two dimensions"),
        ((torch.ones(31), torch.zeros(1, 18, dtype=torch.uint8), "Q4_0"), "32 values"),
        ((torch.ones(32).double(), torch.zeros(1, 18, dtype=torch.uint8), "Q4_0"), "float32, float16 or bfloat16"),
        ((torch.ones(32), torch.zeros(1, 18, dtype=torch.uint8), "Q4_0", torch.ones(2)), "1 elements"),
        ((torch.ones(32), torch.zeros(1, 18, dtype=torch.uint8), "Q4_0", torch.ones(1).half()), "dtype of input"),
    ],
)
def test_wrong_arguments(arguments, fact):
    with pytest.raises(RuntimeError, match=fact):
        torch.gguf_linear(*arguments)


def test_invalid_files():
    for data, fact in (
        (b"GGUF", "the version"),
        (files.file_of({}, version=1), "version 1"),
        (files.file_of({"q": ("Q4_0", (1, 32), bytes(17))})[:-20], "damaged or truncated"),
    ):
        with pytest.raises((gguf.GGUFError, NotImplementedError), match=fact):
            gguf.load(data)
    with pytest.raises(FileNotFoundError):
        gguf.load_file("missing.gguf")


@pytest.mark.parametrize("sizes", [(32,), (3, 32), (2, 3, 32), (0, 32)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_those_of_the_dequantized_weight(sizes, dtype):
    weight = torch.tensor([[i, 60, *range(i, i + 16)] for i in (1, 2)], dtype=torch.uint8)
    x = torch.linspace(-1, 1, math.prod(sizes)).reshape(sizes).to(dtype).requires_grad_()
    bias = torch.ones(2, dtype=dtype, requires_grad=True)
    given = torch.linspace(1, 2, 2 * math.prod(sizes[:-1])).reshape(*sizes[:-1], 2).to(dtype)
    exact = torch.nn.functional.linear(x, torch.gguf_dequantize(weight, "Q4_0", dtype=dtype), bias)
    wanted = torch.autograd.grad(exact, (x, bias), given)
    found = torch.autograd.grad(torch.gguf_linear(x, weight, "Q4_0", bias), (x, bias), given, create_graph=True)
    for one, two in zip(found, wanted, strict=True):
        assert torch.equal(one, two)
    plain = torch.gguf_linear(x, weight, "Q4_0")
    assert torch.equal(torch.autograd.grad(plain, x, given)[0], wanted[0])


def test_products_without_derivatives_raise_in_a_backward_pass():
    x = torch.ones(1, 32, requires_grad=True)
    made = torch._weight_int8pack_mm(x, torch.ones(2, 32, dtype=torch.int8), torch.ones(2))
    assert made.requires_grad
    with pytest.raises(RuntimeError, match="weight_int8pack_mm"):
        made.sum().backward()
