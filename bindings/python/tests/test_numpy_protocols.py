"""NumPy's functions of tensors: __array_function__, __array_ufunc__ and the dtypes that numpy.dtype() is given."""

import copy
import gc
import os
import pickle
import re
import subprocess
import sys
import threading
from collections import deque

import numpy as np
import pytest
from numpy_calls import CALLS, POSITIVE, UNARY, arrays, evaluate

import libtensor as torch


def same(found, wanted, path="result"):
    """Asserts that the results of a function for tensors are those for arrays: a tensor for each array and number."""
    if isinstance(wanted, (tuple, list)):
        assert type(found) is type(wanted) and len(found) == len(wanted), path
        for k, pair in enumerate(zip(found, wanted, strict=True)):
            same(*pair, f"{path}[{k}]")
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert type(found) is torch.Tensor, f"{path}: {type(found)}"
        assert (str(found.dtype), found.shape) == (f"torch.{wanted.dtype}", wanted.shape), path
        np.testing.assert_array_equal(found.numpy(), wanted, path)
    else:
        assert type(found) is type(wanted) and found == wanted, path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_functions_return_the_same_for_tensors_and_arrays(call):
    given = arrays()
    tensors = {name: torch.from_numpy(array.copy()) for name, array in given.items()}
    same(evaluate(call, tensors), evaluate(call, given))
    for name, array in given.items():
        np.testing.assert_array_equal(tensors[name].numpy(), array)


def test_the_table_has_200_functions():
    assert len({found for call in CALLS for found in re.findall(r"np\.[a-z]\w*(?:\.\w+)?", call)}) >= 200


