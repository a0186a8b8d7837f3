"""autograd.functional and func: derivatives of functions."""

import pytest

import libtensor as torch

functional, func = torch.autograd.functional, torch.func
X, Y = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), torch.tensor([0.5, 0.25, 2.0], dtype=torch.float64)
W = torch.tensor([2.0, 1.0, 0.5], dtype=torch.float64)


def cubes(x):
    return (x**3).sum()


def product(a, b):
    return a * b, a.sum()


# ----------------------------------------------------------------------------------------------------- autograd.functional


def test_products_with_jacobians():
    outputs, made = functional.vjp(product, (X, Y), (W, torch.tensor(1.0, dtype=torch.float64)))
    assert outputs[0].tolist() == [0.5, 0.5, 6] and outputs[1].item() == 6
    assert made[0].tolist() == [2, 1.25, 2] and made[1].tolist() == [2, 2, 1.5]
    outputs, made = functional.jvp(product, (X, Y), (W, X))
    assert made[0].tolist() == [2, 4.25, 10] and made[1].item() == 3.5
    assert not made[0].requires_grad
    assert functional.vjp(cubes, X)[1].tolist() == [3, 12, 27]
    assert functional.jvp(lambda x: x * X, torch.tensor(2.0))[1].tolist() == [1, 2, 3]


def test_products_with_hessians():
    for product in (functional.vhp, functional.hvp):
        value, made = product(cubes, X, Y)
        assert value.item() == 36 and made.tolist() == [3, 3, 36]
        value, made = product(lambda a, b: (a * a * b).sum(), (X, Y), (Y, X))
        assert made[0].tolist() == [2.5, 8.125, 26] and made[1].tolist() == [1, 1, 12]


def test_jacobians_and_hessians():
    assert functional.jacobian(lambda x: x * x, X).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    whole = functional.jacobian(product, (X, Y))
    assert [[tuple(t.shape) for t in row] for row in whole] == [[(3, 3), (3, 3)], [(3,), (3,)]]
    assert whole[1][0].tolist() == [1, 1, 1] and whole[1][1].tolist() == [0, 0, 0]
    assert functional.jacobian(lambda x: x[:0], X).shape == (0, 3)
    assert functional.hessian(cubes, X).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]
    whole = functional.hessian(lambda a, b: (a * b).sum(), (X, Y))
    assert whole[0][1].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]] and not whole[0][0].any()


def test_results_that_can_be_differentiated_again():
    w = W.clone().requires_grad_()
    jacobian = functional.jacobian(lambda x: x * x * w, X, create_graph=True)
    jacobian.sum().backward()
    assert w.grad.tolist() == [2, 4, 6]
    hessian = functional.hessian(cubes, w, create_graph=True)
    assert torch.autograd.grad(hessian.sum(), w)[0].tolist() == [6, 6, 6]
    assert not functional.jacobian(lambda x: x * w, X).requires_grad


def test_jacobians_of_complex_functions():
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    for function, forward, reverse in (
        (lambda z: z * z, (2 * z).diag(), (2 * z.conj()).diag()),
        (lambda z: z.conj() * 2j, torch.full((2,), 2j, dtype=z.dtype).diag(), torch.full((2,), 2j, dtype=z.dtype).diag()),
        (lambda z: z.real * 3, torch.full((2,), 3.0, dtype=torch.float64).diag(), torch.full((2,), 3.0, dtype=z.dtype).diag()),
        (lambda z: z.imag.float(), torch.zeros(2, 2), torch.full((2,), 1j, dtype=z.dtype).diag()),
    ):
        for strategy, want in (("forward-mode", forward), ("reverse-mode", reverse)):
            made = functional.jacobian(function, z, vectorize=True, strategy=strategy)
            assert made.dtype == want.dtype and torch.equal(made, want)
    made = functional.jacobian(lambda x: x * (1 + 2j), X, vectorize=True, strategy="forward-mode")
    assert torch.equal(made, (1 + 2j) * torch.eye(3, dtype=torch.complex128))
    assert functional.jacobian(lambda x: (x > 1).long(), X, vectorize=True, strategy="forward-mode").dtype == torch.int64
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got complex128"):
        functional.jacobian(lambda z: z * z, z)


def test_strict_mode():
    with pytest.raises(RuntimeError, match="independent of input 1. This is not allowed in strict mode"):
        functional.vjp(lambda a, b: a * 2, (X, Y), X, strict=True)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
        functional.jacobian(lambda a: Y * 2, X, strict=True)
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function is independent of input 0"):
        functional.hessian(lambda a: a.sum(), X, strict=True)
    with pytest.raises(RuntimeError, match="strict mode"):
        functional.hvp(lambda a: a.sum(), X, Y, strict=True)


