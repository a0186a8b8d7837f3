"""Quantized tensors: integers that represent real values."""

import copy
import io
import math
import pickle
import re
import runpy
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import libtensor as torch
import libtensor.nn.functional as F

NUMBERS = [[-1.0, 0.0, 0.26, 1.0], [2.5, -3.7, 100.0, -100.0]]


def tensor(dtype=torch.quint8, scale=0.1, zero=10, numbers=NUMBERS):
    return torch.quantize_per_tensor(torch.tensor(numbers), scale, zero, dtype)


def channels(axis=0, dtype=torch.qint8, scales=(0.1, 0.5), zeros=(10, 0), numbers=NUMBERS):
    return torch.quantize_per_channel(torch.tensor(numbers), torch.tensor(scales), torch.tensor(zeros), axis, dtype)


def test_numbers_become_integers_and_back():
    q = tensor()
    assert q.dtype is torch.quint8 and q.is_quantized and q.itemsize == 1 and not q.is_floating_point()
    assert q.int_repr().tolist() == [[0, 10, 13, 20], [35, 0, 255, 0]] and q.int_repr().dtype is torch.uint8
    assert (q.q_scale(), q.q_zero_point(), q.qscheme()) == (0.1, 10, torch.per_tensor_affine)
    assert torch.equal(q.dequantize(), torch.tensor([[-1.0, 0.0, 0.3, 1.0], [2.5, -1.0, 24.5, -1.0]]))
    assert not torch.ones(1).is_quantized and torch.ones(1, dtype=torch.half).dequantize().dtype is torch.float32


@pytest.mark.parametrize(
    "dtype,lo,hi,nan", [(torch.quint8, 0, 255, 255), (torch.qint8, -128, 127, 127), (torch.qint32, -(2**31), 2**31 - 1, -(2**31))]
)
@pytest.mark.parametrize("n", [1, 7, 100])
def test_rounding_and_overflow(dtype, lo, hi, nan, n):
    for x, want in (
        (0.5, 3),
        (1.5, 5),
        (2.5, 5),
        (-0.5, 3),
        (math.inf, hi),
        (-math.inf, lo),
        (1e30, hi),
        (-1e30, lo),
        (3e9, hi),
        (math.nan, nan),
    ):
        q = torch.quantize_per_tensor(torch.full((n,), x), 1.0, 3, dtype)
        assert q.int_repr().tolist() == [want] * n, x


def test_it_prints_as_in_pytorch():
    q = tensor()
    assert repr(q[0]) == (
        "tensor([-1.0000,  0.0000,  0.3000,  1.0000], size=(4,), dtype=torch.quint8,\n"
        "       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)"
    )
    assert repr(channels(numbers=[[1.0, 2.0], [3.0, 4.0]])) == (
        "tensor([[1., 2.],\n        [3., 4.]], size=(2, 2), dtype=torch.qint8,\n"
        "       quantization_scheme=torch.per_channel_affine,\n"
        "       scale=tensor([0.1000, 0.5000], dtype=torch.float64),\n"
        "       zero_point=tensor([10,  0]), axis=0)"
    )


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t[:, 1],
        lambda t: t.t(),
        lambda t: t.unsqueeze(0),
        lambda t: t.expand(3, 2, 4),
        lambda t: t.view(2, 2, 2),
        lambda t: t[0],
        lambda t: t[:, 1:3],
        lambda t: t.diagonal(),
        lambda t: t.flip(1),
        lambda t: t.roll(1, 1),
        lambda t: t.index_select(1, torch.tensor([2, 0])),
        lambda t: t.repeat(1, 2),
        lambda t: t.clone(),
        lambda t: torch.cat([t, t], 1),
        lambda t: t[1:2],
        lambda t: t.flip(0),
        lambda t: torch.cat([t, t.flip(0)]),
        lambda t: t.split(1)[1],
        lambda t: t.unfold(1, 2, 1),
        lambda t: t.contiguous(),
        lambda t: t.transpose(0, 1).contiguous(),
    ],
)
def test_operators_that_move_elements_keep_their_values(view):
    for q in (tensor(), tensor(torch.qint8, 0.05, 0), tensor(torch.qint32, 0.001, 3), channels(), channels(dtype=torch.qint32)):
        moved = view(q)
        assert moved.is_quantized and moved.dtype is q.dtype
        assert torch.equal(moved.dequantize(), view(q.dequantize()))


