"""Tensors between processes: frames, two workers and their memory limits, workers that are killed, memory that workers of a machine
share."""

import os
import signal
import socket
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, wait
from distributed.client import FutureCancelledError
from distributed.protocol import deserialize, deserialize_bytes, serialize, serialize_bytes

import libtensor as torch
from libtensor.dask import SharedMemory, Threads
from libtensor.dask import inbox as inboxes
from libtensor.dask.inbox import ANNOUNCED, Inbox, inbox

# --------------------------------------------------------------------------------------------------------------------- frames

LAYOUTS = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.T,
    "strided": lambda t: t[::2, 1:],
    "permuted": lambda t: t.view(4, 3, 2).permute(2, 0, 1),
    "expanded": lambda t: t[0].expand(1000, 6),
    "0-dim": lambda t: t[1, 1],
    "empty": lambda t: t[1:1],
    "one of a row": lambda t: t[:1, ::3][:, 1:],
    "one": lambda t: t[2:3, ::3][:, :1],
    "reversed": lambda t: t.flip(0)[:, ::2],
}
DENSE = ("contiguous", "transposed", "permuted", "0-dim", "empty")
NAMES = ["bool", "uint8", "int64", "uint16", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [bytearray, bytes, lambda frame: memoryview(bytearray(b"." + bytes(frame)))[1:]])
def test_frames(name, layout, kind):
    t = LAYOUTS[layout](torch.arange(24).view(4, 6).to(getattr(torch, name)))
    header, frames = serialize(t)
    assert (
        header["serializer"] == "dask"
        and sum(memoryview(f).nbytes for f in frames) == min(t.numel(), 24 if layout != "expanded" else 6) * t.itemsize
    )
    back = deserialize(header, list(map(kind, frames)))
    assert back.dtype is t.dtype and torch.equal(back, t) and not back.requires_grad
    if layout in DENSE:
        assert back.stride() == t.stride()
    if layout != "expanded":
        back.zero_()


def test_frames_are_the_memory_of_what_is_dense():
    t = torch.arange(24.0).view(4, 6)
    for dense in (t, t.T, t[1:3]):
        assert np.shares_memory(np.frombuffer(serialize(dense)[1][-1], "u1"), t.numpy())
    header, (*others, frame) = serialize(t)
    memory = np.frombuffer(bytearray(frame), "f4")
    assert np.shares_memory(deserialize(header, [*others, memory.data]).numpy(), memory)


def test_bytes_of_tensors():
    t = torch.arange(24.0).view(4, 6)
    assert torch.equal(deserialize_bytes(serialize_bytes(t.T)), t.T) and torch.equal(
        deserialize_bytes(serialize_bytes([t, {"a": t[1:]}]))[1]["a"], t[1:]
    )


def test_frames_of_leaves_and_of_what_is_pickled():
    leaf = torch.ones(3, requires_grad=True)
    back = deserialize(*serialize(leaf))
    assert back.requires_grad and back.is_leaf and deserialize(*serialize(leaf * 2)).tolist() == [2, 2, 2]
    for other in (torch.eye(2).to_sparse(), torch.ones(2, names=("a",)), torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)):
        header, frames = serialize(other)
        back = deserialize(header, frames)
        assert header["serializer"] == "pickle" and back.dtype is other.dtype and back.layout is other.layout and back.names == other.names


# --------------------------------------------------------------------------------------------------------------------- letters


def sent(tensor, address):
    return serialize(tensor, context={"recipient": {"address": "tcp://127.0.0.1:1", ANNOUNCED: address}})


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_large_tensors_go_by_memory(name, layout, monkeypatch):
    monkeypatch.setattr("libtensor.dask.frames.LEAST", 1)
    t = LAYOUTS[layout](torch.arange(24).view(4, 6).to(getattr(torch, name)))
    inbox()
    before = descriptors()
    header, frames = sent(t, inbox().address)
    assert (frames == []) is (t.numel() > 0)
    back = deserialize(header, frames)
    assert back.dtype is t.dtype and torch.equal(back, t) and descriptors() == before
    if layout in DENSE:
        assert back.stride() == t.stride()
    if layout != "expanded":
        back.zero_()
        assert torch.equal(LAYOUTS[layout](torch.arange(24).view(4, 6).to(t.dtype)), t)


