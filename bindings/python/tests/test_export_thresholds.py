"""Branches of Python code on variable sizes: export finds those that no sample size takes, by the comparisons of sizes that the code
makes."""

import builtins
import math
import random

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.export import Dim, export
from libtensor.export.thresholds import list_thresholds

LIMIT = 83


class Limited(nn.Module):
    scale = 59

    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    def forward(self, x):
        return x.sin() if x.shape[0] > self.limit else x.cos()


class Scaled(Limited):
    def forward(this, x):
        return x.sin() if len(x) == this.scale else x.cos()


def exceeds(limit):
    def function(x):
        rows = x.size(0)
        return x.sin() if rows >= limit else x.cos()

    return function


def divides(divisor):
    def function(x):
        return x.sin() if x.shape[0] % divisor == 0 else x.cos()

    return function


BRANCHES = {
    "a constant": lambda x: x.sin() if x.shape[0] < 61 else x.cos(),
    "equality": lambda x: x.sin() if x.size(0) == 61 else x.cos(),
    "a range": lambda x: x.sin() if 50 < x.size(0) < 62 else x.cos(),
    "several": lambda x: x.sin() if x.size(0) in (60, 62) else x.cos(),
    "a global": lambda x: x.sin() if len(x) > LIMIT else x.cos(),
    "elements": lambda x: x.sin() if x.numel() > 3 * 61 else x.cos(),
    "an attribute": Limited(70),
    "an attribute of the class": Scaled(0),
    "a variable": exceeds(65),
    "multiples": divides(7),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_between_the_sample_sizes_raise(name):
    with pytest.raises(
        NotImplementedError,
        match=r"depends on the variable size s0: the graph differs: an operator \(.* instead of .*\) for size \d+ differs from that for "
        r"size",
    ):
        export(BRANCHES[name], (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows")},))


@pytest.mark.parametrize("limit", range(5, 90, 7))
def test_every_threshold_is_found(limit):
    for function in (exceeds(limit), divides(limit)):
        with pytest.raises(NotImplementedError, match="depends? on the variable size"):
            export(function, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows")},))


def test_bounds_exclude_branches():
    for function in (exceeds(65), divides(80)):
        program = export(function, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows", max=64)},))
        x = torch.randn(64, 3)
        assert torch.equal(program.module()(x), function(x))


def test_comparisons_that_change_nothing_are_accepted():
    def function(x):
        if x.shape[0] > 1000 or x.shape[1] == 7:
            pass
        return x.reshape(x.shape[0] // 1, -1) * 2

    program = export(function, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("rows")},))
    for rows in (2, 7, 1001):
        assert torch.equal(program.module()(torch.ones(rows, 3)), torch.full((rows, 3), 2.0))


TWO = {
    "a multiple": lambda x, y: x.sin() if x.shape[0] * 2 > y.shape[0] + 100 else x.cos(),
    "a rounded quotient": lambda x, y: x.sin() if math.floor(x.shape[0] / 3) > 10 else x.cos(),
    "len": lambda x, y: x.sin() if len(x) * 3 + 1 > 250 else x.cos(),
    "numel": lambda x, y: x.sin() if x.numel() > y.numel() * y.numel() else x.cos(),
    "a remainder": lambda x, y: x.sin() if (x.shape[0] + y.shape[0]) % 11 == 0 else x.cos(),
    "divmod": lambda x, y: x.sin() if divmod(x.shape[0], 9)[1] == 0 else x.cos(),
    "bits": lambda x, y: x.sin() if x.shape[0] & (x.shape[0] - 1) == 0 else x.cos(),
    "a branch in a branch": lambda x, y: (x.sin() if y.shape[0] * y.shape[0] > 1000 else x.cos()) if x.shape[0] > 77 else x.cos(),
    "the maximum": lambda x, y: x.sin() if max(x.shape[0], y.shape[0]) > 500 else x.cos(),
    "a tuple": lambda x, y: x.sin() if x.shape[:1] == (61,) else x.cos(),
    "the size of a result": lambda x, y: x.sin() if torch.cat([x, x]).size(0) > 90 + y.shape[0] else x.cos(),
    "a large size": lambda x, y: x.sin() if x.shape[0] > 10**6 else x.cos(),
    "a constant tensor": lambda x, y: x + torch.tensor([1.0] if x.shape[0] > 100 else [2.0]),
    "a constant tensor of a large size": lambda x, y: x + torch.tensor([1.0] if x.shape[0] > 10**6 else [2.0]),
    "a function of torch.cond": lambda x, y: torch.cond(
        x.sum() > 0, lambda x: x.sin() if x.shape[0] * 2 > 155 else x.cos(), torch.sin, (x,)
    ),
}


@pytest.mark.parametrize("name", TWO)
def test_comparisons_of_computed_sizes_are_found(name):
    shapes = ({0: Dim("n")}, {0: Dim("m")})
    with pytest.raises(NotImplementedError, match=r"on the variable sizes? s[01].* the size static|an argument"):
        export(TWO[name], (torch.ones(5, 3), torch.ones(7, 2)), dynamic_shapes=shapes)


def draw_comparison(rng):
    """Returns the text of a comparison of n and m."""

    def number(depth):
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(("n", "m", "n", "m", str(rng.randrange(1, 40))))
        form = rng.choice(
            ("({} + {})", "({} - {})", "({} * {})", f"({{}} // {rng.randrange(2, 9)})", f"({{}} % {rng.randrange(2, 9)})", "max({}, {})")
        )
        return form.format(*(number(depth - 1) for _ in range(form.count("{}"))))

    return f"{number(rng.randrange(3))} {rng.choice(('<', '<=', '>', '==', '!='))} {number(2)}"


@pytest.mark.parametrize("seed", range(60))
def test_no_comparison_changes_a_program_silently(seed):
    """A program has the results of the function for all sizes, or export raises."""
    rng = random.Random(seed)
    one, two = (eval(f"lambda n, m: {draw_comparison(rng)}") for _ in range(2))

    def function(x, y):
        n, m = x.shape[0], y.size(0)
        if one(n, m):
            return x.sin() if two(n, m) else x.cos()
        return x.exp()

    sizes = [(n, m) for n in (2, 3, 5, 8, 13, 21, 34, 55, 63, 90) for m in (2, 4, 7, 9, 16, 33, 61, 88)]
    try:
        program = export(function, (torch.ones(5, 1), torch.ones(7)), dynamic_shapes=({0: Dim("n")}, {0: Dim("m")})).module()
    except NotImplementedError as error:
        assert "variable size" in str(error)
        return
    for n, m in sizes:
        x = torch.arange(float(n)).reshape(n, 1)
        assert torch.equal(program(x, torch.ones(m)), function(x, torch.ones(m))), (n, m)


def test_comparisons_of_sizes_that_depend_on_elements_raise():
    with pytest.raises(NotImplementedError, match=r"test_export_thresholds.py:\d+ compares a size that depends on elements"):
        export(
            lambda x: x.sin() if x.nonzero().shape[0] > 100 else x.cos(), (torch.tensor([1.0, 0.0, 2.0]),), dynamic_shapes=({0: Dim("n")},)
        )


def test_random_functions_with_constant_tensors_have_variable_sizes():
    function = lambda x: torch.nn.functional.dropout(x, 0.5) + torch.tensor([1.0, 2.0, 3.0])  # noqa: E731
    program = export(function, (torch.ones(4, 3),), dynamic_shapes=({0: Dim("n")},))
    torch.manual_seed(3)
    expected = function(torch.ones(9, 3))
    torch.manual_seed(3)
    assert torch.equal(program.module()(torch.ones(9, 3)), expected)


def test_export_leaves_tensors_and_len_as_they_were():
    kept = []

    def function(x):
        kept.append(x * 2)
        return x.sin() if x.shape[0] > 0 else x.cos()

    before = builtins.len
    export(function, (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n")},))
    assert builtins.len is before and all(type(x) is torch.Tensor and type(x.shape[0]) is int for x in kept)


def test_thresholds_are_those_of_code_that_reads_sizes():
    def inner(x, limit=17):
        return x.shape[0] > limit

    def outer(x):
        return inner(x) or 99 > 98

    assert [n for n in list_thresholds(lambda: outer(torch.ones(3))) if n] == [17]
    assert list_thresholds(lambda: torch.ones(3).sum()) == []
