"""Reference cases with one invalid argument, for every operator: a clear error that changes nothing, or a result of the shape and dtype of
the meta device; never a crash, a leak, or an internal error. The same calls with an output that overlaps an input or itself: the correct
result, or an error.
"""

import faulthandler
import math
import warnings
from pathlib import Path

import pytest
from golden_player import Storages, cases, decode, function, tensors

import libtensor as torch

FILES = sorted((Path(__file__).parent / "golden").glob("*.jsonl.gz"))
REJECTED = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, MemoryError, OverflowError, AssertionError)
BASES = 3  # damaged reference calls per file
LIMIT = 64 << 20  # bytes: larger allocations fail

INTEGERS = [-1, 7, -100, 2**31, 2**62, -(2**63), 2**70]
LISTS = [[], [0, 0], [-1], [99], [-7, 2], [2**62, 4], [2**70], [1] * 70, [0.5], [None]]
FLOATS = [math.nan, math.inf, -math.inf, -1.0, 1e300]
TEXTS = ["bogus", "", "é\0x"]
DTYPES = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.complex64]


def wrong_tensors(t):
    """Tensors that a call which takes `t` may not expect."""
    yield torch.tensor(2)
    yield torch.empty(0)
    yield torch.empty(0, 3, dtype=t.dtype)
    yield torch.ones(2, 0, 2, dtype=t.dtype)
    yield torch.ones(1, 1, 2, 1, 3, dtype=t.dtype)
    yield torch.zeros(1, dtype=t.dtype).expand(3, 4)
    yield torch.ones(3, 3, device="meta")
    for dtype in DTYPES:
        yield t.to(dtype) if dtype.is_complex or not t.is_complex() else t.real.to(dtype)
    if not t.is_floating_point() and not t.is_complex() and t.dtype != torch.bool:
        yield torch.full_like(t, 100)
        yield torch.full_like(t, -100) if t.is_signed() else torch.full_like(t, 200)


def wrong_values(value):
    if isinstance(value, torch.Tensor):
        return list(wrong_tensors(value)) + [None, 3, "x"]
    if isinstance(value, bool):
        return [2, "x", None]
    if isinstance(value, int):
        return [*INTEGERS, 0.5, None, "x"]
    if isinstance(value, float):
        return [*FLOATS, "x", None, 2**70]
    if isinstance(value, str):
        return [*TEXTS, None, 1]
    if isinstance(value, torch.dtype):
        return [*DTYPES, "float32", 3]
    if isinstance(value, (list, tuple)):
        spoilt = [[*value[:1], *value], value[:-1]]
        return LISTS + spoilt + ([[torch.empty(0, 3)], [None]] if any(isinstance(v, torch.Tensor) for v in value) else [])
    return [None, "x", -1]


class Call:
    """A reference case, repeated for each invalid argument."""

    def __init__(self, case):
        self.case = case

    def arguments(self):
        storages = Storages(self.case["storages"])
        args = [decode(a, storages) for a in self.case["args"]]
        return storages, args, {k: decode(v, storages) for k, v in self.case["kwargs"].items()}

    def places(self):
        _, args, kwargs = self.arguments()
        yield from ((i, a) for i, a in enumerate(args))
        yield from kwargs.items()

    def spoil(self, place, number):
        """Yields calls with the invalid value at a position; checks their outcome."""
        storages, args, kwargs = self.arguments()
        at = args if isinstance(place, int) else kwargs
        at[place] = wrong_values(at[place])[number]
        before = {key: bytes(storages.buffers[key]) for key in storages.buffers}
        try:
            got = function(self.case["call"])(*args, **kwargs)
        except REJECTED as error:
            if "internal error" in str(error) or not str(error):
                return f"{type(error).__name__}: {error}"
            changed = [key for key, old in before.items() if bytes(storages.buffers[key]) != old]
            return f"changed an argument before it rejected: {error}" if changed else ""
        return foretold(self.case["call"], args, kwargs, got)


def on_meta(value):
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, (list, tuple)):
        return type(value)(on_meta(v) for v in value)
    return value


