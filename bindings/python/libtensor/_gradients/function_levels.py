"""Custom functions inside transforms: their methods vmap and jvp, and the vmap rule that is generated from forward and backward."""

from collections import namedtuple
from ctypes import c_int64, c_uint32
from typing import Any

from .._base.library import getter
from .._core.modes import no_grad
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .forward import level_of, pushed
from .vmap import leaves, mapped, refilled, shape_of, spread

# Sets the transform level of the thread to the enclosing one, and restores the returned level.
lower_transform = getter("tensor_lower_transform", c_uint32, c_int64)
restore_transform = getter("tensor_restore_transform", None, c_uint32)

VmapInfo = namedtuple("VmapInfo", ("batch_size", "randomness"))


def as_tuple(made):
    return made if isinstance(made, tuple) else (made,)


def innermost(values):
    """Returns the innermost transform of which some of the values are tensors, 0 for none."""
    return max((max(_f.vmap_level(v), _f.jvp_level(v)) for v in values if isinstance(v, Tensor)), default=0)


def at_level(level, cls, args, kwargs, base, applied):
    """Returns the result of a Function inside a transform that one of its arguments belongs to. `base` is the class Function; applied(cls,
    ctx, *args) calls forward and records the call.
    """
    if level == level_of(args):
        if cls.jvp is base.jvp:
            return pushed(lambda *inputs: cls.apply(*inputs, **kwargs), level, args)
        return Pushed(cls, args, kwargs, level, base).results(applied)
    if cls.setup_context is base.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            "setup_context "
            f"staticmethod, which {cls.__name__} does not"
        )
    if cls.generate_vmap_rule and cls.vmap is not base.vmap:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
            f"Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
        )
    if not cls.generate_vmap_rule and cls.vmap is base.vmap:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. "
            f"Please override and implement the vmap staticmethod or set generate_vmap_rule=True."
        )
    if any(isinstance(arg, Tensor) for arg in kwargs.values()):
        raise NotImplementedError(f"{cls.__name__}: kwarg-only Tensor args are not supported inside vmap; pass tensors by position")
    dims = mapped(lambda arg: 0 if isinstance(arg, Tensor) and _f.vmap_maps(arg, level) else None, tuple(args))
    given = mapped(lambda arg, d: arg if d is None else _f.vmap_unwrap(arg, d, level), tuple(args), dims)
    size = next(t.shape[0] for t, d in zip(leaves(given), leaves(dims), strict=True) if d is not None)
    info = VmapInfo(size, _f.vmap_randomness(level))
    with Around(level):
        made = by_rule(cls, base, info, dims, given) if cls.generate_vmap_rule else cls.vmap(info, dims, *given, **kwargs)
    return over_examples(cls, made, level, leaves(tuple(args)), leaves(given))


class Around:
    """A context manager that sets the thread's transform to an enclosing one; random numbers are drawn as in that one."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        self.inside = lower_transform(self.level)

    def __exit__(self, *_):
        restore_transform(self.inside)


def over_examples(cls, made, level, args, given):
    """Converts the batched outputs of the method vmap to batched tensors; an argument that it returns is the caller's tensor."""
    if not (isinstance(made, tuple) and len(made) == 2):
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "
            f"Got a {type(made)} instead, from {cls.__name__}"
        )
    output, out_dims = made
    dims = spread(out_dims, output)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
            f"Expected out_dims={out_dims} to be compatible with the structure of `output`, which is {shape_of(output)}, in {cls.__name__}"
        )
    originals = {id(t): arg for t, arg in zip(given, args, strict=True) if isinstance(t, Tensor)}

    def one(t, d):
        if not isinstance(t, Tensor) or id(t) in originals:
            return originals.get(id(t), t)
        try:
            return t if d is None else _f.vmap_wrap(t, d, level)
        except (IndexError, RuntimeError) as error:
            raise type(error)(f"{error}, from the vmap staticmethod of {cls.__name__}") from None

    return refilled(output, [one(t, d) for t, d in zip(leaves(output), dims, strict=True)])


# ------------------------------------------------------------------------------------------ forward differentiation


def is_floating(t):
    return isinstance(t, Tensor) and (t.is_floating_point() or t.is_complex())


