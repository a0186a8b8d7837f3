"""Branches of Python code on variable sizes: export finds those that no sample size takes, by the numbers that sizes are compared with."""

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
    with pytest.raises(NotImplementedError, match=r"depends on the variable size s0 .* for \d+, the operators are others"):
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


def test_thresholds_are_those_of_code_that_reads_sizes():
    def inner(x, limit=17):
        return x.shape[0] > limit

    def outer(x):
        return inner(x) or 99 > 98

    assert [n for n in list_thresholds(lambda: outer(torch.ones(3))) if n] == [17]
    assert list_thresholds(lambda: torch.ones(3).sum()) == []
