"""The extension of Fourier transforms."""

from .._core.tensor import checked
from .._gen import gen_fft as _fft
from .array import creates
from .elementwise import described, summary

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")


def along_one(name, function):
    def made(x, /, *, n=None, axis=-1, norm="backward"):
        return function(checked(x, name, "x"), n, axis, norm)

    return described(made, name, summary(function))


def along_several(name, function):
    def made(x, /, *, s=None, axes=None, norm="backward"):
        return function(checked(x, name, "x"), s, axes, norm)

    return described(made, name, summary(function).replace("`axis`", "`axes`"))


globals().update({name: along_one(name, getattr(_fft, name)) for name in ONE})
globals().update({name: along_several(name, getattr(_fft, name)) for name in SEVERAL})


@creates
def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Returns the frequencies of the `n` results of fft for the sample spacing `d`."""
    return _fft.fftfreq(n, d, dtype=dtype, device=device)


@creates
def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Returns the frequencies of the results of rfft of `n` samples."""
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x, /, *, axes=None):
    """Moves frequency 0 to the middle of axes, by default of all."""
    return _fft.fftshift(checked(x, "fftshift", "x"), axes)


def ifftshift(x, /, *, axes=None):
    """Reverses fftshift."""
    return _fft.ifftshift(checked(x, "ifftshift", "x"), axes)
