"""Attributes, conversion to Python values, and Python's protocols on tensors."""

import copy
import gc
import math
import pickle

import numpy as np
import pytest

import libtensor as torch


def test_attributes():
    x = torch.zeros(2, 3, dtype=torch.int16)
    assert x.shape == (2, 3) and repr(x.shape) == "torch.Size([2, 3])" and x.shape.numel() == 6
    assert x.size() == x.shape and x.size(-1) == 3 and x.stride() == (3, 1) and x.stride(0) == 3
    assert (x.dim(), x.ndim, x.numel(), x.itemsize, x.nbytes, x.storage_offset()) == (2, 2, 6, 2, 12, 0)
    assert x.dtype is torch.int16 and x.layout is torch.strided and x.device == torch.device("cpu")
    assert x.is_signed() and not x.is_floating_point() and not x.is_complex() and not x.is_cuda and not x.is_meta
    assert x.is_leaf and not x.requires_grad and x.grad is None and x.get_device() == -1


def test_shape_slices_are_sizes():
    s = torch.Size([2, 3, 4])
    assert isinstance(s[1:], torch.Size) and s[1:] == (3, 4) and s[0] == 2
    assert repr(s + (5,)) == "torch.Size([2, 3, 4, 5])"


@pytest.mark.parametrize("dim", [2, -3])
def test_size_names_the_dimension(dim):
    with pytest.raises(IndexError, match=str(dim)):
        torch.zeros(2, 3).size(dim)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([[1, 2], [3, 4]], torch.int64),
        ([[1.5, -2.0]], torch.float32),
        ([True, False], torch.bool),
        ([1 + 2j, 3 - 1j], torch.complex64),
        (2.5, torch.float32),
        ([], torch.float32),
        ([[], []], torch.float32),
    ],
)
def test_data_comes_back(data, dtype):
    x = torch.tensor(data)
    assert x.dtype is dtype and x.tolist() == data


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.float64, torch.complex128])
def test_dtype_of_data_can_be_given(dtype):
    x = torch.tensor([1, 2, 3], dtype=dtype)
    assert x.dtype is dtype and x.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("data", "error", "fact"),
    [
        ([[1, 2], [3]], ValueError, "length 2 at dim 1"),
        ([1, "a"], TypeError, "str"),
        ([1, [2]], TypeError, "list"),
        ([2**70], ValueError, "Overflow"),
    ],
)
def test_bad_data(data, error, fact):
    with pytest.raises(error, match=fact):
        torch.tensor(data)


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(300, torch.uint8), (-256, torch.uint8), (128, torch.int8), (-129, torch.int8), (2**40, torch.int32), (-(2**15) - 1, torch.int16)],
)
def test_integers_must_fit_the_dtype(number, dtype):
    with pytest.raises(RuntimeError, match=dtype.__repr__().removeprefix("torch.")):
        torch.tensor([1, number], dtype=dtype)


@pytest.mark.parametrize(
    ("data", "dtype", "expected"),
    [
        ([-1, 7, -255], torch.uint8, [255, 7, 1]),
        ([-(2**63), 2**63 - 1], torch.int64, [-(2**63), 2**63 - 1]),
        ([2**70, 1], torch.float64, [2.0**70, 1.0]),
        ([1e40, -1e40, 0.1], torch.float32, [math.inf, -math.inf, 0.10000000149011612]),
        ([1, 2.5, True, -1j], torch.complex128, [1, 2.5, 1, -1j]),
        ([0j, 1j], torch.bool, [False, True]),
        ([True, 2], torch.int16, [1, 2]),
    ],
)
def test_data_of_another_dtype(data, dtype, expected):
    x = torch.tensor(data, dtype=dtype)
    assert x.dtype is dtype and x.tolist() == expected


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.complex128]
)
@pytest.mark.parametrize("shape", [(6,), (1, 6), (2, 3), (3, 1, 2), (1, 1, 1), (1,)])
def test_lists_of_every_shape(dtype, shape):
    flat = [False, True, 1, 0, 1, 1][: math.prod(shape)]
    x = torch.tensor(flat, dtype=dtype).view(shape)
    nested = x.tolist()
    assert torch.tensor(nested, dtype=dtype).equal(x) and x.flatten().tolist() == flat
    assert x.transpose(0, -1).tolist() == torch.tensor(nested).transpose(0, -1).contiguous().tolist()
    found = nested
    for n in shape:
        assert len(found) == n
        found = found[0]
    assert type(found) is (complex if dtype.is_complex else float if dtype.is_floating_point else bool if dtype is torch.bool else int)


