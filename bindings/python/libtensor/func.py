"""Function transforms under the names of torch.func: gradients, Jacobians, Hessians, vmap, and functional calls of modules.

Arguments and results are tensors, or tuples, lists and dicts of tensors. Derivatives can be differentiated again, by these transforms, or
by backward() with respect to other tensors that the function uses.
"""

from functools import wraps

from ._core.modes import inference_mode, is_grad_enabled
from ._core.tensor import Tensor
from ._gen import gen_functions as _f
from ._gradients.forward import OWN, cut, graph_leaves, levels, owned, parts
from ._gradients.grad import compute_gradients, evaluating
from ._gradients.nodes import edge_of
from ._gradients.vmap import leaves, mapped, refilled, shape_of, tensors, vmap

__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize"]
__all__ += ["replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]


# --------------------------------------------------------------------------------------------------- one evaluation


class Evaluation:
    """One evaluation of a function whose inputs are separate leaves, so that its gradients are independent of other uses of the same
    tensors."""

    def __init__(self, func, args, argnums, has_aux, name):
        self.enabled, self.running, self.nodes = is_grad_enabled(), [True], []
        chosen = positions(argnums, len(args), name)
        args = list(args)
        outer, evaluating.current = evaluating.current, self
        levels.evaluations += 1
        try:
            with inference_mode(False):
                for i in chosen:
                    args[i] = mapped(self.own, args[i])
                output = func(*args)
        finally:
            levels.evaluations -= 1
            evaluating.current = outer
        self.aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
            output, self.aux = output
            require_aux(self.aux)
        self.inputs = args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in chosen)
        self.output = output
        self.operands = tensors(self.inputs)
        self.outputs = leaves(output)
        require_tensors(self.outputs, name)
        # Whether the results depend on other tensors than the inputs: then the derivatives do, too.
        self.dependent = depends(parts(self.outputs), self.operands)
        self.connected = self.enabled and self.dependent

    def own(self, t):
        """Returns an input of the evaluation: a leaf, or a view if the tensor requires grad, so that gradients continue into its graph.
        Inside vmap each batch element has a separate input."""
        if not isinstance(t, Tensor):
            raise RuntimeError(
                f"expected the arguments that are differentiated to be tensors, or structures of them, but got {type(t).__name__}"
            )
        t = _f.vmap_spread(t)
        if t.is_inference():
            t = t.clone()
        goes_on, t = t.requires_grad, _f.jvp_input(t, True)
        if not goes_on:
            self.nodes.append(owned(t, self.running))
        return t

    def require_own(self, outputs, inputs):
        """Raises RuntimeError for inputs of autograd.grad from outside of the function: their gradients would be constants, although the
        outputs depend on the function's arguments."""

        def own(t):
            return any(node.metadata.get(OWN) is self.running for node in graph_leaves(parts([t])))

        if any(map(own, outputs)) and not all(map(own, inputs)):
            i = list(map(own, inputs)).index(False)
            raise RuntimeError(
                f"grad(): inside a function that torch.func differentiates, inputs[{i}] does not depend on the function's arguments, so "
                "its "
                "gradient would be constant; use create_graph=True"
            )

    def seeded(self, name):
        """Raises RuntimeError for results that are not floating-point or complex."""
        for t in self.outputs:
            if not (t.is_floating_point() or t.is_complex()):
                raise RuntimeError(f"{name}: All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {t.dtype}")

    def gradients(self, outputs, seeds, create_graph=None):
        """Returns the gradients of the inputs, zeros if the outputs do not depend on them."""
        create_graph = self.connected if create_graph is None else create_graph
        pairs = [(t, seed) for t, seed in zip(outputs, seeds, strict=True) if t.requires_grad]
        if not pairs:
            return [_f.zeros_like(t) for t in self.operands]
        roots, seeds = zip(*pairs, strict=True)
        return list(compute_gradients(roots, self.operands, seeds, True, create_graph, materialize_grads=True))

    def finished(self, tree):
        """Returns results for the caller, without the part of the autograd graph that belongs only to this evaluation."""
        self.running[0] = False
        return tree if self.connected else mapped(cut, tree)


def require_tensors(outputs, name):
    """Raises RuntimeError for results of a function that is differentiated that are not tensors, or if it has none."""
    if not outputs or outputs == [None]:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output, but it returned no tensors")
    for t in outputs:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, or structures of them, but got {type(t).__name__}")


def require_aux(aux):
    """Raises RuntimeError for auxiliary results that are not tensors."""
    for t in leaves(aux):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"has_aux: Expected tensors, got unsupported type {type(t).__name__}")


