"""unfold and fold, compared with a loop over windows, element by element."""

import itertools

import pytest

import libtensor as torch

F = torch.nn.functional

CASES = [  # sizes, kernel, dilation, padding, stride
    ((2, 3, 5, 7), (2, 3), (1, 1), (0, 0), (1, 1)),
    ((1, 2, 6, 40), (3, 2), (2, 3), (1, 4), (2, 3)),
    ((2, 1, 4, 4), (1, 1), (1, 1), (2, 3), (1, 2)),  # windows outside of the image
    ((3, 1, 35), (1, 4), (1, 2), (0, 2), (1, 1)),
]


def walk(x, kernel, dilation, padding, stride):
    """Returns the index of the image element for each kernel element of each window; -1 outside."""
    h, w = x.shape[-2:]
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip((h, w), padding, dilation, kernel, stride, strict=True)]
    table = []
    for taps in itertools.product(*map(range, kernel)):
        row = []
        for at in itertools.product(*map(range, counts)):
            y, z = (i * s + t * d - p for i, s, t, d, p in zip(at, stride, taps, dilation, padding, strict=True))
            row.append(y * w + z if 0 <= y < h and 0 <= z < w else -1)
        table.append(row)
    return torch.tensor(table)


@pytest.mark.parametrize(("sizes", "kernel", "dilation", "padding", "stride"), CASES, ids=str)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.int8], ids=str
)
def test_values(dtype, sizes, kernel, dilation, padding, stride):
    torch.manual_seed(0)
    x = torch.randint(-3, 4, sizes).to(dtype)
    table = walk(x, kernel, dilation, padding, stride)
    flat = x.flatten(-2)
    seen = torch.where(table >= 0, flat[..., table.clamp_min(0)], 0)  # (..., C, kernel elements, L)
    columns = seen.flatten(-3, -2)
    for laid in (x, x.transpose(-1, -2).contiguous().transpose(-1, -2)):
        found = F.unfold(laid, kernel, dilation, padding, stride)
        assert found.dtype == dtype and found.equal(columns)
    sums = torch.zeros([*flat.shape[:-1], flat.shape[-1] + 1], dtype=dtype)
    sums.index_add_(-1, (table % (flat.shape[-1] + 1)).flatten(), seen.flatten(-2))
    assert F.fold(columns, sizes[-2:], kernel, dilation, padding, stride).equal(sums[..., :-1].reshape(sizes))


def test_bool():
    assert F.unfold(torch.tensor([[[True, False]]]), 1, 1, 1).int().tolist() == [[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]]


def test_each_is_the_gradient_of_the_other():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, 7, dtype=torch.float64, requires_grad=True)
    columns = F.unfold(x, (2, 3), 1, 1, (2, 1))
    seed = torch.randn(columns.shape, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(columns, x, seed, create_graph=True)
    assert grad.equal(F.fold(seed, (6, 7), (2, 3), 1, 1, (2, 1)))
    nudge = torch.randn(x.shape, dtype=torch.float64)
    assert torch.autograd.grad(grad, seed, nudge)[0].equal(F.unfold(nudge, (2, 3), 1, 1, (2, 1)))


def test_same_bits_on_any_number_of_threads():
    torch.manual_seed(0)
    columns = torch.randn(1, 9 * 8, 60 * 61)
    threads, found = torch.get_num_threads(), []
    for n in (1, 4):
        torch.set_num_threads(n)
        found.append(F.fold(columns, (60, 61), 3, 1, 1))
    torch.set_num_threads(threads)
    assert found[0].equal(found[1])


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (lambda: F.unfold(torch.ones(1, 2, 2), 3), r"2, 2.*kernel_size=\[3, 3\]"),
        (lambda: F.unfold(torch.ones(1, 2, 2), 0), "kernel_size.*0"),
        (lambda: F.fold(torch.ones(1, 4).bool(), 2, 1), "bool"),
        (lambda: F.fold(torch.ones(3, 4), (3, 3), 2), "divisible.*3, 4"),
        (lambda: F.fold(torch.ones(4, 5), (3, 3), 2), "= 4, but.*4, 5"),
        (lambda: F.fold(torch.ones(4, 4), (3, 3, 3), 2), "output_size.*3, 3, 3"),
        (lambda: F.fold(torch.ones(4), (3, 3), 2), "2D or 3D.*4"),
    ],
)
def test_errors(call, facts):
    with pytest.raises(RuntimeError, match=facts):
        call()


def test_no_examples_and_meta():
    for device in ("cpu", "meta"):
        x = torch.ones(0, 2, 3, 3, device=device)
        assert F.unfold(x, 2).shape == (0, 8, 4)
        assert F.fold(torch.ones(2, 8, 4, device=device), 3, 2).shape == (2, 2, 3, 3)
