"""Control flow that depends on tensors: cond and while_loop."""

import functools

from .._base import overrides
from .._core.modes import is_grad_enabled, is_transforming
from .._core.tensor import Tensor
from .._gen import gen_functions as _f

__all__ = ["cond", "find_recorder", "offered", "while_loop"]


def find_recorder():
    """Returns the mode that records control flow, as torch.export.export does; None without one."""
    modes = overrides.state.modes
    return modes[-1] if modes and hasattr(modes[-1], "record_cond") else None


def offered(function):
    """Decorates a function of functions: the innermost mode receives a call as one of this function, unless it receives the operators."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        modes = overrides.state.modes
        if not modes or modes[-1].receives_all:
            return function(*args, **kwargs)
        return overrides.dispatch(call, args, kwargs)

    vars(call)["takes_functions"] = True
    return call


@offered
def cond(pred, true_fn, false_fn, operands=()):
    """Returns true_fn(*operands) where `pred` is true, and otherwise false_fn(*operands).

    If `pred` is a tensor, gradients of tensors that only the other function uses are 0. It is called with tensors on the device meta to
    find them. Inside vmap, if `pred` differs between batch elements, both functions are called for all of them, and where() chooses the
    results: these must be alike, and the functions must not write to tensors.

    >>> torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.zeros(1),))
    tensor([0.])
    """
    recorder = find_recorder()
    if not isinstance(pred, Tensor):
        if not isinstance(pred, bool | int | float):
            raise RuntimeError(f"torch.cond: Expected pred to be bool or tensor, but got {pred!r:.60}")
        return true_fn(*operands) if pred else false_fn(*operands)
    if pred.numel() != 1:
        shape = list(pred.shape)
        raise RuntimeError(
            f"torch.cond: Expected pred to be bool or single-element tensor, but got a tensor of shape {shape}; reduce it with all() or "
            "any()"
        )
    if is_transforming() and _f.vmap_level(pred):
        from .._higher_order_ops.batched import select_results

        return select_results(pred, true_fn, false_fn, operands)
    if recorder is not None:
        return recorder.record_cond(pred, true_fn, false_fn, tuple(operands))
    taken, untaken = (true_fn, false_fn) if pred else (false_fn, true_fn)
    result = taken(*operands)
    if not is_grad_enabled():
        return result
    from .._higher_order_ops.untaken import connect, list_used

    return connect(result, list_used(untaken, operands))


@offered
def while_loop(cond_fn, body_fn, carried_inputs):
    """Returns the values after body_fn(*values), repeated while cond_fn(*values) is true.

    Raises RuntimeError inside vmap if the condition differs between batch elements.
    """
    recorder = find_recorder()
    if recorder is not None:
        return recorder.record_while(cond_fn, body_fn, tuple(carried_inputs))
    values = carried_inputs
    while True:
        condition = cond_fn(*values)
        if is_transforming():
            from .._higher_order_ops.batched import reject_loop

            reject_loop(condition)
        if not condition:
            return values
        made = body_fn(*values)
        values = made if isinstance(made, (tuple, list)) else (made,)
