"""save and load of any object: what pickles hold, in both formats; which of it load makes by default, and what a program allows."""

import argparse
import collections
import contextlib
import copy
import datetime
import io
import os
import pathlib
import pickle
import pickletools
import random
import struct
import warnings
import zipfile

import numpy as np
import pytest
import saved_classes as classes

import libtensor as torch
from libtensor import nn, serialization

DATA = pathlib.Path(__file__).parents[3] / "engine/serial/testdata"
FORMATS = {"zip": {}, "legacy": {"_use_new_zipfile_serialization": False}, "protocol 4": {"pickle_protocol": 4}}


def saved(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return file


def again(obj, weights_only=False, **options):
    return torch.load(saved(obj, **options), weights_only=weights_only)


def pickled(obj, **options):
    with zipfile.ZipFile(saved(obj, **options)) as archive:
        return archive.read("archive/data.pkl")


def names(data):
    """The names that a pickle of protocol 2 imports."""
    return {argument for code, argument, _ in pickletools.genops(data) if code.name == "GLOBAL"}


@pytest.fixture(params=FORMATS)
def options(request):
    return FORMATS[request.param]


@pytest.fixture(autouse=True)
def nothing_allowed():
    serialization.clear_safe_globals()
    yield
    serialization.clear_safe_globals()


OBJECTS = {
    "array": np.arange(6.0).reshape(2, 3),
    "NumPy's scalar": np.float32(2.5),
    "Namespace": argparse.Namespace(lr=0.1, betas=(0.9, 0.99)),
    "defaultdict": collections.defaultdict(list, {1: [2]}),
    "Counter": collections.Counter("aab"),
    "dataclass": classes.Arguments(0.1, classes.Kind.SGD, [1, 2]),
    "enum": classes.Kind.ADAM,
    "class": classes.Net,
    "function": classes.double,
    "functions of the package": [nn.functional.relu, torch.relu, torch.ones],
    "path": pathlib.PurePosixPath("/a/b"),
    "date": datetime.datetime(2020, 1, 2, 3),
    "bytes": [b"", b"\x00\xff", bytearray(b"xy")],
    "random state": random.getstate(),
    "numbers": [1, 2**70, -0.0, 1 + 2j, True, None, ...],
    "set": [{1, 2}, frozenset({3})],
    "dtypes": [
        torch.float32,
        torch.quint8,
        torch.strided,
        torch.channels_last,
        torch.per_tensor_affine,
        torch.device("cpu"),
        torch.Size([2, 3]),
    ],
    "deep": [[[[["x" * 40]]]]] * 3,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_come_back(name, options):
    obj = OBJECTS[name]
    found = again(obj, **options)
    assert type(found) is type(obj) and repr(found) == repr(obj)


def test_slots_and_numpys_random_state_come_back(options):
    found = again([classes.Slotted(1, torch.ones(2)), np.random.RandomState(3).get_state()], **options)
    assert found[0].a == 1 and found[0].b.tolist() == [1, 1]
    state = np.random.RandomState()
    state.set_state(found[1])
    assert state.rand() == np.random.RandomState(3).rand()


def test_objects_that_hold_themselves_come_back(options):
    circle = []
    circle.append(circle)
    found = again([circle, circle], **options)
    assert found[0] is found[1] and found[0][0] is found[0]


def tensors():
    x = torch.arange(6.0).reshape(2, 3)
    attributed = torch.ones(2).as_subclass(classes.Points)
    attributed.unit = ["m"]
    return {
        "plain": x,
        "view": x.t(),
        "row": x[1],
        "bits": x.view(torch.int32),
        "grad": torch.ones(2, requires_grad=True),
        "parameter": nn.Parameter(torch.ones(2), requires_grad=False),
        "subclass": attributed,
        "uint16": torch.tensor([1, 65535], dtype=torch.uint16),
        "sparse": x.to_sparse(),
        "rows": x.to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(x, 0.5, 1, torch.quint8),
        "channels": torch.quantize_per_channel(x, torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), 0, torch.qint8),
        "conjugated": torch.tensor([1 + 2j]).conj(),
        "named": torch.ones(2, 3).rename("a", None),
        "meta": torch.empty(2, 3, device="meta"),
        "empty": torch.empty(0, 3),
    }


def test_tensors_of_every_kind_are_loaded_with_other_objects(options):
    kinds = tensors()
    found = again({"kinds": kinds, "why": argparse.Namespace(a=1)}, **options)["kinds"]
    for name, x in kinds.items():
        assert type(found[name]) is type(x) and str(found[name]) == str(x) and found[name].requires_grad == x.requires_grad, name
        if x.layout is torch.strided:
            assert found[name].stride() == x.stride(), name
    assert len({found[name].untyped_storage().data_ptr() for name in ("plain", "view", "row", "bits")}) == 1
    assert found["subclass"].unit == ["m"] and found["row"].storage_offset() == 3


def test_storages_are_loaded_with_other_objects(options):
    x = torch.arange(3, dtype=torch.int16)
    found = again([x, x.untyped_storage(), classes.Kind.SGD, torch.FloatStorage([1.5])], **options)
    found[0][0] = 7
    assert found[1].data_ptr() == found[0].data_ptr() and found[3].tolist() == [1.5] and found[3].dtype is torch.float32


def test_the_engine_reads_the_same_as_unpickling(options):
    kinds = {name: x for name, x in tensors().items() if type(x) is not classes.Points}
    file = saved(
        {"kinds": kinds, "more": [1, (2.5, None), {"a": b"x"}], "counts": collections.Counter("ab"), "shape": torch.Size([2])}, **options
    )
    engine, unpickled = (torch.load(file, weights_only=w) for w in (True, False) if not file.seek(0))
    assert repr(engine) == repr(unpickled)
    assert all(type(engine["kinds"][name]) is type(x) for name, x in kinds.items())
    assert [x.requires_grad for x in engine["kinds"].values()] == [x.requires_grad for x in unpickled["kinds"].values()]


def test_files_depend_only_on_the_saved_values():
    obj = {"a": torch.arange(3), "b": argparse.Namespace(c=[1])}
    assert saved(obj).getvalue() == saved(copy.deepcopy(obj)).getvalue()


def test_names_in_files_are_those_of_pytorch():
    found = names(
        pickled([nn.Linear(1, 1), torch.ones(1), torch.float32, torch.strided, torch.ones(1).untyped_storage(), nn.functional.relu])
    )
    assert {name.partition(".")[0].partition(" ")[0] for name in found} == {"torch", "collections", "__builtin__"}
    assert {
        "torch.nn.modules.linear Linear",
        "torch._utils _rebuild_parameter",
        "torch._utils _rebuild_tensor_v2",
        "torch FloatStorage",
    } <= found
    assert {"torch float32", "torch.serialization _get_layout", "torch.storage UntypedStorage", "torch.nn.functional relu"} <= found
    text = "clibtensor.nn\nLinear\n."
    assert again([text, nn.Linear(1, 1)])[0] == text, "strings are not names"


def test_modules_come_back(options):
    net = classes.Net()
    net(torch.ones(4, 2))
    net.eval()
    found = again(net, **options)
    assert type(found) is classes.Net and str(found) == str(net) and not found.training
    x = torch.rand(5, 2)
    assert torch.equal(found(x), net(x)) and found.left.item() == 2
    assert isinstance(found.hidden.weight, nn.Parameter) and found.state_dict().keys() == net.state_dict().keys()


def test_pytorchs_module_loads():
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.container\.Sequential"):
        torch.load(DATA / "torch_module.pt")
    found = torch.load(DATA / "torch_module.pt", weights_only=False)
    assert found(torch.ones(1, 2)).item() == pytest.approx(-0.5118467807769775, rel=1e-6)


def test_legacy_files_have_the_source_of_modules():
    data = saved(classes.Net(), _use_new_zipfile_serialization=False).getvalue()
    assert b"register_forward_hook(double)" in data and b"class Linear" not in data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.load(io.BytesIO(data), weights_only=False)
    with pytest.warns(serialization.SourceChangeWarning, match=r"saved_classes\.Net"):
        torch.load(io.BytesIO(data.replace(b"self.norm(self", b"self.morm(self")), weights_only=False)


def test_generators_continue():
    generator = torch.Generator().manual_seed(5)
    torch.rand(3, generator=generator)
    found = again(generator)
    assert torch.equal(torch.rand(4, generator=found), torch.rand(4, generator=generator)) and found.initial_seed() == 5


def test_compact_files_of_other_objects():
    x = torch.arange(1000.0)
    data = saved([x[500:503], x[501:510:4], argparse.Namespace()], compact=True)
    a, b, _ = torch.load(data, weights_only=False)
    assert len(data.getvalue()) < 2500 and a.tolist() == [500, 501, 502] and b.tolist() == [501, 505, 509]
    a[1] = 0
    assert b[0] == 0


def test_pickles_and_copies_keep_module_and_dtype_objects():
    net = classes.Net().eval()
    x = torch.ones(1, 2)
    for made in (pickle.loads(pickle.dumps(net)), copy.deepcopy(net)):
        assert torch.equal(made(x), net(x)) and made.hidden.weight is not net.hidden.weight
    for value in (torch.float32, torch.device("cpu"), torch.Size([2])):
        assert pickle.loads(pickle.dumps(value)) == value and type(copy.deepcopy(value)) is type(value)
    lstm = nn.LSTM(2, 3)
    assert torch.equal(copy.deepcopy(lstm)(torch.ones(1, 2))[0], lstm(torch.ones(1, 2))[0])


# Errors, and the functions that permit an object.


def test_errors_name_the_function_that_allows_the_object():
    for obj, name in (
        (argparse.Namespace(), "argparse.Namespace"),
        (np.float64(1), "numpy._core.multiarray.scalar"),
        (getattr, "builtins.getattr"),
    ):
        with pytest.raises(pickle.UnpicklingError) as error:
            torch.load(saved(obj))
        for fact in (f"GLOBAL {name} was not an allowed global", f"add_safe_globals([{name}])", "weights_only=False", "trust"):
            assert fact in str(error.value)


def test_allowed_globals():
    obj = {
        "args": classes.Arguments(0.1, classes.Kind.SGD, [1], torch.ones(2)),
        "slots": classes.Slotted(1, "b"),
        "name": argparse.Namespace(a=[1]),
    }
    allowed = [classes.Arguments, classes.Kind, classes.Slotted, argparse.Namespace]
    file = saved(obj)
    assert serialization.get_unsafe_globals_in_checkpoint(file) == [
        *("saved_classes.Arguments", "saved_classes.Kind", "saved_classes.Slotted", "argparse.Namespace"),
    ]
    file.seek(0)
    with serialization.safe_globals(allowed):
        found = torch.load(file)
        assert serialization.get_safe_globals() == allowed
    assert found["args"].kind is classes.Kind.SGD and found["args"].weights.tolist() == [1, 1]
    assert found["slots"].b == "b" and found["name"] == obj["name"] and serialization.get_safe_globals() == []
    file.seek(0)
    serialization.add_safe_globals(allowed[1:])
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL saved_classes\.Arguments"):
        torch.load(file)
    with pytest.raises(TypeError, match="functions, classes, or pairs"):
        serialization.add_safe_globals(["argparse.Namespace"])
    serialization.clear_safe_globals()
    serialization.add_safe_globals([(collections.OrderedDict, "argparse.Namespace")])
    assert type(torch.load(saved(argparse.Namespace()))) is collections.OrderedDict


def test_numpy_is_allowed_by_its_names(options):
    array = np.arange(4.0)
    multiarray = np._core.multiarray if hasattr(np, "_core") else np.core.multiarray
    with serialization.safe_globals([multiarray._reconstruct, np.ndarray, np.dtype, np.dtypes.Float64DType]):
        assert torch.load(saved(array, pickle_protocol=2)).tolist() == array.tolist()


def test_subclasses_of_tensor_are_allowed_by_name(options):
    x = tensors()["subclass"]
    with pytest.raises(pickle.UnpicklingError, match=r"saved_classes\.Points"):
        torch.load(saved(x, **options))
    with serialization.safe_globals([classes.Points]):
        found = torch.load(saved(x, **options))
    assert type(found) is classes.Points and found.unit == ["m"]


def archive(body):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("a/data.pkl", b"\x80\x02" + body + b".")
        z.writestr("a/data/0", bytes(8))
    return out.getvalue()


NAMESPACE = b"cargparse\nNamespace\n)\x81"


@pytest.mark.parametrize(
    ("body", "fact"),
    [
        (b"cos\nsystem\nX\x02\x00\x00\x00ls\x85R", "whose module os is blocked"),
        (b"cposix\nsystem\n", "whose module posix is blocked"),
        (b"c__builtin__\neval\nX\x01\x00\x00\x001\x85R", r"GLOBAL builtins\.eval"),
        (b"cargparse\nNamespace\n.", ""),
        (NAMESPACE + b"cargparse\nArgumentParser\n", r"GLOBAL argparse\.ArgumentParser"),
        (NAMESPACE + b"K\x01\x85R", "unrecognized function"),
        (b"ctorch\nTensor\n\x8a\x05\x00\xe8\x76\x48\x17\x85R", "unrecognized function"),
        (b"ctorch\nFloatStorage\n\x8a\x05\x00\xe8\x76\x48\x17\x85R", "unrecognized function"),
        (b"c__builtin__\nbytearray\n\x8a\x05\x00\xe8\x76\x48\x17\x85R", r"bytes\(\) requires"),
        (b"ctorch\nTensor\n)\x81", "Can not create new object"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n}b", "Can only build"),
        (b"ctorch\nfloat32\n}b", "Can only build"),
        (b"ctorch\nSize\n}X\x01\x00\x00\x00aK\x01sb", "Can only build"),
        (b"cargparse\nNamespace\n}X\x01\x00\x00\x00aK\x01sb", "Can only build"),
        (b"ctorch\nSize\nK\x01a", "Can only add items"),
        (b"(iargparse\nNamespace\n", "opcode"),
        (b"\x82\x01", "opcode"),
        (b"\x96" + struct.pack("<Q", 2**40), "opcode"),
    ],
)
def test_allowed_globals_open_nothing_else(body, fact):
    serialization.add_safe_globals([argparse.Namespace, os.system])
    if not fact:
        assert torch.load(archive(body)) is argparse.Namespace
        return
    with pytest.raises(pickle.UnpicklingError, match=fact):
        torch.load(archive(body))


def test_files_execute_nothing_unless_the_program_asks(tmp_path):
    path = tmp_path / "opened"
    for options in FORMATS.values():
        file = saved(classes.Hostile(str(path)), **options)
        assert not path.exists()
        with pytest.raises(pickle.UnpicklingError, match=r"io\.open"):
            torch.load(file)
        with serialization.safe_globals([classes.Hostile]), pytest.raises(pickle.UnpicklingError, match=r"io\.open"):
            file.seek(0)
            torch.load(file)
        assert not path.exists()
        file.seek(0)
        torch.load(file, weights_only=False).close()
        assert path.exists()
        path.unlink()


def test_the_environment_decides(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError, match="Namespace"):
        torch.load(saved(argparse.Namespace()), weights_only=False)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(RuntimeError, match="Only one of"):
        torch.load(saved(1))
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    assert torch.load(saved(argparse.Namespace(a=1))).a == 1
    with pytest.raises(pickle.UnpicklingError, match="Namespace"):
        torch.load(saved(argparse.Namespace()), weights_only=True)


def test_other_pickle_modules():
    class Module:
        """A module such as pickle."""

        Pickler, Unpickler, dumps = pickle._Pickler, pickle._Unpickler, staticmethod(pickle.dumps)

    for options in FORMATS.values():
        file = saved([torch.ones(2), argparse.Namespace(a=1)], pickle_module=Module, **options)
        assert torch.load(file, pickle_module=Module)[1].a == 1
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        torch.load(saved(1), pickle_module=pickle, weights_only=True)


# map_location, mappings, options.


@pytest.mark.parametrize("weights_only", [True, False])
def test_positions(tmp_path, weights_only):
    x = torch.arange(3.0)
    torch.save({"x": x, "again": x[1:]}, tmp_path / "a.pt")

    def load(**options):
        return torch.load(tmp_path / "a.pt", weights_only=weights_only, **options)

    for place in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"}, lambda storage, _: storage, lambda storage, _: None):
        found = load(map_location=place)
        assert found["x"].tolist() == [0, 1, 2] and found["again"].data_ptr() == found["x"].data_ptr() + 4
    assert load(map_location="meta")["x"].is_meta and load(map_location=lambda storage, place: torch.UntypedStorage(12))["x"].tolist() == [
        0,
        0,
        0,
    ]
    mapped = load(mmap=True)["x"]
    mapped[0] = 7
    assert load()["x"].tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="storage"):
        load(map_location=lambda storage, place: 3)
    with pytest.raises(RuntimeError, match=r"not available|is_available\(\) is False"):
        load(map_location="cuda")


