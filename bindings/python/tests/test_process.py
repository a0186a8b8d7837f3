"""Threads, processes, memory, loading."""

import gc
import multiprocessing
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import libtensor as torch
from libtensor._base import library as _library

PACKAGE = str(Path(torch.__file__).parent.parent)


def python(code, **environment):
    env = {**os.environ, "PYTHONPATH": PACKAGE, **environment}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)


def test_threads_do_not_share_results():
    def work(i):
        total = torch.zeros(4)
        for _ in range(200):
            total = total + i
        return total.tolist()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(32))) == [[200.0 * i] * 4 for i in range(32)]


def test_errors_belong_to_their_thread():
    def work(i):
        try:
            torch.zeros(2) + torch.zeros(i + 3)
        except RuntimeError as error:
            return str(i + 3) in str(error)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))


def test_results_do_not_depend_on_the_number_of_threads():
    x = torch.rand(300000)
    before = torch.get_num_threads()
    totals = set()
    for n in (1, 2, 3):
        torch.set_num_threads(n)
        totals.add((x.sum().item(), (x * 3).sum().item()))
    torch.set_num_threads(before)
    assert len(totals) == 1


def double(x):
    return x * 2


def test_spawned_workers():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(double, [torch.tensor([1, 2])])[0].tolist() == [2, 4]


def test_memory_is_freed_with_the_last_tensor():
    gc.collect()
    torch.zeros(1)
    before = torch.memory_stats().in_use
    x = torch.zeros(1 << 20)
    y = x[5:]
    assert torch.memory_stats().in_use - before >= 4 << 20
    del x
    assert torch.memory_stats().in_use - before >= 4 << 20
    del y
    assert torch.memory_stats().in_use - before < 1 << 20


def test_memory_by_dtype():
    before = torch.memory_stats_of(torch.int16)
    x = torch.zeros(10, dtype=torch.int16)
    y = x[5:]
    now = torch.memory_stats_of(torch.int16)
    assert (now.tensors - before.tensors, now.storages - before.storages, now.nbytes - before.nbytes) == (2, 1, 20)
    lines = torch.memory_summary().splitlines()
    assert lines[0].startswith("libtensor memory: ") and any(
        line.split()[:3] == ["int16", str(now.tensors), str(now.storages)] for line in lines
    )
    assert torch.memory_stats().tensors >= 2 and y.shape == (5,)


def test_memory_limit():
    torch.set_memory_limit(torch.memory_stats().in_use + 1_000_000)
    try:
        with pytest.raises(MemoryError, match="memory limit"):
            torch.zeros(1_000_000)
        assert torch.zeros(1000).sum() == 0
    finally:
        torch.set_memory_limit(0)
    assert torch.memory_stats().limit == 0


def test_memory_limit_of_the_environment():
    code = "import libtensor as torch\ntry:\n    torch.zeros(1 << 20)\nexcept MemoryError as error:\n    print(error)\n"
    assert "memory limit of 1048576 bytes" in python(code, LIBTENSOR_MEMORY_LIMIT="1M").stdout
    assert python(code, LIBTENSOR_MEMORY_LIMIT="1G").stdout == ""
    assert "LIBTENSOR_MEMORY_LIMIT is 'plenty'" in python(code, LIBTENSOR_MEMORY_LIMIT="plenty").stdout


@pytest.mark.slow
def test_the_cache_size_follows_the_variable_of_malloc():
    code = "import libtensor as torch\nt = torch.ones(1 << 26)\ndel t\nprint(torch.memory_stats().cached >> 20)"
    for said, kept in (("65536", "0"), ("0x8000000", "0"), ("0x10000000", "256"), ("plenty", "256"), ("-1", "256")):
        assert python(code, MALLOC_TRIM_THRESHOLD_=said).stdout.split() == [kept]
    small = code.replace("1 << 26", "1 << 22")
    assert python(small, MALLOC_TRIM_THRESHOLD_="0").stdout.split() == ["16"]


def test_failures_leak_nothing():
    x = torch.zeros(3)
    gc.collect()
    before = _library.live_handles()
    for _ in range(100):
        with pytest.raises(RuntimeError):
            x + torch.zeros(2)
    gc.collect()
    assert _library.live_handles() == before


def test_exit_while_memory_is_shared():
    code = "import libtensor as torch\nb = bytearray(64)\nx = torch.frombuffer(b, dtype=torch.uint8)\nc = x.__dlpack__()\n"
    done = python(code)
    assert done.returncode == 0 and not done.stderr


def test_the_error_for_a_missing_library_lists_the_paths():
    done = python("import libtensor", LIBTENSOR_LIBRARY="/nowhere/libtensor.so")
    assert done.returncode == 1 and "ImportError" in done.stderr and "/nowhere/libtensor.so" in done.stderr


def test_another_library_is_told():
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "/libc.so" in line or "/libc-" in line)
    done = python("import libtensor", LIBTENSOR_LIBRARY=path)
    assert done.returncode == 1 and "ImportError" in done.stderr and "it is another library, without tensor_version" in done.stderr