# ------------------------------------------------------------------------------------------------------------ dtypes and layouts

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.T,
    "strided": lambda x: x[::2, 1:],
    "expanded": lambda x: np.broadcast_to(x[:1], (5, 4)) if isinstance(x, np.ndarray) else x[:1].expand(5, 4),
    "0-dim": lambda x: x[1, 1:2].reshape(()),
    "empty": lambda x: x[1:1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_and_layouts(name, layout):
    given = (np.arange(20).reshape(5, 4) % 7).astype(name)
    array, tensor = LAYOUTS[layout](given), LAYOUTS[layout](torch.from_numpy(given.copy()))
    for call in (
        np.sum,
        np.positive if name != "bool" else np.logical_not,
        np.transpose,
        np.ravel,
        np.sort if array.ndim else np.copy,
        np.add.reduce if array.ndim else np.any,
    ):
        same(call(tensor), call(array), call.__name__)
    same(np.add(tensor, tensor), np.add(array, array))
    same(np.multiply(tensor, 2), np.multiply(array, 2))
    same(np.concatenate([tensor[None], tensor[None]]), np.concatenate([array[None], array[None]]))


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_knows_the_dtypes(name):
    dtype = getattr(torch, name)
    assert np.dtype(dtype) == np.dtype(name) and np.zeros(3, dtype=dtype).dtype == name
    assert dtype.dtype == np.dtype(name) == dtype.__numpy_dtype__
    assert np.sum(torch.ones(2), dtype=dtype).dtype is dtype and np.ones_like(torch.ones(2), dtype=dtype).dtype is dtype


def test_numpy_dtypes_and_types_are_accepted_as_dtypes():
    for theirs in (np.float32, np.dtype("f4"), torch.float32):
        assert torch.zeros(2, dtype=theirs).dtype is torch.float32 and torch.ones(2).long().sum(dtype=theirs).dtype is torch.float32
        assert (
            torch.float32 == theirs
            and theirs == torch.float32
            and torch.float64 != theirs
            and torch.ones(1).long().astype(theirs).dtype is torch.float32
        )
    for ours, theirs, same in (
        (torch.bool, bool, True),
        (torch.int64, int, True),
        (torch.float32, float, False),
        (torch.bfloat16, np.float32, False),
    ):
        assert (ours == theirs) is same and (theirs == ours) is same and (ours != theirs) is not same
    assert torch.float32 != "f4"
    assert (
        {torch.float32: 1}[torch.ones(1).dtype] == 1
        and torch.float32 in (torch.float64, torch.float32)
        and torch.float32 not in (torch.int32, None)
    )
    assert torch.int16.char == "h" and torch.bool.type is np.bool_
    for wrong in ("f4", np.dtype(">f4"), np.dtype("M8[s]"), np.str_, [], object):
        with pytest.raises(TypeError, match="argument 'dtype' must be torch.dtype, not"):
            torch.zeros(2, dtype=wrong)


KIND = """
import sys
import libtensor as torch
sys.path.insert(0, sys.argv[1])
print(hasattr(torch.float32, "kind"))
import dask
print(torch.float32.kind, torch.bool.kind)
"""


def test_kind_is_there_for_those_that_need_it(tmp_path):
    """Others would take a tensor for an array, whose methods of the same names do something else."""
    (tmp_path / "dask.py").write_text("")
    assert subprocess.run([sys.executable, "-c", KIND, str(tmp_path)], capture_output=True, text=True).stdout.split() == ["False", "f", "b"]


def test_strides_are_those_of_arrays():
    t = torch.arange(6, dtype=torch.int16).view(2, 3)
    for view in (t, t.t(), t[:, ::2], t[1]):
        assert view.strides == view.numpy().strides
    assert (
        t.bfloat16().strides == (6, 2) and torch.ones(2, device="meta").strides == (4,) and not hasattr(torch.eye(2).to_sparse(), "strides")
    )
    assert np.lib.stride_tricks.sliding_window_view(t, 2, axis=1).shape == (2, 2, 2) and torch.tensor([1j]).conjugate().tolist() == [-1j]


def test_views_of_numpys_types():
    x = torch.ones(2)
    for theirs in (np.int32, np.dtype("i4"), np.int64):
        assert x.view(theirs).numpy().tolist() == x.numpy().view(theirs).tolist()
    assert x.view(np.int64(1), 2).shape == (1, 2)
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'size' must be tuple of ints, not type"):
        torch.zeros(np.int64)


def test_astype():
    t = torch.tensor([1.5, -2.5])
    assert (
        t.astype("i4").tolist() == [1, -2]
        and t.astype(np.float64).dtype is torch.float64
        and t.astype(torch.float32).data_ptr() != t.data_ptr()
    )
    assert t.astype("f4", copy=False) is t
    with pytest.raises(TypeError, match="NumPy dtype <U3 is not supported; supported are bool, uint8"):
        t.astype("U3")


def test_arrays_of_uint8_are_positions():
    t = torch.arange(4.0)
    for key in (np.array([0, 3], "u1"), [np.uint8(0), np.uint8(3)]):
        assert t[key].tolist() == [0, 3] == t.view(2, 2).flatten()[key].tolist()


@pytest.mark.parametrize("name", ["bfloat16", "complex32", "quint8", "qint32"])
def test_dtypes_that_numpy_lacks(name, monkeypatch):
    monkeypatch.delitem(sys.modules, "ml_dtypes", raising=False)
    dtype = getattr(torch, name)
    with pytest.raises(TypeError, match=name):
        np.dtype(dtype)
    with pytest.raises(AttributeError, match=f"NumPy has no dtype for torch.{name}; it has dtypes for bool, uint8"):
        dtype.dtype  # noqa: B018


def test_bfloat16_is_that_of_ml_dtypes_where_it_is_there():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="a package of its own")
    assert np.dtype(torch.bfloat16) == ml_dtypes.bfloat16 and np.zeros(2, dtype=torch.bfloat16).dtype == ml_dtypes.bfloat16


def test_a_dtype_is_no_number():
    with pytest.raises(TypeError, match="must be Tensor or Number, not dtype"):
        torch.add(torch.ones(1), torch.float32)


# ---------------------------------------------------------------------------------------------------------------------- memory


