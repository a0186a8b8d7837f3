"""Operators on lists of tensors: they are their operator on each item, in place too, and change nothing where an item does not fit."""

import pytest

import libtensor as torch

UNARY = ["abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma", "log"]
UNARY += ["log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"]
BINARY = ["add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum", "pow"]


def lists(dtype=torch.float64, first=0.25):
    values = [
        torch.tensor([first, 0.5, 0.75], dtype=dtype),
        torch.tensor([[0.125], [0.625]], dtype=dtype),
        torch.tensor(0.875, dtype=dtype),
    ]
    return values, [value.flip(0) + 0.5 if value.dim() else value + 0.5 for value in values]


def same(got, want):
    assert len(got) == len(want) and all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(got, want, strict=True))


def both(name, arguments, want):
    """Checks the function and its form in place, which counts a write to each tensor."""
    items = [item.clone() for item in arguments[0]]
    same(getattr(torch, "_foreach_" + name)(*arguments), want)
    same(arguments[0], items)
    versions = [item._version for item in items]
    assert getattr(torch, f"_foreach_{name}_")(items, *arguments[1:]) is items
    same(items, want)
    assert all(item._version > version for item, version in zip(items, versions, strict=True))


@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 3.0, -1, float("inf")])
def test_sums_of_powers(order):
    a, _ = lists()
    same(torch._foreach_powsum([-x for x in a], order), [x.pow(order).sum() for x in a])
    assert torch._foreach_powsum([torch.full((3000,), 2.0, dtype=torch.float16)])[0].item() == 12000
    assert torch._foreach_powsum(a, 2, dtype=torch.float32)[0].dtype is torch.float32
    assert torch._foreach_powsum([torch.tensor([3 + 4j])])[0].item() == 25
    for wrong in ([torch.tensor([1])], []):
        with pytest.raises((NotImplementedError, RuntimeError), match="_foreach_powsum"):
            torch._foreach_powsum(wrong)


def test_functions_return_tuples_and_accept_self_by_name():
    a = [torch.ones(2)]
    assert isinstance(torch._foreach_add(self=a, scalar=1), tuple) and torch._foreach_zero_(tuple(a))[0] is a[0]
    assert torch._foreach_add is torch._foreach_add and "add" in torch._foreach_add.__doc__
    with pytest.raises(AttributeError, match="no attribute '_foreach_nothing'"):
        torch._foreach_nothing  # noqa: B018


@pytest.mark.parametrize("rate", [0.5, torch.tensor(0.5)], ids=["number", "tensor"])
def test_fused_updates_accept_rates_in_tensors(rate):
    params = [torch.ones(2)]
    options = {"weight_decay": 0, "momentum": 0, "dampening": 0, "nesterov": False, "maximize": False, "is_first_step": True}
    assert torch._fused_sgd_(params, [torch.tensor([1.0, 2.0])], [], lr=rate, **options) is None
    assert params[0].tolist() == [0.5, 0]


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_derivatives_of_packed_scalars(name):
    a, b = lists()
    factors = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64)

    def written(s, *tensors):
        items = [t * 1 for t in tensors]
        getattr(torch, f"_foreach_{name}_")(items, tensors, tensors, s)
        return items

    def each(s, *tensors):
        return [
            getattr(torch, name)(t, t, t) + (v - 1) * (t * t if name == "addcmul" else torch.ones_like(t))
            for t, v in zip(tensors, s, strict=True)
        ]

    leaves = [t.requires_grad_() for t in (factors, *a)]
    want = torch.autograd.grad([t.sum() for t in each(*leaves)], leaves)
    for function in (written, lambda s, *t: getattr(torch, "_foreach_" + name)(t, t, t, s)):
        for got, expected in zip(torch.autograd.grad([t.sum() for t in function(*leaves)], leaves), want, strict=True):
            torch.testing.assert_close(got, expected)
    tangents = torch.func.jvp(lambda s: torch._foreach_addcmul(a, b, b, s)[1], (factors.detach(),), (torch.ones_like(factors),))[1]
    torch.testing.assert_close(tangents, b[1] * b[1])
    batched = torch.vmap(lambda s: torch._foreach_addcmul([t.detach() for t in a], b, b, s)[0])(
        torch.stack([factors, 2 * factors]).detach()
    )
    torch.testing.assert_close(batched[1], a[0].detach() + b[0] * b[0])


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    a, _ = lists()
    both(name, (a,), [getattr(torch, name)(x) for x in a])


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    a, b = lists()
    function = getattr(torch, name)
    number = torch.tensor if name in ("maximum", "minimum") else float
    both(name, (a, b), [function(x, y) for x, y in zip(a, b, strict=True)])
    both(name, (a, 0.5), [function(x, number(0.5)).to(x.dtype) for x in a])
    both(name, (a, [0.5, 2.0, 0.25]), [function(x, number(s)).to(x.dtype) for x, s in zip(a, [0.5, 2.0, 0.25], strict=True)])