def test_errors_of_functional():
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors but the given inputs has type <class 'list'>"):
        functional.jacobian(cubes, [X])
    with pytest.raises(
        RuntimeError, match=r"vjp: v has invalid size: should be torch.Size\(\[3\]\), as in the output .*, but got torch.Size\(\[2\]\)"
    ):
        functional.vjp(lambda x: x * x, X, X[:2])
    with pytest.raises(RuntimeError, match="jvp: v is a tuple of invalid length: should be 1, as the input .*, but got 2"):
        functional.jvp(lambda x: x * x, X, (X, X))
    with pytest.raises(RuntimeError, match=r"vjp: The vector v can only be None if .* but it is a tensor of torch.Size\(\[3\]\)"):
        functional.vjp(lambda x: x * x, X)
    with pytest.raises(RuntimeError, match=r"given to hessian should contain a single element, but is of torch.Size\(\[3\]\)"):
        functional.hessian(lambda x: x * x, X)
    with pytest.raises(ValueError, match="strategy"):
        functional.jacobian(cubes, X, strategy="sideways")
    assert functional.jacobian(cubes, X, vectorize=True, strategy="forward-mode").tolist() == [3, 12, 27]


# -------------------------------------------------------------------------------------------------------------------- func


def test_gradients_of_functions():
    assert func.grad(cubes)(X).tolist() == [3, 12, 27] and not func.grad(cubes)(X).requires_grad
    s = torch.tensor(2.0)
    assert func.grad(func.grad(func.grad(lambda x: x**4)))(s).item() == 48
    assert [t.tolist() for t in func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(X, Y)] == [Y.tolist(), X.tolist()]
    made, (value, aux) = func.grad_and_value(lambda x: (cubes(x), x * 2), has_aux=True)(X)
    assert made.tolist() == [3, 12, 27] and value.item() == 36 and aux.tolist() == [2, 4, 6] and not aux.requires_grad
    made = func.grad(lambda weights, x: (weights["w"] * x + weights["b"][0]).sum())({"w": W, "b": (Y,)}, X)
    assert made["w"].tolist() == X.tolist() and made["b"][0].tolist() == [1, 1, 1]
    with torch.no_grad():
        assert func.grad(cubes)(X).tolist() == [3, 12, 27]
        assert func.jacrev(lambda x: x * x)(X).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]


def test_gradients_that_depend_on_other_tensors():
    w = W.clone().requires_grad_()
    made = func.grad(lambda x: (x * x * w).sum())(X)
    made.sum().backward()
    assert w.grad.tolist() == [2, 4, 6]
    nested = func.grad(lambda a: func.grad(lambda b: (a * b * b).sum())(Y).sum())(X)
    assert nested.tolist() == [1, 0.5, 4] and not nested.requires_grad


def test_func_products():
    output, multiplied = func.vjp(lambda a: (a * a, a.sum()), X)
    assert output[0].tolist() == [1, 4, 9] and multiplied((W, torch.tensor(1.0, dtype=torch.float64)))[0].tolist() == [5, 5, 4]
    output, made, aux = func.jvp(lambda a, b: (a * b, a), (X, Y), (W, X), has_aux=True)
    assert output.tolist() == [0.5, 0.5, 6] and made.tolist() == [2, 4.25, 10] and torch.equal(aux, X)


def test_forward_products_have_the_dtypes_of_the_results():
    output, made = func.jvp(lambda x: (x.argmax(), x > 1, x * 2), (X,), (W,))
    assert [t.dtype for t in made] == [torch.int64, torch.bool, torch.float64]
    assert made[0].item() == 0 and not made[1].any() and torch.equal(made[2], 2 * W)
    assert func.jvp(lambda x: x.argmax(), (X,), (W,))[1].dtype == torch.int64
    assert func.jacfwd(lambda x: (x > 1).long())(X).dtype == torch.int64
    assert func.jacfwd(lambda x: x.float() * 2)(X).dtype == torch.float32
    assert func.jacrev(lambda x: x.float() * 2)(X).dtype == torch.float64
    for rejected in (lambda f: func.vjp(f, X), lambda f: func.jacrev(f)(X)):
        with pytest.raises(RuntimeError, match="must be floating-point or complex Tensors, got Tensor with dtype torch.int64"):
            rejected(lambda x: (x * 2, x.argmax()))


