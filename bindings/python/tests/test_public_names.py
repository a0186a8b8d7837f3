"""The functions of PyTorch's linalg, fft, special, signal.windows and random are there in Python, C and Node."""

import re
from pathlib import Path

import pytest

import libtensor as torch

ROOT = Path(__file__).parents[3]

NAMES = {
    "linalg": """
        cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv inv_ex ldl_factor
        ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm matrix_power matrix_rank
        matrix_sqrth multi_dot norm pinv polar qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander
        vecdot vector_norm
    """,
    "fft": """
        fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2 hfftn ihfftn fftfreq rfftfreq
        fftshift ifftshift
    """,
    "special": """
        airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v
        chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln hermite_polynomial_h
        hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp
        modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round
        scaled_modified_bessel_k0 scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
        shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy zeta
    """,
    "signal.windows": """
        bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall
    """,
}


def namespace(text, path):
    """What stands between the braces of a namespace of a .d.ts file."""
    for depth, name in enumerate(path.split(".")):
        indent = "  " * depth
        text = re.search(rf"^{indent}export namespace {name} \{{\n(.*?)^{indent}\}}$", text, re.S | re.M)[1]
    return text


@pytest.mark.parametrize("module", NAMES)
def test_functions_are_there_in_every_language(module):
    header = (ROOT / "include/tensor.h").read_text()
    typed = namespace((ROOT / "bindings/node/gen_index.d.ts").read_text(), module)
    here = torch
    for part in module.split("."):
        here = getattr(here, part)
    for name in NAMES[module].split():
        camel = re.sub("_(.)", lambda m: m[1].upper(), name)
        assert callable(getattr(here, name)) and getattr(here, name).__doc__, name
        assert f" tensor_{module.replace('.', '_')}_{name}(" in header, name
        assert re.search(rf"export function {camel}\(", typed), name


def test_generators_are_there_in_every_language():
    for name in ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state"):
        assert getattr(torch, name) is getattr(torch.random, name)
    assert callable(torch.random.fork_rng)
    header = (ROOT / "include/tensor.h").read_text()
    typed = (ROOT / "bindings/node/gen_index.d.ts").read_text()
    assert "tensor_manual_seed(" in header and "tensor_default_generator(" in header and "export function manualSeed(" in typed
    for name in ("manual_seed", "seed", "initial_seed", "get_state", "set_state"):
        assert f"tensor_generator_{name}(" in header
        assert re.search(rf"^  {re.sub('_(.)', lambda m: m[1].upper(), name)}\(", typed, re.M), name
