"""Helpers under the names of torch.utils."""

from . import checkpoint, deterministic, dlpack, hooks

__all__ = ["checkpoint", "deterministic", "dlpack", "hooks"]
