"""Names for a SIGCHLD handler, which DataLoader does not need: it waits for the processes."""

from __future__ import annotations

__all__: list[str] = []


def _set_SIGCHLD_handler() -> None:
    """Does nothing."""


def _set_worker_signal_handlers() -> None:
    """Does nothing."""
