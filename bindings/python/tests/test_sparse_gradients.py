"""Sparse gradients of strided weights: how they are made, accumulated, seen by hooks and kept in `grad`."""

import copy
import io
import random
import threading

import pytest

import libtensor as torch
import libtensor.nn.functional as F
from libtensor import nn, optim
from libtensor.autograd import Function
from libtensor.autograd.gradcheck import GradcheckError, gradcheck
from libtensor.utils.checkpoint import checkpoint

ROWS, WIDTH = 6, 3
INDICES = torch.tensor([[1, 2, 1], [0, 5, 2]])
COUNTS = torch.tensor([1.0, 2, 2, 0, 0, 1])[:, None].expand(ROWS, WIDTH)


def weight(dtype=torch.float32):
    values = torch.arange(ROWS * WIDTH, dtype=torch.float64) * 7 % 11 / 4 - 1
    return values.reshape(ROWS, WIDTH).to(dtype).requires_grad_()


def picked(w, sparse=True):
    return F.embedding(INDICES, w, sparse=sparse).sum()


def dense(t):
    return t.to_dense() if t.is_sparse else t


# Uses of a weight by random numbers; with sparse=False the same function has a strided gradient.
USES = {
    "embedding": lambda r, w, sparse: F.embedding(some(r, 2, 4), w, sparse=sparse),
    "embedding of a scalar": lambda r, w, sparse: F.embedding(some(r)[()], w, sparse=sparse),
    "embedding of nothing": lambda r, w, sparse: F.embedding(some(r, 0, 2), w, sparse=sparse),
    "embedding padded": lambda r, w, sparse: F.embedding(some(r, 5), w, padding_idx=r.randrange(-ROWS, ROWS), sparse=sparse),
    "embedding by frequency": lambda r, w, sparse: F.embedding(some(r, 5), w, scale_grad_by_freq=True, sparse=sparse),
    "embedding of int32": lambda r, w, sparse: F.embedding(some(r, 3).int(), w, sparse=sparse),
    "bag sum": lambda r, w, sparse: F.embedding_bag(some(r, 2, 3), w, mode="sum", sparse=sparse),
    "bag mean padded": lambda r, w, sparse: F.embedding_bag(some(r, 3, 3), w, mode="mean", padding_idx=r.randrange(ROWS), sparse=sparse),
    "bag with offsets": lambda r, w, sparse: F.embedding_bag(some(r, 7), w, torch.tensor([0, 3, 3]), mode="sum", sparse=sparse),
    "bag weighted": lambda r, w, sparse: F.embedding_bag(
        some(r, 2, 3), w, mode="sum", per_sample_weights=torch.arange(6, dtype=w.dtype).reshape(2, 3), sparse=sparse
    ),
    "gather rows": lambda r, w, sparse: w.gather(0, some(r, 4, 2), sparse_grad=sparse),
    "gather columns": lambda r, w, sparse: torch.gather(w, -1, some(r, 3, 5, below=WIDTH), sparse_grad=sparse),
}
# The operations between a weight and its use.
CHAINS = {
    "itself": lambda w: w,
    "scaled": lambda w: w * 3,
    "exp": lambda w: w.exp(),
    "sin": lambda w: w.sin(),
    "times": lambda w: w * torch.arange(WIDTH, dtype=w.dtype),
    "plus": lambda w: 1 - w,
    "relu": lambda w: w.relu(),
    "view": lambda w: w.reshape(WIDTH, ROWS).reshape(ROWS, WIDTH),
    "transposed": lambda w: w.t().contiguous().t(),
    "flipped": lambda w: w.flip(0),
    "cat": lambda w: torch.cat([w[2:], w[:2]]),
    "stack": lambda w: torch.stack([w, w])[1],
    "rows": lambda w: w[torch.tensor([5, 4, 3, 2, 2, 0])],
    "expanded": lambda w: w[:1].expand(ROWS, WIDTH),
    "product": lambda w: w @ w[:WIDTH],
    "normalized": lambda w: w / w.norm(),
    "softmax": lambda w: w.softmax(1),
    "in place": lambda w: w.clone().mul_(2).add_(w),
    "in a view": lambda w: doubled_rows(w.clone()),
    "converted": lambda w: w.to(torch.float32).to(w.dtype),
    "function": lambda w: SparseTwice.apply(w),
    "checkpoint": lambda w: checkpoint(torch.tanh, w, use_reentrant=False),
}


def some(r, *sizes, below=ROWS):
    n = 1
    for size in sizes:
        n *= size
    return torch.tensor([r.randrange(below) for _ in range(n)], dtype=torch.int64).reshape(sizes)


