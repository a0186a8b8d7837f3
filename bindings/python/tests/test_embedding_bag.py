"""Bags of rows of a matrix, compared with element-by-element results."""

import itertools

import pytest

import libtensor as torch

F = torch.nn.functional
ROWS = torch.tensor([[1.0, 9.0], [2.0, 8.0], [3.0, 7.0], [4.0, 6.0]])
INDICES, OFFSETS = torch.tensor([0, 1, 3, 3, 2]), torch.tensor([0, 2, 2])


def test_modes():
    for number, (mode, expected) in enumerate(
        [("sum", [[3, 17], [0, 0], [11, 19]]), ("mean", [[1.5, 8.5], [0, 0], [11 / 3, 19 / 3]]), ("max", [[2, 9], [0, 0], [4, 7]])]
    ):
        output = F.embedding_bag(INDICES, ROWS, OFFSETS, mode=mode)
        assert torch.allclose(output, torch.tensor(expected, dtype=torch.float32))
        results = torch.embedding_bag(ROWS, INDICES, OFFSETS, False, number)
        assert isinstance(results, tuple) and torch.equal(results[0], output)
    assert torch.equal(F.embedding_bag(INDICES, ROWS, OFFSETS), F.embedding_bag(INDICES, ROWS, OFFSETS, mode="mean"))


def test_results_in_addition_to_the_output():
    assert [t.tolist() for t in torch.embedding_bag(ROWS, INDICES, OFFSETS, False, 0)[1:]] == [[], [0, 0, 0], [0, 0, 0]]
    assert [t.tolist() for t in torch.embedding_bag(ROWS, INDICES, OFFSETS, False, 1)[1:]] == [[0, 0, 2, 2, 2], [2, 0, 3], [2, 0, 3]]
    assert [t.tolist() for t in torch.embedding_bag(ROWS, INDICES, OFFSETS, False, 2)[1:]] == [
        [0, 0, 2, 2, 2],
        [2, 0, 3],
        [[1, 0], [0, 0], [3, 2]],
    ]
    padded = torch.embedding_bag(ROWS, INDICES, OFFSETS, False, 1, False, None, False, 3)
    assert [t.tolist() for t in padded[1:]] == [[0, 0, 2, 2, 2], [2, 0, 1], [2, 0, 1]]
    assert torch.embedding_bag(ROWS, INDICES.int(), OFFSETS.int(), False, 1)[1].dtype == torch.int32


def test_bags_are_rows_or_end_with_the_last_offset():
    matrix = torch.tensor([[0, 1], [3, 3]])
    assert F.embedding_bag(matrix, ROWS, mode="sum").tolist() == [[3, 17], [8, 12]]
    assert F.embedding_bag(matrix.t(), ROWS, mode="sum").tolist() == [[5, 15], [6, 14]]
    assert F.embedding_bag(INDICES, ROWS, torch.tensor([0, 2, 5]), mode="sum", include_last_offset=True).tolist() == [[3, 17], [11, 19]]
    assert F.embedding_bag(INDICES, ROWS, torch.tensor([0, 2]), mode="sum", include_last_offset=True).tolist() == [[3, 17]]
    assert F.embedding_bag(INDICES[:0], ROWS, torch.tensor([0, 0]), mode="max").tolist() == [[0, 0], [0, 0]]
    assert F.embedding_bag(INDICES[:0], ROWS, INDICES[:0], mode="sum").shape == (0, 2)


