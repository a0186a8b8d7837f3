"""No tangent is lost: for every function that accepts some kinds of arguments, Jacobian-vector products agree with gradients, or the call
raises an error.
"""

import inspect
import math
import warnings

import pytest

import libtensor as torch
from libtensor.autograd import forward_ad
from libtensor.func import grad, jvp

D = torch.float64
F = torch.nn.functional


def numbers(*sizes):
    """Numbers between 0.2 and 0.9, of which no two are alike, and which make no matrix singular."""
    n = torch.arange(math.prod(sizes), dtype=D)
    return (0.2 + 0.7 * ((n * n * 0.6180339887) % 1)).reshape(sizes)


VECTOR, MATRIX, IMAGE, VOLUME = numbers(4), numbers(3, 3) + 2 * torch.eye(3, dtype=D), numbers(1, 4, 6, 6), numbers(1, 2, 4, 4, 4)
RESTS = ((), (0,), (2,), (0.5,), (0.5, True), (1, 0))
CALLS = [
    *((x, *rest) for x in (VECTOR, MATRIX, IMAGE) for rest in (*RESTS, (x.flip(0),), (x, x), (-1, torch.zeros(x.shape, dtype=torch.int64)))),
    *((x, 2, *rest) for x in (IMAGE[:, 0], IMAGE, VOLUME) for rest in ((), (2,))),
    (IMAGE - 0.5, 0.1, 0.3, True),
    (MATRIX - 0.5,),
    (IMAGE, numbers(4, 4, 2, 2)),
    (IMAGE, (1, 1, 1, 1), "reflect"),
    (MATRIX, torch.tensor([0, 2, 1])),
    (MATRIX, numbers(2, 3), numbers(2)),
    (IMAGE, IMAGE, IMAGE, None, 0.5),
    ([MATRIX, MATRIX],),
    ("ij,jk->ik", MATRIX, MATRIX),
]
LARGEST = 1e9  # products, of functions close to a singularity
DRAWN_TWICE = {"lobpcg", "svd_lowrank", "pca_lowrank"}  # products are of another call, as gradients are, and end elsewhere
SPACES = {"": torch, "nn.functional.": F, "linalg.": torch.linalg, "fft.": torch.fft, "special.": torch.special}
# names of a function's first parameter that takes tensors
FIRST = {"A", "LU", "a", "abs", "anchor", "args", "condition", "data", "input", "input1", "log_probs", "matrices", "query", "real"}
FIRST |= {"tensor", "tensors", "theta", "weight", "x", "x1", "y"}


def takes_tensors(name, f):
    if name.startswith(("_", "save", "draw")) or name in DRAWN_TWICE or not callable(f) or inspect.isclass(f):
        return False
    return bool(FIRST & {*list(inspect.signature(f).parameters)[:1]})


FUNCTIONS = {prefix + name: f for prefix, space in SPACES.items() for name, f in vars(space).items() if takes_tensors(name, f)}


def flat(tree):
    if isinstance(tree, torch.Tensor):
        return [tree]
    return [t for part in tree for t in flat(part)] if isinstance(tree, (tuple, list)) else []


def of_first(f, args):
    """f as a function of the first tensor among the arguments, which draws the same numbers each time: tensors with derivatives."""
    at = next(i for i, v in enumerate(args) if flat(v))
    first = args[at]

    def function(x):
        torch.manual_seed(3)
        x = x * 1  # which may be written to
        given = [x, *first[1:]] if isinstance(first, list) else x
        made = f(*args[:at], given, *args[at + 1 :])
        return [t for t in flat(made) if t.is_floating_point() or t.is_complex()]

    return function, flat(first)[0]


def weighted(results):
    """Returns a number to which every element contributes separately."""
    total = 0
    for k, t in enumerate(results):
        t = torch.view_as_real(t) if t.is_complex() else t
        total = total + (t * (1 + k + numbers(*t.shape))).sum()
    return total


