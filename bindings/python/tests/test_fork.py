"""Children that are forked after the first call: they read their parent's tensors and compute."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PRELUDE = """
import gc, multiprocessing, os, sys, threading, traceback
import libtensor as torch

torch.set_num_threads(2)
torch.ones(3) + 1

def in_child(check, *args):
    pid = os.fork()
    if pid == 0:
        try:
            check(*args)
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0

def fails(call):
    try:
        call()
    except RuntimeError as error:
        assert type(error).__name__ == "ForkedError", error
        return str(error)
    raise AssertionError("no error")
"""


def run(code, timeout=120):
    program = PRELUDE + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_a_child_computes_with_threads_and_views_share_memory():
    run("""
        matrix = torch.rand(300, 300)
        rows, storage = matrix[1:5, ::2], matrix.untyped_storage()
        wanted = (matrix @ matrix).tolist()
        def check():
            assert (matrix @ matrix).tolist() == wanted and torch.get_num_threads() == 2
            matrix[1, 0] = 99
            assert rows[0, 0] == 99 and storage.data_ptr() == matrix.data_ptr()
            assert matrix._version == 1
            matrix.resize_(400, 400).fill_(1)
            assert matrix.sum() == 160000
        for _ in range(3):
            in_child(check)
        assert (matrix @ matrix).tolist() == wanted and matrix[1, 0] < 1
    """)


KINDS = {
    "sparse": ("torch.eye(3).to_sparse()", "x.to_dense().sum() == 3 and x.is_coalesced()"),
    "csr": ("torch.eye(3).to_sparse_csr()", "(x @ torch.ones(3)).tolist() == [1, 1, 1]"),
    "quantized": (
        "torch.quantize_per_tensor(torch.ones(3), 0.5, 1, torch.quint8)",
        "x.dequantize().tolist() == [1, 1, 1] and x.q_scale() == 0.5",
    ),
    "named": ("torch.zeros(2, 3, names=('A', 'B'))", "x.sum('B').names == ('A',)"),
    "meta": ("torch.ones(2, 3, device='meta')", "(x + 1).shape == (2, 3)"),
    "inference": ("torch.inference_mode()(torch.ones)(2)", "x.is_inference() and x.sum() == 2"),
    "empty": ("torch.ones(0, 3)", "x.sum() == 0"),
    "shared": ("torch.ones(4).share_memory_()", "x.is_shared() and x.sum() == 4"),
    "external": ("torch.frombuffer(bytearray(8), dtype=torch.uint8)", "x.sum() == 0 and x.add_(1).sum() == 8"),
    "many dimensions": ("torch.ones((1,) * 20)", "x.dim() == 20 and (x + 1).sum() == 2"),
    "complex": ("torch.ones(2, dtype=torch.complex128)", "(x * 1j).imag.tolist() == [1, 1]"),
    "detached": ("(torch.ones(2, requires_grad=True) * 2).detach()", "x.sum() == 4"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tensor_is_there(kind):
    make, holds = KINDS[kind]
    run(f"""
        x = {make}
        def check():
            assert {holds}
            y = x.clone()
            del y
        in_child(check)
        in_child(in_child, check)
    """)


def test_memory_that_processes_share_is_written_in_both():
    assert run("""
        x = torch.zeros(2).share_memory_()
        def check():
            x[0] = 5
            in_child(lambda: x.__setitem__(1, 6))
        in_child(check)
        print(x.tolist())
    """) == ["[5.0, 6.0]"]


def test_settings_and_random_streams_continue():
    run("""
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(3)
        own = torch.Generator().manual_seed(4)
        torch.rand(5), torch.randn(3, generator=own)
        states = torch.get_rng_state(), own.get_state()
        expected = torch.rand(7).tolist(), torch.randn(5, generator=own).tolist()
        torch.set_rng_state(states[0]), own.set_state(states[1])
        def check():
            assert torch.get_default_dtype() == torch.float64
            assert (torch.rand(7).tolist(), torch.randn(5, generator=own).tolist()) == expected
        in_child(check)
        in_child(check)
    """)


def test_leaves_keep_their_gradients_and_hooks():
    run("""
        x, seen = torch.ones(2, requires_grad=True), []
        handle = x.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
        (x * 2).sum().backward()
        def check():
            assert x.grad.tolist() == [20, 20] and x.requires_grad and x.is_leaf
            x.grad = None
            (x * 3).sum().backward()
            assert seen == [[2, 2], [3, 3]] and x.grad.tolist() == [30, 30]
            handle.remove()
            (x * 3).sum().backward()
            assert x.grad.tolist() == [33, 33]
        in_child(check)
        assert x.grad.tolist() == [20, 20] and seen == [[2, 2]]
    """)


def test_results_of_autograd_and_nodes_say_why_they_are_not_there():
    lines = run("""
        assert issubclass(torch.ForkedError, RuntimeError) and torch.ForkedError.__module__ == "libtensor"
        x = torch.ones(2, requires_grad=True)
        y, node = x * 2, (x * 2).grad_fn
        def check():
            print(fails(lambda: y + 1))
            print(fails(lambda: y.sum().backward()))
            print(fails(lambda: node.next_functions))
            print(repr(y))
            assert y.shape == (2,)
        in_child(check)
        y.sum().backward()
        assert x.grad.tolist() == [2, 2]
    """)
    assert len(lines) == 4 and all("before fork()" in line for line in lines)
    assert "has a grad_fn" in lines[0] and "call detach() before the fork" in lines[0]


def test_a_child_that_is_forked_inside_a_hook_is_told_so():
    assert (
        "inside a hook"
        in run("""
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda g: in_child(lambda: print(fails(lambda: torch.ones(2)))))
        x.sum().backward()
        assert x.grad.tolist() == [1, 1]
        in_child(lambda: torch.ones(2) + 1)
    """)[0]
    )


def test_forks_while_other_threads_compute():
    run("""
        stop, data, kept = threading.Event(), torch.rand(100, 16), [torch.rand(8) for _ in range(500)]
        def work():
            while not stop.is_set():
                made = [torch.rand(20, 20) for _ in range(10)]
                sum(made).resize_(5)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        def check(i):
            assert 0 < data[i].sum() < 16 and torch.ones(200, 200).sum() == 40000
            del kept[:250]
            others = [threading.Thread(target=lambda: torch.ones(50, 50) @ torch.ones(50, 50)) for _ in range(3)]
            [t.start() for t in others], [t.join() for t in others]
        try:
            for i in range(50):
                in_child(check, i)
        finally:
            stop.set()
        for thread in threads:
            thread.join()
    """)


def test_a_thread_forks_and_the_child_starts_threads():
    run("""
        def fork():
            in_child(lambda: torch.ones(3) + 1)
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
        (torch.ones(3) + 1).sum()
    """)


POOLS = {
    "multiprocessing": "multiprocessing.get_context('fork').Pool(2)",
    "concurrent.futures": "concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork'))",
    "torch.multiprocessing": "torch.multiprocessing.get_context('fork').Pool(2)",
}


@pytest.mark.parametrize("pool", POOLS)
def test_pools_read_the_parents_tensors_and_return_new_ones(pool):
    run(f"""
        import concurrent.futures
        data = torch.arange(40.).reshape(10, 4)
        def total(i):
            return data[i].sum().item()
        def doubled(x):
            return x * 2
        def graph(i):
            return result
        result = torch.ones(1, requires_grad=True) * 2
        with {POOLS[pool]} as pool:
            assert sum(pool.map(total, range(10))) == data.sum()
            for x, y in zip(data, pool.map(doubled, list(data))):
                assert torch.equal(x * 2, y)
            try:
                list(pool.map(graph, [0]))
                raise AssertionError("no error")
            except Exception as error:
                assert "grad_fn" in str(error) or "requires grad" in str(error) or "pickle" in str(error).lower(), error
            assert list(pool.map(total, [0])) == [6.0]
    """)


def test_handles_and_bytes_are_counted_in_the_child():
    run("""
        x = torch.ones(1 << 20)
        def check():
            gc.collect()
            torch.zeros(1)
            before = torch.memory_stats().in_use
            assert before >= 4 << 20
            y = torch.ones(1 << 20)
            assert torch.memory_stats().in_use - before >= 4 << 20
            del y
            x.untyped_storage().resize_(0)
            assert torch.memory_stats().in_use < before
        in_child(check)
    """)


@pytest.mark.slow
def test_a_thousand_forks():
    descriptors = run("""
        x = torch.rand(1000)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(1000):
            in_child(lambda: (x + 1).sum())
        print(len(os.listdir("/proc/self/fd")) - before)
    """)
    assert descriptors == ["0"]
