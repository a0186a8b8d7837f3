"""Helpers under the names of torch.utils."""

from . import checkpoint, dlpack, hooks

__all__ = ["checkpoint", "dlpack", "hooks"]
