"""Convolutions, compared with sums over windows of padded images."""

import itertools

import pytest

import libtensor as torch

F = torch.nn.functional


def windows(x, kernel, stride, padding, dilation):
    """Returns the input element for every kernel element and output position: (N, C, positions..., kernel elements...)."""
    n = len(kernel)
    x = F.pad(x, [p for d in reversed(padding) for p in (d, d)]).contiguous()
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    positions = [(size - r) // s + 1 for size, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    steps = x.stride()
    strides = [*steps[:2], *(steps[2 + i] * stride[i] for i in range(n)), *(steps[2 + i] * dilation[i] for i in range(n))]
    return x.as_strided([*x.shape[:2], *positions, *kernel], strides)


def reference(x, w, stride, padding, dilation, groups):
    n = x.dim() - 2
    seen = windows(x, w.shape[2:], stride, padding, dilation)
    parts = []
    for c, m in zip(seen.chunk(groups, 1), w.chunk(groups, 0), strict=True):
        rows = c.permute(0, *range(2, 2 + n), 1, *range(2 + n, 2 + 2 * n)).reshape(-1, m[0].numel())
        product = rows @ m.reshape(m.shape[0], -1).T
        parts.append(product.reshape(x.shape[0], *seen.shape[2 : 2 + n], m.shape[0]).movedim(-1, 1))
    return torch.cat(parts, 1)


def integers(*size, dtype=torch.float64):
    return torch.randint(-4, 5, size).to(dtype)


CASES = [  # channels and kernels of a group, groups, size, kernel, stride, padding, dilation
    (3, 5, 1, (9,), (4,), (1,), (0,), (1,)),
    (4, 33, 1, (300,), (5,), (1,), (2,), (3,)),
    (7, 40, 1, (14, 14), (3, 3), (1, 1), (1, 1), (1, 1)),  # rows of positions with gaps, which are packed
    (70, 64, 1, (6, 70), (3, 2), (2, 1), (0, 3), (1, 2)),  # parts of the channels
    (3, 9, 1, (23, 17), (7, 5), (2, 3), (3, 2), (1, 1)),
    (1, 1, 5, (11, 37), (3, 3), (1, 1), (1, 1), (1, 1)),  # depthwise
    (1, 1, 3, (9, 9), (3, 4), (2, 2), (2, 2), (2, 1)),
    (1, 1, 37, (6, 21), (3, 3), (1, 1), (1, 1), (1, 1)),  # where channels are adjacent, more than a register of them
    (1, 1, 16, (5, 39), (2, 5), (2, 2), (1, 3), (1, 2)),
    (1, 1, 18, (3, 4, 11), (3, 1, 2), (1, 2, 1), (1, 0, 0), (1, 1, 1)),
    (1, 2, 4, (8, 8), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 3, 3, (12, 9), (2, 3), (3, 2), (1, 0), (1, 2)),
    (5, 8, 2, (10, 10), (1, 1), (2, 3), (0, 0), (1, 1)),
    (6, 7, 1, (5, 8), (1, 1), (1, 1), (0, 0), (1, 1)),  # one product of matrices
    (2, 5, 1, (13, 35), (3, 3), (2, 2), (1, 1), (1, 1)),  # every other element, of rows longer than a register
    (3, 34, 1, (19, 80), (3, 4), (2, 4), (0, 0), (1, 1)),  # patches with transposed elements
    (2, 3, 1, (9, 45), (3, 5), (1, 5), (1, 5), (1, 1)),
    (2, 3, 1, (9, 24), (3, 5), (1, 5), (1, 2), (1, 1)),  # patches that begin outside
    (
        8,
        3,
        1,
        (150, 150),
        (2, 2),
        (1, 1),
        (70, 70),
        (130, 140),
    ),  # kernel elements at a distance that makes the convolution process them one by one
    (2, 3, 1, (4, 5, 6), (2, 3, 2), (1, 2, 1), (1, 1, 0), (2, 1, 3)),
    (3, 34, 2, (3, 6, 5), (3, 3, 3), (1, 1, 2), (1, 1, 1), (1, 1, 1)),
]


@pytest.mark.parametrize(("channels", "kernels", "groups", "size", "kernel", "stride", "padding", "dilation"), CASES, ids=str)
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.int64, torch.int8, torch.float16, torch.bfloat16, torch.complex64], ids=str
)
def test_values(dtype, channels, kernels, groups, size, kernel, stride, padding, dilation):
    """Sums of small integers are exact, in any order and format."""
    torch.manual_seed(0)
    n = len(size)
    wide = torch.complex128 if dtype.is_complex else torch.int64
    x, w, b = integers(2, groups * channels, *size), integers(groups * kernels, channels, *kernel), integers(groups * kernels)
    x, w, b = ((t + 1j * t.flip(0) if dtype.is_complex else t).to(wide) for t in (x, w, b))
    f = getattr(torch, f"conv{n}d")
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    want = (reference(x, w, stride, padding, dilation, groups) + b.reshape(-1, *[1] * n)).to(dtype)
    x, w, b = (t.to(dtype) for t in (x, w, b))
    assert torch.equal(f(x, w, b, **settings), want)
    assert torch.equal(getattr(F, f"conv{n}d")(x[1], w, b, **settings), want[1])
    last = {2: torch.channels_last, 3: torch.channels_last_3d}.get(n)
    for t, k in (
        (x.transpose(0, 1).contiguous().transpose(0, 1), w.flip(1).flip(1)),
        (x[:, :, ::1], w.transpose(0, 1).contiguous().transpose(0, 1)),
    ):
        assert torch.equal(f(t, k, b, **settings), want)
    if last:
        y = f(x.contiguous(memory_format=last), w, b, **settings)
        assert torch.equal(y, want)
        assert y.is_contiguous(memory_format=last) or n == 3