def test_views_share_memory():
    q = tensor()
    q.t()[0, 1] = 1.0
    assert q.int_repr()[1, 0] == 20
    q[0] = 2.0
    assert q.int_repr()[0].tolist() == [30] * 4
    assert q.t_().shape == (4, 2) and q.dequantize().shape == (4, 2)


def test_channels_follow_their_dimension():
    q = channels()
    assert (q.t().q_per_channel_axis(), q[:, 1].q_per_channel_axis(), q.unsqueeze(0).q_per_channel_axis()) == (1, 0, 1)
    assert q[1].qscheme() is torch.per_tensor_affine and (q[1].q_scale(), q[1].q_zero_point()) == (0.5, 0)
    assert q.flip(0).q_per_channel_scales().tolist() == [0.5, pytest.approx(0.1)]
    assert torch.cat([q, q]).q_per_channel_zero_points().tolist() == [10, 0, 10, 0]
    with pytest.raises(RuntimeError, match=r"mixes channels"):
        q.view(8)
    with pytest.raises(RuntimeError, match=r"quantized per channel.*dequantize\(\)"):
        q.sort()


def test_order_and_arithmetic():
    q, r = tensor(), tensor(numbers=[[-0.5, 0.0, 0.1, 0.5], [1.2, -1.0, 24.5, -1.0]])
    assert (q < r).tolist() == (q.dequantize() < r.dequantize()).tolist() and (q == 1.0).sum() == 1
    values, indices = q.sort()
    assert values.int_repr().tolist() == [[0, 10, 13, 20], [0, 0, 35, 255]] and indices.tolist() == [[0, 1, 2, 3], [1, 3, 0, 2]]
    assert q.max().int_repr() == 255 and q.argmax() == 6 and torch.topk(q, 2)[1].tolist() == [[3, 2], [2, 0]]
    assert q.relu().int_repr().tolist() == [[10, 10, 13, 20], [35, 10, 255, 10]]
    assert q.clamp(0.0, 1.0).int_repr().tolist() == [[10, 10, 13, 20], [20, 10, 20, 10]]
    assert q.mean().int_repr() == 42
    assert (q.tanh().q_scale(), q.tanh().q_zero_point()) == (1 / 128, 128) and torch.sigmoid(q).q_scale() == 1 / 256
    assert q.equal(q.clone()) and not q.equal(r) and q[0, 3].item() == 1.0


def test_writing():
    q = tensor(torch.qint8, 0.25, -7)
    assert q.copy_(torch.tensor(NUMBERS) / 2).int_repr().tolist() == [[-9, -7, -6, -5], [-2, -14, 127, -128]]
    assert q.copy_(tensor(scale=0.5, zero=0)).q_scale() == 0.25 and q.int_repr()[0].tolist() == [-7, -7, -5, -3]
    assert q.zero_().int_repr().unique().tolist() == [-7] and q.fill_(1.0).int_repr().unique().tolist() == [-3]
    assert q.masked_fill(torch.tensor(NUMBERS) > 0, 0.0).int_repr()[0].tolist() == [-3, -3, -7, -7]
    assert q.relu_() is q and q.clamp_(0.0, 0.5).int_repr().unique().tolist() == [-5]


