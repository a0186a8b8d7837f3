"""The operators quantized_decomposed, which quantized programs of PyTorch call: quantization as arithmetic on tensors of integers."""

import io

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import load
from libtensor.library import calls

X38, ONES = torch.ones(3, 8), torch.ones(3, 1)
RANGES = [(torch.int8, -128, 127), (torch.uint8, 0, 255), (torch.int16, -1000, 1000), (torch.int32, -5, 9)]


def call(name, *args, **kwargs):
    found = calls.call_operator(f"quantized_decomposed::{name}", args, kwargs)
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize(("dtype", "low", "high"), RANGES)
@pytest.mark.parametrize(("scale", "zero"), [(0.1, 0), (0.033, 3), (1.0, -2)])
def test_a_scale_of_the_whole_tensor(scale, zero, dtype, low, high):
    x = torch.randn(4, 5) * 20
    q = call("quantize_per_tensor", x, scale, zero, low, high, dtype)
    assert torch.equal(q, ((x * (1 / scale)).round() + zero).clamp(low, high).to(dtype)) and q.dtype is dtype
    y = call("dequantize_per_tensor", q, scale, zero, low, high, dtype)
    assert torch.equal(y, (q.float() - zero) * scale)
    inside = (q > low) & (q < high)
    assert ((x - y)[inside].abs() <= scale * 0.51).all()
    short = call("dequantize_per_tensor", q, scale, zero, low, high, dtype, out_dtype=torch.bfloat16)
    assert short.dtype is torch.bfloat16 and torch.allclose(short.float(), y, 0.02, 0.02)
    parameters = torch.tensor(scale, dtype=torch.float64), torch.tensor([zero])
    limits = torch.tensor(low), torch.tensor(high)
    for name, ends in ((".tensor", (low, high)), (".tensor2", limits)):
        assert torch.equal(call("quantize_per_tensor" + name, x, *parameters, *ends, dtype), q)
        assert torch.equal(call("dequantize_per_tensor" + name, q, *parameters, *ends, dtype), y)