class Pushed:
    """A call of a Function with the method jvp for dual arguments."""

    def __init__(self, cls, args, kwargs, level, base):
        self.cls, self.args, self.kwargs, self.level, self.base = cls, args, kwargs, level, base
        self.primals = [_f.jvp_primal(arg, level) if isinstance(arg, Tensor) else arg for arg in args]
        self.tangents = [_f.jvp_tangent(arg, level) if isinstance(arg, Tensor) else None for arg in args]

    def results(self, applied):
        with Around(self.level):
            ctx, made = self.evaluated(applied)
        outputs = as_tuple(made)
        fills = ctx.materialize_grads
        given = [
            _f.zeros_like(p) if t is None and fills and is_floating(p) else t for p, t in zip(self.primals, self.tangents, strict=True)
        ]
        ctx._levelled = tuple(ctx.to_push or (ctx.saved_tensors if ctx._h else ctx.to_save))
        slopes = as_tuple(self.cls.jvp(ctx, *given))
        ctx._levelled, ctx.to_push = None, ()
        if len(slopes) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(slopes)}): "
                f"{self.cls.__name__}"
            )
        whole = tuple(map(self.dual, outputs, slopes))
        return whole if isinstance(made, tuple) else whole[0]

    def evaluated(self, applied):
        """Returns the outputs for the primals, and a ctx with the values that jvp needs."""
        ctx = self.cls._backward_cls()
        ctx.pushing = True
        if not innermost(self.primals):
            return ctx, applied(self.cls, ctx, *self.primals, **self.kwargs)
        if self.cls.setup_context is self.base.setup_context:
            raise RuntimeError(
                f"{self.cls.__name__}: a Function with the method jvp must override the setup_context staticmethod "
                "to be differentiated forward inside other transforms"
            )
        made = self.cls.apply(*self.primals)
        ctx.is_tensor = tuple(isinstance(arg, Tensor) for arg in self.primals)
        ctx.needs_input_grad = tuple(isinstance(arg, Tensor) and arg.requires_grad for arg in self.primals)
        with no_grad():
            self.cls.setup_context(ctx, tuple(self.primals), made)
        return ctx, made

    def dual(self, output, slope):
        """Returns an output with its tangent. If forward wrote to an argument, its tangent changes as well."""
        written = next((arg for p, arg in zip(self.primals, self.args, strict=True) if output is p and isinstance(output, Tensor)), None)
        if written is not None:
            tangent = _f.jvp_tangent(written, self.level)
            if tangent is None:
                raise NotImplementedError(
                    "inside jvp: a function wrote to an argument without a tangent; return another tensor from forward"
                )
            if slope is not None and slope is not tangent:
                tangent.copy_(slope)
            return written
        if slope is None or not isinstance(output, Tensor):
            return output
        if not isinstance(slope, Tensor):
            raise RuntimeError(f"the jvp of {self.cls.__name__} must return a Tensor or None, not {type(slope).__name__}")
        return _f.jvp_wrap(output, slope, self.level)


# --------------------------------------------------------------------------------------------------- generated rules


class Batch:
    """A context manager in which tensors with a batch dimension are batched tensors."""

    def __init__(self, info):
        self.info = info

    def __enter__(self):
        self.around = _f.transform_level()
        self.level = _f.vmap_begin(*self.info)
        return self

    def __exit__(self, *_):
        _f.transform_leave(self.around)

    def wrap(self, values, dims):
        return [v if d is None or not isinstance(v, Tensor) else _f.vmap_wrap(v, d, self.level) for v, d in zip(values, dims, strict=True)]

    def unwrap(self, t):
        """Returns the whole batch of a tensor and its batch dimension, None if it is unbatched."""
        if isinstance(t, Tensor) and _f.vmap_maps(t, self.level):
            return _f.vmap_unwrap(t, 0, self.level), 0
        return t, None


