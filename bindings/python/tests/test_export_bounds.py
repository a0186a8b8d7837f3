"""Sizes for which a function raises an error: the exported program has the same bounds, or export raises."""

import io

import exported_writer as w
import pytest

import libtensor as torch
from libtensor import nn
from libtensor.export import Dim, export


def accept(least, most):
    def function(x):
        assert x.shape[0] <= most, "too many rows"
        if 2 * x.size(0) < 2 * least:
            raise ValueError("too few rows")
        return x * 2

    return function


class Outer(nn.Module):
    """Calls a program inside a module."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *args):
        return self.inner(*args) * 2


def export_program(dim, function=torch.neg, rows=5):
    return export(function, (torch.ones(rows, 3),), dynamic_shapes=({0: dim},))


def nest(least, most):
    return Outer(export_program(Dim("n", min=least, max=most)).module())


def list_accepted(module, sizes):
    """Returns the sizes for which a module raises no error."""

    def accepts(size):
        try:
            module(torch.ones(size, 3))
        except RuntimeError:
            return False
        return True

    return [size for size in sizes if accepts(size)]


def dims_of(function, dim):
    return ({0: dim},) if not isinstance(function, nn.Module) else (({0: dim},),)


@pytest.mark.parametrize("make", [accept, nest])
@pytest.mark.parametrize(("least", "most"), [(0, 6), (3, 8), (5, 9), (2, 4095), (4, 4096), (0, 5000), (1, 10**6), (0, 5), (5, 7)])
def test_automatic_sizes_get_the_bounds_of_the_function(make, least, most):
    function = make(least, most)
    for hint in (Dim.AUTO, Dim.DYNAMIC):
        program = export(function, (torch.ones(5, 3),), dynamic_shapes=dims_of(function, hint))
        assert program.range_constraints == {"s0": (least, most)}
        near = {0, 1, least - 1, least, least + 1, 5, most - 1, most, most + 1, 2 * most} - {-1}
        assert list_accepted(program.module(), sorted(near)) == sorted(n for n in near if least <= n <= most)


@pytest.mark.parametrize("make", [accept, nest])
def test_named_sizes_need_the_bounds_of_the_function(make):
    function = make(3, 70)
    for bounds, suggestion in [({}, "(min=3|max=70)"), ({"min": 3}, "max=70"), ({"max": 70}, "min=3"), ({"min": 3, "max": 99}, "max=70")]:
        match = rf"(?s)Constraints violated \(n\)!.*satisfy the generated guard.*Suggested fixes: n = Dim\('n', {suggestion}"
        with pytest.raises(torch._dynamo.exc.UserError, match=match):
            export(function, (torch.ones(5, 3),), dynamic_shapes=dims_of(function, Dim("n", **bounds)))
    program = export(function, (torch.ones(5, 3),), dynamic_shapes=dims_of(function, Dim("n", min=3, max=70)))
    assert list_accepted(program.module(), range(1, 75)) == list(range(3, 71))


def test_sizes_that_no_bounds_exclude():
    def pairs(x):
        if x.shape[0] % 2:
            raise ValueError("odd")
        return x.reshape(-1, 2, 3).sum(1)

    def same(x, y):
        if x.shape[0] != y.shape[0]:
            raise ValueError("unequal")
        return x.sum(0) + y.sum(0)

    for dim in (Dim("n"), Dim.DYNAMIC):
        with pytest.raises(NotImplementedError, match="raises ValueError for sizes for which the program would not .*odd"):
            export(lambda x: (pairs(x), x + 1)[1], (torch.ones(4, 3),), dynamic_shapes=({0: dim},))
    assert export_program(2 * Dim("n"), pairs, 4).module()(torch.ones(6, 3)).shape == (3, 3)
    operands = torch.ones(4, 3), torch.ones(4, 3)
    with pytest.raises(NotImplementedError, match="raises ValueError for sizes for which the program would not .*unequal"):
        export(same, operands, dynamic_shapes=({0: Dim("n")}, {0: Dim("m")}))
    for dim in (Dim("n"), Dim.AUTO):
        program = export(same, operands, dynamic_shapes=({0: dim}, {0: dim}))
        with pytest.raises(RuntimeError, match="where size 5 of dimension 0 is required"):
            program.module()(torch.ones(5, 3), torch.ones(6, 3))


def test_static_sizes_of_an_inner_program():
    inner = Outer(export(torch.neg, (torch.ones(5, 3),)).module())
    assert export(inner, (torch.ones(5, 3),), dynamic_shapes=(({0: Dim.AUTO},),)).range_constraints == {}
    with pytest.raises(NotImplementedError, match="size 5 of dimension 0 is required"):
        export(inner, (torch.ones(5, 3),), dynamic_shapes=(({0: Dim("n")},),))


def test_equal_sizes_of_an_inner_program():
    n, operands = Dim("n"), (torch.ones(5, 3), torch.ones(5, 3))
    inner = Outer(export(lambda x, y: (x.sum(0), y.sum(0)), operands, dynamic_shapes=({0: n}, {0: n})).module())
    inner.forward = lambda x, y: inner.inner(x, y)
    with pytest.raises(NotImplementedError, match="the function raises RuntimeError for sizes for which the program would not"):
        export(inner, operands, dynamic_shapes=({0: Dim("a")}, {0: Dim("b")}))


@pytest.mark.parametrize(("factor", "offset"), [(1, 0), (2, 0), (2, 1), (3, -1)])
def test_bounds_of_linear_sizes(factor, offset):
    """A size that is a linear expression of a bounded symbol is within the values of the expression at the bounds."""
    low, high = 3 * factor + offset, 6 * factor + offset
    module = export_program(factor * Dim("n", min=3, max=6) + offset, rows=4 * factor + offset).module()
    accepted = list_accepted(module, range(1, 30))
    assert accepted == list(range(low, high + 1))
    with pytest.raises(RuntimeError, match=rf"{low} <= (size\(0\)|s0) <= {high} is required"):
        module(torch.ones(high + 1, 3))
    outer = export(Outer(module), (torch.ones(4 * factor + offset, 3),), dynamic_shapes=(({0: Dim.AUTO},),))
    assert outer.range_constraints == {"s0": (low, high)}


@pytest.mark.parametrize(
    ("guard", "bounds"),
    [
        ("L['x'].size()[0] <= 12", (0, 12)),
        ("L['x'].size()[0] * L['x'].size()[1] < 40 and L['x'].size()[0] > 3", (4, 13)),
        ("math.floor(L['x'].size()[0] / 2) >= 2", (4, None)),
        ("__import__('os').abort()", (0, None)),
    ],
)
def test_guards_of_an_inner_program(guard, bounds):
    text = w.model({"x": w.meta("float32", [w.symbol("s0"), 3])}, [w.aten("neg.default", "z", "x")], ["z"], guards=[guard])
    inner = torch.export.load(io.BytesIO(w.archive(text))).module()
    program = export(Outer(inner), (torch.ones(5, 3),), dynamic_shapes=(({0: Dim.AUTO},),))
    assert program.range_constraints == {"s0": bounds}


@pytest.mark.parametrize("kind", ["exported", "loaded"])
@pytest.mark.parametrize(
    ("dims", "held", "broken"),
    [
        (((2, 0), (2, 0)), (10, 10), (10, 12)),
        (((2, 0), (1, 0)), (10, 5), (13, 5)),
        (((1, 1), (1, 0)), (6, 5), (5, 5)),
        (((1, 0), (2, 1)), (5, 11), (5, 12)),
        (((3, -1), (2, 0)), (14, 10), (14, 12)),
        (((2, 0), (2, 0)), (13, 13), (12, 13)),
    ],
)
def test_linear_sizes_of_several_inputs_must_agree(kind, dims, held, broken):
    """Whatever the order: a later input can determine the symbol of an expression, and a size for which there is no integer does not."""
    n = Dim("n", min=2, max=50)
    shapes = tuple({0: factor * n + offset} for factor, offset in dims)
    inputs = tuple(torch.ones(4 * factor + offset) for factor, offset in dims)
    program = export(lambda x, y: (x * 2, y * 3), inputs, dynamic_shapes=shapes)
    if kind == "loaded":
        file = io.BytesIO()
        torch.export.save(program, file)
        program = torch.export.load(io.BytesIO(file.getvalue()))
    module = program.module()
    assert [x.shape[0] for x in module(*map(torch.ones, held))] == list(held)
    with pytest.raises(RuntimeError, match="of dimension 0 is required"):
        module(*map(torch.ones, broken))