@pytest.mark.parametrize(("dtype", "low", "high"), RANGES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_a_scale_of_each_channel_is_that_of_its_slice(axis, dtype, low, high):
    x = torch.randn(2, 3, 4) * 9
    n = x.shape[axis]
    scales, zeros = torch.arange(1.0, n + 1) / 7, torch.arange(n)
    q = call("quantize_per_channel", x, scales, zeros, axis, low, high, dtype)
    y = call("dequantize_per_channel", q, scales, zeros, axis, low, high, dtype)
    without = call("dequantize_per_channel", q, scales, None, axis, low, high, dtype)
    for i in range(n):
        part = ((x.select(axis, i) * (1 / scales[i])).round() + i).clamp(low, high).to(dtype)
        assert torch.equal(q.select(axis, i), part)
        assert torch.equal(y.select(axis, i), (part.long() - i) * scales[i])
        assert torch.equal(without.select(axis, i), part * scales[i])


@pytest.mark.parametrize("offset", [0, 3, -50])
@pytest.mark.parametrize(("dtype", "low", "high"), RANGES[:2])
def test_chosen_parameters_represent_the_elements(dtype, low, high, offset):
    x = torch.randn(50) * 4 + offset
    scale, zero = call("choose_qparams.tensor", x, low, high, 1e-6, dtype)
    assert scale.dtype is torch.float64 and zero.dtype is torch.int64 and scale.shape == zero.shape == (1,)
    y = call(
        "dequantize_per_tensor",
        call("quantize_per_tensor", x, scale.item(), zero.item(), low, high, dtype),
        scale.item(),
        zero.item(),
        low,
        high,
        dtype,
    )
    assert ((x - y).abs() <= scale * 1.01).all()
    scale, zero = call("choose_qparams_symmetric.tensor", x, low, high, 1e-6, dtype)
    assert abs(scale.item() - x.abs().max().item() / ((high - low) / 2)) < 1e-6 and zero.tolist() == [128 if dtype is torch.uint8 else 0]
    assert call("choose_qparams.tensor", torch.zeros(3), low, high, 0.25, dtype)[0].tolist() == [0.25]


@pytest.mark.parametrize(
    ("name", "args", "error", "fact"),
    [
        (
            "quantize_per_tensor",
            (torch.ones(2, dtype=torch.float64), 0.1, 0, 0, 9, torch.uint8),
            TypeError,
            "'input' has dtype float64; float32, float16 or bfloat16 is required",
        ),
        (
            "quantize_per_channel",
            (torch.ones(2, 3), torch.ones(2), torch.ones(3), 1, 0, 9, torch.uint8),
            ValueError,
            "'scales' has 2 elements; dimension 1 of 'input' has 3",
        ),
        (
            "quantize_per_channel",
            (torch.ones(2, 3), torch.ones(2), torch.ones(2), 5, 0, 9, torch.uint8),
            ValueError,
            "'axis' is 5; it must be from -2 to 1",
        ),
        (
            "dequantize_per_channel",
            (torch.ones(2, 3), torch.ones(2), torch.ones(3), 0, 0, 9, torch.uint8),
            ValueError,
            "'zero_points' has 3 elements; dimension 0",
        ),
        ("quantize_per_tensor.tensor", (torch.ones(2), torch.ones(2), torch.ones(1), 0, 9, torch.uint8), RuntimeError, "item"),
        (
            "quantize_per_token",
            (X38, torch.ones(2), torch.ones(3), -8, 7, torch.int8),
            ValueError,
            r"'scales' has 2 elements; one per token of 'input' .*, 3, is required",
        ),
        (
            "quantize_per_token",
            (X38, ONES, ONES, -129, 7, torch.int8),
            ValueError,
            "'quant_min' is -129 and .* they must be from -128",
        ),
        ("quantize_per_token", (X38, ONES, ONES, -8, 7, torch.float32), ValueError, "'dtype' is float32; it must be uint8, int8"),
        ("choose_qparams_per_token", (X38, torch.uint8), ValueError, "'dtype' is uint8; it must be int8"),
        ("quantize_per_channel_group", (X38, ONES, ONES, -8, 7, torch.int8, 1), ValueError, "'group_size' is 1; it must be above 1"),
        (
            "quantize_per_channel_group",
            (X38, ONES, ONES, -8, 7, torch.int8, 3),
            ValueError,
            "8 columns; they must be a multiple of 'group_size', 3",
        ),
        ("quantize_per_channel_group", (X38[0], ONES, ONES, -8, 7, torch.int8, 4), ValueError, "'input' has 1 dimensions; it must have 2"),
        (
            "quantize_per_channel_group",
            (X38 * float("nan"), ONES, ONES, -8, 7, torch.int8, 8),
            ValueError,
            "'input' has NaN elements; .* nan_to_num",
        ),
        ("fake_quant_per_channel", (X38.double(), ONES, ONES, 0, -8, 7), TypeError, "'input' has dtype float64; float32 is required"),
        ("fake_quant_per_channel", (X38, ONES, ONES, 2, -8, 7), ValueError, "'axis' is 2; it must be from -2 to 1"),
        ("quantize_per_group", (torch.ones(2),), NotImplementedError, "there is no operator 'quantized_decomposed::quantize_per_group'"),
    ],
)
def test_errors(name, args, error, fact):
    with pytest.raises(error, match=fact):
        call(name, *args)


@pytest.mark.parametrize("shape", [(4, 6), (2, 3, 8), (5,), (1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["choose_qparams_per_token", "choose_qparams_per_token_asymmetric"])
def test_a_scale_of_each_token(name, dtype, shape):
    x = (torch.randn(shape) * 4).to(dtype)
    scales, zeros = call(name, x, torch.int8)
    assert scales.shape == zeros.shape == (*shape[:-1], 1)
    if name == "choose_qparams_per_token":
        assert scales.dtype == zeros.dtype == (torch.float32 if dtype is torch.float16 else dtype) and not zeros.any()
    else:
        assert scales.dtype is torch.float64 and zeros.dtype is torch.int64
    q = call("quantize_per_token", x, scales, zeros, -128, 127, torch.int8)
    assert torch.equal(q, (x.mul(1.0 / scales) + zeros).round().clamp(-128, 127).to(torch.int8))
    y = call("dequantize_per_token", q, scales, zeros, -128, 127, torch.int8, torch.float32)
    assert torch.equal(y, ((q - zeros) * scales).float())
    assert ((x.double() - y).abs() <= scales.double() * (0.51 if dtype is torch.float32 else 2)).all()


def test_tokens_without_elements_of_one_sign_and_of_zeros_only():
    x = torch.tensor([[1.0, 2.0], [-3.0, -1.0], [0.0, 0.0]])
    scales, zeros = call("choose_qparams_per_token_asymmetric", x, torch.int8)
    assert zeros.flatten().tolist() == [-128, 127, 127] and scales[2].item() == 2.0**-23
    assert torch.allclose(scales[:2].flatten(), torch.tensor([2.0, 3.0], dtype=torch.float64) / 255)
    assert torch.allclose(call("choose_qparams_per_token", x, torch.int8)[0].flatten(), torch.tensor([2.0, 3.0, 1e-5]) / 127)


@pytest.mark.parametrize(("rows", "columns", "size"), [(3, 8, 4), (2, 6, 2), (4, 6, 6), (4, 6, 128)])
def test_a_scale_of_each_group_is_that_of_its_columns(rows, columns, size):
    x, groups = torch.randn(rows, columns) * 9, max(1, columns // size)
    scales, zeros = torch.rand(rows, groups) + 0.05, torch.arange(rows * groups, dtype=torch.int8).reshape(rows, groups) % 5 - 2
    q = call("quantize_per_channel_group", x, scales, zeros, -8, 7, torch.int8, size)
    y = call("dequantize_per_channel_group", q, scales, zeros, -8, 7, torch.int8, size, torch.float32)
    without = call("dequantize_per_channel_group", q, scales, None, -8, 7, torch.int8, size, torch.bfloat16)
    wide = [t.repeat_interleave(columns // groups, 1) for t in (scales, zeros)]
    assert torch.equal(q, (x * (1 / wide[0]) + wide[1]).round().clamp(-8, 7).to(torch.int8))
    assert torch.equal(y, (q - wide[1]) * wide[0]) and torch.equal(without, (q * wide[0]).bfloat16())


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_simulated_quantization_of_channels_and_its_gradient(axis):
    x = (torch.randn(3, 3) * 9).requires_grad_()
    scales, zeros = (torch.rand(3) + 0.5).requires_grad_(), torch.tensor([0, 3, -2])
    y = call("fake_quant_per_channel", x, scales, zeros, axis, -8, 7)
    wide = [t.detach().movedim(0, 0).reshape([3 if d == axis % 2 else 1 for d in range(2)]) for t in (scales, zeros)]
    levels = (x * (1 / wide[0])).round() + wide[1]
    assert torch.equal(y, (levels.clamp(-8, 7) - wide[1]) * wide[0])
    (gradient,) = torch.autograd.grad(y.pow(2).sum(), x)
    assert torch.equal(gradient, torch.where((levels >= -8) & (levels <= 7), 2 * y, 0.0))
    assert torch.func.vmap(lambda x: call("fake_quant_per_channel", x, scales, zeros, axis, -8, 7))(x.detach()[None]).equal(y[None])


def test_conversions_are_copies():
    x = torch.tensor([1.5, -2.5])
    assert call("convert_element_type.no_fuse", x, torch.int32).tolist() == [1, -2]
    call("convert_element_type.no_fuse", x, torch.float32).zero_()
    assert x.tolist() == [1.5, -2.5]


def test_shapes_on_the_device_meta():
    x, one = torch.ones(3, 8, device="meta"), torch.ones(3, 1, device="meta")
    assert [t.shape for t in call("choose_qparams_per_token", x, torch.int8)] == [(3, 1), (3, 1)]
    assert call("quantize_per_token", x, one, one, -8, 7, torch.int8).dtype is torch.int8
    groups = torch.ones(3, 2, device="meta")
    assert call("quantize_per_channel_group", x, groups, groups, -8, 7, torch.int8, 4).shape == (3, 8)


def test_programs_call_them():
    def node(name, result, *args, **keywords):
        return w.node(f"torch.ops.quantized_decomposed.{name}", result, *args, **keywords)

    uint8 = {"as_scalar_type": 1}
    nodes = [
        node("choose_qparams.tensor", [w.tensor("s"), w.tensor("z")], "x", 0, 255, 1e-5, uint8),
        node("quantize_per_tensor.tensor", "q", "x", "s", "z", 0, 255, uint8),
        node("dequantize_per_tensor.tensor", "d", "q", "s", "z", 0, 255, uint8, out_dtype={"as_scalar_type": 7}),
        node("quantize_per_tensor.default", "p", "d", 0.5, 10, 0, 255, uint8),
        node("dequantize_per_tensor.default", "y", "p", 0.5, 10, 0, 255, uint8),
    ]
    meta = w.meta("float32", [3])
    values = {"q": w.meta("uint8", [3]), "d": meta, "p": w.meta("uint8", [3]), "y": meta}
    module = load(io.BytesIO(w.archive(w.model({"x": meta}, nodes, ["q", "y"], values=values)))).module()
    q, y = module(torch.tensor([-1.0, 0.4, 2.0]))
    assert q.tolist() == [0, 119, 255] and y.tolist() == [-1.0, 0.5, 2.0]


def test_programs_call_those_of_tokens_and_groups():
    def node(name, result, *args):
        return w.node(f"torch.ops.quantized_decomposed.{name}", result, *args)

    int8, float32 = {"as_scalar_type": 2}, {"as_scalar_type": 7}
    nodes = [
        node("choose_qparams_per_token_asymmetric.default", [w.tensor("s"), w.tensor("z")], "x", int8),
        node("quantize_per_token.default", "q", "x", "s", "z", -128, 127, int8),
        node("dequantize_per_token.default", "d", "q", "s", "z", -128, 127, int8, float32),
        node("dequantize_per_channel_group.default", "g", "w", "k", None, -8, 7, int8, 2, float32),
        w.aten("mm.default", "y", "d", "g"),
    ]
    meta, weight, scale = w.meta("float32", [2, 4]), w.meta("int8", [4, 4]), w.meta("float32", [4, 2])
    values = {"q": w.meta("int8", [2, 4]), "d": meta, "g": w.meta("float32", [4, 4]), "y": meta}
    module = load(io.BytesIO(w.archive(w.model({"x": meta, "w": weight, "k": scale}, nodes, ["q", "y"], values=values)))).module()
    x, weights, scales = torch.randn(2, 4), torch.arange(-8, 8, dtype=torch.int8).reshape(4, 4), torch.rand(4, 2)
    q, y = module(x, weights, scales)
    assert q.dtype is torch.int8 and torch.allclose(y, x @ (weights * scales.repeat_interleave(2, 1)), atol=0.2)
