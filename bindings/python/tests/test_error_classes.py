"""Exceptions of nn.functional are of the classes that PyTorch raises, and out= takes the dtypes that PyTorch takes."""

import itertools

import pytest

import libtensor as torch
import libtensor.array_api as xp
import libtensor.nn.functional as F

X, IMAGES = torch.ones(2, 3), torch.ones(2, 3, 8, 8)
ROWS = torch.ones(3, 2)


def calling(name, *arguments, **given):
    return lambda: getattr(F, name)(*arguments, **given)


def images(n):
    return torch.ones(1, 2, *(6,) * n)


REJECTED = {
    "embedding_bag index": (RuntimeError, lambda: F.embedding_bag(torch.tensor([0, 9]), ROWS, torch.tensor([0]))),
    "embedding_bag negative index": (RuntimeError, lambda: F.embedding_bag(torch.tensor([-1]), ROWS, torch.tensor([0]), mode="max")),
    "embedding index": (IndexError, lambda: F.embedding(torch.tensor([9]), ROWS)),
    "nll_loss class": (IndexError, lambda: F.nll_loss(X, torch.tensor([0, 3]))),
    "nll_loss negative class": (IndexError, lambda: F.nll_loss(X, torch.tensor([0, -1]))),
    "cross_entropy class": (IndexError, lambda: F.cross_entropy(X, torch.tensor([5, 0]))),
    "cross_entropy smoothed class": (IndexError, lambda: F.cross_entropy(X, torch.tensor([5, 0]), label_smoothing=0.1)),
    "cross_entropy without classes": (IndexError, lambda: F.cross_entropy(torch.ones(()), torch.ones(3))),
    "cross_entropy batch of floats": (ValueError, lambda: F.cross_entropy(X, torch.ones(3))),
    "nll_loss batch of floats": (ValueError, lambda: F.nll_loss(X, torch.ones(3))),
    "nll_loss floats": (RuntimeError, lambda: F.nll_loss(X, torch.ones(2))),
    "multi_margin_loss weight": (RuntimeError, lambda: F.multi_margin_loss(X, torch.tensor([0, 1]), weight=torch.ones(5))),
    "multi_margin_loss weight of int64": (RuntimeError, lambda: F.multi_margin_loss(X, torch.tensor([0, 1]), weight=torch.ones(3).long())),
    "soft_margin_loss": (RuntimeError, lambda: F.soft_margin_loss(torch.ones(()), torch.ones(3))),
    "gaussian_nll_loss var": (ValueError, lambda: F.gaussian_nll_loss(torch.ones(3), torch.ones(3), torch.ones(2))),
    "one_hot int32": (RuntimeError, lambda: F.one_hot(torch.tensor([1], dtype=torch.int32), 3)),
    "dropout NaN": (RuntimeError, lambda: F.dropout(X, float("nan"))),
    "dropout": (ValueError, lambda: F.dropout(X, -1.0)),
    "multilabel_soft_margin_loss": (IndexError, lambda: F.multilabel_soft_margin_loss(torch.ones(()), torch.ones(()))),
    "affine_grid batch": (RuntimeError, lambda: F.affine_grid(torch.ones(2, 2, 3), (1, 3, 4, 4))),
    "unfold dimensions": (IndexError, lambda: F.unfold(torch.ones(3), 2)),
    "unfold two dimensions": (IndexError, lambda: F.unfold(torch.ones(2, 2), 2)),
    **{
        f"{name} of {n} dimensions": (IndexError, calling(name, torch.ones((3,) * n), *arguments))
        for name, arguments in (
            ("avg_pool2d", (2,)),
            ("lp_pool2d", (2, 2)),
            ("fractional_max_pool2d", (2, 2)),
            ("fractional_max_pool3d", (2, 2)),
        )
        for n in range(3)
    },
    **{
        f"{name}{n}d {wanted}": (RuntimeError, calling(f"{name}{n}d", images(n), wanted))
        for name in ("adaptive_max_pool", "adaptive_avg_pool")
        for n in (2, 3)
        for wanted in ((1,), (1,) * (n - 1), (1,) * (n + 1))
    },
    **{f"adaptive_avg_pool{n}d too many": (ValueError, calling(f"adaptive_avg_pool{n}d", images(n), (1,) * (n + 2))) for n in (2, 3)},
    **{
        f"fractional_max_pool{n}d {argument} {sizes}": (
            RuntimeError,
            calling(f"fractional_max_pool{n}d", images(n), **({"kernel_size": 2, "output_size": 2} | {argument: sizes})),
        )
        for n in (2, 3)
        for argument in ("kernel_size", "output_size")
        for sizes in ((), (1,), (1,) * (n - 1), (1,) * (n + 1))
    },
}