def positions(argnums, count, name):
    chosen = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(chosen, tuple) or not all(isinstance(i, int) for i in chosen):
        raise RuntimeError(f"{name}: argnums must be int or Tuple of ints, but got {argnums!r}")
    if not chosen:
        raise RuntimeError(f"{name}: argnums must be non-empty, but got an empty tuple")
    for i in chosen:
        if not -count <= i < count:
            raise RuntimeError(f"{name}: got argnum={i}, but only {count} positional inputs")
    if len({i % count for i in chosen}) != len(chosen):
        raise RuntimeError(f"{name}: argnums elements must be unique, but got {argnums!r}")
    return chosen


def depends(outputs, operands):
    """Returns whether outputs depend on leaves other than the operands and the inputs of finished evaluations."""
    own = {edge_of(t)[0] for t in operands if t.is_leaf}
    return any(node.metadata.get(OWN, [True])[0] for node in graph_leaves(outputs, own))


# ---------------------------------------------------------------------------------------------------------- gradients


def grad_and_value(func, argnums=0, has_aux=False):
    """Returns a function that computes the gradient of `func` and the value of `func`, which must be a zero-dimensional tensor.

    The gradient is with respect to argument `argnums`, or a tuple of gradients for a tuple of arguments. With `has_aux` `func` returns a
    pair (value, aux), and the result is (gradient, (value, aux)). Raises RuntimeError if the value is not a zero-dimensional real tensor.

    >>> torch.func.grad_and_value(lambda x: (x * x).sum())(torch.tensor([1., 2.]))
    (tensor([2., 4.]), tensor(5.))
    """

    @wraps(func)
    def both(*args, **kwargs):
        run = Evaluation(lambda *given: func(*given, **kwargs), args, argnums, has_aux, "grad_and_value(f)(*args)")
        if not isinstance(run.output, Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): expected f to return a tensor, but got {type(run.output).__name__}")
        if run.output.dim():
            raise RuntimeError(
                f"grad_and_value(f)(*args): expected f to return a scalar tensor, but got one of shape {tuple(run.output.shape)}; "
                "use vjp or jacrev for other functions"
            )
        if run.output.is_complex():
            kind = run.output.dtype
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {kind}; use view_as_real() for both parts"
            )
        made = refilled(run.inputs, run.gradients([run.output], [_f.ones_like(run.output)]))
        value = run.finished((run.output, run.aux) if has_aux else run.output)
        return run.finished(made), value

    return both


def grad(func, argnums=0, has_aux=False):
    """Returns a function that computes the gradient of `func`, whose result must be a zero-dimensional tensor.

    The gradient is with respect to argument `argnums`, or a tuple of gradients for a tuple of arguments. With `has_aux` `func` returns a
    pair (value, aux), and the result is (gradient, aux). Raises RuntimeError if the value is not a zero-dimensional tensor.

    >>> torch.func.grad(torch.sin)(torch.tensor(0.))
    tensor(1.)
    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def gradient(*args, **kwargs):
        made, value = both(*args, **kwargs)
        return (made, value[1]) if has_aux else made

    return gradient


# ----------------------------------------------------------------------------------------------------------- products


def vjp(func, *primals, has_aux=False):
    """Returns `func(*primals)` and a function that computes vector-Jacobian products.

    The returned function takes cotangents with the structure and sizes of the result, and returns a tuple with one gradient for each of
    `primals`. With `has_aux` `func` returns a pair (output, aux), and the result is (output, function, aux).

    >>> y, multiplied = torch.func.vjp(torch.exp, torch.zeros(2))
    >>> multiplied(torch.tensor([1., 2.]))
    (tensor([1., 2.]),)
    """
    run = Evaluation(func, primals, tuple(range(len(primals))), has_aux, "vjp(f, *primals)")
    run.seeded("vjp(f, *primals)")

    def multiplied(cotangents, retain_graph=True, create_graph=None):
        for name, flag in (("retain_graph", retain_graph), ("create_graph", create_graph)):
            if isinstance(flag, Tensor):
                raise TypeError(f"vjp: argument '{name}' must be bool, not Tensor; pass several cotangents as a tuple")
        if shape_of(cotangents) != shape_of(run.output):
            raise RuntimeError(
                f"vjp: Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {shape_of(cotangents)}, primal output: {shape_of(run.output)}"
            )
        seeds = leaves(cotangents)
        again = (
            is_grad_enabled() and (run.dependent or any(t.requires_grad for t in parts(seeds))) if create_graph is None else create_graph
        )
        made = run.gradients(run.outputs, seeds, again)
        return refilled(run.inputs, made if again else [cut(t) for t in made])

    output = run.finished(run.output)
    return (output, multiplied, run.finished(run.aux)) if has_aux else (output, multiplied)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """Returns `func(*primals)` and the product of its Jacobian with `tangents`, computed in forward mode.

    `primals` and `tangents` are tuples of the same structure. With `strict` RuntimeError is raised if a result does not depend on the
    primals; otherwise its tangent is zero. With `has_aux` `func` returns a pair (output, aux), and the result is (output, tangents, aux).

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.),), (torch.tensor(2.),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"jvp(f, primals, tangents): Expected primals to be a tuple, but got {type(primals).__name__}")
    if not isinstance(tangents, tuple) or shape_of(primals) != shape_of(tangents):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure, "
            f"but got {shape_of(primals)} and {shape_of(tangents)}"
        )
    if not leaves(primals):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to contain at least one Tensor")
    for given in (*leaves(primals), *leaves(tangents)):
        if not isinstance(given, Tensor):
            raise RuntimeError(
                f"jvp(f, primals, tangents): Expected primals and tangents to only contain Tensors, but got {type(given).__name__}"
            )
    around, outer = _f.transform_level(), levels.numbers
    try:
        number = _f.jvp_begin()
        levels.numbers = (*outer, number)
        return differentiated(func, primals, tangents, number, strict, has_aux)
    finally:  # also for an exception of a signal handler at the beginning or end of the level
        levels.numbers = outer
        _f.transform_leave(around)


