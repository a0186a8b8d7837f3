"""vmap: the results of a function for a batch are those of a loop, for any nesting and contents."""

import contextlib
import signal
import threading
from collections import defaultdict, deque

import pytest

import libtensor as torch
from libtensor.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

B = 3
torch.manual_seed(0)
X = torch.rand(B, 4, 4, dtype=torch.float64) + 0.5
V = torch.rand(B, 4, dtype=torch.float64) + 0.5
S = torch.rand(B, dtype=torch.float64) + 0.5
Y = torch.rand(4, 4, dtype=torch.float64) + 0.5
W = torch.rand(4, dtype=torch.float64) + 0.5
AT = torch.tensor([2, 0, 1])
ROWS = torch.tensor([[0, 1], [2, 2], [3, 0]])


def then(make, change):
    made = make
    change(made)
    return made


def assigns(t, index, value):
    t[index] = value
    return t


# Functions of one batch element, with their arguments.
SMOOTH = {
    "add": (lambda a: a + Y, X),
    "ranks": (lambda a, b: a * b / (a + b), X, V),
    "numbers": (lambda a: 2 * a - 1 / a, X),
    "of numbers": (lambda s: s * W + s.exp(), S),
    "sum": (lambda a: a.sum(), X),
    "sum of a number": (lambda s: s.sum() * s.mean(0), S),
    "sum over dims": (lambda a: a.sum(-1, keepdim=True) * a.sum((0, 1)), X),
    "mean": (lambda a: a.mean(0) + a.mean(), X),
    "var": (lambda a: a.var(0) + a.std(), X),
    "norm": (lambda a: a.norm() + torch.linalg.vector_norm(a, 3, dim=0), X),
    "amax": (lambda a: a.amax(1), X),
    "max": (lambda a: a.max() + a.max(0).values, X),
    "prod": (lambda a: a.prod() + a.prod(1), X),
    "logsumexp": (lambda a: a.logsumexp(0), X),
    "softmax": (lambda a: a.softmax(-1) * a.log_softmax(0), X),
    "matmul": (lambda a: a @ Y @ a, X),
    "matmul by what is the same": (lambda a: Y @ a.mT, X),
    "matrix and vector": (lambda a, b: a @ b + b @ a, X, V),
    "dot": (lambda b: b @ b + W.dot(b) + torch.vdot(b, W), V),
    "outer": (lambda b: torch.outer(b, W), V),
    "bmm": (lambda a: torch.bmm(a[None], Y[None]), X),
    "addmm": (lambda a: torch.addmm(W, a, Y) + torch.addmm(a, Y, a, beta=2), X),
    "einsum": (lambda a: torch.einsum("ij,jk->ik", a, Y), X),
    "transposes": (lambda a: a.t() @ a.T + a.mT.transpose(0, -1), X),
    "reshapes": (lambda a: a.t().reshape(16) * a.flatten() + a.view(2, -1).sum(), X),
    "permute": (lambda a: a[None].permute(2, 0, -2), X),
    "unsqueeze": (lambda a: a.unsqueeze(-1) * a.unsqueeze(0) + a[None].squeeze(0)[None].squeeze(), X),
    "pieces": (lambda a: a.select(1, -1) * a[0] + a[:, 1] * a[..., None, 0].squeeze() + a.narrow(0, 1, 1).ravel(), X),
    "index": (lambda a: a[AT] @ a[:, AT], X),
    "index after a number": (lambda a: a[0, AT], X),
    "index of its own": (lambda a, i: a[i] + a[:, i].mT, X, ROWS),
    "expand": (lambda a: a.expand(2, 4, 4), X),
    "split": (lambda a: a.split(2)[0] * a.chunk(2)[1] + a.hsplit(2)[0].reshape(2, 4), X),
    "diagonal": (lambda a: a.diagonal() * a.trace(), X),
    "cat": (lambda a: torch.cat([a, Y]) * torch.stack([a, Y], 1).reshape(8, 4), X),
    "where": (lambda a: torch.where(a > 1, a, 0.0).masked_fill(a > 1.2, 1.0), X),
    "cumsum": (lambda a: a.cumsum(0) * a.flip(0).roll(1, 0), X),
    "sort": (lambda a: a.sort(0).values + a.topk(4).values, X),
    "gather": (lambda b, i: b.gather(0, i), V, ROWS),
    "scatter": (lambda b: torch.zeros(4, dtype=b.dtype).scatter(0, torch.tensor([1, 0, 2, 3]), b), V),
    "tril": (lambda a: a.tril() @ a.triu(), X),
    "inverse": (lambda a: (a + 4 * torch.eye(4)).inverse(), X),
    "det": (lambda a: torch.linalg.det(a), X),
    "solve": (lambda a, b: torch.linalg.solve(a + 4 * torch.eye(4), b), X, V),
    "cholesky": (lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(4)), X),
    "fft": (lambda a: torch.fft.fft(a).real, X),
    "complex": (lambda b: torch.view_as_real(torch.complex(b, 2 * b)).sum(0) + torch.complex(b, b).abs().sum(), V),
    "in place": (lambda a: a.clone().add_(1).mul_(Y), X),
    "through a view": (lambda a: then(a.clone(), lambda c: c[0].mul_(5)), X),
    "assignment": (lambda a, b: assigns(assigns(a.clone(), (slice(None), 0), 9.0), 1, b), X, V),
    "copy_": (lambda a, b: torch.zeros_like(a).copy_(b) * a, X, V),
    "cross": (lambda a: torch.linalg.cross(a[:3, 0], W[:3]), X),
    "cdist": (lambda a: torch.cdist(a, Y), X),
    "median": (lambda a: a.median() + a.quantile(0.3), X),
    "repeat": (lambda a: a.repeat(2, 1).tile(2), X),
    "float32": (lambda a: a.float().double(), X),
}
NO_DIMS = ("any", "all", "sum", "nansum", "mean", "amax", "amin", "std", "count_nonzero", "logsumexp")
EXACT = {
    "argmax": (lambda a: (a.argmax(), a.argmax(1, keepdim=True), a.max(0).indices), X),
    "any": (lambda a: ((a > 1).any(), (a > 0).all(0)), X),
    "a list of no dims": (lambda a: [getattr(a > 1 if f in ("any", "all") else a, f)(dim=[]) for f in NO_DIMS], X),
    "a list of no dims of a number": (lambda s: [getattr(s, f)(dim=[], keepdim=True) for f in ("any", "all", "amax")], S),
    "rows of a table": (lambda i: Y[i], ROWS),
    "a number of another dtype": (lambda s: s + torch.ones(2), S),
    "an integer of another dtype": (lambda s: s * torch.arange(3), torch.tensor([1, 2, 3], dtype=torch.int8)),
    "histogram": (lambda a: torch.histc(a, 4, 0, 2), X),
    "searchsorted": (lambda b: torch.searchsorted(W.sort().values, b), V),
    "a dict": (lambda a: {"sum": a.sum(), "rest": [a, (a[0],)]}, X),
    "isnan": (lambda a: a.isnan(), X),
    "sizes": (lambda a: a.new_zeros(2) + a.numel() + a.dim() + a.shape[1], X),
}


