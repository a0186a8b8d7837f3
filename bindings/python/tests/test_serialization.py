"""save and load: PyTorch's files, whole at any moment, and nothing executed."""

import collections
import io
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import libtensor as torch

DATA = pathlib.Path(__file__).parents[3] / "engine/serial/testdata"


def make_points():
    return torch.tensor([[4.0, 1.0], [5.0, 3.0], [2.0, 1.0]])


def make_attributed(**attributes):
    made = make_points()
    made.__dict__.update(attributes)
    return made


def test_attributes_of_tensors_come_back(tmp_path):
    shared = [1, {"b": torch.zeros(3)}]
    x, y = make_attributed(tag="a", shared=shared), torch.zeros(2, 2).t()
    y.shared, y.x, y.meta = shared, x, torch.empty(2, device="meta")
    y.meta.note = 3
    torch.save({"y": y, "x": x, "again": x, "view": x[1:]}, tmp_path / "a.pt")
    for found in (
        torch.load(tmp_path / "a.pt"),
        torch.load(tmp_path / "a.pt", mmap=True),
        torch.load(tmp_path / "a.pt", map_location=lambda s, _: s),
    ):
        assert found["x"] is found["again"] is found["y"].x and found["x"].tag == "a"
        assert found["x"].shared is found["y"].shared and torch.equal(found["x"].shared[1]["b"], torch.zeros(3))
        assert found["y"].stride() == (1, 2) and found["y"].meta.note == 3 and found["y"].meta.is_meta
        assert found["view"].data_ptr() == found["x"].data_ptr() + 8 and not found["view"].__dict__


def test_strings_with_lone_surrogates_are_loaded(tmp_path):
    saved = {"\ud800x": "\ud83d\ude00", "plain": ["é😀", "\udfff", "x" * 40 + "\udbff"], ("\udc00",): {"\ud800"}}
    torch.save(saved, tmp_path / "a.pt")
    assert torch.load(tmp_path / "a.pt") == saved


def test_the_book_in_order(tmp_path):
    points = make_points()
    path = tmp_path / "ourpoints.t"
    torch.save(points, str(path))
    with open(path, "wb") as f:
        torch.save(points, f)
    loaded = torch.load(path)
    assert torch.equal(loaded, points) and loaded.dtype is torch.float32
    with open(path, "rb") as f:
        assert torch.equal(torch.load(f), points)


def test_containers_come_back(tmp_path):
    points = make_points()
    shared = [1, 2]
    ordered = collections.OrderedDict(w=points)
    ordered._metadata = {"version": 1}
    saved = {
        "tensor": points,
        "again": points,
        "shared": (shared, shared),
        "numbers": [True, 0, -1, 2**53 + 1, 2**100, 1.0, 0.1, -0.0, float("inf"), 1 + 2j],
        "text": "é\0\n",
        "bytes": b"\x00\xff",
        "nothing": b"",
        "bytearray": bytearray(b"xy"),
        "none": None,
        3: {(1, "a"): {7}},
        "size": points.shape,
        "dtype": torch.bfloat16,
        "device": torch.device("cpu"),
        "layout": torch.strided,
        "ordered": ordered,
        "empty": [torch.empty(0, 3), torch.tensor(3), (), {}],
    }
    torch.save(saved, tmp_path / "a.pt")
    for found in (torch.load(tmp_path / "a.pt"), torch.load(tmp_path / "a.pt", mmap=True)):
        assert torch.equal(found["tensor"], points) and found["again"] is found["tensor"]
        assert found["shared"] == (shared, shared) and found["shared"][0] is found["shared"][1]
        assert repr(found["numbers"]) == repr(saved["numbers"])
        for key in ("text", "bytes", "bytearray", "none", 3, "size", "dtype", "device", "layout"):
            assert found[key] == saved[key] and type(found[key]) is type(saved[key])
        assert type(found["ordered"]) is collections.OrderedDict and found["ordered"]._metadata == {"version": 1}
        assert [getattr(x, "shape", x) for x in found["empty"]] == [(0, 3), (), (), {}]


NAMES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "complex32"),
)


def test_every_dtype(tmp_path):
    saved = {n: torch.tensor([0, 1, 2]).to(getattr(torch, n)) for n in NAMES}
    torch.save(saved, tmp_path / "a.pt")
    found = torch.load(tmp_path / "a.pt")
    for n, x in saved.items():
        assert found[n].dtype is x.dtype and found[n].to(torch.complex64).tolist() == x.to(torch.complex64).tolist()


