"""Parallel calls in processes and threads, large tensors mapped from a file, files, hashes of equal tensors, a Memory of results."""

import joblib
import pytest
from joblib import Memory, Parallel, delayed
from layouts import MATRICES, VECTORS, of_all, values

import libtensor as torch

BIG = torch.arange(800.0 * 800).view(800, 800)  # of more than a megabyte, also the half


def told(t):
    return t.sum().item(), t.layout is torch.strided and torch.is_read_only(t), t.dtype, t * 2


@pytest.mark.parametrize(
    ("t", "mapped"),
    [
        (BIG, True),
        (BIG.t(), True),
        (BIG[:, ::2], True),
        (BIG.bfloat16(), False),
        (torch.tensor([1.0, 2.0]), False),
        (torch.tensor([1.0, 2.0], requires_grad=True), False),
        (torch.tensor([[1.0, 0.0]]).to_sparse(), False),
        (torch.zeros(0, 3), False),
    ],
)
def test_processes(t, mapped):
    for total, read_only, dtype, double in Parallel(n_jobs=2)(delayed(told)(t) for _ in range(2)):
        assert total == t.sum().item() and read_only is mapped and dtype is t.dtype
        assert double.layout is t.layout and double.to_dense().equal((t * 2).to_dense())


def test_threads():
    assert [found[0] for found in Parallel(n_jobs=2, prefer="threads")(delayed(told)(row) for row in BIG[:3])] == BIG[:3].sum(1).tolist()


@pytest.mark.parametrize("compress", [0, 3])
def test_files(tmp_path, compress):
    joblib.dump({"big": BIG.t(), "name": "x"}, tmp_path / "a", compress=compress)
    assert joblib.load(tmp_path / "a")["big"].equal(BIG.t())


def test_mapped_files(tmp_path):
    joblib.dump([BIG, BIG.bfloat16()], tmp_path / "a")
    mapped, _ = joblib.load(tmp_path / "a", mmap_mode="r")
    assert mapped.equal(BIG) and torch.is_read_only(mapped)
    copied, _ = joblib.load(tmp_path / "a", mmap_mode="c")
    copied.zero_()
    assert joblib.load(tmp_path / "a")[0].equal(BIG) and joblib.load(tmp_path / "a")[1].equal(BIG.bfloat16())


EQUAL = [
    (lambda: torch.ones(2, 3), lambda: torch.ones(1, 3).expand(2, 3)),
    (lambda: BIG.t(), lambda: BIG.t().contiguous()),
    (lambda: BIG[5:7], lambda: BIG[5:7].clone()),
    (lambda: torch.ones(2, dtype=torch.bfloat16), lambda: torch.ones(4, dtype=torch.bfloat16)[::2]),
    (lambda: torch.eye(3).to_sparse(), lambda: torch.eye(3).to_sparse()),
    (lambda: torch.ones(2, requires_grad=True), lambda: torch.ones(2, requires_grad=True)),
    (lambda: {"x": [torch.ones(2)]}, lambda: {"x": [torch.ones(2)]}),
]
OTHER = [
    (lambda: torch.ones(6), lambda: torch.ones(2, 3)),
    (lambda: torch.zeros(2), lambda: torch.zeros(2, dtype=torch.int32)),
    (lambda: torch.zeros(2), lambda: -torch.zeros(2)),
    (lambda: torch.ones(2), lambda: torch.ones(2, requires_grad=True)),
    (lambda: torch.ones(2, 2), lambda: torch.ones(2, 2, names=("a", "b"))),
    (lambda: torch.eye(2), lambda: torch.eye(2).to_sparse()),
]


@pytest.mark.parametrize(("make", "other"), EQUAL)
def test_equal_tensors_have_one_hash(make, other):
    assert joblib.hash(make()) == joblib.hash(other())


@pytest.mark.parametrize(("make", "other"), OTHER)
def test_other_tensors_have_another(make, other):
    assert joblib.hash(make()) != joblib.hash(other())


def test_memory(tmp_path):
    calls = []

    def double(t):
        calls.append(t)
        return t * 2

    kept = Memory(tmp_path, verbose=0).cache(double)
    assert kept(torch.ones(3)).tolist() == kept(torch.ones(1).expand(3)).tolist() == [2, 2, 2] and len(calls) == 1
    assert kept(torch.zeros(3)).tolist() == [0, 0, 0] and len(calls) == 2


@of_all(MATRICES, VECTORS)
def test_odd_layouts(tmp_path, t):
    joblib.dump(t, tmp_path / "a")
    assert values(joblib.load(tmp_path / "a")) == values(t) and joblib.hash(t) == joblib.hash(joblib.load(tmp_path / "a"))
