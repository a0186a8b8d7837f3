"""Special functions: values, what they do at poles, infinities and huge numbers, dtypes, polynomials' degrees."""

import math
from fractions import Fraction

import numpy as np
import pytest

import libtensor as torch

# Within one unit in the last place.
VALUES = {
    "entr": [(0.3, 0.3611918412977808), (1.5, -0.6081976621622466), (1e-300, 6.9077552789821376e-298), (1e300, -6.907755278982137e302)],
    "erfcx": [
        (-26.5, 1.924553162418569e305),
        (-1.0, 5.008980080762283),
        (0.1, 0.8964569799691267),
        (3.0, 0.17900115118138996),
        (40.0, 0.014100335983377814),
        (1e200, 5.641895835477563e-201),
        (1e302, 5.641895835477563e-303),
        (1.7e308, 3.318762256163274e-309),
    ],
    "ndtr": [
        (-37.5, 4.605353009581955e-308),
        (-8.0, 6.220960574271784e-16),
        (-0.1, 0.460172162722971),
        (1.0, 0.8413447460685429),
        (6.0, 0.9999999990134123),
    ],
    "log_ndtr": [
        (-1.4709e154, -1.0817734049999998e308),
        (-1000.0, -500007.82669481216),
        (-40.0, -804.6084420137538),
        (-1.0, -1.8410216450092636),
        (0.5, -0.3689464152886564),
        (20.0, -2.7536241186062337e-89),
    ],
    "ndtri": [(1e-300, -37.0470962993612), (1e-05, -4.264890793922825), (0.25, -0.6744897501960817), (0.75, 0.6744897501960817)],
    "bessel_j0": [
        (0.1, 0.99750156206604),
        (2.404825557695773, -6.10876525973673e-17),
        (20.0, 0.16702466434058316),
        (11.791534439014281, -6.538994895807815e-17),
        (1e6, 0.00033104301373987376),
        (1e300, -7.860673062724093e-151),
    ],
    "bessel_j1": [
        (1e-300, 5e-301),
        (3.8317059702075125, -6.149807356994906e-17),
        (-5.0, 0.32757913759146523),
        (1e6, -0.000725968356813763),
    ],
    "bessel_y0": [
        (1e-300, -439.8351636227653),
        (0.8935769662791675, -2.3389279284062102e-17),
        (20.0, 0.06264059680938383),
        (1e6, -0.0007259685223351791),
    ],
    "bessel_y1": [
        (1e-300, -6.366197723675813e299),
        (2.197141326031017, 2.513306678922122e-17),
        (20.0, -0.1655116143625213),
        (1e6, -0.00033104337672417626),
    ],
    "i0": [
        (0.5, 1.0634833707413236),
        (15.9, 811004.4351412504),
        (16.0, 893446.227920105),
        (700.0, 1.5295933476718737e302),
        (-3.0, 4.8807925858650245),
    ],
    "i0e": [(0.5, 0.6450352704491501), (16.0, 0.10054412736125203), (1e5, 0.0012615678379767768), (-3.0, 0.2430003541618254)],
    "i1": [
        (1e-300, 5e-301),
        (15.9, 785072.0677334656),
        (16.0, 865059.4358548395),
        (700.0, 1.5285003902339006e302),
        (-3.0, -3.9533702174026093),
    ],
    "i1e": [(1e-20, 5e-21), (16.0, 0.09734961475646808), (1e5, 0.0012615615301218171), (-3.0, -0.19682671329730086)],
    "modified_bessel_k0": [
        (1e-300, 690.8914594138721),
        (0.9, 0.4867303081629005),
        (1.0, 0.42102443824070834),
        (16.0, 3.499411663936499e-08),
        (700.0, 4.669776431685377e-306),
    ],
    "modified_bessel_k1": [
        (1e-300, 9.999999999999999e299),
        (0.9, 0.7165335787760191),
        (1.0, 0.6019072301972346),
        (16.0, 3.6071571175287797e-08),
        (700.0, 4.6731107967079664e-306),
    ],
    "scaled_modified_bessel_k0": [
        (0.9, 1.1971633802518509),
        (1.0, 1.144463079806895),
        (16.0, 0.31096158802494084),
        (1e5, 0.003963322343474756),
    ],
    "scaled_modified_bessel_k1": [
        (0.9, 1.7623882196059197),
        (1.0, 1.6361534862632583),
        (16.0, 0.32053596811197343),
        (1e5, 0.003963342160036932),
    ],
    "spherical_bessel_j0": [
        (1e-05, 0.9999999999833333),
        (3.141592653589793, 3.8981718325193755e-17),
        (-20.0, 0.045647262536381385),
        (1e300, -8.178819121159085e-301),
    ],
    "airy_ai": [
        (-9.22337203685478e18, -1.0232187621578543e-05),
        (-1e15, -7.183314472912152e-05),
        (-1e12, -0.00042921836070697696),
        (-34359738368.0, -0.000420727833090615),
        (-2.338107410459767, 2.743319340666283e-17),
        (-50.0, -0.1618814236123209),
        (0.5, 0.23169360648083348),
        (9.9, 1.5181958141049102e-10),
        (10.0, 1.1047532552898686e-10),
        (100.0, 2.6344821520881846e-291),
    ],
    "gammaln": [
        (1e-300, 690.7755278982137),
        (0.716591590850088, 0.24101037643471976),
        (1.0000000000009095, -5.249745890076018e-13),
        (1.5, -0.12078223763524522),
        (1.9999999999999716, -1.2016253523894931e-14),
        (9.99, 12.779315214350193),
        (10.63, 14.240856023076157),
        (1e300, 6.897755278982137e302),
        (-1e-200, 460.51701859880916),
        (-0.5, 1.2655121234846454),
        (-10.3, -14.457515440024208),
        (-13.999999999941883, -1.622659434617541),
        (-100000.25, -1051300.6088285744),
    ],
}

