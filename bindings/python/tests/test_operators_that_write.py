"""Custom operators that write to arguments: under every transform the result is that of the same function without the operator, or the call
raises an error that names the operator. Writes are never lost, and never missing from a derivative."""

import ctypes
from ctypes import POINTER, byref, c_int32, c_void_p

import pytest

import libtensor as torch
from libtensor import Tensor, func, library
from libtensor._base.library import library as c_library
from libtensor._core.values import Value, borrow_value

SPACE = "operators_that_write"


def by_operator(x):
    x.mul_(2)


def by_detached(x):
    x.detach().mul_(2)


def by_address(x):
    for i in range(x.numel()):
        ctypes.c_double.from_address(x.data_ptr() + 8 * i * x.stride(0)).value *= 2


def by_condition(x):
    if x.sum().item() != 0.125:
        x.mul_(2)


def by_view(x):
    x[...][:].mul_(2)


KERNELS = {f.__name__: f for f in (by_operator, by_detached, by_address, by_condition, by_view)}


def define(name, kernel, result):
    def plain(x: Tensor) -> None:
        kernel(x)

    def returning(x: Tensor) -> Tensor:
        kernel(x)
        return x + 1

    return library.custom_op(f"{SPACE}::{name}", returning if result else plain, mutates_args=("x",))


OPERATORS = {(n, r): define(f"{n}_{'returning' if r else 'plain'}", k, r) for n, k in KERNELS.items() for r in (False, True)}

composite = library.Library(SPACE, "FRAGMENT")
composite.define("composite(Tensor(a!) x) -> ()")
composite.impl("composite", by_operator, "CompositeImplicitAutograd")


def of_intermediate(double, x):
    y = x * 3
    double(y)
    return (y * y * x).sum()


def of_view(double, x):
    y = x * 3
    double(y[1:])
    return (y * y * x).sum()


def of_buffer(double, x):
    y = torch.full_like(x, 2.0)
    double(y)
    return (y * x * x).sum()


def of_copy(double, x):
    y = torch.zeros_like(x)
    y.copy_(x)
    double(y)
    return (y * x).sum()


FUNCTIONS = [of_intermediate, of_view, of_buffer, of_copy]
X = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
XS = torch.stack([X, X * 2, X - 1])
TRANSFORMS = {
    "eager": lambda f: f(X),
    "no_grad": lambda f: torch.no_grad()(f)(X.clone().requires_grad_()),
    "grad": lambda f: func.grad(f)(X),
    "vjp": lambda f: func.vjp(f, X)[1](torch.tensor(1.5, dtype=torch.float64))[0],
    "jvp": lambda f: func.jvp(f, (X,), (X * X,))[1],
    "jacrev": lambda f: func.jacrev(f)(X),
    "jacfwd": lambda f: func.jacfwd(f)(X),
    "hessian": lambda f: func.hessian(f)(X),
    "linearize": lambda f: func.linearize(f, X)[1](X),
    "vmap": lambda f: func.vmap(f)(XS),
    "vmap of dim 1": lambda f: func.vmap(f, in_dims=1)(XS),
    "vmap of vmap": lambda f: func.vmap(func.vmap(f))(torch.stack([XS, XS + 1])),
    "vmap of grad": lambda f: func.vmap(func.grad(f))(XS),
    "grad of vmap": lambda f: func.grad(lambda x: func.vmap(f)(x).sum())(XS),
    "vmap of jvp": lambda f: func.vmap(lambda x: func.jvp(f, (x,), (x,))[1])(XS),
    "jvp of vmap": lambda f: func.jvp(func.vmap(f), (XS,), (XS,))[1],
    "grad of grad": lambda f: func.grad(lambda x: func.grad(f)(x).sum())(X),
    "jvp of grad": lambda f: func.jvp(func.grad(f), (X,), (X,))[1],
    "grad of jvp": lambda f: func.grad(lambda x: func.jvp(f, (x,), (X,))[1])(X),
    "backward of vmap": lambda f: backward(lambda x: func.vmap(f)(x).sum(), XS),
}


def backward(f, x):
    x = x.clone().requires_grad_()
    f(x).backward()
    return x.grad


def same(f, transform, operator, double=by_operator):
    """Asserts that the operator is exact or that its error has its name; returns whether it was exact."""
    expected = TRANSFORMS[transform](lambda x: f(double, x))
    try:
        made = TRANSFORMS[transform](lambda x: f(operator, x))
    except NotImplementedError as error:
        assert f"{SPACE}::" in str(error) and "has no derivative" in str(error)
        return False
    torch.testing.assert_close(made, expected)
    return True


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_transforms_are_exact_or_errors(kernel, f, transform):
    exact = [same(f, transform, OPERATORS[kernel, result]) for result in (False, True)]
    assert exact[0] == exact[1]
    if transform in ("eager", "no_grad", "vmap", "vmap of dim 1", "vmap of vmap"):
        assert exact[0]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_composite_kernels_are_exact(f, transform):
    assert same(f, transform, torch.ops.operators_that_write.composite)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_buffer_that_does_not_depend_on_inputs_is_written(kernel):
    buffer = torch.ones(3, dtype=torch.float64)

    def f(x):
        OPERATORS[kernel, False](buffer)
        return (x * buffer).sum()

    assert func.grad(f)(X).tolist() == [2.0] * 3 and buffer.tolist() == [2.0] * 3
    assert func.jvp(f, (X,), (torch.ones_like(X),))[1].item() == 12 and buffer.tolist() == [4.0] * 3


