"""The number of threads at first, and threadpoolctl, which lists and limits the library like others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import libtensor as torch

PACKAGE = str(Path(torch.__file__).parent.parent)
BOTH = "import threadpoolctl, libtensor as torch", "import libtensor as torch, threadpoolctl"


def python(code, **environment):
    plain = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "GOMAXPROCS")}
    env = {**plain, "PYTHONPATH": PACKAGE, **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(("said", "number"), [("1", 1), ("3", 3), ("5,2", 5)])
def test_the_variable_says_the_number_of_threads(said, number):
    assert python("import libtensor as torch; print(torch.get_num_threads())", OMP_NUM_THREADS=said) == [str(number)]


def test_processors_that_the_process_may_run_on():
    code = """if True:
        import os
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
        import libtensor as torch
        print(torch.get_num_threads())"""
    assert python(code) == python(code, OMP_NUM_THREADS="none") == ["1"]


def test_go_is_given_fewer_processors():
    code = "import libtensor as torch; print(torch.get_num_threads())"
    assert python(code, GOMAXPROCS="1") == ["1"] and python(code, GOMAXPROCS="1", OMP_NUM_THREADS="2") == ["2"]


LISTED = """
pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "libtensor"]
print(len(pools), pools[0]["num_threads"], pools[0]["version"] == torch.__version__, pools[0]["filepath"].endswith(".so"))
with threadpoolctl.threadpool_limits(limits=1):
    print(torch.get_num_threads())
print(torch.get_num_threads())
with threadpoolctl.threadpool_limits(limits={"libtensor": 2}):
    print(torch.get_num_threads())
with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
    print(torch.get_num_threads())
print(torch.get_num_threads())
"""


@pytest.mark.parametrize("imports", BOTH)
def test_threadpoolctl_lists_limits_and_restores(imports):
    assert python(imports + LISTED, OMP_NUM_THREADS="3") == ["1", "3", "True", "True", "1", "3", "2", "3", "3"]


def test_asking_whether_threadpoolctl_is_there_changes_nothing():
    code = "import libtensor as torch, importlib.util; importlib.util.find_spec('threadpoolctl'); import threadpoolctl" + LISTED
    assert python(code, OMP_NUM_THREADS="3")[:2] == ["1", "3"]


def test_importing_asks_for_nothing():
    code = """if True:
        import os, sys
        import libtensor
        assert "threadpoolctl" not in sys.modules
        import threadpoolctl
        print(len(os.listdir("/proc/self/task")))"""
    assert python(code) == ["1"]


def test_without_threadpoolctl():
    code = """if True:
        import sys
        sys.modules["threadpoolctl"] = None  # as if it were not installed
        import libtensor as torch
        try:
            import threadpoolctl
        except ImportError:
            print(torch.ones(2).sum().item())"""
    assert python(code) == ["2.0"]


@pytest.mark.parametrize("version", ["", "LibController = object"])
def test_other_packages_of_that_name(tmp_path, version):
    (tmp_path / "threadpoolctl.py").write_text(version)
    for imports in BOTH:
        assert python(f"{imports}; print(threadpoolctl.__file__)", PYTHONPATH=f"{tmp_path}:{PACKAGE}") == [
            str(tmp_path / "threadpoolctl.py")
        ]


@pytest.mark.parametrize("inside", [False, True])
def test_thread_limits_in_a_forked_child(inside):
    code = """if True:
        import os, libtensor as torch, threadpoolctl
        torch.set_num_threads(2)
        def fork(*_):
            child = os.fork()
            if child == 0:
                pools = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "libtensor"]
                with threadpoolctl.threadpool_limits(limits=1):
                    os._exit(pools[0] or 0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """ + ("x = torch.ones(3, requires_grad=True); x.register_hook(fork); x.sum().backward()" if inside else "fork()")
    assert python(code) == ["0" if inside else "2"]


def test_limits_of_openblas_do_not_change_results():
    code = """if True:
        import libtensor as torch, threadpoolctl
        torch.manual_seed(1)
        a = torch.randn(300, 300, dtype=torch.complex128)
        def results():
            q, r = torch.linalg.qr(a)
            return [x.clone() for x in (a @ a, torch.linalg.inv(a), q, torch.linalg.svdvals(a))]
        before = results()
        for limit in (1, 4):
            with threadpoolctl.threadpool_limits(limits=limit):
                print(all(torch.equal(x, y) for x, y in zip(before, results())))
        print(all(torch.equal(x, y) for x, y in zip(before, results())))"""
    assert python(code) == ["True"] * 3


def test_a_timer_interrupts_the_first_call(tmp_path):
    code = f"""if True:
        import signal
        alarms = []
        signal.signal(signal.SIGALRM, lambda number, frame: alarms.append(number))
        signal.setitimer(signal.ITIMER_REAL, 200e-6, 200e-6)
        import libtensor as torch
        for i in range(20):
            x = torch.full((200 + i, 200 + i), 2.0)
            torch.save(x @ x, {str(tmp_path / "x.pt")!r})
            assert torch.equal(torch.load({str(tmp_path / "x.pt")!r}), torch.full_like(x, 4.0 * (200 + i)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(alarms) > 0)"""
    assert python(code) == ["True"]
