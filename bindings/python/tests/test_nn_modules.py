"""Modules: registration, hooks and their order, state dictionaries, moves, copies, pickles, names, printed forms."""

import copy
import gc
import itertools
import pickle
import random
import typing
import weakref
from collections import OrderedDict

import pytest

import libtensor as torch
from libtensor import nn
from libtensor.nn.modules import module as machinery


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.register_buffer("scale", torch.ones(2))
        self.register_buffer("hidden", torch.ones(1), persistent=False)

    def forward(self, x):
        return self.last(self.norm(self.first(x))) * self.scale


def error(kind, call):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------------- parameters


def test_operations_on_parameters_return_plain_tensors():
    p = nn.Parameter(torch.ones(2, 3))
    for made in (p + 1, p.view(-1), p.t(), p[0], torch.stack([p, p]), nn.functional.linear(torch.ones(1, 3), p), p.detach(), p.clone()):
        assert type(made) is torch.Tensor
    assert p.view(-1)._base is p and type(p.requires_grad_(False)) is nn.Parameter
    assert repr(p) == "Parameter containing:\ntensor([[1., 1., 1.],\n        [1., 1., 1.]])"


def test_a_parameter_shares_memory_and_keeps_its_attributes():
    x = torch.zeros(2)
    p = nn.Parameter(x)
    x[0] = 3
    p.tag = "a"
    assert p[0] == 3 and p.requires_grad and p.is_leaf
    for made in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(made) is nn.Parameter and made.requires_grad and made.tag == "a" and torch.equal(made, p)
        assert made.data_ptr() != p.data_ptr()


def test_a_parameter_of_a_subclass_keeps_the_class():
    class Named(torch.Tensor):
        pass

    p = nn.Parameter(torch.ones(2).as_subclass(Named))
    net = nn.Module()
    net.p = p
    assert type(p) is Named and isinstance(p, nn.Parameter) and list(net.parameters())[0] is p
    assert not isinstance(torch.ones(1).as_subclass(Named), nn.Parameter)


def test_buffers_are_registered_by_assignment():
    net = nn.Module()
    net.a, net.b = nn.Buffer(torch.ones(1)), nn.Buffer(torch.ones(1), persistent=False)
    assert list(net.state_dict()) == ["a"] and [name for name, _ in net.named_buffers()] == ["a", "b"]
    net.a = torch.zeros(3)
    assert net.get_buffer("a").shape == (3,)
    assert "buffer 'a'" in error(TypeError, lambda: setattr(net, "a", 3))


def test_uninitialized_parameters_know_no_shape():
    p = nn.UninitializedParameter(dtype=torch.float64)
    assert "Can't access the shape" in error(RuntimeError, lambda: p.shape)
    assert "uninitialized parameter" in error(ValueError, lambda: p + 1)
    assert type(copy.deepcopy(p)) is type(pickle.loads(pickle.dumps(p))) is nn.UninitializedParameter
    p.materialize((2, 3))
    assert type(p) is nn.Parameter and p.shape == (2, 3) and p.dtype is torch.float64 and p.requires_grad


# --------------------------------------------------------------------------------------------------------- registration


def test_an_attribute_is_replaced_by_one_of_another_kind():
    """Any kind may replace another one, but a plain value no registered one."""
    kinds = {"parameter": nn.Parameter(torch.ones(1)), "module": nn.ReLU(), "buffer": nn.Buffer(torch.ones(1)), "plain": 3, "none": None}
    for before, after in itertools.product(kinds, kinds):
        net = nn.Module()
        net.x = kinds[before]
        if after in ("plain", "buffer") and before in ("parameter", "module") or (before, after) == ("buffer", "plain"):
            error(TypeError, lambda net=net, after=after: setattr(net, "x", kinds[after]))
            assert net.x is kinds[before]
            continue
        net.x = kinds[after]
        assert net.x is kinds[after]
        places = [name for name in ("_parameters", "_buffers", "_modules") if "x" in net.__dict__[name]] + ["x"] * ("x" in net.__dict__)
        assert len(places) == 1, (before, after, places)


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module", "register_module"])
def test_names_that_cannot_be_registered(register):
    call = getattr(nn.Module(), register)
    assert 't contain "."' in error(KeyError, lambda: call("a.b", None))
    assert "empty string" in error(KeyError, lambda: call("", None))
    assert "should be a string" in error(TypeError, lambda: call(3, None))
    assert "already exists" in error(KeyError, lambda: call("training", None))
    error(TypeError, lambda: call("x", 3))


