"""Modes that PyTorch programs set. The library implements those of gradients; the others are stored and returned without effect: results
are reproducible, and products are computed in the precision of their dtype.
"""

from contextlib import ContextDecorator
from ctypes import c_bool
from functools import wraps

from .._base.direct import function
from .._base.entered import entered
from .._base.library import getter

GENERATOR = 0x20  # inspect.CO_GENERATOR; importing inspect takes milliseconds


def is_generator_function(function):
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & GENERATOR)


# Modes that override every call do not override these.
enable, asked = function("_enable", "set_grad_enabled"), function("_asked", "is_grad_enabled")
infer, inferring = function("_infer", "set_inference_mode"), function("_inferring", "is_inference_mode_enabled")

is_transforming = getter("tensor_is_transforming", c_bool)  # whether the process is in vmap or jvp


def is_grad_enabled():
    """Returns whether operations are added to the autograd graph, which no_grad, enable_grad and set_grad_enabled set for the calling
    thread. The default is True.
    """
    return asked()


class GradMode(ContextDecorator):
    """A context manager and decorator that sets is_grad_enabled() to `enabled` for the calling thread."""

    enabled = False

    def __new__(cls, function=None):
        made = object.__new__(cls)
        return made(function) if callable(function) else made

    def _recreate_cm(self):
        return type(self)()

    def clone(self):
        """Returns a new context manager of the same mode."""
        return self._recreate_cm()

    def __call__(self, function):
        return self.stepping(function) if is_generator_function(function) else super().__call__(function)

    def stepping(self, function):
        """Returns a generator function whose body runs in the mode; its caller runs outside of it between the steps."""

        @wraps(function)
        def generate(*args, **kwargs):
            generator = function(*args, **kwargs)
            step, given = generator.send, None
            try:
                while True:
                    try:
                        with self._recreate_cm():
                            value = step(given)
                    except StopIteration as end:
                        return end.value
                    try:
                        step, given = generator.send, (yield value)
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        step, given = generator.throw, error
            finally:
                with self._recreate_cm():
                    generator.close()

        return generate

    def __enter__(self):
        entered.begin(self, asked())
        enable(self.enabled)

    def __exit__(self, *_):
        enable(entered.end(self))


class no_grad(GradMode):
    """A context manager and decorator that disables the autograd graph: results do not require grad."""


class enable_grad(GradMode):
    """A context manager and decorator that enables the autograd graph, for example inside no_grad."""

    enabled = True


class set_grad_enabled(GradMode):
    """Sets is_grad_enabled(); as a context manager, until its end."""

    def __new__(cls, mode):
        return object.__new__(cls)

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'mode' must be a bool, not {type(mode).__name__}")
        self.mode = self.enabled = mode
        self.before = asked()
        enable(self.enabled)

    def __call__(self, function):
        enable(self.before)
        return super().__call__(function)

    def _recreate_cm(self):
        return set_grad_enabled(self.enabled)

    def __enter__(self):
        enable(self.enabled)

    def __exit__(self, *_):
        enable(self.before)


class inference_mode(GradMode):
    """Like no_grad; tensors created in it cannot be part of an autograd graph and cannot be written to outside of it. inference_mode(False)
    ends both.
    """

    def __new__(cls, mode=True):
        made = object.__new__(cls)
        made.mode = mode if isinstance(mode, bool) else True
        made.enabled = not made.mode
        return made(mode) if callable(mode) else made

    def _recreate_cm(self):
        return inference_mode(self.mode)

    def __enter__(self):
        entered.begin(self, (asked(), inferring()))
        infer(self.mode)

    def __exit__(self, *_):
        grad, inference = entered.end(self)
        infer(inference)
        enable(grad)


def is_inference_mode_enabled():
    """Returns whether the calling thread is in inference_mode()."""
    return inferring()


LEVELS = ("default", "warn", "error")
settings = {"deterministic": 0, "interop_threads": 1}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted without effect: all results are the same in every run and for every number of threads."""
    settings["deterministic"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled():
    return settings["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled():
    return settings["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode):
    """Sets use_deterministic_algorithms by a number or name: 0 "default", 1 "warn", 2 "error"."""
    level = LEVELS.index(debug_mode) if debug_mode in LEVELS else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(
            f"set_deterministic_debug_mode(): debug_mode must be one of 0, 1, 2, {', '.join(LEVELS)}, but got {debug_mode!r}"
        )
    settings["deterministic"] = level


def get_deterministic_debug_mode():
    return settings["deterministic"]


def set_flush_denormal(mode):
    """Returns False: subnormal numbers are always kept."""
    return False


def set_num_interop_threads(n):
    """Accepted without effect: calls run on the calling thread."""
    if n < 1:
        raise RuntimeError(f"set_num_interop_threads(): expected a positive number of threads, but got {n}")
    settings["interop_threads"] = n


def get_num_interop_threads():
    return settings["interop_threads"]


class set_multithreading_enabled(ContextDecorator):
    """Accepted without effect: gradients are computed on the thread that calls backward."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass
