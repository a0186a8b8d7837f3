"""Random nests of vmap, jvp, grad, vjp, jacfwd and jacrev around random programs of views, writes in place and computations, mapped over
any dimension of permuted inputs: they compute what a loop over the batch elements and reverse differentiation compute."""

import random

import pytest

import libtensor as torch
from libtensor import func
from libtensor.autograd import grad as gradients

DTYPE = torch.float64
SIZE = (2, 3)
BEGUN = (
    *(lambda x, w: x.clone(), lambda x, w: x * w, lambda x, w: w.clone(), lambda x, w: x.sin(), lambda x, w: torch.zeros_like(x)),
    *(lambda x, w: x.new_zeros(SIZE), lambda x, w: x.detach().clone(), lambda x, w: x.expand(2, *SIZE).clone(), lambda x, w: x.t().clone()),
    *(
        lambda x, w: torch.cat([x, w]),
        lambda x, w: torch.stack([x, w], 1),
        lambda x, w: x @ w.t(),
        lambda x, w: torch.zeros(SIZE, dtype=DTYPE) + x,
    ),
)
VIEWS = (
    *(
        lambda r: r[0],
        lambda r: r[..., -1],
        lambda r: r[1:],
        lambda r: r[..., ::2],
        lambda r: r.mT if r.dim() > 1 else r[:],
        lambda r: r.unsqueeze(-1),
    ),
    *(
        lambda r: r.diagonal() if r.dim() > 1 else r[:1],
        lambda r: r.transpose(0, -1),
        lambda r: r.movedim(0, -1),
        lambda r: r.narrow(0, 0, 1),
    ),
    *(
        lambda r: r.select(-1, 0),
        lambda r: r.unfold(0, 1, 1),
        lambda r: r.expand(2, *r.shape)[1],
        lambda r: r.view_as(r),
        lambda r: r.squeeze(),
    ),
)
WRITES = (
    *(
        lambda r, x, w: r.mul_(x[0, 0]),
        lambda r, x, w: r.add_(x[0, 0] * w[1, 1]),
        lambda r, x, w: r.copy_(x[0, 0] ** 2),
        lambda r, x, w: r.exp_(),
    ),
    *(
        lambda r, x, w: r.sub_(x.sum()),
        lambda r, x, w: r.mul_(2),
        lambda r, x, w: r.sin_(),
        lambda r, x, w: r.tanh_(),
        lambda r, x, w: r.zero_(),
    ),
    *(lambda r, x, w: r.fill_(x[1, 1]), lambda r, x, w: r.fill_(3), lambda r, x, w: r.masked_fill_(r > 0.4, 1.5), lambda r, x, w: r.neg_()),
    *(
        lambda r, x, w: r.masked_fill_(r > 0.4, x[0, 0]),
        lambda r, x, w: r.addcmul_(x[0, 0] * 1, w[1, 1] * 1, value=2),
        lambda r, x, w: r.cumsum_(0),
    ),
    *(lambda r, x, w: r.clamp_(-1, 1.2), lambda r, x, w: r.__setitem__(0, x[0, 0] * x[1, 1]), lambda r, x, w: r.__setitem__(..., w[1, 1])),
    *(lambda r, x, w: r.index_fill_(0, torch.tensor([0]), 2.5), lambda r, x, w: r.div_(2 + x[0, 0] ** 2), lambda r, x, w: r.sigmoid_()),
    *(
        lambda r, x, w: r.sub_(r.detach() * 0.5),
        lambda r, x, w: r.add_(w.sum()),
        lambda r, x, w: r.index_put_((torch.tensor([0]),), x[0, 0]),
    ),
)
COMPUTED = (
    *(
        lambda r, x: r * x[0, 0],
        lambda r, x: r.sin(),
        lambda r, x: r.cumsum(0),
        lambda r, x: r.softmax(-1),
        lambda r, x: torch.where(r > 0, r, r * x[0, 0]),
    ),
    *(lambda r, x: r.sum(0, keepdim=True) * r, lambda r, x: r.detach() * r, lambda r, x: r.flip(0), lambda r, x: torch.zeros_like(r)),
)


