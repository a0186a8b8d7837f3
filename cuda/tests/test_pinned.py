"""Pinned memory of the host, and copies that go on while the program does."""

import pytest

import libtensor as torch


def test_pinned_tensors(simulation):
    x = torch.arange(12.0).reshape(3, 4)
    y = x.t().pin_memory()
    assert y.is_pinned() and not x.is_pinned() and torch.equal(y, x.t()) and y.stride() == (1, 4) and y.pin_memory() is y
    assert y[1:].is_pinned() and y.untyped_storage().is_pinned() and y.untyped_storage()[4:8].is_pinned() and not y.clone().is_pinned()
    y += 1
    assert torch.equal(y, x.t() + 1) and y.device == torch.device("cpu")
    s = x.untyped_storage().pin_memory()
    assert s.is_pinned() and s.tolist() == x.untyped_storage().tolist()
    for made in (torch.zeros(3, pin_memory=True), torch.tensor([1, 2], pin_memory=True), torch.empty(0, pin_memory=True)):
        assert made.is_pinned() or not made.numel()
    z = torch.ones(2, pin_memory=True, requires_grad=True, names=("a",))
    assert z.is_pinned() and z.requires_grad and z.is_leaf and z.names == ("a",)
    assert x.new_tensor([1, 2], pin_memory=True).is_pinned()
    with pytest.raises(RuntimeError, match="not resizable: it is pinned memory"):
        torch.zeros(3, pin_memory=True).resize_(100)
    for wrong in (torch.ones(2, device="cuda"), torch.ones(2, device="meta")):
        with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned, not one on"):
            wrong.pin_memory()


@pytest.mark.parametrize("n", [5, 400_000], ids=str)
def test_pageable_memory_has_been_read(simulation, n):
    """The memory of a tensor that is not pinned can be changed after the call, which copies a small one and waits for a large one."""
    for seed in range(20):
        simulation.seed(seed)
        x = torch.ones(n)
        copies = x.to("cuda", non_blocking=True), torch.zeros(n, device="cuda").copy_(x, non_blocking=True), x.cuda()
        x.fill_(7)
        assert all(y.cpu().eq(1).all() for y in copies), seed
        made = [torch.tensor([seed] * n, device="cuda") for _ in range(3)]
        assert all(y.cpu().eq(seed).all() for y in made)


def test_small_uploads_do_not_wait(simulation):
    x = torch.ones(5)
    x.cuda()
    before = simulation.calls("cuStreamSynchronize")
    kept = [x.cuda() for _ in range(5)], torch.tensor([1, 2], device="cuda")
    assert kept and simulation.calls("cuStreamSynchronize") == before


def test_gradients_flow_through():
    x = torch.ones(3, requires_grad=True)
    (x.pin_memory() * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.usefixtures("collected")
def test_pinned_memory_is_used_again_and_given_back(simulation):
    before, calls = simulation.live()[1], simulation.calls("cuMemHostAlloc")
    for _ in range(20):
        torch.ones(1000, pin_memory=True)
    torch.empty(0)
    assert simulation.calls("cuMemHostAlloc") <= calls + 2
    torch.cuda.empty_cache()
    assert simulation.live()[1] == before


def test_copies_go_on_while_the_program_does(simulation):
    """A copy from pinned memory reads it later, and one to it writes later: not so without non_blocking, nor for other memory."""
    early = late = 0
    for seed in range(60):
        simulation.seed(seed)
        x = torch.ones(100, pin_memory=True)
        y = x.to("cuda", non_blocking=True)
        x.fill_(2)
        late += y.sum().item() != 100
        x.fill_(3)
        z = torch.zeros(100, pin_memory=True).copy_(x.cuda(), non_blocking=True)
        early += z.sum().item() != 300
        torch.cuda.synchronize()
        assert z.sum().item() == 300
        for host in (torch.ones(100, pin_memory=True), torch.ones(100)):
            there = host.cuda()
            host.zero_()
            assert there.sum().item() == 100 and there.cpu().sum().item() == 100
        host = torch.ones(100)
        there = host.to("cuda", non_blocking=True)
        host.zero_()
        assert torch.zeros(100).copy_(there, non_blocking=True).sum().item() == 100
    assert early and late


def test_results_on_the_host_are_pinned_where_nobody_waits(simulation):
    x = torch.arange(6.0, device="cuda").reshape(2, 3).t()
    y = x.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    assert y.is_pinned() and torch.equal(y, x.cpu()) and y.stride() == x.stride() and not x.cpu().is_pinned()
    z = x.to("cpu", torch.int32, non_blocking=True)
    torch.cuda.synchronize()
    assert z.dtype == torch.int32 and z.tolist() == x.tolist()


def test_memory_that_a_copy_still_uses_is_not_used_again(simulation):
    for seed in range(200):
        simulation.seed(seed)
        s = torch.cuda.Stream()
        with s:
            x = torch.full((1000,), 5.0).pin_memory()
            y = x.to("cuda", non_blocking=True)
            del x
            torch.full((1000,), 7.0).pin_memory()
            assert y.sum().item() == 5000, seed
            z = y.to("cpu", non_blocking=True)
            del z
            w = torch.full((1000,), 8.0).pin_memory()
            s.synchronize()
            assert w.sum().item() == 8000, seed
