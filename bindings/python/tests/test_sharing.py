"""Memory shared between processes, and mapped files."""

import contextlib
import errno
import gc
import os
import pickle
import resource
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import libtensor as torch
import libtensor.multiprocessing
from libtensor import safetensors

mp = spawn = libtensor.multiprocessing.get_context("spawn")


def add_to(tensor, view, done):
    tensor.add_(1)
    view[0] = 70
    done.put((tensor.is_shared(), view.data_ptr() - tensor.data_ptr(), tensor.untyped_storage() == view.untyped_storage()))


def test_spawned_worker_writes_the_same_bytes():
    t = torch.zeros(4)
    done = mp.Queue()
    worker = mp.Process(target=add_to, args=(t, t[2:], done))
    worker.start()
    assert done.get(timeout=60) == (True, 8, True)
    worker.join()
    assert worker.exitcode == 0 and t.tolist() == [1.0, 1.0, 70.0, 1.0] and t.is_shared()


def echo(inbox, outbox):
    for item in iter(inbox.get, None):
        outbox.put(item)
        if isinstance(item, torch.Tensor) and not item.is_meta and item.numel():
            item.mul_(2)
    outbox.put(None)


def test_queues_carry_shared_memory():
    inbox, outbox = spawn.Queue(), spawn.Queue()
    worker = spawn.Process(target=echo, args=(inbox, outbox))
    worker.start()
    t = torch.arange(6).reshape(2, 3).share_memory_()
    for sent in (t, t.t()[1:], torch.empty(0), torch.empty(2, 3, device="meta"), t.untyped_storage(), t.storage()):
        inbox.put(sent)
    back, view, empty, meta, untyped, typed = [outbox.get(timeout=60) for _ in range(6)]
    inbox.put(None)
    assert outbox.get(timeout=60) is None
    worker.join()
    # The received storage is the one that this process has.
    assert back.data_ptr() == t.data_ptr() and view.stride() == (1, 3) and view.storage_offset() == 1
    assert untyped == t.untyped_storage() and typed == t.storage()
    assert t.tolist() == [[0, 4, 8], [6, 16, 20]]
    assert empty.shape == (0,) and meta.is_meta and meta.shape == (2, 3)


def total(tensor):
    tensor[0] = 100
    return tensor.sum().item()


def described(tensor):
    return tensor.requires_grad, tensor.names, tensor.__dict__, tensor.layout, tensor.dtype


def describe(inbox, outbox):
    for item in iter(inbox.get, None):
        outbox.put((described(item), item))


def test_received_tensors_equal_sent_ones():
    attributes = torch.ones(2)
    attributes.title = "x"
    kinds = [
        torch.ones(2, requires_grad=True),
        torch.zeros(2, 3, names=("N", "C")),
        attributes,
        torch.eye(2).to_sparse(),
        torch.eye(2).to_sparse_csr(),
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8),
        torch.quantize_per_channel(torch.ones(2, 2), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8),
    ]
    inbox, outbox = spawn.Queue(), spawn.Queue()
    worker = spawn.Process(target=describe, args=(inbox, outbox))
    worker.start()
    for sent in kinds:
        inbox.put(sent)
        there, back = outbox.get(timeout=60)
        assert there == described(sent) == described(back)
        plain = [
            t.dequantize() if t.is_quantized else t.detach().rename(None) if t.layout is torch.strided else t.to_dense()
            for t in (sent, back)
        ]
        assert plain[0].equal(plain[1])
    inbox.put(None)
    worker.join()
    with pytest.raises(RuntimeError, match="refusing to serialize non-leaf"):
        ForkingPickler.dumps(kinds[0] * 2)


def test_memory_of_another_library_arrives_as_a_copy():
    array = np.ones(3, "f4")
    lent = torch.ones(3)
    kept = lent.numpy()
    with spawn.Pool(1) as pool:
        assert pool.map(total, [torch.from_numpy(array), lent]) == [102.0, 102.0]
    assert array.tolist() == [1, 1, 1] and kept.tolist() == [1, 1, 1] and not lent.is_shared()


def test_plain_pickles_copy_shared_memory():
    t = torch.ones(2).share_memory_()
    u = pickle.loads(pickle.dumps(t))
    u[0] = 5
    assert t.tolist() == [1.0, 1.0] and not u.is_shared()


