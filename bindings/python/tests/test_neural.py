"""Functions of neural networks that move, multiply, drop and pick elements."""

import pytest

import libtensor as torch

F = torch.nn.functional
inf = float("inf")


def test_linear():
    x, w, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([0.0, 10.0])
    assert F.linear(x, w, b).tolist() == [[1, 13]]
    assert F.linear(x[None], w, b).tolist() == [[[1, 13]]]
    assert F.linear(x[0], w).tolist() == [1, 3]
    assert F.linear(x, w[1]).tolist() == [3]
    out = torch.empty(1, 2)
    assert F.linear(x, w, b, out=out) is out
    assert F.linear(x.to("meta"), w.to("meta"), b.to("meta")).shape == (1, 2)
    for wrong in ((x, torch.ones(2, 3)), (torch.tensor(1.0), w), (x, w[1], b), (x, w[None])):
        with pytest.raises(RuntimeError, match="linear"):
            F.linear(*wrong)


def test_bilinear():
    a, b, w = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0]]), torch.tensor([[[1.0], [1.0]], [[0.0], [2.0]]])
    assert F.bilinear(a, b, w, torch.tensor([1.0, 2.0])).tolist() == [[10, 14]]
    assert torch.bilinear(a[0].long(), b[0].long(), w.long()).tolist() == [9, 12]
    with pytest.raises(RuntimeError, match="bias"):
        F.bilinear(a, b, w, torch.ones(3))


def test_normalize_and_distances():
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert F.normalize(x).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0]]
    assert F.normalize(x, p=inf, dim=0).tolist() == [[1, 1], [0, 0]]
    assert F.pairwise_distance(x, torch.zeros(2, 2), eps=0).tolist() == [5, 0]
    assert F.pairwise_distance(torch.tensor([1, 2]), torch.tensor([1, 0]), p=1, eps=0, keepdim=True).tolist() == [2]
    assert F.pdist(x).tolist() == [5]
    assert F.cosine_similarity(x[:1], torch.tensor([[4.0, 3.0]])).tolist() == [pytest.approx(0.96)]


def test_one_hot():
    x = torch.tensor([[0], [2]])
    assert F.one_hot(x).tolist() == [[[1, 0, 0]], [[0, 0, 1]]]
    assert F.one_hot(x, 4).shape == (2, 1, 4)
    assert F.one_hot(tensor=torch.tensor(1)).tolist() == [0, 1]
    assert F.one_hot(x.to("meta"), 4).shape == (2, 1, 4)
    assert F.one_hot(torch.empty(0, dtype=torch.int64), 3).shape == (0, 3)
    for wrong in (
        (torch.tensor([-1]),),
        (torch.tensor([3]), 3),
        (torch.tensor([3]), 0),
        (torch.tensor([1.0]),),
        (torch.empty(0, dtype=torch.int64),),
    ):
        with pytest.raises(RuntimeError, match="one_hot"):
            F.one_hot(*wrong)


def test_shuffles():
    x = torch.arange(16).reshape(1, 4, 2, 2)
    y = torch.pixel_shuffle(x, 2)
    assert y.tolist() == [[[[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]]]]
    assert torch.equal(F.pixel_unshuffle(y, 2), x)
    assert F.channel_shuffle(x, 2)[:, :, 0, 0].tolist() == [[0, 8, 4, 12]]
    assert torch.equal(torch.native_channel_shuffle(x, 2), torch.channel_shuffle(x, 2))
    last = x.contiguous(memory_format=torch.channels_last)
    for make in (lambda t: F.pixel_shuffle(t, 2), lambda t: F.pixel_unshuffle(t, 2), lambda t: F.channel_shuffle(t, 2)):
        assert torch.equal(make(last), make(x))
    assert F.channel_shuffle(last, 2).stride() == (16, 1, 8, 4)
    for t, n in ((x, 1), (torch.ones(1, 4, 1, 1), 2)):
        assert F.pixel_shuffle(t, n).data_ptr() != t.data_ptr()
    for call in (
        lambda: F.pixel_shuffle(x, 3),
        lambda: F.pixel_shuffle(x[0, 0], 1),
        lambda: F.pixel_unshuffle(x, 3),
        lambda: F.channel_shuffle(x, 3),
        lambda: F.channel_shuffle(x, 0),
    ):
        with pytest.raises(RuntimeError, match="shuffle"):
            call()


