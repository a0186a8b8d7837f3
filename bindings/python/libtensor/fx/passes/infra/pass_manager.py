"""PassManager runs passes over a module."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from ....nn import Module
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn: Callable[..., Any]) -> Callable[[Module], PassResult]:
    """Returns a pass that returns a PassResult for a function that returns a module, or None after it has changed the given one."""
    if getattr(fn, "_returns_result", False):
        return fn

    @wraps(fn, updated=())
    def run(module: Any) -> PassResult:
        result = fn(module)
        if result is None:
            return PassResult(module, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    if not inspect.isfunction(fn):
        run.__name__ = str(type(fn))
    run._returns_result = True  # type: ignore[attr-defined]
    return run


def this_before_that_pass_constraint(this: Callable[..., Any], that: Callable[..., Any]) -> Callable[..., bool]:
    """Returns a constraint: pass `this` never runs after pass `that`."""

    def constraint(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
        return not (a == that and b == this)

    return constraint


class PassManager:
    """Runs passes in their order, up to `steps` times, until none of them changes the module. `constraints` are functions of two passes:
    whether the first may run before the second."""

    def __init__(
        self,
        passes: list[Callable[..., Any]] | None = None,
        constraints: list[Callable[..., bool]] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """Appends a pass."""
        self.passes.append(_pass)

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        """Appends a constraint."""
        self.constraints.append(constraint)

    def validate_constraints(self) -> None:
        """Raises RuntimeError if the order of the passes violates a constraint."""
        for constraint in self.constraints:
            for i, a in enumerate(self.passes):
                for b in self.passes[i + 1 :]:
                    if not constraint(a, b):
                        raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i}")

    def check(self, module: Module) -> None:
        """Checks a module. Subclasses override it."""

    def __call__(self, module: Any) -> PassResult:
        self.validate_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for fn in self.passes:
                result = pass_result_wrapper(fn)(module)
                module, modified = result.graph_module, modified or result.modified
                if self.run_checks_after_each_pass:
                    self.check(module)
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)