def test_a_parameter_is_a_leaf():
    class Kept(torch.Tensor):
        pass

    made = (nn.Parameter(torch.ones(1).as_subclass(Kept)) * 1).as_subclass(Kept)
    made._is_param = True
    assert "non-leaf" in error(ValueError, lambda: nn.Module().register_parameter("x", made))


def test_nothing_is_assigned_before_init():
    for value, what in ((nn.Parameter(torch.ones(1)), "parameters"), (nn.ReLU(), "module"), (nn.Buffer(torch.ones(1)), "buffer")):
        net = nn.Module.__new__(nn.Module)
        assert what in error(AttributeError, lambda net=net, value=value: setattr(net, "x", value))


def test_names_with_and_without_duplicates():
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, shared, nn.Sequential(shared))
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    names = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert names == ["0.weight", "0.bias", "1.weight", "1.bias", "2.0.weight", "2.0.bias"] == list(net.state_dict())
    assert [name for name, _ in net.named_modules(prefix="p")] == ["p", "p.0", "p.2"]
    assert len(list(net.children())) == 2


def test_descendants_by_name():
    net = Net()
    assert net.get_submodule("last.1") is net.last[1] and net.get_submodule("") is net
    assert net.get_parameter("last.1.weight") is net.last[1].weight and net.get_buffer("norm.running_mean") is net.norm.running_mean
    net.set_submodule("last.1", nn.Linear(4, 5))
    assert net.last[1].out_features == 5
    assert "has no attribute `no`" in error(AttributeError, lambda: net.get_submodule("last.no"))
    assert "is not an nn.Parameter" in error(AttributeError, lambda: net.get_parameter("scale"))
    assert "is not a buffer" in error(AttributeError, lambda: net.get_buffer("first.weight"))
    error(AttributeError, lambda: net.set_submodule("first.no", nn.ReLU(), strict=True))
    assert not [name for name in dir(net.last) if name[0].isdigit()]


# ---------------------------------------------------------------------------------------------------------------- hooks


def test_each_hook_receives_the_result_of_the_previous_one():
    net, said = nn.Identity(), []
    net.forward = lambda x, *, scale=1: said.append("forward") or x * scale
    handles = [
        machinery.register_module_forward_pre_hook(lambda m, args: said.append("all pre") or (args[0] + 1,)),
        machinery.register_module_forward_hook(lambda m, args, out: said.append("all") or out + 100),
        net.register_forward_pre_hook(lambda m, args, kwargs: (said.append("pre") or args, {"scale": 2}), with_kwargs=True),
        net.register_forward_pre_hook(lambda m, args: said.append("first pre") or args[0] * 10, prepend=True),
        net.register_forward_hook(lambda m, args, kwargs, out: said.append(("hook", kwargs)) or out + 0.5, with_kwargs=True),
        net.register_forward_hook(lambda m, args, out: said.append("first hook"), prepend=True),
    ]
    assert net(torch.tensor(1.0)) == 140.5
    assert said == ["all pre", "first pre", "pre", "forward", "all", "first hook", ("hook", {"scale": 2})]
    for handle in handles:
        handle.remove()
    said.clear()
    assert net(torch.tensor(1.0)) == 1 and said == ["forward"]
    assert not machinery._globals.any


def test_a_pre_hook_with_keywords_returns_a_pair():
    net = nn.Identity()
    net.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    assert "tuple of (new_args, new_kwargs)" in error(RuntimeError, lambda: net(1))


