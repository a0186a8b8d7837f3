"""Sizes that code converts to plain integers, floats or strings: export raises PyTorch's error, and sizes of Dim.AUTO become static."""

import fractions
import functools
import logging
import math
import operator
import warnings

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.export import Dim, export

CONVERSIONS = {
    "int": lambda n: int(n) == 9,
    "int of a quotient": lambda n: int(n / 2) == 40,
    "float": lambda n: float(n) == 81.0,
    "isqrt": lambda n: math.isqrt(n) == 9,
    "sqrt": lambda n: math.sqrt(n) == 9,
    "sqrt of a quotient": lambda n: math.sqrt(n / 4) == 4.5,
    "gcd": lambda n: math.gcd(n, 100) == 100,
    "log2": lambda n: math.log2(2 * n) > 9,
    "comb": lambda n: math.comb(n, 2) == 3240,
    "index": lambda n: operator.index(n) == 13,
    "a list": lambda n: ([0] * 81 + [1] + [0] * 100000)[n],
    "a slice": lambda n: ("x" * 80 + "y")[:n].endswith("y"),
    "a range": lambda n: 81 in range(n, n + 1),
    "the length of a range": lambda n: len([None for _ in range(n)]) == 81,
    "a list of n items": lambda n: len([0] * n) == 81,
    "pow": lambda n: pow(n, 1, 97) == 81,
    "round": lambda n: round(n, -1) == 80,
    "a dict": lambda n: {81: 2}.get(n),
    "a set": lambda n: n in {61, 63},
    "a cache": functools.lru_cache(lambda n: n == 81),
    "bit_length": lambda n: n.bit_length() == 9,
    "a fraction": lambda n: fractions.Fraction(n, 81) == 1,
    "bytes": lambda n: n.to_bytes(4, "little") == b"\x51\0\0\0",
    "chr": lambda n: chr(n) == "Q",
    "hex": lambda n: hex(n) == "0x51",
    "percent": lambda n: "%d" % n == "81",  # noqa: UP031
    "str": lambda n: str(n) == "81",
    "repr": lambda n: repr(n) == "81",
    "a formatted string": lambda n: f"n{n}" == "n81",
    "format": lambda n: f"n{n:03d}" == "n081",
    "the string of a comparison's operand": lambda n: str(2 * n + 1) in ("163",),
    "a key": lambda n: {"n81": 1}.get(f"n{n}"),
}


SPECIALIZED = r"Constraints violated \(n\)! You marked n as dynamic but your code specialized it to be a constant \(5\): "