def test_nothing_is_copied():
    t = torch.arange(12.0).reshape(3, 4)
    for view in (
        np.transpose(t),
        np.reshape(t, (4, 3)),
        np.broadcast_to(t, (2, 3, 4)),
        np.split(t, 2, axis=1)[0],
        np.expand_dims(t, 0),
        np.diagonal(t),
    ):
        assert view.data_ptr() == t.data_ptr()
    np.transpose(t)[0, 1] = 50
    assert t[1, 0] == 50 and np.shares_memory(t, t[0]) and np.shares_memory(t, t.numpy())
    with pytest.raises(RuntimeError, match="read-only"):
        np.broadcast_to(t, (2, 3, 4)).add_(1)


def test_numpy_returns_the_tensor_itself():
    t = torch.ones(2, 3)
    assert np.atleast_1d(t) is t and np.asarray(t) is not t and np.real(t) is not None
    assert np.nan_to_num(t, copy=False) is t


def test_results_outlive_their_operands():
    t = np.transpose(torch.arange(6).reshape(2, 3) + 1)
    gc.collect()
    assert t.tolist() == [[1, 4], [2, 5], [3, 6]]


def test_out_is_written_in_place():
    t = torch.arange(6.0).reshape(2, 3)
    out = torch.zeros(3, 2).T
    version = out._version
    assert np.add(t, 1, out=out) is out and out.tolist() == [[1, 2, 3], [4, 5, 6]] and out._version == version + 1
    total = torch.zeros(3, dtype=torch.float64)
    assert np.sum(t, axis=0, out=total) is total and total.tolist() == [3, 5, 7]
    kept = torch.full((2, 3), 9.0)
    assert np.sqrt(t, out=kept, where=t > 2) is kept and kept[0].tolist() == [9, 9, 9] and kept[1, 1] == 2
    fraction, whole = torch.zeros(2, 3), torch.zeros(2, 3)
    assert np.modf(t / 2, out=(fraction, whole))[1] is whole and whole.tolist() == [[0, 0, 1], [1, 2, 2]]
    array = np.zeros((2, 3))
    assert np.add(t, t, out=array) is array and array[1].tolist() == [6, 8, 10]
    assert np.clip(array, 0, t, out=array) is array and np.matmul(t, t.T, out=torch.zeros(2, 2)).tolist() == [[5, 14], [14, 50]]
    assert np.cumsum(np.ones(3), out=total) is total and total.tolist() == [1, 2, 3]
    assert np.concatenate([t, t], out=torch.zeros(4, 3))[3].tolist() == [3, 4, 5]
    with pytest.raises(TypeError, match="same_kind"):
        np.add(t, 0.5, out=torch.zeros(2, 3, dtype=torch.int32))
    with pytest.raises(ValueError, match="read-only"):
        np.add(t, t, out=torch.from_numpy(np.broadcast_to(np.zeros(3, "f4"), (2, 3))))


def test_functions_that_write_their_argument():
    t = torch.zeros(2, 3)
    np.copyto(dst=t, src=[1, 2, 3])
    np.put(t, [0], 7)
    np.place(t, t == 3, [5])
    np.putmask(t, t == 2, 4)
    np.fill_diagonal(t[:, 1:], 6)
    np.add.at(t, (0, [2, 2]), 1)
    assert t.tolist() == [[7, 6, 7], [1, 4, 6]] and t._version >= 5


def test_writes_are_counted_for_gradients():
    for write in (lambda y: np.add(y, 1, out=y), lambda y: np.add.at(y, 0, 1), lambda y: np.copyto(y, 0), lambda y: np.cumsum(y, out=y)):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2)
        product = (x * y).sum()
        write(y)
        with pytest.raises(RuntimeError, match="modified"):
            product.backward()


def test_exported_memory_is_not_resized():
    t = torch.zeros(4)
    view = np.reshape(t, (2, 2))
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(1000)
    assert view.data_ptr() == t.data_ptr()


