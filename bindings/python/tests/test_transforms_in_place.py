"""In-place writes through views and to their bases inside nested transforms: random programs, whose derivatives are those of reverse
mode."""

import random

import pytest

import libtensor as torch
from libtensor.func import grad, hessian, jacfwd, jacrev, jvp, vmap

X = torch.tensor([0.5, 1.5, -0.7, 0.9], dtype=torch.float64)
V = torch.tensor([1.0, 0.5, -1.0, 2.0], dtype=torch.float64)
EXAMPLES, TANGENTS = torch.stack([X, X * 1.3, X - 0.2]), torch.stack([V, V * 0.5, V + 1])

BEGUN = (
    *(lambda x: x.clone(), lambda x: x * 0, torch.sin, torch.zeros_like, lambda x: torch.ones_like(x) * 0.5, lambda x: x.new_zeros(4)),
    *(lambda x: x.detach().clone(), lambda x: x.expand(2, 4).clone()),
)
VIEWS = (
    *(
        lambda r, x: r[:1],
        lambda r, x: r[1:],
        lambda r, x: r[::2],
        lambda r, x: r.reshape(2, -1) if r.numel() % 2 == 0 else r[1:],
        lambda r, x: r.unsqueeze(0),
        lambda r, x: r[..., 0],
    ),
    *(
        lambda r, x: r.mT if r.dim() == 2 else r.narrow(0, 0, 1),
        lambda r, x: r.diagonal() if r.dim() == 2 else r[:2],
        lambda r, x: r * x[1],
    ),
)
WRITES = (
    *(
        lambda r, x: r.mul_(x[0]),
        lambda r, x: r.add_(x[1] * x[2]),
        lambda r, x: r.copy_(x[0] * x[3]),
        lambda r, x: r.sub_(x.sum()),
        lambda r, x: r.mul_(r),
    ),
    *(
        lambda r, x: r.exp_(),
        lambda r, x: r.sin_(),
        lambda r, x: r.neg_(),
        lambda r, x: r.zero_(),
        lambda r, x: r.fill_(x[1]),
        lambda r, x: r.fill_(3),
    ),
    *(lambda r, x: r.masked_fill_(r > 0.4, x[1]), lambda r, x: r.addcmul_(x[0] * 1, x[1] * 1, value=2), lambda r, x: r.clamp_(-1, 1.2)),
    *(
        lambda r, x: r.__setitem__(0, x[0] * x[2]),
        lambda r, x: r.__setitem__(..., x[1]),
        lambda r, x: r.pow_(2),
        lambda r, x: r.lerp_(x[1] * r, 0.25),
    ),
    *(
        lambda r, x: r.index_fill_(0, torch.tensor([0]), x.prod()),
        lambda r, x: r.scatter_reduce_(0, torch.zeros_like(r, dtype=torch.int64), r * x[1], "prod"),
        lambda r, x: r.index_add_(0, torch.tensor([0]), r[:1] * x[1]),
    ),
)


def program(seed):
    """Returns a function of X: tensors, views and writes, in an order that depends on the seed."""
    rng = random.Random(seed)
    steps = [
        (rng.choice(VIEWS), rng.random(), True) if rng.random() < 0.4 else (rng.choice(WRITES), rng.random(), False)
        for _ in range(rng.randint(2, 6))
    ]
    begin = rng.choice(BEGUN)

    def run(x):
        made = [begin(x)]
        for step, chosen, views in steps:
            r = made[int(chosen * len(made))]
            if r.dim() and r.numel() > 1:
                made += [step(r, x)] if views else (step(r, x), ())[1]
        return x.sin().sum() + sum((r * (i + 2)).sin().sum() for i, r in enumerate(made))

    return run


def programs(count):
    """Returns the first programs that do not overwrite saved values."""
    seed = 0
    while count:
        seed += 1
        f = program(seed)
        try:
            hessian(f)(X)
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
            continue
        count -= 1
        yield seed, f


def directional(f):
    """The derivative in the direction of V, of which the gradient is the Hessian's product with it."""
    return lambda x: (grad(f)(x) * V).sum()