@pytest.mark.parametrize("dtype", [torch.qint8, torch.quint8, torch.qint32])
def test_writing_among_channels(dtype):
    numbers = torch.arange(6.0).reshape(2, 3)
    q = torch.quantize_per_channel(numbers, torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), 0, dtype)
    mask, index = torch.tensor([[True, False, True], [False, True, False]]), torch.tensor([[0, 1, 0]])
    put = {
        "item": (lambda t: t.__setitem__(0, 1.0), numbers.clone()),
        "column": (lambda t: t.__setitem__((slice(None), 1), 2), numbers.clone()),
        "mask": (lambda t: t.__setitem__(mask, torch.tensor([7.0, 8.0, 9.0])), numbers.clone()),
        "places": (lambda t: t.__setitem__((torch.tensor([1, 0]), torch.tensor([2, 0])), torch.tensor([1.5, 2.5])), numbers.clone()),
        "fill_": (lambda t: t.fill_(2.0), numbers.clone()),
        "zero_": (lambda t: t.zero_(), numbers.clone()),
        "copy_": (lambda t: t.copy_(torch.ones(3, dtype=torch.float64)), numbers.clone()),
        "masked_fill_": (lambda t: t.masked_fill_(mask, 1.5), numbers.clone()),
        "scatter_": (lambda t: t.scatter_(0, index, torch.tensor([[4.0, 5.0, 6.0]])), numbers.clone()),
        "index_fill_": (lambda t: t.index_fill_(1, torch.tensor([2]), 3.0), numbers.clone()),
        "view": (lambda t: t[:, 1:].fill_(1.0), numbers.clone()),
    }
    for name, (write, expected) in put.items():
        made = q.clone()
        write(made)
        write(expected)
        assert torch.equal(made.dequantize(), expected), name
        assert torch.equal(made.q_per_channel_scales(), q.q_per_channel_scales()), name
    for made, expected in (
        (q.masked_fill(mask, 2.0), numbers.masked_fill(mask, 2.0)),
        (q.select_scatter(torch.ones(3), 0, 1), numbers.select_scatter(torch.ones(3), 0, 1)),
        (q.scatter(0, index, q[1:]), numbers.scatter(0, index, numbers[1:])),
    ):
        assert torch.equal(made.dequantize(), expected)
    assert torch.equal(q.dequantize(), numbers)


def test_unwritten_elements_keep_their_integers():
    """32-bit integers have more digits than float32."""
    ints = torch.tensor([[2**30 + 1, 5], [7, 2**30 + 3]], dtype=torch.int32)
    q = torch._make_per_channel_quantized_tensor(ints, torch.tensor([1.0, 0.5]), torch.tensor([0, 0]), 1)
    q[0, 1] = 2.0
    assert q.int_repr().tolist() == [[2**30 + 1, 4], [7, 2**30 + 3]]


def test_values_inserted_into_integers_are_quantized():
    q = torch.quantize_per_tensor(torch.zeros(3), 0.5, 10, torch.quint8)
    mask = torch.tensor([True, False, True])
    assert q.masked_fill(mask, torch.tensor(3)).dequantize().tolist() == [3, 0, 3]
    assert q.scatter(0, torch.tensor([1]), torch.tensor([4])).dequantize().tolist() == [0, 4, 0]
    with pytest.raises(RuntimeError, match="complex dtypes such as complex64 cannot be quantized"):
        q.fill_(torch.tensor(1j))
    with pytest.raises(RuntimeError, match="as_strided_scatter: not implemented for tensors that are quantized per channel"):
        torch.as_strided_scatter(channels(), torch.ones(2), (2,), (1,))


def test_empty_and_of_integers():
    made = torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2, 3], dtype=torch.uint8), 0.1, 2)
    assert made.dtype is torch.quint8 and made.int_repr().tolist() == [1, 2, 3]
    empty = torch._empty_affine_quantized((2,), scale=0.5, zero_point=3, dtype=torch.qint8)
    assert (empty.shape, empty.q_scale(), torch.empty_like(empty).q_zero_point()) == ((2,), 0.5, 3)


def test_dynamic():
    q = torch.quantize_per_tensor_dynamic(torch.tensor(NUMBERS), torch.quint8, False)
    assert q.q_scale() == 0.7843137254901961 and q.q_zero_point() == 128
    q = torch.quantize_per_tensor_dynamic(torch.tensor([-5.0, -1.0]), torch.qint8, True)
    assert (q.q_scale(), q.q_zero_point(), q.int_repr().tolist()) == (0.03937007874015748, 63, [-64, 38])
    q = torch.quantize_per_tensor_dynamic(torch.zeros(2), torch.quint8, False)
    assert (q.q_scale(), q.q_zero_point()) == (0.1, 0)
    assert torch._choose_qparams_per_tensor(torch.tensor([0.0, 2.55])) == (pytest.approx(0.01), 0)


