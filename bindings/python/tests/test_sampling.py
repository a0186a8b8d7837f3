"""grid_sample and affine_grid, compared with a loop over the elements around each point."""

import itertools
import math
import mmap

import pytest

import libtensor as torch

F = torch.nn.functional


def reflected(x, n, align):
    low, span = (0, n - 1) if align else (-0.5, n)
    if span == 0:
        return 0.0
    x = abs(x - low) % (2 * span)
    return (x if x <= span else 2 * span - x) + low


def inside(x, n, padding, align):
    """Returns the coordinate x of a dimension of n elements after padding."""
    if padding == "reflection":
        x = reflected(x, n, align)
    return x if padding == "zeros" else min(max(x, 0), n - 1)


def taps(c, n, mode, padding, align):
    """The elements of a dimension that a point is made of, with weights."""
    x = (c + 1) / 2 * (n - 1) if align else ((c + 1) * n - 1) / 2
    if mode == "bicubic":
        first = math.floor(x)
        t = x - first
        near = [1.25 * d**3 - 2.25 * d**2 + 1 for d in (t, 1 - t)]
        far = [-0.75 * d**3 + 3.75 * d**2 - 6 * d + 3 for d in (1 + t, 2 - t)]
        found = [(int(inside(first - 1 + k, n, padding, align)), w) for k, w in enumerate((far[0], *near, far[1]))]
    elif mode == "nearest":
        found = [(round(inside(x, n, padding, align)), 1.0)]
    else:
        x = inside(x, n, padding, align)
        first = math.floor(x)
        found = [(first, 1 - (x - first)), (first + 1, x - first)]
    return [(k, w) for k, w in found if 0 <= k < n]


def walk(x, grid, mode, padding, align):
    out = torch.zeros(*x.shape[:2], *grid.shape[1:-1], dtype=torch.float64)
    for place in itertools.product(*map(range, grid.shape[:-1])):
        point = grid[place].tolist()[::-1]
        for around in itertools.product(*(taps(c, n, mode, padding, align) for c, n in zip(point, x.shape[2:], strict=True))):
            out[(place[0], slice(None), *place[1:])] += (
                math.prod(w for _, w in around) * x[(place[0], slice(None), *(k for k, _ in around))]
            )
    return out


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("mode", "n"), [("bilinear", 2), ("nearest", 2), ("bicubic", 2), ("bilinear", 3), ("nearest", 3)])
def test_values(mode, n, padding, align):
    torch.manual_seed(0)
    # Points are processed in blocks, some of which are completely inside of the image.
    for sizes, points, reach in [((2, 3, 2, 4, 5), (2, 3, 7), 1.7), ((1, 10, 1, 3, 2), (3, 4, 3), 0.3), ((1, 1, 3, 1, 6), (1, 2, 33), 5.0)]:
        x = torch.randn(*sizes[:2], *sizes[-n:], dtype=torch.float64)
        grid = (torch.rand(sizes[0], *points[-n:], n, dtype=torch.float64) * 2 - 1) * reach
        expected = walk(x, grid, mode, padding, align)
        for laid, at in ((x, grid), (x.transpose(-1, 1).contiguous().transpose(-1, 1), grid.movedim(-1, 1).contiguous().movedim(1, -1))):
            for dtype, near in ((torch.float64, 1e-12), (torch.float32, 1e-3)):
                if dtype == torch.float32 and mode == "nearest":
                    continue  # which is another element where two are as near
                found = F.grid_sample(laid.to(dtype), at.to(dtype), mode, padding, align)
                assert found.is_contiguous()
                torch.testing.assert_close(found.double(), expected, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_16_bit_floats(dtype):
    torch.manual_seed(0)
    x = torch.randn(2, 9, 5, 5, dtype=torch.float64).to(dtype).requires_grad_()
    grid = (torch.randint(-8, 9, (2, 6, 7, 2)) / 8).to(dtype)  # whose positions have no error
    wide = x.detach().double().requires_grad_()
    seed = torch.randn(2, 9, 6, 7).to(dtype)
    a, b = F.grid_sample(x, grid, align_corners=True), F.grid_sample(wide, grid.double(), align_corners=True)
    torch.testing.assert_close(a.double(), b, rtol=0.02, atol=0.02)
    (of,), (wide_of,) = torch.autograd.grad(a, x, seed), torch.autograd.grad(b, wide, seed.double())
    assert of.dtype == dtype
    torch.testing.assert_close(of.double(), wide_of, rtol=0.02, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("mode", "n"), [("bilinear", 2), ("bicubic", 2), ("bilinear", 3)])
def test_derivatives_to_second_order(mode, n, padding, align):
    torch.manual_seed(0)
    x = torch.randn(2, 2, *(3, 4, 5)[-n:], dtype=torch.float64, requires_grad=True)
    grid = ((torch.rand(2, *(1, 2, 3)[-n:], n, dtype=torch.float64) - 0.5) * 2.6).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: F.grid_sample(a, b, mode, padding, align), (x, grid))
    assert torch.autograd.gradgradcheck(lambda a, b: F.grid_sample(a, b, mode, padding, align), (x, grid))


