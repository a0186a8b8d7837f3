"""Reads and writes at indices on the device, beside the CPU: what several sources do to one place comes in the order of the index."""

import functools

import pytest
from operands import DTYPES, FLOATS, INTEGERS, ORDERED, check, moved, same, values

import libtensor as torch

NUMBERS = [d for d in DTYPES if d != torch.complex32]


def index(n, *size, seed=2):
    return torch.randint(0, n, size, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_sources_that_are_added(dtype):
    x, i = values(dtype, 5, 9, 4), index(9, 5, 30, 3)
    source = values(dtype, 5, 30, 4, seed=3)
    for dim in range(3):
        where, from_ = i.movedim(1, dim) % min(x.shape[dim], 4), source.movedim(1, dim)
        where = where[: x.shape[0] if dim else None, : x.shape[1] if dim != 1 else None, : x.shape[2] if dim != 2 else None]
        check(lambda x, i, s, d=dim: x.scatter_add(d, i, s), x, where, from_)
        line = index(x.shape[dim], 50)
        big = values(dtype, *(50 if d == dim else n for d, n in enumerate(x.shape)), seed=4)
        check(lambda x, i, s, d=dim: x.index_add(d, i, s), x, line, big)
        check(lambda x, i, s, d=dim: x.clone().index_add_(d, i, s, alpha=2), x, line, big) if dtype != torch.bool else None
    check(lambda x, i, s: x.clone().t().index_put_((i, i % 5), s, accumulate=True), x[:, :, 1], index(9, 40), values(dtype, 40, seed=5))
    check(lambda x, i, s: x.clone().put_(i, s, accumulate=True), x, index(180, 7, 8), values(dtype, 56, seed=5).view(7, 8))


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_sources_that_are_reduced(dtype, reduce):
    if dtype == torch.bool and reduce == "mean":
        return
    x, i, source = values(dtype, 6, 10), index(6, 40, 10), values(dtype, 40, 10, seed=3)
    for own in (False, True):
        check(lambda x, i, s, o=own: x.scatter_reduce(0, i, s, reduce, include_self=o), x, i, source)
        if reduce != "sum":
            check(lambda x, i, s, o=own: x.index_reduce(0, i, s, reduce, include_self=o), x, i[:, 0], source)
    check(lambda x, i, s: x.t().scatter_reduce(1, i, s, reduce), x, i.t(), source.t())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_last_of_several_writes_stays(dtype):
    x, source = values(dtype, 7, 8), values(dtype, 100, 8, seed=3)
    many = index(7, 100)
    check(lambda x, i, s: x.index_copy(0, i, s), x, many, source)
    check(lambda x, i, s: x.clone().index_put_((i,), s), x, many, source)
    check(lambda x, i, s: x.scatter(0, i, s), x, index(7, 100, 8), source)
    check(lambda x, i, s: x.t().scatter(1, i, s), x, index(7, 100, 8).t(), source.t())
    check(lambda x, i, s: x.clone().put_(i, s), x, index(56, 100), source[:, 0])


@pytest.mark.parametrize("n", [1, 15, 16, 17, 4096, 4097, 70_000, (1 << 17) + 1])
def test_indices_of_every_length(n):
    x, i, source = torch.zeros(1000), index(1000, n), torch.rand(n, generator=torch.Generator().manual_seed(6))
    check(lambda x, i, s: x.index_add(0, i, s), x, i, source)
    check(lambda x, i, s: x.index_copy(0, i, s), x, i, source)
    check(lambda x, i, s: x.index_add(0, i * 0, s), x, i, source)


def test_scalars_and_nothing():
    for size in ((), (0,), (3, 0)):
        x = torch.ones(size)
        dim, i = 0, torch.zeros(size, dtype=torch.int64)
        check(lambda x, i: x.scatter_add(dim, i, x), x, i)
    check(lambda x, i: x.index_add(0, i, x), torch.ones(3, 0), torch.tensor([2, 2, 2]))


def test_gradients_of_indexing():
    def gradients(x, i, mask):
        x = x.clone().requires_grad_()
        loss = (
            x[i].exp().sum()
            + x.gather(0, i.view(-1, 1) % 3).sum()
            + x.index_select(1, i % 2).sin().sum()
            + x[mask].pow(2).sum()
            + x.sort(0).values[1].sum()
        )
        loss = (
            loss + x.take(i).sum() + x.median() + x.masked_select(mask).prod() + x.topk(2, 0).values.sum() + x.cumsum(0).max(0).values.sum()
        )
        loss.backward()
        return x.grad

    x = torch.rand(4, 3, generator=torch.Generator().manual_seed(1))
    there = gradients(moved(x), index(3, 20).cuda(), (x > 0.5).cuda())
    assert there.device.type == "cuda" and torch.allclose(there.cpu(), gradients(x, index(3, 20), x > 0.5), rtol=1e-5)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_counts(dtype):
    for n in (0, 1, 300, 70_000):
        x = values(dtype, n).abs() if dtype != torch.uint8 else values(dtype, n)
        check(lambda x: x.bincount(), x)
        check(lambda x: x.bincount(minlength=20), x)
        for weight in (torch.float32, torch.float64, torch.int32):
            check(lambda x, w: x.bincount(w), x, values(weight, n).nan_to_num(1, 2, 3))
    check(lambda x: x[::2].bincount(), values(torch.int64, 50).abs())
    with pytest.raises(RuntimeError, match="bincount: only supports 1-d non-negative integral inputs, got the element -1"):
        torch.tensor([1, -1]).cuda().bincount()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_histograms(dtype):
    x = values(dtype, 3000).nan_to_num(1, 2, 3) + torch.rand(3000, generator=torch.Generator().manual_seed(7)).to(dtype)
    check(lambda x: x.histc(17), x)
    check(lambda x: x.view(3, -1).t().histc(5, -2, 4), x)
    if dtype in (torch.float32, torch.float64):
        weight = torch.rand(3000, generator=torch.Generator().manual_seed(8), dtype=dtype)
        check(lambda x, w: list(torch.histogram(x, 9, weight=w)), x, weight)
        check(lambda x, e: list(torch.histogram(x, e, density=True)), x, torch.tensor([-3, -1, 0.5, 7], dtype=dtype))
        check(lambda x, w: torch.histogramdd(x.view(-1, 3), [4, 3, 2], weight=w[:1000]).hist, x, weight)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in (torch.bool, torch.complex32)], ids=str)