# Of inf, -inf, 0 and NaN.
LIMITS = {
    "entr": "-inf -inf 0.0 nan",
    "erfcx": "0.0 inf 1.0 nan",
    "ndtr": "1.0 0.0 0.5 nan",
    "log_ndtr": "-0.0 -inf -0.6931471805599453 nan",
    "ndtri": "nan nan -inf nan",
    "bessel_j0": "0.0 0.0 1.0 nan",
    "bessel_j1": "0.0 -0.0 0.0 nan",
    "bessel_y0": "0.0 nan -inf nan",
    "bessel_y1": "0.0 nan -inf nan",
    "i0": "inf inf 1.0 nan",
    "i0e": "0.0 0.0 1.0 nan",
    "i1": "inf -inf 0.0 nan",
    "i1e": "0.0 -0.0 0.0 nan",
    "modified_bessel_i0": "inf inf 1.0 nan",
    "modified_bessel_i1": "inf -inf 0.0 nan",
    "modified_bessel_k0": "0.0 nan inf nan",
    "modified_bessel_k1": "0.0 nan inf nan",
    "scaled_modified_bessel_k0": "0.0 nan inf nan",
    "scaled_modified_bessel_k1": "0.0 nan inf nan",
    "spherical_bessel_j0": "0.0 0.0 1.0 nan",
    "airy_ai": "0.0 0.0 0.3550280538878172 nan",
    "gammaln": "inf inf inf nan",
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    function = getattr(torch.special, name)
    x, want = zip(*VALUES[name], strict=True)
    for got, y in zip(function(torch.tensor(x, dtype=torch.float64)).tolist(), want, strict=True):
        assert abs(got - y) <= math.ulp(y), (name, got, y)
    single = [v for v, y in VALUES[name] if 1e-30 < abs(v) < 1e30 and 1e-30 < abs(y) < 1e30]
    x = torch.tensor(single)
    wide = function(x.double())
    assert torch.equal(function(x), wide.float()), name
    half = torch.tensor(single, dtype=torch.bfloat16)
    assert torch.equal(function(half), function(half.float()).bfloat16()), name


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    function = getattr(torch.special, name)
    for dtype in (torch.float32, torch.float64):
        got = function(torch.tensor([math.inf, -math.inf, 0.0, math.nan], dtype=dtype)).double().tolist()
        for y, want in zip(got, map(float, LIMITS[name].split()), strict=True):
            assert str(y) == str(want) or y == pytest.approx(want, abs=0, rel=1e-7 if want else 0), (name, got)
    assert function(torch.tensor([1, 0])).dtype == function(torch.tensor([True])).dtype == torch.float32
    with pytest.raises((RuntimeError, NotImplementedError), match="complex64"):
        function(torch.tensor([1j]))


def test_logarithms_of_gamma_at_poles_and_ends():
    ends = torch.tensor([-1.0, -2.0, -(2.0**60), -0.0, 1.0, 2.0, 2.5e305, 2.6e305, 1e308], dtype=torch.float64)
    assert torch.lgamma(ends).tolist() == [math.inf] * 4 + [0, 0, 1.7555118602376452e308, math.inf, math.inf]
    lanes = torch.tensor([3.0, -1.5, math.nan, 0.25, -3.0, 1e-310, 20.0, -1e17] * 5, dtype=torch.float64)
    alone = torch.cat([torch.lgamma(x) for x in lanes.split(1)])
    assert str(torch.lgamma(lanes).tolist()) == str(alone.tolist())


def test_lgamma_of_floats_is_right_on_both_sides_of_each_branch():
    """Below 3.5 the recurrence, beyond it Stirling's series; each vector has lanes of all."""
    ends = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 8.0, -0.5, -2.5])
    sides = torch.stack([torch.nextafter(ends, torch.tensor(-9.0)), ends, torch.nextafter(ends, torch.tensor(99.0))])
    x = torch.cat([sides.flatten(), torch.linspace(0.01, 9, 999), torch.logspace(-44, 38, 500)])
    for given in (x, x.sort().values):
        got, want = torch.lgamma(given).double(), torch.lgamma(given.double())
        finite = want.float().isfinite()
        assert torch.equal(got[~finite], want[~finite].float().double())
        error = (got - want).abs()[finite] / want.abs()[finite].clamp(min=2.0**-149)
        assert error.max() < 2.0**-23, given[finite][error.argmax()]


