"""cuDNN is not used; its settings are kept."""

enabled = benchmark = deterministic = allow_tf32 = False
benchmark_limit = None


def is_available():
    return False


def version():
    """None: there is no cuDNN."""
    return None


def is_acceptable(tensor):
    return False
