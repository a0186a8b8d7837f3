"""Window functions: those of signal.windows and the older names, compared with their formulas."""

import math

import numpy as np
import pytest

import libtensor as torch


def cosines(*weights):
    """A sum of cosines with signs that alternate, at positions from 0 to 1."""
    return lambda k, width: sum((-1) ** i * w * np.cos(2 * np.pi * i * k / width) for i, w in enumerate(weights))


def middle(k, width):
    return k - width / 2


# The value of sample k of a symmetric window of width + 1 samples.
FORMULAS = {
    "bartlett": ({}, lambda k, width: 1 - np.abs(2 * k / width - 1)),
    "blackman": ({}, cosines(0.42, 0.5, 0.08)),
    "cosine": ({}, lambda k, width: np.sin(np.pi * (k + 0.5) / (width + 1))),
    "exponential": ({"tau": 3.0}, lambda k, width: np.exp(-np.abs(middle(k, width)) / 3)),
    "gaussian": ({"std": 2.5}, lambda k, width: np.exp(-0.5 * (middle(k, width) / 2.5) ** 2)),
    "general_cosine": ({"a": [0.3, 0.4, 0.2, 0.1]}, cosines(0.3, 0.4, 0.2, 0.1)),
    "general_hamming": ({"alpha": 0.7}, cosines(0.7, 1 - 0.7)),
    "hamming": ({}, cosines(0.54, 0.46)),
    "hann": ({}, cosines(0.5, 0.5)),
    "kaiser": ({"beta": 9.5}, lambda k, width: np.i0(9.5 * np.sqrt(np.maximum(1 - (2 * k / width - 1) ** 2, 0))) / np.i0(9.5)),
    "nuttall": ({}, cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411)),
}
OLDER = {
    "bartlett": torch.bartlett_window,
    "blackman": torch.blackman_window,
    "hamming": torch.hamming_window,
    "hann": torch.hann_window,
    "kaiser": lambda n, **keywords: torch.kaiser_window(n, beta=9.5, **keywords),
}


# Positions are rounded too, to fractions of the larger distances from the middle.
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FORMULAS)
def test_windows_match_their_formulas(name, dtype):
    keywords, value = FORMULAS[name]
    bound = 100 * torch.finfo(dtype).eps
    for n in (0, 1, 2, 3, 4, 7, 8, 33, 257):
        for symmetric in (True, False):
            want = np.ones(n) if n < 2 else value(np.arange(n), n - symmetric)
            got = getattr(torch.signal.windows, name)(n, sym=symmetric, dtype=dtype, **keywords)
            assert got.dtype == dtype and got.shape == (n,)
            np.testing.assert_allclose(got.numpy(), want, rtol=0, atol=bound)
            if name in OLDER:
                np.testing.assert_allclose(OLDER[name](n, periodic=not symmetric, dtype=dtype).numpy(), want, rtol=0, atol=bound)


def test_centres_of_exponential_windows():
    got = torch.signal.windows.exponential(4, center=1.0, sym=False)
    assert got.tolist() == pytest.approx([math.exp(-1), 1, math.exp(-1), math.exp(-2)])


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-4), (torch.float64, 1e-11)])
@pytest.mark.parametrize("beta", [85.0, 89.0, 93.0, 100.0, 710.0, 720.0, 1e4])
def test_kaiser_windows_beyond_the_range_of_the_bessel_function(beta, dtype, bound):
    def log_i0(x):  # of the mean of exp(x cos(angle))
        return x + np.log(np.exp(np.multiply.outer(x, np.cos(np.arange(4096) * np.pi / 2048) - 1)).mean(-1))

    place = np.arange(1, 16) / 8 - 1
    want = np.exp(log_i0(beta * np.sqrt(1 - place**2)) - log_i0(beta))
    last = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    for made in (torch.signal.windows.kaiser(17, beta=beta, dtype=dtype), torch.kaiser_window(17, False, beta, dtype=dtype)):
        assert made[8] == 1 and made.isfinite().all()
        np.testing.assert_allclose(made.numpy()[1:-1], want, rtol=bound * max(1, beta / 100), atol=2 * last)
    assert torch.equal(torch.kaiser_window(17, False, -beta, dtype=dtype), torch.kaiser_window(17, False, beta, dtype=dtype))


def test_invalid_window_arguments_are_rejected():
    w = torch.signal.windows
    for call, says in (
        (lambda: w.hann(-1), "M=-1"),
        (lambda: w.hann(3, dtype=torch.float16), "float32 or float64"),
        (lambda: w.gaussian(3, std=0.0), "must be positive, got: 0"),
        (lambda: w.exponential(3, center=1.0), "symmetric"),
        (lambda: w.general_cosine(3, a=[]), "empty"),
        (lambda: w.kaiser(3, beta=-1.0), "non-negative, got: -1"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