@pytest.mark.parametrize(
    ("mode", "pad", "values"),
    [
        ("constant", (1, 2), [0, 1, 2, 3, 0, 0]),
        ("reflect", (2, 1), [3, 2, 1, 2, 3, 2]),
        ("replicate", (2, 1), [1, 1, 1, 2, 3, 3]),
        ("replicate", (-2, 2), [3, 3, 3]),
        ("circular", (2, 1), [2, 3, 1, 2, 3, 1]),
        ("circular", (-1, 1), [2, 3, 2]),
    ],
    ids=str,
)
def test_pad(mode, pad, values):
    x = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64, requires_grad=True)
    assert F.pad(x, pad, mode=mode).tolist() == [values]
    assert torch.autograd.gradcheck(lambda t: F.pad(t, pad, mode=mode), (x,))
    (g,) = torch.autograd.grad(F.pad(x, pad, mode=mode).sum(), x)
    assert g.tolist() == [[values.count(i) for i in (1, 2, 3)]]
    assert F.pad(x.to("meta"), pad, mode=mode).shape == (1, len(values))


def continued(size, before, after, mode):
    """Where the elements along a dimension come from, one by one."""
    last = size - 1
    where = {
        "reflect": lambda i: last - abs(last - abs(i)),
        "replicate": lambda i: min(max(i, 0), last),
        "circular": lambda i: i % size,
    }[mode]
    return torch.tensor([where(i) for i in range(-before, size + after)])


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.float16, torch.float32, torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("size", [(1, 2, 3, 4), (3, 40, 50, 60)], ids=str)  # less work than threads share, and more
def test_pad_of_contiguous_elements_on_any_number_of_threads(mode, dtype, size):
    if dtype == torch.bool and mode != "circular":
        return
    x = (torch.arange(torch.Size(size).numel()) % 251).reshape(size).to(dtype)
    want = x.index_select(3, continued(size[3], 2, 3, mode)).index_select(2, continued(size[2], 0, 2, mode))
    threads = torch.get_num_threads()
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            assert torch.equal(F.pad(x, (2, 3, 0, 2), mode=mode), want)
    finally:
        torch.set_num_threads(threads)


# Borders of zero, one and several elements, as wide as the mode permits, of 1 to 3 dimensions, with and without contiguous elements.
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("widths", [(3, 2), (5, 4), (0, 4), (1, 0, 2, 3), (2, 2, 2, 2), (0, 0, 1, 1), (1, 2, 0, 1, 3, 3)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int8, torch.complex64])
def test_pad_of_all_dimensions(mode, widths, dtype):
    dims = len(widths) // 2
    x = (torch.arange(2 * 5 * 6**dims) % 100).reshape(2, *[6] * (dims - 1), 6, 5).to(dtype).movedim(-1, 1)
    want = x
    for i in range(dims):
        want = want.index_select(-1 - i, continued(6, *widths[2 * i : 2 * i + 2], mode))
    assert torch.equal(F.pad(x, widths, mode=mode), want)
    assert torch.equal(F.pad(x.contiguous(), widths, mode=mode), want)
    if dtype == torch.float64:
        leaf, given = x.clone().requires_grad_(), (want * 0.37).cos()
        (gradient,) = torch.autograd.grad(F.pad(leaf, widths, mode=mode), leaf, given)
        for i in reversed(range(dims)):
            back = torch.zeros_like(given.narrow(-1 - i, 0, 6))
            given = back.index_add(-1 - i, continued(6, *widths[2 * i : 2 * i + 2], mode), given)
        assert torch.allclose(gradient, given, rtol=1e-14)


