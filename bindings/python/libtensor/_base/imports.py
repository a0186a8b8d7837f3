"""What is done once another package is imported, now or later. None of them is needed, and imports of others cost one look into a dict."""

import contextlib
import sys

waiting = {}  # by a package's name, what is called with its module


class Finder:
    """Hears of imports: those that are waited for end with the call."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in waiting:
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not Finder and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def then_tell(module):
            execute(module)
            if module.__name__ == name:  # a loader may serve others too
                tell(name, module)

        spec.loader.exec_module = then_tell
        return spec


def tell(name, module):
    """Makes the call. A version of the package that has no place for it goes without."""
    call = waiting.pop(name, None)
    if not waiting and Finder in sys.meta_path:
        sys.meta_path.remove(Finder)
    if call:
        with contextlib.suppress(AttributeError, ImportError):
            call(module)


def once_imported(name, call):
    """Calls `call` with the module of a package, at once where it is imported already."""
    waiting[name] = call
    module = sys.modules.get(name)
    if module is not None:
        tell(name, module)
    elif Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
