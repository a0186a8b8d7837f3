"""Names of PyTorch that packages import, annotate with or decorate with, and that libtensor does not support."""

import warnings
from typing import Any


def warn_once(name, why, warned=set()):  # noqa: B006
    """Warns at the first call of a name that it returns its argument unchanged."""
    if name not in warned:
        warned.add(name)
        warnings.warn(f"{name}: {why}", UserWarning, stacklevel=3)


def make_function(module, name, why):
    """Returns a function that raises NotImplementedError."""

    def unsupported(*args, **kwargs):
        raise NotImplementedError(f"{module.replace('libtensor', 'torch')}.{name}: {why}")

    unsupported.__name__ = unsupported.__qualname__ = name
    unsupported.__module__, unsupported.__doc__ = module, f"Raises NotImplementedError: {why}."
    return unsupported


def make_class(module, name, why):
    """Returns a class for annotations and isinstance() without instances: its constructor raises NotImplementedError."""
    body = {
        "__module__": module,
        "__doc__": f"For annotations; making one raises NotImplementedError: {why}.",
        "__new__": make_function(module, name, why),
    }
    return type(name, (), body)


def declare_unsupported(namespace: dict[str, Any], why: str, names: str) -> list[str]:
    """Adds names, separated by spaces, to a module: a class for a name in CapWords, otherwise a function. Their use raises
    NotImplementedError. Returns the list of the names, for __all__.
    """
    listed = names.split()
    for name in listed:
        make = make_class if name.lstrip("_")[:1].isupper() else make_function
        namespace.setdefault(name, make(namespace["__name__"], name, why))
    return [name for name in listed if name[0] != "_"]


def identity(target=None, *args, **options):
    """Returns the decorated function or class; without one, a decorator that does."""
    return target if callable(target) or isinstance(target, (staticmethod, classmethod, property)) else identity


class Settings:
    """Compiler settings, which are stored without effect."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def patch(self, *args, **values):
        """Returns a context manager and decorator in which settings have other values."""
        from contextlib import contextmanager

        @contextmanager
        def patched():
            changed = {**(args[0] if args and isinstance(args[0], dict) else dict([args]) if args else {}), **values}
            before = {key: self.__dict__[key] for key in changed if key in self.__dict__}
            self.__dict__.update(changed)
            try:
                yield
            finally:
                for key in changed.keys() - before.keys():
                    self.__dict__.pop(key, None)
                self.__dict__.update(before)

        return patched()
