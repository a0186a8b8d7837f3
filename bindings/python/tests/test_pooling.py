"""Pooling, compared with a loop over windows, element by element."""

import itertools
import math

import pytest

import libtensor as torch

F = torch.nn.functional
NAN, INF = math.nan, math.inf


def met(size, taps, stride, padding, dilation, i):
    """The elements of a dimension that window i meets."""
    return [at for at in (i * stride - padding + t * dilation for t in range(taps)) if 0 <= at < size]


def positions(size, taps, stride, padding, dilation, ceil):
    room = size + 2 * padding - dilation * (taps - 1) - 1
    n = (-(-room // stride) if ceil else room // stride) + 1
    return n - 1 if ceil and (n - 1) * stride >= size + padding else n


def walk(x, kernel, stride, padding, dilation, ceil):
    """Returns for each image its values, and for each window the row-major indices of its elements, and the number of elements with
    padding.
    """
    sizes = x.shape[2:]
    counts = [positions(*a, ceil) for a in zip(sizes, kernel, stride, padding, dilation, strict=True)]
    windows = []
    for at in itertools.product(*map(range, counts)):
        sides = [met(*a) for a in zip(sizes, kernel, stride, padding, dilation, at, strict=True)]
        places = [sum(i * math.prod(sizes[d + 1 :]) for d, i in enumerate(place)) for place in itertools.product(*sides)]
        padded = [min(i * s - p + k, size + p) - (i * s - p) for i, s, p, k, size in zip(at, stride, padding, kernel, sizes, strict=True)]
        windows.append((places, math.prod(padded)))
    return x.flatten(2).flatten(0, 1).tolist(), windows, [*x.shape[:2], *counts]


def largest(values, places):
    """The place of the first largest element, or of the last NaN."""
    best = places[0]
    for at in places:
        if values[at] > values[best] or values[at] != values[at]:
            best = at
    return best


CASES = [  # sizes, kernel, stride, padding, dilation, ceil: windows that fill registers, leave a rest, or are few
    ((2, 3, 40), (3,), (1,), (1,), (1,), False),
    ((2, 3, 75), (3,), (2,), (1,), (1,), True),
    ((1, 2, 50), (4,), (3,), (2,), (2,), False),
    ((2, 19, 7, 7), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((1, 33, 9, 40), (3, 3), (2, 2), (1, 1), (1, 1), True),
    ((1, 3, 9, 37), (3, 3), (1, 1), (1, 1), (1, 1), False),
    ((1, 2, 8, 21), (2, 4), (3, 5), (1, 2), (2, 1), True),
    ((1, 3, 4, 5, 36), (2, 2, 2), (2, 1, 2), (0, 1, 1), (1, 1, 1), False),
    ((1, 2, 3, 3, 3), (1, 3, 2), (1, 3, 1), (0, 1, 1), (1, 1, 2), True),
]


def layouts(x):
    """The same elements row-major, with channels last, and with gaps."""
    yield x
    if x.dim() > 3:
        yield x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
    yield torch.stack([x, x], -1)[..., 0]


def named(name, x):
    return getattr(F, name.replace("#", str(x.dim() - 2)))


@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "dilation", "ceil"), CASES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.uint8, torch.int64], ids=str)
def test_largest_elements(dtype, sizes, kernel, stride, padding, dilation, ceil):
    torch.manual_seed(0)
    x = torch.randint(0, 9, sizes).to(dtype)
    if dtype.is_floating_point:
        x = torch.where(torch.rand(sizes) < 0.1, torch.tensor(NAN), x - 4).to(dtype)
        x = torch.where(torch.rand(sizes) < 0.4, torch.tensor(-INF), x).to(dtype)
    images, windows, made = walk(x, kernel, stride, padding, dilation, ceil)
    places = torch.tensor([[largest(values, w) for w, _ in windows] for values in images]).reshape(made)
    wanted = x.flatten(2).gather(2, places.flatten(2)).reshape(made)
    for laid in layouts(x):
        values, indices = named("max_pool#d", x)(laid, kernel, stride, padding, dilation, ceil, return_indices=True)
        assert indices.equal(places)
        alone = named("max_pool#d", x)(laid, kernel, stride, padding, dilation, ceil)
        for found in (values, alone):
            assert found.dtype == dtype and found.nan_to_num().equal(wanted.nan_to_num())
            assert found.isnan().equal(wanted.isnan())


