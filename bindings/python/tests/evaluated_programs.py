"""Evaluates programs node by node in addition to their runs in C, whose results must be bitwise identical."""

import libtensor as torch
from libtensor._core.modes import is_transforming
from libtensor.export.auto_functionalized import copy_storage

tree_map = torch.utils._pytree.tree_map


def bits(value):
    """Returns the dtype, the shape and the bytes of a tensor; other values with their type."""
    if not isinstance(value, torch.Tensor):
        return type(value), repr(value)
    plain = value.detach().as_subclass(torch.Tensor).resolve_conj().resolve_neg().contiguous()
    return value.dtype, value.shape, plain.reshape(-1).view(torch.uint8).tolist() if plain.numel() else []


def copy_all(values):
    """Returns copies of tensors, in which a tensor that occurs twice is one."""
    copies = {id(x): copy_storage(x.detach()) for x in values if isinstance(x, torch.Tensor)}
    return [copies.get(id(x), x) for x in values]


def attempt(function):
    try:
        return function(), None
    except Exception as error:
        error.__traceback__ = None  # whose frames would keep the values of the run
        return None, error


def evaluate_too(run):
    """Returns Program.run, which also evaluates the program with copies of its inputs and of its state."""

    def compare(program, *inputs, state=None, gradients=False):
        if is_transforming() or not hasattr(program, "text"):  # the program of an evaluator, which checks arguments
            return run(program, *inputs, state=state, gradients=gradients)
        copies, before = copy_all([*inputs, *state]), torch.get_rng_state()
        expected, error = attempt(lambda: run(program, *inputs, state=state, gradients=gradients))
        after = torch.get_rng_state()
        torch.set_rng_state(before)
        named = dict(zip((item.name for item in program.state), copies[len(inputs) :], strict=True))
        with torch.no_grad():
            found, other = attempt(lambda: program.evaluator.run(copies[: len(inputs)], named))
        torch.set_rng_state(after)
        if error is not None:
            assert other is not None, f"the run in C raises {error!r}"
            raise error
        assert other is None, repr(other)
        assert list(map(bits, found)) == list(map(bits, expected))
        assert list(map(bits, copies)) == list(map(bits, [*inputs, *state]))
        return expected

    return compare