def test_registered_packages():
    def tag(storage):
        return "own" if storage.nbytes() == 20 else None

    def restore(storage, location):
        return storage if location == "own" else None

    serialization.register_package(1, tag, restore)
    try:
        file = saved([torch.ones(5), torch.ones(2)])
        assert pickled([torch.ones(5)]).count(b"own") == 1
        assert torch.load(file, weights_only=False)[0].tolist() == [1] * 5
        assert serialization.location_tag(torch.ones(2).untyped_storage()) == "cpu"
    finally:
        from libtensor._storages import locations

        locations.registered.pop(0)


def test_files_that_follow_each_other(options):
    stream = io.BytesIO()
    for value in (argparse.Namespace(a=torch.ones(3)), [2], torch.arange(4)):
        torch.save(value, stream, **options)
    stream.seek(0)
    first, second, third = (torch.load(stream, weights_only=False) for _ in range(3))
    assert first.a.tolist() == [1, 1, 1] and second == [2] and third.tolist() == [0, 1, 2, 3] and not stream.read()


def test_skipped_data_leave_room():
    x = torch.arange(5.0)
    with serialization.skip_data():
        file = saved({"x": x, "n": 3})
        with pytest.raises(RuntimeError, match="skip_data"):
            torch.load(file)
    assert len(file.getvalue()) == len(saved({"x": x, "n": 3}).getvalue()) and torch.load(file)["x"].tolist() == [0] * 5


