"""Properties of forward-mode differentiation: products of products, and products as finite differences of the function."""

import pytest

import libtensor as torch
from libtensor._gen import gen_functions
from libtensor.autograd import forward_ad
from libtensor.func import grad, jacrev, jvp, vmap

D = torch.float64
X = torch.tensor([0.5, 2.0], dtype=D)
A = torch.tensor([[2.0, 0.3], [0.4, 1.5]], dtype=D)
B = torch.tensor([[1.0, 0.2], [0.1, 0.7]], dtype=D)
SIGNAL = torch.linspace(0.1, 1, 8, dtype=D)
WINDOW = torch.ones(4, dtype=D)


def along(f, x, t):
    """f on the line through x in the direction t."""
    return lambda s: f(x + s * t)


def derivative(f):
    return lambda s: jvp(f, (s,), (torch.ones_like(s),))[1]


def stft(a):
    return torch.stft(a, 4, window=WINDOW, return_complex=True)


DEEP = {
    "logdet": (torch.logdet, A),
    "slogdet": (lambda a: torch.linalg.slogdet(a)[1], A),
    "lstsq": (lambda a: torch.linalg.lstsq(a, a + B)[0], A),
    "fake_quantize_per_channel_affine": (
        lambda a: torch.fake_quantize_per_channel_affine(a, torch.full((2,), 10.0), torch.zeros(2, dtype=torch.int32), 0, 0, 255),
        A.float(),
    ),
    "addcmul": (lambda a: torch.addcmul(a, a, a.sin(), value=2), X),
    "addcdiv": (lambda a: torch.addcdiv(a, a, a + 1, value=2), X),
    "norm(1)": (lambda a: a.sin().norm(1), X),
    "norm(inf)": (lambda a: a.exp().norm(float("inf")), X),
    "matrix_norm(1)": (lambda a: torch.linalg.matrix_norm(a.exp(), 1), A),
    "std_mean": (lambda a: torch.stack(torch.std_mean(a)), X),
    "var_mean": (lambda a: torch.stack(torch.var_mean(a)), X),
    "stft": (lambda a: torch.view_as_real(stft(a.exp())), SIGNAL),
    "istft": (lambda a: torch.istft(stft(a.exp()), 4, window=WINDOW), SIGNAL),
    "var": (lambda a: a.exp().var(), X),
    "powers of complex numbers": (lambda a: torch.view_as_real(torch.complex(a, a.sin()) ** 2), X),
    "outer": (lambda a: torch.outer(a, a.exp()), X),
    "cdist(p=1)": (lambda a: torch.cdist(a.exp(), a + 4 * B, p=1), A),
    "cross": (lambda a: torch.linalg.cross(a[:3], a[1:4].exp()), SIGNAL),
    "matrix_exp": (torch.matrix_exp, A),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEEP)
def test_four_levels(name):
    """Each level has the finite differences of the enclosing one, for one row as for many."""
    f, x = DEEP[name]
    torch.manual_seed(0)
    f = along(f, x, torch.rand_like(x))
    zero, step = x.new_zeros(()), 1e-5
    for level in range(4):
        slope = derivative(f)
        if x.dtype == D:
            want = (f(zero + step) - f(zero - step)) / (2 * step)
            assert torch.allclose(slope(zero), want, rtol=1e-5, atol=1e-6), level
        made = vmap(slope)(torch.stack([zero, zero + 0.01]))
        assert torch.allclose(made, torch.stack([slope(zero), slope(zero + 0.01)])), level
        f = slope


# ------------------------------------------------------------------------------------- gradients that are zeros at first


def curve(a):
    return torch.logcumsumexp(a, 0)[1] * 2


