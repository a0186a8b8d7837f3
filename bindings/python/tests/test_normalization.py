"""Normalizations: of layers, groups, instances and batches."""

import math

import pytest

import libtensor as torch

F = torch.nn.functional
inf, nan = math.inf, math.nan
HALVES = [torch.float16, torch.bfloat16]


def values(*sizes, dtype=torch.float64):
    """Numbers that are no pattern, the same every time."""
    return ((torch.arange(math.prod(sizes), dtype=torch.float64) * 0.7).sin() * 3 + 1).reshape(sizes).to(dtype)


def normalized(x, dims, eps):
    """What a normalization is by its definition."""
    mean = x.mean(dims, keepdim=True)
    return (x - mean) / ((x - mean).square().mean(dims, keepdim=True) + eps).sqrt()


def close(a, b, tolerance=1e-12):
    return torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance)


# Rows below and above the width of vectors and of the converted blocks, and enough of them to be divided into blocks.
@pytest.mark.parametrize("rows", [1, 3, 70])
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 33, 2047, 2048, 2049])
def test_layers_are_normalized(rows, width):
    x, w, b = values(rows, width), values(width), values(width) - 2
    want = normalized(x, -1, 1e-5) * w + b
    assert close(F.layer_norm(x, (width,), w, b), want)
    assert close(F.layer_norm(x.float(), (width,), w.float(), b.float()), want, 1e-4)
    assert close(F.layer_norm(x, (width,)), normalized(x, -1, 1e-5))
    assert close(F.layer_norm(x, (width,), None, b), normalized(x, -1, 1e-5) + b)
    assert close(F.rms_norm(x, (width,), w, 1e-5), x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * w)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("width", [4, 2050])
def test_16_bits_are_computed_in_32(dtype, width):
    x = values(3, width, dtype=dtype)
    y = F.layer_norm(x, (width,))
    assert y.dtype == dtype
    assert torch.equal(y, F.layer_norm(x.float(), (width,)).to(dtype))
    w = values(width, dtype=torch.float32)
    assert torch.equal(F.layer_norm(x, (width,), w), F.layer_norm(x.float(), (width,), w).to(dtype))
    out, mean, rstd = torch.native_layer_norm(x, (width,), w, None, 1e-5)
    assert (out.dtype, mean.dtype, rstd.dtype) == (dtype, torch.float32, torch.float32)
    assert torch.native_layer_norm(x, (width,), None, None, 1e-5)[1].dtype == dtype
    with pytest.raises(RuntimeError, match="float64"):
        F.layer_norm(x, (width,), w.double())
    assert torch.equal(F.rms_norm(x, (width,)), F.rms_norm(x.float(), (width,)).to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
def test_statistics_of_batches_have_the_digits_of_their_dtype(dtype, format):
    x = values(3, 2, 5, 7, dtype=dtype).to(memory_format=format)
    for call, dims in [(lambda *p: F.batch_norm(x, *p, training=True), (0, 2, 3)), (lambda *p: F.instance_norm(x, *p), (2, 3))]:
        mean = x.float().mean(dims, keepdim=True)
        squares = (x.float() - mean).square().sum(dims, keepdim=True)
        count = x.numel() // squares.numel()
        # With parameters of float32 the statistics are float32 too.
        want = ((x.float() - mean) * (squares / count + 1e-5).rsqrt()).to(dtype)
        assert torch.equal(call(torch.zeros(2), torch.ones(2)), want)
        variance = squares / count
        if dtype == torch.bfloat16:  # as in PyTorch
            variance = (squares.to(dtype).float() / count).to(dtype).float()
        want = (x.float() - mean.to(dtype).float()) * (variance + 1e-5).rsqrt().to(dtype).float()
        assert torch.equal(call(None, None), want.to(dtype))
    assert [t.dtype for t in torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)] == [dtype] * 3


