"""The operators quantized_decomposed, which quantized programs of PyTorch call: quantization as arithmetic on tensors of integers."""

import io

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import load
from libtensor.library import calls

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
        ("quantize_per_group", (torch.ones(2),), NotImplementedError, "there is no operator 'quantized_decomposed::quantize_per_group'"),
    ],
)
def test_errors(name, args, error, fact):
    with pytest.raises(error, match=fact):
        call(name, *args)


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
