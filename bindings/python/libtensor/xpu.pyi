from ._devices.accelerators import *  # noqa: F403