def test_hooks_that_are_always_called_see_failures():
    net, said = nn.Identity(), []
    net.forward = lambda x: 1 / 0
    net.register_forward_hook(lambda m, args, out: said.append(out), always_call=True)
    net.register_forward_hook(lambda m, args, out: said.append("never"))
    error(ZeroDivisionError, lambda: net(1))
    assert said == [None]
    net.register_forward_hook(lambda m, args, out: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(ZeroDivisionError):
        net(1)


def backward_hooks():
    """Calls a module with hooks of its backward pass, and returns what they were given."""
    net, said = nn.Linear(2, 3), []
    weight = weakref.ref(net.weight)
    net.register_full_backward_hook(lambda m, grad_in, grad_out: said.append((grad_in, grad_out)) or (grad_in[0] * 2,))
    net.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 3,))
    x = torch.ones(1, 2, requires_grad=True)
    net(x).sum().backward()
    assert torch.equal(said[0][1][0], torch.full((1, 3), 3.0))
    assert torch.allclose(said[0][0][0], 3 * weight().detach().sum(0)) and torch.allclose(x.grad, 6 * weight().detach().sum(0))
    assert torch.equal(net.weight.grad, torch.full((3, 2), 3.0))


def test_backward_hooks_replace_gradients():
    backward_hooks()
    gc.collect()


def test_backward_hooks_of_a_module_whose_inputs_need_no_gradient():
    net, said = nn.Linear(2, 1), []
    net.register_full_backward_hook(lambda m, grad_in, grad_out: said.append((grad_in, [g.tolist() for g in grad_out])))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        net(torch.ones(1, 2)).sum().backward()
    assert said == [((None,), [[[1.0]]])]
    assert "Cannot use both" in error(RuntimeError, lambda: net.register_backward_hook(lambda *_: None))
    bad = nn.Linear(2, 1)
    bad.register_full_backward_hook(lambda m, grad_in, grad_out: (None, None))
    assert "expected 1" in error(RuntimeError, lambda: bad(torch.ones(1, 2, requires_grad=True)).sum().backward())


class Outputs(nn.Module):
    """Two outputs that are differentiable, and one that is not."""

    def forward(self, x, y):
        return x * 2, y * 3, x.detach()


def observed(hook=None, pre_hook=None, y=None):
    """Calls Outputs with hooks, runs backward from the first output, and returns what the hook was given and the gradients of the
    inputs."""
    module, said = Outputs(), []
    y = torch.ones(2, requires_grad=True) if y is None else y
    module.register_full_backward_hook(lambda m, grad_in, grad_out: said.append((grad_in, grad_out)) or (hook(grad_in) if hook else None))
    if pre_hook:
        module.register_full_backward_pre_hook(lambda m, grad_out: pre_hook(grad_out))
    x = torch.ones(2, requires_grad=True)
    module(x, y)[0].sum().backward()
    lists = [[None if grad is None else grad.tolist() for grad in grads] for grads in said[0]]
    return *lists, x.grad.tolist(), None if y.grad is None else y.grad.tolist()


def test_gradients_that_do_not_arrive_are_zeros_at_inputs_and_none_at_outputs():
    assert observed() == ([[2, 2], [0, 0]], [[1, 1], None, None], [2, 2], [0, 0])
    assert observed(y=torch.ones(2)) == ([[2, 2], [0, 0]], [[1, 1], None, None], [2, 2], None)
    assert observed(y=torch.ones(2, dtype=torch.int64))[:2] == ([[2, 2], [0, 0]], [[1, 1], None, None])


def test_hooks_replace_gradients_that_do_not_arrive():
    one = torch.ones(2)
    assert observed(lambda grads: tuple(grad + 1 for grad in grads)) == ([[2, 2], [0, 0]], [[1, 1], None, None], [3, 3], [1, 1])
    assert observed(lambda grads: tuple(grad + 1 for grad in grads), y=one)[2:] == ([3, 3], None)
    assert observed(pre_hook=lambda grads: (grads[0], one, None))[:2] == ([[2, 2], [3, 3]], [[1, 1], [1, 1], None])
    assert observed(pre_hook=lambda grads: (grads[0] * 2, None, one)) == ([[4, 4], [0, 0]], [[2, 2], None, [1, 1]], [4, 4], [0, 0])


def test_backward_hooks_of_layers_with_indices_losses_and_unused_outputs():
    x = torch.rand(1, 1, 4, requires_grad=True)
    pool, said = nn.MaxPool1d(2, return_indices=True), []
    pool.register_full_backward_hook(lambda m, grad_in, grad_out: said.append([grad is None for grad in grad_out]))
    pool(x)[0].sum().backward()
    attention = nn.MultiheadAttention(2, 1)
    attention.register_full_backward_hook(lambda m, grad_in, grad_out: said.append([grad is None for grad in grad_out]))
    attention(*[torch.ones(1, 1, 2, requires_grad=True)] * 3)[0].sum().backward()
    assert said == [[False, True]] * 2
    loss, y = nn.MSELoss(), torch.full((2,), 3.0, requires_grad=True)
    loss.register_full_backward_hook(lambda m, grad_in, grad_out: tuple(grad * 2 for grad in grad_in))
    loss(y, torch.zeros(2)).backward()
    assert y.grad.tolist() == [6, 6]


