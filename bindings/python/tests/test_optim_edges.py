"""Optimizers and schedulers at the edge of their arguments."""

import math

import pytest

import libtensor as torch
from libtensor import nn, optim


def test_lbfgs_diverges_without_nan():
    torch.manual_seed(0)
    w = nn.Parameter(torch.randn(10, 5))
    x = torch.randn(5)
    optimizer = optim.LBFGS([w], lr=0.01, maximize=True)

    def closure():
        optimizer.zero_grad()
        loss = w.mv(x).pow(2).sum()
        loss.backward()
        return loss

    for _ in range(20):
        optimizer.step(closure)
    assert closure().item() == math.inf


def test_lbfgs_without_gradients_and_with_older_states():
    w = torch.ones(3)
    optimizer = optim.LBFGS([w], tolerance_grad=-math.inf)
    assert optimizer.step(lambda: torch.tensor([10.0])).item() == 10 and w.tolist() == [1, 1, 1]
    state = optimizer.state_dict()
    del state["param_groups"][0]["maximize"]
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["maximize"] is False and optimizer.step(lambda: torch.tensor(10.0)).item() == 10


@pytest.mark.parametrize(("name", "ratio"), [("original", 1), ("spectral_unclamped", 0.5), ("match_rms_adamw", 0.2 * math.sqrt(8))])
def test_muon_adjusts_the_learning_rate(name, ratio):
    torch.manual_seed(0)
    start, grad = torch.randn(2, 8), torch.randn(2, 8)

    def step(**options):
        w = nn.Parameter(start.clone())
        w.grad = grad
        optim.Muon([w], weight_decay=0, **options).step()
        return start - w.detach()

    assert torch.allclose(step(lr=0.1, adjust_lr_fn=name), step(lr=0.1) * ratio, atol=1e-6)


def test_a_set_of_parameters_warns():
    with pytest.warns(FutureWarning, match="ordered collections"):
        optim.SGD({nn.Parameter(torch.ones(1))})


def test_fused_updates_reject_the_meta_device():
    w = nn.Parameter(torch.ones(2, device="meta"))
    for kind in (optim.SGD, optim.Adam, optim.Adagrad):
        optimizer = kind([w], fused=True)
        w.grad = torch.ones_like(w)
        with pytest.raises(RuntimeError, match="fused=True.*meta"):
            optimizer.step()


@pytest.mark.parametrize("kind", ["CyclicLR", "OneCycleLR", "SWALR"])
def test_schedulers_copy_numbers_in_tensors(kind):
    given = {
        name: torch.tensor(value) for name, value in (("base_momentum", 0.8), ("max_momentum", 0.9), ("max_lr", 0.2), ("swa_lr", 0.05))
    }
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.5)
    if kind == "SWALR":
        optim.swa_utils.SWALR(optimizer, swa_lr=given["swa_lr"])
    else:
        options = {"base_lr": 0.1} if kind == "CyclicLR" else {"total_steps": 10}
        names = ("max_lr", "base_momentum", "max_momentum")
        getattr(optim.lr_scheduler, kind)(optimizer, **{name: given[name] for name in names}, **options)
    group = optimizer.param_groups[0]
    before = {name: float(group[name]) for name in given if name in group}
    for value in given.values():
        value.zero_()
    assert before and {name: float(group[name]) for name in before} == before
