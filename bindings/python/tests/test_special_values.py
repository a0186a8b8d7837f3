"""Values at the edges: signs of zeros, infinities, empty tensors, numbers that a dtype does not hold."""

import math

import pytest

import libtensor as torch

inf = math.inf
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def signs(values):
    return [math.copysign(1, x) for x in values]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 40])
def test_no_zero_of_sinc_is_negative(dtype, n):
    for x in (1, 2, -1, -2, 3, 1000):
        got = torch.full((n,), x, dtype=dtype).sinc().tolist()
        assert got == [0] * n and signs(got) == [1] * n


def test_log1p_keeps_the_sign_of_zero():
    got = torch.tensor([complex(-0.0, 0.0), complex(-0.0, -0.0), complex(0.0, -0.0)]).log1p().tolist()
    assert signs(z.real for z in got) == [-1, -1, 1] and signs(z.imag for z in got) == [1, -1, -1]


@pytest.mark.parametrize("dtype", FLOATS)
def test_logaddexp_of_nothing_and_zero(dtype):
    zero, none = torch.full((40,), -0.0, dtype=dtype), torch.full((40,), -inf, dtype=dtype)
    for got in (torch.logaddexp(zero, none), torch.logaddexp(none, zero), torch.logaddexp2(zero, none)):
        assert signs(got.tolist()) == [1] * 40
    assert torch.logaddexp(none, none).tolist() == [-inf] * 40


@pytest.mark.parametrize("dtype", FLOATS)
def test_root_as_power(dtype):
    """The exponent 1/2 is the square root, except for float16; all tensors have the power's result for any memory layout."""
    x = torch.tensor([-inf, -0.0, 4.0], dtype=dtype)
    half = torch.tensor(0.5, dtype=dtype)
    for exponent in (half, half.expand(3), half.expand(3).contiguous()):
        got, inverse = (x**exponent).tolist(), (x**-exponent).tolist()
        assert got == [inf, 0, 2] and signs(got) == [1, 1, 1] and inverse == [0, inf, 0.5]
    got = (x**0.5).tolist()
    if dtype == torch.float16:
        assert got == [inf, 0, 2] and signs(got) == [1, 1, 1]
    else:
        assert math.isnan(got[0]) and got[1:] == [0, 2] and signs(got)[1] == -1 and (x**-0.5)[1].item() == -inf


@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_median_of_no_integers(name):
    median = getattr(torch, name)
    assert median(torch.empty(0, dtype=torch.int32)).item() == -(2**31)
    assert median(torch.empty(0, dtype=torch.int64)).item() == -(2**63)


@pytest.mark.parametrize("value", [-0.5, -1e-30])
def test_fractions_below_the_range_are_rejected(value):
    x = torch.tensor([3, 4], dtype=torch.uint8)
    calls = [
        lambda: torch.full((2,), value, dtype=torch.uint8),
        lambda: x.fill_(value),
        lambda: x.masked_fill_(x > 3, value),
        lambda: x.index_fill_(0, torch.tensor([0]), value),
        lambda: torch.tensor([1, value], dtype=torch.uint8),
        lambda: torch.tensor(value, dtype=torch.uint8),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="uint8"):
            call()
    assert x.tolist() == [3, 4] and torch.full((1,), 255.5, dtype=torch.uint8).item() == 255
    assert torch.full((1,), -0.0, dtype=torch.uint8).item() == 0


@pytest.mark.parametrize("name", ["any", "all"])
def test_conversion_of_bytes_to_bools(name):
    x = torch.tensor([[1, 2], [0, 0]], dtype=torch.uint8)
    for args in ((x,), (x, 0), (x, [0, 1])):
        expected = getattr(torch, name)(*args)
        for dtype in (torch.bool, torch.uint8):
            out = torch.empty(0, dtype=dtype)
            assert getattr(torch, name)(*args, out=out) is out and out.tolist() == expected.bool().tolist()


def test_errors_of_complex_halves_name_an_alternative():
    with pytest.raises(NotImplementedError, match="complex32; convert the operands to complex64"):
        1j / torch.ones(2, dtype=torch.float16)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint8])
def test_vecdot_needs_floats(dtype):
    with pytest.raises(NotImplementedError, match=r"linalg.vecdot.*convert to floats"):
        torch.linalg.vecdot(torch.ones(2, dtype=dtype), torch.ones(2, dtype=dtype))


@pytest.mark.parametrize("shift", [0, 1, 4, 63, 64, 65, 4032, 4095])
@pytest.mark.parametrize("n", [511, 512, 513, 1023, 1024, 1025, 4096, 5000, (1 << 20) - 1, 1 << 20])
def test_copies_to_other_offsets_in_a_page(shift, n):
    size, threads = n + 8192, torch.get_num_threads()
    source, target = torch.arange(size).to(torch.uint8), torch.full((size,), 255, dtype=torch.uint8)
    begin = (source.data_ptr() - target.data_ptr() + shift) % 4096
    torch.set_num_threads(1)  # all at once
    try:
        target[begin : begin + n].copy_(source[:n])
    finally:
        torch.set_num_threads(threads)
    assert target[begin : begin + n].equal(source[:n]) and int((target == 255).sum()) == size - n + int((source[:n] == 255).sum())


@pytest.mark.parametrize("by", [1, 3, 500, -1])
@pytest.mark.parametrize("sizes", [(1000,), (40, 1000), (1000, 40), (300000,)], ids=str)
def test_rolled_rows(by, sizes):
    x = torch.arange(math.prod(sizes)).view(sizes)
    for d in range(len(sizes)):
        want = torch.cat([x.narrow(d, -by % sizes[d], by % sizes[d]), x.narrow(d, 0, -by % sizes[d])], d)
        assert x.roll(by, d).equal(want), d


@pytest.mark.parametrize(
    ("default", "number", "filled"),
    [("float16", "complex32", "complex64"), ("bfloat16", "complex64", "complex64"), ("float64", "complex128", "complex128")],
)
def test_complex_numbers_by_the_default_dtype(default, number, filled):
    torch.set_default_dtype(getattr(torch, default))
    try:
        made = [torch.tensor(1j), torch.tensor([1]) * 1j, torch.linspace(0, 1j, 3), torch.full((2,), 1j)]
    finally:
        torch.set_default_dtype(torch.float32)
    assert [x.dtype for x in made] == [getattr(torch, number)] * 3 + [getattr(torch, filled)]


LARGE = 2**62


@pytest.mark.parametrize(
    "grows",
    [
        lambda: torch.zeros(LARGE, 0).repeat(4, 1),
        lambda: torch.zeros(LARGE, 0).repeat(2, 1),
        lambda: torch.zeros(3, 0).repeat(LARGE, 1),
        lambda: torch.zeros(LARGE, 0).tile((5, 1)),
        lambda: torch.cat([torch.zeros(LARGE, 0)] * 4),
        lambda: torch.vstack([torch.zeros(LARGE, 0)] * 4),
        lambda: torch.hstack([torch.zeros(0, LARGE)] * 4),
        lambda: torch.block_diag(*[torch.zeros(LARGE, 0)] * 4),
        lambda: torch.zeros(4, LARGE, 0).flatten(0, 1),
        lambda: torch.zeros(2, LARGE, 0).flatten(0, 1),
    ],
)
def test_sizes_that_grow_beyond_64_bits(grows):
    """Of tensors without elements too, whose memory would be none."""
    with pytest.raises(RuntimeError, match="a dimension of size .* overflows a 64-bit integer"):
        grows()