def test_modules_with_backward_hooks_inside_vmap_are_called_without_them():
    layer, said = nn.Linear(2, 2), []
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: said.append(grad_in))
    x = torch.ones(3, 1, 2, requires_grad=True)
    torch.func.vmap(layer)(x).sum().backward()
    assert torch.allclose(x.grad, layer.weight.detach().sum(0).expand(3, 1, 2)) and said == []


def test_writes_to_outputs_of_modules_with_backward_hooks_are_rejected_by_name():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: None)
    assert "Output 0 of BackwardHookFunction is a view" in error(RuntimeError, lambda: layer(torch.ones(1, 2, requires_grad=True)).mul_(2))


def test_hooks_that_are_always_called_receive_the_arguments_of_the_pre_hooks():
    layer, said = nn.Linear(2, 2), []
    layer.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
    layer.register_forward_hook(lambda m, args, out: said.append((args[0].tolist(), out)), always_call=True)
    error(RuntimeError, lambda: layer(torch.ones(1, 5)))
    assert said == [([[2, 2, 2, 2, 2]], None)]


def test_registration_hooks_replace_the_registered_object():
    hooks = [
        machinery.register_module_parameter_registration_hook(lambda m, name, p: nn.Parameter(p * 2) if name == "twice" else None),
        machinery.register_module_module_registration_hook(lambda m, name, child: nn.Tanh() if name == "act" else None),
        machinery.register_module_buffer_registration_hook(lambda m, name, b: b + 1),
    ]
    net = nn.Module()
    net.twice, net.act = nn.Parameter(torch.ones(1)), nn.ReLU()
    net.register_buffer("b", torch.ones(1))
    for hook in hooks:
        hook.remove()
    assert net.twice == 2 and isinstance(net.act, nn.Tanh) and net.b == 2


# ---------------------------------------------------------------------------------------------------------------- state


def test_state_is_loaded_whole():
    torch.manual_seed(0)
    a, b = Net(), Net()
    a(torch.rand(5, 3))
    assert str(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    for (name, x), y in zip(a.state_dict().items(), b.state_dict().values(), strict=True):
        assert torch.equal(x, y) and x.data_ptr() != y.data_ptr(), name
    assert "hidden" not in a.state_dict() and a.state_dict()._metadata["norm"] == {"version": 2}
    assert a.state_dict(keep_vars=True)["first.weight"] is a.first.weight
    assert list(a.last.state_dict(prefix="p.")) == ["p.1.weight"]
    made = OrderedDict(kept=1)
    assert a.last.state_dict(destination=made) is made and list(made) == ["kept", "1.weight"]


def test_mismatches_raise_immediately():
    net, state = Net(), Net().state_dict()
    state["first.weight"] = torch.ones(1, 1)
    state["more"], state["last.more"] = torch.ones(1), torch.ones(1)
    del state["scale"], state["norm.bias"]
    state["norm.weight"] = 3
    said = error(RuntimeError, lambda: net.load_state_dict(state))
    for text in (
        'Missing key(s) in state_dict: "scale", "norm.bias"',
        'Unexpected key(s) in state_dict: "more", "last.more"',
        "size mismatch for first.weight: copying a param with shape torch.Size([1, 1])",
        "expected torch.Tensor or Tensor-like object",
    ):
        assert text in said
    kept = net.load_state_dict({"scale": torch.zeros(2), "no": 1}, strict=False)
    assert kept.unexpected_keys == ["no"] and "first.weight" in kept.missing_keys and not net.scale.any()
    assert "dict-like" in error(TypeError, lambda: net.load_state_dict(3))


def test_assigned_state_replaces_the_tensors():
    net = nn.Linear(2, 2, device="meta").requires_grad_(False)
    weight = torch.ones(2, 2, dtype=torch.float64)
    net.load_state_dict({"weight": weight, "bias": torch.zeros(2)}, assign=True)
    assert net.weight.dtype is torch.float64 and net.weight.data_ptr() == weight.data_ptr() and not net.weight.requires_grad
    with pytest.warns(UserWarning, match="no-op"):
        nn.Linear(2, 2, device="meta").load_state_dict(nn.Linear(2, 2).state_dict())


def test_hooks_of_state_dictionaries():
    net, said = Net(), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep_vars: said.append((prefix, keep_vars)))
    net.register_state_dict_post_hook(lambda m, state, prefix, metadata: state.update(more=1))
    assert net.state_dict()["more"] == 1 and said == [("", False)]
    net.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.pop("more") and said.append(m is net))
    net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    state = net.state_dict()
    del state["scale"]
    net.load_state_dict(state)
    assert said[-1] is True and "more" in state
    net.register_state_dict_post_hook(lambda *_: 3)
    assert "must return None" in error(RuntimeError, net.state_dict)


