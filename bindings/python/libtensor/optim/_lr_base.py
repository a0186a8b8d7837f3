"""The base class of learning rate schedules, and the functions with which schedules read and set the options of parameter groups."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from weakref import ref

from .._core.tensor import Tensor
from .optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use `scheduler.step()` to "
    "step "
    "the scheduler. During the deprecation, if epoch is different from None, the closed form is used instead of the new chainable form, "
    "where "
    "available. Please open an issue if you are unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def _copies(values: Iterable[Any]) -> list[Any]:
    """Returns the values; tensors are copied."""
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def _values(optimizer: Optimizer, key: str) -> list[Any]:
    """Returns the option `key` of each group; tensors are copied."""
    return _copies(group[key] for group in optimizer.param_groups)


def _set(group: dict[str, Any], key: str, value: Any) -> None:
    """Sets the option `key` of a group, in place for a tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def _for_groups(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Returns the value of each group, the items of a list or the value itself; tensors are copied. Raises ValueError for another number of
    items."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {groups}."
        )
    return _copies(value)


def _check(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """The base class of schedules. A subclass defines `get_lr`, which returns the learning rate of each group for the epoch `last_epoch`.

    The constructor sets the learning rates of epoch 0, or of `last_epoch + 1` to resume training. Raises TypeError for arguments that are
    not optimizers, and KeyError for groups without `initial_lr` if training is resumed.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    optimizer: Optimizer
    base_lrs: list[Any]
    last_epoch: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, _values(optimizer, "lr"), strict=False):
                group.setdefault("initial_lr", lr)
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0.\n"
                        "This typically happens when:\n"
                        "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
                        "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                    )
        self.base_lrs = _values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._watch_step()
        self._initial_step()

    def _watch_step(self) -> None:
        """Wraps `step` of the optimizer to record that it was called."""
        step: Any = self.optimizer.step
        if hasattr(step, "_wrapped_by_lr_sched"):
            return
        optimizer, function = ref(self.optimizer), step.__func__

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            instance = optimizer()
            instance._opt_called = True  # type: ignore[union-attr]
            return function.__get__(instance, type(instance))(*args, **kwargs)

        wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
        self.optimizer.step = wrapper  # type: ignore[method-assign]

    def _initial_step(self) -> None:
        """Sets the learning rates of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Returns all attributes except the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the attributes that `state_dict()` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Returns the last learning rates of this schedule; tensors are copies."""
        return _copies(self._last_lr)

    def get_lr(self) -> list[Any]:
        """Returns the learning rates of epoch `last_epoch`, from those of the previous epoch."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Sets the learning rates of the next epoch; call it after `step` of the optimizer. `epoch` is deprecated and sets the epoch."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to "
                    "call "
                    f"`optimizer.step()` before `lr_scheduler.step()`. {_SEE}",
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in "
                    "the "
                    "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
                    "the "
                    f"first value of the learning rate schedule. {_SEE}",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Sets the learning rates of the next epoch, or those of `epoch`."""
        with _stepping(self):
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed: Any = getattr(self, "_get_closed_form_lr", self.get_lr)
                values = closed()
        for group, lr in zip(self.optimizer.param_groups, values, strict=False):
            _set(group, "lr", lr)
        self._last_lr = _values(self.optimizer, "lr")

    def _check_called(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning, stacklevel=3)

    def _scaled(self, factor: float) -> list[Any]:
        """Returns the current learning rates times `factor`."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """An old name of `LRScheduler`."""


@contextmanager
def _stepping(scheduler: LRScheduler) -> Iterator[None]:
    scheduler._get_lr_called_within_step = True
    try:
        yield
    finally:
        scheduler._get_lr_called_within_step = False


LRScheduler.__module__ = _LRScheduler.__module__ = __name__.removesuffix("_lr_base") + "lr_scheduler"  # the name in files
