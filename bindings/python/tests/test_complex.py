"""Functions of complex numbers: accuracy near zeros and poles and for large arguments, and limits."""

import math

import pytest

import libtensor as torch

# To a few units in the last place of the absolute value.
VALUES = {
    "exp2": [
        ((1 + 100j), (1.9602603318233158 + 0.39671076552060436j)),
        ((0.5 + 12345.678j), (1.3395059197508665 - 0.4535679562671782j)),
        ((-3 + 1000000000j), (0.11089922622848696 + 0.057674618524294306j)),
        ((1000 + 1e22j), (-2.1505024386675463e300 + 1.0497066675443687e301j)),
        ((2 - 3e250j), (3.930976031175617 + 0.7398833977883229j)),
        ((-1060.5 + 4j), (-5.3384e-320 + 2.0647e-320j)),
    ],
    "expm1": [
        ((1e-20 + 1e-20j), (1e-20 + 1e-20j)),
        ((1e-09 - 2e-09j), (9.999999985e-10 - 2.000000002e-09j)),
        (6.283185307179586j, (-2.999519565323715e-32 - 2.4492935982947064e-16j)),
        ((3 + 4j), (-14.128783081462158 - 15.200784463067954j)),
        ((-40 + 1j), (-1 + 3.574866839013031e-18j)),
    ],
    "log1p": [
        ((1e-20 + 1e-20j), (1e-20 + 1e-20j)),
        ((-1e-10 + 1e-05j), (-4.99999999975e-11 + 1.0000000000666668e-05j)),
        ((-0.2 + 0.6j), (-2.2204460492503132e-17 + 0.6435011087932844j)),
        ((-1 + 1e-300j), (-690.7755278982137 + 1.5707963267948966j)),
        ((1e200 - 1e200j), (460.8635921890891 - 0.7853981633974483j)),
        ((-0.5 + 0.8660254037844386j), (-4.345318932600586e-17 + 1.0471975511965976j)),
    ],
    "sigmoid": [
        (3.141592653589793j, (0.5 + 8165619676597685j)),
        ((1e-15 + 3.141592653589793j), (985224006580181.1 + 120655142610154.89j)),
        ((-1e-10 - 9.42477796076938j), (-9999999999.36502 - 36739.40397392469j)),
        ((-700 + 2j), (-4.103073203063691e-305 + 8.96537851057429e-305j)),
        ((-745 + 1j), 0j),
        ((800 - 1j), (1 - 0j)),
        ((-30 - 3j), (-9.263976525168598e-14 - 1.3205478287841687e-14j)),
    ],
    "sinc": [
        ((1e-200 + 1e-200j), (1 - 0j)),
        ((1 + 1e-10j), (-1.0000000000000001e-20 - 1e-10j)),
        ((100.25 + 0.5j), (0.005659180858923136 + 0.005138599971032044j)),
        ((1000000.25 + 1j), (2.6091081146200397e-06 + 2.5993763596440156e-06j)),
        ((0.3 + 226j), (9.263568920370244e304 - 1.2714681577361936e305j)),
        ((3 + 150j), (-4.8084850021603045e201 - 9.61697000432061e199j)),
        ((-2.5 - 3j), (323.3101663159867 - 387.972199579184j)),
    ],
}
POWERS = [
    ((1.001 + 1j), (100 + 0j), (-1182148273359662.5 + 59127101350624.69j)),
    ((2 + 3j), (-150 + 20j), (-6.0409250513755664e-93 - 5.6565302138995404e-93j)),
    ((1e-100 + 1e-100j), (2.5 + 0j), (-9.101797211244548e-251 + 2.19736822693562e-250j)),
    ((0.999999 + 1e-06j), (1000000 + 3j), (0.19876613316008698 + 0.30955854943373967j)),
    ((-3 + 0.5j), (0.5 + 40j), (-1.4227505847450124e-52 + 3.1219919015973658e-52j)),
]
LOGADDEXP = [
    ((0.5 + 1j), (-0.2 - 2j), (-0.16710621117507463 + 0.8630184640795782j)),
    ((3 + 1.0575673571615123j), (3 - 2.0840252964282806j), (-32.60441063216292 - 0.5132289696333842j)),
    ((0.1 + 0j), (0.1 + 3.141592653589793j), (-36.53870901270898 + 1.5707963267948966j)),
    ((-1e-20 + 1e-15j), (5e-05 - 700.25j), (-1.127816826192588 - 698.8419369608554j)),
]

INF, NAN = math.inf, math.nan


def close(got, want, ulps, least=0.0):
    assert abs(got - want) <= ulps * 2.0**-52 * abs(want) + least, (got, want)


@pytest.mark.parametrize("name", list(VALUES))
@pytest.mark.parametrize("count", [1, 5])
def test_values(name, count):
    for z, want in VALUES[name]:
        for got in getattr(torch, name)(torch.full((count,), z, dtype=torch.complex128)).tolist():
            close(got, want, 8, 1e-323)


