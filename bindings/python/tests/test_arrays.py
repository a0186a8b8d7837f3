"""What libtensor.array_api makes is an array: a tensor with the standard's operators and `size`, which stays one in every way of
computing."""

import copy
import io
import itertools
import math
import operator
import pickle
import weakref

import numpy as np
import pytest

import libtensor as torch
from libtensor import array_api as xp
from libtensor.overrides import TorchFunctionMode

inf, nan = math.inf, math.nan
Array = type(xp.zeros(1))
NUMBERS = ("int8", "int32", "int64", "uint8", "uint16", "float32", "float64")
PAIRS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
WHOLE = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
}


def array(values, dtype="float32"):
    return xp.asarray(values, dtype=getattr(xp, dtype))


def same(found, wanted):
    assert type(found) is type(wanted) is Array and found.dtype is wanted.dtype and found.shape == wanted.shape
    assert repr(found) == repr(wanted)


@pytest.mark.parametrize("name", (*PAIRS, *WHOLE))
def test_operators_are_the_functions(name):
    dtypes = [dtype for dtype in NUMBERS if name in PAIRS or "float" not in dtype]
    of, function = {**PAIRS, **WHOLE}[name], getattr(xp, name)
    for one, other in itertools.product(dtypes, dtypes):
        for values in (([1, 2, 3], 2), (3, [1, 2, 3]), ([1, 2, 3], [3, 2, 1]), (5, 2)):
            x, y = array(values[0], one), array(values[1], other)
            same(of(x, y), function(x, y))
        same(of(array([1, 2], one), 2), function(array([1, 2], one), 2))
        same(of(7, array([1, 2], one)), function(7, array([1, 2], one)))
    assert of(array([3, 1], "int8"), array(1, "int64")).dtype is function(array([3, 1], "int8"), array(1, "int64")).dtype


