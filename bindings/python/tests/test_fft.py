"""Fourier transforms, and short-time ones."""

import cmath
import math

import numpy as np
import pytest

import libtensor as torch

# For every factorization of a transform: radices, primes with butterflies, lines of two rounds, Rader's and Bluestein's methods.
POINTS = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 30, 64, 97, 127, 128, 131, 257, 262, 289, 360, 500, 512, 1009, 1018, 1024, 4001, 4096]
# Around the longest lines that are taken for matrices as wide as a register, in float64 and in float32, with rows that two groups share.
POINTS += [272, 8192, 8208, 16384, 16400]
BOUNDS = {torch.float32: lambda n: 5e-7, torch.float64: lambda n: 5e-16 * max(math.log2(n), 1)}


def numbers(*sizes, dtype, seed=1):
    generator = torch.Generator()
    generator.manual_seed(seed)
    return torch.randn(*sizes, dtype=dtype, generator=generator)


def error(got, want):
    return float(np.linalg.norm((got.numpy() - want).ravel()) / max(np.linalg.norm(want.ravel()), 1e-30))


def wide(x):
    return x.numpy().astype(np.clongdouble if x.is_complex() else np.longdouble)


@pytest.mark.slow
@pytest.mark.parametrize("real", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", POINTS)
def test_transforms_are_near_those_in_wider_numbers(n, real):
    bound = BOUNDS[real](n)
    for lines in (1, 3, 19):
        x = numbers(lines, n, dtype=real)
        z = torch.complex(x, numbers(lines, n, dtype=real, seed=2))
        half = z[:, : n // 2 + 1]
        for name, given in (("fft", z), ("ifft", z), ("fft", x), ("ifft", x), ("rfft", x), ("ihfft", x)):
            assert error(getattr(torch.fft, name)(given), getattr(np.fft, name)(wide(given))) < bound, (name, lines)
        for name in ("irfft", "hfft"):
            assert error(getattr(torch.fft, name)(half, n=n), getattr(np.fft, name)(wide(half), n=n)) < bound, (name, lines)
        assert error(torch.fft.fft(z.t(), dim=0), np.fft.fft(wide(z.t()), axis=0)) < bound


@pytest.mark.parametrize("n", [6, 17, 131, 262, 512, 1024])
def test_layouts_do_not_matter(n):
    z = torch.complex(numbers(5, 2 * n, 3, dtype=torch.float64), numbers(5, 2 * n, 3, dtype=torch.float64, seed=2))
    for given in (z[:, ::2], z[:, n:], z.transpose(0, 2)[:, ::2], z[:1, ::2].expand(4, n, 3)):
        whole = given.clone(memory_format=torch.contiguous_format)
        assert torch.allclose(torch.fft.fft(given, dim=1), torch.fft.fft(whole, dim=1), rtol=1e-12, atol=1e-12)
        assert torch.allclose(torch.fft.rfft(given.real, dim=1), torch.fft.rfft(whole.real.clone(), dim=1), rtol=1e-12, atol=1e-12)
        assert torch.allclose(torch.fft.irfft(given, dim=1), torch.fft.irfft(whole, dim=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1024, 1009, 32768, 65536, 44100])
@pytest.mark.parametrize("lines", [1, 3])
def test_the_number_of_threads_does_not_change_a_bit(n, lines):
    x = numbers(lines, n, dtype=torch.float32)
    z = torch.complex(x, numbers(lines, n, dtype=torch.float32, seed=2))
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            torch.set_num_threads(threads)
            results.append([torch.fft.fft(z), torch.fft.rfft(x), torch.fft.irfft(z), torch.fft.fft(x), torch.fft.fft2(z)])
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_results_have_the_memory_layout_of_pytorch():
    x = torch.ones(5, 6, 7)
    assert torch.fft.fft(x, dim=0).stride() == (1, 35, 5)
    assert torch.fft.fft(x, dim=1).stride() == (42, 1, 6)
    assert torch.fft.rfftn(x, dim=(0, -1)).stride() == (4, 20, 1)
    assert torch.fft.irfft2(x, dim=(0, -1)).stride() == (12, 60, 1)
    assert torch.fft.fft(torch.zeros(3, 2, 0), dim=1).stride() == (2, 1, 1)
    assert torch.fft.fft(x.to("meta"), dim=0).stride() == (1, 35, 5)


ALL = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("n", [1, 2, 3, 16, 67, 131, 300])
def test_lengths_cut_off_and_fill_up(kind, n):
    transform = getattr(torch.fft, kind)
    x = numbers(3, 131, dtype=torch.float64 if kind in ("rfft", "ihfft") else torch.complex128)
    taken = n // 2 + 1 if kind in ("irfft", "hfft") else n
    padded = torch.zeros(3, taken, dtype=x.dtype)
    padded[:, : min(taken, 131)] = x[:, :taken]
    want = transform(padded, n=n) if kind in ("irfft", "hfft") else transform(padded)
    assert torch.equal(transform(x, n=n), want)
    assert torch.equal(transform(x.t(), n=n, dim=0), want.t())
    with pytest.raises(RuntimeError, match=r"Invalid number of data points \(0\)"):
        transform(x, n=0)
    with pytest.raises(RuntimeError, match="Invalid number of data points"):
        transform(x[:, :0])
    assert transform(x[:0], n=n).shape == (0, want.shape[1])


@pytest.mark.parametrize("kind", ["fft2", "ifftn", "rfft2", "irfftn", "hfft2", "ihfftn"])
@pytest.mark.parametrize("dim", [(0, 1), (2, 0), (1,)])
def test_operands_and_outputs_have_any_layout(kind, dim):
    transform = getattr(torch.fft, kind)
    x = numbers(6, 17, 8, dtype=torch.float32 if kind in ("rfft2", "ihfftn") else torch.complex64)
    want = transform(x, dim=dim)
    room = torch.zeros(7, 17, 24, dtype=x.dtype)
    room[1:, :, ::3] = x
    for view in (room[1:, :, ::3], x.permute(2, 0, 1).contiguous().permute(1, 2, 0), x.conj().conj()):
        assert torch.allclose(transform(view, dim=dim), want, rtol=1e-5, atol=1e-5)
    wide = torch.full((want.shape[2], 2 * want.shape[1], want.shape[0]), 7, dtype=want.dtype)
    out = wide[:, 1::2].permute(2, 1, 0)
    assert transform(x, dim=dim, out=out) is out and torch.equal(out, want)
    assert (wide[:, ::2] == 7).all()
    grown = torch.empty(0, dtype=torch.complex128 if want.is_complex() else torch.float64)
    assert torch.equal(transform(x, dim=dim, out=grown), want.to(grown.dtype))
    one = x[:1].expand(6, 17, 8)
    assert torch.allclose(transform(one, dim=dim), transform(one.contiguous(), dim=dim), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1_000_003, 1_299_709, 2 * 499_979])
def test_large_primes(n):
    x = torch.zeros(n, dtype=torch.complex128)
    x[5] = 1
    k = torch.tensor([0, 1, n // 3, n // 2, n - 1])
    angles = -2 * math.pi * ((5 * k) % n).double() / n
    got = torch.fft.fft(x)[k]
    assert torch.allclose(got, torch.complex(angles.cos(), angles.sin()), rtol=0, atol=1e-13)
    assert (torch.fft.ifft(torch.fft.fft(x)) - x).abs().max() < 1e-14


def test_norms_sizes_and_dims():
    x = torch.tensor([1.0, 2, 3, 4])
    assert torch.fft.fft(x, norm="forward")[0] == 2.5 and torch.fft.fft(x, norm="ortho")[0] == 5
    assert torch.fft.ifft(x, norm="forward")[0] == 10 and torch.fft.ifft(x, norm="backward")[0] == 2.5
    assert torch.fft.fft(x, n=2)[0] == 3 and torch.fft.fft(x, n=6).shape == (6,)
    assert torch.fft.fftn(torch.ones(2, 3, 4), s=(-1, 2)).shape == (2, 3, 2)
    assert torch.fft.fftn(torch.ones(2, 3), dim=()).equal(torch.ones(2, 3) + 0j)
    assert torch.fft.irfftn(torch.ones(2, 3, 4), s=(2, 5)).shape == (2, 2, 5)
    y = numbers(4, 5, 6, dtype=torch.float64)
    for name in ("fft", "ifft", "rfft", "ihfft"):
        many = (
            getattr(torch.fft, name + "n")(y, dim=(0, 2), norm="ortho")
            if name != "ihfft"
            else torch.fft.rfftn(y, dim=(0, 2), norm="ortho").conj_physical()
        )
        want = np.fft.fftn if name == "fft" else np.fft.ifftn if name == "ifft" else np.fft.rfftn
        expected = want(y.numpy(), axes=(0, 2), norm="ortho")
        assert np.allclose(many.numpy(), expected if name != "ihfft" else expected.conj())
    assert torch.allclose(torch.fft.irfftn(torch.fft.rfftn(y)), y) and torch.allclose(torch.fft.hfftn(torch.fft.ihfftn(y)), y)
    assert torch.allclose(torch.fft.ihfft2(y), torch.fft.ihfftn(y, dim=(-2, -1)))


def test_dtypes():
    x = torch.tensor([1, 2, 3, 4])
    assert torch.fft.fft(x).dtype == torch.complex64 and torch.fft.irfft(x).dtype == torch.float32
    assert torch.fft.fft(torch.tensor([True, False])).tolist() == [1, 1]
    out = torch.empty(0, dtype=torch.complex128)
    assert torch.fft.fft(x.float(), out=out) is out and out.tolist() == [10, -2 + 2j, -2, -2 - 2j]
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.fft.fft(x).dtype == torch.complex128
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex32, torch.bcomplex32], ids=str)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_16_bit_dtypes_are_rejected(dtype, device):
    x = torch.ones(4, 4, dtype=dtype, device=device)
    names = ["fft", "ifft", "fft2", "ifftn", "irfft", "hfft2"] + ([] if dtype.is_complex else ["rfft", "ihfft", "rfftn"])
    for name in names:
        with pytest.raises(NotImplementedError, match=rf"^fft.{name}: Unsupported dtype {str(dtype)[6:]}; convert to (float32|complex64)"):
            getattr(torch.fft, name)(x)
    if not dtype.is_complex:
        with pytest.raises(NotImplementedError, match="^stft: Unsupported dtype"):
            torch.stft(x, 2, 1, window=torch.ones(2, dtype=dtype, device=device), return_complex=True)
    assert torch.fft.fftshift(x).dtype == dtype


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda f, x: f.fft(x, n=0), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda f, x: f.fft(x[:, :0]), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda f, x: f.irfft(x[:, :1]), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda f, x: f.fft(x, dim=2), IndexError, "2"),
        (lambda f, x: f.fft(torch.tensor(1.0)), IndexError, "no dimensions"),
        (lambda f, x: f.fftn(x, dim=(0, -2)), RuntimeError, "FFT dims must be unique"),
        (lambda f, x: f.fftn(x, s=(1, 1, 1)), RuntimeError, "Got shape with 3 values but input tensor only has 2 dimensions"),
        (lambda f, x: f.fftn(x, s=(1,), dim=(0, 1)), RuntimeError, "must have the same length"),
        (lambda f, x: f.rfftn(x, dim=()), RuntimeError, "must transform at least one axis"),
        (lambda f, x: f.fft(x, norm="other"), RuntimeError, 'Invalid normalization mode: "other"'),
        (lambda f, x: f.rfft(x + 0j), TypeError, "complex64"),
        (lambda f, x: f.fft(x, out=torch.empty(0)), RuntimeError, "expects a complex output tensor, but got float32"),
        (lambda f, x: f.irfft(x, out=torch.empty(0, dtype=torch.int64)), RuntimeError, "floating point output tensor, but got int64"),
        (lambda f, x: f.fftfreq(4, dtype=torch.int64), RuntimeError, "floating point or complex dtype"),
    ],
)
def test_bad_arguments_are_rejected(call, kind, says):
    with pytest.raises(kind, match=says):
        call(torch.fft, torch.ones(2, 3))


