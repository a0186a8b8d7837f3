"""Parametrizations: parameters and buffers that are computed from others."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ..._core.modes import no_grad
from ..._core.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    *("ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"),
    *("transfer_parametrizations_and_params", "type_before_parametrizations"),
]

_M = TypeVar("_M", bound=Module)
_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor | None] = {}


@contextmanager
def cached() -> Iterator[None]:
    """A context manager that caches parametrized tensors after their first use."""
    global _cache, _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache = {}


def _register_parameter_or_buffer(module: Module, name: str, X: Any) -> None:
    if isinstance(X, Parameter):
        module.register_parameter(name, X)
    else:
        module.register_buffer(name, X)


def _maybe_set(dest: Tensor, src: Tensor) -> None:
    """Makes a tensor share the memory of another, which may have another shape."""
    with no_grad():
        if dest is not src:
            dest.set_(src)


def _check_same(what: str, made: Any, wanted: Tensor, name: str) -> None:
    """Raises ValueError unless a parametrization keeps dtype and shape."""
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    for attribute in ("dtype", "shape"):
        if getattr(made, attribute) != getattr(wanted, attribute):
            raise ValueError(
                f"Registering a parametrization may not change the {attribute} of the tensor, unless the `unsafe` flag is enabled.\n"
                f"{name}.{attribute}: {getattr(wanted, attribute)}\n{what}.{attribute}: {getattr(made, attribute)}"
            )


def _check_inverse(back: Any, wanted: Tensor, name: str) -> None:
    """Raises ValueError unless a right inverse is a tensor like the one that it was computed of."""
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for attribute in ("dtype", "shape"):
        if getattr(back, attribute) != getattr(wanted, attribute):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {attribute} as {name}, unless the `unsafe` flag "
                "is "
                f"enabled.\n{name}.{attribute}: {getattr(wanted, attribute)}\nreturned {attribute}: {getattr(back, attribute)}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and the tensors that they are computed from: `original`, or `original0`,
    `original1`, ... if the `right_inverse` of the first returns several.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = self._inverted(original, strict=False)
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor and not isinstance(new, Sequence):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}")
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            _maybe_set(original, new)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, each in enumerate(new):
                if not isinstance(each, Tensor):
                    raise ValueError(
                        f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element {i} of the sequence "
                        "with type "
                        f"{type(each).__name__}."
                    )
                made = Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each
                made.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", made)
        if not unsafe:
            made = self()
            if not isinstance(made, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
            for attribute, wanted in (("dtype", dtype), ("shape", shape)):
                if getattr(made, attribute) != wanted:
                    raise ValueError(
                        f"Registering a parametrization may not change the {attribute} of the tensor, unless `unsafe` flag is enabled.\n"
                        f"original.{attribute}: {wanted}\nparametrized.{attribute}: {getattr(made, attribute)}"
                    )

    def _inverted(self, value: Any, strict: bool) -> Any:
        """Returns the right inverses of a value; without `strict` the identity for modules that have none."""
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    if strict:
                        raise
            elif strict:
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
        return value

    def _originals(self) -> list[Tensor]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    @no_grad()
    def right_inverse(self, value: Tensor) -> None:
        """Assigns the originals for which the parametrizations return `value`. Raises RuntimeError if a parametrization has no right
        inverse."""
        new = self._inverted(value, strict=True)
        if self.is_tensor:
            if not isinstance(new, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
            new = [new]
        elif not isinstance(new, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}.")
        if len(new) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length {len(new)}."
            )
        for original, made in zip(self._originals(), new, strict=True):
            if made.dtype != original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {made.dtype} while `original` has dtype {original.dtype}"
                )
            _maybe_set(original, made)

    def forward(self) -> Tensor:
        made = self[0](*self._originals())
        for module in list(self)[1:]:
            made = module(made)
        return made  # type: ignore[no-any-return]


def _inject_new_class(module: Module) -> None:
    """Replaces the class of the module by a new subclass, to which properties are added."""
    kind = module.__class__

    def deep_copy(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = replica = self.__new__(self.__class__)
            replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return memo[id(self)]

    def raise_error(self: Any) -> Any:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")

    body: dict[str, Any] = {"__getstate__": raise_error}
    if not hasattr(kind, "__deepcopy__"):
        body["__deepcopy__"] = deep_copy
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), body)


def _inject_property(module: Module, tensor_name: str) -> None:
    def get(self: Any) -> Any:
        parametrization = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(module.__class__, tensor_name, property(get, put))


def register_parametrization(module: _M, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> _M:
    """Makes the parameter or buffer `tensor_name` the result of `parametrization(original)`, and returns the module.

    `module.parametrizations.NAME.original` is the tensor that it is computed from. The method `right_inverse(value)` of a parametrization
    computes the original of the current value and of assigned ones; if it returns several tensors, the parametrization takes as many. A
    second parametrization is applied to the result of the first. Raises ValueError if dtype or shape change, unless `unsafe`.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.mT).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            now = getattr(module, tensor_name)
            made = parametrization(now)
            _check_same(f"parametrization(module.{tensor_name})", made, now, f"module.{tensor_name}")
            if hasattr(parametrization, "right_inverse"):
                try:
                    back = parametrization.right_inverse(made)
                except NotImplementedError:
                    pass
                else:
                    _check_inverse(back, now, f"module.{tensor_name}")
        found = module.parametrizations[tensor_name]
        found.append(parametrization)
        found.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Returns whether the tensor `tensor_name`, by default any tensor of the module, is parametrized."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: _M, tensor_name: str, leave_parametrized: bool = True) -> _M:
    """Makes the tensor `tensor_name` a parameter or buffer again, with its computed value, or with `leave_parametrized=False` that of the
    original. Returns the module. Raises ValueError if it is not parametrized, and for several originals without `leave_parametrized`."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with no_grad():
                _maybe_set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        made = getattr(module, tensor_name)
        original = Parameter(made) if made.requires_grad else made
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Returns the class of the module before it was parametrized."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: _M, tensor_name: str | None = None) -> _M:
    """Registers the parametrizations of `from_module`, or of its tensor `tensor_name`, on `to_module`, with the same originals, and returns
    `to_module`."""
    if not is_parametrized(from_module):
        return to_module
    names = from_module.parametrizations if tensor_name is None else [tensor_name]
    for name in list(names):
        found = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in found:
            register_parametrization(to_module, name, parametrization)
        for key in found._parameters:
            setattr(to_module.parametrizations[name], key, getattr(found, key))
    return to_module
