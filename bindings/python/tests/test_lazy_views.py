"""Conjugated and negated views: writes reach the memory that they view, operators compute their elements, exports raise or compute."""

import copy
import io
import pathlib
import pickle
import random

import numpy as np
import pytest

import libtensor as torch

DATA = pathlib.Path(__file__).parents[3] / "engine/serial/testdata"

Z = [[1 + 2j, 3 - 4j], [5j, 6 + 0j]]


def complexes():
    return torch.tensor(Z, dtype=torch.complex128)


@pytest.mark.parametrize(
    "write, want",
    [
        (lambda z: z.conj()[0].zero_(), [[0, 0], [5j, 6]]),
        (lambda z: z.mH.fill_(1j), [[-1j, -1j], [-1j, -1j]]),
        (lambda z: z.H.__setitem__((0, 1), 2 + 1j), [[1 + 2j, 3 - 4j], [2 - 1j, 6]]),
        (lambda z: z.adjoint()[0].copy_(torch.tensor([7.0, 8.0])), [[7, 3 - 4j], [8, 6]]),
        (lambda z: z.conj().add_(z), [[2, 6], [0, 12]]),
        (lambda z: z.conj().copy_(z), [[1 - 2j, 3 + 4j], [-5j, 6]]),
        (lambda z: z.copy_(z.conj()), [[1 - 2j, 3 + 4j], [-5j, 6]]),
        (lambda z: z.conj().imag.mul_(3.0), [[1 + 6j, 3 - 12j], [15j, 6]]),
        (lambda z: z.conj().imag[0].fill_(2.5), [[1 - 2.5j, 3 - 2.5j], [5j, 6]]),
        (lambda z: torch.add(z, 1, out=z.conj()), [[2 - 2j, 4 + 4j], [1 - 5j, 7]]),
        (lambda z: z.conj().conj_physical_(), [[1 - 2j, 3 + 4j], [-5j, 6]]),
        (lambda z: z.conj().index_fill_(0, torch.tensor([1]), 1j), [[1 + 2j, 3 - 4j], [-1j, -1j]]),
        (lambda z: z.conj().masked_fill_(torch.tensor([[True, False], [False, False]]), 3j), [[-3j, 3 - 4j], [5j, 6]]),
        (
            lambda z: torch.sort(torch.tensor([3.0, 1.0], dtype=torch.float64), out=(z.conj().imag[0], torch.empty(2, dtype=torch.int64))),
            [[1 - 1j, 3 - 3j], [5j, 6]],
        ),
    ],
)
def test_writes_reach_the_viewed_memory(write, want):
    z = complexes()
    write(z)
    assert z.tolist() == torch.tensor(want, dtype=torch.complex128).tolist()


def test_flags():
    z = complexes()
    c = z.conj()
    n = c.imag
    assert c.is_conj() and not c.is_neg() and n.is_neg() and not n.is_conj() and not z.is_conj()
    assert c.data_ptr() == z.data_ptr() and c._base is z and c is not z and z.real.conj().is_neg() is False
    assert not c.conj().is_conj() and c.t().is_conj() and c[0].is_conj() and c.reshape(4).is_conj() and not c.t().reshape(4).is_conj()
    assert c.contiguous() is c and not c.t().contiguous().is_conj() and not c.clone().is_conj() and c.detach().is_conj()
    assert z.mH.is_conj() and z.H.is_conj() and not c.mH.is_conj() and not c.real.is_neg() and n.real.is_neg()
    assert not (-n).is_neg() and not (c + 0).is_conj() and not torch.empty_like(c).is_conj() and (+c).is_conj()
    assert c.resolve_conj().tolist() == c.tolist() and not c.resolve_conj().is_conj() and not n.resolve_neg().is_neg()
    assert z.resolve_conj() is z and z.resolve_neg() is z and torch.ones(2).conj().is_conj() is False
    x = torch.ones(2)
    assert x.conj() is x and c.conj_physical().tolist() == z.tolist()
    assert (
        torch.is_conj(c) and torch.is_neg(n) and str(n) == str(n.clone()) and str(c) == str(c.clone()) and repr(c[0, 0].item()) == "(1-2j)"
    )
    y = z.clone()
    y.data = c
    assert y.is_conj() and y.tolist() == c.tolist()
    meta = torch.empty(2, dtype=torch.complex64, device="meta").conj()
    assert meta.is_conj() and not meta.resolve_conj().is_conj() and meta.imag.is_neg()