@pytest.mark.parametrize(
    ("sizes", "kernel", "stride", "padding", "dilation", "ceil"), [case for case in CASES if set(case[4]) == {1}], ids=str
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64], ids=str)
@pytest.mark.parametrize("include", [True, False])
def test_means(dtype, sizes, kernel, stride, padding, dilation, ceil, include):
    torch.manual_seed(0)
    x = torch.randint(-9, 9, sizes).to(dtype)
    images, windows, made = walk(x, kernel, stride, padding, dilation, ceil)
    sums = torch.tensor([[sum(values[at] for at in w) for w, _ in windows] for values in images], dtype=torch.float64)
    counts = torch.tensor([padded if include else len(w) for w, padded in windows], dtype=torch.float64)
    means, tolerance = (sums / counts).reshape(made), torch.finfo(dtype).eps if dtype.is_floating_point else 0
    for laid in layouts(x):
        found = named("avg_pool#d", x)(laid, kernel, stride, padding, ceil, include)
        assert found.dtype == dtype
        if dtype.is_floating_point:
            assert torch.allclose(found.double(), means, rtol=4 * tolerance, atol=4 * tolerance)
        else:
            assert found.equal(means.trunc().to(dtype))
    if x.dim() > 3 and dtype.is_floating_point:
        found = named("avg_pool#d", x)(x, kernel, stride, padding, ceil, include, -4).double()
        assert torch.allclose(found, (sums / -4).reshape(made), rtol=4 * tolerance, atol=4 * tolerance)


