"""Registrations with packages that are imported before or after libtensor. bindings/python/interop tests the packages."""

import subprocess
import sys
from pathlib import Path

import pytest

import libtensor as torch

PACKAGE = str(Path(torch.__file__).parent.parent)
EINOPS = {
    "einops/__init__.py": "from ._backends import AbstractBackend",
    "einops/_backends.py": "class AbstractBackend:\n    pass",
}
BOTH = (
    "import einops, libtensor as torch",
    "import libtensor as torch, einops",
    "import libtensor as torch; from einops import AbstractBackend; import einops",
)


def python(folder, files, code):
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    environment = {"PYTHONPATH": f"{folder}:{PACKAGE}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert not done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("imports", BOTH)
def test_a_package_finds_the_attributes_that_it_queries(tmp_path, imports):
    code = f"{imports}; print(*(kind.framework_name for kind in einops.AbstractBackend.__subclasses__()))"
    assert python(tmp_path, EINOPS, code) == ["libtensor"]


def test_other_packages_are_unchanged_before_the_import(tmp_path):
    code = """if True:
        import importlib.util, sys
        import libtensor as torch
        importlib.util.find_spec("einops")
        print(sorted({"einops", "opt_einsum", "joblib", "numpy"} & set(sys.modules)))
        import einops
        print(len(einops.AbstractBackend.__subclasses__()))
        import importlib
        importlib.reload(einops)
        print(len(einops.AbstractBackend.__subclasses__()))"""
    assert python(tmp_path, EINOPS, code) == ["[]", "1", "1"]


@pytest.mark.parametrize("name", ["einops", "opt_einsum", "joblib", "threadpoolctl"])
@pytest.mark.parametrize("order", ["import libtensor as torch, {0}", "import {0}, libtensor as torch"])
def test_a_package_of_another_version_is_imported_all_the_same(tmp_path, name, order):
    assert python(tmp_path, {f"{name}.py": "here = 7"}, f"{order.format(name)}; print({name}.here, torch.ones(2).sum().item())") == [
        "7",
        "2.0",
    ]


def test_a_package_that_fails_may_be_tried_again(tmp_path):
    code = """if True:
        import sys
        import libtensor as torch
        sys.fails = True
        try:
            import einops
        except ZeroDivisionError as error:
            print(error.args[0])
        sys.fails = False
        import einops
        print(len(einops.AbstractBackend.__subclasses__()))"""
    broken = EINOPS | {
        "einops/__init__.py": "import sys\nif sys.fails:\n    raise ZeroDivisionError('broken')\nfrom ._backends import AbstractBackend"
    }
    assert python(tmp_path, broken, code) == ["broken", "1"]


def test_packages_of_one_archive(tmp_path):
    """Whose modules have one loader."""
    code = """if True:
        import sys, zipfile
        with zipfile.ZipFile(sys.path[1] + "/all.zip", "w") as file:
            for name, text in {"einops.py": "", "joblib.py": "", "einops/__init__.py": "from ._backends import AbstractBackend",
                               "einops/_backends.py": "class AbstractBackend: pass"}.items():
                file.writestr(name, text)
        sys.path.insert(0, sys.path[1] + "/all.zip")
        import importlib.util
        import libtensor as torch
        importlib.util.find_spec("einops")
        import joblib
        print("einops" in sys.modules)
        import einops
        print(len(einops.AbstractBackend.__subclasses__()))"""
    assert python(tmp_path, {}, code) == ["False", "1"]


def test_import_finders_of_others_are_called(tmp_path):
    code = """if True:
        import sys
        class Old:
            def find_module(self, name, path=None):
                return None
        class Blocks:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "einops":
                    raise ModuleNotFoundError("blocked")
        import libtensor as torch
        sys.meta_path.insert(0, Old())
        sys.meta_path.insert(1, Blocks)
        try:
            import einops
        except ModuleNotFoundError as error:
            print(error)
        sys.meta_path.remove(Blocks)
        import einops
        print(len(einops.AbstractBackend.__subclasses__()))"""
    assert python(tmp_path, EINOPS, code) == ["blocked", "1"]
