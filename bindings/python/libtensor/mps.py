"""MPS devices: whether there are any."""

from . import _accelerators

globals().update(_accelerators.functions("mps"))