def doubled_rows(w):
    w[1:3].mul_(2)
    return w


class SparseTwice(Function):
    """Twice a tensor; the gradient is sparse."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return (dense(grad) * 2).to_sparse()


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("chain", CHAINS)
def test_sparse_gradients_equal_strided_ones(use, chain):
    for seed in range(3):
        grads, seconds = [], []
        for sparse in (True, False):
            w, r = weight(torch.float64), random.Random(seed)
            y = USES[use](r, CHAINS[chain](w), sparse)
            y.pow(2).sum().backward(retain_graph=True)
            grads.append(dense(w.grad))
            if chain != "function":
                (g,) = torch.autograd.grad(y.pow(3).sum(), w, create_graph=True)
                seconds.append(dense(torch.autograd.grad(dense(g).pow(2).sum(), w, allow_unused=True, materialize_grads=True)[0]))
        torch.testing.assert_close(grads[0], grads[1])
        if seconds:
            torch.testing.assert_close(seconds[0], seconds[1])


@pytest.mark.parametrize("use", [name for name in USES if name != "embedding of a scalar"])
def test_direct_uses_have_sparse_gradients(use):
    w, x = weight(), weight()
    USES[use](random.Random(1), w, True).sum().backward()
    USES[use](random.Random(1), x, False).sum().backward()
    assert w.grad.layout is torch.sparse_coo and x.grad.layout is torch.strided
    assert w.grad.sparse_dim() == (2 if "gather" in use else 1) and w.grad.shape == w.shape and w.grad._indices().dtype is torch.int64
    torch.testing.assert_close(dense(w.grad), x.grad)


def test_entries_are_in_the_order_of_indices():
    w = weight()
    picked(w).backward()
    assert (
        not w.grad.is_coalesced() and w.grad._indices().tolist() == [[1, 2, 1, 0, 5, 2]] and w.grad._values().tolist() == [[1] * WIDTH] * 6
    )
    (g,) = torch.autograd.grad(F.embedding(INDICES, w, padding_idx=1, sparse=True).sum(), w)
    assert g._indices().tolist() == [[2, 0, 5, 2]]
    (g,) = torch.autograd.grad(w.gather(1, torch.tensor([[2, 0], [1, 1]]), sparse_grad=True).sum(), w)
    assert g._indices().tolist() == [[0, 0, 1, 1], [2, 0, 1, 1]] and not g.is_coalesced()


def test_modules_have_sparse_gradients():
    for module in (nn.Embedding(ROWS, WIDTH, sparse=True), nn.EmbeddingBag(ROWS, WIDTH, mode="sum", sparse=True)):
        module(INDICES).sum().backward()
        assert module.weight.grad.is_sparse and torch.equal(module.weight.grad.to_dense(), COUNTS)
        assert "sparse=True" in repr(module) or isinstance(module, nn.EmbeddingBag)
        module.double()
        assert module.weight.grad.is_sparse and module.weight.grad.dtype is torch.float64
    for message, options in (("sparse weights", {"sparse": True}), ("scaling the gradient", {"scale_grad_by_freq": True})):
        with pytest.raises(ValueError, match=f"max mode does not support {message}"):
            F.embedding_bag(INDICES, weight(), mode="max", **options)


def test_sparse_gradients_accumulate_in_place():
    w = weight()
    picked(w).backward()
    kept, detached = w.grad, w.grad.detach()
    picked(w).backward()
    assert w.grad is kept and torch.equal(kept.to_dense(), 2 * COUNTS)
    assert torch.equal(detached.to_dense(), COUNTS)  # an alias is another tensor
    w.sum().backward()  # a strided gradient makes the sum strided, in another tensor
    assert w.grad is not kept and torch.equal(w.grad, 2 * COUNTS + 1) and torch.equal(kept.to_dense(), 2 * COUNTS)
    strided = w.grad
    picked(w).backward()
    assert w.grad is strided and torch.equal(strided, 3 * COUNTS + 1)


def test_changes_of_the_stored_gradient_stay():
    w = weight()
    picked(w).backward()
    kept = w.grad
    w.grad.zero_()
    assert w.grad is kept and kept._nnz() == 0 and kept.is_coalesced()
    picked(w).backward()
    assert kept._nnz() == 6
    w.grad.add_(torch.eye(ROWS, WIDTH).to_sparse(1))
    assert torch.equal(kept.to_dense(), COUNTS + torch.eye(ROWS, WIDTH))
    w.grad.mul_(2).clamp_(max=3)
    assert torch.equal(w.grad.to_dense(), (2 * COUNTS + 2 * torch.eye(ROWS, WIDTH)).clamp(max=3)) and w.grad is kept
    del kept
    w.grad.copy_(torch.eye(ROWS, WIDTH).to_sparse(1))
    assert torch.equal(w.grad.to_dense(), torch.eye(ROWS, WIDTH))
    torch._foreach_zero_([w.grad])
    assert w.grad._nnz() == 0


@pytest.mark.parametrize(
    "zero", [lambda m: m.zero_grad(set_to_none=False), lambda m: optim.SGD(m.parameters(), 0.1).zero_grad(set_to_none=False)]
)
def test_zero_grad_removes_entries(zero):
    module = nn.Embedding(ROWS, WIDTH, sparse=True)
    for _ in range(3):
        picked(module.weight).backward()
        assert torch.equal(module.weight.grad.to_dense(), COUNTS)
        zero(module)
        assert module.weight.grad.is_sparse and module.weight.grad._nnz() == 0


def test_copies_have_separate_gradients():
    w = weight()
    picked(w).backward()
    copied = copy.deepcopy(w)
    w.grad.zero_()
    assert copied.grad.is_sparse and torch.equal(copied.grad.to_dense(), COUNTS)


def test_an_assigned_gradient_is_kept():
    w, given = weight(), torch.eye(ROWS, WIDTH).to_sparse(1)
    w.grad = given
    assert w.grad is given
    picked(w).backward()
    assert w.grad is given and torch.equal(given.to_dense(), COUNTS + torch.eye(ROWS, WIDTH))
    given.zero_()
    assert w.grad._nnz() == 0
    w.grad = None
    assert w.grad is None and given._nnz() == 0
    w.grad = torch.eye(ROWS, WIDTH).to_sparse_csr()  # of other layouts the strided gradient
    assert w.grad.layout is torch.strided and torch.equal(w.grad, torch.eye(ROWS, WIDTH))
    for wrong in (torch.eye(2).to_sparse(), torch.eye(ROWS, WIDTH, dtype=torch.float64).to_sparse()):
        with pytest.raises(RuntimeError, match="assigned grad has data of a different"):
            w.grad = wrong


def test_sums_within_a_backward_pass():
    w = weight()
    (picked(w) + F.embedding_bag(INDICES, w, mode="sum", sparse=True).sum()).backward()
    assert w.grad.is_sparse and w.grad._nnz() == 12 and torch.equal(w.grad.to_dense(), 2 * COUNTS)
    for mixed in (
        lambda w, sparse: picked(w, sparse) + w.sum(),
        lambda w, sparse: w.sum() + picked(w, sparse),
        lambda w, sparse: F.linear(F.embedding(INDICES, w, sparse=sparse), w).sum(),  # tied weights
    ):
        w, x = weight(), weight()
        mixed(w, True).backward()
        mixed(x, False).backward()
        assert w.grad.layout is torch.strided
        torch.testing.assert_close(w.grad, x.grad)


def test_autograd_grad_returns_sparse_gradients():
    w = weight()
    first, second = torch.autograd.grad(picked(w), [w, w])
    assert first.is_sparse and second.is_sparse and w.grad is None
    picked(w).backward(inputs=[w])
    assert w.grad.is_sparse
    assert torch.func.grad(picked)(w.detach()).is_sparse
    assert torch.func.vjp(lambda w: F.embedding(INDICES, w, sparse=True), w.detach())[1](torch.ones(2, 3, WIDTH))[0].is_sparse


def test_hooks_see_sparse_gradients():
    w, seen = weight(), []
    w.register_hook(lambda g: seen.append(g.layout))
    w.register_hook(lambda g: g * 2)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.layout))
    y = w * 1
    y.retain_grad()
    picked(y).backward()
    assert seen == [torch.sparse_coo] * 2 and torch.equal(w.grad.to_dense(), 2 * COUNTS)
    assert y.grad.is_sparse and torch.equal(y.grad.to_dense(), COUNTS)
    out = F.embedding(INDICES, w, sparse=True)
    out.grad_fn.register_hook(lambda made, given: seen.append((made[0].layout, given[0].layout)))
    out.sum().backward()
    assert (torch.sparse_coo, torch.strided) in seen


def test_a_given_gradient_stays_sparse():
    for function, slope in ((lambda x: x, 1), (lambda x: x * 2, 2), (torch.exp, 1)):
        x = torch.zeros(3, requires_grad=True)
        function(x).backward(torch.tensor([1.0, 0, 2]).to_sparse())
        assert x.grad.is_sparse and x.grad.to_dense().tolist() == [slope, 0, 2 * slope]


@pytest.mark.filterwarnings("ignore:backward. with create_graph")
def test_create_graph_and_backward_twice():
    w = weight(torch.float64)
    out = F.embedding(INDICES, w, sparse=True).pow(3).sum()
    (g,) = torch.autograd.grad(out, w, create_graph=True)
    assert g.is_sparse and g.requires_grad
    (h,) = torch.autograd.grad(g.to_dense().sum(), w, retain_graph=True)
    torch.testing.assert_close(dense(h), 6 * w.detach() * COUNTS)
    out.backward(create_graph=True)
    assert w.grad.requires_grad and w.grad.is_sparse
    w.grad = None
    out = picked(w * w)
    out.backward(retain_graph=True)
    out.backward()
    torch.testing.assert_close(dense(w.grad), 4 * w.detach() * COUNTS)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.backward()


def test_transforms_of_sparse_embeddings():
    w = weight(torch.float64).detach()

    def cubes(sparse):
        return lambda w: F.embedding(INDICES, w, sparse=sparse).pow(3).sum((0, 1))

    for transform in (
        lambda f: torch.func.jacrev(f)(w),
        lambda f: torch.func.jacfwd(f)(w),
        lambda f: torch.func.hessian(lambda w: f(w).sum())(w),
        lambda f: torch.func.jvp(f, (w,), (w * w,))[1],
        lambda f: torch.vmap(torch.func.grad(lambda w: f(w).sum()))(torch.stack([w, 2 * w])),
        lambda f: torch.vmap(lambda s: dense(torch.func.grad(lambda w: f(w * s).sum())(w)))(torch.tensor([1.0, 2.0], dtype=w.dtype)),
        lambda f: torch.autograd.functional.jacobian(f, w),
        lambda f: torch.func.jvp(torch.func.grad(lambda w: f(w).sum()), (w,), (w,))[1],
    ):
        torch.testing.assert_close(dense(transform(cubes(True))), transform(cubes(False)))


def test_batched_gradients():
    w = weight()
    out = F.embedding(INDICES, w, sparse=True)
    seeds = torch.arange(2.0)[:, None, None, None].expand(2, *out.shape)
    (made,) = torch.autograd.grad(out, w, seeds, is_grads_batched=True)
    assert torch.equal(dense(made), torch.stack([0 * COUNTS, COUNTS]))


@pytest.mark.filterwarnings("ignore:Error detected in")
def test_autocast_checkpoint_and_anomaly_mode():
    w = weight()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = F.embedding(INDICES, w, sparse=True)
        (made @ torch.ones(WIDTH, 2)).float().sum().backward()
    assert made.dtype is torch.float32 and w.grad.is_sparse and torch.equal(w.grad.to_dense(), 2 * COUNTS)
    for reentrant in (False, True):
        w.grad = None
        checkpoint(lambda w: F.embedding(INDICES, w, sparse=True) * 2, w, use_reentrant=reentrant).sum().backward()
        assert w.grad.is_sparse and torch.equal(w.grad.to_dense(), 2 * COUNTS)
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly():
        picked(w).backward()
        with pytest.raises(RuntimeError, match="'EmbeddingBackward0' returned nan values"):
            F.embedding(INDICES, w, sparse=True).backward(torch.full((2, 3, WIDTH), float("nan")))


def test_gradcheck_requires_gradients_of_the_layout_of_inputs():
    for masked in (False, True):
        with pytest.raises(GradcheckError, match=r"grad is incorrect layout \(torch.sparse_coo is not torch.strided\)"):
            gradcheck(lambda w: F.embedding(INDICES, w, sparse=True), (weight(torch.float64),), masked=masked)


def test_saved_and_clipped_gradients():
    w = weight()
    picked(w).backward()
    file = io.BytesIO()
    torch.save(w.grad, file)
    file.seek(0)
    assert torch.equal(torch.load(file).to_dense(), COUNTS)
    total = nn.utils.clip_grad_norm_([w], 0.5)
    torch.testing.assert_close(total, COUNTS.norm())
    torch.testing.assert_close(w.grad.to_dense(), COUNTS * 0.5 / COUNTS.norm())
    picked(w).backward()
    nn.utils.clip_grad_value_([w], 1.0)
    assert w.grad.is_sparse and w.grad.to_dense().max() == 1


def test_threads_accumulate_in_one_sparse_gradient():
    w, rounds = weight(), 20

    def work():
        for _ in range(rounds):
            picked(w).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(w.grad.to_dense(), 4 * rounds * COUNTS)
