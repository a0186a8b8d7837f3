"""NumPy's functions of tensors on a device: libtensor's functions compute there, and what these do not have is refused."""

import numpy as np
import pytest

import libtensor as torch

A = np.array([[1.5, -2.0, 3.25], [0.5, 4.0, -1.0]], "f4")
B = np.array([[0.5, 1.0, 2.0], [4.0, 0.25, 3.0]], "f4")

CALLS = {
    "sum": lambda a, b: np.sum(a, axis=1, keepdims=True),
    "mean": lambda a, b: np.mean(a),
    "std": lambda a, b: np.std(a, axis=0, ddof=1),
    "argmax": lambda a, b: np.argmax(a, axis=1),
    "cumsum": lambda a, b: np.cumsum(a),
    "sort": lambda a, b: np.sort(a, axis=0),
    "quantile": lambda a, b: np.quantile(b, [0.25, 0.5], axis=1),
    "exp": lambda a, b: np.exp(a),
    "add": lambda a, b: np.add(a, b),
    "a list": lambda a, b: np.maximum(a, [1, 2, 3]),
    "a number": lambda a, b: np.minimum(1.0, a),
    "where": lambda a, b: np.where(a > 0, a, b),
    "clip": lambda a, b: np.clip(a, -1, b),
    "isin": lambda a, b: np.isin(a, [0.5, 4]),
    "concatenate": lambda a, b: np.concatenate([a, b], axis=1),
    "split": lambda a, b: np.split(a, 3, axis=1)[2],
    "transpose": lambda a, b: np.transpose(a),
    "matmul": lambda a, b: np.matmul(a, b.T),
    "einsum": lambda a, b: np.einsum("ij,kj->ik", a, b),
    "reduce": lambda a, b: np.add.reduce(a, axis=None),
    "accumulate": lambda a, b: np.multiply.accumulate(a, axis=1),
    "outer": lambda a, b: np.subtract.outer(a[0], b[1]),
    "like": lambda a, b: np.ones(3, "f4", like=a),
    "array_equal": lambda a, b: np.array_equal(a, [[1, 2, 3]]),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_stay_on_the_device(name):
    wanted, found = CALLS[name](A, B), CALLS[name](torch.tensor(A).cuda(), torch.tensor(B).cuda())
    if isinstance(wanted, bool):
        assert found is wanted
        return
    assert found.is_cuda and found.shape == wanted.shape
    np.testing.assert_allclose(found.cpu(), wanted, 1e-5, 1e-6)


def test_out_and_gradients():
    a, out = torch.tensor(A).cuda(), torch.zeros(2, 3, device="cuda")
    assert np.add(a, 1, out=out) is out and out.cpu().tolist() == (A + 1).tolist()
    leaf = torch.tensor(A).cuda().requires_grad_()
    np.sum(np.square(leaf)).backward()
    assert leaf.grad.is_cuda and leaf.grad.cpu().tolist() == (2 * A).tolist()


def test_errors():
    a = torch.tensor(A).cuda()
    with pytest.raises(TypeError, match=r"numpy.unwrap\(\): .*cuda:0 device.*Tensor.cpu\(\)"):
        np.unwrap(a)
    with pytest.raises(TypeError, match=r"numpy.add\(\): out= is an array"):
        np.add(a, 1, out=np.zeros((2, 3)))
    with pytest.raises(RuntimeError, match="cuda:0.*cpu|cpu.*cuda:0"):
        np.add(a, B)
