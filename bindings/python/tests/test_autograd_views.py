"""Gradients of views: writes through them, to their bases, and to leaves; failed calls change nothing."""

import threading

import pytest
from grad_helpers import double_leaf as leaf

import libtensor as torch
from libtensor._base import library as _library

FOUR = {
    "view": lambda t: t.view(2, 2),
    "view_as": lambda t: t.view_as(torch.ones(2, 2)),
    "reshape": lambda t: t.reshape(2, 2),
    "reshape of the same shape": lambda t: t.reshape(4),
    "reshape_as": lambda t: t.reshape_as(torch.ones(2, 2)),
    "unflatten": lambda t: t.unflatten(0, (2, 2)),
    "flatten": lambda t: t.view(2, 2).flatten(),
    "flatten of one dimension": lambda t: t.flatten(),
    "ravel": lambda t: t.view(2, 2).ravel(),
    "contiguous": lambda t: t.contiguous(),
    "to": lambda t: t.to(torch.float64),
    "conj": lambda t: t.conj(),
    "resolve_conj": lambda t: t.resolve_conj(),
    "resolve_neg": lambda t: t.resolve_neg(),
    "sum_to_size": lambda t: t.sum_to_size(4),
    "expand": lambda t: t.expand(4),
    "expand_as": lambda t: t.expand_as(torch.ones(4)),
    "squeeze": lambda t: t.squeeze(),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "transpose": lambda t: t.view(2, 2).transpose(0, 1),
    "permute": lambda t: t.view(2, 2).permute(1, 0),
    "movedim": lambda t: t.view(2, 2).movedim(0, 1),
    "mT": lambda t: t.view(2, 2).mT,
    "atleast_2d": lambda t: torch.atleast_2d(t),
    "as_strided": lambda t: t.as_strided((4,), (1,)),
    "slice": lambda t: t[:],
    "alias": lambda t: t[...],
    "reshape of a transpose": lambda t: t.view(1, 4).t().reshape(-1),
}


@pytest.mark.parametrize("view", FOUR)
def test_in_place_through_a_view(view):
    x = leaf(1, 2, 3, 4)
    y = x * 2
    v = FOUR[view](y).mul_(3)
    assert y.tolist() == [6, 12, 18, 24] and v.requires_grad
    (y * torch.arange(4)).sum().backward()
    assert x.grad.tolist() == [0, 6, 12, 18]


@pytest.mark.parametrize("view", FOUR)
def test_in_place_on_the_base_of_a_view(view):
    x = leaf(1, 2, 3, 4)
    y = x * 2
    v = FOUR[view](y)
    y.mul_(3)
    v.sum().backward()
    assert x.grad.tolist() == [6, 6, 6, 6]


@pytest.mark.parametrize("view", FOUR)
def test_a_view_of_a_leaf_is_not_written_to(view):
    x = leaf(1, 2, 3, 4)
    with pytest.raises(
        RuntimeError, match=r"^mul_: a (view of a )?leaf Variable that requires grad is being used in an in-place operation"
    ):
        FOUR[view](x).mul_(3)
    assert x.tolist() == [1, 2, 3, 4]


def test_assignment_through_a_reshape():
    w, x = leaf(5), leaf(1, 2)
    y = x * 2
    y.reshape(-1)[0] = w[0]
    assert y.tolist() == [5, 4]
    y.sum().backward()
    assert x.grad.tolist() == [0, 2] and w.grad.tolist() == [1]


