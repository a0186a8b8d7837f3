"""Matrices with NaN: what depends on it is NaN, in every size, dtype, batch and layout."""

import pytest

import libtensor as T

NAN = float("nan")

# The kernels for many small matrices end at 16 rows, the inversion by solving at 32.
SIZES = [1, 2, 3, 15, 16, 17, 31, 32, 33, 50, 130]
DTYPES = ["float32", "float64", "complex64", "complex128"]


def matrix(n: int, dtype: str, at: tuple[int, int] | None) -> T.Tensor:
    """A well conditioned matrix with NaN at one place."""
    a = (T.eye(n, dtype=T.float64) * 2 + 0.01).to(getattr(T, dtype))
    if at is not None:
        a[at] = NAN
    return a


def places(n: int) -> list[tuple[int, int]]:
    return sorted({(0, 0), (n - 1, 0), (0, n - 1), (n - 1, n - 1), (n // 2, n // 2), (n // 2, n // 3)})


def all_nan(t: T.Tensor) -> bool:
    return bool(T.isnan(t).all())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_solutions_of_a_matrix_with_nan_are_nan(n, dtype):
    for at in places(n):
        a = matrix(n, dtype, at)
        b = T.ones(n, 2, dtype=a.dtype)
        for laid in (a, a.mT.contiguous().mT):
            assert all_nan(T.linalg.solve(laid, b)), at
            assert all_nan(T.linalg.solve(laid, b.mT, left=False)), at
            assert all_nan(T.linalg.inv(laid)), at
            assert all_nan(T.linalg.det(laid)), at
            lu, pivots = T.linalg.lu_factor(laid)
            assert all_nan(T.linalg.lu_solve(lu, pivots, b)), at
            assert all_nan(T.linalg.lu_solve(lu, pivots, b.mT, left=False)), at
        _, info = T.linalg.inv_ex(a)
        assert info.item() == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_factors_behind_nan_are_nan_and_those_before_it_are_not(n, dtype):
    for k in sorted({0, n // 2, n - 1}):
        lu, pivots = T.linalg.lu_factor(matrix(n, dtype, (k, k)))
        assert pivots.tolist() == list(range(1, n + 1))
        nan = T.isnan(lu)
        want = T.zeros(n, n, dtype=T.bool)
        want[k, k] = True
        want[k + 1 :, k:] = True
        assert T.equal(nan, want)
        clean, _ = T.linalg.lu_factor(matrix(n, dtype, None))
        assert T.allclose(lu[~want], clean[~want], rtol=1e-5)
        _, lower, upper = T.linalg.lu(matrix(n, dtype, (k, k)))
        assert T.equal(T.isnan(lower), want.tril(-1))
        assert T.equal(T.isnan(upper), want.triu())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(16, 20), (20, 16), (17, 20), (20, 17), (3, 40), (40, 3)])
def test_factors_of_matrices_that_are_not_square(shape, dtype):
    a = T.eye(*shape, dtype=getattr(T, dtype)) + 0.01
    a[1, 1] = NAN
    lu, _ = T.linalg.lu_factor(a)
    want = T.zeros(*shape, dtype=T.bool)
    want[1, 1] = True
    want[2:, 1:] = True
    assert T.equal(T.isnan(lu), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 16, 17, 32, 33])
def test_nan_is_a_pivot_before_zeros(n, dtype):
    a = matrix(n, dtype, None)
    a[:, 0] = 0
    a[n - 1, 0] = NAN
    lu, pivots = T.linalg.lu_factor(a)
    assert pivots[0].item() == n
    assert all_nan(lu[1:])
    assert all_nan(T.linalg.inv(a))
    a[n - 1, 0] = 0
    a[0, n - 1] = NAN
    with pytest.raises(T.linalg.LinAlgError, match="diagonal element 1 is zero"):
        T.linalg.inv(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 16, 17, 32, 33])
def test_other_matrices_of_a_batch_are_as_without_nan(n, dtype):
    a = T.stack([matrix(n, dtype, None), matrix(n, dtype, (0, 0)), matrix(n, dtype, None)])
    b = T.ones(3, n, 1, dtype=a.dtype)
    for made, alone in (
        (T.linalg.inv(a), T.linalg.inv(a[0])),
        (T.linalg.solve(a, b), T.linalg.solve(a[0], b[0])),
    ):
        assert all_nan(made[1])
        assert T.equal(made[0], alone)
        assert T.equal(made[2], alone)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 16, 17, 33])
def test_infinite_minus_infinite_is_nan(n, dtype):
    a = matrix(n, dtype, None)
    a[:2, :2] = T.tensor([[1.0, 1.0], [float("inf"), float("inf")]])
    assert all_nan(T.linalg.solve(a, T.ones(n, dtype=a.dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SIZES)
def test_cholesky_rejects_nan(n, dtype):
    for i, j in places(n):
        a = matrix(n, dtype, (i, j))
        for upper in (False, True):
            read = (j >= i) if upper else (i >= j)
            _, info = T.linalg.cholesky_ex(a, upper=upper)
            assert info.item() == (max(i, j) + 1 if read else 0)
            if read:
                with pytest.raises(T.linalg.LinAlgError, match=f"order {max(i, j) + 1} "):
                    T.linalg.cholesky(a, upper=upper)


@pytest.mark.parametrize("bad", [NAN, float("inf")])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 3, 20, 130])
def test_ldl_factors_of_a_matrix_that_is_not_finite_are_nan(n, dtype, bad):
    a = T.stack([matrix(n, dtype, None)] * 2)
    a[0, n - 1, 0] = bad
    for hermitian in (False, True):
        ld, pivots, info = T.linalg.ldl_factor_ex(a, hermitian=hermitian)
        assert info.tolist() == [0, 0]
        assert T.equal(T.isnan(ld[0]), T.ones(n, n, dtype=T.bool).tril())
        assert pivots[0].tolist() == list(range(1, n + 1))
        x = T.linalg.ldl_solve(ld, pivots, T.ones(2, n, 1, dtype=a.dtype), hermitian=hermitian)
        assert all_nan(x[0])
        assert T.allclose(a[1] @ x[1], T.ones(n, 1, dtype=a.dtype), atol=1e-3)
