"""Sobol sequences, with points that PyTorch draws."""

import pytest

import libtensor as torch
from libtensor.quasirandom import SobolEngine


def test_points_are_those_of_pytorch():
    engine = SobolEngine(3)
    assert engine.draw().tolist() == [[0, 0, 0]]
    assert engine.draw(2).tolist() == [[0.5, 0.5, 0.5], [0.75, 0.25, 0.25]]
    assert engine.num_generated == 3 and repr(engine) == "SobolEngine(dimension=3)"
    engine = SobolEngine(3, scramble=True, seed=1)
    assert engine.sobolstate[:, :2].tolist() == [[699466964, 415565209], [817785499, 782399859], [651659468, 873090820]]
    assert engine.shift.tolist() == [287468019, 388430972, 764873974] and repr(engine) == "SobolEngine(dimension=3, scramble=True, seed=1)"
    assert torch.allclose(
        engine.draw(3), torch.tensor([[0.2677, 0.3618, 0.7123], [0.8840, 0.6187, 0.1758], [0.5053, 0.1442, 0.9889]]), atol=1e-4
    )
    assert engine.fast_forward(5).num_generated == 8 and engine.quasi.tolist() == [482076921, 687612296, 834873839]


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 7, 40])
def test_parts_are_the_whole(dimension, scramble):
    make = lambda: SobolEngine(dimension, scramble=scramble, seed=3)  # noqa: E731
    whole = make().draw(33, dtype=torch.float64)
    parts = make()
    assert torch.equal(torch.cat([parts.draw(n, dtype=torch.float64) for n in (0, 1, 2, 9, 0, 21)]), whole)
    assert torch.equal(make().fast_forward(10).draw(5, dtype=torch.float64), whole[10:15])
    assert torch.equal(parts.reset().draw(4, dtype=torch.float64), whole[:4])
    assert ((whole >= 0) & (whole < 1)).all()
    filled = torch.empty(0, dtype=torch.float64)
    assert make().draw(33, out=filled) is filled and torch.equal(filled, whole.float().double())


@pytest.mark.parametrize("scramble", [False, True])
def test_points_are_balanced(scramble):
    """2**m points have one in each of 2**m intervals, in every dimension."""
    points = SobolEngine(200, scramble=scramble, seed=0).draw_base2(8, dtype=torch.float64)
    assert torch.equal((points * 256).floor().sort(0).values, torch.arange(256, dtype=torch.float64)[:, None].expand(-1, 200))


def test_limits():
    last = SobolEngine.MAXDIM
    assert SobolEngine(last).draw(4).shape == (4, last)
    for dimension in (0, last + 1):
        with pytest.raises(ValueError, match=rf"Supported range of dimensionality for SobolEngine is \[1, {last}\]"):
            SobolEngine(dimension)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="require n to be a power of 2. 3 points have been previously generated"):
        engine.draw_base2(2)
    with pytest.raises(ValueError, match="non-negative"):
        engine.draw(-1)
    with pytest.raises(NotImplementedError, match="floating-point"):
        engine.draw(dtype=torch.int64)
    state = torch.zeros(4, 30, dtype=torch.int64)
    assert torch._sobol_engine_initialize_state_(state, 4) is state and state[3, :3].tolist() == [536870912, 805306368, 134217728]