def test_a_reshape_that_copies_is_no_view():
    x = leaf(1, 2, 3, 4)
    y = (x * 2).view(2, 2)
    y.t().reshape(-1).mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_views_that_the_layout_of_the_base_allows(order):
    """A view that is recomputed for gradients has the layout of the base."""
    x = torch.arange(8.0).view(2, 2, 2).permute(order).detach().requires_grad_()
    y = x * 2
    assert not y.is_contiguous()
    back = [order.index(d) for d in range(3)]
    y.permute(back).view(-1)[3:5].mul_(5)
    y.sum().backward()
    assert x.grad.permute(back).reshape(-1).tolist() == [2, 2, 2, 10, 10, 2, 2, 2]
    z = x * 2
    v = z.permute(back).reshape(8)
    z.mul_(x)
    v.backward(torch.arange(8.0))
    want = [4 * i * i for i in range(8)]
    assert (x.grad.permute(back).reshape(-1) - torch.tensor([2, 2, 2, 10, 10, 2, 2, 2.0])).tolist() == want


def test_second_derivatives_through_a_layout():
    x = torch.arange(1.0, 7.0).view(2, 3).t().detach().requires_grad_()
    y = x * x * x
    y.t().view(-1)[1:4].mul_(2)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.t().reshape(-1).tolist() == [6, 24, 36, 48, 30, 36]


def test_other_dtypes_of_the_same_bytes_have_no_gradient():
    x = leaf(1, 2)
    for dtype in (torch.float32, torch.float64, torch.int64, torch.complex64):
        v = x.view(dtype)
        assert not v.requires_grad and v.grad_fn is None
        assert not (x * 2).view(dtype).requires_grad
    y = x * 2
    y.view(torch.float32).zero_()
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


SEVERAL = {
    "split": lambda y: y.split(2),
    "split of sizes": lambda y: y.split([1, 3]),
    "chunk": lambda y: y.chunk(2),
    "unbind": lambda y: y.unbind(),
    "iteration": list,
}


@pytest.mark.parametrize("kind", SEVERAL)
@pytest.mark.parametrize("tracked", [True, False])
def test_several_views_and_a_base_that_changes(kind, tracked):
    x = leaf(1, 2, 3, 4)
    y = x * 2
    made = SEVERAL[kind](y)
    part = made[0][...]
    with torch.set_grad_enabled(tracked):
        y.mul_(2)
    for i, t in enumerate(made):
        with pytest.raises(
            RuntimeError,
            match=rf"Output {i} of \w+ is a view and its base or another view of its base has been modified inplace",
        ):
            t.sum()
        with pytest.raises(RuntimeError, match="has been modified inplace"):
            t.grad_fn  # noqa: B018
    with pytest.raises(RuntimeError, match="Output 0 of Alias is a view and its base or another view"):
        part * 2
    assert made[0].detach().tolist()[0] == 4 if made[0].dim() else made[0].item() == 4
    y.sum().backward()
    assert x.grad.tolist() == [4 if tracked else 2] * 4


SLICES = {
    "tensor_split": lambda y: y.tensor_split(2),
    "tensor_split at": lambda y: y.tensor_split((2,)),
    "tensor_split by a tensor": lambda y: y.tensor_split(torch.tensor([2])),
    "hsplit": lambda y: y.hsplit(2),
    "vsplit": lambda y: [t.squeeze(1) for t in y.unsqueeze(1).vsplit(2)],
}


@pytest.mark.parametrize("kind", SLICES)
def test_several_slices_are_written_to(kind):
    x = leaf(1, 2, 3, 4)
    y = x * 2
    first, second = SLICES[kind](y)
    second.mul_(x[:2])
    (y * first.sum()).sum().backward()
    assert first.requires_grad and "several" not in repr(second)
    # y = (2a, 2b, 2ac, 2bd), first = (2a, 2b)
    a, b, c, d = 1, 2, 3, 4
    f, total = 2 * a + 2 * b, 2 * a + 2 * b + 2 * a * c + 2 * b * d
    assert x.grad.tolist() == [2 * total + f * (2 + 2 * c), 2 * total + f * (2 + 2 * d), f * 2 * a, f * 2 * b]