# Cropped elements do not reappear at the other end.
@pytest.mark.parametrize(
    ("widths", "want"),
    [((-3, 3), [4, 4, 4, 4]), ((-2, 3), [3, 4, 3, 4, 3]), ((3, -2), [2, 1, 2, 1, 2]), ((4, -1), [3, 1, 2, 3, 1, 2, 3])],
)
def test_circular_pad_ignores_cropped_elements(widths, want):
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    y = F.pad(x, widths, mode="circular")
    assert y.tolist() == [want]
    given = torch.arange(1.0, len(want) + 1, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(y, x, given.unsqueeze(0))
    assert gradient.tolist() == [[given[y[0] == v].sum().item() for v in (1, 2, 3, 4)]]
    with pytest.raises(RuntimeError, match="has no elements left after padding"):
        F.pad(x, (-4, 3), mode="circular")


@pytest.mark.parametrize("sizes", [(0, 2, 3), (2, 0, 3), (0, 3)], ids=str)
def test_circular_pad_of_nothing(sizes):
    x = torch.zeros(sizes, requires_grad=True)
    y = F.pad(x, (1, 2), mode="circular")
    assert y.shape == (*sizes[:-1], 6)
    y.sum().backward()
    assert x.grad.shape == sizes
    with pytest.raises(RuntimeError, match="circular"):
        F.pad(torch.zeros(2, 3, 0), (1, 0), mode="circular")


def test_pad_rejects():
    x = torch.ones(1, 2, 3, 3)
    assert F.pad(x, (1, 1), value=7)[0, 0, 0].tolist() == [7, 1, 1, 1, 7]
    assert F.pad(x > 0, (1, 1, 0, 0), mode="circular").dtype == torch.bool
    for arguments in (
        {"pad": (3, 0, 0, 0), "mode": "reflect"},
        {"pad": (4, 0, 0, 0), "mode": "circular"},
        {"pad": (-2, -1, 0, 0), "mode": "replicate"},
        {"pad": (1, 1), "mode": "reflect"},
        {"pad": (1, 1, 1, 1), "mode": "reflect", "value": 1.0},
        {"pad": (1, 1, 1, 1), "mode": "mirror"},
        {"pad": (1,)},
    ):
        with pytest.raises((RuntimeError, NotImplementedError), match="pad"):
            F.pad(x, **arguments)


def test_dropout_draws_the_stream():
    torch.manual_seed(0)
    kept = torch.empty(20).bernoulli_(0.7)
    torch.manual_seed(0)
    assert torch.equal(F.dropout(torch.ones(20), 0.3), kept / 0.7)
    torch.manual_seed(0)
    assert F.dropout2d(torch.ones(2, 3, 2, 2), 0.5).amax((2, 3)).tolist() == [[0, 0, 2], [0, 0, 0]]
    torch.manual_seed(0)
    assert F.dropout3d(torch.ones(3, 1, 1, 1), 0.5).flatten().tolist() == [0, 0, 2]
    torch.manual_seed(0)
    assert F.alpha_dropout(torch.ones(4), 0.5, training=True).tolist() == pytest.approx(
        [-0.7791939, -0.7791939, 1.6655989, -0.7791939], rel=1e-6
    )
    torch.manual_seed(0)
    assert torch.dropout(torch.ones(4, dtype=torch.complex64), 0.5, True).tolist() == [0, 0, 2, 0]


def test_dropout_of_nothing():
    x = torch.ones(3, requires_grad=True)
    for same in (
        F.dropout(x, 0.0),
        F.dropout(x, training=False),
        torch.alpha_dropout(x, 0.5, False),
        F.dropout(torch.arange(3), training=False),
    ):
        assert same.tolist() in ([1, 1, 1], [0, 1, 2])
    assert F.dropout(x, training=False) is x
    assert F.dropout(x, 1.0).tolist() == [0, 0, 0]
    y = x * 1
    assert F.dropout(y, 0.5, True, True) is y
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    for p in (-0.1, 1.5):
        with pytest.raises(ValueError, match="p must"):
            F.dropout(x, p)
    with pytest.raises(RuntimeError, match="p must.*NaN"):
        F.dropout(x, float("nan"))
    with pytest.raises(RuntimeError, match="Expected 2D or 3D input"):
        F.dropout1d(x)
    with pytest.raises(NotImplementedError, match="int64"):
        F.dropout(torch.arange(3))


def test_embedding():
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    i = torch.tensor([[1, 2], [2, 2]])
    assert F.embedding(i, w).tolist() == [[[3, 4], [5, 6]], [[5, 6], [5, 6]]]

    def grad(**options):
        return torch.autograd.grad(F.embedding(i, w, **options).sum(), w)[0]

    assert grad().tolist() == [[0, 0], [1, 1], [3, 3]]
    assert grad(padding_idx=-1).tolist() == [[0, 0], [1, 1], [0, 0]]
    assert grad(scale_grad_by_freq=True).tolist() == [[0, 0], [1, 1], [1, 1]]
    g = grad(sparse=True, padding_idx=1)
    assert g.layout == torch.sparse_coo
    assert g._indices().tolist() == [[2, 2, 2]]
    assert g.to_dense().tolist() == [[0, 0], [0, 0], [3, 3]]
    assert torch.embedding(w, torch.tensor([0], dtype=torch.int32)).tolist() == [[1, 2]]


def test_embedding_shortens_rows():
    w = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    assert F.embedding(torch.tensor([0, 1, 0]), w, max_norm=1.0).flatten().tolist() == pytest.approx([0.6, 0.8, 0.3, 0.4, 0.6, 0.8])
    assert w[1:].tolist() == [[pytest.approx(0.3), pytest.approx(0.4)], [6, 8]]
    for wrong in ((torch.tensor([1.0]), w), (torch.tensor([0]), w[0])):
        with pytest.raises(RuntimeError, match="embedding"):
            F.embedding(*wrong)
    with pytest.raises(IndexError):
        F.embedding(torch.tensor([3]), w)
    with pytest.raises(AssertionError, match="Padding_idx"):
        F.embedding(torch.tensor([0]), w, padding_idx=3)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(6, 4), (6, 1), (1, 4)], ids=str)
