"""Linear layers of GGUF blocks as modules, blocks as values, and the arguments of gguf.load and related functions."""

import array
import copy
import io
import math

import gguf_files as files
import pytest

import libtensor as torch
from libtensor import gguf, nn
from libtensor.safetensors import load as load_safetensors
from libtensor.safetensors import save as save_safetensors


def blocks(kind, rows=3, columns=256, seed=0):
    return gguf.Blocks(torch.from_numpy(files.random_blocks(kind, rows, columns, seed)), kind)


def saved(state):
    data = io.BytesIO()
    torch.save(state, data)
    data.seek(0)
    return torch.load(data)


@pytest.mark.parametrize("kind", sorted(files.BLOCKS))
def test_states_are_loaded_into_layers_of_the_same_type_only(kind):
    source = nn.Sequential(gguf.Linear(blocks(kind), torch.ones(3)))
    states = source.state_dict(), saved(source.state_dict()), load_safetensors(save_safetensors(source.state_dict()))
    for other in files.BLOCKS:
        target = nn.Sequential(gguf.Linear(blocks(other, seed=1), torch.zeros(3)))
        before = target[0].weight.clone()
        for state in states:
            for assign in (False, True):
                if other == kind:
                    target.load_state_dict(state, assign=assign)
                    assert torch.equal(target[0].weight, source[0].weight) and target[0].bias.sum() == 3
                    continue
                with pytest.raises(RuntimeError, match=f"blocks of type {kind}, but the layer has blocks of {other}"):
                    target.load_state_dict(state, strict=False, assign=assign)
                assert torch.equal(target[0].weight, before)


def test_states_of_other_dtypes_raise():
    layer = gguf.Linear(blocks("Q4_0"))
    state = layer.state_dict()
    for damaged in ({"weight": state["weight"].float()}, {"_extra_state": torch.ones(4)}, {"_extra_state": 3}):
        before = layer.weight.clone()
        with pytest.raises(RuntimeError, match=r"gguf\.Linear: .*(dtype|float32|blocks of type)"):
            layer.load_state_dict({**state, **damaged})
        assert layer.weight.dtype is torch.uint8 and torch.equal(layer.weight, before)
    with pytest.raises(RuntimeError, match="Missing key.*_extra_state"):
        layer.load_state_dict({"weight": state["weight"]})


@pytest.mark.parametrize(
    "cast",
    [
        lambda m: m.half(),
        lambda m: m.double().bfloat16(),
        lambda m: m.to(torch.bfloat16),
        lambda m: m.type(torch.float16),
        lambda m: m.type("torch.HalfTensor"),
        lambda m: m.to("cpu", torch.float16),
    ],
)
def test_casts_keep_blocks(cast):
    for bias in (None, torch.ones(3), nn.Parameter(torch.ones(3))):
        layer = gguf.Linear(blocks("Q8_0"), bias)
        before, x = layer.weight.clone(), torch.randn(2, 256)
        expected = copy.deepcopy(layer)(x)
        made = cast(nn.Sequential(layer))[0]
        assert made is layer and made.block_type == "Q8_0"
        assert torch.equal(layer.weight, before) and layer.weight.dtype is torch.uint8
        assert bias is None or layer.bias.dtype.itemsize == 2
        assert torch.equal(layer(x), expected)
        assert len(list(layer.parameters())) == isinstance(bias, nn.Parameter)
    assert layer.to("meta").weight.is_meta and layer.bias.is_meta and layer.weight.dtype is torch.uint8


