"""Copies of a module on devices: there is one device, which has the module."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Any, detach: bool = False) -> list[Module]:
    """Returns the module in a list of one, where one device is given. Raises NotImplementedError for more."""
    if len(devices) > 1:
        raise NotImplementedError(f"replicate: several devices ({len(devices)}) are not supported; use one device")
    return [network]
