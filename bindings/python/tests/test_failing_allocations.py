"""Allocations that fail in operators of sparse and quantized tensors are errors, and nothing more."""

import pytest

import libtensor as torch

DENSE = torch.tensor([[0.0, 2.0, -3.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.5]])
B = torch.arange(6.0).reshape(3, 2)

SPARSE = {
    "to_dense": lambda s: s.to_dense(),
    "to_coo": lambda s: s.to_sparse_coo().coalesce(),
    "to_csr": lambda s: s.to_sparse_csr(),
    "to_csc": lambda s: s.to_sparse_csc(),
    "to_bsr": lambda s: s.to_sparse_bsr((1, 3)),
    "clone": lambda s: s.clone(),
    "add": lambda s: s + s,
    "sub": lambda s: s - 2 * s,
    "mul": lambda s: s * s,
    "mul_dense": lambda s: s * DENSE,
    "div": lambda s: s / 2,
    "mm": lambda s: s @ B,
    "mm_sparse": lambda s: s @ s,
    "mv": lambda s: s @ B[:, 0],
    "addmm": lambda s: torch.addmm(B, s, B),
    "smm": lambda s: torch.smm(s, B),
    "sspaddmm": lambda s: torch.sspaddmm(s, s, DENSE),
    "hspmm": lambda s: torch.hspmm(s, B),
    "mm_reduce": lambda s: torch.sparse.mm(s, B, "amax"),
    "sum": lambda s: s.sum(),
    "sum_dim": lambda s: torch.sparse.sum(s, 0),
    "mean": lambda s: s.mean(),
    "softmax": lambda s: torch.sparse.softmax(s, 1),
    "transpose": lambda s: s.t(),
    "select": lambda s: s.select(0, 1),
    "index_select": lambda s: s.index_select(0, torch.tensor([2, 0])),
    "cat": lambda s: torch.cat([s, s]),
    "abs": lambda s: s.abs(),
    "double": lambda s: s.double(),
    "narrow": lambda s: s.narrow(1, 1, 2),
    "unsqueeze": lambda s: s.unsqueeze(0),
    "permute": lambda s: s.permute(1, 0),
    "stack": lambda s: torch.stack([s, s]),
    "norm": lambda s: s.norm(),
    "pow": lambda s: s**2,
    "log_softmax": lambda s: torch.sparse.log_softmax(s, 0),
    "sampled": lambda s: torch.sparse.sampled_addmm(s, B, B.t()),
    "mask": lambda s: DENSE.sparse_mask(s),
    "any": lambda s: s.any(),
    "amax": lambda s: s.amax(),
    "amin_dim": lambda s: s.amin(1),
    "all_dim": lambda s: s.all(0, keepdim=True),
    "argmax": lambda s: s.argmax(),
    "argmin_dim": lambda s: s.argmin(0),
    "count_nonzero": lambda s: s.count_nonzero(0),
    "clamp": lambda s: s.clamp(-1, 1),
    "narrow_copy": lambda s: s.narrow_copy(0, 0, 2),
    "number": lambda s: s * torch.tensor(2.0).to_sparse(),
    "like": lambda s: torch.full_like(s, 3, layout=torch.strided),
    "values": lambda s: s.neg().values(),
    "gather": lambda s: s.index_select(1, torch.tensor([-1])),
    "item": lambda s: s[1, 0],
    "bools": lambda s: s.bool() - s,
}
QUANTIZED = {
    "add": lambda q: torch.ops.quantized.add(q, q, 0.2, 3),
    "mul": lambda q: torch.ops.quantized.mul(q, q, 0.2, 3),
    "matmul": lambda q: torch.ops.quantized.matmul(q, q, 0.2, 3),
    "batches": lambda q: torch.ops.quantized.matmul(torch.stack([q, q]), torch.stack([q, q]), 0.2, 3),
    "linear": lambda q: torch.ops.quantized.linear(q, torch.ops.quantized.linear_prepack(q, DENSE[0]), 0.2, 3),
    "dynamic": lambda q: torch.ops.quantized.linear_dynamic(DENSE, torch.ops.quantized.linear_prepack(q)),
    "mean": lambda q: q.mean(1),
    "sort": lambda q: q.sort()[0],
    "cat": lambda q: torch.cat([q, q]),
    "copy": lambda q: torch.empty_like(q).copy_(q),
    "masked_fill": lambda q: q.masked_fill(DENSE > 0, 2.0),
    "select_scatter": lambda q: q.select_scatter(DENSE[0], 0, 1),
    "negative number": lambda q: torch.ops.quantized.mul_scalar(q, -2.0),
}


def outcome(f, t):
    try:
        return f(t), None
    except (MemoryError, RuntimeError) as e:
        return None, e


def hold(f, t):
    want, rejection = outcome(f, t)
    for turn in range(1, 200):
        torch.fail_allocation(turn)
        try:
            got, failed = outcome(f, t)
        finally:
            torch.fail_allocation(0)
        if isinstance(failed, MemoryError):
            continue
        assert str(failed) == str(rejection)
        assert rejection or torch.equal(
            *(x.dequantize() if x.is_quantized else x.to_dense() if x.layout is not torch.strided else x for x in (got, want))
        )
        return
    raise AssertionError("200 allocations were not enough")


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_failing_allocations_with_sparse_tensors(name, layout):
    hold(SPARSE[name], getattr(DENSE, layout)())


def test_failing_allocations_with_compared_integers():
    hold(lambda t: t.isclose(t + 1, rtol=0.0, atol=1.0), torch.tensor([1, 2**62]))


@pytest.mark.parametrize("name", QUANTIZED)
def test_failing_allocations_with_quantized_tensors(name):
    hold(QUANTIZED[name], torch.quantize_per_tensor(DENSE, 0.1, 0, torch.qint8))
