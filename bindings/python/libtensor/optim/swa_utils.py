"""Weight averaging during training: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, Literal

from .. import long, tensor
from .._base.device import device as Device
from .._core.modes import no_grad
from .._core.tensor import Tensor
from .._data.lists import foreach_lerp_
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ._lists import Tensors
from ._lr_base import _for_groups
from .lr_scheduler import LRScheduler
from .optimizer import Optimizer

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]

_Average = Callable[[Tensor, Tensor, Tensor | int], Tensor]
_Averages = Callable[[Any, Any, Tensor | int], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _is_inexact(values: Tensor) -> bool:
    return values.is_floating_point() or values.is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> _Averages:
    """Returns a function that updates lists of exponential moving averages in place: `lerp(average, parameter, 1 - decay)`."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, _: Tensor | int) -> None:
        if ema_param_list and _is_inexact(ema_param_list[0]):
            foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
        else:
            for average, param in zip(ema_param_list, current_param_list, strict=False):
                average.copy_(average * decay + param * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> _Averages:
    """Returns a function that adds the parameters to lists of equally weighted averages in place."""

    @no_grad()
    def swa_update(averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Tensor | int) -> None:
        weight = 1 / (int(num_averaged) + 1)
        if averaged_param_list and _is_inexact(averaged_param_list[0]):
            foreach_lerp_(averaged_param_list, current_param_list, weight)
        else:
            for average, param in zip(averaged_param_list, current_param_list, strict=False):
                average.copy_(average + (param - average) * weight)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> _Average:
    """Returns the function of an exponential moving average: `decay * average + (1 - decay) * parameter`."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> _Average:
    """Returns the function of an equally weighted average: `average + (parameter - average) / (num_averaged + 1)`."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of `model` whose parameters are averages over the calls of `update_parameters`.

    The averages are equally weighted unless `avg_fn`, for one parameter, or `multi_avg_fn`, for lists, is given. `use_buffers` averages
    buffers too; by default they are copied. The buffer `n_averaged` counts the calls.

    >>> model = torch.nn.Linear(1, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged, torch.equal(averaged.module.weight, model.weight)
    (tensor(1), True)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: int | Device | None = None,
        avg_fn: _Average | None = None,
        multi_avg_fn: _Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        assert avg_fn is None or multi_avg_fn is None, "Only one of avg_fn and multi_avg_fn should be provided"
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Adds the parameters of `model` to the averages."""
        lists = [chain(m.parameters(), m.buffers() if self.use_buffers else ()) for m in (self.module, model)]
        pairs = [(average, param.detach().to(average.device)) for average, param in zip(*lists, strict=False)]
        averages = [average.detach() for average, _ in pairs]
        params = [param for _, param in pairs]
        if self.n_averaged == 0:
            for average, param in zip(averages, params, strict=False):
                average.copy_(param)
        elif self.avg_fn is not None:
            count = self.n_averaged
            for average, param in zip(averages, params, strict=False):
                average.copy_(self.avg_fn(average, param, count.to(average.device)))
        else:
            average_of = self.multi_avg_fn or get_swa_multi_avg_fn()
            groups = Optimizer._group_tensors_by_device_and_dtype([averages, params])
            for (device, _), (rows, _) in groups.items():
                average_of(rows[0], rows[1], self.n_averaged.to(device))
        if not self.use_buffers:
            for mine, buffer in zip(self.module.buffers(), model.buffers(), strict=False):
                mine.detach().copy_(buffer.detach().to(mine.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: int | Device | None = None) -> None:
    """Recomputes the running statistics of all batch normalization modules of `model` over the inputs of `loader`: its items, or the first
    elements of items that are lists or tuples.
    """
    momenta: dict[_BatchNorm, float | None] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for item in loader:
        given = item[0] if isinstance(item, (list, tuple)) else item
        model(given.to(device) if device is not None else given)
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the learning rate to `swa_lr` in `anneal_epochs` epochs, by a cosine or linearly, after which it is constant.

    Raises ValueError for another strategy and for a negative number of epochs.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(_for_groups("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=False):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        """Returns the fraction of the annealing after `step` steps, between 0 and 1."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        """Returns the learning rates after `_step_count - 1` steps, from those of the previous step."""
        self._check_called()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        lrs = []
        for group in self.optimizer.param_groups:
            end, lr = group["swa_lr"], group["lr"]
            start = end if before == 1 else (lr - before * end) / (1 - before)
            lrs.append(end * now + start * (1 - now))
        return lrs
