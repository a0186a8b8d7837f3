"""Tensors on a CUDA device: where they are, how they come and go, what they refuse."""

import random

import pytest
from operands import DTYPES

import libtensor as torch

FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]


def values(dtype, *size):
    torch.manual_seed(1)
    return torch.randint(0, 100, size).to(dtype)


def views(x):
    """Views of every kind of a 3-dimensional tensor."""
    return [
        x,
        x.t() if x.dim() == 2 else x.transpose(0, 2),
        x[1:],
        x[..., ::2],
        x[:, 1],
        x.permute(2, 0, 1),
        x[:0],
        x[1, 2, 3],
        x[:, :1].expand(-1, 5, -1),
        x.flip(0, 2),
    ]


@pytest.mark.usefixtures("simulation")
def test_devices():
    assert torch.cuda.is_available() and torch.cuda.device_count() == 2 and torch.cuda.absence() == ""
    x = torch.zeros(2, 3, device="cuda")
    assert x.device == torch.device("cuda:0") and x.is_cuda and not x.cpu().is_cuda
    assert torch.empty(2, device="cuda:1").device == torch.device("cuda", 1) and torch.ones(2).cuda(1).device.index == 1
    assert str(torch.accelerator.current_accelerator()) == "cuda"
    assert torch.cuda.get_arch_list() == ["compute_75"] and not torch.cuda.is_current_stream_capturing()
    assert [str(g.device) for g in torch.cuda.default_generators] == ["cuda:0", "cuda:1"]
    with pytest.raises(RuntimeError, match="device cuda:2 does not exist: invalid device ordinal; the last of 2 is cuda:1"):
        torch.zeros(2, device="cuda:2")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies_there_and_back(dtype):
    host = values(dtype, 3, 4, 6)
    for k, view in enumerate(views(host)):
        there = view.to("cuda")
        assert there.device.type == "cuda" and there.shape == view.shape and torch.equal(there.cpu(), view), k
    there = host.cuda()
    for k, (a, b) in enumerate(zip(views(there), views(host), strict=True)):
        assert a.device.type == "cuda" and torch.equal(a.cpu(), b), k
        assert torch.equal(a.contiguous().cpu(), b) and torch.equal(a.clone().cpu(), b) and a.clone().stride() == b.clone().stride(), k
        assert torch.equal(a.to("cuda:1").cpu(), b), k