@pytest.mark.parametrize("dtype", HALVES)
def test_running_statistics_of_instances_are_averaged(dtype):
    x, start = values(3, 2, 5, dtype=dtype), torch.tensor([0.3, -2.7], dtype=dtype)
    mean, variance = start.clone(), start.clone()
    F.instance_norm(x, mean, variance, momentum=0.3)
    for running, now in [(mean, x.float().mean(-1).to(dtype)), (variance, x.float().var(-1))]:
        assert torch.equal(running, (start.float() * 0.7 + now * 0.3).to(dtype).float().mean(0).to(dtype))


def test_large_means_keep_their_digits():
    x = torch.tensor([[1e6 - 1, 1e6, 1e6 + 1]] * 2, dtype=torch.float32)
    assert close(F.layer_norm(x, (3,), eps=0.0), torch.tensor([[-math.sqrt(1.5), 0, math.sqrt(1.5)]] * 2), 1e-6)
    batch = x[0].repeat(50).reshape(-1, 1)
    assert close(F.batch_norm(batch, None, None, training=True)[1], torch.zeros(1), 1e-6)


def test_sizes_that_do_not_fit():
    x = torch.zeros(2, 4)
    for call, words in [
        (lambda: F.layer_norm(x, ()), "normalized_shape"),
        (lambda: F.layer_norm(x, (3,)), r"\[3\].*\[2, 4\]"),
        (lambda: F.layer_norm(x, (3, 2, 4)), r"\[3, 2, 4\]"),
        (lambda: F.layer_norm(x, (4,), torch.zeros(3)), r"weight.*\[4\].*\[3\]"),
        (lambda: F.layer_norm(x, (4,), None, torch.zeros(3)), "bias"),
        (lambda: F.rms_norm(x, (4,), torch.zeros(2, 2)), "weight"),
        (lambda: F.group_norm(x, 3), "num_groups.*4.*3"),
        (lambda: F.group_norm(x, 0), "num_groups"),
        (lambda: F.group_norm(x, 2, torch.zeros(3)), "weight"),
        (lambda: F.group_norm(torch.zeros(3), 3), "must have shape"),
        (lambda: torch.native_group_norm(x, None, None, 2, 4, 2, 2, 0.1), "number of elements"),
        (lambda: F.batch_norm(x, torch.zeros(3), torch.ones(4)), r"running_mean.*4.*\[3\]"),
        (lambda: F.batch_norm(x, None, None), "running_mean"),
        (lambda: F.layer_norm(x.long(), (4,)), "int64"),
        (lambda: F.batch_norm(x.long(), None, None, training=True), "int64"),
    ]:
        with pytest.raises((RuntimeError, NotImplementedError), match=words):
            call()
    for call in (
        lambda: F.batch_norm(x[:1], None, None, training=True),
        lambda: F.batch_norm(x, torch.zeros(4), None, training=True),
        lambda: F.batch_norm(x, None, None, training=True, eps=0),
        lambda: F.instance_norm(x),
        lambda: F.group_norm(x[:1], 4),
        lambda: F.local_response_norm(x, 2),
    ):
        with pytest.raises(ValueError, match="norm"):
            call()
    with pytest.raises(TypeError, match="momentum"):
        F.batch_norm(x, None, None, training=True, momentum=None)


def test_nothing_is_normalized():
    out, mean, rstd = torch.native_layer_norm(torch.zeros(2, 0), (0,), None, None, 1e-5)
    assert out.shape == (2, 0)
    assert mean.tolist() == [[0], [0]]
    assert rstd.isnan().all()
    x = torch.zeros(0, 4, requires_grad=True)
    w = torch.ones(4, requires_grad=True)
    F.layer_norm(x, (4,), w).sum().backward()
    assert w.grad.tolist() == [0] * 4
    mean = torch.ones(4)
    assert F.batch_norm(torch.zeros(0, 4, 2), mean, torch.ones(4), training=True).shape == (0, 4, 2)
    assert mean.tolist() == [1] * 4


FORMATS = {
    "planes": lambda x: x,
    "channels_last": lambda x: x.to(memory_format=torch.channels_last),
    "strided": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
}


