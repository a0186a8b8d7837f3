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


@pytest.mark.parametrize("make", [torch.meshgrid, torch.atleast_2d], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:meshgrid")
def test_views_of_several_know_their_own_bases(make):
    x, y = torch.zeros(3), torch.zeros(3)
    for made in (make(x, y), make([x, y])):
        assert made[0]._base is x and made[1]._base is y


def test_broadcast_tensors_returns_operands_of_the_result_shape_themselves():
    x, y = torch.zeros(3), torch.zeros(1)
    made = torch.broadcast_tensors(x, y)
    assert made[0] is x and made[1]._base is y


COMPOSED = {
    "kron": lambda x: torch.kron(x, x),
    "rot90": lambda x: torch.rot90(x),
    "combinations": lambda x: torch.combinations(x[0]),
    "quantile": lambda x: torch.quantile(x, torch.tensor([0.2, 0.7], dtype=x.dtype), dim=1),
    "vecdot": lambda x: torch.linalg.vecdot(x, x),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "inner": lambda x: torch.inner(x, x),
}


@pytest.mark.parametrize("make", COMPOSED.values(), ids=COMPOSED)
def test_results_of_composite_operators_are_no_views_of_intermediate_results(make):
    x, seen = torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=torch.float64, requires_grad=True), []
    y = make(x)
    assert not y._is_view()
    y.register_hook(seen.append)
    y.add_(1)
    y.sum().backward()
    assert len(seen) == 1 and seen[0].shape == y.shape
    z = make(x)
    assert z.detach_().is_leaf


@pytest.mark.parametrize("name", ITSELF.split())
def test_operand_itself(name):
    x = torch.ones(2, 3)
    assert (getattr(torch, name, None) or getattr(torch.Tensor, name))(x) is x
    assert torch.ravel(x[0].clone()).dim() == 1 and torch.real(x) is x and x.to(torch.float32) is x
    z = torch.tensor([1j, 2])
    assert z.conj() is not z and torch.flatten(x) is not x


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_sparse_tensors_that_share_entries(layout):
    x = torch.eye(4).to_sparse(layout=getattr(torch, layout), blocksize=(2, 2) if "_bs" in layout else None)
    for y in (x.t(), x.mT, x.transpose(0, 0), x.values(), x.t()._values()[1:] if layout == "sparse_coo" else x.t().values()):
        assert y._is_view()
    assert x.t()._base is x and x.values()._base is x
    assert not any(y._is_view() for y in (x, x.clone(), x * 2, x.to_dense(), x.detach()))


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


@pytest.mark.parametrize("make", [lambda x: x.view(-1), lambda x: x[...], lambda x: x.unsqueeze(0)], ids=["view", "index", "unsqueeze"])
@pytest.mark.parametrize("write", [0, 1], ids=["base", "view"])
def test_plain_base_stays_the_base_once_there_are_gradients(make, write):
    x, c = torch.zeros(2, 2), torch.tensor(3.0, requires_grad=True)
    v = make(x)
    (x, v)[write].add_(c)
    assert torch.autograd.grad((v * v).sum(), x, retain_graph=True)[0].tolist() == [[6, 6], [6, 6]]
    assert torch.autograd.grad((x * x).sum(), v, allow_unused=True) == (None,)
