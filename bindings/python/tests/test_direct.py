"""How a call finds its operator, and its arguments (_base/direct.py, direct/direct.c)."""

import copy
import ctypes
import gc
import inspect
import pickle
import sys
import threading

import pytest

import libtensor as torch
from libtensor._base import dtypes as _dtypes
from libtensor._base import library as _library


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

    def __repr__(self):
        return f"Index({self.value})"

    def __index__(self):
        return self.value


class Real(float):
    """A float of another class, as NumPy's float64 is one."""


class Text(str):
    pass


class List(list):
    pass


def nested(function, *lists):
    """A function of the elements of nested lists, one by one."""
    return [nested(function, *each) for each in zip(*lists, strict=True)] if isinstance(lists[0], list) else function(*lists)


X = torch.arange(24, dtype=torch.float32).view(2, 3, 4).tolist()
ROWS = torch.tensor(X).sum(1).tolist()

# A call, and the elements of its result. `x` has 24 floats of size 2, 3, 4.
CALLS = {
    "two tensors": (lambda x: torch.add(x, x), nested(lambda v: 2 * v, X)),
    "an int operand": (lambda x: torch.mul(x, 3), nested(lambda v: 3 * v, X)),
    "a float operand": (lambda x: torch.sub(x, 0.5), nested(lambda v: v - 0.5, X)),
    "a complex operand": (lambda x: torch.add(x, 1j), nested(lambda v: v + 1j, X)),
    "a bool operand": (lambda x: torch.add(x, True), nested(lambda v: v + 1, X)),
    "an operand of another class": (lambda x: torch.add(x, Real(0.5)), nested(lambda v: v + 0.5, X)),
    "an operand beyond int64": (lambda x: torch.add(x, 2**63), nested(lambda v: float(2**63), X)),
    "a number first": (lambda x: torch.sub(1, x), nested(lambda v: 1 - v, X)),
    "a keyword": (lambda x: torch.add(x, x, alpha=2), nested(lambda v: 3 * v, X)),
    "a keyword that is no constant": (lambda x: torch.add(x, x, **{"".join(["al", "pha"]): 2}), nested(lambda v: 3 * v, X)),
    "a keyword of another class": (lambda x: torch.add(x, x, alpha=Real(2)), nested(lambda v: 3 * v, X)),
    "a tensor as a number": (lambda x: torch.add(x, x, alpha=torch.tensor(2)), nested(lambda v: 3 * v, X)),
    "every argument by keyword": (lambda x: torch.add(other=2, input=x, alpha=3), nested(lambda v: v + 6, X)),
    "a bool": (lambda x: torch.sum(x, 1, False), ROWS),
    "NumPy's keywords": (lambda x: torch.sum(x, axis=1, keepdims=True), [[row] for row in ROWS]),
    "dims as an int": (lambda x: torch.sum(x, 1), ROWS),
    "dims as a tuple": (lambda x: torch.sum(x, (0, -1), keepdim=True), [[[60.0], [92.0], [124.0]]]),
    "dims as a list": (lambda x: torch.sum(x, [0, 2], False), [60.0, 92.0, 124.0]),
    "dims as a range": (lambda x: torch.sum(x, range(2)), [60.0, 66.0, 72.0, 78.0]),
    "dims as a tensor": (lambda x: torch.sum(x, torch.tensor([0, 1])), [60.0, 66.0, 72.0, 78.0]),
    "no dims": (lambda x: torch.sum(x, ()), 276.0),
    "a dtype": (lambda x: torch.sum(x, dtype=torch.int64), 276),
    "Python's type as a dtype": (lambda x: torch.sum(x, dtype=int), 276),
    "a dtype that is None": (lambda x: torch.sum(x, dtype=None), 276.0),
    "a size in pieces": (lambda x: x.view(4, -1), torch.tensor(X).reshape(4, 6).tolist()),
    "a size in pieces of other classes": (lambda x: x.view(Index(4), torch.tensor(6)), torch.tensor(X).reshape(4, 6).tolist()),
    "a Size": (lambda x: x.view(torch.Size([6, 4])), torch.tensor(X).reshape(6, 4).tolist()),
    "a size by its name": (lambda x: x.view(size=(24,)), [float(i) for i in range(24)]),
    "a dtype in place of a size": (lambda x: x.view(torch.int32)[0, 0], [0, 0x3F800000, 0x40000000, 0x40400000]),
    "a device by its name": (lambda x: torch.zeros(2, device="cpu"), [0.0, 0.0]),
    "a device of a class of texts": (lambda x: torch.zeros(2, device=Text("cpu")), [0.0, 0.0]),
    "what factories take": (lambda x: torch.ones(2, requires_grad=False, pin_memory=None), [1.0, 1.0]),
    "a list of tensors": (lambda x: torch.cat([x[0], x[1]]), X[0] + X[1]),
    "a tuple of tensors": (lambda x: torch.stack((x[0], x[1])), X),
    "a range of no tensors": (lambda x: torch.broadcast_tensors(*range(0)) or x[0, 0], X[0][0]),
    "a list of another class": (lambda x: torch.cartesian_prod(List([x[0, 0, :1], x[0, 1, :1]])), [[0.0, 4.0]]),
    "tensors one by one": (lambda x: torch.cartesian_prod(x[0, 0, :2], x[0, 1, :1]), [[0.0, 4.0], [1.0, 4.0]]),
    "many tensors": (lambda x: torch.cat([x] * 40), X * 40),
    "an optional number": (lambda x: torch.clamp(x, None, 7), nested(lambda v: min(v, 7), X)),
    "an optional float": (lambda x: torch.logit(torch.tensor([0.5, 0.5]), 1e-3), [0.0, 0.0]),
    "a text": (
        lambda x: x[0].scatter_reduce(0, torch.zeros(1, 4, dtype=torch.int64), x[0, 1:2], "sum"),
        [[4.0, 6.0, 8.0, 10.0], *X[0][1:]],
    ),
    "a text of another class": (lambda x: torch.div(x, 2, rounding_mode=Text("floor")), nested(lambda v: v // 2, X)),
    "many pieces": (lambda x: torch.split(x.flatten().repeat(4), [1] * 96)[25], [1.0]),
    "many dims": (lambda x: x.view(*[1] * 40, 24).flatten(), [float(i) for i in range(24)]),
    "several results": (lambda x: torch.sort(x[0], dim=1, descending=True).values, [row[::-1] for row in X[0]]),
    "several results of an overload": (lambda x: torch.max(x, 1).indices, [[2] * 4] * 2),
    "an overload with a tensor": (lambda x: torch.max(x, torch.tensor(7.0)), nested(lambda v: max(v, 7), X)),
    "an overload with a number of another class": (lambda x: torch.max(x, Index(2)).values, [[3.0, 7.0, 11.0], [15.0, 19.0, 23.0]]),
    "an overload by a keyword": (lambda x: torch.max(x, dim=1)[1], [[2] * 4] * 2),
    "a list of views": (lambda x: torch.unbind(x, 2)[3], [[3.0, 7.0, 11.0], [15.0, 19.0, 23.0]]),
    "pieces of sizes": (lambda x: torch.split(x, [1, 2], 1)[1], [rows[1:] for rows in X]),
    "an integer of another class": (lambda x: torch.select(x, Index(1), Index(-1)), [rows[2] for rows in X]),
    "a storage": (lambda x: torch.empty(0).set_(x.untyped_storage(), 2, (2,)), [2.0, 3.0]),
    "a list of floats": (lambda x: torch.histogram(x, 2, range=(0, 24)).hist, [12.0, 12.0]),
    "what is told": (
        lambda x: torch.tensor([torch.equal(x, x), x.is_contiguous(), torch.can_cast(torch.int32, torch.bool)]),
        [True, True, False],
    ),
    "a dtype that is told": (lambda x: torch.zeros(1, dtype=torch.result_type(x, 1j)), [0j]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    call, elements = CALLS[name]
    made = call(base())
    assert type(made) is torch.Tensor and made.tolist() == elements


def test_outputs():
    x, y, out, again = base(), torch.empty(0), torch.empty(2, 3, 4), torch.empty(0, dtype=torch.int64)
    assert torch.neg(x, out=out) is out and out.tolist() == nested(lambda v: -v, X)
    assert torch.add(x, 1, out=out) is out and out.tolist() == nested(lambda v: v + 1, X)
    assert torch.add(x, 1, out=None) is not out
    found = torch.max(x, 1, out=(y, again))
    assert type(found) is torch.return_types.max and found.values is y and found[1] is again
    assert y.tolist() == torch.max(x, 1).values.tolist() and again.tolist() == [[2] * 4] * 2
    assert torch.sort(x, out=[y, again])[0] is y and y.tolist() == X
    assert torch.zeros(2, out=y) is y and y.tolist() == [0.0, 0.0]
    for wrong, text in [((y,), "tuple of 2 Tensors"), (y, "tuple of 2 Tensors"), ((y, 3), "'out' must be Tensor, not int")]:
        with pytest.raises(TypeError, match=text):
            torch.sort(x, out=wrong)


KEYS = [0, -1, True, None, ..., slice(1, None), slice(None, None, 2), slice(-1, 9), (0, 1), (slice(None), 1), (..., 0), [1, 0], (0, [2, 1])]
KEYS += [Index(1), (None, 0, ..., slice(1, 3)), torch.tensor([1, 0]), base() > 5, (slice(None), torch.tensor([0, 2]))]
KEYS += [(0, 0, 0), (0, 0, 0, None, ..., None, None), ()]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_brackets(key):
    x, numpy = base(), pytest.importorskip("numpy")
    plain = (
        tuple(k.value if isinstance(k, Index) else k for k in key)
        if isinstance(key, tuple)
        else key.value
        if isinstance(key, Index)
        else key
    )
    plain = tuple(map(as_array, plain)) if isinstance(plain, tuple) else as_array(plain)
    array = numpy.array(X, dtype=numpy.float32)
    assert x[key].tolist() == array[plain].tolist() and list(x[key].shape) == list(array[plain].shape)
    for value in (7, 2.5, torch.full(array[plain].shape, 9.0), torch.tensor(1.0), [3.0] if array[plain].shape[-1:] == (1,) else 4):
        x, array = base(), numpy.array(X, dtype=numpy.float32)
        x[key] = value
        array[plain] = value.numpy() if isinstance(value, torch.Tensor) else value
        assert x.tolist() == array.tolist()


def as_array(key):
    return key.numpy() if isinstance(key, torch.Tensor) else key


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


REJECTED = {
    "sizes": (RuntimeError, lambda x: x + torch.zeros(5), "[2, 3, 4]"),
    "an index": (IndexError, lambda x: x[2], "index 2 is out of bounds for dimension 0 with size 2"),
    "a dim": (IndexError, lambda x: x.sum(3), "3"),
    "an unknown keyword": (TypeError, lambda x: x.sum(dimm=1), "dimm"),
    "too few arguments": (TypeError, lambda x: torch.add(x), "other"),
    "an argument twice": (TypeError, lambda x: torch.add(x, x, other=x), "other"),
    "a large integer": (ValueError, lambda x: x.select(0, 2**70), str(2**70)),
    "a str": (TypeError, lambda x: torch.add(x, "a"), "other"),
    "a zero step": (ValueError, lambda x: x[::0], "step"),
    "a key": (TypeError, lambda x: x["a"], "indices"),
    "several elements": (RuntimeError, lambda x: x.item(), "24"),
    "no receiver": (TypeError, lambda x: torch.Tensor.view(), "view()"),
    "too many arguments": (TypeError, lambda x: torch.neg(x, x), "takes 1 positional argument but 2 were given"),
    "an argument of the wrong class": (TypeError, lambda x: torch.sum(x, 1.5), "'dim' must be tuple of ints, not float"),
    "arguments of no overload": (TypeError, lambda x: torch.max(x, b"a"), "got (Tensor, bytes), but expected one of:\n * (Tensor input)\n"),
    "keywords of no overload": (TypeError, lambda x: torch.max(x, dim=1, other=x), "(Tensor, dim=int, other=Tensor)"),
    "a bad value for one of several overloads": (TypeError, lambda x: x.view((2**70,)), str(2**70)),
    "a number that is too large": (OverflowError, lambda x: torch.add(x, 2**70), str(2**70)),
    "an alpha that is too large": (OverflowError, lambda x: torch.add(x, x, alpha=2**64), "'alpha'"),
    "an out of another class": (TypeError, lambda x: torch.add(x, x, out=3), "'out' must be Tensor, not int"),
    "an out that there is not": (TypeError, lambda x: torch.unbind(x, out=x), "'out'"),
    "one item of a list": (TypeError, lambda x: torch.cat([x, 3]), "expected Tensor as element 1, but got int"),
    "a text with NUL": (ValueError, lambda x: torch.div(x, 2, rounding_mode="a\0b"), "NUL"),
    "gradients of integers": (
        RuntimeError,
        lambda x: torch.zeros(2, dtype=torch.int64, requires_grad=True),
        "floating point and complex dtype",
    ),
    "pinned memory": (TypeError, lambda x: torch.zeros(2, pin_memory="yes"), "'pin_memory' must be bool"),
    "a dim by two names": (TypeError, lambda x: torch.sum(x, dim=1, axis=1), "axis"),
    "~ of floats": (TypeError, lambda x: ~x, "torch.float32"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_errors(name):
    kind, call, fact = REJECTED[name]
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


def element(x, dtype):
    """What becomes of a number: what int(), bool() and conversions of one float64 or complex128 make of it."""
    if isinstance(x, (list, tuple)):
        return [element(item, dtype) for item in x]
    x = x.value if isinstance(x, Index) else x
    if isinstance(x, complex) and not dtype.is_complex and dtype is not torch.bool:
        raise TypeError(f"can't convert complex to {dtype.name}")
    if dtype is torch.bool:
        return bool(x)
    if dtype in _dtypes.INTEGERS:
        info = torch.iinfo(dtype)
        wraps = not dtype.is_signed and dtype is not torch.uint64
        if not (-info.max if wraps else info.min) <= x <= info.max:
            raise RuntimeError("without overflow")
        return int(x) if dtype.is_signed else int(x) % (info.max + 1)
    return torch.tensor(x, dtype=torch.complex128 if dtype.is_complex else torch.float64).to(dtype).item()


@pytest.mark.parametrize("dtype", [None, *(d for d in _dtypes.DTYPES if d.name[0] != "q" and d.name != "bcomplex32")], ids=str)
@pytest.mark.parametrize("name", DATA)
def test_tensors_of_lists_and_back(name, dtype):
    inferred = (
        torch.complex64 if "complex" in name else torch.float32 if "float" in name or "nothing" in name or "empty" in name else torch.int64
    )
    inferred = torch.bool if name in ("a bool", "bools") else inferred
    try:
        if name == "numbers of other classes" and dtype is None:
            raise RuntimeError("infer dtype of Index")
        wanted = repr(element(DATA[name], dtype or inferred))
    except (RuntimeError, TypeError) as error:
        with pytest.raises(type(error), match=str(error)):
            torch.tensor(DATA[name], dtype=dtype)
    else:
        made = torch.tensor(DATA[name], dtype=dtype)
        assert made.dtype is (dtype or inferred) and repr(made.tolist()) == wanted


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
    assert x.size(dim=None) == x.shape and x.size(Index(1)) == 2 and x.stride(dim=torch.tensor(0)) == 12
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=str(wrong)):
            x.size(wrong)
    for get in (
        torch.Tensor.size,
        torch.Tensor.stride,
        torch.Tensor.dim,
        torch.Tensor.numel,
        torch.Tensor.dtype.fget,
        torch.Tensor.device.fget,
    ):
        with pytest.raises(TypeError, match="must be Tensor .*not int"):
            get(3)
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
    for method in (
        torch.Tensor.__add__,
        torch.Tensor.__rsub__,
        torch.Tensor.__invert__,
        torch.Tensor.__getitem__,
        torch.Tensor.__setitem__,
        torch.Tensor.add,
    ):
        assert pickle.loads(pickle.dumps(method)) is method and method.__doc__
    assert pickle.loads(pickle.dumps(torch.add)) is torch.add and copy.deepcopy(torch.add) is torch.add
    assert torch.tensor([1, 2]).add(3).tolist() == [4, 5] and list(map(torch.neg, [torch.tensor(1)])) == [torch.tensor(-1)]


def test_subclasses_keep_their_class():
    class Sub(torch.Tensor):
        pass

    x = Sub([1.0, 2.0])
    assert (x.dim(), x.numel(), x.stride(), x.dtype, str(x.device), len(x), x.tolist()) == (1, 2, (1,), torch.float32, "cpu", 2, [1.0, 2.0])
    assert x.contiguous() is x
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
    """A call releases the GIL, though no thread is created."""
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


class Operator(ctypes.Structure):
    """The beginning of the library's lt_operator: what runs it."""

    _fields_ = [("run", ctypes.c_void_p)]


RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_bool, ctypes.c_void_p)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("add", lambda x: x + torch.zeros(5)),
        ("add", lambda x: torch.add(x, torch.zeros(5))),
        ("sum", lambda x: x.sum(7)),
        ("item", lambda x: x.item()),
        ("index_get", lambda x: x[9]),
        ("view", lambda x: x.view(7)),
        ("view", lambda x: x.view([Index(7)])),
        ("cat", lambda x: torch.cat([x, torch.zeros(1)])),
        ("max.dim", lambda x: torch.max(x, 9)),
        ("neg", lambda x: torch.neg(x > 0, out=x)),
        ("bitwise_not", lambda x: ~x),
    ],
)
def test_a_rejected_call_runs_once(name, call):
    find = _library.library.tensor_operator
    find.restype, find.argtypes = ctypes.POINTER(Operator), [ctypes.c_char_p]
    row, calls, x = find(name.encode()).contents, [], base()
    before = row.run
    run = RUN(before)

    def counted(*arguments):
        calls.append(name)
        return run(*arguments)

    kept = RUN(counted)
    try:
        row.run = ctypes.cast(kept, ctypes.c_void_p).value
        with pytest.raises((RuntimeError, IndexError, TypeError)):
            call(x)
    finally:
        row.run = before
    assert calls == [name]


def test_the_error_of_a_consumer_that_rejects_a_capsule_is_raised(capfd):
    numpy = pytest.importorskip("numpy")
    t = torch.ones(2, dtype=torch.bfloat16)
    with pytest.raises((BufferError, RuntimeError), match="dtype"):
        numpy.from_dlpack(t)
    gc.collect()
    assert "ignored" not in capfd.readouterr().err
    assert torch.from_dlpack(t).data_ptr() == t.data_ptr()