def test_detached_bases():
    x = leaf(1, 2)
    v = x * 2
    w = v[:1]
    v.detach_()
    v.zero_()
    assert w.requires_grad and not v.requires_grad
    w.sum().backward()
    assert x.grad is None

    v = x * 2
    w = v[:1]
    v.detach_()
    w.sum().backward()  # nothing has changed since
    assert x.grad.tolist() == [2, 0]
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        w.mul_(3)


REJECTED = {
    "add_": lambda y: y.add_(torch.ones(3)),
    "copy_": lambda y: y.copy_(torch.ones(3)),
    "mul_": lambda y: y.mul_(torch.ones(3)),
    "transpose_": lambda y: y.transpose_(0, 5),
    "t_": lambda y: y.view(1, 1, 2).t_(),
    "resize_": lambda y: y.resize_(-3),
    "scatter_": lambda y: y.scatter_(0, torch.tensor([9]), 1.0),
    "index_add_": lambda y: y.index_add_(0, torch.tensor([7]), torch.ones(1, dtype=torch.float64)),
    "index_fill_": lambda y: y.index_fill_(0, torch.tensor([7]), 1.0),
    "index_put_": lambda y: y.index_put_((torch.tensor([7]),), torch.ones(1, dtype=torch.float64)),
    "fill_": lambda y: y.fill_(1 + 2j),
    "triu_": lambda y: y.triu_(),
    "masked_fill_": lambda y: y.masked_fill_(torch.ones(3).bool(), 1.0),
    "clamp_": lambda y: y.clamp_(torch.ones(3)),
    "lerp_": lambda y: y.lerp_(torch.ones(3).double(), 0.5),
    "addcmul_": lambda y: y.addcmul_(torch.ones(3), torch.ones(3)),
    "setitem": lambda y: y.__setitem__(5, 1.0),
    "setitem of tensors": lambda y: y.__setitem__(torch.tensor([5]), 1.0),
    "setitem of a value": lambda y: y.__setitem__(slice(None), torch.ones(3)),
    "set_": lambda y: y.set_(torch.ones(2, dtype=torch.float32)),
    "unsqueeze_": lambda y: y.unsqueeze_(7),
    "as_strided_": lambda y: y.as_strided_((9,), (1,)),
    "bernoulli_": lambda y: y.bernoulli_(7.0),
    "normal_": lambda y: y.normal_(0, -1),
    "put_": lambda y: y.put_(torch.tensor([9]), torch.ones(1, dtype=torch.float64)),
}


@pytest.mark.parametrize("call", REJECTED)
@pytest.mark.parametrize("tracked", [True, False])
def test_rejected_calls_write_nothing(call, tracked):
    x = leaf(1, 2)
    y = x.exp()
    version = y._version
    with torch.set_grad_enabled(tracked), pytest.raises((RuntimeError, IndexError, TypeError)):
        REJECTED[call](y)
    assert y._version == version
    y.sum().backward()
    assert torch.equal(x.grad, x.detach().exp())


def test_calls_in_place_are_counted():
    y = torch.ones(3)
    writes = [
        lambda: y.add_(1),
        lambda: y.zero_(),
        lambda: y.__setitem__(0, 2.0),
        lambda: y.copy_(torch.ones(3)),
        lambda: torch.add(y, 1, out=y),
    ]
    for i, write in enumerate(writes):
        write()
        assert y._version == i + 1


NAMED = "square_ zero_ copy_ exp_ normal_ uniform_ random_ fill_diagonal_ clamp_ logit_ sinc_ masked_fill_"