def test_geometry_in_place_keeps_the_flags():
    z = complexes()
    c = z.conj()
    c.t_()
    assert c.is_conj() and c.tolist() == torch.tensor(Z).t().conj_physical().tolist()
    out = torch.empty(0, dtype=torch.complex128).conj()
    assert torch.mul(z, 2, out=out) is out and out.is_conj() and out.tolist() == (z * 2).tolist()


@pytest.mark.parametrize("view, key", [(lambda z: z.conj(), "conj"), (lambda z: z.conj().imag, "neg")])
def test_exports_raise_or_compute(view, key):
    t = view(complexes())
    word = {"conj": "conjugate", "neg": "negative"}[key]
    for export in (torch.Tensor.numpy, np.asarray, lambda t: t.__array_interface__):
        with pytest.raises(
            RuntimeError, match=rf"Can't call numpy\(\) on Tensor that has {word} bit set. Use tensor.resolve_{key}\(\).numpy\(\) instead."
        ):
            export(t)
    for export in (torch.to_dlpack, torch.Tensor.__dlpack__, memoryview):
        with pytest.raises(BufferError, match="Can't export tensors with the"):
            export(t)
    with pytest.raises(RuntimeError, match="not supported for"):
        t.view(torch.int64)
    assert t.numpy(force=True).tolist() == t.clone().tolist() == t.tolist() and t.tobytes() == t.clone().tobytes()


def test_no_pairs_of_a_conjugate():
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated tensors"):
        torch.view_as_real(complexes().conj())
    assert torch.view_as_real(complexes().conj().resolve_conj())[0, 0].tolist() == [1, -2]


@pytest.mark.parametrize(
    "view", [lambda z: z.conj(), lambda z: z.conj().imag, lambda z: torch._neg_view(z.conj()), lambda z: z.conj().t()[1:]]
)
def test_copies_pickles_and_files(view):
    t = view(complexes())
    stream = io.BytesIO()
    torch.save([t, t], stream)
    stream.seek(0)
    loaded = torch.load(stream)
    for made in (pickle.loads(pickle.dumps(t)), loaded[0], loaded[1]):
        assert made.tolist() == t.tolist() and (made.is_conj(), made.is_neg()) == (t.is_conj(), t.is_neg())
    assert loaded[0].untyped_storage().data_ptr() == loaded[1].untyped_storage().data_ptr()
    assert copy.deepcopy(t).tolist() == t.tolist() and not copy.deepcopy(t).is_conj() and copy.copy(t).is_conj() == t.is_conj()
    assert torch.tensor(t.tolist()).tolist() == t.tolist()


def test_a_file_of_pytorch_with_a_conjugate():
    found = torch.load(DATA / "torch_conj.pt")
    values = found.values() if isinstance(found, dict) else found if isinstance(found, (list, tuple)) else [found]
    assert any(t.is_conj() and t.clone().conj().tolist() == t.conj().tolist() for t in values)