def test_bias_is_added_in_the_dtype_of_the_input():
    x, weight = torch.randn(2, 256), blocks("Q4_K")
    bias = nn.Parameter(torch.randn(3))
    layer = gguf.Linear(weight, bias)
    assert list(layer.parameters()) == [bias] and gguf.Linear(weight, bias.detach()).bias.requires_grad is False
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        assert torch.equal(layer(x.to(dtype)), torch.gguf_linear(x.to(dtype), weight.blocks, "Q4_K", bias.to(dtype)))
    with torch.autocast("cpu", torch.bfloat16):
        y = nn.Sequential(nn.Linear(256, 256), layer)(x)
    assert y.dtype is torch.bfloat16
    layer(x).sum().backward()
    assert bias.grad.tolist() == [2, 2, 2]


def test_wrong_layers_and_blocks():
    for call, kind, fact in (
        (lambda: gguf.Linear(torch.ones(3)), TypeError, "must be Blocks"),
        (lambda: gguf.Linear(gguf.Blocks(torch.zeros(18, dtype=torch.uint8), "Q4_0")), ValueError, r"two dimensions, but has shape \[32\]"),
        (lambda: gguf.Linear(gguf.Blocks(torch.zeros(1, 1, 18, dtype=torch.uint8), "Q4_0")), ValueError, "two dimensions"),
        (lambda: gguf.Linear(gguf.Blocks(torch.zeros(1, 84, dtype=torch.uint8), "Q2_K")), NotImplementedError, r"gguf\.Linear.*Q2_K"),
        (lambda: gguf.Linear(blocks("Q4_0"), torch.ones(2)), ValueError, r"bias must be .* of shape \[3\], not torch\.Size\(\[2\]\)"),
        (lambda: gguf.Linear(blocks("Q4_0"), 1.0), ValueError, r"not 1\.0"),
        (lambda: gguf.Linear(blocks("Q4_0"), torch.ones(3))(3), TypeError, "'input' must be Tensor, not int"),
        (lambda: gguf.Blocks(3, "zz"), TypeError, "uint8 tensor, not 3"),
        (lambda: gguf.Blocks(torch.zeros(18), "Q4_0"), TypeError, r"not torch\.float32"),
        (lambda: gguf.Blocks(torch.zeros(18, dtype=torch.uint8), "zz"), ValueError, "must be one of Q4_0.*but is 'zz'"),
        (lambda: gguf.Blocks(torch.zeros(17, dtype=torch.uint8), "Q4_0"), ValueError, "18 bytes"),
        (lambda: blocks("Q4_0").to(torch.float16), TypeError, r"dequantize\(torch\.float16\)"),
    ):
        with pytest.raises(kind, match=fact):
            call()


def test_properties_of_blocks():
    found = gguf.Blocks(torch.zeros(2, 3, 84 * 5, dtype=torch.uint8), "Q2_K")
    assert found.shape == (2, 3, 1280) and isinstance(found.shape, torch.Size)
    assert found.nbytes == 2 * 3 * 84 * 5 and found.dtype is torch.uint8 and found.device == torch.device("cpu")
    assert found.to("meta").device.type == "meta" and found.to("meta").shape == found.shape
    for kind in files.BLOCKS:
        assert blocks(kind).shape == blocks(kind).dequantize().shape
    assert copy.deepcopy(found).shape == found.shape


def test_contents_in_any_form(tmp_path):
    weight = blocks("Q5_1")
    data = files.file_of({"q": ("Q5_1", (3, 256), weight.blocks.numpy().tobytes()), "x": ("F32", (1,), bytes(4))}, {"name": "n"})
    tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    (tmp_path / "a.gguf").write_bytes(data)
    with open(tmp_path / "a.gguf", "rb") as file:
        for form in (
            data,
            bytearray(data),
            memoryview(data),
            array.array("b", data),
            io.BytesIO(data),
            tensor,
            tensor.repeat(2)[: len(data)],
            file,
        ):
            assert torch.equal(gguf.load(form)["q"].blocks, weight.blocks)
            if hasattr(form, "seek"):
                form.seek(0)
            assert gguf.load_metadata(form) == {"name": "n"}
    found = gguf.load(tensor)["q"].blocks
    found.fill_(0)
    assert torch.equal(gguf.load(tensor)["q"].blocks, weight.blocks)
    for wrong in (3, "a.gguf", torch.ones(3)):
        with pytest.raises(TypeError, match=r"gguf\.load\(\): .*must be bytes, a uint8 tensor or a file object"):
            gguf.load(wrong)
    for f in (gguf.load_metadata, gguf.load_file):
        with pytest.raises(ValueError, match="null byte"):
            f("a\0b")


