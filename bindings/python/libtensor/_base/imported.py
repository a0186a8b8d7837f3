"""Actions that follow the import of another package, in either order. No package is required; an import costs one dictionary lookup."""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False  # as in typing, whose import takes milliseconds
if TYPE_CHECKING:
    from typing import Any

waiting: dict[str, list[Any]] = {}  # by module name, the functions to call with the module


class Finder:
    """A finder on sys.meta_path that calls the actions of a module after its import."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in waiting:
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not Finder and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is None:
            return None
        loader: Any = spec.loader
        execute = loader.exec_module

        def then_act(module):
            execute(module)
            if module.__name__ == name:  # a loader may load other modules too
                act_on(module, waiting.pop(name, ()))
                if not waiting and Finder in sys.meta_path:
                    sys.meta_path.remove(Finder)

        loader.exec_module = then_act
        return spec


def act_on(module, acts):
    """Calls the actions. Ignores versions of the package that lack what the actions register with."""
    for act in acts:
        with contextlib.suppress(AttributeError, ImportError):
            act(module)


def when_imported(name, act):
    """Calls act(module) now if the module is imported, otherwise after its import."""
    module = sys.modules.get(name)
    if module is not None:
        act_on(module, (act,))
        return
    waiting.setdefault(name, []).append(act)
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
