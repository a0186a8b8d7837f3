"""Every operator on sparse tensors, in every layout and dtype: it accepts the dtypes of strided tensors, and has their results."""

import pytest

import libtensor as torch

LAYOUTS = {
    "sparse_coo": lambda x: x.to_sparse(),
    "sparse_csr": lambda x: x.to_sparse_csr(),
    "sparse_csc": lambda x: x.to_sparse_csc(),
    "sparse_bsr": lambda x: x.to_sparse_bsr((2, 2)),
    "sparse_bsc": lambda x: x.to_sparse_bsc((2, 2)),
}
DTYPES = (
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
)
NAMES = (
    "neg square abs sign sgn isnan isinf isposinf isneginf signbit real imag conj angle sqrt expm1 log1p sin tan asin atan sinh tanh asinh "
    "atanh "
    "floor ceil trunc frac relu erf erfinv deg2rad rad2deg round nan_to_num t adjoint positive clone sum mean norm amax amin max argmax "
    "argmin "
    "any all count_nonzero zeros_like"
)
OPERATORS = {name: getattr(torch, name) for name in NAMES.split()} | {
    "x + x": lambda x: x + x,
    "x - x": lambda x: x - x,
    "add alpha": lambda x: torch.add(x, x, alpha=3),
    "x * x": lambda x: x * x,
    "x * 2": lambda x: x * 2,
    "x * 2.5": lambda x: x * 2.5,
    "x / 2": lambda x: x / 2,
    "x // 2": lambda x: x // 2,
    "x % 3": lambda x: x % 3,
    "fmod": lambda x: torch.fmod(x, 2),
    "x ** 2": lambda x: x**2,
    "true_divide": lambda x: torch.true_divide(x, 2),
    "div floor": lambda x: torch.div(x, 2, rounding_mode="floor"),
    "x @ x": lambda x: x @ x,
    "x @ d": lambda x: x @ x.to_dense(),
    "d @ x": lambda x: x.to_dense() @ x,
    "x @ v": lambda x: x @ x.to_dense()[0],
    "v @ x": lambda x: x.to_dense()[0] @ x,
    "bmm": lambda x: torch.bmm(torch.stack([x, x]), torch.stack([x, x]).to_dense()),
    "addmm": lambda x: torch.addmm(x.to_dense(), x, x.to_dense()),
    "addmv": lambda x: torch.addmv(x.to_dense()[0], x, x.to_dense()[0]),
    "x * d": lambda x: x * x.to_dense(),
    "x + d": lambda x: x + x.to_dense(),
    "x + other": lambda x: x + x.to(torch.int32 if x.dtype is torch.float32 else torch.float32),
    "x * other": lambda x: x * x.to(torch.int32 if x.dtype is torch.float32 else torch.float32),
    "sum dim": lambda x: x.sum(0),
    "sum keepdim": lambda x: x.sum(1, keepdim=True),
    "mean dim": lambda x: x.mean(1),
    "norm 1": lambda x: torch.norm(x, 1),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, 3),
    "amax dim": lambda x: x.amax(0),
    "amin dim": lambda x: x.amin(1),
    "any dim": lambda x: x.any(0),
    "all dim": lambda x: x.all(1),
    "argmin dim": lambda x: x.argmin(0),
    "count_nonzero dim": lambda x: x.count_nonzero(0),
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp_min": lambda x: x.clamp_min(0),
    "cat": lambda x: torch.cat([x, x]),
    "stack": lambda x: torch.stack([x, x]),
    "index_select": lambda x: x.index_select(0, torch.tensor([2, 0])),
    "select": lambda x: x[1],
    "narrow": lambda x: x.narrow(0, 0, 2),
    "flip": lambda x: x.flip(0),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "chunk": lambda x: x.chunk(2)[1],
    "to": lambda x: x.to(torch.complex128),
    "mul_": lambda x: x.clone().mul_(2),
    "add_": lambda x: x.clone().add_(x),
    "neg_": lambda x: x.clone().neg_(),
}


