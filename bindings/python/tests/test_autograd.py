"""Gradients: values, graphs, in-place operations, errors, and freed memory."""

import gc

import pytest

import libtensor as torch


def close(a, b):
    return torch.allclose(a.detach(), torch.as_tensor(b).to(a.dtype).reshape(a.shape), atol=1e-6)


def leaf(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def test_a_product():
    x = leaf(1, 2, 3)
    y = (x * x).exp().sum()
    assert y.requires_grad and not y.is_leaf and x.is_leaf and x.grad is None
    y.backward()
    assert close(x.grad, 2 * x.detach() * (x.detach() ** 2).exp())
    (x * 3).sum().backward()
    assert close(x.grad, 2 * x.detach() * (x.detach() ** 2).exp() + 3)
    x.grad = None
    assert x.grad is None


def test_printed_forms():
    x = torch.tensor([1.0], requires_grad=True)
    assert repr(x) == "tensor([1.], requires_grad=True)"
    assert repr(x + 1) == "tensor([2.], grad_fn=<AddBackward0>)"
    assert repr(x.sum()) == "tensor(1., grad_fn=<SumBackward0>)"
    assert repr(x[0:1]) == "tensor([1.], grad_fn=<SliceBackward0>)"
    assert repr(x.detach()) == "tensor([1.])"
    assert (x * 2).grad_fn.name() == "MulBackward0" and x.grad_fn is None


def test_broadcast_and_dtypes():
    a, b = leaf(1, 2, 3), torch.tensor([[2.0], [4.0]], requires_grad=True)
    (a * b).sum().backward()
    assert close(a.grad, [6, 6, 6]) and a.grad.dtype == torch.float64
    assert close(b.grad, [[6], [6]]) and b.grad.dtype == torch.float32 and b.grad.shape == (2, 1)


def test_complex_by_wirtinger():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z.abs() ** 2).sum().backward()
    assert close(torch.view_as_real(z.grad), [[2, 4], [6, -2]])
    r = leaf(2.0)
    (r * (1 + 2j)).imag.sum().backward()
    assert close(r.grad, [2])


def test_products_of_matrices():
    shapes = ["3 3", "23 3", "3 34", "23 34", "523 34", "523 534", "1523 6131"]
    for left, right in ([tuple(map(int, side)) for side in pair.split()] for pair in shapes):
        a, b = torch.rand(left, dtype=torch.float64, requires_grad=True), torch.rand(right, dtype=torch.float64, requires_grad=True)
        out = a @ b
        grad = torch.rand(out.shape, dtype=torch.float64)
        ga, gb = torch.autograd.grad(out, (a, b), grad)
        direction, step = torch.rand(left, dtype=torch.float64), 1e-6
        slope = (((a + step * direction) @ b - out) / step * grad).sum()
        assert abs((ga * direction).sum().item() - slope.item()) < 1e-4 and gb.shape == b.shape


def test_higher_orders():
    x = leaf(2)
    y = x**4
    for expected in (32, 48, 48, 24):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        assert close(y, [expected])
    h = torch.hypot(x, leaf(1))
    (g,) = torch.autograd.grad(h, x, create_graph=True)
    assert close(torch.autograd.grad(g, x)[0], [5**-1.5])


def test_views_and_in_place():
    a = leaf(1, 2, 3, 4)
    b = a * 1
    view = b.view(2, 2)
    view[1].mul_(3)
    assert b.grad_fn.name() == "CopySlices" and b.tolist() == [1, 2, 9, 12]
    assert close(torch.autograd.grad((b * b).sum(), a)[0], [2, 4, 54, 72])
    x = torch.zeros(3, dtype=torch.float64)
    x[1] = a[0] * a[1]
    assert x.requires_grad and close(torch.autograd.grad(x.sum(), a)[0], [2, 1, 0, 0])
    c = (a * 1).square_()
    assert close(torch.autograd.grad(c.sum(), a)[0], [2, 4, 6, 8])
    d = (a * 1).mul_(a)
    assert close(torch.autograd.grad(d.sum(), a)[0], [2, 4, 6, 8])
    assert close(torch.autograd.grad(torch.stack(a.unbind())[::2].sum(), a)[0], [1, 0, 1, 0])