def test_only(tmp_path):
    path = tmp_path / "a.gguf"
    path.write_bytes(files.file_of({"q": ("Q2_K", (1, 256), bytes(84)), "x": ("F32", (1,), bytes(4)), "y": ("F32", (1,), bytes(4))}))
    for names in (["x"], ("x",), {"x"}, {"x": 1}, iter(["x"])):
        assert list(gguf.load_file(path, only=names)) == ["x"]
    for wrong in ("x", b"x", 3, [3]):
        with pytest.raises(TypeError, match="'only' must be a list of names of tensors"):
            gguf.load_file(path, only=wrong)
    for call in (lambda: gguf.load_file(path, dequantize=True), lambda: gguf.load(path.read_bytes(), dequantize=torch.float16)):
        with pytest.raises(NotImplementedError, match=r"gguf\.load.*tensor 'q' has blocks of Q2_K.*only="):
            call()
    assert list(gguf.load_file(path, dequantize=True, only=["x", "y"])) == ["x", "y"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"float": "nan"},
        {"float": "inf"},
        {"float": ["nan", "-inf"]},
        {"float": -math.inf},
        {"float": [math.inf, 1.5], "x": [[math.inf], [-math.inf]]},
        {"x": '{"float": "nan"}'},
        {},
    ],
)
def test_metadata_keeps_strings(metadata):
    data = files.file_of({}, metadata)
    assert gguf.load_metadata(data) == metadata
    assert math.isnan(gguf.load_metadata(files.file_of({}, {"float": math.nan}))["float"])


def test_loading_within_a_default_device():
    data = files.file_of({"x": ("F32", (1,), b"\0\0\x80?")})
    archive, npy, tensors = io.BytesIO(), io.BytesIO(), save_safetensors({"x": torch.ones(1)})
    torch.save(torch.ones(1), archive)
    torch.save_npy(torch.ones(1), npy)
    with torch.device("meta"):
        archive.seek(0)
        npy.seek(0)
        found = (
            gguf.load(data)["x"],
            gguf.load(io.BytesIO(data))["x"],
            load_safetensors(tensors)["x"],
            torch.load(archive),
            torch.load_npy(npy),
        )
        assert gguf.Linear(blocks("Q4_0")).state_dict()["_extra_state"].device.type == "cpu"
    assert [x.item() for x in found] == [1] * 5


def test_layers_that_cannot_be_exported():
    weight = blocks("Q4_0")
    dynamic = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(256, 3)))
    x = torch.randn(2, 256)
    for layer, name in ((gguf.Linear(weight), "gguf_linear"), (dynamic, "linear_dynamic")):
        with pytest.raises(NotImplementedError, match=rf"{name} is not an operator of ATen, which torch\.export"):
            torch.export.export(layer, (x,))
    plain = nn.Linear(256, 3, bias=False)
    plain.weight = nn.Parameter(weight.dequantize())
    assert torch.allclose(torch.export.export(plain, (x,)).module()(x), plain(x))


@pytest.mark.parametrize("kind", sorted(gguf._SIZES))
def test_shapes_of_blocks_are_those_of_the_file(kind):
    values, size = gguf._SIZES[kind]
    found = gguf.load(files.file_of({"x": (kind, (2, 3 * values), bytes(6 * size)), "y": ("I8", (1,), b"\1")}))
    assert found["x"].shape == (2, 3 * values) and found["x"].blocks.shape == (2, 3 * size) and found["y"].tolist() == [1]
