from .gen_special import *  # noqa: F403