@pytest.mark.parametrize(
    "make,match",
    [
        (lambda f: torch.quantize_per_tensor(f.double(), 0.1, 0, torch.quint8), "expected float32, but got float64"),
        (lambda f: torch.quantize_per_tensor(f, 0.0, 0, torch.quint8), "a scale must be positive.*got 0"),
        (lambda f: torch.quantize_per_tensor(f, math.nan, 0, torch.quint8), "got NaN"),
        (lambda f: torch.quantize_per_tensor(f, 0.1, 256, torch.quint8), r"quint8 must be in \[0, 255\], but got 256"),
        (lambda f: torch.quantize_per_tensor(f, 0.1, 0, torch.float32), "expected a quantized dtype.*got float32"),
        (lambda f: torch.quantize_per_tensor(f, 0.1, 0, torch.quint4x2), "quint4x2, which packs several elements into a byte"),
        (lambda f: torch.quantize_per_tensor(f.new_ones(2).char(), 0.1, 0, torch.qint8), "got int8"),
        (
            lambda f: torch.quantize_per_channel(f, torch.tensor([0.1]), torch.tensor([0]), 0, torch.qint8),
            "each of the 2 channels along axis 0.*got 1 and 1",
        ),
        (lambda f: torch.quantize_per_channel(f, torch.tensor([0.1, -1.0]), torch.tensor([0, 0]), 0, torch.qint8), "channel 1 has -1"),
        (
            lambda f: torch.quantize_per_channel(f, torch.tensor([0.1, 1.0]), torch.tensor([0.5, 0]), 0, torch.qint8),
            "zero_points must be integers",
        ),
        (lambda f: f.q_scale(), "q_scale: expected a quantized tensor, but got one of dtype float32"),
        (lambda f: tensor().q_per_channel_axis(), r"q_scale\(\) and q_zero_point\(\)"),
        (lambda f: tensor().float(), r"use dequantize\(\)"),
        (lambda f: f.copy_(tensor()), r"call dequantize\(\) first"),
        (lambda f: tensor() + tensor(), r"add is not implemented for quantized tensors; call dequantize\(\) first"),
        (lambda f: channels().resize_(4), "quantized per channel"),
        (lambda f: channels().as_strided((2,), (1,)), "as_strided: not implemented for tensors that are quantized per channel"),
        (lambda f: tensor().index_put((torch.tensor([0]),), f[0], True), "accumulate is not implemented for quantized"),
        (lambda f: tensor().put(torch.tensor([0]), f[0, :1], True), "accumulate is not implemented for quantized"),
        (lambda f: tensor().scatter(0, torch.tensor([[0]]), 1.0), "scatter is not implemented for quantized"),
        (lambda f: tensor()[0].diag(), "is not implemented for quantized"),
        (lambda f: tensor().to_sparse(), "to_sparse is not implemented for quantized"),
        (lambda f: torch.sparse_coo_tensor(torch.tensor([[0, 1]]), tensor()[:, 0]), "is not implemented for quantized"),
        (lambda f: torch.quantize_per_tensor(f.to_sparse(), 0.1, 0, torch.quint8), "not implemented for sparse_coo tensors"),
        (lambda f: torch.cat([tensor(), f]), "tensor 1 has dtype float32, but others are quantized"),
        (lambda f: torch.block_diag(tensor(), f), "quantized"),
    ],
)
def test_errors(make, match):
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        make(torch.tensor(NUMBERS))
    assert re.search(match, str(caught.value)), caught.value


def test_arithmetic_with_another_quantizer():
    q, ops = tensor(torch.qint8, 0.5, 0, [-1.0, 3.0]), torch.ops.quantized
    assert ops.add(q, q, 0.5, 3).int_repr().tolist() == [-1, 15] and ops.add_relu(q, q, 0.5, 3).int_repr().tolist() == [3, 15]
    assert ops.mul(q, q, 0.5, 0).int_repr().tolist() == [2, 18] and ops.mul(q, q, 0.05, 0).int_repr().tolist() == [20, 127]
    assert ops.relu6(tensor(torch.qint8, 0.5, 0, [-1.0, 9.0])).dequantize().tolist() == [0, 6]
    half = tensor(torch.quint8, 0.05, 120, [-0.85, -2.05])
    for b, scale, zero, ints in (
        (0.2, 0.05, 116, [103, 79]),
        (100.0, 0.4186274509803922, 0, [237, 234]),
        (-100.0, 0.415686274509804, 255, [12, 10]),
    ):
        r = ops.add_scalar(half, b)
        assert (r.q_scale(), r.q_zero_point(), r.int_repr().tolist()) == (pytest.approx(scale), zero, ints)
    r = ops.mul_scalar(half, -0.3)
    assert (r.q_scale(), r.q_zero_point(), r.int_repr().tolist()) == (pytest.approx(0.015), 135, [152, 176])
    assert ops.cat([q, q], 0, 1.0, 0).int_repr().tolist() == [-1, 3, -1, 3]
    with pytest.raises(RuntimeError, match="same dtype, but got qint8 and quint8"):
        ops.add(q, half, 1.0, 0)


