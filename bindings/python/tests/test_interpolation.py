"""interpolate, compared with explicit weights, sums over all elements, and known properties of each mode."""

import itertools
import math

import pytest

import libtensor as torch

F = torch.nn.functional
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
MODES = {
    "nearest": (1, 2, 3),
    "nearest-exact": (1, 2, 3),
    "area": (1, 2, 3),
    "linear": (1,),
    "bilinear": (2,),
    "bicubic": (2,),
    "trilinear": (3,),
}


def line(n, m, mode, align=False, scale=None):
    """The weights (m, n) of a dimension: a row for each of m elements that are made of n."""
    per = (n - 1) / max(m - 1, 1) if align else n / m if scale is None else 1 / scale
    rows = []
    for i in range(m):
        row = [0.0] * n
        at = per * i if align else per * (i + 0.5) - 0.5
        if mode == "nearest":
            taps = [(math.floor(i * per), 1.0)]
        elif mode == "nearest-exact":
            taps = [(math.floor((i + 0.5) * per), 1.0)]
        elif mode == "cubic":
            first = math.floor(at)
            t = at - first
            near = [1.25 * x**3 - 2.25 * x**2 + 1 for x in (t, 1 - t)]
            far = [-0.75 * x**3 + 3.75 * x**2 - 6 * x + 3 for x in (1 + t, 2 - t)]
            taps = list(zip(range(first - 1, first + 3), (far[0], *near, far[1]), strict=True))
        else:
            at = max(at, 0.0)
            first = min(math.floor(at), n - 1)
            taps = [(first, 1 - (at - first)), (first + 1, at - first)]
        for k, weight in taps:
            row[min(max(k, 0), n - 1)] += weight
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)


def smooth(n, m, function, reach):
    """The weights (m, n) with antialias."""
    per = n / m
    wide = max(per, 1.0)
    rows = []
    for i in range(m):
        centre = per * (i + 0.5)
        first, last = max(int(centre - reach * wide + 0.5), 0), min(int(centre + reach * wide + 0.5), n)
        row = [function((k - centre + 0.5) / wide) if first <= k < last else 0.0 for k in range(n)]
        rows.append([w / sum(row) for w in row])
    return torch.tensor(rows, dtype=torch.float64)


def applied(x, tables):
    """x with a table for each of the dimensions behind those of examples and channels."""
    for d, table in enumerate(tables, 2):
        x = (x.movedim(d, -1) @ table.T).movedim(-1, d)
    return x


def layouts(x):
    """Yields the same tensor in different memory layouts."""
    yield x
    yield x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if x.dim() > 3:
        yield x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "cubic"])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("channels", [1, 3, 9, 35])
