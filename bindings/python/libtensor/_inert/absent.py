"""Names of PyTorch's modules that libtensor does not implement, under the name torch: they can be imported, and their use raises
NotImplementedError. absent.txt lists them: a line for each module, and after `=PATH` names that PyTorch's module has from another one.
"""

from __future__ import annotations

import functools
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from . import make_class, make_function

WHY = "libtensor does not implement it"
ERRORS = {"Error": RuntimeError, "Exception": Exception, "Warning": UserWarning}


@functools.cache
def list_names() -> dict[str, dict[str, str | None]]:
    """Returns the names by module: None for an absent one, or the module that it is from."""
    found = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        module, _, words = line.partition(":")
        names: dict[str, str | None] = {}
        source = None
        for word in words.split():
            if word.startswith("="):
                source = word[1:].strip(".")
            else:
                names[word] = source
        found[module] = names
    return found


def make_name(module: str, name: str) -> Any:
    """Returns a class or function for a name whose use raises NotImplementedError; for errors and warnings an empty class of them."""
    for ending, base in ERRORS.items():
        if name.endswith(ending):
            return type(name, (base,), {"__module__": module, "__doc__": "An error that libtensor never raises."})
    return (make_class if name.lstrip("_")[:1].isupper() else make_function)(module, name, WHY)


def find_name(module: str, name: str) -> Any:
    """Returns a name of the list for a module, or a module of the list below it. Raises AttributeError for other names."""
    path = module.partition(".")[2]
    below = f"{path}.{name}" if path else name
    if below in list_names():
        return import_module(f"{module}.{name}")
    names = list_names().get(path, {})
    if name not in names:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    source = names[name]
    if source is None:
        return make_name(module, name)
    return getattr(import_module(f"torch.{source}" if source else "torch"), name)


def add_names(name: str, module: ModuleType) -> None:
    """Makes the names of the list attributes of a module that is called `name`: each is made when it is first looked up."""
    if name.partition(".")[2] not in list_names():
        return
    own = vars(module).get("__getattr__")

    def look_up(attribute: str) -> Any:
        if own is not None:
            try:
                return own(attribute)
            except AttributeError:
                pass
        if attribute.startswith("__"):
            raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
        found = vars(module)[attribute] = find_name(name, attribute)
        return found

    vars(module)["__getattr__"] = look_up


class AbsentLoader:
    """Makes a module of the list that libtensor has no module for."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        add_names(module.__name__, module)


def find_spec(name: str) -> ModuleSpec | None:
    """Returns the spec of a module of the list; None for other modules."""
    if name.partition(".")[2] not in list_names():
        return None
    spec = ModuleSpec(name, AbsentLoader(), is_package=True)  # type: ignore[arg-type]
    spec.submodule_search_locations = []
    return spec
