"""Programs of PyTorch with operators that return nothing: writes to lists of tensors, and checks that tokens order."""

import contextlib
import io
import signal
import threading

import exported_writer as w
import pytest

import libtensor as torch
from libtensor.export import load


def program_of(nodes, metas, outputs, **options):
    return load(io.BytesIO(w.archive(w.model(metas, nodes, outputs, **options))))


@pytest.mark.parametrize("name", ["_foreach_add_.Scalar", "_foreach_mul_.Scalar"])
def test_writes_to_lists(name):
    nodes = [
        w.aten("t.default", "turned", "x"),
        w.aten(name, None, w.tensors("turned", "y"), 2.0),
        w.aten("add.Tensor", "sum", "x", "y"),
    ]
    values = {"turned": w.meta("float32", [2, 2], [1, 2]), "sum": w.meta("float32", [2, 2])}
    program = program_of(nodes, {"x": w.meta("float32", [2, 2]), "y": w.meta("float32", [2])}, ["sum"], values=values)
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([5.0, 6.0])
    expected = (x + 2 + y + 2) if "add" in name else (x * 2 + y * 2)
    for each in (program, program.run_decompositions(), program.run_decompositions({})):
        ours = x.clone(), y.clone()
        assert each.module()(*ours).tolist() == expected.tolist() and ours[1].tolist() != y.tolist()
    assert not any("_." in name for name in program.run_decompositions().operators)


@pytest.mark.parametrize("name", ["inv", "solve", "det", "slogdet"])
def test_tokens_pass_through(name):
    def effect(token, of, info):
        operator = {"as_operator": "torch.ops.aten._linalg_check_errors.default"}
        return w.node(
            "torch.ops.higher_order.with_effects",
            [w.tensor(token), {"as_none": True}],
            of,
            operator,
            info,
            {"as_string": f"linalg.{name}"},
            is_matrix=True,
        )

    singular, regular = torch.zeros(2, 2), torch.tensor([[2.0, 1.0], [0.0, 4.0]])
    if name in ("det", "slogdet"):
        results = [w.tensor(x) for x in (["y", "LU", "pivots"] if name == "det" else ["sign", "y", "LU", "pivots"])]
        nodes = [w.aten(f"_linalg_{name}.default", results, "x")]
        expected = torch.tensor(8.0) if name == "det" else torch.tensor(8.0).log()
    elif name == "inv":
        results = [w.tensor("y"), w.tensor("info")]
        nodes, expected = [w.aten("linalg_inv_ex.default", results, "x"), effect("after", "token", "info")], regular.inverse()
    else:
        results = [w.tensor(x) for x in ("y", "LU", "pivots", "info")]
        nodes = [w.aten("_linalg_solve_ex.default", results, "x", "x"), effect("after", "token", "info"), effect("last", "after", "info")]
        expected = torch.eye(2)
    values = {"y": w.meta("float32", list(expected.shape)), "info": w.meta("int32", [])}
    text = w.model({"x": w.meta("float32", [2, 2])}, nodes, ["y"], values=values)
    graph, signature = text["graph_module"]["graph"], text["graph_module"]["signature"]
    graph["inputs"].insert(0, w.tensor("token"))
    signature["input_specs"].insert(0, {"token": {"arg": {"name": "token"}}})
    program = load(io.BytesIO(w.archive(text)))
    assert torch.allclose(program.module()(regular), expected)
    if name in ("inv", "solve"):
        with pytest.raises(torch.linalg.LinAlgError, match=f"linalg.{name}: .* the matrix failed: it is singular"):
            program.module()(singular)