@pytest.mark.parametrize("name", NAMED.split())
def test_errors_name_the_operator(name):
    x = torch.ones(2, 2, requires_grad=True)
    arguments = {
        "copy_": (torch.ones(2, 2),),
        "fill_diagonal_": (0.0,),
        "clamp_": (0.0,),
        "masked_fill_": (torch.ones(2, 2).bool(), 0.0),
    }.get(name, ())
    with pytest.raises(RuntimeError, match=f"^{name}: a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(x, name)(*arguments)
    v = torch.unbind(x * 2)[0].unsqueeze(0)
    with pytest.raises(RuntimeError, match="^add_: Output 0 of Unsqueeze is a view and is being modified inplace"):
        v.add_(1)


def test_a_leaf_that_no_longer_requires_grad():
    x = leaf(1)
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None
    y = (x.requires_grad_() * 2).sum()
    x.requires_grad_(False).requires_grad_(True)
    y.backward()
    assert x.grad.tolist() == [2]


def test_tensors_that_require_grad_are_not_resized():
    x = leaf(1)
    for t in (x, x * 2):
        for call in (lambda t: t.resize_(3), lambda t: t.resize_as_(torch.ones(3))):
            with torch.no_grad(), pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
                call(t)
            with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
                call(t)
        assert t.shape == (1,)
    x.data.resize_(1)
    assert x.detach().resize_(3).shape == (3,)


def test_failed_runs_leave_nothing():
    torch.zeros(1)
    before = _library.live_handles()

    def fail():
        x = leaf(1, 2, 3, 4)
        y = x * 2
        first = y.split(2)[0]
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified inplace"):
            first.sum()

    for _ in range(3):
        fail()
    torch.zeros(1)
    assert _library.live_handles() == before


@pytest.mark.parametrize("write", ["view", "tensor", "detach"])
def test_a_thread_writes_while_another_goes_backward(write):
    """Both are answered, or the run is told of the write."""
    meet, work, told = threading.Barrier(2), {}, []

    def writer():
        while True:
            meet.wait()
            if not work:
                return
            if write == "detach":
                work["y"].detach_()
            else:
                work["y" if write == "tensor" else "v"].mul_(1.5)
            meet.wait()

    thread = threading.Thread(target=writer)
    thread.start()
    for _ in range(400):
        x = torch.ones(50, requires_grad=True)
        y = x.sin()
        work.update(y=y, v=y[10:40])
        meet.wait()
        try:
            (y * 2).sum().backward(retain_graph=True)
            (x.sin() * y).sum().backward()
        except RuntimeError as e:
            told.append(str(e))
        meet.wait()
    work.clear()
    meet.wait()
    thread.join()
    known = ("does not require grad", "modified by an inplace operation", "detached in-place")
    unexpected = [text for text in told if not any(words in text for words in known)]
    assert not unexpected


def test_parts_of_plain_complex_numbers():
    p = leaf(2)
    z = torch.zeros(2, dtype=torch.complex128)
    z.real = p * 3
    assert z.requires_grad and z.tolist() == [6, 6]
    z.real.sum().backward()
    assert p.grad.tolist() == [6]
    p = leaf(2)
    z = torch.zeros(3, dtype=torch.complex128)
    z.imag[1:].add_(p)
    (z.imag * torch.arange(3.0)).sum().backward()
    assert z.tolist() == [0, 2j, 2j] and p.grad.tolist() == [3]
    p = leaf(2)
    x = torch.zeros(6, dtype=torch.float64)
    w = torch.view_as_complex(x.view(3, 2))
    w[1:].add_(p)
    (x * torch.arange(6.0)).sum().backward()
    assert x.tolist() == [0, 0, 2, 0, 2, 0] and p.grad.tolist() == [6]


FREED = {
    "detach_": lambda x: (x * 1).detach_(),
    "requires_grad_": lambda x: torch.tensor([1.0, 2, 3], dtype=torch.float64, requires_grad=True).requires_grad_(False),
    "a rejected call": lambda x: rejected_join(torch.tensor([1.0, 2, 3], dtype=torch.float64), x),
}


def rejected_join(z, x):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        z.expand(2, 3).add_(x)
    return z


@pytest.mark.parametrize("kind", FREED)
def test_a_tensor_that_left_a_graph_joins_another(kind):
    """All tensors that share memory get a grad_fn together, also those that had one before."""
    x = leaf(1, 2, 3)
    z = FREED[kind](x)
    v = z[:2]
    v.mul_(x[:2])
    assert z.requires_grad and v.requires_grad
    (z * z).sum().backward()
    assert x.grad.tolist() == [2, 16, 0]  # of (1 a)² + (2 b)² at 1, 2

    x = leaf(1, 2, 3)
    z = FREED[kind](x)
    v = z[:2]
    z.mul_(x)
    (v * v).sum().backward()
    assert x.grad.tolist() == [2, 16, 0]


def test_as_strided_of_a_leaf_inside_its_storage():
    """The offset of the view counts from the beginning of the storage, in which the leaf begins later."""
    x = torch.arange(8.0, dtype=torch.float64)[2:].detach().requires_grad_()
    v = x.as_strided((2,), (1,), 3)
    w = x[1:].as_strided((2,), (2,))
    with torch.no_grad():
        x.mul_(2)
    assert v.tolist() == [6, 8] and w.tolist() == [6, 10]
    (v * v).sum().backward()
    assert x.grad.tolist() == [0, 12, 16, 0, 0, 0]
    (w * w).sum().backward()
    assert x.grad.tolist() == [0, 24, 16, 20, 0, 0]


@pytest.mark.parametrize("operator", ["exp_", "tanh_", "sigmoid_", "sqrt_", "rsqrt_", "reciprocal_", "sin_"])
@pytest.mark.parametrize(
    "view", [lambda h: h[0], lambda h: h.t()[1:], lambda h: h[:, ::2], lambda h: h.view(-1)[2:5], lambda h: h.diagonal()]
)
def test_second_derivatives_of_writes_to_a_view(operator, view):
    """Operators in place that save their result: it is a part of what was written to."""

    def base(x):
        h = x * 1
        getattr(view(h), operator)()
        return h * h

    def part(x):
        v = view(x * 1)
        getattr(v, operator)()
        return (v * 3).sin()

    x = (torch.rand(3, 3, dtype=torch.float64) + 0.5).requires_grad_()
    for f in (base, part):
        assert torch.autograd.gradgradcheck(f, (x,))
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (g * g).sum().backward()  # frees the saved tensors of each call once


@pytest.mark.parametrize(
    ("sizes", "given", "index"),
    [
        ((3, 5), (1, 5), 0),
        ((4,), (1,), 2),
        ((3, 5), (1, 5), slice(None)),
        ((5,), (1, 1), slice(1, 3)),
        ((3, 5), (1, 2, 5), torch.tensor([0, 2])),
        ((5,), (1, 1, 2), torch.tensor([True, False, False, True, False])),
        ((3, 5), (1, 1, 2, 1), (slice(0, 2), slice(None))),
    ],
)
def test_values_with_leading_dimensions_of_one(sizes, given, index):
    w = torch.ones(given, dtype=torch.float64, requires_grad=True)
    factors = torch.arange(1.0, 1 + torch.Size(sizes).numel(), dtype=torch.float64).view(sizes)

    def f(w):
        y = torch.zeros(sizes, dtype=torch.float64)
        y[index] = w * w
        return y * factors

    assert torch.autograd.gradcheck(f, (w,)) and torch.autograd.gradgradcheck(f, (w,))


def test_gradients_of_subclasses():
    class Metres(torch.Tensor):
        pass

    x = leaf(1, 2, 3)
    m = x.as_subclass(Metres)
    assert m.requires_grad and m.grad_fn.name() == "AliasBackward0" and m.data_ptr() == x.data_ptr()
    y = (m * m).sum()
    assert type(y) is Metres
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]
    own = torch.ones(2).as_subclass(Metres).requires_grad_()
    (own * 3).sum().backward()
    assert own.grad.tolist() == [3, 3]
    assert not torch.tensor(m).requires_grad and not torch.Tensor._make_subclass(Metres, x).requires_grad


