"""Activation checkpointing: intermediate tensors are not saved for the backward pass, but recomputed in it."""

import enum
import warnings
from contextlib import contextmanager, nullcontext
from functools import wraps
from importlib import import_module
from threading import local

from .._core.autocast import autocast_as, autocast_state
from .._core.modes import inference_mode, is_grad_enabled, no_grad
from .._core.tensor import Tensor
from .._data.random import get_rng_state, set_rng_state
from .._gradients.function import Function
from .._gradients.grad import backward, runs
from .._gradients.hooks import saved_tensors_hooks

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "check_backward_validity", "checkpoint"]
__all__ += ["checkpoint_sequential", "create_selective_checkpoint_contexts", "detach_variable", "get_device_states", "noop_context_fn"]
__all__ += ["set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states"]


class CheckpointError(RuntimeError):
    """The recomputation of a checkpoint saved other tensors than the original call."""


def noop_context_fn():
    """Returns two contexts without effect, for the call and its recomputation."""
    return nullcontext(), nullcontext()


def checkpoint(
    function=None,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    preserve_rng_state=True,
    respect_saved_tensors_hooks=None,
    **kwargs,
):
    """Returns `function(*args, **kwargs)` without saving its intermediate tensors: the backward pass calls the function again to recompute
    them.

    Both calls draw the same random numbers, unless `preserve_rng_state` is False, and have the same state of autocast. With `use_reentrant`
    the function becomes one node of the graph, which runs a nested backward pass: then only tensors among `args` and leaves get gradients,
    and autograd.grad() raises RuntimeError. `context_fn` returns two context managers, for the first and the second call.
    `determinism_check="none"` disables the comparison of shapes, dtypes and devices of the saved tensors of both calls. The second call
    ends once all saved tensors are recomputed, unless `early_stop` is False; set_checkpoint_early_stop() overrides it. `debug` has no
    effect.

    Without `function`, returns a decorator. `respect_saved_tensors_hooks` is accepted without effect.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(lambda x: (x * 2).exp(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([14.7781, 14.7781])
    """
    if function is None and not args:
        options = {
            "use_reentrant": use_reentrant,
            "context_fn": context_fn,
            "determinism_check": determinism_check,
            "early_stop": early_stop,
        }
        options |= {"debug": debug, "preserve_rng_state": preserve_rng_state, **kwargs}

        def decorate(function):
            @wraps(function)
            def checkpointed(*args, **kwargs):
                return checkpoint(function, *args, **options, **kwargs)

            return checkpointed

        return decorate
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly; without it, use_reentrant=True is used. "
            "use_reentrant=False is recommended",
            stacklevel=2,
        )
        use_reentrant = True
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'] but got {determinism_check}")
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn:
            raise ValueError("Passing `context_fn` is only supported when use_reentrant=False.")
        if is_grad_enabled() and not any(isinstance(t, Tensor) and t.requires_grad for t in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return Reentrant.apply(function, preserve_rng_state, *args)
    before, again = context_fn()
    stops = early_stop if early.stops is None else early.stops
    call = Call(function, args, kwargs, preserve_rng_state, again, determinism_check == "default", stops)
    with saved_tensors_hooks(call.pack, call.unpack) if is_grad_enabled() else nullcontext(), call.as_current(), before:
        made = function(*args, **kwargs)
    call.ended = True
    return made


class Current(local):
    """The innermost call of checkpoint() on this thread whose function runs; None without one."""

    call = None


current = Current()


class EarlyStop(local):
    """Whether recomputation stops early on this thread, regardless of the argument of checkpoint(); None for the argument."""

    stops = None


early = EarlyStop()


@contextmanager
def set_checkpoint_early_stop(enable):
    """Returns a context manager in which `enable` overrides the argument `early_stop` of checkpoint().

    >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = torch.utils.checkpoint.checkpoint(torch.exp, torch.ones(1, requires_grad=True), use_reentrant=False)
    """
    before, early.stops = early.stops, enable
    try:
        yield
    finally:
        early.stops = before


@contextmanager
def drawing_from(state):
    """A context manager that draws random numbers from a saved state, and restores the current one at its end; without effect for None."""
    if state is None:
        yield
        return
    now = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(now)


class Saved:
    """The position of a tensor among the saved ones of a call, and its metadata."""

    __slots__ = ("at", "like")

    def __init__(self, at, like):
        self.at, self.like = at, like


def like(t):
    return tuple(t.shape), t.dtype, t.device


def version_of(t):
    return None if t.is_inference() else t._version


class Stop(Exception):
    """Raised after the last saved tensor of a call is recomputed, to skip the rest of the function."""


class Call:
    """A call of a function that can be repeated."""

    def __init__(self, function, args, kwargs, keeps_random, context, compares, stops):
        self.function, self.args, self.kwargs, self.context, self.compares, self.stops = function, args, kwargs, context, compares, stops
        self.state = get_rng_state() if keeps_random else None
        self.autocast = autocast_state()
        self.count, self.made, self.ended = 0, {}, False
        self.taken = {}  # the number of the backward pass that recomputed the saved tensors last, by their position
        self.given = [(t, t._version) for t in (*args, *kwargs.values()) if isinstance(t, Tensor) and not t.is_inference()]
        self.watcher = None  # receives the saved tensors of an operator whose results a policy saves
        self.keep = None  # keeps a saved tensor in the recomputation

    @contextmanager
    def as_current(self):
        """A context manager in which the call is the current one."""
        before, current.call = current.call, self
        try:
            yield
        finally:
            current.call = before

    def pack(self, t):
        self.count += 1
        if self.watcher is not None:
            self.watcher(t)
        return Saved(self.count - 1, like(t))

    def unpack(self, saved):
        if saved.at not in self.made:
            if runs.number is not None and self.taken.get(saved.at) == runs.number:
                raise CheckpointError(
                    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
                    "calling ctx.saved_tensors in backward, make sure to do so only once: saved tensors are recomputed once for each "
                    "backward pass"
                )
            self.repeat()
        t, version = self.made.pop(saved.at)
        self.taken[saved.at] = runs.number
        if version_of(t) != version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor of shape "
                f"{tuple(t.shape)} that was computed inside checkpoint() is at version {t._version}; expected version {version} instead"
            )
        if self.compares and like(t) != saved.like:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass: "
                f"tensor {saved.at} had shape, dtype and device {saved.like}, and has {like(t)}"
            )
        return t

    def repeat(self):
        """Calls the function again, and keeps its saved tensors until they are used."""
        for t, version in self.given:
            if t._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: an argument of "
                    "checkpoint() "
                    f"of shape {tuple(t.shape)} is at version {t._version}; expected version {version} instead. The function is called "
                    "again "
                    "with it: change a clone() of it"
                )
        made = []

        def keep(t):
            made.append((t.detach(), version_of(t)))
            if self.stops and len(made) == self.count:
                raise stop
            return t.detach()

        stop = Stop()
        self.keep = keep
        try:
            keeping = saved_tensors_hooks(keep, lambda t: t)
            with inference_mode(False), drawing_from(self.state), autocast_as(self.autocast), keeping, self.as_current(), self.context:
                self.function(*self.args, **self.kwargs)
        except Stop as found:
            if found is not stop:  # the exception of an enclosing call
                raise
            stop.__traceback__ = None  # which would keep the objects that the function refers to
        finally:
            self.keep = None
        if len(made) != self.count and (self.ended or len(made) < self.count):  # backward passes inside the function end before it does
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation: "
                f"{self.count} and {len(made)}"
            )
        self.made = dict(enumerate(made[: self.count]))


