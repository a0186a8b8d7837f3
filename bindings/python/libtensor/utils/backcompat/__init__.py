"""Settings of warnings about early versions of PyTorch, which are stored without effect."""

from __future__ import annotations

__all__ = ["broadcast_warning", "keepdim_warning"]


class Warning:
    """A warning that can be enabled."""

    def __init__(self) -> None:
        self.enabled = False


broadcast_warning = Warning()
keepdim_warning = Warning()