def flat(r):
    if isinstance(r, dict):
        r = tuple(r.values())
    return [t for part in r for t in flat(part)] if isinstance(r, (tuple, list)) else [r]


def loop(f, *args):
    return [torch.stack(column) for column in zip(*[flat(f(*[a[i] for a in args])) for i in range(B)], strict=True)]


def same(got, want):
    got, want = flat(got), flat(want)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        assert torch.allclose(g, w, rtol=1e-9, atol=1e-9) if w.is_floating_point() or w.is_complex() else torch.equal(g, w)


def number(f):
    return lambda *args: sum((t * (t + 1)).sum() for t in flat(f(*args)))


@pytest.mark.parametrize("name", [*SMOOTH, *EXACT])
def test_the_result_equals_that_of_a_loop(name):
    f, *args = {**SMOOTH, **EXACT}[name]
    same(vmap(f)(*args), loop(f, *args))
    same(vmap(f, in_dims=-1)(*(a.movedim(0, -1) for a in args)), loop(f, *args))


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_inside_and_outside(name):
    f, *args = SMOOTH[name]
    f = number(f)
    want = loop(grad(f), *args)
    same(vmap(grad(f))(*args), want)
    same(grad(lambda *a: vmap(f)(*a).sum())(*args), want)


@pytest.mark.parametrize("name", ["ranks", "softmax", "matmul", "in place", "inverse", "index of its own", "prod", "var"])
def test_products_inside_and_outside(name):
    f, x, *rest = SMOOTH[name]
    t = torch.rand_like(x)
    want = loop(lambda x, t, *r: jvp(lambda x: f(x, *r), (x,), (t,))[1], x, t, *rest)
    same(vmap(lambda x, t, *r: jvp(lambda x: f(x, *r), (x,), (t,))[1])(x, t, *rest), want)
    same(jvp(lambda x: vmap(f)(x, *rest), (x,), (t,))[1], want)
    of_gradient = loop(lambda x, t, *r: jvp(lambda x: grad(number(f))(x, *r), (x,), (t,))[1], x, t, *rest)
    same(vmap(lambda x, t, *r: jvp(lambda x: grad(number(f))(x, *r), (x,), (t,))[1])(x, t, *rest), of_gradient)
    step = 1e-6
    differences = (vmap(grad(number(f)))(x + step * t, *rest) - vmap(grad(number(f)))(x - step * t, *rest)) / (2 * step)
    assert torch.allclose(flat(of_gradient)[0], differences, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "float32"])