@pytest.mark.parametrize("dtype,zero", [(torch.quint8, 120), (torch.qint8, -3)])
def test_linear_layers_add_up_integers(dtype, zero):
    torch.manual_seed(1)
    x, weight, bias = torch.randn(2, 7, 33) * 2, torch.randn(9, 33), torch.randn(9)
    q = torch.quantize_per_tensor(x, 0.05, zero, dtype)
    per_channel = torch.quantize_per_channel(weight, torch.arange(1.0, 10) / 100, torch.arange(9) - 4, 0, torch.qint8)
    for w in (torch.quantize_per_tensor(weight, 0.03, 3, torch.qint8), per_channel):
        packed = torch.ops.quantized.linear_prepack(w, bias)
        want = q.dequantize() @ w.dequantize().t() + bias
        got = torch.ops.quantized.linear(q, packed, 0.2, 0)
        assert got.dtype is dtype and got.shape == (2, 7, 9)
        lo, hi = (0, 51) if dtype is torch.quint8 else (-25.6, 25.4)
        assert (got.dequantize() - want.clamp(lo, hi)).abs().max() < 0.1001
        assert torch.equal(torch.ops.quantized.linear_relu(q, packed, 0.2, 0).int_repr(), got.int_repr().clamp(min=0))
        dynamic = torch.ops.quantized.linear_dynamic(x, packed)
        assert (dynamic - (x @ w.dequantize().t() + bias)).abs().max() < 1.5


def test_products_of_matrices():
    torch.manual_seed(2)
    for dtype in (torch.quint8, torch.qint8):
        a, b = (torch.quantize_per_tensor(torch.randn(*s), 0.05, 60, dtype) for s in ((5, 40), (40, 6)))
        got = torch.ops.quantized.matmul(a, b, 0.5, 60)
        assert (got.dequantize() - (a.dequantize() @ b.dequantize())).abs().max() < 0.2501
        assert torch.equal(torch.ops.quantized.matmul(a.t().contiguous().t(), b, 0.5, 60).int_repr(), got.int_repr())
    with pytest.raises(RuntimeError, match="the inner sizes 40 and 5 differ"):
        torch.ops.quantized.matmul(a, a, 0.1, 0)


def test_fake_quantize_has_gradients():
    x = torch.tensor([[-1.0, 0.26, 9.0, 0.05, -3.0], [1.0, 2.0, 3.0, 0.15, 5.05]], requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 10, 0, 50)
    y.sum().backward()
    assert torch.allclose(y, torch.tensor([[-1.0, 0.3, 4.0, 0.0, -1.0], [1.0, 2.0, 3.0, 0.2, 4.0]]))
    assert x.grad.tolist() == [[1, 1, 0, 1, 0], [1, 1, 1, 1, 0]] and y.grad_fn.name() == "FakeQuantizePerTensorAffineCachemaskBackward0"
    assert torch.equal(torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(10), 0, 50), y)
    x.grad = None
    z = torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.5]), torch.tensor([10, 0]), 0, 0, 20)
    (z * z).sum().backward()
    assert torch.allclose(z, torch.tensor([[-1.0, 0.3, 1.0, 0.0, -1.0], [1.0, 2.0, 3.0, 0.0, 5.0]]))
    assert torch.allclose(x.grad, torch.tensor([[-2.0, 0.6, 0.0, 0.0, 0.0], [2.0, 4.0, 6.0, 0.0, 10.0]]))
    with pytest.raises(RuntimeError, match="between quant_min and quant_max, 0 and 5, but got 9"):
        torch.fake_quantize_per_tensor_affine(x, 0.1, 9, 0, 5)


def test_files_and_pickles(tmp_path):
    kept = {"q": tensor(), "t": tensor().t(), "channels": channels().t(), "wide": tensor(torch.qint32, 0.001, 3)}
    torch.save(kept, tmp_path / "kept.pt")
    for made in (torch.load(tmp_path / "kept.pt"), pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept)):
        for name, q in kept.items():
            assert made[name].equal(q) and made[name].stride() == q.stride() and repr(made[name]) == repr(q)
    with zipfile.ZipFile(tmp_path / "kept.pt") as file, zipfile.ZipFile(tmp_path / "bad.pt", "w") as bad:
        for name in file.namelist():
            bad.writestr(name, file.read(name).replace(struct.pack(">d", 0.1), struct.pack(">d", -0.1)))
    with pytest.raises(RuntimeError, match="a scale must be positive.*got -0.1"):
        torch.load(tmp_path / "bad.pt")