def test_nearest_has_no_slope():
    x = torch.randn(1, 1, 3, 3, requires_grad=True)
    grid = torch.zeros(1, 2, 2, 2, requires_grad=True)
    of_x, of_grid = torch.autograd.grad(F.grid_sample(x, grid, "nearest", align_corners=False).sum(), (x, grid))
    assert of_x.tolist() == [[[[0, 0, 0], [0, 4, 0], [0, 0, 0]]]]
    assert of_grid.tolist() == torch.zeros(1, 2, 2, 2).tolist()

    x = torch.tensor([[[[1.0, math.nan], [2.0, math.inf]]]], requires_grad=True)
    grid = torch.tensor([[[[0.5, -0.5], [-0.5, 0.5]]]], requires_grad=True)
    given = torch.ones(1, 1, 1, 2, requires_grad=True)
    firsts = torch.autograd.grad(F.grid_sample(x, grid, "nearest", align_corners=False), (x, grid), given, create_graph=True)
    assert firsts[1].tolist() == [[[[0.0, 0.0], [0.0, 0.0]]]]
    assert torch.autograd.grad(sum(t.sum() for t in firsts), given)[0].flatten().tolist() == [1.0, 1.0]


def test_points_that_are_no_numbers():
    x = torch.arange(1.0, 10).reshape(1, 1, 3, 3)
    grid = torch.tensor([[[[math.nan, 0.0]], [[math.inf, 0.0]], [[-math.inf, 0.0]], [[1e30, 0.0]]]])
    assert F.grid_sample(x, grid, "nearest", align_corners=False).flatten().tolist() == [0, 0, 0, 0]
    assert F.grid_sample(x, grid, "nearest", "border", align_corners=False).flatten().tolist() == [4, 6, 4, 6]
    assert F.grid_sample(x, grid, padding_mode="border", align_corners=False).flatten().tolist() == [4, 6, 4, 6]
    assert F.grid_sample(x, grid, align_corners=False).flatten().isnan().tolist() == [True, True, True, False]
    x[0, 0, 0, 0] = math.nan  # does not leak from filter taps outside, which are not read
    assert F.grid_sample(x, torch.full((1, 1, 1, 2), 5.0), align_corners=False).item() == 0


def test_same_bits_on_any_number_of_threads():
    torch.manual_seed(0)
    x = torch.randn(3, 9, 40, 41, requires_grad=True)
    grid = (torch.rand(3, 50, 51, 2) * 2.2 - 1.1).requires_grad_()
    seed = torch.randn(3, 9, 50, 51)
    threads, found = torch.get_num_threads(), []
    for n in (1, 4):
        torch.set_num_threads(n)
        y = F.grid_sample(x, grid, align_corners=False)
        found.append((y.detach(), *torch.autograd.grad(y, (x, grid), seed)))
    torch.set_num_threads(threads)
    assert all(a.equal(b) for a, b in zip(*found, strict=True))


def test_empty():
    assert F.grid_sample(torch.ones(0, 2, 3, 3), torch.ones(0, 4, 4, 2), align_corners=False).shape == (0, 2, 4, 4)
    x = torch.ones(1, 2, 3, 3, requires_grad=True)
    grid = torch.ones(1, 0, 4, 2, requires_grad=True)
    of_x, of_grid = torch.autograd.grad(F.grid_sample(x, grid, align_corners=False).sum(), (x, grid))
    assert of_x.equal(torch.zeros(1, 2, 3, 3)) and of_grid.shape == (1, 0, 4, 2)
    grid = torch.ones(1, 4, 4, 2, requires_grad=True)
    (of_grid,) = torch.autograd.grad(F.grid_sample(torch.ones(1, 0, 3, 3), grid, align_corners=False).sum(), grid)
    assert of_grid.equal(torch.zeros(1, 4, 4, 2))
    assert F.grid_sample(torch.ones(1, 2, 3, 3, device="meta"), torch.ones(1, 4, 5, 2, device="meta"), align_corners=False).shape == (
        1,
        2,
        4,
        5,
    )


def test_numbers_for_modes():
    torch.manual_seed(0)
    x, grid = torch.randn(1, 2, 3, 3), torch.rand(1, 4, 4, 2) * 3 - 1.5
    for (a, mode), (b, padding) in itertools.product(
        enumerate(["bilinear", "nearest", "bicubic"]), enumerate(["zeros", "border", "reflection"])
    ):
        named = F.grid_sample(x, grid, mode, padding, False)
        assert torch.grid_sampler(x, grid, a, b, False).equal(named) and torch.grid_sampler_2d(x, grid, a, b, False).equal(named)