def test_products_of_vectors(dtype):
    a, b = values(dtype, 601), values(dtype, 601, seed=2)
    if dtype in FLOATS:
        a, b = a.nan_to_num(1, 2, 3), b.nan_to_num(1, 2, 3)
    check(torch.dot, a, b)
    check(lambda a, b: a[::3] @ b[400:601], a, b)
    check(torch.dot, a[:0], b[:0])
    check(torch.vdot, a, b)
    check(lambda a, b: torch.dot(a, b, out=torch.empty((), dtype=a.dtype, device=a.device)), a, b)


def test_distances():
    a, b = (
        torch.rand(2, 7, 20, generator=torch.Generator().manual_seed(1)),
        torch.rand(2, 5, 20, generator=torch.Generator().manual_seed(2)),
    )
    for p in (0.0, 1.0, 2.0, 3.5, float("inf")):
        for x, y in ((a, b), (a.double(), b.double()), (a[:, :, ::2], b[:, :, ::2]), (a[..., :0], b[..., :0])):
            here, there = torch.cdist(x, y, p), torch.cdist(moved(x), moved(y), p)
            assert there.is_cuda and torch.allclose(here, there.cpu(), 1e-6, 1e-6), p
            assert torch.allclose(torch.pdist(x[0], p), torch.pdist(moved(x)[0], p).cpu(), 1e-6, 1e-6), p
    assert same(torch.pdist(a[0, :1]), torch.pdist(a[0, :1].cuda()))


