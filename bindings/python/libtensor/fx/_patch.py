"""Replacements during a trace: methods of modules, and functions that are nodes of the graph."""

import builtins
import functools
from collections.abc import Callable
from typing import Any

from ..utils import _pytree as pytree
from .proxy import Proxy

# The globals of modules that call wrap(), by their identity and the name of the function.
wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}
# Methods of classes that wrap_method() registers.
wrapped_methods: list[tuple[type, str]] = []
MISSING = object()


def find_proxy(*values: Any) -> Proxy | None:
    """Returns a proxy among arguments, lists, tuples and dictionaries; None without one."""
    return next((value for value in pytree.tree_leaves(values) if isinstance(value, Proxy)), None)


def make_node_of(function: Callable[..., Any], method: str | None = None) -> Callable[..., Any]:
    """Returns a function whose calls with proxies become nodes of the graph."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        if method is not None:
            return proxy.tracer.create_proxy("call_method", method, args, kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


class Patcher:
    """A context manager that replaces attributes and globals."""

    def __init__(self) -> None:
        self.undo: list[Callable[[], None]] = []
        self.visited: set[int] = set()

    def __enter__(self) -> "Patcher":
        return self

    def __exit__(self, *raised: Any) -> None:
        while self.undo:
            self.undo.pop()()

    def patch_method(self, owner: Any, name: str, value: Any, deduplicate: bool = True) -> None:
        """Replaces an attribute of a class."""
        before = vars(owner).get(name, MISSING)
        setattr(owner, name, value)
        self.undo.append(lambda: delattr(owner, name) if before is MISSING else setattr(owner, name, before))

    def patch(self, values: dict[str, Any], name: str, value: Any, deduplicate: bool = True) -> None:
        """Replaces a global variable."""
        before = values.get(name, MISSING)
        values[name] = value

        def restore() -> None:
            if before is MISSING:
                del values[name]
            else:
                values[name] = before

        self.undo.append(restore)

    def visit_once(self, thing: Any) -> bool:
        """Returns whether an object is asked about for the first time."""
        is_new = id(thing) not in self.visited
        self.visited.add(id(thing))
        return is_new

    def patch_wrapped(self) -> None:
        """Replaces the functions and methods that are registered by wrap()."""
        for (_, name), values in list(wrapped_functions.items()):
            function = values.get(name, getattr(builtins, name, None))
            if function is not None and name != "__class__":
                self.patch(values, name, make_node_of(function))
        for cls, name in wrapped_methods:
            self.patch_method(cls, name, make_node_of(getattr(cls, name), name))

    def wrap_functions(self, values: dict[str, Any], identities: set[int]) -> None:
        """Replaces the global variables whose values are among the functions with these identities."""
        if not self.visit_once(values):
            return
        for name, value in list(values.items()):
            if name[0] != "_" and callable(value) and id(value) in identities:
                self.patch(values, name, make_node_of(value))