class Model:
    """A model of a view: the indices of its parts in the memory, and their signs."""

    def __init__(self, tensor, at, sign):
        self.tensor, self.at, self.sign = tensor, at, sign

    def values(self, memory):
        parts = self.sign * memory[self.at]
        return parts[..., 0] + 1j * parts[..., 1] if self.tensor.is_complex() else parts

    def write(self, memory, values):
        if self.tensor.is_complex():
            values = np.stack([values.real, values.imag], -1)
        memory[self.at] = self.sign * values

    def views(self, rng):
        t, at, sign = self.tensor, self.at, self.sign
        kinds = ["transpose", "slice", "neg", "unsqueeze", *(["conj", "real", "imag", "mH"] if t.is_complex() else [])]
        kind, last = rng.choice(kinds), 2 if t.is_complex() else 1
        flip = np.array([1, -1])
        dims = t.dim()
        if kind == "conj":
            return Model(t.conj(), at, sign * flip)
        if kind == "neg":
            return Model(torch._neg_view(t), at, -sign)
        if kind in ("real", "imag"):
            part = ("real", "imag").index(kind)
            return Model(getattr(t, kind), at[..., part], sign[..., part])
        if kind in ("transpose", "mH") and dims >= 2:
            turned = [np.swapaxes(a, dims - 2, dims - 1) for a in (at, sign)]
            return Model(t.mH, turned[0], turned[1] * flip) if kind == "mH" else Model(t.mT, *turned)
        if kind == "slice" and dims and t.shape[0] > 1:
            start = rng.randrange(t.shape[0] - 1)
            return Model(t[start::2], at[start::2], sign[start::2])
        return Model(t.unsqueeze(dims), np.expand_dims(at, dims), np.expand_dims(sign, dims)) if dims < 4 and last else self


WRITES = {
    "fill_": lambda t, x: t.fill_(-2.5),
    "zero_": lambda t, x: t.zero_(),
    "add_": lambda t, x: t.add_(x),
    "mul_": lambda t, x: t.mul_(3),
    "copy_": lambda t, x: t.copy_(x),
    "sub_": lambda t, x: t.sub_(x, alpha=2),
    "index": lambda t, x: t.__setitem__(0, x[0]),
    "scalar": lambda t, x: t.__setitem__(0, 1.5),
    "mask": lambda t, x: t.masked_fill_(x.real > 0, 4.0),
    "where": lambda t, x: t.__setitem__(x.real > 0, x[x.real > 0]),
    "out": lambda t, x: torch.mul(x, x, out=t),
    "exp": lambda t, x: t.neg_(),
    "index_add_": lambda t, x: t.index_add_(0, torch.arange(t.shape[0]), x),
}


@pytest.mark.parametrize("seed", range(40))
def test_views_of_views_and_writes_follow_a_model(seed):
    rng = random.Random(seed)
    draw = np.random.default_rng(seed)
    base = draw.integers(-9, 9, (3, 2)) + 1j * draw.integers(-9, 9, (3, 2))
    whole = torch.tensor(base.tolist(), dtype=torch.complex128)
    memory = np.stack([base.real, base.imag], -1).reshape(-1).astype(np.float64)
    models = [Model(whole, np.arange(12).reshape(3, 2, 2), np.ones((3, 2, 2)))]
    for _ in range(30):
        model = rng.choice(models)
        if rng.random() < 0.6:
            models.append(model.views(rng))
            continue
        name = rng.choice(sorted(WRITES))
        before = torch.tensor(model.values(memory).tolist(), dtype=model.tensor.dtype).reshape(model.tensor.shape)
        values = torch.tensor(draw.integers(-9, 9, tuple(before.shape)).tolist(), dtype=torch.float64).reshape(before.shape)
        given = (values * (1 + 2j) if before.is_complex() else values).to(before.dtype)
        WRITES[name](before, given)
        # The operand is a lazy view too.
        WRITES[name](model.tensor, given.conj_physical().conj() if given.is_complex() else torch._neg_view(-given))
        model.write(memory, np.array(before.tolist()).reshape(before.shape))
        for other in models:
            assert other.tensor.clone().flatten().tolist() == other.values(memory).flatten().tolist(), name