def test_ufunc_methods_write_and_count():
    t = torch.tensor([3, 1, 2])
    same(np.subtract.outer(t, t), np.subtract.outer(t.numpy(), t.numpy()))
    same(np.bitwise_or.reduce(t), np.bitwise_or.reduce(t.numpy()))
    same(np.maximum.accumulate(t), np.maximum.accumulate(t.numpy()))
    same(np.add.reduceat(t, [0, 1]), np.add.reduceat(t.numpy(), [0, 1]))
    assert np.multiply.at(t, torch.tensor([0, 0]), 2) is None and t.tolist() == [12, 1, 2]
    assert np.add.reduce(t, out=torch.zeros((), dtype=torch.int64)).item() == 15


def test_like_makes_tensors():
    t = torch.ones(2)
    assert np.zeros(3, like=t).tolist() == [0, 0, 0] and np.asarray([1, 2], like=t).dtype is torch.int64
    assert np.zeros(3, dtype=torch.float32, like=t).dtype is torch.float32
    assert np.ones(2, like=torch.ones(1, device="meta")).is_meta


# ------------------------------------------------------------------------------------------------------------------- operators


def test_operators_of_arrays_and_tensors_are_the_tensors():
    t, n = torch.tensor([1.0, 4.0]), np.array([1, 2], "i8")
    for mine, theirs in (
        (t + n, n + t),
        (t * n, n * t),
        (t == n, n == t),
        (t >= n, n <= t),
        (t.int() & n, n & t.int()),
        (t + n[0], n[0] + t),
    ):
        assert type(theirs) is torch.Tensor and theirs.dtype is mine.dtype and theirs.tolist() == mine.tolist()
    assert (n - t).tolist() == [0, -2] and (n / t).dtype is torch.float32 and (n**t).tolist() == [1, 16] and (n // t).tolist() == [1, 0]
    assert (n % t).tolist() == [0, 2] and (n << t.long()).tolist() == [2, 32] and (np.ones((2, 2), "f4") @ t).tolist() == [5, 5]
    assert divmod(n, t)[1].tolist() == [0, 2] and (np.float64(2) * t).dtype is torch.float32
    assert (np.array(["a", "b"]) == t).tolist() == (t == np.array(["a", "b"])).tolist() == [False, False]
    with pytest.raises(TypeError):
        np.array(["a", "b"]) + t


def test_arrays_of_unsupported_dtypes_stay_numpy_arrays():
    t = torch.tensor([1.0, 2.0])
    for other in (np.array([1, 3], ">f4"), np.array([1, 3], np.longdouble), np.array([1, 3], object)):
        for found, wanted in (
            (t == other, [True, False]),
            (other == t, [True, False]),
            (t != other, [False, True]),
            (t < other, [False, True]),
            (other > t, [False, True]),
        ):
            assert found.tolist() == wanted
        assert (other + t).tolist() == (t + other).tolist() == [2, 5]
    assert (np.longdouble(2) == t).tolist() == [False, True] and (np.array([1], "m8[s]") * t).tolist() == (
        np.array([1], "m8[s]") * t.numpy()
    ).tolist()


def test_operators_in_place():
    t, n = torch.tensor([1.0, 4.0]), np.array([1.0, 2.0])
    kept = n
    n += t
    assert n is kept and type(n) is np.ndarray and n.tolist() == [2, 6]
    t *= n
    assert type(t) is torch.Tensor and t.tolist() == [2, 24]
    whole = np.array([1, 2])
    with pytest.raises(TypeError, match="same_kind"):
        whole += t
    with pytest.raises(TypeError, match=r"numpy.add\(\): out= is an array.*requires grad"):
        n += t.requires_grad_()
    assert n.tolist() == [2, 6]


class Foreign:
    """An array of another library, with the protocols."""

    def __array_function__(self, func, types, args, kwargs):
        return func.__name__, {kind.__name__ for kind in types}

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, method


def test_tensors_in_sequences_of_any_kind():
    t = torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    for rows in (list(t), tuple(t), deque(t), {0: t[0], 1: t[1]}.values(), t.unbind(), np.linalg.eigh(t)[1:] + (t[:1],)):
        assert type(np.concatenate(rows)) is torch.Tensor
    assert np.stack(t.max(0)).tolist() == [[3, 4], [1, 0]] and np.hstack(t.double().sort(1)).shape == (2, 4)
    assert np.stack(t.requires_grad_().max(0)).requires_grad and np.vstack(deque([t, t])).requires_grad
    assert np.zeros(2, object, like=t).dtype == object
    objects = np.empty(2, object)
    objects[:] = [torch.ones(2), torch.zeros(2)]
    assert np.concatenate(objects).tolist() == [1, 1, 0, 0]


def test_other_libraries_have_their_turn():
    t = torch.ones(2)
    assert np.concatenate([t, Foreign()]) == ("concatenate", {"Tensor", "Foreign"})
    assert np.add(t, Foreign()) == ("add", "__call__") and np.add.outer(Foreign(), t) == ("add", "outer")
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    assert type(np.multiply(masked, t.double(), dtype="f8")) is np.ma.MaskedArray


# ------------------------------------------------------------------------------------- libtensor's replacements where NumPy cannot read a
# tensor


def close(found, wanted, path="result"):
    """Asserts that the result of libtensor's function is NumPy's, up to rounding and promotion."""
    if isinstance(wanted, (tuple, list)):
        assert isinstance(found, (tuple, list)) and len(found) == len(wanted), path
        for k, pair in enumerate(zip(found, wanted, strict=True)):
            close(*pair, f"{path}[{k}]")
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert isinstance(found, torch.Tensor) and found.shape == wanted.shape, path
        np.testing.assert_allclose(found.detach().numpy(), wanted, 2e-5, 2e-6, err_msg=path)
    else:
        assert found == wanted, path


def wanting_gradients(given):
    made = {name: torch.from_numpy(array.copy()) for name, array in given.items()}
    return {name: t.requires_grad_() if t.is_floating_point() or t.is_complex() else t for name, t in made.items()}


def rejected(call):
    """Asserts that a call raises an error. NumPy leaks the arguments of reduce and reduceat if a protocol raises an exception."""
    return pytest.param(*call, marks=pytest.mark.keeps_memory if "reduce" in str(call) else ())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [rejected((call,)) for call in CALLS])
