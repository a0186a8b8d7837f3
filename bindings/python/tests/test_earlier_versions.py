"""Pickles and files that version 0.1.0 wrote are read; pickles name only public modules, whose names do not change."""

import importlib.util
import pickle
import pickletools
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import libtensor as torch
from libtensor import safetensors

FOLDER = Path(__file__).parent / "before"
SPEC = importlib.util.spec_from_file_location("made_before", FOLDER / "make.py")
MAKER = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKER)


def same(a, b):
    """Both are of one class, and one value."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, torch.Tensor):
        same_tensors(a, b)
    elif isinstance(a, torch.Generator):
        assert torch.equal(a.get_state(), b.get_state())
        assert a.initial_seed() == b.initial_seed()
    elif isinstance(a, (list, tuple)) and not isinstance(a, torch.Size):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, (torch.UntypedStorage, torch.TypedStorage)):
        assert a.tolist() == b.tolist()
    else:
        assert a == b


def same_tensors(a, b):
    for fact in ("shape", "dtype", "layout", "device", "requires_grad", "names", "is_quantized"):
        assert getattr(a, fact) == getattr(b, fact), fact
    if a.layout is not torch.strided:
        same_tensors(a.to_dense(), b.to_dense())
        return
    if a.is_quantized:
        assert a.qscheme() == b.qscheme()
        assert torch.equal(a.int_repr(), b.int_repr()) and torch.equal(a.dequantize(), b.dequantize())
    elif not a.is_meta:
        assert torch.equal(a.rename(None), b.rename(None))


@pytest.mark.parametrize("name", MAKER.objects())
@pytest.mark.parametrize("protocol", [2, 4])
def test_pickles(name, protocol):
    same(pickle.loads((FOLDER / f"{name}-{protocol}.pkl").read_bytes()), MAKER.objects()[name])


def test_tensors_of_a_pickle_share_their_storage():
    # pickle keeps the elements of each tensor; save keeps the storage.
    base, row, flat = torch.load(FOLDER / "objects.pt")["shared"]
    assert base.data_ptr() == row.data_ptr() == flat.data_ptr()


def test_files():
    made = MAKER.objects()
    read = torch.load(FOLDER / "objects.pt")
    same(read, {name: made[name] for name in read})
    assert read["view"].stride() == (1, 4)
    same(safetensors.load_file(FOLDER / "dense.safetensors"), {k: v for k, v in made["dense"].items() if k != "complex128"})
    assert np.array_equal(np.load(FOLDER / "view.npy"), made["view"].numpy())


def modules(pickled):
    """The modules that a pickle of protocol 2 names."""
    return {arg.split()[0] for op, arg, _ in pickletools.genops(pickled) if op.name == "GLOBAL"}


MODULES = ["fft", "linalg", "nn.functional", "signal.windows", "sparse", "special", "utils.hooks", "overrides", "cuda"]
MODULES += ["autograd", "autograd.function", "autograd.graph", "autograd.grad_mode", "autograd.anomaly_mode"]
PUBLIC = {name: getattr(torch, name) for name in torch.__all__}
for module in MODULES:
    found = attrgetter(module)(torch)
    PUBLIC |= {f"{module}.{name}": getattr(found, name) for name in getattr(found, "__all__", ("Event", "Stream", "manual_seed", "set_stream"))}
PUBLIC = {name: made for name, made in PUBLIC.items() if callable(made) and hasattr(made, "__qualname__")}
PUBLIC |= {f"Tensor.{name}": getattr(torch.Tensor, name) for name in ("add", "add_", "view", "expand", "item", "sum", "zero_")}


@pytest.mark.parametrize("name", [*MAKER.objects(), *PUBLIC])
def test_a_pickle_names_public_modules_alone(name):
    # A later version keeps those; where the files of the package are is its own affair.
    made = PUBLIC[name] if name in PUBLIC else MAKER.objects()[name]
    pickled = pickle.dumps(made, 2)
    assert not [module for module in modules(pickled) if module.startswith("libtensor._")]
    if name in PUBLIC:
        assert pickle.loads(pickled) is made