def test_options_of_serialization():
    assert serialization.get_default_load_endianness() is None
    serialization.set_default_load_endianness(serialization.LoadEndianness.LITTLE)
    assert serialization.get_default_load_endianness() is serialization.LoadEndianness.LITTLE and torch.load(saved(1)) == 1
    serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="set_default_load_endianness"):
        serialization.set_default_load_endianness("big")
    with pytest.raises(NotImplementedError, match="little-endian"):
        serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    with pytest.raises(ValueError, match="MAP_PRIVATE"):
        serialization.set_default_mmap_options(99)
    assert serialization.get_crc32_options() is True


# Older files, TorchScript archives.


def test_older_files():
    for weights_only in (True, False):
        found = torch.load(DATA / "torch_legacy_dict.pt", weights_only=weights_only)
        assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["row"].data_ptr() == found["a"].data_ptr() + 12
        assert found["u16"].tolist() == [1, 2, 65535] and type(found["p"]) is nn.Parameter and found["e"].shape == (0, 3)
        assert torch.load(DATA / "torch_tar.pt", weights_only=weights_only)["row"].tolist() == [3, 4, 5]
        with pytest.raises(RuntimeError, match="mmap can only be used"):
            torch.load(DATA / "torch_legacy_dict.pt", weights_only=weights_only, mmap=True)


