"""Schedules of learning rates: each one's values by its formula, resumed, with warnings and errors."""

import math
import pickle

import pytest

import libtensor as torch
from libtensor.optim import lr_scheduler


def optimizer(lr=1.0, **options):
    return torch.optim.SGD([torch.ones(1)], lr=lr, momentum=0.9, **options)


def cosine(epoch, half):
    return (1 + math.cos(math.pi * epoch / half)) / 2


SCHEDULES = {
    "LambdaLR": (lambda o: lr_scheduler.LambdaLR(o, lambda e: 0.9**e), lambda e: 0.9**e),
    "MultiplicativeLR": (lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 1 / (e + 1)), lambda e: 1 / math.factorial(e + 1)),
    "StepLR": (lambda o: lr_scheduler.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
    "MultiStepLR": (lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 5], 0.5), lambda e: 1 if e < 2 else 0.5 if e < 5 else 0.125),
    "ConstantLR": (lambda o: lr_scheduler.ConstantLR(o, 0.25, 4), lambda e: 0.25 if e < 4 else 1),
    "LinearLR": (lambda o: lr_scheduler.LinearLR(o, 0.25, 1.0, 6), lambda e: min(1, 0.25 + 0.125 * e)),
    "ExponentialLR": (lambda o: lr_scheduler.ExponentialLR(o, 0.75), lambda e: 0.75**e),
    "PolynomialLR": (lambda o: lr_scheduler.PolynomialLR(o, 6, 2.0), lambda e: max(0, 1 - e / 6) ** 2),
    "CosineAnnealingLR": (lambda o: lr_scheduler.CosineAnnealingLR(o, 4, 0.5), lambda e: 0.5 + 0.5 * cosine(e, 4)),
    "CosineAnnealingWarmRestarts": (
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2),
        lambda e: cosine(e, 2) if e < 2 else cosine(e - 2, 4) if e < 6 else cosine(e - 6, 8),
    ),
    "CyclicLR": (lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, 4), lambda e: 0.1 + 0.1 * (4 - abs(e % 8 - 4))),
    "OneCycleLR": (
        lambda o: lr_scheduler.OneCycleLR(o, 5.0, 13, pct_start=5 / 13, anneal_strategy="linear", final_div_factor=1e10),
        lambda e: 0.2 + 1.2 * e if e < 4 else 5 * (12 - e) / 8,
    ),
    "SequentialLR": (
        lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.5), lr_scheduler.ExponentialLR(o, 0.5)], [3]),
        lambda e: 0.5 if e < 3 else 0.5 ** (e - 3),
    ),
    "ChainedScheduler": (
        lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(o, 0.5, 3), lr_scheduler.ExponentialLR(o, 0.5)]),
        lambda e: (0.5 if e < 3 else 1) * 0.5**e,
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_learning_rates_follow_their_formula(name):
    make, formula = SCHEDULES[name]
    o = optimizer()
    scheduler = make(o)
    for epoch in range(12):
        assert o.param_groups[0]["lr"] == pytest.approx(formula(epoch), abs=1e-9)
        assert scheduler.get_last_lr() == [o.param_groups[0]["lr"]]
        o.step()
        scheduler.step()


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_saved_schedule_goes_on(name):
    make, _ = SCHEDULES[name]
    first, second = optimizer(), optimizer()
    one, two = make(first), make(second)
    for _ in range(3):
        first.step()
        one.step()
    second.load_state_dict(first.state_dict())
    two.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
    for _ in range(5):
        for o, scheduler in ((first, one), (second, two)):
            o.step()
            scheduler.step()
        assert one.get_last_lr() == two.get_last_lr() and one.state_dict().keys() == two.state_dict().keys()


def test_a_plateau_lowers_the_learning_rate():
    o = optimizer()
    scheduler = lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1, min_lr=0.25)
    seen = []
    for loss in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        scheduler.step(loss)
        seen.append(o.param_groups[0]["lr"])
    assert seen == [1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25]


def test_a_learning_rate_in_a_tensor_is_written_to():
    lr = torch.tensor(1.0)
    o = optimizer(lr)
    held = o.param_groups[0]["lr"]
    scheduler = lr_scheduler.ExponentialLR(o, 0.5)
    o.step()
    scheduler.step()
    assert held.item() == 0.5 and scheduler.get_last_lr()[0] is not held and scheduler.base_lrs[0].item() == 1.0


def test_momentum_cycles_against_the_learning_rate():
    o = torch.optim.Adam([torch.ones(1)])
    scheduler = lr_scheduler.CyclicLR(o, 0.1, 0.5, 1, base_momentum=0.5, max_momentum=0.75)
    seen = []
    for _ in range(3):
        seen.append((o.param_groups[0]["lr"], o.param_groups[0]["betas"]))
        o.step()
        scheduler.step()
    assert seen == [(0.1, (0.75, 0.999)), (0.5, (0.5, 0.999)), (0.1, (0.75, 0.999))]


def test_warnings():
    scheduler = lr_scheduler.StepLR(optimizer(), 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        scheduler.get_lr()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(4)
    assert scheduler.get_last_lr() == [pytest.approx(0.01)]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda o: lr_scheduler.LambdaLR(o, []), "Expected 1 lr_lambdas, but got 0"),
        (lambda o: lr_scheduler.ConstantLR(o, 2), "Constant multiplicative factor"),
        (lambda o: lr_scheduler.LinearLR(o, 0), "Starting multiplicative factor"),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 0), "Expected positive integer T_0, but got 0"),
        (lambda o: lr_scheduler.CyclicLR(o, [1, 2], 3), "base_lr must have the same length"),
        (lambda o: lr_scheduler.OneCycleLR(o, 1), "You must define either total_steps"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=1.0), "Factor should be < 1.0."),
        (lambda o: lr_scheduler.SequentialLR(o, [], []), "expects at least one scheduler"),
        (lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(o, 1), lr_scheduler.StepLR(optimizer(), 1)]), "the same optimizer"),
    ],
    ids=["lambdas", "factor", "start", "T_0", "groups", "steps", "plateau", "none", "optimizers"],
)
def test_wrong_options_raise(make, text):
    with pytest.raises(ValueError, match=text):
        make(optimizer())


def test_a_resumed_schedule_needs_the_initial_learning_rate():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        lr_scheduler.StepLR(optimizer(), 2, last_epoch=3)
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr_scheduler.StepLR(3, 2)
