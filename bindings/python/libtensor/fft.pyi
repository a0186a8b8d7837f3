from .gen_fft import *  # noqa: F403