def test_the_phase_of_airy_is_not_made_up():
    x = torch.tensor([-(2.0**64), -(2.0**65), -1e300], dtype=torch.float64)
    assert str(torch.special.airy_ai(x).tolist()[1:]) == "[nan, nan]" and abs(torch.special.airy_ai(x)[0]) < 1e-5


def test_ndtri_inverts_ndtr():
    x = torch.linspace(-37, 5, 999, dtype=torch.float64)
    assert torch.allclose(torch.special.ndtri(torch.special.ndtr(x)), x, rtol=1e-9, atol=1e-15)
    p = torch.tensor([0.0, 0.5, 1.0, -0.1, 1.1])
    assert str(torch.special.ndtri(p).tolist()) == "[-inf, 0.0, inf, nan, nan]"


# Of degree 2 at 3, of degree 3 at 0.5, of degree 5 at -1.
POLYNOMIALS = {
    "chebyshev_polynomial_t": (17, -1, -1),
    "chebyshev_polynomial_u": (35, -1, -6),
    "chebyshev_polynomial_v": (29, -1, -11),
    "chebyshev_polynomial_w": (41, -1, -1),
    "shifted_chebyshev_polynomial_t": (49, 0, -3363),
    "shifted_chebyshev_polynomial_u": (99, 0, -6930),
    "shifted_chebyshev_polynomial_v": (89, 1, -8119),
    "shifted_chebyshev_polynomial_w": (109, -1, -5741),
    "hermite_polynomial_h": (34, -5, 8),
    "hermite_polynomial_he": (8, -1.375, -6),
    "laguerre_polynomial_l": (-0.5, -7 / 48, 1546 / 120),
    "legendre_polynomial_p": (13, -0.4375, -1),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    function = getattr(torch.special, name)
    x, n = torch.tensor([3, 0.5, -1], dtype=torch.float64), torch.tensor([2, 3, 5])
    assert function(x, n).tolist() == list(POLYNOMIALS[name])
    assert function(x.float(), n).tolist() == torch.tensor(POLYNOMIALS[name]).tolist()
    assert function(x, 2.7).tolist() == function(x, 2).tolist()
    assert function(x, torch.tensor([[0.0], [-0.5], [-1.0], [-1e300], [-math.inf]])).tolist() == [[1] * 3] * 2 + [[0] * 3] * 3
    assert function(3, torch.tensor([2])).tolist() == [POLYNOMIALS[name][0]]
    assert function(torch.tensor([3]), torch.tensor([2])).dtype == torch.float32
    assert function(x.half(), n).dtype == torch.float16
    assert function(x.reshape(3, 1), n).shape == (3, 3) and function(x.to("meta"), n.to("meta")).shape == (3,)
    nan = torch.tensor([math.nan])
    assert function(nan, 0).tolist() == [1] and function(nan, -2).tolist() == [0]
    assert function(nan, 3).isnan().all() and function(1.0, nan).isnan().all()


def test_polynomials_of_large_degrees():
    x = torch.tensor([0.3, -1.0, 1.0, 1.5, -1.5], dtype=torch.float64)
    first = torch.special.chebyshev_polynomial_t(x, 2**40 + 1)
    assert first[1:].tolist() == [-1, 1, math.inf, -math.inf]
    assert abs(first[0].item()) <= 1
    turned = torch.special.chebyshev_polynomial_t(torch.special.chebyshev_polynomial_t(x[:1], 1001), 3)
    assert torch.allclose(turned, torch.special.chebyshev_polynomial_t(x[:1], 3003), atol=1e-12)
    assert torch.special.chebyshev_polynomial_u(torch.tensor([1.0], dtype=torch.float64), 10**15).tolist() == [10**15 + 1]
    assert torch.special.legendre_polynomial_p(x[:3], 10**5).tolist() == [-0.0016271806095874294, 1, 1]
    for name in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"):
        got = getattr(torch.special, name)(torch.tensor([math.inf, -math.inf], dtype=torch.float64), 10**15 + 1).tolist()
        assert got == ([-math.inf, math.inf] if name[:2] == "la" else [math.inf, -math.inf])
        got = getattr(torch.special, name)(torch.tensor([1e6, -1e6], dtype=torch.float64), 701).tolist()
        assert got == ([-math.inf, math.inf] if name[:2] == "la" else [math.inf, -math.inf])


# From mpmath, with 60 digits.
LEGENDRE = [
    (999, 0.3, -0.0049850853055383665),
    (1000, 0.3, -0.025669167507936224),
    (1001, -0.75, -0.02768812734440307),
    (4096, 1 - 2**-30, 0.9922008456413982),
    (1500, 1.01, 3.3045030538759677e90),
    (20001, -1.0001, -1.6616000027556316e121),
    (2**20 + 1, 0.3, 0.0001363300541653951),
    (2**30, 0.875, 3.416825259888343e-05),
    (2**40 + 1, -0.125, -6.859597532288725e-07),
    (2**31, 1 - 2**-53, 0.13807900994465963),
    (1001, 1e-300, 2.5250243196539165e-299),
    (1001, 9e-10, 2.272521887688217e-08),
    (1003, 1e-12, -2.527544304004868e-11),
]


# From the power series, with 300 digits and more.
LAGUERRE = [
    (1000, 0.3, -0.12072137971289788),
    (1001, -0.75, 2.3738392794258565e22),
    (2255, 1.0992830500046646, -0.022212394949077435),
    (4096, 2**-30, 0.9999961853063715),
    (5328, 932.4450033905142, 1.4111310480137423e200),
    (6935, 30.134095285325827, -61921.019331841184),
    (2**20 + 1, 0.75, 0.01541153993513601),
    (356088, 144.11953237557577, 9.072377100859807e28),
    (10**7, 1e-6, 0.22884396493345535),
    (1000, 1500.0, math.inf),
    (1003, 3999.0, -math.inf),
    (2**40, -1.0, math.inf),
    (2**70, 0.0, 1.0),
    (2**70, 1e-30, 0.9999999988194084),
]


@pytest.mark.parametrize(("n", "x", "want"), LAGUERRE)
def test_laguerre_polynomials_of_large_degrees(n, x, want):
    got = torch.special.laguerre_polynomial_l(torch.tensor(x, dtype=torch.float64), float(n)).item()
    assert got == want or abs(got - want) <= math.ulp(want)
    if n < 2**24:
        exact = torch.special.laguerre_polynomial_l(torch.tensor([x]).double(), n).float()
        assert torch.equal(torch.special.laguerre_polynomial_l(torch.tensor([x]), n), exact)


# Signs from the recurrence, with 300 bits.
HERMITE = [
    (1000, 0.5, -1, -1),
    (1001, 1e-300, 1, 1),
    (1003, 30.0, 1, -1),
    (1500, 54.0, -1, -1),
    (1500, -53.5, -1, -1),
    (2001, -3.5, -1, 1),
    (1200, 70.0, 1, 1),
    (1201, -67.0, -1, -1),
]


@pytest.mark.parametrize(("n", "x", "h", "he"), HERMITE)
def test_hermite_polynomials_of_large_degrees_are_infinities_with_a_sign(n, x, h, he):
    t = torch.tensor(x, dtype=torch.float64)
    assert torch.special.hermite_polynomial_h(t, n).item() == h * math.inf
    assert torch.special.hermite_polynomial_he(t, n).item() == he * math.inf


def test_hermite_polynomials_change_their_sign_as_often_as_they_have_zeros():
    for n in (1500, 2001):
        x = torch.linspace(-math.sqrt(2 * n + 1), math.sqrt(2 * n + 1), 400_001, dtype=torch.float64)
        signs = torch.special.hermite_polynomial_h(x, n).sign()
        signs = signs[signs != 0]
        assert (signs[1:] != signs[:-1]).sum() == n


def test_polynomials_of_degrees_beyond_integers():
    x = torch.tensor([0.5, 1.0, -1.0, 2.0, -2.0], dtype=torch.float64)
    inf, nan = math.inf, math.nan
    for name, finite, infinite in [
        ("chebyshev_polynomial_t", [nan, 1, 1, inf, inf], [nan, 1, nan, inf, nan]),
        ("chebyshev_polynomial_u", [nan, 1e300, 1e300, inf, inf], [nan, inf, nan, inf, nan]),
        ("chebyshev_polynomial_w", [nan, 2e300, 1, inf, inf], [nan, inf, nan, inf, nan]),
        ("legendre_polynomial_p", [nan, 1, 1, inf, inf], [0, 1, nan, inf, nan]),
        ("laguerre_polynomial_l", [nan, nan, inf, nan, inf], [0, 0, inf, 0, inf]),
        ("hermite_polynomial_h", [nan] * 5, [nan] * 5),
    ]:
        f = getattr(torch.special, name)
        assert torch.equal(torch.nan_to_num(f(x, 1e300), 7.0), torch.nan_to_num(torch.tensor(finite, dtype=torch.float64), 7.0)), name
        assert torch.equal(torch.nan_to_num(f(x, inf), 7.0), torch.nan_to_num(torch.tensor(infinite, dtype=torch.float64), 7.0)), name
    assert torch.special.hermite_polynomial_h(torch.tensor([0.0, 1e200]), 9.3e18).tolist() == [inf, inf]


@pytest.mark.parametrize(("n", "x", "want"), LEGENDRE)
def test_legendre_polynomials_of_large_degrees(n, x, want):
    got = torch.special.legendre_polynomial_p(torch.tensor([x, -x], dtype=torch.float64), n).tolist()
    assert abs(got[0] - want) <= math.ulp(want)
    assert got[1] == (-got[0] if n % 2 else got[0])
    short = torch.special.legendre_polynomial_p(torch.tensor([x]), n)
    assert short.dtype == torch.float32
    if n < 2**24:  # degrees are float32 there too
        exact = torch.special.legendre_polynomial_p(torch.tensor([x]).double(), n).float()
        assert torch.equal(short, exact)


# P_n(x) is x n P_(n-1)(0) there, P_k(0) being (-1)^(k/2) binomial(k, k/2) / 2^k.
@pytest.mark.parametrize("n", [1, 3, 7, 97, 999, 1001])
@pytest.mark.parametrize("x", [5e-324, -5e-324, 1.5e-323, 1e-310, 2.3e-308, 1e-290, -1e-272, 1e-270])
def test_legendre_polynomials_of_the_smallest_numbers(n, x):
    want = float(Fraction(x) * n * (-1) ** (n // 2) * Fraction(math.comb(n - 1, n // 2), 2 ** (n - 1)))
    got = torch.special.legendre_polynomial_p(torch.tensor([x, -x], dtype=torch.float64), n).tolist()
    assert abs(got[0] - want) <= math.ulp(want) and got[1] == -got[0]


def test_bessel_y1_of_small_numbers():  # -2 / (pi x)
    pi = Fraction(3141592653589793238462643383279502884197169399375105820974944, 10**60)
    for x in [1.5**k * 2.0**-1022 for k in range(1, 900)]:
        got, want = torch.special.bessel_y1(torch.tensor(x, dtype=torch.float64)).item(), -2 / (pi * Fraction(x))
        assert abs(Fraction(got) - want) <= Fraction(0.55) * Fraction(math.ulp(got)), x
    assert torch.special.bessel_y1(torch.tensor([5e-324, 3.5e-309], dtype=torch.float64)).tolist() == [-math.inf, -math.inf]


def test_legendre_polynomials_at_ends_and_zeros():
    for n in (1000, 1001, 2**40, 2**40 + 1):
        x = torch.tensor([0.0, 1, -1, 2, -2, 1e300, -math.inf, math.nan], dtype=torch.float64)
        got = torch.special.legendre_polynomial_p(x, n).tolist()
        sign = -1 if n % 2 else 1
        assert got[1:7] == [1, sign, math.inf, sign * math.inf, math.inf, sign * math.inf] and math.isnan(got[7])
        assert (got[0] == 0) == (n % 2 == 1)


def test_other_names():
    x = torch.tensor([[0.5, 2.0], [1.0, 3.0]])
    assert torch.equal(torch.special.softmax(x, 1), torch.softmax(x, 1))
    assert torch.equal(torch.special.log_softmax(x, dim=0, dtype=torch.float64), torch.log_softmax(x.double(), 0))
    assert torch.equal(torch.special.logsumexp(x, [0, 1]), torch.logsumexp(x, [0, 1]))
    assert torch.equal(torch.special.modified_bessel_i1(x), torch.special.i1(x))
    out = torch.empty(0)
    assert torch.special.erfcx(x, out=out) is out and out.shape == (2, 2)


SLOPES = {
    "entr": -0.3068528194400547,
    "erfcx": -0.5126888229025867,
    "ndtr": 0.35206532676429947,
    "log_ndtr": 0.5091604338370335,
    "bessel_j0": -0.2422684576748739,
    "bessel_j1": 0.4539328918910651,
    "bessel_y0": 1.471472392670243,
    "bessel_y1": 2.4984260518337797,
    "modified_bessel_k0": -1.656441120003301,
    "modified_bessel_k1": -4.237301311234267,
    "ndtri": 2.5066282746310007,
    "scaled_modified_bessel_k0": -1.2069003224378763,
    "scaled_modified_bessel_k1": -4.255119093985695,
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name):
    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(getattr(torch.special, name)(x).sum(), x, create_graph=True)
    assert slope.item() == pytest.approx(SLOPES[name], rel=1e-14)
    (bend,) = torch.autograd.grad(slope.sum(), x)
    with torch.no_grad():
        y = [getattr(torch.special, name)(x + d).item() for d in (-1e-3, 0, 1e-3)]
    assert bend.item() == pytest.approx((y[0] - 2 * y[1] + y[2]) / 1e-6, rel=1e-3, abs=1e-5)


def near(got, want):
    return abs(got - want) <= math.ulp(want)


@pytest.mark.parametrize(
    "a, x, lower, upper",
    [
        (10.0, 9.5, 0.4781739777627926, 0.5218260222372074),
        (1e-4, 1.2, 0.9999841573172772, 1.584268272280585e-05),
        (30.0, 60.0, 0.9999931237350312, 6.876264968732097e-06),
        (250.0, 240.0, 0.2676500698540158, 0.7323499301459842),
        (1e5, 1.002e5, 0.7366620100051987, 0.2633379899948013),
        (0.5, 1e-10, 1.1283791670579e-05, 0.9999887162083294),
        (12.3, 80.0, 1.0, 8.0426004575140345e-22),
        (1e-300, 0.5, 1.0, 5.597735947761608e-301),
        (333.6, 2.3e-319, 0.0, 1.0),
        (0.01, 1e-310, 0.00079886109143439602, 0.9992011389085656),
        (1e-3, 5e-324, 0.4752740574266902, 0.5247259425733098),
    ],
)
def test_incomplete_gamma(a, x, lower, upper):
    arguments = torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)
    assert near(torch.special.gammainc(*arguments).item(), lower)
    assert near(torch.special.gammaincc(*arguments).item(), upper)


def test_digamma_and_zeta():
    digamma = {1e-10: -10000000000.577215, 0.3: -3.502524222200133, 1.4616321449683622: -9.241265521729427e-17, 9.99: 2.250700372831201,
               10.0: 2.251752589066721, 1e10: 23.025850929890456, -0.5: 0.03648997397857652,
                -8.710843893415184: -0.2293651975781726}  # fmt: skip
    got = torch.special.digamma(torch.tensor(list(digamma), dtype=torch.float64)).tolist()
    assert all(map(near, got, digamma.values())), got
    zeta = {(2.0, 1.0): 1.6449340668482264, (1.0000001, 3.5): 9999998.891004749, (19.43, 15.9): 6.63328688037842e-24,
            (84.2, 3375.3): 3.385544909565974e-296, (2.0, 1e162): 1e-162,
            (2.0, 1e300): 1e-300, (3.0, 1e117): 5e-235, (math.inf, 0.5): math.inf, (math.inf, 2.0): 0.0, (3.0, math.inf): 0.0}  # fmt: skip
    for (s, q), want in zeta.items():
        got = torch.special.zeta(s, torch.tensor(q, dtype=torch.float64)).item()
        assert got == want or near(got, want), (s, q, got)


@pytest.mark.parametrize(
    "dtype, n, steps", [(torch.float16, 20, 10), (torch.bfloat16, 250, 7), (torch.float32, 200, 23), (torch.float64, 1500, 52)]
)
def test_ldexp_is_rounded_once(dtype, n, steps):
    """Whether or not 2**n is a number of the dtype."""
    least = torch.finfo(dtype).tiny
    x = torch.tensor([0.0, -0.0, math.inf, math.nan, least, 3.0 / least], dtype=dtype)
    for exponents in (torch.tensor([n] * 6), torch.tensor(n), torch.tensor([n] * 6, dtype=torch.int16)):
        for y in (torch.ldexp(x, exponents), torch.ldexp(x, exponents, out=torch.empty(6, dtype=dtype)), x.clone().ldexp_(exponents)):
            assert y.dtype is dtype and str(y[:4].tolist()) == "[0.0, -0.0, inf, nan]"
            assert y[4:].tolist() == [least * 2.0 ** (n // 2) * 2.0 ** (n - n // 2), math.inf]
    low = torch.ldexp(torch.tensor([1.0, 1.5, 1.75], dtype=dtype), torch.tensor(round(math.log2(least)) - steps))
    assert [v * 2.0**steps / least for v in low.tolist()] == [1, 2, 2]
    assert torch.ldexp(x, torch.tensor(2**40))[4] == math.inf and torch.ldexp(x, torch.tensor(-(2**40)))[4] == 0
    tiny = least * 2.0**-steps
    assert torch.ldexp(torch.tensor(tiny, dtype=dtype), torch.tensor(n + 7)).item() == tiny * 2.0 ** (n // 2) * 2.0 ** (n + 7 - n // 2)


# From mpmath, with 300 bits.
POLYGAMMA = [
    (1, 0.3875567533943606, 7.6955861567165255),
    (1, -21.000000000976748, 1.0481786744747916e18),
    (2, -11.000041747221863, 27488260370755.79),
    (5, 0.017484717548058182, 4199808807404.547),
    (10, -111.48837414943259, 3855384803.6924546),
    (20, 1.66976256762126, -51333194182830.635),
    (100, 3825.863311396552, -5.043387488210919e-203),
    (200, 100.0, -9.125424691096222e-28),
]


@pytest.mark.parametrize(("n", "x", "want"), POLYGAMMA)
def test_polygamma_is_right_to_the_last_place(n, x, want):
    got = torch.special.polygamma(n, torch.tensor(x, dtype=torch.float64)).item()
    assert abs(got - want) <= math.ulp(want)


def test_polygamma_at_poles():
    x = torch.tensor([0.0, -1.0, -7.0], dtype=torch.float64)
    assert torch.special.polygamma(3, x).tolist() == [math.inf] * 3
    first = torch.special.polygamma(1, x)
    assert first[0] == math.inf and (first[1:] > 1e28).all()


MVLGAMMA = [
    (2, 1.8158292483368064, 0.39517259781167393),
    (3, 87.999999999, 909.0773661607004),
    (6, 3.6938861701586334, 11.228658348333923),
    (40, 23.629777881168437, 1389.1605379973652),
]


@pytest.mark.parametrize(("p", "x", "want"), MVLGAMMA)
def test_mvlgamma_is_right_to_the_last_place(p, x, want):
    got = torch.special.multigammaln(torch.tensor(x, dtype=torch.float64), p).item()
    assert abs(got - want) <= math.ulp(want) / 2


@pytest.mark.parametrize("call", [torch.special.ndtr, lambda x, out=None: torch.special.multigammaln(x, 2, out=out)])
def test_composite_functions_may_overwrite_their_inputs(call):
    x = torch.arange(2.0, 18).reshape(4, 4)
    want = call(x)
    for view in (lambda t: t.t(), lambda t: t):
        y = x.clone()
        assert torch.equal(call(y, out=view(y)), want)
    y = torch.arange(1.0, 6)
    want = call(y[:-1] + 1)
    assert torch.equal(call(y[1:], out=y[:-1]), want)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.erf(x, out=x.t())


SHORT = {
    "bessel_j0": [torch.special.bessel_j0],
    "bessel_j1": [torch.special.bessel_j1],
    "bessel_y0": [torch.special.bessel_y0],
    "bessel_y1": [torch.special.bessel_y1],
    "bessel_i": [torch.special.i0e, torch.special.i1e, torch.special.modified_bessel_i0, torch.special.modified_bessel_i1],
    "bessel_k": [torch.special.scaled_modified_bessel_k0, torch.special.scaled_modified_bessel_k1, torch.special.modified_bessel_k0],
    "spherical_bessel_j0": [torch.special.spherical_bessel_j0],
    "incomplete gamma": [lambda x, f=f: f(x, x.flip(0)) for f in (torch.special.gammainc, torch.special.gammaincc)],
    # Degrees on both sides of where digits that cancel leave too few.
    "chebyshev": [
        lambda x, name=f"{shifted}chebyshev_polynomial_{kind}", n=n: getattr(torch.special, name)(x / 32, n)
        for kind in "tuvw"
        for shifted in ("", "shifted_")
        for n in (1, 2, 3, 20, 300, 5000)
    ],
}


@pytest.mark.parametrize("name", SHORT)
def test_short_ways_for_float32_are_as_good_as_those_of_float64(name):
    generator = torch.Generator()
    generator.manual_seed(1)
    x = torch.rand(4001, generator=generator) * 32
    for function in SHORT[name]:
        got, want = function(x).double().numpy(), function(x.double()).numpy()
        finite = abs(want) < torch.finfo(torch.float32).max
        last = np.spacing(np.maximum(abs(want[finite]), 1e-37).astype(np.float32))
        assert (abs(got[finite] - want[finite]) <= 0.51 * last).all()
        assert (got[~finite] == np.copysign(math.inf, want[~finite])).all()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_of_float32_are_right_to_the_last_place(name):
    """Small and large angles, those near multiples of pi/32, and those on both sides of 3200, up to which some CPUs compute in float32."""
    multiples = (np.arange(1, 33000) * (math.pi / 32)).astype(np.float32)
    end = np.float32(3200) + np.arange(-40, 41, dtype=np.float32) * np.spacing(np.float32(3200))
    small, large = np.geomspace(1e-45, 1, 500, dtype=np.float32), np.geomspace(3000, 3e38, 500, dtype=np.float32)
    x = np.concatenate([multiples, np.nextafter(multiples, np.float32(0)), end, small, large])
    x = np.concatenate([x, -x])
    got, want = getattr(torch, name)(torch.from_numpy(x)).numpy(), getattr(np, name)(x.astype(np.float64))
    assert (abs(got - want) <= np.spacing(abs(want).astype(np.float32))).all()
    assert (np.signbit(got) == np.signbit(want)).all()


MIXED = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    5e-324,
    -1e-310,
    1e-200,
    1e-30,
    0.25,
    -0.25,
    0.5,
    1.0,
    -1.0,
    1.5,
    -2.5,
    7.0,
    9.99,
    10.0,
    15.99,
    16.0,
]
MIXED += [26.0, -30.5, 150.25, 199.0, 200.0, 230.0, 700.0, 1000.0, -4503599627370497.5, 1e10, 1e19, 1e200, 1e300]
ONE_NUMBER = {
    "sin": torch.sin,
    "cos": torch.cos,
    "digamma": torch.digamma,
    "lgamma": torch.lgamma,
    "erfinv": torch.erfinv,
    "i0": torch.special.i0,
    "i0e": torch.special.i0e,
    "i1": torch.special.i1,
    "i1e": torch.special.i1e,
    "spherical_bessel_j0": torch.special.spherical_bessel_j0,
    "polygamma of order 1": lambda x: torch.polygamma(1, x),
    "polygamma of order 2": lambda x: torch.polygamma(2, x),
    "polygamma of order 120": lambda x: torch.polygamma(120, x),
    "multigammaln": lambda x: torch.special.multigammaln(x.abs().clamp(min=1.25), 3),
}
TWO_NUMBERS = {
    "zeta": torch.special.zeta,
    "gammainc": torch.special.gammainc,
    "gammaincc": torch.special.gammaincc,
    "chebyshev_polynomial_t": torch.special.chebyshev_polynomial_t,
    "shifted_chebyshev_polynomial_u": torch.special.shifted_chebyshev_polynomial_u,
    "hermite_polynomial_h": torch.special.hermite_polynomial_h,
    "laguerre_polynomial_l": torch.special.laguerre_polynomial_l,
    "legendre_polynomial_p": torch.special.legendre_polynomial_p,
}


def same(a, b):
    return (
        torch.equal(a.isnan(), b.isnan())
        and torch.equal(a.nan_to_num(7), b.nan_to_num(7))
        and torch.equal(a.signbit() & ~a.isnan(), b.signbit() & ~b.isnan())
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ONE_NUMBER)
def test_a_value_does_not_depend_on_adjacent_elements(name, dtype):
    """Values that vector code does not support are computed one by one; the results of the others do not depend on adjacent elements."""
    f, x = ONE_NUMBER[name], torch.tensor(MIXED, dtype=dtype)
    alone = torch.cat([f(v.reshape(1)) for v in x])
    assert same(f(x), alone) and same(f(x.flip(0)).flip(0), alone)
    strided = torch.stack([x, x.flip(0)], 1)
    assert same(f(strided[:, 0]), alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", TWO_NUMBERS)
def test_a_binary_result_does_not_depend_on_adjacent_elements(name, dtype):
    f = TWO_NUMBERS[name]
    x = torch.tensor(MIXED, dtype=dtype)
    y = torch.tensor([math.nan, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 5.0, 11.25, 40.0, 250.0, 999.0, 1000.0, 1e15, math.inf], dtype=dtype)
    a, b = (t.reshape(-1) for t in torch.broadcast_tensors(x[:, None], y))
    alone = torch.cat([f(a[i : i + 1], b[i : i + 1]) for i in range(a.numel())])
    assert same(f(a, b), alone) and same(f(a.flip(0), b.flip(0)).flip(0), alone)
    assert same(f(x[:, None], y).reshape(-1), alone)
    assert same(f(x, torch.tensor(5.0, dtype=dtype)), f(x, torch.full_like(x, 5.0)))


def test_the_least_numbers():
    x = torch.tensor([5e-324, 1e-310, 2.2e-308, 1e-300, -3e-305], dtype=torch.float64)
    assert torch.erfinv(x).tolist() == pytest.approx(
        [5e-324, 8.8622692545277e-311, 1.949699235996068e-308, 8.86226925452758e-301, -2.658680776358274e-305], rel=1e-15, abs=5e-324
    )


@pytest.mark.parametrize("x, value", [(-0.5, 8.934802200544679), (-1.25, 19.181879647671607), (-7.999, 1000003.1723481515)])
def test_the_first_derivative_of_digamma_at_negative_numbers(x, value):
    assert torch.polygamma(1, torch.tensor([x], dtype=torch.float64)).item() == pytest.approx(value, rel=1e-14)