def test_the_sender_may_forget_what_it_sent():
    large = torch.arange(2.0**20).requires_grad_()
    header, frames = sent(large, inbox().address)
    del large
    back = deserialize(header, frames)
    assert frames == [] and back.requires_grad and torch.equal(back, torch.arange(2.0**20))
    with pytest.raises(ConnectionError, match="is not available"):
        deserialize(header, frames)


def test_what_cannot_be_sent_as_memory_is_sent_as_bytes(monkeypatch):
    large = torch.arange(2.0**20)
    assert sent(large[:1000], inbox().address)[1] and sent(large, "nobody")[1] and serialize(large, context={"compression": None})[1]
    full = Inbox()
    before = descriptors()
    letters = 0
    while not sent(large, full.address)[1]:
        letters += 1
    assert letters and descriptors() == before
    full.socket.close()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(f"\0{full.address}")
        assert sent(large, full.address)[1]
    monkeypatch.setattr(os, "write", lambda *_: exec("raise OSError(28, 'No space left on device')"))
    assert sent(large, inbox().address)[1] and descriptors() == before - 1


def test_letters_in_any_order_and_those_that_nobody_asks_for(monkeypatch):
    box = Inbox()
    names = [inboxes.post(box.address, memoryview(torch.full((4,), k)).cast("B")) for k in range(4)]
    before = descriptors()
    assert box.open(names[2], torch.int64, 4).tolist() == [2] * 4 and descriptors() == before + 2
    monkeypatch.setattr(inboxes, "FORGOTTEN", -1)
    assert box.open(names[3], torch.int64, 4).tolist() == [3] * 4 and descriptors() == before
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(b"no memory", f"\0{box.address}")
    with pytest.raises(ConnectionError):
        box.open(names[0], torch.int64, 4)
    box.socket.close()


# ---------------------------------------------------------------------------------------------------------------- two processes


@pytest.fixture(scope="module")
def client():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def workers(client):
    client.wait_for_workers(2, timeout=60)
    return client


def slow(chunk):
    time.sleep(0.1)
    return chunk + 1