def test_rows_of_a_jacobian(name):
    """Gradients alone are mapped over, and the graph is one for all rows."""
    f, x, *rest = SMOOTH[name]
    x, rest = x[0].clone().requires_grad_(), [r[0] for r in rest]
    y = number(f)(x, *rest) * f(x, *rest)
    basis = torch.rand(3, *y.shape, dtype=y.dtype)
    want = torch.stack([torch.autograd.grad(y, x, b, retain_graph=True)[0] for b in basis])
    same(vmap(lambda b: torch.autograd.grad(y, x, b, retain_graph=True)[0])(basis), want)
    again = vmap(lambda b: torch.autograd.grad(y, x, b, create_graph=True)[0])(basis)
    same(again.detach(), want)
    seconds = torch.autograd.grad(again.sum(), x)[0]
    slopes = [torch.autograd.grad(number(f)(x, *rest) * f(x, *rest), x, b, create_graph=True)[0] for b in basis]
    same(seconds, sum(torch.autograd.grad(slope.sum(), x)[0] for slope in slopes))


def test_gradients_of_unbatched_tensors():
    """Each example has its own."""
    loss = lambda w, x: (w @ x).sin().sum()  # noqa: E731
    same(vmap(grad(loss), in_dims=(None, 0))(Y, V), loop(lambda x: grad(loss)(Y, x), V))
    gradient, value = vmap(grad_and_value(loss, argnums=(0, 1)), in_dims=(None, 0))(Y, V)
    same(gradient[0], loop(lambda x: grad(loss)(Y, x), V))
    same(value, loop(lambda x: loss(Y, x), V))


def test_second_derivatives():
    f = lambda x: (x**3).sum() * x.prod()  # noqa: E731
    same(vmap(hessian(f))(V), loop(hessian(f), V))
    same(vmap(jacrev(grad(f)))(V), loop(hessian(f), V))
    same(vmap(jacfwd(torch.sin))(V), loop(jacrev(torch.sin), V))
    outer = grad(lambda w: vmap(lambda x: (grad(lambda y: (y * w).sin().sum())(x) ** 2).sum())(V).sum())
    step = 1e-6
    g = lambda w: vmap(lambda x: (grad(lambda y: (y * w).sin().sum())(x) ** 2).sum())(V).sum()  # noqa: E731
    assert torch.allclose(
        outer(W), torch.stack([(g(W + step * e) - g(W - step * e)) / (2 * step) for e in torch.eye(4, dtype=W.dtype)]), atol=1e-6
    )