def test_a_program_that_writes_to_buffers_cannot_run_itself():
    """Its operators receive an error, after which it runs as before."""
    inner = []

    @torch.library.custom_op("tests_effects::again", mutates_args=())
    def again(x: torch.Tensor) -> torch.Tensor:
        return inner[0](x) if inner else x.clone()

    again.register_fake(torch.empty_like)

    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return again(x) + self.count

    module = torch.export.export(Counter(), (torch.ones(2),)).module()
    other = torch.export.export(Counter(), (torch.ones(2),)).module()
    inner.append(module)
    with pytest.raises(RuntimeError, match=r"writes to its state \('count'\) and is running on this thread; its operators cannot run it"):
        module(torch.ones(2))
    inner[:] = [lambda x: other(x) if inner.clear() is None else x]
    assert module(torch.ones(2)).tolist() == [4, 4]  # another program runs, whose operator is called without an inner one
    assert module(torch.ones(2)).tolist() == [4, 4]


def counting(name, function):
    """Returns the module of a program that writes to its buffer, and whose operator calls a function."""

    @torch.library.custom_op(f"tests_effects::{name}", mutates_args=())
    def call(x: torch.Tensor) -> torch.Tensor:
        return function[0](x)

    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer(name, torch.zeros(()))

        def forward(self, x):
            getattr(self, name).add_(1)
            return call(x) + getattr(self, name)

    function.append(torch.clone)
    module = torch.export.export(Counter(), (torch.ones(2),)).module()
    getattr(module, name).zero_()
    return module


def run_all(*calls):
    """Returns what functions return or raise, each of which runs on its own thread."""
    made = [None] * len(calls)

    def run(i):
        try:
            made[i] = calls[i]()
        except Exception as error:
            made[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return made


@pytest.mark.parametrize("count", [2, 3])
def test_programs_whose_operators_run_each_other_do_not_wait_for_each_other(count):
    """On one thread and on several, of which each runs another one first: one run is an error that names the state, and the others complete
    or have the error of their operator."""
    functions = [[] for _ in range(count)]
    modules = [counting(f"state{count}{i}", function) for i, function in enumerate(functions)]
    x = torch.ones(2)
    for i, function in enumerate(functions):
        function[0] = modules[(i + 1) % count]
    with pytest.raises(RuntimeError, match=rf"writes to its state \('state{count}0'\) and is running on this thread"):
        modules[0](x)
    barrier = threading.Barrier(count)

    def enter(i):
        def run(x):
            if not barrier.broken:
                with contextlib.suppress(threading.BrokenBarrierError):
                    barrier.wait()
                barrier.abort()
            return modules[(i + 1) % count](x) if threading.current_thread() is not threading.main_thread() else x.clone()

        return run

    for i, function in enumerate(functions):
        function[0] = enter(i)
    made = run_all(*[lambda module=module: module(x) for module in modules])
    errors = [str(error) for error in made if isinstance(error, Exception)]
    assert errors and all("writes to its state ('state" in text for text in errors)
    assert any("is running on another thread, which waits for a program that is running on this thread" in text for text in errors)
    for function in functions:
        function[0] = torch.clone
    before = [getattr(module, f"state{count}{i}").item() for i, module in enumerate(modules)]
    for known, module in zip(before, modules, strict=True):
        assert module(x).tolist() == [known + 2] * 2


def test_threads_run_programs_one_after_the_other():
    """A program that another thread runs is waited for, also by the operator of another program."""
    first, second = [], []
    one, two = counting("first", first), counting("second", second)
    x = torch.ones(2)
    first[0] = two  # programs of one direction: no circle
    made = run_all(*[lambda module=module: [module(x) for _ in range(50)] for module in (one, two, one, two)])
    assert not any(isinstance(result, Exception) for result in made)
    assert one.first.item() == 100 and two.second.item() == 200
    first.clear()


def test_a_run_that_waits_can_be_interrupted():
    function, entered, done = [], threading.Event(), threading.Event()
    module = counting("waiting", function)

    def hold(x):
        entered.set()
        done.wait(60)
        return x.clone()

    def interrupt(*_):
        raise InterruptedError("enough")

    function[0] = hold
    thread = threading.Thread(target=module, args=(torch.ones(2),))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        thread.start()
        entered.wait(60)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(InterruptedError, match="enough"):
            module(torch.ones(2))
    finally:
        signal.signal(signal.SIGALRM, before)
        done.set()
        thread.join()
    function[0] = torch.clone
    assert module(torch.ones(2)).tolist() == [3, 3]