@pytest.mark.parametrize("to", DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_casts(dtype, to):
    host = values(dtype, 2, 5)
    assert torch.equal(host.cuda().to(to).cpu(), host.to(to))
    assert torch.equal(host.to("cuda", to).cpu(), host.to(to))
    target, expected = torch.zeros(5, 2, dtype=to, device="cuda").t(), torch.zeros(5, 2, dtype=to).t()
    assert torch.equal(target.copy_(host).cpu(), expected.copy_(host)) and target.stride() == (1, 2)
    assert torch.equal(torch.zeros(2, 5, dtype=to).copy_(host.cuda()), expected)


def test_more_dimensions_than_a_launch_has():
    host = torch.arange(2**19).reshape([2] * 19)
    there = host.cuda()
    order = list(range(19))
    random.Random(3).shuffle(order)
    assert torch.equal(there.permute(order).contiguous().cpu(), host.permute(order))


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_eight_bit_floats_move_and_are_not_converted(dtype):
    host = torch.arange(6, dtype=torch.uint8).view(dtype).reshape(2, 3)
    there = host.cuda()
    bits = torch.uint8
    assert torch.equal(there.cpu().view(bits), host.view(bits))
    assert torch.equal(there.t()[1:].contiguous().cpu().view(bits), host.t()[1:].contiguous().view(bits))
    assert torch.equal(torch.full((3,), 2, dtype=dtype, device="cuda").cpu().view(bits), torch.full((3,), 2, dtype=dtype).view(bits))
    assert torch.equal(host.cpu().float().cuda().cpu(), host.float())
    for refused in (lambda: there.float(), lambda: host.float().cuda().to(dtype), lambda: there == there):
        with pytest.raises(NotImplementedError, match=f"{dtype.name}"):
            refused()
    with pytest.raises(NotImplementedError, match="not implemented for dtype"):
        there + there
    assert torch.equal(there.cpu().view(bits), host.view(bits))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fills(dtype):
    for make in (
        lambda d: torch.full((3, 4), 1, dtype=dtype, device=d),
        lambda d: torch.zeros(7, dtype=dtype, device=d),
        lambda d: torch.ones(2, 2, dtype=dtype, device=d),
    ):
        assert torch.equal(make("cuda").cpu(), make("cpu"))
    x, y = torch.zeros(4, 4, dtype=dtype, device="cuda"), torch.zeros(4, 4, dtype=dtype)
    for t in (x, y):
        t[1:3, ::2] = 1
        t.t()[3].fill_(t[1, 0])
    assert torch.equal(x.cpu(), y)
    assert torch.equal(torch.cat([x, x[1:]]).cpu(), torch.cat([y, y[1:]]))


def test_printing_and_values():
    x = torch.arange(6.0).reshape(2, 3).cuda()
    assert repr(x) == "tensor([[0., 1., 2.],\n        [3., 4., 5.]], device='cuda:0')"
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and x[1, 1].item() == 4 and float(x[0, 2]) == 2
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()


@pytest.mark.parametrize(
    "dtype, values",
    [
        (torch.int64, [2**62 + 1, -7]),
        (torch.float64, [1 / 3, 1e300]),
        (torch.complex128, [complex(1 / 3, 1e300), 2j]),
        (torch.bool, [True, False]),
        (torch.bfloat16, [1.5, -0.25]),
        (torch.float16, [1.5, -0.25]),
    ],
)
def test_lists(dtype, values):
    x = torch.tensor([values, values[::-1]], dtype=dtype, device="cuda").t()
    assert str(x.tolist()) == str(x.cpu().tolist()) == str([[values[0], values[1]], [values[1], values[0]]])


def test_printing_sparse_tensors():
    dense = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    for convert in (torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_csc):
        text, here = repr(convert(dense).cuda()), repr(convert(dense))
        assert "device='cuda:0', size=(2, 2), nnz=2" in " ".join(text.split())
        assert "".join(text.split()).replace("device='cuda:0',", "") == "".join(here.split())


def test_printing_quantized_tensors():
    x = torch.tensor([-1.0, 0.0, 2.5])
    each = torch.quantize_per_channel(torch.ones(2, 2), torch.tensor([0.5, 0.25]), torch.tensor([1, 0]), 0, torch.qint8)
    for q in (torch.quantize_per_tensor(x, 0.5, 10, torch.quint8), each):
        there = q.cuda()
        assert there.tolist() == q.tolist()
        assert "device='cuda:0'" in repr(there)
        assert "".join(repr(there).split()).replace("device='cuda:0',", "") == "".join(repr(q).split())
    assert torch.quantize_per_tensor(x, 0.5, 10, torch.quint8)[2].cuda().item() == 2.5


def test_powers_by_numbers():
    x = torch.tensor([float("-inf"), -0.0, 2.0, 9.0, -1.0])
    for t in (x, x.double(), x.to(torch.complex64)[2:]):
        for exponent in (0.5, -0.5, 2, 3, -1, -2, 1, 0, 1.7):
            for power in (torch.pow, torch.float_power, lambda a, b: a.clone().pow_(b)):
                here, there = power(t, exponent), power(t.cuda(), exponent).cpu()
                assert torch.allclose(here, there, rtol=1e-6, equal_nan=True) and str(here.tolist()[:2]) == str(there.tolist()[:2]), (
                    t.dtype,
                    exponent,
                )


def test_invalid_cuda_devices():
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device, but got: cpu"):
        torch.ones(2).cuda("cpu")
    with pytest.raises(ValueError, match="set_device: Expected a cuda device, but got: cpu"):
        torch.cuda.set_device("cpu")
    for name in ("set_device", "synchronize"):
        with pytest.raises(RuntimeError, match=f"^{name}: device cuda:9 does not exist"):
            getattr(torch.cuda, name)(9)


def test_two_devices_are_named():
    x, y = torch.ones(3, device="cuda"), torch.arange(3.0)
    for mix in (lambda: torch.cross(x, y, dim=0), lambda: torch.cross(y, x, dim=0), lambda: torch.linalg.cross(x, x.to("cuda:1"))):
        with pytest.raises(RuntimeError, match="cross: expected all tensors to be on the same device, but found at least two devices"):
            mix()


def test_groups_of_nothing_have_the_same_dtypes():
    for unique in (torch.unique, torch.unique_consecutive):
        for device in ("cpu", "cuda"):
            with pytest.raises(NotImplementedError, match="unique.*: not implemented for dtype complex64"):
                unique(torch.empty(0, dtype=torch.complex64, device=device))


def test_mixtures():
    x, y = torch.ones(3, device="cuda"), torch.arange(3.0)
    assert (x + 1).tolist() == [2, 2, 2] and (2 * x).device == x.device
    assert (x + torch.tensor(2.5)).tolist() == [3.5] * 3 and (torch.tensor(2.5, dtype=torch.float64) * x).dtype == torch.float32
    for mix in (
        lambda: x + y,
        lambda: y + x,
        lambda: y.add_(x),
        lambda: x + torch.ones(1),
        lambda: x + x.to("cuda:1"),
        lambda: torch.cat([x, y]),
    ):
        with pytest.raises(RuntimeError, match="expected all tensors to be on the same device, but found at least two devices, (cuda|cpu)"):
            mix()
    assert y.tolist() == [0, 1, 2]


def test_operators_without_a_kernel_are_rejected_by_name():
    x = torch.ones(3).to(torch.float8_e5m2).cuda()
    with pytest.raises(NotImplementedError, match="^to is not implemented on cuda for dtype float8_e5m2; move the tensors to the cpu$"):
        x.float()


def test_gradients():
    host, there = torch.arange(6.0).reshape(2, 3).requires_grad_(), torch.arange(6.0).reshape(2, 3).cuda().requires_grad_()
    for x in (host, there):
        (x.exp() @ x.t()).softmax(1)[:, 1:].mean().backward()
    assert there.grad.device == there.device and torch.allclose(there.grad.cpu(), host.grad)


def test_gradients_are_on_the_device_of_their_tensor():
    x = torch.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] is on cpu and output\[0\] is on cuda:0"):
        (x * 2).backward(torch.ones(3))
    (x * 2).sum().backward(torch.tensor(3.0))  # a number
    assert x.grad.tolist() == [6, 6, 6] and x.grad.device == x.device

    class Elsewhere(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t, number):
            return t * number

        @staticmethod
        def backward(ctx, grad):
            return grad.cpu(), grad.sum().cpu()

    number = torch.tensor(2.0, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="returned an invalid gradient at index 0 - expected device cuda:0 but got cpu"):
        Elsewhere.apply(x, number).sum().backward()
    Elsewhere.apply(x.detach(), number).sum().backward()
    assert number.grad.item() == 3 and number.grad.device == number.device


