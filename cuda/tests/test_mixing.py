"""Tensors of the CPU beside those of a device: numbers join, all else is refused by naming both devices, and nothing changes."""

import copy
import pickle
import re

import pytest

import libtensor as torch

X = torch.arange(6.0)
NUMBER = torch.tensor(2.0)

JOINING = {
    "add": lambda x, c: x + c,
    "radd": lambda x, c: c - x,
    "in place": lambda x, c: x.mul_(c),
    "where": lambda x, c: torch.where(x > 2, c, x),
    "clamp": lambda x, c: torch.clamp(x, c, torch.tensor(3.0)),
    "masked_fill": lambda x, c: x.masked_fill(x > 2, c),
    "index_fill": lambda x, c: x.index_fill(0, (x[:2] * 2).long(), c),
    "index_put": lambda x, c: x.index_put(((x[:3] // 2).long(),), c, accumulate=True),
    "setitem": lambda x, c: x.index_put_(((x[1:3]).long(),), c),
    "mask": lambda x, c: x.index_put_((x > 2,), c.double()),
    "searchsorted": lambda x, c: torch.searchsorted(x, c),
    "searchsorted number": lambda x, c: torch.searchsorted(x, 2.5, right=True),
    "bucketize": lambda x, c: torch.bucketize(c, x),
    "bucketize number": lambda x, c: torch.bucketize(7, x, out_int32=True),
    "isin": lambda x, c: torch.isin(x, c),
    "isin number": lambda x, c: torch.isin(x, 2),
    "number isin": lambda x, c: torch.isin(2.0, x),
}


@pytest.mark.parametrize("name", ("add", "mul", "div"))
@pytest.mark.parametrize("dtype", (torch.int64, torch.float32, torch.complex64))
@pytest.mark.parametrize("place", ("cpu", "cuda"))
def test_numbers_join_lists(name, dtype, place):
    number = torch.tensor(2, dtype=torch.float32 if name == "div" and dtype == torch.int64 else dtype)
    each, in_place = (
        getattr(torch, f"_foreach_{name}"),
        getattr(torch, f"_foreach_{name}_"),
    )
    there = [X.to(dtype).cuda(), X[:2].to(dtype).cuda()]
    expected = each([t.cpu() for t in there], number)
    assert all(torch.equal(t.cpu(), e) for t, e in zip(each(there, number.to(place)), expected, strict=True))
    if expected[0].dtype == dtype:
        in_place(there, number.to(place))
        assert all(torch.equal(t.cpu(), e) for t, e in zip(there, expected, strict=True))


@pytest.mark.parametrize("name", JOINING)
def test_numbers_join(name):
    f = JOINING[name]
    here, there = f(X.clone(), NUMBER), f(X.cuda(), NUMBER)
    assert there.device == torch.device("cuda:0") and here.dtype == there.dtype and torch.equal(here, there.cpu())


INDEX = torch.tensor([0, 3])
REFUSED = {
    "add": lambda x, h: x + h,
    "add_": lambda x, h: x.add_(h),
    "of a number": lambda x, h: x + h[:1],
    "cat": lambda x, h: torch.cat([x, h]),
    "stack": lambda x, h: torch.stack([x, h]),
    "where": lambda x, h: torch.where(x > 2, h, x),
    "dot": lambda x, h: torch.dot(x, h),
    "addmm": lambda x, h: torch.addmm(NUMBER, x.view(2, 3), x.view(3, 2)),
    "searchsorted": lambda x, h: torch.searchsorted(x, h),
    "isin": lambda x, h: torch.isin(x, h),
    "gather": lambda x, h: x.gather(0, INDEX),
    "index_select": lambda x, h: x.index_select(0, torch.tensor(1)),
    "scatter_": lambda x, h: x.scatter_(0, INDEX, x),
    "scatter_reduce_": lambda x, h: x.scatter_reduce_(0, INDEX.cuda(), h, "amax", include_self=False),
    "index_put_": lambda x, h: x.index_put_((INDEX,), h[:2]),
    "index_copy_": lambda x, h: x.index_copy_(0, INDEX.cuda(), h[:2]),
    "masked_fill_": lambda x, h: x.masked_fill_(h > 1, 3),
    "masked_select": lambda x, h: x.masked_select(h > 1),
    "masked_scatter_": lambda x, h: x.masked_scatter_(x > 1, h),
    "bernoulli_": lambda x, h: x.bernoulli_(h / 9),
    "equal": lambda x, h: torch.equal(x, h),
    "meshgrid": lambda x, h: torch.meshgrid(x, h, indexing="ij"),
    "out": lambda x, h: torch.add(h, h, out=x),
    "of the number": lambda x, h: NUMBER.add_(x[2]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mixtures_are_rejected(name):
    x, h = X.cuda(), X.clone()
    with pytest.raises(RuntimeError, match=r"cuda:0.*\bcpu\b|\bcpu\b.*cuda:0") as error:
        REFUSED[name](x, h)
    assert re.search("device", str(error.value))
    assert torch.equal(x.cpu(), X) and torch.equal(h, X) and NUMBER.item() == 2


def test_two_devices_are_rejected():
    with pytest.raises(
        RuntimeError, match="add: expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1"
    ):
        X.cuda() + X.to("cuda:1")


@pytest.mark.parametrize("name", ["amax", "amin", "mean", "prod", "sum"])
@pytest.mark.parametrize("include_self", [True, False])
def test_a_rejected_scatter_changes_nothing(simulation, name, include_self):
    """Whichever call of the driver fails."""
    index, source = torch.tensor([1, 1, 4, 2]).cuda(), torch.tensor([7.0, -3.0, 2.0, 9.0]).cuda()

    def run(x):
        x.scatter_reduce_(0, index, source, name, include_self=include_self)

    run(X.cuda())
    simulation.fail_any()
    run(X.cuda())
    for at in range(simulation.all_calls() + 1):
        x = X.cuda()
        simulation.fail_any(at + 1, 1)
        try:
            run(x)
        except RuntimeError as error:
            assert "CUDA error" in str(error)
            simulation.fail_any()
            assert torch.equal(x.cpu(), X), (at, simulation.culprit())
        simulation.fail_any()


MASK = X > 2
MASKS = {
    "elements": lambda x, m: x[m],
    "a number": lambda x, m: x.__setitem__(m, 7),
    "numbers": lambda x, m: x.__setitem__(m, x[3:] * 2),
    "one element": lambda x, m: x.__setitem__(m, x[3:4] * 2),
    "bytes": lambda x, m: x[m.to(torch.uint8)],
    "put": lambda x, m: x.index_put_((m,), x[3:] + 1),
    "added": lambda x, m: x.index_put_((m,), x[3:] + 1, accumulate=True),
    "of two dimensions": lambda x, m: x.view(2, 3)[m.view(2, 3)],
    "written to two": lambda x, m: x.view(2, 3).__setitem__(m.view(2, 3), 5),
    "turned": lambda x, m: x.view(2, 3).t()[m.view(3, 2)],
    "of rows": lambda x, m: x.view(2, 3)[m[2:4]],
    "a truth": lambda x, m: x[m[5]],
}


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_the_cpu_index_a_device(name):
    f = MASKS[name]
    here, there, beside = X.clone(), X.cuda(), X.cuda()
    results = f(here, MASK), f(there, MASK), f(beside, MASK.cuda())
    assert torch.equal(there.cpu(), here) and torch.equal(beside.cpu(), here)
    if results[0] is not None:
        assert all(r.device == there.device and torch.equal(r.cpu(), results[0]) for r in results[1:])


@pytest.mark.parametrize("name", MASKS)
def test_masks_of_a_device_index_no_other(name):
    for x, mask in ((X.clone(), MASK.cuda()), (X.to("cuda:1"), MASK.cuda())):
        with pytest.raises(
            RuntimeError,
            match=rf"indices should be either on cpu or on the same device as the indexed tensor \({x.device}\), but an index is on cuda:0",
        ):
            MASKS[name](x, mask)
        assert torch.equal(x.cpu(), X)
    with pytest.raises(RuntimeError, match="masked_select: expected all tensors to be on the same device"):
        X.to("cuda:1").masked_select(MASK.cuda())
    assert torch.equal(X.cuda().exp().isfinite().cpu(), X.isfinite())  # the device works


def test_generators_have_a_device():
    assert torch.Generator(device="cuda").device == torch.device("cuda:0")
    assert torch.Generator(device="cuda:1").device == torch.device("cuda:1")
    assert torch.Generator().device == torch.device("cpu")
    g = torch.Generator("cuda:1").manual_seed(5)
    for other in (g.clone_state(), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert other.device == g.device and other.engine == "philox" and torch.equal(other.get_state(), g.get_state())
