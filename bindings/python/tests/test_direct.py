"""Calls past ctypes (_direct.py, direct/direct.c): they must give what the Python functions behind them give."""

import copy
import gc
import inspect
import os
import pickle
import subprocess
import sys
import threading

import pytest

import libtensor as torch
from libtensor import _direct, _dtypes

pytestmark = pytest.mark.skipif(_direct.direct is None, reason="LIBTENSOR_PLAIN_CALLS is set: every call is one of a Python function")


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, tuple) and len(a) and isinstance(a[0], torch.Tensor):
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape, a.stride(), a.storage_offset()) == (b.dtype, b.shape, b.stride(), b.storage_offset())
        assert torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) if a.is_floating_point() else torch.equal(a, b)
    else:
        assert a == b


def base():
    return torch.arange(24, dtype=torch.float32).view(2, 3, 4)


class Index:
    """What has __index__ counts as an integer."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


CALLS = {
    "two tensors": (torch.add, lambda x: (x, x), {}),
    "an int operand": (torch.mul, lambda x: (x, 3), {}),
    "a float operand": (torch.sub, lambda x: (x, 0.5), {}),
    "a complex operand": (torch.add, lambda x: (x, 1j), {}),
    "a bool operand": (torch.add, lambda x: (x, True), {}),
    "a number first": (torch.sub, lambda x: (1, x), {}),
    "a keyword": (torch.add, lambda x: (x, x), {"alpha": 2}),
    "every argument by keyword": (torch.add, lambda x: (), {"input": base(), "other": 2, "alpha": 3}),
    "NumPy's keywords": (torch.sum, lambda x: (x,), {"axis": 1, "keepdims": True}),
    "dims as an int": (torch.sum, lambda x: (x, 1), {}),
    "dims as a tuple": (torch.sum, lambda x: (x, (0, -1)), {"keepdim": True}),
    "dims as a list": (torch.sum, lambda x: (x, [0, 2], False), {}),
    "no dims": (torch.sum, lambda x: (x, ()), {}),
    "a dtype": (torch.sum, lambda x: (x,), {"dtype": torch.int64}),
    "Python's type as a dtype": (torch.sum, lambda x: (x,), {"dtype": int}),
    "a size in pieces": (torch.Tensor.view, lambda x: (x, 4, -1), {}),
    "a Size": (torch.Tensor.view, lambda x: (x, torch.Size([6, 4])), {}),
    "a dtype in place of a size": (torch.Tensor.view, lambda x: (x, torch.int32), {}),
    "a list of tensors": (torch.cat, lambda x: ([x, x],), {"dim": 1}),
    "a tuple of tensors": (torch.stack, lambda x: ((x, x), -1), {}),
    "many tensors": (torch.cat, lambda x: ([x] * 40,), {}),
    "an optional number": (torch.clamp, lambda x: (x, None, 7), {}),
    "an optional float": (torch.logit, lambda x: (x / 24, 1e-3), {}),
    "a text": (torch.Tensor.scatter_reduce, lambda x: (x, 0, torch.zeros(1, 3, 4, dtype=torch.int64), x, "sum"), {}),
    "many pieces": (torch.split, lambda x: (x.flatten().repeat(4), [1] * 96), {}),
    "many dims": (torch.Tensor.view, lambda x: (x, *[1] * 40, 24), {}),
    "several results": (torch.sort, lambda x: (x,), {"dim": 1, "descending": True}),
    "several results of an overload": (torch.max, lambda x: (x, 1), {}),
    "a list of views": (torch.unbind, lambda x: (x, 2), {}),
    "pieces of sizes": (torch.split, lambda x: (x, [1, 2], 1), {}),
    "an integer of another class": (torch.select, lambda x: (x, Index(1), Index(-1)), {}),
    "out": (torch.neg, lambda x: (x,), {"out": torch.empty(2, 3, 4)}),
}


@pytest.mark.parametrize("name", CALLS)
def test_like_the_python_function(name):
    function, args, kwargs = CALLS[name]
    assert isinstance(function, type(torch.add))
    same(function(*args(base()), **kwargs), function.__wrapped__(*args(base()), **kwargs))


KEYS = [0, -1, True, None, ..., slice(1, None), slice(None, None, 2), slice(-1, 9), (0, 1), (slice(None), 1), (..., 0), [1, 0], (0, [2, 1])]
KEYS += [Index(1), (None, 0, ..., slice(1, 3)), torch.tensor([1, 0]), base() > 5, (slice(None), torch.tensor([0, 2]))]
KEYS += [(0, 0, 0), (0, 0, 0, None, ..., None, None), ()]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_brackets(key):
    x = base()
    same(x[key], torch.Tensor.__getitem__.__wrapped__(x, key))
    shape = x[key].shape
    for value in (7, 2.5, torch.full(shape, 9.0), torch.tensor(1.0), [3.0] if shape[-1:] == (1,) else 4):
        a, b = base(), base()
        a[key] = value
        torch.Tensor.__setitem__.__wrapped__(b, key, value)
        same(a, b)


def test_operators_with_a_number_on_the_left():
    x = torch.tensor([2, 5])
    same(7 - x, torch.tensor([5, 2]))
    same(2**x, torch.tensor([4, 32]))
    same(7 // x, torch.tensor([3, 1]))
    same(1 / x, torch.tensor([0.5, 0.2]))
    same(1.5 + x, torch.tensor([3.5, 6.5]))
    assert x.__add__("a") is NotImplemented and x.__rsub__("a") is NotImplemented
    with pytest.raises(TypeError):
        "a" - x


REFUSED = {
    "sizes": (RuntimeError, lambda x: x + torch.zeros(5), "[2 3 4]"),
    "an index": (IndexError, lambda x: x[2], "index 2 is out of bounds for dimension 0 with size 2"),
    "a dim": (IndexError, lambda x: x.sum(3), "3"),
    "an unknown keyword": (TypeError, lambda x: x.sum(dimm=1), "dimm"),
    "too few arguments": (TypeError, lambda x: torch.add(x), "other"),
    "an argument twice": (TypeError, lambda x: torch.add(x, x, other=x), "other"),
    "a large integer": (ValueError, lambda x: x.select(0, 2**70), str(2**70)),
    "a str": (TypeError, lambda x: torch.add(x, "a"), "other"),
    "a negative step": (ValueError, lambda x: x[::-1], "step"),
    "a zero step": (ValueError, lambda x: x[::0], "step"),
    "a key": (TypeError, lambda x: x["a"], "indices"),
    "several elements": (RuntimeError, lambda x: x.item(), "24"),
    "no receiver": (TypeError, lambda x: torch.Tensor.view(), ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    kind, call, fact = REFUSED[name]
    x = base()
    with pytest.raises(kind) as caught:
        call(x)
    assert fact in str(caught.value)
    same(x, base())


DATA = {
    "a bool": True,
    "an int": -3,
    "a float": 0.1,
    "a complex number": 1 - 2j,
    "bools": [True, False],
    "ints": [[1, -2, 3], (4, 5, 2**62)],
    "floats": [[[0.5], [-0.0]], [[float("inf")], [float("nan")]]],
    "bools and ints": [True, 7],
    "large ints and floats": [2**60 + 1, 0.5],
    "ints and complex numbers": [1, 2j, False],
    "nothing": [],
    "empty rows": [[], []],
    "numbers of other classes": [Index(3), 4],
    "33 levels": eval("[" * 33 + "1" + "]" * 33),
}


@pytest.mark.parametrize("dtype", [None, *(d for d in _dtypes.DTYPES if d.name[0] != "q" and d.name != "bcomplex32")], ids=str)
@pytest.mark.parametrize("name", DATA)
def test_tensors_of_lists_and_back(name, dtype):
    outcomes = []
    for make in (torch.tensor, torch.tensor.__wrapped__):
        try:
            made = make(DATA[name], dtype=dtype)
            outcomes.append((made.dtype, made.shape, repr(torch.Tensor.tolist.__wrapped__(made)), repr(made.tolist())))
            assert outcomes[-1][2] == outcomes[-1][3]
        except (RuntimeError, TypeError, ValueError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


def test_lists_of_views():
    x = torch.arange(24, dtype=torch.int16).view(2, 3, 4)
    assert x[:, ::2, 1:3].tolist() == [[[1, 2], [9, 10]], [[13, 14], [21, 22]]]
    assert x.permute(2, 0, 1)[0].tolist() == [[0, 4, 8], [12, 16, 20]] and x[:, 3:].tolist() == [[], []]
    assert x[0, 0, :1].expand(2, 3).tolist() == [[0] * 3] * 2
    every_half = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.float16)
    assert repr(every_half.tolist()) == repr(every_half.to(torch.float64).tolist())
    with pytest.raises(ValueError, match="length 2 at dim 1"):
        torch.tensor([[1, 2], [3]])


def test_getters():
    x = base()[:, 1:, ::2]
    assert type(x.shape) is torch.Size and x.shape == (2, 2, 2) and x.size() == x.shape
    assert (x.size(-2), x.size(dim=0), x.stride(), x.stride(-1)) == (2, 2, (12, 4, 2), 2)
    assert (x.dim(), x.ndim, x.numel(), x.storage_offset(), len(x)) == (3, 3, 8, 4, 2)
    assert x.dtype is torch.float32 and x.device == torch.device("cpu") and torch.empty(2, device="meta").device.type == "meta"
    assert [torch.tensor(v).item() for v in (True, 3, 0.5, 1j)] == [True, 3, 0.5, 1j]
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=str(wrong)):
            x.size(wrong)
    with pytest.raises(TypeError, match="0-d"):
        len(torch.tensor(1))


def test_contiguous_is_the_tensor_itself():
    x = base()
    assert x.contiguous() is x and x.contiguous(memory_format=torch.contiguous_format) is x
    assert x[:, :1].contiguous().stride() == (4, 4, 1) and x[:1].contiguous().data_ptr() == x.data_ptr()
    y = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert y.contiguous(memory_format=torch.channels_last) is y and y.contiguous() is not y


def test_functions_look_like_functions():
    assert list(inspect.signature(torch.add).parameters) == ["input", "other", "alpha", "out"]
    assert torch.add.__name__ == "add" and "alpha" in torch.add.__doc__ and inspect.isroutine(torch.add)
    assert pickle.loads(pickle.dumps(torch.add)) is torch.add and copy.deepcopy(torch.add) is torch.add
    assert torch.tensor([1, 2]).add(3).tolist() == [4, 5] and list(map(torch.neg, [torch.tensor(1)])) == [torch.tensor(-1)]


def test_subclasses_go_through_the_python_function():
    class Sub(torch.Tensor):
        pass

    x = Sub([1.0, 2.0])
    assert type(x) is Sub and (x + x).tolist() == [2.0, 4.0] and x[0].item() == 1.0 and x.shape == (2,)
    x.note = "kept"
    assert x.note == "kept"


def test_references_are_given_back():
    x, key, size = base(), (slice(None), 1), [6, 4]
    before = [sys.getrefcount(o) for o in (None, x, key, size, torch.float32, torch.Tensor)]
    for _ in range(200):
        x[key], x.view(size), x.sum(dtype=torch.float32), x.add_(0), x.shape, x.dtype, 1 - x, torch.cat([x, x])
        with pytest.raises(RuntimeError):
            x.view(size + [7])
    gc.collect()
    after = [sys.getrefcount(o) for o in (None, x, key, size, torch.float32, torch.Tensor)]
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 50


def test_other_threads_run_during_a_call():
    """A call lets go of the interpreter, though no thread is made to."""
    x, ready, ran = torch.ones(400, 400, dtype=torch.float64), threading.Lock(), []

    def run():
        with ready:
            ran.append(True)

    interval = sys.getswitchinterval()
    with ready:
        thread = threading.Thread(target=run)
        thread.start()
        sys.setswitchinterval(1000)
    for _ in range(1000):
        torch.matmul(x, x)
        if ran:
            break
    seen = list(ran)
    sys.setswitchinterval(interval)
    thread.join()
    assert seen


def test_plain_calls():
    """The Python functions do it all where direct calls are turned off."""
    script = "import libtensor as t; x = t.ones(2, 3); print(type(t.add).__name__, (x + 1)[0, 1:].sum().item(), 1 - x.shape[0])"
    environment = os.environ | {"LIBTENSOR_PLAIN_CALLS": "1"}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["function", "4.0", "-1"]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("c_add", lambda x: x + torch.zeros(5)),
        ("c_add", lambda x: torch.add(x, torch.zeros(5))),
        ("c_sum", lambda x: x.sum(7)),
        ("c_item", lambda x: x.item()),
        ("c_index_get", lambda x: x[9]),
        ("c_view", lambda x: x.view(7)),
        ("c_cat", lambda x: torch.cat([x, torch.zeros(1)])),
        ("c_max_dim", lambda x: torch.max(x, 9)),
    ],
)
def test_a_refused_call_runs_once(monkeypatch, name, call):
    def again(*_):
        raise AssertionError("the library was asked twice")

    monkeypatch.setattr(torch.gen_functions, name, again)
    with pytest.raises((RuntimeError, IndexError), match="[0-9]"):
        call(base())


def test_the_error_of_who_refuses_a_capsule_arrives(capfd):
    numpy = pytest.importorskip("numpy")
    t = torch.ones(2, dtype=torch.bfloat16)
    with pytest.raises((BufferError, RuntimeError), match="dtype"):
        numpy.from_dlpack(t)
    gc.collect()
    assert "ignored" not in capfd.readouterr().err
    assert torch.from_dlpack(t).data_ptr() == t.data_ptr()
