"""Composite operators with a derivative formula use it inside vmap: gradients and tangents are those of each batch element."""

import pytest

import libtensor as torch
from libtensor._gradients.vmap import leaves
from libtensor.func import grad, jacfwd, jacrev, jvp, vmap

D = torch.float64
F = torch.nn.functional


def numbers(*sizes):
    torch.manual_seed(4)
    return torch.rand(*sizes, dtype=D) + 0.1


SPD = torch.eye(3, dtype=D)
ROWS = torch.tensor([0, 2, 2, 1])
WEIGHT = numbers(5, 4)
GATES = [numbers(8, 3), numbers(8, 2), numbers(8), numbers(8)]
STATE = torch.zeros(1, 2, 2, dtype=D)
CASES = {
    **{
        f"pad({mode}) of {n}": ((lambda mode, pad: lambda x: F.pad(x, pad, mode))(mode, pad), numbers(3, 1, *(4,) * n))
        for mode in ("constant", "reflect", "replicate", "circular")
        for n, pad in ((1, (1, 2)), (2, (1, 2, -1, 1)), (3, (1, 1, 2, 0, 0, 1)))
    },
    "pinv": (torch.linalg.pinv, numbers(3, 3, 2)),
    "pinv of a lower rank": (lambda x: torch.linalg.pinv(x, rtol=0.5), numbers(3, 4, 4)),
    "pinv of a tensor's rank": (lambda x: torch.linalg.pinv(x, rtol=torch.tensor(0.5, dtype=D)), numbers(3, 4, 4)),
    "pinverse": (lambda x: torch.pinverse(x, 0.5), numbers(3, 4, 4)),
    "det": (torch.linalg.det, numbers(3, 3, 3)),
    "det of a matrix of rank 2": (
        lambda x: 1 + torch.linalg.det(x),
        torch.diag_embed(torch.tensor([[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]], dtype=D)),
    ),
    "slogdet": (lambda x: torch.linalg.slogdet(x)[1], numbers(3, 3, 3)),
    "matrix_exp": (torch.matrix_exp, numbers(3, 3, 3)),
    "cholesky_solve": (lambda x: torch.cholesky_solve(x, torch.linalg.cholesky(x @ x.mT + SPD)), numbers(3, 3, 3)),
    "cholesky_inverse": (lambda x: torch.cholesky_inverse(torch.linalg.cholesky(x @ x.mT + SPD)), numbers(3, 3, 3)),
    "cross": (lambda x: torch.linalg.cross(x[0], x[1]), numbers(3, 2, 3)),
    "outer": (lambda x: torch.outer(x, x), numbers(3, 3)),
    "block_diag": (lambda x: torch.block_diag(x, x), numbers(3, 3, 2)),
    "vander": (torch.vander, numbers(3, 3)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), numbers(3, 4, 2, 2)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), numbers(3, 1, 4, 4)),
    "channel_shuffle": (lambda x: torch.channel_shuffle(x, 2), numbers(3, 1, 4, 3, 3)),
    "embedding": (lambda x: F.embedding(ROWS, x), numbers(3, 4, 2)),
    "embedding_bag": (lambda x: F.embedding_bag(ROWS, x, torch.tensor([0, 2])), numbers(3, 4, 2)),
    "embedding_bag(max)": (lambda x: F.embedding_bag(ROWS, x, torch.tensor([0, 2]), mode="max"), numbers(3, 4, 2)),
    "weights of embedding_bag": (
        lambda x: F.embedding_bag(ROWS, WEIGHT, torch.tensor([0, 2]), per_sample_weights=x, mode="sum"),
        numbers(3, 4),
    ),
    "binary_cross_entropy": (lambda x: F.binary_cross_entropy(x / 2, torch.ones(4, dtype=D)), numbers(3, 4)),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 1])), numbers(3, 2, 4)),
    "linear_cross_entropy": (lambda x: F.linear_cross_entropy(x, WEIGHT, torch.tensor([0, 1])), numbers(3, 2, 4)),
    "scaled_dot_product_attention": (lambda x: F.scaled_dot_product_attention(x, x, x), numbers(3, 2, 5, 4)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), numbers(3, 1, 1, 3, 3)),
    "grid_sample": (
        lambda x: F.grid_sample(x, x[:, 0, :, :2, None].expand(-1, -1, 2, 2) - 0.5, align_corners=False),
        numbers(3, 1, 1, 3, 3),
    ),
    "lstm": (lambda x: torch.lstm(x, [STATE, STATE], GATES, True, 1, 0.0, False, False, False)[0], numbers(3, 4, 2, 3)),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(x, 2, 2, _random_samples=torch.full((1, 1, 2), 0.3, dtype=D)),
        numbers(3, 1, 1, 5, 5),
    ),
    "fractional_max_pool3d": (
        lambda x: F.fractional_max_pool3d(x, 2, 2, _random_samples=torch.full((1, 1, 3), 0.3, dtype=D)),
        numbers(3, 1, 1, 5, 5, 5),
    ),
    "dropout without training": (lambda x: F.dropout(x, 0.5, False), numbers(3, 4)),
    "rrelu without training": (lambda x: F.rrelu(x - 0.5), numbers(3, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_each_example_by_itself(name):
    f, x = CASES[name]
    direction = torch.cos(torch.arange(x.numel(), dtype=D)).reshape(x.shape)

    def loss(v):
        made = f(v)
        return (made**2 * (1 + torch.arange(made.numel(), dtype=D).reshape(made.shape))).sum()

    def twice(v, t):
        return jvp(grad(loss), (v,), (t,))[1]

    want = torch.stack([grad(loss)(v) for v in x])
    assert want.any() and torch.allclose(vmap(grad(loss))(x), want)
    leaf = x.clone().requires_grad_()
    vmap(loss)(leaf).sum().backward()
    assert torch.allclose(leaf.grad, want)
    along = (want * direction).flatten(1).sum(1)
    assert torch.allclose(vmap(lambda v, t: jvp(loss, (v,), (t,))[1])(x, direction), along)
    assert torch.allclose(jvp(vmap(loss), (x,), (direction,))[1], along)
    assert torch.allclose(
        vmap(twice)(x, direction), torch.stack([twice(v, t) for v, t in zip(x, direction, strict=True)]), rtol=1e-5, atol=1e-7
    )


def test_reflected_borders():
    x = torch.ones(2, 1, 3, requires_grad=True)
    made = vmap(lambda t: F.pad(t, (1, 1), mode="reflect"))(x)
    made.sum().backward()
    assert x.grad.tolist() == [[[1, 3, 1]]] * 2


def test_only_random_operators_are_rejected():
    x = torch.ones(2, 1, 5, 5)
    for f in (lambda t: F.dropout(t, 0.5), lambda t: F.fractional_max_pool2d(t, 2, 2)):
        with pytest.raises(RuntimeError, match="randomness error mode"):
            vmap(f)(x)
    same = vmap(lambda t: F.dropout(t, 0.5), randomness="same")(torch.ones(8, 16))
    assert (same == same[0]).all() and same.unique().tolist() == [0, 2]
    different = vmap(lambda t: F.dropout(t, 0.5), randomness="different")(torch.ones(8, 16))
    assert different.unique(dim=0).shape[0] > 1


def test_tangents_of_random_batch_elements():
    x = torch.ones(8, 16)
    for mode in ("same", "different"):
        value, slope = vmap(lambda t: jvp(lambda v: F.dropout(v, 0.5), (t,), (3 * t,)), randomness=mode)(x)
        assert torch.equal(slope, 3 * value)
    value, slope = vmap(lambda k: jvp(lambda v: F.dropout(v, 0.5) + 0 * k, (x[0],), (3 * x[0],)), randomness="different")(torch.zeros(8, 1))
    assert torch.equal(slope, 3 * value)


@pytest.mark.parametrize("sizes", [(4,), (4, 2), (2, 4), (2, 4, 3)])
@pytest.mark.parametrize("weights", [(3, 1), (3,), (3, 4)])
def test_gradients_of_prelu_whose_weight_alone_is_mapped_over(sizes, weights):
    channels = sizes[1] if len(sizes) > 1 else 1
    if weights == (3, 4) and channels != 4:
        weights = (3, channels)
    x, w = torch.randn(sizes), torch.randn(weights)
    got = grad(lambda w: vmap(lambda w: F.prelu(x, w))(w).sin().sum())(w)
    want = torch.stack([grad(lambda w: F.prelu(x, w).sin().sum())(row) for row in w])
    assert torch.allclose(got, want)


def test_ctc_loss_with_lengths_in_tensors():
    logs = torch.randn(3, 8, 2, 4).log_softmax(-1)
    targets, steps, labels = torch.tensor([[1, 2], [3, 1]]), torch.tensor([8, 7]), torch.tensor([2, 1])
    for reduction in ("none", "mean", "sum"):

        def f(logs, steps=steps, reduction=reduction):
            return F.ctc_loss(logs, targets, steps, labels, reduction=reduction)

        assert torch.allclose(vmap(f)(logs), torch.stack([f(row) for row in logs]))
        assert torch.allclose(
            vmap(grad(lambda x, f=f: f(x).sum()))(logs), torch.stack([grad(lambda x, f=f: f(x).sum())(row) for row in logs])
        )
        mapped = torch.stack([steps, steps - 1, steps - 2])
        assert torch.allclose(vmap(f)(logs, mapped), torch.stack([f(row, n) for row, n in zip(logs, mapped, strict=True)]))


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_sequences_between_mapped_numbers(name):
    made, ends = getattr(torch, name), torch.tensor([0.5, 2.0])
    for f in (lambda x: made(x, x + 1, 4), lambda x: made(x, 3, 4), lambda x: made(0, x, 4), lambda x: made(x, torch.tensor(3.0), 4)):
        assert torch.allclose(vmap(f)(ends), torch.stack([f(x) for x in ends]))


JACOBIANS = {
    "product": lambda x: torch.tanh(x @ x.mT),
    "convolution": lambda x: F.conv2d(x.reshape(1, 1, 3, 4), torch.ones(2, 1, 2, 2)).sin(),
    "embedding": lambda x: F.embedding(torch.tensor([2, 0, 2]), x) ** 2,
    "index": lambda x: x[torch.tensor([2, 0, 2])] * x.sum(),
    "in place": lambda x: (x * 1).mul_(x).index_add_(0, torch.tensor([0]), x[1:2]),
    "losses": lambda x: F.cross_entropy(x, torch.tensor([1, 0, 3]), reduction="none"),
    "normalization": lambda x: F.layer_norm(x, (4,)),
    "sorting": lambda x: x.sort(-1)[0] * x,
    "inverse": lambda x: torch.linalg.inv(x @ x.mT + torch.eye(3)),
    "scalar": lambda x: x.prod(),
    "several": lambda x: (x.sin(), {"sum": x.sum(0)}),
    "unused": lambda x: torch.ones(2, 3),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_rows_of_jacobians_in_chunks_of_any_size(name):
    x = torch.arange(12.0).reshape(3, 4).sin()
    f = JACOBIANS[name]
    want = leaves(jacfwd(f)(x))
    for chunk in (None, 1, 2, 5, 1000):
        got = leaves(jacrev(f, chunk_size=chunk)(x))
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(got, want, strict=True))
    hessian = jacrev(jacrev(lambda x: sum(t.sin().sum() for t in leaves(f(x)))), chunk_size=3)(x)
    assert torch.allclose(hessian, jacfwd(jacfwd(lambda x: sum(t.sin().sum() for t in leaves(f(x)))))(x), atol=1e-4)