def test_logcumsumexp_and_gradients():
    t = torch.tensor([1.0, 0.0], dtype=D)
    second = grad(lambda a: (grad(curve)(a) * t).sum())(X)
    p = X.softmax(0)[1].item()
    want = torch.tensor([2.0, -2.0], dtype=D) * p * (1 - p)
    assert torch.allclose(second, want)
    assert torch.allclose(jvp(grad(curve), (X,), (t,))[1], want)
    assert torch.allclose(grad(lambda a: jvp(curve, (a,), (t,))[1])(X), want)


@pytest.mark.parametrize("size", [-1.0, 0.0, 2.0])
def test_polar_of_any_size(size):
    """It is linear in the size, whose sign and zero are as others."""
    sizes, angle = torch.tensor([size], dtype=D), torch.tensor([0.3], dtype=D)
    unit = torch.polar(torch.ones(1, dtype=D), angle)
    assert torch.allclose(jvp(lambda a: torch.polar(a, angle), (sizes,), (torch.ones(1, dtype=D),))[1], unit)
    assert torch.allclose(grad(lambda a: torch.polar(a, angle).imag.sum())(sizes), unit.imag)
    assert torch.allclose(jvp(lambda b: torch.polar(sizes, b), (angle,), (torch.ones(1, dtype=D),))[1], 1j * size * unit)


# -------------------------------------------------------------------------------------- tangents that nothing depends on

NONE, PLACES = torch.tensor([float("nan"), 0.0, 0.0], dtype=D), torch.zeros(3, dtype=torch.int64)  # adds a NaN to the first element
INF, ZERO = float("inf"), torch.zeros(1, dtype=D)
OTHERS = {
    "nansum": lambda a: torch.nansum(a + NONE),
    "nanmean": lambda a: torch.nanmean(a + NONE),
    "nanmedian": lambda a: torch.nanmedian(a + NONE),
    "amax": lambda a: a.amax(0),
    "amin": lambda a: (-a).amin(0),
    "aminmax": lambda a: a.aminmax().max,
    "max": torch.max,
    "min": lambda a: (-a).min(),
    "median": lambda a: a[:2].median() + a[1:].median(),
    "norm(inf)": lambda a: a.norm(INF),
    "norm(-inf)": lambda a: (9 - a).norm(-INF),
    "dist(p=inf)": lambda a: torch.dist(a, torch.zeros(3, dtype=D), INF),
    "cdist(p=inf)": lambda a: torch.cdist(a[None], torch.zeros(1, 3, dtype=D), p=INF),
    "scatter_reduce(amax)": lambda a: ZERO.scatter_reduce(0, PLACES, a, "amax"),
    "scatter_reduce(amax) of self": lambda a: a.scatter_reduce(0, PLACES[:1], ZERO + 9, "amax")[0],
    "index_reduce(amax)": lambda a: ZERO.index_reduce(0, PLACES, a, "amax"),
    "segment_reduce(max)": lambda a: torch.segment_reduce(a, "max", lengths=torch.tensor([3])),
}


@pytest.mark.parametrize("slope", [float("nan"), INF])
@pytest.mark.parametrize("name", OTHERS)
def test_elements_that_are_not_chosen(name, slope):
    x = torch.tensor([1.0, 4.0, 3.0], dtype=D)
    if name == "median":
        x = torch.tensor([5.0, 4.0, 3.0], dtype=D)
    made, want = (jvp(OTHERS[name], (x,), (torch.tensor([s, 1.0, 1.0], dtype=D),))[1] for s in (slope, 0.0))
    assert made.isfinite().all() and torch.equal(made, want)


# --------------------------------------------------------------------------------------------------- derivatives at zero