def test_functions_of_tensors_that_numpy_cannot_read(call):
    given = arrays()
    wanted = evaluate(call, given)
    try:
        found = evaluate(call, wanting_gradients(given))
    except TypeError as error:
        name = call.split("(")[0].replace("np.", "numpy.", 1)
        assert re.search(
            r"NumPy cannot compute it either: Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\)", str(error)
        ), name
        return
    close(found, wanted)


def stands_in(call):
    try:
        evaluate(call, wanting_gradients(arrays()))
    except TypeError:
        return False
    return True


@pytest.mark.keeps_memory
@pytest.mark.filterwarnings("ignore")
def test_most_functions_have_one_that_stands_in():
    assert sum(map(stands_in, CALLS)) >= 440


DIFFERENTIABLE = [
    *(
        f"np.{name}(b)"
        for name in (UNARY + " " + POSITIVE).split()
        if name not in ["spacing", "cbrt", "frexp", "modf", "isnan", "isinf", "isfinite", "signbit", "logical_not"]
    ),
    *(
        f"np.{name}(b, v)"
        for name in [
            "add",
            "subtract",
            "multiply",
            "divide",
            "power",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "arctan2",
            "hypot",
            "logaddexp",
            "logaddexp2",
            "remainder",
        ]
    ),
    *(
        f"np.{name}(b{rest})"
        for name in ["sum", "prod", "mean", "std", "var", "max", "min", "ptp", "median", "cumsum", "cumprod"]
        for rest in ("", ", axis=1")
    ),
    *(
        "np.average(b, weights=v, axis=1)",
        "np.quantile(b, 0.3, axis=0)",
        "np.percentile(b, [20, 70])",
        "np.diff(b)",
        "np.sort(b)",
        "np.clip(b, 1, v + 2)",
    ),
    *("np.where(b > 1, b, v)", "np.transpose(b) * 2", "np.reshape(b, (3, 2)) ** 2", "np.ravel(b) ** 2", "np.expand_dims(b, (0, 2)) ** 2"),
    *("np.concatenate([b, b * 2])", "np.concatenate([b, v], axis=None)", "np.stack([b, b])", "np.vstack([b, v])", "np.hstack([b, b])"),
    *(
        "np.split(b, 3, axis=1)[1]",
        "np.tile(b, 2) ** 2",
        "np.repeat(b, 2, axis=1) ** 2",
        "np.roll(b, 1) * b",
        "np.flip(b) * b",
        "np.rot90(b) ** 2",
    ),
    *("np.take(b, i, axis=1) * v", "np.take(b, i) ** 2", "np.diagonal(s) ** 2", "np.tril(s) ** 2", "np.trace(s)", "np.diag(v) ** 2"),
    *(
        "np.dot(b, s)",
        "np.vdot(v, v)",
        "np.inner(b, b)",
        "np.outer(v, v)",
        "np.kron(b, b)",
        "np.tensordot(b, s, axes=1)",
        "np.einsum('ij,jk->k', b, s)",
    ),
    *("np.matmul(b, s)", "b @ s", "np.cross(b, v)", "np.linalg.det(s)", "np.linalg.inv(s)", "np.linalg.solve(s, v)", "np.linalg.norm(s)"),
    *("np.linalg.eigvalsh(s + s.T)", "np.linalg.svd(b, compute_uv=False)", "np.linalg.cholesky(s @ s.T)", "np.linalg.matrix_power(s, 3)"),
    *(
        "np.abs(np.fft.fft(b))",
        "np.real(np.fft.rfft(b))",
        "np.fft.irfft(np.fft.rfft(b), 3)",
        "np.nan_to_num(b) ** 2",
        "np.sinc(b)",
        "np.i0(b)",
    ),
    *(
        "np.add.reduce(b, axis=1)",
        "np.multiply.reduce(b)",
        "np.add.accumulate(b)",
        "np.multiply.outer(v, v)",
        "np.broadcast_to(v, (2, 3)) * b",
    ),
]