@pytest.mark.parametrize(
    ("make", "offset", "gone"),
    [
        (lambda t: t, 4, [4, 6]),
        (lambda t: t[2:], 4, [2, 4]),
        (lambda t: t[::2], 4, [2, 3]),
        (lambda t: t.view(3, 4).t(), 4, [1, 7]),
        (lambda t: t[4:8], None, [0, 2]),
    ],
)
def test_as_strided_scatter_by_positions_in_the_storage(make, offset, gone):
    """The offset counts from the beginning of the storage of the first operand, whose strides determine the positions of its elements."""
    x = make(torch.arange(12.0, dtype=torch.float64)).detach().requires_grad_()
    s = leaf(50, 60)
    factors = torch.arange(1.0, 1 + x.numel(), dtype=torch.float64).view(x.shape)

    def f(x, s):
        return torch.as_strided_scatter(x, s, (2,), (2,), offset) * factors

    y = torch.as_strided_scatter(x, s, (2,), (2,), offset)
    assert [i for i, v in enumerate(y.flatten().tolist()) if v >= 50] == gone
    (y * factors).sum().backward()
    flat = factors.flatten().tolist()
    assert x.grad.flatten().tolist() == [0 if i in gone else v for i, v in enumerate(flat)]
    assert s.grad.tolist() == [flat[i] for i in gone]
    (g,) = torch.autograd.grad((torch.as_strided_scatter(x, s, (2,), (2,), offset) ** 2).sum(), s)
    assert g.tolist() == [100, 120]


