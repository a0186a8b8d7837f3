"""Jacobians, Hessians and products with them, under the names of torch.autograd.functional.

Functions take and return a tensor or a tuple of tensors. Inputs are detached, unless create_graph is True: then the results can be
differentiated again."""

from .._core.modes import inference_mode, is_grad_enabled, set_grad_enabled
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .._gradients.forward import depends_on_evaluation
from .._gradients.grad import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

STRICT = "This is not allowed in strict mode."


# ------------------------------------------------------------------------------------------------- arguments and results


def as_tuple(given, what, name):
    """Returns tensors as a tuple, and whether they were one."""
    several = isinstance(given, tuple)
    tensors = given if several else (given,)
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            which = f"the value at index {i}" if several else f"the given {what}"
            raise TypeError(f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but {which} has type {type(t)}.")
    return tensors, several


def unpack(result, several):
    """Returns a result in the form of its inputs or outputs: for a single tensor its only item."""
    return result if several else result[0]


def fresh(inputs, connected):
    """Returns the inputs as new tensors: connected to the graph, or leaves."""
    inputs = tuple(t.clone() if t.is_inference() else t for t in inputs)
    return tuple(_f.jvp_input(t, bool(connected)) for t in inputs)


def recorded(create_graph):
    """Enables grad mode if create_graph is True or it was enabled."""
    return set_grad_enabled(bool(create_graph) or is_grad_enabled())


def finished(tensors, create_graph):
    return tensors if create_graph else tuple(_f.jvp_detach(t) for t in tensors)


def vectors(v, like, create_graph, name, of):
    """Returns the checked vectors for tensors; ones by default."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            found = f"a tensor of {like[0].shape}" if len(like) == 1 else f"{len(like)} tensors"
            raise RuntimeError(
                f"{name}: The vector v can only be None if {of} is a single Tensor with a single element, but it is {found}."
            )
        return (_f.ones_like(like[0]),)
    v, _ = as_tuple(v, "v", name)
    undetached(v, name, create_graph)
    if len(v) != len(like):
        raise RuntimeError(f"{name}: v is a tuple of invalid length: should be {len(like)}, as {of}, but got {len(v)}.")
    for i, (a, b) in enumerate(zip(v, like, strict=True)):
        if a.shape != b.shape:
            which = f"Entry {i} in v" if len(like) > 1 else "v"
            raise RuntimeError(f"{name}: {which} has invalid size: should be {b.shape}, as in {of}, but got {a.shape}.")
    return tuple(t.view_as(t) if create_graph else _f.jvp_detach(t) for t in v)


# --------------------------------------------------------------------------------------------------------------- gradients


def gradients(outputs, inputs, given=None, create_graph=False, retain_graph=None):
    """Returns the gradients of the outputs with a grad_fn; None for inputs on which none of them depends."""
    pairs = [(t, v) for t, v in zip(outputs, given or [None] * len(outputs), strict=True) if t is not None and t.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, seeds = zip(*pairs, strict=True)
    return grad(roots, inputs, seeds, retain_graph, create_graph, allow_unused=True)


def complete(grads, like, strict, create_graph, absent, constant):
    """Replaces missing gradients by zeros; in strict mode they are errors."""
    made = []
    for i, (t, of) in enumerate(zip(grads, like, strict=True)):
        if strict and t is None:
            raise RuntimeError(f"{absent.format(i)}. {STRICT}")
        if strict and create_graph and not t.requires_grad:
            raise RuntimeError(f"{constant.format(i)}. This is not allowed in strict mode when create_graph=True.")
        made.append(_f.zeros_like(of) if t is None else t)
    return tuple(made)


def differentiable(tensors, strict, constant):
    """In strict mode, raises RuntimeError for tensors that do not depend on the inputs."""
    for i, t in enumerate(tensors if strict else ()):
        if t is None or not t.requires_grad:
            raise RuntimeError(f"{constant.format(i)}. {STRICT}")


INDEPENDENT = "The output of the user-provided function is independent of input {}"
NO_HISTORY = "Output {} of the user-provided function does not require gradients: it is not computed differentiably from the inputs"
CONSTANT_JACOBIAN = "The jacobian of the user-provided function is independent of input {}"
CONSTANT_HESSIAN = "The hessian of the user-provided function is independent of input {}"


def undetached(tensors, name, create_graph):
    """Raises RuntimeError for tensors that depend on inputs that func differentiates: without create_graph the results would not."""
    if not create_graph and depends_on_evaluation(tensors):
        raise RuntimeError(
            f"{name}: You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a "
            "function "
            "being transformed by a functorch transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
            "vjp, "
            "jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being transformed instead; with create_graph=True the "
            "results "
            "can be differentiated"
        )


def evaluated(function, inputs, name, create_graph, strict):
    """Returns fresh inputs, the outputs, and whether each of both were a tuple."""
    inputs, several = as_tuple(inputs, "inputs", name)
    undetached(inputs, name, create_graph)
    with inference_mode(False):
        inputs = fresh(inputs, create_graph)
        outputs, made_several = as_tuple(function(*inputs), "outputs of the user-provided function", name)
    undetached([t for t in outputs if isinstance(t, Tensor)], name, create_graph)
    differentiable(outputs, strict, NO_HISTORY)
    return inputs, several, outputs, made_several


def single(outputs, several, name):
    if several:
        raise RuntimeError(f"The function given to {name} should return a single Tensor, but returned a tuple of {len(outputs)}")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element, but is of {outputs[0].shape}"
        )


# ---------------------------------------------------------------------------------------------------------------- products


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """Returns `func(*inputs)` and the product of the vector `v`, of the outputs' sizes, with the Jacobian at `inputs`.

    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    inputs, several, outputs, made_several = evaluated(func, inputs, "vjp", create_graph, strict)
    v = vectors(v, outputs, create_graph, "vjp", "the output of the user-provided function")
    with recorded(create_graph):
        grads = gradients(outputs, inputs, v, create_graph)
        made = complete(grads, inputs, strict, create_graph, INDEPENDENT, CONSTANT_JACOBIAN)
    return unpack(finished(outputs, create_graph), made_several), unpack(finished(made, create_graph), several)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """Returns `func(*inputs)` and the product of the Jacobian at `inputs` with the vector `v`, of the inputs' sizes.

    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    given, _ = as_tuple(inputs, "inputs", "jvp")
    v = vectors(v, given, create_graph, "jvp", "the input to the user-provided function")
    inputs, several, outputs, made_several = evaluated(func, inputs, "jvp", create_graph, strict)
    # The product of a vector with the Jacobian is linear in the vector: its derivative is the Jacobian.
    with inference_mode(False):
        seeds = tuple(_f.zeros_like(t).requires_grad_() for t in outputs)
        rows = gradients(outputs, inputs, seeds, create_graph=True)
        differentiable(rows, strict, "The gradient with respect to input {} is independent of the inputs of the user-provided function")
    with recorded(create_graph):
        made = complete(
            gradients(rows, seeds, v, create_graph),
            outputs,
            strict,
            create_graph,
            "Output {} is independent of the inputs",
            CONSTANT_JACOBIAN,
        )
    return unpack(finished(outputs, create_graph), made_several), unpack(finished(made, create_graph), made_several)


def sloping(func, inputs, v, name, create_graph, strict):
    """Returns the checked arguments of a product with a Hessian, the output of func, and its gradients, which can be differentiated."""
    given, _ = as_tuple(inputs, "inputs", name)
    v = vectors(v, given, create_graph, name, "the input to the user-provided function")
    inputs, several, outputs, made_several = evaluated(func, inputs, name, create_graph, strict)
    single(outputs, made_several, name)
    with inference_mode(False):
        slopes = gradients(outputs, inputs, create_graph=True)
        differentiable(slopes, strict, CONSTANT_JACOBIAN)
    return v, inputs, several, outputs, slopes


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Returns `func(*inputs)`, a single element, and the product of the vector `v` with the Hessian at `inputs`.

    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor(9.), tensor([  6., 120.]))
    """
    v, inputs, several, outputs, slopes = sloping(func, inputs, v, "vhp", create_graph, strict)
    with recorded(create_graph):
        grads = gradients(slopes, inputs, v, create_graph)
        made = complete(grads, inputs, strict, create_graph, CONSTANT_JACOBIAN, CONSTANT_HESSIAN)
    return finished(outputs, create_graph)[0], unpack(finished(made, create_graph), several)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Returns `func(*inputs)`, a single element, and the product of the Hessian at `inputs` with the vector `v`.

    The Hessian is symmetric, so vhp() returns the same values at lower cost.

    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor(9.), tensor([  6., 120.]))
    """
    v, inputs, several, outputs, slopes = sloping(func, inputs, v, "hvp", create_graph, strict)
    with inference_mode(False):
        seeds = tuple(_f.zeros_like(t).requires_grad_() for t in inputs)
        rows = gradients(slopes, inputs, seeds, create_graph=True)
        differentiable(rows, strict, CONSTANT_HESSIAN)
    with recorded(create_graph):
        grads = gradients(rows, seeds, v, create_graph)
        made = complete(grads, inputs, strict, create_graph, CONSTANT_HESSIAN, CONSTANT_HESSIAN)
    return finished(outputs, create_graph)[0], unpack(finished(made, create_graph), several)


# ---------------------------------------------------------------------------------------------------------- whole matrices


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """Returns the Jacobian of `func` at `inputs`: a tensor of the output's sizes followed by the input's, nested in tuples for several
    outputs or inputs.

    Rows are computed one at a time, also with `vectorize`. With `vectorize` outputs may be complex; the gradients are then those of their
    real parts. `strategy="forward-mode"`, which requires `vectorize`, computes derivatives with respect to the real parts of inputs, in the
    dtype of the output.

    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    checked(strict, vectorize, strategy)
    inputs, several, outputs, made_several = evaluated(func, inputs, "jacobian", create_graph, strict)
    with recorded(create_graph):
        if strategy == "forward-mode":
            whole = tuple(columns(t, i, inputs, create_graph) for i, t in enumerate(outputs))
        else:
            whole = tuple(rows(t, i, inputs, create_graph, strict, 1 if vectorize else None) for i, t in enumerate(outputs))
    return unpack(tuple(unpack(finished(part, create_graph), several) for part in whole), made_several)


