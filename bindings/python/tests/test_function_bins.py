"""tanh, erf and gelu around the ends of their bins, alone and next to elements of other bins and beyond them."""

import math

import pytest

import libtensor as torch

FUNCTIONS = {
    "tanh": (torch.tanh, math.tanh),
    "erf": (torch.erf, math.erf),
    "gelu": (torch.nn.functional.gelu, lambda x: x * math.erfc(-x / math.sqrt(2)) / 2),
}
ENDS = [2.0**e * k / 8 for e in range(-8, 6) for k in (8, 9, 10, 11, 12, 13.5, 14)]
ENDS += [(k + 0.5) * step for step in (177 / 1024, 49 / 128, 0.25) for k in range(32)] + [3.87, 3.92, 5.44, 5.925, 9.0112, 19.0625]


def around(dtype):
    """Numbers on both sides of the ends, of either sign, and special ones."""
    near = torch.tensor(ENDS, dtype=torch.float64).to(dtype)
    up, down = torch.nextafter(near, torch.tensor(math.inf, dtype=dtype)), torch.nextafter(near, torch.tensor(0, dtype=dtype))
    all_of = torch.cat([near, up, down, torch.tensor([0, 1e-30, 1e-5, 0.1, 25, 1e30], dtype=dtype)])
    return torch.cat([all_of, -all_of])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, dtype):
    f, want = FUNCTIONS[name]
    for x, y in zip(around(dtype).tolist(), f(around(dtype)).tolist(), strict=True):
        if dtype == torch.float32:
            assert abs(y - want(x)) <= 2.0**-23 * abs(want(x)) + 2.0**-149
        elif abs(x) < 25 or name != "gelu":  # where math.erfc has enough digits
            assert abs(y - want(x)) <= 1e-13 * abs(want(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_do_not_depend_on_the_position(name, dtype):
    f, x = FUNCTIONS[name][0], around(dtype)
    whole, each = f(x), torch.stack([f(t) for t in x])
    assert torch.equal(whole, each)
    for start in range(1, 20):
        assert torch.equal(f(x[start:]), whole[start:])
    assert torch.equal(f(x[::3]), whole[::3]) and torch.equal(f(x.flip(0)), whole.flip(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name, dtype):
    f = FUNCTIONS[name][0]
    y = f(torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan], dtype=dtype)).tolist()
    assert [math.copysign(1, v) for v in y[:2]] == [1, -1] and y[:2] == [0, 0]
    assert y[2] == (math.inf if name == "gelu" else 1) and math.isnan(y[4])
    assert math.isnan(y[3]) if name == "gelu" else y[3] == -1
    least = 2.0**-149 if dtype == torch.float32 else 5e-324
    assert torch.tanh(torch.tensor([least, -least], dtype=dtype)).tolist() == [least, -least]