@pytest.mark.parametrize("call", DIFFERENTIABLE)
def test_gradients_flow_through_numpys_functions(call):
    given = {name: array for name, array in arrays().items() if name in "bsvi"}
    given["b"] = given["b"] + np.array([[0.01, 0.02, 0.03], [0.04, 0.05, 0.06]])  # no steps, no ties
    leaves = wanting_gradients(given)
    loss = evaluate(call, leaves).sum()
    loss.backward()
    generator = np.random.default_rng(1)
    expected = gradient = 0.0
    for name in "bsv":
        step = generator.standard_normal(given[name].shape) * 1e-6
        ends = [evaluate(call, {**given, name: given[name] + sign * step}).sum() for sign in (1, -1)]
        expected += (ends[0] - ends[1]) / 2e-6
        gradient += 0 if leaves[name].grad is None else (leaves[name].grad.numpy() * step).sum() / 1e-6
    assert abs(gradient - expected) <= 1e-6 * max(1, abs(expected)), (gradient, expected)
    assert any(leaves[name].grad is not None for name in "bsv")


def test_other_tensors_that_numpy_cannot_read():
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.sum(t.bfloat16(), axis=1).dtype is torch.bfloat16 and np.exp(t.to(torch.bfloat16)).dtype is torch.bfloat16
    assert np.matmul(torch.ones(2, 3, device="meta"), torch.ones(3, 4, device="meta")).shape == (2, 4)
    assert np.sum(t.rename("a", "b"), axis=0).names == ("b",)
    assert np.sin(t.to_sparse()).is_sparse and np.multiply(t.to_sparse(), 2).to_dense().tolist() == [[2, 4], [6, 8]]
    assert np.add(t.bfloat16(), np.ones(2, "f4")).dtype is torch.float32
    assert np.concatenate([t.bfloat16(), t.bfloat16()]).shape == (4, 2) and np.maximum(t.bfloat16(), 2.5)[0, 0] == 2.5
    assert np.add(t.bfloat16(), 1, out=t) is t and t[0].tolist() == [2, 3]
    assert np.add(t.bfloat16(), 1, where=t > 2, out=t)[0].tolist() == [2, 4]