@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp", "grad of vmap", "hessian"])
def test_a_result_written_from_an_argument_that_is_differentiated_is_an_error(transform):
    @library.custom_op(f"{SPACE}::sine", mutates_args=("out",))
    def sine(x: Tensor, out: Tensor) -> None:
        out.copy_(x.sin())

    def f(x):
        out = torch.empty_like(x)
        sine(x, out)
        return (out * x).sum()

    with pytest.raises(NotImplementedError, match=f"{SPACE}::sine: the operator writes to an argument and has no derivative"):
        TRANSFORMS[transform](f)
    out = torch.zeros_like(X)
    with torch.no_grad():
        sine(X.clone().requires_grad_(), out)
    assert torch.equal(out, X.sin())


@pytest.mark.parametrize("kernel", KERNELS)
def test_writes_change_the_version(kernel):
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    y = x * 1
    product = (y * y).sum()
    before = y._version
    OPERATORS[kernel, False](y)
    assert y._version > before and y.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_eager_gradients_are_those_without_the_write():
    # As in PyTorch: autograd does not record the write of a custom_op.
    assert backward(lambda x: of_intermediate(OPERATORS["by_operator", False], x), X).isfinite().all()
    y = torch.ones(2, requires_grad=True)
    z = y * 1
    library.custom_op(f"{SPACE}::once", define_once, mutates_args=("x",))(z)
    assert torch.autograd.grad(z.sum(), y)[0].tolist() == [1.0, 1.0]


def define_once(x: Tensor) -> None:
    x.mul_(2)


def test_batches_of_tensors_that_are_not_batched_are_errors():
    buffer = torch.zeros(3, dtype=torch.float64)

    @library.custom_op(f"{SPACE}::add", mutates_args=("x",))
    def add(x: Tensor, y: Tensor) -> None:
        x.add_(y)

    with pytest.raises(
        RuntimeError, match=rf"{SPACE}::add: inside vmap: the operator writes to a tensor of shape \[3\], which is not batched"
    ):
        func.vmap(lambda y: add(buffer, y))(XS)
    assert buffer.tolist() == [0.0] * 3


@pytest.mark.parametrize("kernel", KERNELS)
def test_batches_that_are_expanded_are_errors(kernel):
    x = X[None].clone()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        func.vmap(lambda t: OPERATORS[kernel, False](t) or t.sum())(x.expand(2, 3))
    assert torch.equal(x[0], X)
    assert func.vmap(lambda t: OPERATORS[kernel, False](t) or t.sum())(x.expand(1, 3)).tolist() == [2 * X.sum().item()]


def test_operators_without_results_do_nothing_on_the_device_meta():
    x = X.to("meta")
    assert OPERATORS["by_address", False](x) is None
    with pytest.raises(RuntimeError, match="There was no fake impl registered"):
        OPERATORS["by_address", True](x)
    assert library.opcheck(OPERATORS["by_operator", False], (X.clone(),))["test_faketensor"] == "SUCCESS"


@pytest.mark.parametrize("kind", ["custom_op", "library"])
def test_rules_of_vmap_are_called(kind):
    name, calls = f"{SPACE}::ruled_{kind}", []
    if kind == "custom_op":
        op = library.custom_op(name, define_once, mutates_args=("x",))
    else:
        composite.define("ruled_library(Tensor(a!) x) -> ()")
        composite.impl("ruled_library", by_operator, "CPU")
        op = torch.ops.operators_that_write.ruled_library

    def rule(info, in_dims, x):
        calls.append((info.batch_size, in_dims, x.shape[in_dims[0]]))
        op(x)
        return None, None

    library.register_vmap(name, rule)
    x = XS.clone()
    func.vmap(lambda t: op(t) or t.sum(), in_dims=1)(x)
    assert calls == [(3, (0,), 3)] and torch.equal(x, XS * 2)


def test_lists_are_written():
    @library.custom_op(f"{SPACE}::all", mutates_args=("xs",))
    def double_all(xs: list[Tensor], k: float) -> None:
        for x in xs:
            by_address(x)

    xs = [X.clone(), X + 1]
    versions = [x._version for x in xs]
    double_all(xs, 1.0)
    assert torch.equal(xs[1], (X + 1) * 2) and all(x._version > v for x, v in zip(xs, versions, strict=True))
    rows = XS.clone()
    func.vmap(lambda x: double_all([x], 1.0) or x.sum())(rows)
    assert torch.equal(rows, XS * 2)
    with pytest.raises(NotImplementedError, match=f"{SPACE}::all: the operator writes"):
        func.grad(lambda x: double_all([x * 1, x * 2], 1.0) or x.sum())(X)


Function = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Value), c_int32, POINTER(Value), c_int32)


@Function
def double_in_c(context, arguments, count, results, result_count):
    by_address(borrow_value(arguments[0]))
    return 0


@pytest.fixture
def operator_of_c():
    made = ctypes.c_int64()
    assert not c_library.tensor_define_operator(f"{SPACE}::in_c(Tensor(a!) x) -> ()".encode(), double_in_c, None, None, None, byref(made))
    yield torch.ops.operators_that_write.in_c
    c_library.tensor_remove_operator(made)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_operators_of_c_are_exact_or_errors(operator_of_c, f, transform):
    same(f, transform, operator_of_c)


def test_operators_of_c_do_not_write_to_elements_that_share_memory(operator_of_c):
    x = X[None].clone()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"):
        func.vmap(lambda t: operator_of_c(t) or t.sum())(x.expand(2, 3))
    with pytest.raises(RuntimeError, match=r"in_c: .* more than one element of the written-to tensor .*sizes \[2\], strides \[0\]"):
        operator_of_c(x[0, :1].expand(2))
    assert torch.equal(x[0], X)
