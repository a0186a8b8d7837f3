"""rearrange, reduce, repeat, einsum, pack, unpack, parse_shape and asnumpy, together with arrays, with gradients, whichever is imported
first."""

import subprocess
import sys

import numpy as np
import pytest
from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from layouts import MATRICES, of_all, values

import libtensor as torch

X = torch.arange(24.0).view(2, 3, 4)


@pytest.mark.parametrize("x", [X, X.transpose(0, 2).contiguous().transpose(0, 2), X.bfloat16(), X.to(torch.int16), X.to(torch.complex64)])
@pytest.mark.parametrize(
    "pattern",
    ["a b c -> (c a) b", "a (b d) c -> d c a b", "a b c -> c b a", "(a d) b c -> a b (c d)", "... c -> c ...", "a b c -> a b c 1"],
)
def test_rearrange(x, pattern):
    sizes = {"d": 1} if "d" in pattern else {}
    assert rearrange(x, pattern, **sizes).tolist() == rearrange(np.array(x.tolist()), pattern, **sizes).tolist()


@pytest.mark.parametrize("operation", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("pattern", ["a b c -> b", "a b c ->", "a b c -> a 1 c", "a (b k) c -> k c a", "a b c -> c b a"])
def test_reduce(operation, pattern):
    sizes = {"k": 3} if "k" in pattern else {}
    x = X / 10
    np.testing.assert_allclose(
        np.asarray(reduce(x, pattern, operation, **sizes)), reduce(x.numpy(), pattern, operation, **sizes), rtol=1e-5
    )


def test_truths_and_functions():
    x = torch.tensor([[True, False], [True, True]])
    assert reduce(x, "a b -> a", "any").tolist() == [True, True] and reduce(x, "a b -> a", "all").tolist() == [False, True]
    assert reduce(X, "a b c -> a", lambda x, axes: x.amax(axes)).tolist() == [11, 23]
    with pytest.raises(NotImplementedError, match="non-floating"):
        reduce(torch.arange(3), "a ->", "mean")


@pytest.mark.parametrize("pattern", ["a b c -> a (b r) c s", "a b c -> s a r b c", "a b c -> a b (c r s)"])
def test_repeat(pattern):
    assert repeat(X, pattern, r=2, s=3).tolist() == repeat(X.numpy(), pattern, r=2, s=3).tolist()


def test_the_others():
    assert einsum(X, X, "a b c, a d c -> b d").equal(torch.einsum("abc,adc->bd", X, X))
    packed, shapes = pack([X, X[:, 0]], "a * c")
    assert packed.shape == (2, 4, 4) and [part.tolist() for part in unpack(packed, shapes, "a * c")] == [X.tolist(), X[:, 0].tolist()]
    assert rearrange([X, X], "n a b c -> a b n c").equal(torch.stack([X, X], 2)) and rearrange(list(X), "n b c -> b n c").equal(
        X.transpose(0, 1)
    )
    assert parse_shape(X, "a b _") == {"a": 2, "b": 3} and asnumpy(X.clone().requires_grad_()).tolist() == X.tolist()


def test_views_share_memory():
    x = torch.zeros(2, 3)
    rearrange(x, "a b -> b a")[0, 1] = 5
    assert x.tolist() == [[0, 0, 0], [5, 0, 0]]


def test_gradients():
    x = X.clone().requires_grad_()
    (rearrange(x, "a b c -> (a c) b") * torch.arange(3.0)).sum().backward()
    assert x.grad.equal(torch.arange(3.0).view(1, 3, 1).expand(2, 3, 4))
    x.grad = None
    reduce(repeat(x, "a b c -> a b c r", r=5), "a b c r -> a", "mean").sum().backward()
    assert torch.allclose(x.grad, torch.full((2, 3, 4), 1 / 12))


@pytest.mark.parametrize(
    "imports",
    [
        "import einops, libtensor as torch",
        "import libtensor as torch, einops",
        "import libtensor as torch; from einops import rearrange; import einops",
    ],
)
def test_either_is_imported_first(imports):
    code = f"{imports}; print(einops.rearrange(torch.tensor([[1, 2]]), 'a b -> b a').tolist())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[[1], [2]]\n"


def test_importing_libtensor_imports_none_of_its_interop():
    code = "import sys, libtensor; print(sorted({'numpy', 'einops', 'opt_einsum', 'joblib', 'PIL', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_transforms_subclasses_and_devices():
    class Marked(torch.Tensor):
        pass

    def swapped(x):
        return rearrange(x, "b c -> c b")

    assert torch.vmap(swapped)(X).equal(X.transpose(1, 2)) and torch.func.grad(lambda x: reduce(x * x, "a b c ->", "sum"))(X).equal(2 * X)
    assert type(swapped(X[0].as_subclass(Marked))) is Marked
    assert repeat(torch.ones(2, device="meta"), "a -> a b", b=3).shape == (2, 3)


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.ones(2, 3, names=("a", "b")), r"named tensors; use rename\(None\)"),
        (lambda: torch.ones(2, 3).to_sparse_csr(), r"convert with to_dense\(\)"),
    ],
)
def test_errors(make, fact):
    with pytest.raises((RuntimeError, NotImplementedError), match=fact):
        rearrange(make(), "a b -> (a b)")


@of_all(MATRICES, without=("named",))
def test_odd_layouts(t):
    assert values(rearrange(t, "a b -> b a")) == values(t.t()) and values(rearrange(t, "a b -> (b a)")) == values(t.t().flatten())
