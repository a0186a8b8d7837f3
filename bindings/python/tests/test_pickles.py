"""Pickles of tensors and of what belongs to them: values, shared storages, and the modules that pickles name, which are public."""

import pickle
import pickletools
from operator import attrgetter

import pytest

import libtensor as torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def objects():
    """Returns the pickled objects by name."""
    torch.manual_seed(7)
    base = torch.arange(12.0).reshape(3, 4)
    generator = torch.Generator().manual_seed(11)
    dense = {name: torch.tensor([0, 1, 1], dtype=getattr(torch, name)) for name in DTYPES}
    quantized = torch.quantize_per_tensor(torch.tensor([0.5, -1.0, 2.0]), 0.1, 3, torch.qint8)
    channels = torch.quantize_per_channel(base, torch.tensor([0.1, 0.2, 0.5]), torch.tensor([0, 1, 2]), 0, torch.quint8)
    return {
        "dense": dense,
        "view": base.t()[1:],
        "leaf": torch.ones(2, 2, requires_grad=True),
        "named": torch.ones(2, 3, names=("rows", "columns")),
        "meta": torch.empty(2, 3, device="meta"),
        "sparse": [torch.eye(3).to_sparse(), *(torch.eye(4).to_sparse(layout=layout) for layout in (torch.sparse_csr, torch.sparse_csc))],
        "blocks": [torch.eye(4).to_sparse_bsr((2, 2)), torch.eye(4).to_sparse_bsc((2, 2))],
        "quantized": [quantized, channels],
        "results": [torch.max(base, 0), torch.linalg.qr(torch.eye(2)), torch.sort(base, 1)],
        "dtypes": [getattr(torch, name) for name in DTYPES] + [torch.complex32, torch.quint8, torch.qint8, torch.qint32],
        "constants": [
            torch.strided,
            torch.sparse_coo,
            torch.channels_last,
            torch.per_tensor_affine,
            torch.device("meta"),
            torch.Size([2, 3]),
        ],
        "storages": [torch.arange(3.0).untyped_storage(), torch.arange(3.0).storage(), torch.FloatStorage([1.5, 2.5])],
        "generator": generator,
        "classes": [torch.Tensor, torch.Size, torch.Generator, torch.finfo, torch.UntypedStorage, torch.OutOfMemoryError],
        "shared": [base, base[0], base.view(-1)],
    }


OBJECTS = objects()


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


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(name, protocol):
    same(pickle.loads(pickle.dumps(OBJECTS[name], protocol)), OBJECTS[name])


def test_tensors_of_a_file_share_their_storage(tmp_path):
    # pickle keeps the elements of each tensor; save keeps the storage.
    torch.save(OBJECTS["shared"], tmp_path / "shared.pt")
    base, row, flat = torch.load(tmp_path / "shared.pt")
    assert base.data_ptr() == row.data_ptr() == flat.data_ptr()


@pytest.mark.parametrize("name", ["dense", "view", "leaf", "named", "sparse", "blocks", "quantized", "shared"])
def test_files(name, tmp_path):
    torch.save(OBJECTS[name], tmp_path / "object.pt")
    read = torch.load(tmp_path / "object.pt")
    same(read, OBJECTS[name])
    if name == "view":
        assert read.stride() == (1, 4)


def modules(pickled):
    """Returns the modules that a pickle of protocol 2 names."""
    return {arg.split()[0] for op, arg, _ in pickletools.genops(pickled) if op.name == "GLOBAL"}


MODULES = ["fft", "linalg", "nn.functional", "signal.windows", "sparse", "special", "utils.hooks", "overrides", "cuda"]
MODULES += ["autograd", "autograd.function", "autograd.graph", "autograd.grad_mode", "autograd.anomaly_mode"]
PUBLIC = {name: getattr(torch, name) for name in torch.__all__}
for module in MODULES:
    found = attrgetter(module)(torch)
    PUBLIC |= {
        f"{module}.{name}": getattr(found, name) for name in getattr(found, "__all__", ("Event", "Stream", "manual_seed", "set_stream"))
    }
PUBLIC = {name: made for name, made in PUBLIC.items() if callable(made) and hasattr(made, "__qualname__")}
PUBLIC |= {f"Tensor.{name}": getattr(torch.Tensor, name) for name in ("add", "add_", "view", "expand", "item", "sum", "zero_")}


@pytest.mark.parametrize("name", [*OBJECTS, *PUBLIC])
def test_a_pickle_names_public_modules_alone(name):
    # A later version keeps those; where the files of the package are is its own affair.
    made = PUBLIC[name] if name in PUBLIC else OBJECTS[name]
    pickled = pickle.dumps(made, 2)
    assert not [module for module in modules(pickled) if module.startswith("libtensor._")]
    if name in PUBLIC:
        assert pickle.loads(pickled) is made