def test_other_libraries_do_not_get_the_integers():
    for take in (lambda q: q.numpy(), lambda q: memoryview(q), lambda q: q.__dlpack__()):
        with pytest.raises((TypeError, RuntimeError, BufferError, AttributeError)):
            take(tensor())


def test_a_user_defined_tensor_kind():
    example = Path(__file__).parents[3] / "examples" / "kinds" / "scaled.py"
    kind = runpy.run_path(str(example))
    x = kind["Scaled"](torch.tensor([1.0, 2.0]), 3.0)
    assert torch.mul(x, 2).factor == 6 and torch.mul(x, 2).values is x.values and torch.sum(x) == 9
    with pytest.raises(NotImplementedError, match=r"sort is not implemented for scaled tensors; dense\(\) converts"):
        torch.sort(x)


def test_operator_objects():
    table = torch.dispatch.table("add")
    assert table["add"]["kind"]["dense"] == "kernel" and table["add"]["kind"]["quantized"] == "unsupported"
    assert table["add"]["device"] == {"cpu": "kernel", "meta": "kernel", **dict.fromkeys(("cuda", "mps", "xpu", "xla"), "unsupported")}
    assert (
        torch.dispatch.table("sort")["sort"]["kind"]["quantized"] == "rule"
        and torch.dispatch.table("hstack")["hstack"]["kind"]["quantized"] == "composite"
    )
    assert (
        torch.dispatch.table("sort")["sort"]["kind"]["sparse_coo"] == "unsupported"
        and torch.dispatch.table("sin")["sin"]["kind"]["sparse_csr"] == "rule"
    )
    assert torch.dispatch.table("to_sparse")["to_sparse"]["kind"]["quantized"] == "unsupported"
    assert torch.dispatch.table("nonzero")["nonzero"]["device"]["meta"] == "unsupported"
    assert set(torch.dispatch.table("max")) == {"max", "max.dim", "max.other"}
    assert "add  kind  kernel: dense" in repr(table)
    with pytest.raises(RuntimeError, match="operator 'nope' does not exist"):
        torch.dispatch.table("nope")
    for name in (
        "node_id",
        "storage_nbytes",
        "set_num_threads",
        "generator_seed",
    ):  # functions of the runtime, which do not depend on kinds
        with pytest.raises(RuntimeError, match=f"operator '{name}' does not exist"):
            torch.dispatch.table(name)


def test_an_element_of_a_channel_has_its_scale():
    q = torch.quantize_per_channel(torch.ones(3, 4), torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1, 2, 3]), 0, torch.qint8)
    for i in range(3):
        one = q[i, 0]
        assert one.qscheme() == torch.per_tensor_affine and (one.q_scale(), one.q_zero_point()) == (q[i].q_scale(), i + 1)
        assert one.item() == q[i][0].item()


def test_lists_of_no_elements():
    assert torch.quantize_per_tensor(torch.zeros(0), 0.1, 0, torch.qint8).tolist() == []
    assert torch.quantize_per_tensor(torch.zeros(2, 0), 0.1, 0, torch.quint8).tolist() == [[], []]


def test_legacy_names():
    for dtype, name in ((torch.quint8, "QUInt8"), (torch.qint8, "QInt8"), (torch.qint32, "QInt32")):
        assert torch.quantize_per_tensor(torch.ones(2), 0.5, 0, dtype).type() == f"torch.quantized.{name}Tensor"


def test_quantized_tensors_without_data_are_printed():
    q = torch.quantize_per_channel(torch.ones(3, 4), torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1, 2, 3]), 0, torch.qint8)
    text = repr(q.to("meta"))
    assert "tensor(..., device='meta', size=(3, 4), dtype=torch.qint8" in text and "per_channel_affine" in text


def test_quantized_tensors_without_data_are_in_no_file():
    x = torch.ones(2, 3)
    for q in (
        torch.quantize_per_tensor(x, 0.1, 3, torch.quint8),
        torch.quantize_per_channel(x, torch.ones(2), torch.zeros(2).long(), 0, torch.qint8),
    ):
        for call in (lambda m: torch.save(m, io.BytesIO()), pickle.dumps):
            with pytest.raises(
                NotImplementedError,
                match=r"^(save|pickle): a quantized tensor on device meta cannot be (saved|pickled): .*int_repr\(\) instead",
            ):
                call(q.to("meta"))
        assert pickle.loads(pickle.dumps(q.to("meta").int_repr())).is_meta