def test_rows_that_do_not_count():
    rows = ROWS.clone()
    rows[3] = float("nan")
    for padding in (3, -1):
        assert F.embedding_bag(INDICES, rows, OFFSETS, mode="sum", padding_idx=padding).tolist() == [[3, 17], [0, 0], [3, 7]]
        assert F.embedding_bag(INDICES, rows, OFFSETS, mode="mean", padding_idx=padding).tolist() == [[1.5, 8.5], [0, 0], [3, 7]]
        assert F.embedding_bag(INDICES, rows, OFFSETS, mode="max", padding_idx=padding).tolist() == [[2, 9], [0, 0], [3, 7]]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_gradients(dtype):
    given = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=dtype)

    def gradients(weights=None, **how):
        rows = ROWS.detach().to(dtype).requires_grad_()
        output = F.embedding_bag(INDICES, rows, OFFSETS, per_sample_weights=weights, **how)
        return torch.autograd.grad((output * given).sum(), [rows] + ([] if weights is None else [weights]))

    assert gradients(mode="sum")[0].tolist() == [[1, 2], [1, 2], [5, 6], [10, 12]]
    assert gradients(mode="sum", scale_grad_by_freq=True)[0].tolist() == [[1, 2], [1, 2], [5, 6], [5, 6]]
    assert gradients(mode="max")[0].tolist() == [[0, 2], [1, 0], [0, 6], [5, 0]]
    assert gradients(mode="sum", padding_idx=3)[0].tolist() == [[1, 2], [1, 2], [5, 6], [0, 0]]
    third = torch.tensor([5.0, 6.0], dtype=dtype) / 3
    assert torch.allclose(gradients(mode="mean")[0][2], third)
    weights = torch.tensor([1.0, 2.0, 0.5, 0.25, 3.0], dtype=dtype).requires_grad_()
    rows, of_weights = gradients(weights, mode="sum")
    assert rows.tolist() == [[1, 2], [2, 4], [15, 18], [3.75, 4.5]] and of_weights.tolist() == [19, 18, 56, 56, 57]


def test_sparse_gradients():
    for how, values in [({}, [[1, 1], [1, 1], [1, 1], [1, 1], [1, 1]]), ({"padding_idx": 3}, [[1, 1], [1, 1], [1, 1]])]:
        rows = ROWS.clone().requires_grad_()
        (grad,) = torch.autograd.grad(F.embedding_bag(INDICES, rows, OFFSETS, mode="sum", sparse=True, **how).sum(), rows)
        assert grad.layout == torch.sparse_coo and grad._values().tolist() == values
        (dense,) = torch.autograd.grad(F.embedding_bag(INDICES, rows, OFFSETS, mode="sum", **how).sum(), rows)
        assert torch.equal(grad.to_dense(), dense)


def test_second_derivatives():
    rows, weights = ROWS.double().requires_grad_(), torch.linspace(1, 2, 5, dtype=torch.float64).requires_grad_()
    of = [rows, weights]

    def gathered():
        each = rows[INDICES] * weights.unsqueeze(1)
        return torch.stack([each[:2].sum(0), each[2:2].sum(0), each[2:].sum(0)])

    results = []
    for output in (F.embedding_bag(INDICES, rows, OFFSETS, mode="sum", per_sample_weights=weights), gathered()):
        first = torch.autograd.grad((output**2).sum(), of, create_graph=True)
        results.append(torch.autograd.grad(sum((g**2).sum() for g in first), of))
    assert all(torch.allclose(a, b) for a, b in zip(*results, strict=True))


def test_rows_are_renormalized_in_place():
    rows = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    F.embedding_bag(torch.tensor([0, 1]), rows, torch.tensor([0]), max_norm=1.0)
    assert torch.allclose(rows, torch.tensor([[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]]))