def test_errors_of_in_place_operators():
    a = leaf(1, 2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        a.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        a[0].add_(1)
    with pytest.raises(RuntimeError, match="Output 1 of Unbind is a view and is being modified inplace"):
        (a * 2).unbind()[1].add_(1)
    with pytest.raises(RuntimeError, match=r"add\(\): functions with out=... arguments don't support automatic differentiation"):
        torch.add(a, 1, out=torch.empty(2, dtype=torch.float64))
    assert a.tolist() == [1, 2]
    with torch.no_grad():
        a.add_(1)
    assert a.tolist() == [2, 3] and a.requires_grad
    b = a * 1
    square = b * b
    b.add_(1)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation: \[torch.DoubleTensor \[2\]\], which is output 0 of Add, is at version 1; expected "
        r"version 0",
    ):
        square.sum().backward()

    def of_what_is_gone():
        c = a * 1
        sine = c.sin()
        c.mul_(2)
        return sine

    with pytest.raises(RuntimeError, match=r"\[torch.DoubleTensor \[2\]\], is at version 1; expected version 0"):
        of_what_is_gone().sum().backward()


def test_runs():
    a = leaf(1, 2)
    y = (a * a).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert close(a.grad, [4, 8])
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (a * 2).backward()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.ones(2).sum().backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(a * 2, a, torch.ones(3, dtype=torch.float64))
    other = leaf(1)
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used in the graph"):
        torch.autograd.grad((a * 2).sum(), (a, other))
    assert torch.autograd.grad((a * 2).sum(), (a, other), allow_unused=True)[1] is None
    assert torch.autograd.grad((a * 2).sum(), (a, other), materialize_grads=True)[1].tolist() == [0]
    for create in (False, True):
        zeros = torch.autograd.grad((a * 2).sum(), (a, other), create_graph=create, materialize_grads=True)[1]
        assert zeros.tolist() == [0] and zeros.requires_grad == create
    inner = a * 2
    inner.retain_grad()
    (inner * inner).sum().backward(inputs=[inner])
    assert close(inner.grad, [4, 8]) and close(a.grad, [4, 8])


@pytest.mark.parametrize("truth", [True, 1, 2, torch.tensor(True), torch.tensor(1)])
def test_integer_arguments_select_the_backward(truth):
    x = torch.ones(3, requires_grad=True)
    for false in (False, 0, torch.tensor(0)):
        assert not torch.autograd.grad((x * x).sum(), x, create_graph=false)[0].requires_grad
    assert torch.autograd.grad((x * x).sum(), x, create_graph=truth)[0].requires_grad
    assert torch.autograd.functional.jacobian(torch.square, x.detach().requires_grad_(), create_graph=truth).requires_grad
    y = (x * x).sum()
    y.backward(retain_graph=truth)
    y.backward(create_graph=0)
    other = torch.ones(2, requires_grad=True)
    assert torch.autograd.grad(x.sum(), [x, other], allow_unused=truth)[1] is None
    assert torch.autograd.grad(x.sum(), [x, other], materialize_grads=truth)[1].tolist() == [0, 0]
    with pytest.raises(ValueError, match="allow_unused=False"):
        torch.autograd.grad(x.sum(), [x, other], allow_unused=0, materialize_grads=truth)
    for wrong in (0.5, "yes", [1]):
        for name in ("create_graph", "retain_graph", "allow_unused", "materialize_grads"):
            with pytest.raises(TypeError, match=f"'{name}' must be bool or int, not {type(wrong).__name__}"):
                torch.autograd.grad(x.sum(), x, **{name: wrong})
        for name in ("create_graph", "retain_graph"):
            with pytest.raises(TypeError, match=f"'{name}' must be bool or int"):
                x.sum().backward(**{name: wrong})


# As in PyTorch, whose records of these hold plain numbers and no tensor.
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.lerp(x + 1, 0.5),
        lambda x: x.clone().lerp_(x + 1, 0.5),
        lambda x: torch.trapezoid(x),
        lambda x: torch.trapz(x, dx=2),
        lambda x: torch.cumulative_trapezoid(x, dx=3),
        lambda x: torch.gradient(x, spacing=2.0)[0],
        lambda x: torch.gradient(x, edge_order=2)[0],
        lambda x: x.repeat_interleave(2, dim=0),
        lambda x: x.repeat_interleave(2),
    ],
)
def test_graphs_that_save_no_tensor_run_again(function):
    x = torch.arange(4.0).requires_grad_()
    y = function(x).sum()
    (want,) = torch.autograd.grad(y, x)
    for _ in range(2):
        assert torch.equal(torch.autograd.grad(y, x)[0], want)