class Counter(nn.Module):
    count = 0

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


def test_extra_state():
    a, b = nn.Sequential(Counter()), nn.Sequential(Counter())
    a[0].count = 7
    b.load_state_dict(a.state_dict())
    assert list(a.state_dict()) == ["0._extra_state"] and b[0].count == 7
    assert "Missing" in error(RuntimeError, lambda: b.load_state_dict({}))
    assert "Unexpected" in error(RuntimeError, lambda: nn.Sequential(nn.ReLU()).load_state_dict(a.state_dict()))


# ------------------------------------------------------------------------------------------------- moves, copies, pickles


def test_casts_keep_parameters_and_integers():
    net = Net()
    weight = net.first.weight
    net(torch.rand(4, 3)).sum().backward()
    assert net.double() is net and net.first.weight is weight and weight.dtype is weight.grad.dtype is torch.float64
    assert net.norm.num_batches_tracked.dtype is torch.int64 and net.hidden.dtype is torch.float64
    for dtype, cast in ((torch.float16, "half"), (torch.bfloat16, "bfloat16"), (torch.float32, "float")):
        assert getattr(net, cast)().first.weight.dtype is dtype
    assert net.to("cpu", torch.float64).scale.dtype is torch.float64 and net.to(torch.ones(1)).scale.dtype is torch.float32
    assert net.to(device="cpu", dtype=torch.float32, non_blocking=True).scale.dtype is torch.float32
    assert "floating point or complex" in error(TypeError, lambda: net.to(torch.int32))
    error(TypeError, lambda: net.to(3.5))
    conv = nn.Conv2d(3, 4, 2).to(memory_format=torch.channels_last)
    assert conv.weight.is_contiguous(memory_format=torch.channels_last)


def test_meta_modules_get_memory():
    net = Net().to("meta")
    assert all(t.is_meta for t in itertools.chain(net.parameters(), net.buffers()))
    made = net.to_empty(device="cpu")
    assert made is net and not net.first.weight.is_meta and isinstance(net.first.weight, nn.Parameter)


def test_copies_share_nothing():
    net = Net().eval()
    net.last[0].register_forward_hook(len)
    for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(made) == repr(net) and not made.training and list(made.last[0]._forward_hooks.values()) == [len]
        made.first.weight.data.zero_()
        assert net.first.weight.any() and made.first.weight is not net.first.weight
        made.last[0]._forward_hooks.clear()
        assert torch.equal(made(torch.zeros(1, 3)), made.last(net.norm(net.first.bias[None])))


def test_gradients_are_reset():
    net = nn.Linear(2, 1)
    net(torch.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert not net.weight.grad.any()
    net.zero_grad()
    assert net.weight.grad is None
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())


def test_modes_reach_all_descendants():
    net = Net()
    assert not any(m.training for m in net.eval().modules()) and all(m.training for m in net.train().modules())
    assert "boolean" in error(ValueError, lambda: net.train(3))
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "BatchNorm1d", "ReLU", "Linear", "Sequential", "Net"]


# ------------------------------------------------------------------------------------------------------------ containers


