"""MPS devices, which are not available."""

from ._devices import accelerators as _accelerators

globals().update(_accelerators.functions("mps"))
