"""Sorting, selection, search and groups on the device, beside the CPU."""

import pytest
from operands import DTYPES, FLOATS, ORDERED, check, layouts, moved, same, values

import libtensor as torch

KINDS = list(layouts(torch.zeros(2, 3, 4)))


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_sorting_of_every_layout(dtype, kind):
    x = layouts(values(dtype, 4, 7, 20))[kind]
    for dim in range(max(x.dim(), 1)):
        for descending in (False, True):
            check(lambda x, d=dim, down=descending: x.sort(dim=d, descending=down, stable=True), x)
        check(lambda x, d=dim: x.argsort(d), x)
        check(lambda x, d=dim: x.mode(d), x) if x.numel() else None
        if x.numel() and dtype != torch.bool:
            n = x.shape[dim] if x.dim() else 1
            check(lambda x, d=dim: x.kthvalue((n + 1) // 2, d), x)
            check(lambda x, d=dim: x.median(d), x)
            check(lambda x, d=dim: x.nanmedian(d), x)
            for largest in (False, True):
                check(lambda x, d=dim, up=largest: x.topk((n + 1) // 2, d, up), x)
    check(lambda x: x.msort(), x) if x.dim() else None
    check(lambda x: x.unique(return_inverse=True, return_counts=True), x)
    check(lambda x: x.unique(), x)
    check(lambda x: x.unique_consecutive(return_inverse=True, return_counts=True), x)
    if x.dim() > 1 and x.numel():
        check(lambda x: x.unique_consecutive(dim=0, return_inverse=True), x)


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
@pytest.mark.parametrize("n", [15, 16, 17, 1000, 70_000])
def test_sorting_of_every_length(dtype, n):
    x = values(dtype, n, high=100)
    check(lambda x: x.sort(stable=True), x)
    check(lambda x: x.sort(stable=True, descending=True), x)
    check(lambda x: x.unique(return_inverse=True, return_counts=True), x)


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
@pytest.mark.parametrize("n", [64, 65, 300, 4097])
def test_selection_on_both_sides_of_the_length_that_a_thread_selects_from(dtype, n):
    x = values(dtype, 3, n, high=100)
    functions = [lambda x: x.mode(1, True)]
    if dtype != torch.bool:
        functions += [lambda x: x.median(1, True), lambda x: x.nanmedian(1, True), lambda x: x.kthvalue(n // 3, 1, True)]
        functions += [lambda x: x.topk(17), lambda x: x.topk(n // 2, 1, False)]
    for k, f in enumerate(functions):
        here, there = f(x), f(moved(x))
        if n <= 64:
            assert same(here, there), k
        # Of equal elements, 0 and -0 among them, others may be taken.
        assert torch.equal(there[0].nan_to_num(7), moved(x).gather(1, there[1]).nan_to_num(7)), k
        assert torch.equal(there[0].cpu().nan_to_num(7), here[0].nan_to_num(7)), k


# Lines that a block of threads selects from, one after the other; a single line that is sorted; more elements than a block collects.
@pytest.mark.parametrize(("lines", "n", "keep"), [(3, 100, 100), (2, 5000, 1024), (2, 1500, 1025), (1, 70_000, 20), (65, 66_000, 3)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int8, torch.int64, torch.uint32], ids=str)
def test_selection_in_long_lines_is_the_beginning_of_a_stable_sort(dtype, lines, n, keep):
    if lines * n > 1_000_000 and dtype != torch.float16:
        pytest.skip("one dtype is enough for many long lines")
    x = values(dtype, lines, n, high=100).cuda()
    for largest in (False, True):
        ordered = x.sort(dim=1, descending=largest, stable=True)
        for is_sorted in (False, True):
            found = x.topk(keep, 1, largest, is_sorted)
            assert torch.equal(found.indices.sort().values, ordered.indices[:, :keep].sort().values)
            assert not is_sorted or torch.equal(found.indices, ordered.indices[:, :keep])
            assert torch.equal(found.values.nan_to_num(7), x.gather(1, found.indices).nan_to_num(7))
    ordered = x.sort(dim=1, stable=True).indices
    assert torch.equal(x.kthvalue(keep).indices, ordered[:, keep - 1])
    if dtype.is_floating_point:
        numbers = (~x.isnan()).sum(1, keepdim=True)
        middle = (numbers - 1) // 2
        rank = torch.where(numbers < n, numbers, middle)  # of the first NaN, if there is one
        assert torch.equal(x.median(1).indices, ordered.gather(1, rank)[:, 0])
        assert torch.equal(x.nanmedian(1).indices, ordered.gather(1, middle)[:, 0])
    else:
        assert torch.equal(x.median(1).indices, ordered[:, (n - 1) // 2])


def test_a_median_is_the_first_nan():
    for n in (10, 5000):
        x = torch.arange(float(n)).cuda()
        x[n // 2], x[n - 1] = float("nan"), float("nan")
        value, at = x.median(0)
        assert value.isnan().item() and at.item() == n // 2
        assert x.nanmedian().item() == (n - 3) // 2
        assert torch.full((n,), float("nan")).cuda().nanmedian(0).indices.item() == 0


def test_the_mode_of_many_groups():
    x = torch.arange(100_000) // 3
    x[50_000:50_900] = 7
    y = x.cuda().mode()
    assert y.values.item() == 7 == x[y.indices.item()].item()


def test_results_may_be_the_operand_and_any_out():
    x = values(torch.float32, 40, 30)
    for dim in (0, 1):
        a, b = x.clone(), moved(x)
        indices = torch.empty(0, dtype=torch.int64)
        torch.sort(a, dim, out=(a, indices))
        torch.sort(b, dim, out=(b, indices := indices.cuda()))
        assert same(a, b)
        a, b = torch.empty(30, 40).t(), torch.empty(30, 40).cuda().t()
        i, j = torch.empty(30, 40, dtype=torch.int64).t(), torch.empty(30, 40, dtype=torch.int64).cuda().t()
        assert same(torch.sort(x, dim, out=(a, i)), torch.sort(moved(x), dim, out=(b, j)))


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
def test_search(dtype):
    keys, wanted = values(dtype, 3, 50, high=40).sort(1).values, values(dtype, 3, 70, high=40, seed=5)
    unsorted = values(dtype, 50, high=40)
    for right in (False, True):
        check(lambda k, v, r=right: torch.searchsorted(k, v, right=r), keys, wanted)
        check(lambda k, v, r=right: torch.bucketize(v, k, right=r), keys[1], wanted.t())
        check(lambda k, v, r=right: torch.searchsorted(k, v, right=r), unsorted, wanted[0])
        check(lambda k, v, o, r=right: torch.searchsorted(k, v, right=r, sorter=o), unsorted, wanted[0], unsorted.argsort(stable=True))
    if dtype != torch.bool:
        check(torch.isin, wanted.t(), unsorted)
        check(torch.isin, wanted[:0], unsorted)
        check(lambda a, b: torch.isin(a, b, invert=True), wanted, unsorted[:3])


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
def test_groups_of_rows(dtype):
    x = torch.nan_to_num(values(dtype, 300, 4, 2, high=2), 1) if dtype in FLOATS else values(dtype, 300, 4, 2, high=2)
    for dim in range(3):
        check(lambda x, d=dim: x.unique(dim=d, return_inverse=True, return_counts=True), x)
        check(lambda x, d=dim: x.unique_consecutive(dim=d, return_inverse=True, return_counts=True), x)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_masks(dtype, kind):
    x = layouts(values(dtype, 4, 7, 20, high=2))[kind]
    for f in (torch.nonzero, torch.argwhere, lambda x: list(x.nonzero(as_tuple=True))):
        check(f, x)
    mask = values(torch.bool, *x.shape, high=2, seed=3)
    check(lambda x, m: x.masked_select(m), x, mask)
    check(lambda x, m: x[m], x, mask)
    source = values(dtype, max(x.numel(), 1), seed=4)
    check(lambda x, m, s: x.masked_scatter(m, s), x, mask, source)
    check(lambda x, m, s: x.clone().masked_scatter_(m, s), x, mask, source)
    if x.dim():
        check(lambda x, m: x.clone().index_put_((m,), x[m]), x, mask)


@pytest.mark.parametrize("n", [127, 128, 129, 16_384, 16_385, 100_000])
def test_masks_of_every_length(n):
    x = torch.arange(n)
    for mask in (x % 3 == 1, x >= 0, x < 0, x == n - 1):
        check(lambda m: m.nonzero(), mask)
        check(lambda x, m: x[m], x, mask)
    with pytest.raises(RuntimeError, match="masked_scatter"):
        x.cuda().masked_scatter_((x >= 0).cuda(), x[:-1].cuda())


def test_coordinates():
    at = torch.arange(120).flip(0)
    check(lambda a: list(torch.unravel_index(a, (4, 5, 6))), at)
    check(lambda a: list(torch.unravel_index(a, ())), at[-1:])


def test_quantiles():
    x = torch.rand(7, 500, generator=torch.Generator().manual_seed(3))
    q = torch.tensor([0.0, 0.3, 0.99])
    check(lambda x, q: x.quantile(q, 1), x, q)
    check(lambda x, q: x.nanquantile(q, 0, interpolation="nearest"), x, q)


def test_numbers_are_looked_for():
    t = torch.tensor([1.0, 2.0, 3.0])
    for number in (2.0, torch.tensor(2.0)):
        assert torch.isin(t.cuda(), number).cpu().tolist() == [False, True, False]
        assert torch.isin(t.cuda(), number, invert=True).cpu().tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("dim", [0, 1])
def test_distinct_rows_with_nan(dtype, dim):
    """NaN equals what it is compared to, so that the result depends on the way of sorting: it is the CPU's."""
    for size in ((5, 2), (40, 3), (300, 2), (1000, 1)):
        g = torch.Generator().manual_seed(size[0])
        x = torch.randint(0, 4, size, generator=g).to(dtype)
        x[torch.rand(size, generator=g) < 0.1] = float("nan")
        x = x.movedim(0, dim)
        check(lambda x: x.unique(dim=dim, return_inverse=True, return_counts=True), x)
