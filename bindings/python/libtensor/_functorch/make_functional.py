"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from ..func import functional_call, stack_module_state
from ..nn import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functional_init",
    "functional_init_with_buffers",
]
__all__ += ["make_functional", "make_functional_with_buffers"]


class FunctionalModule(Module):
    """A module as a function of its parameters, in the order of `Module.parameters()`, and the module's arguments."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str], tied_names: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.tied_names = tuple(param_names), dict(tied_names or {})

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        return _call(self, self.param_names, params, args, kwargs)


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters, its buffers, and the module's arguments."""

    def __init__(
        self,
        stateless_model: Module,
        param_names: Sequence[str],
        buffer_names: Sequence[str],
        tied_names: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names, self.tied_names = tuple(param_names), tuple(buffer_names), dict(tied_names or {})

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        return _call(self, (*self.param_names, *self.buffer_names), (*params, *buffers), args, kwargs)


def _call(function: Any, names: Sequence[str], values: Sequence[Any], args: Any, kwargs: Any) -> Any:
    """Calls the module of a function with values under names, and under the other names of tied tensors."""
    state = dict(zip(names, values, strict=True))
    state |= {other: state[name] for name, others in function.tied_names.items() for other in others}
    return functional_call(function.stateless_model, state, args, kwargs, tie_weights=False)


def _find_tied(model: Module) -> dict[str, list[str]]:
    """Returns the further names of the tensors that a module has under several names, by their first name: copies to meta are not tied."""
    first: dict[int, str] = {}
    tied: dict[str, list[str]] = {}
    for name, t in (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)):
        if first.setdefault(id(t), name) != name:
            tied.setdefault(first[id(t)], []).append(name)
    return tied


def _split(model: Module, is_detached: bool) -> tuple[Module, dict[str, Any], dict[str, Any], dict[str, list[str]]]:
    """Returns a copy of a module without memory, its parameters and buffers by name, and the further names of tied ones."""
    params: dict[str, Any] = dict(model.named_parameters())
    buffers = dict(model.named_buffers())
    if is_detached:
        params = {name: p.detach() for name, p in params.items()}
    return copy.deepcopy(model).to("meta"), params, buffers, _find_tied(model)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """Returns a module without buffers as a function of its parameters, and the parameters.

    Raises RuntimeError for a module with buffers.

    >>> f, params = torch._functorch.make_functional.make_functional(torch.nn.Linear(2, 1))
    >>> f(params, torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    stateless, params, buffers, tied = _split(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule(stateless, list(params), tied), tuple(params.values())


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """Returns a module as a function of its parameters and buffers, the parameters, and the buffers."""
    stateless, params, buffers, tied = _split(model, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(stateless, list(params), list(buffers), tied)
    return function, tuple(params.values()), tuple(buffers.values())


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """Returns modules of one class as a function for vmap, their stacked parameters and their stacked buffers.

    Raises RuntimeError for no modules, for different classes, and for modules in different modes."""
    params, buffers = stack_module_state(list(models))
    function = FunctionalModuleWithBuffers(copy.deepcopy(models[0]).to("meta"), list(params), list(buffers), _find_tied(models[0]))
    return function, tuple(params.values()), tuple(buffers.values())


def functional_init(model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu") -> Any:
    """Returns a function that makes modules of a class without buffers, and returns their parameters, stacked if `ensemble_shape` is not
    empty, a function `f(params, args)`, and the names of the parameters."""

    def make(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        params, buffers, function, names, _ = functional_init_with_buffers(model_class, ensemble_shape, device)(*args, **kwargs)
        if buffers:
            raise RuntimeError(f"functional_init: modules of {model_class.__name__} have buffers; call functional_init_with_buffers")
        return params, lambda params, data: function(params, (), data), names

    return make


def functional_init_with_buffers(model_class: type[Module], ensemble_shape: tuple[int, ...] = (), device: Any = "cpu") -> Any:
    """Returns a function that makes modules of a class, and returns their parameters and buffers, stacked if `ensemble_shape` is not empty,
    a function `f(params, buffers, args)`, and the names of parameters and buffers."""
    if len(ensemble_shape) > 1:
        raise ValueError(f"functional_init: ensemble_shape has at most one element, but got {tuple(ensemble_shape)}")

    def make(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0] if ensemble_shape else 1)]
        function, params, buffers = combine_state_for_ensemble(models)
        state = [tuple(t.detach() if ensemble_shape else t.detach()[0] for t in each) for each in (params, buffers)]
        return *state, lambda params, buffers, data: function(params, buffers, *data), function.param_names, function.buffer_names

    return make
