"""Arrays with tensors as chunks: functions, reductions, products, slices, creation, random numbers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
import tomllib
from dask.array.backends import array_creation_dispatch
from dask.array.dispatch import to_numpy_dispatch
from dask.array.utils import meta_from_array
from dask.base import tokenize
from dask.sizeof import sizeof

import libtensor as torch
from libtensor.dask import Backend

TREE = Path(os.environ.get("TREE") or Path(__file__).resolve().parents[3])
PYTHON = TREE / "bindings" / "python"


@pytest.fixture(autouse=True)
def this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def arrays():
    """What the calls below are of: arrays of Dask's with tensors as chunks, and with NumPy's arrays."""
    n = np.arange(24, dtype="f4").reshape(4, 6)
    v = np.arange(6, dtype="f4")
    given = {"x": (n, (2, 3)), "y": (n[:, ::-1] / 7, (2, 3)), "v": (v, (3,)), "b": (n > 5, (2, 3)), "i": (n.astype("i8"), (2, 3))}
    given["w"] = (n[:, :4] @ n[:, :4].T + 50 * np.eye(4, dtype="f4"), (2, 2))
    return (
        {name: da.from_array(torch.from_numpy(a.copy()), chunks) for name, (a, chunks) in given.items()},
        {name: da.from_array(a, chunks) for name, (a, chunks) in given.items()},
    )


# Calls whose results have tensors as chunks.
CALLS = """
x; x + 1; x - y; x * v; x / 2; x // 2; x ** 2; -x; abs(x); x > 3; b & (x < 9); i % 5; x @ x.T; x.T; ~b
x.sum(); x.sum(axis=0); x.sum(axis=1, keepdims=True); x.mean(); x.mean(axis=0); x.std(); x.var(axis=1); x.prod(); x.min()
x.max(axis=0); b.any(); b.all(axis=0); x.cumsum(axis=0); x.cumprod(axis=1); x.moment(2); da.nansum(y); da.nanmean(y, axis=0); da.nanstd(y)
da.median(x, axis=0); da.ptp(x, axis=0); da.average(x, axis=0); da.cov(x); da.trace(w)
(x > 3).sum(); da.sum(x, dtype="f8"); da.count_nonzero(b)
x[1:3]; x[::2, 1]; x[:, None]; x[..., 0]; x[1]; x[[0, 2]]; x[:, [3, 1]]; x[:0]; x[-1, ::3]; da.take(x, [0, 1], axis=1)
x[::-1]; da.flip(x, 0); da.topk(v, 2); da.rot90(x)
x.rechunk((4, 2)); x.rechunk((1, 6)).sum(axis=1); x.reshape((2, 2, 6)); x.ravel(); x.flatten(); x.squeeze()
x.transpose((1, 0)); x.swapaxes(0, 1)
da.moveaxis(x, 0, 1); da.roll(x, 1, axis=0); da.repeat(x, 2, axis=0); da.tile(x, 2); da.broadcast_to(v, (3, 6)); da.expand_dims(x, 0)
da.atleast_3d(x); da.pad(x, 1); da.insert(x, 1, 0, axis=0); da.delete(x, 1, axis=0); da.append(x, y, axis=0)
da.tril(x); da.triu(x); da.diag(v)
da.concatenate([x, y]); da.stack([x, y]); da.block([[x, y]]); da.vstack([x, y]); da.hstack([x, y])
da.where(x > 5, x, 0); da.select([b], [x])
x.astype("f8"); x.astype(np.int32); x.clip(1, 5); y.round(1); da.exp(y); da.add(x, y); da.maximum(x, 3); np.sin(x); da.isnan(x); da.angle(x)
da.frexp(x)[0]; da.modf(y)[1]; da.isclose(x, y); da.nan_to_num(x); da.isin(x, [1, 2])
da.digitize(v, np.array([1, 3])); da.searchsorted(v, v)
da.dot(x, v); x.dot(v); da.matmul(x, x.T); da.vdot(v, v); da.outer(v, v)
da.tensordot(x, y, axes=((1,), (1,))); da.einsum("ij,kj->ik", x, y)
da.linalg.norm(x); da.linalg.qr(x.rechunk((2, 6)).T.rechunk((6, 4)))[1]; da.linalg.svd(x.rechunk((2, 6)))[1]; da.linalg.cholesky(w)
da.zeros_like(x); da.ones_like(x); da.full_like(x, 3); x.map_blocks(lambda a: a * 2); x.map_overlap(lambda a: a * 2, depth=1)
da.reduction(x, chunk=np.sum, aggregate=np.sum, dtype="f4"); da.diff(x); da.bincount(i.ravel()); x.copy(); x.persist(); da.gradient(x)[0]
da.apply_gufunc(lambda a: a.sum(-1), "(i)->()", x.rechunk((2, 6)), output_dtypes="f4"); da.coarsen(np.sum, x, {0: 2, 1: 3}); x.blocks[0, 1]
da.fft.fft(x.rechunk((2, 6))); da.fft.ifft2(x.rechunk((4, 6))); x[x > 5]; da.percentile(v, [25, 50])
da.compress([True, False, True, False], x, axis=0)
"""
CALLS = [call for line in CALLS.strip().split("\n") for call in line.split("; ")]
# Calls whose results Dask makes of NumPy's arrays, or that are no arrays.
OTHERS = """
x.argmax(); x.argmin(axis=1); da.unique(v); da.nonzero(x)[0]; da.argwhere(x > 5); da.histogram(v, bins=3, range=(0, 6))[0]
da.linalg.solve(w, da.ones(4, chunks=2)); da.linalg.inv(w); float(x.sum()); len(x); np.asarray(x); da.allclose(x, y)
da.shape(x); x.nbytes; x.size
"""
OTHERS = [call for line in OTHERS.strip().split("\n") for call in line.split("; ")]


def computed(call, names):
    made = eval(call, {"da": da, "np": np, **names})
    return made, made.compute() if hasattr(made, "compute") else made


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_functions_of_arrays_with_tensors_as_chunks(call):
    ours, theirs = arrays()
    (made, found), (_, wanted) = computed(call, ours), computed(call, theirs)
    assert type(found) is torch.Tensor and found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, 2e-5, 1e-5)
    assert isinstance(made, da.Array) and np.isnan(made.shape).any() or made.shape == found.shape


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", OTHERS)
def test_functions_that_give_other_things(call):
    ours, theirs = arrays()
    np.testing.assert_allclose(computed(call, ours)[1], computed(call, theirs)[1], 2e-4, 1e-5)


@pytest.mark.parametrize("ndim", [None, 0, 1, 2, 3])
def test_metas_are_tensors(ndim):
    for t in (torch.ones(4, 6), torch.ones(4, 6).long()):
        meta = meta_from_array(t, ndim=ndim)
        assert (
            type(meta) is torch.Tensor
            and meta.dtype is t.dtype
            and meta.ndim == (2 if ndim is None else ndim)
            and not meta.numel()
            or not ndim
        )
        assert meta_from_array(t, ndim=ndim, dtype="f8").dtype is torch.float64
    x = da.from_array(torch.ones(4, 6), 2)
    for part in (x[:0], x[None], x[..., None], x[...], x.sum(), x[0, 0], x.astype("i2")):
        assert type(part._meta) is torch.Tensor and type(part.compute()) is torch.Tensor


def test_tensors_beside_arrays_of_dask():
    x, t = da.ones(4, chunks=2), torch.ones(4)
    for made in (x + t, t + x, np.add(t, x), t * x + 1, da.add(t, x)):
        assert isinstance(made, da.Array) and made.compute().tolist() == [2, 2, 2, 2] and made.dtype == np.float64
    joined = np.concatenate([t, x])
    assert isinstance(joined, da.Array) and type(joined.compute()) is torch.Tensor and joined.shape == (8,)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_schedulers_give_the_same_bits(scheduler):
    x = da.from_array(torch.rand(200, 300, generator=torch.Generator().manual_seed(2)), chunks=(30, 40))
    for made in (x.sum(), x.std(axis=0), da.dot(x, x.T), da.exp(x).mean()):
        assert torch.equal(made.compute(scheduler=scheduler), made.compute(scheduler="synchronous"))


def test_dtypes_are_numpys_to_dask():
    x = da.from_array(torch.ones(4), 2)
    assert x.dtype == np.float32 and x.dtype.kind == "f" and x.itemsize == 4 and (x > 1).dtype == bool and "float32" in repr(x)
    assert (x + np.ones(4)).dtype == np.float64 == (x + np.ones(4)).compute().dtype


MIXED = [
    "tensordot(x, n.T, axes=1)",
    "tensordot(n, x.T, axes=1)",
    "tensordot(x, n.T.astype('f8'), axes=1)",
    "tensordot(x, i.T, axes=1)",
    "einsum('ij,kj->ik', x, n)",
    "einsum('ij,kj->ik', x, i)",
    "matmul(n, x.T)",
    "concatenate([n, x])",
    "maximum(n, x)",
    "linalg.lstsq(w.rechunk((2, 4)), n[:, 0])[0]",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", MIXED)
def test_tensors_and_numpys_arrays_as_chunks(call):
    ours, theirs = arrays()
    made, wanted = (computed(f"da.{call}", names | {"n": theirs["y"]})[1] for names in (ours, theirs))
    assert made.dtype == wanted.dtype
    np.testing.assert_allclose(made, wanted, 1e-4, 1e-4)


REGISTERED = """
import sys, libtensor, dask.array, distributed
names = {"dask.array.dispatch": "einsum_lookup", "dask.sizeof": "sizeof", "dask.tokenize": "normalize_token"}
found = [getattr(sys.modules[module], name) for module, name in names.items()]
found += [distributed.protocol.dask_serialize, distributed.protocol.dask_deserialize]
assert all(libtensor.Tensor in dispatch._lookup for dispatch in found)
"""


@pytest.mark.parametrize("first", ["dask", "dask.array", "distributed", "libtensor"])
def test_dask_and_libtensor_in_any_order(first):
    subprocess.run([sys.executable, "-c", f"import {first}\n{REGISTERED}"], check=True, timeout=60)


def test_importing_libtensor_imports_nothing_for_dask():
    code = "import sys, libtensor; assert not {'dask', 'distributed', 'numpy', 'libtensor.dask'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_backend_is_found_by_its_entry_point(tmp_path):
    ((name, value),) = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]["entry-points"]["dask.array.backends"].items()
    installed = tmp_path / "libtensor-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: libtensor\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(f"[dask.array.backends]\n{name} = {value}\n")
    code = (
        "import dask, dask.array as da\nwith dask.config.set({'array.backend': 'libtensor'}): print(type(da.ones(3, chunks=2).compute()))"
    )
    path = os.pathsep.join((str(tmp_path), str(PYTHON)))
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert done.stdout == "<class 'libtensor.Tensor'>\n"


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.setitem(array_creation_dispatch._lookup, "libtensor", Backend())
    with dask.config.set({"array.backend": "libtensor"}):
        yield


CREATION = [
    "ones((4, 4), chunks=2)",
    "zeros((4, 4), chunks=2, dtype='i4')",
    "full((3,), 2.5, chunks=2)",
    "arange(10, chunks=3)",
    "ones(())",
]


@pytest.mark.parametrize("call", CREATION)
def test_creation(backend, call):
    made = eval(f"da.{call}", {"da": da})
    with dask.config.set({"array.backend": "numpy"}):
        wanted = eval(f"da.{call}", {"da": da}).compute()
    found = made.compute()
    assert type(made._meta) is torch.Tensor is type(found) and found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "draw", ["normal(2, 3, size=(4, 4), chunks=2)", "integers(9, size=6, chunks=4)", "random((3, 3), chunks=2)", "choice(5, 4, chunks=2)"]
)
def test_random_numbers_are_numpys(backend, draw):
    found = eval(f"da.random.default_rng(1).{draw}", {"da": da}).compute()
    with dask.config.set({"array.backend": "numpy"}):
        wanted = eval(f"da.random.default_rng(1).{draw}", {"da": da}).compute()
    assert type(found) is torch.Tensor and found.tolist() == wanted.tolist()


def test_backends_are_exchanged_without_copies(backend):
    array, tensor = np.ones((4, 4)), torch.ones(4, 4)
    x = da.from_array(array, chunks=2).to_backend("libtensor")
    assert type(x.compute()) is torch.Tensor is type(x._meta) and x.to_backend("libtensor") is x
    assert np.shares_memory(Backend.to_backend_dispatch()(array).numpy(), array)
    assert type(x.to_backend("numpy").compute()) is np.ndarray and np.shares_memory(to_numpy_dispatch(tensor), tensor.numpy())


def test_tokens_and_sizes():
    t = torch.arange(6.0).view(2, 3)
    assert (
        tokenize(t) == tokenize(t.clone()) != tokenize(t + 1)
        and tokenize(t) != tokenize(t.double())
        and tokenize(t) != tokenize(t.view(3, 2))
    )
    assert tokenize(t.to_sparse()) == tokenize(t.to_sparse()) and da.from_array(t, 2).name == da.from_array(t.clone(), 2).name
    assert sizeof(t) == 24 and sizeof(torch.ones(1).expand(1000)) == 4 and sizeof([t, t]) > 48


# -------------------------------------------------------------------------------------------------------------------- examples


def example(name, *arguments):
    done = subprocess.run([sys.executable, PYTHON / "examples" / name, *arguments], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_network_learns_the_same_bits_on_workers(tmp_path):
    generator = torch.Generator().manual_seed(1)
    means = torch.rand(10, 64, generator=generator)
    for name, rows in (("train", 300), ("test", 100)):
        y = torch.randint(10, (rows,), generator=generator)
        torch.save_npy(means[y] + torch.randn(rows, 64, generator=generator) / 4, tmp_path / f"{name}_x.npy")
        torch.save_npy(y, tmp_path / f"{name}_y.npy")
    told = example("dask_digits.py", tmp_path, "--epochs", "2")
    assert "2 workers and one process: the same bits" in told and told.count("epoch") == 2


def test_the_example_of_the_documentation(capsys):
    code = re.search(r"```py\n(.*?)```", (TREE / "docs" / "dask.md").read_text(), re.DOTALL).group(1)
    exec(code, {})
    assert capsys.readouterr().out.startswith("tensor([")


def test_moments_of_many_numbers():
    told = example("dask_moments.py", "--gigabytes", "0.3")
    assert "0.3 GB of numbers" in told and "means -0.00" in told or "means 0.00" in told


def test_files_on_two_workers(tmp_path):
    told = example("dask_files.py", tmp_path, "--gigabytes", "0.2")
    assert "3 files, 0.2 GB of numbers, two workers of 1GB" in told and "mean 31.499" in told and "100% Completed" in told
