"""Pruning: parameters with a mask of zeros.

A pruned parameter NAME is NAME_orig times the buffer NAME_mask, computed before each call of the module.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, TypeVar

from ... import cat, ones_like, rand, rand_like, topk, zeros_like
from ..._core.tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter

_M = TypeVar("_M", bound=Module)


def _validate_pruning_amount_init(amount: Any) -> None:
    if amount is True or not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if amount < 0 or not whole and amount > 1.0:
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:  # type: ignore[operator]
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_structured_pruning(t: Tensor) -> None:
    if t.dim() <= 1:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """Returns the number of elements to prune: an int is a number, a float a fraction."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """Returns the n-norm of each slice along `dim`."""
    dims = [i for i in range(t.dim()) if i != dim % t.dim()]
    return t.norm(p=n, dim=dims)


class BasePruningMethod(ABC):
    """Base class of pruning methods. A subclass defines `PRUNING_TYPE`, unstructured, structured or global, and `compute_mask(t,
    default_mask)`."""

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns `default_mask` with zeros for the elements of `t` to prune."""

    def apply_mask(self, module: Module) -> Tensor:
        """Returns the original parameter times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original  # type: ignore[no-any-return]

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prunes the parameter `name` by this method, after previous ones, and returns the method."""
        found = [
            (key, hook)
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        for key, old in found:
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            del module._forward_pre_hooks[key]
            method = container
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        if not found:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default = ones_like(original)
        else:
            default = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(scores, default_mask=default)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not found:
                setattr(module, name, Parameter(module._parameters.pop(name + "_orig")))
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Returns `t` times the mask that the method computes."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Replaces the parameter by its pruned values permanently."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        assert original is not None
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, applied in order."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        for i, method in enumerate(methods):
            if i == 0:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Appends a method. Raises TypeError for other objects, ValueError for a method of another parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the mask of the last method, for the elements that previous methods keep."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            where: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            kept = mask.movedim(dim, 0).reshape(mask.shape[dim], -1).sum(1) != 0
            where = (slice(None),) * dim + (kept,)
        elif method.PRUNING_TYPE == "global":
            where = ...
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        made = mask.clone()
        made[where] = method.compute_mask(t[where], default_mask=mask[where]).to(made.dtype)
        return made


class Identity(BasePruningMethod):
    """Prunes nothing: the mask is all ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes `amount` elements at random: an int as their number, a float as a fraction."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _scores(self, t: Tensor) -> Tensor:
        """Returns scores, the smallest of which are pruned."""
        return -rand_like(t)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != t.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match tensor shape {t.shape}")
        _validate_pruning_amount(self.amount, t.numel())
        count = _compute_nparams_toprune(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[topk(self._scores(t).reshape(-1), k=count, largest=False).indices] = 0
        return mask


class L1Unstructured(RandomUnstructured):
    """Prunes the `amount` elements of smallest absolute value."""

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()


class RandomStructured(BasePruningMethod):
    """Prunes `amount` slices along `dim` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def _kept(self, t: Tensor, count: int) -> Tensor:
        """Returns which slices are kept."""
        scores = rand(t.shape[self.dim])
        return scores > scores.kthvalue(count).values

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        _validate_pruning_amount(self.amount, size)
        count = _compute_nparams_toprune(self.amount, size)
        if count == 0:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = -1
        return default_mask * self._kept(t, count).reshape(shape).to(default_mask.dtype)


class LnStructured(RandomStructured):
    """Prunes the `amount` slices along `dim` of smallest n-norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, count: int) -> Tensor:
        norms = _compute_norm(t, self.n, self.dim)
        kept = zeros_like(norms)
        kept[topk(norms, k=norms.numel() - count, largest=True).indices] = 1
        return kept


class CustomFromMask(BasePruningMethod):
    """Prunes the elements where a mask is zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: _M, name: str) -> _M:
    """Registers a mask of ones for the parameter `name`, and returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: _M, name: str, amount: float) -> _M:
    """Prunes `amount` elements of the parameter `name` at random, an int as their number, a float as a fraction, and returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: _M, name: str, amount: float, importance_scores: Tensor | None = None) -> _M:
    """Prunes the `amount` elements of the parameter `name` whose absolute values, or those of `importance_scores`, are smallest, and
    returns the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: _M, name: str, amount: float, dim: int) -> _M:
    """Prunes `amount` slices along `dim` of the parameter `name` at random, and returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: _M, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None) -> _M:
    """Prunes the `amount` slices along `dim` of the parameter `name` whose n-norm is smallest, and returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes several parameters, pairs of a module and a name, as if they were one tensor, by an unstructured method."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    chosen = {} if importance_scores is None else importance_scores
    if not isinstance(chosen, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = [chosen.get((module, name), getattr(module, name)) for module, name in pairs]
    masks = [getattr(module, name + "_mask", ones_like(getattr(module, name))) for module, name in pairs]
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    flat_scores, flat_mask = (cat([t.reshape(-1) for t in tensors]) for tensors in (scores, masks))
    # Elements that are pruned already are left out.
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "temp"
    container.add_pruning_method(method)
    final = container.compute_mask(flat_scores, flat_mask)
    begin = 0
    for module, name in pairs:
        shape = getattr(module, name).shape
        custom_from_mask(module, name, final[begin : begin + shape.numel()].view(shape))
        begin += shape.numel()


def custom_from_mask(module: _M, name: str, mask: Tensor) -> _M:
    """Prunes the elements of the parameter `name` where `mask` is zero, and returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: _M, name: str) -> _M:
    """Makes the pruned values of the parameter `name` the parameter itself, without a mask, and returns the module. Raises ValueError if it
    is not pruned."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Returns whether a parameter of the tree is pruned."""
    return any(isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values())
