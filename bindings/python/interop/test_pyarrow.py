"""Arrays, tables, chunks and buffers of tensors and back, without copies where Arrow has the same elements."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from layouts import ERRORS, LAZY, LINE, VECTORS, of_all, rejected, values

import libtensor as torch

NAMES = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("name", [*NAMES, "bool"])
def test_arrays(name):
    t = torch.tensor([0, 1, 1], dtype=getattr(torch, name))
    array = pa.array(t)
    assert array.to_pylist() == t.tolist() and pa.array(t[::2]).to_pylist() == t[::2].tolist() and len(pa.array(t[:0])) == 0
    for back in (torch.from_arrow(array), torch.tensor(array), torch.as_tensor(array)):
        assert back.dtype is t.dtype and back.equal(t)
    if name != "bool":
        assert array.buffers()[1].address == t.data_ptr() == torch.from_arrow(array).data_ptr()


def test_tables_and_chunks():
    table = pa.table({"a": torch.tensor([1, 2]), "b": torch.tensor([0.5, 1.5])})
    assert table.schema.types == [pa.int64(), pa.float32()] and torch.from_arrow(table["b"]).tolist() == [0.5, 1.5]
    chunks = pa.chunked_array([[1, 2], [3]])
    assert torch.from_arrow(chunks).tolist() == torch.tensor(chunks).tolist() == [1, 2, 3]


def test_functions_and_buffers():
    t = torch.tensor([3.0, 1.0, 2.0])
    assert torch.from_arrow(pc.sort_indices(pa.array(t))).tolist() == [1, 2, 0]
    buffer = pa.py_buffer(t)
    assert buffer.address == t.data_ptr() and buffer.size == 12 and torch.frombuffer(buffer, dtype=torch.float32).equal(t)


def test_an_array_keeps_the_memory():
    array = pa.array(torch.full((1000,), 7))
    others = [torch.zeros(1000, dtype=torch.int64) for _ in range(4)]
    assert pc.sum(array).as_py() == 7000 and len(others) == 4


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: torch.ones(2, 3), r"sizes \[2, 3\] has 2; export its flatten\(\)"),
        (lambda: torch.ones(2, requires_grad=True), r"tensor.detach\(\)"),
        (lambda: torch.ones(2, dtype=torch.bfloat16), "no type for this dtype"),
        (lambda: torch.ones(2).to_sparse(), r"to_dense\(\)"),
    ],
)
def test_what_becomes_no_array(make, fact):
    with pytest.raises((RuntimeError, TypeError, ValueError, NotImplementedError), match=fact):
        pa.array(make())


def test_nulls_are_rejected():
    with pytest.raises(ValueError, match="1 of 2 elements are null"):
        torch.from_arrow(pa.array([1, None]))


def test_slices():
    assert torch.tensor(pa.array(range(10))[3:6]).tolist() == [3, 4, 5]
    assert torch.tensor(pa.array([True, False] * 10)[3:8]).tolist() == [False, True, False, True, False]
    assert torch.tensor(pa.table({"a": [1, 2], "b": [3, 4]})).tolist() == [[1, 3], [2, 4]]


NO_DTYPE = "is not supported; supported are"


@pytest.mark.parametrize(
    ("values", "fact"),
    [
        (["a"], NO_DTYPE),
        ([[1, 2], [3]], NO_DTYPE),
        (pa.nulls(2), NO_DTYPE),
        (pa.array(["a"]).dictionary_encode(), "dictionary-encoded arrays are not supported; decode the array first"),
    ],
)
def test_types_without_a_dtype(values, fact):
    with pytest.raises(TypeError, match=fact):
        torch.tensor(pa.array(values) if isinstance(values, list) else values)


@of_all(VECTORS)
def test_odd_layouts(t):
    assert values(pa.array(t).to_numpy(zero_copy_only=False)) == values(t) == values(torch.from_arrow(pa.array(t)))


@rejected(LINE, without=LAZY)
def test_kinds_without_memory(t, fact):
    with pytest.raises(ERRORS, match=fact):
        pa.array(t)
