"""Profiles of operators."""

import json
import threading
from ctypes import c_int32, c_void_p, cast

import pytest

import libtensor as torch
from libtensor import nn
from libtensor._base.library import called_back, getter
from libtensor.autograd import profiler as legacy
from libtensor.export.operator_times import operator_table
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


@torch.library.custom_op("tests_profiler::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return (x + x).clone()


twice.register_fake(torch.empty_like)


class Model(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: twice(y).relu(), lambda y: y.sin() @ y, (x,)), torch.linalg.svdvals(x), x.max(0)


def test_operators_of_programs_are_recorded():
    x = torch.ones(3, 3)
    module = torch.export.export(Model(), (x,)).module()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as made:
        with record_function("run"):
            module(x)
        x.neg()
    events = made.events()
    names = [e.name for e in events]
    for name in ("aten::sum", "aten::relu", "aten::linalg_svdvals", "aten::max", "tests_profiler::twice", "aten::clone", "aten::neg"):
        assert names.count(name) == 1, (name, names)
    assert not {"aten::sin", "aten::matmul"} & set(names)
    by_name = {e.name: e for e in events}
    assert by_name["aten::relu"].input_shapes == [[3, 3]] and by_name["aten::relu"].cpu_parent is by_name["run"]
    assert by_name["aten::clone"].cpu_parent is by_name["tests_profiler::twice"] and by_name["aten::neg"].cpu_parent is None
    with profile(activities=[ProfilerActivity.CPU]) as made, torch.no_grad():
        module(-x)
    names = [e.name for e in made.events()]
    assert "aten::sin" in names and "aten::relu" not in names
    module(x)
    assert [e.name for e in made.events()] == names


@torch.library.custom_op("tests_profiler::outer", mutates_args=())
def outer(x: torch.Tensor, count: int = 1) -> torch.Tensor:
    return twice(x) + torch.ops.tests_profiler.twice(x) + torch.ops.tests_profiler.twice.default(x)


outer.register_fake(lambda x, count=1: torch.empty_like(x))


@pytest.mark.parametrize("call", [outer, torch.ops.tests_profiler.outer, torch.ops.tests_profiler.outer.default, "program"])
def test_custom_operators_that_others_call_are_recorded(call):
    x = torch.ones(2)
    run = torch.export.export(lambda x: torch.ops.tests_profiler.outer(x, 3), (x,)).module() if call == "program" else lambda x: call(x, 3)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as made:
        run(x)
    events = made.events()
    names = [e.name for e in events]
    assert names == ["tests_profiler::outer", *["tests_profiler::twice", "aten::add", "aten::clone"] * 2, "aten::add"] + names[8:]
    assert names.count("tests_profiler::twice") == 3 and names.count("aten::add") == 5
    assert {e.cpu_parent for e in events if e.name == "tests_profiler::twice"} == {events[0]}
    assert events[1].input_shapes == [[2]] and events[0].input_shapes == ([[2]] if call == "program" else [[2], []])


def test_a_failed_custom_operator_ends_in_the_profile():
    x = torch.ones(2)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as made:
        with pytest.raises(RuntimeError, match="expected at most"):
            outer(x, 1, 2)
        x.neg()
        twice(x)
    assert [(e.name, e.cpu_parent, e.input_shapes) for e in made.events()[:2]] == [
        ("aten::neg", None, [[2]]),
        ("tests_profiler::twice", None, [[2]]),
    ]


def test_operators_of_programs_of_other_threads_are_not_recorded():
    x = torch.ones(3, 3)
    module = torch.export.export(Model(), (x,)).module()
    started, ended = threading.Event(), threading.Event()

    def run_until_ended():
        while not ended.is_set():
            module(-x)
            started.set()

    thread = threading.Thread(target=run_until_ended)
    thread.start()
    started.wait()
    with profile(activities=[ProfilerActivity.CPU]) as made:
        for _ in range(20):
            module(x)
    ended.set()
    thread.join()
    names = [e.name for e in made.events()]
    assert names.count("aten::relu") == 20 and "aten::sin" not in names


def profiled(run):
    with profile(activities=[ProfilerActivity.CPU]):
        run()


@pytest.mark.parametrize("observed", [profiled, lambda run: operator_table(run, 0)], ids=["profile", "operator_table"])
def test_an_observer_of_the_process_is_called_again_after_a_program(observed):
    seen = []
    observe = called_back(None, c_void_p, c_void_p)(lambda *_: seen.append(1))
    set_observer = getter("tensor_set_observer", c_int32, c_void_p, c_void_p, c_void_p)
    module = torch.export.export(Model(), (torch.ones(3, 3),)).module()
    set_observer(cast(observe, c_void_p), None, None)
    try:
        observed(lambda: module(torch.ones(3, 3)))
        seen.clear()
        torch.ones(3).neg()
        assert seen
    finally:
        set_observer(None, None, None)


def test_operators_of_programs_that_fail_end():
    x = torch.ones(3, 3)
    module = torch.export.export(lambda x: torch.linalg.inv(x.exp()), (torch.eye(3),)).module()
    with profile(activities=[ProfilerActivity.CPU]) as made:
        with pytest.raises(torch.linalg.LinAlgError):
            module(x)
        x.neg()
    event = made.events()[-1]
    assert event.name == "aten::neg" and event.cpu_parent is None


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


def names_of(call):
    with profile(activities=[ProfilerActivity.CPU]) as made:
        call()
    return [(e.name, e.cpu_parent and e.cpu_parent.name) for e in made.events()]


@pytest.mark.parametrize(
    "call", [lambda x: twice(x), lambda x: torch.ops.tests_profiler.twice(x), lambda x: torch.ops.tests_profiler.twice.default(x)]
)
def test_custom_operators_contain_the_operators_of_their_kernels(call):
    x, name = torch.ones(3), "tests_profiler::twice"
    assert names_of(lambda: call(x)) == [(name, None), ("aten::add", name), ("aten::clone", name)]
    y = torch.ones(3, requires_grad=True)
    assert names_of(lambda: call(y)) == [(name, None), ("aten::add", name), ("aten::clone", name)]


def test_names_are_those_of_the_operators():
    x = torch.ones(2, 2)
    aten, linalg = torch.ops.aten, torch.linalg
    calls = {
        "aten::add": lambda: aten.add.Tensor(x, x),
        "aten::add_": lambda: aten.add_.Tensor(x, x),
        "aten::_to_copy": lambda: aten._to_copy.default(x, dtype=torch.float64),
        "aten::native_layer_norm": lambda: aten.native_layer_norm.default(x, [2], None, None, 1e-5),
        "aten::linalg_svd": lambda: aten.linalg_svd.default(x),
        "aten::linalg_qr": lambda: linalg.qr(x),
        "aten::special_expit": lambda: torch.special.expit(x),
        "aten::fft_fft": lambda: torch.fft.fft(x),
    }
    for name, call in calls.items():
        assert names_of(call) == [(name, None)]


def test_functions_of_the_runtime_are_not_recorded():
    x = torch.ones(3, requires_grad=True)
    assert names_of(lambda: (torch.is_grad_enabled(), x.requires_grad, x.is_leaf, x.untyped_storage().data_ptr(), x._version)) == []
