"""opcheck: tests of custom operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.modes import no_grad
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .._gradients.grad import grad as _grad
from . import operators as _operators

__all__ = ["OpCheckError", "opcheck"]

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """A test of opcheck failed."""


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = TESTS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Tests a custom operator: that it writes only to the arguments that its schema marks (test_schema), that results on meta tensors have
    the sizes and dtypes of the real ones (test_faketensor), and that gradients are computed for arguments that require grad
    (test_autograd_registration, test_aot_dispatch_dynamic). Returns "SUCCESS" for each test, or the exception with
    raise_exception=False.

    Raises OpCheckError for a test that fails, ValueError for an unknown test.

    >>> @torch.library.custom_op("doc::checked", mutates_args=())
    ... def checked(x: torch.Tensor) -> torch.Tensor:
    ...     return x + 1
    >>> torch.library.opcheck(checked, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    found = _operators.find(op)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    results: dict[str, Any] = {}
    for name in names:
        if name not in TESTS:
            raise ValueError(f"opcheck: {name!r} is not one of {', '.join(TESTS)}")
        values = found.schema.bind(found.name(), args, kwargs or {})
        try:
            _CHECKS[name](found, values)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
            results[name] = error
    return results


def _mapped(values: list[Any], change: Any) -> list[Any]:
    def one(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [one(v) for v in value]
        return change(value) if isinstance(value, Tensor) else value

    return [one(v) for v in values]


def _copy(t: Tensor) -> Tensor:
    return t.detach().clone().requires_grad_(t.requires_grad)


def _results(made: Any) -> list[Any]:
    return list(made) if isinstance(made, list | tuple) else [made]


def _check_schema(op: _operators.OpOverload, values: list[Any]) -> None:
    with no_grad():
        given = _mapped(values, lambda t: t.detach().clone())
        before = _mapped(given, lambda t: t.clone())
        made = op.call(given)
    for argument, old, new in zip(op.schema.arguments, before, given, strict=True):
        for a, b in zip(_operators._tensors([old]), _operators._tensors([new]), strict=True):
            if not argument.is_write and not _f.allclose(a, b, 0, 0, equal_nan=True):
                raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
    if not op.schema.is_mutable:
        op.check_aliases(given, made)


def _check_fake(op: _operators.OpOverload, values: list[Any]) -> None:
    with no_grad():
        real = _results(op.call(_mapped(values, lambda t: t.detach().clone())))
        fake = _results(op.call(_mapped(values, lambda t: t.detach().to("meta"))))
    if len(real) != len(fake):
        raise RuntimeError(f"the fake impl returns {len(fake)} results, but the operator returns {len(real)}")
    for i, (a, b) in enumerate(zip(real, fake, strict=True)):
        if isinstance(a, Tensor) and (a.shape != b.shape or a.dtype != b.dtype):
            raise RuntimeError(
                f"result {i} has dtype {a.dtype} and shape {tuple(a.shape)}, but the fake impl returns {b.dtype} and {tuple(b.shape)}"
            )


def _check_gradients(op: _operators.OpOverload, values: list[Any]) -> None:
    given = _mapped(values, _copy)
    operands = [t for t in _operators._tensors(given) if t.requires_grad]
    if not operands or op.schema.is_mutable:
        return
    outputs = [t for t in _results(op.call(given)) if isinstance(t, Tensor) and t.requires_grad]
    if outputs:
        _grad(outputs, operands, [_f.ones_like(t) for t in outputs], allow_unused=True)


_CHECKS = {"test_schema": _check_schema, "test_autograd_registration": _check_gradients}
_CHECKS |= {"test_faketensor": _check_fake, "test_aot_dispatch_dynamic": _check_gradients}
