"""Indices out of range on the device: calls do not wait for their check, and the next call that waits returns the error."""

import re

import pytest

import libtensor as torch
import libtensor.nn.functional as F

WAITS = (
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuEventSynchronize",
    "cuStreamQuery",
    "cuEventQuery",
    "cuMemcpyDtoHAsync_v2",
    "cuMemAlloc_v2",
)
# Calls that a CUDA graph can capture.
CAPTURED = ("cuLaunchKernel", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuMemsetD8Async", "cuMemcpyDtoDAsync_v2")
SIZE = 5

READS = {
    "gather": lambda x, i: x.gather(0, i.view(-1, 1)),
    "take": lambda x, i: x.take(i),
    "take_along_dim": lambda x, i: x.take_along_dim(i.view(-1, 1), 0),
    "index_select": lambda x, i: x.index_select(0, i),
    "embedding": lambda x, i: F.embedding(i, x),
    "index": lambda x, i: x[i],
    "index of two": lambda x, i: x[i, i * 0],
}
WRITES = {
    "index_put_": lambda x, i: x.index_put_((i,), torch.ones((), device="cuda")),
    "index_put_ of two": lambda x, i: x.index_put_((i, i * 0), torch.ones((), device="cuda")),
    "index_put_ that adds": lambda x, i: x.index_put_((i,), torch.ones((), device="cuda"), accumulate=True),
    "put_": lambda x, i: x.put_(i, torch.ones(len(i), device="cuda")),
    "index_add_": lambda x, i: x.index_add_(0, i, torch.ones(len(i), 3, device="cuda")),
    "index_copy_": lambda x, i: x.index_copy_(0, i, torch.ones(len(i), 3, device="cuda")),
    "index_fill_": lambda x, i: x.index_fill_(0, i, 1.0),
    "scatter_": lambda x, i: x.scatter_(0, i.view(-1, 1), 1.0),
    "scatter_add_": lambda x, i: x.scatter_add_(0, i.view(-1, 1), torch.ones(len(i), 1, device="cuda")),
    "scatter_reduce_ of means": lambda x, i: x.scatter_reduce_(
        0, i.view(-1, 1), torch.ones(len(i), 1, device="cuda"), "mean", include_self=False
    ),
    "index_add into out": lambda x, i: torch.index_add(x, 0, i, torch.ones(len(i), 3, device="cuda"), out=x),
    "scatter_reduce_": lambda x, i: x.scatter_reduce_(0, i.view(-1, 1), torch.ones(len(i), 1, device="cuda"), "amax"),
}
CALLS = READS | WRITES
SYNCHRONIZE = {
    "item": lambda x: x.item(),
    "cpu": lambda x: x.cpu(),
    "tolist": lambda x: x.tolist(),
    "masked_select": lambda x: x.masked_select(x > 0),
    "synchronize": lambda x: torch.cuda.synchronize(),
    "stream": lambda x: torch.cuda.current_stream().synchronize(),
    "event": lambda x: torch.cuda.current_stream().record_event().synchronize(),
}


def table():
    return torch.arange(15.0).view(SIZE, 3).cuda()


def invalid(bad=77):
    return torch.tensor([0, bad, 1, 0]).cuda()


def error_of(name, bad=77):
    """The error's text: the operator, the index, and the size."""
    operator = re.match(r"(\w+?)_?( |$)", name)[1]
    operator = "index_select" if operator == "embedding" else operator  # whose decomposition selects rows
    size = 15 if operator in ("take", "put") else SIZE
    return rf"^\w+: an index of an earlier call is out of range: {operator}_?: .*index {bad} .*\b{size}\b"


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_not_wait(simulation, name):
    x, i = table(), invalid(3)
    for _ in range(2):  # loads the kernels, and caches memory
        CALLS[name](x.clone(), i)
    y = x.clone()
    torch.cuda.synchronize()
    before = [simulation.calls(f) for f in WAITS + CAPTURED]
    simulation.fail_any()  # counts from here
    result = CALLS[name](y, i)
    after = [simulation.calls(f) for f in WAITS + CAPTURED]
    made = dict(zip(WAITS + CAPTURED, (b - a for a, b in zip(before, after, strict=True)), strict=True))
    assert {f: made[f] for f in WAITS if made[f]} == {}
    assert simulation.all_calls() == sum(made[f] for f in CAPTURED)
    assert result.device.type == "cuda"


@pytest.mark.parametrize("name", CALLS)
def test_the_next_call_that_waits_returns_the_error(name):
    for wait in SYNCHRONIZE.values():
        for bad in (77, -16):
            x, one = table(), torch.ones((), device="cuda")
            torch.cuda.synchronize()
            CALLS[name](x, invalid(bad))
            with pytest.raises(IndexError, match=error_of(name, bad)):
                wait(one)
            wait(one)  # which reports it once
            CALLS[name](x, invalid(1))
            torch.cuda.synchronize()


@pytest.mark.parametrize("name", WRITES)
def test_writes_skip_indices_out_of_range(name):
    x, y = table(), table()
    WRITES[name](x, invalid())
    WRITES[name](y, torch.tensor([0, 1, 0]).cuda())
    with pytest.raises(IndexError):
        torch.cuda.synchronize()
    assert x.tolist() == y.tolist()


@pytest.mark.parametrize("name", READS)
def test_reads_out_of_range_are_zeros(name):
    result = READS[name](table(), invalid())
    with pytest.raises(IndexError):
        torch.cuda.synchronize()
    expected = READS[name](table(), torch.tensor([0, 1, 1, 0]).cuda())
    result, expected = result.reshape(4, -1).tolist(), expected.reshape(4, -1).tolist()
    assert [result[k] for k in (0, 2, 3)] == [expected[k] for k in (0, 2, 3)] and all(v == 0 for v in result[1])


def test_a_dimension_without_elements():
    for x in (torch.zeros(0).cuda(), torch.zeros(0, 3).cuda()):
        for f in (lambda x, i: x.index_select(0, i), lambda x, i: x[i], lambda x, i: x.gather(0, i.reshape([1] * x.dim()))):
            with pytest.raises((IndexError, RuntimeError), match="index 4 is out of bounds for dimension 0 with size 0"):
                f(x, torch.tensor([4]).cuda())
    torch.cuda.synchronize()


def test_the_first_of_several_errors_is_reported():
    x = table()
    x.take(invalid(99))
    x.index_select(0, invalid(44))
    with pytest.raises(IndexError, match="take: .*99"):
        x.tolist()
    assert x.tolist() == table().tolist()


def test_errors_of_other_streams():
    x, i, side = table(), invalid(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.take(i)
    with pytest.raises(IndexError, match="take: .*77"):
        side.synchronize()
    torch.cuda.synchronize()


def test_errors_in_the_backward_pass():
    x = table().requires_grad_()
    x.gather(0, invalid().view(-1, 1)).sum().backward()
    with pytest.raises(IndexError, match="gather: index 77 is out of bounds for dimension 0 with size 5"):
        x.grad.tolist()
    torch.cuda.synchronize()


def test_a_sorter_out_of_range():
    x, values = torch.arange(4.0).cuda(), torch.tensor([1.5]).cuda()
    torch.searchsorted(x, values, sorter=torch.tensor([0, 1, 1 << 40, 3]).cuda())
    with pytest.raises(IndexError, match=f"searchsorted: index {1 << 40} is out of bounds for dimension 0 with size 4"):
        torch.cuda.synchronize()
    assert torch.searchsorted(x, values, sorter=torch.arange(4).cuda()).tolist() == [2]


def test_many_sizes_are_reported():
    for n in range(1, 40):
        x = torch.zeros(n).cuda()
        x.index_select(0, torch.tensor([n]).cuda())
        with pytest.raises(IndexError, match=f"index_select: index {n} is out of bounds for dimension 0 with size {n}$"):
            x.sum().item()
