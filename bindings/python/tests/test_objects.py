"""Dtypes, devices, layouts, defaults, generators."""

import contextlib
import gc
import inspect
import math
import pickle

import pytest

import libtensor as torch


def test_names_print_as_in_pytorch():
    assert [repr(x) for x in (torch.float32, torch.bool, torch.strided, torch.channels_last)] == [
        "torch.float32",
        "torch.bool",
        "torch.strided",
        "torch.channels_last",
    ]
    assert torch.float is torch.float32 and torch.long is torch.int64 and torch.half is torch.float16


def test_dtype_properties():
    assert torch.float16.is_floating_point and torch.complex64.is_complex and not torch.uint8.is_signed
    short = {
        "bool": "b8",
        "bfloat16": "bf16",
        "float64": "f64",
        "float8_e8m0fnu": "f8e8m0fnu",
        "float4_e2m1fn_x2": "f4e2m1fnx2",
        "half": "f16",
    }
    short |= {"complex32": "c32", "bcomplex32": "bc32", "int8": "i8", "uint16": "u16", "qint8": "qint8"}
    assert {name: getattr(torch, name).abbr for name in short} == short
    assert torch.complex128.to_real() is torch.float64 and torch.float32.to_complex() is torch.complex64 and torch.int16.itemsize == 2


def test_limits():
    f, i = torch.finfo(torch.float32), torch.iinfo(torch.int8)
    assert repr(f) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, tiny=1.17549e-38, "
        "dtype=float32)"
    )
    assert (i.min, i.max, i.bits) == (-128, 127, 8) and torch.iinfo(torch.uint8).max == 255
    with pytest.raises(TypeError, match="iinfo"):
        torch.finfo(torch.int8)


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (("cpu",), "device(type='cpu')"),
        (("cuda:1",), "device(type='cuda', index=1)"),
        (("cuda", 1), "device(type='cuda', index=1)"),
        ((1,), "device(type='cuda', index=1)"),
        (("meta",), "device(type='meta')"),
    ],
)
def test_devices(args, shown):
    d = torch.device(*args)
    assert repr(d) == shown and torch.device(d) == d and pickle.loads(pickle.dumps(d)) == d and hash(d) == hash(torch.device(*args))


def test_unknown_device():
    with pytest.raises(RuntimeError, match="toaster"):
        torch.device("toaster")


def test_device_as_context():
    with torch.device("meta"):
        assert torch.zeros(2).is_meta and torch.zeros(2, device="cpu").is_cpu
        with torch.device("cpu"):
            assert torch.zeros(2).is_cpu
        assert torch.zeros(2).is_meta
    assert torch.zeros(2).is_cpu


def test_default_dtype():
    assert torch.get_default_dtype() is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.zeros(1).dtype is torch.float64 and torch.tensor(1.0).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(TypeError):
        torch.set_default_dtype(torch.int64)


def test_promotion():
    assert torch.promote_types(torch.uint8, torch.int8) is torch.int16
    assert torch.result_type(torch.tensor([1], dtype=torch.int32), 1.0) is torch.float32
    assert torch.can_cast(torch.int32, torch.float32) and not torch.can_cast(torch.float32, torch.int32)


def test_generators_repeat():
    torch.manual_seed(7)
    a = torch.rand(3)
    state = torch.get_rng_state()
    b = torch.rand(3)
    torch.set_rng_state(state)
    assert torch.rand(3).tolist() == b.tolist()
    torch.manual_seed(7)
    assert torch.rand(3).tolist() == a.tolist() and torch.initial_seed() == 7
    g = torch.Generator().manual_seed(7)
    assert torch.rand(3, generator=g).tolist() == a.tolist()
    h = pickle.loads(pickle.dumps(g))
    assert torch.rand(3, generator=h).tolist() == torch.rand(3, generator=g).tolist()


def test_legacy_constructors():
    assert torch.FloatTensor([1, 2]).dtype is torch.float32 and torch.LongTensor(2, 3).shape == (2, 3)
    assert torch.Tensor([1, 2]).tolist() == [1.0, 2.0] and torch.Tensor(2, 3).shape == (2, 3)
    assert isinstance(torch.zeros(1), torch.FloatTensor) and not isinstance(torch.zeros(1), torch.LongTensor)


def test_print_options():
    x = torch.tensor([1.23456])
    torch.set_printoptions(precision=2)
    try:
        assert repr(x) == "tensor([1.23])"
    finally:
        torch.set_printoptions(profile="default")
    assert repr(x) == "tensor([1.2346])"