def foretold(call, args, kwargs, got):
    """The answer's sizes and dtypes must be those that the meta device infers, where it can."""
    if "cpu" in map(str, [*args, *kwargs.values()]) or any(isinstance(v, torch.device) for v in [*args, *kwargs.values()]):
        return ""
    have = [(t.dtype, t.shape) for t in tensors(got)]
    if next(tensors([args, kwargs]), None) is None:
        return ""
    try:
        want = [(t.dtype, t.shape) for t in tensors(function(call)(*map(on_meta, args), **{k: on_meta(v) for k, v in kwargs.items()}))]
    except REJECTED:
        return ""  # depends on data
    return "" if have == want else f"{have} instead of {want} as on the meta device"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_wrong_arguments(path):
    wrong = []
    torch.set_memory_limit(torch.memory_stats().in_use + LIMIT)
    faulthandler.dump_traceback_later(300, exit=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for case in [case for case in cases(path) if "raises" not in case][:BASES]:
                call = Call(case)
                for place, value in list(call.places()):
                    for number in range(len(wrong_values(value))):
                        found = call.spoil(place, number)
                        if found:
                            wrong.append(f"{case['id']}, argument {place}: {wrong_values(value)[number]!r}: {found}")
    finally:
        faulthandler.cancel_dump_traceback_later()
        torch.set_memory_limit(0)
    assert not wrong, "\n".join(wrong)


def overlapping(got, place, args):
    """Outputs for the result `got` that overlap argument `place`, which moves into memory that both share."""
    given = args[place]
    if given.dtype == got.dtype and given.shape == got.shape and got.numel() > 1:
        yield "the argument itself", given.clone, lambda held: held
        if given.is_contiguous():
            room = torch.empty(got.numel() + 1, dtype=got.dtype)

            def shifted():
                room[1:].copy_(given.flatten())
                return room[1:].view(got.shape)

            yield "one element before the argument", shifted, lambda held: room[:-1].view(got.shape)


def with_output(case, place):
    """Returns the outputs that differ from those of a call without `out`."""
    call = Call(case)
    run = function(case["call"])
    _, args, kwargs = call.arguments()
    expected = run(*args, **kwargs)
    if not isinstance(expected, torch.Tensor):
        return
    for what, make, out_of in overlapping(expected, place, args):
        _, args, kwargs = call.arguments()
        args[place] = make()
        out = out_of(args[place])
        try:
            run(*args, **kwargs, out=out)
        except TypeError:
            return  # it takes no out
        except RuntimeError:
            continue
        if not torch.equal(out.nan_to_num(), expected.nan_to_num()):
            yield f"{case['id']}: with {what} as out: {out} instead of {expected}"
    if expected.numel() > 1:
        _, args, kwargs = call.arguments()
        try:
            run(*args, **kwargs, out=torch.zeros(1, dtype=expected.dtype).expand(expected.shape))
        except (TypeError, RuntimeError):
            return
        yield f"{case['id']}: wrote several elements to one place"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_overlapping_outputs(path):
    wrong = []
    for case in [case for case in cases(path) if "raises" not in case and "out_meta" not in case][:BASES]:
        for place, value in enumerate(Call(case).arguments()[1]):
            if isinstance(value, torch.Tensor):
                wrong.extend(with_output(case, place))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16])
def test_indices_are_of_the_dtypes_that_count(dtype):
    x, index = torch.arange(6).reshape(2, 3), torch.tensor([1], dtype=dtype)
    before = x.tolist()
    for use in (lambda: x[index], lambda: x[0, index], lambda: x.__setitem__(index, 0), lambda: x.index_put_((index,), torch.tensor(0))):
        with pytest.raises(IndexError, match=f"must be long, int, byte or bool tensors, but got {dtype}".replace("torch.", "")):
            use()
    assert x.tolist() == before
    numpy = pytest.importorskip("numpy")
    assert x[index.numpy()].tolist() == x[numpy.array([1], dtype=index.numpy().dtype)].tolist() == [before[1]]


@pytest.mark.parametrize("value", ["abc", 1.5, (0, 1), None, 1])
def test_arguments_that_are_no_tensors_are_rejected_by_name(value):
    calls = {
        ("input", name): getattr(torch, name)
        for name in ("is_complex", "is_floating_point", "is_inference", "is_signed", "numel", "is_nonzero")
    }
    calls |= {("tensor", "to_dlpack"): torch.to_dlpack, ("other", "type_as"): torch.ones(2).type_as}
    calls[("other", "map_")] = lambda v: torch.ones(2).map_(v, max)
    for (argument, name), call in calls.items():
        with pytest.raises(TypeError) as error:
            call(value)
        assert str(error.value) == f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}"


@pytest.mark.parametrize("shape", [None, "abc", 1.5, (1.5,), [None], torch.ones(2)])
def test_broadcast_shapes_names_itself(shape):
    with pytest.raises(RuntimeError, match=rf"^broadcast_shapes\(\): .*ints, not {type(shape).__name__}$"):
        torch.broadcast_shapes((2, 1), shape)
    assert torch.broadcast_shapes(3, [2, 1], torch.Size((1,))) == (2, 3)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda z: z(3).index_copy(0, torch.tensor([0]), z(2)), IndexError, "index of 1 elements"),
        (lambda z: z(3, 2).index_copy(0, torch.tensor([0]), z(2, 2)), IndexError, "index of 1 elements"),
        (lambda z: z(3, 2).index_copy(0, torch.tensor([0]), z(2)), IndexError, r"source has shape \[2\]"),
        (lambda z: z(3, 2).index_copy(0, torch.tensor([0]), z(1, 3)), RuntimeError, r"source has shape \[1, 3\]"),
        (lambda z: z(()).repeat_interleave(2, dim=-1), IndexError, "dimension -1 was given, but the tensor has no dimensions"),
        (lambda z: z(()).repeat_interleave(torch.tensor([2]), dim=0), IndexError, "no dimensions"),
        (lambda z: z(3, 0).kthvalue(1), IndexError, "dim 1 to have non-zero size"),
        (lambda z: z(0, 3).kthvalue(5, 0), IndexError, "dim 0 to have non-zero size"),
        (lambda z: z(0, 3).kthvalue(4), RuntimeError, "out of range for dimension 1 with size 3"),
    ],
)
def test_indices_that_do_not_fit_are_index_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.zeros)