def test_torchscript_archives_are_dicts_of_tensors():
    for options in ({}, {"weights_only": False}, {"mmap": True}):
        found = torch.load(DATA / "torch_script.pt", **options)
        assert type(found) is collections.OrderedDict and set(found) == {"tied", "c", "l.weight", "l.bias", "d.k"}
        assert torch.equal(found["tied"], found["l.weight"]) and found["c"].tolist() == [0, 1, 2]
    model = nn.Linear(2, 2)
    model.load_state_dict({name.removeprefix("l."): x for name, x in found.items() if name.startswith("l.")})


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("allowed", [[], [argparse.Namespace]])
def test_damaged_files_of_every_format(weights_only, allowed):
    """Truncated and modified files load or raise an error; no unpickler executes code."""
    chance = random.Random(3)
    serialization.add_safe_globals(allowed)
    expected = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, MemoryError, OSError, NotImplementedError)
    if not weights_only:  # pickle's own errors, of a pickle that names other things
        expected += (AttributeError, ImportError, TypeError, KeyError, IndexError, UnicodeError, OverflowError, LookupError)
    for options in FORMATS.values():
        data = saved({"x": torch.arange(4.0), "n": argparse.Namespace(a=1) if allowed else [1]}, **options).getvalue()
        for n in [*range(0, len(data), 23)]:
            with pytest.raises(expected):
                torch.load(data[:n], weights_only=weights_only)
        for _ in range(150):
            damaged = bytearray(data)
            damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            with contextlib.suppress(expected):
                torch.load(bytes(damaged), weights_only=weights_only)