# Channels below and above the width of column tiles, planes of one element, and rows for several blocks.
@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (3, 5, 1, 1), (2, 257, 3, 1), (40, 3, 9, 9), (2, 1, 30, 70), (1, 2, 50, 41)], ids=str)
def test_batches_are_normalized(sizes, layout):
    x = FORMATS[layout](values(*sizes))
    w, b = values(sizes[1]), values(sizes[1]) - 2
    by = (sizes[1], 1, 1)
    want = normalized(x, (0, 2, 3), 1e-5) * w.reshape(by) + b.reshape(by)
    y = F.batch_norm(x, None, None, w, b, training=True)
    assert close(y, want, 1e-10)
    channels_last = layout == "channels_last" and sizes[2] * sizes[3] > 1
    assert y.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    mean, variance = values(sizes[1]), values(sizes[1]).square() + 0.5
    y = F.batch_norm(x, mean, variance, w, b)
    assert close(y, (x - mean.reshape(by)) / (variance.reshape(by) + 1e-5).sqrt() * w.reshape(by) + b.reshape(by))
    y, m, r = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    assert close(m, x.mean((0, 2, 3)))
    assert close(r, 1 / (x.var((0, 2, 3), unbiased=False) + 1e-5).sqrt(), 1e-10)
    assert [t.shape for t in torch.native_batch_norm(x, None, None, mean, variance, False, 0.1, 1e-5)[1:]] == [(0,), (0,)]


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("sizes", [(3, 2, 2, 3), (40, 3, 9, 9), (2, 5, 1, 1)], ids=str)
def test_gradients_of_batches(sizes, training, layout):
    x, w, b = values(*sizes), values(sizes[1]), values(sizes[1])
    mean, variance, by = values(sizes[1]), values(sizes[1]).square() + 1, (sizes[1], 1, 1)

    def by_definition(x, w, b):
        unit = normalized(x, (0, 2, 3), 1e-3) if training else (x - mean.reshape(by)) / (variance.reshape(by) + 1e-3).sqrt()
        return unit * w.reshape(by) + b.reshape(by)

    def ours(x, w, b):
        return F.batch_norm(x, mean.clone(), variance.clone(), w, b, training=training, eps=1e-3)

    given = values(*sizes).cos()
    found = []
    for f in (ours, by_definition):
        operands = [t.detach().requires_grad_() for t in (FORMATS[layout](x), w, b)]
        first = torch.autograd.grad(f(*operands), operands, given, create_graph=True)
        plain = torch.autograd.grad(f(*operands), operands, given)
        assert all(close(p, q, 1e-10) for p, q in zip(first, plain, strict=True))
        found.append([*first, *torch.autograd.grad([(t * t).sum() for t in first[:2]], operands[:2])])
    assert all(close(p, q, 1e-7) for p, q in zip(*found, strict=True))


@pytest.mark.parametrize(("rows", "width"), [(3, 5), (70, 33), (2, 2050)])
def test_gradients_of_layers(rows, width):
    x, w, b, given = values(rows, width), values(width), values(width), values(rows, width).cos()
    found = []
    for f in (lambda x, w, b: F.layer_norm(x, (width,), w, b), lambda x, w, b: normalized(x, -1, 1e-5) * w + b):
        operands = [t.detach().requires_grad_() for t in (x, w, b)]
        first = torch.autograd.grad(f(*operands), operands, given, create_graph=True)
        plain = torch.autograd.grad(f(*operands), operands, given)
        assert all(close(p, q, 1e-10) for p, q in zip(first, plain, strict=True))
        found.append([*first, *torch.autograd.grad((first[0] * given).sum(), operands[:2])])
    assert all(close(p, q, 1e-7) for p, q in zip(*found, strict=True))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: F.rms_norm(x, (2, 2), eps=0.1) * w[0],
        lambda x, w: F.group_norm(x, 2, w, w),
        lambda x, w: F.group_norm(x[:, :, :1, 0], 2, w),
        lambda x, w: F.instance_norm(x, None, None, w, w),
        lambda x, w: F.instance_norm(x, torch.zeros(4).double(), torch.ones(4).double(), w, use_input_stats=False),
        lambda x, w: F.local_response_norm(x, 3, 0.5) * w[0],
        lambda x, w: F.batch_norm(x, None, None, None, w, training=True),
    ],
    ids=[
        "rms",
        "group",
        "group of single elements",
        "instance",
        "instance by running statistics",
        "local response",
        "batch without weight",
    ],
)
def test_gradients_are_those_of_differences(call):
    x, w = values(2, 4, 2, 2).requires_grad_(), values(4).requires_grad_()
    assert torch.autograd.gradcheck(call, (x, w))
    assert torch.autograd.gradgradcheck(call, (x, w))


