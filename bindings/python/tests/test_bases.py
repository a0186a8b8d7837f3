"""What a view is of, and results that are the operand itself."""

import gc
import weakref

import pytest

import libtensor as torch

VIEWS = {
    "x[1]": lambda x: x[1],
    "x[1:]": lambda x: x[1:],
    "x[None, ..., 1]": lambda x: x[None, ..., 1],
    "T": lambda x: x.T,
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(3, 2, 2),
    "expand": lambda x: x.expand(2, 3, 4),
    "unbind": lambda x: x.unbind()[2],
    "split": lambda x: x.split(2, dim=1)[1],
    "view of a view": lambda x: x[1:].t()[2],
    "another dtype": lambda x: x.view(torch.int32),
    "diagonal": lambda x: torch.diagonal(x),
}
COPIES = {
    "reshape": lambda x: x.t().reshape(12),
    "contiguous": lambda x: x.t().contiguous(),
    "to": lambda x: x.to(torch.float64),
    "clone": lambda x: x[1:].clone(),
    "list": lambda x: x[[0, 1]],
    "data": lambda x: x.data,
    "detach": lambda x: x.detach(),
}
ITSELF = "conj resolve_conj resolve_neg contiguous positive atleast_1d atleast_2d"


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_view_knows_its_base(make):
    x = torch.zeros(3, 4)
    y = make(x)
    assert y._base is x and y._is_view() and not x._is_view()


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_copy_has_no_base(make):
    y = make(torch.zeros(3, 4))
    assert y._base is None and not y._is_view()


@pytest.mark.parametrize("name", ITSELF.split())
def test_operand_itself(name):
    x = torch.ones(2, 3)
    assert (getattr(torch, name, None) or getattr(torch.Tensor, name))(x) is x
    assert torch.ravel(x[0].clone()).dim() == 1 and torch.real(x) is x and x.to(torch.float32) is x
    z = torch.tensor([1j, 2])
    assert z.conj() is not z and torch.flatten(x) is not x


def test_view_keeps_its_base_and_rings_are_collected():
    x = torch.zeros(3)
    x.part = x[1:]
    seen = weakref.ref(x)
    part = x.part
    del x
    gc.collect()
    assert part._base is seen() is not None
    del part
    gc.collect()
    assert seen() is None


def test_detached_keeps_no_graph():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    seen, kept = weakref.ref(y), y.detach()[1:]
    del y
    assert seen() is None and kept.tolist() == [2, 2]


def test_data_cannot_be_deleted():
    x = torch.zeros(2)
    with pytest.raises(RuntimeError, match="data"):
        del x.data
    assert x.tolist() == [0, 0]
