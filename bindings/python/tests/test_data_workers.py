"""DataLoader with worker processes: what they send, how they end, and what they leave behind."""

import collections
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import libtensor as torch
from libtensor.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

METHODS = ["fork", "spawn", "forkserver"]
Pair = collections.namedtuple("Pair", "first second")


class Calls(Dataset):
    """The results of a function."""

    def __init__(self, function, count=6):
        self.function, self.count = function, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.function(index)


class Shares(IterableDataset):
    """The numbers below `count`, of which each worker has its share."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        worker = get_worker_info()
        return iter(range(self.count) if worker is None else range(worker.id, self.count, worker.num_workers))


def sample(index):
    return {"x": torch.full((3,), float(index)), "y": (index, str(index)), "pair": Pair(np.ones(2) * index, index / 2)}


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def check(batch, indices):
    assert batch["x"][:, 0].tolist() == indices and batch["x"].is_shared()
    assert batch["y"][0].tolist() == indices and batch["y"][1] == tuple(map(str, indices))
    assert isinstance(batch["pair"], Pair) and batch["pair"].first[:, 1].tolist() == indices


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_return_the_same_as_one_process(method, workers, persistent):
    loader = DataLoader(
        Calls(sample, 10), 3, shuffle=True, num_workers=workers, multiprocessing_context=method, persistent_workers=persistent,
        generator=torch.Generator().manual_seed(1),
    )  # fmt: skip
    plain = DataLoader(range(10), 3, shuffle=True, generator=torch.Generator().manual_seed(1))
    for _ in range(2):
        # The seeds of persistent workers are drawn before the first epoch alone.
        seeded = not persistent or loader._iterator is None
        orders = [b.tolist() for b in (plain if seeded else iter_without_seed(plain))]
        batches = list(loader)
        assert len(batches) == len(orders) == len(loader)
        for batch, order in zip(batches, orders, strict=True):
            check(batch, order)


def iter_without_seed(loader):
    state = loader.generator.get_state()
    made = iter(loader)
    loader.generator.set_state(state)
    return made


@pytest.mark.parametrize("method", METHODS)
def test_streams_end_when_all_workers_have(method):
    loader = DataLoader(Shares(7), 2, num_workers=2, multiprocessing_context=method)
    assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5]]
    assert sorted(sum((b.tolist() for b in DataLoader(Shares(50), 4, num_workers=2, prefetch_factor=5, persistent_workers=True)), [])) == [
        *range(50)
    ]


def numbers_of(index):
    worker = get_worker_info()
    return worker.seed, torch.initial_seed(), torch.rand(1).item(), random.random(), np.random.rand()


def test_seeds_and_random_numbers_are_those_of_pytorch():
    torch.manual_seed(5)
    loader = DataLoader(Calls(lambda i: (i, torch.rand(1).item()), 4), None, num_workers=2, shuffle=True)
    epochs = [list(loader) for _ in range(3)]
    assert [[i for i, _ in epoch] for epoch in epochs] == [[0, 3, 2, 1], [1, 2, 3, 0], [0, 2, 1, 3]]
    assert [epoch[-1][1] for epoch in epochs] == pytest.approx([0.5857152342796326, 0.9585192203521729, 0.6542276740074158])
    assert torch.rand(1).item() == pytest.approx(0.0724, abs=1e-4)
    torch.manual_seed(5)
    loader = DataLoader(Calls(lambda i: (i, torch.rand(1).item()), 4), None, num_workers=2, shuffle=True, persistent_workers=True)
    epochs = [list(loader) for _ in range(3)]
    assert [[i for i, _ in epoch] for epoch in epochs] == [[0, 3, 2, 1], [1, 0, 2, 3], [1, 2, 3, 0]]
    assert [epoch[0][1] for epoch in epochs] == pytest.approx([0.7106006741523743, 0.6387555003166199, 0.11608004570007324])
    found = list(DataLoader(Calls(numbers_of, 2), None, num_workers=2, generator=torch.Generator().manual_seed(3)))
    base = found[0][0]
    for worker, (seed, initial, drawn, drawn_by_random, drawn_by_numpy) in enumerate(found):
        assert seed == initial == base + worker
        assert drawn == torch.rand(1, generator=torch.Generator().manual_seed(seed)).item()
        assert drawn_by_random == random.Random(seed).random()
        state = np.random.SeedSequence([worker, base & 0xFFFFFFFF, base >> 32, 0]).generate_state(4)
        assert drawn_by_numpy == np.random.RandomState(state).rand()


def failing(index):
    if index == 3:
        raise LookupError(f"no sample {index}")
    return index


def set_up(worker):
    raise OSError("no set-up")


class Broken(IterableDataset):
    def __iter__(self):
        raise KeyError("x")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_exceptions_are_raised_with_the_traceback_of_the_worker(method):
    with pytest.raises(
        LookupError, match=r"Caught LookupError in DataLoader worker process 1.\nOriginal Traceback[^$]*in failing[^$]*no sample 3"
    ):
        list(DataLoader(Calls(failing), 2, num_workers=2, multiprocessing_context=method))
    with pytest.raises(OSError, match="Caught OSError in DataLoader worker process 0[^$]*no set-up"):
        list(DataLoader(Calls(failing), 2, num_workers=2, worker_init_fn=set_up, multiprocessing_context=method))
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 0.\nOriginal"):
        list(DataLoader(Broken(), 2, num_workers=2, multiprocessing_context=method))


@pytest.mark.parametrize(
    ("data", "init", "error", "text"), [(Calls(sample), set_up, OSError, "no set-up"), (Broken(), None, KeyError, "x")]
)
def test_a_worker_that_cannot_begin_raises_the_same_for_each_batch(data, init, error, text):
    made = iter(DataLoader(data, 1, num_workers=1, worker_init_fn=init))
    for _ in range(3):
        with pytest.raises(error, match=f"Caught {error.__name__} in DataLoader worker process 0[^$]*{text}"):
            next(made)


def test_iteration_goes_on_after_an_exception():
    batches, made = [], iter(DataLoader(Calls(failing), 1, num_workers=2))
    for _ in range(6):
        try:
            batches.append(next(made).item())
        except LookupError:
            batches.append("failed")
    assert batches == [0, 1, 2, "failed", 4, 5]


def local_error():
    class Local(Exception):
        pass

    raise Local("y")


def graph(index):
    return torch.ones(2, requires_grad=True) * 2


@pytest.mark.parametrize(
    "function, error, message",
    [
        (graph, RuntimeError, "Cowardly refusing to serialize non-leaf tensor which requires_grad"),
        (lambda index: lambda: 0, Exception, "Can't pickle|Can't get"),
        (lambda index: local_error(), Exception, "Caught .* in DataLoader worker process 0"),
        (lambda index: torch.ones(index), RuntimeError, "expects each tensor to be equal size, but got"),
    ],
    ids=["graph", "function", "local class", "sizes"],
)
def test_samples_that_cannot_be_sent(function, error, message):
    with pytest.raises(error, match=message):
        list(DataLoader(Calls(function), 2, collate_fn=None if "equal" in message else list, num_workers=1))


def kill(index):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_ends_is_reported():
    before = descriptors()
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as found:
        list(DataLoader(Calls(kill), 2, num_workers=1))
    assert "is killed by signal: Killed" in str(found.value.__cause__)
    with pytest.raises(RuntimeError, match=r"exited unexpectedly") as found:
        list(DataLoader(Calls(lambda i: os._exit(3)), 2, num_workers=1))
    assert "exited unexpectedly with exit code 3" in str(found.value.__cause__)
    made = iter(DataLoader(Calls(abs, 100), 1, num_workers=1, persistent_workers=True))  # more than workers fetch ahead
    next(made)
    os.kill(made._workers[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        while True:
            next(made)
    del made, found
    assert descriptors() == before and not multiprocessing.active_children()


def test_timeouts():
    held = multiprocessing.get_context("fork").Event()
    made = iter(DataLoader(Calls(lambda i: held.wait(60)), 1, num_workers=1, timeout=0.2))
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.2 seconds"):
        next(made)
    held.set()


def test_epochs_leave_nothing_behind():
    loader = DataLoader(TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6)), 2, num_workers=2)
    list(loader)
    before, threads, memory = descriptors(), threading.active_count(), torch.memory_stats().storages
    for _ in range(10):
        assert sum(int(y.sum()) for _, y in loader) == 15
        next(iter(loader))  # abandoned
    assert (descriptors(), threading.active_count()) == (before, threads)
    assert not multiprocessing.active_children() and torch.memory_stats().storages <= memory + 2


@pytest.mark.slow
def test_a_hundred_epochs_leave_nothing_behind():
    loader = DataLoader(TensorDataset(torch.arange(12.0)), 2, shuffle=True, num_workers=2)
    list(loader)
    before = descriptors()
    for _ in range(100):
        assert sum(float(x.sum()) for (x,) in loader) == 66
    assert descriptors() == before and not multiprocessing.active_children()


def test_a_batch_is_one_file_and_lives_as_long_as_its_tensors():
    def of_ten(index):
        return [torch.full((4,), float(index)) for _ in range(10)]

    made = iter(DataLoader(Calls(of_ten, 8), 2, num_workers=1))
    first = next(made)
    before = descriptors()
    second = next(made)
    assert descriptors() <= before + 1 and len({t.untyped_storage().data_ptr() for t in second}) == 10
    assert all(t.storage_offset() == 0 and t.untyped_storage().nbytes() == 32 for t in second)
    kept = second[3]
    del second, made
    assert kept[:, 0].tolist() == [2, 3] and first[0][1, 0] == 1
    kept.add_(1)
    assert kept[0].tolist() == [3, 3, 3, 3]
    with_file = descriptors()
    del kept
    assert descriptors() == with_file - 1


def odd(index):
    base = torch.arange(100.0).reshape(10, 10)
    return {
        "column": base[:, index],
        "views": (base[0], base[1]),
        "transposed": base.t(),
        "sparse": torch.eye(2).to_sparse(),
        "csr": torch.eye(2).to_sparse_csr(),
        "leaf": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "quantized": torch.quantize_per_tensor(torch.ones(3), 0.5, 1, torch.quint8),
        "empty": torch.empty(0, 3),
        "meta": torch.empty(2, device="meta"),
        "conj": torch.tensor([1 + 2j]).conj(),
        "bool": torch.tensor([True, False]),
        "bfloat16": torch.ones(3, dtype=torch.bfloat16),
        "scalar": torch.tensor(7),
        "array": np.arange(3000.0),
        "small": np.arange(3),
        "text": "x" * 70000,
        "bytes": bytearray(5000),
    }


def test_samples_of_every_kind():
    found = next(iter(DataLoader(Calls(odd), None, num_workers=1, collate_fn=lambda x: x)))
    expected = odd(0)
    assert found.keys() == expected.keys()
    for name in ("column", "transposed", "bool", "bfloat16", "scalar", "conj", "leaf", "parameter"):
        assert torch.equal(found[name], expected[name]) and found[name].dtype == expected[name].dtype, name
        assert found[name].requires_grad == expected[name].requires_grad and type(found[name]) is type(expected[name])
    assert found["transposed"].stride() == (1, 10) and found["conj"].is_conj()
    found["views"][0].untyped_storage()[0:4]
    assert found["views"][1][0] == 10 and found["views"][0].untyped_storage() == found["transposed"].untyped_storage()
    assert found["sparse"].layout is torch.sparse_coo and found["csr"].to_dense().tolist() == [[1, 0], [0, 1]]
    assert found["quantized"].dequantize().tolist() == [1, 1, 1] and found["empty"].shape == (0, 3) and found["meta"].is_meta
    assert found["array"].sum() == 4498500 and found["array"].flags.writeable and found["small"].tolist() == [0, 1, 2]
    assert found["text"] == "x" * 70000 and found["bytes"] == bytearray(5000)


def test_shared_tensors_stay_the_same_memory():
    table = torch.zeros(4, 3).share_memory_()
    for i, row in enumerate(DataLoader(Calls(lambda i: table[i], 4), None, num_workers=1)):
        row.fill_(i)
    assert table[:, 0].tolist() == [0, 1, 2, 3]


def test_order_by_arrival():
    slow = multiprocessing.get_context("fork").Event()

    def wait_for_others(index):
        if index == 0:
            slow.wait(60)
        if index == 5:
            slow.set()
        return index

    loader = DataLoader(Calls(wait_for_others), 1, num_workers=2, in_order=False)
    found = [b.item() for b in loader]
    assert sorted(found) == [0, 1, 2, 3, 4, 5] and found[0] != 0


def test_many_indices_wait_for_a_worker_without_a_deadlock():
    loader = DataLoader(range(300000), 30000, num_workers=1, prefetch_factor=10, collate_fn=lambda batch: [list(batch)] * 2)
    assert sum(len(batch[0]) for batch in loader) == 300000


def run(code, **more):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, **more)


PROGRAM = """
import os, sys, time
import libtensor as torch
from libtensor.utils.data import DataLoader, Dataset
class Ids(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        return os.getpid()
"""


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), 9)", "os._exit(0)", "sys.exit(0)", "raise KeyboardInterrupt"])
def test_workers_end_with_the_loader(ending):
    begin = "made = iter(DataLoader(Ids(), 1, num_workers=2, persistent_workers=True))"
    done = run("\n".join([PROGRAM, begin, "print(next(made).item(), next(made).item(), flush=True)", ending]))
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 60
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)
    assert "Exception ignored" not in done.stderr and "can only test a child process" not in done.stderr


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_local_classes_and_lambdas_go_to_spawned_workers():
    class Local(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return torch.tensor([index, index])

    loader = DataLoader(Local(), 2, num_workers=1, multiprocessing_context="spawn", worker_init_fn=lambda worker: None)
    try:
        import cloudpickle  # noqa: F401
    except ImportError:
        with pytest.raises(RuntimeError, match="install the package cloudpickle, or use multiprocessing_context='fork'"):
            list(loader)
    else:
        assert [b.tolist() for b in loader] == [[[0, 0], [1, 1]], [[2, 2], [3, 3]]]


def test_a_forked_process_does_not_end_the_workers_of_its_parent():
    made = iter(DataLoader(Calls(failing, 3), 1, num_workers=1))
    assert next(made).item() == 0
    pid = os.fork()
    if pid == 0:
        made._shutdown_workers()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert [b.item() for b in made] == [1, 2]


def test_loaders_within_workers_and_side_by_side():
    first, second = (iter(DataLoader(range(4), 2, num_workers=1)) for _ in range(2))
    assert [[a.tolist(), b.tolist()] for a, b in zip(first, second, strict=True)] == [[[0, 1]] * 2, [[2, 3]] * 2]


@pytest.mark.parametrize("prefetch", [0, 1, 7])
def test_any_number_of_batches_ahead(prefetch):
    loader = DataLoader(range(9), 2, num_workers=2, prefetch_factor=prefetch)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]


def test_an_exception_of_the_sampler_is_raised_as_it_is():
    def indices():
        yield 0
        raise ValueError("no more")

    with pytest.raises(ValueError, match="^no more$"):
        list(DataLoader(range(3), 1, sampler=indices(), num_workers=1))
    assert not multiprocessing.active_children()


def test_a_persistent_iteration_that_was_left_begins_anew():
    loader = DataLoader(range(8), 2, num_workers=2, persistent_workers=True)
    first = iter(loader)
    next(first)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6, 7]]


WAITING = """
import os, signal, time
from libtensor.utils.data import DataLoader, Dataset

signal.signal(signal.SIGINT, signal.default_int_handler)  # which tests in the background start without

class Slow(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        os.write(1, b"%d\\n" % os.getpid())  # at once, beside another worker
        time.sleep(600)

try:
    next(iter(DataLoader(Slow(), 1, num_workers=2)))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_interrupt_of_the_terminal_ends_the_workers_without_their_tracebacks():
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )  # fmt: skip
    pids = [int(process.stdout.readline()) for _ in range(2)]
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "interrupted\n", "") and not any(alive(pid) for pid in pids)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_shuffle_pipes_alike(persistent):
    from libtensor.utils.data.datapipes.iter import IterableWrapper

    pipe = IterableWrapper(list(range(40))).shuffle(buffer_size=7).sharding_filter()
    loader = DataLoader(pipe, batch_size=None, num_workers=2, shuffle=True, persistent_workers=persistent)
    epochs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        epochs.append(list(loader))
    assert all(sorted(epoch) == list(range(40)) for epoch in epochs)
    assert epochs[0] == epochs[1] != epochs[2]


def test_processes_can_be_asked_after_their_end():
    batches = iter(DataLoader(range(40), num_workers=2))
    next(batches)
    processes = batches._workers
    del batches
    gc.collect()
    for process in processes:
        process.join(10)
        assert not process.is_alive()