def test_infinities_pass_given_statistics():
    x = torch.tensor([[1.0, inf], [2.0, nan]], requires_grad=True)
    F.batch_norm(x, torch.zeros(2), torch.ones(2), eps=3.0).backward(torch.ones(2, 2))
    assert x.grad.tolist() == [[0.5, 0.5], [0.5, 0.5]]


def inferred(n):
    with torch.inference_mode():
        return torch.ones(n)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_running_statistics_move(dtype):
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]], dtype=dtype)
    mean, variance = torch.zeros(2), torch.ones(2)
    pointer, versions = mean.data_ptr(), (mean._version, variance._version)
    F.batch_norm(x, mean, variance, training=True, momentum=0.25)
    assert mean.tolist() == [0.5, 1]
    assert variance.tolist() == [0.75 + 0.25 * 2, 0.75 + 0.25 * 8]
    assert mean.data_ptr() == pointer
    assert (mean._version, variance._version) == (versions[0] + 1, versions[1] + 1)
    F.batch_norm(x, mean, variance)
    assert mean.tolist() == [0.5, 1]
    torch.batch_norm(x[:1], None, None, mean, variance, True, 0.5, 1e-5, False)
    assert mean.tolist() == [0.75, 1.5]
    assert variance.isnan().all()
    mean, variance = torch.zeros(4)[::2], torch.ones(2)
    F.instance_norm(torch.tensor([[[1.0, 3.0], [2.0, 4.0]], [[5.0, 7.0], [0.0, 0.0]]]), mean, variance, momentum=0.5)
    assert mean.tolist() == [2, 0.75]
    assert variance.tolist() == [1.5, 1]


@pytest.mark.parametrize(
    ("mean", "variance"),
    [
        (torch.zeros(2), torch.ones(1).expand(2)),
        (torch.zeros(2), torch.ones(2, requires_grad=True)),
        (torch.zeros(2), torch.ones(3)),
        (torch.zeros(2), torch.ones(2, dtype=torch.float64)),
        (torch.zeros(2), inferred(2)),
    ],
    ids=["overlapping", "with gradient", "of another size", "of another dtype", "of inference"],
)
def test_running_statistics_that_are_rejected_stay(mean, variance):
    with pytest.raises(RuntimeError):
        F.batch_norm(torch.ones(3, 2), mean, variance, training=True)
    assert mean.tolist() == [0, 0]


