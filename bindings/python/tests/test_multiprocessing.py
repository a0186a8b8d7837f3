"""libtensor.multiprocessing: processes of spawn and start_processes, pools and executors with tensors."""

import os
import pickle
import signal
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

import libtensor as torch
import libtensor.multiprocessing as mp
from libtensor.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException


def write(number, table):
    table[number] = number + 1


def fail(number):
    if number == 1:
        raise LookupError(f"process {number}")
    time.sleep(60)


def leave(number, code):
    os._exit(code)


def kill(number):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_write_to_shared_tensors(method):
    table = torch.zeros(3).share_memory_()
    assert mp.start_processes(write, (table,), 3, start_method=method) is None
    assert table.tolist() == [1, 2, 3]


def test_spawn_waits_or_returns_the_processes():
    table = torch.zeros(2)
    mp.spawn(write, (table,), nprocs=2)
    assert table.tolist() == [1, 2] and table.is_shared()
    running = mp.start_processes(write, (table.zero_(),), 2, join=False, start_method="fork")
    assert isinstance(running, mp.ProcessContext) and len(running.pids()) == 2
    while not running.join(timeout=5):
        pass
    assert table.tolist() == [1, 2]


def test_the_first_failure_ends_the_others():
    with pytest.raises(
        ProcessRaisedException, match="-- Process 1 terminated with the following error:\nTraceback[^$]*LookupError: process 1"
    ) as found:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert found.value.error_index == 1 and not mp.active_children()
    with pytest.raises(ProcessExitedException, match="process 0 terminated with exit code 5") as found:
        mp.start_processes(leave, (5,), start_method="fork")
    assert found.value.exit_code == 5 and found.value.signal_name is None
    with pytest.raises(ProcessExitedException, match="process 0 terminated with signal SIGKILL") as found:
        mp.start_processes(kill, start_method="fork")
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.exit_code, again.signal_name, str(again)) == (-9, "SIGKILL", str(found.value))


def total(tensor):
    return tensor.sum()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools_and_executors(method):
    tensors = [torch.full((3,), float(i)) for i in range(4)]
    with mp.get_context(method).Pool(2) as pool:
        assert [t.item() for t in pool.map(total, tensors)] == [0, 3, 6, 9]
    with ProcessPoolExecutor(2, mp_context=mp.get_context(method)) as executor:
        assert [t.item() for t in executor.map(total, tensors)] == [0, 3, 6, 9]


def test_parameters_and_batches_go_through_queues():
    layer = torch.nn.Linear(2, 2)
    layer.share_memory()
    queue = mp.get_context("fork").Queue()
    queue.put(layer.weight)
    weight = queue.get(timeout=60)
    assert isinstance(weight, torch.nn.Parameter) and weight.requires_grad and weight.is_shared()
    weight.data.fill_(7)
    assert layer.weight[0, 0] == 7
    batch = next(iter(torch.utils.data.DataLoader(torch.arange(4), 2, num_workers=1, multiprocessing_context="fork")))
    queue.put(batch)
    assert queue.get(timeout=60).tolist() == [0, 1] and batch.is_shared()


def test_names_of_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"} and mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("names")
