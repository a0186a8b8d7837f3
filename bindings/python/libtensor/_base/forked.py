"""What stands for tensors, storages and generators in a forked child, where the library cannot be used.

A pool's worker unpickles its tasks, and shows a result that it cannot pickle, where an exception ends it: the pool then waits for ever.
So neither raises there; what a task does with the object does.
"""

from functools import wraps

from .errors import ForkedError


class Absent:
    """An object that was sent to a forked child. It can be held and shown; any other use says why it is not there."""

    __slots__ = ("__weakref__", "why")

    def __init__(self, why):
        object.__setattr__(self, "why", why)

    def __setstate__(self, state):
        """Takes the attributes of a pickled object: none, as it cannot be used."""

    def __getattribute__(self, name):
        if name == "__setstate__":
            return object.__getattribute__(self, name)
        return use(self)

    def __repr__(self):
        return f"<absent: {object.__getattribute__(self, 'why')}>"

    __hash__ = object.__hash__


def use(absent, *_, **__):
    raise ForkedError(object.__getattribute__(absent, "why"))


# What an object needs to be made, held and shown; __torch_function__ would take calls over.
KEPT = "new init init_subclass subclasshook class getattribute getattr setstate repr str format hash del torch_function"


def refuse(kind):
    """Makes each of a class's operators an error: Python looks for them in the class, past __getattribute__."""
    kept = {f"__{name}__" for name in KEPT.split()}
    for name in {*dir(kind), "__call__", "__enter__", "__exit__", "__await__", "__fspath__"} - kept:
        if name[:2] == name[-2:] == "__" and callable(getattr(kind, name, use)):
            setattr(Absent, name, use)


def rebuilds(make):
    """The decorator of a function that pickles name: in a forked child it gives an Absent instead of an exception."""

    @wraps(make)
    def rebuild(*args):
        for arg in args:
            if type(arg) is Absent:
                return arg
        try:
            return make(*args)
        except ForkedError as error:
            return Absent(str(error))

    return rebuild


def shows(represent):
    """The decorator of __repr__: in a forked child it tells why there is nothing to show."""

    @wraps(represent)
    def show(self, **options):
        try:
            return represent(self, **options)
        except ForkedError as error:
            return f"<{type(self).__name__}: {error}>"

    return show
