"""Neural networks: modules, their parameters, initializers, and functions without state."""

from typing import Any

from . import attention, common_types, functional, grad, init, modules, parallel, parameter, utils
from .linear_cross_entropy import LinearCrossEntropyOptions
from .modules import *  # noqa: F403
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "DataParallel", "LinearCrossEntropyOptions", "Parameter", "UninitializedBuffer", "UninitializedParameter"]
__all__ += ["attention", "common_types", "factory_kwargs", "functional", "grad", "init", "modules", "parallel", "parameter", "utils"]
__all__ += modules.__all__


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the entries `device`, `dtype` and `memory_format` of the keyword arguments of a module, those of `factory_kwargs` among
    them. Raises TypeError for other keyword arguments and for an entry that is given twice.

    >>> torch.nn.factory_kwargs({"dtype": torch.float64, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': torch.float64}
    """
    given = dict(kwargs or {})
    made = dict(given.pop("factory_kwargs", None) or {})
    names = {"device", "dtype", "memory_format"}
    if not made.keys() <= names or not given.keys() <= names:
        raise TypeError(f"unexpected kwargs {(made.keys() | given.keys()) - names}")
    twice = made.keys() & given.keys()
    if twice:
        raise TypeError(f"{sorted(twice)[0]} specified twice, in **kwargs and in factory_kwargs")
    return made | given
