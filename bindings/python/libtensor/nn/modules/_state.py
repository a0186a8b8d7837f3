"""The state of modules: state dictionaries that are loaded, and conversions of parameters."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..._base.device import device as _device
from ..._base.dtypes import dtype as _dtype
from ..._core.modes import no_grad
from ..._core.tensor import Tensor
from ..parameter import Parameter, UninitializedBuffer, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple("IncompatibleKeys", [("missing_keys", list[str]), ("unexpected_keys", list[str])])):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


def load(module: Any, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> _IncompatibleKeys:
    """Implements Module.load_state_dict(): loads the tree, then raises for keys and shapes that do not match."""
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    metadata = getattr(state_dict, "_metadata", None)
    state: Any = OrderedDict(state_dict)
    if metadata is not None:
        state._metadata = metadata

    _load_tree(module, state, "", metadata, assign, (missing, unexpected, errors))
    if strict:
        for kind, keys in (("Unexpected", unexpected), ("Missing", missing)):
            if keys:
                errors.insert(0, f"{kind} key(s) in state_dict: {', '.join(map(_quoted, keys))}. ")
    if errors:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(errors))
    return _IncompatibleKeys(missing, unexpected)


def _load_tree(module: Any, state: Any, prefix: str, metadata: Any, assign: bool, lists: tuple[list[str], list[str], list[str]]) -> None:
    """Loads the keys that begin with `prefix`. `lists` are the missing and unexpected keys and the errors, which it extends."""
    missing, unexpected, errors = lists
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            _load_tree(child, {key: value for key, value in state.items() if key.startswith(below)}, below, metadata, assign, lists)
    incompatible = _IncompatibleKeys(missing, unexpected)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )


def _quoted(key: str) -> str:
    return f'"{key}"'


def load_tensor(module: Any, name: str, tensor: Tensor, given: Any, key: str, assign: bool, errors: list[str]) -> None:
    """Copies a tensor of a state dictionary into a parameter or buffer, or replaces it, or appends to the errors."""
    if not isinstance(given, Tensor) and not hasattr(type(given), "__torch_function__"):
        errors.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but received '
            f"{type(given)}"
        )
        return
    if not is_lazy(tensor):  # the shape of an uninitialized parameter raises
        if tensor.dim() == 0 and given.dim() == 1:
            given = given[0]
        if tensor.shape != given.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current model is "
                f"{tensor.shape}."
            )
            return
    if tensor.is_meta and not given.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. "
            "(Did you "
            "mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the module instead of "
            "copying them "
            "in place?)",
            stacklevel=6,
        )
    try:
        with no_grad():
            if settings.swap:
                _swap(tensor, given, assign)
            elif assign:
                setattr(module, name, _assigned(tensor, given))
            else:
                tensor.copy_(given)
    except Exception as error:
        errors.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and whose dimensions in the '
            f"checkpoint "
            f"are {given.size()}, an exception occurred : {error.args}."
        )


def _swap(tensor: Tensor, given: Any, assign: bool) -> None:
    """Exchanges a parameter or buffer with the tensor that its `module_load` returns."""
    from ...utils import swap_tensors

    made = tensor.module_load(given, assign=assign)
    if made is tensor or made is given:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in module_load"
        )
    if isinstance(tensor, Parameter):
        made = made.requires_grad_(tensor.requires_grad) if isinstance(made, Parameter) else Parameter(made, tensor.requires_grad)
    swap_tensors(tensor, made)


def _assigned(tensor: Tensor, given: Any) -> Any:
    if not isinstance(tensor, Parameter):
        return given
    if isinstance(given, Parameter):
        return given.requires_grad_(tensor.requires_grad)
    return Parameter(given, tensor.requires_grad)


def unexpected(module: Any, state_dict: Iterable[str], prefix: str, local: Mapping[str, Any]) -> list[str]:
    """Returns the keys that begin with `prefix` and belong neither to the module nor to one of its children."""
    found = []
    for key in state_dict:
        if key.startswith(prefix) and key != prefix + _EXTRA_STATE_KEY_SUFFIX:
            name, dot, _ = key[len(prefix) :].partition(".")
            if name not in (module._modules if dot else local):
                found.append(key)
    return found


class _Settings:
    """Settings of torch.__future__."""

    overwrite = False
    swap = False


settings = _Settings()


def converted_parameter(param: Parameter, fn: Callable[[Tensor], Tensor]) -> Parameter:
    """Applies `fn` to the parameter and its gradient, and returns the parameter: the same object, unless the memory moves from or to the
    meta device, or torch.__future__ is set.
    """
    with no_grad():
        data = fn(param)
    keeps = data.is_meta == param.is_meta and data.layout is param.layout and not settings.overwrite and not settings.swap
    grad = param.grad
    if keeps:
        param.grad = None  # which has the dtype of the data
        param.data = data
        made = param
    else:
        made = Parameter(data, param.requires_grad)
    if grad is not None:
        with no_grad():
            made.grad = fn(grad).requires_grad_(grad.requires_grad)
    if settings.swap:
        from ...utils import swap_tensors

        swap_tensors(param, made)
        return param
    return made


def converted_buffer(buffer: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Returns the result of `fn` for a buffer; an uninitialized buffer for an uninitialized one."""
    made = fn(buffer)
    if isinstance(buffer, UninitializedBuffer) and not is_lazy(made):
        return UninitializedBuffer(False, made.device, made.dtype, buffer.__dict__["persistent"])
    return made


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, _dtype | None, bool, Any]:
    """Returns device, dtype, non_blocking and memory_format of the arguments of Module.to(). Raises TypeError for others."""
    device: Any = None
    dtype: Any = None
    rest: list[str] = ["non_blocking", "copy"]
    given = dict(kwargs)
    memory_format = given.pop("memory_format", None)
    if args:
        first, args = args[0], args[1:]
        if isinstance(first, Tensor):
            device, dtype = first.device, first.dtype
        elif isinstance(first, _dtype):
            dtype = first
        else:
            if first is not None and not isinstance(first, (_device, str, int)):
                raise TypeError(f"to: expected a device, a dtype or a tensor, but got {type(first).__name__}")
            device, rest = first, ["dtype", *rest]
    if len(args) > len(rest):
        raise TypeError(f"to: expected at most {len(rest) + 1} positional arguments, but got {len(args) + 1}")
    for name, value in zip(rest, args, strict=False):
        given[name] = value
    tensor = given.pop("tensor", None)
    if isinstance(tensor, Tensor):
        device, dtype = tensor.device, tensor.dtype
    device, dtype = given.pop("device", device), given.pop("dtype", dtype)
    non_blocking = given.pop("non_blocking", False)
    given.pop("copy", None)
    if given:
        raise TypeError(f"to: unexpected keyword argument '{next(iter(given))}'")
    if dtype is not None and not isinstance(dtype, _dtype):
        raise TypeError(f"to: dtype must be a torch.dtype, but is {type(dtype).__name__}")
    return (
        _device(device) if isinstance(device, (str, int)) and not isinstance(device, bool) else device,
        dtype,
        bool(non_blocking),
        memory_format,
    )
