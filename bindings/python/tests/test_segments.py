"""segment_reduce and cosine_similarity: values and gradients as PyTorch's."""

import math

import pytest

import libtensor as torch

DATA = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, 12.0]]
WANT = {
    "sum": [[1, 2, 3], [11, 13, 15], [0, 0, 0], [10, 11, 12]],
    "mean": [[1, 2, 3], [5.5, 6.5, 7.5], [math.nan] * 3, [10, 11, 12]],
    "max": [[1, 2, 3], [7, 8, 9], [-math.inf] * 3, [10, 11, 12]],
    "min": [[1, 2, 3], [4, 5, 6], [math.inf] * 3, [10, 11, 12]],
    "prod": [[1, 2, 3], [28, 40, 54], [1, 1, 1], [10, 11, 12]],
}
WANT |= {"amax": WANT["max"], "amin": WANT["min"]}


@pytest.mark.parametrize("reduce", WANT)
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_segments_by_lengths_and_by_offsets(reduce, dtype):
    data, want = torch.tensor(DATA), torch.tensor(WANT[reduce])
    for given in ({"lengths": torch.tensor([1, 2, 0, 1], dtype=dtype)}, {"offsets": torch.tensor([0, 1, 3, 3, 4], dtype=dtype)}):
        assert torch.segment_reduce(data, reduce, **given).equal(want) or torch.allclose(
            torch.segment_reduce(data, reduce, **given), want, equal_nan=True
        )


@pytest.mark.parametrize(
    ("reduce", "want"),
    [
        ("sum", [1, 1, 2, 2]),
        ("mean", [0.5, 0.5, 1, 1]),
        ("max", [1, 0, 1, 1]),
        ("min", [0, 1, 1, 1]),
        ("prod", [0, 1, 6, 6]),
    ],
)
def test_gradients_of_segments(reduce, want):
    x = torch.tensor([1.0, 0.0, 3.0, 3.0], requires_grad=True)
    y = torch.segment_reduce(x, reduce, lengths=torch.tensor([2, 2, 0]))
    assert y.grad_fn.name() == "SegmentReduceBackward0"
    y.backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad.tolist() == want


def test_an_initial_value_begins_every_segment():
    data, lengths = torch.tensor(DATA), torch.tensor([0, 4])
    assert torch.segment_reduce(data, "sum", lengths=lengths, initial=10).tolist() == [[10, 10, 10], [32, 36, 40]]
    assert torch.segment_reduce(data, "max", lengths=lengths, initial=11.5).tolist() == [[11.5, 11.5, 11.5], [11.5, 11.5, 12]]
    assert torch.segment_reduce(data, "mean", lengths=lengths, initial=5).tolist() == [[5, 5, 5], [6.75, 7.75, 8.75]]


def test_rows_have_separate_segments():
    lengths = torch.tensor([[1, 2], [1, 2], [0, 3], [3, 0]])
    assert torch.segment_reduce(torch.tensor(DATA), "sum", lengths=lengths, axis=1).tolist() == [[1, 5], [4, 11], [0, 24], [33, 0]]


def test_mismatched_segments_are_rejected():
    data = torch.tensor(DATA)
    for given, words in (
        ({}, "lengths or offsets"),
        ({"lengths": torch.tensor([1, 2])}, "sum up to .* 4"),
        ({"lengths": torch.tensor([5, -1])}, "negative"),
        ({"offsets": torch.tensor([0, 2, 7])}, "offsets .* 4"),
        ({"offsets": torch.tensor([0, 3, 2])}, "offsets must not decrease"),
        ({"lengths": torch.tensor([1, 3]), "axis": 1}, r"last dimension .* \[2\]"),
        ({"indices": torch.tensor([0, 0, 1, 1])}, "indices"),
        ({"lengths": torch.tensor([1.0, 3.0])}, "float32"),
    ):
        with pytest.raises(RuntimeError, match=rf"^segment_reduce: (?!segment_reduce: ).*{words}"):
            torch.segment_reduce(data, "sum", **given)
    with pytest.raises((RuntimeError, ValueError), match="median"):
        torch.segment_reduce(data, "median", lengths=torch.tensor([4]))
    assert torch.segment_reduce(data, "sum", lengths=torch.tensor([1, 2]), unsafe=True).tolist() == [[1, 2, 3], [11, 13, 15]]
    assert torch.segment_reduce(data, "sum", offsets=torch.tensor([0, 2, 7]), unsafe=True).tolist() == [[5, 7, 9], [17, 19, 21]]


