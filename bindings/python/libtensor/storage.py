"""The classes of storages."""

from ._storages.files import load as _load
from ._storages.storage import UntypedStorage
from ._storages.typed_storage import LEGACY as _LEGACY
from ._storages.typed_storage import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def _dtype_to_storage_type_map():
    """Returns the names of the legacy storages by dtype, as in `torch.FloatStorage`."""
    return {dtype: name + "Storage" for name, dtype in _LEGACY.items()}


def _load_from_bytes(b):
    """Returns the storage from the bytes of a file, which PyTorch's pickles contain. Executes nothing."""
    return _load(b)
