"""cuSPARSELt is not used."""


def is_available():
    return False


def version():
    """Returns None: there is no cuSPARSELt."""
    return None


def get_max_alg_id():
    """Returns None: there is no cuSPARSELt."""
    return None
