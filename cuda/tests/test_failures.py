"""Every call of the driver and of cuBLAS fails once, in programs of all kinds: an error by its name with the driver's text, nothing left
behind, and a library that works on. A device that is lost stays lost."""

import gc
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import libtensor as torch

HOST = torch.arange(20.0).reshape(4, 5)


def creation():
    return (
        torch.zeros(3, 4, device="cuda"),
        torch.full((2,), 7, device="cuda:1"),
        torch.arange(5, device="cuda"),
        torch.tensor([1, 2], device="cuda"),
    )


def copies():
    x = HOST.t().cuda()
    y = torch.zeros(5, 4, device="cuda").copy_(HOST.t())
    y[1:3] = HOST.t()[:2]
    return x.cpu(), y.t(), x.double(), torch.cat([x, y]), x.clone(), x.tolist()


def pinned():
    x = HOST.pin_memory()
    y = x.to("cuda", non_blocking=True)
    z = y.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    return z.clone(), torch.empty(4, 5, pin_memory=True).copy_(y), y


def between():
    x = HOST.cuda()
    return x.to("cuda:1") + 1, x.to("cuda:1").to("cuda:0")


def elementwise():
    x = HOST.cuda()
    return (x * 2 + x.t().t() / 3).exp(), x > 3, x.add_(1)


def reductions():
    x = HOST.repeat(40, 100).cuda()
    return x.sum(), x.amax(0), x.argmin(1), x.var(), x.cumsum(1), x.softmax(0)


def indices():
    x = HOST.cuda()
    x[torch.tensor([1, 3])] = 7.0
    return (
        x[[0, 2]],
        x.gather(1, torch.zeros(4, 2, dtype=torch.int64, device="cuda")),
        x.take(torch.tensor([3, 9], device="cuda")),
        bool((x > 1).any()),
    )


def products():
    x = HOST.cuda()
    long = torch.ones(2, 2048, dtype=torch.int64, device="cuda")
    return x @ x.t(), torch.addmm(torch.ones(4, device="cuda"), x, x.t()), x[:, ::2] @ x[:, ::2].t(), long @ long.t()


def complexes():
    x = torch.complex(HOST, -HOST).cuda()
    return (x / 9).exp(), x.t().sqrt(), x.acos(), x ** (1 + 2j), torch.logspace(0, 2, 5, device="cuda")


def drawn():
    g = torch.Generator("cuda").manual_seed(3)
    x = (HOST / 2).cuda()
    return torch.poisson(x, generator=g), torch.binomial(x, x / 20, generator=g)


def joined():
    x = HOST.cuda()
    x[torch.tensor([1, 3], device="cuda")] = torch.tensor(7.0)
    y = HOST.cuda()
    y[2, 2] = float("nan")
    return (
        torch.searchsorted(x[0], 2.5),
        torch.isin(x, 7),
        y.unique(dim=0)[:1],
        x.scatter_reduce(0, x.long() % 4, x, "mean", include_self=False),
    )


def gradients():
    x = (HOST / 20).cuda().requires_grad_()
    (x @ x.t()).exp().mean().backward()
    return (x.grad,)


def files():
    f = io.BytesIO()
    torch.save({"x": HOST.cuda(), "y": HOST.cuda()[1:].t()}, f)
    f.seek(0)
    here = torch.load(f, map_location="cpu")
    f.seek(0)
    there = torch.load(f)
    return here["x"], there["x"], there["y"]


def streams():
    s = torch.cuda.Stream()
    x = HOST.cuda()
    s.wait_stream(torch.cuda.current_stream())
    with s:
        y = x * 2
    torch.cuda.current_stream().wait_stream(s)
    del x
    return (y + 1, s.query() in (True, False))


def events():
    e, f = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    e.record()
    x = HOST.cuda() + 1
    f.record(torch.cuda.Stream())
    e.query()
    f.wait()
    e.synchronize()
    f.synchronize()
    return x, abs(e.elapsed_time(f)) > 0


def accounts():
    p = torch.cuda.get_device_properties(0)
    torch.cuda.reset_peak_memory_stats()
    return p.total_memory, torch.cuda.mem_get_info()[1], torch.cuda.can_device_access_peer(0, 1), torch.cuda.Stream.priority_range()


def emptied():
    x = HOST.cuda()
    torch.cuda.empty_cache()
    return (x + 1,)


PROGRAMS = [
    creation,
    copies,
    pinned,
    between,
    elementwise,
    reductions,
    indices,
    products,
    complexes,
    drawn,
    joined,
    gradients,
    files,
    streams,
    events,
    accounts,
    emptied,
]