def made(dtype):
    x = torch.tensor([[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 0, 0], [0, 1, 3, 0]])
    if dtype not in (torch.bool, torch.uint8):
        x = x * torch.tensor([[1, -1, 1, 1]])
    x = x.to(dtype)
    return x * (1 + 0.5j) if dtype.is_complex else x * 0.3 if dtype.is_floating_point else x


def outcome(f, x):
    try:
        return f(x)
    except (RuntimeError, TypeError) as rejected:
        return rejected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_operators_support_the_arguments_of_strided_tensors(layout, dtype):
    x = made(dtype)
    for name, f in OPERATORS.items():
        expected, got = outcome(f, x), outcome(f, LAYOUTS[layout](x))
        assert isinstance(got, Exception) == isinstance(expected, Exception), (name, expected, got)
        if isinstance(expected, Exception):
            assert isinstance(got, type(expected)) or isinstance(expected, type(got)), (name, expected, got)
            continue
        got = got.to_dense()
        assert got.dtype is expected.dtype and got.shape == expected.shape, name
        rough = 2e-2 if dtype in (torch.float16, torch.bfloat16) else 1e-5
        wide = torch.complex128
        assert torch.allclose(got.to(wide), expected.to(wide), rtol=rough, atol=rough, equal_nan=True), name


@pytest.mark.parametrize(("dtype", "entries"), [(torch.bool, [1, 1, 1]), (torch.int8, [100, 100, 3]), (torch.uint8, [200, 100, 3])])
def test_entries_of_one_place_are_one_element_before_they_are_converted(dtype, entries):
    s = torch.sparse_coo_tensor([[0, 0, 1]], torch.tensor(entries).to(dtype), (3,))
    d, other = s.to_dense(), torch.tensor([1, 0, 2], dtype=torch.int64)
    for name, call in {
        "to": lambda x: x.to(torch.float32),
        "sum": lambda x: x.sum(),
        "sum of a dimension": lambda x: x.sum(0),
        "a number": lambda x: x * 0.5,
        "a number before": lambda x: 0.5 * x,
        "quotient": lambda x: x / 2,
        "strided factor": lambda x: x * other,
        "strided summand": lambda x: other + x,
        "cat": lambda x: torch.cat([x, other.to_sparse() if x is s else other]),
        "sum with another": lambda x: x + (other.to_sparse() if x is s else other),
    }.items():
        got, want = call(s), call(d)
        got = got.to_dense() if got.layout is torch.sparse_coo else got
        assert got.dtype == want.dtype and got.tolist() == want.tolist(), name
    assert not s.is_coalesced() and s.to(dtype) is s and not s.mul(True).is_coalesced()
    f = torch.sparse_coo_tensor([[0, 0]], torch.tensor([0.5, 0.5]), (1,))
    assert f.to(torch.int32).to_dense().tolist() == [1] and f.to(torch.float64)._nnz() == 2
    v = torch.tensor([0.5, 0.5], requires_grad=True)
    torch.sparse_coo_tensor([[0, 0]], v, (1,)).to(torch.float64).mul(2).sum().backward()
    assert v.grad.tolist() == [2, 2]


def test_invalid_slices_are_rejected_by_name():
    s = torch.ones(4, 4).to_sparse_bsr((2, 2))
    with pytest.raises(RuntimeError, match=r"^slice: matrices of sizes \(3, 4\) cannot be divided into blocks"):
        s[1:]


@pytest.mark.parametrize("d1", [torch.int16, torch.float32, torch.bool])
@pytest.mark.parametrize("d2", [torch.int8, torch.int64, torch.float64])
def test_dtypes_of_two_operands_without_dimensions_count_as_much(d1, d2):
    x, number = torch.tensor(3).to(d1), torch.tensor(2).to(d2)
    s = x.to_sparse()
    for f in (lambda a, b: a * b, lambda a, b: b * a, lambda a, b: a / b, lambda a, b: a // b, lambda a, b: a**b):
        made, want = f(s, number), f(x, number)
        assert made.dtype == want.dtype and torch.equal(made.to_dense(), want)
    for made in (s * number.to_sparse(), number.to_sparse() * s):
        assert made.dtype == (x * number).dtype and torch.equal(made.to_dense(), x * number)
    assert (s * 2).dtype == (x * 2).dtype and (s * 2.5).dtype == (x * 2.5).dtype
