"""Lazy modules: layers whose sizes the first input determines."""

from __future__ import annotations

import warnings
from typing import Any

from ..._core.tensor import Tensor
from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """A module with uninitialized parameters or buffers, whose sizes the first call takes from its input.

    The first call initializes them by `initialize_parameters(*args)`, which subclasses define, and then turns the object into an instance
    of `cls_to_become`. Before it, moves and casts apply to the parameters to come; `load_state_dict()` initializes them from the
    dictionary."""

    cls_to_become: type[Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        this: Any = self
        this._load_hook = this._register_load_state_dict_pre_hook(self._lazy_load_hook)
        this._initialize_hook = this.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)
        warnings.warn(
            "Lazy modules are a new feature under heavy development so changes to the API or functionality can happen at any moment.",
            stacklevel=2,
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        this: Any = self
        for members in (this._parameters, this._buffers):
            for name, tensor in members.items():
                if tensor is not None and name not in this._non_persistent_buffers_set:
                    destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        this: Any = self
        for members in (this._parameters, this._buffers):
            for name, tensor in members.items():
                given = state_dict.get(prefix + name)
                if tensor is not None and is_lazy(tensor) and isinstance(given, Tensor) and not is_lazy(given):
                    tensor.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Allocates the parameters and buffers for the input of the first call. Subclasses define it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Returns whether a parameter or buffer of the module is uninitialized."""
        this: Any = self
        return any(is_lazy(tensor) for members in (this._parameters, this._buffers) for tensor in members.values())

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to correctly initialize the "
            "modules"
        )
