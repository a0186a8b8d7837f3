"""Views inside vmap: geometry that changes in place, as_strided, and the tensors that results are views of."""

from itertools import product

import pytest

import libtensor as torch
from libtensor.func import grad, jacfwd, jacrev, jvp, vmap

IN_PLACE = {
    "squeeze_": lambda x: x.squeeze_(),
    "squeeze_dim": lambda x: x.squeeze_(0),
    "unsqueeze_": lambda x: x.unsqueeze_(-1),
    "transpose_": lambda x: x.transpose_(0, -1),
    "t_": lambda x: x.t_() if x.dim() == 2 else x.transpose_(0, 1).transpose_(1, 2),
    "as_strided_": lambda x: x.as_strided_(x.shape[:1], x.stride()[:1]),
    "detached": lambda x: x.unsqueeze_(0).squeeze_(0).mul_(2),
}
SIZES = [(1, 3), (3, 2), (1, 1), (1, 2, 3)]


@pytest.mark.parametrize("name", IN_PLACE)
def test_geometry_in_place(name):
    change = IN_PLACE[name]

    def f(x):
        y = x.clone(memory_format=torch.contiguous_format)
        given, first = y, y[0]
        assert change(y) is given
        first.add_(1)  # a view from before shares memory still
        return y, y.sin().sum(0), first

    for sizes, dim in product(SIZES, (0, 1, -1)):
        rank = len(sizes) + 1
        x = torch.rand(4, *sizes, dtype=torch.float64).movedim(0, dim)
        made = vmap(f, in_dims=dim)(x)
        rows = [f(row) for row in x.unbind(dim)]
        for got, expected in zip(made, zip(*rows, strict=True), strict=True):
            assert torch.equal(got, torch.stack(expected)), (name, sizes, dim)
        nested = vmap(vmap(f, in_dims=dim % rank), in_dims=0)(torch.stack([x, 2 * x]))
        for got, expected in zip(nested, made, strict=True):
            assert torch.equal(got[0], expected)

        def loss(x):
            return (f(x)[0] ** 3).sum()

        for derivative in (grad,) if name == "as_strided_" else (grad, jacfwd):  # the strides of a tangent can differ
            rows = [grad(loss)(row) for row in x.unbind(dim)]
            torch.testing.assert_close(vmap(derivative(loss), in_dims=dim)(x), torch.stack(rows))
        row, tangent = x.select(dim, 0), torch.rand(sizes, dtype=torch.float64)
        made, slopes = jvp(f, (row,), (tangent,))
        for k, (t, slope) in enumerate(zip(made, slopes, strict=True)):
            assert torch.equal(t, f(row)[k])
            columns = jacrev(lambda x, k=k: f(x)[k])(row)
            torch.testing.assert_close(slope, (columns * tangent).flatten(t.dim()).sum(-1))


def test_geometry_in_place_leaves_the_argument_of_vmap():
    x = torch.rand(3, 1, 2)
    assert vmap(lambda t: t.squeeze_(0).mul_(2).clone())(x).shape == (3, 2) and x.shape == (3, 1, 2)
    x = torch.rand(3, 1, 2)
    before = x.clone()
    vmap(lambda t: t.squeeze_(0).mul_(2))(x)
    assert torch.equal(x, 2 * before)


def test_as_strided():
    for x in (
        torch.rand(5, 2, 3),
        torch.rand(3, 2, 5).movedim(-1, 0).mT,
        torch.rand(2, 5, 2, 3)[1],
        torch.rand(5, 2, 4, 3, 7)[:, :, 2, :, 1],
    ):
        s, t = x.stride()[1:]
        at = x.storage_offset()
        for sizes, strides, offset, same in (
            ([5, 2, 3], [0, s, t], None, lambda x: x.expand(5, 2, 3)),
            ([3, 2], [t, s], at, lambda x: x.mT),
            ([2], [s], at + t, lambda x: x[:, 1]),
            ([2], [s + t], at, lambda x: x.diagonal()),
            ([0, 2], [1, 1], at, lambda x: x[:0, :2]),
        ):
            got = vmap(lambda x, a=sizes, b=strides, c=offset: x.as_strided(a, b, c))(x)
            assert torch.equal(got, vmap(same)(x)) and got.data_ptr() == vmap(same)(x).data_ptr()
    x = torch.rand(7, 5, 2, 3)
    got = vmap(vmap(lambda t: t.as_strided([3, 2], [1, 3])), in_dims=1)(x)
    assert torch.equal(got, x.transpose(0, 1).mT)
    got = vmap(grad(lambda t: (t.as_strided([2, 2], [1, 1]) ** 2).sum()))(torch.ones(2, 3))
    assert got.tolist() == [[2.0, 4.0, 2.0]] * 2


OUTSIDE = [([3], [1], 1), ([4, 4], [4, 1], 0), ([2], [1], -1), ([1], [1], 15)]


@pytest.mark.parametrize("case", range(len(OUTSIDE)))
def test_as_strided_stays_within_a_batch_element(case):
    x = torch.rand(4, 3)
    with pytest.raises(RuntimeError):
        vmap(lambda t: t.as_strided(*OUTSIDE[case]))(x)
    with pytest.raises(RuntimeError, match="not supported inside of vmap"):
        vmap(lambda t: t.as_strided([3], [1]))(torch.rand(4, 0, 3))


VIEWS = [lambda t: t[0], lambda t: t.mT, lambda t: t[1:, :2], lambda t: t.view_as(t), lambda t: t.unbind()[1], lambda t: t.diagonal()]


@pytest.mark.parametrize("case", range(len(VIEWS)))
def test_results_are_views_of_the_argument(case):
    view = VIEWS[case]
    base = torch.rand(4, 4, 4, 4)
    for x, dim in product((base, base[1:], base.requires_grad_()), (0, 1, -1)):
        whole = x if x._base is None else x._base
        assert vmap(view, in_dims=dim, out_dims=-1)(x)._base is whole
        assert vmap(vmap(view, in_dims=dim))(x.detach())._is_view()
        nested = vmap(vmap(view))(x)
        assert nested._base is whole and nested._is_view()
        assert vmap(lambda t: view(t).clone())(x)._base is None
        assert vmap(lambda t: (t.clone(), view(t) + 1))(x)[1]._base is None


def test_an_argument_that_is_returned_is_the_argument():
    x = torch.rand(3, 4, 5)
    for dim in (0, 1, -1):
        assert vmap(lambda t: t, in_dims=dim, out_dims=dim)(x) is x
        assert vmap(lambda t: t.sin_(), in_dims=dim, out_dims=dim)(x) is x
        assert vmap(lambda t: (t.sum(), t), in_dims=dim, out_dims=(0, dim))(x)[1] is x
    assert vmap(vmap(lambda t: t.mul_(2)))(x) is x
    turned = vmap(lambda t: t, in_dims=1)(x)
    assert turned._base is x and turned.shape == (4, 3, 5)
    assert vmap(lambda t: t.clone())(x) is not x and vmap(lambda t: t[:])(x) is not x
    assert vmap(lambda t: t.squeeze_(0))(x[:, :1]).shape == (3, 5)
    square = torch.rand(3, 4, 4)
    assert torch.equal(vmap(lambda t: t.transpose_(0, 1))(square), square.mT)
