"""Classes that several files write: one makes the class, and later ones, which import more of the package, add to it."""


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