def linearize(func, *primals):
    """Returns `func(*primals)` and a function that computes Jacobian-vector products at `primals`.

    The returned function takes one tangent for each of `primals`. Unlike in PyTorch it calls `func` again each time.

    >>> y, multiplied = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> multiplied(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def differentiated(func, primals, tangents, number, strict, has_aux):
    """Returns the result of jvp() at level `number`."""
    output = func(*mapped(lambda t, vector: _f.jvp_wrap(t, vector, number), primals, tangents))
    aux = None
    if has_aux:
        if not (isinstance(output, tuple) and len(output) == 2):
            raise RuntimeError("jvp(f, primals, tangents): output of function f should be a tuple: (output, aux) if has_aux is True")
        output, aux = output
        require_aux(aux)
    require_tensors(leaves(output), "jvp(f, primals, tangents)")
    made = mapped(lambda t: slope(t, number, strict), output)
    output, aux = (mapped(lambda t: _f.jvp_primal(t, number) if isinstance(t, Tensor) else t, tree) for tree in (output, aux))
    return (output, made, aux) if has_aux else (output, made)


def slope(t, number, strict):
    """Returns the tangent of a result of jvp's function, zeros if it has none."""
    made = _f.jvp_tangent(t, number)
    if made is None and strict:
        raise RuntimeError("jvp(f, primals, tangents): a result does not depend on the primals, which strict=True does not allow")
    return _f.zeros_like(_f.jvp_primal(t, number)) if made is None else made


# ---------------------------------------------------------------------------------------------------------- Jacobians


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """Returns a function that computes the Jacobian of `func` with respect to argument `argnums`, or to a tuple of arguments, in reverse
    mode.

    For each tensor of the result, and in it for each argument, the Jacobian is a tensor of the result's sizes followed by the argument's.
    `chunk_size` is the number of rows that one batched backward pass computes, all by default. With `has_aux` `func` returns a pair
    (output, aux), and the result is (Jacobian, aux). Raises RuntimeError for complex inputs and outputs.

    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0. (got {chunk_size})")

    @wraps(func)
    def jacobian(*args, **kwargs):
        run = Evaluation(lambda *given: func(*given, **kwargs), args, argnums, has_aux, "vjp(f, *primals)")
        real_alone("jacrev", "inputs", run.operands)
        real_alone("jacrev", "outputs", run.outputs)
        run.seeded("vjp(f, *primals)")
        made = run.finished(mapped(lambda output: refilled(run.inputs, rows(run, output, chunk_size)), run.output))
        return (made, run.finished(run.aux)) if has_aux else made

    return jacobian


def real_alone(name, kind, found):
    """Raises RuntimeError for complex tensors, whose Jacobian is not unique."""
    for i, t in enumerate(found):
        if t.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {kind} to be real but received complex tensor at flattened input idx: {i}; use view_as_real() for "
                "both parts"
            )


def rows(run, output, chunk_size):
    """Returns the derivatives of each element of an output, stacked, for each operand, computed by backward passes of `chunk_size` elements
    at a time."""
    n = output.numel()
    if not n:
        return [t.detach().new_zeros((*output.shape, *t.shape)) for t in run.operands]
    with inference_mode(False):
        seeds = _f.eye(n, dtype=output.dtype, device=output.device).reshape((n, *output.shape))
    made = vmap(lambda seed: tuple(run.gradients([output], [seed])), randomness="different", chunk_size=chunk_size)(seeds)
    return [columns.reshape((*output.shape, *t.shape)) for columns, t in zip(made, run.operands, strict=True)]


def directions(operands):
    """Returns, for each tensor, a batch of tangents: one for each element of all tensors, along a new first dimension."""
    start, made = 0, []
    for t in operands:
        every = _f.zeros((sum(t.numel() for t in operands), t.numel()), dtype=t.dtype, device=t.device)
        every.narrow(0, start, t.numel()).fill_diagonal_(1)
        made.append(every.reshape((len(every), *t.shape)))
        start += t.numel()
    return made


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """Returns a function that computes the Jacobian of `func` with respect to argument `argnums`, or to a tuple of arguments, in forward
    mode.

    It computes all columns at once by vmap, which is faster than jacrev if the results have more elements than the arguments. The Jacobian
    has the dtype of the results and the structure of jacrev's. `randomness` is passed to vmap. Raises RuntimeError for complex inputs and
    outputs.

    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @wraps(func)
    def jacobian(*args, **kwargs):
        chosen = positions(argnums, len(args), "jacfwd(f)(*args)")
        primals = tuple(args[i] for i in chosen)
        operands = tensors(primals)
        real_alone("jacfwd", "inputs", operands)
        lengths, kept = [t.numel() for t in operands], []

        def given(*inputs):
            every = list(args)
            for i, value in zip(chosen, inputs, strict=True):
                every[i] = value
            return func(*every, **kwargs)

        def pushed(*tangents):
            output, made, *aux = jvp(given, primals, refilled(primals, tangents), has_aux=has_aux)
            real_alone("jacfwd", "outputs", tensors(output))
            level = _f.transform_level()
            kept[:] = mapped(lambda t: first(t, level), aux)
            return made

        def columns(made):
            blocks = zip(made.split(lengths), operands, strict=True)
            blocks = [block.movedim(0, -1).reshape((*made.shape[1:], *t.shape)) for block, t in blocks]
            return refilled(args[argnums] if isinstance(argnums, int) else primals, blocks)

        made = mapped(columns, vmap(pushed, randomness=randomness)(*directions(operands)))
        return (made, kept[0]) if has_aux else made

    return jacobian


