"""torch.utils: names that packages import, swapped tensors, weak dictionaries, context managers that decorate, measurements."""

import gc
import importlib
import sys

import pytest

import libtensor as torch
from libtensor.utils import _contextlib, benchmark, collect_env, weak

INERT = {
    "cpp_extension": ("load", "CppExtension", "load_inline"),
    "mobile_optimizer": ("optimize_for_mobile",),
    "mkldnn": ("to_mkldnn",),
    "bundled_inputs": ("bundle_inputs",),
    "throughput_benchmark": ("ThroughputBenchmark",),
    "backend_registration": ("rename_privateuse1_backend",),
}


@pytest.mark.parametrize("module", INERT)
def test_names_that_are_not_supported_raise_when_used(module):
    found = importlib.import_module(f"libtensor.utils.{module}")
    assert getattr(torch.utils, module) is found
    for name in INERT[module]:
        with pytest.raises(NotImplementedError, match=f"torch.utils.{module}.{name}: "):
            getattr(found, name)()


def test_modules_load_when_they_are_asked_for():
    for name in torch.utils.__all__:
        if name != "tensorboard":
            assert getattr(torch.utils, name) is not None
    assert torch.utils.backcompat.broadcast_warning.enabled is False and torch.utils.cpp_backtrace.get_cpp_backtrace() == ""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        torch.utils.nothing  # noqa: B018


def test_tensorboard_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.delitem(sys.modules, "libtensor.utils.tensorboard", raising=False)
    with pytest.raises(ImportError, match="requires the package tensorboard"):
        importlib.import_module("libtensor.utils.tensorboard")


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from libtensor.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(step / 2), step)
        writer.add_histogram("weights", torch.arange(10.0), 1)
        writer.add_text("note", "hello", 2)
        writer.add_scalars("both", {"a": 1, "b": 2}, 0)
    found = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in found.Scalars("loss")] == [(0, 0), (1, 0.5), (2, 1)]
    histogram = found.Histograms("weights")[0].histogram_value
    assert (histogram.num, histogram.min, histogram.max, sum(histogram.bucket)) == (10, 0, 9, 10)
    assert found.Tensors("note/text_summary")[0].tensor_proto.string_val == [b"hello"] and (tmp_path / "both_a").is_dir()


def test_swapped_tensors():
    weight, other = torch.nn.Parameter(torch.ones(2)), torch.zeros(3, dtype=torch.int64)
    other.title = "x"
    weight.requires_grad_(False)
    address = other.data_ptr()
    torch.utils.swap_tensors(weight, other)
    assert type(weight) is torch.Tensor and weight.dtype is torch.int64 and weight.data_ptr() == address and weight.title == "x"
    assert isinstance(other, torch.nn.Parameter) and other.tolist() == [1, 1] and not hasattr(other, "title")
    with pytest.raises(RuntimeError, match="grad_fn"):
        torch.utils.swap_tensors(torch.ones(2, requires_grad=True) * 2, torch.ones(2))


def test_weak_dictionaries():
    key, same = torch.ones(2), torch.ones(2)
    table = weak.WeakTensorKeyDictionary({key: 1})
    assert table[key] == 1 and key in table and same not in table and len(table) == 1
    table[same] = 2
    del key
    gc.collect()
    assert list(table.values()) == [2]


class Count(_contextlib._DecoratorContextManager):
    inside = entered = 0

    def __enter__(self):
        Count.inside += 1
        Count.entered += 1

    def __exit__(self, *_):
        Count.inside -= 1


def test_context_managers_decorate_functions_and_generators():
    @Count()
    def function():
        return Count.inside

    @Count()
    def generator():
        got = yield Count.inside
        yield got, Count.inside
        return "end"

    assert function() == 1 and Count.inside == 0
    made = generator()
    assert next(made) == 1 and Count.inside == 0 and made.send("x") == ("x", 1) and Count.inside == 0
    with pytest.raises(StopIteration, match="end"):
        next(made)
    assert Count.inside == 0


def test_measurements():
    seconds = [0.0]  # a clock that only the statement moves
    statement, given = "clock[0] += x * y", {"x": 1e-6, "clock": seconds}
    timer = benchmark.Timer(statement, "y = 2", timer=lambda: seconds[0], globals=given, label="sum", sub_label="ints", description="first")
    measured = timer.blocked_autorange(min_run_time=0.01)
    assert measured.median == pytest.approx(2e-6) and measured.number_per_run == 10 and len(measured.times) in (500, 501)
    assert "sum: ints" in repr(measured)
    second = benchmark.Timer("1", label="sum", sub_label="ints", description="second").timeit(100)
    table = str(benchmark.Compare([measured, second]))
    assert "first" in table and "second" in table and table.splitlines()[0].startswith("[") and "Times are in" in table
    assert benchmark.Timer("1").adaptive_autorange(max_run_time=0.2).times
    merged = benchmark.Measurement.merge([second, second])
    assert len(merged) == 1 and len(merged[0].times) == 2
    with pytest.raises(NotImplementedError, match=r"C\+\+"):
        benchmark.Timer("1;", language="c++")


def test_the_report_names_the_library():
    assert "python version" in collect_env.get_pretty_env_info() and collect_env.get_env_info().cpu_count
