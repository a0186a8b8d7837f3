from .._gen.gen_signal_windows import *  # noqa: F403