@pytest.mark.parametrize(
    "layer",
    [
        lambda x, w: F.linear(x, w),
        lambda x, w: F.linear(x, w, torch.ones(w.shape[0], dtype=w.dtype)),
        lambda x, w: x @ w.t(),
        lambda x, w: torch.mm(x.flatten(0, -2), w.t()),
        lambda x, w: torch.addmm(torch.ones(1, dtype=w.dtype), x.flatten(0, -2), w.t(), alpha=0.5),
    ],
    ids=["linear", "linear with bias", "matmul", "mm", "addmm"],
)
@pytest.mark.parametrize("lead", [(5,), (2, 3)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_gradients_of_weights_are_contiguous(layer, lead, sizes, dtype):
    x = torch.randn(*lead, sizes[1], dtype=dtype, requires_grad=True)
    w = torch.randn(*sizes, dtype=dtype, requires_grad=True)
    made = layer(x, w)
    of_x, of_w = torch.autograd.grad(made, (x, w), torch.ones_like(made))
    assert of_x.is_contiguous() and of_w.is_contiguous()
    assert torch.autograd.gradcheck(layer, (x, w)) and torch.autograd.gradgradcheck(layer, (x, w))


def test_gradients_of_transposed_rows_are_contiguous():
    x = torch.rand(5, 2, requires_grad=True)
    for product in (lambda x: x.t() @ torch.ones(5, 3), lambda x: torch.mm(x.t(), torch.ones(5, 3))):
        (of,) = torch.autograd.grad(product(x).sum(), (x,))
        assert of.is_contiguous() and of.equal(torch.full((5, 2), 3.0))


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0])
def test_rows_of_embeddings_are_shortened_to_their_norm(norm_type):
    """Few rows exceed the norm, and by their own rounding alone."""
    rows = torch.randn(2000, 5, generator=torch.Generator().manual_seed(0)) * 3
    made = F.embedding(torch.arange(2000), rows.clone(), max_norm=1.0, norm_type=norm_type)
    norms = rows.norm(norm_type, dim=1, keepdim=True).double()
    factors = torch.where(norms > 1, 1 / (norms + 1e-7), 1.0)
    assert torch.equal(made, rows * factors.float())
    with pytest.raises(RuntimeError, match="norm_type must be positive"):
        F.embedding(torch.tensor([0]), rows, max_norm=1.0, norm_type=-1.0)
