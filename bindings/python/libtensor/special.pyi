from ._gen.gen_special import *  # noqa: F403
