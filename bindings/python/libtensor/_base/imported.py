"""What is done once another package is imported, whichever comes first, without importing it."""

import sys


class Finder:
    """Waits for the import of modules, and acts on each once it is there."""

    def __init__(self):
        self.waiting = {}

    def find_spec(self, name, path=None, target=None):
        if name not in self.waiting:
            return None
        found = (finder.find_spec(name, path, target) for finder in list(sys.meta_path) if finder is not self)
        spec = next(filter(None, found), None)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def then_act(module):
            execute(module)
            for act in self.waiting.pop(name, ()):
                act(module)
            if not self.waiting and self in sys.meta_path:
                sys.meta_path.remove(self)

        spec.loader.exec_module = then_act
        return spec


finder = Finder()


def when_imported(name, act):
    """Calls act(module) now, where the module is imported, and otherwise when it is."""
    module = sys.modules.get(name)
    if module:
        act(module)
        return
    finder.waiting.setdefault(name, []).append(act)
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
