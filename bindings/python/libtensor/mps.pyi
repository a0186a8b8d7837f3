from ._accelerators import *  # noqa: F403