def transposed(y, w, size, stride, padding, dilation, groups):
    """The gradient of a reference, which is linear."""
    x = torch.zeros(y.shape[0], w.shape[1] * groups, *size, dtype=y.dtype, requires_grad=True)
    return torch.autograd.grad(reference(x, w, stride, padding, dilation, groups), x, y)[0]


@pytest.mark.parametrize(("channels", "kernels", "groups", "size", "kernel", "stride", "padding", "dilation"), CASES, ids=str)
def test_transposed(channels, kernels, groups, size, kernel, stride, padding, dilation):
    torch.manual_seed(0)
    n = len(size)
    x, w, b = integers(2, groups * channels, *size), integers(groups * kernels, channels, *kernel), integers(groups * channels)
    y = reference(x, w, stride, padding, dilation, groups)
    y = integers(*y.shape)
    reach = [(p - 1) * s - 2 * q + d * (k - 1) + 1 for p, s, q, d, k in zip(y.shape[2:], stride, padding, dilation, kernel, strict=True)]
    more = [a - r for a, r in zip(size, reach, strict=True)]
    f = getattr(torch, f"conv_transpose{n}d")
    want = transposed(y, w, size, stride, padding, dilation, groups)
    assert torch.equal(f(y, w, None, stride, padding, more, groups, dilation), want)
    assert torch.equal(
        f(y.float(), w.float(), b.float(), stride, padding, more, groups, dilation), (want + b.reshape(-1, *[1] * n)).float()
    )


@pytest.mark.parametrize(("channels", "kernels", "groups", "size", "kernel", "stride", "padding", "dilation"), CASES, ids=str)
def test_gradients(channels, kernels, groups, size, kernel, stride, padding, dilation):
    torch.manual_seed(0)
    n = len(size)
    operands = [integers(3, groups * channels, *size), integers(groups * kernels, channels, *kernel), integers(groups * kernels)]
    operands = [t.requires_grad_() for t in operands]
    x, w, b = operands
    y = getattr(torch, f"conv{n}d")(x, w, b, stride, padding, dilation, groups)
    assert y.grad_fn.name() == "ConvolutionBackward0"
    g = integers(*y.shape)
    want = torch.autograd.grad(reference(x, w, stride, padding, dilation, groups) + b.reshape(-1, *[1] * n), operands, g)
    for a, e in zip(torch.autograd.grad(y, operands, g), want, strict=True):
        assert torch.equal(a, e)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_second_gradients(dtype, groups):
    torch.manual_seed(0)
    x, w, b = (torch.randn(*s, dtype=dtype, requires_grad=True) for s in ((2, 2 * groups, 5, 4), (3 * groups, 2, 2, 3), (3 * groups,)))
    assert torch.autograd.gradcheck(lambda *a: torch.conv2d(*a, stride=(1, 2), padding=1, groups=groups), (x, w, b))
    assert torch.autograd.gradgradcheck(lambda *a: torch.conv2d(*a, stride=(1, 2), padding=1, groups=groups), (x, w, b))
    y, k = (torch.randn(*s, dtype=dtype, requires_grad=True) for s in ((2, 2 * groups, 3, 2), (2 * groups, 3, 2, 3)))
    assert torch.autograd.gradgradcheck(
        lambda *a: torch.conv_transpose2d(*a, stride=(1, 2), output_padding=(0, 1), groups=groups), (y, k, b)
    )
    assert torch.autograd.gradcheck(lambda *a: torch.conv_transpose2d(*a, dilation=3, output_padding=2), (y[:1, :1], k[:1, :1]))


