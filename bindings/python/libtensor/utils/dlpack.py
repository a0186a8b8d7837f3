"""DLPack, both ways."""

from .._data.dlpack import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
