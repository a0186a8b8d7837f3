"""Dual tensors of forward-mode differentiation, under the names of torch.autograd.forward_ad."""

from threading import local
from typing import NamedTuple

from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .._gradients.forward import levels

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

entered = local()  # the transform around the thread's level, and the levels


class UnpackedDualTensor(NamedTuple):
    """The result of unpack_dual(): the primal, and the tangent or None."""

    primal: Tensor
    tangent: Tensor | None


def current(number, name):
    """Returns the number of the innermost level, including those of func.jvp, None outside of one."""
    found = levels.numbers[-1] if levels.numbers else None
    if number not in (None, 0):
        raise RuntimeError(f"{name}: nested levels are not supported: the level must be 0, not {number}")
    return found


def enter_dual_level():
    """Enters a level of forward-mode differentiation, which exit_dual_level() leaves. Levels cannot be nested; use func.jvp for that."""
    if hasattr(entered, "level"):
        raise RuntimeError("Nested forward mode AD is not supported at the moment; use nested func.jvp")
    around = _f.transform_level()
    entered.level = around, levels.numbers
    levels.numbers = (*levels.numbers, _f.jvp_begin())
    return 0


def exit_dual_level(*, level=None):
    """Leaves the level. Dual tensors become their primals."""
    current(level, "exit_dual_level")
    if not hasattr(entered, "level"):
        raise RuntimeError("exit_dual_level: no level is active; call enter_dual_level() first")
    around, levels.numbers = entered.level
    del entered.level
    _f.transform_leave(around)


class dual_level:
    """A context manager in which tensors can have tangents.

    >>> forward_ad = torch.autograd.forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor([1., 2.]), torch.tensor([1., 0.]))
    ...     forward_ad.unpack_dual(x ** 3).tangent
    tensor([3., 0.])
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exception):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    """Returns `tensor` with a tangent of its sizes, dtype and device. Results that are computed from it have the derivative in that
    direction as their tangent."""
    number = current(level, "make_dual")
    if number is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    return _f.jvp_wrap(tensor, tangent, number)


def unpack_dual(tensor, *, level=None):
    """Returns the primal and the tangent of a tensor; the tangent is None for a tensor without one, and outside of a level."""
    number = current(level, "unpack_dual")
    if number is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(_f.jvp_primal(tensor, number), _f.jvp_tangent(tensor, number))
