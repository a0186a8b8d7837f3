"""Names of dimensions: their sources, propagation and errors; gradients and files are not affected."""

import copy
import inspect
import io
import pickle
from functools import partial

import pytest

import libtensor as torch


def named(*names, sizes=(2, 3, 4)):
    n = 1
    for size in sizes[: len(names)]:
        n *= size
    return torch.arange(float(n)).reshape(sizes[: len(names)]).refine_names(*names)


def test_the_books_example():
    weights = torch.tensor([0.2126, 0.7152, 0.0722], names=["channels"])
    assert repr(weights) == "tensor([0.2126, 0.7152, 0.0722], names=('channels',))"
    image, batch = torch.rand(3, 5, 5), torch.rand(2, 3, 5, 5)
    img = image.refine_names(..., "channels", "rows", "columns")
    assert img.names == ("channels", "rows", "columns")
    assert batch.refine_names(..., "channels", "rows", "columns").names == (None, "channels", "rows", "columns")
    aligned = weights.align_as(img)
    assert (aligned.shape, aligned.names) == ((3, 1, 1), img.names)
    gray = (img * aligned).sum("channels")
    assert (gray.shape, gray.names) == ((5, 5), ("rows", "columns"))
    assert torch.equal(gray.rename(None), (image * weights.rename(None)[:, None, None]).sum(0))
    text = (
        r"mul: .* dims \['channels', 'rows', 'columns'\] and dims \['channels'\]: dim 'columns' and dim 'channels' are at the same position"
    )
    with pytest.raises(RuntimeError, match=text):
        img[..., :3] * weights
    assert gray.rename(None).names == (None, None)


def test_constructors():
    for make in (torch.zeros, torch.ones, torch.empty, torch.rand, torch.randn):
        assert make(2, 3, names=("N", None)).names == ("N", None)
        assert make(2, 3, names=None).names == (None, None)
    assert (
        torch.full((2,), 1, names=["a"]).names == torch.arange(3, names=["a"]).names == torch.linspace(0, 1, 3, names=["a"]).names == ("a",)
    )
    leaf = torch.zeros(2, names=["a"], requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad and leaf.names == ("a",)
    assert torch.tensor([1.0], names=["a"], requires_grad=True).is_leaf
    assert torch.zeros_like(leaf).names == ("a",) and leaf.new_zeros(2).names == (None,)


@pytest.mark.parametrize("names", [("N", "N"), ("N", "1a"), ("N", "é"), ("N", ""), ("N", "a b"), ("N",), ("N", "C", "H")])
def test_bad_names(names):
    with pytest.raises(RuntimeError):
        torch.zeros(2, 3, names=names)
    x = torch.zeros(2, 3, names=("A", "B"))
    with pytest.raises(RuntimeError):
        x.rename_(*names)
    assert x.names == ("A", "B")


def test_names_are_a_list():
    for names in ("NC", 3, [1, 2]):
        with pytest.raises(TypeError):
            torch.zeros(2, 3, names=names)


def test_rename():
    x = named("N", "C", "H")
    assert x.rename("A", None, "B").names == ("A", None, "B")
    assert x.rename(N="A", H=None).names == ("A", "C", None)
    assert x.rename("A", ...).names == ("A", "C", "H")
    assert x.rename(None).names == (None, None, None) and x.names == ("N", "C", "H")
    assert x.rename("A", "B", "D").data_ptr() == x.data_ptr()
    x.names = ["a", "b", None]
    assert x.names == ("a", "b", None) and x.has_names()
    x.names = None
    assert not x.has_names() and repr(x)[-1] == ")" and "names" not in repr(x)
    with pytest.raises(RuntimeError, match=r"Name 'Z' not found in Tensor\['N', None\]"):
        named("N", None).rename(Z="B")
    with pytest.raises(RuntimeError, match="not both"):
        x.rename("a", N="b")


def test_refine_names():
    assert torch.zeros(2, 3, 4).refine_names(..., "H").names == (None, None, "H")
    with pytest.raises(
        RuntimeError, match=r"cannot coerce Tensor\['N', 'C', 'H'\] to Tensor\['N', 'C', 'W'\]: dimension 2 has the name 'H'"
    ):
        named("N", "C", "H").refine_names("N", "C", "W")


def test_align():
    x = named("N", "C", "H")
    assert x.align_to("H", ...).shape == (4, 2, 3)
    y = x.align_to("N", "C", "W", "H")
    assert y.shape == (2, 3, 1, 4) and y.data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match=r"\['N', 'C'\] do not contain dim 'H'"):
        x.align_to("N", "C")
    with pytest.raises(RuntimeError, match="dimension 1 of Tensor\\['N', None\\] has none"):
        named("N", None).align_to("N")
    a, b = torch.align_tensors(x, x.sum("C"))
    assert a.names == b.names == ("N", "C", "H") and b.shape == (2, 1, 4)