def test_trainers_checkpoints(tmp_path):
    """A checkpoint of everything that a training loop has, and the loop after loading it."""

    def step(model, momentum):
        loss = model(torch.rand(3, 2)).square().sum() + random.random() + float(np.random.rand())
        loss.backward()
        with torch.no_grad():
            for name, param in model.named_parameters():
                momentum[name] = 0.9 * momentum.get(name, torch.zeros_like(param)) + param.grad
                param -= 0.1 * momentum[name]
        model.zero_grad()
        return loss.item()

    model, momentum = nn.Linear(2, 2), {}
    step(model, momentum)
    state = {
        "model": model.state_dict(),
        "optimizer": {"state": momentum, "param_groups": [{"lr": 0.1, "params": [0, 1]}]},
        "args": classes.Arguments(0.1, classes.Kind.SGD),
        "rng": {"python": random.getstate(), "numpy": np.random.get_state(), "cpu": torch.get_rng_state()},
    }
    torch.save(state, tmp_path / "a.pt")
    expected = [step(model, momentum) for _ in range(3)]
    found = torch.load(tmp_path / "a.pt", weights_only=False)
    other = nn.Linear(2, 2)
    other.load_state_dict(found["model"])
    random.setstate(found["rng"]["python"])
    np.random.set_state(found["rng"]["numpy"])
    torch.set_rng_state(found["rng"]["cpu"])
    assert [step(other, found["optimizer"]["state"]) for _ in range(3)] == expected and found["args"] == state["args"]
