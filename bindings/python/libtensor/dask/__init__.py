"""Tensors as the chunks of Dask's arrays, and on their way between Dask's workers.

Nothing has to be called: where Dask and libtensor are imported, in any order, Dask's arrays take tensors as chunks, and `distributed` sends
them as their bytes. `Threads` and `SharedMemory` are plugins for workers; with `dask.config.set({"array.backend": "libtensor"})` Dask's creation
functions make tensors.
"""

from . import chunks, frames

__all__ = ["Backend", "SharedMemory", "Threads", "offer_chunks", "offer_frames", "offer_sizes", "offer_tokens", "offer_types"]

offer_chunks, offer_sizes, offer_types = chunks.offer, chunks.offer_sizes, chunks.offer_types
offer_frames, offer_tokens = frames.offer, frames.offer_tokens


def __getattr__(name):
    """The classes that Dask's are the bases of, which are imported at use."""
    if name == "Backend":
        from .backend import Backend

        return Backend
    if name in ("SharedMemory", "Threads"):
        from . import workers

        return getattr(workers, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
