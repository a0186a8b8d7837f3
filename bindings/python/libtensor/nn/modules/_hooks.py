"""Hooks of modules: those for all modules, registration, and the call of a module that has hooks."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from ..._base.removable import RemovableHandle
from ..._core.tensor import Tensor
from ...utils.hooks import BackwardHook

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Any]


class Globals:
    """The hooks for all modules, and whether any hook of calls is among them."""

    def __init__(self) -> None:
        self.parameter_registration: Hooks = OrderedDict()
        self.module_registration: Hooks = OrderedDict()
        self.buffer_registration: Hooks = OrderedDict()
        self.forward: Hooks = CallHooks(self)
        self.forward_with_kwargs: Hooks = OrderedDict()
        self.forward_always_called: Hooks = OrderedDict()
        self.forward_pre: Hooks = CallHooks(self)
        self.backward: Hooks = CallHooks(self)
        self.backward_pre: Hooks = CallHooks(self)
        self.full_backward: bool | None = None
        self.any = False

    def count(self) -> None:
        self.any = bool(self.forward or self.forward_pre or self.backward or self.backward_pre)


class CallHooks(OrderedDict[int, Any]):
    """Hooks of calls for all modules: changes update `Globals.any`, which a call without hooks checks."""

    def __init__(self, owner: Globals) -> None:
        super().__init__()
        self.owner = owner

    def __setitem__(self, key: int, value: Any) -> None:
        super().__setitem__(key, value)
        self.owner.any = True

    def __delitem__(self, key: int) -> None:
        super().__delitem__(key)
        self.owner.count()

    def pop(self, key: int, *default: Any) -> Any:
        found = super().pop(key, *default)
        self.owner.count()
        return found

    def clear(self) -> None:
        super().clear()
        self.owner.count()


globals_ = Globals()


class _WrappedHook:
    """A hook that is called with its module first, if it has one, which it refers to weakly."""

    def __init__(self, hook: Hook, module: Any = None) -> None:
        self.hook: Hook = hook
        update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module: Any = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        update_wrapper(self, self.hook)
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


_WrappedHook.__module__ = __name__.removesuffix("_hooks") + "module"  # as PyTorch's files name it


def add(hooks: Hooks, hook: Any, prepend: bool, *marks: tuple[Hooks, bool]) -> RemovableHandle:
    """Adds a hook, first if `prepend`, and its id to each dictionary of `marks` whose flag is set; returns its handle."""
    handle = RemovableHandle(hooks, extra_dict=[marked for marked, _ in marks])
    hooks[handle.id] = hook
    for marked, flag in marks:
        if flag:
            marked[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def registered(hooks: Hooks, module: Any, name: str, value: Any) -> Any:
    """Returns the parameter, buffer or module that registration hooks return, or the original one."""
    for hook in hooks.values():
        made = hook(module, name, value)
        if made is not None:
            value = made
    return value


_MIXED = "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."


def set_kind(module: Any, full: bool) -> None:
    """Sets whether the backward hooks of a module are full ones. Raises RuntimeError if it has hooks of the other kind."""
    if module._is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED)
    module._is_full_backward_hook = full


def _set_global_kind(full: bool) -> None:
    if globals_.full_backward is (not full):
        raise RuntimeError(_MIXED.replace("on a single Module", "as global Module hooks"))
    globals_.full_backward = full


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, buffer)` whenever any module registers a buffer; a value other than None replaces the buffer."""
    return add(globals_.buffer_registration, hook, False)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, submodule)` whenever any module registers a child; a value other than None replaces the child."""
    return add(globals_.module_registration, hook, False)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, param)` whenever any module registers a parameter; a value other than None replaces the parameter."""
    return add(globals_.parameter_registration, hook, False)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, args)` before each call of `forward` of any module, before the module's own hooks.

    A value other than None replaces the positional arguments. Returns a handle that removes the hook.
    """
    return add(globals_.forward_pre, hook, False)


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Calls `hook(module, args, output)` after each call of `forward` of any module, before the module's own hooks.

    A value other than None replaces the output. With `with_kwargs` the hook is called as `hook(module, args, kwargs, output)`; with
    `always_call` also if the call raises an exception. Returns a handle that removes the hook.
    """
    marks = (globals_.forward_with_kwargs, with_kwargs), (globals_.forward_always_called, always_call)
    return add(globals_.forward, hook, False, *marks)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, grad_input, grad_output)` with the gradients of the last operation of any module. Deprecated: use
    `register_module_full_backward_hook`, whose gradients are those of the module."""
    _set_global_kind(full=False)
    return add(globals_.backward, hook, False)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, grad_output)` when the gradients with respect to the outputs of any module are computed.

    A value other than None replaces `grad_output`. Returns a handle that removes the hook.
    """
    return add(globals_.backward_pre, hook, False)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, grad_input, grad_output)` when the gradients with respect to the inputs of any module are computed.

    A value other than None replaces `grad_input`. Returns a handle that removes the hook.
    """
    _set_global_kind(full=True)
    return add(globals_.backward, hook, False)


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a module with its hooks: pre-hooks, forward, hooks; those for all modules before its own."""
    called: set[int] = set()
    given: list[Any] = [args, kwargs]
    try:
        return _call(module, given, called)
    except Exception:
        args, kwargs = given
        _call_remaining(module, args, kwargs, called)
        raise


