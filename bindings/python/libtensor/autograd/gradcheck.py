"""Comparison of derivatives with finite differences: gradcheck and gradgradcheck."""

import itertools
import warnings
from collections.abc import Iterable

from .._base import dtypes as _dtypes
from .._core.modes import enable_grad
from .._core.tensor import Tensor
from .._data.random import Generator
from .._gen import gen_functions as _f
from .._gradients.function import Function
from .._gradients.grad import grad
from .._gradients.vmap import vmap
from .._storages import serialize as _serialize
from . import forward_ad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """Computed derivatives differ from finite differences."""


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Returns True if the gradients of `func` at `inputs` agree with central differences, for all inputs that require grad.

    Otherwise raises GradcheckError, which names the gradient, or returns False if `raise_exception` is False. Inputs should be float64 or
    complex128. The real and imaginary parts of complex tensors are compared separately. `fast_mode` compares in one random direction
    instead of element by element. Of sparse inputs only the specified elements are perturbed, for any value of `masked`.

    `check_backward_ad` compares the gradients of backward(), `check_forward_ad` the tangents of forward-mode differentiation. With
    `check_batched_grad` the gradients that vmap computes of several gradients at once are compared with those of one at a time, with
    `check_batched_forward_grad` the tangents. Raises AssertionError for options that contradict one another.

    >>> x = torch.tensor([0.5, 2.], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    require(check_forward_ad or check_backward_ad, "Expected at least one of check_forward_ad or check_backward_ad to be True")
    require(check_backward_ad or not check_batched_grad, "Setting check_batched_grad=True requires check_backward_ad to be True")
    require(
        check_forward_ad or not check_batched_forward_grad, "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    )
    func, inputs = of_entries(func, inputs)
    wanted = checked_inputs(inputs)
    try:
        check = Check(func, inputs, wanted, eps, atol, rtol)
        if check_backward_ad:
            check.run(fast_mode, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad)
        if check_forward_ad:
            check.forward(fast_mode, check_batched_forward_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """Returns True if the second derivatives of `func` at `inputs`, and the derivatives with respect to `grad_outputs`, agree with central
    differences.

    `grad_outputs` are the gradients with respect to the outputs, random by default. Errors and options are those of gradcheck().
    `check_rev_over_rev` compares the gradients of gradients, `check_fwd_over_rev` their tangents in forward-mode differentiation.

    >>> x = torch.tensor([0.5, 2.], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, (x,))
    True
    """
    require(check_fwd_over_rev or check_rev_over_rev, "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    require(check_rev_over_rev or not check_undefined_grad, "Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    require(check_rev_over_rev or not check_batched_grad, "Setting check_batched_grad=True requires check_rev_over_rev to be True")
    func, inputs = of_entries(func, inputs)
    if grad_outputs is None:
        with enable_grad():
            outputs = outputs_of(func, inputs)
        grad_outputs = tuple(random_like(t, strided=gen_non_contig_grad_outputs).requires_grad_() for t in outputs if t.requires_grad)
    else:
        grad_outputs = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    given = len(inputs)

    def gradients(*args):
        operands = [t for t in args[:given] if is_wanted(t)]
        outputs = [t for t in outputs_of(func, args[:given]) if t.requires_grad]
        made = grad(outputs, operands, args[given:], create_graph=True, allow_unused=True) if outputs else ()
        return tuple(t for t in made if t is not None)

    return gradcheck(
        gradients,
        inputs + grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def require(holds, text):
    if not holds:
        raise AssertionError(text)


# ----------------------------------------------------------------------------------------------------- inputs and outputs


def of_entries(func, inputs):
    """Returns the function and its inputs with sparse inputs replaced by their values, and sparse results by dense ones."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    sparse = {i: t for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.layout is not _dtypes.strided}
    values = {i: _serialize.parts(t)[-1].detach().requires_grad_(t.requires_grad) for i, t in sparse.items()}

    def made_of(t, entries):
        *indices, _ = _serialize.parts(t)
        return _serialize.rebuild_sparse(t.layout, [*indices, entries], tuple(t.shape), t.layout is _dtypes.sparse_coo and t.is_coalesced())

    def dense(t):
        return t.to_dense() if isinstance(t, Tensor) and t.layout is not _dtypes.strided else t

    def of_values(*args):
        made = func(*(made_of(sparse[i], t) if i in sparse else t for i, t in enumerate(args)))
        return tuple(map(dense, made)) if isinstance(made, tuple | list) else dense(made)

    return of_values, tuple(values.get(i, t) for i, t in enumerate(inputs))


def is_wanted(t):
    return isinstance(t, Tensor) and t.requires_grad


def checked_inputs(inputs):
    """Returns the indices of the inputs that require grad."""
    wanted = [i for i, t in enumerate(inputs) if is_wanted(t)]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    for i in wanted:
        t = inputs[i]
        if t.dtype not in (_dtypes.float64, _dtypes.complex128):
            warnings.warn(f"Input #{i} requires gradient and is {t.dtype}: gradcheck needs float64 or complex128", stacklevel=3)
        if any(stride == 0 and size > 1 for stride, size in zip(t.stride(), t.shape, strict=True)):
            raise RuntimeError(
                f"Input #{i} has a dimension with stride 0: its elements cannot be perturbed one by one; pass its contiguous() copy"
            )
    return wanted


def outputs_of(func, inputs):
    """Returns the floating-point and complex tensors that a function returns."""
    made = func(*inputs)
    made = (made,) if isinstance(made, Tensor) else tuple(made)
    return [t for t in made if isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())]


def _iter_tensors(x, only_requiring_grad=False):
    """Yields the tensors of nested iterables, in order."""
    if isinstance(x, Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, Iterable) and not isinstance(x, str):
        for part in x:
            yield from _iter_tensors(part, only_requiring_grad)


def _get_numerical_jacobian(fn, inputs, outputs=None, target=None, eps=1e-3, is_forward_ad=False):
    """Returns, for each tensor of `target` that requires grad (default: of `inputs`), a tuple with one Jacobian for each output of
    `fn(*inputs)`: central differences of shape (elements of the tensor, elements of the output).

    Raises ValueError if an input or, unless `is_forward_ad`, an output is complex.
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if outputs is None:
        outputs = outputs_of(fn, inputs)
    for what, tensors in (("input", _iter_tensors(inputs)), ("output", () if is_forward_ad else outputs)):
        if any(t.is_complex() for t in tensors):
            raise ValueError(
                f"Expected {what} to be non-complex. get_numerical_jacobian no longer supports functions with complex {what}s."
            )
    check = Check(fn, inputs, [], eps, 0, 0)
    check.outputs = [(t.shape, t.dtype) for t in outputs]
    jacobians = []
    for x in _iter_tensors(inputs if target is None else target, True):
        t = x.detach()
        slopes = [check.difference(t, way) for way in bases(t)]
        by_output = zip(*slopes, strict=True) if slopes else ([] for _ in outputs)
        jacobians.append(
            tuple(_f.stack(rows).to(o.dtype) if rows else o.new_zeros((0, o.numel())) for o, rows in zip(outputs, by_output, strict=True))
        )
    return jacobians


def random_like(t, generator=None, strided=False):
    made = _f.rand((*t.shape, 2) if strided else t.shape, dtype=t.dtype, generator=generator) * 2 - 1
    return made[..., 0] if strided else made


def direction(t, generator):
    """A tensor like `t` of unit length with positive random numbers, along which the fast mode compares."""
    numbers = _f.rand((*t.shape, 2) if t.is_complex() else t.shape, dtype=t.dtype.to_real(), generator=generator)
    numbers = numbers / numbers.norm().clamp(min=1e-30)
    return _f.view_as_complex(numbers) if t.is_complex() else numbers


def parts(t):
    """Returns the numbers of a tensor as a vector: of complex elements, the real and the imaginary part."""
    t = t.detach()
    return (_f.view_as_real(t.resolve_conj().contiguous()) if t.is_complex() else t).reshape(-1)


def bases(t):
    """Returns the unit vectors of a tensor: for each number a tensor of zeros with a 1, or the imaginary unit."""
    for index in itertools.product(*map(range, t.shape)):
        for step in (1, 1j) if t.is_complex() else (1,):
            made = _f.zeros_like(t)
            made[index] = step
            yield made


# -------------------------------------------------------------------------------------------------------------- the check


NEW = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing callers of "
    "this "
    'function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the feature'
)


class Undefined(Function):
    """An output whose gradient is undefined."""

    @staticmethod
    def forward(ctx, t):
        return t.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


class Check:
    """A check of a function at inputs. Gradients are computed first, since finite differences change the inputs temporarily."""

    def __init__(self, func, inputs, wanted, eps, atol, rtol):
        self.func, self.inputs, self.wanted = func, inputs, wanted
        self.eps, self.atol, self.rtol = eps, atol, rtol
        # The default generator stays as it is, so that a function that draws from it returns the same for all evaluations.
        self.generator = Generator()

    def forward(self, fast, batched):
        """Compares tangents with finite differences, and with those that vmap computes of several at once."""
        with enable_grad():
            self.outputs = [(t.shape, t.dtype) for t in outputs_of(self.func, self.inputs)]
        for place in self.wanted:
            t = self.inputs[place].detach()
            ways = [direction(t, self.generator)] if fast else list(bases(t))
            tangents = [self.tangents(place, way) for way in ways]
            slopes = [self.difference(t, way) for way in ways]
            for number in range(len(self.outputs)) if ways else ():
                analytical = _f.stack([parts(row[number]) for row in tangents]).to(_dtypes.float64)
                numerical = _f.stack([slope[number] for slope in slopes])
                if not close(analytical, numerical, self.rtol, self.atol * (parts(ways[0]).sum().item() if fast else 1)):
                    raise GradcheckError(
                        f"Jacobian computed with forward mode mismatch for output {number} with respect to input {place},\n"
                        f"numerical:{numerical}\nanalytical:{analytical}\n"
                    )
            if batched:
                self.batched_tangents(place, [random_like(t, self.generator), random_like(t, self.generator)])

    def tangents(self, place, way):
        """Returns the tangents of all outputs for the tangent `way` of an input; zeros for missing ones."""
        with forward_ad.dual_level(), enable_grad():
            dual = forward_ad.make_dual(self.inputs[place], way)
            outputs = outputs_of(self.func, (*self.inputs[:place], dual, *self.inputs[place + 1 :]))
            found = [forward_ad.unpack_dual(t) for t in outputs]
            return [_f.zeros_like(primal) if tangent is None else tangent for primal, tangent in found]

    def batched_tangents(self, place, ways):
        """Compares the tangents that vmap computes of several at once with those of one at a time."""
        each = [self.tangents(place, way) for way in ways]
        try:
            together = vmap(lambda way: tuple(self.tangents(place, way)))(_f.stack(ways))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        for number, made in enumerate(together):
            self.alike_batches(f"output {number} with respect to input {place}", made, _f.stack([row[number] for row in each]))

    def batched_gradients(self, number, output):
        """Compares the gradients that vmap computes of several gradients at once with those of one at a time."""
        seeds = [random_like(output, self.generator), random_like(output, self.generator)]
        each = [self.gradients([output], [seed]) for seed in seeds]
        operands = [self.inputs[i] for i in self.wanted]
        try:
            together = grad([output], operands, [_f.stack(seeds)], retain_graph=True, allow_unused=True, is_grads_batched=True)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        for k, (place, made) in enumerate(zip(self.wanted, together, strict=True)):
            expected = _f.stack([row[k] for row in each])
            self.alike_batches(
                f"output {number} with respect to input {place}", _f.zeros_like(expected) if made is None else made, expected
            )

    def alike_batches(self, which, together, each):
        if not close(parts(together), parts(each), self.rtol, self.atol):
            raise GradcheckError(f"Batched gradients mismatch for {which},\nbatched:{together}\none at a time:{each}\n")

    def run(self, fast, nondet_tol, undefined, dtypes, batched):
        with enable_grad():
            outputs = outputs_of(self.func, self.inputs)
        self.outputs = [(t.shape, t.dtype) for t in outputs]
        live = [(number, t) for number, t in enumerate(outputs) if t.requires_grad]
        for number, t in live:
            self.zeros(number, t, dtypes)
            if batched:
                self.batched_gradients(number, t)
        if undefined and live:
            self.undefined([t for _, t in live])
        if undefined and len(live) > 1:
            self.together([t for _, t in live])
        # For each output the weights of its numbers, and the gradients of each weighted sum.
        seeds = [([direction(t, self.generator)] if fast else list(bases(t))) if t.requires_grad else [] for t in outputs]
        rows = [[self.repeated(t, seed, nondet_tol) for seed in own] for t, own in zip(outputs, seeds, strict=True)]
        for k, place in enumerate(self.wanted):
            t = self.inputs[place].detach()
            ways = [direction(t, self.generator)] if fast else list(bases(t))
            slopes = [self.difference(t, way) for way in ways]
            for number, output in enumerate(outputs):
                columns = [slope[number] for slope in slopes]
                if not output.requires_grad:
                    self.constant(number, place, columns)
                elif columns and rows[number]:
                    weights, gradients = _f.stack([parts(v) for v in seeds[number]]), _f.stack([parts(row[k]) for row in rows[number]])
                    numerical = _f.stack(columns) @ weights.T.to(_dtypes.float64)
                    analytical = _f.stack([parts(v) for v in ways]).to(_dtypes.float64) @ gradients.T.to(_dtypes.float64)
                    # The absolute tolerance is that of an element of the Jacobian: the fast mode compares a weighted sum of them.
                    weight = parts(ways[0]).sum().item() * parts(seeds[number][0]).sum().item() if fast else 1
                    self.same(number, place, analytical, numerical, self.atol * weight)

    def gradients(self, outputs, seeds):
        """Returns the gradients of the inputs, zeros for missing ones."""
        operands = [self.inputs[i] for i in self.wanted]
        return grad(outputs, operands, seeds, retain_graph=True, allow_unused=True, materialize_grads=True)

    def difference(self, t, way):
        """Returns the finite differences of all outputs' numbers when an input changes."""
        values, saved = [], t.clone()
        for sign in (1, -1):
            t.add_(way * (sign * self.eps))
            try:
                with enable_grad():  # the function may differentiate
                    outputs = outputs_of(self.func, self.inputs)
                alike(self.outputs, outputs)
                values.append([parts(v).to(_dtypes.float64, copy=True) for v in outputs])
            finally:
                t.copy_(saved)
        return [(after - before) / (2 * self.eps) for after, before in zip(*values, strict=True)]

    def zeros(self, number, output, dtypes):
        """Checks that a backward pass of zeros returns zeros of the inputs' sizes."""
        for place, t in zip(self.wanted, self.gradients([output], [_f.zeros_like(output)]), strict=True):
            of = self.inputs[place]
            if t.shape != of.shape:
                raise GradcheckError(f"grad is incorrect size: input {place} has shape {of.shape} and its gradient {t.shape}")
            if dtypes and t.dtype != of.dtype:
                raise GradcheckError(f"grad is incorrect type: input {place} has dtype {of.dtype} and its gradient {t.dtype}")
            if t.layout is not of.layout:
                raise GradcheckError(f"grad is incorrect layout ({t.layout} is not {of.layout})")
            if t.ne(0).any():
                raise GradcheckError(
                    f"backward not multiplied by grad_output: a zero gradient of output {number} results in a nonzero gradient of input "
                    f"{place}"
                )

    def repeated(self, output, seed, nondet_tol):
        """Checks that a backward pass returns the same gradients twice."""
        first, second = self.gradients([output], [seed]), self.gradients([output], [seed])
        for a, b in zip(first, second, strict=True):
            if a.numel() and parts(a).sub(parts(b)).abs().max() > nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                    "values; "
                    f"the tolerance for nondeterminism was {nondet_tol}"
                )
        return first

    def undefined(self, outputs):
        """Checks that undefined gradients of all outputs return undefined gradients or zeros."""
        with enable_grad():
            ends = [Undefined.apply(t) for t in outputs]
        try:
            grads = grad(
                ends, [self.inputs[i] for i in self.wanted], [_f.zeros_like(t) for t in ends], retain_graph=True, allow_unused=True
            )
        except RuntimeError as error:
            warnings.warn(NEW, stacklevel=4)
            raise GradcheckError(
                "Expected backward function to handle undefined output grads: hooks and functions receive None for those, "
                f"but backward raised {type(error).__name__}: {error}"
            ) from error
        for place, t in zip(self.wanted, grads, strict=True):
            if t is not None and t.ne(0).any():
                warnings.warn(NEW, stacklevel=4)
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero, but that of input "
                    f"{place} is {t}"
                )

    def together(self, outputs):
        """Checks that the gradient of several outputs is the sum of their gradients while the others are undefined."""
        seeds = [random_like(t, self.generator) for t in outputs]
        whole = self.gradients(outputs, seeds)
        alone = [self.gradients([t], [seed]) for t, seed in zip(outputs, seeds, strict=True)]
        for k, place in enumerate(self.wanted):
            total = parts(sum(grads[k] for grads in alone))
            if not close(total, parts(whole[k]), self.rtol, self.atol):
                raise GradcheckError(f"Expected undefined gradients of outputs to count as zeros, but those of input {place} do not add up")

    def constant(self, number, place, columns):
        """Checks that an output without a grad_fn does not change."""
        if any(c.ne(0).any() for c in columns):
            raise GradcheckError(
                f"Numerical gradient for function expected to be zero: output {number} requires no gradient, but changes with input {place}"
            )

    def same(self, number, place, analytical, numerical, atol):
        if not close(analytical, numerical, self.rtol, atol):
            raise GradcheckError(
                f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{numerical}\nanalytical:{analytical}\n"
            )


def alike(before, outputs):
    """Raises an error for a function whose results change in more than their elements when an input changes."""
    for what, one in (("shape", 0), ("dtype", 1)):
        first, now = [like[one] for like in before], [(t.shape, t.dtype)[one] for t in outputs]
        if first != now:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed, but got {now} instead of {first}"
            )


def close(a, b, rtol, atol):
    return bool(_f.allclose(a.to(_dtypes.float64), b.to(_dtypes.float64), rtol, atol, equal_nan=True))


def __dir__():
    return __all__