def test_func_jacobians():
    for jacobian in (func.jacrev, func.jacfwd):
        assert jacobian(lambda x: x * x)(X).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
        made = jacobian(lambda q: {"out": q["a"] * 2})({"a": X})
        assert made["out"]["a"].tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    assert func.hessian(cubes)(X).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]
    assert func.jacrev(func.jacrev(lambda x: x**3))(X)[1, 1].tolist() == [0, 12, 0]
    assert [[t.shape for t in row] for row in func.hessian(lambda a, b: (a * b).sum(), argnums=(0, 1))(X, Y)] == [
        [(3, 3), (3, 3)],
        [(3, 3), (3, 3)],
    ]


def test_functions_in_inference_mode():
    inside = torch.inference_mode()
    with inside:
        made = X * 2
        for given in (X, made):
            assert func.grad(cubes)(given).tolist() == (3 * given**2).tolist()
            assert func.grad(func.grad(lambda x: x**4))(given[1]).item() == 12 * given[1].item() ** 2
            assert func.jvp(cubes, (given,), (given,))[1].item() == (3 * given**3).sum().item()
            assert func.jacrev(lambda x: x * x)(given).diagonal().tolist() == (2 * given).tolist()
        assert torch.is_inference_mode_enabled()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_functional_in_every_mode(mode):
    with mode():
        for given in (X, X * 1):
            assert functional.jacobian(lambda x: x * x, given).diagonal().tolist() == [2, 4, 6]
            assert functional.hessian(cubes, given).diagonal().tolist() == [6, 12, 18]
            assert functional.vjp(cubes, given)[1].tolist() == [3, 12, 27]
            assert functional.jvp(cubes, given, W)[1].item() == (3 * X * X * W).sum().item()
            assert functional.hvp(cubes, given, W)[1].tolist() == (6 * X * W).tolist()


def test_jacobians_are_real():
    for jacobian, name in ((func.jacrev, "jacrev"), (func.jacfwd, "jacfwd")):
        with pytest.raises(
            RuntimeError, match=f"{name}: Expected all inputs to be real but received complex tensor at flattened input idx: 1"
        ):
            jacobian(lambda a, b: a * b.real, argnums=(0, 1))(X, X + 1j)
        with pytest.raises(RuntimeError, match=f"{name}: Expected all outputs to be real"):
            jacobian(torch.view_as_complex)(torch.ones(1, 2))


def test_errors_of_func():
    with pytest.raises(RuntimeError, match="to return only tensors, or structures of them, but got float"):
        func.grad(lambda x: 3.0)(X)
    with pytest.raises(RuntimeError, match=r"expected f to return a scalar tensor, but got one of shape \(3,\)"):
        func.grad(lambda x: x)(X)
    with pytest.raises(RuntimeError, match="got argnum=1, but only 1 positional inputs"):
        func.grad(cubes, argnums=1)(X)
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        func.jvp(cubes, X, X)
    with pytest.raises(RuntimeError, match="floating point and complex dtype can require gradients"):
        func.grad(lambda x: x.sum())(torch.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="should be a tuple: \\(output, aux\\)"):
        func.grad(cubes, has_aux=True)(X)


INSIDE = {
    "jacobian": lambda x: functional.jacobian(lambda x: x**3, x),
    "hessian": lambda x: functional.hessian(cubes, x),
    "vjp": lambda x: functional.vjp(lambda x: x**3, x, W)[1],
    "vjp of another vector": lambda x: functional.vjp(lambda y: y**3, W, x)[1],
    "jvp": lambda x: functional.jvp(lambda x: x**3, x, W)[1],
    "hvp": lambda x: functional.hvp(cubes, x, W)[1],
    "vhp": lambda x: functional.vhp(cubes, x, W)[1],
    "a function of two": lambda x: functional.jacobian(lambda y: y * x, W),
}


@pytest.mark.parametrize("inner", INSIDE.values(), ids=INSIDE)
def test_derivatives_that_would_be_cut_off_inside_func(inner):
    for outer in (func.grad, func.jacrev, lambda f: lambda x: func.vjp(f, x)):
        with pytest.raises(RuntimeError, match="inside of a function being transformed by a functorch transform"):
            outer(lambda x: inner(x).sum())(X)


def test_derivatives_that_go_on_inside_func():
    def slope(x):
        return functional.jacobian(lambda x: x**3, x, create_graph=True).sum()

    assert torch.equal(func.grad(slope)(X), 6 * X)
    constant = functional.jacobian(lambda x: x**3, Y).sum()
    assert torch.equal(func.grad(lambda x: functional.jacobian(lambda y: y**3, Y).sum() * x.sum())(X), constant.expand(3))
    assert torch.equal(functional.jacobian(lambda x: x**3, X), torch.diag(3 * X**2))


