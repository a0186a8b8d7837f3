"""XPU devices: whether there are any."""

from ._devices import accelerators as _accelerators

globals().update(_accelerators.functions("xpu"))
