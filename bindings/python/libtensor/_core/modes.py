"""Modes that scripts for PyTorch set. Those of gradients are the library's; the others are remembered and answered, and change nothing
here: results are the same on every run, and products are computed in the precision of their dtype."""

from contextlib import ContextDecorator
from functools import wraps

from .._base.direct import function
from .._base.entered import entered

GENERATOR = 0x20  # inspect.CO_GENERATOR, whose module takes milliseconds to import


def is_generator_function(function):
    return bool(getattr(getattr(function, "__code__", None), "co_flags", 0) & GENERATOR)


# Modes that see every call do not see these.
enable, asked = function("_enable", "set_grad_enabled"), function("_asked", "is_grad_enabled")
infer, inferring = function("_infer", "set_inference_mode"), function("_inferring", "is_inference_mode_enabled")


def is_grad_enabled():
    """Whether operations are recorded for gradients, which no_grad, enable_grad and set_grad_enabled set for the calling thread; True
    when it starts."""
    return asked()


class GradMode(ContextDecorator):
    """A context manager and decorator under which is_grad_enabled() gives `enabled`, in calls of the same thread."""

    enabled = False

    def __new__(cls, function=None):
        made = object.__new__(cls)
        return made(function) if callable(function) else made

    def _recreate_cm(self):
        return type(self)()

    def __call__(self, function):
        return self.stepping(function) if is_generator_function(function) else super().__call__(function)

    def stepping(self, function):
        """A generator function whose body runs under the mode, and its caller between the steps does not."""

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
    """A context manager and decorator under which no operation is recorded for gradients."""


class enable_grad(GradMode):
    """A context manager and decorator under which operations are recorded for gradients."""

    enabled = True


class set_grad_enabled(GradMode):
    """As a call sets what is_grad_enabled() gives; as a context manager until its end."""

    def __new__(cls, mode):
        return object.__new__(cls)

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'mode' must be a bool, not {type(mode).__name__}")
        self.enabled, self.before = mode, asked()
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
    """As no_grad; and the tensors that are made under it take no part in recorded operations, nor are they written to, outside of it.
    inference_mode(False) ends both."""

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
    """Whether the calling thread is in inference_mode()."""
    return inferring()


LEVELS = ("default", "warn", "error")
settings = {"deterministic": 0, "interop_threads": 1}


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted: all results are the same on every run and for every number of threads."""
    settings["deterministic"] = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled():
    return settings["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled():
    return settings["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode):
    """Sets use_deterministic_algorithms by a number or name: 0 default, 1 warn, 2 error."""
    level = LEVELS.index(debug_mode) if debug_mode in LEVELS else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(f"set_deterministic_debug_mode(): {debug_mode!r} is none of 0, 1, 2 and {', '.join(LEVELS)}")
    settings["deterministic"] = level


def get_deterministic_debug_mode():
    return settings["deterministic"]


def set_flush_denormal(mode):
    """False: subnormal numbers are always kept."""
    return False


def set_num_interop_threads(n):
    """Accepted: calls run on the thread that makes them."""
    if n < 1:
        raise RuntimeError(f"set_num_interop_threads(): expected a positive number of threads, but got {n}")
    settings["interop_threads"] = n


def get_num_interop_threads():
    return settings["interop_threads"]


class set_multithreading_enabled(ContextDecorator):
    """Accepted: gradients are computed on the thread that asks for them."""

    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass
