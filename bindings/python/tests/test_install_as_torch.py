"""libtensor under the name torch: install_as_torch() and python -m libtensor, each in a separate process."""

import os
import signal
import subprocess
import sys
import zipfile

import pytest

INSTALL = "import sys, libtensor; libtensor.install_as_torch()\n"


def python(*args, cwd=None, stdin=None, **environment):
    env = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run([sys.executable, *map(str, args)], capture_output=True, text=True, cwd=cwd, env=env, timeout=120, input=stdin)


def run(code, **options):
    """Runs code over libtensor as torch, and returns what it prints."""
    done = python("-c", INSTALL + code, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(*args, **options):
    return python("-m", "libtensor", *args, **options)


def test_modules_are_the_same_objects_whichever_name_is_imported_first():
    run("""
import importlib, pkgutil
left = ("dask", "hdf5", "__main__", "_interop", ".lib", "tensorboard")  # those that need other packages
names = [m.name for m in pkgutil.walk_packages(libtensor.__path__, "libtensor.") if not any(n in m.name for n in left)]
assert len(names) > 100, names
for i, name in enumerate(names):
    other = "torch" + name[9:]
    pair = [name, other] if i % 2 else [other, name]
    first, second = map(importlib.import_module, pair)
    assert first is second is sys.modules[name] is sys.modules[other], name
    assert first.__name__ == name and first.__spec__.name == name
import torch
assert torch is libtensor
for name, module in list(sys.modules.items()):
    if name.startswith("libtensor."):
        assert sys.modules["torch" + name[9:]] is module, name
""")


def test_submodules_loaded_by_attribute_have_both_names():
    run("""
import torch
assert torch.linalg is sys.modules["torch.linalg"] is libtensor.linalg
import torch.nn.functional as F
assert F is libtensor.nn.functional
""")


def test_vmap_takes_the_tensors_of_both_names():
    run("import torch; assert torch.func.vmap(torch.sin)(libtensor.zeros(3)).tolist() == [0, 0, 0]")


def test_modules_that_libtensor_lacks_are_not_found():
    said = run("""
import importlib.util
assert importlib.util.find_spec("torch.no_such_module") is None
try:
    import torch.no_such_module
except ModuleNotFoundError as error:
    print(error)
""")
    assert said.strip() == "No module named 'torch.no_such_module'"


def test_distribution_and_versions():
    run("""
import importlib.metadata as metadata, importlib.util, torch
assert metadata.version("torch") == metadata.version("Torch") == torch.__version__ == torch.version.__version__ == "2.15.0+libtensor"
found = metadata.distribution("torch")
assert found.metadata["Name"] == "torch" and found.version == "2.15.0+libtensor"
assert metadata.packages_distributions()["torch"] == ["torch"]
assert sum(d.metadata["Name"] == "torch" for d in metadata.distributions()) == 1
assert metadata.requires("torch") is None and not list(metadata.entry_points(group="torch"))
assert metadata.version("libtensor") != "2.15.0+libtensor"
try: metadata.version("torchvision")
except metadata.PackageNotFoundError: pass
assert importlib.util.find_spec("torch").origin == libtensor.__file__ and torch.__spec__.origin == libtensor.__file__
spec = importlib.util.find_spec("torch.fft")
assert spec.origin.endswith("fft.py") and spec.loader.get_source("torch.fft") and not spec.loader.is_package("torch.fft")
from torch.torch_version import TorchVersion
assert isinstance(torch.__version__, TorchVersion) and torch.__version__ >= (2, 9) and torch.__version__ > "2.15"
""")


def test_classes_and_functions_name_torch_and_pickle_by_it():
    run("""
import pickle, torch, torch.nn.functional as F
from torch import nn
assert repr(torch.Tensor) == "<class 'torch.Tensor'>" and repr(nn.Linear) == "<class 'torch.nn.modules.linear.Linear'>"
assert F.gelu.__module__ == "torch.nn.functional" and torch.relu.__module__ == "torch" and torch.linalg.solve.__module__ == "torch.linalg"
for value in (nn.Linear, torch.Tensor, torch.relu, F.gelu, nn.Parameter, torch.Size):
    assert b"torch" in pickle.dumps(value) and b"libtensor" not in pickle.dumps(value) and pickle.loads(pickle.dumps(value)) is value, value
model = pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(2, 3), nn.ReLU())))
assert type(model[0]) is nn.Linear and torch.typename(model) == "torch.nn.modules.container.Sequential"
""")


def test_pickles_of_tensors_written_under_the_name_are_read_without_it(tmp_path):
    run(f"import pickle, torch; pickle.dump(torch.arange(3), open({str(tmp_path / 'a')!r}, 'wb'))")
    done = python("-c", f"import pickle, libtensor; print(pickle.load(open({str(tmp_path / 'a')!r}, 'rb')).tolist())")
    assert done.stdout.strip() == "[0, 1, 2]", done.stderr


def test_numpy_functions_return_the_same_for_tensors_as_with_pytorch():
    run("""
import numpy, torch
x, y = torch.tensor([3, 1, 2]), numpy.array([1.0, 2.0, 3.0])
for made in (numpy.isin(x, [1, 2]), numpy.concatenate([x, x]), numpy.unique(x), numpy.vstack([x, x]), numpy.where(x > 1, x, 0)):
    assert type(made) is numpy.ndarray, made
for made in (numpy.sqrt(x), numpy.add(x, 1), numpy.float64(2) * x, y + x, x + y):
    assert type(made) is torch.Tensor, made
assert torch.from_numpy(numpy.isin(x, [1, 2])).tolist() == [False, True, True]
""")


def test_installation_fails_if_another_torch_is_loaded(tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("mine = 1")
    code = """
import torch, sys, libtensor
try: libtensor.install_as_torch()
except RuntimeError as e: print(e)
assert torch.mine and sys.modules['torch'] is torch
"""
    done = python("-c", code, cwd=tmp_path)
    assert f"torch is already imported from {tmp_path}" in done.stdout and "before importing torch" in done.stdout, done.stderr
    run("import torch; assert torch is libtensor", cwd=tmp_path)  # of two that could be imported, ours


def test_repeated_and_concurrent_calls_install_once():
    run("""
import threading, importlib
start = threading.Barrier(8)
names = "torch.nn", "torch.fft", "torch.sparse", "libtensor.fft", "libtensor.nn", "torch.linalg", "libtensor.special", "torch.special"
found = []
def work(name):
    start.wait()
    libtensor.install_as_torch()
    found.append((name, importlib.import_module(name)))
threads = [threading.Thread(target=work, args=(name,)) for name in names]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(found) == 8
for name, module in found:
    tail = name.partition(".")[2]
    assert module is sys.modules["torch." + tail] is sys.modules["libtensor." + tail]
assert sum(type(f) is type and f.__name__ == "Finder" and "as_torch" in f.__module__ for f in sys.meta_path) == 1
""")


def test_install_loads_nothing_before_it_is_asked_for():
    done = python(
        "-c", "import sys, libtensor; assert not [m for m in sys.modules if 'as_torch' in m or m == 'torch' or m.startswith('torch.')]"
    )
    assert done.returncode == 0, done.stderr


WORKERS = """
import sys, torch
assert "libtensor" in torch.__version__

class Scale(torch.nn.Module):
    def forward(self, x): return x * 2

def work(pair):
    module, x = pair
    return module(x), sys.modules["torch"] is sys.modules["libtensor"], torch.__version__

if __name__ == "__main__":
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(1) as pool:
        (y, same, version), = pool.map(work, [(Scale(), torch.ones(2))])
    assert y.tolist() == [2, 2] and same and version == "2.15.0+libtensor"
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert pool.submit(work, (Scale(), torch.ones(1))).result()[0].tolist() == [2]
    print("done")
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_workers_inherit_the_name(tmp_path, how):
    (tmp_path / "workers.py").write_text(WORKERS)
    for command in (("workers.py",), ("-m", "workers")):
        done = program(*command, how, cwd=tmp_path)
        assert done.stdout == "done\n", done.stderr


def test_the_server_of_forkserver_does_not_import_the_program():
    run("""
from multiprocessing import spawn
sys.modules["__main__"].__file__ = "/nowhere/main.py"
assert not [key for key in spawn.get_preparation_data("ignore") if key.startswith(("init_main", "main_path"))]
data = spawn.get_preparation_data("worker")
assert data["init_main_from_path"] == "/nowhere/main.py" and next(iter(data)) == "libtensor"
""")


def test_joblib_workers_inherit_the_name(tmp_path):
    pytest.importorskip("joblib")
    (tmp_path / "jobs.py").write_text("""
import joblib, torch
from helper import double
if __name__ == "__main__":
    print([y.tolist() for y in joblib.Parallel(2)(joblib.delayed(double)(torch.ones(1)) for _ in range(2))])
""")
    (tmp_path / "helper.py").write_text("import torch\ndef double(x): return torch.add(x, x)\n")
    done = program("jobs.py", cwd=tmp_path)
    assert done.stdout == "[[2.0], [2.0]]\n", done.stderr


FACTS = "import sys, torch; print(sys.argv, sys.path[0], __name__, __package__, torch.__version__)\n"


def facts(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def same_as_python(tmp_path, *command, **options):
    """A program run by libtensor prints what it prints when run by the interpreter, where the name is installed by the environment."""
    (tmp_path / "name").mkdir(exist_ok=True)
    (tmp_path / "name" / "sitecustomize.py").write_text("import libtensor; libtensor.install_as_torch()")
    ours, plain = program(*command, cwd=tmp_path, **options), python(*command, cwd=tmp_path, PYTHONPATH=str(tmp_path / "name"), **options)
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout), ours.stderr
    return ours, plain


def test_programs_run_as_the_interpreter_runs_them(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("prog.py", "sub/__main__.py", "sub/other.py"):
        (tmp_path / name).write_text(FACTS + "print(__file__, __spec__ and __spec__.name)\n")
    with zipfile.ZipFile(tmp_path / "made.zip", "w") as archive:
        archive.writestr("__main__.py", FACTS)
    for command in (
        ["prog.py", "a", "--help"],
        ["sub"],
        ["sub/other.py", "-c"],
        ["-m", "sub", "x"],
        ["-msub.other", "-m", "x"],
        ["made.zip", "-V"],
    ):
        assert "2.15.0+libtensor" in same_as_python(tmp_path, *command)[0].stdout
    for command in (["-c", FACTS, "a", "-b"], ["-c" + FACTS]):
        assert "2.15.0+libtensor" in same_as_python(tmp_path, *command)[0].stdout
    assert "2.15.0+libtensor" in same_as_python(tmp_path, "-", "a", stdin=FACTS)[0].stdout


def test_exit_codes_and_tracebacks_are_the_interpreters(tmp_path):
    (tmp_path / "broken.py").write_text("def f():\n  raise ValueError('no', 1)\nf()\n")
    (tmp_path / "syntax.py").write_text("x = = 1\n")
    (tmp_path / "chained.py").write_text("try:\n  1 / 0\nexcept ZeroDivisionError:\n  {}['a']\n")
    for name in ("broken.py", "syntax.py", "chained.py"):
        ours, plain = same_as_python(tmp_path, name)
        assert ours.returncode == 1 and ours.stderr == plain.stderr
    for ending in ("sys.exit(7)", "sys.exit('words')", "raise SystemExit", "sys.exit(None)"):
        ours, plain = same_as_python(tmp_path, "-c", f"import sys; {ending}")
        assert ours.stderr == plain.stderr
    ours, plain = same_as_python(tmp_path, "-c", "raise KeyboardInterrupt")
    assert ours.returncode == -signal.SIGINT and ours.stderr == plain.stderr
    ours, plain = same_as_python(
        tmp_path, "-c", "import sys; sys.excepthook = lambda *e: print(e[0].__name__, e[2].tb_frame.f_code.co_filename)\nprint(x)"
    )
    assert ours.stdout == "NameError <string>\n"


def test_programs_that_cannot_be_found_end_with_the_interpreters_code(tmp_path):
    (tmp_path / "empty").mkdir()
    for command, words in (
        (["missing.py"], "can't open file"),
        (["empty"], "can't find '__main__'"),
        (["-m", "missing_module"], "No module named missing_module"),
    ):
        ours, _ = same_as_python(tmp_path, *command)
        assert words in ours.stderr and "Traceback" not in ours.stderr
    for command in (["-m"], ["-c"], ["--unknown"]):
        done = program(*command)
        assert done.returncode == 2 and "usage: python -m libtensor" in done.stderr
    for command in ([], ["--help"], ["-h"]):
        done = program(*command)
        assert done.returncode == 0 and done.stdout.startswith("usage: python -m libtensor PROGRAM")
    assert "torch 2.15.0+libtensor" in program("--version").stdout


def test_program_reads_pickles_of_its_main(tmp_path):
    (tmp_path / "own.py").write_text("""
import pickle, sys
class Mine: pass
assert pickle.loads(pickle.dumps(Mine())).__class__ is Mine
import __main__
assert __main__.Mine is Mine and sys.modules["__main__"].__dict__ is globals()
import atexit; atexit.register(lambda: print(pickle.loads(pickle.dumps(Mine())).__class__ is Mine))
""")
    assert facts(program("own.py", cwd=tmp_path)) == "True"


def test_version_of_torch_compares_as_versions():
    from libtensor.torch_version import TorchVersion as V

    order = [
        "1.9.0",
        "1.10.0a0",
        "1.10.0b1",
        "1.10.0rc1",
        "1.10.0",
        "1.10.0+cpu",
        "1.10.0.post1",
        "1.10.1.dev1",
        "1.10.1",
        "2.0",
        "2.15.0+libtensor",
    ]
    for i, a in enumerate(order):
        for j, b in enumerate(order):
            assert (V(a) < b, V(a) <= b, V(a) == b, V(a) != b, V(a) > b, V(a) >= b) == (i < j, i <= j, i == j, i != j, i > j, i >= j), (
                a,
                b,
            )
    assert V("2.15.0") == "2.15" and V("2.15.0") == (2, 15) and V("2.15.0+x") > (2, 15, 0) and hash(V("2.15.0")) == hash("2.15.0")
    assert V("2.15.0") != "parrot" and str(V("2.1")) == "2.1" and V("2.10") > V("2.9")
    packaging = pytest.importorskip("packaging.version")
    for a in order:
        for b in order:
            assert (V(a) < packaging.Version(b)) == (packaging.Version(a) < packaging.Version(b))