def test_vectors_through_one_graph():
    """The graph is that of a function outside; the seeds are mapped over."""
    y, multiplied = vjp(lambda x: x.sin() @ Y, W)
    basis = torch.eye(4, dtype=W.dtype)
    same(vmap(lambda v: multiplied(v)[0])(basis), jacrev(lambda x: x.sin() @ Y)(W))
    x = X[0].clone().requires_grad_()
    z = (x * x).exp().sum(0)
    rows = vmap(lambda v: torch.autograd.grad(z, x, v, retain_graph=True)[0])(basis)
    same(rows, torch.stack([torch.autograd.grad(z, x, v, retain_graph=True)[0] for v in basis]))


@pytest.mark.parametrize("outer", [0, 1, 2])
@pytest.mark.parametrize("inner", [0, 1])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_positions_in_nests(outer, inner, out):
    f = lambda a, b: a.outer(b)  # noqa: E731
    x, y = torch.rand(2, 3, 5, dtype=torch.float64), torch.rand(4, dtype=torch.float64)
    got = vmap(vmap(f, in_dims=(inner, None), out_dims=out), in_dims=(outer, None))(x, y)
    want = torch.stack([torch.stack([f(b, y) for b in a.unbind(inner)], out) for a in x.unbind(outer)])
    same(got, want)


def test_both_levels_differ():
    got = vmap(lambda a: vmap(lambda b: a @ b + a.sum() * b)(V))(V)
    same(got, torch.stack([torch.stack([a @ b + a.sum() * b for b in V]) for a in V]))
    got = vmap(lambda a: vmap(lambda b: grad(lambda c: (c * a * b).sin().sum())(a))(V))(V)
    same(got, torch.stack([torch.stack([(a * a * b).cos() * a * b for b in V]) for a in V]))


