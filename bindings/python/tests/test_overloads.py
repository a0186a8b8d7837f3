"""Properties of calls other than values: overloads, names of arguments, classes of results and errors."""

import pytest

import libtensor as torch

X = torch.arange(6.0)
M = X.view(2, 3)


def zero_dim(*values):
    return [torch.tensor(v) for v in values]


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.int32])
@pytest.mark.parametrize(
    ("name", "of", "args"),
    [
        ("split", X, (2,)),
        ("split", M, (1, 1)),
        ("chunk", X, (2, 0)),
        ("hsplit", X, (2,)),
        ("vsplit", M, (2,)),
        ("view", X, (6,)),
        ("view", X, (2, 3)),
        ("squeeze", M[:1], (0,)),
        ("narrow", X, (0, 1, 2)),
        ("sort", M, (1,)),
        ("median", M, (0,)),
        ("std", M, (0,)),
        ("var", M, (1,)),
        ("movedim", M, (0, 1)),
        ("norm", M, (2, 0)),
        ("sum", M, (0,)),
        ("unflatten", X, (0, (2, 3))),
    ],
)
def test_integer_tensors_without_dimensions_are_ints_among_overloads(name, of, args, dtype):
    def plain(result):
        return [plain(r) for r in result] if isinstance(result, tuple) else result.tolist()

    given = [torch.tensor(a, dtype=dtype) if isinstance(a, int) else a for a in args]
    want = plain(getattr(of, name)(*args))
    assert plain(getattr(of, name)(*given)) == want
    if name not in ("view", "new_zeros"):
        assert plain(getattr(torch, name)(of, *given)) == want


def test_exact_matches_come_first():
    zero, one = zero_dim(0, 1)
    assert torch.max(M, zero).tolist() == M.tolist()  # of two tensors, not over a dimension
    assert torch.min(torch.tensor([3, 0]), one).tolist() == [1, 0]
    assert torch.max(M, dim=zero).indices.tolist() == [1, 1, 1]
    assert [p.tolist() for p in X.tensor_split(torch.tensor([2, 4]))] == [[0, 1], [2, 3], [4, 5]]
    assert [p.tolist() for p in X.tensor_split(torch.tensor(2), zero)] == [[0, 1, 2], [3, 4, 5]]
    assert torch.narrow(X, 0, one, 2).tolist() == [1, 2]
    assert torch.eye(torch.tensor(2)).tolist() == [[1, 0], [0, 1]] and torch.linspace(0, 1, torch.tensor(2)).tolist() == [0, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.view(torch.tensor(6.0)),
        lambda: X.split(torch.tensor([2, 4, 1])[:2].float()),
        lambda: M.squeeze(torch.tensor([0, 1])),
        lambda: M.sort(torch.tensor(1.0)),
    ],
)
def test_other_tensors_are_no_ints(call):
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        call()


def test_the_keywords_are_pytorchs():
    other = torch.zeros(1, dtype=torch.int32)
    assert X.to(tensor=other).dtype == torch.int32 and X.to(tensor=other, copy=True).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(TypeError, match="invalid combination"):
        X.to(other=other)
    assert torch.zeros(3).random_(**{"from": 5, "to": 6}).tolist() == [5, 5, 5]
    assert (torch.zeros(3).uniform_(**{"from": 2, "to": 3}) >= 2).all()


def test_outputs_have_dtypes_that_results_can_be_cast_to():
    for function, want in ((torch.max, 5), (torch.min, 0)):
        out = torch.zeros((), dtype=torch.float64)
        assert function(M, out=out) is out and out.item() == want
        with pytest.raises(RuntimeError, match="result type float32 can't be cast to the desired output type int64"):
            function(M, out=torch.zeros((), dtype=torch.int64))
        assert function(M.int(), out=torch.zeros(())).item() == want
    pair = X[1:3]
    assert torch.kron(pair, pair, out=torch.zeros(4, dtype=torch.float64)).tolist() == [1, 2, 2, 4]
    assert torch.kron(pair.int(), pair.int(), out=torch.zeros(4)).tolist() == [1, 2, 2, 4]
    with pytest.raises(RuntimeError, match="result type float32 can't be cast to the desired output type int32"):
        torch.kron(pair, pair, out=torch.zeros(4, dtype=torch.int32))


def test_values_on_meta_fill_tensors_on_meta():
    t, value = torch.zeros(3, device="meta"), torch.tensor(1.0, device="meta")
    mask = torch.ones(3, dtype=torch.bool, device="meta")
    assert t.masked_fill(mask, value).is_meta and t.masked_fill_(mask, value) is t
    assert t.index_fill(0, torch.tensor([1], device="meta"), value).shape == (3,)
    with pytest.raises(NotImplementedError, match="depends on the values of elements"):
        torch.zeros(3).masked_fill(torch.ones(3, dtype=torch.bool), value)