def test_every_bit_of_complex_numbers_comes_back():
    parts = [0.0, -0.0, 1e-320, math.inf, -math.inf, math.nan, 1.0000000000000002]
    data = [complex(a, b) for a in parts for b in parts]
    found = torch.tensor(data, dtype=torch.complex128).tolist()
    assert list(map(repr, found)) == list(map(repr, data))
    assert [math.copysign(1, z.imag) for z in found[1:3]] == [-1, 1]


def test_lists_leave_the_garbage_collector_as_it_was():
    for change in (gc.disable, gc.enable):
        change()
        before = gc.isenabled()
        torch.ones(2, 2).tolist()
        with pytest.raises(NotImplementedError):
            torch.ones(2, device="meta").tolist()
        assert gc.isenabled() == before


def test_numbers():
    x = torch.tensor(3)
    assert (int(x), float(x), complex(x), bool(x), x.item(), x.__index__()) == (3, 3.0, 3 + 0j, True, 3, 3)
    assert f"{torch.tensor(1.5):.2f}" == "1.50" and [10, 20, 30, 40][x] == 40
    assert math.isclose(float(torch.tensor(0.1)), 0.1, rel_tol=1e-7)


@pytest.mark.parametrize("n", [0, 2])
def test_truth_needs_one_element(n):
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(torch.zeros(n))


def test_sequence_protocol():
    x = torch.tensor([[1, 2], [3, 4]])
    assert len(x) == 2 and [r.tolist() for r in x] == [[1, 2], [3, 4]]
    assert 3 in x and 7 not in x
    with pytest.raises(TypeError, match="0-d"):
        len(torch.tensor(1))
    with pytest.raises(TypeError, match="0-d"):
        iter(torch.tensor(1))


