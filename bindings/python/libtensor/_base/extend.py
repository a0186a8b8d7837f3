"""Classes that are defined in several files: the first one creates the class, later ones, which import more of the package, add to it.
Public modules export functions and classes of private ones.
"""


class Empty:
    pass


OWN = vars(Empty).keys()  # attributes that every class statement defines


def extends(kind):
    """Decorates a class statement whose body adds attributes to another class; its name then refers to that class."""

    def add(more):
        for name, value in vars(more).items():
            if name not in OWN:
                setattr(kind, name, value)
        return kind

    return add


PRIVATE = __name__.partition(".")[0] + "._"


def publish(namespace, names):
    """Sets `__module__` of functions and classes to the public module that exports them, for pickles and help()."""
    for name in names:
        made = namespace[name]
        if getattr(made, "__qualname__", None) == name and made.__module__.startswith(PRIVATE):
            made.__module__ = namespace["__name__"]