# Channels below and above the width of column tiles, batch elements of one and of several blocks, planes of one element, and volumes.
@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ((2, 6, 3, 4), 3),
        ((3, 4, 1, 1), 2),
        ((2, 257, 2, 1), 257),
        ((1, 256, 3, 3), 1),
        ((2, 1026, 1, 3), 2),
        ((2, 8, 130, 65), 4),
        ((1, 6, 2, 3, 4), 2),
    ],
    ids=str,
)
def test_groups_of_channels_side_by_side(sizes, groups):
    format = torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
    x, w, b, given = values(*sizes), values(sizes[1]), values(sizes[1]) - 2, values(*sizes).cos()
    by = (sizes[1], *[1] * (len(sizes) - 2))

    def by_definition(x, w, b):
        return normalized(x.reshape(sizes[0], groups, -1), -1, 1e-3).reshape(sizes) * w.reshape(by) + b.reshape(by)

    def ours(x, w, b):
        return F.group_norm(x, groups, w, b, eps=1e-3)

    found = []
    for f, laid in [(ours, x.contiguous(memory_format=format)), (ours, x), (by_definition, x)]:
        operands = [t.detach().requires_grad_() for t in (laid, w, b)]
        y = f(*operands)
        found.append([y, *torch.autograd.grad(y, operands, given)])
    for p, q, r in zip(*found, strict=True):
        assert close(p, r, 1e-9)
        assert close(q, r, 1e-9)
    assert all(t.stride() == x.contiguous(memory_format=format).stride() for t in found[0][:2])
    for dtype in HALVES:
        half = x.to(dtype).contiguous(memory_format=format)
        assert torch.equal(F.group_norm(half, groups), F.group_norm(half.float(), groups).to(dtype))
    assert close(
        F.group_norm(x.contiguous(memory_format=format), groups), normalized(x.reshape(sizes[0], groups, -1), -1, 1e-5).reshape(sizes)
    )


@pytest.mark.parametrize("layout", ["planes", "channels_last"])
def test_gradients_of_some_operands_of_groups(layout):
    x, w, given = FORMATS[layout](values(2, 6, 3, 4)).requires_grad_(), values(6).requires_grad_(), values(2, 6, 3, 4).cos()
    of_x, of_w = torch.autograd.grad(F.group_norm(x, 3, w), [x, w], given)
    assert torch.equal(*torch.autograd.grad(F.group_norm(x, 3, w.detach()), x, given), of_x)
    assert torch.equal(*torch.autograd.grad(F.group_norm(x.detach(), 3, w), w, given), of_w)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: F.layer_norm(x.reshape(1300, 200), (200,), w[:200], w[:200]),
        lambda x, w: F.group_norm(x.reshape(2, 200, 26, 25), 8, w[:200], w[:200]),
        lambda x, w: F.group_norm(x.reshape(2, 26, 25, 200).movedim(-1, 1), 8, w[:200], w[:200]),
        lambda x, w: F.batch_norm(x.reshape(2, 200, 26, 25), None, None, w[:200], w[:200], training=True),
        lambda x, w: F.batch_norm(x.reshape(2, 26, 25, 200).movedim(-1, 1), None, None, w[:200], w[:200], training=True),
        lambda x, w: F.batch_norm(x.reshape(200, 1300), None, None, w, w, training=True),
    ],
    ids=["layer", "group", "group of channels side by side", "batch", "batch of channels side by side", "batch of rows"],
)
def test_threads_change_nothing(call):
    def answer():
        x, w = values(260_000, dtype=torch.float32).requires_grad_(), values(1300, dtype=torch.float32).requires_grad_()
        y = call(x, w)
        return [y, *torch.autograd.grad(y, [x, w], y.detach().cos())]

    threads, found = torch.get_num_threads(), []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            found.append(answer())
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(p, q) for other in found[1:] for p, q in zip(found[0], other, strict=True))


def test_groups_and_adjacent_channels():
    x = values(2, 6, 3, 4)
    w = values(6)
    want = normalized(x.reshape(2, 3, 24), -1, 1e-5).reshape(x.shape) * w.reshape(6, 1, 1)
    assert close(F.group_norm(x, 3, w), want)
    last = x.to(memory_format=torch.channels_last)
    y = F.group_norm(last, 3, w)
    assert close(y, want)
    assert y.is_contiguous(memory_format=torch.channels_last)
    out, mean, rstd = torch.native_group_norm(x, w, None, 2, 6, 12, 3, 1e-5)
    assert close(mean, x.reshape(2, 3, 24).mean(-1))
    assert rstd.shape == (2, 3)
    assert close(F.instance_norm(last), normalized(x, (2, 3), 1e-5))
    assert F.instance_norm(last).is_contiguous()
    z = torch.tensor([[[1.0], [2.0], [4.0]]])
    assert F.local_response_norm(z, 2, alpha=2.0, beta=1.0, k=0.0).flatten().tolist() == pytest.approx([1, 2 / 5, 4 / 20])
    assert F.local_response_norm(z.long(), 2, alpha=2.0, beta=1.0, k=1.0).flatten().tolist() == pytest.approx([1, 2 / 5, 4 / 21])