def test_flatten_and_unflatten():
    x = named("N", "C", "H")
    for y in (x.flatten(["C", "H"], "F"), x.flatten("C", "H", "F"), x.flatten(1, 2, "F"), torch.flatten(x, ["C", "H"], "F")):
        assert y.names == ("N", "F") and torch.equal(y.rename(None), x.rename(None).flatten(1))
    assert x.unflatten("H", [("a", 2), ("b", 2)]).names == x.unflatten(2, {"a": 2, "b": 2}).names == ("N", "C", "a", "b")
    with pytest.raises(RuntimeError, match="follow each other"):
        x.flatten(["N", "H"], "F")
    with pytest.raises(RuntimeError, match="'N' occurs twice"):
        x.flatten(["C", "H"], "N")


# A call with a dim by name, and the same one by position.
PLAIN = """
    sum mean prod std var logsumexp amax amin any all max min median mode argmax argmin cumsum cumprod cummax cummin softmax log_softmax
    sort argsort unbind logcumsumexp count_nonzero nansum nanmedian flip
"""
CALLS = {name: (f"x.{name}('C')", f"x.{name}(1)") for name in PLAIN.split()} | {
    "lists": ("x.sum(['N', 'H'])", "x.sum([0, 2])"),
    "keepdim": ("x.mean(dim='C', keepdim=True)", "x.mean(1, True)"),
    "axis": ("x.mean(axis='C')", "x.mean(1)"),
    "mixed list": ("x.amax(dim=('N', 2))", "x.amax((0, 2))"),
    "topk": ("x.topk(1, 'C')", "x.topk(1, 1)"),
    "kthvalue": ("x.kthvalue(1, 'C')", "x.kthvalue(1, 1)"),
    "chunk": ("x.chunk(2, 'C')", "x.chunk(2, 1)"),
    "split": ("x.split([1, 2], 'C')", "x.split([1, 2], 1)"),
    "tensor_split": ("x.tensor_split(2, 'C')", "x.tensor_split(2, 1)"),
    "roll": ("x.roll(1, 'C')", "x.roll(1, 1)"),
    "several": ("x.flip('C', 'H')", "x.flip(1, 2)"),
    "permute": ("x.permute('H', 'N', 'C')", "x.permute(2, 0, 1)"),
    "transpose": ("x.transpose('N', 'H')", "x.transpose(0, 2)"),
    "movedim": ("x.movedim('N', 'H')", "x.movedim(0, 2)"),
    "rot90": ("x.rot90(1, ['N', 'C'])", "x.rot90(1, [0, 1])"),
    "diagonal": ("x.diagonal(0, 'N', 'C')", "x.diagonal(0, 0, 1)"),
    "select": ("x.select('C', 1)", "x.select(1, 1)"),
    "narrow": ("x.narrow('C', 1, 2)", "x.narrow(1, 1, 2)"),
    "index_select": ("x.index_select('C', torch.tensor([2, 0]))", "x.index_select(1, torch.tensor([2, 0]))"),
    "index_fill": ("x.index_fill('C', torch.tensor([2]), 0.)", "x.index_fill(1, torch.tensor([2]), 0.)"),
    "gather": ("x.gather('C', torch.ones(2, 1, 4, dtype=torch.int64))", "x.gather(1, torch.ones(2, 1, 4, dtype=torch.int64))"),
    "cat": ("torch.cat([x, x], 'C')", "torch.cat([x, x], 1)"),
    "diff": ("x.diff(dim='C')", "x.diff(dim=1)"),
    "quantile": ("x.quantile(0.5, 'C')", "x.quantile(0.5, 1)"),
    "norm": ("torch.linalg.norm(x, dim='C')", "torch.linalg.norm(x, dim=1)"),
    "fft": ("torch.fft.fft(x, dim='C').real", "torch.fft.fft(x, dim=1).real"),
    "unfold": ("x.unfold('C', 2, 1)", "x.unfold(1, 2, 1)"),
    "renorm": ("x.renorm(2, 'C', 1.)", "x.renorm(2, 1, 1.)"),
    "trapezoid": ("torch.trapezoid(x, dim='C')", "torch.trapezoid(x, dim=1)"),
    "repeat_interleave": ("x.repeat_interleave(2, 'C')", "x.repeat_interleave(2, 1)"),
    "std_mean": ("torch.std_mean(x, 'C')", "torch.std_mean(x, 1)"),
    "linalg.diagonal": ("torch.linalg.diagonal(x, dim1='N', dim2='C')", "torch.linalg.diagonal(x, dim1=0, dim2=1)"),
    "vecdot": ("torch.linalg.vecdot(x, x, dim='C')", "torch.linalg.vecdot(x, x, dim=1)"),
    "tensordot": ("torch.tensordot(x, torch.ones(3, 5), (['C'], [0]))", "torch.tensordot(x, torch.ones(3, 5), ([1], [0]))"),
}