@pytest.mark.parametrize("name", REJECTED)
def test_classes_of_exceptions(name):
    kind, call = REJECTED[name]
    with pytest.raises(kind) as raised:
        call()
    assert raised.type is kind


def test_one_number_applies_to_all_dimensions():
    assert F.fractional_max_pool2d(IMAGES, 2, 3).shape == (2, 3, 3, 3) and F.fractional_max_pool2d(IMAGES, (2, 2), [3, 3]).shape == (
        2,
        3,
        3,
        3,
    )
    assert F.adaptive_avg_pool2d(IMAGES, 2).shape == (2, 3, 2, 2) and F.adaptive_max_pool2d(IMAGES, (None, 2)).shape == (2, 3, 8, 2)


SQUARE = torch.tensor([[2.0, 1.0], [0.0, 3.0]])
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128]
CAST = {
    "addr": lambda **out: torch.addr(SQUARE, SQUARE[0], SQUARE[1], **out),
    "addr without self": lambda **out: torch.addr(SQUARE, SQUARE[0], SQUARE[1], beta=0, **out),
    "logsumexp": lambda **out: torch.logsumexp(SQUARE, 1, **out),
    "diff": lambda **out: torch.diff(SQUARE, **out),
    "diff twice": lambda **out: torch.diff(SQUARE, 2, **out),
    "diff with more": lambda **out: torch.diff(SQUARE, prepend=SQUARE, **out),
    "tensorsolve": lambda **out: torch.linalg.tensorsolve(SQUARE, SQUARE[0], **out),
    "matrix_power 0": lambda **out: torch.linalg.matrix_power(SQUARE, 0, **out),
    "matrix_power 1": lambda **out: torch.linalg.matrix_power(SQUARE, 1, **out),
    "kron": lambda **out: torch.kron(SQUARE, SQUARE, **out),
}


@pytest.mark.parametrize("name, dtype", itertools.product(CAST, FLOATS), ids=str)
def test_out_of_a_dtype_that_the_result_is_cast_to(name, dtype):
    out = torch.empty(0, dtype=dtype)
    made = CAST[name](out=out)
    assert made is out and out.dtype is dtype and torch.equal(out, CAST[name]().to(dtype))


@pytest.mark.parametrize("name", CAST)
def test_out_of_a_dtype_that_the_result_is_not_cast_to(name):
    out = torch.full((2,), 7)
    with pytest.raises(RuntimeError):
        CAST[name](out=out)
    assert out.tolist() == [7, 7]


@pytest.mark.parametrize("n", [-1, 2, 3])
def test_matrix_powers_keep_their_dtype(n):
    with pytest.raises(RuntimeError, match="dtype"):
        torch.linalg.matrix_power(SQUARE, n, out=torch.empty(0, dtype=torch.float64))


def test_factors_are_cast():
    values, vectors = torch.empty(0, dtype=torch.complex128), torch.empty(0, dtype=torch.complex128)
    torch.linalg.eig(SQUARE, out=(values, vectors))
    assert torch.equal(values, torch.linalg.eig(SQUARE)[0].to(torch.complex128))
    a, tau = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    torch.geqrf(SQUARE, out=(a, tau))
    assert torch.equal(a, torch.geqrf(SQUARE)[0].double()) and torch.equal(tau, torch.geqrf(SQUARE)[1].double())


@pytest.mark.parametrize("sizes, mask", itertools.product(itertools.product((0, 1, 2), repeat=2), repeat=2), ids=str)
def test_masks_of_the_array_api_fit_or_have_no_elements(sizes, mask):
    x = xp.zeros(sizes)
    for key in (mask, mask[:1]):
        if all(n in (size, 0) for n, size in zip(key, sizes, strict=False)):
            assert x[xp.zeros(key, dtype=xp.bool)].shape == (0, *sizes[len(key) :])
        else:
            with pytest.raises(IndexError):
                x[xp.zeros(key, dtype=xp.bool)]
