"""Data pipes, an earlier interface of datasets."""

from . import datapipe, iter, map

__all__ = ["datapipe", "iter", "map"]