def every(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


@pytest.mark.parametrize("call", CALLS)
def test_dims_by_name_are_dims_by_position(call):
    by_name, by_position = CALLS[call]
    x = named("N", "C", "H") % 5 > 2 if call in ("any", "all") else named("N", "C", "H") % 7
    results, expected = every(eval(by_name, {"x": x, "torch": torch})), every(eval(by_position, {"x": x.rename(None), "torch": torch}))
    for a, b in zip(results, expected, strict=True):
        assert torch.equal(a.rename(None), b)
    assert [r.names for r in results] == [r.names for r in every(eval(by_position, {"x": x, "torch": torch}))]
    other = by_name.replace("'C'", "'Q'").replace("'N'", "'Q'")
    with pytest.raises(RuntimeError, match=r"Name 'Q' not found in Tensor\['N', 'C', 'H'\]"):
        eval(other, {"x": x, "torch": torch})


def test_dims_of_tensors_without_names():
    with pytest.raises(RuntimeError, match=r"Name 'C' not found in Tensor\[None, None\]"):
        torch.ones(2, 3).sum("C")
    assert named("N", "C").size("C") == 3 and named("N", "C").stride("N") == 3


RESULTS = {
    "x.T": [("H", "C", "N")],
    "x.mT": [("N", "H", "C")],
    "x[0]": [("C", "H")],
    "x[:, 1:, None, ..., 0]": [("N", "C", None)],
    "x[..., 0, :, None]": [("N", "H", None)],
    "x[:, ::3]": [("N", "C", "H")],
    "x.unsqueeze(1)": [("N", None, "C", "H")],
    "x.expand(5, 2, 3, 4)": [(None, "N", "C", "H")],
    "torch.stack([x, x], 1)": [("N", None, "C", "H")],
    "x.max('C', True)": [("N", "C", "H")] * 2,
    "x.squeeze('C')": [(None, None, None)],
    "x[:, :1].squeeze('C')": [("N", "H")],
    "x.sum()": [()],
    "x.as_strided((2, 2), (1, 1))": [(None, None)],
    "x[x > 3]": [(None,)],
    "x.quantile(torch.tensor([0.25, 0.5]), 'C')": [(None, "N", "H")],
    "x.diagonal(outdim='D', dim1='N', dim2='C')": [("H", "D")],
    "torch.view_as_real(torch.complex(x, x))": [("N", "C", "H", None)],
    "torch.view_as_complex(torch.view_as_real(torch.complex(x, x)))": [("N", "C", "H")],
    "x.to(torch.complex64).H if x.dim() == 2 else x.to(torch.complex64).mH": [("N", "H", "C")],
    "x.transpose_(0, 1)": [("C", "N", "H")],
    "x.unsqueeze_(0)": [(None, "N", "C", "H")],
    "torch.outer(x[0, 0], x[:, 0, 0])": [("H", "N")],
    "x[:, torch.tensor([0, 2])]": [("N", None, "H")],
    "x[..., torch.ones(2, 2, dtype=torch.int64)]": [("N", "C", None, None)],
    "x[torch.tensor([0, 1]), :, torch.tensor([3, 0])]": [(None, "C")],
    "x[torch.tensor([0, 1]), 0, torch.tensor([3, 0])]": [(None,)],
    "x[:, torch.tensor(1), None]": [("N", None, "H")],
    "x[torch.ones(2, 3) > 0]": [(None, "H")],
    "x[True]": [(None, "N", "C", "H")],
    "torch.tensordot(x, torch.ones(4, 5, names=('H', 'K')), 1)": [("N", "C", "K")],
    "torch.cdist(x, torch.ones(5, 4, names=('M', 'H')))": [("N", "C", "M")],
    "torch.meshgrid(x[0, 0], x[:, 0, 0], indexing='xy')": [("N", "H")] * 2,
    "torch.atleast_3d(x[0], x[0, 0], x)": [("C", "H", None), (None, "H", None), ("N", "C", "H")],
    "torch.vstack([x[0, 0], x[0, 0]])": [(None, "H")],
    "torch.column_stack([x[0, 0], x[0, 0]])": [("H", None)],
    "torch.broadcast_tensors(x, torch.ones(4))": [("N", "C", "H")] * 2,
    "torch.linalg.multi_dot([x[0], torch.ones(4, 5), torch.ones(5, 2, names=(None, 'K'))])": [("C", "K")],
    "x.detach()": [("N", "C", "H")],
    "x.data": [("N", "C", "H")],
}


@pytest.mark.parametrize("call", RESULTS)
def test_names_of_results(call):
    assert [r.names for r in every(eval(call, {"x": named("N", "C", "H"), "torch": torch}))] == RESULTS[call]


def test_two_operands():
    x = named("N", "C")
    assert (x + named("C", sizes=(3,))).names == (torch.ones(3) * x).names == (x + 1).names == (x == x).names == ("N", "C")
    assert torch.where(x > 1, x, 0.0).names == ("N", "C")
    with pytest.raises(
        RuntimeError, match=r"Misaligned dims .*\['N', None\] and dims \[None, 'N'\]: dim 'N' appears in a different position"
    ):
        named("N", None, sizes=(3, 3)) + named(None, "N", sizes=(3, 3))
    assert not torch.equal(x, x.rename("C", "N")) and torch.equal(x, x.clone())


def test_writes():
    x, y = named("N", None), named("N", "C")
    before = x.tolist()
    for write in (lambda: x.add_(y), lambda: x.copy_(y), lambda: torch.add(y, 1, out=x)):
        with pytest.raises(RuntimeError, match="rename_"):
            write()
    assert x.tolist() == before and x.names == ("N", None)
    out = torch.empty(2, 3)
    assert torch.add(x, y, out=out).names == ("N", "C") and out.names == ("N", "C")
    assert torch.zeros(2, 3).add_(y).names == ("N", "C")
    with pytest.raises(RuntimeError, match="of sizes .* keeps them"):
        y.resize_(3, 2)
    assert y.set_(torch.ones(4)).names == (None,)


def test_products():
    a, b = named("A", "B"), torch.ones(3, 4, names=("B", "C"))
    assert (a @ b).names == torch.mm(a, b).names == ("A", "C")
    assert (a @ torch.ones(3)).names == ("A",) and torch.dot(b[:, 0], b[:, 1]).names == ()
    assert (torch.ones(5, 2, 3, names=("N", "A", "B")) @ b).names == ("N", "A", "C")
    assert torch.addmm(torch.zeros(2, 4, names=("A", None)), a, b).names == ("A", "C")
    with pytest.raises(RuntimeError, match="would have the name 'A' twice"):
        a @ torch.ones(3, 2, names=("B", "A"))
    with pytest.raises(RuntimeError, match="tensordot: .* would have the name 'A' twice"):
        torch.tensordot(a, a, (["B"], ["B"]))
    with pytest.raises(RuntimeError, match="meshgrid: two of the tensors have the name 'A'"):
        torch.meshgrid(a[:, 0], a[:, 1], indexing="ij")
    with pytest.raises(RuntimeError, match="do not match"):
        torch.ones(5, 2, 3, names=("N", "A", "B")) @ torch.ones(5, 3, 4, names=("M", "B", "C"))


def test_errors_of_operators_without_named_tensors():
    with pytest.raises(NotImplementedError, match=r"reshape is not implemented for named tensors; use rename\(None\) to drop the names"):
        named("N", "C").reshape(6)


def test_gradients_have_no_names():
    x = torch.rand(2, 3, names=("N", "C"), requires_grad=True)
    w = torch.rand(3, 4, names=("C", "D"), requires_grad=True)
    y = (x.exp() @ w).align_to("D", "N")
    y.backward(torch.ones(4, 2, names=("D", "N")))
    plain_x, plain_w = x.detach().rename(None).requires_grad_(), w.detach().rename(None).requires_grad_()
    (plain_x.exp() @ plain_w).sum().backward()
    assert x.grad.names == w.grad.names == (None, None)
    assert torch.allclose(x.grad, plain_x.grad) and torch.allclose(w.grad, plain_w.grad)
    (g,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.names == h.names == (None, None) and torch.allclose(h, 6 * plain_x.detach())


def test_gradients_of_writes_to_views():
    x = torch.ones(2, 3, names=("N", "C"), requires_grad=True)
    y = x * 2
    y.select("N", 0).mul_(3)
    y.rename("A", "B").mul_(5)
    y.sum("C").sum().backward()
    assert x.grad.tolist() == [[30.0] * 3, [10.0] * 3] and y.names == ("N", "C")


def test_copies_and_files_keep_names(tmp_path):
    x = named("N", None)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.clone(), x.double(), x.cpu(), x.contiguous()):
        assert y.names == ("N", None)
    leaf = pickle.loads(pickle.dumps(torch.zeros(2, names=["a"], requires_grad=True)))
    assert leaf.names == ("a",) and leaf.requires_grad
    torch.save({"x": x, "parts": [x.t(), torch.ones(2)]}, tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt")
    assert loaded["x"].names == ("N", None) and loaded["parts"][0].names == (None, "N") and loaded["parts"][1].names == (None,)
    assert torch.equal(loaded["x"], x)


def test_documented():
    for name in ("rename", "rename_", "refine_names", "align_to", "align_as", "unflatten", "has_names"):
        assert inspect.getdoc(getattr(torch.Tensor, name))


def test_einsum_names_dimensions_by_their_letters():
    x, w = torch.ones(2, 3, names=("N", "C")), torch.ones(3, 4, names=("A", "D"))
    for equation, operands, names in (
        ("nc,cd->nd", (x, w), ("N", "D")),  # dimensions that are summed over may have any names
        ("nc,cd", (x, torch.ones(3, 4)), (None, "N")),
        ("nc->cn", (x,), ("C", "N")),
        ("...c->c...", (x,), ("C", "N")),
        ("...c,...c->...", (x, torch.ones(5, 2, 3, names=("T", None, "Q"))), ("T", "N")),
        ("ii->i", (torch.ones(2, 2, names=("A", None)),), ("A",)),
        ("nc,nc->", (x, x), ()),
    ):
        y = torch.einsum(equation, *operands)
        assert y.names == names and torch.equal(y.rename(None), torch.einsum(equation, *(t.rename(None) for t in operands)))
    assert x.names == ("N", "C")
    leaf = torch.ones(2, 3, names=("N", "C"), requires_grad=True)
    torch.einsum("nc,nc->c", leaf, leaf).sum("C").backward()
    assert leaf.grad.tolist() == [[2.0] * 3] * 2
    with pytest.raises(RuntimeError, match="""einsum: subscript "c" is dim 'C' of one operand and dim 'A' of another"""):
        torch.einsum("nc,cd->ncd", x, w)
    with pytest.raises(RuntimeError, match="einsum: the result would have the name 'N' twice"):
        torch.einsum("nc,mc->nm", x, x)


def test_names_of_assigned_values():
    """They are those of the place, or there is an error and nothing is written."""
    x = torch.zeros(2, 3, names=["N", "C"])
    for index, names in ((0, ["D"]), (torch.tensor([0]), ["D"]), ((slice(None), 1), ["C"]), (slice(None), ["C", "N"])):
        value = torch.ones(x[index].shape[-len(names) :]).rename(*names)
        with pytest.raises(RuntimeError, match="index_put_: Error when attempting to broadcast dims .* do not match"):
            x[index] = value
        assert x.rename(None).sum() == 0
    x[0] = torch.ones(3, names=["C"])
    x[torch.tensor([1])] = torch.full((3,), 2.0, names=["C"])
    x[:, 0] = torch.tensor([5.0, 6.0], names=["N"])
    assert x.names == ("N", "C") and x.rename(None).tolist() == [[5, 1, 1], [6, 2, 2]]


def test_errors_of_names_are_those_of_the_call():
    for make in (partial(torch.zeros, 2, 3), partial(torch.empty, (2, 3)), partial(torch.tensor, [[1, 2]])):
        for names in (["N", "..."], ["N", ...]):
            with pytest.raises(
                RuntimeError, match=r"^(zeros|empty|tensor)\(\): an ellipsis in names is only supported for existing tensors"
            ):
                make(names=names)
        with pytest.raises(RuntimeError, match=r"^(zeros|empty|tensor): 1 names, \['N'\], do not match the 2 dimensions"):
            make(names=["N"])
        with pytest.raises(RuntimeError, match=r"^(zeros|empty|tensor): Invalid name"):
            make(names=["N", "2"])
        with pytest.raises(TypeError, match=r"^(zeros|empty|tensor)\(\): argument 'names' must be"):
            make(names="NC")
    x = torch.zeros(2, 3, names=["N", "C"])
    for name, call in {
        "sum": lambda: x.sum("Z"),
        "max": lambda: torch.max(x, "Z"),
        "transpose": lambda: x.transpose("N", "Z"),
        "cat": lambda: torch.cat([x, x], "Z"),
        "unflatten": lambda: x.unflatten("Z", [("a", 1), ("b", 2)]),
        "flatten": lambda: x.flatten(["N", "Z"], "F"),
    }.items():
        with pytest.raises(RuntimeError, match=rf"^{name}: Name 'Z' not found in Tensor\['N', 'C'\]$"):
            call()
    with pytest.raises(TypeError, match=r"unflatten\(\): unflattening the named dimension 'C' requires pairs"):
        x.unflatten("C", (3, 1))


def test_files_keep_the_names_of_tensors_without_data():
    data = io.BytesIO()
    torch.save(torch.zeros(2, 3, device="meta", names=["A", None]), data)
    data.seek(0)
    back = torch.load(data)
    assert back.names == ("A", None) and back.is_meta and back.shape == (2, 3)


def test_kronecker_products_unify_names():
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(4.0).reshape(2, 2)
    want = torch.kron(a, b)
    for names, others, made in ((("A", "B"), None, ("A", "B")), (None, ("A", "B"), ("A", "B")), (("A", None), (None, "B"), ("A", "B"))):
        got = torch.kron(a.rename(*names) if names else a, b.rename(*others) if others else b)
        assert got.names == made and torch.equal(got.rename(None), want)
    assert torch.kron(a.rename("A", "B"), torch.ones(2)).names == ("A", "B")
    assert torch.kron(torch.ones(2), a.rename("A", "B"), out=torch.empty(0)).names == ("A", "B")
    with pytest.raises(RuntimeError, match=r"^kron: .*dim 'B' and dim 'C' are at the same position"):
        torch.kron(a.rename("A", "B"), b.rename("A", "C"))
