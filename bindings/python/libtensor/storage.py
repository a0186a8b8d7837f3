"""The storages' classes."""

from ._storage import UntypedStorage
from ._typed_storage import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