def test_sequences_of_modules_are_lists():
    """Random changes of a Sequential and a ModuleList, compared with a list."""
    rng = random.Random(0)
    for _ in range(200):
        kind = rng.choice([nn.Sequential, nn.ModuleList])
        items = [nn.Identity() for _ in range(rng.randint(1, 5))]
        made = kind(*items) if kind is nn.Sequential else kind(items)
        for _ in range(6):
            new, at = nn.Identity(), rng.randint(-len(items), len(items) - 1) if items else 0
            action = rng.choice(["append", "insert", "set", "del", "slice", "pop", "extend", "add"])
            if action == "append":
                made.append(new), items.append(new)
            elif action == "insert":
                made.insert(at, new), items.insert(at, new)
            elif action == "extend":
                made.extend([new, new]), items.extend([new, new])
            elif action == "add":
                made, items = made + kind(new) if kind is nn.Sequential else made + kind([new]), [*items, new]
            elif items and action == "set":
                made[at] = items[at] = new
            elif items and action == "del":
                del made[at], items[at]
            elif items and action == "pop":
                assert made.pop(at) is items.pop(at)
            elif action == "slice":
                assert list(made[1::2]) == items[1::2]
            assert list(made) == items and list(made._modules) == [str(i) for i in range(len(items))] and len(made) == len(items)
        assert "is out of range" in error(IndexError, lambda made=made: made[99])


def test_dictionaries_of_modules_and_parameters():
    modules = nn.ModuleDict({"a": nn.ReLU()})
    modules.update([("b", nn.Tanh())])
    modules["c"] = nn.ELU()
    assert list(modules) == ["a", "b", "c"] and "b" in modules and isinstance(modules.pop("b"), nn.Tanh) and len(modules) == 2
    assert "length 3; 2 is required" in error(ValueError, lambda: modules.update([(1, 2, 3)]))
    params = nn.ParameterDict({"b": torch.ones(1), "a": 3})
    assert list(params) == ["a", "b"] and isinstance(params["b"], nn.Parameter) and params.setdefault("c", 4) == 4
    assert (
        params.popitem() == ("c", 4) and params.get("no") is None and list((params | nn.ParameterDict({"z": 1})).keys()) == ["a", "b", "z"]
    )
    assert "not a string" in error(TypeError, lambda: params[3])
    listed = nn.ParameterList([torch.ones(2), "x"])
    listed += [torch.zeros(1)]
    assert len(listed) == 3 and len(list(listed.parameters())) == 2 and listed[1] == "x" and len(listed[1:]) == 2
    error(IndexError, lambda: listed[3])
    assert "should not be called" in error(RuntimeError, lambda: listed())


# ----------------------------------------------------------------------------------------------------------------- lazy


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_lazy_modules_are_initialized_by_their_input():
    net = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(2, bias=False))
    state = net.state_dict()
    assert all(nn.parameter.is_lazy(t) for name, t in state.items() if "num_batches" not in name)
    before = net[0].weight
    net.double()(torch.ones(3, 5, dtype=torch.float64))
    assert [type(m) for m in net] == [nn.Linear, nn.BatchNorm1d, nn.Linear] and net[0].weight is before and before.shape == (4, 5)
    assert before.dtype is torch.float64 and net[2].weight.shape == (2, 4) and not net[0]._forward_pre_hooks
    other = nn.LazyLinear(4)
    other.load_state_dict(nn.Linear(7, 4).state_dict())
    assert other.weight.shape == (4, 7) and other(torch.ones(1, 7)).shape == (1, 4) and other.in_features == 7


def test_a_module_with_a_plain_subclass_of_forward_only():
    assert 'missing the required "forward" function' in error(NotImplementedError, lambda: nn.Module()(1))
    assert "takes 1 positional argument but 2 were given" in error(TypeError, lambda: nn.Module(3))
    assert "unexpected keyword argument 'a'" in error(TypeError, lambda: nn.Module(a=3))


def test_the_graph_names_the_parameter_itself():
    p = nn.Parameter(torch.ones(2))
    (node, _), *_ = (p * 2).grad_fn.next_functions
    assert node.variable is p
    seen = []
    p.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf is p))
    (p * 2).sum().backward()
    assert seen == [True]


def test_modules_repeat_what_is_registered_twice_on_request():
    leaf = nn.Linear(1, 1)
    net = nn.Sequential(leaf, nn.Sequential(leaf), leaf)
    assert list(net.modules()) == [net, leaf, net[1]]
    assert list(net.modules(remove_duplicate=False)) == list(net.modules(False)) == [net, leaf, net[1], leaf, leaf]