@pytest.mark.parametrize("name", ["add", "mul", "div"])
def test_a_tensor_for_all_items(name):
    a, _ = lists()
    other = torch.tensor(0.5, dtype=torch.float64)
    both(name, (a, other), [getattr(torch, name)(x, other) for x in a])
    with pytest.raises(RuntimeError, match="scalar tensor expected to be 0 dim"):
        getattr(torch, "_foreach_" + name)(a, torch.ones(2))


def test_alpha_and_lerp_and_products():
    a, b = lists()
    c = [y + 1 for y in b]
    rows = list(zip(a, b, c, strict=True))
    same(torch._foreach_add(a, b, alpha=2), [x + 2 * y for x, y in zip(a, b, strict=True)])
    same(torch._foreach_sub(a, b, alpha=2), [x - 2 * y for x, y in zip(a, b, strict=True)])
    both("lerp", (a, b, 0.25), [x.lerp(y, 0.25) for x, y, _ in rows])
    both("lerp", (a, b, c), [x.lerp(y, z) for x, y, z in rows])
    both("lerp", (a, b, [0.25, 0.5, 0.75]), [x.lerp(y, w) for (x, y, _), w in zip(rows, [0.25, 0.5, 0.75], strict=True)])
    for name in ("addcmul", "addcdiv"):
        function = getattr(torch, name)
        both(name, (a, b, c, 0.5), [function(x, y, z, value=0.5) for x, y, z in rows])
        want = [function(x, y, z, value=s) for (x, y, z), s in zip(rows, [1.0, 2.0, 3.0], strict=True)]
        both(name, (a, b, c, [1.0, 2.0, 3.0]), want)
        both(name, (a, b, c, torch.tensor([1.0, 2.0, 3.0])), want)


def test_functions_without_a_form_in_place():
    a, b = lists()
    same(torch._foreach_norm(a), [x.norm() for x in a])
    same(torch._foreach_norm(a, 1), [x.norm(1) for x in a])
    same(torch._foreach_norm(a, float("inf")), [x.abs().max() for x in a])
    same(torch._foreach_max(a), [x.max() for x in a])
    same(torch._foreach_pow(2.0, a), [2.0**x for x in a])
    clones = torch._foreach_clone(a)
    same(clones, a)
    assert all(x.data_ptr() != y.data_ptr() for x, y in zip(clones, a, strict=True))
    torch._foreach_copy_(clones, b)
    same(clones, b)
    torch._foreach_zero_(clones)
    same(clones, [torch.zeros_like(x) for x in a])
    same(torch._foreach_mm([torch.eye(2)], [torch.ones(2, 3)]), [torch.ones(2, 3)])


def test_dtypes_and_views():
    x, y = torch.arange(6.0).reshape(2, 3).T, torch.tensor([1, 2])
    same(torch._foreach_add([x, y], 0.5), [x + 0.5, y + 0.5])
    torch._foreach_mul_([x[1:], y], 2)
    assert x.tolist() == [[0, 3], [2, 8], [4, 10]] and y.tolist() == [2, 4]
    same(torch._foreach_abs([torch.tensor([3 + 4j])]), [torch.tensor([5.0])])