def test_structures():
    f = lambda pair, w, k=1: {"x": pair[0] * k, "y": [pair[1] + w]}  # noqa: E731
    got = vmap(f, in_dims=((0, 0), None), out_dims={"x": 1, "y": [0]})((X, V), W, k=2)
    assert torch.equal(got["x"], 2 * X.movedim(0, 1)) and torch.equal(got["y"][0], V + W)
    assert torch.equal(vmap(lambda x: torch.ones(2), out_dims=1)(X), torch.ones(2, B))
    assert vmap(lambda x: (x, 7), out_dims=(0, None))(V)[1] == 7
    assert torch.equal(vmap(lambda x: W, out_dims=None)(X), W)
    assert vmap(lambda x: x.cumsum(0))(torch.zeros(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_chunks(chunk):
    sizes = []

    def f(a, b):
        sizes.append(1)
        return a @ b, b

    got = vmap(f, in_dims=(2, 0), out_dims=(0, 1), chunk_size=chunk)(X.movedim(0, 2), V)
    same(got, [torch.stack([a @ b for a, b in zip(X, V, strict=True)]), V.mT])
    assert len(sizes) == -(-B // chunk)


REJECTED = [
    (lambda: vmap(lambda x: x.sum().item())(X), RuntimeError, r"item: inside vmap: It looks like you're calling .item\(\)"),
    (lambda: vmap(lambda x: x if x.sum() > 0 else -x)(X), RuntimeError, "data-dependent control flow"),
    (lambda: vmap(lambda x: torch.zeros(4, 4).add_(x))(X), RuntimeError, "inplace arithmetic.* is not batched"),
    (lambda: vmap(lambda x: torch.randn(3) + x[0, :3])(X), RuntimeError, "random operation while in randomness error mode"),
    (lambda: vmap(lambda x: torch.rand_like(x))(X), RuntimeError, "random operation while in randomness error mode"),
    (lambda: vmap(lambda x: x.clone().normal_())(X), RuntimeError, "random operation while in randomness error mode"),
    (lambda: vmap(lambda x: x.nonzero())(X), RuntimeError, "nonzero: inside vmap: .*dynamic shape"),
    (lambda: vmap(lambda x: x[x > 1])(X), RuntimeError, "indexing with a boolean mask"),
    (lambda: vmap(lambda x: torch.unique(x))(X), RuntimeError, "dynamic shape"),
    (lambda: vmap(lambda x: 1)(X), ValueError, "must only return Tensors, got type <class 'int'>"),
    (
        lambda: vmap(lambda x: x, in_dims=3)(V),
        ValueError,
        "Got in_dim=3 .* dimensionality 2 so expected in_dim to satisfy -2 <= in_dim < 2",
    ),
    (lambda: vmap(lambda x: x, in_dims=(0, 1))(V), ValueError, "in_dims is not compatible"),
    (lambda: vmap(lambda x, y: x)(V, V.mT), ValueError, r"same size in the mapped dimension, got sizes \[3, 4\]"),
    (lambda: vmap(lambda x: x, in_dims=None)(V), ValueError, "expected `in_dims` to be int or a"),
    (lambda: vmap(lambda x: x, in_dims=(None,))(V), ValueError, "at least one Tensor"),
    (lambda: vmap(lambda x: x, out_dims=5)(V), IndexError, "out of range"),
    (lambda: vmap(lambda x: x, out_dims=(0, 0))(V), ValueError, "out_dims is not compatible"),
    (lambda: vmap(lambda x: x, out_dims=None)(V), ValueError, "can not return a BatchedTensor when out_dim is None"),
    (lambda: vmap(lambda x: x)(3), ValueError, "We cannot vmap over non-Tensor arguments"),
    (lambda: vmap(lambda: 1)(), ValueError, "got no inputs"),
    (lambda: vmap(lambda x: x, randomness="some"), RuntimeError, "Only allowed values for randomness"),
    (lambda: vmap(lambda x: x, chunk_size=0), ValueError, "chunk_size should be None or greater than 0"),
    (lambda: vmap(lambda x: x.tolist())(X), (RuntimeError, NotImplementedError), "tolist|storage|data pointer"),
    (lambda: vmap(lambda x: x.data_ptr())(X), RuntimeError, "data pointer"),
    (lambda: vmap(lambda x: torch.add(x, x, out=torch.zeros(4)))(V), RuntimeError, "out="),
    (lambda: vmap(lambda x: x.unsqueeze_(7))(X.clone()), IndexError, "out of range"),
    (lambda: vmap(lambda x: x, out_dims="a")(V), ValueError, "`out_dims` must be an int, None or a python collection of ints"),
    (
        lambda: vmap(lambda x: torch.normal(x, x.abs()), randomness="same")(V),
        RuntimeError,
        "Vmap does not currently support same randomness with a batched tensor input",
    ),
    (lambda: vmap(lambda x: torch.zeros(4).bernoulli_(x))(V * 0), RuntimeError, "called random operation while in randomness error mode"),
    (
        lambda: vmap(lambda x: torch.zeros(4).bernoulli_(x), randomness="same")(V * 0),
        RuntimeError,
        "Vmap does not currently support same randomness with a batched tensor input",
    ),
    (
        lambda: vmap(lambda x: torch.zeros(4).bernoulli_(x), randomness="different")(V * 0),
        RuntimeError,
        "a Tensor `other` in extra_args that has more elements than `self`",
    ),
    (lambda: vmap(lambda x: x.resize_(2))(X.clone()), NotImplementedError, "tensors cannot be resized; use reshape"),
    (
        lambda: vmap(lambda x: torch.zeros(4).uniform_(), randomness="different")(X),
        RuntimeError,
        "Cannot ask for different inplace randomness on an unbatched tensor",
    ),
    (
        lambda: vmap(lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8))(X),
        NotImplementedError,
        "vmap is not implemented for quantized tensors",
    ),
    (
        lambda: vmap(lambda x: x.as_strided((2,), (1000,)))(X),
        RuntimeError,
        "outside of a batch element.*This is not supported inside of vmap",
    ),
    (lambda: vmap(lambda x: x)(X.to_sparse()), (RuntimeError, NotImplementedError), "sparse"),
    (lambda: vmap(lambda x: x)(V.rename("N", "C")), (RuntimeError, NotImplementedError), "named"),
    (
        lambda: vmap(lambda x: x)(torch.quantize_per_tensor(V.float(), 0.1, 0, torch.qint8)),
        (RuntimeError, NotImplementedError),
        "quantized",
    ),
    (lambda: vmap(lambda x: x.to_sparse())(X), (RuntimeError, NotImplementedError), "sparse"),
    (lambda: vmap(lambda x: x.view(3))(V), RuntimeError, "shape '?\\[3\\]"),
    (lambda: vmap(lambda x: x.transpose(0, 2))(X), IndexError, r"\[-2, 1\], but got 2"),
    (lambda: vmap(lambda x: x @ W[:3])(X), RuntimeError, "mat|size|shape"),
]


@pytest.mark.parametrize("case", range(len(REJECTED)))
def test_errors(case):
    call, error, words = REJECTED[case]
    with pytest.raises(error, match=words):
        call()
    assert torch.equal(vmap(lambda x: x + 1)(V), V + 1)  # nothing is left of it
    torch.rand(2)


def test_randomness():
    x = torch.zeros(50, 4)
    differ = vmap(lambda t: (torch.rand(4), torch.randn_like(t), t.clone().uniform_(), torch.randperm(4)), randomness="different")(x)
    for made in differ[:3]:
        assert made.shape == (50, 4) and len(made[:, 0].unique()) == 50
    same_ = vmap(lambda t: (torch.rand(4), torch.randn_like(t), t.clone().uniform_(), torch.randperm(4)), randomness="same")(x)
    for made in same_:
        assert made.shape == (50, 4) and torch.equal(made, made[:1].expand(50, 4))
    nested = vmap(lambda t: vmap(lambda u: torch.rand(2), randomness="same")(t), randomness="different")(torch.zeros(5, 3, 1))
    assert torch.equal(nested, nested[:, :1].expand(5, 3, 2)) and len(nested[:, 0, 0].unique()) == 5


def test_examples_that_there_is_no_memory_for():
    """An error is raised before they are computed one by one."""
    many = torch.zeros(1).expand(10**14)
    for f in (lambda t: torch.randn(2), lambda t: torch.multinomial(torch.ones(3), 2), lambda t: t.reshape(1).median(0)[0]):
        with pytest.raises(torch.OutOfMemoryError, match="not enough memory to allocate"):
            vmap(f, randomness="different")(many)
    assert vmap(lambda t: torch.randn(0, 3), randomness="different")(many).shape == (10**14, 0, 3)


def test_unbatched_tensors_draw_once():
    made = vmap(lambda t: torch.empty(2).uniform_() + t, randomness="same")(torch.zeros(5, 1))
    assert torch.equal(made, made[:1].expand(5, 2))


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_chunks_draw_the_same_numbers(chunk):
    made = vmap(lambda t: torch.rand(2) + t, randomness="same", chunk_size=chunk)(torch.zeros(5, 1))
    assert torch.equal(made, made[:1].expand(5, 2))
    after = torch.rand(2)
    assert not torch.equal(after, made[0])


def test_dicts_with_a_default_and_deques():
    given = defaultdict(list, x=X, v=deque([V], maxlen=1))
    got = vmap(lambda d: defaultdict(int, s=d["x"].sum(), v=deque([d["v"][0] * 2], 3)))(given)
    assert type(got) is defaultdict and got["none"] == 0 and torch.equal(got["s"], X.sum((1, 2)))
    assert type(got["v"]) is deque and got["v"].maxlen == 3 and torch.equal(got["v"][0], V * 2)
    assert grad(lambda d: d["v"][0].sum())(deque_of := {"v": deque([V])})["v"][0].shape == deque_of["v"][0].shape


def test_fills_with_a_number_for_each_example():
    n = torch.arange(3.0, dtype=torch.float64)
    assert torch.equal(vmap(lambda x, s: x.clone().fill_(s))(X, n), n[:, None, None].expand(3, 4, 4))
    assert torch.equal(vmap(lambda s: torch.fill(torch.ones(2, dtype=torch.int64), s))(n), n[:, None].expand(3, 2).long())
    assert torch.equal(vmap(grad(lambda s: (W.clone().mul(s).fill_(s) * 2).sum()))(n), torch.full((3,), 8.0, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="0-dim"):
        vmap(lambda x, s: x.clone().fill_(s))(X, V)


def test_sparse_operands_that_are_the_same_for_all():
    a = torch.tensor([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]], dtype=torch.float64).to_sparse()
    x = torch.rand(2, 3, 2, dtype=torch.float64)
    assert torch.equal(vmap(lambda t: torch.mm(a, t))(x), torch.stack([torch.mm(a, t) for t in x]))
    assert torch.equal(vmap(lambda t: torch.mv(a, t), in_dims=1)(x[0]), torch.stack([torch.mv(a, t) for t in x[0].mT]))
    assert torch.equal(vmap(lambda t: a.to_dense() * t)(x[..., :1]), a.to_dense() * x[..., :1])


def test_operators_that_are_called_for_each_example_need_none():
    for f, sizes in ((torch.linalg.inv, (3, 3)), (lambda t: t.histc(5), (5,))):
        assert vmap(f)(torch.ones(0, 3, 3)).shape == (0, *sizes)
    assert vmap(lambda t: torch.linalg.slogdet(t)[1])(torch.ones(0, 3, 3)).shape == (0,)


def test_tensors_that_escape_their_transform_are_rejected():
    kept = []
    vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(RuntimeError, match="escaped from inside a function being vmapped"):
        kept[0] + 1
    with pytest.raises(RuntimeError, match="escaped"):
        kept[0].sum().item()
    assert kept[0].shape == (4, 4)


def test_an_error_inside_leaves_nothing():
    def wrong(x):
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError):
            vmap(lambda x: vmap(wrong)(x))(X)
    torch.rand(2)  # which would be rejected inside
    assert torch.equal(vmap(lambda x: x * 2)(X), 2 * X)


@pytest.mark.parametrize(
    "enter", [lambda f: vmap(f)(V), lambda f: jvp(lambda x: vmap(f)(x), (V,), (V,)), lambda f: vmap(lambda x: jvp(f, (x,), (x,)))(V)]
)
def test_a_signal_leaves_no_transform(enter):
    """Wherever the exception of a signal's handler comes, the thread is in no transform afterwards."""

    armed = True

    def interrupt(*_):
        if armed:  # a late signal has no receiver: it would end the test, or the test runner
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(400):
            armed = True
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 1e-6 * (1 + i))
                enter(lambda x: x.sin() * 2)
                armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            torch.rand(2)  # which would be rejected inside
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert torch.equal(vmap(lambda x: x * 2)(X), 2 * X)


