"""The package's files have an order: each imports only those above it, so that none has to be imported in the middle of another."""

import ast
from pathlib import Path

import pytest

import libtensor

PACKAGE = Path(libtensor.__file__).parent

# What a file needs stands above it.
ORDER = """
the library, and what needs no tensor
    gen_names _library _size _print _extend _entered _errors _dtypes _device _forked _overrides _direct _warnings
the classes, each with its handle alone
    _owner _tensor
arguments and results of the generated functions
    _results _convert _match _call
the generated functions
    gen_functions gen_fft gen_linalg gen_nn_functional gen_quantized gen_signal_windows gen_sparse gen_special
what is made of them
    _modes _cast _compose _random _interop _serialize _parcels _sharing _dlpack _arrow _sequence _create _keys _quantized _sparse
    _streams _storage _typed_storage
the other methods of Tensor
    _operators gen_operators _callbacks _nodes _hooks _function _anomaly _grad _names _methods
files, devices, neighbours
    _structure _files _accelerators _cuda_random _threadpools
the public modules
    autograd.anomaly_mode autograd.function autograd.functional autograd.grad_mode autograd.gradcheck autograd.graph autograd.variable autograd func
    _C accelerator cpu cuda dispatch distributed fft hdf5 linalg mps multiprocessing ops.quantized ops
    overrides random return_types safetensors sparse special
    storage testing version xpu
    nn.functional nn signal.windows signal utils.checkpoint utils.deterministic utils.dlpack utils.hooks utils
    backends.cpu backends.cuda backends.cudnn backends.mkl backends.mkldnn backends.mps backends.openmp backends
the package
    libtensor
"""
FILES = [name for line in ORDER.splitlines() if line.startswith(" ") for name in line.split()]


def path_of(name):
    """The file of a module; None for what is no module of the package."""
    stem = PACKAGE if name == "libtensor" else PACKAGE.joinpath(*name.split("."))
    found = [path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.exists()]
    return found[0] if found else None


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "libtensor"


def imports(name):
    """The modules of the package that a file imports, anywhere in it, with the lines."""
    path = path_of(name)
    folder = path.parent.relative_to(PACKAGE).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found = [alias.name.split(".")[1:] for alias in node.names if alias.name.split(".")[0] == "libtensor"]
        elif isinstance(node, ast.ImportFrom) and (node.level or node.module.split(".")[0] == "libtensor"):
            module = (node.module or "").split(".") if node.module else []
            base = [*folder[: len(folder) + 1 - node.level], *module] if node.level else module[1:]
            found = [[*base, alias.name] if path_of(".".join([*base, alias.name])) else base for alias in node.names]
        else:
            continue
        for parts in found:
            yield ".".join(parts) or "libtensor", node.lineno


def graph():
    return {name: sorted({target for target, _ in imports(name)} - {name}) for name in FILES}


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


def test_every_file_has_its_place():
    assert sorted(FILES) == sorted(name_of(path) for path in PACKAGE.rglob("*.py"))


def test_no_file_is_in_a_cycle_of_imports():
    found = cycle(graph())
    assert not found, "these files import each other: " + " -> ".join(found)


@pytest.mark.parametrize("name", FILES)
def test_a_file_imports_only_those_above_it(name):
    above = FILES[: FILES.index(name)]
    wrong = [f"{name}, line {line}, imports {target}" for target, line in imports(name) if target not in above]
    assert not wrong, "\n".join(wrong)


def test_modules_are_named_by_text_only_where_the_package_gives_public_ones():
    """What import_module and __import__ are given cannot be read here."""
    named = {name for name in FILES if any(word in path_of(name).read_text() for word in ("import_module", "__import__"))}
    assert named == {"libtensor"}


@pytest.mark.parametrize("imported, expected", [({"a": ["b"], "b": ["c"], "c": []}, []), ({"a": ["b"], "b": ["c"], "c": ["b"]}, ["b", "c", "b"])])
def test_a_cycle_is_found(imported, expected):
    assert cycle(imported) == expected
