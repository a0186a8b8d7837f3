"""Availability of mixed precision on CUDA devices."""

from ..._gen import gen_functions as _f

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Returns whether there is no CUDA device."""
    return bool(_f.device_count("cuda") == 0)