def test_infinities_and_zeros():
    assert (array([inf, -inf, 1.0, -1.0]) // array([2.0, 2.0, -inf, -inf])).tolist() == [inf, -inf, -0.0, 0.0]
    assert [math.copysign(1, x) for x in (array([-0.0, 0.0]) % array([2.0, -2.0])).tolist()] == [1, -1]
    x = array([inf, 7.0])
    x //= 2
    assert type(x) is Array and x.tolist() == [inf, 3.0]
    x %= array([2.0, 2.0])
    assert math.isnan(x[0]) and x[1] == 1
    plain = x.as_subclass(torch.Tensor)
    assert type(plain) is torch.Tensor and (torch.tensor(inf) // 2).isnan()  # tensors' own operators are PyTorch's


def test_in_place_keeps_dtype_and_object():
    x = array([7, 8], "int32")
    y = x
    x //= array(2, "int8")
    assert x is y and x.dtype is xp.int32 and x.tolist() == [3, 4]
    x += array([1, 1], "int16")
    assert x is y and x.tolist() == [4, 5]
    with pytest.raises(RuntimeError, match="float.*int|int.*float"):
        x //= 2.5
    assert x.tolist() == [4, 5]


@pytest.mark.parametrize("name", ("iadd", "isub", "imul", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor"))
def test_in_place_rejects_numbers_that_the_dtype_does_not_hold(name):
    x = array([1, 2], "int8")
    with pytest.raises(OverflowError, match="1000 is out of range for torch.int8"):
        getattr(operator, name)(x, 1000)
    assert x.tolist() == [1, 2]


def test_floats_beyond_the_dtype_are_infinities():
    x = array([1.0, -1.0])
    assert (x * 1e300).tolist() == [inf, -inf] and (x < 1e300).all() and not (x == 1e300).any() and (x * 3.4028235e38).isfinite().all()
    assert xp.minimum(x, 1e300).tolist() == [1.0, -1.0] and (array([1.0], "complex64") * 1e300).isinf().all()


def test_size_is_a_number_that_can_be_called():
    x = xp.zeros((2, 3))
    assert x.size == 6 and isinstance(x.size, int) and x.size * 2 == 12 and range(x.size)
    assert x.size() == torch.Size([2, 3]) and x.size(-1) == 3 == x.size(dim=1) and x.size()[0] == 2
    assert xp.zeros(()).size == 1 and xp.zeros((0, 4)).size == 0
    assert pickle.loads(pickle.dumps(x.size)) == 6
    kept, alive = x.size, weakref.ref(x)
    del x
    assert alive() is None and kept == 6 and kept() == (2, 3)
    x = xp.zeros((2, 3))
    with pytest.raises(IndexError, match="out of range"):
        x.size(2)


def test_masks_of_size_zero():
    x = xp.ones((3, 2))
    assert x[xp.zeros((0, 2), dtype=xp.bool)].shape == (0,) == x[xp.zeros((3, 0), dtype=xp.bool)].shape
    assert x[xp.zeros((3, 2), dtype=xp.bool)].shape == (0,) and x[xp.ones(3, dtype=xp.bool)].shape == (3, 2)
    x[xp.zeros((0, 2), dtype=xp.bool)] = 7
    assert (x == 1).all()
    with pytest.raises(IndexError, match="mask"):
        x[xp.ones((2, 2), dtype=xp.bool)]


@pytest.mark.parametrize("dtype", ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
def test_integers_are_positions(dtype):
    x = xp.arange(6).reshape(3, 2)
    assert x[array([2, 0], dtype)].tolist() == [[4, 5], [0, 1]] and x[array(1, dtype)].tolist() == [2, 3]
    assert x[array([2, 0], dtype), array([1, 1], dtype)].tolist() == [5, 1]
    x[array([1], dtype)] = 9
    assert x.tolist() == [[0, 1], [9, 9], [4, 5]]


COMPUTED = {
    "a method": lambda x: x.exp(),
    "a function": lambda x: torch.exp(x),
    "beside a tensor": lambda x: torch.ones(2, 2) + x,
    "beside a number, turned around": lambda x: 1 - x,
    "by name": lambda x: torch.add(torch.ones(2, 2), other=x),
    "in a list": lambda x: torch.cat([torch.ones(2, 2), x]),
    "given one by one": lambda x: torch.atleast_3d(x),
    "a view": lambda x: x.T,
    "an index": lambda x: x[0],
    "a slice": lambda x: x[:, 1:],
    "a mask": lambda x: x[x > 1],
    "indices": lambda x: x[torch.tensor([1, 0])],
    "an array as indices": lambda x: torch.ones(3)[x.to(torch.int64) * 0],
    "a conversion": lambda x: x.to(torch.float64),
    "detach": lambda x: x.detach(),
    "clone": lambda x: x.clone(),
    "copied": lambda x: copy.copy(x),
    "copied deeply": lambda x: copy.deepcopy(x),
    "pickled": lambda x: pickle.loads(pickle.dumps(x)),
    "a product": lambda x: x @ torch.ones(2, 2),
    "a product from the left": lambda x: torch.ones(2, 2) @ x,
    "a composition": lambda x: torch.tensordot(x, x, 1),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "linear algebra": lambda x: torch.linalg.inv(x),
    "where": lambda x: torch.where(x > 1, x, 0.0),
    "complex": lambda x: torch.complex(x, x).real,
    "like": lambda x: torch.zeros_like(x),
    "NumPy's function": lambda x: np.sin(x),
    "in place": lambda x: x.add_(1),
    "a loop": lambda x: next(iter(x)),
    "vmap": lambda x: torch.func.vmap(lambda row: row * 2)(x),
    "checkpoints": lambda x: torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_results_of_arrays_are_arrays(name):
    values = [[1.0, 2.0], [3.0, 5.0]]
    found = COMPUTED[name](array(values))
    wanted = COMPUTED[name](torch.tensor(values))
    assert type(found) is Array and type(wanted) is not Array
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_several_results_and_those_of_lists():
    values, indices = array([[1.0, 3.0], [2.0, 0.0]]).max(dim=1)
    assert type(values) is type(indices) is Array and indices.tolist() == [1, 0]
    assert [type(x) for x in torch.unbind(array([1.0, 2.0]))] == [Array, Array]
    plain, other = torch.ones(2), array([[1.0, 2.0]])
    first, second = torch.broadcast_tensors(plain, other)
    assert type(plain) is torch.Tensor and type(first) is type(second) is Array


def test_arguments_are_unchanged():
    plain, made = torch.zeros(2), array([1.0, 2.0])
    assert torch.exp(made, out=plain) is plain and type(plain) is torch.Tensor
    assert plain.add_(made) is plain and type(plain) is torch.Tensor
    assert torch.exp(torch.ones(2), out=made) is made and type(made) is Array
    values, indices = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    torch.max(array([[1.0, 2.0], [3.0, 4.0]]), 1, out=(values, indices))
    assert type(values) is type(indices) is torch.Tensor and values.tolist() == [2, 4]
    whole = torch.ones(2, 2)
    assert whole.view_as(xp.zeros((2, 2))).data_ptr() == whole.data_ptr() and type(whole) is torch.Tensor
    assert made.to(torch.float32) is made


def test_asarray_of_a_tensor_shares_memory_and_autograd_graph():
    plain = torch.tensor([1.0, 2.0], requires_grad=True)
    made = xp.asarray(plain)
    assert type(made) is Array and type(plain) is torch.Tensor and made.data_ptr() == plain.data_ptr() and made.requires_grad
    xp.sum(made * made).backward()
    assert plain.grad.tolist() == [2.0, 4.0]
    assert xp.asarray(made) is made
    assert type(xp.asarray(made, dtype=xp.float64)) is Array


def test_gradients_of_arrays():
    x = array([1.0, 2.0]).requires_grad_()
    y = (x + x * x).sum()
    y.backward()
    assert type(y) is Array and x.is_leaf and x.grad.tolist() == [3.0, 5.0]
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [6.0, 12.0]
    assert torch.func.grad(lambda v: (v * v).sum())(array([3.0])).tolist() == [6.0]
    assert torch.func.jvp(torch.sin, (array([0.0]),), (array([1.0]),))[1].tolist() == [1.0]


@pytest.mark.parametrize("of", (xp.remainder, operator.mod, operator.imod, lambda x, w: operator.imod(x, w)))
def test_gradients_of_remainders_at_multiples(of):
    x, w = (array(v, "float64").requires_grad_() for v in ([4.0, 5.0, -4.0, 4.0, 0.0], [2.0, 2.0, 2.0, -2.0, 3.0]))
    of(x * 1, w).sum().backward()
    assert x.grad.tolist() == [1.0] * 5 and w.grad.tolist() == [-2.0, -2.0, 2.0, 2.0, 0.0]
    (first,) = torch.autograd.grad((of(x * 1, 3) ** 2).sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [2.0] * 5
    assert torch.func.jvp(lambda v: of(v * 1, 2.0), (array([4.0]),), (array([1.0]),))[1].tolist() == [1.0]


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_functions_of_ones_own_take_arrays():
    x = array([1.0]).requires_grad_()
    Twice.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0]


class PerElement(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None, torch.ones(1))
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        x, nothing, plain = ctx.saved_tensors
        assert type(x) is Array and nothing is None and type(plain) is torch.Tensor
        return grad.expand(x.shape) / x.size


def test_tensors_saved_by_functions_and_checkpoints_stay_arrays():
    x = xp.ones(4).requires_grad_()
    PerElement.apply(x).backward()
    assert x.grad.tolist() == [0.25] * 4
    for reentrant in (True, False):
        x, endless = xp.ones(3).requires_grad_(), array([inf] * 3)
        run = torch.utils.checkpoint.checkpoint(lambda t, u: (t * (u // 2.0).clip(-5.0, 5.0)).sum(), x, endless, use_reentrant=reentrant)
        run.backward()
        assert x.grad.tolist() == [5.0] * 3


def test_modes_see_calls_of_arrays():
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return function(*args, **(kwargs or {}))

    with Mode():
        made = torch.exp(array([0.0]))
    assert "exp" in seen and type(made) is Array


def test_subclasses_take_calls_with_arrays_over():
    class Metres(torch.Tensor):
        pass

    class Strict(Array):
        pass

    metres = torch.ones(2).as_subclass(Metres)
    assert type(metres * torch.ones(2)) is Metres
    strict = xp.ones(2).as_subclass(Strict)
    assert type(strict + 1) is Strict and type(strict + xp.ones(2)) is Strict and type(torch.exp(strict)) is Strict


def test_arrays_in_files(tmp_path):
    buffer = io.BytesIO()
    torch.save({"x": array([1.0])}, buffer)
    buffer.seek(0)
    assert torch.load(buffer)["x"].tolist() == [1.0]
    np.save(tmp_path / "x.npy", array([1.0, 2.0]))
    assert np.load(tmp_path / "x.npy").tolist() == [1.0, 2.0]


def test_arrays_with_other_objects():
    x = array([1.0, 2.0])
    assert (x + np.ones(2, np.float32)).tolist() == [2.0, 3.0] and (np.ones(2, np.float32) + x).tolist() == [2.0, 3.0]
    endless, narrow = array([inf]), array([1, 2], "int8")
    assert (endless // np.array([2.0], "f4")).tolist() == [inf] and math.copysign(1, np.array([2.0], "f4") // -endless) == -1
    assert (narrow + np.array(1000)).tolist() == [1001, 1002] == (np.array(1000) + narrow).tolist()
    assert (x + np.array(1.5)).dtype is xp.float64 is (x @ np.ones(2)).dtype and type(np.ones(2) * x) is Array
    endless //= np.array([2.0], "f4")
    assert type(endless) is Array and endless.tolist() == [inf]
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    assert f"{array(1.5):.2f}" == "1.50" and repr(x) == "Array([1., 2.])" and len({x, x}) == 1
    with pytest.raises(TypeError, match="unsupported operand|must be"):
        x + "a"