def test_auxiliary_tensors_inside_vmap():
    def f(x):
        return x.sin(), {"cos": x.cos(), "same": torch.ones(2)}

    x = torch.rand(4, 3)
    for jacobian in (func.jacfwd, func.jacrev, lambda f, has_aux: func.jacfwd(func.jacrev(f, has_aux=True), has_aux=True)):

        def row(x, jacobian=jacobian):
            made, aux = jacobian(f, has_aux=True)(x)
            return made, aux["cos"], aux["same"]

        made, cos, same = func.vmap(row)(x)
        torch.testing.assert_close(cos, x.cos())
        assert torch.equal(same, torch.ones(4, 2))
        torch.testing.assert_close(made, torch.stack([jacobian(f, has_aux=True)(each)[0] for each in x]))


def test_argnums():
    for transform in (func.grad, func.jacrev, func.jacfwd):
        for argnums, words in (
            ((), "must be non-empty"),
            (0.0, "must be int or Tuple"),
            ([0], "must be int or Tuple"),
            ((0, -2), "must be unique"),
        ):
            with pytest.raises(RuntimeError, match=words):
                transform(lambda x, y: (x * y).sum(), argnums=argnums)(X, X)


@pytest.mark.parametrize("result", [None, (), {}, []])
def test_functions_without_results(result):
    for transform in (func.jacrev, func.jacfwd, lambda f: func.vjp(f, X), lambda f: func.jvp(f, (X,), (X,))):
        with pytest.raises(RuntimeError, match="Expected f to be a function that has non-empty output"):
            made = transform(lambda x: result)
            made(X)
    with pytest.raises(RuntimeError, match="at least one Tensor"):
        func.jvp(lambda: X, (), ())


def test_gradients_of_captured_tensors_inside_func_are_no_constants():
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    for transform in (func.grad, func.jacrev):
        assert transform(lambda y: torch.autograd.grad(x * x * y, x, create_graph=True)[0])(y) == 4.0
        with pytest.raises(RuntimeError, match="does not depend on the function's arguments, so its gradient would be constant"):
            transform(lambda y: torch.autograd.grad(x * x * y, x)[0])(y)
        assert transform(lambda y: torch.autograd.grad(x**3, x)[0] * y)(y) == 12.0
        assert transform(lambda y: torch.autograd.grad(y**3, y)[0] * y)(y) == 27.0
    nested = func.grad(lambda a: func.grad(lambda b: torch.autograd.grad(a * a * b, a, create_graph=True)[0])(y))
    assert nested(x.detach()) == 2.0
    with pytest.raises(RuntimeError, match="would be constant"):
        func.grad(lambda a: func.grad(lambda b: torch.autograd.grad(a * a * b, a)[0])(y))(x)
    assert torch.autograd.grad(x * x * y, x) == (12.0,)  # outside of func again


def test_what_pytorch_rejects_inside_func():
    def retain(x):
        y = x.sin()
        y.retain_grad()
        return y.sum()

    for transform in (func.grad, func.jacrev, func.jacfwd, func.vmap):
        with pytest.raises(RuntimeError, match=r"Tensor.retain_grad\(\)"):
            transform(retain)(X)
    for aux in (1, "a", [X, 2.0]):
        for transform in (func.grad, func.jacrev, func.jacfwd):
            with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type"):
                transform(lambda x, aux=aux: (x.sum(), aux), has_aux=True)(X)


def test_vjp_made_without_grad_mode_can_be_differentiated():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.no_grad():
        y, multiplied = func.vjp(lambda x: x**2, x)
    (row,) = multiplied(torch.tensor(1.0))
    assert not y.requires_grad and row == 6.0
    assert torch.autograd.grad(row, x) == (2.0,)


def test_modules_made_as_functions():
    from libtensor._functorch.make_functional import functional_init, functional_init_with_buffers
    from libtensor._functorch.vmap import restore_vmap

    params, f, names = functional_init(torch.nn.Linear, (3,))(4, 2)
    assert names == ("weight", "bias") and [p.shape for p in params] == [(3, 2, 4), (3, 2)] and not params[0].requires_grad
    x = torch.rand(5, 4)
    torch.testing.assert_close(func.vmap(f, (0, None))(params, (x,)), x @ params[0].mT + params[1][:, None])
    params, buffers, f, names, buffer_names = functional_init_with_buffers(torch.nn.BatchNorm1d)(4)
    assert params[0].shape == (4,) and buffer_names == ("running_mean", "running_var", "num_batches_tracked")
    with pytest.raises(RuntimeError, match="have buffers"):
        functional_init(torch.nn.BatchNorm1d)(4)
    out, dims = restore_vmap(lambda a, b: (a + b, b, None), (0, None), 5, "error")(x, x[0])
    assert torch.equal(out[0], x + x[0]) and out[1] is not None and dims == (0, None, None)
