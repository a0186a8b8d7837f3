"""The base class of optimizers, and hooks for all of them."""

from __future__ import annotations

import functools
import sys
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from .. import float32
from .._base.removable import RemovableHandle
from .._core.modes import set_grad_enabled
from .._core.tensor import Tensor
from .._data.compose import typename as _typename

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

ParamsT: TypeAlias = Iterable[Tensor | dict[str, Any] | tuple[str, Tensor]]
StateDict: TypeAlias = dict[str, Any]
_Hook = Callable[..., Any]
_Hooks = OrderedDict[int, _Hook]
_Step = TypeVar("_Step", bound=Callable[..., Any])

_global_optimizer_pre_hooks: _Hooks = OrderedDict()
_global_optimizer_post_hooks: _Hooks = OrderedDict()


class _RequiredParameter:
    """The type of `required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def typename(value: Any) -> str:
    """Returns the name of the type of a value; for a tensor that of its legacy type."""
    return str(_typename(value))


def register_optimizer_step_pre_hook(hook: _Hook) -> RemovableHandle:
    """Registers `hook(optimizer, args, kwargs)` to be called before every `step` of every optimizer. It may return new `(args, kwargs)`.

    Returns a handle whose `remove()` removes the hook.
    """
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: _Hook) -> RemovableHandle:
    """Registers `hook(optimizer, args, kwargs)` to be called after every `step` of every optimizer.

    Returns a handle whose `remove()` removes the hook.
    """
    return _register(_global_optimizer_post_hooks, hook)


def _register(hooks: _Hooks, hook: _Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _use_grad_for_differentiable(step: _Step) -> _Step:
    """Wraps `step` so that it runs with gradients enabled if the optimizer is differentiable, and disabled otherwise."""

    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            return step(self, *args, **kwargs)

    return wrapper  # type: ignore[return-value]


def _profiled(name: str) -> AbstractContextManager[Any]:
    """Returns a context that records `name` if the profiler is loaded."""
    profiler = sys.modules.get(f"{__name__.partition('.')[0]}.autograd.profiler")
    return profiler.record_function(name) if profiler else nullcontext()


class Optimizer:
    """The base class of optimizers, which update tensors by their gradients.

    `params` are tensors, (name, tensor) pairs, or dictionaries ("parameter groups") with the key `params` and options for these. `defaults`
    has the default options of groups. Raises TypeError for parameters that are not tensors, and ValueError for an empty list, for tensors
    that are not leaves, and for tensors in two groups.

    Many optimizers have these options. `weight_decay * param` is added to the gradients (L2 penalty); with `decoupled_weight_decay`, and
    always in AdamW, Adafactor and Muon, `lr * weight_decay * param` is subtracted from the parameters instead. `maximize` maximizes the
    objective instead of minimizing it. `differentiable` adds the steps to the autograd graph. `fused=True` updates all parameters with one
    operator; SGD, Adam, AdamW and Adagrad do so by default for float32 and float64 on the CPU, unless `foreach` is set, which has no other
    effect. `capturable=True` makes `step` raise AssertionError on the CPU; CUDA graphs are not supported.

    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000, 0.9000], requires_grad=True)
    """

    OptimizerPreHook: TypeAlias = Callable[..., Any]
    OptimizerPostHook: TypeAlias = Callable[..., None]

    defaults: dict[str, Any]
    state: defaultdict[Tensor, Any]
    param_groups: list[dict[str, Any]]

    _optimizer_step_pre_hooks: _Hooks
    _optimizer_step_post_hooks: _Hooks
    _optimizer_state_dict_pre_hooks: _Hooks
    _optimizer_state_dict_post_hooks: _Hooks
    _optimizer_load_state_dict_pre_hooks: _Hooks
    _optimizer_load_state_dict_post_hooks: _Hooks
    _zero_grad_profile_name: str

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._set_hooks()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {typename(params)}")
        if isinstance(params, (set, frozenset)):
            warnings.warn(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between "
                "runs. "
                "Please use a list instead. This will be an error in a future release.",
                FutureWarning,
                stacklevel=3,
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)  # type: ignore[arg-type]
        self._warned_capturable_if_run_uncaptured = True

    def _set_hooks(self) -> None:
        for kind in ("step", "state_dict", "load_state_dict"):
            for when in ("pre", "post"):
                name = f"_optimizer_{kind}_{when}_hooks"
                if name not in self.__dict__:
                    setattr(self, name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [self.__class__.__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {i}"] if i else [f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def _accelerator_graph_capture_health_check(self) -> None:
        """Does nothing: CUDA graphs are not supported."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

    def _optimizer_step_code(self) -> None:
        """Does nothing; debuggers and profilers set a breakpoint in it."""

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps the method `func` with the hooks of the optimizer."""

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            with _profiled(f"Optimizer.step#{self.__class__.__name__}.step"):
                for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                    result = hook(self, args, kwargs)
                    if result is None:
                        continue
                    if not isinstance(result, tuple) or len(result) != 2:
                        raise RuntimeError(f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
                    args, kwargs = result
                out = func(*args, **kwargs)
                self._optimizer_step_code()
                for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
                    hook(self, args, kwargs)
                return out

        return wrapper

    def _patch_step_function(self) -> None:
        cls = self.__class__
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{cls.__name__}.zero_grad"
        step: Any = cls.step
        if not getattr(step, "hooked", None):
            patched: Any = self.profile_hook_step(step)
            patched.hooked = True
            cls.step = patched  # type: ignore[method-assign]

    def register_step_pre_hook(self, hook: _Hook) -> RemovableHandle:
        """Registers `hook(optimizer, args, kwargs)`, which is called before `step` and may return new `(args, kwargs)`; returns its
        handle."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: _Hook) -> RemovableHandle:
        """Registers `hook(optimizer, args, kwargs)`, which is called after `step`; returns its handle."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: _Hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(optimizer)`, which is called before `state_dict`; returns its handle."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: _Hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(optimizer, state_dict)`, which is called after `state_dict` and may return another dictionary; returns its
        handle.
        """
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: _Hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(optimizer, state_dict)`, which is called before `load_state_dict` and may return another dictionary; returns its
        handle.
        """
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: _Hook, prepend: bool = False) -> RemovableHandle:
        """Registers `hook(optimizer)`, which is called after `load_state_dict`; returns its handle."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> StateDict:
        """Returns `{"state": ..., "param_groups": ...}`: the state of each parameter by its index, and the options of the groups with the
        indices of their parameters.

        The tensors are not copied.

        >>> torch.optim.SGD([torch.ones(1)], lr=0.5).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor, value: Tensor, param_id: int, param_groups: list[dict[str, Any]], key: Hashable = None
    ) -> Tensor:
        """Returns a tensor of a loaded state on the device of its parameter; floating-point tensors in its dtype."""
        if key == "step":
            group = next((group for group in param_groups if param_id in group["params"]), {})
            return value.to(dtype=float32, device=param.device) if group.get("capturable") or group.get("fused") else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Restores the options and the state of `state_dict`, which must come from an optimizer with the same number of parameters in each
        group.

        Tensors are converted to the dtype and the device of their parameters. Raises ValueError for other numbers of groups or parameters.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(group["params"]) != len(other["params"]) for group, other in zip(groups, saved, strict=False)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        params = dict(zip(chain.from_iterable(g["params"] for g in saved), chain.from_iterable(g["params"] for g in groups), strict=False))

        def cast(param: Tensor, value: Any, number: int, key: Hashable = None) -> Any:
            if isinstance(value, Tensor):
                return Optimizer._process_value_according_to_param_policy(param, value, number, state_dict["param_groups"], key)
            if isinstance(value, dict):
                return {k: cast(param, v, number, k) for k, v in value.items()}
            if isinstance(value, Iterable) and not isinstance(value, str):
                return type(value)(cast(param, v, number) for v in value)  # type: ignore[call-arg]
            return value

        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = cast(params[key], value, key)
            else:
                state[key] = value

        def update(group: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
            if "param_names" in group and "param_names" not in new:
                new["param_names"] = group["param_names"]
            new["params"] = group["params"]
            return new

        self.__setstate__({"state": state, "param_groups": [update(group, new) for group, new in zip(groups, saved, strict=False)]})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients of all parameters to None; with `set_to_none=False`, to zeros that are detached from the autograd graph."""
        if not hasattr(self, "_zero_grad_profile_name"):  # a subclass that does not call __init__
            self._patch_step_function()
        with _profiled(self._zero_grad_profile_name):
            kept: list[Tensor] = []
            for group in self.param_groups:
                for param in group["params"]:
                    grad = param.grad
                    if grad is None:
                        continue
                    if set_to_none:
                        param.grad = None
                        continue
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    kept.append(grad)
            for grad in kept:
                grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters by their gradients. `closure` recomputes the loss and returns it."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters: a dictionary with the key `params` and options, which default to those of the optimizer."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between "
                "runs. Please use a list instead."
            )
        params = list(params)
        named = [isinstance(param, tuple) for param in params]
        if any(named):
            if not all(named):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [param[0] for param in params]
            params = [param[1] for param in params]
        param_group["params"] = params
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(param)}")
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        others: set[Tensor] = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            given = "with" if "param_names" in param_group else "without"
            raise ValueError(
                f"all optimizer param groups should be with/without names. cannot add param group {given} names to the optimizer"
            )
        if not others.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: list[list[Any]], with_indices: bool = False
    ) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
        """Groups rows of corresponding tensors by the device and dtype of the first tensor of each row; returns them with their indices."""
        groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
        for i, row in enumerate(_rows(tensorlistlist)):
            lists, indices = groups.setdefault((row[0].device, row[0].dtype), ([[] for _ in tensorlistlist], []))
            for items, item in zip(lists, row, strict=False):
                items.append(item)
            indices.append(i)
        return groups


def _rows(lists: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    length = len(lists[0]) if lists else 0
    return zip(*(items or [None] * length for items in lists), strict=False)