def test_operators():
    x = torch.tensor([4, 6])
    assert (x + 1).tolist() == [5, 7] and (1 - x).tolist() == [-3, -5] and (2 * x).tolist() == [8, 12]
    assert (x / 4).tolist() == [1.0, 1.5] and (12 / x).tolist() == [3.0, 2.0]
    assert (x // 4).tolist() == [1, 1] and (-x % 4).tolist() == [0, 2] and (x**2).tolist() == [16, 36] and (2**x).tolist() == [16, 64]
    assert (x & 4).tolist() == [4, 4] and (x | 1).tolist() == [5, 7] and (x ^ 2).tolist() == [6, 4]
    assert (-x).tolist() == [-4, -6] and abs(-x).tolist() == [4, 6] and (~x).tolist() == [-5, -7]
    assert (x == 4).tolist() == [True, False] and (x > 4).tolist() == [False, True] and (x != x).tolist() == [False, False]


def test_operators_in_place_keep_the_tensor():
    x = torch.tensor([1.0, 2.0])
    y = x
    x += 1
    x *= 2
    assert x is y and y.tolist() == [4.0, 6.0]


def test_other_objects_are_not_operands():
    x = torch.tensor([1])
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "a"
    assert (x == "a") is False and (x == None) is False and x != None  # noqa: E711


def test_reflected_operator_of_another_class():
    class Other:
        def __radd__(self, left):
            return "theirs"

    assert torch.tensor([1]) + Other() == "theirs"


def test_tensors_hash_by_identity():
    x = torch.tensor([1])
    assert {x: 1}[x] == 1 and hash(x) != hash(torch.tensor([1]))


def test_subclasses_and_attributes():
    class Mine(torch.Tensor):
        pass

    m = Mine([1, 2])
    m.label = "weights"
    assert isinstance(m, Mine) and (m + 1).tolist() == [2, 3] and m.label == "weights"


def test_indexing():
    x = torch.arange(12).reshape(3, 4)
    assert x[1].tolist() == [4, 5, 6, 7] and x[1, 2].item() == 6 and x[-1, -1].item() == 11
    assert x[:, 1].tolist() == [1, 5, 9] and x[1:, ::2].tolist() == [[4, 6], [8, 10]] and x[..., 0].tolist() == [0, 4, 8]
    assert x[None].shape == (1, 3, 4) and x[[0, 2]].tolist() == [x[0].tolist(), x[2].tolist()]
    assert x[x > 9].tolist() == [10, 11] and x[torch.tensor([0, 1]), torch.tensor([2, 3])].tolist() == [2, 7]
    assert x[1:].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_assignment():
    x = torch.zeros(2, 3)
    x[0] = 1
    x[:, 2] = torch.tensor([5.0, 6.0])
    x[1, :2] = [7, 8]
    x[x == 1] = -1
    assert x.tolist() == [[-1.0, -1.0, 5.0], [7.0, 8.0, 6.0]]


BACK = slice(None, None, -1)
BACKWARDS = [BACK, slice(None, 0, -2), slice(-2, None, -3), slice(0, 2, -1), (0, BACK), (..., BACK, None), (None, BACK, slice(1, 3), BACK)]
BACKWARDS += [(BACK, [[0, 1], [2, 0]]), ([1, 0], BACK), (True, BACK)]


@pytest.mark.parametrize("key", BACKWARDS)
def test_slices_with_negative_steps(key):
    array = np.arange(24).reshape(2, 3, 4)
    x = torch.from_numpy(array.copy())
    assert x[key].tolist() == array[key].tolist() and x[key].shape == array[key].shape
    assert not x[key].numel() or x[key].untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    values = -array[key] - 1
    array[key] = values
    x[key] = torch.from_numpy(values)
    assert x.tolist() == array.tolist()


def test_slices_with_negative_steps_have_gradients():
    x = torch.arange(3.0, requires_grad=True)
    (x[::-1] * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (3, IndexError),
        ((0, 0, 0), IndexError),
        ("a", TypeError),
        (1.5, IndexError),
        (slice(0, 2, 0), ValueError),
        ((slice(None, None, -1), 0, 0), IndexError),
    ],
)
def test_bad_index(key, error):
    with pytest.raises(error):
        torch.zeros(3, 2)[key]


def test_sizes_as_arguments():
    for x in (torch.zeros(2, 3), torch.zeros((2, 3)), torch.zeros([2, 3]), torch.zeros(torch.Size([2, 3])), torch.zeros(size=(2, 3))):
        assert x.shape == (2, 3)
    assert torch.zeros(6).view(2, 3).shape == torch.zeros(6).view((2, -1)).shape == (2, 3)
    assert torch.zeros(()).shape == () and torch.zeros(torch.tensor(2)).shape == (2,)
    for bad in (True, 2.0, "a", None):
        with pytest.raises(TypeError, match="size"):
            torch.zeros(bad)


def test_wrong_arguments_are_named():
    x = torch.zeros(2)
    with pytest.raises(TypeError, match=r"add\(\): argument 'other' must be Tensor or Number, not list"):
        torch.add(x, [1])
    with pytest.raises(TypeError, match="argument 'input'"):
        torch.neg([1])
    with pytest.raises(TypeError, match="max.*invalid combination of arguments"):
        torch.max(x, 1.5)
    with pytest.raises(TypeError, match="dtype"):
        torch.zeros(2, dtype="float")


def test_integers_of_more_than_64_bits_are_rejected():
    x = torch.zeros(2, 2)
    calls = {
        ValueError: (lambda: x.select(0, 2**64), lambda: x.sum(2**64), lambda: x[2**64], lambda: torch.manual_seed(2**64)),
        TypeError: (lambda: torch.zeros(2, 2**64), lambda: x.view((2**64,))),
        OverflowError: (lambda: x + 2**70, lambda: torch.full((2,), 2**70)),
    }
    for kind, rejected in calls.items():
        for call in rejected:
            with pytest.raises(kind, match="64 bits"):
                call()


def test_overloads():
    x = torch.tensor([[1, 5], [7, 2]])
    assert torch.max(x).item() == 7
    values, indices = torch.max(x, 0)
    assert values.tolist() == [7, 5] and indices.tolist() == [1, 0]
    assert x.max(dim=1).values.tolist() == [5, 7] and x.max(axis=1, keepdims=True).values.shape == (2, 1)
    assert repr(type(x.max(0))) == "<class 'libtensor.return_types.max'>"
    assert type(torch.linalg.svd(x.float())) is torch.return_types.linalg_svd and type(torch.svd(x.float())) is torch.return_types.svd
    assert repr(x.max(0)) == "torch.return_types.max(\nvalues=tensor([7, 5]),\nindices=tensor([1, 0]))"


def test_out():
    out = torch.zeros(2)
    assert torch.add(torch.tensor([1.0, 2.0]), 1, out=out) is out and out.tolist() == [2.0, 3.0]


def test_conversions():
    x = torch.tensor([1.7, -2.2])
    assert x.to(torch.int32).tolist() == [1, -2] and x.int().dtype is torch.int32 and x.double().dtype is torch.float64
    assert x.to("cpu") is x and x.to(x) is x and x.to("cpu", torch.float64, True).dtype is torch.float64
    assert x.to(torch.float32, copy=True) is not x and x.to(torch.zeros(1, dtype=torch.int8)).dtype is torch.int8
    assert (
        x.type() == "torch.FloatTensor" and x.type(torch.float64).dtype is torch.float64 and x.type("torch.LongTensor").dtype is torch.int64
    )
    assert x.int().type(torch.Tensor).dtype is torch.get_default_dtype()
    with pytest.raises(TypeError, match="dtype"):
        x.to(3.5, 1)


def test_created_tensors_can_require_grad():
    makers = (
        lambda **k: torch.zeros(2, **k),
        lambda **k: torch.rand(2, **k),
        lambda **k: torch.tensor([1.0], **k),
        lambda **k: torch.ones(2).new_zeros(2, **k),
    )
    for make in makers:
        assert make(requires_grad=True).requires_grad and make(requires_grad=True).is_leaf and not make(requires_grad=False).requires_grad


def test_random_takes_an_upper_bound_alone():
    assert set(torch.zeros(100).random_(3).tolist()) == {0.0, 1.0, 2.0}


def test_where_as_a_method():
    x = torch.tensor([1.0, -2.0])
    assert x.where(x > 0, 7).tolist() == [1, 7]
    assert x.where(x > 0, torch.zeros(1)).tolist() == [1, 0]


def test_new_tensor_takes_dtype_and_device():
    x = torch.zeros(2, dtype=torch.int16)
    assert x.new_tensor([1, 2]).dtype is torch.int16
    assert x.new_tensor([1.5], dtype=torch.float64).tolist() == [1.5]
    assert x.to("meta").new_tensor([1]).device.type == "meta"


def test_functions_applied_to_every_element():
    x = torch.arange(6).view(2, 3)
    assert x.apply_(lambda v: v * 2) is x
    assert x.t().map_(torch.tensor([10, 20]), lambda a, b: a + b).tolist() == [[10, 26], [12, 28], [14, 30]]
    assert x.tolist() == [[10, 12, 14], [26, 28, 30]]


def test_copies_of_parts_share_nothing():
    x = torch.arange(4)
    part = x.narrow_copy(0, 1, 2)
    part.zero_()
    assert x.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        x.narrow_copy(0, 3, 2)


def test_einsum_by_lists_of_labels():
    x, y = torch.arange(6.0).view(2, 3), torch.arange(6.0).view(3, 2)
    assert torch.equal(torch.einsum(x, [0, 1], y, [1, 2], [0, 2]), x @ y) and torch.equal(torch.einsum(x, [3, 7], [7, 3]), x.t())
    assert torch.einsum(x, [0, 1], x, [0, 1]).item() == 55 and torch.equal(torch.einsum(x, [..., 1], [...]), x.sum(1))
    for bad in ([60], ["a"], [0.5]):
        with pytest.raises(ValueError, match="label"):
            torch.einsum(x, bad)
    with pytest.raises(TypeError, match="labels"):
        torch.einsum(x, x)


