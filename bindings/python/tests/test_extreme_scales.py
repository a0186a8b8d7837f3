"""float32 results for elements near the largest and the smallest numbers are those of float64, where float32 has them."""

import pytest

import libtensor as torch

F = torch.nn.functional
NUMBERS = {
    "both signs": [-0.95, -0.6, 0.05, 0.4, 0.9, -0.2, 0.7, 0.3],
    "positive": [0.95, 0.6, 0.05, 0.4, 0.9, 0.2, 0.7, 0.3],
    "equal": [1.0] * 8,
    "of several magnitudes": [-0.95, 6e-4, 5e-8, 0.4, 0.9, 2e-4, -7e-8, 0.3],
}
SCALES = [1e38, 1e30, 1e20, 1.0, 1e-20, 1e-30, 1e-37]
FUNCTIONS = {
    "var": lambda x: x.var(),
    "std": lambda x: x.std(),
    "std of rows": lambda x: x.reshape(2, 4).std(1),
    "std_mean": lambda x: torch.stack(torch.std_mean(x)),
    "mean of var_mean": lambda x: torch.var_mean(x.reshape(2, 4), 1)[1],
    "norm": lambda x: x.norm(),
    "norm 1": lambda x: x.norm(1),
    "norm 3": lambda x: x.norm(3),
    "norm inf": lambda x: x.norm(float("inf")),
    "norm -2": lambda x: x.norm(-2),
    "norm of columns": lambda x: torch.linalg.vector_norm(x.reshape(4, 2), dim=0),
    "matrix norm": lambda x: torch.linalg.matrix_norm(x.reshape(2, 4)),
    "logsumexp": lambda x: x.logsumexp(0),
    "softmax": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(0),
    "logaddexp": lambda x: torch.logaddexp(x, x.flip(0)),
    "cosine_similarity": lambda x: F.cosine_similarity(x.reshape(2, 4), x.flip(0).reshape(2, 4)),
    "normalize": lambda x: F.normalize(x, dim=0),
    "normalize rows": lambda x: F.normalize(x.reshape(2, 4)),
    "hypot": lambda x: torch.hypot(x, x.flip(0)),
    "dist": lambda x: torch.dist(x, x.flip(0)),
    "abs of complex": lambda x: torch.complex(x, x.flip(0)).abs(),
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_of_extreme_elements(name, numbers, scale):
    x = torch.tensor([n * scale for n in NUMBERS[numbers]])
    got, want = FUNCTIONS[name](x), FUNCTIONS[name](x.double()).float()
    tolerance = {"rtol": 1e-4, "atol": 1e-43}
    assert torch.allclose(got, want, **tolerance, equal_nan=True), (got, want)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128], ids=str)
def test_means_returned_with_variances_do_not_overflow(dtype):
    largest = 1e308 if dtype in (torch.float64, torch.complex128) else 1e38
    x = torch.tensor([[largest] * 8] * 2, dtype=dtype)
    for f in (torch.var_mean, torch.std_mean):
        assert torch.equal(f(x, 1)[1], x[:, 0]) and f(x)[0].item() == 0
    for special in (float("inf"), float("nan")):
        mean = torch.var_mean(torch.tensor([special, 1.0], dtype=dtype))[1]
        assert mean.isinf() if special == float("inf") else mean.isnan()
