"""libtensor under the name torch, for programs and packages that are written for PyTorch: install_as_torch().

Every module torch.x is the module libtensor.x, one object under two names in sys.modules, whichever name is imported first. A finder on
sys.meta_path resolves imports of torch.x, registers each module of libtensor that is imported later under its second name, and offers
importlib.metadata a distribution named torch. The package, public classes and functions are named torch.…: packages compare these names,
and pickles contain them. Worker processes of multiprocessing and loky that do not inherit the parent's memory install the name before they
import the program."""

import sys
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from threading import RLock

from .._base.imported import when_imported
from .._base.torch_names import ROOT, TORCH, from_torch, is_within, to_torch

VERSION = "2.15.0+libtensor"  # the version of PyTorch that libtensor implements
FUNCTORCH = "functorch"  # the top-level package, an alias of libtensor._functorch.functorch
STAYS = "_rebuild_"  # functions that pickles of tensors call, and PyTorch lacks
NUMPY = ("__array_function__", "__array_ufunc__")  # NumPy protocols that PyTorch's tensors do not implement: NumPy functions return arrays
LOADERS = ("multiprocessing.spawn", "loky.backend.spawn", "joblib.externals.loky.backend.spawn")

lock = RLock()


class Loader:
    """Loads torch.x by importing libtensor.x. Code and source are those of libtensor.x, for `python -m torch.x` and tracebacks."""

    def __init__(self, spec, name):
        self.spec, self.name = spec, name

    @staticmethod
    def create_module(spec):
        return None

    def exec_module(self, module):
        sys.modules[self.name] = import_module(self.spec.name)

    def get_code(self, name):
        return self.spec.loader.get_code(self.spec.name)

    def get_source(self, name):
        return self.spec.loader.get_source(self.spec.name)

    def is_package(self, name):
        return self.spec.submodule_search_locations is not None


class Finder:
    """Finds torch.x, the modules of libtensor, which are registered under both names once they are loaded, and the distribution torch."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if is_within(name, TORCH) or is_within(name, FUNCTORCH):
            spec = find_own(from_torch(name) if is_within(name, TORCH) else f"{ROOT}._functorch.{name}")
            if spec is None:
                return absent().find_spec(name)
            found = ModuleSpec(name, Loader(spec, name), origin=spec.origin)
            found.submodule_search_locations = spec.submodule_search_locations
            return found
        if not is_within(name, ROOT):
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not cls and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def then_name(module):
                execute(module)
                give_name(module.__name__, sys.modules.get(module.__name__, module))

            spec.loader.exec_module = then_name
        return spec

    @staticmethod
    def find_distributions(context=None):
        name = getattr(context, "name", None)
        return iter([distribution()] if name is None or name.lower() == TORCH else [])

    @staticmethod
    def invalidate_caches():
        """Nothing is kept."""


def absent():
    """Returns the module of the names that libtensor does not implement."""
    return import_module(ROOT + "._inert.absent")


def find_own(name):
    """Returns the spec of a module of libtensor; None if there is none."""
    try:
        return find_spec(name)
    except ModuleNotFoundError:  # a module of a package that libtensor does not have
        return None


def distribution():
    """Returns the distribution torch, as importlib.metadata describes installed packages."""
    from importlib.metadata import Distribution

    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {TORCH}\nVersion: {VERSION}\nSummary: The names of PyTorch, which libtensor "
        f"implements\n",
        "top_level.txt": f"{TORCH}\n",
    }

    class Torch(Distribution):
        def read_text(self, filename):
            return files.get(filename)

        def locate_file(self, path):
            return Path(sys.modules[ROOT].__file__).parent.parent / path

    return Torch()


def give_name(name, module):
    """Registers a module of libtensor under its second name, and its public classes and functions as those of torch."""
    sys.modules[to_torch(name)] = module
    absent().add_names(to_torch(name), module)
    for value in list(vars(module).values()):
        home = getattr(value, "__module__", None) if callable(value) else None
        if not isinstance(home, str) or not is_within(home, ROOT) or "._" in home:
            continue
        if not getattr(value, "__qualname__", "").startswith(STAYS):
            with suppress(AttributeError, TypeError):  # an object whose class defines __module__
                value.__module__ = to_torch(home)


class InWorker:
    """Pickles as the installation of the name in the process that reads it, where libtensor may not be on sys.path yet."""

    def __reduce__(self):
        folder = str(Path(sys.modules[ROOT].__file__).parent.parent)
        add = f"import sys; {folder!r} in sys.path or sys.path.append({folder!r})"
        return exec, (f"{add}; import {ROOT}; {ROOT}.install_as_torch()", {})


def prepare_workers(spawn):
    """Makes the workers that a module starts install the name first. `spawn` is multiprocessing.spawn or loky's."""
    describe = spawn.get_preparation_data

    def get_preparation_data(name, *args, **options):
        data = describe(name, *args, **options)
        if name == "ignore":  # for the forkserver process, which would import the program without the name; its workers import it
            return {key: value for key, value in data.items() if not key.startswith(("init_main", "main_path"))}
        return {ROOT: InWorker(), **data}

    spawn.get_preparation_data = get_preparation_data


def real_torch():
    """Returns a loaded module torch or torch.x that is not libtensor's; None if there is none."""
    package = sys.modules[ROOT]
    loaded = [(name, module) for name, module in list(sys.modules.items()) if is_within(name, TORCH) and module is not None]
    return next(
        (module for name, module in loaded if module is not (package if name == TORCH else sys.modules.get(from_torch(name)))), None
    )


def install_as_torch():
    """Makes `import torch` import libtensor in this process and in the worker processes that it starts.

    Every module `torch.x` is the module `libtensor.x`. `torch.__version__` and `importlib.metadata.version("torch")` are
    "2.15.0+libtensor", so that packages which compare versions take libtensor for PyTorch 2.15. Public classes and functions name
    `torch.…` as their module, also in pickles. NumPy's functions of tensors return
    what they return for PyTorch's, mostly arrays. Programs that are started with `subprocess` do not inherit the name: start them with
    `python -m libtensor`. Further calls do nothing.

    Raises RuntimeError where PyTorch is already imported.

    >>> import subprocess, sys
    >>> code = "import libtensor; libtensor.install_as_torch(); import torch.nn; print(torch is libtensor, torch.__version__)"
    >>> subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    'True 2.15.0+libtensor\\n'
    """
    with lock:
        if Finder in sys.meta_path:
            return
        other = real_torch()
        if other is not None:
            where = getattr(other, "__file__", None) or "an unknown file"
            raise RuntimeError(
                f"install_as_torch: {other.__name__} is already imported from {where}; call install_as_torch() before importing torch"
            )
        package = sys.modules[ROOT]
        package.__name__ = TORCH
        for name in NUMPY:
            delattr(package.Tensor, name)
        package.meshgrid.__kwdefaults__ = {"indexing": None}  # a Python function in PyTorch: packages read its defaults
        package.__version__ = import_module(ROOT + ".torch_version").TorchVersion(VERSION)
        import_module(ROOT + ".version").__version__ = VERSION
        sys.meta_path.insert(0, Finder)
        for name, module in list(sys.modules.items()):
            if is_within(name, ROOT) and module is not None:
                give_name(name, module)
        for name in LOADERS:
            when_imported(name, prepare_workers)