def test_lists_of_sequences_index_as_tuples_do():
    x = torch.arange(24).view(2, 3, 4)
    assert torch.equal(x[[[0, 1], [1, 0]]], x[[0, 1], [1, 0]]) and torch.equal(x[[[0, 1]]], x) and x[[range(2), 0]].shape == (2, 4)
    assert x[[0, 1]].shape == (2, 3, 4) and x[torch.tensor([[0, 1], [1, 0]])].shape == (2, 2, 3, 4)


def test_arguments_as_pytorch_takes_them():
    x = torch.arange(6).view(2, 3)
    assert torch.roll(x, 1, dims=None).tolist() == [[5, 0, 1], [2, 3, 4]] and torch.equal(x.roll((1,), None), x.roll(1))
    assert torch.ones(2, 2).amax(None).item() == 1 and torch.normal(torch.zeros(3)).shape == (3,)
    assert reversed(x).tolist() == [[3, 4, 5], [0, 1, 2]] and reversed(torch.tensor(3)).item() == 3
    for call in (lambda: x.sum(0, keepdim=1), lambda: x.sum(0, None), lambda: torch.sort(x, 0, "a"), lambda: x.size(1.5)):
        with pytest.raises(TypeError, match="bool|int|combination"):
            call()
    with pytest.raises(TypeError, match="deleting"):
        del x[0]


def test_roll_along_several_dimensions():
    dense = torch.arange(24).reshape(2, 3, 4)
    kinds = [dense, dense.permute(2, 0, 1), dense[:, ::2], dense.float().expand(2, 2, 3, 4), dense.to(torch.complex64), dense[:, :0]]
    for x in kinds:
        for shifts, dims in (
            ((1, 2), (0, -1)),
            ((1, -1, 5), (0, 1, 2)),
            ((2, 1), (1, 1)),
            ((0, 0), (0, 1)),
            ((-1000, 1001), (1, 0)),
            ((2**62, -(2**62)), (2, 0)),
        ):
            want = x
            for by, d in zip(shifts, dims, strict=True):
                n = x.shape[d]
                index = [(i - by) % n for i in range(n)]
                want = want.index_select(d, torch.tensor(index, dtype=torch.int64))
            got = torch.roll(x, shifts, dims)
            assert torch.equal(got, want) and got.shape == x.shape
            if x.dim() == 3 and x.numel():
                assert torch.equal(x.to_sparse().roll(shifts, dims).to_dense(), want)
    assert torch.equal(dense.to_sparse().roll(5).to_dense(), dense.roll(5))
    image = torch.arange(16.0).reshape(1, 2, 2, 4).contiguous(memory_format=torch.channels_last)
    assert image.roll((1, 1), (2, 3)).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: torch.cat([]), ValueError, "non-empty"),
        (lambda: torch.stack([]), RuntimeError, "non-empty"),
        (lambda: int(torch.ones(3)), ValueError, "3 elements"),
        (lambda: float(torch.ones(0)), ValueError, "0 elements"),
        (lambda: complex(torch.ones(2)), ValueError, "2 elements"),
        (lambda: torch.ones(3).item(), RuntimeError, "3 elements"),
        (lambda: float(torch.tensor(1 + 1j)), RuntimeError, "1j"),
        (lambda: ~torch.ones(2), TypeError, "float32"),
        (lambda: ~torch.ones(2, dtype=torch.complex64), TypeError, "complex64"),
        (lambda: torch.bitwise_not(torch.ones(2)), NotImplementedError, "float32"),
        (lambda: torch.ones(3)[1.5], IndexError, "float"),
        (lambda: torch.ones(3)[{}], IndexError, "dict"),
        (lambda: torch.ones(3)["a"], TypeError, "str"),
        (lambda: torch.ones(3)[slice("a", None)], TypeError, "str"),
        (lambda: torch.ones(3)[2**70], ValueError, "64 bits"),
        (lambda: torch.Size([1, "a"]), TypeError, "item 1 is 'str'"),
        (lambda: torch.frombuffer([1], dtype=torch.uint8), ValueError, "list"),
        (lambda: torch.ones(2).type(3), TypeError, "int"),
    ],
)
def test_kinds_of_errors(call, error, text):
    with pytest.raises(error, match=text) as caught:
        call()
    assert type(caught.value) is error
    assert float(torch.tensor(1 + 0j)) == 1 and int(torch.tensor([[3]])) == 3 and (~torch.tensor([True, False])).tolist() == [False, True]


