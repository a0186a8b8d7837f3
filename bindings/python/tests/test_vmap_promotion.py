"""Dtype promotion inside vmap: each operand counts by the dimensions of a batch element, as in a loop over the batch."""

import itertools

import pytest

import libtensor as torch
from libtensor.func import grad, jvp, vmap

B = 2
DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.int64,
    torch.uint16,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
)
FEW = (torch.uint8, torch.int64, torch.float16, torch.float64)
FORMS = tuple(itertools.product((False, True), (False, True)))  # with a separate dimension that is mapped over
TWO = [
    "add",
    "sub",
    "rsub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "float_power",
    "copysign",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "logical_and",
    "logical_or",
    "logical_xor",
    "gcd",
    "lcm",
    "nextafter",
    "heaviside",
    "isclose",
    "xlogy",
    "ldexp",
    "polar",
    "complex",
    "igamma",
]
THREE = ("where", "clamp", "addcmul", "addcdiv", "lerp")


def made(dtype, of_its_own, mapped, seed):
    shape = (B,) * mapped + (4,) * of_its_own
    values = (torch.arange(12) * 7 + seed) % 5 + 1
    return (values > 2 if dtype == torch.bool else values.to(dtype))[: max(1, B**mapped * 4**of_its_own)].reshape(shape)


def outcome(f):
    try:
        return f()
    except Exception as e:
        return type(e)


def agree(f, dtypes):
    for forms in itertools.product(FORMS, repeat=len(dtypes)):
        if not any(mapped for _, mapped in forms):
            continue
        args = [made(d, *form, seed) for seed, (d, form) in enumerate(zip(dtypes, forms, strict=True))]
        got = outcome(lambda: vmap(f, in_dims=tuple(0 if mapped else None for _, mapped in forms))(*args))  # noqa: B023
        rows = [[a[i] if mapped else a for a, (_, mapped) in zip(args, forms, strict=True)] for i in range(B)]
        want = outcome(lambda: torch.stack([f(*row) for row in rows]))  # noqa: B023
        if isinstance(want, type):
            assert got is want, (dtypes, forms)
            continue
        assert (got.dtype, got.shape) == (want.dtype, want.shape), (dtypes, forms)
        if got.dtype.is_complex:  # whose powers by a number take other steps
            assert torch.allclose(got, want, rtol=1e-14, equal_nan=True), (dtypes, forms)
        else:
            assert torch.equal(got.nan_to_num(7), want.nan_to_num(7)), (dtypes, forms)


@pytest.mark.slow
@pytest.mark.parametrize("name", TWO)
def test_two_operands(name):
    for dtypes in itertools.product(DTYPES, repeat=2):
        agree(getattr(torch, name), dtypes)


@pytest.mark.parametrize("name", THREE)
def test_three_operands(name):
    for dtypes in itertools.product((torch.bool,) if name == "where" else FEW, FEW, FEW):
        agree(getattr(torch, name), dtypes)


NUMBERS = torch.tensor([[1.5, 2], [3, 4.5]], dtype=torch.float64)
LEVELS = {
    "inside of another": lambda f, b: vmap(vmap(f, in_dims=(0, None)), in_dims=(0, None))(NUMBERS, b),
    "numbers of the outer one": lambda f, b: vmap(lambda a: vmap(lambda _: f(a, b))(NUMBERS[0]))(NUMBERS[0]),
    "around jvp": lambda f, b: vmap(lambda a: jvp(lambda v: f(a, v), (b,), (b,))[1])(NUMBERS[0]),
    "inside of jvp": lambda f, b: jvp(lambda v: vmap(lambda a: f(a, v))(NUMBERS[0]), (b,), (b,))[1],
    "numbers with tangents": lambda f, b: jvp(vmap(lambda a: f(a, b)), (NUMBERS[0],), (NUMBERS[0],))[1],
    "around grad": lambda f, b: vmap(lambda a: grad(lambda v: f(a, v).sum())(b))(NUMBERS[0]),
    "a graph": lambda f, b: (vmap(lambda a: f(a, b))(NUMBERS[0].clone().requires_grad_())).detach(),
}


@pytest.mark.parametrize("name", LEVELS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_numbers_count_less_at_every_level(name, dtype):
    made = LEVELS[name](lambda a, b: a * b, torch.ones(3, dtype=dtype))
    assert made.dtype == dtype
    expected = NUMBERS if name == "inside of another" else NUMBERS[0]
    assert torch.equal(
        made.double(),
        expected.unsqueeze(-1).expand(made.shape) if name != "numbers of the outer one" else expected[:, None, None].expand(2, 2, 3),
    )


def test_where_has_the_category_of_its_numbers():
    made = vmap(torch.where)(torch.tensor([True, False]), torch.tensor([0.5, 1.5]), torch.tensor([[1, 2], [3, 4]]))
    assert made.dtype == torch.float32
    assert made.tolist() == [[0.5, 0.5], [3.0, 4.0]]
