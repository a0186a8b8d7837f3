"""Signatures of the functions, for inspect and help()."""

import inspect
from inspect import Parameter, Signature

from ._library import Cell, Scalar


def of(function):
    """The signature of one of _direct's functions."""
    fallback = getattr(function, "__wrapped__", function)
    forms = getattr(fallback, "forms", ())
    own = inspect.signature(fallback)
    if not forms or own.parameters.keys().isdisjoint(("args", "kwargs")):
        return readable(own)
    return merged([of(form) for form in forms])


def readable(signature):
    """Without what only the generated code knows: NumPy's names of parameters, and numbers as C takes them."""
    kept = [p.replace(default=number(p.default)) for p in signature.parameters.values() if type(p.default) is not object]
    return signature.replace(parameters=kept)


def number(default):
    return Cell.from_buffer_copy(default).number() if isinstance(default, Scalar) else default


def merged(signatures):
    """One signature for several: what not all have is optional."""
    found = {}
    for signature in signatures:
        for parameter in signature.parameters.values():
            found.setdefault(parameter.name, parameter)
    for name, parameter in found.items():
        everywhere = all(name in s.parameters for s in signatures)
        if parameter.default is Parameter.empty and not everywhere and parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            found[name] = parameter.replace(default=None)
    several = [name for name, p in found.items() if p.kind is Parameter.VAR_POSITIONAL][1:]
    for name in several:
        del found[name]
    ordered = sorted(found.values(), key=lambda p: (p.kind, p.default is not Parameter.empty and p.kind is Parameter.POSITIONAL_OR_KEYWORD))
    return Signature(ordered)