def test_bounds_beyond_an_integer_dtype_limit_nothing():
    u = torch.tensor([1, 100, 255], dtype=torch.uint8)
    assert (
        u.clamp(min=-5).tolist() == u.clamp(max=300).tolist() == u.clamp_max(2**40).tolist() == u.clamp(-5, 300).tolist() == [1, 100, 255]
    )
    assert torch.tensor([1, -5], dtype=torch.int32).clamp_(max=2**40).tolist() == [1, -5]
    for call in (lambda: u.clamp(min=300), lambda: u.clamp(-5, -1), lambda: torch.tensor([1], dtype=torch.int8).clamp_max_(-300)):
        with pytest.raises(RuntimeError, match="without overflow"):
            call()


def test_one_element_is_converted_where_a_mask_is_set():
    x = torch.zeros(3, 2, dtype=torch.int8)
    mask = torch.tensor([True, False, True])
    x[mask] = torch.tensor(1.5)
    x[mask, 1:] = torch.tensor([7.0])
    assert x.tolist() == [[1, 7], [0, 0], [1, 7]]
    with pytest.raises(RuntimeError, match="dtypes match"):
        x[[0]] = torch.tensor(1.5)
    with pytest.raises(RuntimeError, match="without overflow"):
        x[mask] = torch.tensor(300.0)


def test_an_output_that_changes_its_shape_is_read_in_the_old_one():
    for reduce, expected in ((torch.sum, 0), (torch.prod, 1), (torch.nansum, 0)):
        x = torch.tensor([5.0, 6.0])[:0]
        assert reduce(x, 0, out=x) is x and x.tolist() == expected
    x = torch.empty(0)
    assert torch.dot(x, x, out=x).tolist() == 0
    x = torch.empty(0)
    assert torch.matmul(x, x, out=x).tolist() == 0


def test_a_resized_output_has_the_layout_of_a_new_result():
    x = torch.arange(6.0).reshape(2, 3).T
    assert torch.add(x, 1, out=torch.empty(0)).stride() == (1, 3)
    image = torch.rand(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    for out in (torch.exp(image, out=torch.empty(0)), torch.cat([image, image], out=torch.empty(0))):
        assert out.is_contiguous(memory_format=torch.channels_last)


def test_no_elements_have_no_variance():
    for correction in (-1, 0, 1):
        assert torch.zeros(0).var(correction=correction).isnan() and torch.zeros(2, 0).std(1, correction=correction).isnan().all()


def test_split_by_its_names():
    x = torch.arange(6)
    assert [len(t) for t in x.split(split_size=4)] == [4, 2] == [len(t) for t in torch.split(x, split_size_or_sections=[4, 2])]


def test_points_of_more_dimensions_than_values():
    x = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(torch.trapezoid(torch.ones(2), x), torch.full((3, 4), 12.0))


def test_a_range_of_integers_counts_whole_steps():
    assert torch.range(0, 4, 1.5, dtype=torch.int64).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.range(0, 4, 0.5, dtype=torch.int64)


def test_a_device_ends_where_its_name_does():
    with pytest.raises(RuntimeError, match="cpu"):
        torch.device("cpu\0x")


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(0, 3).t(),
        lambda: torch.empty(3, 4)[:0, ::2],
        lambda: torch.empty_strided((0, 3), (7, 2)),
        lambda: torch.empty(2, 0, 3).permute(2, 1, 0),
        lambda: torch.ones(3, 4)[:1, :1],
    ],
)
def test_copies_preserve_strides_of_dimensions_of_size_1(make):
    t = make()
    for copied in (t.clone(), t.double(), copy.copy(t), copy.deepcopy(t), torch.empty_like(t), torch.zeros_like(t)):
        assert copied.shape == t.shape and copied.stride() == t.stride()
    if not t.numel():
        assert pickle.loads(pickle.dumps(t)).stride() == t.stride()