def test_preserve_format_means_row_major_where_it_is_asked_about():
    assert M.is_contiguous(memory_format=torch.preserve_format) and not M.t().is_contiguous(memory_format=torch.preserve_format)
    assert M.contiguous(memory_format=torch.preserve_format).data_ptr() == M.data_ptr()
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported by the contiguous operator"):
        M.t().contiguous(memory_format=torch.preserve_format)


def test_results_of_calls():
    assert X.clone().__setitem__(0, 1) is None and torch.Tensor.__setitem__(X.clone(), torch.tensor([0]), torch.tensor([1.0])) is None
    for made in (torch.std_mean(M), torch.var_mean(M, 0), torch.std_mean(M, dim=1, correction=0)):
        assert type(made) is tuple and len(made) == 2
    assert +X is X and torch.positive(X) is X and X.positive() is X
    with pytest.raises(RuntimeError, match="positive"):
        torch.positive(X > 1)
    assert torch.diff(X, n=0, prepend=torch.tensor([1.0])).tolist() == X.tolist()
    with pytest.raises(RuntimeError, match="diff"):
        torch.diff(X, n=0, prepend=torch.tensor(1.0))


def nested(depth):
    value = 1.0
    for _ in range(depth):
        value = [value]
    return value


def test_lists_may_be_128_deep():
    for make in (torch.tensor, torch.Tensor, torch.as_tensor):
        assert make(nested(128)).shape == (1,) * 128
        with pytest.raises(ValueError, match="more than 128 dimensions"):
            make(nested(129))


@pytest.mark.parametrize("size", [2**63, 2**64, -(2**63) - 1])
def test_sizes_beyond_int64_are_type_errors(size):
    for call in (torch.zeros, torch.empty, X.view, X.expand, X.repeat, lambda n: torch.ones((2, n)), lambda n: X.view([n])):
        with pytest.raises(TypeError, match=f"{size} does not fit into 64 bits"):
            call(size)


def test_batches_of_too_few_dimensions_are_index_errors():
    batch = torch.ones(1, 2, 2)
    for call in (
        lambda: torch.baddbmm(X, X, X),
        lambda: torch.baddbmm(batch, M, M),
        lambda: torch.baddbmm(batch, batch, M),
        lambda: torch.addbmm(M, M, M),
    ):
        with pytest.raises(IndexError, match="must be a 3-D tensor; dimension . is out of range"):
            call()
    with pytest.raises(RuntimeError, match="3-D"):
        torch.bmm(M, M)


def test_numbers_that_divide_16_bits_are_not_rounded_first():
    h = torch.tensor([1.0, 2.5, -3.0, 0.1, 2049.0]).half()
    assert (h // 0.1).tolist() == [9, 24, -30, 0, 20480]
    assert torch.floor_divide(h, torch.tensor(0.1)).tolist() == [9, 24, -30, 0, 20480]
    assert torch.div(h, 0.3, rounding_mode="trunc").tolist() == [3, 8, -10, 0, 6824]
    assert torch.div(h, 0.3, rounding_mode="floor").tolist() == [3, 8, -10, 0, 6824]
    assert (torch.tensor([-0.3], dtype=torch.bfloat16) // 0.3).tolist() == [-2]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_logcumsumexp_of_complex_nan_and_infinities(dtype):
    inf, nan = float("inf"), float("nan")
    for value in (complex(0, nan), complex(nan, 1), complex(-inf, nan), complex(inf, nan)):
        alone, after = torch.logcumsumexp(torch.tensor([value, 1 + 1j], dtype=dtype), 0), torch.tensor([1 + 1j, value], dtype=dtype)
        assert alone.real.isnan().all() and alone.imag.isnan().all()
        assert torch.logcumsumexp(after, 0).real.isnan().tolist() == [False, True]
    for value in (complex(inf, 0), complex(inf, inf), complex(inf, -inf)):
        assert torch.logcumsumexp(torch.tensor([1 + 1j, value], dtype=dtype), 0).tolist() == [1 + 1j, value]
        assert torch.logcumsumexp(torch.tensor([value, 1 + 1j], dtype=dtype), 0).tolist() == [value, value]


def test_one_step_of_a_range_is_its_start():
    for end in (3.0, float("nan"), float("inf")):
        assert torch.linspace(0.5, end, 1).tolist() == [0.5] and torch.logspace(1.0, end, 1).tolist() == [10.0]
