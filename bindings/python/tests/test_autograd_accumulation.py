"""Gradients that are added up piece by piece: how much memory they take, and that they are those of the whole."""

import math

import pytest

import libtensor as torch

MB = 1 << 20


def peak_of_backward(program, *sizes):
    """Returns the peak memory of a backward pass to leaves of ones, without the graph, in bytes."""
    total = program(*(torch.rand(*size, requires_grad=True) for size in sizes)).sum()
    torch.empty_cache()  # buffers that were larger are reused, and count whole
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    total.backward()
    return torch.memory_stats().peak - before


def derivatives(program, *leaves):
    """Gradients of the first order and of the second, also with respect to the first's weights."""
    result = program(*leaves)
    weights = (torch.arange(result.numel(), dtype=result.dtype) + 1).sin().reshape(result.shape).requires_grad_()
    first = torch.autograd.grad((result * weights).sum(), leaves, create_graph=True)
    total = sum(((leaf * 1.7).cos() * grad).sum() for leaf, grad in zip(leaves, first, strict=True))
    second = torch.autograd.grad(total, (*leaves, weights), allow_unused=True)
    return [
        torch.zeros_like(leaf) if grad is None else grad for leaf, grad in zip((*leaves, *leaves, weights), (*first, *second), strict=True)
    ]


def assert_same_derivatives(program, plain, *sizes):
    leaves = [torch.rand(*size, dtype=torch.float64, requires_grad=True) for size in sizes]
    for made, expected in zip(derivatives(program, *leaves), derivatives(plain, *leaves), strict=True):
        assert made.shape == expected.shape
        assert torch.allclose(made, expected, rtol=1e-9, atol=1e-9)


ROWS = [((4, 3), (5, 3)), ((2, 4, 3), (5, 3)), ((3, 1, 4, 3), (2, 5, 3)), ((0, 3), (4, 3)), ((90, 70), (60, 70)), ((3, 50, 60), (50, 60))]


def distances(x1, x2, p):
    """cdist of differences."""
    apart = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs()
    return apart.amax(-1) if p == math.inf else apart.pow(p).sum(-1).pow(1 / p)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf])
def test_cdist_has_few_differences_at_a_time(p):
    assert peak_of_backward(lambda a, b: torch.cdist(a, b, p=p), (500, 64), (400, 64)) < 9 * MB  # all of them are 49 MB


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
@pytest.mark.parametrize("p", [1, 1.5, 2, 3, math.inf])
@pytest.mark.parametrize("sizes", ROWS)
def test_gradients_of_cdist(p, mode, sizes):
    assert_same_derivatives(lambda a, b: torch.cdist(a, b, p=p, compute_mode=mode), lambda a, b: distances(a, b, p), *sizes)


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, math.inf])
def test_gradients_of_cdist_where_rows_are_equal(p, mode):
    x1 = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    x2 = torch.tensor([[1.0, 2.0]], requires_grad=True)
    torch.cdist(x1, x2, p=p, compute_mode=mode)[0].sum().backward()
    assert x1.grad.tolist() == [[0, 0], [0, 0]] and x2.grad.tolist() == [[0, 0]]


@pytest.mark.parametrize("mode", ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"])
@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, math.inf])
def test_second_derivatives_of_cdist_where_rows_are_equal(p, mode):
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0], [1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    (first,) = torch.autograd.grad(torch.cdist(x, y, p=p, compute_mode=mode).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * torch.tensor([[1.0, 2], [3, 4], [5, 6]])).sum(), x)
    z = x.detach()[1].requires_grad_()
    (alone,) = torch.autograd.grad(distances(z[None], y, p).sum(), z, create_graph=True)
    (wanted,) = torch.autograd.grad((alone * torch.tensor([3.0, 4])).sum(), z)
    assert second[0].tolist() == second[2].tolist() == [0, 0]
    assert torch.allclose(second[1], wanted)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 3, math.inf])
def test_gradients_of_cdist_where_an_element_is_not_a_number(p):
    x = torch.tensor([[1.0, math.nan], [3.0, 4.0]], requires_grad=True)
    torch.cdist(x, torch.tensor([[0.0, 1.0]]), p=p).sum().backward()
    assert x.grad[0, 1].isnan() and x.grad[1].isfinite().all()


def test_cdist_of_different_dtypes():
    x1, x2 = torch.rand(3, 2, requires_grad=True), torch.rand(4, 2, dtype=torch.float64, requires_grad=True)
    torch.cdist(x1, x2, compute_mode="use_mm_for_euclid_dist").sum().backward()
    wide = x1.detach().to(torch.float64).requires_grad_()
    distances(wide, x2.detach(), 2).sum().backward()
    assert x1.grad.dtype == torch.float32 and x2.grad.dtype == torch.float64
    assert torch.allclose(x1.grad, wide.grad.to(torch.float32))


