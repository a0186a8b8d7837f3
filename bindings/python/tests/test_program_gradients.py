"""Gradients of exported programs: their modules run with autograd as those that were exported, and in the same bits as without it."""

import copy
import io
import pickle

import exported_writer as w
import pytest
from exported_models import MODELS, flat

import libtensor as torch
from libtensor import nn
from libtensor._base.library import live_handles
from libtensor.export import export, load, save


def copied(tree):
    return torch.utils._pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, tree)


def reloaded(program):
    file = io.BytesIO()
    save(program, file)
    return load(io.BytesIO(file.getvalue()))


def loss_of(outputs):
    """Returns a sum of all outputs that require grad, with different weights for their elements."""
    parts = [x for x in flat(outputs) if isinstance(x, torch.Tensor) and x.requires_grad]
    return sum((x.abs() * torch.arange(1, x.numel() + 1).reshape(x.shape)).sum() for x in parts) if parts else None


def network():
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Linear(4, 2))
    module[0].bias.requires_grad_(False)
    return module


def graph(nodes, outputs, **options):
    meta = w.meta("float32", [3])
    options.setdefault("weights", [("p", "parameter", "p", {**meta, "requires_grad": True})])
    text = w.model({"x": meta}, nodes, outputs, **options)
    records = [(f"weight_{i}", bytes(torch.ones(3).numpy())) for i in range(len(options["weights"]))]
    weights = [(name, f"weight_{i}", described) for i, (_, _, name, described) in enumerate(options["weights"])]
    return load(io.BytesIO(w.archive(text, records, weights=weights)))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_and_outputs_are_those_of_the_module(name, threads):
    module, args, kwargs, shapes = MODELS[name]()
    program, before = reloaded(export(module, args, kwargs, dynamic_shapes=shapes)), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        with torch.no_grad():
            plain = reloaded(program).module()(*copied(args), **copied(kwargs))
        torch.manual_seed(0)
        loaded = program.module()
        recorded = loaded(*copied(args), **copied(kwargs))
        torch.manual_seed(0)
        expected = loss_of(module(*copied(args), **copied(kwargs)))
        loss = loss_of(recorded)
    finally:
        torch.set_num_threads(before)
    for a, b in zip(flat(plain), flat(recorded), strict=True):
        assert torch.equal(a.nan_to_num(7), b.detach().nan_to_num(7)) if isinstance(a, torch.Tensor) else a == b
    known = dict(module.named_parameters(remove_duplicate=False))
    if not known:  # weights that a function captures are constants
        return
    assert (loss is None) == (expected is None)
    if loss is None:
        return
    loss.backward()
    expected.backward()
    shared = {}  # tied parameters are several parameters of a program
    for key, value in loaded.named_parameters():
        shared.setdefault(id(known[key]), []).append(value.grad)
        assert value.requires_grad == known[key].requires_grad
    for key, gradients in shared.items():
        wanted = next(x.grad for x in known.values() if id(x) == key)
        found = [x for x in gradients if x is not None]
        assert bool(found) == (wanted is not None)
        if found:
            torch.testing.assert_close(sum(found), wanted, rtol=1e-4, atol=1e-5)


def test_parameters_are_shared_and_require_grad_as_in_the_export():
    program = reloaded(export(network().eval(), (torch.ones(5, 3),)))
    one, two = program.module(), program.module()
    assert [name for name, p in one.named_parameters() if not p.requires_grad] == ["0.bias"]
    assert one.get_parameter("0.weight") is two.get_parameter("0.weight") is program.state_dict["0.weight"]
    x = torch.ones(5, 3, requires_grad=True)
    one(x).sum().backward()
    assert x.grad is not None and program.state_dict["3.weight"].grad is not None and program.state_dict["0.bias"].grad is None
    assert [p.requires_grad for p in reloaded(program).module().parameters()] == [p.requires_grad for p in one.parameters()]


def test_training_a_program_trains_the_weights_as_training_the_module_does():
    module = network()
    program = reloaded(export(module, (torch.ones(5, 3),)))
    loaded, x = program.module(), torch.randn(5, 3)
    for trained in (module, loaded):
        optimizer = torch.optim.SGD([p for p in trained.parameters() if p.requires_grad], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            trained(x).square().sum().backward()
            optimizer.step()
    for name, value in module.state_dict().items():
        torch.testing.assert_close(program.state_dict[name], value)
    assert torch.equal(program.module()(x), loaded(x)) is True


def test_the_module_computes_with_the_tensors_that_it_has():
    module = reloaded(export(network().eval(), (torch.ones(5, 3),))).module()
    x, before = torch.ones(5, 3), module(torch.ones(5, 3))
    other = torch.func.functional_call(module, {"3.bias": before.detach()[0] * 0 + 9}, (x,))
    assert torch.allclose(other - before, 9 - module.get_parameter("3.bias")) and torch.equal(module(x), before)
    module.get_submodule("3").bias = nn.Parameter(torch.tensor([5.0, 5.0]))
    assert torch.allclose(module(x), other - 4)
    module.get_submodule("3").bias = nn.Parameter(torch.ones(3))
    with pytest.raises(ValueError, match=r"program_run: the tensor for parameter '3.bias' is float32\[3\]; the program has float32\[2\]"):
        module(x)


def test_without_autograd_nothing_is_recorded():
    module, x = graph([w.aten("mul.Tensor", "y", "x", "p")], ["y"]).module(), torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert not module(x).requires_grad
    with torch.inference_mode():
        assert not module(x).requires_grad
    assert module(x).requires_grad and torch.is_grad_enabled()
    module.requires_grad_(False)
    assert not module(x.detach()).requires_grad


def test_inputs_and_values_that_are_outputs_keep_their_graphs():
    nodes = [w.aten("mul.Tensor", "a", "x", "p"), w.aten("add_.Tensor", "r", "a", 1), w.aten("mul_.Tensor", "s", "r", 2)]
    module, x = graph(nodes, ["x", "a", "s", "s", "p"]).module(), torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    same, a, s, again, p = module(x)
    assert all(t.requires_grad for t in (same, a, s, again, p)) and a.tolist() == s.tolist() == again.tolist() == [4, -2, 8]
    (same.sum() + 10 * a.sum() + 100 * s.sum() + 1000 * again.sum() + 10000 * p.sum()).backward()
    assert x.grad.tolist() == [2221, 2221, 2221]
    assert module.p.grad.tolist() == [12220, 5560, 16660]


def test_graphs_under_no_grad_record_nothing():
    graphs = [w.subgraph(f"g{i}", ["a"], [w.aten("mul.Tensor", "b", "a", 3)], ["b"]) for i in (0, 1)]
    name = "torch.ops.higher_order.wrap_with_set_grad_enabled"
    nodes = [w.node(name, "n", False, graphs[0], "x"), w.node(name, "g", True, graphs[1], "x"), w.aten("mul.Tensor", "y", "x", 2)]
    module, x = graph(nodes, ["n", "g", "y"]).module(), torch.ones(3, requires_grad=True)
    n, g, y = module(x)
    assert (n.requires_grad, g.requires_grad, y.requires_grad) == (False, True, True) and torch.is_grad_enabled()
    (g + y).sum().backward()
    assert x.grad.tolist() == [5, 5, 5]


def test_buffers_that_a_run_writes_to_change_as_in_the_module():
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))
            self.weight = nn.Parameter(torch.full((3,), 2.0))

        def forward(self, x):
            y = x * self.weight
            self.mean.mul_(0.5).add_(y.detach())
            return y + self.mean

    loaded, known, x = reloaded(export(Mean(), (torch.ones(3),))).module(), Mean(), torch.tensor([1.0, 2.0, 3.0])
    for _ in range(2):
        one, other = loaded(x), known(x)
        one.sum().backward()
        other.sum().backward()
        assert torch.equal(one, other) and torch.equal(loaded.mean, known.mean) and not loaded.mean.requires_grad
    assert torch.equal(loaded.weight.grad, known.weight.grad)


def test_double_backward_and_cond():
    yes = w.subgraph("yes", ["a"], [w.aten("pow.Tensor_Scalar", "b", "a", 3)], ["b"])
    no = w.subgraph("no", ["a"], [w.aten("neg.default", "b", "a")], ["b"])
    nodes = [
        w.aten("sum.default", "t", "x"),
        w.aten("gt.Scalar", "c", "t", 0),
        w.node("torch.ops.higher_order.cond", "d", "c", yes, no, w.tensors("x")),
    ]
    module, x = graph(nodes, ["d"]).module(), torch.full((3,), 2.0, requires_grad=True)
    (g,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == [12] * 3 and h.tolist() == [12] * 3
    (g,) = torch.autograd.grad(module(x - 9).sum(), x)
    assert g.tolist() == [-1] * 3


def test_the_mode_of_a_program_cannot_change():
    module = graph([w.aten("mul.Tensor", "y", "x", "p")], ["y"]).module()
    for change in (module.train, module.eval):
        with pytest.raises(NotImplementedError, match="a program has the mode that the module had in the export"):
            change()


def test_recorded_runs_leak_no_handles():
    module, x = reloaded(export(network(), (torch.ones(5, 3),))).module(), torch.ones(5, 3)
    module(x).sum().backward()
    before = live_handles()
    for _ in range(50):
        module(x).sum().backward()
        module(x)
        with pytest.raises(RuntimeError, match="program_run: input 0"):
            module(torch.ones(5, 4))
    assert live_handles() == before


def make_module():
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.BatchNorm1d(4).eval(), torch.nn.Linear(4, 2))
    return model, torch.export.export(model, (torch.ones(5, 3),))


TRANSFORMS = {
    "grad": lambda f, x: torch.func.grad(lambda x: f(x).square().sum())(x),
    "vjp": lambda f, x: torch.func.vjp(f, x)[1](torch.ones(5, 2))[0],
    "jacrev": lambda f, x: torch.func.jacrev(f)(x),
    "jacfwd": lambda f, x: torch.func.jacfwd(f)(x),
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (torch.ones(5, 3),))[1],
    "hessian": lambda f, x: torch.func.hessian(lambda x: f(x).square().sum())(x),
    "vmap": lambda f, x: torch.func.vmap(f)(torch.stack([x, -x])),
    "vmap of grad": lambda f, x: torch.func.vmap(torch.func.grad(lambda x: f(x).square().sum()))(torch.stack([x, -x])),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_function_transforms_differentiate_programs(name):
    model, program = make_module()
    x = torch.arange(15.0).reshape(5, 3) / 15
    torch.testing.assert_close(TRANSFORMS[name](program.module(), x), TRANSFORMS[name](model, x), check_dtype=True)


def test_deep_copies_have_their_own_weights():
    model, program = make_module()
    x, module = torch.rand(5, 3), program.module()
    for other in (copy.deepcopy(module), copy.deepcopy(program).module()):
        assert torch.equal(other(x), module(x))
        with torch.no_grad():
            other.get_parameter("3.weight").zero_()
        other(x).sum().backward()
        assert torch.equal(other(x), model[3].bias.expand(5, 2)) and torch.equal(module(x), model(x))
        assert other.get_parameter("0.weight").grad is not None and module.get_parameter("0.weight").grad is None
    with pytest.raises(TypeError, match=r"a program cannot be pickled; torch.export.save writes it"):
        pickle.dumps(program)
