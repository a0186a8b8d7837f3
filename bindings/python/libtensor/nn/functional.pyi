from ..gen_nn_functional import *  # noqa: F403