def test_results_do_not_depend_on_when_work_is_done(simulation):
    x, i = torch.rand(400, generator=torch.Generator().manual_seed(3)), index(50, 400)

    def program(x, i):
        y = torch.zeros(50, device=x.device).index_add_(0, i, x)
        z = y.sort(descending=True)
        y[z.indices[:7]] = 0.5
        return y, z.values, x[x > 0.5], i.unique(return_counts=True), y.topk(5), i.bincount()

    expected = program(x, i)
    there = x.cuda(), i.cuda()
    for seed in range(1000):
        simulation.seed(seed)
        assert same(expected, program(*there)), seed


def writes_of_halves(x, index, source):
    """Sums and products at indices, with their launches: they are accumulated in float32 without copies."""
    return [
        (lambda: x.scatter_add_(0, index, source), 3),
        (lambda: x.scatter_add(0, index, source), 4),
        (lambda: x.index_add_(0, index, source), 3),
        (lambda: x.index_add(0, index, source), 4),
        (lambda: x.index_reduce_(0, index, source, "prod"), 3),
        (lambda: x.scatter_reduce_(0, index, source, "sum"), 3),
        (lambda: x.index_put_((index,), source, accumulate=True), 3),
        (lambda: x.put_(index, source, accumulate=True), 3),
    ]


def reduced(x, index, source, name, include_self):
    return x.scatter_reduce(0, index[:, None].expand(-1, source.shape[1]), source, name, include_self=include_self)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex32], ids=str)
def test_sums_of_halves_are_rounded_once(dtype):
    """Each source alone would be rounded away; results are those of the CPU, with any strides of the tensor and the source."""
    x, i = torch.full((6, 40), 64, dtype=torch.float32).to(dtype), torch.arange(600) % 5
    source = torch.full((600, 40), 2**-7, dtype=torch.float32).to(dtype)
    assert (x.cuda().index_add(0, i.cuda(), source.cuda()).cpu()[0].abs() > 64.5).all()
    for f in (
        lambda x, i, y: x.index_add(0, i, y),
        lambda x, i, y: x.t().index_add(1, i, y.t()),
        lambda x, i, y: x.clone()[:, ::2].index_add_(0, i, y[:, 1::2]),
        lambda x, i, y: x.scatter_add(0, i[:, None].expand(-1, 40), y),
        lambda x, i, y: x.index_put((i,), y[0], accumulate=True),
        lambda x, i, y: x.put(i * 7, y[:, 3], accumulate=True),
    ):
        check(f, x, i, source)
    if dtype != torch.complex32:
        for name in ("sum", "prod", "mean", "amax", "amin"):
            for include_self in (True, False):
                f = functools.partial(reduced, name=name, include_self=include_self)
                check(f, x, i, source * 150)


def test_launches(simulation):
    """An index is checked by the launch that uses or sorts it. No call waits."""
    x, index, source = torch.randn(100, 8).cuda(), torch.arange(90).cuda(), torch.randn(90, 8).cuda()
    each = index.unsqueeze(1).expand(-1, 8)
    wide, long, ones = torch.zeros(9).cuda(), (torch.arange(1 << 17) % 9).cuda(), torch.ones(1 << 17).cuda()
    halves = [f for dtype in (torch.float16, torch.bfloat16) for f in writes_of_halves(wide.to(dtype), long, ones.to(dtype))]
    for f, launches in (
        (lambda: x[index], 1),
        (lambda: x.index_select(0, index), 1),
        (lambda: x.gather(0, each), 1),
        (lambda: x.take(index), 1),
        (lambda: torch.nn.functional.embedding(index, x), 1),
        (lambda: x.index_add(0, index, source), 3),
        (lambda: x.scatter_add(0, each, source), 3),
        (lambda: wide.scatter_add(0, long, ones), 4),
        (lambda: wide.scatter_add_(0, long, ones), 3),
        (lambda: wide.index_add(0, long, ones), 4),
        *halves,
    ):
        f()
        before = [simulation.calls(name) for name in ("cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyDtoHAsync_v2")]
        f()
        after = [simulation.calls(name) for name in ("cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyDtoHAsync_v2")]
        assert [b - a for a, b in zip(before, after, strict=True)] == [launches, 0, 0]