def first(t, level):
    """Returns the first batch element of a tensor that vmap's level `level` maps over; other values as they are."""
    return _f.vmap_unwrap(t, 0, level)[0] if isinstance(t, Tensor) and _f.vmap_maps(t, level) else t


def hessian(func, argnums=0):
    """Returns a function that computes the Hessian of `func` with respect to argument `argnums`: forward mode over reverse mode, as in
    PyTorch.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# -------------------------------------------------------------------------------------------------------------- modules


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """Returns `module(*args, **kwargs)`, called with the given parameters and buffers instead of the module's own.

    `parameter_and_buffer_dicts` is a dictionary of tensors by name, or a sequence of dictionaries with different names. Names that are not
    given keep the module's tensors. `args` is a tuple, or the only argument. With `tie_weights`, the default, a tensor that the module has
    under several names is replaced under all of them; with `strict` the dictionary must have exactly the module's names. Raises ValueError
    for a name in two dictionaries, and for different tensors under tied names.

    >>> torch.func.functional_call(torch.nn.Linear(1, 1), {"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, torch.ones(1, 1))
    tensor([[1.]])
    """
    from .nn.utils.stateless import _functional_call

    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        if not isinstance(given, (list, tuple)) or not all(isinstance(each, dict) for each in given):
            raise ValueError(f"functional_call: expected a dictionary, or a list of dictionaries, but got {type(given).__name__}")
        names = [name for each in given for name in each]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name} appears in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: value for each in given for name, value in each.items()}
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models):
    """Returns the parameters and the buffers of several modules of one class, stacked along a new first dimension, as two dictionaries by
    name.

    The stacked parameters are leaves that require grad if the modules' parameters do. Raises RuntimeError without modules, for modules of
    different classes, and for modules of which only some are in training mode.

    >>> params, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> params["weight"].shape, buffers
    (torch.Size([3, 1, 2]), {})
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return tuple(
        {name: stacked_leaf([dict(each)[name] for each in columns], name) for name in dict(columns[0])}
        for columns in ([list(model.named_parameters()) for model in models], [list(model.named_buffers()) for model in models])
    )


def stacked_leaf(tensors, name):
    """Returns the tensors stacked along a new first dimension, as a leaf."""
    wanted = {t.requires_grad for t in tensors}
    if len(wanted) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return _f.stack(tensors).detach().requires_grad_(wanted.pop())


def replace_all_batch_norm_modules_(root):
    """Removes the running statistics of every BatchNorm module in `root`, which vmap cannot update, and returns `root`."""
    from .nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func, *, remove="mutations"):
    """Returns a function with the results of `func`. Its operators stay as they are: no compiler needs them without mutations."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): remove must be 'mutations' or 'mutations_and_views', got {remove!r}")

    @wraps(func)
    def functional(*args, **options):
        return func(*args, **options)

    return functional


def __dir__():
    return __all__