@pytest.mark.parametrize("sizes", [(4, 0), (0, 4)])
def test_channels_of_tensors_without_elements_move_or_are_rejected(sizes):
    n = sizes[0]
    q = torch.quantize_per_channel(torch.zeros(sizes), torch.ones(n).double(), torch.zeros(n).long(), 0, torch.qint8)
    assert q.transpose(0, 1).q_per_channel_axis() == 1 and q.clone().q_per_channel_scales().tolist() == [1] * n
    for call in (lambda: q.roll(0), lambda: q.reshape(4, 0), lambda: q.reshape(0, 4), lambda: q.unfold(0, 0, 1)):
        try:
            assert call().numel() == 0
        except RuntimeError as error:
            assert "channels" in str(error) and "call dequantize() first" in str(error)


def test_relu_keeps_large_integers():
    ints = torch.tensor([2**31 - 5, 2**24 + 1, -7, 3, 4], dtype=torch.int32)
    q = torch._make_per_tensor_quantized_tensor(ints, 0.5, 3)
    assert q.relu().int_repr().tolist() == [2**31 - 5, 2**24 + 1, 3, 3, 4] and q.relu().dtype == torch.qint32
    assert q.relu_() is q and q.int_repr().tolist() == [2**31 - 5, 2**24 + 1, 3, 3, 4]
    c = torch._make_per_channel_quantized_tensor(
        torch.tensor([[1, 5], [1, 5]], dtype=torch.int8), torch.ones(2).double(), torch.tensor([3, -1]), 0
    )
    assert c.relu().int_repr().tolist() == [[3, 5], [1, 5]]


def test_lists_without_tensors():
    out = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    for join in (torch.cat, torch.stack):
        with pytest.raises((ValueError, RuntimeError), match=f"{join.__name__}: expect.* a non-empty list"):
            join([], out=out)
    assert out.tolist() == torch.ones(2).tolist()


def test_numbers_are_not_put_into_tensors_without_a_quantizer():
    q = torch.quantize_per_tensor(torch.ones(2, 2), 0.25, 10, torch.quint8)
    for operands in ((q,), (torch.ones(2), q), (q, torch.ones(2))):
        with pytest.raises((RuntimeError, ValueError), match="block_diag: the dtype quint8 is quantized; use quantize_per_tensor"):
            torch.block_diag(*operands)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_bsc])
def test_empty_quantized_tensors_are_strided(layout):
    options = {"dtype": torch.qint8, "layout": layout}
    with pytest.raises(
        RuntimeError, match=f"_empty_affine_quantized: quantized tensors must have layout strided, but got {str(layout)[6:]}"
    ):
        torch._empty_affine_quantized((2, 3), scale=0.5, zero_point=3, **options)
    with pytest.raises(RuntimeError, match="_empty_per_channel_affine_quantized: quantized tensors must have layout strided"):
        scales = torch.ones(2, dtype=torch.float64)
        torch._empty_per_channel_affine_quantized((2, 3), scales=scales, zero_points=torch.zeros(2, dtype=torch.int64), axis=0, **options)


WRITES_TO_QUANTIZED = """
import itertools, warnings
import libtensor as torch

warnings.simplefilter("ignore")
plain = torch.ones(2, 2)
quantized = [torch.quantize_per_tensor(plain, 0.1, 0, dtype) for dtype in (torch.quint8, torch.qint8, torch.qint32)]
rest = [(), (0,), (1,), (2,), (0.5,), ("sum",)]
found = 0
for module in (torch, torch.linalg, torch.special, torch.fft, torch.nn.functional):
    for name in sorted(vars(module)):
        function = getattr(module, name)
        if name.startswith("_") or not callable(function) or isinstance(function, type):
            continue
        for operands, more in itertools.product((1, 2, 3), rest):
            try:
                function(*[plain] * operands, *more, out=torch.empty(0))
            except Exception:
                continue
            found += 1
            for q, at in itertools.product(quantized, range(operands + 1)):
                given = [q if at == i else plain for i in range(operands)]
                for out in (q.clone(), torch.empty(0), torch.zeros(2, 2, dtype=torch.int64)):
                    try:
                        function(*given, *more, out=out)
                    except Exception as error:
                        assert "internal" not in str(error).lower(), (name, error)
print(found)
"""