@pytest.mark.parametrize("name", list(VALUES))
def test_complex64_is_rounded_once(name):
    """The results of complex64 are those of complex128."""
    z = torch.tensor([z for z, _ in VALUES[name] if max(abs(z.real), abs(z.imag)) < 1e9], dtype=torch.complex64)
    wide = getattr(torch, name)(z.to(torch.complex128))
    assert getattr(torch, name)(z).tolist() == wide.to(torch.complex64).tolist()


def test_powers():
    for z, exponent, want in POWERS:
        for e in (exponent, torch.tensor([exponent], dtype=torch.complex128)):
            close(torch.pow(torch.tensor([z], dtype=torch.complex128), e).item(), want, 64)


def test_large_powers_of_numbers_on_the_unit_circle():
    for z, exponent, want in (
        (-1, 1e13, 1),
        (-1, 1e13 + 1, -1),
        (1j, 1e15 + 1, 1j),
        (-1j, 4e15 + 1, -1j),
        (0.6 + 0.8j, 1e13, 1.000222069258653),
        (0.6 - 0.8j, 1e15, 1.0224528143065128),
    ):
        got = torch.pow(torch.tensor([z], dtype=torch.complex128), exponent).item()
        if isinstance(want, float):
            assert abs(abs(got) - want) < 1e-13
        else:
            close(got, want, 8)


def test_infinite_powers_hide_no_nan():
    """log x times y is infinite where one of them is, as C's Annex G has it."""
    for dtype in (torch.complex64, torch.complex128):
        for z in (complex(INF, NAN), complex(-INF, NAN), complex(NAN, INF)):
            z = torch.tensor([z], dtype=dtype)
            for y, size in ((complex(INF, INF), INF), (complex(INF, NAN), INF), (complex(-INF, INF), 0), (complex(-INF, NAN), 0)):
                assert torch.pow(z, torch.tensor([y], dtype=dtype)).abs().item() == size
        known = torch.tensor([complex(NAN, NAN), 2, 2], dtype=dtype), torch.tensor([2, complex(NAN, 1), complex(NAN, NAN)], dtype=dtype)
        assert torch.pow(*known).isnan().all()


def test_logaddexp():
    for a, b, want in LOGADDEXP:
        a, b = (torch.tensor([v], dtype=torch.complex128) for v in (a, b))
        close(torch.logaddexp(a, b).item(), want, 16)
        close(torch.logaddexp(b, a).item(), want, 16)


LIMITS = [
    ("sigmoid", complex(-INF, 3), 0),
    ("sigmoid", complex(-1000, 1), 0),
    ("sigmoid", complex(INF, INF), 1),
    ("sigmoid", complex(1000, -2), 1),
    ("expm1", complex(1000, 0), complex(INF, 0)),
    ("expm1", complex(-INF, INF), -1),
    ("sinc", complex(1000, 0), 0),
    ("sinc", complex(-3, 0), 0),
    ("sinc", complex(0, 1000), complex(INF, 0)),
    ("sinc", complex(0.25, -1e5), complex(INF, INF)),
]


@pytest.mark.parametrize(("name", "z", "want"), LIMITS, ids=[f"{name}-{z}" for name, z, _ in LIMITS])
def test_limits(name, z, want):
    for dtype in (torch.complex64, torch.complex128) if abs(z.imag) < 1e38 else (torch.complex128,):
        assert getattr(torch, name)(torch.tensor([z], dtype=dtype)).item() == want


def test_zero_signs():
    """A function that begins as its argument does keeps its zero."""
    for z in (complex(-0.0, 0.0), complex(-0.0, -0.0), complex(0.0, -0.0)):
        got = torch.log1p(torch.tensor([z], dtype=torch.complex128)).item()
        assert (math.copysign(1, got.real), math.copysign(1, got.imag)) == (math.copysign(1, z.real), math.copysign(1, z.imag))


def test_signs_at_the_ends_of_the_range():
    """sgn has an absolute value of 1 where that of its argument is infinite, or has few digits."""
    for dtype, sizes in ((torch.complex64, (3e38, 1e-45, 1e-40)), (torch.complex128, (1.7e308, 5e-324, 1e-310))):
        for size in sizes:
            got = torch.sgn(torch.tensor([complex(size, -size)], dtype=dtype)).item()
            assert abs(got - (1 - 1j) / math.sqrt(2)) < 1e-6
    assert torch.sgn(torch.tensor([0j])).item() == 0


def test_real_zeros():
    """sinc of whole numbers is 0, without a sign, and so is the sum of one number in the domain of logarithms."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        got = torch.sinc(torch.tensor([1.0, -1.0, 2.0, 3.0, -7.0] * 7, dtype=dtype)).tolist()
        assert all(math.copysign(1, v) == 1 and v == 0 for v in got)
        a = torch.tensor([-0.0, -INF], dtype=dtype)
        assert [math.copysign(1, v) for v in torch.logaddexp(a, a.flip(0)).tolist()] == [1, 1]