NESTS = {
    "jvp": (lambda f: jvp(f, (X,), (V,))[1], lambda f: directional(f)(X)),
    "jvp of jvp": (lambda f: jvp(lambda x: jvp(f, (x,), (V,))[1], (X,), (V,))[1], lambda f: grad(directional(f))(X) @ V),
    "jvp of grad": (lambda f: jvp(grad(f), (X,), (V,))[1], lambda f: grad(directional(f))(X)),
    "grad of jvp": (lambda f: grad(lambda x: jvp(f, (x,), (V,))[1])(X), lambda f: grad(directional(f))(X)),
    "grad of jvp by the tangent": (lambda f: grad(lambda v: jvp(f, (X,), (v,))[1])(V), lambda f: grad(f)(X)),
    "vmap of grad": (lambda f: vmap(grad(f))(EXAMPLES), lambda f: torch.stack([grad(f)(x) for x in EXAMPLES])),
    "grad of vmap": (lambda f: grad(lambda x: vmap(f)(x).sum())(EXAMPLES), lambda f: torch.stack([grad(f)(x) for x in EXAMPLES])),
    "vmap of jvp": (
        lambda f: vmap(lambda x, v: jvp(f, (x,), (v,))[1])(EXAMPLES, TANGENTS),
        lambda f: torch.stack([grad(f)(x) @ v for x, v in zip(EXAMPLES, TANGENTS, strict=True)]),
    ),
    "vmap of jvp by the tangents": (lambda f: vmap(lambda v: jvp(f, (X,), (v,))[1])(TANGENTS), lambda f: TANGENTS @ grad(f)(X)),
    "jvp of vmap": (
        lambda f: jvp(vmap(f), (EXAMPLES,), (TANGENTS,))[1],
        lambda f: torch.stack([grad(f)(x) @ v for x, v in zip(EXAMPLES, TANGENTS, strict=True)]),
    ),
    "jacfwd": (lambda f: jacfwd(f)(X), lambda f: grad(f)(X)),
    "jacfwd of grad": (lambda f: jacfwd(grad(f))(X), lambda f: hessian(f)(X)),
}


@pytest.mark.slow
@pytest.mark.parametrize("nest", NESTS)
def test_derivatives_are_those_of_reverse_differentiation(nest):
    nested, plain = NESTS[nest]
    for seed, f in programs(60):
        got, want = nested(f), plain(f)
        assert torch.allclose(got, want, rtol=1e-9, atol=1e-9), f"program {seed}: {got} is not {want}"


def test_jacobians_of_jacobians():
    def f(x):
        r = x.clone()
        r[:2].mul_(x[0])
        return (r * x).sin().sum()

    for outer in (jacfwd, jacrev):
        for inner in (jacfwd, jacrev, grad):
            assert torch.allclose(outer(inner(f))(X), hessian(f)(X))


def test_writes_of_tensors_with_tangents_reach_those_that_see_the_memory():
    def f(x):
        base = torch.zeros(4, dtype=x.dtype)
        first, last = base[:2], base.view(2, 2)[1]
        first.copy_(x[:2])
        return base * 2, last + first

    value, tangent = jvp(f, (X,), (V,))
    assert value[0].tolist() == [1, 3, 0, 0] and tangent[0].tolist() == [2, 1, 0, 0] and tangent[1].tolist() == [1, 0.5]


def test_memory_that_is_seen_as_another_dtype_gets_no_tangent():
    def f(x):
        base = torch.zeros(4, dtype=x.dtype)
        seen = base.view(torch.int64)
        base[:2].copy_(x[:2])
        return base, seen

    with pytest.raises(RuntimeError, match="a tensor of sizes .* without a tangent, whose memory is shared with tensors of another dtype"):
        jvp(f, (X,), (V,))


def doubled(x):
    y = x * 1
    y[0].mul_(2)
    return y