@pytest.fixture
def print_options():
    yield torch.get_printoptions()
    torch.set_printoptions(profile="default")


@pytest.mark.parametrize(
    "threshold, whole", [(1e6, True), (20.5, True), (20, True), (19.9, False), (5e0, False), (math.inf, True), (math.nan, True)]
)
def test_print_thresholds_are_any_number(print_options, threshold, whole):
    torch.set_printoptions(threshold=threshold)
    assert ("..." not in repr(torch.arange(20))) == whole


@pytest.mark.parametrize("width, lines", [(1e3, 1), (math.inf, 1), (40.5, 3), (0, 20), (-5, 20)])
def test_print_widths_are_any_number(print_options, width, lines):
    torch.set_printoptions(linewidth=width)
    assert len(repr(torch.arange(20)).splitlines()) == lines


@pytest.mark.parametrize("value", ["a", -1, 2.5, 1j, [1], True, math.nan, b"1", "short "])
@pytest.mark.parametrize("option", ["precision", "threshold", "edgeitems", "linewidth", "sci_mode", "profile"])
def test_wrong_print_options_are_rejected_at_the_call(print_options, option, value):
    """Every value raises an error and changes nothing, or printing works afterwards."""
    try:
        torch.set_printoptions(**({"precision": 2, "threshold": 7} | {option: value}))
    except (TypeError, ValueError) as error:
        assert option in str(error) and torch.get_printoptions() == print_options
    else:
        assert option in ("threshold", "linewidth", "sci_mode")
    assert repr(torch.arange(3)).startswith("tensor([0")


def test_assert_close():
    torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.1]))
    with pytest.raises(AssertionError, match="dtype"):
        torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1]))
    with pytest.raises(AssertionError, match=r"item \[1\]"):
        torch.testing.assert_close([1.0, 2.0], [1.0, 3.0])


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        (torch.UntypedStorage, lambda made: made.device),
        (torch.UntypedStorage, lambda made: torch.ones(2).set_(made)),
        (torch.Generator, lambda made: torch.rand(2, generator=made)),
        (torch.Tensor, lambda made: made.shape),
    ],
)
def test_objects_that_no_constructor_made(kind, use, capfd):
    with pytest.raises((TypeError, AttributeError), match=f"object.__new__|'{kind.__name__}' object has no attribute '_h'"):
        use(object.__new__(kind))
    with contextlib.suppress(TypeError):
        object.__new__(kind)
    gc.collect()
    assert "ignored" not in capfd.readouterr().err
    assert not hasattr(kind(), "colour")


def test_public_classes_are_the_packages():
    for kind in (torch.Tensor, torch.Size, torch.dtype, torch.device, torch.finfo, torch.Generator):
        assert kind.__module__ == "libtensor" and getattr(torch, kind.__name__) is kind
    assert torch.UntypedStorage.__module__ == "libtensor.storage" and torch.storage.UntypedStorage is torch.UntypedStorage
    assert torch.typename(torch.Tensor) == "libtensor.Tensor" and repr(torch.Tensor) == "<class 'libtensor.Tensor'>"
    assert pickle.loads(pickle.dumps(torch.Tensor)) is torch.Tensor


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)])
def test_gradient_modes_return_no_object(mode):
    with mode() as given:
        assert given is None


def test_no_generators_on_meta():
    with pytest.raises(RuntimeError, match="generators on the meta device are not supported"):
        torch.Generator("meta")


@pytest.mark.parametrize(
    ("make", "name", "fact"),
    [
        (lambda: torch.ones(2), "imag", "imag: is only implemented for tensors with complex dtypes, but input has dtype float32"),
        (lambda: torch.ones(2), "mT", "only supported on matrices or batches"),
        (lambda: torch.ones(2), "mH", "only supported on matrices or batches"),
        (lambda: torch.ones(1, 2, 3), "H", r"only supported on matrices .*got 3-D tensor"),
    ],
)
def test_parts_that_a_tensor_has_not(make, name, fact):
    """hasattr() is answered, as other packages ask for what arrays have; the errors are of the kinds that they were, too."""
    assert not hasattr(make(), name) and hasattr(torch.ones(2, 2, dtype=torch.complex64), name)
    for kind in (AttributeError, RuntimeError):
        with pytest.raises(kind, match=fact):
            getattr(make(), name)
    assert name not in dict(inspect.getmembers(make()))
