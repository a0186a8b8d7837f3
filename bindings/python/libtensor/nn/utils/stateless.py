"""Calls of modules with other parameters and buffers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._core.tensor import Tensor
from ..modules.module import Module

__all__ = ["functional_call"]


_ABSENT = object()


def _owners(module: Module, name: str) -> tuple[dict[str, Any], str]:
    """Returns the dictionary of parameters, buffers or attributes for the tensor with a dotted name, and its key.

    Raises TypeError for other attributes than tensors, and AttributeError for a module that does not exist.
    """
    path, _, last = name.rpartition(".")
    if not last:
        raise KeyError(f'tensor name can\'t be empty string "{name}"')
    owner = module.get_submodule(path)
    for members in (owner._parameters, owner._buffers):
        if last in members:
            return members, last
    value = getattr(owner, last, None)
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"attribute `{last}` of {owner._get_name()} is not a tensor, but {type(value).__name__}")
    return owner.__dict__, last


def _with_ties(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns the given tensors under all names of the tensors that they replace."""
    names: dict[Tensor, list[str]] = {}
    for members in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, tensor in members:
            names.setdefault(tensor, []).append(name)
    made = dict(given)
    for tied in names.values():
        values = {name: given[name] for name in tied if name in given}
        if len({id(value) for value in values.values()}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(values)}, which are tied. Consider using tie_weights=False"
            )
        for value in values.values():
            made.update(dict.fromkeys(tied, value))
    return made


@contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Replaces parameters and buffers of a module in a `with` block."""
    made = _with_ties(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        own = {name for members in (module.named_parameters, module.named_buffers) for name, _ in members(remove_duplicate=False)}
        missing, unexpected = sorted(own - made.keys()), sorted(made.keys() - own)
        if missing or unexpected:
            texts = [
                f"{kind} key(s): {', '.join(map(repr, keys))}." for kind, keys in (("Unexpected", unexpected), ("Missing", missing)) if keys
            ]
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(texts))
    places = [(*_owners(module, name), name, value) for name, value in made.items()]
    for _, _, name, value in places:
        if not isinstance(value, Tensor):
            raise TypeError(f"functional_call: the value of `{name}` must be a tensor, but is {type(value).__name__}")
    before = [members.get(key, _ABSENT) for members, key, _, _ in places]
    try:
        for members, key, _, value in places:
            members[key] = value
        yield
    finally:
        # A buffer that the call assigned is the caller's. A shared module has several names, so all are read before one is restored.
        parameters_and_buffers |= {
            name: members[key] for members, key, name, _ in places if name in parameters_and_buffers and key in members
        }
        for (members, key, _, _), tensor in zip(places, before, strict=True):
            if tensor is _ABSENT:
                members.pop(key, None)
            else:
                members[key] = tensor


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Returns `module(*args, **kwargs)` with the parameters and buffers that the dictionary names."""
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*given, **(kwargs or {}))


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated place of `torch.func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