def test_shifts_and_frequencies():
    assert torch.fft.fftfreq(5, d=0.5).tolist() == pytest.approx([0, 0.4, 0.8, -0.8, -0.4])
    assert torch.fft.rfftfreq(4).tolist() == [0, 0.25, 0.5] and torch.fft.fftfreq(0).shape == (0,)
    x = torch.arange(6).reshape(2, 3)
    assert torch.fft.fftshift(x).tolist() == [[5, 3, 4], [2, 0, 1]]
    assert torch.fft.ifftshift(torch.fft.fftshift(x)).equal(x)
    assert torch.fft.fftshift(x, dim=1).tolist() == [[2, 0, 1], [5, 3, 4]]


def test_gradients_of_transforms():
    x = numbers(3, 8, dtype=torch.float64).requires_grad_()
    for call in (torch.fft.fft, torch.fft.rfft, torch.fft.ihfft, torch.fft.rfft2, lambda t: torch.fft.rfft(t, n=5)):
        y = call(x)
        weights = torch.complex(numbers(*y.shape, dtype=torch.float64, seed=3), numbers(*y.shape, dtype=torch.float64, seed=4))
        (gradient,) = torch.autograd.grad((y * weights).real.sum(), x)
        probe = numbers(3, 8, dtype=torch.float64, seed=5)
        assert (gradient * probe).sum().item() == pytest.approx((call(probe) * weights).real.sum().item())
    z = torch.complex(numbers(3, 5, dtype=torch.float64), numbers(3, 5, dtype=torch.float64, seed=2)).requires_grad_()
    for call in (torch.fft.irfft, torch.fft.hfft, lambda t: torch.fft.irfft(t, n=7), torch.fft.irfft2):
        y = call(z)
        weights = numbers(*y.shape, dtype=torch.float64, seed=3)
        (gradient,) = torch.autograd.grad((y * weights).sum(), z)
        probe = torch.complex(numbers(3, 5, dtype=torch.float64, seed=6), numbers(3, 5, dtype=torch.float64, seed=7))
        assert (gradient.conj() * probe).real.sum().item() == pytest.approx((call(probe) * weights).sum().item())