def test_threads_have_separate_transforms():
    made, inside, done = [], threading.Event(), threading.Event()

    def other():
        inside.wait()
        made.append(torch.rand(2))
        made.append(vmap(lambda x: x * 2)(X))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def f(x):
        inside.set()
        assert done.wait(30)
        return x + 1

    assert torch.equal(vmap(f)(X), X + 1)
    thread.join()
    assert made[0].shape == (2,) and torch.equal(made[1], 2 * X)


def test_modes_inside_and_outside():
    x = X.clone().requires_grad_()

    def f(t):
        with torch.no_grad():
            k = t * 2
        assert t.requires_grad and not k.requires_grad
        return (t * k).sum()

    y = vmap(f)(x)
    y.sum().backward()
    assert torch.equal(x.grad, 2 * X)
    with torch.inference_mode():
        z = vmap(lambda t: t.sin().sum())(X)
    assert z.is_inference() and torch.equal(z, X.sin().sum((1, 2)))
    with torch.no_grad():
        assert not vmap(lambda t: t.sum())(x).requires_grad
    with torch.inference_mode():
        frozen = torch.ones(B, 2)
    assert torch.equal(vmap(lambda t: t + 1)(frozen), torch.full((B, 2), 2.0))


def test_in_place_calls_write_to_the_argument():
    x = X.clone()
    assert vmap(lambda t: t.mul_(2))(x).shape == x.shape
    assert torch.equal(x, 2 * X)
    x = X.clone()
    vmap(lambda t: t[0].zero_())(x)
    assert not x[:, 0].any() and torch.equal(x[:, 1:], X[:, 1:])
    x = X.clone()
    before = x._version
    with pytest.raises(RuntimeError, match="leaf Variable"):
        vmap(lambda t: t.mul_(2))(x.requires_grad_())
    assert torch.equal(x, X) and x._version == before


