"""Linear algebra by cuSOLVER and cuBLAS, and Fourier transforms by cuFFT: results by their definitions, and the CPU's where they are
unique."""

import os
import pathlib
import subprocess
import sys

import pytest

import libtensor as torch

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
linalg = torch.linalg


def matrices(*size, dtype=torch.float64, seed=1):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(size, dtype=torch.float64, generator=g)
    if dtype.is_complex:
        x = torch.complex(x, torch.randn(size, dtype=torch.float64, generator=g))
    return x.to(dtype)


def hermitian(*size, dtype):
    x = matrices(*size, dtype=dtype)
    return x @ x.mH + 3 * torch.eye(size[-1], dtype=dtype)


def near(here, there, dtype=None):
    """Whether two tensors are equal but for rounding."""
    bound = 1e-3 if (dtype or here.dtype) in (torch.float32, torch.complex64) else 1e-9
    assert there.device.type == "cuda" and here.shape == there.shape
    return torch.allclose(here, there.cpu(), bound, bound)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(4, 4), (3, 5, 5), (2, 0, 0)], ids=str)
def test_unique_results(dtype, size):
    a, b = matrices(*size, dtype=dtype), matrices(*size[:-1], 2, dtype=dtype, seed=2)
    positive = hermitian(*size, dtype=dtype)
    for f in (
        lambda a, b, p: linalg.inv(a),
        lambda a, b, p: linalg.solve(a, b),
        lambda a, b, p: linalg.solve(a.mT, b.mT, left=False) if a.numel() else b,
        lambda a, b, p: linalg.det(a),
        lambda a, b, p: torch.logdet(p).real,
        lambda a, b, p: linalg.cholesky(p),
        lambda a, b, p: linalg.cholesky(p, upper=True),
        lambda a, b, p: linalg.eigvalsh(p),
        lambda a, b, p: linalg.svdvals(a),
        lambda a, b, p: linalg.lu_factor(a)[0],
        lambda a, b, p: linalg.lu_factor(a)[1],
        lambda a, b, p: torch.lu_solve(b, *linalg.lu_factor(a)),
        lambda a, b, p: torch.cholesky_solve(b, linalg.cholesky(p)),
        lambda a, b, p: torch.cholesky_inverse(linalg.cholesky(p)),
        lambda a, b, p: linalg.solve_triangular(a.triu(), b, upper=True),
        lambda a, b, p: linalg.solve_triangular(a.tril(), b.mT, upper=False, left=False, unitriangular=True),
        lambda a, b, p: linalg.matrix_exp(a),
        lambda a, b, p: linalg.pinv(a),
        lambda a, b, p: linalg.matrix_norm(a, "nuc"),
    ):
        assert near(f(a, b, positive), f(a.cuda(), b.cuda(), positive.cuda()))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [(5, 3), (2, 3, 5), (4, 4)], ids=str)
def test_decompositions(dtype, size):
    """Factors of which the product is the matrix, and that are unitary."""
    a = matrices(*size, dtype=dtype)
    there = a.cuda()
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(there, mode)
        assert near(a, q @ r) and near(torch.eye(q.shape[-1], dtype=dtype).expand((q.mH @ q).shape), q.mH @ q)
    for full in (False, True):
        u, s, vh = linalg.svd(there, full)
        short = s.shape[-1]
        assert near(a, u[..., :short] * s.unsqueeze(-2).to(dtype) @ vh[..., :short, :])
        assert near(linalg.svdvals(a), s) and near(torch.eye(vh.shape[-2], dtype=dtype).expand((vh @ vh.mH).shape), vh @ vh.mH)
    if size[-1] == size[-2]:
        values, vectors = linalg.eig(there)
        assert near((a + 0j) @ vectors.cpu(), vectors * values.unsqueeze(-2))
        values, vectors = linalg.eigh(there + there.mH)
        assert near(a + a.mH, (vectors * values.unsqueeze(-2).to(dtype)) @ vectors.mH)
        p, lower, upper = linalg.lu(there)
        assert near(a, p @ lower @ upper)
    packed, tau = torch.geqrf(there)
    if size[-2] >= size[-1]:
        other = matrices(*size[:-1], 2, dtype=dtype, seed=3)
        q = linalg.householder_product(packed, tau)
        assert near(q.cpu().mH @ other, torch.ormqr(packed, tau, other.cuda(), transpose=True)[..., : size[-1], :])


def test_iterated_eigenvalues():
    a = hermitian(12, 12, dtype=torch.float64) + torch.diag(torch.arange(0.0, 120, 10, dtype=torch.float64))
    for largest in (False, True):
        values, vectors = torch.lobpcg(a.cuda(), k=2, largest=largest, niter=100)
        expected = linalg.eigvalsh(a)
        assert near(expected[-2:].flip(0) if largest else expected[:2], values, torch.float32)
        assert near(a @ vectors.cpu(), vectors * values, torch.float32)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("size", [(6, 3), (2, 3, 6)], ids=str)
def test_least_squares(driver, size):
    a, b = matrices(*size), matrices(*size[:-1], 2, seed=2)
    for here, there in zip(linalg.lstsq(a, b, driver=driver), linalg.lstsq(a.cuda(), b.cuda(), driver=driver), strict=True):
        assert torch.allclose(here, there.cpu()) and here.shape == there.shape


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_ldl(dtype):
    a, b = matrices(2, 4, 4, dtype=dtype), matrices(2, 4, 2, dtype=dtype, seed=2)
    a = a + a.mT
    ld, pivots = linalg.ldl_factor(a.cuda())
    assert near(b, a.cuda() @ linalg.ldl_solve(ld, pivots, b.cuda()))
    if dtype.is_complex:
        with pytest.raises(NotImplementedError, match="linalg.ldl_factor.*Hermitian"):
            linalg.ldl_factor(a.cuda(), hermitian=True)


