"""Forms of calls that PyTorch has kept from its beginnings."""

import pytest

import libtensor as torch

m, v, b = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([1.0, 2]), torch.ones(1, 2, 2)
FUNCTIONS = [
    ("add", (m, 2, m), (m, m), {"alpha": 2}),
    ("sub", (m, 2, m), (m, m), {"alpha": 2}),
    ("addcmul", (m, 2, m, m), (m, m, m), {"value": 2}),
    ("addcdiv", (m, 0.5, m, m), (m, m, m), {"value": 0.5}),
    ("addmm", (2, m, 3, m, m), (m, m, m), {"beta": 2, "alpha": 3}),
    ("addmm", (2, m, m, m), (m, m, m), {"beta": 2}),
    ("addmv", (2, v, 3, m, v), (v, m, v), {"beta": 2, "alpha": 3}),
    ("addr", (2, m, 3, v, v), (m, v, v), {"beta": 2, "alpha": 3}),
    ("addbmm", (2, m, 3, b, b), (m, b, b), {"beta": 2, "alpha": 3}),
    ("baddbmm", (2, b, 3, b, b), (b, b, b), {"beta": 2, "alpha": 3}),
]


@pytest.mark.filterwarnings("ignore:.*is deprecated")
@pytest.mark.parametrize(("name", "old", "new", "factors"), FUNCTIONS)
def test_factors_by_position(name, old, new, factors):
    function = getattr(torch, name)
    with pytest.warns(UserWarning, match=f"{name} is deprecated.*keyword arguments"):
        assert function(*old).equal(function(*new, **factors))
    out = torch.empty(0)
    assert function(*old, out=out) is out and out.equal(function(*new, **factors))


@pytest.mark.filterwarnings("ignore:.*is deprecated")
@pytest.mark.parametrize(("name", "old", "new", "factors"), FUNCTIONS)
def test_factors_by_position_in_place(name, old, new, factors):
    numbers = [x for x in old if not isinstance(x, torch.Tensor)]
    changed = new[0].clone()
    assert getattr(changed, name + "_")(*numbers, *new[1:]) is changed
    assert changed.equal(getattr(torch, name)(*new, **factors))


@pytest.mark.parametrize("args", [(m, 1, 2, m), (m, m, m), (m, "2", m), (1, 2, 3), (m, 2, m, m)])
def test_other_arguments_are_rejected(args):
    with pytest.raises(TypeError, match="add"):
        torch.add(*args)


def test_division_from_the_right():
    assert torch.tensor([2.0, 4]).__rdiv__(8).tolist() == [4, 2]


def test_modes_and_settings_by_position():
    assert torch.autograd.grad_mode.no_grad is torch.no_grad and torch.utils.deterministic.fill_uninitialized_memory is True
    assert torch.cuda.is_tf32_supported() in (False, True)
    before = torch.backends.cuda.preferred_linalg_library()
    assert torch.backends.cuda.preferred_linalg_library("magma") == torch.backends.cuda.preferred_linalg_library() == "magma"
    assert torch.backends.cuda.preferred_linalg_library(before) == before
    with pytest.raises(RuntimeError, match="preferred_linalg_library.*'mkl'.*cusolver"):
        torch.backends.cuda.preferred_linalg_library("mkl")


def test_asarray_of_capsules_and_numbers():
    x = torch.arange(3.0)
    assert torch.asarray(torch.to_dlpack(x), copy=False).data_ptr() == x.data_ptr()
    assert torch.asarray(torch.to_dlpack(x), dtype=torch.int64, copy=True).tolist() == [0, 1, 2]
    np = pytest.importorskip("numpy")
    with pytest.raises(RuntimeError, match="copy=False"):
        torch.asarray(np.float32(1), copy=False)
    assert torch.asarray(np.float32(1)).tolist() == 1


def test_negative_view_is_computed():
    x = torch.tensor([1.0, -2])
    assert x._neg_view().tolist() == [-1, 2] and not x._neg_view().is_neg()