def test_every_function_takes_or_rejects_quantized_tensors_and_outs():
    made = subprocess.run([sys.executable, "-c", WRITES_TO_QUANTIZED], capture_output=True, text=True)
    assert made.returncode == 0, (made.returncode, made.stderr[-2000:])
    assert int(made.stdout) > 300


@pytest.mark.parametrize("power", [0, 1])
def test_casts_to_and_from_quantized_outs_are_rejected(power):
    q = torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.quint8)
    for x, out in ((q, torch.zeros(2, 2)), (torch.ones(2, 2), q)):
        before = out.clone()
        with pytest.raises((NotImplementedError, RuntimeError), match="quantized"):
            torch.linalg.matrix_power(x, power, out=out)
        assert out.equal(before)


@pytest.mark.parametrize("statistics", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 2), (2, 3, 2, 2)], ids=str)
def test_norms_of_quantized_tensors_raise(shape, statistics):
    per_channel = torch.quantize_per_channel(
        torch.ones(shape), torch.full(shape[:1], 0.5), torch.zeros(shape[0], dtype=torch.int64), 0, torch.qint8
    )
    for x in (torch.quantize_per_tensor(torch.ones(shape), 0.5, 1, torch.quint8), per_channel):
        for norm in (torch.nn.functional.instance_norm, torch.nn.functional.batch_norm):
            with pytest.raises(
                (NotImplementedError, ValueError),
                match="norm( is not implemented for quantized|: not implemented for qu?int8|: Expected more than 1 value)",
            ):
                norm(x, torch.ones(3), torch.ones(3), None, None, statistics)


VIEWS = {
    "alias_copy": (),
    "as_strided_copy": ((2,), (1,)),
    "diagonal_copy": (),
    "expand_copy": ((2, 2, 2),),
    "permute_copy": ((1, 0),),
    "select_copy": (0, 0),
    "slice_copy": (),
    "squeeze_copy": (),
    "t_copy": (),
    "transpose_copy": (0, 1),
    "unfold_copy": (-1, 2, 1),
    "unsqueeze_copy": (0,),
    "view_copy": ((4,),),
}


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8, torch.qint32], ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_copies_of_views_into_quantized_outputs_raise_in_inference_mode_too(name, dtype):
    for inference in (False, True):
        with torch.inference_mode(inference):
            x, out = (torch.quantize_per_tensor(torch.ones(2, 2), 0.5, 1, dtype) for _ in range(2))
            for given in (x, torch.ones(2, 2)):
                with pytest.raises(NotImplementedError, match=f"{name} is not implemented for quantized tensors"):
                    getattr(torch, name)(given, *VIEWS[name], out=out)
            assert out.dequantize().tolist() == [[1.0, 1.0], [1.0, 1.0]]


FLOATING = {
    "adaptive_avg_pool2d": lambda q: F.adaptive_avg_pool2d(q, 2),
    "adaptive_avg_pool3d": lambda q: F.adaptive_avg_pool3d(q, 2),
    "avg_pool2d": lambda q: F.avg_pool2d(q, 2),
    "celu": F.celu,
    "dropout": F.dropout,
    "fractional_max_pool2d": lambda q: F.fractional_max_pool2d(q, 2, output_size=2),
    "grid_sample": lambda q: F.grid_sample(q, torch.zeros(1, 2, 2, 2), align_corners=False),
    "interpolate": lambda q: F.interpolate(q, scale_factor=2),
    "interpolate bilinear": lambda q: F.interpolate(q, scale_factor=2, mode="bilinear"),
    "local_response_norm": lambda q: F.local_response_norm(q, 2),
    "rms_norm": lambda q: F.rms_norm(q, (4,)),
    "sin": torch.sin,
    "softmax": lambda q: q.softmax(0),
}


@pytest.mark.parametrize("name", FLOATING)
def test_errors_of_floating_point_operators_advise_dequantize(name):
    q = torch.quantize_per_tensor(torch.rand(1, 2, 4, 4), 0.1, 0, torch.quint8)
    with pytest.raises(NotImplementedError, match=r"is not implemented for quantized tensors; call dequantize\(\) first"):
        FLOATING[name](q)
