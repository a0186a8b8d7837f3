"""What an observer (tensor_set_observer) is notified of: one call for each operator, and nothing for functions of the runtime."""

import re
from ctypes import POINTER, c_bool, c_char_p, c_int32, c_void_p, cast
from pathlib import Path

import pytest
from test_calls_by_name import sample_arguments

import libtensor as torch
from libtensor import nn
from libtensor._base.events import Event
from libtensor._base.library import called_back, getter
from libtensor._higher_order_ops import scan, while_loop
from libtensor.library import calls

SCHEMA = Path(__file__).parents[3] / "engine/schema"
set_observer = getter("tensor_set_observer", c_int32, c_void_p, c_void_p, c_void_p)
is_unobserved = getter("tensor_is_unobserved", c_bool, c_char_p)


def observe(run):
    """Returns the names of the calls that begin during a run, with the number of calls that each is part of."""
    seen, depth = [], [0]

    def note(_, event):
        depth[0] -= event.contents.is_end
        if not event.contents.is_end:
            seen.append((event.contents.name.decode(), depth[0]))
        depth[0] += not event.contents.is_end

    observer = called_back(None, c_void_p, POINTER(Event))(note)
    set_observer(cast(observer, c_void_p), None, None)
    try:
        run()
    finally:
        set_observer(None, None, None)
    assert depth == [0]
    return seen


def entries(folder):
    """Returns the entries of the schemas in a folder, by the name of the function."""
    found = {}
    for file in sorted((SCHEMA / folder).glob("*.yaml")):
        for entry in re.split(r"\n(?=- func: )", file.read_text())[0:]:
            name = re.search(r"^- func: ([\w.]+(?::\w+)?)", entry, re.M)
            if name:
                found[name[1].replace(":", ".")] = entry
    return found


def test_observed_are_the_operators_of_the_schemas():
    operators, runtime = entries("operators"), entries("runtime")
    assert len(operators) > 700 and len(runtime) > 150
    hidden = {name for name in [*operators, *runtime] if is_unobserved(name.encode())}
    assert {name for name in runtime if name not in hidden} == {"backward", "autograd_grad", "detach_"}
    assert hidden - set(runtime) == {"data_ptr", "untyped_storage", "lend"}  # they return the memory of a tensor


@pytest.mark.filterwarnings("ignore")
def test_calls_by_name_are_one_call_each():
    observed = 0
    for name in calls.list_operators():
        info = calls.describe(name)[0]
        args = sample_arguments(info)
        if args is None or info.parameter_count == 0:
            continue
        made = []

        def run(name=name, args=args, made=made):
            try:
                made.append(calls.call_operator(name, args, {}))
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
                return

        seen = observe(run)
        assert len(seen) <= 1, (name, seen)
        if made and seen:
            observed += 1
            assert seen[0][0] in name or "." in seen[0][0] or calls.describe(seen[0][0]), (name, seen)
    assert observed > 500


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x, y):
        self.count.add_(1)
        y.mul_(2)
        view = x.view(-1)
        return x, view, self.weight, (x * self.weight).sum() + self.count, view.split(2)


@pytest.mark.parametrize("gradients", [False, True])
def test_operators_of_programs_are_one_call_each(gradients):
    program = torch.export.export(Counter(), (torch.ones(2, 3), torch.ones(3)))
    functional = program.run_decompositions()
    for each in (program, functional):
        module = each.module()
        count = sum(n for name, n in each.operators.items() if "getitem" not in name)
        x, y = torch.ones(2, 3), torch.ones(3)
        with torch.set_grad_enabled(gradients):
            seen = observe(lambda module=module, x=x, y=y: module(x, y))
        assert len(seen) == count and {depth for _, depth in seen} == {0}, (each.operators, seen)


CONTROL = {
    "cond": (lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos().exp(), (x,)), "sum gt sin"),
    "while_loop": (lambda x: while_loop(lambda x: x.sum() < 30, lambda x: (x * 2,), (x,)), "sum lt mul sum lt mul sum lt"),
    "scan": (lambda x: scan(lambda c, s: (c + s, c * s), x[0].clone(), x), "select clone add mul add mul add mul"),
}


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow_of_programs_is_not_observed(name):
    function, expected = CONTROL[name]
    x = torch.ones(3, 3)
    module = torch.export.export(function, (x,)).module()
    with torch.no_grad():
        assert [name for name, _ in observe(lambda: module(x))] == expected.split()


@torch.library.custom_op("test_observer::gated", mutates_args=())
def gated(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    assert torch.is_grad_enabled() in (True, False) and x.untyped_storage().data_ptr()
    return x * gate.sigmoid()


gated.register_fake(lambda x, gate: torch.empty_like(x))
gated.register_autograd(lambda ctx, grad: (grad, None), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


@pytest.mark.parametrize("gradients", [False, True])
def test_custom_operators_have_the_calls_of_their_kernels(gradients):
    x = torch.ones(3, requires_grad=gradients)
    module = torch.export.export(lambda x: torch.ops.test_observer.gated(x, x).relu(), (torch.ones(3),)).module()
    gated_calls = [("test_observer::gated", 0), ("sigmoid", 1), ("mul", 1)]
    assert observe(lambda: module(x)) == [*gated_calls, ("relu", 0)]
    for call in (gated, torch.ops.test_observer.gated, torch.ops.test_observer.gated.default):
        assert observe(lambda call=call: call(x, x)) == gated_calls


@torch.library.custom_op("test_observer::nested", mutates_args=("out",))
def nested(out: torch.Tensor, x: torch.Tensor, fails: bool = False) -> None:
    out.copy_(gated(x, x) + torch.ops.test_observer.gated(x, x))
    if fails:
        raise ValueError("it fails")


library = torch.library.Library("test_observer", "FRAGMENT")
library.define("composite(Tensor x) -> Tensor")
library.impl("composite", lambda x: gated(x, x).neg(), "CompositeImplicitAutograd")


def test_custom_operators_that_others_call_are_observed():
    x, out = torch.ones(3), torch.zeros(3)
    inside = [("test_observer::gated", 1), ("sigmoid", 2), ("mul", 2)]
    expected = [("test_observer::nested", 0), *inside, *inside, ("add", 1), ("copy_", 1)]
    assert observe(lambda: nested(out, x)) == expected
    with pytest.raises(ValueError, match="it fails"):
        observe(lambda: nested(out, x, True))
    assert observe(lambda: torch.ops.test_observer.composite(x)) == [("test_observer::composite", 0), *inside, ("neg", 1)]
    rows = torch.ones(2, 3)
    assert observe(lambda: torch.func.vmap(gated)(rows, rows))[0] == ("test_observer::gated", 0)
    seen = [name for name, _ in observe(lambda: torch.func.vmap(gated)(rows, rows))]
    assert seen.count("test_observer::gated") == 1


def test_other_calls_of_the_observer_are_not_observed():
    calls_made = []

    def note(_, event):
        calls_made.append(event.contents.name)
        torch.ones(2).neg()

    observer = called_back(None, c_void_p, POINTER(Event))(note)
    module = torch.export.export(lambda x: x + 1, (torch.ones(2),)).module()
    set_observer(cast(observer, c_void_p), None, None)
    try:
        module(torch.ones(2))
    finally:
        set_observer(None, None, None)
    assert calls_made == [b"ones", b"ones", b"add", b"add"]
