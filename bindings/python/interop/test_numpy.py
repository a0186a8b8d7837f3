"""Arrays that share a tensor's memory, both ways; functions, ufuncs, comparison, indexing, files, random numbers into a tensor."""

import io

import numpy as np
import pytest
from layouts import ERRORS, GRID, MATRICES, VECTORS, of_all, rejected, values

import libtensor as torch


@pytest.mark.parametrize("take", [np.asarray, np.array, np.from_dlpack, lambda t: t.numpy(), lambda t: np.array(memoryview(t))])
@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t.t(), lambda t: t[:, ::2], lambda t: t[:0], lambda t: t[1, 1], lambda t: t[0].expand(2, 3)]
)
def test_arrays_of_tensors(take, make):
    t = make(torch.arange(6.0).view(2, 3))
    assert take(t).tolist() == t.tolist() and take(t).shape == t.shape and take(t).dtype == np.float32


def test_memory_is_shared_both_ways():
    t = torch.zeros(3)
    np.asarray(t)[0] = 1
    np.frombuffer(t, "f4")[1] = 2
    t[2] = 3
    assert t.tolist() == np.asarray(t).tolist() == [1, 2, 3]
    n = np.zeros(3)
    torch.from_numpy(n)[1] = 5
    assert n.tolist() == [0, 5, 0]


@pytest.mark.parametrize(
    "name", ["exp", "sum", "argsort", "cumsum", "ravel", "transpose", "isnan", "unique", "linalg.norm", "fft.rfft", "median"]
)
def test_functions(name):
    function = np
    for part in name.split("."):
        function = getattr(function, part)
    t = torch.tensor([[3.0, 1.0], [2.0, 2.5]])
    np.testing.assert_allclose(np.asarray(function(t)), function(t.numpy()))


def test_several_arguments():
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    for result in (np.concatenate([a, b]), np.stack([a, b]).ravel(), np.hstack((a, b))):
        assert np.asarray(result).tolist() == [1, 2, 3, 4]
    assert float(np.dot(a, b)) == 11 and np.asarray(np.where(a > 1, a, b)).tolist() == [3, 2] and np.allclose(a, a.clone())
    np.testing.assert_array_equal(a, [1, 2])


def test_operators_and_indices():
    t, n = torch.tensor([1, 2]), np.array([10, 20])
    assert (n + t).tolist() == (t + n).tolist() == [11, 22] and n[t - 1].tolist() == [10, 20] and t[np.array([1, 0])].tolist() == [2, 1]
    n[t - 1] = t
    assert n.tolist() == [1, 2]


def test_files():
    file = io.BytesIO()
    t = torch.arange(6, dtype=torch.int16).view(2, 3).t()
    np.save(file, t)
    file.seek(0)
    assert np.load(file).tolist() == t.tolist() and np.load(io.BytesIO(file.getvalue())).dtype == np.int16


def test_random_numbers_go_into_a_tensor():
    t = torch.zeros(100)
    np.random.default_rng(0).random(out=t.numpy(), dtype=np.float32)
    assert 0 < t.min() < t.max() < 1


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.ones(2, requires_grad=True), "requires grad.*detach"),
        (lambda: torch.eye(2).to_sparse(), "to_dense"),
        (lambda: torch.ones(2, device="meta"), "meta device"),
    ],
)
def test_what_cannot_become_an_array(make, fact):
    with pytest.raises((RuntimeError, TypeError), match=fact):
        np.asarray(make())


@of_all(MATRICES, VECTORS, without=("named",))
def test_odd_layouts(t):
    for take in (
        np.asarray,
        np.array,
        np.ascontiguousarray,
        np.from_dlpack,
        lambda t: np.array(memoryview(t)),
        lambda t: np.stack([t, t])[0],
    ):
        assert values(take(t)) == values(t)
    file = io.BytesIO()
    np.save(file, t)
    assert values(np.load(io.BytesIO(file.getvalue()))) == values(t)


@rejected(GRID)
def test_kinds_without_memory(t, fact):
    for take in (np.asarray, np.array, lambda t: t.numpy()):
        with pytest.raises(ERRORS, match=fact):
            take(t)
