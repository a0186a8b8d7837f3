"""Quantized tensors: products and sums, exactly."""

import copy
import math
import pickle

import pytest

import libtensor as torch

ops = torch.ops.quantized


def integers(q):
    return q.int_repr().long()


def rounded(numbers, scale, zero, dtype=torch.quint8):
    return torch.quantize_per_tensor(numbers, scale, zero, dtype).int_repr()


@pytest.mark.parametrize("dtype,zero", [(torch.quint8, 131), (torch.qint8, -7)])
@pytest.mark.parametrize("rows,k,n", [(1, 5, 3), (7, 64, 32), (9, 1031, 65), (3, 0, 4), (0, 8, 2), (70, 513, 130)])
def test_products_with_packed_weights_are_exact(dtype, zero, rows, k, n):
    torch.manual_seed(rows + k)
    x = torch.quantize_per_tensor(torch.randn(rows, k) * 2, 0.05, zero, dtype)
    per_tensor = torch.quantize_per_tensor(torch.randn(n, k), 0.03, 5, torch.qint8)
    per_channel = torch.quantize_per_channel(torch.randn(n, k), torch.full((n,), 0.03), torch.arange(n) % 3, 0, torch.qint8)
    for w, zeros in ((per_tensor, torch.full((n, 1), 5)), (per_channel, (torch.arange(n) % 3)[:, None])):
        sums = (integers(x) - zero) @ (integers(w) - zeros).t()
        want = rounded(sums.float() * torch.tensor(0.05 * 0.03 / 0.25), 1.0, zero, dtype)
        packed = ops.linear_pack(w)
        assert torch.equal(ops.linear(x, ops.linear_prepack(w), 0.25, zero).int_repr(), want)
        assert packed.dtype is torch.uint8 and packed.dim() == 1
        for f in (torch._gen.gen_quantized.linear, torch._gen.gen_quantized.linear_relu):
            plain = f(x, w, None, 0.25, zero)
            assert torch.equal(f(x, w, None, 0.25, zero, packed).int_repr(), plain.int_repr())


def test_packed_tensors_are_unchanged():
    w = torch.quantize_per_tensor(torch.eye(3), 0.5, 0, torch.qint8)
    x = torch.quantize_per_tensor(torch.ones(2, 3), 0.5, 0, torch.quint8)
    packed = ops.linear_prepack(w, torch.ones(3))
    w.zero_()
    packed.unpack()[0].zero_()
    for p in (packed, copy.copy(packed), pickle.loads(pickle.dumps(packed))):
        assert ops.linear(x, p, 0.5, 0).int_repr().tolist() == [[4, 4, 4]] * 2
        assert p.unpack()[0].int_repr().tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    with pytest.raises(RuntimeError, match=r"linear_pack: weight must be a quantized tensor of qint8, but got quint8"):
        ops.linear_prepack(x)
    with pytest.raises(RuntimeError, match=r"linear: packed must be the result of quantized.linear_pack.*but got uint8 of sizes \[3\]"):
        torch._gen.gen_quantized.linear(x, w, None, 0.5, 0, torch.zeros(3, dtype=torch.uint8))
    meta = w.to("meta")
    assert torch._gen.gen_quantized.linear(x.to("meta"), meta, None, 0.5, 0, ops.linear_pack(meta)).shape == (2, 3)


def test_nan_in_a_bias_is_the_largest_integer():
    w = torch.quantize_per_tensor(torch.eye(3), 0.5, 0, torch.qint8)
    for dtype, most in ((torch.quint8, 255), (torch.qint8, 127)):
        x = torch.quantize_per_tensor(torch.eye(3), 0.5, 0, dtype)
        packed = ops.linear_prepack(w, torch.tensor([math.nan, 1.0, -math.inf]))
        least = 0 if dtype is torch.quint8 else -128
        assert ops.linear(x, packed, 1.0, 0).int_repr().tolist() == [[most, 1, least], [most, 2, least], [most, 1, least]]