def test_layouts_of_parts_that_are_copied():
    x = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    for requires_grad in (False, True):
        part = torch.narrow_copy(x.clone().requires_grad_(requires_grad), 0, 1, 2)
        assert part.stride() == (6, 3, 1) and torch.equal(part.detach(), x[1:3])
    assert torch.constant_pad_nd(x, [0, 0]).stride() == (1, 12, 4) and torch.constant_pad_nd(x, [-1, 0]).shape == (4, 2, 2)
    assert torch.equal(torch.constant_pad_nd(x, [-1, 0, 0, -1]), x[:, :1, 1:]) and torch.constant_pad_nd(x, [1, 0]).stride() == (8, 4, 1)
    i = torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1)
    rows, columns = torch.unravel_index(i, (4, 6))
    assert rows.stride() == columns.stride() == (2, 24, 8) and torch.equal(rows * 6 + columns, i)
    assert [c.stride() for c in torch.unravel_index(torch.arange(6).reshape(2, 3), (2, 3))] == [(6, 2), (6, 2)]


def test_quantiles_of_meta_tensors():
    for function in (torch.quantile, torch.nanquantile):
        assert function(torch.ones(3, device="meta"), 0.5).shape == ()
        with torch.device("meta"):
            assert function(torch.ones(3, 2), 0.5, dim=0).is_meta


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.std(correction=1 + 2j),
        lambda x: x.var(correction=1 + 2j),
        lambda x: torch.var_mean(x, correction=2j),
        lambda x: torch.std_mean(x, correction=2j),
        lambda x: torch.dist(x, x, p=1 + 2j),
        lambda x: torch.norm(x, p=1 + 2j),
        lambda x: torch.linalg.vector_norm(x, 1 + 2j),
        lambda x: torch.linalg.norm(x, 1 + 2j),
        lambda x: torch.linalg.matrix_norm(x, 2j),
        lambda x: torch.linalg.cond(x, 2j),
    ],
)
def test_complex_numbers_are_no_orders_nor_corrections(call):
    for requires_grad in (False, True):
        with pytest.raises(RuntimeError, match="2j"):
            call(torch.eye(3, requires_grad=requires_grad))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_magnitudes_with_an_infinite_part(dtype):
    inf, nan = float("inf"), float("nan")
    for z in (complex(inf, nan), complex(nan, -inf), complex(-inf, 1), complex(-inf, inf)):
        for n in (1, 20):
            t = torch.tensor([z] * n, dtype=dtype)
            assert t.abs().tolist() == [inf] * n
            for p in (1, 2, 3, inf, -inf):
                assert torch.linalg.vector_norm(t, p).item() == inf and torch.norm(t, p).item() == inf
    assert torch.tensor([complex(nan, 1)], dtype=dtype).abs().isnan().all() and torch.tensor([3 + 4j], dtype=dtype).abs().item() == 5


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_roots_of_negative_bases(dtype):
    y = torch.logspace(2.5, 3.5, 2, -1.0, dtype=dtype)
    assert torch.allclose(y, torch.tensor([1j, -1j], dtype=dtype), atol=1e-6)
    assert torch.logspace(-1, 2, 4, -2.0, dtype=dtype).tolist() == [-0.5, 1, -2, 4]
    assert torch.logspace(2.5, 3.5, 2, -1.0, dtype=torch.float64).isnan().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_logspace_is_pow_of_linspace(dtype):
    for n in (49, 100_000):
        exponents = torch.linspace(-5, 6, n, dtype=torch.float64)
        assert torch.equal(torch.logspace(-5, 6, n, 1.7, dtype=dtype), torch.pow(1.7, exponents).to(dtype))
    assert torch.logspace(0, 18, 19, dtype=torch.int64).tolist() == [10**i for i in range(19)]