LENGTH = 1 << 18  # of a vector of 1 MB

OVERLAPPING = {
    "unfold": lambda x: x.unfold(0, 16, 1),
    "as_strided": lambda x: x.as_strided((LENGTH - 16, 16), (1, 1)),
    "rows that overlap": lambda x: x.as_strided((16, LENGTH - 16), (1, 1)),
    "patches": lambda x: x.as_strided((510, 510, 3, 3), (512, 1, 512, 1)),
    "elements that are repeated": lambda x: x.as_strided((LENGTH, 8), (1, 0)),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_elements_that_views_share_are_added_up_in_place(name):
    assert peak_of_backward(OVERLAPPING[name], (LENGTH,)) < 3 * MB  # the view has 8 to 16 times as many elements


VIEWS = {
    "windows": lambda x: x.unfold(0, 3, 1),
    "windows apart": lambda x: x.unfold(0, 3, 5),
    "long windows": lambda x: x.unfold(0, 55, 1),
    "one window": lambda x: x.unfold(0, 60, 1),
    "windows of columns": lambda x: x.reshape(6, 10).t().unfold(0, 3, 2),
    "patches": lambda x: x.reshape(6, 10).unfold(0, 3, 1).unfold(1, 2, 1),
    "batches": lambda x: x.as_strided((2, 28, 3), (30, 1, 1), 0),
    "few of many dimensions": lambda x: x.as_strided((2, 2, 2, 2, 2), (1, 1, 1, 1, 1), 3),
    "repeated": lambda x: x.as_strided((3, 4, 2), (0, 2, 1), 1),
    "none": lambda x: x.as_strided((0, 3), (1, 1)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_gradients_of_views_whose_elements_share_memory(name):
    view = VIEWS[name]
    places = view(torch.arange(60))
    assert_same_derivatives(lambda x: view(x * 1).pow(3), lambda x: x.take(places).pow(3), (60,))


@pytest.mark.parametrize(("name", "most"), [("numbers", 1), ("a mask", 1.6), ("a mask's elements", 1.6)])
def test_gradients_of_an_index_are_at_its_positions(name, most):
    programs = {
        "numbers": lambda x: x[torch.arange(0, LENGTH, 2)],
        "a mask": lambda x: x[x > 0.5],
        "a mask's elements": lambda x: x.masked_select(x > 0.5),
    }
    assert peak_of_backward(programs[name], (LENGTH,)) < (most + 0.1) * MB


FEW, COLUMN, ONE = torch.tensor([0, 2, 2, -1]), torch.tensor([[1], [0]]), torch.tensor(1)
ROWS_OF_A_MASK = torch.tensor([True, False, True, True])

INDICES = {
    "repeated": (FEW,),
    "several": (FEW, FEW),
    "that broadcast": (COLUMN, FEW),
    "apart": (FEW, slice(None), FEW),
    "after an ellipsis": (..., FEW),
    "around an ellipsis": (FEW, ..., FEW),
    "and an integer": (FEW, slice(None), 1),
    "and a tensor of one": (ONE, slice(None), FEW),
    "a tensor of one": (ONE,),
    "a new axis": (FEW, None, slice(None), FEW),
    "slices": (slice(1, 3), slice(None, None, 2), FEW),
    "a mask": (ROWS_OF_A_MASK,),
    "a mask and numbers": (ROWS_OF_A_MASK, torch.tensor([0, 1, 4])),
    "a mask of two dimensions": (torch.arange(20).reshape(4, 5) % 3 == 0, torch.tensor([2])),
    "true": (..., True, FEW),
    "false": (False,),
    "a mask of none": (torch.tensor(True), ..., FEW),
    "nothing": (torch.tensor([], dtype=torch.int64),),
}


@pytest.mark.parametrize("name", INDICES)
def test_gradients_of_indices(name):
    index = INDICES[name]
    places = torch.arange(120).reshape(4, 5, 6)[index]
    assert_same_derivatives(lambda x: x[index].pow(3), lambda x: x.take(places).pow(3), (4, 5, 6))


def test_a_matrix_that_a_batch_is_multiplied_by_has_one_product():
    assert peak_of_backward(lambda a: a @ torch.ones(64, 256, 16), (256, 256)) < 4 * MB  # one for each of the batch are 16 MB


@pytest.mark.parametrize(
    "sizes", [((3, 4), (5, 4, 2)), ((3, 4), (2, 5, 4, 2)), ((4,), (5, 4, 2)), ((3, 4), (5, 4, 0)), ((3, 4), (0, 4, 2)), ((0, 4), (5, 4, 2))]
)
def test_gradients_of_a_product_with_a_batch(sizes):
    def plain(a, b):
        return (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2) if a.dim() > 1 else (a.unsqueeze(-1) * b).sum(-2)

    assert_same_derivatives(lambda a, b: (a @ b).pow(2), lambda a, b: plain(a, b).pow(2), *sizes)


def test_gradients_of_many_joined_tensors():
    leaves = [torch.full((i % 3,), float(i), requires_grad=True) for i in range(200)] + [torch.empty(0, requires_grad=True)]
    joined = torch.cat(leaves)
    (joined * torch.arange(float(len(joined)))).sum().backward()
    assert torch.cat([t.grad for t in leaves]).tolist() == list(range(len(joined)))


def free(*tensors):
    """The gradients of tensors, which are given up: a graph that goes through them would hold them for ever."""
    made = [t.grad.item() for t in tensors]
    for t in tensors:
        t.grad = None
    return made


def sharing_leaves():
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    (a + b).sin().backward(create_graph=True)
    kept = [a.grad.item()]
    (a + b).sum().backward()
    return free(a, b), [kept[0] + 1] * 2


def seeds():
    a, g = torch.ones(1, requires_grad=True), torch.ones(1)
    (a + 0).backward(g, create_graph=True)
    (a * 5).backward()
    return [g.item(), *free(a)], [1, 6]


def leaves_and_results():
    x = torch.ones(1, requires_grad=True)
    y = x + 0
    z = y + 0
    y.retain_grad()
    z.retain_grad()
    z.sin().backward(create_graph=True)
    slope = z.grad.item()
    z.backward()
    return free(x, y, z), [slope + 1] * 3


def returned_gradients():
    y = torch.ones(2, requires_grad=True) * 1
    y.retain_grad()
    (g,) = torch.autograd.grad(y.sin().sum(), y, create_graph=True)
    before = g.tolist()
    (y * y).sum().backward()
    return g.tolist(), before


def expanded_gradients():
    y = torch.ones(2, requires_grad=True) + 0
    z = y + 0
    y.retain_grad()
    z.retain_grad()
    made = torch.autograd.grad(z.sum(), [y, z], create_graph=True)
    y.sum().backward()
    return [t.tolist() for t in (*made, y.grad, z.grad)], [[1, 1], [1, 1], [2, 2], [1, 1]]


def what_hooks_saw():
    y = torch.ones(2, requires_grad=True) * 1
    y.retain_grad()
    seen = []
    y.grad_fn.register_prehook(lambda grads: seen.append(grads[0]))
    y.grad_fn.register_hook(lambda made, given: seen.append(given[0]))
    (y * y).sum().backward(retain_graph=True)
    (y * y).sum().backward()
    return [t.tolist() for t in (*seen, y.grad)], [[2, 2]] * 4 + [[4, 4]]


@pytest.mark.parametrize(
    "program", [sharing_leaves, seeds, leaves_and_results, returned_gradients, expanded_gradients, what_hooks_saw], ids=lambda f: f.__name__
)
def test_later_gradients_change_nothing_else(program):
    came, expected = program()
    assert came == pytest.approx(expected) if isinstance(came[0], float) else came == expected


def test_a_leaf_gets_its_gradient_as_soon_as_it_is_complete():
    log = []
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for name, leaf in (("x", x), ("w", w)):
        leaf.register_post_accumulate_grad_hook(lambda p, name=name: log.append(name))
    y = x.exp()
    y.register_hook(lambda grad: log.append("y"))
    (y * w + w).sum().backward()
    assert log == ["w", "y", "x"]


def test_gradients_that_a_hook_takes_away_do_not_wait_for_the_end():
    leaves = [torch.ones(1 << 18, requires_grad=True) for _ in range(8)]
    y = torch.ones(1 << 18)
    for leaf in leaves:
        leaf.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
        y = y * leaf
    loss = y.sum()
    torch.empty_cache()
    torch.reset_peak_memory_stats()
    before = torch.memory_stats().in_use
    loss.backward()
    assert torch.memory_stats().peak - before <= 4 * (4 << 18)


def test_leaves_that_a_failing_run_has_come_to_keep_their_gradients():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = x.exp()
    loss = (y * w).sum()
    y.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loss.backward()
    assert x.grad is None and torch.equal(w.grad, torch.e * torch.ones(2))


def test_a_rectifier_does_not_depend_on_its_output():
    x = torch.tensor([-1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = x.relu()
    y.retain_grad()
    (slope,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    (slope * 3).sum().backward()
    assert y.grad.tolist() == [0, 4 + 6] and x.grad.tolist() == [0, 6]


def test_results_without_gradients_at_the_end_are_not_counted():
    for call in (lambda t: t.sort(0), lambda t: t.max(0), lambda t: t.topk(1, 0), lambda t: torch.linalg.inv_ex(t)):
        seen = []
        made = call(torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True))[0]
        made.grad_fn.register_hook(lambda operands, results, seen=seen: seen.append((len(operands), len(results))))
        made.sum().backward(retain_graph=True)
        assert seen == [(1, 1)] and made.grad_fn(torch.ones_like(made)).shape == (2, 2)


def test_views_of_views_by_custom_functions_reject_writes():
    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for base in (x, x * 1):
        y = View.apply(base)
        for view in (y, y[0], y.view(2, 1)[0]):
            with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
                view.mul_(5)
        assert base.tolist() == y.tolist() == [1, 2]
        assert torch.autograd.grad(y[0] * 3, x)[0].tolist() == [6, 0]


def test_gradients_that_lead_back_to_their_leaf_are_added():
    """What adds up the gradient of a leaf may be given the leaf itself, or add to a view of it."""
    x = torch.ones(3, requires_grad=True)
    assert torch.autograd.graph.get_gradient_edge(x).node(x) == () and x.grad.tolist() == [1, 1, 1]
    x.grad = x.view(3)
    (x * x).sum().backward(create_graph=True)
    assert x.grad.tolist() == [3, 3, 3] and torch.autograd.grad(x.grad.sum(), x)[0].tolist() == [3, 3, 3]
    x.grad = None


def test_hooks_that_pop_themselves_save_their_argument():
    x = torch.ones(3, requires_grad=True)
    popped = []

    def pack(t):
        if not popped:
            popped.append(True)
            hooks.__exit__()
        return t.detach()

    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t)
    hooks.__enter__()
    (x * x.exp()).sum().backward()
    assert popped and x.grad.allclose(2 * torch.tensor(1.0).exp())
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_gradients_of_a_batch_are_those_of_its_items():
    x, unused = torch.randn(2, 3, requires_grad=True), torch.ones(1, requires_grad=True)
    y, batch = x.square(), torch.randn(4, 2, 3)
    grads = torch.autograd.grad(y, (x, unused), batch, is_grads_batched=True, allow_unused=True, retain_graph=True)
    assert grads[1] is None and grads[0].shape == (4, 2, 3)
    for row, item in zip(grads[0], batch, strict=True):
        assert torch.equal(row, torch.autograd.grad(y, x, item, retain_graph=True)[0])
    (scalars,) = torch.autograd.grad(y.sum(), x, torch.arange(3.0), is_grads_batched=True, create_graph=True)
    assert torch.equal(scalars, torch.arange(3.0)[:, None, None] * 2 * x) and scalars.requires_grad
    for wrong in (torch.ones(2, 3), torch.tensor(1.0), torch.ones(4, 3, 2)):
        with pytest.raises(RuntimeError, match=r"grad_outputs\[0\] has shape"):
            torch.autograd.grad(x.square(), x, wrong, is_grads_batched=True)


def test_a_strided_gradient_makes_a_sparse_one_another_tensor():
    x = torch.tensor([1.5, 1.5]).requires_grad_()
    x.grad = before = torch.sparse_coo_tensor([[1, 1]], [1.0, 1.0])
    x.backward(torch.tensor([1.5, 1.5]))
    assert x.grad is not before and x.grad.tolist() == [1.5, 3.5]
    assert before.to_dense().tolist() == [0, 2]


@pytest.mark.parametrize("of", [torch.int64, torch.bool, torch.float16, torch.float64])
def test_an_initial_gradient_has_the_dtype_of_its_output(of):
    x = torch.ones(2, requires_grad=True)
    x.backward(torch.ones(2, dtype=of))
    x.backward(torch.tensor([0.5, 0.5]))
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [1.5, 1.5]
    for y in (x, x * 1):
        assert torch.autograd.grad(y, y, torch.ones(2, dtype=of))[0].dtype is torch.float32


def test_the_private_name_of_grad_is_grad():
    x = torch.ones(3, requires_grad=True)
    x._grad = torch.full((3,), 2.0)
    assert x.grad.tolist() == [2, 2, 2]
    (x * 3).sum().backward()
    assert x._grad.tolist() == [5, 5, 5] and x._grad is x.grad
    x._grad = None
    assert x.grad is None
