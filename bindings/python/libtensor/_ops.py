"""Classes of operators, for isinstance() and annotations, and operators that Python functions implement."""

from typing import Any

from . import ops
from ._inert import declare_unsupported

__all__ = ["HigherOrderOperator", "ops"]
declare_unsupported(globals(), "operators are called as functions of torch", "OpOverload OpOverloadPacket OperatorBase")


class HigherOrderOperator:
    """An operator with a Python function for each dispatch key. A call outside of transforms executes the function of an Autograd,
    Composite or CPU key; calls inside transforms raise NotImplementedError."""

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = self.__name__ = name
        self.py_kernels: dict[Any, Any] = {}

    def py_impl(self, k: Any) -> Any:
        """Returns a decorator that registers a function for a dispatch key, a transform or a mode."""

        def register(function: Any) -> Any:
            if k in self.py_kernels:
                raise RuntimeError(f"{self._name}: a function for {k} is already registered")
            self.py_kernels[k] = function
            return function

        return register

    def fallthrough(self, dispatch_key: Any) -> None:
        """Removes nothing: keys without a function are passed over."""

    def name(self) -> str:
        """Returns the operator's name."""
        return self._name

    def __str__(self) -> str:
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ._C import DispatchKey, _are_functorch_transforms_active

        if not _are_functorch_transforms_active():
            for key in ("AutogradCPU", "Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CPU"):
                function = self.py_kernels.get(getattr(DispatchKey, key, None))
                if function is not None:
                    return function(*args, **kwargs)
        raise NotImplementedError(f"{self._name}: no function is registered for the arguments' device, or the call is inside a transform")