def test_views_share_their_storage_after_loading(tmp_path):
    points = make_points()
    torch.save([points, points[1], points.t(), points.untyped_storage()], tmp_path / "a.pt")
    whole, row, turned, untyped = torch.load(tmp_path / "a.pt")
    assert (row.storage_offset(), turned.stride()) == (2, (1, 2))
    whole.fill_(7)
    assert row.tolist() == [7, 7] and turned[0, 2] == 7
    assert untyped.data_ptr() == whole.untyped_storage().data_ptr() and untyped.nbytes() == 24
    torch.save([points, points.storage()], tmp_path / "a.pt")
    whole, typed = torch.load(tmp_path / "a.pt")
    typed[0] = 9
    assert typed.dtype is torch.float32 and whole[0, 0] == 9
    with pytest.raises(RuntimeError, match="save it as an untyped storage"):
        torch.save([points.storage(), points.untyped_storage()], tmp_path / "a.pt")


def test_storages_of_two_dtypes(tmp_path):
    base = torch.arange(4, dtype=torch.int32)
    torch.save([base, base.view(torch.float32)], tmp_path / "a.pt")
    a, b = torch.load(tmp_path / "a.pt")
    assert (a.dtype, b.dtype) == (torch.int32, torch.float32)
    b.fill_(0)
    assert a.tolist() == [0, 0, 0, 0]


def test_compact_saves_only_visible_elements(tmp_path):
    big = torch.arange(100000)
    part = big[500:510:3]
    torch.save([part, big[503:506]], tmp_path / "whole.pt")
    torch.save([part, big[503:506]], tmp_path / "compact.pt", compact=True)
    assert os.path.getsize(tmp_path / "whole.pt") > 800000 and os.path.getsize(tmp_path / "compact.pt") < 2000
    a, b = torch.load(tmp_path / "compact.pt")
    assert a.tolist() == [500, 503, 506, 509] and b.tolist() == [503, 504, 505]
    b[0] = -1
    assert a[1] == -1


def test_meta_tensors_and_map_location(tmp_path):
    points = make_points()
    torch.save([points, torch.empty_strided((2, 3), (1, 2), dtype=torch.int8, device="meta")], tmp_path / "a.pt")
    _, meta = torch.load(tmp_path / "a.pt")
    assert meta.is_meta and meta.dtype is torch.int8 and meta.stride() == (1, 2)
    everything = torch.load(tmp_path / "a.pt", map_location="meta")
    assert everything[0].is_meta and everything[0].shape == (3, 2)
    places = []

    def place(storage, location):
        places.append(location)
        return storage

    assert torch.equal(torch.load(tmp_path / "a.pt", map_location=place)[0], points) and places == ["cpu"]
    assert torch.equal(torch.load(tmp_path / "a.pt", map_location={"cuda:0": "cpu"})[0], points)
    with pytest.raises(RuntimeError, match="not available"):
        torch.load(tmp_path / "a.pt", map_location="cuda")


def test_a_file_holds_tensors_of_every_kind():
    x = torch.arange(6.0).reshape(2, 3)
    kinds = {
        "sparse": x.to_sparse(),
        "quantized": torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        "named": x.rename("a", "b"),
        "rows": x.to_sparse_csr(),
    }
    file = io.BytesIO()
    torch.save(kinds, file)
    file.seek(0)
    back = torch.load(file)
    assert back.keys() == kinds.keys() and all(str(back[k]) == str(kinds[k]) for k in kinds)


def test_file_objects_of_every_kind():
    points = make_points()
    f = io.BytesIO(b"before")
    f.seek(6)
    torch.save(points, f)
    f.seek(6)
    assert torch.equal(torch.load(f), points)

    class Plain:
        def __init__(self, data):
            self.data = data

        def read(self):
            return self.data

    assert torch.equal(torch.load(Plain(f.getvalue()[6:])), points)
    with pytest.raises(ValueError, match="path"):
        torch.load(io.BytesIO(), mmap=True)
    with pytest.raises(TypeError, match="write"):
        torch.save(points, 3)