REJECTED = [
    (
        lambda t: t.bfloat16(),
        "np.interp(t, t, t)",
        r"numpy.interp\(\): libtensor has no equivalent function.* NumPy has no bfloat16; convert with float\(\)",
    ),
    (lambda t: t.requires_grad_(), "np.unwrap(t)", r"numpy.unwrap\(\): .* tensor.detach\(\)"),
    (lambda t: t.to(device="meta"), "np.pad(t, 1)", r"numpy.pad\(\): .* meta device .* Tensor.cpu\(\)"),
    (lambda t: t.to_sparse(), "np.interp(t, t, t)", r"numpy.interp\(\): .*sparse_coo layout .* Tensor.to_dense\(\)"),
    (lambda t: t.rename("a"), "np.pad(t, 1)", r"numpy.pad\(\): .* rename\(None\)"),
    (lambda t: torch.quantize_per_tensor(t, 0.1, 0, torch.quint8), "np.pad(t, 1)", r"numpy.pad\(\): .* quint8; "),
    (
        lambda t: t.requires_grad_(),
        "np.sum(t, where=t > 1)",
        r"numpy.sum\(\): argument where is not supported .* supported are a, axis, dtype",
    ),
    (lambda t: t.requires_grad_(), "np.add.reduceat(t, [0])", r"numpy.add.reduceat\(\): "),
    (lambda t: t.requires_grad_(), "np.add.at(t, 0, 1)", r"numpy.add.at\(\): "),
    (lambda t: t.requires_grad_(), "np.divide.reduce(t)", r"numpy.divide.reduce\(\): reduce is supported for add, multiply"),
    (lambda t: t.requires_grad_(), "np.add(t, 1, where=t > 1)", r"where= requires out="),
    (lambda t: t.requires_grad_(), "np.add(t, 1, out=np.ones(2))", r"numpy.add\(\): out= is an array"),
    (
        lambda t: t.requires_grad_(),
        "np.add(t, 1, out=torch.ones(2))",
        r"numpy.add\(\): out= is not supported for results that require grad",
    ),
    (
        lambda t: t.bfloat16(),
        "np.add(t, 1, out=torch.ones(2, dtype=torch.int32))",
        r"out= has dtype torch.int32, but the result has torch.bfloat16",
    ),
    (lambda t: t.requires_grad_(), "np.sort(t, order='x')", r"numpy.sort\(\): .*order"),
    (lambda t: t.requires_grad_(), "np.sum(t, dtype='M8[s]')", r"NumPy dtype datetime64\[s\] is not supported; supported are bool"),
    (lambda t: t.requires_grad_(), "np.ptp(t, axis=())", r"numpy.ptp\(\): an empty axis is not supported"),
    (lambda t: t.requires_grad_(), "np.save('/dev/null', t)", r"numpy.save\(\): "),
]


@pytest.mark.parametrize(("make", "call", "facts"), map(rejected, REJECTED))
def test_errors_name_an_alternative(make, call, facts):
    with pytest.raises(TypeError, match=facts):
        eval(call, {"np": np, "torch": torch, "t": make(torch.tensor([1.0, 2.0]))})


def test_queries_about_tensors_with_gradients():
    x = torch.ones(3, requires_grad=True)
    assert np.array_repr(x) == "array([1., 1., 1.], dtype=float32)" and np.result_type(x, np.float64) == np.float64
    assert (
        np.shares_memory(x, x.detach())
        and not np.may_share_memory(x, torch.ones(3))
        and np.shape(x) == (3,)
        and np.array_equal(x, [1, 1, 1])
    )


def test_nothing_is_recorded_under_no_grad():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert not np.sin(x).requires_grad and np.interp(x, x.detach(), x.detach()).tolist() == [1, 1, 1]
        assert np.add(x, 1, out=x) is x
    assert x.tolist() == [2, 2, 2] and x.requires_grad


# -------------------------------------------------------------------------------------------------------- with other features