def frames_by_hand(x, n_fft, hop, window):
    count = 1 + (len(x) - n_fft) // hop
    return [
        [sum(x[i * hop + j] * window[j] * cmath.exp(-2j * math.pi * j * k / n_fft) for j in range(n_fft)) for i in range(count)]
        for k in range(n_fft // 2 + 1)
    ]


def test_short_time_transforms():
    x, window = numbers(20, dtype=torch.float64), torch.hann_window(6, dtype=torch.float64)
    values, weights = x.tolist(), [0.0, *window.tolist(), 0.0]
    got = torch.stft(x, 8, hop_length=3, win_length=6, window=window, center=False, return_complex=True)
    assert got.shape == (5, 5) and got.stride() == (1, 5)
    assert np.allclose(got.numpy(), frames_by_hand(values, 8, 3, weights))
    for mode, ends in (
        ("reflect", (values[4:0:-1], values[-2:-6:-1])),
        ("constant", ([0.0] * 4, [0.0] * 4)),
        ("replicate", ([values[0]] * 4, [values[-1]] * 4)),
        ("circular", (values[-4:], values[:4])),
    ):
        longer = [*ends[0], *values, *ends[1]]
        got = torch.stft(x, 8, hop_length=3, win_length=6, window=window, pad_mode=mode, return_complex=True)
        assert np.allclose(got.numpy(), frames_by_hand(longer, 8, 3, weights)), mode
    assert torch.stft(x, 8, return_complex=False).shape == (5, 11, 2)
    assert x.stft(8, onesided=False, return_complex=True).shape == (8, 11)
    assert torch.stft(x, 8, center=False, align_to_window=True, win_length=5, return_complex=True).shape == (5, 8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_signals_come_back(dtype):
    x, window = numbers(2, 200, dtype=dtype), torch.hann_window(16, dtype=dtype)
    for keywords in ({}, {"hop_length": 3}, {"normalized": True}, {"win_length": 16, "onesided": False}):
        spectra = torch.stft(x, 20, window=window, **{"win_length": 16, "return_complex": True, **keywords})
        back = torch.istft(spectra, 20, window=window, length=200, **{"win_length": 16, **keywords})
        assert torch.allclose(back, x, atol=1e-5)
    z = torch.complex(x, x.flip(-1))
    spectra = torch.stft(z, 20, onesided=False)
    assert torch.allclose(torch.istft(spectra, 20, onesided=False, return_complex=True), z, atol=1e-5)
    assert torch.istft(torch.stft(x, 20, return_complex=True), 20, length=230)[:, 210:].eq(0).all()


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda x: torch.stft(x, 8), RuntimeError, "return_complex"),
        (lambda x: torch.stft(x.int(), 8, return_complex=True), RuntimeError, "floating point or complex values, got int32"),
        (lambda x: torch.stft(x[None, None], 8, return_complex=True), RuntimeError, r"1D or 2D tensor, got shape \[1, 1, 20\]"),
        (lambda x: torch.stft(x, 80, return_complex=True), RuntimeError, r"padding \(40, 40\)"),
        (lambda x: torch.stft(x, 30, center=False, return_complex=True), RuntimeError, "n_fft=30"),
        (lambda x: torch.stft(x, 8, hop_length=0, return_complex=True), RuntimeError, "hop_length=0"),
        (lambda x: torch.stft(x, 8, win_length=9, return_complex=True), RuntimeError, "win_length=9"),
        (
            lambda x: torch.stft(x, 8, window=torch.ones(7), return_complex=True),
            RuntimeError,
            r"win_length=8, but got window with size \[7\]",
        ),
        (lambda x: torch.stft(x + 0j, 8, onesided=True), RuntimeError, "Cannot have onesided output"),
        (lambda x: torch.stft(x, 8, pad_mode="other", return_complex=True), RuntimeError, "pad_mode must be one of .*, got .other."),
        (lambda x: torch.istft(x[None], 8), TypeError, "complex-valued input"),
        (
            lambda x: torch.istft(torch.stft(x, 8, return_complex=True), 10),
            RuntimeError,
            "n_fft / 2 \\+ 1 = 6 when onesided=True, but got 5",
        ),
        (lambda x: torch.istft(torch.stft(x, 8, return_complex=True), 8, window=torch.zeros(8)), RuntimeError, "window overlap add min"),
    ],
)
def test_bad_signals_are_rejected(call, kind, says):
    with pytest.raises(kind, match=says):
        call(torch.arange(20.0))


def test_lengths_of_signals_are_not_negative():
    spectra = torch.stft(torch.rand(64), 8, return_complex=True)
    with pytest.raises(RuntimeError, match="istft: expected length >= 0, but got length=-5"):
        torch.istft(spectra, 8, length=-5)


def test_frequencies_are_leaves():
    assert torch.fft.fftfreq(5, requires_grad=True).requires_grad and torch.fft.rfftfreq(5, requires_grad=True).is_leaf


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
def test_two_dimensions_are_not_none(name):
    with pytest.raises(TypeError, match="argument 'dim' must be tuple of ints, not NoneType"):
        getattr(torch.fft, name)(torch.ones(2, 3, 4), dim=None)
    assert getattr(torch.fft, name[:-1] + "n")(torch.ones(2, 3, 4), dim=None).dim() == 3
