"""Helpers under the names of torch.utils."""

from . import dlpack

__all__ = ["dlpack"]
