from .gen_linalg import *  # noqa: F403
