"""Small modules: masked.logaddexp, testing.assert_allclose, func, accelerator and cpu."""

import math

import pytest

import libtensor as torch
from libtensor import func, nn


def test_masked_logaddexp():
    a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 1.0, 0.0])
    made = torch.masked.logaddexp(a, b, input_mask=torch.tensor([True, False, True]), other_mask=torch.tensor([True, False, False]))
    assert made[0] == torch.logaddexp(a[0], b[0]) and made[1] == -math.inf and made[2] == 3


def test_assert_allclose_ignores_dtypes():
    with pytest.warns(FutureWarning, match="assert_close"):
        torch.testing.assert_allclose(torch.ones(2, dtype=torch.float64), [1.0, 1.0])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="own text"):
        torch.testing.assert_allclose(torch.ones(2), [1.0, 2.0], msg="own text")


def test_batch_norm_without_statistics_under_vmap():
    net = nn.Sequential(nn.BatchNorm1d(3), nn.InstanceNorm1d(2, track_running_stats=True))
    assert func.replace_all_batch_norm_modules_(net) is net
    assert net[0].running_mean is None and net[0].num_batches_tracked is None and net[1].running_mean is not None
    x = torch.randn(4, 5, 3)
    assert torch.allclose(func.vmap(net[0])(x)[1], net[0](x[1]), atol=1e-6)


def test_functionalize_computes_the_function():
    x = torch.ones(2, 2)
    assert func.functionalize(lambda x: x.view(-1).add_(1), remove="mutations_and_views")(x).tolist() == [2, 2, 2, 2]
    with pytest.raises(RuntimeError, match="remove"):
        func.functionalize(len, remove="all")


def test_accelerator_names():
    assert torch.accelerator.memory_allocated() == 0 or torch.accelerator.is_available()
    for name in torch.accelerator.__all__:
        assert callable(getattr(torch.accelerator, name))
    with pytest.raises(AttributeError, match="nothing_such"):
        torch.accelerator.nothing_such  # noqa: B018


def test_streams_of_the_cpu_are_in_order():
    stream = torch.cpu.current_stream()
    with torch.cpu.stream(stream):
        event = stream.record_event()
    assert event.query() and torch.cpu.is_initialized() and isinstance(stream, torch.cpu.Stream)