FUNCTIONS = {
    "conj": lambda x: x.conj(),
    "imag": lambda x: x.conj().imag,
    "written": lambda x: written(x, lambda y: y.conj()[0].mul_(x[1])),
    "adjoint written": lambda x: written(x, lambda y: y.mH.mul_(x)),
    "imag written": lambda x: written(x, lambda y: y.conj().imag.copy_(x.real)),
    "base written": lambda x: base_written(x),
    "filled": lambda x: written(x, lambda y: y.conj().imag[1].fill_(2)),
    "product": lambda x: x.mH @ x.conj() @ x,
    "vector": lambda x: torch.vdot(x.conj()[0], x[1]) + torch.dot(x[0].conj(), x[1]) + (x.mH @ x[0]).sum(),
    "pairs": lambda x: torch.view_as_real(x.conj().resolve_conj()),
    "expanded": lambda x: x[0].conj().expand(3, 2),
    "solve": lambda x: torch.linalg.solve(x.mH, x.conj()),
    "geometry": lambda x: written(x, lambda y: y.conj().t_().add_(x)),
}


def written(x, write):
    y = x * 1
    write(y)
    return y


def base_written(x):
    y = x * 1
    c = y.conj()
    n = c.imag
    y.mul_(x)
    return c * n


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name):
    f = FUNCTIONS[name]
    assert torch.autograd.gradcheck(f, (complexes().requires_grad_(),))
    assert torch.autograd.gradgradcheck(f, (complexes().requires_grad_(),))


@pytest.mark.parametrize("given", ["computed", "conjugated", "part of a conjugate"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "geometry"])
def test_tangents(name, given):
    f, x = FUNCTIONS[name], complexes()
    along = torch.randn(2, 2, dtype=torch.complex128)
    if given != "computed":
        along = along.conj()
    if given == "part of a conjugate":
        x = x.conj()
    got = torch.func.jvp(f, (x,), (along,))[1]
    step = 1e-6
    want = (f(x + along * step) - f(x - along * step)) / (2 * step)
    assert torch.allclose(got.resolve_conj().resolve_neg(), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "geometry"])
@pytest.mark.parametrize("in_dim", [0, 2])
def test_maps(name, in_dim):
    f = FUNCTIONS[name]
    each = [complexes() * (k + 1) for k in range(3)]
    got = torch.vmap(f, in_dims=in_dim)(torch.stack(each, in_dim))
    assert torch.allclose(got.resolve_conj(), torch.stack([f(x).clone() for x in each]))


def test_saved_conjugates_and_hooks():
    x = complexes().requires_grad_()
    heard = []
    y = x.conj()
    y.register_hook(lambda g: heard.append(g.is_conj()) or g * 2)
    (y * y).sum().backward(torch.tensor(1.0 + 0j, dtype=torch.complex128))
    assert torch.allclose(x.grad, (4 * x.detach()).conj()) and len(heard) == 1
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z = x * 1
        c = z.conj()
        w = c * c
        z.zero_()
        w.sum().backward(torch.tensor(1.0 + 0j, dtype=torch.complex128))


def test_products_read_conjugates():
    for n in (3, 40, 130):
        a = torch.randn(n, n, dtype=torch.complex128)
        b = torch.randn(n, n, dtype=torch.complex128)
        for left in (a.mH, a.t(), a.conj().t().clone().t()):
            for right in (b, b.conj(), b.mH):
                want = left.resolve_conj() @ right.resolve_conj()
                assert torch.allclose(left @ right, want) and torch.allclose(torch.addmm(want, left, right, beta=2), 3 * want)
                assert torch.allclose(
                    torch.bmm(torch.stack([left, left]).conj(), right.conj().expand(2, n, n)), want.conj().expand(2, n, n)
                )
            assert torch.allclose(left @ b[0].conj(), left.resolve_conj() @ b[0].conj().resolve_conj())


def test_kinds():
    z = complexes()
    s = z.to_sparse().conj()
    assert not s.is_conj() and s.to_dense().tolist() == z.conj().tolist() and z.conj().to_sparse().to_dense().tolist() == z.conj().tolist()
    values = torch.sparse_coo_tensor(torch.tensor([[0, 1]]), z[0].conj(), (2,))
    assert (
        "1.-2.j" in str(values)
        and values.to_dense().tolist() == z[0].conj().tolist()
        and (values + values).to_dense().tolist() == (2 * z[0].conj()).tolist()
    )
    named = z.refine_names("a", "b").mH
    assert named.names == ("b", "a") and named.is_conj() and "names=('b', 'a')" in str(named)