def test_an_empty_batch_has_an_empty_answer():
    packed = ops.linear_prepack(torch.quantize_per_tensor(torch.ones(3, 4), 0.5, 0, torch.qint8), torch.ones(3))
    got = ops.linear_dynamic(torch.zeros(0, 4), packed)
    assert got.shape == (0, 3) and got.dtype is torch.float32


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8, torch.qint32])
def test_sums_and_products_of_every_layout(dtype):
    torch.manual_seed(3)
    lo = 0 if dtype is torch.quint8 else -100
    a = torch.quantize_per_tensor(torch.randn(70, 33), 0.03, lo + 120, dtype)
    b = torch.quantize_per_tensor(torch.randn(33, 70), 0.02, lo + 110, dtype).t()
    for x, y in ((a, b), (a[::2, 1:], b[::2, 1:]), (a[:1], b), (a, b[:, :1]), (a[0], b), (a[:0], b[:0]), (a[3, 4], b[5, 6])):
        for f, numbers in ((ops.add, x.dequantize() + y.dequantize()), (ops.mul, x.dequantize() * y.dequantize())):
            got, want = f(x, y, 0.04, lo + 90), rounded(numbers, 0.04, lo + 90, dtype)
            assert got.dtype is dtype and got.shape == numbers.shape and (got.q_scale(), got.q_zero_point()) == (0.04, lo + 90)
            if f is ops.add:
                assert torch.equal(got.int_repr(), want)
            else:  # the product of the integers is rounded once
                assert numbers.numel() == 0 or (integers(got) - want.long()).abs().max() <= 1
            relu = {ops.add: ops.add_relu, ops.mul: ops.mul_relu}[f](x, y, 0.04, lo + 90)
            assert torch.equal(relu.int_repr(), got.int_repr().clamp(min=lo + 90))
    with pytest.raises(RuntimeError, match=r"quantized.add: .*shapes \[70, 33\] and \[5\] do not broadcast"):
        ops.add(a, torch.quantize_per_tensor(torch.randn(5), 0.02, 0, dtype), 0.1, 0)


def test_its_own_dtype_is_no_conversion():
    q = torch.quantize_per_tensor(torch.ones(2, 3), 0.5, 1, torch.qint8)
    assert q.to(q) is q and q.to("cpu", torch.qint8) is q and q.to(dtype=torch.qint8, device="cpu") is q
    copied = q.to(torch.qint8, copy=True)
    assert copied is not q and torch.equal(copied, q) and copied.data_ptr() != q.data_ptr()
    assert q.to("meta", torch.qint8).dtype is torch.qint8


def test_the_mean_is_rounded_once_and_halves_to_even():
    q = torch.quantize_per_tensor(torch.tensor([[-0.128, 0.127], [-0.128, 0.127]]), 0.001, 0, torch.qint8)
    assert q.mean().int_repr().item() == 0 and q.mean(1).int_repr().tolist() == [0, 0]
    q = torch._make_per_tensor_quantized_tensor(torch.tensor([[1, 2], [2, 3], [5, 5]], dtype=torch.uint8), 0.1, 7)
    assert q.mean(1, keepdim=True).int_repr().tolist() == [[2], [2], [5]]
    assert q.mean(0).int_repr().tolist() == [3, 3] and q.mean().q_zero_point() == 7
    assert q[:0].mean().int_repr().item() == 255  # NaN


def test_scales_of_channels_are_not_rounded():
    scales = torch.tensor([0.001, 0.0037], dtype=torch.float64)
    q = torch.quantize_per_channel(torch.tensor([[0.122, 0.03], [0.2, 0.41]]), scales, torch.tensor([0, 3]), 0, torch.qint8)
    want = ((q.int_repr().double() - torch.tensor([[0.0], [3.0]])) * scales[:, None]).float()
    assert torch.equal(q.dequantize(), want) and torch.equal(q.t().dequantize(), want.t())
    assert q.dequantize()[0, 0].item() == torch.tensor(122 * 0.001).item()


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8])
def test_products_of_vectors_and_batches(dtype):
    torch.manual_seed(4)
    sizes = [
        ((5,), (5, 3)),
        ((4, 5), (5,)),
        ((5,), (5,)),
        ((2, 4, 5), (2, 5, 3)),
        ((3, 1, 4, 5), (2, 5, 1)),
        ((5,), (2, 5, 3)),
        ((0, 4, 5), (0, 5, 3)),
    ]
    for a, b in [*sizes, ((2, 4, 0), (2, 0, 3))]:
        x, y = (torch.quantize_per_tensor(torch.randn(*s), 0.05, 60, dtype) for s in (a, b))
        sums = (integers(x) - 60) @ (integers(y) - 60)
        got = ops.matmul(x, y, 0.01, 3)
        assert got.dtype is dtype and got.shape == sums.shape and (got.q_scale(), got.q_zero_point()) == (0.01, 3)
        assert torch.equal(got.int_repr(), rounded(sums.float() * torch.tensor(0.05 * 0.05 / 0.01), 1.0, 3, dtype))
    with pytest.raises(RuntimeError, match="the inner sizes 5 and 4 differ"):
        ops.matmul(
            torch.quantize_per_tensor(torch.ones(2, 5), 0.1, 0, dtype),
            torch.quantize_per_tensor(torch.ones(3, 4, 5), 0.1, 0, dtype),
            0.1,
            0,
        )


