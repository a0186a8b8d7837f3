"""`functional.grouped_mm` computes what a loop over the groups computes, with its gradients, in every form of its operands."""

import itertools

import pytest

import libtensor as torch
from libtensor.nn.functional import grouped_mm

OFFSETS = ([2, 2, 5], [0, 1, 6], [6, 6, 6], [0, 0, 0], [1, 3, 6])


def ends_of(ends):
    return torch.tensor(ends, dtype=torch.int32)


def groups_of(ends):
    return list(enumerate(itertools.pairwise([0, *ends])))


@pytest.mark.parametrize("ends", OFFSETS, ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_rows_are_multiplied_by_the_matrix_of_their_group(ends, transposed):
    a = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    b = torch.randn(3, 4, 5, dtype=torch.float64).transpose(1, 2) if transposed else torch.randn(3, 5, 4, dtype=torch.float64)
    b.requires_grad_()
    made = grouped_mm(a, b, offs=ends_of(ends))
    assert made.shape == (6, 4)
    for i, (start, end) in groups_of(ends):
        assert torch.equal(made[start:end], a[start:end] @ b[i])
    assert not made[ends[-1] :].any()
    assert torch.autograd.gradcheck(lambda a, b: grouped_mm(a, b, offs=ends_of(ends)), (a, b))


@pytest.mark.parametrize("ends", OFFSETS, ids=str)
def test_columns_are_multiplied_by_the_matrix_of_their_group(ends):
    a, b = torch.randn(3, 4, 5, dtype=torch.float64), torch.randn(5, 6, dtype=torch.float64)
    made = grouped_mm(a, b, offs=ends_of(ends))
    assert made.shape == (4, 6)
    for i, (start, end) in groups_of(ends):
        assert torch.equal(made[:, start:end], a[i] @ b[:, start:end])
    assert not made[:, ends[-1] :].any()


@pytest.mark.parametrize("ends", OFFSETS, ids=str)
def test_groups_of_the_contracted_dimension_give_a_matrix_each(ends):
    a, b = torch.randn(4, 6), torch.randn(6, 5)
    made = grouped_mm(a, b, offs=ends_of(ends))
    assert made.shape == (3, 4, 5)
    for i, (start, end) in groups_of(ends):
        assert torch.equal(made[i], a[:, start:end] @ b[start:end])


def test_without_offsets_it_is_bmm_and_out_dtype_is_the_dtype():
    a, b = torch.randn(3, 4, 5), torch.randn(3, 5, 2)
    assert torch.equal(grouped_mm(a, b), a.bmm(b))
    low = grouped_mm(a.bfloat16(), b.bfloat16(), out_dtype=torch.float32)
    assert low.dtype == torch.float32 and torch.equal(low, a.bfloat16().float().bmm(b.bfloat16().float()))


def test_examples_of_vmap_have_groups_of_their_own():
    x, b, ends = torch.randn(2, 6, 5), torch.randn(3, 5, 4), ends_of([2, 2, 5])
    made = torch.func.vmap(lambda x: grouped_mm(x, b, offs=ends))(x)
    assert torch.allclose(made, torch.stack([grouped_mm(each, b, offs=ends) for each in x]))


@pytest.mark.parametrize(
    ("a", "b", "offs", "text"),
    [
        ((6, 5), (3, 5, 4), None, "Have to provide offsets"),
        ((3, 6, 5), (3, 5, 4), [1, 2, 3], "no offset if both matrices are 3d"),
        ((6, 5), (3, 5, 4), [1, 2], "3 matrices and 2 offsets"),
        ((6, 5), (3, 5, 4), [3, 2, 5], r"be increasing from 0 to at most 6, but are \[3, 2, 5\]"),
        ((6, 5), (3, 5, 4), [1, 2, 7], "at most 6"),
        ((6, 5), (3, 4, 4), [1, 2, 3], r"contraction dimension .*\(6, 5\) and \(3, 4, 4\)"),
        ((5,), (3, 5, 4), [1, 2, 3], r"mat_a has to be 2 or 3d, but has shape \(5,\)"),
    ],
)
def test_operands_that_do_not_match_are_rejected(a, b, offs, text):
    with pytest.raises(RuntimeError, match=text):
        grouped_mm(torch.zeros(a), torch.zeros(b), offs=None if offs is None else ends_of(offs))


def test_other_dtypes_are_rejected():
    a, b = torch.zeros(6, 5), torch.zeros(1, 5, 4)
    with pytest.raises(RuntimeError, match="int32.*int64"):
        grouped_mm(a, b, offs=torch.tensor([6]))
    with pytest.raises(RuntimeError, match="same dtype"):
        grouped_mm(a, b.double(), offs=ends_of([6]))
    with pytest.raises(RuntimeError, match="floating-point"):
        grouped_mm(a.long(), b.long(), offs=ends_of([6]))
