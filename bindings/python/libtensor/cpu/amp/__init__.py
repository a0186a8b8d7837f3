"""Names of amp for CPU devices, each of which warns of the one in `amp` that takes the type of device."""

from . import autocast_mode, grad_scaler
from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "autocast_mode", "grad_scaler"]
