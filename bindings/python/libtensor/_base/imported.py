"""What is done once another package is imported, whichever comes first. None is needed, and imports of others cost one look into a dict."""

import contextlib
import sys

waiting = {}  # by a module's name, what is called with it


class Finder:
    """Hears of imports: those that are waited for end with the calls."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in waiting:
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not Finder and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def then_act(module):
            execute(module)
            if module.__name__ == name:  # a loader may serve others too
                act_on(module, waiting.pop(name, ()))
                if not waiting and Finder in sys.meta_path:
                    sys.meta_path.remove(Finder)

        spec.loader.exec_module = then_act
        return spec


def act_on(module, acts):
    """Makes the calls. A version of the package that has no place for what they tell goes without."""
    for act in acts:
        with contextlib.suppress(AttributeError, ImportError):
            act(module)


def when_imported(name, act):
    """Calls act(module) now, where the module is imported, and otherwise when it is."""
    module = sys.modules.get(name)
    if module is not None:
        act_on(module, (act,))
        return
    waiting.setdefault(name, []).append(act)
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
