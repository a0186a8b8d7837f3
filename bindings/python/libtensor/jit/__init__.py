"""Names of TorchScript: functions and modules run unchanged, in Python.

`script`, `trace` and the decorators return their argument; `script` and `trace` warn at the first call. Saving scripts is not supported:
save state dictionaries.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from .. import nn
from .._inert import declare_unsupported, identity, warn_once
from .._jit_internal import _overload, _overload_method, export, ignore, is_scripting, unused
from ..futures import Future

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
]
__all__ += [
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
]
__all__ += [
    "isinstance",
    "onednn_fusion_enabled",
    "enable_onednn_fusion",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
]
__all__ += [
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

WHY = "TorchScript is not supported; functions and modules run as they are"

script_method = interface = script_if_tracing = _script_if_tracing = identity
_isinstance_of = isinstance


class ScriptModule(nn.Module):
    """The base class of TorchScript modules; subclasses run as normal modules."""


class RecursiveScriptModule(ScriptModule):
    """For isinstance(): script() returns the module itself."""


class TracedModule(ScriptModule):
    """For isinstance(): trace() returns the module itself."""


class TopLevelTracedModule(TracedModule):
    """For isinstance(): trace() returns the module itself."""


class Error(RuntimeError):
    """TorchScript's error class, which libtensor never raises."""


class TracingCheckError(Exception):
    """The error class of traces that differ from their function, which libtensor never raises."""


class ScriptWarning(Warning):
    """The class of script() warnings, for filters."""


class TracerWarning(Warning):
    """The class of trace() warnings, for filters."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Does nothing."""


class Attribute(NamedTuple):
    """A value and its type in TorchScript."""

    value: Any
    type: Any


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """Returns the function, class or module unchanged. Warns at the first call."""
    warn_once("torch.jit.script", WHY)
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, example_kwarg_inputs: Any = None, **options: Any) -> Any:
    """Returns the function or module unchanged, without calling it. Warns at the first call."""
    warn_once("torch.jit.trace", WHY)
    return func


def trace_module(mod: Any, inputs: Any, *args: Any, **options: Any) -> Any:
    """Returns the module unchanged. Warns at the first call."""
    warn_once("torch.jit.trace", WHY)
    return mod


def is_tracing() -> bool:
    """Returns False: tracing is not supported."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """Returns the value."""
    return the_value


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """Returns the module unchanged."""
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """Returns the module unchanged."""
    return mod


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True, preserved_methods: Any = None) -> None:
    """Does nothing."""


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Calls the function immediately and returns a Future of its result.

    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(1), 1))
    tensor([2.])
    """
    future: Future[Any] = Future()
    try:
        future.set_result(func(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def wait(future: Future[Any]) -> Any:
    """Waits for a Future and returns its result."""
    return future.wait()


def isinstance(obj: Any, target_type: Any) -> bool:
    """Returns whether an object is of a type, which may be Optional, Union, a tuple of types, or a list, tuple or dict with types of its
    items.

    >>> from typing import Dict, List
    >>> torch.jit.isinstance([1, 2], List[int]), torch.jit.isinstance({"a": 1}, Dict[str, str])
    (True, False)
    """
    origin, items = typing.get_origin(target_type), typing.get_args(target_type)
    if _isinstance_of(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    if target_type is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, kind) for kind in items)
    if target_type is None:
        return obj is None
    if origin is list:
        return _isinstance_of(obj, list) and all(isinstance(item, items[0]) for item in obj)
    if origin is dict:
        return _isinstance_of(obj, dict) and all(isinstance(key, items[0]) and isinstance(item, items[1]) for key, item in obj.items())
    if origin is tuple:
        return (
            _isinstance_of(obj, tuple)
            and len(obj) == len(items)
            and all(isinstance(item, kind) for item, kind in zip(obj, items, strict=True))
        )
    return _isinstance_of(obj, origin or target_type)


def _unwrap_optional(x: Any) -> Any:
    assert x is not None, "Unwrapping null optional"
    return x


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A context manager without effect."""
    yield


@contextmanager
def strict_fusion() -> Iterator[None]:
    """A context manager without effect."""
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Returns an empty list, the previous strategy; has no effect."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Does nothing."""


def onednn_fusion_enabled() -> bool:
    """Returns False."""
    return False


declare_unsupported(
    globals(), "TorchScript is not supported; save the state_dict() of the module and build the module in Python", "save CompilationUnit"
)
declare_unsupported(
    globals(), "TorchScript is not supported; save the state_dict() of the module and build the module in Python", "ScriptFunction"
)
__all__ += ["CompilationUnit", "save"]


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """Raises NotImplementedError: TorchScript programs are not supported. torch.load() reads the tensors of such a file."""
    raise NotImplementedError(
        "torch.jit.load: TorchScript programs are not supported; torch.load() returns the tensors of the file by name, for the state of a "
        "module "
        "that is built in Python"
    )


__all__ += ["load"]
