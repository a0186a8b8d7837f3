"""Optimizers: groups, hooks, state dictionaries and errors, and updates by formulas that are written here once more."""

import copy
import inspect
import pickle

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


def parameter(*values):
    return nn.Parameter(torch.tensor(values))


def with_grad(grad, *values):
    param = parameter(*values)
    param.grad = torch.tensor(grad)
    return param


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        (
            torch.ones(1),
            TypeError,
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor",
        ),
        ([], ValueError, "optimizer got an empty parameter list"),
        ([{"params": {torch.ones(1)}}], TypeError, "need to be organized in ordered collections"),
        ([1], TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
        ([torch.ones(1, requires_grad=True) * 2], ValueError, "can't optimize a non-leaf Tensor"),
        ([("a", torch.ones(1)), torch.ones(1)], ValueError, "Some param names are missing"),
    ],
    ids=["tensor", "empty", "set", "number", "no leaf", "names"],
)
def test_wrong_parameters_raise(params, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(")):
        torch.optim.SGD(params)


def test_a_parameter_belongs_to_one_group():
    param = parameter(1.0)
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        torch.optim.SGD([{"params": [param]}, {"params": [param]}])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        torch.optim.SGD([param, param])


def test_groups_have_separate_options():
    a, b = with_grad([1.0], 1.0), with_grad([1.0], 1.0)
    optimizer = torch.optim.SGD([{"params": [a]}], lr=0.5)
    optimizer.add_param_group({"params": b, "lr": 0.25})
    optimizer.step()
    assert (a.item(), b.item()) == (0.5, 0.75)


def test_names_are_kept():
    optimizer = torch.optim.SGD(nn.Linear(1, 1).named_parameters())
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [parameter(1.0)]})


def test_hooks_are_called_in_their_order():
    optimizer, calls = torch.optim.SGD([with_grad([1.0], 1.0)]), []
    handles = [
        register_optimizer_step_pre_hook(lambda *_: calls.append("all before")),
        register_optimizer_step_post_hook(lambda *_: calls.append("all after")),
        optimizer.register_step_pre_hook(lambda *_: calls.append("before")),
        optimizer.register_step_post_hook(lambda *_: calls.append("after")),
        optimizer.register_state_dict_pre_hook(lambda *_: calls.append("state")),
        optimizer.register_state_dict_post_hook(lambda _, state: {**state, "more": 1}),
        optimizer.register_load_state_dict_pre_hook(lambda _, state: calls.append(state["more"])),
        optimizer.register_load_state_dict_post_hook(lambda *_: calls.append("loaded")),
    ]
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert calls == ["all before", "before", "after", "all after", "state", 1, "loaded"]


def test_a_hook_replaces_arguments():
    optimizer = torch.optim.SGD([with_grad([1.0], 1.0)])
    optimizer.register_step_pre_hook(lambda self, args, kwargs: ((self, lambda: 7.0), {}))
    assert optimizer.step() == 7.0


def test_zero_grad():
    param = with_grad([1.0], 1.0)
    optimizer = torch.optim.SGD([param])
    optimizer.zero_grad(set_to_none=False)
    assert param.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert param.grad is None


def test_printed_form():
    text = repr(torch.optim.SGD([parameter(1.0)], lr=0.1, momentum=0.9))
    assert text.splitlines()[:3] == ["SGD (", "Parameter Group 0", "    dampening: 0"]
    assert "    lr: 0.1\n    maximize: False\n    momentum: 0.9\n" in text and text.endswith("weight_decay: 0\n)")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda optimizer: pickle.loads(pickle.dumps(optimizer))], ids=["deepcopy", "pickle"])
def test_copies_go_on_as_the_optimizer(copied):
    optimizer = torch.optim.Adam([with_grad([1.0, 2.0], 1.0, 1.0)], lr=0.1)
    optimizer.step()
    other = copied(optimizer)
    param, copy_ = (o.param_groups[0]["params"][0] for o in (optimizer, other))
    copy_.grad = param.grad.clone()
    optimizer.step()
    other.step()
    assert param is not copy_ and torch.equal(param, copy_)


def test_a_state_is_taken_over_in_the_dtype_of_the_parameter():
    optimizer = torch.optim.Adam([with_grad([1.0], 1.0)])
    optimizer.step()
    other = torch.optim.Adam([nn.Parameter(torch.ones(1, dtype=torch.float64))], lr=7.0)
    other.load_state_dict(optimizer.state_dict())
    (state,) = other.state.values()
    assert other.param_groups[0]["lr"] == 0.001
    assert (state["step"].dtype, state["exp_avg"].dtype) == (torch.float32, torch.float64)
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        other.load_state_dict(torch.optim.Adam([parameter(1.0), parameter(1.0)]).state_dict())


def test_a_closure_runs_with_gradients():
    param = parameter(1.0)
    optimizer = torch.optim.SGD([param], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (param**2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert param.item() == 0.0


def test_a_differentiable_step_has_a_gradient():
    lr, start = torch.tensor(0.5, requires_grad=True), torch.tensor([2.0], requires_grad=True)
    param = start.clone()
    param.grad = torch.tensor([3.0])
    torch.optim.SGD([param], lr=lr, differentiable=True).step()
    param.sum().backward()
    assert param.tolist() == [0.5] and start.grad.tolist() == [1.0] and lr.grad.item() == -3.0


def test_a_step_writes_to_the_parameter():
    param = with_grad([1.0], 1.0)
    product = (param * param).sum()
    torch.optim.SGD([param]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_a_wrapper_without_init_clears_gradients():
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, base):
            self.base, self.param_groups, self.defaults, self.state = base, base.param_groups, base.defaults, base.state

    w = torch.ones(2, requires_grad=True)
    wrapper = Wrapper(torch.optim.SGD([w], lr=0.1))
    w.sum().backward()
    wrapper.zero_grad()
    assert w.grad is None


OPTIMIZERS = "ASGD Adadelta Adafactor Adagrad Adam AdamW Adamax LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam"


@pytest.mark.parametrize("name", OPTIMIZERS.split())
def test_all_groups_have_the_options_of_the_defaults(name):
    optimizer = getattr(torch.optim, name)([torch.ones(2, 2, requires_grad=True)])
    if name != "LBFGS":
        optimizer.add_param_group({"params": [torch.ones(2, 2, requires_grad=True)]})
    for made in (optimizer, copy.deepcopy(optimizer)):
        assert all(set(group) == {"params", *optimizer.defaults} for group in made.param_groups)
        assert all(set(group) == {"params", *optimizer.defaults} for group in made.state_dict()["param_groups"])
    parameter = inspect.signature(type(optimizer)).parameters.get("differentiable")
    assert ("differentiable" in optimizer.defaults) == (parameter is not None)
