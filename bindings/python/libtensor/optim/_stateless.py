"""Steps of an optimizer on other parameters and another state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from .._core.tensor import Tensor
from .optimizer import Optimizer


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """A context manager in which `optimizer` updates the tensors `swapin_parameters`, in the order of its parameters, with the state and
    options of a dictionary as `state_dict()` returns it. At its end parameters, state and options are restored.

    Raises RuntimeError for another number of groups or parameters, and an optimizer without a state.
    """
    name = "swap_in_optimizer_params_and_state"
    groups, saved, state = optimizer.param_groups, swapin_optim_state.get("param_groups"), swapin_optim_state.get("state")
    if not optimizer.state:
        raise RuntimeError(f"{name} requires initialized optimizer state.")
    if not isinstance(state, dict) or not all(isinstance(entry, dict) for entry in state.values()):
        raise RuntimeError(
            f"{name} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state dicts."
        )
    if not isinstance(saved, list) or len(saved) != len(groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for i, (group, other) in enumerate(zip(groups, saved, strict=True)):
        if len(group["params"]) != len(other["params"]):
            raise RuntimeError(f"swapin_optim_state param group {i} has a different number of params than the live optimizer param group.")
        if group.keys() != other.keys():
            raise RuntimeError(f"{name} requires the keys of param group {i} to be those of the live optimizer's group.")
    params = list(swapin_parameters.values())
    numbers = list(chain.from_iterable(group["params"] for group in saved))
    if len(params) != len(numbers):
        raise RuntimeError(f"{name} requires the explicit parameter state to match optimizer.param_groups ordering.")
    if not state.keys() <= set(numbers):
        raise RuntimeError(f"{name} requires swapin_optim_state['state'] to be keyed only by packed parameter ids.")
    by_number = dict(zip(numbers, params, strict=True))
    own = optimizer.param_groups, optimizer.state
    optimizer.param_groups = [group | {"params": [by_number[n] for n in group["params"]]} for group in saved]
    optimizer.state = defaultdict(dict, {by_number[n]: dict(entry) for n, entry in state.items()})
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = own