def _call(module: Any, given: list[Any], called: set[int]) -> Any:
    """Calls a module with its hooks. `given` are its arguments and keyword arguments, which become those that the pre-hooks return."""
    args, kwargs = given
    for key, hook in (*globals_.forward_pre.items(), *module._forward_pre_hooks.items()):
        if key in module._forward_pre_hooks_with_kwargs:
            made = hook(module, args, kwargs)
            if made is None:
                continue
            if not (isinstance(made, tuple) and len(made) == 2):
                raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {made}.")
            args, kwargs = given[:] = made
        else:
            made = hook(module, args)
            if made is not None:
                args = given[0] = made if isinstance(made, tuple) else (made,)
    if not (module._backward_hooks or module._backward_pre_hooks or globals_.backward or globals_.backward_pre):
        return _call_forward(module, args, kwargs, called)
    full, partial = _backward_hooks(module)
    pre = [*globals_.backward_pre.values(), *module._backward_pre_hooks.values()]
    backward = BackwardHook(module, full, pre) if full or pre else None
    if backward is not None:
        args = backward.setup_input_hook(args)
    result = _call_forward(module, args, kwargs, called)
    if backward is not None:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(result)}",
                stacklevel=4,
            )
        else:
            result = backward.setup_output_hook(result)
    if partial:
        _hook_last_node(module, partial, args, result)
    return result


def _call_forward(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> Any:
    """Calls forward and the forward hooks."""
    result = module.forward(*args, **kwargs)
    for key, hook, with_kwargs, always in _forward_hooks(module):
        if always:
            called.add(key)
        made = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if made is not None:
            result = made
    return result


def _forward_hooks(module: Any) -> list[tuple[int, Hook, bool, bool]]:
    """Returns the forward hooks: id, function, whether it takes keyword arguments, whether it is always called."""
    with_kwargs, always = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
    found = [(key, hook, key in with_kwargs, key in always) for key, hook in module._forward_hooks.items()]
    if globals_.forward:
        with_kwargs, always = globals_.forward_with_kwargs, globals_.forward_always_called
        found = [*((key, hook, key in with_kwargs, key in always) for key, hook in globals_.forward.items()), *found]
    return found


def _call_remaining(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> None:
    """Calls the hooks that are always called, after an exception, but those that were called before it."""
    for key, hook, with_kwargs, always in _forward_hooks(module):
        if not always or key in called:
            continue
        try:
            hook(module, args, kwargs, None) if with_kwargs else hook(module, args, None)
        except Exception as error:
            where = "global module" if key in globals_.forward else "module"
            warnings.warn(
                f"{where} forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in "
                "forward: "
                f"{error}",
                stacklevel=4,
            )


def _backward_hooks(module: Any) -> tuple[list[Hook], list[Hook]]:
    """Returns the full backward hooks, and those of the last operation."""
    full: list[Hook] = []
    partial: list[Hook] = []
    (full if globals_.full_backward else partial).extend(globals_.backward.values())
    (full if module._is_full_backward_hook else partial).extend(module._backward_hooks.values())
    return full, partial


def _hook_last_node(module: Any, hooks: list[Hook], args: tuple[Any, ...], result: Any) -> None:
    """Registers the hooks of `register_backward_hook` on the node of the first tensor of a result."""
    last = result
    while not isinstance(last, Tensor):
        if not isinstance(last, (dict, tuple, list)) or not last:
            return
        last = next((value for value in last.values() if isinstance(value, Tensor)), None) if isinstance(last, dict) else last[0]
    if last.grad_fn is None:
        return
    for hook in hooks:
        last.grad_fn.register_hook(_WrappedHook(hook, module))
    misses = _missed_gradients(args, result, last.grad_fn)
    if misses:
        warnings.warn(
            f"{misses}. This is deprecated and will be removed in future versions. Please use register_full_backward_hook to get the "
            "documented "
            "behavior.",
            FutureWarning,
            stacklevel=4,
        )


def _missed_gradients(args: tuple[Any, ...], result: Any, node: Any) -> str:
    """Returns which gradients the hooks of the last node miss; an empty string if they get all."""
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(value, Tensor) for value in results):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors: the hook will be "
            "missing some "
            "of the grad_output"
        )
    if not all(isinstance(value, Tensor) for value in args):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors: the hook will be "
            "missing "
            "some of the grad_input"
        )
    if len({value.grad_fn for value in results} - {None}) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes: the hook will be missing some of the "
            "grad_output"
        )
    inputs = {value.grad_fn for value in args} - {None}
    if not inputs or {below for below, _ in node.next_functions if below is not None} - inputs:
        return "Using a non-full backward hook when the forward contains multiple autograd Nodes: the hook will be missing some grad_input"
    return ""
