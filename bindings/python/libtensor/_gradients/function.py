"""autograd.Function: custom operations with user-defined forward and backward."""

from functools import wraps
from inspect import signature

from .._base.direct import APPLIES, d_apply_with, described, function, state
from .._base.errors import keep_for_caller
from .._base.library import SUBINTERPRETER
from .._base.warnings import warn
from .._core.modes import is_grad_enabled, no_grad
from .._core.tensor import Tensor, given_to
from .._gen import gen_functions as _f
from .function_levels import at_level, innermost
from .nodes import Node


class FunctionCtx:
    """The context of a call of a Function: saved tensors, and any other attributes that forward sets for backward."""

    needs_input_grad = ()
    materialize_grads = True
    _classes = None  # the saved values, unless all are plain tensors
    pushing = False  # whether jvp is called as well
    _levelled = None  # the saved values, as tensors of the transform in which a method runs
    to_save = to_push = dirty = non_differentiable = ()

    def save_for_backward(self, *tensors):
        """Saves tensors for backward, as `ctx.saved_tensors`. They must not be modified in place before backward."""
        self.to_save = tensors
        for tensor in tensors:
            if tensor.__class__ is not Tensor and tensor is not None:
                self._classes = tuple(map(type, tensors))
                break

    def save_for_forward(self, *tensors):
        """Saves tensors for jvp, as `ctx.saved_tensors`."""
        if self.pushing:
            self.to_push = tensors

    def mark_dirty(self, *args):
        """Marks inputs that forward modifies in place; forward must return them."""
        self.dirty = args
        for tensor in args:  # counts writes that bypass the operators, such as NumPy's
            if isinstance(tensor, Tensor) and not tensor.is_inference():
                _f.increment_version(tensor)

    def mark_non_differentiable(self, *args):
        """Marks outputs as non-differentiable."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """Sets whether backward receives zeros (True, the default) or None for undefined gradients of outputs."""
        self.materialize_grads = value


class BackwardFunction(FunctionCtx, Node):
    """The node of a call of a Function, and the ctx of its forward and backward."""

    def __repr__(self):
        return f"<libtensor.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    @property
    def saved_tensors(self):
        if self._levelled is not None:
            return self._levelled
        saved = tuple(_f.node_saved(self._h)) if self._h else ()
        if self._classes is None:
            return saved
        return tuple([t if t is None or kind is Tensor else given_to(kind, t) for t, kind in zip(saved, self._classes, strict=True)])

    @property
    def saved_variables(self):
        warn("saved_variables: deprecated, as in PyTorch; use saved_tensors", DeprecationWarning)
        return self.saved_tensors

    @property
    def metadata(self):
        return self.__dict__.setdefault("_metadata", {})

    def name(self):
        return type(self).__name__

    def gradients(self, grads):
        """Returns the gradients of the tensor arguments from those of the outputs."""
        made = self.forward_class._backward()(self, *grads)
        return self.checked(made if isinstance(made, tuple) else (made,))

    def checked(self, made):
        wanted, name = len(self.is_tensor), type(self).__name__
        if len(made) < wanted or any(grad is not None for grad in made[wanted:]):
            raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {wanted}, got {len(made)})")
        for i, (grad, is_tensor) in enumerate(zip(made, self.is_tensor, strict=False)):
            if grad is not None and not is_tensor:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, "
                    "but the corresponding forward input was not a Variable"
                )
            if grad is not None and not isinstance(grad, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
        return [grad for grad, is_tensor in zip(made, self.is_tensor, strict=False) if is_tensor]


class Function:
    """Base class of custom autograd operations, which are called by apply(*args).

    A subclass defines the static methods forward(ctx, *args) and backward(ctx, *grads), or forward(*args), setup_context(ctx, inputs,
    output) and backward. vmap requires setup_context, and the method vmap or generate_vmap_rule = True; forward-mode differentiation calls
    the method jvp if it is defined, and otherwise differentiates backward.

    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * 3 * x**2
    >>> x = torch.tensor(2., requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(cls.__name__ + "Backward", (BackwardFunction,), {"forward_class": cls, "__module__": cls.__module__})

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"a Function is not called as an object: its methods are static; use {type(self).__name__}.apply(...)")

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the operation. Defined by subclasses."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Saves tensors and attributes in ctx for backward, if forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Returns the gradients of the arguments, None for arguments without one, from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @classmethod
    def _backward(cls):
        if cls.vjp is not Function.vjp and cls.backward is not Function.backward:
            raise RuntimeError(
                f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: {cls.__name__} has both; implement one of "
                "them."
            )
        return cls.vjp if cls.vjp is not Function.vjp else cls.backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Returns the tangents of the outputs, None for outputs without one, from those of the arguments."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        """Returns the outputs for a whole batch and their batch dimensions. Batched arguments have their batch dimension at in_dims, None
        for unbatched ones; `info` has batch_size and randomness."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    def apply(cls, *args, **kwargs):
        """Calls forward, and adds a node to the autograd graph if an argument requires grad."""
        if cls.setup_context is not Function.setup_context:
            args, kwargs = bound(cls.forward, args, kwargs)
        if SUBINTERPRETER and is_grad_enabled() and any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
            raise NotImplementedError("callbacks are not supported in a subinterpreter, which can end before the library")
        if level := innermost(args):
            return at_level(level, cls, args, kwargs, Function, applied)
        return applied(cls, cls._backward_cls(), *args, **kwargs)


def bound(forward, args, kwargs):
    """Returns the arguments of a call by position, and the keyword-only ones by name, with the defaults of forward."""
    arguments = signature(forward).bind(*args, **kwargs)
    arguments.apply_defaults()
    return arguments.args, arguments.kwargs


# The call of a Function from C, which replaces the method above: that one binds arguments and handles transforms first, and calls this
# function.
applied = function("applied", how=APPLIES)
direct_apply = described(function("apply", how=APPLIES, fallback=Function.apply), Function.apply)
d_apply_with(state, keep_for_caller, Function.setup_context)
Function.apply = classmethod(Function.apply if SUBINTERPRETER else direct_apply)


class InplaceFunction(Function):
    """A Function whose instances have an attribute `inplace`. apply() is called on the class."""

    def __init__(self, inplace=False):
        self.inplace = inplace


def once_differentiable(backward):
    """Decorator of a backward that cannot be differentiated: a second derivative raises RuntimeError."""

    @wraps(backward)
    def once(ctx, *grads):
        with no_grad():
            made = backward(ctx, *grads)
        wanted = [grad for grad in grads if isinstance(grad, Tensor) and grad.requires_grad]
        if not is_grad_enabled() or not wanted:
            return made
        outputs = made if isinstance(made, tuple) else (made,)
        message = f"trying to differentiate twice a function that was marked with @once_differentiable: {type(ctx).__name__}"
        tensors = [output for output in outputs if isinstance(output, Tensor)]
        delayed = iter(DelayedError.apply(message, len(tensors), *tensors, *wanted) if tensors else ())
        outputs = tuple(next(delayed) if isinstance(output, Tensor) else output for output in outputs)
        return outputs if isinstance(made, tuple) else outputs[0]

    return once


class DelayedError(Function):
    """Returns the first of its tensors; its gradient raises an error."""

    @staticmethod
    def forward(ctx, message, count, *tensors):
        ctx.message = message
        return tuple(tensor.detach() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(ctx.message)