def test_a_buffer_is_registered_by_an_override_without_persistent():
    class Own(torch.nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    module = Own()
    module.b = torch.nn.Buffer(torch.ones(2))
    assert list(dict(module.named_buffers())) == ["b"] and "b" in module.state_dict()
    with pytest.raises(TypeError):
        module.c = torch.nn.Buffer(torch.ones(2), persistent=False)


def test_hooks_of_all_modules_are_replaced_by_assigning_to_their_names():
    hooks = machinery
    calls = []
    handle = hooks.register_module_forward_hook(lambda *args: calls.append("forward"), always_call=True)
    hooks.register_module_forward_pre_hook(lambda *args: calls.append("pre"))
    assert len(hooks._global_forward_hooks_always_called) == 1
    nn.Identity()(1)
    hooks._global_forward_hooks = OrderedDict()
    nn.Identity()(1)
    hooks._global_forward_pre_hooks = OrderedDict({-1: lambda *args: calls.append("other")})
    nn.Identity()(1)
    hooks._global_forward_pre_hooks = {}
    handle.remove()
    nn.Identity()(1)
    assert calls == ["pre", "forward", "pre", "other"] and not hooks._global_forward_hooks_always_called


@pytest.mark.parametrize(
    ("forward", "args", "message"),
    [
        (lambda pair: (pair[0].clone(), pair[1].clone()), ([0, 1],), "does not take as input a single Tensor or a tuple of Tensors"),
        (lambda a, b: [a.clone(), b.clone()], (0, 1), "does not return a single Tensor or a tuple of Tensors"),
        (lambda a, b: (a.clone(), b.clone()), (0, 1), "outputs are generated by different autograd Nodes"),
        (lambda a: a.clone().clone(), (0,), "the forward contains multiple autograd Nodes"),
    ],
    ids=["input", "output", "outputs", "nodes"],
)
def test_a_hook_of_the_last_node_warns_of_gradients_that_it_misses(forward, args, message):
    tensors = [torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)]
    module = nn.Module()
    module.forward = forward
    module.register_backward_hook(lambda *args: None)
    with pytest.warns(FutureWarning, match=message):
        module(*([tensors[i] for i in arg] if isinstance(arg, list) else tensors[arg] for arg in args))


def test_a_public_hook_of_states_is_not_registered_as_a_private_one():
    module = nn.Linear(1, 1)

    def hook(*args):
        pass

    module.register_state_dict_post_hook(hook)
    module.register_state_dict_post_hook(hook)
    with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post_hook"):
        module._register_state_dict_hook(hook)


def test_uninitialized_tensors_are_not_loaded_into_initialized_ones():
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        nn.Linear(2, 3).load_state_dict(nn.LazyLinear(3).state_dict())


def test_loading_leaves_no_reference_cycle():
    module = nn.LSTM(4, 4)
    state = nn.LSTM(4, 4).state_dict()
    gc.collect()
    gc.disable()
    try:
        module.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("assign", [False, True])
def test_loading_exchanges_parameters_on_request(assign):
    class Own(torch.Tensor):
        def module_load(self, other, assign=False):
            return (other * 2).detach()

    module, state = nn.Linear(2, 3), nn.Linear(2, 3, dtype=torch.float64).state_dict()
    module.register_buffer("own", torch.ones(2).as_subclass(Own))
    state["own"] = torch.ones(2)
    weight = module.weight
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        module.load_state_dict(state, assign=assign)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert module.weight is weight and weight.requires_grad and torch.equal(weight.double(), state["weight"].to(weight.dtype).double())
    assert weight.dtype is (torch.float64 if assign else torch.float32)
    assert module.own.tolist() == [2, 2]


def test_annotations_are_objects():
    """typing.get_type_hints() evaluates those of an instance in the namespace of the caller."""
    hints = typing.get_type_hints(torch.nn.Linear(2, 3), globalns={}, localns={})
    assert hints["in_features"] is int and hints["weight"] is torch.nn.Parameter

    class Own(torch.nn.Module):
        pass

    assert typing.get_type_hints(Own(), globalns={}, localns={})["training"] is bool