class Reentrant(Function):
    """The function as one operation, whose backward pass calls it again."""

    @staticmethod
    def forward(ctx, function, keeps_random, *args):
        ctx.function, ctx.state = function, get_rng_state() if keeps_random else None
        ctx.autocast = autocast_state()
        ctx.others = [None if isinstance(t, Tensor) else t for t in args]
        ctx.places = [i for i, t in enumerate(args) if isinstance(t, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if runs.choose:
            raise RuntimeError(
                "checkpoint(use_reentrant=True): grad() and backward(inputs=...) are not supported, because a nested backward pass "
                "computes the gradients of all leaves; use use_reentrant=False"
            )
        args = list(ctx.others)
        for i, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = t.detach().requires_grad_(t.requires_grad)
        with inference_mode(False), drawing_from(ctx.state), autocast_as(ctx.autocast):
            made = ctx.function(*args)
        outputs = [made] if isinstance(made, Tensor) else list(made)
        live = [(t, g) for t, g in zip(outputs, grads, strict=True) if isinstance(t, Tensor) and t.requires_grad]
        if not live:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        roots, seeds = zip(*live, strict=True)
        backward(roots, seeds)
        return None, None, *(t.grad if isinstance(t, Tensor) else None for t in args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Applies `functions` in order to `input`, in `segments` segments, all of which except the last are checkpointed. Returns the last
    result.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint_sequential([torch.exp, torch.sin, torch.exp], 2, x).sum().backward()
    >>> x.grad
    tensor([-3.7373, -3.7373])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= max(len(functions), 1):
        raise ValueError(f"segments must be from 1 to the number of functions, {len(functions)}, but is {segments}")
    size = len(functions) // segments

    def part(start, end):
        def run(value):
            for function in functions[start:end]:
                value = function(value)
            return value

        return run

    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(last, len(functions))(input)


CheckpointFunction = Reentrant


class CheckpointPolicy(enum.Enum):
    """The policies of selective checkpoints for the results of an operation."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """The first argument of policies. `is_recompute` is False: a policy is called in the call of the function, and its recomputation
    follows the decisions. `op_output` is the result of the operator."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Returns two contexts for `context_fn` of checkpoint(), in which the results of some operators are saved instead of recomputed.

    `policy_fn_or_list` is a list of operators to save, such as `torch.ops.aten.mm.default`, or a function that returns a CheckpointPolicy
    or a bool for `(ctx, op, *args, **kwargs)`; ctx is a SelectiveCheckpointContext. Operators that write to arguments are recomputed
    regardless of the policy. A saved tensor that is changed in place before the recomputation raises RuntimeError unless
    `allow_cache_entry_mutation`. Bind the arguments by functools.partial:

    >>> import functools
    >>> from libtensor.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=contexts).sum().backward()
    >>> x.grad[0, 0]
    tensor(29.5562)
    """
    module = import_module("._selective_checkpoint", __package__)  # by name: it imports the operators, which import this module
    return module.make_contexts(policy_fn_or_list, allow_cache_entry_mutation)


class DefaultDeviceType:
    """The device type whose random number generators reentrant checkpoints save if no argument is on a device."""

    _device_type = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        """Sets the device type."""
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type():
        """Returns the device type."""
        return DefaultDeviceType._device_type


def detach_variable(inputs):
    """Returns a tuple of inputs whose tensors are leaves with the same requires_grad. Raises RuntimeError unless `inputs` is a tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs)


def check_backward_validity(inputs):
    """Warns if no tensor among the inputs requires grad."""
    if not any(isinstance(t, Tensor) and t.requires_grad for t in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


def get_device_states(*args):
    """Returns the indices of the accelerators of the arguments, and the states of their generators."""
    from ..cuda import get_rng_state as state_of

    found = sorted({t.device.index for t in args if isinstance(t, Tensor) and t.device.type == "cuda"})
    return found, [state_of(index) for index in found]


def set_device_states(devices, states, *, device_type=None):
    """Sets the states of the generators of accelerators."""
    from ..cuda import set_rng_state as set_state_of

    for device, state in zip(devices, states, strict=True):
        set_state_of(state, device)


@contextmanager
def set_checkpoint_debug_enabled(enabled):
    """A context manager without effect: errors of checkpoints always name the tensor that differs."""
    yield