def test_weights(n, mode, align, channels):
    if (mode == "cubic" and n != 2) or (align and "nearest" in mode):
        pytest.skip("is not there")
    name = {"linear": ("linear", "bilinear", "trilinear")[n - 1], "cubic": "bicubic"}.get(mode, mode)
    torch.manual_seed(0)
    for sizes, wanted in [((5, 4, 23), (9, 3, 37)), ((2, 6, 41), (3, 11, 19)), ((1, 3, 7), (4, 1, 7))]:
        x = torch.randn(2, channels, *sizes[-n:], dtype=torch.float64)
        expected = applied(x, [line(a, b, mode, align) for a, b in zip(sizes[-n:], wanted[-n:], strict=True)])
        for laid in layouts(x):
            for dtype, near in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
                found = F.interpolate(laid.to(dtype), wanted[-n:], mode=name, align_corners=align or None)
                torch.testing.assert_close(found.double(), expected, rtol=near, atol=near, check_stride=False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_16_bit_floats_are_computed_in_float32(dtype, mode):
    torch.manual_seed(0)
    for n in MODES[mode]:
        x = torch.randn(2, 3, *(6, 5, 19)[-n:]).to(dtype)
        for laid in layouts(x):
            found, wide = (F.interpolate(t, scale_factor=1.7, mode=mode) for t in (laid, laid.float()))
            assert found.dtype == dtype
            torch.testing.assert_close(found.float(), wide, rtol=0.01, atol=0.02 if dtype == torch.bfloat16 else 0.002)


@pytest.mark.parametrize(
    ("mode", "function", "reach"),
    [
        ("bilinear", lambda x: max(1 - abs(x), 0), 1),
        ("bicubic", lambda x: 1.5 * abs(x) ** 3 - 2.5 * x * x + 1 if abs(x) < 1 else max(2 - abs(x), 0) ** 2 * (1 - abs(x)) / 2, 2),
        (
            "lanczos",
            lambda x: 1.0 if x == 0 else 3 * math.sin(math.pi * x) * math.sin(math.pi * x / 3) / (math.pi * x) ** 2 if abs(x) < 3 else 0.0,
            3,
        ),
    ],
    ids=["bilinear", "bicubic", "lanczos"],
)
def test_antialias(mode, function, reach):
    torch.manual_seed(0)
    for sizes, wanted in [((13, 40), (5, 9)), ((7, 20), (11, 33)), ((9, 33), (9, 5))]:
        x = torch.randn(2, 3, *sizes, dtype=torch.float64)
        expected = applied(
            x, [smooth(a, b, function, reach) if a != b else torch.eye(a, dtype=torch.float64) for a, b in zip(sizes, wanted, strict=True)]
        )
        for laid in layouts(x):
            for dtype, near in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
                found = F.interpolate(laid.to(dtype), wanted, mode=mode, antialias=True)
                torch.testing.assert_close(found.double(), expected, rtol=near, atol=near, check_stride=False)


@pytest.mark.parametrize(
    ("mode", "antialias"),
    [("nearest", False), ("nearest-exact", False), ("bilinear", False), ("bicubic", False), ("bilinear", True), ("bicubic", True)],
)
def test_bytes(mode, antialias):
    torch.manual_seed(0)
    x = torch.randint(0, 256, (2, 3, 21, 40), dtype=torch.uint8)
    for laid, wanted in itertools.product(layouts(x), [(33, 9), (5, 77), (21, 40)]):
        found = F.interpolate(laid, wanted, mode=mode, antialias=antialias)
        wide = x.double()  # rows are rounded, and then columns
        for sizes in ((21, wanted[1]), wanted):
            wide = F.interpolate(wide, sizes, mode=mode, antialias=antialias).clamp(0, 255)
            wide = wide if "nearest" in mode or wanted == (21, 40) else (wide + 0.5).floor()
        assert found.dtype == torch.uint8
        assert (found.double() - wide).abs().max().item() <= (0 if "nearest" in mode or wanted == (21, 40) else 1)
    assert F.interpolate(torch.tensor([[[[0, 255]]]], dtype=torch.uint8), (1, 5), mode="bilinear").tolist() == [[[[0, 25, 128, 230, 255]]]]
    assert F.interpolate(torch.tensor([[[[0, 255, 255, 0]]]], dtype=torch.uint8), (1, 8), mode="bicubic").tolist() == [
        [[[0, 58, 197, 255, 255, 197, 58, 0]]]
    ]


def test_sizes_and_scales():
    x = torch.arange(5.0).reshape(1, 1, 5)
    assert F.interpolate(x, scale_factor=1.5).shape == (1, 1, 7)
    kept = F.interpolate(x, scale_factor=1.5, mode="linear")  # positions have a distance of 1 / 1.5, not 5 / 7
    torch.testing.assert_close(kept.double(), applied(x.double(), [line(5, 7, "linear", scale=1.5)]), rtol=1e-5, atol=1e-5)
    anew = F.interpolate(x, scale_factor=[1.5], mode="linear", recompute_scale_factor=True)
    torch.testing.assert_close(anew, F.interpolate(x, 7, mode="linear"))
    assert not anew.equal(kept)
    assert F.interpolate(torch.ones(1, 1, 2, 3), scale_factor=(2, 3)).shape == (1, 1, 4, 9)
    assert F.interpolate(torch.ones(0, 2, 3, 3), 5, mode="bilinear").shape == (0, 2, 5, 5)
    assert F.interpolate(torch.ones(2, 2, 3, 3, device="meta"), 5, mode="bicubic").shape == (2, 2, 5, 5)


def test_nearest_elements():
    """PyTorch's rule for signals, volumes and large images, and that for images of up to 128 rows and columns."""
    x = torch.arange(3.0)
    for dtype in (*FLOATS, torch.uint8):
        signal, image = x.to(dtype).reshape(1, 1, 3), x.to(dtype).reshape(1, 1, 1, 3)
        for scale, first, second in [(1.05, [0, 0, 1], [0, 1, 2]), (2.05, [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 2])]:
            assert F.interpolate(signal, scale_factor=scale).flatten().tolist() == first
            assert F.interpolate(image, scale_factor=(1.0, scale)).flatten().tolist() == second
            assert F.interpolate(image, scale_factor=(130.0, scale))[0, 0, 7].tolist() == first
            assert F.interpolate(image[None], scale_factor=(1.0, 1.0, scale)).flatten().tolist() == first
        for size, middle in [(41, 20), (47, 23), (55, 27)]:
            ones = F.interpolate(x[:2].to(dtype).reshape(1, 1, 2), size, mode="nearest-exact").float()
            assert ones.sum().item() == size - middle
            ones = F.interpolate(x[:2].to(dtype).reshape(1, 1, 1, 2), (1, size), mode="nearest-exact").float()
            assert ones.sum().item() == size - middle - 1


def test_area_without_elements():
    x = torch.zeros(1, 2, 5, requires_grad=True)
    assert F.interpolate(x, 0, mode="area").shape == (1, 2, 0)
    assert torch.autograd.grad(F.interpolate(x, 0, mode="area").sum(), x)[0].equal(torch.zeros(1, 2, 5))
    assert F.interpolate(torch.zeros(1, 2, 5, 4), (0, 2), mode="area").shape == (1, 2, 0, 2)
    assert F.interpolate(torch.zeros(0, 2, 5, 4, 3), (3, 2, 0), mode="area").shape == (0, 2, 3, 2, 0)


@pytest.fixture
def every_warning():
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.usefixtures("every_warning")
def test_older_names():
    x = torch.randn(1, 2, 3, 3)
    with pytest.warns(UserWarning, match="interpolate"):
        assert F.upsample(x, 5, mode="bilinear").equal(F.interpolate(x, 5, mode="bilinear"))
    with pytest.warns(UserWarning, match="interpolate"):
        assert F.upsample_nearest(x, scale_factor=2).equal(F.interpolate(x, scale_factor=2))
    with pytest.warns(UserWarning, match="interpolate"):
        assert F.upsample_bilinear(x, (4, 5)).equal(F.interpolate(x, (4, 5), mode="bilinear", align_corners=True))


def test_layouts():
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last).requires_grad_()
    for mode in ("nearest", "bilinear", "bicubic"):
        y = F.interpolate(x, scale_factor=2, mode=mode)
        assert y.stride() == (240, 1, 30, 3)
        assert torch.autograd.grad(y, x, torch.ones(y.shape))[0].stride() == (60, 20, 5, 1)
        given = torch.ones(y.shape).contiguous(memory_format=torch.channels_last)
        (grad,) = torch.autograd.grad(F.interpolate(x, scale_factor=2, mode=mode), x, given)
        assert grad.stride() == ((60, 20, 5, 1) if mode == "bicubic" else (60, 1, 15, 3))
    volume = torch.randn(2, 3, 4, 5, 6).contiguous(memory_format=torch.channels_last_3d)
    assert F.interpolate(volume, 2).stride() == (24, 1, 12, 6, 3)
    assert F.interpolate(torch.ones(2, 3, 4).transpose(1, 2), 6).stride() == (24, 6, 1)


