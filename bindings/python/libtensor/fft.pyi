from ._gen.gen_fft import *  # noqa: F403