def test_scales_and_zero_points_learn():
    numbers = [[-1.0, 0.26, 9.0], [1.0, 2.0, 0.05]]
    grads = torch.arange(6.0).reshape(2, 3)
    for factor in (1.0, 0.25):
        x, scale = torch.tensor(numbers, requires_grad=True), torch.tensor([0.1], requires_grad=True)
        zero = torch.tensor([1.4], requires_grad=True)  # which is 1
        y = torch._fake_quantize_learnable_per_tensor_affine(x, scale, zero, 0, 15, factor)
        assert torch.equal(y, torch.fake_quantize_per_tensor_affine(x.detach(), 0.1, 1, 0, 15))
        (y * grads).sum().backward()
        assert x.grad.tolist() == [[0, 1, 0], [3, 0, 5]]
        of_scale = torch.tensor([[-1.0, 0.4, 14.0], [0.0, 14.0, -0.5]])
        assert torch.allclose(scale.grad, (of_scale * grads).sum() * factor, atol=1e-4) and scale.grad.shape == (1,)
        assert torch.allclose(zero.grad, torch.tensor(-0.1 * (2 + 4) * factor))
    x, scale = torch.tensor(numbers, requires_grad=True), torch.tensor([0.1, 0.5, 2.0], requires_grad=True)
    y = torch._fake_quantize_learnable_per_channel_affine(x, scale, torch.zeros(3), 1, -1, 3)
    assert torch.equal(y, torch.fake_quantize_per_channel_affine(x.detach(), scale.detach(), torch.zeros(3, dtype=torch.int32), 1, -1, 3))
    y.sum().backward()
    assert torch.allclose(scale.grad, torch.tensor([-1.0 + 3, 0.24 / 0.5 + 3, 3 - 0.025])) and x.grad.tolist() == [[0, 1, 0], [0, 0, 1]]
    with pytest.raises(RuntimeError, match="scale and zero_point must have one element, but got 3 and 1"):
        torch._fake_quantize_learnable_per_tensor_affine(x, scale, torch.zeros(1), 0, 15)
    with pytest.raises(RuntimeError, match="for each of the 2 channels along axis 0, but got 3 and 3"):
        torch._fake_quantize_learnable_per_channel_affine(x, scale, torch.zeros(3), 0, 0, 15)


def test_parameters_that_are_none():
    w = torch.quantize_per_tensor(torch.eye(3), 0.5, 0, torch.qint8)
    x = torch.quantize_per_tensor(torch.ones(2, 3), 0.5, 0, torch.quint8)
    for call in (
        lambda: ops.linear(x, w, 0.1, 0),
        lambda: ops.linear_relu(x, w, 0.1, 0),
        lambda: ops.linear_dynamic(x, w),
        lambda: ops.linear_unpack(w),
    ):
        with pytest.raises(TypeError, match="quantized.linear.*: argument 'W_prepack' must be a result of linear_prepack.*, not Tensor"):
            call()
    for bias in (torch.ones(2), torch.ones(3, 1), torch.ones(3).double(), torch.eye(3)[0].to_sparse(), "x"):
        with pytest.raises(TypeError, match="quantized.linear_prepack.*: argument 'B' must be a tensor of float32 with 3 elements"):
            ops.linear_prepack(w, bias)
    with pytest.raises(TypeError, match="sparse.from_scipy.*: expected a SciPy sparse array or matrix, not Tensor"):
        torch.sparse.from_scipy(torch.eye(2))