@pytest.mark.parametrize("function", [lambda x: x * 2, lambda x: x / 2, lambda x: x.lerp(x + 1, torch.tensor(0.5))])
def test_graphs_that_save_a_number_as_a_tensor_do_not(function):
    x = torch.arange(4.0).requires_grad_()
    y = function(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_modes():
    a = leaf(1, 2)
    with torch.no_grad():
        assert not (a * 2).requires_grad
        with torch.enable_grad():
            assert (a * 2).requires_grad
    assert not a.detach().requires_grad and a.detach().data_ptr() == a.data_ptr()
    b = a * 2
    assert b.detach_() is b and b.is_leaf and not b.requires_grad


def test_arguments_without_a_gradient():
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.ones(3, dtype=torch.int64, requires_grad=True)
    a = leaf(1, 2)
    assert not a.argmax().requires_grad and not (a > 1).requires_grad and not torch.zeros_like(a).requires_grad
    for made, name in (
        (torch.heaviside(a, a), "heaviside"),
        (torch.unique(a), "unique"),
        (a // a, "floor_divide"),
        (torch.igamma(a, a), "igamma: self"),
    ):
        assert made.requires_grad
        with pytest.raises(NotImplementedError, match=f"the derivative for '{name}' is not implemented"):
            made.sum().backward()
    assert repr(torch.heaviside(a, a)).endswith("grad_fn=<NotImplemented>)")
    assert torch.autograd.grad(torch.igamma(a.detach(), a).sum(), a)[0].shape == (2,)


def test_overwriting_a_tensor_detaches_it_from_its_graph():
    """Nothing flows back through a comparison in place, or what draws numbers."""
    a = leaf(1, 2)
    b = leaf(2, 2)
    for change in (
        lambda t: t.eq_(b),
        lambda t: t.ge_(1),
        lambda t: t.logical_and_(b),
        lambda t: t.logical_not_(),
        lambda t: t.bernoulli_(),
    ):
        changed = a * 1
        change(changed)
        assert changed.requires_grad and close(torch.autograd.grad(changed.sum(), a)[0], [0, 0])
    whole = a * 1
    whole[:1].gt_(0)
    assert close(torch.autograd.grad(whole.sum(), a)[0], [0, 1])
    with pytest.raises(RuntimeError, match="lt_: a leaf Variable that requires grad is being used in an in-place operation"):
        a.lt_(b)
    with pytest.raises(RuntimeError, match=r"eq\(\): functions with out=... arguments don't support automatic differentiation"):
        torch.eq(b, b, out=a)
    assert a.tolist() == [1, 2] and torch.eq(a, b, out=torch.empty(2, dtype=torch.bool)).tolist() == [False, True]
    for drawn in (torch.normal(a, b), torch.bernoulli(a / 2), torch.poisson(a)):
        assert close(torch.autograd.grad(drawn.sum(), a)[0], [0, 0])
    assert leaf(1, 2).share_memory_().requires_grad


def test_conjugates_in_place():
    z = torch.tensor([1 + 2j], requires_grad=True)
    (z * 1).conj_physical_().imag.sum().backward()
    assert z.grad.tolist() == [-1j]


def test_a_long_chain_is_freed():
    gc.collect()
    before = torch.memory_stats().in_use
    a = leaf(1.0)
    y = a
    for _ in range(100_000):
        y = y * 1.0
    y.backward()
    assert a.grad.item() == 1
    del y, a
    torch.zeros(1)
    assert torch.memory_stats().in_use <= before + 4096


def test_bytes_return():
    def work(fails):
        a = torch.rand(300, 300, requires_grad=True)
        b = (a @ a).exp()
        c = torch.autograd.grad(b.sum(), a, create_graph=True)[0]
        if fails:
            b.detach().zero_()
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                c.sum().backward()
        elif fails is None:
            c.sum().backward()

    work(False)
    gc.collect()
    before = torch.memory_stats().in_use
    for fails in (False, None, True):
        work(fails)
        gc.collect()
        torch.zeros(1)
        assert torch.memory_stats().in_use <= before + 4096


def test_second_order_through_a_changed_view():
    a, w = leaf(1, 2, 3), leaf(5)
    b = a * 1
    b[1:].mul_(w)
    g, h = torch.autograd.grad((b * b).sum(), (a, w), create_graph=True)
    assert close(g, [2, 100, 150]) and close(h, [130])
    assert close(torch.autograd.grad(g.sum(), w)[0], [100])


def test_plain_views_follow_the_graph_of_their_memory():
    w = leaf(2, 3)
    base = torch.ones(2, 3, dtype=torch.float64)
    row, column, turned = base[0, :2], base[:, 0], base.t()
    row.mul_(w)
    assert [t.requires_grad for t in (base, row, column, turned)] == [True] * 4 and base.tolist() == [[2, 3, 1], [1, 1, 1]]
    assert (base.grad_fn.name(), row.grad_fn.name()) == ("CopySlices", "AsStridedBackward0")
    assert close(torch.autograd.grad((base * base).sum(), w, retain_graph=True)[0], [4, 6])
    assert close(torch.autograd.grad(column.sum(), w, retain_graph=True)[0], [1, 0])
    assert close(torch.autograd.grad((turned * 2).sum(), w)[0], [2, 2])
    parts = torch.arange(6.0, dtype=torch.float64)[2:]  # of a tensor that is gone
    part, other = parts[1:3], parts[:2]
    part.mul_(w)
    assert parts.tolist() == [2, 6, 12, 5]
    assert close(torch.autograd.grad((parts * parts).sum(), w, retain_graph=True)[0], [36, 96])
    assert close(torch.autograd.grad((other * other).sum(), w)[0], [36, 0])
    rows = torch.zeros(3, 2, dtype=torch.float64)
    for i in range(3):
        rows[i].add_(w * i)
    assert close(torch.autograd.grad((rows**2).sum(), w)[0], [20, 30])
    rows, early = torch.zeros(2, 2, dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    view = rows[1]
    early = rows.exp()
    rows.mul_(w).add_(w)
    assert view.requires_grad and not early.requires_grad and close(torch.autograd.grad(view.sum(), w)[0], [1, 1])


def test_detached_tensors_do_not_join_the_graph_of_others():
    w = leaf(2, 3)
    apart = w.detach()
    apart.mul_(w.detach() * 1).mul_(w.clone())
    assert apart.requires_grad and w.is_leaf and w.grad_fn is None
    plain = torch.ones(2, dtype=torch.float64)
    beside = plain.detach()
    part = beside[:1]
    beside.mul_(leaf(3, 4))
    assert beside.requires_grad and part.requires_grad and not plain.requires_grad and plain.tolist() == beside.tolist() == [3, 4]
    plain.mul_(leaf(2, 2))
    assert plain.requires_grad and plain.tolist() == [6, 8]


def test_threads_share_leaves():
    from threading import Thread

    a = leaf(*range(100))
    threads = [Thread(target=lambda: [(a * 2).sum().backward() for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert a.grad.tolist() == [400] * 100


def test_numpy_rejects_tensors_that_require_grad():
    pytest.importorskip("numpy")
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        leaf(1).numpy()
    assert leaf(1).detach().numpy().tolist() == [1]


def test_geometry_in_place():
    x = leaf(*range(6)).detach().reshape(2, 3).requires_grad_()
    y = x * 2
    assert y.t_().shape == (3, 2)
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 4, 8], [2, 6, 10]]

    x = leaf(*range(6))
    y = x * 1
    view = y.view(2, 3)
    view.t_().unsqueeze_(0)
    view.mul_(torch.arange(6.0).reshape(1, 3, 2))
    y.sum().backward()
    assert x.grad.tolist() == [0, 2, 4, 1, 3, 5]


def test_geometry_in_place_is_freed():
    def once():
        y = leaf(*range(6)).view(2, 3) * 1
        y.swapdims_(0, 1).unsqueeze_(0).squeeze_()
        (y * y).sum().backward()

    once()
    gc.collect()
    before = torch.memory_stats().in_use
    for _ in range(10):
        once()
    gc.collect()
    assert torch.memory_stats().in_use == before


def test_views_by_the_metadata_of_other_tensors():
    """The tensors may be gone, or hold other numbers, when the gradient is viewed alike."""
    a = leaf(1, 2, 3, 4)
    start, at = torch.tensor(1), torch.tensor([1, 3])
    narrow, parts = torch.narrow(a, 0, start, 2), torch.tensor_split(a, at)
    wide, shaped = a.expand_as(torch.empty(3, 4)), a.view_as(torch.empty(2, 2))
    start.fill_(3)
    at.fill_(0)
    del start, at
    held = [torch.empty(7) for _ in range(8)]
    assert close(torch.autograd.grad((narrow * narrow).sum(), a)[0], [0, 4, 6, 0])
    assert close(torch.autograd.grad((parts[1] * 2).sum(), a)[0], [0, 2, 2, 0])
    assert close(torch.autograd.grad(wide.sum(), a)[0], [3, 3, 3, 3]) and close(torch.autograd.grad(shaped[1].sum(), a)[0], [0, 0, 1, 1])
    assert len(held) == 8
    with pytest.raises(RuntimeError, match=r"narrow: start must be a 0-dim integral tensor"):
        torch.narrow(a, 0, torch.tensor([1]), 2)
    with pytest.raises(RuntimeError, match=r"^expand_as: .*"):
        a.expand_as(torch.empty(3))
    with pytest.raises(RuntimeError, match=r"^view_as: .*"):
        a.view_as(torch.empty(3))


def test_backward_holds_no_more_than_its_largest_step() -> None:
    """What the parts of a formula make is released, or written over, as soon as it has been used."""
    for f in (torch.tanh, torch.sigmoid, torch.sin, lambda t: torch.softmax(t, 1)):
        x = torch.linspace(-1, 1, 90_000).reshape(300, 300).requires_grad_()
        y, grad = f(x), torch.ones(300, 300)
        torch.reset_peak_memory_stats()
        before = torch.memory_stats().in_use
        y.backward(grad)
        assert torch.memory_stats().peak - before < 1.1 * 360_000


def test_shares_of_rows_with_nan():
    nan = float("nan")

    def shares(reduced):
        x = torch.tensor([[1.0, nan, 2.0], [3.0, 1.0, 3.0]], requires_grad=True)
        reduced(x).sum().backward()
        return repr(x.grad.tolist())

    assert shares(lambda x: x.amax(1)) == "[[nan, nan, nan], [0.5, 0.0, 0.5]]"
    assert shares(lambda x: x.amin(1)) == "[[nan, nan, nan], [0.0, 1.0, 0.0]]"
    assert shares(lambda x: torch.aminmax(x, dim=1).max) == "[[nan, nan, nan], [0.5, 0.0, 0.5]]"
    assert shares(lambda x: x.max()) == "[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]"
    assert shares(lambda x: x.max(1).values) == "[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]"
    assert shares(lambda x: x.norm(float("inf"), 1)) == "[[0.0, 0.0, 0.0], [0.5, 0.0, 0.5]]"


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_products_of_rows_with_zeros(dtype):
    torch.manual_seed(3)
    x = torch.randn(6, 9, dtype=dtype)
    x[1, 0] = x[2, 4] = x[3, 2] = x[3, 6] = x[4, 8] = x[5, 3] = x[5, 4] = 0
    x.requires_grad_()
    seed = torch.randn(6, 9, dtype=dtype)
    (at_once,) = torch.autograd.grad(x.cumprod(1), x, seed)
    (one_by_one,) = torch.autograd.grad(x.cumprod(1), x, seed, create_graph=True)
    assert torch.allclose(at_once, one_by_one.detach())
    assert torch.autograd.gradcheck(lambda t: t.cumprod(1), (x,)) and torch.autograd.gradgradcheck(lambda t: t.cumprod(1), (x,))


def test_a_long_product_with_a_zero_takes_no_square_of_time():
    x = torch.ones(1 << 20)
    x[5] = 0
    x.requires_grad_()
    x.cumprod(0).sum().backward()
    assert x.grad[:7].tolist() == [5, 4, 3, 2, 1, (1 << 20) - 5, 0]


def test_tensors_have_their_old_name():
    x = torch.ones(2)
    y = torch.autograd.Variable(x, requires_grad=True)
    assert y.requires_grad and y.is_leaf and not x.requires_grad
    assert y.data_ptr() == x.data_ptr()
    assert isinstance(x, torch.autograd.Variable) and not isinstance(1, torch.autograd.Variable)
    with pytest.raises(TypeError, match="list"):
        torch.autograd.Variable([1.0])


def test_arguments_of_grad_by_position():
    """`only_inputs` is deprecated and ignored; the arguments after it keep their positions."""
    x, z = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    y = (x * x).sum()
    assert torch.autograd.grad(y, x, None, True, False, True)[0].tolist() == [2, 2]
    assert torch.autograd.grad(outputs=y, inputs=x, retain_graph=True, create_graph=True, only_inputs=True)[0].requires_grad
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        torch.autograd.grad(y, (x, z), None, True, False, True)
    assert torch.autograd.grad(y, (x, z), None, True, False, True, True)[1] is None
    assert torch.autograd.grad(y, (x, z), None, True, False, True, None, False, True)[1].tolist() == [0]
    rows = torch.autograd.grad(x * x, x, torch.eye(2), True, False, True, None, True)[0]
    assert rows.tolist() == [[2, 0], [0, 2]]
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        assert torch.autograd.grad(y, x, only_inputs=False)[0].tolist() == [2, 2]