def test_zero_dim_tensors_have_no_segments():
    for lengths in (torch.tensor(1), torch.tensor([1])):
        with pytest.raises(RuntimeError, match="segment_reduce: .*shape"):
            torch.segment_reduce(torch.tensor(2.0), "sum", lengths=lengths)


def test_cosines():
    a = torch.tensor([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[3.0, 1.0], [1.0, 1.0], [4.0, 3.0]], dtype=torch.float64, requires_grad=True)
    y = torch.cosine_similarity(a, b)
    assert torch.allclose(y, torch.tensor([0.5**0.5, 0, 0.96], dtype=torch.float64))
    assert torch.cosine_similarity(a.half(), b.float()).dtype == torch.float32
    assert torch.cosine_similarity(torch.ones(2, 3), torch.ones(3), dim=-1).tolist() == pytest.approx([1, 1])
    # The gradient of a norm that counts as eps is that of the norm.
    y.sum().backward()
    assert a.grad[1].tolist() == pytest.approx([0.5**0.5 * 1e8] * 2)
    assert torch.autograd.gradcheck(lambda b: torch.cosine_similarity(a.detach(), b), b)


def test_cosines_of_invalid_arguments():
    with pytest.raises(RuntimeError, match="int64"):
        torch.cosine_similarity(torch.tensor([[1]]), torch.tensor([[1]]))
    with pytest.raises(IndexError, match="1"):
        torch.cosine_similarity(torch.ones(2), torch.ones(2))
    with pytest.raises(RuntimeError, match=r"2.*3|3.*2"):
        torch.cosine_similarity(torch.ones(2, 2), torch.ones(2, 3))


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("reduce", "initial", "values", "shares"),
    [
        ("max", None, [NAN, 1, 2], [1, 0, 0]),
        ("max", None, [1, NAN, NAN], [0, 0.5, 0.5]),
        ("min", None, [0, NAN, 2], [0, 1, 0]),
        ("max", None, [1, 1, 2], [0, 0, 1]),
        ("min", None, [1, 1, 2], [0.5, 0.5, 0]),
        ("min", 1.0, [1, 1, 2], [0.5, 0.5, 0]),  # the initial value of a segment has no share
        ("max", INF, [1, INF, 0], [0, 1, 0]),
        ("max", 5.0, [1, 2, 3], [0, 0, 0]),
        ("max", NAN, [1, 2, 3], [0, 0, 0]),
    ],
)
@pytest.mark.parametrize("by", ["lengths", "offsets"])
def test_elements_share_the_gradient_of_an_extreme(reduce, initial, values, shares, by):
    x = torch.tensor([7.0, *values, 9.0, 9.0], dtype=torch.float64, requires_grad=True)
    given = {"lengths": torch.tensor([1, 3, 0, 1])} if by == "lengths" else {"offsets": torch.tensor([0, 1, 4, 4, 5])}
    y = torch.segment_reduce(x, reduce, initial=initial, unsafe=True, **given)  # which leaves the last element out
    assert y.grad_fn.name() == "SegmentReduceBackward0" and y.shape == (4,)
    y[1].mul(3).backward()
    assert x.grad.tolist() == [0, *(3.0 * s for s in shares), 0, 0]


def test_second_derivatives_of_extremes():
    x = torch.tensor([[0.1, 0.7], [0.3, 0.9], [0.8, 0.2], [0.6, 0.75], [0.55, 0.95]], dtype=torch.float64, requires_grad=True)
    for reduce in ("max", "min"):
        for initial in (None, 0.5):  # which is the extreme of some segments
            assert torch.autograd.gradgradcheck(
                lambda x, r=reduce, i=initial: torch.segment_reduce(x, r, lengths=torch.tensor([2, 3]), initial=i) ** 3, (x,)
            )