def test_infinities_stay_where_they_are():
    """Elements between rows of positions do not enter sums."""
    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 1, 3] = float("inf")
    w, g = torch.ones(40, 1, 2, 2, requires_grad=True), torch.ones(1, 40, 3, 3)
    y = torch.conv2d(x, w)
    assert y[0, 0].isinf().tolist() == [[False, False, True], [False, False, True], [False, False, False]]
    (d,) = torch.autograd.grad(y, w, g)
    assert d[0, 0].tolist() == [[0, float("inf")], [0, float("inf")]]
    few = torch.ones(1, 1, 2, 2, requires_grad=True)
    assert torch.autograd.grad(torch.conv2d(x, few), few, g[:, :1])[0].tolist() == d[:1].tolist()


def test_results_are_identical_for_any_number_of_threads():
    torch.manual_seed(0)
    before = torch.get_num_threads()
    cases = [
        ((2, 48, 30, 30), (70, 48, 3, 3), {"padding": 1}),
        ((1, 3, 64, 64), (40, 3, 7, 7), {"stride": 2}),
        ((3, 20, 20, 20), (20, 1, 3, 3), {"groups": 20}),
    ]
    try:
        for (size, kernel, settings), form in itertools.product(cases, (torch.contiguous_format, torch.channels_last)):
            x, w = torch.randn(*size).contiguous(memory_format=form).requires_grad_(), torch.randn(*kernel, requires_grad=True)
            seen = []
            for threads in (1, 2, 3, 7):
                torch.set_num_threads(threads)
                y = torch.conv2d(x, w, **settings)
                seen.append([y, *torch.autograd.grad(y.sin().sum(), (x, w))])
            for other in seen[1:]:
                assert all(torch.equal(a, b) for a, b in zip(seen[0], other, strict=True))
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("groups", [1, 1300, 1400])  # so many weights are adjacent, or too many for that
def test_adjacent_groups(groups):
    torch.manual_seed(0)
    x, w, b = integers(2, groups, 5, 18).float(), integers(groups, 1, 5, 10).float(), integers(groups).float()
    for settings in ({}, {"padding": (2, 4)}, {"stride": (2, 1), "padding": 3}):
        want = torch.conv2d(x, w, b, groups=groups, **settings)
        last = x.contiguous(memory_format=torch.channels_last)
        assert torch.equal(torch.conv2d(last, w, b, groups=groups, **settings), want)
        assert torch.equal(torch.conv2d(last, w, groups=groups, **settings), want - b.reshape(-1, 1, 1))


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_padding_by_name(kernel, dilation):
    x, w = integers(1, 2, 9), integers(3, 2, kernel)
    total = dilation * (kernel - 1)
    want = torch.conv1d(F.pad(x, (total // 2, total - total // 2)), w, dilation=dilation)
    assert torch.equal(torch.conv1d(x, w, padding="same", dilation=dilation), want)
    assert torch.equal(F.conv1d(x, w, padding="valid", dilation=dilation), torch.conv1d(x, w, dilation=dilation))
    assert torch.conv2d(x[None], w[:, :1, None], padding="same").shape == (1, 3, 2, 9)
    assert torch.autograd.gradcheck(lambda t: torch.conv1d(t, w, padding="same", dilation=dilation), (x.requires_grad_(),))


def test_formats():
    x, w = integers(2, 4, 5, 6), integers(3, 4, 3, 2)
    for a, b in itertools.product((torch.contiguous_format, torch.channels_last), repeat=2):
        y = torch.conv2d(x.contiguous(memory_format=a), w.contiguous(memory_format=b))
        assert y.stride() == ((45, 15, 5, 1) if a == b == torch.contiguous_format else (45, 1, 15, 3))
    z, v = integers(1, 2, 3, 4, 5), integers(2, 2, 1, 2, 2)
    z = z.contiguous(memory_format=torch.channels_last_3d)
    assert torch.conv3d(z, v).is_contiguous()
    assert torch.conv3d(z.float(), v.float()).is_contiguous(memory_format=torch.channels_last_3d)


def test_stride_and_dilation_are_ignored_for_one_element():
    """Distances that nothing uses may be as large as they like."""
    x = integers(1, 2, 5)
    wide, w = integers(3, 2, 5), integers(3, 2, 1)
    assert torch.equal(torch.conv1d(x, wide, stride=2**62), torch.conv1d(x, wide))
    assert torch.equal(torch.conv1d(x, w, dilation=2**62), torch.conv1d(x, w))
    assert torch.conv_transpose1d(x[:, :, :1], integers(2, 3, 1), dilation=3, output_padding=2, stride=2**62).shape == (1, 3, 3)


def test_nothing():
    w = torch.ones(3, 4, 3, 3)
    assert torch.conv2d(torch.ones(0, 4, 5, 5), w).shape == (0, 3, 3, 3)
    assert torch.conv2d(torch.ones(2, 0, 5, 5), torch.ones(3, 0, 3, 3), torch.ones(3)).shape == (2, 0, 3, 3)
    assert torch.conv_transpose2d(torch.ones(0, 3, 5, 5), w).shape == (0, 4, 7, 7)
    assert torch.conv_transpose2d(torch.ones(2, 3, 1, 2), w, padding=(1, 2)).shape == (2, 4, 1, 0)
    w.requires_grad_()
    assert torch.autograd.grad(torch.conv2d(torch.ones(0, 4, 5, 5), w).sum(), w)[0].abs().sum() == 0
    meta = torch.conv2d(torch.ones(1, 4, 9, 9, device="meta"), torch.ones(6, 2, 3, 3, device="meta"), stride=2, groups=2)
    assert (meta.shape, meta.device.type) == ((1, 6, 4, 4), "meta")
    # Of a stride that is longer than the kernel most elements are the bias.
    y = torch.conv_transpose1d(torch.ones(1, 1, 2), torch.ones(1, 1, 2), torch.tensor([5.0]), stride=4, output_padding=1)
    assert y.tolist() == [[[6, 6, 5, 5, 6, 6, 5]]]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_an_empty_batch_takes_operands_of_any_dtypes(n, transposed):
    convolve = getattr(F, f"conv_transpose{n}d" if transposed else f"conv{n}d")
    for of, kernels in itertools.product([torch.uint8, torch.int64, torch.bfloat16, torch.float32, torch.float64], repeat=2):
        x, weight = torch.zeros((0, 2) + (4,) * n, dtype=of), torch.zeros((2, 2) + (2,) * n, dtype=kernels)
        made = convolve(x, weight, torch.zeros(2, dtype=of))
        assert made.dtype == torch.result_type(torch.zeros(1, dtype=of), torch.zeros((), dtype=kernels))
        assert made.shape == (0, 2) + (5 if transposed else 3,) * n
    weight = torch.zeros((2, 2) + (2,) * n, dtype=torch.float64, requires_grad=True)
    x = torch.zeros((0, 2) + (4,) * n, requires_grad=True)
    convolve(x, weight).sum().backward()
    assert x.grad.dtype == torch.float32 and x.grad.shape == x.shape
    assert weight.grad.dtype == torch.float64 and weight.grad.shape == weight.shape and not weight.grad.any()
    with pytest.raises(RuntimeError, match="should have the same dtype"):
        convolve(torch.zeros((1, 2) + (4,) * n), weight)
    with pytest.raises(RuntimeError, match="should have the same dtype"):
        convolve(x.to(torch.complex64), weight)


def test_tbc():
    x, w, b = integers(6, 2, 3), integers(2, 3, 4), integers(4)
    want = torch.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=1).permute(2, 0, 1)
    assert torch.equal(torch.conv_tbc(x, w, b, 1), want)
    with pytest.raises(RuntimeError, match="conv_tbc"):
        torch.conv_tbc(x[0], w, b)


@pytest.mark.parametrize(
    ("arguments", "settings", "says"),
    [
        ([(4, 5), (3, 4, 3, 3)], {}, r"\[4, 5\]"),
        ([(1, 4, 5, 5), (3, 4, 3)], {}, r"weight of size \[3, 4, 3\]"),
        ([(1, 4, 5, 5), (3, 2, 3, 3)], {}, "2 channels, but got 4"),
        ([(1, 4, 5, 5), (3, 2, 3, 3)], {"groups": 2}, "divisible by 2"),
        ([(1, 4, 5, 5), (3, 4, 3, 3)], {"groups": 0}, "groups=0"),
        ([(1, 4, 5, 5), (3, 4, 3, 3), (4,)], {}, r"bias.*3 elements.*\[4\]"),
        ([(1, 4, 2, 5), (3, 4, 3, 3)], {}, r"2\+2\*0 x 5\+2\*0.*3 x 3"),
        ([(1, 4, 5, 5), (3, 4, 3, 3)], {"stride": 0}, r"stride=\[0, 0\]"),
        ([(1, 4, 5, 5), (3, 4, 3, 3)], {"padding": -1}, r"padding=\[-1, -1\]"),
        ([(1, 4, 5, 5), (3, 4, 3, 3)], {"dilation": (0, 1)}, r"dilation=\[0, 1\]"),
        ([(1, 4, 5, 5), (3, 4, 3, 3)], {"stride": (1, 1, 1)}, r"stride=\[1, 1, 1\]"),
        ([(1, 4, 5, 5), (3, 4, 3, 3)], {"padding": "same", "stride": 2}, "same"),
        ([(1, 4, 5, 5), (3, 4, 3, 3)], {"dilation": 2**62}, "dilation|kernel"),
        ([(1, 4, 5, 5), (3, 4, 3, 3)], {"padding": 2**62}, "padding|large"),
        ([(1, 4, 0, 5), (3, 4, 1, 3)], {"padding": 1}, "zero batch"),
        ([(1, 4, 5, 5), (3, 4, 0, 3)], {}, "kernel size"),
    ],
    ids=str,
)
def test_errors(arguments, settings, says):
    with pytest.raises(RuntimeError, match="conv2d: .*(?:" + says + ")"):
        torch.conv2d(*(torch.ones(*a) for a in arguments), **settings)


def test_other_errors():
    x, w = torch.ones(1, 4, 5, 5), torch.ones(4, 3, 3, 3)
    with pytest.raises(RuntimeError, match="conv_transpose2d: output padding.*output_padding=.1, 1"):
        torch.conv_transpose2d(x, w, output_padding=1)
    with pytest.raises(RuntimeError, match="conv_transpose2d: nothing is left"):
        torch.conv_transpose2d(torch.ones(2, 4, 1, 1), w, padding=2)
    with pytest.raises(RuntimeError, match="conv2d: .*float32.*float64"):
        torch.conv2d(x, torch.ones(3, 4, 3, 3, dtype=torch.float64))
    with pytest.raises(NotImplementedError, match="conv2d: .*bool"):
        torch.conv2d(x > 0, torch.ones(3, 4, 3, 3) > 0)
    with pytest.raises((RuntimeError, ValueError), match="padding"):
        torch.conv2d(x, torch.ones(3, 4, 3, 3), padding="full")


def test_without_channels_the_bias_has_a_gradient_of_zeros():
    operands = [torch.zeros(sizes, requires_grad=True) for sizes in ((1, 0, 5), (2, 0, 3), (2,))]
    F.conv1d(*operands).sum().backward()
    assert [o.grad.shape for o in operands] == [(1, 0, 5), (2, 0, 3), (2,)] and operands[2].grad.tolist() == [0, 0]


DEPTHWISE = [  # groups, size, kernel, stride, padding, dilation: fewer lanes than a vector, whole vectors, several of them, and a rest
    (2, (7, 9), (3, 3), (1, 1), (1, 1), (1, 1)),
    (16, (5, 8), (1, 7), (1, 2), (0, 3), (1, 1)),  # kernel elements three at a time, and one by one
    (37, (6, 5), (3, 2), (2, 1), (3, 4), (1, 3)),  # kernel elements that some rows of positions do not meet
    (64, (4, 3), (2, 5), (1, 1), (0, 2), (2, 1)),  # no position meets three kernel elements
    (75, (9, 4), (2, 3), (3, 2), (1, 1), (1, 1)),
    (35, (3, 4, 5), (2, 1, 3), (1, 2, 1), (1, 0, 1), (1, 1, 1)),
]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("groups", "size", "kernel", "stride", "padding", "dilation"), DEPTHWISE, ids=str)
def test_gradients_of_depthwise_convolutions_where_channels_are_adjacent(dtype, groups, size, kernel, stride, padding, dilation):
    torch.manual_seed(0)
    last = torch.channels_last if len(size) == 2 else torch.channels_last_3d
    f = torch.conv2d if len(size) == 2 else torch.conv3d
    x, w = integers(3, groups, *size, dtype=dtype), integers(groups, 1, *kernel, dtype=dtype).requires_grad_()
    g = integers(*f(x, w, None, stride, padding, dilation, groups).shape, dtype=dtype)

    def gradients(x, g):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x, w, None, stride, padding, dilation, groups), [x, w], g)

    want, expanded = gradients(x, g), torch.ones((), dtype=dtype).expand(g.shape)
    want_expanded = gradients(x, torch.ones_like(g))
    for a, b in ((last, last), (last, torch.contiguous_format), (torch.contiguous_format, last)):
        y = x.contiguous(memory_format=a)
        assert all(map(torch.equal, gradients(y, g.contiguous(memory_format=b)), want))
        assert all(map(torch.equal, gradients(y, expanded), want_expanded))
    v = w.detach().contiguous(memory_format=last).requires_grad_()
    y = f(x.contiguous(memory_format=last), v, None, stride, padding, dilation, groups)
    assert torch.equal(torch.autograd.grad(y, v, g.contiguous(memory_format=last))[0], want[1])