class Metres(torch.Tensor):
    pass


class Plain(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Seen(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


def test_subclasses_are_kept():
    m = Metres([1.0, 4.0])
    for call in (
        np.sqrt,
        np.sum,
        np.cumsum,
        lambda x: np.split(x, 2)[0],
        lambda x: np.add(np.ones(2), x),
        lambda x: np.concatenate([torch.ones(1), x]),
    ):
        assert type(call(m)) is Metres
    out = torch.zeros(2)
    assert np.add(m, 1, out=out) is out and type(np.sqrt(torch.ones(2).as_subclass(Plain))) is torch.Tensor
    grad = Metres([1.0, 4.0]).requires_grad_()
    assert type(np.sin(grad)) is Metres and np.sin(grad).requires_grad and np.zeros(2, like=m).__class__ is Metres


def test_a_subclass_sees_the_calls_of_libtensors_functions():
    s = torch.ones(2).as_subclass(Seen).requires_grad_()
    Seen.calls.clear()
    assert type(np.exp(s)) is Seen and Seen.calls == ["exp"]
    Seen.calls.clear()
    assert type(np.exp(s.detach())) is Seen and set(Seen.calls) <= {"detach"}


def test_functions_inside_transforms():
    t = torch.arange(6.0).reshape(2, 3) + 1
    assert torch.equal(torch.vmap(lambda x: np.sum(np.exp(x)))(t), t.exp().sum(1))
    assert torch.equal(torch.vmap(lambda x: np.add(np.ones(3, "f4"), x))(t), t + 1)
    assert torch.allclose(torch.func.grad(lambda x: np.sum(np.sin(x)))(t), t.cos())
    assert torch.allclose(torch.func.jvp(lambda x: np.sin(x), (t,), (torch.ones(2, 3),))[1], t.cos())
    with pytest.raises(TypeError, match=r"numpy.unwrap\(\): .*inside vmap"):
        torch.vmap(lambda x: np.unwrap(x))(t)


def test_threads():
    t = torch.arange(100000.0)
    found = [None] * 4

    def work(k):
        for _ in range(20):
            found[k] = np.sum(np.add(t, k)).item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [np.sum(t.numpy() + np.float32(k)).item() for k in range(4)]


def test_results_are_copied_and_pickled():
    t = np.transpose(torch.arange(6).reshape(2, 3))
    for made in (
        copy.copy(t),
        copy.deepcopy(t),
        pickle.loads(pickle.dumps(t)),
        pickle.loads(pickle.dumps(np.linalg.svd(t.double()))).S.long(),
    ):
        assert type(made) is torch.Tensor and (made.dim() == 1 or made.tolist() == t.tolist())


def test_arrays_are_made_as_before(tmp_path):
    t = torch.tensor([[1.0, 2.0]])
    assert (
        type(np.asarray(t)) is np.ndarray is type(np.array(t))
        and np.array(t, "i4").dtype == "i4"
        and type(np.asarray([t, t])) is np.ndarray
    )
    np.testing.assert_allclose(t, [[1, 2]])
    np.testing.assert_array_equal(t, t.numpy())
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(t, [[1, 3]])
    np.save(tmp_path / "t.npy", t)
    np.savez(tmp_path / "t.npz", t=t)
    np.savetxt(tmp_path / "t.txt", t)
    assert np.load(tmp_path / "t.npy").tolist() == [[1, 2]] == np.load(tmp_path / "t.npz")["t"].tolist() and (tmp_path / "t.txt").exists()
    generator = np.random.default_rng(0)
    assert (
        sorted(generator.permutation(t[0])) == [1, 2]
        and generator.normal(t, 0).tolist() == [[1, 2]]
        and type(generator.choice(t[0], 3)) is np.ndarray
    )
    assert np.zeros(4)[torch.tensor([0, 1])].shape == (2,) and np.zeros((2, 3))[torch.tensor(1)].shape == (3,)


def test_the_package_imports_no_numpy():
    code = "import sys, libtensor as t; t.ones(2).sum(); str(t.float32); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