def test_failures():
    """Singular and non-finite matrices are the CPU's errors."""
    singular, infinite = torch.zeros(2, 3, 3), torch.full((2, 3, 3), float("nan"))
    for f, x in (
        (linalg.inv, singular),
        (linalg.cholesky, -singular),
        (linalg.cholesky, infinite),
        (linalg.eigh, infinite),
        (linalg.svd, infinite),
        (linalg.eig, infinite),
    ):
        messages = []
        for device in ("cpu", "cuda"):
            with pytest.raises(linalg.LinAlgError) as error:
                f(x.to(device))
            messages.append(str(error.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_transforms(dtype):
    x = matrices(3, 4, 5, 2, dtype=dtype)
    fft = torch.fft
    for f in (
        lambda x: fft.fft(x, dim=1),
        lambda x: fft.ifft(x, 7, dim=0),
        lambda x: fft.fft2(x, norm="ortho"),
        lambda x: fft.fftn(x),
        lambda x: fft.ifftn(x, dim=(3, 0)),
        lambda x: fft.rfft(x.real, dim=2),
        lambda x: fft.rfftn(x.real),
        lambda x: fft.irfft(x, 6, dim=1),
        lambda x: fft.irfftn(x, (4, 4, 5, 3)),
        lambda x: fft.hfft(x, 7, dim=2),
        lambda x: fft.ihfft(x.real, dim=1),
        lambda x: fft.fft(x.real),
        lambda x: fft.rfft(x.real.reshape(-1)[1:]),
        lambda x: torch.stft(x.real.reshape(2, -1), 8, 4, return_complex=True, window=torch.ones(8, dtype=x.real.dtype, device=x.device)),
    ):
        here, there = f(x), f(x.cuda())
        assert near(here, there) and here.stride() == there.stride()


def test_gradients():
    for f in (
        lambda x: linalg.inv(x).sum(),
        lambda x: linalg.svdvals(x).sum(),
        lambda x: torch.fft.fft(x).abs().sum(),
        lambda x: linalg.slogdet(x)[1],
    ):
        x = matrices(4, 4).requires_grad_()
        there = x.detach().cuda().requires_grad_()
        (here,), (found,) = torch.autograd.grad(f(x), [x]), torch.autograd.grad(f(there), [there])
        assert near(here, found)


CODE = """
import libtensor as torch
for f in (torch.linalg.inv, torch.fft.fft):
    try:
        f(torch.eye(3).cuda())
    except NotImplementedError as error:
        print(error)
"""


@pytest.mark.usefixtures("simulation")
def test_without_the_libraries():
    """Errors name the operator, the library, and the variable that locates it."""
    environment = os.environ | {"LIBTENSOR_CUSOLVER": "none", "LIBTENSOR_CUFFT": "none"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=environment)
    first, second = done.stdout.splitlines()
    assert first.startswith("linalg.inv: not implemented on cuda without cuSOLVER") and "LIBTENSOR_CUSOLVER" in first
    assert second.startswith("fft.fft: not implemented on cuda without cuFFT") and "LIBTENSOR_CUFFT" in second


GENERAL = """
import libtensor as torch
x = torch.eye(3).cuda()
print(torch.linalg.inv(x).equal(x))
try:
    torch.linalg.eigvals(x)
except NotImplementedError as error:
    print(error)
"""


@pytest.mark.usefixtures("simulation")
def test_a_library_without_general_eigenvalues(tmp_path):
    """Versions of cuSOLVER before 11.7.2 are used for everything else."""
    name = "libcusolver.so.11"
    built = next(path for folder in os.environ["LD_LIBRARY_PATH"].split(":") if (path := pathlib.Path(folder, name)).exists())
    old = tmp_path / name
    old.write_bytes(built.read_bytes().replace(b"\0cusolverDnXgeev\0", b"\0cusolverDnXnone\0"))
    lapack = built.parents[2] / "openblas/libscipy_openblas64_.so"  # which the simulation searches next to itself
    environment = {"LIBTENSOR_OPENBLAS": str(lapack)} | os.environ | {"LIBTENSOR_CUSOLVER": str(old)}
    done = subprocess.run([sys.executable, "-c", GENERAL], capture_output=True, text=True, check=True, env=environment)
    first, second = done.stdout.splitlines()
    assert first == "True"
    assert second.startswith("linalg.eigvals: not implemented on cuda without cuSOLVER 11.7.2 or newer") and "LIBTENSOR_CUSOLVER" in second


@pytest.mark.usefixtures("simulation")
@pytest.mark.parametrize(
    "function, said",
    [
        ("cusolverDnSgetrf:1:6", "cuSOLVER error in getrf: CUSOLVER_STATUS_EXECUTION_FAILED"),
        ("cufftExecC2C:1:6", "cuFFT error in cufftExecC2C: CUFFT_EXEC_FAILED"),
    ],
)
def test_errors_of_the_libraries(function, said):
    code = "import libtensor as torch\ntorch.linalg.inv(torch.eye(3).cuda())\ntorch.fft.fft(torch.eye(3).cuda() + 0j)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"LIBTENSOR_SIM_FAIL": function})
    assert said in done.stderr
