"""Writes in place, through views and to their bases, inside transforms that nest: programs at random, whose derivatives are those that
reverse differentiation alone gives."""

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
    *(lambda r, x: r.mT if r.dim() == 2 else r.narrow(0, 0, 1), lambda r, x: r.diagonal() if r.dim() == 2 else r[:2], lambda r, x: r * x[1]),
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
    """A function of X: tensors, views of them and writes to them, in an order that the seed tells."""
    rng = random.Random(seed)
    steps = [
        (rng.choice(VIEWS), rng.random(), True) if rng.random() < 0.4 else (rng.choice(WRITES), rng.random(), False) for _ in range(rng.randint(2, 6))
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
    """The first programs that write over nothing which a history needs."""
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

    with pytest.raises(RuntimeError, match="a tensor of sizes .* without a tangent, whose memory others see, of another dtype"):
        jvp(f, (X,), (V,))
