"""Subclasses of Tensor with __torch_dispatch__, made by _make_wrapper_subclass, receive operators."""

import warnings

import pytest

import libtensor as torch
from libtensor._C import _disabled_torch_function_impl
from libtensor.utils._python_dispatch import is_traceable_wrapper_subclass
from libtensor.utils._pytree import tree_map_only


class Sum(torch.Tensor):
    """The sum of two tensors, of which it keeps both."""

    log = []

    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device)

    def __init__(self, a, b):
        self.a, self.b = a, b

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.log.append((str(func), [t.__name__ for t in types]))
        if func is torch.ops.aten.mul.Tensor and not isinstance(args[1], Sum):
            return cls(args[0].a * args[1], args[0].b * args[1])
        args = tree_map_only(Sum, lambda t: t.a + t.b, args)
        return func(*args, **(kwargs or {}))


class Disabled(Sum):
    __torch_function__ = _disabled_torch_function_impl

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, size, stride):
        return Disabled(inner["a"], inner["b"])


@pytest.mark.parametrize("cls", [Sum, Disabled])
def test_operators_reach_the_class(cls):
    t = cls(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3))
    Sum.log.clear()
    assert t.shape == (2, 3) and t.stride() == (3, 1) and t.dtype is torch.float32 and not Sum.log
    twice = t * 2
    assert type(twice) is cls and twice.b.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert type(t + 1) is torch.Tensor and (t + 1).tolist() == [[2, 3, 4], [5, 6, 7]]
    assert (1 - t).tolist() == [[0, -1, -2], [-3, -4, -5]] and (-t)[0].tolist() == [-1, -2, -3]
    assert (t @ torch.ones(3, 1)).tolist() == [[6], [15]] and t[0].tolist() == [1, 2, 3] and torch.cat([t, t]).shape == (4, 3)
    assert torch.relu(t).sum().item() == 21 and t.sum().item() == 21 and t[0, 1].item() == 2
    names = [name for name, _ in Sum.log]
    assert names[:5] == ["aten.mul.Tensor", "aten.add.Tensor", "aten.add.Tensor", "aten.rsub.Scalar", "aten.neg.default"]
    assert Sum.log[0][1] == [cls.__name__]


def test_values_of_instances_and_what_wraps():
    t = Sum(torch.ones(1), torch.ones(1))
    assert t.item() == 2 and bool(t) and float(t) == 2
    for read in (t.tolist, t.numpy, t.data_ptr):
        with pytest.raises(NotImplementedError, match="Sum receives operators"):
            read()
    assert is_traceable_wrapper_subclass(Disabled(torch.ones(1), torch.ones(1))) and not is_traceable_wrapper_subclass(t)


def test_what_cannot_be_a_wrapper():
    class Plain(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="Plain must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))
    with pytest.raises(NotImplementedError, match=r"layout torch.sparse_coo is not supported"):
        torch.Tensor._make_wrapper_subclass(Sum, (2,), layout=torch.sparse_coo)


def test_a_lost_gradient_gives_a_warning_for_each_class():
    class Logged(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return cls(func(*tree_map_only(cls, lambda t: t.inner, args), **(kwargs or {})).detach())

    weight, x = torch.ones(2, requires_grad=True), Logged(torch.ones(2))
    with torch.no_grad():
        assert not (x * weight).requires_grad
    assert not (x * 2).requires_grad and not (weight.detach() * x).requires_grad
    with pytest.warns(UserWarning, match=r"mul: the result has no gradient.*Logged.__torch_dispatch__ receives.*no_grad\(\)"):
        y = x * weight
    assert not y.requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not (x * weight).requires_grad