def test_functions_of_the_program():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod, which Double does not"):
        vmap(grad(lambda x: Double.apply(x).sum()))(X)
    with pytest.raises(NotImplementedError, match="register_hook inside vmap"):
        vmap(grad(lambda x: x.register_hook(lambda g: g) and x.sum()))(X)
    with pytest.raises(RuntimeError, match="backward\\(\\) called inside a functorch transform"):
        vmap(lambda x: x.requires_grad_().sum().backward())(X)
    seen = []
    x = X.clone().requires_grad_()
    x.register_hook(lambda g: seen.append(g.shape))
    vmap(lambda t: t.sum())(x).sum().backward()
    assert seen == [X.shape]
    w = W.clone().requires_grad_()
    with pytest.raises(NotImplementedError, match=r"inputs\[0\] is not batched, but its gradients are"):
        vmap(lambda t: torch.autograd.grad((t @ w).sum(), w)[0])(X)


def test_it_prints():
    said = []
    vmap(lambda t: said.append(repr(t)) or t)(torch.ones(2, 2))
    assert said == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 1.],\n            [1., 1.]])\n)"]
    vmap(vmap(lambda t: said.append(repr(t)) or t), in_dims=1)(torch.ones(1, 2, 1))
    assert said[1].startswith("BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[[1.]],")