# Functions that release or query memory cannot report an error; nothing is lost by it.
SILENT = {
    *("cuEventQuery", "cuEventDestroy", "cuEventCreate", "cuEventRecord", "cuEventSynchronize"),
    *("cuCtxGetCurrent", "cuCtxSetCurrent", "cuMemFree", "cuMemFreeHost"),
}

# The messages of the driver and of cuBLAS for code 1.
REFUSALS = (
    "CUDA error in {}: CUDA_ERROR_INVALID_VALUE, invalid argument",
    "cuBLAS error in {}: CUBLAS_STATUS_NOT_INITIALIZED, the library was not initialized",
)

EVENTS = 6  # index in the result of settled()


def values(results):
    """What a program gives, on the host."""
    return [value.cpu() if isinstance(value, torch.Tensor) else value for value in results]


def same(a, b):
    return len(a) == len(b) and all(torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y for x, y in zip(a, b, strict=True))


def settled(simulation):
    """What is held: bytes of tensors, blocks, events, streams, and the tensors and storages of the process."""
    gc.collect()
    gc.freeze()  # existing objects are excluded from further collections
    torch.empty(0)  # frees wait for the next call
    for index in (0, 1):
        torch.cuda.synchronize(index)
        torch.empty(1, device=f"cuda:{index}")  # blocks that streams still used
        torch.empty(0)
    torch.ones(1).pin_memory()
    torch.empty(0)
    held = [torch.cuda.memory_allocated(i) for i in (0, 1)] + [torch.cuda.memory_stats(i)["allocation.all.current"] for i in (0, 1)]
    return held + list(simulation.live()[2:]) + [torch.memory_stats().tensors, torch.memory_stats().storages]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_call_of_the_driver_fails_once(simulation, program):
    for _ in range(40):  # all streams are made
        expected = values(program())
    simulation.seed(5)
    simulation.fail_any()
    assert same(values(program()), expected)
    total = simulation.all_calls()
    before = settled(simulation)
    assert total > 2
    for at in range(1, total + 40):
        simulation.seed(5)
        simulation.fail_any(at, 1)
        try:
            found = values(program())
        except RuntimeError as error:
            name = simulation.culprit().removesuffix("_v2").removesuffix("_64")
            assert re.search(rf"[a-z_]+: {REFUSALS[name.startswith('cublas')].format(name)}", str(error)), (at, name)
            error.__traceback__ = None
        else:
            name = simulation.culprit().removesuffix("_v2")
            assert not name or name in SILENT, (at, name)
            assert same(found, expected), (at, name)
            found = None
        simulation.fail_any()
        assert same(values(program()), expected), (at, name)
        now = settled(simulation)
        if name in ("cuEventDestroy", "cuMemFree", "cuMemFreeHost"):  # resources that the driver did not release are still allocated
            before[EVENTS] = now[EVENTS]
        assert now == before, (at, name)
        if not name:
            break
    else:
        raise AssertionError("the program never ran without a failure")
    torch.cuda.empty_cache()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_call_loses_the_device(simulation, program):
    for _ in range(40):
        expected = values(program())
    simulation.fail_any()
    program()
    total = simulation.all_calls()
    for at in range(1, total + 1, max(1, total // 12)):
        simulation.fail_any(at, 719)
        try:
            program()
        except RuntimeError as error:
            assert re.search(
                "CUDA error in cu[A-Za-z0-9]+: CUDA_ERROR_LAUNCH_FAILED, unspecified launch failure|cuBLAS error", str(error)
            ), at
            error.__traceback__ = None
        if simulation.culprit():
            for other in (creation, copies, products, streams):
                with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED, unspecified launch failure"):
                    values(other())
            assert (HOST + 1).sum().item() == 210
        simulation.repair()
        simulation.fail_any()
        assert same(values(program()), expected), at
    gc.collect()
    torch.empty(0)
    torch.cuda.empty_cache()


def test_no_memory_for_each_allocation(simulation):
    """With nothing kept for reuse, the driver has no memory at each allocation, also once the cache was emptied."""
    for program in PROGRAMS:
        expected = values(program())
        gc.collect()
        gc.freeze()
        torch.empty(0)
        for call in ("cuMemAlloc_v2", "cuMemHostAlloc"):
            torch.cuda.empty_cache()
            simulation.fail(call, 10**9)
            program()
            for at in range(1, simulation.calls(call) + 1):
                gc.collect()
                torch.empty(0)
                torch.cuda.empty_cache()
                simulation.fail(call, at, 2)
                assert same(values(program()), expected)  # the second try has memory
    refusals = torch.cuda.memory_stats()["num_ooms"]
    with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory. Tried to allocate 1024.00 GiB"):
        torch.zeros(1 << 38, device="cuda")
    assert torch.cuda.memory_stats()["num_ooms"] == refusals + 1 and torch.cuda.memory_stats()["num_alloc_retries"] > 0


FIRST = """
import libtensor as torch

def work():
    x = torch.arange(6.0).cuda()
    return (x.to("cuda:1") * 2).cpu().tolist()

for _ in range(3):
    try:
        print(work())
    except RuntimeError as error:
        print(error)
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.absence())
"""

WORKED = "[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]"


def alone(code=FIRST, **environment):
    """What a process prints, by default of its first calls."""
    environment = os.environ | {"PYTHONPATH": str(Path(torch.__file__).parents[1])} | environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "call",
    [
        *("cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemHostAlloc", "cuMemAlloc_v2", "cuModuleLoadDataEx"),
        *("cuModuleGetFunction", "cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuEventCreate", "cuMemcpyPeerAsync"),
    ],
)
def test_the_first_calls_of_a_process(call):
    first = 2 if call == "cuEventCreate" else 1  # after the event of a pinned block, without which the call waits
    said = alone(LIBTENSOR_SIM_FAIL=f"{call}:{first}:1")
    assert said[0].endswith(f"CUDA error in {call.removesuffix('_v2')}: CUDA_ERROR_INVALID_VALUE, invalid argument"), said
    assert said[1:] == [WORKED, WORKED, "True 2 "]


@pytest.mark.usefixtures("simulation")
def test_the_oldest_driver():
    """It reads PTX up to version 8.0."""
    assert alone(LIBTENSOR_SIM_VERSION="12000") == [WORKED] * 3 + ["True 2 "]


@pytest.mark.usefixtures("simulation")
def test_what_the_assembler_says():
    """The error of kernels that the driver cannot compile contains the assembler's log."""
    said = alone(LIBTENSOR_SIM_CAPABILITY="70")
    assert said[0].endswith("CUDA error in cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX, a PTX JIT compilation failed")
    assert said[1] == "ptxas fatal   : SM version 75 is not supported"


@pytest.mark.usefixtures("simulation")
@pytest.mark.parametrize("call", ["cuModuleLoadDataEx", "cuLaunchKernel"])
def test_no_memory_for_kernels(call):
    """Kernels take memory of their own: the blocks that are kept for reuse are released, and the call is repeated once."""
    kept = "import libtensor as torch\nx = torch.empty(1 << 20, device='cuda:1')\ndel x\ntorch.empty(0)\n"
    held = "print(torch.cuda.memory_reserved(1) < 1 << 20)\n"
    assert alone(kept + FIRST + held, LIBTENSOR_SIM_FAIL=f"{call}:1:2") == [WORKED] * 3 + ["True 2 ", "True"]
    said = alone(LIBTENSOR_SIM_FAIL=f"{call}:1-2:2")
    assert re.fullmatch(rf"[a-z]+: CUDA out of memory: error in {call}: CUDA_ERROR_OUT_OF_MEMORY, out of memory", said[0]), said
    assert said[1:] == [WORKED, WORKED, "True 2 "]


@pytest.mark.parametrize(
    "environment, why",
    [
        ({"LIBTENSOR_SIM_FAIL": "cuInit:1:803"}, "initialization of the driver failed: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, .*"),
        ({"LIBTENSOR_SIM_VERSION": "11080"}, "the driver is too old: it supports CUDA 11.8, but 12.0 or newer is required"),
        ({"LIBTENSOR_SIM_FAIL": "cuDriverGetVersion:1:3"}, "the version of the driver is unknown: CUDA_ERROR_NOT_INITIALIZED, .*"),
        ({"LIBTENSOR_SIM_FAIL": "cuDeviceGetCount:1:100"}, "the driver does not tell its devices: CUDA_ERROR_NO_DEVICE, .*"),
        ({"LIBTENSOR_SIM_DEVICES": "0"}, "the driver has no device"),
    ],
)
def test_the_reason_for_missing_devices(environment, why):
    said = alone(**environment)
    assert re.fullmatch(f"False 0 {why}", said[3]) and all(
        re.fullmatch(f"to: device cuda is not available: {why}; use device='cpu'", s) for s in said[:3]
    )
