"""Every public function, class, method and property of the package has a docstring, which help() shows."""

import importlib
import inspect

import pytest

import libtensor as torch

MODULES = [
    *(
        "amp",
        "array_api",
        "autograd",
        "autograd.forward_ad",
        "autograd.functional",
        "autograd.graph",
        "cuda",
        "distributions",
        "fft",
        "foreach",
    ),
    *(
        "func",
        "futures",
        "fx",
        "hdf5",
        "hub",
        "library",
        "linalg",
        "masked",
        "nn",
        "nn.attention",
        "nn.attention.flex_attention",
        "nn.functional",
    ),
    *(
        "nn.init",
        "nn.utils",
        "nn.utils.parametrize",
        "nn.utils.rnn",
        "optim",
        "optim.lr_scheduler",
        "optim.swa_utils",
        "overrides",
        "profiler",
    ),
    *("gguf", "quasirandom", "random", "safetensors", "sparse", "special", "testing", "utils.checkpoint", "utils.data"),
]
ALIASES = ("OptimizerPreHook", "OptimizerPostHook")  # types of hooks


def is_documented(value):
    return bool((value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)) or "")


def undocumented_members(owner):
    """Returns the public methods and properties that a class of the package defines, and that neither it nor a base class documents."""
    defined = [name for name, value in vars(owner).items() if inspect.isroutine(value) or isinstance(value, property)]
    public = [name for name in defined if not name.startswith("_") and name not in ALIASES]
    return [name for name in public if not any(is_documented(getattr(base, name, None)) for base in owner.__mro__ if name in vars(base))]


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_documented(name):
    module = importlib.import_module(f"libtensor.{name}")
    missing, count = [], 0
    for public in getattr(module, "__all__", None) or [each for each in dir(module) if not each.startswith("_")]:
        value = getattr(module, public)
        if inspect.ismodule(value) or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        count += 1
        missing += [] if is_documented(value) else [public]
        if inspect.isclass(value) and value.__module__.startswith("libtensor"):
            missing += [f"{public}.{member}" for member in undocumented_members(value)]
    assert count and missing == []


def test_methods_and_properties_of_tensors_are_documented():
    names = [name for name in dir(torch.Tensor) if not name.startswith("_") and name not in dir(torch._C)]
    values = {name: getattr(torch.Tensor, name) for name in names}
    described = {
        name: value for name, value in values.items() if inspect.isroutine(value) or callable(value) or isinstance(value, property)
    }
    assert len(described) > 500 and [name for name, value in described.items() if not is_documented(value)] == []


@pytest.mark.parametrize("name", ["autograd.functional", "foreach", "func", "hdf5", "safetensors", "testing"])
def test_completion_lists_public_names_only(name):
    module = importlib.import_module(f"libtensor.{name}")
    assert dir(module) == sorted(module.__all__)
