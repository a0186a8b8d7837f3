"""GradScaler: multiplies losses by a factor, so that float16 gradients do not underflow, and skips optimizer steps after an overflow."""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .._base import dtypes as _dtypes
from .._core.tensor import Tensor
from .._data.scaling import check_and_unscale, update_scale
from .._gen import gen_functions as _f

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """The progress of an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses and unscales gradients for training in float16 under autocast, and adapts the scale: it is multiplied by
    `backoff_factor` after infinite or NaN gradients, and by `growth_factor` after `growth_interval` steps without them. With
    `enabled=False` all methods have no effect, and `step` calls `optimizer.step`.

    Raises AssertionError for a growth factor of at most 1 and a backoff factor of at least 1.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.)
    >>> scaler.scale(weight.sum()).backward()
    >>> weight.grad
    tensor([8., 8.])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and _f.device_count("cuda") == 0:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            if not growth_factor > 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if not backoff_factor < 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
            self._init_scale = init_scale
            self._scale: Tensor | None = None
            self._growth_factor = growth_factor
            self._backoff_factor = backoff_factor
            self._growth_interval = growth_interval
            self._init_growth_tracker = 0
            self._growth_tracker: Tensor | None = None
            self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        if self._scale is None:
            raise AssertionError(f"Attempted {funcname} but _scale is None.  " + fix)
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {funcname} but _growth_tracker is None.  " + fix)
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, device: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = _f.full((), self._init_scale, dtype=_dtypes.float32, device=device)
        self._growth_tracker = _f.full((), self._init_growth_tracker, dtype=_dtypes.int32, device=device)

    def scale(self, outputs: Any) -> Any:
        """Returns a tensor, or the tensors of nested lists and tuples, times the scale. Raises ValueError for other values."""
        if not self._enabled:
            return outputs
        return self._scaled(outputs, {})

    def _scaled(self, value: Any, scales: dict[Any, Tensor]) -> Any:
        if isinstance(value, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(value.device)
            if value.device not in scales:
                scales[value.device] = self._check_scale_growth_tracker("scale")[0].to(value.device)
            return value * scales[value.device]
        if isinstance(value, Iterable):
            made = (self._scaled(v, scales) for v in value)
            return type(value)(made) if isinstance(value, list | tuple) else list(made)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool) -> dict[Any, Tensor]:
        """Unscales the gradients of an optimizer's parameters. Returns for each device whether one was infinite or NaN."""
        found: dict[Any, Tensor] = {}
        grads: dict[Any, list[Tensor]] = {}
        for group in optimizer.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if not allow_fp16 and param.grad.dtype is _dtypes.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                grad = param.grad
                if grad.is_sparse:
                    if grad.dtype is _dtypes.float16:
                        param.grad = grad = grad.coalesce()
                    grad = grad._values()
                grads.setdefault(grad.device, []).append(grad)
        for device, some in grads.items():
            found[device] = found_inf.to(device, copy=True)
            check_and_unscale(some, found[device], inv_scale)
        return found

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of the optimizer's parameters by the scale, in place, for example to clip them before step().

        Raises RuntimeError if called twice between updates or after step(), ValueError for float16 gradients.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = scale.double().reciprocal().float()
        found_inf = _f.full((), 0.0, dtype=_dtypes.float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer: Any, state: dict[str, Any], *args: Any, **kwargs: Any) -> float | None:
        if not sum(v.item() for v in state["found_inf_per_device"].values()):
            made: float | None = optimizer.step(*args, **kwargs)
            return made
        return None

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> float | None:
        """Unscales the gradients, unless unscale_() has, and calls `optimizer.step(*args, **kwargs)` if all are finite. Returns its result,
        or None.

        Raises RuntimeError for a closure and if called twice between updates.
        """
        if not self._enabled:
            made: float | None = optimizer.step(*args, **kwargs)
            return made
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        result: float | None = None
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._fused_step(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _fused_step(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: Any) -> float | None:
        """Runs an optimizer that unscales gradients itself, by its attributes `grad_scale` and `found_inf`, or its argument
        `grad_scaler`."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            made: float | None = optimizer.step(*args, **kwargs, grad_scaler=self)
            return made
        scale, _ = self._check_scale_growth_tracker("step")
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        found = sum((t.to(scale.device) for t in state["found_inf_per_device"].values()), start=_f.full((), 0.0, device=scale.device))
        optimizer.grad_scale = None if state["stage"] is OptState.UNSCALED else scale
        optimizer.found_inf = found
        try:
            made = optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf
        return made

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapts the scale to the steps since the last update: multiplies it by `backoff_factor` after infinite or NaN gradients, by
        `growth_factor` after `growth_interval` steps without them. `new_scale`, a number or a float32 tensor of one element, sets it.

        Raises AssertionError if nothing was scaled or no step was taken.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor):
                if new_scale.numel() != 1 or new_scale.requires_grad or new_scale.dtype is not _dtypes.float32:
                    raise AssertionError("new_scale should be a float or a 1-element float32 tensor with requires_grad=False.")
                scale.copy_(new_scale)
            else:
                scale.fill_(new_scale)
        else:
            found = [t.to(scale.device) for state in self._per_optimizer_states.values() for t in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            update_scale(scale, tracker, sum(found[1:], start=found[0]), self._growth_factor, self._backoff_factor, self._growth_interval)
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """Returns the scale; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """Returns the growth factor."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Returns the backoff factor."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Returns the growth interval."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets the growth interval."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Returns whether the scaler is enabled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Returns the scale, the factors, the interval and the count of steps; an empty dictionary if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the state that state_dict() returned. Raises RuntimeError for an empty dictionary."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.")
        self._init_scale = float(state_dict["scale"])
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if len(self._per_optimizer_states) != 0:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after scaler.update()."
                )
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one = _f.full((), 1.0, dtype=_dtypes.float32, device=scale.device)
        zero = _f.full((), 0.0, dtype=_dtypes.float32, device=scale.device)
        found = self._unscale_grads_(optimizer, one, zero, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        found: dict[Any, Tensor] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found
