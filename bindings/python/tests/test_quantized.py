"""Quantized tensors: integers that stand for numbers."""

import math
import re

import pytest

import libtensor as torch

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
def test_rounding_and_what_does_not_fit(dtype, lo, hi, nan, n):
    for x, want in ((0.5, 3), (1.5, 5), (2.5, 5), (-0.5, 3), (math.inf, hi), (-math.inf, lo), (1e30, hi), (-1e30, lo), (3e9, hi), (math.nan, nan)):
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
def test_what_moves_elements_keeps_their_numbers(view):
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
    with pytest.raises(RuntimeError, match=r"no channels along one dimension"):
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
        (lambda f: torch.quantize_per_tensor(f.double(), 0.1, 0, torch.quint8), "float32 are quantized, but got float64"),
        (lambda f: torch.quantize_per_tensor(f, 0.0, 0, torch.quint8), "a scale must be positive.*got 0"),
        (lambda f: torch.quantize_per_tensor(f, math.nan, 0, torch.quint8), "got NaN"),
        (lambda f: torch.quantize_per_tensor(f, 0.1, 256, torch.quint8), r"quint8 must be in \[0, 255\], but got 256"),
        (lambda f: torch.quantize_per_tensor(f, 0.1, 0, torch.float32), "expected a quantized dtype.*got float32"),
        (lambda f: torch.quantize_per_tensor(f, 0.1, 0, torch.quint4x2), "quint4x2, which has several elements in a byte"),
        (lambda f: torch.quantize_per_tensor(f.new_ones(2).char(), 0.1, 0, torch.qint8), "got int8"),
        (
            lambda f: torch.quantize_per_channel(f, torch.tensor([0.1]), torch.tensor([0]), 0, torch.qint8),
            "each of the 2 channels along axis 0.*got 1 and 1",
        ),
        (lambda f: torch.quantize_per_channel(f, torch.tensor([0.1, -1.0]), torch.tensor([0, 0]), 0, torch.qint8), "channel 1 has -1"),
        (lambda f: torch.quantize_per_channel(f, torch.tensor([0.1, 1.0]), torch.tensor([0.5, 0]), 0, torch.qint8), "zero_points must be integers"),
        (lambda f: f.q_scale(), "q_scale: expected a quantized tensor, but got one of dtype float32"),
        (lambda f: tensor().q_per_channel_axis(), r"q_scale\(\) and q_zero_point\(\)"),
        (lambda f: tensor().float(), r"dequantize\(\) gives its numbers"),
        (lambda f: f.copy_(tensor()), r"dequantize\(\) converts"),
        (lambda f: tensor() + tensor(), r"add is not implemented for quantized tensors; dequantize\(\) converts"),
        (lambda f: channels().resize_(4), "quantized per channel"),
    ],
)
def test_refusals(make, match):
    with pytest.raises((RuntimeError, NotImplementedError)) as caught:
        make(torch.tensor(NUMBERS))
    assert re.search(match, str(caught.value)), caught.value
