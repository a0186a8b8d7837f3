"""Parts of DataLoader: collation, fetchers, workers."""

from __future__ import annotations

from . import arena, channel, collate, fetch, pin_memory, processes, signal_handling, worker
from .channel import MP_STATUS_CHECK_INTERVAL

__all__ = ["MP_STATUS_CHECK_INTERVAL", "arena", "channel", "collate", "fetch", "pin_memory", "processes", "signal_handling", "worker"]

python_exit_status = False  # whether Python is ending