def test_share_memory_moves_every_view():
    t = torch.tensor([1, 2, 3])
    view = t[1:]
    assert not t.is_shared() and t.share_memory_() is t and view.is_shared() and view.tolist() == [2, 3]
    view[0] = 9
    assert t.tolist() == [1, 9, 3]
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(100)
    assert torch.empty(0).share_memory_().is_shared() and torch.empty(2, device="meta").is_shared()


def test_objects_that_cannot_be_shared():
    t = torch.ones(2)
    array = t.numpy()
    with pytest.raises(RuntimeError, match="cannot be moved"):
        t.share_memory_()
    assert array.tolist() == t.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="meta"):
        torch.empty(2, device="meta").share_memory_()


def test_descriptors_do_not_leak():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        torch.ones(1000).share_memory_()
    torch.zeros(1)
    assert len(os.listdir("/proc/self/fd")) == before


def test_shared_file(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    s = torch.UntypedStorage.from_file(str(path), shared=True, nbytes=32)
    assert path.stat().st_size == 32 and s.filename == str(path) and s.is_shared() and not s.resizable()
    s[0] = 200
    assert path.read_bytes()[:2] == b"\xc8\x01"
    with pytest.raises(RuntimeError, match=f"mapped from file <{path}>"):
        s.resize_(64)
    assert torch.UntypedStorage.from_file(str(tmp_path / "new"), True, 8).tolist() == [0] * 8
    assert torch.IntStorage.from_file(str(path), shared=False, size=2).tolist() == [0x030201C8, 0x07060504]


def test_private_file(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    t = torch.from_file(str(path), size=4, dtype=torch.int32)
    t[0] = 0
    assert path.read_bytes() == bytes(range(16)) and t.tolist()[:2] == [0, 0x07060504]
    assert t.untyped_storage().filename is None and torch.from_file(str(path)).shape == (0,)
    assert torch.from_file(str(path), True, 3, dtype=torch.int32).shape == (3,)


@pytest.mark.parametrize(
    ("name", "nbytes", "fact"),
    [("absent", 8, "unable to open file"), ("bytes", 20, "has 16 bytes, fewer than the 20"), ("bytes", -1, "-1 bytes")],
)
def test_files_that_cannot_be_mapped(tmp_path, name, nbytes, fact):
    (tmp_path / "bytes").write_bytes(bytes(16))
    with pytest.raises(RuntimeError, match=fact):
        torch.UntypedStorage.from_file(str(tmp_path / name), nbytes=nbytes)


@contextlib.contextmanager
def files_of_at_most(length):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_memory_that_cannot_be_shared_is_an_error():
    t = torch.arange(10**5, dtype=torch.float32)
    view = t[1:]
    with files_of_at_most(1 << 16):
        for share in (t.share_memory_, view.share_memory_, t.untyped_storage().share_memory_, lambda: ForkingPickler.dumps(view)):
            with pytest.raises(MemoryError, match="unable to create 400000 bytes of shared memory: file too large"):
                share()
            assert not t.is_shared() and t[-1] == 10**5 - 1 and view.data_ptr() == t.data_ptr() + 4
        small = torch.ones(10).share_memory_()
    assert small.is_shared() and t.share_memory_()[-1] == 10**5 - 1


def test_files_that_cannot_be_lengthened_stay_as_they_were(tmp_path):
    old = tmp_path / "old"
    old.write_bytes(b"1234")
    with files_of_at_most(1 << 16):
        for path in (old, tmp_path / "new"):
            for make in (
                lambda path=path: torch.from_file(str(path), shared=True, size=10**5),
                lambda path=path: torch.UntypedStorage.from_file(str(path), shared=True, nbytes=400_000),
            ):
                with pytest.raises(OSError, match="unable to extend file .* to 400000 bytes: file too large") as told:
                    make()
                assert told.value.errno == errno.EFBIG
    assert os.listdir(tmp_path) == ["old"] and old.read_bytes() == b"1234"


def put(queue, n):
    for i in range(n):
        queue.put(torch.full((3,), i))


def test_sent_tensors_outlive_the_process():
    queue = mp.Queue()
    sender = mp.Process(target=put, args=(queue, 3))
    sender.start()
    sender.join()
    assert sender.exitcode == 0
    assert [queue.get(timeout=60).tolist() for _ in range(3)] == [[i] * 3 for i in range(3)]


OF_A_METHOD = """
import multiprocessing, sys
import libtensor as torch
import libtensor.multiprocessing

def put(queue):
    queue.put(torch.full((3,), 7))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    sender = context.Process(target=put, args=(queue,))
    sender.start()
    sender.join()
    print(sender.exitcode, queue.get(timeout=60).tolist())
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_sent_tensors_outlive_the_process_for_every_start_method(tmp_path, method):
    program = tmp_path / "program.py"
    program.write_text(OF_A_METHOD)
    done = subprocess.run([sys.executable, program, method], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("0 [7, 7, 7]\n", "")


def put_and_die(queue):
    queue.put(torch.ones(3))
    queue.close()
    queue.join_thread()
    os._exit(1)


def test_messages_of_a_killed_process_raise():
    queue = mp.Queue()
    sender = mp.Process(target=put_and_die, args=(queue,))
    sender.start()
    sender.join()
    with pytest.raises(RuntimeError, match="the process that sent a tensor ended before it was received"):
        queue.get(timeout=60)


def reject(tensor):
    raise RuntimeError("rejected")


@pytest.mark.slow
def test_descriptors_of_received_tensors_do_not_leak():
    def shared():
        gc.collect()  # errors of other processes are in reference cycles
        torch.zeros(1)
        links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
        return sum("libtensor" in os.readlink(link) for link in links if os.path.islink(link))

    before, queue = shared(), mp.Queue()
    sender = mp.Process(target=put, args=(queue, 8))
    sender.start()
    found = [queue.get(timeout=60) for _ in range(8)]
    sender.join()
    assert shared() == before + 8
    del found
    assert shared() == before
    with mp.Pool(1) as pool:
        assert pool.map(total, [torch.ones(3) for _ in range(8)]) == [102.0] * 8
        for _ in range(8):
            with pytest.raises(RuntimeError, match="rejected"):
                pool.apply(reject, (torch.ones(3),))
    assert shared() == before
    for tensors in ([torch.ones(3) for _ in range(8)], [torch.ones(3), lambda: 0]):
        with contextlib.suppress(AttributeError, pickle.PicklingError):
            worker = mp.Process(target=print, args=tuple(tensors))
            worker.start()
            worker.join()
            worker.close()
    worker = None
    del tensors
    assert shared() == before


@pytest.mark.parametrize("kind", ["torch.save", "safetensors"])
def test_tensors_of_mapped_files_move_to_shared_memory(tmp_path, kind):
    x, path = torch.arange(8.0), str(tmp_path / "x")
    if kind == "torch.save":
        torch.save([x, x + 1], path)
        found = torch.load(path, mmap=True)
    else:
        safetensors.save_file({"a": x, "b": x + 1}, path)
        found = list(safetensors.load_file(path).values())
    first, view = found[0], found[0][2:]
    assert first.share_memory_() is first and first.is_shared() and not found[1].is_shared()
    view.zero_()
    received = ForkingPickler.loads(ForkingPickler.dumps(first))
    assert received.tolist() == [0, 1] + [0] * 6 and received.data_ptr() == first.data_ptr()
    assert torch.equal(found[1], x + 1)


def test_slices_of_memory_and_exported_tensors_do_not_move():
    storage = torch.arange(8.0).untyped_storage()
    with pytest.raises(RuntimeError, match=r"share_memory_: .* it is a slice of another storage.*; share that storage, or a clone\(\)"):
        storage[4:8].share_memory_()
    x = torch.ones(3)
    x.numpy()
    with pytest.raises(RuntimeError, match=r"an array of the host language shares its memory"):
        x.share_memory_()


def test_storages_of_shared_files_are_mapped_by_the_receiver(tmp_path):
    path = tmp_path / "x.bin"
    x = torch.from_file(str(path), shared=True, size=4)
    sent = bytes(ForkingPickler.dumps(x))
    received = ForkingPickler.loads(sent)
    received[1] = 7
    assert x[1] == 7 and np.fromfile(path, np.float32)[1] == 7
    path.rename(tmp_path / "other.bin")
    with pytest.raises(RuntimeError, match="was removed or replaced after it was sent"):
        ForkingPickler.loads(sent)
    with pytest.raises(RuntimeError, match=r"was removed or replaced, so another process cannot map it; send a clone\(\) instead"):
        ForkingPickler.dumps(x)
    assert not path.exists()
