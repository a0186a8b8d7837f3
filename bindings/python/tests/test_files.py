"""Files of every format: the cost of damaged and hostile ones, replacement of old ones, unusual file objects."""

import errno
import io
import os
import pathlib
import pickle
import random
import resource
import stat
import struct
import subprocess
import sys
import threading
import zipfile

import damage_files
import kill_savers
import numpy as np
import pytest

import libtensor as torch
from libtensor import safetensors

MIB = 1 << 20


def archive(pickled, method=zipfile.ZIP_DEFLATED):
    """Returns a file of torch.save's format with a given pickle."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        z.writestr(zipfile.ZipInfo("a/data.pkl"), b"\x80\x02" + pickled + b".", method)  # of no date: the same bytes whenever it is made
    return out.getvalue()


def text(data):
    return b"X" + struct.pack("<I", len(data)) + data


MANY = 150_000
COSTLY = {
    "string of NULs": lambda: archive(text(bytes(8_000_000))),
    "string, 3 million times": lambda: archive(b"](" + text(bytes(31)) + b"q\x00" + b"h\x00" * 3_000_000 + b"e"),
    "deflated dicts": lambda: archive(b"](" + b"}" * 8_000_000 + b"e"),
    "deflated integers": lambda: archive(b"](" + b"K\x00" * 4_000_000 + b"e"),
    "deflated memo": lambda: archive(b"]N" + b"\x94" * 8_000_000 + b"a"),
    "deflated bytes": lambda: archive(b"B" + struct.pack("<I", 8_000_000) + bytes(8_000_000)),
    "string often": lambda: archive(b"](" + text(bytes(31)) + b"q\x00" + b"h\x00" * MANY + b"e", zipfile.ZIP_STORED),
    "short string often": lambda: archive(b"](" + text(bytes(4)) + b"q\x00" + b"h\x00" * MANY + b"e", zipfile.ZIP_STORED),
    "long integer often": lambda: archive(
        b"](\x8b" + struct.pack("<I", 1700) + b"\x7f" * 1700 + b"q\x00" + b"h\x00" * MANY + b"e", zipfile.ZIP_STORED
    ),
    "dicts": lambda: archive(b"](" + b"}" * MANY + b"e", zipfile.ZIP_STORED),
    "tuples": lambda: archive(b"](" + b")" * MANY + b"e", zipfile.ZIP_STORED),
    "tuples in tuples": lambda: archive(b"}(N\x85q\x00" + b"h\x00h\x00\x86q\x00" * 150 + b"Nu"),
    "wide characters": lambda: archive(b"](" + text("\U0001f600".encode()) + text(b"a" * MANY) + b"e", zipfile.ZIP_STORED),
    "byte order": lambda: archive_with("a/byteorder", bytes(8_000_000)),
}


def archive_with(name, content):
    out = io.BytesIO(archive(b"N"))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as z:
        z.writestr(name, content)
    return out.getvalue()


COST = """
import resource, sys, libtensor as torch
torch.load_npy(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    torch.load(sys.argv[1])
except (RuntimeError, ValueError) as error:
    print(type(error).__name__, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, torch.memory_stats().peak, torch.memory_stats().in_use)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", COSTLY)
def test_a_file_costs_no_more_than_its_size_justifies(tmp_path, name):
    data = COSTLY[name]()
    (tmp_path / "a.pt").write_bytes(data)
    torch.save_npy(torch.ones(1), tmp_path / "a.npy")
    done = subprocess.run([sys.executable, "-c", COST, tmp_path / "a.pt", tmp_path / "a.npy"], capture_output=True, check=True)
    resident, peak, in_use = map(int, done.stdout.split())
    assert resident << 10 <= 512 * len(data) + 32 * MIB
    assert peak <= 512 * len(data) + 5 * MIB and in_use == 0


@pytest.mark.parametrize("name", ["dicts", "string often", "string of NULs", "wide characters"])
def test_the_memory_limit_includes_the_memory_for_reading(name):
    data = COSTLY[name]()
    torch.set_memory_limit(torch.memory_stats().in_use + 2 * len(data))
    try:
        with pytest.raises((MemoryError, RuntimeError), match="memory"):
            torch.load(data)
    finally:
        torch.set_memory_limit(0)


@pytest.mark.parametrize(
    ("load", "data"),
    [
        (torch.load_npy, b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{"),
        (
            torch.load_npy,
            b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}".ljust(117) + b"\n",
        ),
        (safetensors.load, struct.pack("<Q", 99_000_000) + b"{}"),
        (safetensors.load, struct.pack("<Q", 2**63) + b"{}"),
    ],
)
def test_claims_cost_nothing(load, data):
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().peak
    for source in (data, io.BytesIO(data)) if load is torch.load_npy else (data,):
        with pytest.raises(RuntimeError):
            load(source)
    assert torch.memory_stats().peak - before < 40 * MIB


def under(depth, function):
    """Calls a function from many calls deep."""
    return under(depth - 1, function) if depth else function()


def test_deep_containers_come_back_from_any_depth():
    for wrap in (lambda x: {"k": x}, lambda x: [x], lambda x: (x, x), lambda x: {"a": [1], "b": x}):
        saved = torch.tensor(1)
        for _ in range(200):
            saved = wrap(saved)
        deeper, f = wrap(wrap(saved)), io.BytesIO()

        def there_and_back(saved=saved, f=f):
            torch.save(saved, f)
            f.seek(0)
            return torch.load(f)

        found = under(300, there_and_back)
        for _ in range(200):
            assert type(found) is type(saved) and len(found) == len(saved)
            found, saved = ([*found.values()][-1], [*saved.values()][-1]) if isinstance(saved, dict) else (found[-1], saved[-1])
        assert found == 1
        f = io.BytesIO()
        torch.save(deeper, f)
        with pytest.raises(pickle.UnpicklingError, match="more than 200 levels deep"):
            torch.load(f.getvalue())
        found = torch.load(f.getvalue(), weights_only=False)
        for _ in range(202):
            found = [*found.values()][-1] if isinstance(found, dict) else found[-1]
        assert found == 1


STORAGE = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n(" + STORAGE + b"K\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"


@pytest.mark.parametrize(
    ("pickled", "fact"),
    [
        (TENSOR + b"}b", "state is set on a result of torch._utils._rebuild_tensor_v2"),
        (TENSOR + b"K\x00K\x01s", "items are added to a result of torch._utils._rebuild_tensor_v2"),
        (TENSOR + b"(K\x00K\x01u", "items are added to a result of torch._utils._rebuild_tensor_v2"),
        (TENSOR + b"K\x01a", "items are added to a result of torch._utils._rebuild_tensor_v2"),
        (STORAGE + b"}b", "state is set on a storage"),
        (b"ctorch\nSize\nK\x01\x85\x85R}b", "state is set on a result of torch.Size"),
        (b"ctorch\nfloat32\n}b", "state is set on the name torch.float32"),
        (b"K\x01}b", "state is set on 1"),
        (b"ccollections\nOrderedDict\n)R]b", "a result of collections.OrderedDict"),
        (b"ccollections\nOrderedDict\n)R}K\x01K\x02sb", "a result of collections.OrderedDict"),
        (b"}]K\x01s", "a key of a dict"),
        (b"c__builtin__\nset\n](]e\x85R", "an item of a set"),
        (b"c__builtin__\ncomplex\nN)\x86R", "__builtin__.complex"),
        (b"\x8b" + struct.pack("<I", 2000) + b"\x7f" * 2000, "integer of 2000 bytes"),
        (b"ctorch\nuint7\n", "torch.uint7, which libtensor does not have"),
        (b"ctorch\nfloat4_e2m1fn_x2\n", "torch.float4_e2m1fn_x2, which libtensor does not have"),
        (b"ctorch._utils\n_rebuild_nested_tensor\n", "a nested tensor"),
        (b"cos\nsystem\n", "os.system, which is not allowed"),
    ],
)
def test_forbidden_opcodes_of_pickles(pickled, fact):
    out = io.BytesIO(archive(pickled))
    with zipfile.ZipFile(out, "a") as z:
        z.writestr("a/data/0", bytes(8))
    with pytest.raises(RuntimeError, match=fact):
        torch.load(out.getvalue())
    with pytest.raises((pickle.UnpicklingError, NotImplementedError), match=fact):
        torch.load(out.getvalue())


LEGACY = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."


@pytest.mark.parametrize(
    ("load", "data", "kinds", "fact"),
    [
        (torch.load, b"", (EOFError, RuntimeError, pickle.UnpicklingError), "the file is empty"),
        (torch.load_npy, b"", (EOFError, ValueError), "the file is empty"),
        (torch.load_npz, b"", (EOFError, ValueError), "the file is empty"),
        (torch.load, b"\x80\x02" + LEGACY, (pickle.UnpicklingError, RuntimeError), "damaged or truncated: the pickle from byte 15"),
        (torch.load, b"\x80\x05\x95\x0d" + bytes(7) + LEGACY, (pickle.UnpicklingError,), "damaged or truncated"),
        (torch.load, pickle.dumps([1]), (pickle.UnpicklingError, RuntimeError), "plain pickle"),
        (torch.load, b"abc", (pickle.UnpicklingError, RuntimeError), 'begins with "abc"'),
        (torch.load, b"PK\x03\x04", (RuntimeError,), "no directory"),
        (torch.load, archive(b"N")[:-1], (RuntimeError,), "no directory"),
        (torch.load, archive(b"h\x00"), (pickle.UnpicklingError, RuntimeError), "memo entry 0 does not exist"),
        (torch.load_npy, b"abc", (ValueError, RuntimeError), "does not begin as a .npy file"),
        (torch.load_npz, b"abc", (ValueError, RuntimeError), "no directory"),
        (safetensors.load, b"", (safetensors.SafetensorError,), "too few"),
    ],
)
def test_kinds_of_errors(tmp_path, load, data, kinds, fact):
    path = tmp_path / "file"
    path.write_bytes(data)
    for kind in kinds:
        with pytest.raises(kind, match=fact):
            load(data)
        if load is not safetensors.load:
            for source in (io.BytesIO(data), path, str(path)):
                with pytest.raises(kind, match=fact):
                    load(source)


def test_files_without_checksums():
    f = io.BytesIO()
    torch.save({"a": torch.arange(4)}, f)
    data = f.getvalue()
    out = bytearray(data)
    with zipfile.ZipFile(f) as z:
        for info in z.infolist():
            out[info.header_offset + 14 : info.header_offset + 18] = bytes(4)
            assert out.count(struct.pack("<I", info.CRC)) == 1
            at = out.index(struct.pack("<I", info.CRC))
            out[at : at + 4] = bytes(4)
    assert torch.load(bytes(out))["a"].tolist() == [0, 1, 2, 3]
    # A single one that is gone is damage.
    data = bytearray(data)
    at = data.rindex(b"archive/version") - 30
    data[at : at + 4] = bytes(4)
    with pytest.raises(RuntimeError, match="damaged"):
        torch.load(bytes(data))


def test_directories_with_wrong_sizes_are_rejected():
    f = io.BytesIO()
    torch.save_npz({"a": torch.ones(2), "b": torch.ones(3)}, f)
    data = f.getvalue()
    end = len(data) - 22

    def changed(at, layout, *values):
        return data[:at] + struct.pack(layout, *values) + data[at + struct.calcsize(layout) :]

    for wrong, fact in [
        (changed(end + 8, "<HH", 0, 0), "more than its 0 records"),
        (changed(end + 8, "<HH", 1, 1), "more than its 1 records"),
        (changed(end + 8, "<HH", 3, 3), "3 records are said to be in a directory of 102 bytes"),
        (changed(end + 8, "<H", 1), "several files"),
        (changed(end + 8, "<HH", 65535, 65535), "said to be in a directory"),
        (changed(end + 12, "<I", 10), "directory is said to have"),
        (changed(end + 16, "<I", 0), "directory is said to have"),
        (b"#!" + data, "directory is said to have"),
        (data + b"x", "no directory"),
    ]:
        with pytest.raises(ValueError, match=fact):
            torch.load_npz(wrong)
    assert set(torch.load_npz(changed(end + 20, "<H", 3) + b"abc")) == {"a", "b"}, "a comment may follow"


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("x" * 65536, "65540 bytes, but a zip archive supports names of up to 65535"),
        ("x" * 65532, "65536 bytes"),
        ("a\0b", "NUL"),
        ("\ud800", "surrogates"),
    ],
    ids=["long", "one too long", "NUL", "surrogate"],
)
def test_names_are_checked_before_a_file_is_replaced(tmp_path, name, fact):
    path = tmp_path / "a"
    for save in (torch.save_npz, safetensors.save_file):
        save({"good": torch.ones(1)}, path)
        before = path.read_bytes()
        try:
            save({"good": torch.zeros(1), name: torch.ones(1)}, path)
        except (ValueError, RuntimeError, UnicodeEncodeError) as error:
            assert path.read_bytes() == before and (save is safetensors.save_file or fact in str(error))
        else:
            assert save is safetensors.save_file and safetensors.load_file(path).keys() == {"good", name}
        assert os.listdir(tmp_path) == ["a"]
    torch.save_npz({"x" * 65531: torch.ones(1), "a/b": torch.ones(2), "é": torch.ones(3), "": torch.ones(4)}, path)
    assert {len(k): v.numel() for k, v in torch.load_npz(path).items()} == {65531: 1, 3: 2, 1: 3, 0: 4}
    with np.load(path) as found:
        assert len(found.files) == 4


def test_arrays_follow_each_other_in_a_stream():
    arrays = [
        np.arange(6, dtype="f4").reshape(2, 3),
        np.array(1.5),
        np.zeros((0, 3)),
        np.arange(4, dtype=">i2"),
        np.asfortranarray(np.ones((3, 2))),
    ]
    f = io.BytesIO()
    for array in arrays:
        np.save(f, array)
    data = f.getvalue() + b"more"

    class Pipe:
        """A file object with only read(), which returns a few bytes at a time."""

        def __init__(self):
            self.rest = data

        def read(self, n):
            given, self.rest = self.rest[: min(n, 7)], self.rest[min(n, 7) :]
            return given

    for f in (io.BytesIO(data), Pipe()):
        for array in arrays:
            found = torch.load_npy(f)
            assert found.tolist() == array.tolist() and found.shape == array.shape
        assert f.read(4) == b"more"
        with pytest.raises(EOFError):
            torch.load_npy(f)
    with pytest.raises(ValueError, match="truncated|does not match"):
        torch.load_npy(io.BytesIO(data[:100]))
    f = io.BytesIO()
    for x in (torch.ones(2), torch.arange(3)):
        torch.save_npy(x, f)
    f.seek(0)
    assert np.load(f).tolist() == [1, 1] and torch.load_npy(f).tolist() == [0, 1, 2]


class Writer:
    def __init__(self, answer):
        self.answer, self.data = answer, b""

    def write(self, data):
        answer = self.answer(data) if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        self.data += data[: answer if isinstance(answer, int) else None]
        return answer


@pytest.mark.parametrize("save", [torch.save, torch.save_npy, lambda x, f: torch.save_npz({"x": x}, f)])
def test_writers(save):
    x, whole = torch.arange(1000), Writer(None)
    save(x, whole)
    for answer in (lambda data: min(len(data), 333), lambda data: np.int64(min(len(data), 4000))):
        part = Writer(answer)
        save(x, part)
        assert part.data[: len(whole.data)] == whole.data or len(part.data) >= len(whole.data)
    for answer, error, fact in [
        (0, OSError, "returned 0 for"),
        (-1, OSError, "returned -1 for"),
        (lambda data: len(data) + 1, OSError, "it must return the number of written bytes"),
        (OSError(errno.ENOSPC, "no space"), OSError, "no space"),
        (KeyError("mine"), KeyError, "mine"),
    ]:
        with pytest.raises(error, match=fact):
            save(x, Writer(answer))

    class Blocking(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            return None

    with pytest.raises(BlockingIOError, match="would block"):
        save(x, Blocking())


@pytest.mark.parametrize("load", [torch.load, torch.load_npy, torch.load_npz])
def test_readers(load):
    class Reader:
        def __init__(self, answer):
            self.answer = answer

        def read(self, n=-1):
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    class Into(io.RawIOBase):
        def __init__(self, answer):
            self.answer = answer

        def readable(self):
            return True

        def seekable(self):
            return True

        def tell(self):
            return 0

        def seek(self, at, whence=0):
            return 100 if whence == 2 else at

        def readinto(self, view):
            return self.answer

    for source, error, fact in [
        (Reader("text"), TypeError, "binary mode"),
        (Reader(None), BlockingIOError, "would block"),
        (Reader(OSError("gone")), OSError, "gone"),
        (Into(-1), OSError, "returned -1 bytes"),
        (Into(10**9), OSError, "returned 1000000000 bytes"),
        (Into(None), BlockingIOError, "would block"),
        (Into(0), EOFError, "the file is empty"),
        (io.StringIO("text"), TypeError, "binary mode"),
        (3, TypeError, "file object"),
    ]:
        with pytest.raises(error, match=fact):
            load(source)


SAVERS = {
    "pt": (torch.save, torch.load),
    "npy": (lambda x, path: torch.save_npy(x["a"], path), lambda path: {"a": torch.load_npy(path)}),
    "npz": (torch.save_npz, torch.load_npz),
    "safetensors": (safetensors.save_file, safetensors.load_file),
}


@pytest.mark.parametrize("kind", SAVERS)
def test_positions(tmp_path, kind):
    save, load = SAVERS[kind]
    x = {"a": torch.arange(10)}
    link, target = tmp_path / "link", tmp_path / "sub" / "target"
    target.parent.mkdir()
    link.symlink_to("sub/target")
    save(x, link)
    assert link.is_symlink() and load(target)["a"].tolist() == list(range(10)), "a link that led nowhere is followed"
    os.chmod(target, 0o640)
    save({"a": torch.ones(1)}, str(link))
    assert stat.S_IMODE(target.stat().st_mode) == 0o640 and load(link)["a"].tolist() == [1]
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    save({"a": torch.ones(1)}, pipe)
    reader.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode) and found[0] == target.read_bytes()
    with pytest.raises(OSError, match="not a regular file"):
        load(pipe)
    with pytest.raises(OSError, match="directory"):
        save(x, tmp_path)
    with pytest.raises(OSError, match="no space left"):
        save(x, "/dev/full")
    with pytest.raises(OSError, match="no such file"):
        save(x, tmp_path / "no" / "a")
    with pytest.raises(OSError, match="directory"):
        load(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "sub"] and os.listdir(target.parent) == ["target"]


@pytest.mark.parametrize("kind", SAVERS)
def test_full_disks(tmp_path, kind):
    save, load = SAVERS[kind]
    path = tmp_path / "a"
    save({"a": torch.ones(1)}, path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        with pytest.raises(OSError, match="file too large") as told:
            save({"a": torch.ones(100_000)}, path)
        assert told.value.errno == errno.EFBIG and told.value.filename == str(path)
        save({"a": torch.zeros(2)}, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert load(path)["a"].tolist() == [0, 0] and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("kind", SAVERS)
def test_errors_of_failed_saves_have_number_and_file(tmp_path, kind):
    save, load = SAVERS[kind]
    x = {"a": torch.ones(100_000)}
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "loop").symlink_to("loop")
    for path, error, number, fact in [
        (tmp_path / "no" / "a", FileNotFoundError, errno.ENOENT, "no such file or directory"),
        (tmp_path / "file" / "a", NotADirectoryError, errno.ENOTDIR, "not a directory"),
        (tmp_path, IsADirectoryError, errno.EISDIR, "is a directory"),
        (tmp_path / "loop", OSError, errno.ELOOP, "too many levels of symbolic links"),
        (tmp_path / ("n" * 300), OSError, errno.ENAMETOOLONG, "file name too long"),
        ("/dev/full", OSError, errno.ENOSPC, "no space left on device"),
        ("", FileNotFoundError, errno.ENOENT, "the path is empty"),
    ]:
        with pytest.raises(error, match=fact) as told:
            save(x, path)
        assert told.value.errno == number and told.value.filename == str(path)
    for path in (tmp_path / "no" / "a", ""):
        with pytest.raises(FileNotFoundError) as told:
            load(path)
        assert told.value.errno == errno.ENOENT and told.value.filename == str(path)
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]


SAVE_OFTEN = """
import sys, libtensor as torch
for number in range(int(sys.argv[2])):
    torch.save(torch.full((5000,), number), sys.argv[1])
"""


@pytest.mark.parametrize("options", [[], ["--shared"]])
def test_locks_of_others_do_not_stop_saving(tmp_path, options):
    path = tmp_path / "a"
    torch.save(torch.ones(2), path)
    for locked in (tmp_path, path):
        subprocess.run(["flock", *options, locked, sys.executable, "-c", SAVE_OFTEN, path, "2"], check=True, timeout=120)
    assert torch.load(path).shape == (5000,) and os.listdir(tmp_path) == ["a"]


@pytest.mark.slow
def test_processes_save_one_file_at_once(tmp_path):
    path = tmp_path / "a"
    torch.save(torch.zeros(5000), path)
    savers = [subprocess.Popen([sys.executable, "-c", SAVE_OFTEN, path, "50"]) for _ in range(4)]
    while any(saver.poll() is None for saver in savers):
        found = torch.load(path)
        assert found.shape == (5000,) and bool((found == found[0]).all())
    assert [saver.returncode for saver in savers] == [0] * 4
    assert os.listdir(tmp_path) == ["a"]


DENIED = """
import io, os, sys, libtensor as torch
torch.save(torch.ones(1), io.BytesIO())  # imports what the other user may not read
os.setgroups([]), os.setgid(65534), os.setuid(65534)
for path in sys.argv[1:]:
    try:
        torch.save(torch.ones(1), path)
        print("saved")
    except OSError as error:
        print(type(error).__name__, error.errno, error.filename == path)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_permissions(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o001:  # pytest's folder, which others cannot enter
            os.chmod(folder, 0o755)
    for name, mode in (("open", 0o777), ("closed", 0o755)):
        (tmp_path / name).mkdir()
        os.chmod(tmp_path / name, mode)
    for path, mode in (("open/mine", 0o644), ("open/all", 0o666), ("closed/all", 0o666)):
        torch.save(torch.zeros(1), tmp_path / path)
        os.chmod(tmp_path / path, mode)
    paths = [tmp_path / name for name in ("open/new", "open/all", "open/mine", "closed/new", "closed/all")]
    done = subprocess.run([sys.executable, "-c", DENIED, *paths], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["saved", "saved", *3 * ["PermissionError 13 True"], ""]
    assert torch.load(tmp_path / "open/mine") == 0 and torch.load(tmp_path / "open/all") == 1
    assert sorted(os.listdir(tmp_path / "open")) == ["all", "mine", "new"]


def test_threads_save_and_load_at_once(tmp_path):
    wrong = []

    def work(seed):
        chance = random.Random(seed)
        try:
            for _ in range(30):
                kind = chance.choice(list(SAVERS))
                save, load = SAVERS[kind]
                path = tmp_path / f"a.{kind}"
                x = torch.full((5000,), seed)
                save({"a": x}, path)
                del x
                found = load(path)["a"]
                if found.shape != (5000,) or not (found == found[0]).all():
                    wrong.append(f"{kind}: {found}")
        except Exception as error:  # told by the test's own thread
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and sorted(os.listdir(tmp_path)) == sorted(f"a.{kind}" for kind in SAVERS)


def test_arrays_of_every_layout(tmp_path):
    base = np.arange(24, dtype="f8").reshape(2, 3, 4)
    for array in (
        base.T,
        base[::-1],
        base[:, ::-2],
        base.astype(">f8"),
        np.asfortranarray(base),
        base[:0],
        np.array(3),
        base[None],
        base.astype(">c16"),
    ):
        np.save(tmp_path / "a.npy", array)
        assert torch.load_npy(tmp_path / "a.npy").tolist() == array.tolist()
        assert torch.load_npy(tmp_path / "a.npy", mmap=True).tolist() == array.tolist()
        np.savez_compressed(tmp_path / "a.npz", x=array, y=base)
        assert torch.load_npz(tmp_path / "a.npz")["x"].tolist() == array.tolist()
    for array, fact in [
        (np.array([None]), "Python objects"),
        (np.zeros(2, "M8[s]"), "M8"),
        (np.array(["a"]), "U1"),
        (np.zeros(2, [("a", "f4")]), "records"),
    ]:
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(NotImplementedError, match=fact):
            torch.load_npy(tmp_path / "a.npy")


def test_truncated_files_are_rejected_when_they_are_read(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors.save_file({"a": torch.arange(100_000)}, path)
    with safetensors.safe_open(path) as f:
        part = f.get_slice("a")
        assert part[2:4].tolist() == [2, 3]
        os.truncate(path, 5000)
        for read in (lambda: f.get_tensor("a"), lambda: part[99_990:]):
            with pytest.raises(safetensors.SafetensorError, match="was truncated to 5000 bytes"):
                read()


@pytest.mark.slow
def test_damaged_files():
    damage_files.main(1500, 7)


@pytest.mark.slow
@pytest.mark.keeps_memory
def test_killed_savers(tmp_path):
    assert not kill_savers.main(10, 3, tmp_path)
    assert pathlib.Path(tmp_path).exists()


def test_missing_memory_is_no_damaged_file(tmp_path):
    numbers = torch.zeros(1 << 20)
    torch.save(numbers, tmp_path / "a.pt")
    torch.save_npy(numbers, tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", a=numbers.numpy())
    torch.set_memory_limit(1 << 20)
    try:
        for load, name in ((torch.load, "a.pt"), (torch.load_npy, "a.npy"), (torch.load_npz, "a.npz")):
            with pytest.raises(MemoryError, match="would exceed the memory limit"):
                load(tmp_path / name)
    finally:
        torch.set_memory_limit(0)


def test_no_bytes_of_an_empty_tensor_behind_its_storage():
    with pytest.raises(EOFError):
        torch.load_npy(io.BytesIO())
    assert torch.npy_length(torch.zeros(2, 0, dtype=torch.uint8)[1]) > 0