def problem(f, args):
    """Returns the error of a call's product, "" if it is correct; None if it cannot be checked."""
    function, x = of_first(f, args)
    x = x.clone()
    leaf = x.clone().requires_grad_()
    try:
        results = function(leaf)
        if not any(t.requires_grad for t in results) or any(t.layout is not torch.strided for t in results):
            return None
        (slope,) = torch.autograd.grad(weighted(results), leaf)
    except Exception:
        return None  # arguments of another kind, or no derivative
    direction = numbers(*x.shape) - 0.4
    want = (slope * direction).sum()
    try:
        made = jvp(lambda v: weighted(function(v)), (x,), (direction,))[1]
    except NotImplementedError:
        return ""
    if not want.abs() < LARGEST or torch.allclose(made.double(), want, rtol=1e-6, atol=1e-8):
        return ""
    return f"{made.item()}, and by the gradient {want.item()}"


@pytest.mark.slow
@pytest.mark.parametrize("letter", sorted({name[0] for name in FUNCTIONS}))
def test_products_are_those_of_gradients(letter):
    wrong = []
    for name, f in FUNCTIONS.items():
        if name[0] == letter:
            for k, args in enumerate(CALLS):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    why = problem(f, args)
                if why:
                    wrong.append(f"{name}, call {k}: {why}")
    assert not wrong, "\n".join(wrong)


def test_most_functions_are_swept():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        swept = [name for name, f in FUNCTIONS.items() if any(problem(f, args) is not None for args in CALLS)]
    assert len(swept) > 300 and {"vander", "dropout", "nn.functional.rrelu", "nn.functional.pad", "linalg.pinv"} <= set(swept)


RANDOM = {
    "dropout": (lambda x: F.dropout(x, 0.5, True), VECTOR),
    "dropout in place": (lambda x: F.dropout(x * 1, 0.5, True, inplace=True), VECTOR),
    "torch.dropout_": (lambda x: torch.dropout_(x * 1, 0.5, True), VECTOR),
    "dropout of nothing": (lambda x: F.dropout(x, 0.0, True), VECTOR),
    "dropout of all": (lambda x: F.dropout(x, 1.0, True), VECTOR),
    "dropout1d": (lambda x: F.dropout1d(x, 0.5, True), IMAGE[0]),
    "dropout2d": (lambda x: F.dropout2d(x, 0.5, True), IMAGE),
    "dropout3d": (lambda x: F.dropout3d(x, 0.5, True), VOLUME),
    "feature_dropout": (lambda x: torch.feature_dropout(x, 0.5, True), IMAGE),
    "alpha_dropout": (lambda x: F.alpha_dropout(x, 0.5, True), VECTOR),
    "feature_alpha_dropout": (lambda x: F.feature_alpha_dropout(x, 0.5, True), IMAGE),
    "rrelu": (lambda x: F.rrelu(x - 0.5, 0.1, 0.3, True), VECTOR),
    "rrelu in place": (lambda x: F.rrelu(x - 0.5, 0.1, 0.3, True, inplace=True), VECTOR),
    "rrelu without training": (lambda x: F.rrelu(x - 0.5), VECTOR),
    "gumbel_softmax": (lambda x: F.gumbel_softmax(x, dim=-1), VECTOR),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5), IMAGE),
    "fractional_max_pool2d": (lambda x: F.fractional_max_pool2d(x, 2, 3), IMAGE),
    "fractional_max_pool3d": (lambda x: F.fractional_max_pool3d(x, 2, 2), VOLUME),
    "fractional_max_pool2d of samples": (lambda x: F.fractional_max_pool2d(x, 2, 3, _random_samples=torch.full((1, 4, 2), 0.3, dtype=D)), IMAGE),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_values_are_drawn_once(name):
    """The tangent is that of the value, and second derivatives are the same in whatever order."""
    f, x = RANDOM[name]
    direction = numbers(*x.shape) - 0.4

    def loss(v):
        torch.manual_seed(3)
        return (f(v) ** 2).sum()

    value, slope = jvp(loss, (x,), (direction,))
    assert value == loss(x) and torch.allclose(slope, (grad(loss)(x) * direction).sum())
    want = grad(lambda v: (grad(loss)(v) * direction).sum())(x)
    assert torch.allclose(jvp(grad(loss), (x,), (direction,))[1], want)
    assert torch.allclose(grad(lambda v: jvp(loss, (v,), (direction,))[1])(x), want)


def test_dropout_in_place_of_duals():
    torch.manual_seed(0)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(64), torch.full((64,), 3.0))
        F.dropout(dual, 0.5, True, inplace=True)
        primal, tangent = forward_ad.unpack_dual(dual)
        assert primal.unique().tolist() == [0, 2] and torch.equal(tangent, 3 * primal)