def test_a_package_in_an_archive_is_told(tmp_path):
    package = Path(torch.__file__).parent
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        for path in package.rglob("*.py"):
            archive.write(path, path.relative_to(package.parent))
    done = python(f"import sys; sys.path.insert(0, {str(tmp_path / 'package.zip')!r}); import libtensor", LIBTENSOR_LIBRARY="")
    assert done.returncode == 1 and done.stderr.count("no such file") == 1  # no folder outside of the package is looked into
    assert done.stderr.splitlines()[-1] == "  the package is in an archive, of which the system loads no libraries: unpack it"


OTHER_PYTHONS = {
    "sys.version_info = (3, 9, 1)": "libtensor needs Python 3.10 or newer, and this is 3.9",
    "sys.abiflags = 't'": "libtensor requires Python with the GIL, but this Python is free-threaded: use python3.",
    "os.confstr = lambda name: os.stat('/nowhere')": "libtensor requires glibc, but this Python is built for musl (Alpine Linux): use",
}


@pytest.mark.parametrize("pretends", OTHER_PYTHONS)
def test_unsupported_pythons_fail_with_one_line(pretends):
    done = python(f"import os, sys; {pretends}; import libtensor")
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith(f"ImportError: {OTHER_PYTHONS[pretends]}")


def test_import_needs_neither_numpy_nor_heavy_modules():
    code = "import sys, libtensor; print([m for m in ('numpy', 'inspect', 'typing', 'asyncio') if m in sys.modules])"
    assert python(code).stdout == "[]\n"


@pytest.mark.parametrize("flags", [["-O"], ["-OO"], ["-S"], ["-I"], ["-B", "-bb"], ["-X", "dev", "-W", "error"]])
def test_import_under_flags_of_the_interpreter(flags):
    code = f"import sys; sys.path[:0] = {sys.path!r}; import libtensor as t; print(t.einsum('i,i->', t.ones(3), t.ones(3)).item())"
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("3.0\n", "")


INTERPRETERS = """
import sys
import zipfile
try:
    import _interpreters as interpreters
    make, run = lambda: interpreters.create("legacy"), interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    make, run = interpreters.create, interpreters.run_string
import libtensor as torch

a = torch.ones(3)
for code in ("", "data = bytearray(8); kept = torch.frombuffer(data, dtype=torch.uint8); kept[0] = 3; assert data[0] == 3"):
    inner = make()
    run(inner, f"import sys; sys.path[:] = {sys.path!r}\\nimport libtensor as torch\\n"
        "assert (torch.ones(2) + 1).tolist() == [2, 2]\\n" + code)
    interpreters.destroy(inner)
    assert type(a + a) is torch.Tensor and (a + a).tolist() == [2, 2, 2] and repr(a[1:]) == "tensor([1., 1.])" and a.dtype is torch.float32
    try:
        a + torch.ones(4)
    except RuntimeError as error:
        assert "3" in str(error) and "4" in str(error)
print("alive")
"""


@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="Python 3.12's test interface of subinterpreters has another form")
def test_subinterpreters_come_and_go():
    done = subprocess.run([sys.executable, "-c", INTERPRETERS], capture_output=True, text=True, timeout=120, cwd=PACKAGE)
    assert done.stdout.strip().endswith("alive"), done.stderr


def test_forked_workers_work_where_the_parent_has_made_no_call():
    code = (
        "import multiprocessing, os, libtensor as torch\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "assert len(os.listdir('/proc/self/task')) == 1\n"
        "def work(i):\n"
        "    return torch.full((300, 300), float(i)).mm(torch.eye(300)).sum().item()\n"
        "fork = multiprocessing.get_context('fork')\n"
        "with fork.Pool(2) as pool:\n"
        "    print(pool.map(work, range(3)))\n"
        "with ProcessPoolExecutor(2, mp_context=fork) as pool:\n"
        "    print(list(pool.map(work, range(3))))\n"
        "print(work(1))\n"
    )
    done = python(code)
    assert done.stdout == "[0.0, 90000.0, 180000.0]\n" * 2 + "90000.0\n", done.stdout + done.stderr


AT_THE_END = """
import libtensor as torch

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g

def of(kind):
    x = torch.ones(3, requires_grad=True)
    if kind == "buffer":
        return torch.frombuffer(bytearray(64), dtype=torch.int64)
    if kind == "capsule":
        return torch.ones(3).__arrow_c_array__()
    if kind == "hook":
        y = x * 2
        y.register_hook(lambda g: y)
        return y
    if kind == "function":
        return Own.apply(x)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: [t], lambda p: p[0]):
        return x.exp()

kept = [of(KIND) for _ in range(300)]

def refers():
    return kept

# In which order a circle of modules, functions and tensors goes is not fixed; this way the package's own functions go first.
torch.MODULE.refers = refers
"""


@pytest.mark.parametrize(
    ("kind", "module"),
    [("buffer", "_data.interop"), ("capsule", "_data.arrow"), *((kind, "_gradients.callbacks") for kind in ("hook", "function", "saved"))],
)
def test_tensors_may_be_freed_after_the_functions_that_release_their_memory(kind, module):
    done = python(AT_THE_END.replace("KIND", repr(kind)).replace("MODULE", module))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