def test_nan_stays_where_it_is_met():
    x = torch.zeros(1, 1, 6)
    x[..., 2] = math.nan
    assert F.interpolate(x, 12, mode="linear").isnan().flatten().tolist() == [False] * 3 + [True] * 4 + [False] * 5
    assert F.interpolate(x, 12).isnan().flatten().tolist() == [False] * 4 + [True] * 2 + [False] * 6
    # In a dimension that keeps its size there is nothing between elements.
    signal, image = torch.tensor([[[1.0, math.nan, 3.0, math.inf, 5.0]]]), torch.tensor([[[[1.0, math.nan, 3.0]]]])
    for size in ({"size": 5}, {"scale_factor": 1.0}, {"scale_factor": 1.1}):
        torch.testing.assert_close(F.interpolate(signal, mode="linear", **size), signal, rtol=0, atol=0, equal_nan=True)
    for size in ({"size": (3, 3)}, {"scale_factor": (3.0, 1.0)}, {"scale_factor": (3.0, 1.1)}):
        kept = F.interpolate(image, mode="bilinear", **size)
        torch.testing.assert_close(kept, image.repeat(1, 1, 3, 1), rtol=0, atol=0, equal_nan=True)
    given = torch.zeros(1, 1, 80)
    given[..., 41] = math.inf
    x = torch.zeros(1, 1, 40, requires_grad=True)
    (grad,) = torch.autograd.grad(F.interpolate(x, 80, mode="linear"), x, given)
    assert grad.isfinite().flatten().tolist() == [i not in (20, 21) for i in range(40)]


