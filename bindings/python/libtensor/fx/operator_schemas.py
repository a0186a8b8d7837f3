"""The arguments of calls by the parameters of functions and modules."""

import inspect
from typing import Any, NamedTuple

from ._calls import parameters_of, torch_name

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
]
__all__ += ["type_matches"]


class ArgsKwargsPair(NamedTuple):
    """The positional arguments and the arguments by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _signature(function: Any) -> inspect.Signature | None:
    """Returns the parameters of a function, without an output that a call may write to."""
    listed = parameters_of(function)
    if listed is not None:
        required, optional = listed
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        known = [inspect.Parameter(name, kind) for name in required]
        return inspect.Signature([*known, *(inspect.Parameter(name, kind, default=default) for name, default in optional.items())])
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    kept = [p for p in found.parameters.values() if p.name != "out"]
    return found.replace(parameters=kept)


def get_signature_for_torch_op(op: Any, return_schemas: bool = False) -> Any:
    """Returns a list of the signatures of a function of the package; None for other functions. With `return_schemas` also None for their
    schemas."""
    found = _signature(op) if torch_name(op) is not None else None
    listed = None if found is None else [found]
    return (listed, None) if return_schemas else listed


def normalize_function(
    target: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Returns the arguments of a call of a function with the defaults of its other parameters; all by name with
    `normalize_to_only_use_kwargs`. Returns None if the function has no signature or does not take these arguments."""
    if getattr(target, "__module__", None) in ("_operator", "builtins", None):
        return None
    return _normalize(_signature(target), args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: Any, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, normalize_to_only_use_kwargs: bool = False
) -> ArgsKwargsPair | None:
    """Returns the arguments of a call of the submodule `target` of `root`, as `normalize_function` does."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"Tried to normalize arguments of module {target}, but the root does not have it") from error
    return _normalize(_signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalize(signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: bool) -> ArgsKwargsPair | None:
    if signature is None or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
        return None
    out = {"out": kwargs["out"]} if "out" in kwargs else {}
    try:
        bound = signature.bind(*args, **{key: value for key, value in kwargs.items() if key not in out})
    except TypeError:
        return None
    bound.apply_defaults()
    names = list(bound.arguments)
    kept = 0 if by_name else len(args)
    return ArgsKwargsPair(
        tuple(bound.arguments[name] for name in names[:kept]), {name: bound.arguments[name] for name in names[kept:]} | out
    )


def check_for_mutable_operation(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises RuntimeError for a call of a function of the package that writes to an argument."""
    name = torch_name(target) or ""
    if "out" in kwargs or (name.endswith("_") and not name.endswith("__")) or kwargs.get("inplace") is True:
        raise RuntimeError(
            f"Tried to trace mutable operation {name or target}. FX only supports functional code, so operations that mutate are refused"
        )


def create_type_hint(x: Any) -> Any:
    """Returns list[T] or tuple[T, ...] for a list or tuple of types that are T; the argument itself otherwise."""
    if isinstance(x, (list, tuple)):
        inner = x[0] if x and all(item == x[0] for item in x) else Any
        return list[inner] if isinstance(x, list) else tuple[inner, ...]  # type: ignore[valid-type]
    return x


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Returns whether an argument of one type fits a parameter of another one."""
    if signature_type == argument_type or signature_type is Any:
        return True
    if getattr(signature_type, "__origin__", None) is list and isinstance(argument_type, type):
        return type_matches(signature_type.__args__[0], argument_type)
    return isinstance(signature_type, type) and isinstance(argument_type, type) and issubclass(argument_type, signature_type)
