"""Subclasses of Tensor, objects with __torch_function__, modes, and attributes of tensors."""

import copy
import pickle

import pytest

import libtensor as torch


class Metres(torch.Tensor):
    def twice(self):
        return self * 2


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s + 1,
        lambda s: 1 - s,
        lambda s: torch.ones(2) + s,
        lambda s: s[0],
        lambda s: s[None, [0, 1]],
        lambda s: s.sum(),
        lambda s: torch.sum(s),
        lambda s: torch.cat([torch.ones(1), s]),
        lambda s: s.view(2, 1).T,
        lambda s: s.double(),
        lambda s: s.to(torch.int32),
        lambda s: s.clone(),
        lambda s: s.data,
        lambda s: s.split(1)[1],
        lambda s: s.max(0).values,
        lambda s: next(iter(s)),
        lambda s: -s,
        lambda s: s == s,
        lambda s: torch.zeros_like(s),
        lambda s: s.new_tensor([1]),
        lambda s: torch.as_tensor(s),
        lambda s: torch.unique(s),
        lambda s: torch.where(s > 1, s, 0),
        copy.copy,
        copy.deepcopy,
        lambda s: pickle.loads(pickle.dumps(s)),
        lambda s: s.twice().twice(),
    ],
)
def test_operations_keep_the_subclass(call):
    s = Metres([1, 2])
    assert type(call(s)) is Metres and type(s) is Metres


def test_plain_results_of_a_subclass():
    s = Metres([1, 2])
    assert type(torch.tensor(s)) is torch.Tensor and type(s.as_subclass(torch.Tensor)) is torch.Tensor
    assert s.tolist() == [1, 2] and s.shape == (2,) and repr(s) == "Metres([1., 2.])"
    assert repr(Metres([[1], [2]])) == "Metres([[1.],\n        [2.]])"


def test_views_of_a_subclass_share_memory():
    base = torch.zeros(3)
    view = base.as_subclass(Metres)
    view[1:].fill_(5)
    assert base.tolist() == [0, 5, 5] and view.data_ptr() == base.data_ptr()
    base += Metres([1, 1, 1])
    assert type(base) is Metres and base.tolist() == [1, 6, 6]


def test_the_more_derived_class_wins():
    class Millimetres(Metres):
        pass

    class Seconds(torch.Tensor):
        pass

    assert type(Metres([1]) + Millimetres([1])) is Millimetres
    with pytest.raises(TypeError, match="add.*Metres.*Seconds"):
        Metres([1]) + Seconds([1])


class Named(torch.Tensor):
    calls = []

    def __new__(cls, data, name):
        return torch.tensor(data).as_subclass(cls)

    def __init__(self, data, name):
        self.name = name

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


def test_a_subclass_sees_its_calls():
    s = Named([1.0, 2.0], "x")
    Named.calls.clear()
    torch.add(s, 1), s + 1, s[0], s.sum(dim=0, keepdim=True), torch.stack([s, s])
    s[0] = 3
    assert Named.calls == ["add", "add", "__getitem__", "sum", "stack", "__setitem__"]


def test_attributes_survive_copies():
    for made in (torch.ones(2), Named([1.0], "x"), Metres([1])):
        made.title, made.list, made.self = "y", [1], made
        for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
            assert (
                type(again) is type(made)
                and again.title == "y"
                and again.list == [1]
                and torch.equal(torch.tensor(again), torch.tensor(made))
            )
        assert copy.deepcopy(made).self is not made and copy.copy(made).list is made.list and copy.deepcopy(made).list is not made.list
        del made.self
    assert not hasattr(made + 1, "title")


class Diagonal:
    """Not a tensor: it says what functions make of it."""

    handled = {}

    def __init__(self, n):
        self.n = n

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls.handled[func](*args, **(kwargs or {})) if func in cls.handled else NotImplemented


Diagonal.handled = {torch.mean: lambda x: 1 / x.n, torch.add: lambda a, b: ("add", type(a), type(b)), torch.unique: lambda x: [0, 1]}


def test_objects_take_calls_over():
    d = Diagonal(4)
    assert torch.mean(d) == 0.25 and torch.unique(d) == [0, 1]
    assert torch.add(1, d) == ("add", int, Diagonal) and torch.ones(2) + d == ("add", torch.Tensor, Diagonal)
    for call in (torch.exp, lambda x: torch.cat([torch.ones(2), x]), lambda x: torch.zeros(2, out=x), lambda x: torch.sum(x, dim=0)):
        with pytest.raises(TypeError, match="no implementation found for .*Diagonal"):
            call(d)


class Elsewhere:
    """A tensor of another library, whose __torch_function__ calls the given function."""

    def __init__(self, tensor):
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


Elsewhere.__torch_function__.__func__.__module__ = "torch._tensor"


def function_of_elsewhere(*args):
    for arg in args:
        if isinstance(arg, torch.Tensor):
            found = type(arg).__torch_function__(function_of_elsewhere, (type(arg),), args)
            if found is not NotImplemented:
                return found
            raise TypeError("nobody takes this call over")


def test_tensors_of_another_library():
    t, other = torch.tensor([1.0, 2.0]), Elsewhere(torch.tensor([1.0, 5.0]))
    assert (
        (t + other).tolist() == (other + t).tolist() == [2, 7] and (t == other).tolist() == [True, False] and (other - t).tolist() == [0, 3]
    )
    with pytest.raises(TypeError, match=r"add\(\): argument 'other' must be Tensor or Number, not Elsewhere"):
        torch.add(t, other)
    with pytest.raises(TypeError, match="nobody takes this call over"):
        function_of_elsewhere(other, t)
    other.tensor.requires_grad_()
    with pytest.raises(BufferError, match="gradient"):
        t + other


def test_disabled():
    class Quiet(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert type(Quiet([1]) + 1) is torch.Tensor
    with torch._C.DisableTorchFunctionSubclass():
        assert type(Metres([1]) + 1) is torch.Tensor


def test_a_mode_sees_every_call():
    calls = []

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Log():
        x = torch.ones(2) + 1
        torch.unique(x)
        x[0], x.sum().item()
    torch.zeros(2)
    assert calls == ["ones", "add", "unique", "__getitem__", "sum", "item"] and x.tolist() == [2, 2]


def test_questions():
    assert not torch.overrides.has_torch_function((torch.ones(2), 3)) and torch.overrides.has_torch_function((3, Metres([1])))
    assert torch.overrides.is_tensor_like(Diagonal(2)) and not torch.overrides.is_tensor_like(3)
    assert torch.overrides.handle_torch_function(torch.mean, (Diagonal(2),), Diagonal(2)) == 0.5


def test_numbers_in_texts():
    x = torch.tensor(1.23456)
    assert f"{x:.3f}" == "1.235" and f"{x}" == "1.2345600128173828" and f"{torch.tensor(3)}|{torch.tensor(True)}" == "3|True"
    assert f"{torch.tensor([1.5])}" == "tensor([1.5000])" and str(x) == "tensor(1.2346)"
    with pytest.raises(TypeError, match="format"):
        f"{torch.tensor([1.5]):.2f}"


def test_functions_of_numpy_keep_the_class():
    numpy = pytest.importorskip("numpy")
    root = numpy.sqrt(Metres([4, 9]))
    assert type(root) is Metres and root.tolist() == [2, 3] and type(numpy.sqrt(torch.ones(2))) is torch.Tensor
