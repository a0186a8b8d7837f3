"""Maxima and minima of sparse tensors along dimensions, and tensors like sparse ones."""

import itertools

import pytest

import libtensor as torch

SIZES = ((5,), (4, 6), (3, 1, 4), (1, 1), (3, 0))
DTYPES = (torch.float32, torch.bfloat16, torch.float64, torch.int8, torch.int64, torch.uint8, torch.bool)


def thin(size, dtype, keep):
    torch.manual_seed(len(size))
    low = 0 if dtype in (torch.uint8, torch.bool) else -2
    return (torch.randint(low, 3, size) * (torch.rand(size) < keep)).to(dtype)


def forms(x):
    yield x.to_sparse()
    if x.dim() > 1:
        yield x.to_sparse(1)
        twice = x.to_sparse()
        if x.dtype is not torch.bool:
            yield torch.sparse_coo_tensor(
                torch.cat([twice.indices()] * 2, 1), torch.cat([twice.values(), torch.zeros_like(twice.values())]), x.shape
            )
    if x.dim() == 2:
        yield from (x.to_sparse_csr(), x.to_sparse_csc())
        if x.numel():
            yield x.to_sparse_bsr((1, x.shape[1]))


@pytest.mark.slow
@pytest.mark.parametrize("keep", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("name", ["amax", "amin", "any", "all", "argmax", "argmin", "count_nonzero"])
def test_reductions_by_dimension_are_those_of_all_elements(name, keep):
    for size, dtype in itertools.product(SIZES, DTYPES):
        x = thin(size, dtype, keep)
        dims = [*range(-1, x.dim())]
        if x.dim() > 1 and not name.startswith("arg"):
            dims.append((0, 1))
        for form, dim, keepdim in itertools.product(forms(x), dims, (False, True)):
            options = {} if name == "count_nonzero" else {"keepdim": keepdim}
            call = f"{name} of {dtype} {size} {form.layout} along {dim}, {keepdim}"
            try:
                expected = getattr(x, name)(dim, **options)
            except (RuntimeError, IndexError) as rejected:
                with pytest.raises(type(rejected)):
                    getattr(form, name)(dim, **options)
                continue
            got = getattr(form, name)(dim, **options).to_dense()
            assert got.dtype is expected.dtype and got.shape == expected.shape, call
            assert torch.equal(got, expected), call


def test_positions_among_all_elements_and_of_nan():
    x = torch.tensor([[0.0, -1.0], [-2.0, 0.0]]).to_sparse()
    assert x.argmax() == 0 and x.argmin() == 2
    x = torch.tensor([[-3.0, -1.0], [-2.0, 0.0]]).to_sparse()
    assert x.argmax() == 3 and x.argmax(keepdim=True).shape == (1, 1)
    x = torch.tensor([0.0, float("nan"), 5.0]).to_sparse()
    assert x.argmax() == 1 and x.argmin() == 1 and x.amax(0).isnan() and x.amin(0).isnan()
    big = torch.sparse_coo_tensor([[3], [1 << 40]], [-1.0], (5, 1 << 41))
    assert big.argmin(1).tolist() == [0, 0, 0, 1 << 40, 0] and big.amin(1).to_dense().tolist() == [0, 0, 0, -1, 0]


def test_limits_that_zero_is_within():
    x = torch.tensor([[0.0, -3.0], [7.0, 0.0]])
    for form in (x.to_sparse(), x.to_sparse_csr()):
        assert torch.equal(form.clamp(-1, 2).to_dense(), x.clamp(-1, 2))
        assert torch.equal(form.clamp_min(0).to_dense(), x.clamp_min(0)) and torch.equal(form.clamp_max(4).to_dense(), x.clamp_max(4))
        copy = form.clone()
        assert copy.clamp_(-1, 1) is copy and torch.equal(copy.to_dense(), x.clamp(-1, 1))
        with pytest.raises(RuntimeError, match="clamp_min: .* result would be dense"):
            form.clamp_min(1)
        with pytest.raises(RuntimeError, match="pow: .* result would be dense"):
            form.pow(-1)


def test_part_of_a_dimension_with_separate_entries():
    x = torch.arange(24.0).reshape(2, 3, 4)
    hybrid = x.to_sparse(2)
    part = hybrid.narrow_copy(2, 1, 2)
    assert torch.equal(part.to_dense(), x.narrow(2, 1, 2)) and part.values().data_ptr() != hybrid.values().data_ptr()
    csr = x[1].to_sparse_csr().narrow_copy(0, 1, 2)
    assert csr.layout is torch.sparse_csr and torch.equal(csr.to_dense(), x[1].narrow(0, 1, 2))


def test_a_tensor_without_dimensions_is_a_number():
    x, number = torch.tensor([[0.0, 2.0], [3.0, 0.0]]), torch.tensor(4).to_sparse()
    for form in (x.to_sparse(), x.to_sparse_csr()):
        for product in (form * number, number * form, torch.mul(form, number, out=form.clone())):
            assert product.layout is form.layout and torch.equal(product.to_dense(), x * 4)
    assert (x * number).layout is torch.sparse_coo and torch.equal((number * x).to_dense(), x * 4)
    assert torch.equal(x.clone().mul_(number), x * 4)
    wide = torch.tensor(0.5, dtype=torch.float64).to_sparse()
    assert (x.to_sparse() * wide).dtype is torch.float32 and (number * wide).dtype is torch.float64
    assert (torch.eye(2, dtype=torch.int32).to_sparse() * wide).dtype is torch.float64
    with pytest.raises(RuntimeError, match=r"mul_: the output is 0-dimensional, but the result has sizes \[2, 2\]"):
        wide.mul_(x.to_sparse())


LIKE = {
    "zeros_like": (),
    "ones_like": (),
    "empty_like": (),
    "full_like": (3,),
    "rand_like": (),
    "randn_like": (),
    "randint_like": (5,),
}


@pytest.mark.parametrize("name", LIKE)
def test_made_like_a_sparse_tensor(name):
    make, more = getattr(torch, name), LIKE[name]
    dense = torch.eye(4)
    for form in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_bsc((2, 2)), torch.ones(2, 3, 4).to_sparse(2)):
        strided = make(form, *more, layout=torch.strided)
        assert strided.layout is torch.strided and strided.shape == form.shape and strided.dtype is form.dtype
        assert make(form, *more, layout=torch.strided, dtype=torch.float64).dtype is torch.float64
        own = make(form, *more)
        assert own.layout is form.layout and own.shape == form.shape
        if name not in ("zeros_like", "empty_like"):
            assert own._nnz() == form._nnz()
            with pytest.raises(
                RuntimeError, match=f"{name}: layout sparse_csc cannot be created from a tensor of layout {form.layout.name}"
            ):
                make(form, *more, layout=torch.sparse_csc)