@pytest.mark.parametrize("mode", [*MODES, "lanczos"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_gradients_are_the_transpose(mode, dtype):
    torch.manual_seed(0)
    smooth = {"antialias": True} if mode == "lanczos" else {}
    for n, channels, wanted in itertools.product(MODES.get(mode, (2,)), (2, 9), ((3, 7, 45), (2, 3, 11))):
        x = torch.randn(1, channels, *(2, 5, 23)[-n:], dtype=torch.float64)
        for laid in layouts(x.to(dtype)):
            leaf = laid.detach().requires_grad_()
            y = F.interpolate(leaf, wanted[-n:], mode=mode, **smooth)
            seed = torch.randn(y.shape, dtype=torch.float64).to(dtype).requires_grad_()
            (grad,) = torch.autograd.grad(y, leaf, seed, create_graph=True)
            nudge = torch.randn(x.shape, dtype=torch.float64).to(dtype)
            moved = F.interpolate(nudge.double(), wanted[-n:], mode=mode, **smooth)
            near = {torch.float64: 1e-10, torch.float32: 1e-3, torch.bfloat16: 0.5}[dtype]
            assert (grad.double() * nudge.double()).sum().item() == pytest.approx((moved * seed.double()).sum().item(), abs=near * 4)
            (again,) = torch.autograd.grad(grad, seed, nudge)
            torch.testing.assert_close(again.double(), moved, rtol=near / 10, atol=near / 10, check_stride=False)


@pytest.mark.parametrize("mode", [m for m in MODES if m != "area"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_gradients_of_rows_of_many_sizes(mode, dtype):
    """Elements that are taken several times, or not at all, whatever lanes of registers they are in."""
    torch.manual_seed(0)
    for d, n, m in itertools.product(MODES[mode], (5, 19, 24, 27, 39, 48, 80), (3, 16, 17, 19, 32, 34, 80)):
        ahead = (1,) * (d - 1)
        made_of = F.interpolate(torch.eye(n, dtype=dtype).reshape(n, 1, *ahead, n), (*ahead, m), mode=mode).reshape(n, m)
        for channels in (1, 3):
            seeds = torch.randn(1, channels, *ahead, m, dtype=dtype)
            for seed in layouts(seeds):
                x = torch.zeros(1, channels, *ahead, n, dtype=dtype, requires_grad=True)
                (grad,) = torch.autograd.grad(F.interpolate(x, (*ahead, m), mode=mode), x, seed)
                near = 1e-12 if dtype == torch.float64 else 1e-5
                torch.testing.assert_close(grad.reshape(channels, n), seeds.reshape(channels, m) @ made_of.T, rtol=near, atol=near)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_same_bits_on_any_number_of_threads(mode):
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    found = []
    x = torch.randn(3, 5, 60, 61, requires_grad=True)
    seed = torch.randn(3, 5, 100, 140)
    for n in (1, 4):
        torch.set_num_threads(n)
        y = F.interpolate(x, (100, 140), mode=mode)
        found.append((y.detach(), torch.autograd.grad(y, x, seed)[0]))
    torch.set_num_threads(threads)
    assert all(a.equal(b) for a, b in zip(*found, strict=True))


def test_maps_over_examples():
    x = torch.randn(3, 2, 2, 4, 4)
    both = torch.func.vmap(lambda t: F.interpolate(t, 7, mode="bilinear"))(x)
    assert both.equal(torch.stack([F.interpolate(t, 7, mode="bilinear") for t in x]))


X = torch.ones(1, 1, 4, 4)


@pytest.mark.parametrize(
    ("call", "error", "facts"),
    [
        (lambda: F.interpolate(X), ValueError, "size or scale_factor"),
        (lambda: F.interpolate(X, 2, 2.0), ValueError, "size or scale_factor"),
        (lambda: F.interpolate(X, (2, 2, 2)), ValueError, "2 dimensions.*got 3"),
        (lambda: F.interpolate(X, [2]), ValueError, r"size.*list of 2.*got \[2\]"),
        (lambda: F.interpolate(X, scale_factor=(2.0,)), ValueError, r"scale_factor.*list of 2.*got \(2.0,\)"),
        (lambda: F.upsample_nearest(X, (2,)), ValueError, r"upsample_nearest: size.*list of 2"),
        (lambda: F.interpolate(X[0], -1, mode="area"), RuntimeError, "negative"),
        (lambda: F.interpolate(X, 2, align_corners=True), ValueError, "align_corners.*nearest"),
        (lambda: F.interpolate(X, 2, antialias=True), ValueError, "antialias.*nearest"),
        (lambda: F.interpolate(X, 2, mode="lanczos"), ValueError, "lanczos needs antialias"),
        (lambda: F.interpolate(X, 2, recompute_scale_factor=True), ValueError, "recompute_scale_factor"),
        (lambda: F.interpolate(X, 2, mode="linear"), NotImplementedError, "got 4D input, but linear mode needs 3D"),
        (lambda: F.interpolate(X[0, 0], 2), NotImplementedError, "got 2D input"),
        (lambda: F.interpolate(X, 2, mode="spline"), NotImplementedError, "spline"),
        (lambda: F.interpolate(X, scale_factor=0.1), RuntimeError, "greater than 0.*0, 0"),
        (lambda: F.interpolate(X, scale_factor=-1.0), RuntimeError, "positive"),
        (lambda: F.interpolate(X, scale_factor=math.nan), RuntimeError, "positive"),
        (lambda: F.interpolate(X, 2**40), RuntimeError, "greater than 2147483647"),
        (lambda: F.interpolate(X, scale_factor=1e300), RuntimeError, "at most 2147483647"),
        (lambda: F.interpolate(torch.ones(1, 0, 4, 4), 2), RuntimeError, "greater than 0"),
        (lambda: F.interpolate(X.int(), 2), NotImplementedError, "int32"),
        (lambda: F.interpolate(X.bool(), 2), NotImplementedError, "bool"),
        (lambda: F.interpolate(X.to(torch.complex64), 2), NotImplementedError, "complex64"),
        (lambda: F.interpolate(X[0].to(torch.uint8), 2, mode="linear"), NotImplementedError, "uint8; convert .* for mode linear"),
    ],
)
def test_errors(call, error, facts):
    with pytest.raises(error, match=facts):
        call()
