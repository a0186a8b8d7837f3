"""Helpers under the names of torch.utils."""

from . import dlpack, hooks

__all__ = ["dlpack", "hooks"]