@pytest.mark.parametrize(("sizes", "wanted"), [((2, 3, 40), (7,)), ((2, 18, 9, 35), (4, 40)), ((1, 2, 3, 4, 5), (2, 4, 3))], ids=str)
def test_adaptive_windows(sizes, wanted):
    torch.manual_seed(0)
    x = torch.randn(sizes, dtype=torch.float64)
    bounds = [[(i * s // n, -(-(i + 1) * s // n)) for i in range(n)] for s, n in zip(sizes[2:], wanted, strict=True)]
    parts = [x[(..., *(slice(*b) for b in at))].flatten(2) for at in itertools.product(*bounds)]
    shape = [*sizes[:2], *wanted]
    for laid in layouts(x):
        means = named("adaptive_avg_pool#d", x)(laid, wanted)
        assert torch.allclose(means, torch.stack([part.mean(2) for part in parts], 2).reshape(shape))
        values, places = named("adaptive_max_pool#d", x)(laid, wanted, return_indices=True)
        assert values.equal(torch.stack([part.amax(2) for part in parts], 2).reshape(shape))
        assert x.flatten(2).gather(2, places.flatten(2)).reshape(shape).equal(values)
    kept = named("adaptive_avg_pool#d", x)(x, [None] * len(wanted))
    assert kept.equal(x)


@pytest.mark.parametrize("sizes", [(2, 3, 21), (1, 18, 5, 20), (1, 2, 3, 4, 5)], ids=str)
def test_gradients(sizes):
    torch.manual_seed(0)
    x = torch.randn(sizes, dtype=torch.float64)
    calls = [
        lambda t: named("max_pool#d", x)(t, 3, 2, 1),
        lambda t: named("max_pool#d", x)(t, 2, 1, 0, 1, True, True)[0],
        lambda t: named("avg_pool#d", x)(t, 3, 1, 1),
        lambda t: named("avg_pool#d", x)(t, 2, 2, 0, True),
        lambda t: named("avg_pool#d", x)(t, 3, 2, 1, True, False),
        lambda t: named("avg_pool#d", x)(t, 2, 3),
        lambda t: named("adaptive_avg_pool#d", x)(t, 2),
        lambda t: named("adaptive_avg_pool#d", x)(t, 7),
        lambda t: named("adaptive_max_pool#d", x)(t, 3),
        lambda t: named("lp_pool#d", x)(t.abs() + 1, 3, 2),
    ]
    for call in calls:
        for laid in layouts(x):
            t = laid.detach().requires_grad_()
            made = call(t)
            seed = torch.randn(made.shape, dtype=torch.float64).requires_grad_()
            (grad,) = torch.autograd.grad(made, t, seed, create_graph=True)
            nudge = torch.randn(sizes, dtype=torch.float64)
            moved = (call(x + 1e-6 * nudge) - call(x - 1e-6 * nudge)) / 2e-6
            assert torch.allclose((grad * nudge).sum(), (moved * seed).sum(), rtol=1e-6)
            (second,) = torch.autograd.grad((grad * nudge).sum(), seed)
            assert torch.allclose(second, moved, rtol=1e-5, atol=1e-7)


def test_same_bits_on_any_number_of_threads():
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    found = []
    for n in (1, 4):
        torch.set_num_threads(n)
        torch.manual_seed(1)
        for sizes in [(3, 5, 70, 61), (1, 200, 30, 31)]:
            for laid in layouts(torch.randn(sizes)):
                t = laid.requires_grad_()
                for call in (
                    lambda t: F.max_pool2d(t, 3, 2, 1),
                    lambda t: F.avg_pool2d(t, 3, 2, 1, False, False),
                    lambda t: F.adaptive_avg_pool2d(t, 7),
                ):
                    made = call(t)
                    found.append((n, made.detach(), *torch.autograd.grad(made, t, made.detach() * 0.3)))
    torch.set_num_threads(threads)
    half = len(found) // 2
    for (_, *one), (_, *other) in zip(found[:half], found[half:], strict=True):
        assert all(a.equal(b) for a, b in zip(one, other, strict=True))


def test_formats():
    x = torch.randn(2, 3, 8, 8)
    last = x.contiguous(memory_format=torch.channels_last)
    for call in (
        lambda t: F.max_pool2d(t, 2),
        lambda t: F.avg_pool2d(t, 2),
        lambda t: F.adaptive_avg_pool2d(t, 4),
        lambda t: F.adaptive_max_pool2d(t, 4),
    ):
        assert call(x).stride() == (48, 16, 4, 1) and call(last).stride() == (48, 1, 12, 3)
        assert call(last[0]).stride() == (16, 4, 1)
    volume = torch.randn(2, 3, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    assert F.max_pool3d(volume, 2).stride() == (24, 1, 12, 6, 3)
    assert F.avg_pool3d(volume, 2).stride() == (24, 8, 4, 2, 1)


def test_unpooling():
    x = torch.tensor([[[[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]]]])
    values, places = F.max_pool2d(x, (2, 1), return_indices=True)
    assert F.max_unpool2d(values, places, (2, 1)).tolist() == [[[[0, 5, 0], [7, 0, 4]]]]
    assert F.max_unpool2d(values, places, (2, 1), output_size=(1, 1, 3, 3)).shape == (1, 1, 3, 3)
    alone = F.max_unpool1d(torch.tensor([[3, 4]]), torch.tensor([[1, 1]]), 2)
    assert alone.tolist() == [[0, 4, 0, 0]] and alone.dtype == torch.int64
    t = values.clone().requires_grad_()
    (F.max_unpool2d(t, places, (2, 1)) * torch.arange(6.0).reshape(x.shape)).sum().backward()
    assert t.grad.tolist() == [[[[3, 1, 5]]]]
    with pytest.raises(RuntimeError, match="9.*size 6"):
        F.max_unpool2d(values, places + 6, (2, 1))
    with pytest.raises(RuntimeError, match=r"int64.*float32"):
        F.max_unpool2d(values, values, 2)
    with pytest.raises(ValueError, match=r"\[9, 9\]"):
        F.max_unpool2d(values, places, 2, output_size=(9, 9))


def test_windows_outside_of_the_image():
    """Kernel elements so far apart that all are in the padding."""
    x = torch.ones(1, 1, 2, 2, requires_grad=True)
    values, places = F.max_pool2d(x, 2, 1, 1, 3, return_indices=True)
    assert values.item() == -INF and places.item() == -1
    values.sum().backward()
    assert x.grad.count_nonzero() == 0
    assert F.max_pool1d(torch.ones(1, 2, dtype=torch.int32), 2, 1, 1, 3).item() == torch.iinfo(torch.int32).min


def test_indices_that_have_changed_are_not_followed():
    x = torch.zeros(1, 1, 4, requires_grad=True)
    values, places = F.max_pool1d(x, 2, return_indices=True)
    places.numpy()[...] = 1 << 40
    values.sum().backward()
    assert x.grad.count_nonzero() == 0


def test_norms():
    x = torch.tensor([[3.0, 4.0, -6.0, 8.0]])
    assert torch.allclose(F.lp_pool1d(x, 2, 2), torch.tensor([[5.0, 10.0]]))
    assert F.lp_pool1d(x, INF, 2).tolist() == [[4, 8]] and F.lp_pool1d(x, -INF, 2).tolist() == [[3, 6]]
    assert F.lp_pool1d(torch.tensor([[3, 4]]), 2, 2).item() == 5
    with pytest.raises(ValueError, match="norm_type"):
        F.lp_pool1d(x, 0, 2)


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        (lambda x: F.max_pool2d(x, 0), "kernel_size.*0"),
        (lambda x: F.max_pool2d(x, (2, 2, 2)), "kernel_size.*2, 2, 2"),
        (lambda x: F.max_pool2d(x, 2, 0), "stride.*0"),
        (lambda x: F.max_pool2d(x, 2, 1, -1), "padding.*-1"),
        (lambda x: F.max_pool2d(x, 2, 1, 2), "pad=2.*kernel_size=2"),
        (lambda x: F.max_pool2d(x, 2, 1, 0, 0), "dilation.*0"),
        (lambda x: F.max_pool2d(x, 9), r"4, 4.*kernel_size \[9, 9\]"),
        (lambda x: F.max_pool2d(x, 1 << 62, 1, 0, 1 << 62), "overflow a 64-bit integer"),
        (lambda x: F.max_pool2d(x[0, 0], 2), "3D or 4D.*4, 4"),
        (lambda x: F.max_pool2d(x[:, :0], 2), "3D or 4D.*1, 0, 4, 4"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=0), "divisor_override"),
        (lambda x: F.adaptive_avg_pool2d(x, (-1, 2)), "output_size.*-1, 2"),
        (lambda x: F.adaptive_max_pool2d(x, (1, 2, 3)), "output_size.*1, 2, 3"),
        (lambda x: F.max_pool2d(x.to(torch.complex64), 2), "complex64"),
        (lambda x: F.avg_pool2d(x.bool(), 2), "bool"),
    ],
)
def test_errors(call, facts):
    with pytest.raises(RuntimeError, match=facts):
        call(torch.ones(1, 1, 4, 4))


def test_shapes_without_elements_and_on_meta():
    for device in ("cpu", "meta"):
        x = torch.ones(2, 3, 9, 8, device=device)
        assert F.max_pool2d(x, 2, ceil_mode=True).shape == (2, 3, 5, 4)
        assert [t.shape for t in F.adaptive_max_pool2d(x, (None, 3), return_indices=True)] == [(2, 3, 9, 3)] * 2
        assert F.avg_pool2d(x[:0], 2).shape == (0, 3, 4, 4)
        assert F.adaptive_avg_pool2d(x, (0, 2)).shape == (2, 3, 0, 2)
    x = torch.ones(0, 3, 9, 8, requires_grad=True)
    (F.max_pool2d(x, 2).sum() + F.avg_pool2d(x, 2).sum()).backward()
    assert x.grad.shape == x.shape


def test_windows_of_any_length():
    """Windows far outside of the image take no time."""
    x = torch.ones(1, 1, 4, requires_grad=True)
    far = 1 << 40
    found = F.avg_pool1d(x, far, far - 1, far // 2, count_include_pad=False)
    found.sum().backward()
    assert found.flatten().tolist() == [1.0] and x.grad.flatten().tolist() == [0.25] * 4
    assert F.max_pool1d(x, far, 1 << 39, far // 2).tolist() == [[[1]]]


@pytest.mark.parametrize("power", [1.0, 2.0, 2.5, 3.0])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_nothing_goes_back_through_a_norm_of_zeros(dtype, power):
    x = torch.tensor([[0, 0, 3, 4, 0, 5]], dtype=dtype, requires_grad=True)
    y = F.lp_pool1d(x, power, 2)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert y[0, 0] == 0 and first[0, :2].tolist() == [0, 0] and first[0, 2] > 0
    (second,) = torch.autograd.grad(first[0, :4].sum(), x)
    assert second[0, :2].tolist() == [0, 0] and second[0, 2:4].isfinite().all()


def test_nothing_goes_back_through_a_norm_whose_powers_underflow():
    x = torch.full((1, 2), 1e-20, requires_grad=True)
    F.lp_pool1d(x, 2.5, 2).sum().backward()
    assert x.grad.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    "pool",
    [
        lambda x: F.max_pool1d(x, 2, return_indices=True),
        lambda x: (F.avg_pool1d(x, 2, padding=1), F.avg_pool1d(x, 3, 1, count_include_pad=False)),
        lambda x: (F.lp_pool1d(x, 2.0, 2),),
        lambda x: (F.adaptive_avg_pool1d(x, 3),),
        lambda x: F.adaptive_max_pool1d(x, 3, return_indices=True),
    ],
    ids=["max", "avg", "lp", "adaptive avg", "adaptive max"],
)
def test_signals_with_adjacent_channels_are_pooled_to_such(pool):
    x = torch.rand(2, 3, 8, dtype=torch.float64)
    lying = x.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
    x.requires_grad_()
    for expected, got in zip(pool(x), pool(lying), strict=True):
        assert got.equal(expected)
        assert got.stride() == (got.shape[1] * got.shape[2], 1, got.shape[1])
        if got.requires_grad:
            (expected**2).sum().backward()
            (got**2).sum().backward()
    torch.testing.assert_close(lying.grad, x.grad)


def test_norms_of_windows_have_the_layout_of_images():
    x = torch.rand(2, 3, 6, 8).to(memory_format=torch.channels_last)
    assert F.lp_pool2d(x, 2.0, 2).is_contiguous(memory_format=torch.channels_last)


def test_adaptive_pools_of_no_channels():
    for n, average in ((1, F.adaptive_avg_pool1d), (2, F.adaptive_avg_pool2d)):
        assert average(torch.ones(2, 0, *[4] * n), 2).shape == (2, 0, *[2] * n)
    for n, average, largest in (
        (1, F.adaptive_avg_pool1d, F.adaptive_max_pool1d),
        (2, F.adaptive_avg_pool2d, F.adaptive_max_pool2d),
        (3, F.adaptive_avg_pool3d, F.adaptive_max_pool3d),
    ):
        for pool in (average, largest):
            assert pool(torch.ones(0, *[4] * n), 2).shape == (0, *[2] * n)
        with pytest.raises(RuntimeError, match=r"\[2, 0"):
            largest(torch.ones(2, 0, *[4] * n), 2)
    assert F.interpolate(torch.ones(2, 0, 4, 4), size=(2, 2), mode="area").shape == (2, 0, 2, 2)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_means_of_windows_written_to_out(n):
    pool = [torch.nn.functional.avg_pool1d, torch.nn.functional.avg_pool2d, torch.nn.functional.avg_pool3d][n - 1]
    x = torch.rand(2, 3, *[6] * n)
    out = torch.empty(0)
    assert pool(x, 2, out=out) is out and torch.equal(out, pool(x, 2))
    with pytest.raises(RuntimeError, match="dtype"):
        pool(x, 2, out=torch.empty(0, dtype=torch.float64))