def test_gradients():
    a, b = ([x.requires_grad_() for x in of] for of in lists())
    sum(x.sum() for x in torch._foreach_mul(a, b)).backward()
    assert all(torch.equal(x.grad, y.detach()) for x, y in zip(a, b, strict=True))
    items = [x.clone() for x in a]
    torch._foreach_mul_(items, items)
    assert all(x.requires_grad for x in items)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a: torch._foreach_add_(a, [torch.ones(3), torch.ones(4)]), "shape"),
        (lambda a: torch._foreach_add_(a, [torch.ones(3), torch.tensor([1j])]), "ComplexFloat|complex64"),
        (lambda a: torch._foreach_add_(a, [torch.ones(3)]), "Tensor lists must have the same number of tensors, got 2 and 1"),
        (lambda a: torch._foreach_add_(a, [1.0, 2.0, 3.0]), "Tensor list must have same number of elements as scalar list, got 2 and 3"),
        (lambda a: torch._foreach_add_([], 1.0), "Tensor list must have at least one tensor"),
        (lambda a: torch._foreach_mul_([*a, torch.ones(1, requires_grad=True)], 2.0), "a leaf Variable that requires grad"),
        (lambda a: torch._foreach_mul_([*a, torch.ones(1).expand(3)], 2.0), "single memory location"),
        (lambda a: torch._foreach_mul_([*a, torch.tensor([1])], 0.5), "can't be cast|cannot be cast"),
        (lambda a: torch._foreach_addcdiv_(a, [torch.ones(3), torch.ones(3)], [torch.ones(3), torch.ones(2)], 1.0), "shape"),
    ],
    ids=["shape", "dtype", "lengths", "scalars", "empty", "leaf", "expanded", "cast", "three lists"],
)
def test_an_item_that_does_not_fit_changes_nothing(call, text):
    a = [torch.ones(3), torch.full((3,), 2.0)]
    versions = [x._version for x in a]
    with pytest.raises(RuntimeError, match=text):
        call(a)
    assert [x.tolist() for x in a] == [[1.0] * 3, [2.0] * 3] and [x._version for x in a] == versions


def test_a_tensor_twice_is_written_twice():
    x = torch.ones(2)
    torch._foreach_add_([x, x], [1.0, 2.0])
    assert x.tolist() == [4.0, 4.0]


ADAM = {"lr": 0.5, "beta1": 0.5, "beta2": 0.25, "weight_decay": 0.0, "eps": 0.0, "amsgrad": False, "maximize": False}


def adam_lists(*sizes):
    return [[torch.full((n,), value) for n in sizes] for value in (1.0, 4.0, 0.0, 0.0)]


def test_fused_updates_change_parameters_and_states():
    params, grads, means, squares = adam_lists(3, 40_000)
    params[1].requires_grad_()
    with torch.no_grad():
        torch._fused_adam_(params, grads, means, squares, [], [torch.tensor(1.0)] * 2, **ADAM)
    assert all(
        torch.allclose(x, torch.tensor(0.5)) and (m == 2).all() and (s == 12).all() for x, m, s in zip(params, means, squares, strict=True)
    )
    assert [x._version for x in (*params, *means, *squares)] == [1] * 6 and [x._version for x in grads] == [0, 0]


def test_fused_updates_take_any_strides_and_threads():
    torch.manual_seed(0)
    start, grad = torch.rand(300, 200), torch.rand(300, 200)
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for layout in (lambda x: x.clone(), lambda x: x.T.contiguous().T, lambda x: torch.stack([x, x], 2)[..., 0]):
            tensors = [layout(start), grad.clone(), layout(torch.zeros(300, 200)), torch.zeros(300, 200)]
            torch._fused_adam_(*([t] for t in tensors), [], [torch.tensor(1.0)], **ADAM)
            results.append([tensors[i].clone() for i in (0, 2, 3)])
    assert all(torch.equal(a, b) for result in results for a, b in zip(result, results[0], strict=True))


