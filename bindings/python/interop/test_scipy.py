"""Functions of arrays with SCIPY_ARRAY_API=1, which return tensors for tensors: special functions, statistics, Fourier transforms, filters,
images, clusters, integrals, derivatives, rotations."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # which SciPy reads when it is imported

import array_api_compat
import numpy as np
import pytest
from scipy import cluster, constants, differentiate, fft, integrate, ndimage, signal, special, stats
from scipy.spatial.transform import Rotation

import libtensor as torch
from libtensor import array_api

DATA = np.random.default_rng(0).normal(size=(4, 50))
CALLS = {
    "special.betainc": lambda x: special.betainc(abs(x) + 1, abs(x) + 1, abs(x) / 10),
    "special.chdtrc": lambda x: special.chdtrc(abs(x) + 1, abs(x)),
    "special.entr": lambda x: special.entr(abs(x)),
    "special.erf": special.erf,
    "special.expit": special.expit,
    "special.gammaln": lambda x: special.gammaln(abs(x)),
    "special.i0": special.i0,
    "special.log_softmax": lambda x: special.log_softmax(x, axis=0),
    "special.logsumexp": lambda x: special.logsumexp(x, axis=1),
    "special.ndtr": special.ndtr,
    "special.softmax": lambda x: special.softmax(x, axis=0),
    "special.xlogy": lambda x: special.xlogy(abs(x), abs(x)),
    "stats.bartlett": lambda x: stats.bartlett(x[0, :], x[1, :], x[2, :]).pvalue,
    "stats.circmean": lambda x: stats.circmean(x, axis=1),
    "stats.describe": lambda x: stats.describe(x, axis=1).variance,
    "stats.directional_stats": lambda x: stats.directional_stats(x).mean_direction,
    "stats.entropy": lambda x: stats.entropy(abs(x), axis=1),
    "stats.f_oneway": lambda x: stats.f_oneway(x[0, :], x[1, :], x[2, :]).pvalue,
    "stats.gmean": lambda x: stats.gmean(abs(x), axis=1),
    "stats.kurtosis": lambda x: stats.kurtosis(x, axis=1),
    "stats.mannwhitneyu": lambda x: stats.mannwhitneyu(x, x + 0.3, axis=1).pvalue,
    "stats.moment": lambda x: stats.moment(x, 3, axis=1),
    "stats.normaltest": lambda x: stats.normaltest(x, axis=1).pvalue,
    "stats.pearsonr": lambda x: stats.pearsonr(x, x * x, axis=1).statistic,
    "stats.quantile": lambda x: stats.quantile(x, 0.3, axis=1),
    "stats.skew": lambda x: stats.skew(x, axis=1),
    "stats.trim_mean": lambda x: stats.trim_mean(x, 0.1, axis=1),
    "stats.ttest_ind": lambda x: stats.ttest_ind(x, x + 0.1, axis=1).pvalue,
    "stats.zscore": lambda x: stats.zscore(x, axis=1),
    "fft.dct": fft.dct,
    "fft.fft": fft.fft,
    "fft.fftn": fft.fftn,
    "fft.fftshift": fft.fftshift,
    "fft.irfft": lambda x: fft.irfft(fft.rfft(x)),
    "signal.convolve": lambda x: signal.convolve(x, x[:2, :5]),
    "signal.detrend": signal.detrend,
    "signal.fftconvolve": lambda x: signal.fftconvolve(x, x),
    "signal.freqz": lambda x: signal.freqz(x[0, :])[1],
    "signal.hilbert": signal.hilbert,
    "signal.lfilter": lambda x: signal.lfilter(x[0, :3], x[1, :3] + 9, x),
    "signal.medfilt": lambda x: signal.medfilt(x, 3),
    "signal.oaconvolve": lambda x: signal.oaconvolve(x, x[:2, :5]),
    "signal.resample": lambda x: signal.resample(x, 30, axis=1),
    "signal.savgol_filter": lambda x: signal.savgol_filter(x, 5, 2),
    "ndimage.gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.0),
    "ndimage.uniform_filter": lambda x: ndimage.uniform_filter(x, 3),
    "cluster.linkage": cluster.hierarchy.linkage,
    "cluster.vq": lambda x: cluster.vq.vq(x, x[:2, :])[1],
    "cluster.whiten": lambda x: cluster.vq.whiten(x),
    "integrate.tanhsinh": lambda x: integrate.tanhsinh(lambda y: y * y, x[0, :], x[0, :] + 1).integral,
    "integrate.trapezoid": lambda x: integrate.trapezoid(x, dx=0.1),
    "differentiate.derivative": lambda x: differentiate.derivative(lambda y: y**3, x).df,
    "constants.convert_temperature": lambda x: constants.convert_temperature(x, "C", "K"),
    "spatial.Rotation": lambda x: Rotation.from_rotvec(x[:, :3]).as_matrix(),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("data", [DATA, DATA[:, ::2], DATA.astype("float32")], ids=["float64", "view", "float32"])
def test_answers_are_numpys(name, data):
    expected = CALLS[name](data.copy())
    found = CALLS[name](torch.from_numpy(data))
    assert isinstance(found, torch.Tensor) and found.dtype.name in (expected.dtype.name, data.dtype.name)
    rtol = 1e-9 if data.dtype == "float64" else 2e-3
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=rtol / 100)


def test_array_api_compat_knows_tensors():
    x = torch.ones(2, 3)
    assert array_api_compat.array_namespace(x, 1.0) is array_api and array_api_compat.is_array_api_obj(x)
    assert array_api_compat.device(x) == x.device and array_api_compat.to_device(x, "cpu") is x and array_api_compat.size(x) == 6
    with pytest.raises(TypeError, match="Multiple namespaces"):
        array_api_compat.array_namespace(x, np.ones(2))


def test_gradients_go_through():
    x = torch.from_numpy(DATA[0].copy()).requires_grad_()
    special.logsumexp(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), special.softmax(DATA[0]), rtol=1e-12)