def test_pytorchs_file():
    found = torch.load(DATA / "torch.pt")
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["view"].stride() == (1, 3)
    assert found["row"].untyped_storage().data_ptr() == found["a"].untyped_storage().data_ptr()
    assert found["parameter"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert [x.dtype for x in found["dtypes"]] == list(map(torch.Tensor.dtype.__get__, found["dtypes"]))
    assert found["dtypes"][-1].tolist() == [0, 1, 2] and found["dtypes"][0].tolist() == [False, True, True]
    assert found["typed"].tolist() == [1.5, 2.5] and found["storage"].tolist() == [1, 2, 3]
    assert found["meta"].is_meta and found["size"] == torch.Size((2, 3))


@pytest.mark.parametrize(
    "name, error, fact",
    [
        ("torch_code.pt", RuntimeError, "posix.system, which is not allowed"),
        ("torch_numpy.pt", RuntimeError, "numpy"),
    ],
)
@pytest.mark.parametrize("weights_only", [True, None])
def test_rejected_files(name, error, fact, weights_only):
    with pytest.raises(error, match=fact):
        torch.load(DATA / name, weights_only=weights_only)


def test_unsupported_objects_raise_and_change_nothing(tmp_path):
    points = make_points()
    path = tmp_path / "a.pt"
    torch.save(points, path)
    before = path.read_bytes()
    for value, error, fact in [
        ({"a": [lambda: 0]}, (AttributeError, pickle.PicklingError), "lambda"),
        (threading.Lock(), TypeError, "cannot pickle"),
        (make_attributed(bad=[threading.Lock()]), TypeError, "cannot pickle"),
    ]:
        with pytest.raises(error, match=fact):
            torch.save(value, path)
    with pytest.raises(FileNotFoundError, match=r"missing/a.pt: no such file or directory"):
        torch.save(points, tmp_path / "missing" / "a.pt")
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.pt"]


def test_damaged_files_are_rejected(tmp_path):
    points = make_points()
    path = tmp_path / "a.pt"
    torch.save(points, path)
    data = path.read_bytes()
    at = data.index(points.numpy().tobytes())
    path.write_bytes(data[:at] + b"\x01" + data[at + 1 :])
    with pytest.raises(RuntimeError, match='record "archive/data/0": its checksum'):
        torch.load(path)
    for n in range(0, len(data), 7):
        with pytest.raises(RuntimeError):
            torch.load(io.BytesIO(data[:n]))


def test_names_of_any_bytes(tmp_path):
    points = make_points()
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xe4.pt")
    torch.save(points, path)
    assert torch.equal(torch.load(path), points)
    with pytest.raises(ValueError, match=r"null|NUL"):
        torch.save(points, "a\0b")


WRITER = """
import sys, libtensor as torch
a = torch.arange(1_000_000)
print("ready", flush=True)
while True:
    for i in (1, 2):
        torch.save({"v": torch.tensor(i), "a": a * i}, sys.argv[1])
"""


def test_a_killed_writer_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"v": torch.tensor(1), "a": torch.arange(1_000_000)}, path)
    for moment in range(6):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            time.sleep(0.003 * moment + 0.001)
            child.send_signal(signal.SIGKILL)
        found = torch.load(path)
        assert found["v"] in (1, 2) and torch.equal(found["a"], torch.arange(1_000_000) * found["v"])


@pytest.mark.parametrize("compact", [False, True])
def test_files_that_follow_each_other_are_loaded_one_by_one(tmp_path, compact):
    saved = [torch.arange(6.0), {"a": torch.ones(2, 3), "b": [torch.tensor(7)]}, torch.zeros(0)]
    stream = io.BytesIO(b"head")
    stream.seek(4)
    with open(tmp_path / "several", "wb") as file:
        for value in saved:
            torch.save(value, stream, compact=compact)
            torch.save(value, file, compact=compact)
    stream.seek(4)
    with open(tmp_path / "several", "rb") as file:
        for f in (stream, file):
            first, second, third = (torch.load(f) for _ in saved)
            assert first.tolist() == [0, 1, 2, 3, 4, 5] and third.shape == (0,)
            assert second["a"].tolist() == [[1, 1, 1]] * 2 and second["b"][0].item() == 7
            with pytest.raises(EOFError, match="at its end"):
                torch.load(f)
    damaged = bytearray(stream.getvalue()[4:])
    damaged[70] ^= 1
    with pytest.raises(pickle.UnpicklingError):
        torch.load(io.BytesIO(damaged))