def test_a_scaler_divides_gradients_or_skips_the_step():
    params, grads, means, squares = adam_lists(3)
    more = {"grad_scale": torch.tensor(2.0), "found_inf": torch.tensor(0.0)}
    torch._fused_adam_(params, grads, means, squares, [], [torch.tensor(1.0)], **ADAM, **more)
    assert grads[0].tolist() == [2.0] * 3 and means[0].tolist() == [1.0] * 3
    torch._fused_adam_(params, grads, means, squares, [], [torch.tensor(2.0)], **ADAM, **(more | {"found_inf": torch.tensor(1.0)}))
    assert grads[0].tolist() == [2.0] * 3 and means[0].tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda lists: lists[3].__setitem__(1, torch.zeros(3)), "the same sizes"),
        (lambda lists: lists[2].__setitem__(1, torch.zeros(2, dtype=torch.float64)), "the same dtype"),
        (lambda lists: lists[2].pop(), "the same number of tensors, got 2 and 1"),
        (lambda lists: lists[0].__setitem__(1, torch.ones(2, requires_grad=True)), "a leaf Variable that requires grad"),
        (lambda lists: lists[3].__setitem__(1, torch.zeros(1).expand(2)), "single memory location"),
        (lambda lists: lists[1].__setitem__(1, torch.zeros(2).to("meta")), "the same device"),
    ],
    ids=["sizes", "dtype", "lengths", "leaf", "expanded", "device"],
)
def test_fused_updates_of_tensors_that_do_not_fit_change_nothing(spoil, text):
    lists = adam_lists(3, 2)
    spoil(lists)
    with pytest.raises(RuntimeError, match=text):
        torch._fused_adam_(*lists, [], [torch.tensor(1.0)] * 2, **ADAM)
    assert [of[0].tolist() for of in lists] == [[value] * 3 for value in (1.0, 4.0, 0.0, 0.0)]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_packed_scalars_of_rejected_lists(name, in_place):
    function = getattr(torch, f"_foreach_{name}{'_' * in_place}")
    lists = {
        "another length": lambda: ([torch.ones(2), torch.ones(2)], [torch.ones(2)], [torch.ones(2)] * 2),
        "another shape": lambda: ([torch.ones(2), torch.ones(2)], [torch.ones(2), torch.ones(3)], [torch.ones(2)] * 2),
        "no item": lambda: ([], [torch.ones(2)], []),
    }
    for given in lists.values():
        for scalars in (torch.ones(2), torch.ones(2, requires_grad=True), torch.ones(1), torch.ones(2, 2)):
            with pytest.raises(RuntimeError) as told:
                function(*given(), scalars)
            assert "internal error" not in str(told.value)
            with pytest.raises(RuntimeError):
                torch.vmap(lambda s, given=given: function(*given(), s))(scalars.detach().expand(3, *scalars.shape))


@pytest.mark.parametrize("transform", ["vmap", "jvp"])
@pytest.mark.parametrize("spoil", ["dtype", "sizes"])
def test_lists_that_do_not_fit_inside_transforms_change_nothing(transform, spoil):
    first = torch.full((3, 2), 0.5)
    if spoil == "dtype":
        second = torch.ones(3, 2, dtype=torch.int8)
        function = torch._foreach_exp_
    else:
        second = torch.ones(3, 1)
        function = lambda items: torch._foreach_add_(items, [torch.ones(2), torch.ones(4)])  # noqa: E731
    with pytest.raises(RuntimeError, match=r"can't be cast|doesn't match the broadcast shape"):
        if transform == "vmap":
            torch.vmap(lambda a, b: (function([a, b]), a)[1])(first, second)
        else:
            torch.func.jvp(lambda a: (function([a[0], second[0]]), a)[1], (first,), (torch.ones(3, 2),))
    assert (first == 0.5).all() and (second == 1).all()