def test_indices_on_the_cpu_come_along():
    x = torch.arange(12.0).reshape(3, 4).cuda()
    assert x[[0, 2]].tolist() == x[torch.tensor([0, 2], device="cuda")].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    x[torch.tensor([1]), torch.tensor([2])] = 9
    assert x[1].tolist() == [4, 5, 9, 7]
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[torch.tensor([3])]  # which the CPU checks
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[torch.tensor([3], device="cuda")].tolist()


@pytest.mark.parametrize("n", [1, 511, 513, 5000, 300_000])
def test_reductions_of_all_lengths(n):
    x = torch.arange(3 * n, dtype=torch.float64).reshape(3, n).remainder(17)
    y = x.cuda()
    assert y.sum().item() == x.sum().item() and torch.equal(y.sum(1).cpu(), x.sum(1)) and torch.equal(y.sum(0).cpu(), x.sum(0))
    assert torch.equal(y.argmax(1).cpu(), x.argmax(1)) and torch.equal(y.t().amin(0).cpu(), x.amin(1))
    assert torch.allclose(y.var(1).cpu(), x.var(1), equal_nan=True) and torch.equal(y.cumsum(1).cpu(), x.cumsum(1))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float16, torch.float32, torch.float64, torch.complex64], ids=str)
def test_powers_of_sequences(dtype):
    for start, end, steps, base in ((0, 5, 6, 2), (0, 2, 50, 10), (-1, 1, 7, 3.5), (3, 1, 1, 2), (1, 2, 0, 2)):
        if dtype == torch.uint8 and start < 0:
            continue
        here, there = (torch.logspace(start, end, steps, base=base, dtype=dtype, device=device) for device in ("cpu", "cuda"))
        assert there.device.type == "cuda" and torch.allclose(here, there.cpu(), 2e-3 if dtype == torch.float16 else 1e-6, 0)