def test_affine_grid():
    torch.manual_seed(0)
    for size, align in itertools.product([(2, 1, 3, 4), (2, 1, 1, 5), (2, 3, 2, 1, 3)], [False, True]):
        n = len(size) - 2
        theta = torch.randn(2, n, n + 1, dtype=torch.float64, requires_grad=True)
        found = F.affine_grid(theta, size, align_corners=align)
        assert found.shape == (2, *size[2:], n) and found.is_contiguous()
        for place in itertools.product(*map(range, size[2:])):
            at = [0.0 if m == 1 else (2 * k / (m - 1) - 1 if align else (2 * k + 1) / m - 1) for k, m in zip(place, size[2:], strict=True)]
            want = theta.detach() @ torch.tensor([*at[::-1], 1.0], dtype=torch.float64)
            torch.testing.assert_close(found.detach()[(slice(None), *place)], want)
        assert torch.autograd.gradcheck(lambda t, s=size, a=align: F.affine_grid(t, s, align_corners=a), (theta,))
        assert torch.affine_grid_generator(theta, size, align).equal(found)
    assert torch.affine_grid_generator(torch.ones(0, 2, 3), (0, 1, 4, 5), False).shape == (0, 4, 5, 2)
    assert torch.affine_grid_generator(torch.ones(1, 2, 3), (1, 0, 0, 5), True).shape == (1, 0, 5, 2)


X, G = torch.ones(1, 1, 2, 2), torch.zeros(1, 2, 2, 2)


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: F.grid_sample(X, G, "cubic", align_corners=False), ValueError, "cubic"),
        (lambda: F.grid_sample(X, G, padding_mode="mirror", align_corners=False), ValueError, "mirror"),
        (lambda: F.grid_sample(X, G.expand(2, 2, 2, 2), align_corners=False), RuntimeError, "batch size.*1, 1, 2, 2.*2, 2, 2, 2"),
        (lambda: F.grid_sample(X, torch.zeros(1, 2, 2, 3), align_corners=False), RuntimeError, "size 2 in last dimension.*1, 2, 2, 3"),
        (lambda: F.grid_sample(X[0, 0], G, align_corners=False), RuntimeError, "4D or 5D"),
        (lambda: F.grid_sample(torch.ones(1, 1, 0, 2), G, align_corners=False), RuntimeError, "non-empty spatial dimensions.*1, 1, 0, 2"),
        (
            lambda: F.grid_sample(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 2, 2, 2, 3), "bicubic", align_corners=False),
            RuntimeError,
            "bicubic.*4D",
        ),
        (lambda: F.grid_sample(X, G.double(), align_corners=False), RuntimeError, "same dtype.*float32.*float64"),
        (lambda: F.grid_sample(X.int(), G.int(), align_corners=False), NotImplementedError, "int32"),
        (lambda: F.grid_sample(X.to(torch.complex64), G, align_corners=False), NotImplementedError, "complex64"),
        (lambda: torch.grid_sampler(X, G, 3, 0, False), RuntimeError, "from 0 to 2.*3 and 0"),
        (lambda: torch.grid_sampler_3d(X, G, 0, 0, False), RuntimeError, "5D"),
        (lambda: F.affine_grid(torch.ones(1, 2, 3).int(), (1, 1, 2, 2), False), ValueError, "int32"),
        (lambda: F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2), False), NotImplementedError, "4D and 5D.*1, 1, 2"),
        (lambda: F.affine_grid(torch.ones(1, 2, 3), (1, 1, 0, 2), False), ValueError, "non-zero.*1, 1, 0, 2"),
        (lambda: F.affine_grid(torch.ones(1, 3, 4), (1, 1, 2, 2), False), ValueError, "Nx2x3.*1, 3, 4"),
    ],
)
def test_errors(call, error, facts):
    with pytest.raises(error, match=facts):
        call()


def test_corners_unsaid():
    with pytest.warns(UserWarning, match="align_corners"):
        F.grid_sample(X, G)
    with pytest.warns(UserWarning, match="align_corners"):
        F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 2))


def test_images_with_large_strides(tmp_path):
    """A sparse file backs a view whose rows are 8 GB apart."""
    step = 2**30
    with open(tmp_path / "sparse", "w+b") as file:
        file.truncate((2 * step + 4) * 4)
        memory = torch.frombuffer(mmap.mmap(file.fileno(), 0), dtype=torch.float32)
    far = memory.as_strided((1, 1, 3, 4), (1, 1, step, 1))
    near = torch.arange(12.0).reshape(1, 1, 3, 4)
    far.copy_(near)
    results = []
    for x in (far, near):
        x = x.detach().requires_grad_()
        made = F.grid_sample(x, G, align_corners=False)
        made.sum().backward()
        results.append((made.detach(), x.grad))
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[0][1], results[1][1])