def branches(condition):
    class Model(nn.Module):
        def forward(self, x):
            return x.sin() if condition(x.shape[0]) else x.cos()

    return Model()


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_conversion_of_a_size_is_an_error(name):
    error = SPECIALIZED + (
        r"(test_export_specialization|fractions)\.py:\d+ (converts|passes|looks|uses|calls|makes) .*(int|float|string|dict| of it)"
    )
    with pytest.raises(RuntimeError, match=error):
        export(branches(CONVERSIONS[name]), (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n")},))


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_converted_size_of_auto_is_static(name):
    model, x = branches(CONVERSIONS[name]), torch.arange(15.0).reshape(5, 3)
    program = export(model, (x,), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    assert program.inputs[0].shape == "[5, s1]"
    for columns in (2, 3, 8):
        y = torch.randn(5, columns)
        assert torch.equal(program.module()(y), model(y))
    with pytest.raises(RuntimeError, match="5"):
        program.module()(torch.ones(81, 3))


CHANGED_GRAPHS = {
    "sqrt": lambda x: x / math.sqrt(x.shape[0]),
    "gcd": lambda x: x * math.gcd(x.shape[0], 8),
    "a loop": lambda x: sum(x[i] for i in range(x.shape[0])),
    "a key of the result": lambda x: {f"{x.shape[0]}": x},
    "a list of tensors": lambda x: torch.cat([x] * x.shape[0]),
    "a constant": lambda x: x + torch.tensor(float(x.shape[0])),
    "a size that follows from others": lambda x: x / math.sqrt(x.reshape(-1).shape[0]),
    "an index": lambda x: x + [0, 1, 2, 3, 4, 5][int(x.shape[0])],
    "the sequence of operators": lambda x: x.sin() if int(x.shape[0]) == 5 else x.cos(),
}


@pytest.mark.parametrize("name", CHANGED_GRAPHS)
def test_a_conversion_that_changes_the_graph_is_the_error(name):
    error = SPECIALIZED + (
        r"test_export_specialization\.py:\d+ (converts|passes|makes) .*\. Compute and compare with the size itself .* or make it static"
    )
    with pytest.raises(RuntimeError, match=error):
        export(CHANGED_GRAPHS[name], (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n")},))


@pytest.mark.parametrize("name", CHANGED_GRAPHS)
def test_a_conversion_that_changes_the_graph_makes_only_its_size_static(name):
    function, x = CHANGED_GRAPHS[name], torch.arange(15.0).reshape(5, 3)
    program = export(function, (x,), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    assert program.inputs[0].shape == ("[5, 3]" if name == "a size that follows from others" else "[5, s1]")
    for one, other in zip(*(torch.utils._pytree.tree_leaves(call(x)) for call in (program.module(), function)), strict=True):
        torch.testing.assert_close(one, other)


def test_the_size_of_a_derived_dim_is_named():
    dim = Dim("n")
    with pytest.raises(
        RuntimeError, match=r"Constraints violated \(n\)! You marked n as dynamic .*: test_export_specialization\.py:\d+ converts it"
    ):
        export(lambda x, y: y / math.sqrt(x.shape[0]), (torch.ones(11), torch.ones(5)), dynamic_shapes=({0: 2 * dim + 1}, {0: dim}))


def test_the_size_of_dynamic_is_named():
    with pytest.raises(RuntimeError, match=r"Constraints violated \(x.shape\[0\]\)! You marked x.shape\[0\] as dynamic"):
        export(branches(math.isqrt), (torch.ones(5, 3),), dynamic_shapes=({0: Dim.DYNAMIC},))


def test_a_conversion_in_a_branch_that_the_samples_do_not_take():
    model = branches(lambda n: n > 1000 and math.isqrt(n) == 100)
    with pytest.raises(RuntimeError, match=r"Constraints violated \(n\)"):
        export(model, (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n")},))
    assert export(model, (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n", max=1000)},)).range_constraints == {"s0": (0, 1000)}


def test_a_conversion_of_a_static_size_is_none():
    model, x = branches(lambda n: math.isqrt(n) == 2), torch.randn(5, 3)
    program = export(model, (x,), dynamic_shapes=({1: Dim("m")},))
    assert torch.equal(program.module()(x), model(x))


def print_sizes(x):
    print(x.shape, f"{x.shape[0]} rows", "a" + str(len(x)))


def log_sizes(x):
    logging.getLogger("rows").warning("%s rows, %d", x.shape[0], len(x))


def warn_of_sizes(x):
    warnings.warn(f"{len(x)} rows", stacklevel=1)


@pytest.mark.parametrize("show", [print_sizes, log_sizes, warn_of_sizes])
@pytest.mark.filterwarnings("ignore")
def test_code_that_prints_sizes_is_exported(show):
    class Model(nn.Module):
        def forward(self, x):
            show(x)
            if x.shape[0] == 0:
                raise ValueError(f"{x.shape} is empty")
            return x * 2

    assert export(Model(), (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n")},)).inputs[0].shape == "[s0, 3]"


def test_code_that_raises_with_a_size_is_exported():
    def function(x):
        assert x.shape[0] < 10**6, f"{x.shape[0]} rows"
        return x.reshape(x.shape[0], -1).sum(1)

    program = export(function, (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n", max=10**6 - 1)},))
    assert program.module()(torch.ones(9, 3)).shape == (9,)


ARITHMETIC = {
    "quotients": lambda n: (n, n // 2, 3 * n - 1),
    "rounding": lambda n: (n, math.floor(n / 2), math.ceil(n * 0.5)),
    "divmod": lambda n: (n, divmod(n, 4)[0], divmod(n, 2)[0]),
    "products": lambda n: (n, math.prod((n, 3)), sum((n, n, 1))),
    "isinstance": lambda n: (n, n if isinstance(n, int) else 1, 2 * n if not isinstance(n, float) else 1),
}


@pytest.mark.parametrize("name", ["quotients", "products", "isinstance"])
def test_arithmetic_with_sizes_is_no_conversion(name):
    def function(x):
        n, a, b = ARITHMETIC[name](x.shape[0])
        return x.new_zeros(a, 2).sum() + x.new_ones(n, 2).sum() + x.new_ones(b).sum()

    program = export(function, (torch.ones(6, 3),), dynamic_shapes=({0: Dim("n", min=2)},))
    for n in (2, 3, 8, 61):
        assert torch.equal(program.module()(torch.ones(n, 3)), function(torch.ones(n, 3)))


@pytest.mark.parametrize("name", ["rounding", "divmod"])
def test_comparisons_after_arithmetic_are_found(name):
    with pytest.raises(NotImplementedError, match="depends on the variable size s0"):
        export(branches(lambda n: ARITHMETIC[name](n)[1] == 33), (torch.ones(6, 3),), dynamic_shapes=({0: Dim("n")},))


@pytest.mark.parametrize("read", [lambda x: x.t().contiguous().stride(0) * 3, lambda x: x.nbytes // 4])
def test_strides_and_bytes_are_sizes(read):
    with pytest.raises(NotImplementedError, match="depends on the variable size s0"):
        export(lambda x: x.sin() if read(x) == 243 else x.cos(), (torch.ones(5, 3),), dynamic_shapes=({0: Dim("n")},))