COLUMNS = [  # size of the input, kernel, stride, padding, dilation
    ((9,), (16,), (8,), (4,), (1,)),
    ((5,), (3,), (1,), (0,), (2,)),
    ((6, 5), (2, 2), (2, 2), (0, 0), (1, 1)),
    ((4, 7), (3, 2), (1, 3), (1, 0), (2, 1)),  # elements that no kernel element reaches
    ((2, 3, 4), (2, 1, 3), (1, 2, 2), (0, 0, 1), (1, 1, 1)),
]


@pytest.mark.parametrize("channels", [127, 128])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize(("size", "kernel", "stride", "padding", "dilation"), COLUMNS, ids=str)
def test_transposed_with_few_and_many_channels(dtype, channels, size, kernel, stride, padding, dilation):
    """Many channels are multiplied at once, to columns that are added up."""
    torch.manual_seed(0)
    f, settings = getattr(torch, f"conv_transpose{len(size)}d"), {"stride": stride, "padding": padding, "dilation": dilation}
    y, w, b = integers(2, channels, *size), integers(channels, 5, *kernel), integers(5)
    want = f(y.long(), w.long(), b.long(), **settings).to(dtype)
    y, w, b = (t.to(dtype) for t in (y, w, b))
    assert torch.equal(f(y, w, b, **settings), want)
    assert torch.equal(f(y, w, b.repeat_interleave(2)[::2], **settings), want)
    assert torch.equal(f(y, w, **settings) + b.reshape(-1, *[1] * len(size)), want)
    assert torch.equal(f(y[1], w, b, **settings), want[1])
    others = [
        (y.transpose(0, 1).contiguous().transpose(0, 1), w),
        (y.transpose(1, -1).contiguous().transpose(1, -1), w),
        (y, w.transpose(0, 1).contiguous().transpose(0, 1)),
    ]
    if len(size) == 2:
        others += [(y.contiguous(memory_format=torch.channels_last), w), (y, w.contiguous(memory_format=torch.channels_last))]
    for t, k in others:
        assert torch.equal(f(t, k, b, **settings), want)


