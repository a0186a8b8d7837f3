"""The edges of what stands in for NumPy's functions, of tensors that NumPy cannot read: numbers and lists among the arguments, axes,
NaN."""

import re

import numpy as np
import pytest
from numpy_calls import VERSION, arrays
from test_numpy_protocols import close, wanting_gradients

import libtensor as torch

NEW = VERSION >= (2, 1)
FIRST = """less less_equal greater greater_equal equal not_equal fmod copysign hypot arctan2 maximum logaddexp heaviside power true_divide
subtract"""
REDUCED = "sum prod mean std max argmin cumsum sort flip any median"
FROM_START = ("b, axis=1, include_initial=True", "b[:0], axis=0, include_initial=True")
EDGES = [
    *(f"np.{name}(1, b)" for name in FIRST.split()),
    *(f"np.{name}([1, 2, 4], b)" for name in ["less", "equal", "fmod", "add", "minimum", "nextafter"]),
    "np.ldexp(b, 2)",
    "np.gcd(12, j)",
    "np.matmul(np.ones(2), a)",
    "np.matmul(a, np.ones(3))",
    "np.where(a, b, 0)",
    "np.where(w, 1, w)",
    "np.where(w)",
    "np.where(m, [1, 2, 3], b)",
    *(f"np.{name}(w)" for name in ["sign", "unique"]),
    "np.heaviside(w, 0.5)",
    "np.unique(np.concatenate([w, w]), return_inverse=True, return_counts=True)",
    "np.unique(np.concatenate([w, w]), return_counts=True)",
    "np.unique(np.stack([v, v]), axis=0)",
    "np.quantile(b, [0.1, 0.5], axis=1)",
    "np.percentile(b, [10, 90], axis=0)",
    "np.percentile(b, 30)",
    "np.quantile(b, np.array([0.2]))",
    *(f"np.{name}(a, dtype='f8'{rest})" for name in ("std", "var") for rest in ("", ", axis=0", ", axis=1, ddof=1")),
    "np.diff(b, prepend=0)",
    "np.diff(b, prepend=[[1], [2]], append=5, axis=1)",
    "np.diff(v, append=[7, 8], n=2)",
    "np.diff(b, prepend=1, axis=0)",
    "np.hstack([v, 1.0])",
    "np.hstack([v, [1, 2]])",
    "np.vstack([v, [1, 2, 3]])",
    "np.column_stack([v, [1, 2, 3]])",
    "np.dstack([v, [1, 2, 3]])",
    "np.concatenate([v, [1, 2]])",
    "np.append(v, 1)",
    "np.append(v, [2, 3])",
    "np.append(b, [[1, 2, 3]], axis=0)",
    "np.outer(v, [1, 2])",
    "np.outer(2, v)",
    "np.inner(v, 3)",
    "np.inner(v, [1, 2, 3])",
    "np.full_like(b, [1, 2, 3])",
    "np.full_like(b, 7, dtype='f4')",
    "np.size(b, 1)",
    "np.tril(v)",
    "np.angle(np.array([-0.0]) * v)",
    "np.angle(a, deg=True)",
    "np.angle(c)",
    "np.triu(v, 1)",
    "np.meshgrid(b, v)",
    "np.sum(v[0], axis=0)",
    "np.cumsum(v[0], axis=-1)",
    "np.argmax(v[0], axis=0)",
    "np.prod(b, axis=(0, -1))",
    "np.array_equal(v, [0.1, 0.7, 0.4])",
    "np.isclose(v, [0.1, 0.7, 1])",
    *(["np.size(b, (0, 1))"] if VERSION >= (2, 4) else []),
    *(["np.clip(b, None, None)"] if NEW else []),
    *(
        f"np.cumulative_{kind}({rest})"
        for kind in ("sum", "prod")
        for rest in ("v", "b, axis=1, include_initial=True", "b[:0], axis=0, include_initial=True", "j, axis=0")
        if NEW
    ),
    *(f"np.linalg.{name}" for name in ("diagonal(s, offset=1)", "trace(s)", "matrix_transpose(b)", "outer(v, v)") if NEW),
]


def at(call, values):
    return eval(call, {"np": np}, values)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", EDGES)
def test_edges(call):
    close(at(call, wanting_gradients(arrays())), at(call, arrays()))


WRONG = [
    *(f"np.{name}(v[0]{rest})" for name, rest in [("sort", ""), ("flip", ", 0"), ("swapaxes", ", 0, -1"), ("moveaxis", ", 0, -1")]),
    *(f"np.{name}(b, axis=2)" for name in REDUCED.split()),
    "np.take(b, [0], axis=3)",
    "np.prod(b, axis=(0, 0))",
    "np.sum(b, axis=(1, -1))",
    "np.prod(b, axis=True)",
    "np.linalg.norm(v[0], axis=-1)",
    "np.nonzero(v[0])",
    "np.where(b, b)",
    *(["np.linalg.outer(b, b)", "np.cumulative_sum(b)"] if NEW else []),
    *(["np.matvec(v, v)"] if VERSION >= (2, 2) else []),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.keeps_memory  # the arguments of reduce, which NumPy leaks if a protocol raises an exception
@pytest.mark.parametrize("call", WRONG)
def test_errors_of_numpy(call):
    with pytest.raises(Exception) as theirs:
        at(call, arrays())
    with pytest.raises(theirs.type) as ours:
        at(call, wanting_gradients(arrays()))
    assert not re.search("NumPy cannot compute it either", str(ours.value))


def test_quantiles_of_halves():
    t = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float16, requires_grad=True)
    assert np.quantile(t, 0.5).dtype is torch.float16 and np.quantile(t, [0.0, 0.5]).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "fact"),
    [
        ("np.quantile(b, 0.3, method='hazen')", "'hazen' is not supported.*linear, lower"),
        ("np.sum(b, where=m)", "argument where is not supported.*axis, dtype"),
    ],
)
def test_errors_name_the_missing_part(call, fact):
    with pytest.raises(TypeError, match=f"{fact}.*NumPy cannot compute it either: Can't call numpy"):
        at(call, wanting_gradients(arrays()))


def test_out_that_numpy_cannot_write_to():
    t = torch.ones(1, requires_grad=True)
    for call in (lambda: np.logaddexp(None, None, out=t), lambda: np.take([1.0, 2.0], [0], out=t), lambda: np.add(1, 2, out=t)):
        with pytest.raises((TypeError, RuntimeError), match="requires grad"):
            call()
    assert t.tolist() == [1]


def test_gradients_flow_through_functions_with_lists_and_numbers():
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    np.hstack([t, 5.0, [1, 2]]).sum().backward()
    np.diff(t, prepend=0).sum().backward()
    np.outer([1, 2], t).sum().backward()
    assert t.grad.tolist() == [1 + 0 + 3, 1 + 1 + 3]
