"""Large matrices are factored and solved with in blocks that threads share: by definition, of any size and layout, alike on any number of
threads."""

import pytest

import libtensor as T

DTYPES = ["float32", "float64", "complex64", "complex128"]
EPSILON = {"float32": 1.2e-7, "float64": 2.3e-16, "complex64": 1.2e-7, "complex128": 2.3e-16}
SHAPES = [
    (17, 17),
    (32, 32),
    (33, 33),
    (64, 64),
    (65, 65),
    (129, 129),
    (200, 150),
    (150, 200),
    (17, 100),
    (100, 17),
    (300, 16),
    (16, 300),
    (1, 40),
    (40, 1),
    (40, 3),
    (50, 6),
    (60, 13),
    (3, 40),
    (14, 30),
]
SIZES = [17, 31, 33, 64, 65, 129, 200]


def normal(*shape: int, dtype: str) -> T.Tensor:
    generator = T.Generator().manual_seed(sum(shape))
    return T.randn(*shape, dtype=getattr(T, dtype), generator=generator)


def small(residual: T.Tensor, dtype: str, *operands: T.Tensor) -> bool:
    """A residual within the rounding errors of the operands' product."""
    size = 1.0
    for x in operands:
        size *= T.linalg.norm(x).item()
    return T.linalg.norm(residual).item() <= 20 * EPSILON[dtype] * size


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_to_the_matrix(shape, dtype):
    a = normal(*shape, dtype=dtype)
    for laid in (a, a.mT.contiguous().mT, T.stack([a, a], -1)[..., 0]):
        p, lower, upper = T.linalg.lu(laid)
        assert small(p @ lower @ upper - a, dtype, lower, upper)
        parts = T.view_as_real(lower).abs().sum(-1) if lower.is_complex() else lower.abs()
        assert parts.max().item() <= (2.001 if lower.is_complex() else 1)
        _, pivots = T.linalg.lu_factor(laid)
        assert pivots.dtype == T.int32
        assert pivots.min().item() >= 1
        assert pivots.max().item() <= shape[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", SIZES)
def test_pivots_are_the_largest(n, dtype):
    a = normal(n, n, dtype=dtype)
    lu, pivots = T.linalg.lu_factor(a)
    rest = a.to(T.float64)
    for k, row in enumerate(pivots.tolist()):
        assert rest[k:, k].abs().argmax().item() + k + 1 == row
        order = list(range(n))
        order[k], order[row - 1] = row - 1, k
        rest = rest[order]
        rest[k + 1 :, k:] -= T.outer(rest[k + 1 :, k] / rest[k, k], rest[k, k:])
    assert T.allclose(lu.triu().to(T.float64), rest.triu(), rtol=0, atol=n * EPSILON[dtype] * 100)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("right", [1, 3, 64, 65, 130])
@pytest.mark.parametrize("n", [17, 64, 129])
def test_solutions_solve(n, right, dtype):
    a, b = normal(n, n, dtype=dtype), normal(n, right, dtype=dtype)
    x = T.linalg.solve(a, b)
    assert small(a @ x - b, dtype, a, x)
    x = T.linalg.solve(a, b.mT, left=False)
    assert small(x @ a - b.mT, dtype, a, x)
    lu, pivots = T.linalg.lu_factor(a)
    for adjoint, m in ((False, a), (True, a.mH)):
        x = T.linalg.lu_solve(lu, pivots, b, adjoint=adjoint)
        assert small(m @ x - b, dtype, a, x)
        x = T.linalg.lu_solve(lu, pivots, b.mT, left=False, adjoint=adjoint)
        assert small(x @ m - b.mT, dtype, a, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_inverses_invert(n, dtype):
    a = normal(n, n, dtype=dtype)
    inverse = T.linalg.inv(a)
    assert small(a @ inverse - T.eye(n, dtype=a.dtype), dtype, a, inverse)
    # Of a permutation every column lands at its place, exactly.
    order = T.randperm(n, generator=T.Generator().manual_seed(n))
    permutation = T.eye(n, dtype=a.dtype)[order]
    assert T.equal(T.linalg.inv(permutation), permutation.mT)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n, right", [(1, 70), (5, 3), (16, 17), (17, 1), (33, 64), (130, 65)])
def test_triangles_solve(n, right, upper, unit, dtype):
    whole = normal(n, n, dtype=dtype) / n + T.eye(n, dtype=getattr(T, dtype))
    a = whole.triu() if upper else whole.tril()
    if unit:
        a = a - T.diag(a.diagonal()) + T.eye(n, dtype=a.dtype)
    b = normal(n, right, dtype=dtype)
    x = T.linalg.solve_triangular(whole, b, upper=upper, unitriangular=unit)
    assert small(a @ x - b, dtype, a, x)
    x = T.linalg.solve_triangular(whole, b.mT, upper=upper, unitriangular=unit, left=False)
    assert small(x @ a - b.mT, dtype, a, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_diagonals_of_any_size_divide(dtype):
    tiny, huge = (2.0**-140, 2.0**120) if dtype in ("float32", "complex64") else (2.0**-1060, 2.0**1020)
    a = T.eye(40, dtype=getattr(T, dtype))
    a[3, 3], a[20, 20] = tiny, huge
    b = T.ones(40, 2, dtype=a.dtype)
    b[3], b[20] = 3 * tiny, 3 * huge
    want = T.ones_like(b)
    want[3] = want[20] = 3
    assert T.equal(T.linalg.solve(a, b), want)
    assert T.equal(T.linalg.solve_triangular(a, b, upper=True), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [130, 200, 260])
def test_results_are_identical_for_any_number_of_threads(n, dtype):
    a, b = normal(n, n, dtype=dtype), normal(n, 150, dtype=dtype)
    several = normal(3, n, n, dtype=dtype)
    before, made = T.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            T.set_num_threads(threads)
            made.append(
                [
                    *T.linalg.lu_factor(a),
                    T.linalg.solve(a, b),
                    T.linalg.inv(a),
                    T.linalg.inv(several),
                    T.linalg.solve_triangular(a / n + T.eye(n, dtype=a.dtype), b, upper=True),
                ]
            )
    finally:
        T.set_num_threads(before)
    for other in made[1:]:
        assert all(T.equal(x, y) for x, y in zip(made[0], other, strict=True))
    # A matrix of a batch is as alone.
    assert T.equal(made[0][4][1], T.linalg.inv(several[1]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [33, 150])
def test_the_first_zero_pivot_is_named(n, dtype):
    for k in (0, 15, 16, n // 2, n - 1):
        a = T.eye(n, dtype=getattr(T, dtype))
        a[k, k] = 0
        if k < n - 1:
            a[n - 1, n - 1] = 0
        _, _, info = T.linalg.lu_factor_ex(a)
        assert info.item() == k + 1
        with pytest.raises(T.linalg.LinAlgError, match=f"diagonal element {k + 1} is zero"):
            T.linalg.inv(a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_column_of_zeros_takes_nothing_from_the_others(dtype):
    for j in (3, 5, 12):  # eliminated next to the column, and after it
        a = T.eye(20, dtype=getattr(T, dtype))
        a[2, 2], a[2, j] = 0, float("inf")
        lu, pivots, info = T.linalg.lu_factor_ex(a)
        assert T.equal(lu, a)
        assert pivots.tolist() == list(range(1, 21))
        assert info.item() == 3
