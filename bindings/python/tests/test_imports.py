"""The package's folders have an order: a file imports from its own folder and those above it, so that none is imported in the middle of
another."""

import ast
from pathlib import Path

import pytest

import libtensor

PACKAGE = Path(libtensor.__file__).parent
ORDER = ["_base", "_core", "_gen", "_data", "_devices", "_storages", "_gradients", "_tensors", "_interop"]
# Names of PyTorch that packages import, above the public modules, and PyTorch's own private modules.
PYTORCH = {"_functorch", "_inert", "_dynamo", "_higher_order_ops", "_inductor", "_subclasses"}
PYTORCH_FILES = {
    "_C",
    "_VF",
    "_custom_ops",
    "_guards",
    "_jit_internal",
    "_logging",
    "_ops",
    "_tensor",
    "_tensor_str",
    "_utils",
    "__config__",
    "__future__",
}
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def rank(parts):
    """The place of a module in the order; public ones are above all folders."""
    return ORDER.index(parts[0]) if parts and parts[0] in ORDER else len(ORDER)


def imports(file):
    """The modules of the package that a file imports, anywhere in it, with the lines."""
    for node in ast.walk(ast.parse((PACKAGE / file).read_text())):
        if isinstance(node, ast.Import):
            found = [alias.name.split(".")[1:] for alias in node.names if alias.name.split(".")[0] == "libtensor"]
        elif isinstance(node, ast.ImportFrom) and (node.level or node.module.split(".")[0] == "libtensor"):
            module = (node.module or "").split(".") if node.module else []
            base = [*file.parts[: len(file.parts) - node.level], *module] if node.level else module[1:]
            found = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for parts in found:
            yield parts, node.lineno


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_file_imports_from_no_folder_above_it(file):
    wrong = [f"{file}, line {line}, imports {'.'.join(parts)}" for parts, line in imports(file) if rank(parts) > rank(file.parts)]
    assert not wrong, "\n".join(wrong)


def test_modules_outside_of_private_folders_are_public():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name not in ("__pycache__", "lib")}
    assert {name for name in folders if name[0] == "_"} == set(ORDER) | PYTORCH
    assert {file.stem for file in FILES if len(file.parts) == 1 and file.stem[0] == "_"} == PYTORCH_FILES | {"__init__", "__main__"}
    assert not [file for file in FILES if file.parts[0] in ORDER and file.stem[0] == "_" and file.stem != "__init__"]


def graph():
    """Returns the imports of each file, from its own folder or from public modules."""
    names = {".".join(file.with_suffix("").parts).removesuffix("__init__").rstrip("."): file for file in FILES}
    made = {}
    for name, file in names.items():
        targets = {next((t for t in (".".join(parts), ".".join(parts[:-1])) if t in names), "") for parts, _ in imports(file)}
        made[name] = sorted(targets - {name})
    return made


def cycle(imported):
    """The files of a cycle, from one of them back to itself; [] where there is none."""
    done = set()

    def search(name, way):
        if name in way:
            return [*way[way.index(name) :], name]
        if name in done:
            return []
        done.add(name)
        return next(filter(None, (search(target, [*way, name]) for target in imported.get(name, ()))), [])

    return next(filter(None, (search(name, []) for name in imported)), [])


def test_no_file_is_in_a_cycle_of_imports():
    found = cycle(graph())
    assert not found, "these files import each other: " + " -> ".join(found)


def test_modules_are_named_by_text_only_where_the_package_finds_them_by_name():
    """What import_module and __import__ are given cannot be read here."""
    named = {str(file) for file in FILES if any(word in (PACKAGE / file).read_text() for word in ("import_module", "__import__"))}
    expected = {"__init__.py", "_interop/__init__.py", "_interop/as_torch.py", "_storages/unpickling.py"}
    assert named == expected | {
        "_functorch/__init__.py",
        "_inert/absent.py",
        "_inert/names.py",
        "distributed/__init__.py",
        "export/__main__.py",
        "utils/checkpoint.py",
        "utils/__init__.py",
        "utils/_pytree_nodes.py",
    }


@pytest.mark.parametrize(
    "imported, expected", [({"a": ["b"], "b": ["c"], "c": []}, []), ({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c", "b"])]
)
def test_a_cycle_is_found(imported, expected):
    assert cycle(imported) == expected
