"""Metal is not used."""


def is_available():
    return False


def is_built():
    return False
