from .gen_sparse import *  # noqa: F403
