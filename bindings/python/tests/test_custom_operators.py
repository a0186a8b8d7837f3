"""Custom operators: defaults in schemas, and rules for modes."""

import pytest

import libtensor as torch
from libtensor import Tensor
from libtensor.utils._python_dispatch import TorchDispatchMode


def test_defaults_that_are_dtypes_and_strings():
    @torch.library.custom_op("defaults::convert", mutates_args=())
    def convert(x: Tensor, to: torch.dtype = torch.float64, name: str = "it's") -> Tensor:
        return x.to(to) * len(name)

    assert convert(torch.ones(1)).dtype == torch.float64 and convert(torch.ones(1)).item() == 4
    assert torch.ops.defaults.convert(torch.ones(1), torch.float16).dtype == torch.float16

    for default in ('a"b', "a\\b"):

        def function(x: Tensor, name: str = default) -> Tensor:
            return x.clone()

        with pytest.raises(ValueError, match="default value with a quote or a backslash"):
            torch.library.custom_op("defaults::quoted", function, mutates_args=())


def test_rules_of_modes_and_subclasses():
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Other(Mode):
        pass

    @torch.library.custom_op("rules::double", mutates_args=())
    def double(x: Tensor) -> Tensor:
        return x * 2

    @double.register_torch_dispatch(Mode)
    def rule(mode, func, types, args=(), kwargs=None):
        assert isinstance(mode, Mode) and func is torch.ops.rules.double.default
        return args[0] * 100

    x = torch.ones(1)
    with Mode():
        assert double(x).item() == 100
    with Other():
        assert double(x).item() == 2
    assert double(x).item() == 2