def test_workers_compute_what_one_process_computes(workers):
    t = torch.rand(300, 200, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    x = da.from_array(t, chunks=(70, 80))
    for made in (x.sum(), x.mean(axis=0), x @ x.T, x[10:200:3, ::2] * 2, x.rechunk((300, 50)).std(), da.exp(x).T):
        found = made.compute(timeout=60)
        assert type(found) is torch.Tensor and torch.equal(found, made.compute(scheduler="synchronous"))
    assert torch.allclose((x @ x.T).compute(), t @ t.T)


KEPT = {
    "concatenate": lambda x: da.concatenate([x, x * 2]),
    "stack": lambda x: da.stack([x, x], axis=1),
    "rechunk": lambda x: x.rechunk((3, 8)),
    "slices": lambda x: x[::-2, 1:7:3],
    "ufuncs": lambda x: da.maximum(np.sqrt(x), x.mean()),
    "product": lambda x: x @ x.T,
    "map_blocks": lambda x: x.map_blocks(torch.exp),
}


@pytest.mark.parametrize("name", KEPT)
def test_arrays_that_workers_keep(workers, name):
    x = da.from_array(torch.arange(48.0).view(6, 8), chunks=(2, 3))
    kept = x.persist()
    wait(kept, timeout=60)
    assert len(workers.who_has(kept)) == 9 and all(workers.who_has(kept).values())
    found = KEPT[name](kept).compute(timeout=60)
    assert type(found) is torch.Tensor and torch.equal(found, KEPT[name](x).compute(scheduler="synchronous"))


def test_scatter_and_gather(workers):
    first, second = workers.scheduler_info()["workers"]
    tensors = [torch.full((3,), 7.5 + k, dtype=dtype) for k, dtype in enumerate((torch.bfloat16, torch.complex64, torch.uint16))]
    futures = workers.scatter(tensors, workers=[first], direct=True)
    assert all(torch.equal(a, b) and a.dtype is b.dtype for a, b in zip(workers.gather(futures), tensors, strict=True))
    held = workers.scatter({"a": tensors[0], "b": tensors[1].to_sparse()}, broadcast=True)
    assert set(workers.who_has(held["a"]).popitem()[1]) == {first, second}
    back = workers.gather(held, direct=True)
    assert torch.equal(back["a"], tensors[0]) and torch.equal(back["b"].to_dense(), tensors[1])
    nested = workers.submit(
        lambda given: {"sum": given["x"][0] + given["x"][1], "kept": (given["x"],)}, {"x": futures[:2]}, workers=[second]
    )
    found = nested.result(timeout=60)
    assert torch.equal(found["sum"], tensors[0] + tensors[1]) and found["kept"][0][0].dtype is torch.bfloat16


def test_tensors_go_from_worker_to_worker(workers):
    addresses = list(workers.scheduler_info()["workers"])
    parts = [workers.submit(torch.full, (100000,), k, dtype=torch.bfloat16, workers=[address]) for k, address in enumerate(addresses)]
    total = workers.submit(torch.add, *parts).result(timeout=60)
    assert total.dtype is torch.bfloat16 and torch.equal(total, torch.ones(100000, dtype=torch.bfloat16))


def test_large_tensors_go_in_several_frames(workers):
    first, second = workers.scheduler_info()["workers"]
    large = workers.submit(torch.arange, 2.0**24, dtype=torch.float64, workers=[first])
    assert workers.submit(torch.sum, large, workers=[second]).result(timeout=100).item() == 2.0**23 * (2**24 - 1)


def seen(tensor):
    """The sum of a tensor, and the file that its memory is of, if any."""
    regions = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    ranges = [([int(end, 16) for end in region[0].split("-")], region[5:]) for region in regions]
    name = next(name for (begin, end), name in ranges if begin <= tensor.data_ptr() < end)
    return tensor.sum().item(), tensor.untyped_storage().resizable(), name


def peak(given=None):
    """How many bytes the process has had in memory since the last call without a tensor, beyond those then."""
    told = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    if given is None:
        Path("/proc/self/clear_refs").write_text("5")
        peak.before = int(told["VmRSS"].split()[0])
    return (int(told["VmHWM"].split()[0]) - peak.before) << 10


@pytest.mark.parametrize("nbytes", [32_000_000, 100_000_000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_large_tensors_are_used_where_they_arrive(workers, dtype, nbytes):
    first, second = workers.scheduler_info()["workers"]
    count = nbytes // np.dtype(dtype).itemsize
    peaks = []
    for make in (np.ones, torch.ones):
        large = workers.submit(make, count, dtype=getattr(np if make is np.ones else torch, dtype), workers=[first])
        wait(large, timeout=60)
        workers.run(peak, workers=[second])
        peaks.append(workers.submit(peak, large, workers=[second]).result(timeout=60))
    assert peaks[1] < peaks[0] + nbytes / 4
    total, own, file = workers.submit(seen, large, workers=[second]).result(timeout=60)
    assert total == count and not own and not file


def double_in_place(tensor):
    return tensor.mul_(2).sum().item()


def test_workers_of_one_machine_share_memory(workers):
    first, second = workers.scheduler_info()["workers"]
    workers.amm.stop()  # which drops one of two replicas every two seconds, be it the one that nobody wrote to
    workers.register_plugin(SharedMemory())
    large = workers.submit(torch.ones, 100_000_000 // 8, dtype=torch.float64, workers=[first])
    total, own, file = workers.submit(seen, large, workers=[second]).result(timeout=100)
    assert total == 100_000_000 // 8 and not own and file == ["/memfd:libtensor (deleted)"]
    assert workers.submit(double_in_place, large, workers=[second]).result(timeout=100) == 2 * total
    assert workers.submit(seen, large, workers=[first]).result(timeout=100)[:1] == (total,)
    several = [workers.submit(torch.full, (2**19 + k,), k, dtype=torch.float64, workers=[first]) for k in range(40)]
    assert workers.submit(lambda xs: sum(x.sum().item() for x in xs), several, workers=[second]).result(timeout=100) == sum(
        (2**19 + k) * k for k in range(40)
    )
    x = da.ones((2000, 2000), chunks=1000).map_blocks(torch.tensor, meta=torch.empty(0, 0))
    assert torch.equal((x @ x.T).compute(timeout=100), (x @ x.T).compute(scheduler="synchronous"))
    assert torch.equal(workers.gather(several[3], direct=True), torch.full((2**19 + 3,), 3, dtype=torch.float64))
    workers.unregister_worker_plugin("libtensor-shared-memory")


def test_scattered_tensors_without_replicas_are_lost_with_their_worker(workers):
    first, second = workers.scheduler_info()["workers"]
    lost = workers.scatter(torch.arange(10.0), workers=[first])
    kept = workers.scatter(torch.arange(11.0), broadcast=True)
    os.kill(workers.run(os.getpid)[first], signal.SIGKILL)
    later = workers.submit(torch.sum, lost, workers=[second])
    for future in (lost, later):
        with pytest.raises(FutureCancelledError):
            future.result(timeout=60)
    assert workers.submit(torch.sum, kept).result(timeout=60).item() == 55


def test_a_killed_worker_loses_nothing(workers):
    t = torch.arange(10000.0).view(100, 100)
    x = da.from_array(t, chunks=(25, 25)).map_blocks(slow, dtype="f4").persist()
    time.sleep(0.3)
    os.kill(next(iter(workers.run(os.getpid).values())), signal.SIGKILL)
    wait(x, timeout=100)
    assert torch.equal(x.compute(timeout=60), t + 1)


def threads():
    return torch.get_num_threads()


def test_threads_of_workers(workers):
    assert set(workers.run(threads).values()) == {1}
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.register_plugin(Threads())
        assert set(client.run(threads).values()) == {2}
        client.unregister_worker_plugin("libtensor-threads")
        assert set(client.run(threads).values()) == {1}


# ---------------------------------------------------------------------------------------------------------------------- limits


def draw(block_info):
    return torch.full(block_info[None]["chunk-shape"], block_info[None]["chunk-location"][0])


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def small():
    """Workers with less memory than the numbers have that they are given."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="500MB", dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.run(torch.ones, 1)
        yield client


@pytest.mark.parametrize("keep", [False, True])
def test_more_numbers_than_workers_have_memory_for(small, keep):
    pids, before = small.run(os.getpid), small.run(resident)
    x = da.map_blocks(draw, chunks=((2**16,) * 40, 64), meta=torch.empty(0, 0, dtype=torch.int64))
    x = x.persist() if keep else x
    assert x.nbytes > 1.3e9
    total, mean, spread = dask.compute(x.sum(), x.mean(axis=0), x.std())
    assert total.item() == 2**16 * 64 * 780 and mean.tolist() == [19.5] * 64 and spread.item() == pytest.approx(np.arange(40).std())
    del x
    while any(small.run(lambda dask_worker: len(dask_worker.data)).values()):
        time.sleep(0.1)
    assert small.run(os.getpid) == pids
    assert all(now - before[worker] < 128 * 2**20 for worker, now in small.run(resident).items())


@pytest.mark.parametrize("kind", ["npy", "safetensors"])
def test_files_larger_than_memory(small, kind, tmp_path):
    path, rows = tmp_path / f"numbers.{kind}", 2**14
    whole = torch.arange(rows * 40.0).view(-1, 1).expand(-1, 256)
    if kind == "npy":
        torch.save_npy(whole, path)
    else:
        torch.safetensors.save_file({"x": whole.contiguous()}, path)

    def read(block_info):
        (begin, end), _ = block_info[None]["array-location"]
        if kind == "npy":
            return torch.load_npy(path, mmap=True)[begin:end]
        with torch.safetensors.safe_open(path) as file:
            return file.get_slice("x")[begin:end]

    pids = small.run(os.getpid)
    x = da.map_blocks(read, chunks=((rows,) * 40, 256), meta=torch.empty(0, 0))
    assert path.stat().st_size > 6e8
    found = x.mean(axis=0, dtype=np.float64).compute(timeout=200)
    assert found.tolist() == [(rows * 40 - 1) / 2] * 256 and small.run(os.getpid) == pids