def test_transposed_and_depthwise_gradients_on_any_number_of_threads():
    torch.manual_seed(0)
    y, w, b = torch.randn(2, 130, 9, 30), torch.randn(130, 20, 3, 3), torch.randn(20)
    x = torch.randn(2, 70, 40, 40).contiguous(memory_format=torch.channels_last)
    v = torch.randn(70, 1, 3, 3, requires_grad=True)
    threads, results = torch.get_num_threads(), []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            results.append([F.conv_transpose2d(y, w, b, 2), torch.autograd.grad(F.conv2d(x, v, groups=70).sin().sum(), v)[0]])
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(p, q) for other in results[1:] for p, q in zip(results[0], other, strict=True))


ROWS = [  # channels and kernels of a group, groups, size, kernel, stride, padding, dilation
    (7, 15, 1, (5, 20), (3, 3), 1, 1, 1),  # 16 kernels fill a vector
    (7, 16, 1, (5, 20), (3, 3), 1, 1, 1),
    (7, 33, 1, (5, 20), (3, 3), 1, 1, 1),
    (20, 17, 3, (9, 31), (3, 2), (2, 1), (0, 1), (1, 2)),
    (3, 64, 1, (23, 29), (7, 7), 2, 3, 1),
    (5, 24, 2, (6, 5), (3, 3), 1, 0, 1),  # three adjacent positions, and four
    (5, 24, 2, (6, 6), (3, 3), 1, 0, 1),
    (33, 40, 1, (3, 15), (1, 5), (1, 3), (1, 6), (1, 3)),
    (682, 32, 1, (2, 4), (3, 3), 1, 1, 1),  # weights of 6138 and 6147 elements
    (683, 32, 1, (2, 4), (3, 3), 1, 1, 1),
    (300, 300, 1, (12, 12), (3, 3), 1, 1, 1),
    (6, 32, 1, (3, 4, 9), (2, 3, 3), (1, 1, 2), 1, 1),
]