def test_a_mean_of_bools_is_rejected_before_anything_is_written():
    x = torch.tensor([True, False, True])
    with pytest.raises(NotImplementedError, match="mean is not implemented for dtype bool"):
        x.scatter_reduce_(0, torch.tensor([0, 1, 2]), torch.tensor([False, True, True]), "mean")
    assert x.tolist() == [True, False, True]


def test_an_output_that_cannot_grow_is_rejected_before_the_other_is_written():
    numpy = pytest.importorskip("numpy")
    values, indices = torch.from_numpy(numpy.empty(0, dtype="float16")), torch.full((3, 3), -1)
    for scan in (torch.cummax, torch.cummin):
        with pytest.raises(RuntimeError, match="not resizable"):
            scan(torch.ones(3, 3).half(), 0, out=(values, indices))
        assert (indices == -1).all()


BEYOND = 2**63 + 2**40


@pytest.mark.parametrize(
    ("call", "want"),
    [
        (lambda: torch.ones(1, dtype=torch.float64) + BEYOND, float(BEYOND)),
        (lambda: BEYOND - torch.ones(1, dtype=torch.float64), float(BEYOND)),
        (lambda: torch.ones(1, dtype=torch.complex128) * BEYOND, complex(BEYOND)),
        (lambda: torch.ones(1) < BEYOND, True),
        (lambda: torch.tensor([1e30], dtype=torch.float64).clamp(max=BEYOND), float(BEYOND)),
        (lambda: torch.ones(1, dtype=torch.float64).fill_(BEYOND), float(BEYOND)),
        (lambda: torch.full((1,), BEYOND, dtype=torch.float64), float(BEYOND)),
        (lambda: torch.tensor([3]) + BEYOND, BEYOND + 3 - 2**64),
        (lambda: torch.tensor([3]) & (2**64 - 1), 3),
    ],
)
def test_integers_beyond_int64_keep_their_value_with_floats_and_wrap_with_integers(call, want):
    assert call().item() == want


def test_an_integer_beyond_int64_fills_no_integers():
    with pytest.raises(RuntimeError, match=str(BEYOND)):
        torch.full((1,), BEYOND)


def test_errors_name_the_function_that_was_called():
    x, s = torch.tensor([0, 3]), torch.tensor(2)
    for call, kind, text in (
        (lambda: torch.nonzero(x, as_tuple=True, out=torch.empty(0)), RuntimeError, "nonzero.*as_tuple=False"),
        (lambda: x.apply_(lambda k: "a"), TypeError, "apply_.*number.*str"),
        (lambda: x.map2_(s, s, lambda *k: None), TypeError, "map2_.*number.*NoneType"),
        (lambda: torch.set_default_tensor_type(torch.float64), TypeError, r"set_default_dtype\(torch.float64\)"),
        (lambda: torch.set_default_dtype(torch.qint8), TypeError, "set_default_dtype.*floating-point.*qint8"),
        (lambda: torch.save_npy("x.npy", x), TypeError, "save_npy.*'tensor' must be Tensor, not str"),
    ):
        with pytest.raises(kind, match=text):
            call()
    assert (
        x.tolist() == [0, 3] and x.map2_(s, s, lambda a, b, c: a * b + c).tolist() == [2, 8] and torch.get_default_dtype() is torch.float32
    )


def test_empty_strings_are_no_arguments():
    x = torch.ones(2, 2)
    for call, argument in (
        (lambda: torch.div(x, x, rounding_mode=""), "div: argument 'rounding_mode'"),
        (lambda: x.div_(2, rounding_mode=""), "argument 'rounding_mode'"),
        (lambda: torch.fft.fft(x, norm=""), "fft.fft: argument 'norm'"),
        (lambda: torch.meshgrid(x[0], x[0], indexing=""), "meshgrid: argument 'indexing'"),
        (lambda: torch.linalg.lstsq(x, x, driver=""), "linalg.lstsq: argument 'driver'"),
        (lambda: torch.searchsorted(x[0], x, side=""), "searchsorted: argument 'side'"),
    ):
        with pytest.raises(RuntimeError, match=f"{argument} is an empty string; omit it"):
            call()
    assert x.tolist() == [[1, 1], [1, 1]]
