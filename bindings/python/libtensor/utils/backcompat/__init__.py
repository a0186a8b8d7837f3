"""Settings of warnings about what early versions of PyTorch did. They are kept and change nothing."""

from __future__ import annotations

__all__ = ["broadcast_warning", "keepdim_warning"]


class Warning:
    """A warning that can be enabled."""

    def __init__(self) -> None:
        self.enabled = False


broadcast_warning = Warning()
keepdim_warning = Warning()