def by_rule(cls, base, info, dims, args):
    """Returns the result of the generated vmap rule of a Function."""
    rule = Rule(cls, info, dims)
    methods = ("forward", "setup_context", "backward", *(() if cls.jvp is base.jvp else ("jvp",)))
    namespace = {"generate_vmap_rule": True, "__module__": cls.__module__, **{name: staticmethod(getattr(rule, name)) for name in methods}}
    made: Any = type("Vmapped" + cls.__name__, (base,), namespace)
    output = made.apply(*args)
    return output, rule.out_dims if isinstance(output, tuple) else rule.out_dims[0]


class Rule:
    """The methods of a Function for the batches of a vmap, derived from its methods for single elements."""

    def __init__(self, cls, info, in_dims):
        self.cls, self.info, self.in_dims = cls, info, in_dims
        self.out_dims: Any = None

    def forward(self, *args):
        with Batch(self.info) as batch:
            given = batch.wrap(args, self.in_dims)
            made = self.cls.forward(*given)
            places = {id(t): pair for t, *pair in zip(given, args, self.in_dims, strict=True)}
            outputs = [places.get(id(t)) or batch.unwrap(t) for t in as_tuple(made)]
        self.out_dims = tuple(d for _, d in outputs)
        return tuple(t for t, _ in outputs) if isinstance(made, tuple) else outputs[0][0]

    def setup_context(self, ctx, inputs, output):
        inner = ctx.inner = self.cls._backward_cls()
        inner.is_tensor, inner.needs_input_grad, inner.pushing = ctx.is_tensor, ctx.needs_input_grad, ctx.pushing
        outputs = as_tuple(output)
        with Batch(self.info) as batch:
            given = batch.wrap(inputs, self.in_dims)
            known = {id(t): one for t, one in zip(inputs, given, strict=True)}
            made = [known.get(id(t), one) for t, one in zip(outputs, batch.wrap(outputs, self.out_dims), strict=True)]
            self.cls.setup_context(inner, tuple(given), tuple(made) if isinstance(output, tuple) else made[0])
            every = zip((*given, *made), (*inputs, *outputs), (*self.in_dims, *self.out_dims), strict=True)
            places = {id(one): (t, d) for one, t, d in every}
            saved, pushed = ([places.get(id(t)) or batch.unwrap(t) for t in kept] for kept in (inner.to_save, inner.to_push))
        ctx.save_for_backward(*(t for t, _ in saved))
        ctx.to_push = tuple(t for t, _ in pushed)
        ctx.saved_dims, ctx.pushed_dims = ([d for _, d in kept] for kept in (saved, pushed))
        ctx.mark_dirty(*(places[id(t)][0] for t in inner.dirty))
        ctx.mark_non_differentiable(*(places[id(t)][0] for t in inner.non_differentiable))
        ctx.set_materialize_grads(inner.materialize_grads)
        inner.to_save = inner.to_push = inner.dirty = inner.non_differentiable = ()

    def backward(self, ctx, *grads):
        return self.within(ctx, self.cls._backward(), grads, self.out_dims, ctx.saved_dims, self.gradient)

    def jvp(self, ctx, *tangents):
        return self.within(ctx, self.cls.jvp, tangents, self.in_dims, ctx.pushed_dims or ctx.saved_dims, self.tangent)

    def within(self, ctx, method, given, dims, saved_dims, finished):
        """Calls a method as if for one batch element, and returns its results for the whole batch."""
        inner = ctx.inner
        with Batch(self.info) as batch:
            inner._levelled = tuple(batch.wrap(ctx.saved_tensors, saved_dims))
            made = as_tuple(method(inner, *batch.wrap(given, dims)))
            inner._levelled = None
            return tuple(finished(i, *batch.unwrap(t)) for i, t in enumerate(made))

    def gradient(self, i, grad, d):
        """Returns the gradient of argument i, summed over the batch if the argument is unbatched."""
        mapped = i < len(self.in_dims) and self.in_dims[i] is not None
        if grad is None or mapped == (d is not None):
            return grad
        return grad.expand(self.info.batch_size, *grad.shape) if mapped else grad.sum(0)

    def tangent(self, i, tangent, d):
        mapped = i < len(self.out_dims) and self.out_dims[i] is not None
        return tangent.expand(self.info.batch_size, *tangent.shape) if mapped and d is None and isinstance(tangent, Tensor) else tangent