Z3 = torch.zeros(3, dtype=D)
AT_ZERO = {
    "std": (torch.std, Z3),
    "std_mean": (lambda a: torch.std_mean(a)[0], Z3),
    **{f"norm({p})": ((lambda p: lambda a: a.norm(p))(p), Z3) for p in (0, 1, 1.5, 2, 3, INF)},
    **{f"dist(p={p})": ((lambda p: lambda a: torch.dist(a, Z3, p))(p), Z3) for p in (1, 1.5, 2, 3)},
    **{f"cdist(p={p})": ((lambda p: lambda a: torch.cdist(a[None], Z3[None], p=p))(p), Z3) for p in (1, 1.5, 2, 3, INF)},
    "pdist": (lambda a: torch.pdist(torch.stack([a, Z3])), Z3),
    "abs": (torch.abs, Z3),
    "abs of complex numbers": (lambda a: torch.complex(a, a).abs(), Z3),
    "angle": (lambda a: torch.complex(a, a).angle(), Z3),
    "sgn": (lambda a: torch.view_as_real(torch.complex(a, a).sgn()), Z3),
    "matrix_norm": (lambda a: torch.linalg.matrix_norm(a[None]), Z3),
    "renorm": (lambda a: a[:, None].renorm(2, 0, 1.0), Z3),
    "prod": (torch.prod, Z3),
    "cumprod": (lambda a: a.cumprod(0), Z3),
    "sinc": (torch.sinc, Z3),
    "xlogy": (lambda a: torch.xlogy(a, a + 1), Z3),
    "pow": (lambda a: a**3 + a**2, Z3),
}


@pytest.mark.parametrize("name", AT_ZERO)
def test_products_at_zero_are_those_of_the_gradients(name):
    f, x = AT_ZERO[name]
    t = torch.tensor([1.0, -2.0, 0.5], dtype=D)
    assert torch.allclose(jvp(f, (x,), (t,))[1], jacrev(f)(x) @ t)


def test_halves_of_complex_numbers():
    half, number = torch.tensor([1.0, 2.0], dtype=torch.float16), torch.tensor(1 + 1j, dtype=torch.complex64)
    for f, x in ((lambda a: torch.logaddexp(a, number), half), (lambda c: torch.logaddexp(half, c), number)):
        made, want = (jvp(f, (t,), (torch.ones_like(t),))[1] for t in (x, x.to(torch.complex128)))
        assert made.dtype == torch.complex32 and torch.allclose(made.to(torch.complex64), want.to(torch.complex64), rtol=0.01)


OUTS = {
    "frobenius_norm": lambda x, **o: gen_functions.frobenius_norm(x, (), False, **o),
    "nuclear_norm": lambda x, **o: torch.nuclear_norm(x, **o),
    "norm": lambda x, **o: torch.norm(x, 2, **o),
    "inner": lambda x, **o: torch.inner(x, x, **o),
    "kron": lambda x, **o: torch.kron(x, x, **o),
    "diff": lambda x, **o: torch.diff(x, **o),
    "quantile": lambda x, **o: torch.quantile(x, 0.3, **o),
    "t_copy": lambda x, **o: torch.t_copy(x, **o),
    "inv": lambda x, **o: torch.linalg.inv(x, **o),
    "solve": lambda x, **o: torch.linalg.solve(x, x @ x, **o),
    "multi_dot": lambda x, **o: torch.linalg.multi_dot([x, x, x], **o),
    "matrix_norm": lambda x, **o: torch.linalg.matrix_norm(x, **o),
    "irfft": lambda x, **o: torch.fft.irfft(x, **o),
}


@pytest.mark.parametrize("name", OUTS)
def test_composite_operators_write_tangents_to_out(name):
    """Also to one that is an operand, where it has the result's sizes."""
    x, slope = torch.tensor([[2.0, 0.5], [0.25, 1.5]]).double(), torch.tensor([[1.0, -1.0], [0.5, 2.0]]).double()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, slope)
        wanted = forward_ad.unpack_dual(OUTS[name](dual))
        out = torch.zeros_like(wanted.primal)
        assert OUTS[name](dual, out=out) is out
        found = forward_ad.unpack_dual(out)
        assert found.primal.allclose(wanted.primal) and found.tangent.allclose(wanted.tangent)
        if wanted.primal.shape == x.shape and name != "irfft":
            assert forward_ad.unpack_dual(OUTS[name](dual, out=dual)).tangent.allclose(wanted.tangent)