def test_joining_writes_all_or_nothing():
    """Whichever allocation or view fails."""
    a, b = torch.ones(4, dtype=torch.float64), torch.ones(4)
    for name in ("cat", "hstack", "vstack", "dstack", "column_stack", "row_stack", "stack", "concat"):
        for given in ([a, b], [b, b[:1].expand(4)], [torch.ones(2, 4).t(), torch.ones(4, 2)]):
            function = getattr(torch, name)
            wanted = function(given)
            for start in (torch.arange(6.0), torch.arange(float(wanted.numel())).reshape(wanted.shape)):
                for turn in range(1, 60):
                    out = start.clone()
                    torch.fail_allocation(turn)
                    try:
                        function(given, out=out)
                    except (RuntimeError, MemoryError):
                        torch.fail_allocation(0)
                        assert out.shape == start.shape and torch.equal(out, start), (name, turn)
                    else:
                        torch.fail_allocation(0)
                        assert torch.equal(out, wanted.to(out.dtype)), name
                        break
                else:
                    pytest.fail(f"{name} never had its memory")


@pytest.mark.parametrize("times", [0, 1, 2, 9])
@pytest.mark.parametrize(
    "of", [lambda: torch.arange(6).view(2, 3).t(), lambda: torch.tensor(5), lambda: torch.zeros(0, 2), lambda: torch.eye(2).to_sparse()]
)
def test_repeat_interleave_of_all_elements(of, times):
    x = of()
    made = x.repeat_interleave(times)
    flat = x.to_dense().reshape(-1).tolist()
    assert made.layout == x.layout and made.to_dense().tolist() == [v for v in flat for _ in range(times)]
    with pytest.raises(RuntimeError, match=f"repeat_interleave: allocated size 5 does not match required size {len(flat) * times}"):
        x.repeat_interleave(times, output_size=5)


def test_repeat_interleave_rejects_counts_that_overflow():
    with pytest.raises(RuntimeError, match="repeat_interleave: the sum of repeats overflows a 64-bit integer"):
        torch.zeros(1).expand(2**32).repeat_interleave(2**32)
    with pytest.raises(RuntimeError, match="repeat_interleave: repeats must be non-negative, got -1"):
        torch.zeros(2).repeat_interleave(-1)
    with pytest.raises(RuntimeError, match="repeat_interleave: the channels along axis 0"):
        torch.quantize_per_channel(torch.rand(2, 3), torch.ones(2), torch.zeros(2).long(), 0, torch.qint8).repeat_interleave(2)


def test_cdata_identifies_a_tensor():
    a = torch.nn.Parameter(torch.ones(2))
    tensors = [a, a.detach(), a.data, a.view(2)]
    assert len({x._cdata for x in tensors}) == 4 and a._cdata == a._cdata


def test_dim_order():
    rows = [((2, 2, 3, 3), (18, 1, 6, 2), (0, 2, 3, 1)), ((2, 3), (0, 1), (0, 1)), ((2, 3), (1, 1), (1, 0)), ((3, 2), (1, 1), (0, 1))]
    # As TensorIterator sorts them: dimensions with stride 0 keep their place, equal strides are in the order of sizes.
    rows += [((2, 2, 2), (1, 0, 2), (2, 1, 0)), ((3, 1), (1, 5), (0, 1)), ((1, 1, 1, 3), (1, 1, 1, 1), (3, 0, 1, 2)), ((), (), ())]
    for sizes, strides, order in rows:
        assert torch.empty(100).as_strided(sizes, strides).dim_order() == order, (sizes, strides)
    unique, last, formats = torch.empty(2, 2, 3, 3), torch.empty(1, 2, 3, 1), [torch.contiguous_format, torch.channels_last]
    assert unique.dim_order(ambiguity_check=True) == unique.dim_order(ambiguity_check=[]) == (0, 1, 2, 3)
    assert last.to(memory_format=torch.channels_last).dim_order(ambiguity_check=formats) == (0, 2, 3, 1)
    for check in (True, [], [torch.channels_last]):
        with pytest.raises(RuntimeError, match=r"does not have unique dim order.*\(1, 2, 3, 1\)"):
            last.dim_order(ambiguity_check=check)
    for check in (1, [1], (torch.channels_last,)):
        with pytest.raises(TypeError, match="ambiguity_check argument must be a bool or a list of memory formats, not"):
            unique.dim_order(ambiguity_check=check)