def test_the_same_bits_on_any_number_of_threads():
    torch.manual_seed(0)
    rows, indices = torch.randn(500, 65, requires_grad=True), torch.randint(0, 500, (4000,))
    threads, results = torch.get_num_threads(), []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            for mode in ("mean", "max"):
                for offsets in (torch.arange(0, 4000, 40), torch.arange(60) ** 2):
                    output = F.embedding_bag(indices, rows, offsets, mode=mode)
                    results.append((output, torch.autograd.grad((output**2).sum(), rows)[0]))
    finally:
        torch.set_num_threads(threads)
    for i, other in enumerate(results):
        assert all(map(torch.equal, other, results[i % 4]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("width", [0, 1, 63, 64, 65, 130])  # 64 columns are compared at a time
def test_maxima_are_the_first_ones(width, dtype):
    torch.manual_seed(0)
    rows = torch.randint(-3, 4, (20, width)).to(dtype)
    rows[5], rows[6], rows[7] = -torch.inf, torch.nan, torch.inf
    indices, ends = torch.randint(0, 20, (300,)), [0, 1, 1, 40, 41, 140, 300]
    indices[:1], indices[40] = 5, 5
    for d in (torch.int64, torch.int32):
        output, owners, sizes, found = torch.embedding_bag(rows, indices.to(d), torch.tensor(ends[:-1], dtype=d), False, 2)
        assert found.dtype == owners.dtype == d and output.dtype == dtype
        for i, (begin, end) in enumerate(itertools.pairwise(ends)):
            each = [indices[begin:end].tolist()] * width
            best = []
            for j, column in enumerate(each):
                values = [rows[k, j].item() for k in column]
                nans = [k for k, v in zip(column, values, strict=True) if v != v]
                best.append(nans[0] if nans else column[values.index(max(values))] if values else 0)
            assert found[i].tolist() == best and sizes[i] == end - begin and (owners[begin:end] == i).all()
            want = [rows[k, j].item() if end > begin else 0 for j, k in enumerate(best)]
            assert torch.equal(output[i].nan_to_num(9), torch.tensor(want, dtype=dtype).nan_to_num(9))


def test_errors_and_meta_tensors():
    for call, kind, text in [
        (lambda: F.embedding_bag(INDICES, ROWS, torch.tensor([1, 2])), RuntimeError, "begin with 0.*1"),
        (lambda: F.embedding_bag(INDICES, ROWS, torch.tensor([0, 9])), RuntimeError, "offsets must be from 0 to 5.*9"),
        (lambda: F.embedding_bag(torch.tensor([0, 7]), ROWS, torch.tensor([0])), RuntimeError, "7 which is not in the valid range"),
        (
            lambda: F.embedding_bag(INDICES, ROWS, torch.tensor([0, 2, 1])),
            RuntimeError,
            "offsets must not decrease.* 1 is 2 and the next one 1",
        ),
        (lambda: F.embedding_bag(INDICES, ROWS, torch.tensor([0, -1])), RuntimeError, "offsets must be from 0 to 5.*-1"),
        (lambda: F.embedding_bag(INDICES, ROWS, torch.tensor([0.0, 1.0])), RuntimeError, "offsets must be of int64.*float32"),
        (lambda: F.embedding_bag(INDICES, ROWS), ValueError, "offsets"),
        (lambda: F.embedding_bag(INDICES.reshape(1, 5), ROWS, OFFSETS), ValueError, "offsets"),
        (lambda: F.embedding_bag(INDICES, ROWS, OFFSETS, mode="median"), ValueError, "median"),
        (lambda: F.embedding_bag(INDICES, ROWS, OFFSETS, mode="max", sparse=True), ValueError, "max"),
        (lambda: F.embedding_bag(INDICES, ROWS, OFFSETS, per_sample_weights=torch.ones(5)), NotImplementedError, "mean"),
        (lambda: F.embedding_bag(INDICES, ROWS, OFFSETS, mode="sum", per_sample_weights=torch.ones(4)), ValueError, "4"),
        (lambda: F.embedding_bag(INDICES, ROWS, OFFSETS, padding_idx=4), RuntimeError, "padding_idx.*4"),
        (lambda: F.embedding_bag(INDICES, ROWS.int(), OFFSETS), RuntimeError, "int32"),
        (lambda: F.embedding_bag(INDICES.float(), ROWS, OFFSETS), RuntimeError, "float32"),
        (lambda: torch.embedding_bag(ROWS, INDICES, OFFSETS, False, 3), RuntimeError, "mode.*3"),
    ]:
        with pytest.raises(kind, match=text):
            call()
    with pytest.raises(RuntimeError):
        F.embedding_bag(INDICES, ROWS, torch.tensor([0, 3, 2]))
    meta = torch.embedding_bag(ROWS.to("meta"), INDICES.to("meta"), OFFSETS.to("meta"))
    assert meta[0].shape == (3, 2) and meta[0].device.type == "meta"


WAYS = [{"mode": mode, **way} for mode in ("sum", "mean", "max") for way in ({}, {"padding_idx": 1})]
WAYS += [{"mode": "sum", "per_sample_weights": True}, {"mode": "sum", "per_sample_weights": True, "padding_idx": 1}]
WAYS += [{"mode": "sum", "scale_grad_by_freq": True}, {"mode": "mean", "scale_grad_by_freq": True}]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_failed_allocation_in_any_step_raises(way):
    failed = 0
    for n in range(1, 201):
        rows, how = ROWS.clone().requires_grad_(), dict(way)
        if "per_sample_weights" in how:
            how["per_sample_weights"] = torch.ones(5, requires_grad=True)
        torch.fail_allocation(n)
        try:
            F.embedding_bag(INDICES, rows, OFFSETS, **how).sum().backward()
        except torch.OutOfMemoryError:
            failed += 1
        finally:
            torch.fail_allocation(0)
    assert failed > 5


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("index", [-1, 4, 2**40])
def test_indices_that_name_no_row(mode, index):
    for way in ({}, {"padding_idx": 0}):
        with pytest.raises(RuntimeError, match=rf"{index} which is not in the valid range \[0, 4\)"):
            F.embedding_bag(torch.tensor([[0, index]]), ROWS, mode=mode, **way)


def test_rows_are_unchanged_after_a_rejected_call():
    for indices, offsets, how in [
        (INDICES, OFFSETS, {"padding_idx": 4}),
        (INDICES, torch.tensor([0, 9]), {}),
        (INDICES, torch.tensor([1, 2]), {}),
        (INDICES, torch.tensor([0, 2, 1]), {}),
        (INDICES, torch.tensor([0.0]), {}),
        (INDICES, OFFSETS[:0], {"include_last_offset": True}),
        (INDICES, OFFSETS, {"mode": "sum", "per_sample_weights": torch.ones(5, dtype=torch.float64)}),
        (torch.tensor([0, 1, 4]), OFFSETS, {}),
    ]:
        rows = ROWS.clone()
        with pytest.raises((RuntimeError, IndexError)):
            F.embedding_bag(indices, rows, offsets, max_norm=1.0, **how)
        assert torch.equal(rows, ROWS)


BACKWARD = [{"padding_idx": 0}, {"scale_grad_by_freq": True}, {"padding_idx": 0, "scale_grad_by_freq": True, "sparse": True}]


@pytest.mark.parametrize("way", BACKWARD, ids=str)
def test_examples_of_vmap_have_the_gradients_of_each(way):
    indices, rows = torch.tensor([[0, 0, 1], [1, 1, 1]]), torch.stack([ROWS, 2 * ROWS])

    def bag(i, w):
        return F.embedding_bag(i.reshape(1, 3), w, mode="sum", **way)

    for pick in (lambda i, w: F.embedding(i, w, **way), bag):

        def gradient(i, w, pick=pick):
            return torch.func.grad(lambda w: (pick(i, w) ** 2).sum())(w)

        def each(i, w, pick=pick):
            w = w.clone().requires_grad_()
            made = torch.autograd.grad((pick(i, w) ** 2).sum(), w)[0]
            return made.to_dense() if made.is_sparse else made

        assert torch.equal(torch.vmap(gradient)(indices, rows), torch.stack([each(i, w) for i, w in zip(indices, rows, strict=True)]))
        assert torch.equal(torch.vmap(lambda i: gradient(i, ROWS))(indices), torch.stack([each(i, ROWS) for i in indices]))
        assert torch.equal(torch.vmap(lambda w: gradient(indices[0], w))(rows), torch.stack([each(indices[0], w) for w in rows]))


def test_examples_of_vmap_leave_padding_out():
    indices = torch.tensor([[[0, 0, 1]], [[1, 1, 1]]])
    for mode in ("sum", "mean", "max"):
        made = torch.vmap(lambda i: F.embedding_bag(i, ROWS, mode=mode, padding_idx=0))(indices)  # noqa: B023
        assert torch.equal(made, torch.stack([F.embedding_bag(i, ROWS, mode=mode, padding_idx=0) for i in indices]))


def test_gradients_on_meta_have_the_sizes_of_rows():
    for way in WAYS:
        rows, how = ROWS.to("meta").requires_grad_(), dict(way)
        if "per_sample_weights" in how:
            how["per_sample_weights"] = torch.ones(5, device="meta", requires_grad=True)
        F.embedding_bag(INDICES.to("meta"), rows, OFFSETS.to("meta"), **how).sum().backward()
        assert rows.grad.shape == ROWS.shape and rows.grad.device.type == "meta"


def test_bag_sizes_are_those_of_offsets():
    for last in (True, False):
        assert [t.tolist() for t in torch.embedding_bag(ROWS, INDICES, torch.tensor([0, 2, 5]), False, 0, False, None, last)[2:]] == [
            [0, 0, 0]
        ] * 2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_the_largest_of_bags_of_one_size_are_those_of_others(dtype):
    """Bags of one size are reduced along a dimension, others by scatter_reduce: ties name the first row, NaN is the largest."""
    torch.manual_seed(0)
    rows = torch.randint(0, 4, (30, 5)).to(dtype)
    rows[7, 2] = rows[9, 2] = rows[8, 0] = float("nan")
    indices = torch.cat([torch.tensor([7, 9, 8, 9, 7, 9]), torch.randint(0, 30, (54,))])
    for each in (1, 3, 6, 60):
        offsets = torch.arange(0, 60, each)
        equal = torch.embedding_bag(rows, indices, offsets, False, 2)
        more, ends = torch.cat([indices, torch.zeros(each + 1, dtype=torch.int64)]), torch.cat([offsets, torch.tensor([60])])
        with_another = torch.embedding_bag(rows, more, ends, False, 2)
        assert torch.equal(equal[0].isnan(), with_another[0][:-1].isnan()) and torch.equal(
            equal[0].nan_to_num(9), with_another[0][:-1].nan_to_num(9)
        )
        assert torch.equal(equal[1], with_another[1][:60]) and torch.equal(equal[3], with_another[3][:-1])
        assert torch.equal(torch.embedding_bag(rows, indices, offsets, False, 1)[1], torch.arange(60 // each).repeat_interleave(each))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.int32], ids=str)
def test_sums_of_any_width_and_length(dtype):
    """Columns in wide blocks, in narrow ones and one by one; rows of no entries, and of more than are summed at once."""
    torch.manual_seed(0)
    ends = torch.tensor([0, 1, 1, 8, 4104, 8201, 12298])
    indices, weights = torch.cat([torch.randperm(4100)[:n].sort()[0] for n in ends.diff().tolist()]), torch.randint(-2, 3, (12298,))
    for width in (1, 7, 8, 15, 16, 31, 32, 64, 65, 80, 107):
        rows = torch.randint(-1, 2, (4100, width))
        want = torch.stack([(rows[indices[a:b]] * weights[a:b].unsqueeze(1)).sum(0) for a, b in itertools.pairwise(ends.tolist())])
        plain = torch.stack([rows[indices[a:b]].sum(0) for a, b in itertools.pairwise(ends.tolist())])
        for index in (torch.int64, torch.int32):
            matrix = torch.sparse_csr_tensor(ends.to(index), indices.to(index), weights.to(dtype), (6, 4100))
            assert torch.equal(matrix @ rows.to(dtype), want.to(dtype))
            if dtype.is_floating_point:
                made = F.embedding_bag(indices.to(index), rows.to(dtype), ends.to(index), mode="sum", include_last_offset=True)
                assert torch.equal(made, plain.to(dtype))
                zero = F.embedding_bag(torch.zeros(1, 1, dtype=index), -torch.zeros(1, width, dtype=dtype), mode="sum")
                assert torch.signbit(zero).all()