def test_metadata_are_those_of_an_example():
    seen = []
    vmap(lambda t: seen.append((t.shape, t.stride(), t.is_contiguous(), t.dtype, t.device.type, t.numel())) or t, in_dims=1)(
        torch.zeros(2, 3, 4)
    )
    assert seen == [((2, 4), (12, 1), False, torch.float32, "cpu", 8)]


def test_steps_of_vmap_can_be_replaced():
    """Packages with batched classes of their own assign the functions of torch._functorch.vmap: tensordict does."""
    from libtensor._functorch import vmap as steps

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    def create(dims, args, level, spec):
        return [Pair(*(steps._add_batch_dim(t, 0, level) for t in (pair.a, pair.b))) for pair in args]

    def unwrap(output, out_dims, level, size, func):
        return Pair(*(steps._maybe_remove_batch_dim("f", t, level, size, out_dims) for t in (output.a, output.b)))

    before = steps._process_batched_inputs, steps._create_batched_inputs, steps._unwrap_batched
    x, y = torch.arange(6.0).reshape(3, 2), torch.ones(3)
    try:
        steps._unwrap_batched = lambda *args: before[2](*args)
        assert torch.vmap(lambda a, b: (a * b, {"s": a.sum()}), in_dims=(0, None))(x, y[0])[1]["s"].tolist() == [1, 5, 9]
        steps._process_batched_inputs = lambda dims, args, func: (3, [0], list(args), None)
        steps._create_batched_inputs, steps._unwrap_batched = create, unwrap
        made = torch.vmap(lambda p: Pair(p.a.sum() * p.b, p.b))(Pair(x, y))
    finally:
        steps._process_batched_inputs, steps._create_batched_inputs, steps._unwrap_batched = before
    assert made.a.tolist() == [1, 5, 9] and made.b.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="must only return Tensors"):
        steps._maybe_remove_batch_dim("f", 1, 1, 3, 0)


def test_results_beside_written_arguments_for_no_batch_elements():
    """The loop over batch elements has none to take the results' sizes from: they are not those of an argument that it writes to."""
    x = torch.rand(2, 3, 5, dtype=torch.float64)

    def normalize(mean, variance):
        return torch.native_batch_norm(x, None, None, mean, variance, False, 0.1, 1e-5)

    def add(x):
        x += 1
        return x

    for n in (0, 2):
        got = vmap(normalize)(torch.zeros(n, 3, dtype=torch.float64), torch.ones(n, 3, dtype=torch.float64))
        assert [r.shape for r in got] == [(n, 2, 3, 5), (n, 0), (n, 0)] and got[0].dtype == torch.float64
        assert vmap(lambda v: torch.batch_norm(x, None, None, v, v, False, 0.1, 1e-5, False))(torch.ones(n, 3).double()).shape == (
            n,
            2,
            3,
            5,
        )
        given = torch.zeros(n, 4)
        assert vmap(add)(given).data_ptr() == given.data_ptr() and given.tolist() == [[1.0] * 4] * n