def test_out_that_is_an_operand_of_another_shape():
    a, b = torch.rand(4, 4), torch.rand(4, 4).requires_grad_()
    for function in (torch.kron, torch.inner):
        with pytest.raises(RuntimeError, match=function.__name__ + r".*out=... arguments don't support automatic differentiation"):
            function(a, b, out=a)
    assert a.shape == (4, 4)


def test_out_of_a_factory_that_requires_a_gradient():
    out = torch.empty(3)
    assert torch.zeros(3, out=out, requires_grad=True) is out and out.requires_grad


def test_leaves_that_view_plain_memory_follow_writes_to_it():
    src, flat = torch.ones(4, requires_grad=True), torch.zeros(4)
    p, q = flat[:2].requires_grad_(), flat[2:].detach().requires_grad_()
    early = (p * 3).sum()
    flat.copy_(src)
    assert not p.is_leaf and p.requires_grad and q.is_leaf
    (p * 3).sum().backward()
    (q * 2).sum().backward()
    assert src.grad.tolist() == [3, 3, 0, 0] and q.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="moved into the graph interior"):
        early.backward()


def test_leaves_stay_leaves_if_their_memory_is_written_without_autograd():
    flat = torch.zeros(4)
    p = flat[:2].requires_grad_()
    with torch.no_grad():
        flat.copy_(torch.ones(4, requires_grad=True))
    (p * 2).sum().backward()
    assert p.is_leaf and p.tolist() == [1, 1] and p.grad.tolist() == [2, 2]


def test_lists_contain_unchanged_tensors_themselves():
    x, row = torch.ones(2, 3, requires_grad=True), torch.ones(3)
    first, second = torch.broadcast_tensors(x, row)
    assert first is x and second._base is row and second.shape == (2, 3)
    for at_least in (torch.atleast_1d, torch.atleast_2d):
        assert at_least([x, x])[1] is x
    assert torch.atleast_2d([row])[0]._base is row


def test_einsum_that_changes_nothing_is_a_view():
    x = torch.ones(2, 3, requires_grad=True)
    made = torch.einsum("ij->ij", x)
    assert not made.is_leaf and made.grad_fn.name() == "PermuteBackward0" and made.data_ptr() == x.data_ptr()
    (made * 3).sum().backward()
    assert x.grad.tolist() == [[3] * 3] * 2