def test_zeros_in_blocks_of_the_same_size():
    made = torch.zeros_like(torch.eye(4).to_sparse_bsr((2, 2)), layout=torch.sparse_bsc)
    assert made.layout is torch.sparse_bsc and made.values().shape == (0, 2, 2)
    with pytest.raises(RuntimeError, match="zeros_like: an empty tensor .* cannot be created"):
        torch.zeros_like(torch.eye(4).to_sparse(), layout=torch.sparse_bsr)
    with pytest.raises(RuntimeError, match="new_ones: .* use layout=strided"):
        torch.eye(2).to_sparse().new_ones(2)
    assert torch.eye(2).to_sparse().new_full((2,), 3, layout=torch.strided).tolist() == [3, 3]


def test_errors_name_the_call():
    for name in ("csr", "csc", "bsr", "bsc"):
        make = getattr(torch, f"sparse_{name}_tensor")
        for bad, options in (([0, 1], {}), ([0.0, 1.0], {}), ([0, 1], {"dtype": "int"}), ([0, 1], {"what": 1})):
            with pytest.raises((RuntimeError, TypeError), match=rf"^sparse_{name}_tensor(\(\))?:? "):
                make(bad, [0], [1.0, 2.0, 3.0], **options)
    for form in (torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr()):
        with pytest.raises(NotImplementedError, match=f"^tolist is not implemented for {form.layout.name} tensors"):
            form.tolist()


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_reductions_along_no_dimensions(layout):
    d = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 0.0]])
    s = d.to_sparse(layout=layout)
    for op in (torch.any, torch.all):
        assert op(s, ()).to_dense().tolist() == op(d, ()).tolist() and op(s).item() == op(d).item()
    assert torch.sparse.sum(s, ()).to_dense().tolist() == d.tolist() and torch.sparse.sum(s).item() == 5


@pytest.mark.parametrize("op", [torch.amax, torch.amin])
@pytest.mark.parametrize("dim", [(), (0,), (1,)])
def test_gradients_of_extremes_are_shared_with_elements_without_entries(op, dim):
    sign = -1 if op is torch.amax else 1
    indices, values = [[0, 0, 1, 1, 2], [0, 2, 0, 3, 1]], [0.0, 1.0 * sign, 0.0, 0.0, -3.0 * sign]
    s = torch.sparse_coo_tensor(indices, values, (4, 4)).requires_grad_()
    got = op(s, dim)
    (got.to_dense() if got.layout is torch.sparse_coo else got).sum().backward()
    d = s.detach().to_dense().requires_grad_()
    op(d, dim).sum().backward()
    lines = d.grad[tuple(torch.tensor(indices))]
    assert s.grad.coalesce().values().tolist() == lines.tolist()
