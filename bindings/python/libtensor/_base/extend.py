"""Classes that several files write: one makes the class, and later ones, which import more of the package, add to it. Public modules offer
what the files in folders write."""


class Empty:
    pass


OWN = vars(Empty).keys()  # what a class statement has without a line of ours


def extends(kind):
    """The decorator of a class statement whose body adds to another class, for which its name stands then."""

    def add(more):
        for name, value in vars(more).items():
            if name not in OWN:
                setattr(kind, name, value)
        return kind

    return add


PRIVATE = __name__.partition(".")[0] + "._"


def publish(namespace, names):
    """Makes functions and classes that a public module offers, wherever they are written, its own: pickles and help() name them there."""
    for name in names:
        made = namespace[name]
        if getattr(made, "__qualname__", None) == name and made.__module__.startswith(PRIVATE):
            made.__module__ = namespace["__name__"]