def test_complex_root_mean_squares():
    z = torch.tensor([[1 + 1j, 2 - 1j]])
    assert torch.allclose(F.rms_norm(z, (2,)), z / ((z * z).mean() + torch.finfo(torch.float32).eps).sqrt())


def test_shapes_on_meta():
    x = torch.empty(2, 4, 3, 5, device="meta").to(memory_format=torch.channels_last)
    assert F.batch_norm(x, None, None, training=True).stride() == x.stride()
    assert torch.native_layer_norm(x, (3, 5), None, None, 1e-5)[1].shape == (2, 4, 1, 1)


def test_names_of_calls():
    x = values(2, 4).requires_grad_()
    for y, name in [
        (F.layer_norm(x, (4,)), "NativeLayerNormBackward0"),
        (F.group_norm(x, 2), "NativeGroupNormBackward0"),
        (F.batch_norm(x, None, None, training=True), "NativeBatchNormBackward0"),
        (F.rms_norm(x, (4,)), "MulBackward0"),
    ]:
        assert y.grad_fn.name() == name
    assert all(t.grad_fn is None for t in torch.native_layer_norm(x, (4,), None, None, 1e-5)[1:])


# Lines below and above the width of vectors and of the converted blocks, and more adjacent lines than a strip has.
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("lines", [3, 150])
@pytest.mark.parametrize("width", [1, 16, 33, 2049])
def test_gradients_of_softmax(width, lines, dim):
    x = values(width, lines) if dim == 0 else values(lines, width)
    given = x.cos()
    for f, wanted in [
        (F.softmax, lambda y: y * (given - (given * y).sum(dim, keepdim=True))),
        (F.log_softmax, lambda y: given - y.exp() * given.sum(dim, keepdim=True)),
    ]:
        for dtype, tolerance in [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 2e-2)]:
            operand = x.to(dtype).requires_grad_()
            y = f(operand, dim)
            (g,) = torch.autograd.grad(y, operand, given.to(dtype))
            assert g.dtype == dtype
            assert close(g, wanted(y.detach().double()), tolerance)


ROWS = torch.arange(6.0).reshape(3, 2).sin()
OF_EXAMPLES = {
    "batches": lambda x, row: F.batch_norm(x, row.abs(), row.abs() + 1),
    "batches with weights": lambda x, row: F.batch_norm(x, torch.zeros(2), torch.ones(2), row, row),
    "batches of one, with weights": lambda x, row: F.batch_norm(IMAGES[0], torch.zeros(2), torch.ones(2), row),
    "instances": lambda x, row: F.instance_norm(x, torch.zeros(2), torch.ones(2), row, use_input_stats=False),
    "with results for gradients": lambda x, row: torch.native_batch_norm(x, row, None, torch.zeros(2), torch.ones(2), False, 0.1, 1e-5)[0],
    "their own statistics": lambda x, row: F.batch_norm(x, None, None, row, training=True),
}
IMAGES = torch.arange(48.0).reshape(3, 2, 2, 4).cos()


@pytest.mark.parametrize("name", OF_EXAMPLES)
def test_statistics_that_are_read_alone_are_the_same_for_all_examples(name):
    f = OF_EXAMPLES[name]
    wanted = torch.stack([f(x, row) for x, row in zip(IMAGES, ROWS, strict=True)])
    assert torch.allclose(torch.func.vmap(f)(IMAGES, ROWS), wanted)
    gradients = torch.func.vmap(torch.func.grad(lambda row, x: f(x, row).square().sum()))(ROWS, IMAGES)
    one = [torch.func.grad(lambda row, x: f(x, row).square().sum())(row, x) for x, row in zip(IMAGES, ROWS, strict=True)]
    assert torch.allclose(gradients, torch.stack(one), atol=1e-5)