def program(rng):
    """Returns a function of x and w: tensors, views, writes to them and results computed from them."""
    begin = rng.choice(BEGUN)
    kinds = rng.choices((VIEWS, WRITES, COMPUTED), (40, 45, 15), k=rng.randint(2, 6))
    steps = [(kind, rng.choice(kind), rng.random()) for kind in kinds]

    def run(x, w):
        made = [begin(x, w)]
        for kind, step, chosen in steps:
            r = made[int(chosen * len(made))]
            if not r.dim() or not r.numel():
                continue
            if kind is WRITES:
                step(r, x, w)
            else:
                made.append(step(r) if kind is VIEWS else step(r, x))
        total = sum((r * (i + 2)).sin().sum() for i, r in enumerate(made))
        return (x * w).sin().sum(0) + total * torch.tensor([1.0, 2.0, -1.0], dtype=DTYPE)

    return run


# ------------------------------------------------------------------------------------------ transforms, and reference computations without
# levels


def separate(x):
    """x as a tensor that nothing else depends on."""
    return x.clone() if x.requires_grad else x.detach().clone().requires_grad_()


def derivative(outputs, inputs, vectors=None):
    if not outputs.requires_grad:
        return torch.zeros_like(inputs)
    (made,) = gradients(outputs, [inputs], vectors, create_graph=True, allow_unused=True)
    return torch.zeros_like(inputs) if made is None else made


def at(k, value, x, w):
    return (value, w) if k == 0 else (x, value)


def vmapped(g, dims, out, size, chunk):
    return lambda x, w: func.vmap(g, in_dims=dims, out_dims=out, chunk_size=chunk)(x, w)


def looped(g, dims, out, size, chunk):
    def one(t, d, i):
        return t if d is None else t.select(d, i)

    return lambda x, w: torch.stack([g(one(x, dims[0], i), one(w, dims[1], i)) for i in range(size)], out)


def pushed(g, k, tangent):
    return lambda x, w: func.jvp(lambda v: g(*at(k, v, x, w)), ((x, w)[k],), (tangent(x, w),))[1]


def pulled_twice(g, k, tangent):
    def run(x, w):
        own, slope = separate((x, w)[k]), tangent(x, w)
        value = g(*at(k, own, x, w))
        vector = torch.zeros_like(value).requires_grad_()
        return derivative((derivative(value, own, vector) * slope).sum(), vector)

    return run


def transposed(g, k):
    def run(x, w):
        value, multiplied = func.vjp(lambda v: g(*at(k, v, x, w)), (x, w)[k])
        return multiplied(torch.ones_like(value) / 2)[0]

    return run


def pulled(g, k):
    def run(x, w):
        own = separate((x, w)[k])
        value = g(*at(k, own, x, w))
        return derivative(value, own, torch.ones_like(value) / 2)

    return run


def contracted(jacobian, dims):
    return jacobian.flatten(dims).mul(0.1).sum(-1) if jacobian.dim() > dims else jacobian


def jacobians(transform):
    def of(g, k, chunk):
        keywords = {"chunk_size": chunk} if transform is func.jacrev else {}

        def run(x, w):
            made = transform(g, argnums=k, **keywords)(x, w)
            return contracted(made, made.dim() - (x, w)[k].dim())

        return run

    return of


def row_by_row(g, k, chunk):
    def run(x, w):
        own = separate((x, w)[k])
        value = g(*at(k, own, x, w))
        rows = [derivative(element, own) for element in value.reshape(-1).unbind()]
        return contracted(torch.stack(rows).reshape((*value.shape, *own.shape)), value.dim())

    return run


TRANSFORMS = {
    "vmap": (vmapped, looped),
    "jvp": (pushed, pulled_twice),
    "vjp": (transposed, pulled),
    "jacfwd": (jacobians(func.jacfwd), row_by_row),
    "jacrev": (jacobians(func.jacrev), row_by_row),
}


def values(rng, size):
    """A tensor whose dimensions are in any order in memory, at times with gaps between its elements."""
    order = rng.sample(range(len(size)), len(size))
    t = torch.empty([size[d] for d in order], dtype=DTYPE).permute([order.index(d) for d in range(len(size))])
    if rng.random() < 0.2:
        t = torch.empty([2 * n for n in size], dtype=DTYPE)[tuple(slice(None, None, 2) for _ in size)]
    return t.copy_(torch.tensor([rng.uniform(-1.2, 1.2) for _ in range(t.numel())], dtype=DTYPE).reshape(size))