@pytest.mark.parametrize(("channels", "kernels", "groups", "size", "kernel", "stride", "padding", "dilation"), ROWS, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_float32_with_adjacent_channels(channels, kernels, groups, size, kernel, stride, padding, dilation, transposed):
    torch.manual_seed(0)
    form = torch.channels_last if len(size) == 2 else torch.channels_last_3d
    f = getattr(F, f"conv{'_transpose' * transposed}{len(size)}d")
    if transposed:
        w = integers(channels * groups, kernels, *kernel, dtype=torch.float32)
    else:
        w = integers(kernels * groups, channels, *kernel, dtype=torch.float32)
    x, b = integers(2, channels * groups, *size, dtype=torch.float32), integers(kernels * groups, dtype=torch.float32)
    for bias, odd in ((None, False), (b, True)):
        if odd:
            x[0, 0].view(-1)[0], x[1, -1].view(-1)[-1] = torch.inf, torch.nan
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        want = f(x.double(), w.double(), None if bias is None else bias.double(), **settings)
        threads, seen = torch.get_num_threads(), []
        try:
            for n, weights in ((1, w), (2, w.contiguous(memory_format=form)), (5, w)):
                torch.set_num_threads(n)
                seen.append(f(x.contiguous(memory_format=form), weights, bias, **settings))
        finally:
            torch.set_num_threads(threads)
        for y in seen:
            assert y.is_contiguous(memory_format=form) and torch.allclose(y.double(), want, 0, 0, equal_nan=True)


@pytest.mark.parametrize(("kernels", "width"), [(15, 30), (16, 30), (48, 3), (48, 4), (48, 30)])
def test_sums_of_adjacent_channels_are_bounded(kernels, width):
    torch.manual_seed(0)
    x = torch.randn(1, 40, 6, width).contiguous(memory_format=torch.channels_last)
    w, b = torch.randn(kernels, 40, 3, 3), torch.randn(kernels)
    y = torch.conv2d(x, w, b, padding=1)
    want, size = (torch.conv2d(s(x.double()), s(w.double()), s(b.double()), padding=1) for s in (lambda t: t, torch.abs))
    assert ((y.double() - want).abs() <= 2**-24 * 40 * 9 * size).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_blocks_with_one_row_left(threads):
    """The last block of weight rows keeps more sums in registers than others, in scratch memory that must be large enough."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for rows in (225, 257, 289, 513):
            x, weight = torch.ones(1, 64, 20, 20), torch.arange(64.0 * rows).remainder(7).reshape(rows, 64, 1, 1)
            for _ in range(20):
                out = torch.nn.functional.conv2d(x, weight, padding=1)
                assert torch.equal(out[0, :, 1:-1, 1:-1], weight.sum((1, 2, 3)).reshape(rows, 1, 1).expand(rows, 20, 20))
    finally:
        torch.set_num_threads(before)
