"""Profiles of operators."""

import json
import threading

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.autograd import profiler as legacy
from libtensor.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler


def run():
    x = torch.ones(4, 3)
    return (x @ x.mT).relu() + 1


def test_calls_are_counted_by_name():
    with profile(activities=[ProfilerActivity.CPU]) as made:
        run()
        run()
    counts = {e.key: e.count for e in made.key_averages()}
    assert counts["aten::matmul"] == counts["aten::relu"] == counts["aten::add"] == counts["aten::ones"] == 2
    events = made.events()
    assert [e.name for e in events] == [e.name for e in events[: len(events) // 2]] * 2
    assert all(e.cpu_time_total >= e.self_cpu_time_total >= 0 for e in events)


def test_nothing_is_recorded_outside():
    with profile() as made:
        run()
    before = len(made.events())
    run()
    with record_function("outside"):
        run()
    assert len(made.events()) == before
    with profile() as other:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert not other.events()


def test_shapes_bytes_and_stacks():
    with profile(record_shapes=True, profile_memory=True, with_stack=True) as made:
        x = torch.ones(1000, 3)
        y = torch.add(x, x)
    ones, add = made.events()
    assert add.input_shapes == [[1000, 3], [1000, 3]] and add.input_dtypes == ["float32", "float32"]
    assert ones.cpu_memory_usage >= x.nbytes and add.cpu_memory_usage >= y.nbytes
    assert any("test_shapes_bytes_and_stacks" in line for line in add.stack)
    by_shape = made.key_averages(group_by_input_shape=True)
    assert [[1000, 3], [1000, 3]] in [e.input_shapes for e in by_shape]
    assert "Input Shapes" in by_shape.table() and "CPU Mem" in by_shape.table()


def test_blocks_contain_calls():
    @record_function("decorated")
    def block():
        return run()

    with profile() as made, record_function("outer"):
        block()
    outer, inner = made.events()[:2]
    assert (outer.name, inner.name) == ("outer", "decorated") and outer.is_user_annotation
    assert inner.cpu_parent is outer and outer.cpu_children == [inner] and len(inner.cpu_children) == 5
    assert outer.cpu_time_total >= inner.cpu_time_total
    spent = sum(e.self_cpu_time_total for e in made.events())
    assert spent == pytest.approx(outer.cpu_time_total)


def test_tables_sort_and_limit():
    with profile() as made:
        for _ in range(3):
            run()
        torch.zeros(1)
    averages = made.key_averages()
    table = averages.table(sort_by="count", row_limit=1)
    assert "# of Calls" in table and "Self CPU time total" in table and "aten::zeros" not in table
    assert averages.table(sort_by="self_cpu_time_total", row_limit=-1).count("aten::") == len(averages)
    with pytest.raises(AttributeError, match="nothing"):
        averages.table(sort_by="nothing")
    assert averages.total_average().count == len(made.events())


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_chrome_traces(tmp_path, suffix):
    import gzip

    with profile(record_shapes=True) as made, record_function("block"):
        run()
    made.add_metadata("who", "me")
    path = tmp_path / f"trace.{suffix}"
    made.export_chrome_trace(str(path))
    trace = json.loads(gzip.decompress(path.read_bytes()) if suffix.endswith("gz") else path.read_text())
    spans = {e["name"]: e for e in trace["traceEvents"]}
    assert spans["block"]["cat"] == "user_annotation" and spans["aten::matmul"]["args"]["Input Dims"] == [[4, 3], [3, 4]]
    assert spans["block"]["ts"] <= spans["aten::matmul"]["ts"] and spans["aten::matmul"]["ph"] == "X" and trace["who"] == "me"


def test_schedules(tmp_path):
    action = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    expected = ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    assert [action(i).name for i in range(7)] == expected
    with pytest.raises(ValueError, match="active must be positive"):
        schedule(wait=1, warmup=1, active=0)
    ready = []

    def on_ready(made):
        ready.append([e.name for e in made.events() if e.is_user_annotation])
        tensorboard_trace_handler(str(tmp_path / "logs"), "worker")(made)

    with profile(schedule=schedule(wait=1, warmup=0, active=2), on_trace_ready=on_ready) as made:
        for _ in range(6):
            run()
            made.step()
    assert ready == [["ProfilerStep#1", "ProfilerStep#2"], ["ProfilerStep#4", "ProfilerStep#5"]]
    assert len(list((tmp_path / "logs").glob("worker.*.pt.trace.json"))) == 2
    assert made.current_action is ProfilerAction.NONE


def test_legacy_profiles():
    with legacy.profile(record_shapes=True) as made:
        nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3)).sum()
    assert "aten::linear" in {e.key for e in made.key_averages()} and "aten::linear" in str(made)
    assert made.self_cpu_time_total > 0 and made.total_average().count == len(made.function_events)
    with legacy.profile(enabled=False) as off:
        run()
    with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
        off.key_averages()
    with legacy.emit_nvtx(), legacy.emit_itt():
        run()


def test_errors_end_the_profile():
    with pytest.raises(KeyError), profile() as made:
        run()
        raise KeyError
    assert made.events() and not legacy._recorders
    with pytest.raises(RuntimeError), profile() as made:
        torch.ones(2) @ torch.ones(3)
    assert made.events()[-1].name == "aten::matmul"