def nest(rng):
    """Transforms from the innermost on, and the sizes of what the outermost is called with."""
    plan, sizes, dims = [], [list(SIZE), list(SIZE)], 1
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(("vmap", "vmap", "jvp", "vjp", "jacfwd", "jacrev"))
        k = rng.randrange(2)
        if name == "vmap":
            n, along = rng.choice((2, 3)), []
            for size, mapped in zip(sizes, rng.choice(((True, True), (True, False), (False, True))), strict=True):
                d = rng.randint(0, len(size))
                if mapped:
                    size.insert(d, n)
                along.append((d if rng.random() < 0.7 else d - len(size)) if mapped else None)
            plan.append((name, tuple(along), rng.randint(0, dims), n, rng.choice((None, None, 1, 2))))
            dims += 1
        elif name == "jvp":
            fixed = values(rng, sizes[k])
            plan.append(
                (
                    name,
                    k,
                    (lambda t: lambda x, w: t)(fixed) if rng.random() < 0.6 else (lambda t, k: lambda x, w: (x, w)[k].cos() * t)(fixed, k),
                )
            )
        elif name == "vjp":
            plan.append((name, k))
            dims = len(sizes[k])
        else:
            plan.append((name, k, rng.choice((None, 1, 2))))
    return plan, sizes


def built(f, plan, way):
    for name, *rest in plan:
        f = TRANSFORMS[name][way](f, *rest)
    return f


# Programs that reverse-mode differentiation rejects, for a write to a saved tensor or to one of several views, and writes to unbatched
# tensors that vmap rejects.
REJECTED = ("modified by an inplace operation", "returns multiple views", "a leaf Variable that requires grad", "inplace arithmetic")


@pytest.mark.parametrize("part", range(8))
def test_nested_transforms_match_loops_and_reverse_mode(part):
    compared = 0
    for seed in range(part * 60, part * 60 + 60):
        rng = random.Random(seed)
        f = program(rng)
        plan, sizes = nest(rng)
        x, w = (values(rng, size) for size in sizes)
        told = f"program {seed}: {' of '.join(name for name, *_ in reversed(plan))}"
        try:
            want = built(f, plan, 1)(x, w)
            got = built(f, plan, 0)(x, w)
        except RuntimeError as error:
            assert any(words in str(error) for words in REJECTED), told
            continue
        assert got.shape == want.shape and torch.allclose(got, want, rtol=1e-8, atol=1e-9), f"{told}: {got} is not {want}"
        compared += 1
    assert compared > 30


def test_no_grad_leaves_the_tangents_of_outer_levels():
    """no_grad() hides operations from reverse mode alone: forward mode around it goes on, as in hessian()."""

    def detached_square(x):
        with torch.no_grad():
            square = x * x
        return x * square

    x = torch.tensor(3.0)
    assert torch.func.grad(detached_square)(x) == 9
    assert torch.func.hessian(detached_square)(x) == torch.func.jacfwd(torch.func.jacrev(detached_square))(x) == 6


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.grad_and_value])
def test_gradients_of_complex_results_are_rejected(transform):
    for function, x in ((lambda x: (x * 1j).sum(), torch.ones(3)), (lambda x: (x * x).sum(), torch.ones(3) * 1j)):
        with pytest.raises(RuntimeError, match="only for real scalar outputs but got .*complex64"):
            transform(function)(x)


RANDOM = ("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "random", "uniform")
WRITING = [name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_") and name[:-1] not in RANDOM]
ARGUMENTS = [(), (0.5,), (0,), (0, 1), (2, 0, 0.5), (torch.full(SIZE, 0.5, dtype=DTYPE),), (torch.full(SIZE, 0.5, dtype=DTYPE), 0.5)]


@pytest.mark.parametrize("name", WRITING)
def test_gradients_of_writes_in_place_are_those_of_each_batch_element(name):
    torch.manual_seed(1)
    x = torch.rand(2, *SIZE, dtype=DTYPE) + 0.25
    for args in ARGUMENTS:

        def function(x, args=args):
            return (getattr(x * 1, name)(*args) * x).sum()

        try:
            expected = torch.stack([func.grad(function)(row) for row in x])
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):  # of other arguments, or without a derivative
            continue
        assert torch.allclose(func.vmap(func.grad(function))(x), expected, equal_nan=True), args
