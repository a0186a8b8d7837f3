"""Pickling of objects for worker processes that are not forked."""

from __future__ import annotations

import io
import pickle
import sys
from collections import ChainMap
from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["Carried"]


class Carried:
    """An object that is pickled by value if it cannot be pickled by name: local classes and functions, lambdas, and those of a program that
    another process cannot import. Requires the package cloudpickle.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (_dump(self.value),)


def _restore(data: bytes) -> Carried:
    return Carried(pickle.loads(data))


def _dump(value: Any) -> bytes:
    program = sys.modules["__main__"]
    importable = getattr(program, "__spec__", None) is not None or hasattr(program, "__file__")
    try:
        import cloudpickle  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        cloudpickle = None
    if importable or cloudpickle is None:
        try:
            return bytes(ForkingPickler.dumps(value))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            if cloudpickle is None:
                raise RuntimeError(
                    f"DataLoader: the dataset or a function cannot be pickled for a worker process ({error}); define it at the top level "
                    "of a "
                    "module, install the package cloudpickle, or use multiprocessing_context='fork'"
                ) from error
    file = io.BytesIO()
    pickler = cloudpickle.CloudPickler(file)
    pickler.dispatch_table = ChainMap(ForkingPickler._extra_reducers, pickler.dispatch_table)  # type: ignore[attr-defined]
    pickler.dump(value)
    return file.getvalue()
