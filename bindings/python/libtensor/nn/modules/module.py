"""Module, the base class of layers and models: registered state, hooks, and how both are saved, moved and printed."""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from ... import empty_like, typename
from ..._base.device import device as _device
from ..._base.dtypes import dtype as _dtype
from ..._base.removable import RemovableHandle
from ..._core.tensor import Tensor
from ..parameter import Buffer, Parameter
from . import _hooks, _state
from ._hooks import (
    _WrappedHook,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._state import _EXTRA_STATE_KEY_SUFFIX, _IncompatibleKeys

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

T = TypeVar("T")
_globals = _hooks.globals_
# The hooks of all modules, under PyTorch's names: packages call them where they register parameters themselves.
_global_parameter_registration_hooks, _global_buffer_registration_hooks = _globals.parameter_registration, _globals.buffer_registration
_global_module_registration_hooks, _global_forward_pre_hooks = _globals.module_registration, _globals.forward_pre
_global_forward_hooks, _global_backward_hooks, _global_backward_pre_hooks = _globals.forward, _globals.backward, _globals.backward_pre
_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called = _globals.forward_with_kwargs, _globals.forward_always_called


class _HookNames(ModuleType):
    """This module. A dictionary that a program assigns to one of the names of hooks replaces the hooks."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_global_") and name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called")):
            hooks = self.__dict__[name]
            hooks.clear()
            hooks.update(value)
        else:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _HookNames
_DICTIONARIES = ("_parameters", "_buffers", "_modules")


def _addindent(s_: str, numSpaces: int) -> str:
    """Returns the text with all lines but the first indented."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _check_name(kind: str, name: object, shown: str = "") -> None:
    """Raises unless `name` can be the name of a registered parameter, buffer or module."""
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."{shown}')
    if not name:
        raise KeyError(f'{kind} name can\'t be empty string ""')


def _forward_unimplemented(self: Module, *input: Any) -> NoReturn:
    """Defines the computation of the module. Subclasses override it; call the module rather than this method, so that hooks are called."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module:
    """Base class of neural network modules: a tree of modules with parameters and buffers.

    A subclass calls `super().__init__()`, assigns parameters, buffers and other modules as attributes, which registers them, and defines
    `forward`. Calling the module calls `forward` and the registered hooks.

    `training` is True after construction; `train()` and `eval()` change it for the module and its children.

    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = torch.nn.Linear(4, 8)
    ...     def forward(self, x):
    ...         return torch.relu(self.hidden(x))
    >>> Net()
    Net(
      (hidden): Linear(in_features=4, out_features=8, bias=True)
    )
    """

    dump_patches: bool = False
    _version: int = 1
    call_super_init: bool = False
    _compiled_call_impl: Callable[..., Any] | None = None
    T_destination: ClassVar[Any] = T

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]

    forward: Callable[..., Any] = _forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        # Assigned through __dict__, because __setattr__ checks the registries at a higher cost.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _backward_pre_hooks=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _is_full_backward_hook=None,
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ------------------------------------------------------------------------------------------------------------ calls

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        # This is the fast path: no hook is registered.
        if not (self._forward_pre_hooks or self._forward_hooks or self._backward_hooks or self._backward_pre_hooks or _globals.any):
            return self.forward(*args, **kwargs)
        return _hooks.call(self, args, kwargs)

    __call__: Callable[..., Any] = _wrapped_call_impl
    _call_impl = _wrapped_call_impl

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepts the arguments of `torch.compile` and changes nothing: modules run operator by operator."""

    # ----------------------------------------------------------------------------------------------------- registration

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Registers `tensor`, or None, as the buffer `name`: state that is not a parameter, such as a running mean.

        A buffer moves with the module to other devices and dtypes. `state_dict()` includes it if `persistent`, the default. Raises KeyError
        if the module has another attribute `name`, or if `name` is empty or contains a dot; TypeError if `tensor` is not a tensor.
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name("buffer", name)
        if name not in self._buffers and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor) and not hasattr(tensor, "__torch_function__"):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = _hooks.registered(_globals.buffer_registration, self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers `param`, or None, as the parameter `name`.

        Raises KeyError if the module has another attribute `name`, or if `name` is empty or contains a dot; TypeError if `param` is not a
        Parameter; ValueError if it is not a leaf of the autograd graph.
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name("parameter", name)
        if name not in self._parameters and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express '{name}' "
                "as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = _hooks.registered(_globals.parameter_registration, self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers `module`, or None, as the child `name`.

        Raises KeyError if the module has another attribute `name`, or if `name` is empty or contains a dot; TypeError if `module` is not a
        Module.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if isinstance(name, str) and name not in self._modules and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        _check_name("module", name, f", got: {name}")
        self._modules[name] = _hooks.registered(_globals.module_registration, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._forget(name, "parameters", "_buffers", "_modules")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            modules = self._forget(name, "module", "_parameters", "_buffers")["_modules"]
            modules[name] = _hooks.registered(_globals.module_registration, self, name, value)
        else:
            self._set_other(name, value)

    def _forget(self, name: str, what: str, *others: str) -> dict[str, Any]:
        """Deletes a plain attribute and an entry of `others` that a parameter or module of this name replaces; returns all attributes."""
        attributes = self.__dict__
        if "_parameters" not in attributes:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        attributes.pop(name, None)
        for other in others:
            attributes[other].pop(name, None)
        attributes["_non_persistent_buffers_set"].discard(name)
        return attributes

    def _register_assigned_buffer(self, name: str, buffer: Any) -> None:
        if buffer.persistent and "persistent" not in signature(self.register_buffer).parameters:
            self.register_buffer(name, buffer)  # an override without that parameter
        else:
            self.register_buffer(name, buffer, buffer.persistent)

    def _set_other(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if "_parameters" not in attributes:
            if isinstance(value, Buffer):
                raise AttributeError("cannot assign buffer before Module.__init__() call")
        elif name in attributes["_parameters"]:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
            return
        elif name in attributes["_modules"]:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            attributes["_modules"][name] = _hooks.registered(_globals.module_registration, self, name, value)
            return
        elif name in attributes["_buffers"] or isinstance(value, Buffer):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            if isinstance(value, Buffer):
                attributes.pop(name, None)
                self._register_assigned_buffer(name, value)
            else:
                attributes["_buffers"][name] = _hooks.registered(_globals.buffer_registration, self, name, value)
            return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__
        for registered in _DICTIONARIES:
            if registered in attributes and name in attributes[registered]:
                return attributes[registered][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for registered in _DICTIONARIES:
            if name in self.__dict__.get(registered, ()):
                del self.__dict__[registered][name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles of earlier versions lack the dictionaries that came later.
        later: tuple[str, ...] = (
            "_forward_pre_hooks",
            "_forward_pre_hooks_with_kwargs",
            "_forward_hooks_with_kwargs",
            "_forward_hooks_always_called",
        )
        later += (
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
            "_backward_pre_hooks",
        )
        self.__dict__.update(state)
        for name in later:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call_impl"}

    # ------------------------------------------------------------------------------------------------------ looking up

    def get_submodule(self, target: str) -> Module:
        """Returns the descendant with the dotted name `target`, the module itself for "".

        Raises AttributeError if there is none, or if an attribute of the path is not a Module.
        """
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces the descendant with the dotted name `target` by `module`, or adds it.

        With `strict` the descendant must exist. Raises ValueError if `target` is empty or `module` is not a Module; AttributeError if the
        parent does not exist.
        """
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        parent_name, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(parent_name)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> tuple[Module, str, Any]:
        parent, _, name = target.rpartition(".")
        module = self.get_submodule(parent)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str) -> Parameter:
        """Returns the parameter with the dotted name `target`. Raises AttributeError if there is none."""
        _, name, found = self._get_member(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Returns the buffer with the dotted name `target`. Raises AttributeError if there is none."""
        module, name, found = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found  # type: ignore[no-any-return]

    def get_extra_state(self) -> Any:
        """Returns additional state for `state_dict()`, besides parameters and buffers. Subclasses override it together with
        `set_extra_state`.
        """
        raise RuntimeError("get_extra_state: the module has no extra state; override get_extra_state and set_extra_state in a subclass")

    def set_extra_state(self, state: Any) -> None:
        """Restores the result of `get_extra_state`; `load_state_dict()` calls it. Subclasses override it together with
        `get_extra_state`."""
        raise RuntimeError("set_extra_state: the module has no extra state; override get_extra_state and set_extra_state in a subclass")

    def _named_members(
        self, get_members_fn: Callable[[Module], Any], prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield path + ("." if path else "") + name, member

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Iterates over the names and parameters of the module and, with `recurse`, of its descendants. Names begin with `prefix`.

        A parameter that is registered twice is returned once, unless `remove_duplicate` is False.
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Iterates over the parameters of the module and, with `recurse`, of its descendants."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Iterates over the names and buffers of the module and, with `recurse`, of its descendants. Names begin with `prefix`.

        A buffer that is registered twice is returned once, unless `remove_duplicate` is False.
        """
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterates over the buffers of the module and, with `recurse`, of its descendants."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterates over the names and modules of the immediate children, each module once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Iterates over the immediate children, each once."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterates over the names and modules of the tree, the module itself first, under the name `prefix`.

        A module that is registered twice is returned once, unless `remove_duplicate` is False. Modules in `memo` are skipped.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Iterates over the modules of the tree, the module itself first, each once unless `remove_duplicate` is False."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    # ----------------------------------------------------------------------------------------------- changes of the tree

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Calls `fn` with every module of the tree, children before their parents, and returns the module.

        >>> net = torch.nn.Linear(2, 1).apply(lambda module: torch.nn.init.ones_(module.weight))
        >>> net.weight
        Parameter containing:
        tensor([[1., 1.]], requires_grad=True)
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Sets `training` of the module and its descendants to `mode`, and returns the module. Dropout and normalization depend on it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Sets evaluation mode: the same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets `requires_grad` of all parameters, and returns the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Resets the gradients of all parameters: to None, or with `set_to_none=False` to zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are copied (in a "
                "differentiable manner) from the original module.",
                stacklevel=2,
            )
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if param.grad.grad_fn is None:
                param.grad.requires_grad_(False)
            else:
                param.grad.detach_()
            param.grad.zero_()

    def share_memory(self) -> Self:
        """Moves all parameters and buffers into shared memory, which other processes can map, and returns the module."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # ------------------------------------------------------------------------------------------------ dtypes and devices

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replaces every parameter, gradient and buffer by the result of `fn`."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                self._parameters[name] = _state.converted_parameter(param, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = _state.converted_buffer(buffer, fn)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts the parameters and buffers in place, and returns the module.

        Forms: `to(device=None, dtype=None, non_blocking=False)`, `to(dtype, non_blocking=False)`, `to(tensor, non_blocking=False)`, and
        `to(memory_format=channels_last)`. Only floating-point and complex tensors are cast to `dtype`; a memory format applies to tensors
        of four or five dimensions. Raises TypeError if `dtype` is neither floating-point nor complex.

        >>> torch.nn.Linear(2, 1).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = _state.parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature; some modules might not work as expected when using complex tensors.", stacklevel=2
            )

        def convert(tensor: Tensor) -> Tensor:
            cast = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device, cast, non_blocking, memory_format=memory_format)
            return tensor.to(device, cast, non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves parameters and buffers to `device` without their values: their memory is uninitialized. Returns the module."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: _dtype | str) -> Self:
        """Casts all parameters and buffers to `dst_type`, in place, and returns the module."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _cast(self, method: str) -> Self:
        return self._apply(lambda tensor: getattr(tensor, method)() if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        """Casts all floating-point parameters and buffers to float32, in place, and returns the module."""
        return self._cast("float")

    def double(self) -> Self:
        """Casts all floating-point parameters and buffers to float64, in place, and returns the module."""
        return self._cast("double")

    def half(self) -> Self:
        """Casts all floating-point parameters and buffers to float16, in place, and returns the module."""
        return self._cast("half")

    def bfloat16(self) -> Self:
        """Casts all floating-point parameters and buffers to bfloat16, in place, and returns the module."""
        return self._cast("bfloat16")

    def cpu(self) -> Self:
        """Moves all parameters and buffers to the CPU, in place, and returns the module."""
        return self._apply(lambda tensor: tensor.cpu())

    def _move(self, kind: str, index: int | _device | None) -> Self:
        target = kind if index is None else f"{kind}:{index}" if isinstance(index, int) else index
        return self._apply(lambda tensor: tensor.to(target))

    def cuda(self, device: int | _device | None = None) -> Self:
        """Moves all parameters and buffers to a CUDA device, the current one by default, in place, and returns the module."""
        return self._move("cuda", device)

    def xpu(self, device: int | _device | None = None) -> Self:
        """Moves all parameters and buffers to an XPU device, in place, and returns the module."""
        return self._move("xpu", device)

    def ipu(self, device: int | _device | None = None) -> Self:
        """Moves all parameters and buffers to an IPU device, in place, and returns the module."""
        return self._move("ipu", device)

    def mtia(self, device: int | _device | None = None) -> Self:
        """Moves all parameters and buffers to an MTIA device, in place, and returns the module."""
        return self._move("mtia", device)

    # ------------------------------------------------------------------------------------------------------------ hooks

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Calls `hook(module, args)` before each call of `forward`; a value other than None replaces the positional arguments.

        With `with_kwargs` the hook is called as `hook(module, args, kwargs)` and returns None or the pair (args, kwargs). With `prepend`
        the hook is called before the hooks that are registered already; hooks for all modules come before both. Returns a handle that
        removes it."""
        return _hooks.add(self._forward_pre_hooks, hook, prepend, (self._forward_pre_hooks_with_kwargs, with_kwargs))

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args, output)` after each call of `forward`; a value other than None replaces the output.

        With `with_kwargs` the hook is called as `hook(module, args, kwargs, output)`. With `prepend` the hook is called before the hooks
        that are registered already; hooks for all modules come before both. With `always_call` the hook is also called if the call raises
        an exception. Returns a handle that removes it."""
        marks = (self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call)
        return _hooks.add(self._forward_hooks, hook, prepend, *marks)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` when the gradients with respect to the inputs of the module are computed.

        Both are tuples, with None for arguments that are not tensors. A value other than None replaces `grad_input`. With `prepend` the
        hook is called before the hooks that are registered already. Returns a handle that removes it. Raises RuntimeError if the module has
        a hook of `register_backward_hook`.
        """
        _hooks.set_kind(self, full=True)
        return _hooks.add(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_output)` when the gradients with respect to the outputs of the module are computed.

        A value other than None replaces `grad_output`. With `prepend` the hook is called before the hooks that are registered already.
        Returns a handle that removes it.
        """
        return _hooks.add(self._backward_pre_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` with the gradients of the last operation of the module alone. Deprecated: use
        `register_full_backward_hook`, whose gradients are those of the module."""
        _hooks.set_kind(self, full=False)
        return _hooks.add(self._backward_hooks, hook, False)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before `state_dict()` collects the state of the module. Returns a handle that removes
        it."""
        return _hooks.add(self._state_dict_pre_hooks, hook, False)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)` after `state_dict()` has collected the state of the module and its
        descendants. The hook may change `state_dict` in place and returns None. Returns a handle that removes it."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _hooks.add(self._state_dict_hooks, hook, False)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Registers a hook whose result replaces the state dictionary. Raises RuntimeError for one of `register_state_dict_post_hook`."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _hooks.add(self._state_dict_hooks, hook, False)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before
        `load_state_dict()` loads the state of the module. The hook may change `state_dict` and the lists in place. Returns a handle that
        removes it."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> RemovableHandle:
        """Registers a hook that is called without the module, unless `with_module`."""
        return _hooks.add(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None), False)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` after `load_state_dict()` has loaded the state of the module and its descendants.

        The hook may change `incompatible_keys.missing_keys` and `.unexpected_keys` in place and returns None. Returns a handle that removes
        it."""
        return _hooks.add(self._load_state_dict_post_hooks, hook, False)

    # ------------------------------------------------------------------------------------------------------------ state

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Returns an OrderedDict of the parameters and persistent buffers of the tree by name; names begin with `prefix`.

        The tensors share memory with the module's and are detached from the autograd graph, unless `keep_vars`. With `destination` the
        entries are added to that dictionary. The attribute `_metadata` of the result holds the version of each module.

        >>> list(torch.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn("state_dict: positional arguments are deprecated; use keyword arguments", FutureWarning, stacklevel=2)
            given = [*args, *[destination, prefix, keep_vars][len(args) :]]
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            made = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if made is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif made is not None:
                destination = made
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Adds the state of the module without its children to `destination`. Subclasses override it to add more."""
        for name, tensor in chain(self._parameters.items(), self._buffers.items()):
            if tensor is not None and not (name in self._non_persistent_buffers_set and name in self._buffers):
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copies the parameters and buffers of `state_dict` into those of the tree.

        With `strict`, the default, raises RuntimeError for missing and for unexpected keys, after all other keys are loaded. Tensors of
        another shape always raise RuntimeError. With `assign` the tensors of `state_dict` replace those of the module, and keep their dtype
        and device. Returns the named tuple (missing_keys, unexpected_keys).
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        return _state.load(self, state_dict, strict, assign)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads the state of the module without its children, and appends to the three lists. Subclasses override it to convert the state
        of earlier versions, which `local_metadata.get("version")` identifies.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        buffers = {name: buffer for name, buffer in self._buffers.items() if name not in self._non_persistent_buffers_set}
        local = {name: tensor for name, tensor in chain(self._parameters.items(), buffers.items()) if tensor is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in local.items():
            key = prefix + name
            if key in state_dict:
                _state.load_tensor(self, name, tensor, state_dict[key], key, assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        takes_extra = type(self).set_extra_state is not Module.set_extra_state
        if takes_extra and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif takes_extra and strict:
            missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            unexpected_keys += _state.unexpected(self, state_dict, prefix, local)

    # ------------------------------------------------------------------------------------------------------ printed form

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Returns the arguments of the module for its printed form, one line or several. Subclasses override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        lines = [*own, *(f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items())]
        if not lines:
            return f"{self._get_name()}()"
        if len(lines) == len(own) == 1:
            return f"{self._get_name()}({own[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self) -> list[str]:
        names = (*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers)
        return sorted({name for name in names if not name[0].isdigit()})

    def _replicate_for_data_parallel(self) -> Self:
        replica = self.__new__(type(self))
        replica.__dict__.update(self.__dict__)
        replica.__dict__.update(_parameters={}, _buffers=self._buffers.copy(), _modules=self._modules.copy(), _is_replica=True)
        return replica
