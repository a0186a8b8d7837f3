"""Reductions: rows are shared between threads, and long ones between blocks. On both sides of where cuda/reduce.go changes how, which
depends on the number of outputs too; of rows along memory, across it and apart."""

import pytest
from operands import check, moved, same

import libtensor as torch

SHAPES = [
    *((1, n) for n in (1, 15, 16, 17, 4096, 4097, 32768, 32769, 70001)),
    *((7, n) for n in (2, 4097, 32769)),
    *((8, n) for n in (16, 17, 512, 513, 4096, 4097, 5000)),
    *((1023, n) for n in (1, 33)),
    *((1024, n) for n in (1, 16, 129, 1024, 1025)),
    (3000, 5),
]
EXACT = {
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.double().mean(1),
    "prod": lambda x: (1 - 2 * (x > 0).to(x.dtype)).prod(1),
    "max": lambda x: tuple(x.max(1)),
    "argmin": lambda x: x.argmin(1),
    "aminmax": lambda x: tuple(x.aminmax(dim=1)),
    "any": lambda x: (x > 1).any(1),
    "all": lambda x: (x < 2).all(1),
    "count_nonzero": lambda x: x.count_nonzero(1),
}
BOUNDED = {
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "nansum": lambda x: x.nansum(1),
    "var": lambda x: x.var(1, unbiased=False),
    "std_mean": lambda x: torch.std_mean(x, 1, unbiased=False),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "norm 3": lambda x: torch.linalg.vector_norm(x, 3, dim=1),
}


def layouts(x):
    """The same rows along memory, across it, and apart."""
    return x, x.t().contiguous().t(), torch.stack([x, x], 2)[:, :, 1]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_without_rounding(shape, dtype):
    """Of equal elements, of which there are many, the first counts."""
    g = torch.Generator().manual_seed(sum(shape))
    for x in layouts(torch.randint(0, 3, shape, generator=g).to(dtype)):
        for f in EXACT.values():
            check(f, x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("shape", [(1, 70001), (8, 513), (8, 5000), (1024, 129), (1024, 1025)], ids=str)
def test_order_is_of_the_shape(shape, dtype):
    """Results that are rounded are within bounds, and the same to the last bit for each layout and each time."""
    g = torch.Generator().manual_seed(sum(shape))
    whole = torch.randn(*shape, dtype=torch.complex128 if dtype.is_complex else torch.float64, generator=g)
    bound = 1e-3 if dtype == torch.float16 else 1e-12 if dtype == torch.complex128 else 1e-5
    for name, f in BOUNDED.items():
        if dtype.is_complex and name == "nansum":
            continue
        x = whole.to(dtype)
        first = f(x.cuda())
        for here, there in zip(*((y if isinstance(y, tuple) else (y,)) for y in (f(x), first)), strict=True):
            assert torch.allclose(here, there.cpu(), bound, bound * shape[1] ** 0.5), name
        for y in layouts(x):
            for _ in range(2):
                again = f(moved(y))
                pairs = zip(again, first, strict=True) if isinstance(first, tuple) else [(again, first)]
                assert all(torch.equal(a, b) for a, b in pairs), (name, y.stride())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("n", [20, 5000, 40000])
def test_nan_and_its_place(n, dtype):
    for places in ([n - 1], [n // 2, n - 3], [0, n - 1], [17, 18]):
        x = torch.arange(n, dtype=dtype) % 7
        x[places] = float("nan")
        for f in (torch.argmax, torch.argmin):
            assert f(x.cuda()).item() == places[0]
        assert x.cuda().amax().isnan().item() and x.cuda().nansum().item() == x.nansum().item()


@pytest.mark.parametrize("sizes", [(3, 40, 5, 70), (2, 300, 3, 200), (9, 2, 1000, 2)], ids=str)
def test_dimensions_apart(sizes):
    """Elements of a row in two dimensions of memory, in each dtype that is converted on the way."""
    x = torch.randint(0, 5, sizes, generator=torch.Generator().manual_seed(1))
    for dtype in (torch.bool, torch.int16, torch.float16, torch.float32):
        for dims in ((0, 2), (1, 3), (1,), (0, 1, 3), (0, 1, 2, 3)):
            check(
                lambda x, dims=dims: (x.sum(dims), x.sum(dims, dtype=torch.float64), x.amax(dims), x.transpose(1, 2).amin(dims)),
                x.to(dtype),
            )


def test_launches(simulation):
    """A long row takes two launches, with a conversion or any layout of its elements; others take one."""
    long, rows = torch.ones(1 << 20).cuda(), torch.ones(8, 5000).cuda()
    for f, launches in (
        (lambda: long.sum(), 2),
        (lambda: long[::2].sum(), 2),
        (lambda: long.half().sum(), 3),
        (lambda: long.int().sum(), 3),
        (lambda: long.mean(), 2),
        (lambda: rows.sum(1), 2),
        (lambda: rows.t().sum(0), 2),
        (lambda: rows.sum(0), 1),
    ):
        before = simulation.calls("cuLaunchKernel")
        f()
        assert simulation.calls("cuLaunchKernel") - before == launches


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,)], ids=str)
def test_without_elements(shape):
    assert same(torch.zeros(shape).sum(0), torch.zeros(shape, device="cuda").sum(0))
    assert same(torch.zeros(shape).prod(), torch.zeros(shape, device="cuda").prod())
