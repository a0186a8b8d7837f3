"""Writes by index, whose operands must not overlap the output."""

import pytest

import libtensor as torch

at = torch.tensor([2, 1, 0])


def numbers():
    return torch.arange(6)


REJECTED = {
    "index_add_ source": lambda x: x.index_add_(0, at, x[:3]),
    "index_add_ index": lambda x: x.index_add_(0, x[:3], at),
    "index_copy_": lambda x: x.index_copy_(0, at, x[1:4]),
    "index_reduce_": lambda x: x.index_reduce_(0, at, x[1:4], "prod"),
    "index_fill_": lambda x: x.index_fill_(0, x[:2], 1),
    "index_put_ values": lambda x: x.index_put_((at,), x[0]),
    "index_put_ index": lambda x: x.index_put_((x[:3],), at),
    "put_ source": lambda x: x.put_(at, x[:3]),
    "put_ index": lambda x: x.put_(x, x.clone()),
    "scatter_ source": lambda x: x.scatter_(0, at, x[1:4]),
    "scatter_ index": lambda x: x.scatter_(0, x, x.clone()),
    "scatter_ itself": lambda x: x.scatter_(0, at, x),
    "scatter_add_": lambda x: x.scatter_add_(0, at, x[1:4]),
    "scatter_reduce_": lambda x: x.scatter_reduce_(0, at, x[1:4], "amax"),
}


@pytest.mark.parametrize("write", REJECTED.values(), ids=REJECTED)
def test_errors(write):
    x = numbers()
    with pytest.raises(RuntimeError, match="refer to a single memory location; clone"):
        write(x)
    assert x.equal(numbers())


def test_mask_that_overlaps_the_tensor_is_rejected():
    x = torch.tensor([True, False, True, True])
    with pytest.raises(RuntimeError, match="masked_fill_.*single memory location"):
        x[1:].masked_fill_(x[:-1], False)
    assert x.tolist() == [True, False, True, True] and x.masked_fill_(x, False).tolist() == [False] * 4


def test_parts_that_do_not_meet():
    x = numbers()
    assert x[:3].put_(at, x[3:]).tolist() == [5, 4, 3]
    assert x[:3].scatter_(0, at, x[3:]).tolist() == [5, 4, 3]


@pytest.mark.parametrize("value", [torch.ones(7), torch.ones(2, dtype=torch.int64), 1j, torch.tensor(2.0)], ids=str)
def test_index_false_ignores_the_assigned_value(value):
    x = torch.zeros(2, 2)
    x[False] = value
    assert x.tolist() == [[0, 0], [0, 0]]


def test_assignments_have_one_meaning():
    x = numbers()
    x[at] = x[1:4]
    assert x.tolist() == [3, 2, 1, 3, 4, 5]
    x[1:] = x[:-1]
    assert x.tolist() == [3, 3, 2, 1, 3, 4]


ONE_PLACE_OF_SEVERAL = {
    "expand": lambda b: b.expand(3, 2),
    "as_strided": lambda b: b.as_strided((3, 2), (0, 1)),
    "steps that overlap": lambda b: b.as_strided((2, 1), (1, 1)),
    "unfold": lambda b: b.unfold(0, 1, 1).expand(2, 2),
}
KEYS_OF_SEVERAL = {
    "index": lambda v: torch.tensor([0, 1]),
    "mask of rows": lambda v: torch.tensor([True, True] + [False] * (len(v) - 2)),
    "mask": lambda v: v > -1,
}


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("key", KEYS_OF_SEVERAL)
@pytest.mark.parametrize("view", ONE_PLACE_OF_SEVERAL)
def test_one_value_for_elements_that_share_memory(view, key, history):
    """Each address counts once in the gradient of the written values, for any number of elements that share it."""

    def loss(s):
        b = torch.zeros(2, dtype=torch.float64)
        b = b * s if history else b
        v = ONE_PLACE_OF_SEVERAL[view](b)
        v[KEYS_OF_SEVERAL[key](v)] = s * s
        return (b * b).sum() + (v * v).sum()

    s = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    (got,) = torch.autograd.grad(loss(s), s)
    with torch.no_grad():
        want = (loss(s + 1e-4) - loss(s - 1e-4)) / 2e-4
    assert got.item() == pytest.approx(want.item(), rel=1e-6)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("key", [slice(None), (..., -1), slice(1, None)])
def test_slices_of_elements_that_share_memory(key, recorded):
    b = torch.zeros(2)
    v, s = b.expand(3, 2), torch.tensor(3.0, requires_grad=recorded)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        v[key] = s
    v[key] = 3
    assert b[-1] == 3 and b.grad_fn is None