ONES = torch.ones(2, 2)
DOUBLED = [[2.0, 2.0], [1.0, 1.0]]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_views_of_tangents_are_written_for_any_mapped_dimension(dim):
    x = torch.ones(2, 2, 2)
    assert vmap(lambda x: jvp(doubled, (x,), (ONES,))[1], in_dims=dim)(x)[0].tolist() == DOUBLED
    assert vmap(lambda x, t: jvp(doubled, (x,), (t,))[1], in_dims=(dim, 0))(x, x)[0].tolist() == DOUBLED
    assert vmap(lambda x: jvp(doubled, (x,), (ONES,))[1], in_dims=dim)(x.permute(2, 0, 1))[1].tolist() == DOUBLED
    assert torch.equal(vmap(jacfwd(doubled), in_dims=dim)(x)[0], jacfwd(doubled)(ONES))


@pytest.mark.parametrize(
    "write", [lambda v: v.sin_(), lambda v: v.tanh_(), lambda v: v.masked_fill_(v > 0.2, 3), lambda v: v.mul_(v.clone())]
)
def test_a_tangent_that_all_batch_elements_share_is_written_to_through_views(write):
    def f(x):
        write(x[0])
        return x * 2

    x = torch.arange(8.0).reshape(2, 2, 2) / 10
    want = torch.stack([jvp(f, (row.clone(),), (ONES,))[1] for row in x])
    assert torch.allclose(vmap(lambda x: jvp(f, (x * 1,), (ONES,))[1])(x), want)
    assert torch.allclose(vmap(lambda x: jvp(f, (x,), (ONES,))[1])(x.clone()), want)


REJECTED = {
    "mul_": lambda x, w: x.mul_(w),
    "add_": lambda x, w: x.add_(w),
    "copy_": lambda x, w: x.copy_(w),
    "sub_": lambda x, w: x.sub_(w, alpha=2),
    "lerp_": lambda x, w: x.lerp_(w, 0.5),
    "addcmul_": lambda x, w: x.addcmul_(w, w),
    "index_add_": lambda x, w: x.index_add_(0, torch.tensor([5]), w),
    "out of another dtype": lambda x, w: torch.sin(w, out=torch.zeros(2, dtype=torch.int64)),
    "out of other sizes": lambda x, w: torch.mul(w, w, out=x),
    "masked_fill_": lambda x, w: x.masked_fill_(torch.tensor([True, False, True]), w.sum()),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_rejected_write_leaves_no_tangent(name):
    x = torch.zeros(())

    def f(w):
        view = x.view(1)
        with pytest.raises((RuntimeError, IndexError)):
            REJECTED[name](x, w)
        assert all(torch.autograd.forward_ad.unpack_dual(t).tangent is None for t in (x, view)) and x.item() == 0
        return w

    jvp(f, (torch.ones(2),), (torch.ones(2),))


@pytest.mark.parametrize("name", ["addmm", "addmv", "addr", "addbmm", "baddbmm"])
def test_an_out_with_a_tangent_loses_it_to_operands_without(name):
    sizes = {
        "addmm": ((2, 2), (2, 3), (3, 2)),
        "addmv": ((2,), (2, 3), (3,)),
        "addr": ((2, 3), (2,), (3,)),
        "addbmm": ((2, 2), (4, 2, 3), (4, 3, 2)),
        "baddbmm": ((4, 2, 2), (4, 2, 3), (4, 3, 2)),
    }[name]
    operands = [torch.ones(size) for size in sizes]
    want = getattr(torch, name)(*operands)

    def f(out):
        out = out * 1
        getattr(torch, name)(*operands, out=out)
        return out

    value, tangent = jvp(f, (torch.ones_like(want),), (torch.ones_like(want),))
    assert torch.equal(value, want) and torch.equal(tangent, torch.zeros_like(want))


def test_index_put_of_nested_maps_has_gradients():
    def f(x, w):
        r = torch.ones_like(x)
        r.index_put_((torch.tensor([0]),), x[0])
        return (r * w).sum()

    def mapped(x, w):
        return grad(lambda x: vmap(f, in_dims=(0, None))(x, w).sum())(x)

    x, w = torch.arange(6.0).reshape(3, 2), torch.tensor([[1.0, 5.0], [2.0, 5.0]])
    assert vmap(mapped, in_dims=(None, 0))(x, w).tolist() == [[[1, 0]] * 3, [[2, 0]] * 3]
