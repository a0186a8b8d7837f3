"""Tensors as chunks of Dask arrays, and their serialization between Dask's workers.

No call is needed: if Dask and libtensor are imported, in any order, Dask arrays accept tensors as chunks, and `distributed` sends tensors
as their bytes. `Threads` and `SharedMemory` are plugins for workers; with `dask.config.set({"array.backend": "libtensor"})` Dask's creation
functions create tensors.
"""

from . import chunks, frames

__all__ = ["Backend", "SharedMemory", "Threads", "offer_chunks", "offer_frames", "offer_sizes", "offer_tokens", "offer_types"]

offer_chunks, offer_sizes, offer_types = chunks.offer, chunks.offer_sizes, chunks.offer_types
offer_frames, offer_tokens = frames.offer, frames.offer_tokens


def __getattr__(name):
    """Returns classes derived from Dask's, which are imported at first use."""
    if name == "Backend":
        from .backend import Backend

        return Backend
    if name in ("SharedMemory", "Threads"):
        from . import workers

        return getattr(workers, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