def test_statistics_that_are_written_are_those_of_each_example():
    mean, variance = torch.zeros(2), torch.ones(2)
    with pytest.raises(RuntimeError, match="inside vmap"):
        torch.func.vmap(lambda x: F.batch_norm(x, mean, variance, training=True))(IMAGES)
    assert mean.tolist() == [0, 0] and variance.tolist() == [1, 1]


def test_evaluation_without_elements():
    out, mean, rstd = torch.native_batch_norm(torch.zeros(0, 2, 3), None, None, torch.zeros(2), torch.ones(2), False, 0.1, 1e-5)
    assert (out.shape, mean.shape, rstd.shape) == ((0, 2, 3), (0,), (0,))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *HALVES])
@pytest.mark.parametrize("statistics", [torch.float32, torch.float64, *HALVES])
def test_running_statistics_of_instances_have_any_floating_dtype(dtype, statistics):
    x, mean, var = values(3, 2, 5, dtype=dtype), torch.zeros(2, dtype=statistics), torch.ones(2, dtype=statistics)
    made = F.instance_norm(x, mean, var, None, None, True, 0.5)
    assert made.dtype is dtype and mean.dtype is var.dtype is statistics
    assert close(mean, x.double().mean((0, 2)) / 2, 1e-2)
    read = F.instance_norm(x, mean, var, None, None, False)
    assert read.dtype is dtype
    assert close(read, (x.double() - mean.double()[:, None]) / (var.double()[:, None] + 1e-5).sqrt(), 5e-2)


@pytest.mark.parametrize("training", [True, False])
def test_statistics_of_an_empty_batch_have_any_floating_dtype(training):
    mean, var = torch.zeros(5), torch.ones(5)
    made = F.batch_norm(torch.zeros(0, 5, 9, dtype=torch.float64), mean, var, None, None, training)
    assert made.dtype is torch.float64 and made.shape == (0, 5, 9)
    assert torch.equal(mean, torch.zeros(5)) and torch.equal(var, torch.ones(5))
    with pytest.raises(RuntimeError, match="floating"):
        F.batch_norm(torch.zeros(0, 5, 9), mean.long(), var.long(), None, None, training)


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("sizes", [(1, 2, 3, 1), (1, 3, 1, 4), (2, 1, 3, 4), (2, 3, 1, 1), (1, 2, 3, 1, 2)])
def test_batch_norm_keeps_the_format_whatever_the_strides_of_dimensions_of_size_one(sizes, train):
    """A tensor that is dense in both formats counts as contiguous."""
    format = torch.channels_last if len(sizes) == 4 else torch.channels_last_3d
    expected = torch.empty(sizes, memory_format=format)
    wanted = torch.empty(sizes).stride() if expected.is_contiguous() else expected.stride()
    for other in (1, 2, 7, 100):
        strides = [other if size == 1 else stride for size, stride in zip(sizes, expected.stride(), strict=True)]
        x = torch.zeros(200).as_strided(sizes, strides)
        made = torch.nn.functional.batch_norm(x, torch.zeros(sizes[1]), torch.ones(sizes[1]), training=train)
        assert made.stride() == wanted


def test_batch_norm_of_no_examples_takes_parameters_of_other_dtypes():
    weight = torch.ones(3, requires_grad=True)
    x = torch.ones(0, 3, 2, dtype=torch.float64, requires_grad=True)
    made = torch.nn.functional.batch_norm(x, torch.zeros(3), torch.ones(3), weight, training=True)
    made.sum().backward()
    assert made.dtype is torch.float64 and x.grad.shape == (0, 3, 2)
    assert weight.grad.dtype is torch.float32 and weight.grad.tolist() == [0, 0, 0]
