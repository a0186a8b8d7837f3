from multiprocessing import *  # noqa: F403
