"""oneDNN is not used; its settings are stored."""

from ._flags import Precision, settable

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2

enabled = allow_tf32 = True
deterministic = False
matmul, conv, rnn = Precision(), Precision(), Precision()
fp32_precision = "none"

set_flags, flags = settable(__name__, {"enabled": False, "deterministic": False, "allow_tf32": True, "fp32_precision": "none"})


class verbose:
    """Accepted without effect: oneDNN is not used."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def is_available():
    return False


def is_acl_available():
    return False