def checked(strict, vectorize, strategy):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise ValueError(f"Expected strategy to be either 'forward-mode' or 'reverse-mode', but got {strategy!r}")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("strategy='forward-mode' requires vectorize=True; strategy='reverse-mode' returns the same values")
    if strict and vectorize:
        raise RuntimeError("`strict=True` and `vectorize=True` are not supported together; omit one of them")


def rows(output, number, inputs, create_graph, strict, seed):
    """Returns the derivatives of each element of an output, stacked, with respect to each input, multiplied by a seed unless it is None."""
    parts = [[] for _ in inputs]
    with inference_mode(False):
        elements = output.reshape(-1).unbind()
    for element in elements:
        seeds = None if seed is None else [_f.full_like(element, seed)]
        grads = gradients([element], inputs, seeds, create_graph, retain_graph=True)
        absent = f"Output {number} of the user-provided function is independent of input {{}}"
        for part, t in zip(parts, complete(grads, inputs, strict, create_graph, absent, CONSTANT_JACOBIAN), strict=True):
            part.append(t)
    return tuple(
        _f.stack(part).view((*output.shape, *t.shape)) if part else t.new_zeros((*output.shape, *t.shape))
        for part, t in zip(parts, inputs, strict=True)
    )


def columns(output, number, inputs, create_graph):
    """Returns the result of rows() with respect to the real parts of the inputs: the real part of the gradient of the output's real part,
    and that of the gradient with seed i for the imaginary part.
    """

    def real(seed):
        return [t.real if t.is_complex() else t for t in rows(output, number, inputs, create_graph, False, seed)]

    made = real(1)
    if output.is_complex():
        d = output.real.dtype
        made = [_f.complex(a.to(d), b.to(d)) for a, b in zip(made, real(1j), strict=True)]
    return tuple(t.to(output.dtype) for t in made)


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """Returns the Hessian at `inputs` of `func`, whose result is a single element; nested in tuples of tuples for several inputs.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    inputs, several = as_tuple(inputs, "inputs", "hessian")
    checked(strict, vectorize, outer_jacobian_strategy)

    def slopes(*inputs):
        outputs, made_several = as_tuple(func(*inputs), "outputs of the user-provided function", "hessian")
        single(outputs, made_several, "hessian")
        differentiable(outputs, strict, NO_HISTORY)
        made = complete(gradients(outputs, inputs, create_graph=True), inputs, strict, False, INDEPENDENT, "")
        differentiable(made, strict, CONSTANT_JACOBIAN)
        return made

    whole = jacobian(slopes, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return unpack(tuple(unpack(part, several) for part in whole), several)


def __dir__():
    return __all__
