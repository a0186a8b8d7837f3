"""Memory of a CUDA device: blocks are used again, failures are errors and leave nothing behind."""

import gc

import pytest

import libtensor as torch


def settled(simulation):
    gc.collect()
    torch.empty(0)  # frees wait for the next call
    return simulation.live()[0]


def test_blocks_are_used_again(simulation):
    torch.zeros(1000, device="cuda")
    before = simulation.calls("cuMemAlloc_v2")
    for _ in range(50):
        torch.zeros(1000, device="cuda")
    assert simulation.calls("cuMemAlloc_v2") == before


@pytest.mark.usefixtures("simulation")
def test_out_of_memory_is_an_error():
    with pytest.raises(
        MemoryError, match=r"zeros: CUDA out of memory. Tried to allocate 1024.00 GiB. Device cuda:0 has 8.00 GiB in all, of which"
    ):
        torch.zeros(1 << 38, device="cuda")
    assert torch.zeros(4, device="cuda").tolist() == [0, 0, 0, 0]


def test_blocks_nobody_uses_are_given_back_first(simulation):
    large = [torch.empty(3 << 30, dtype=torch.uint8, device="cuda") for _ in range(2)]
    del large
    assert torch.empty(5 << 30, dtype=torch.uint8, device="cuda").shape[0] == 5 << 30


CALLS = ["cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuLaunchKernel", "cuStreamSynchronize"]


@pytest.mark.parametrize("name", CALLS)
def test_every_call_may_fail(simulation, name):
    host = torch.arange(20.0).reshape(4, 5)
    for size in range(1, 4):

        def work(size=size):
            x = torch.cat([host.t()] * size).cuda()
            return (x * 2 + x.t().t() / 3).t().cpu()

        expected = work()
        before = settled(simulation)
        simulation.fail(name, 10**6)
        work()
        total = simulation.calls(name)
        for at in range(1, total + 1):
            simulation.fail(name, at, 1)
            with pytest.raises(RuntimeError, match="CUDA error in cu[A-Z][A-Za-z]*: CUDA_ERROR_INVALID_VALUE, invalid argument"):
                work()
            assert torch.equal(work(), expected)
        assert settled(simulation) <= before + 8


def test_a_lost_device(simulation):
    x = torch.ones(3, device="cuda")
    torch.cuda.synchronize()  # a lost device drops work that it has not executed
    simulation.fail("cuLaunchKernel", 1, 719)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="CUDA_ERROR_LAUNCH_FAILED, unspecified launch failure"):
            (x + 1).cpu()
    simulation.repair()
    assert (x + 1).tolist() == [2, 2, 2]


def test_orders_of_streams(simulation):
    host = torch.arange(12.0).reshape(3, 4)
    expected = ((host + 1) * 2).t().contiguous()
    for seed in range(1000):
        simulation.seed(seed)
        x = host.cuda()
        y = ((x + 1) * 2).to("cuda:1")
        x.fill_(0)
        z = y.t().contiguous()
        y.zero_()
        assert torch.equal(z.to("cuda:0").cpu(), expected), seed


@pytest.mark.usefixtures("simulation", "collected")
def test_the_account():
    before = torch.cuda.memory_allocated()
    x = torch.zeros(1000, device="cuda")
    assert torch.cuda.memory_allocated() == before + 4096 and torch.cuda.max_memory_allocated() >= before + 4096
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    free, total = torch.cuda.mem_get_info()
    assert total == 8 << 30 and free <= total - torch.cuda.memory_reserved()
    del x
    torch.empty(0)
    assert torch.cuda.memory_allocated() == before and torch.cuda.memory_reserved() >= before + 4096
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before


def test_nested_accounts():
    x = torch.ones(1024, device="cuda:1")
    stats = torch.cuda.memory_stats_as_nested_dict(1)
    assert stats["allocated_bytes"]["all"]["current"] == torch.cuda.memory_allocated(1) >= x.nbytes
    assert stats["num_ooms"] == torch.cuda.memory_stats(1)["num_ooms"]


def test_synchronize(simulation):
    x = torch.ones(3, device="cuda") + 1
    torch.cuda.synchronize()
    torch.cuda.synchronize(1)  # whose work other tests may have left
    assert simulation.live()[2] == 0 and x.tolist() == [2, 2, 2]
    simulation.fail("cuCtxSynchronize", 1, 719)
    with pytest.raises(RuntimeError, match="device_synchronize: CUDA error in cuCtxSynchronize: CUDA_ERROR_LAUNCH_FAILED"):
        torch.cuda.synchronize()
