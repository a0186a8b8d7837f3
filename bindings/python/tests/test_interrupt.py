"""Ctrl-C during a long call: the call ends with KeyboardInterrupt, and other handlers of signals run within it."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import libtensor as torch


def run(code):
    program = "import os, signal, threading, time\nimport libtensor as torch\n" + code
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)


LONG = "x = torch.rand(3000, 3000)\n"


def test_ctrl_c_ends_a_call_and_leaves_the_library_usable():
    done = run(
        LONG
        + """
from libtensor._base.library import live_handles
before = live_handles()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    torch.linalg.multi_dot([x] * 400)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", live_handles() == before, (torch.ones(2) + 1).tolist())
"""
    )
    assert done.stdout == "interrupted True [2.0, 2.0]\n", done.stderr


def test_handlers_run_within_a_call_and_their_exceptions_end_it():
    done = run(
        LONG
        + """
class Stop(Exception):
    pass

calls = []

def handle(number, frame):
    calls.append(number)
    if len(calls) == 2:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise Stop("enough")

signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
try:
    torch.linalg.multi_dot([x] * 400)
except Stop as error:
    print(error, len(calls))
"""
    )
    assert done.stdout == "enough 2\n", done.stderr


def test_calls_of_other_threads_are_not_interrupted():
    done = run(
        """
x = torch.rand(1500, 1500)
made = []
thread = threading.Thread(target=lambda: made.append([torch.matmul(x, x) for _ in range(20)]))
thread.start()
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while thread.is_alive():
        time.sleep(0.01)
except KeyboardInterrupt:
    pass
thread.join()
print(len(made[0]), torch.equal(made[0][0], made[0][19]))
"""
    )
    assert done.stdout == "20 True\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_interrupted_too():
    done = run(
        """
torch.ones(3).sum()
child = os.fork()
if child == 0:
    x = torch.rand(3000, 3000)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        torch.linalg.multi_dot([x] * 400)
    except KeyboardInterrupt:
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    assert done.stdout == "7\n", done.stderr


def test_the_default_handler_is_left_alone():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert threading.current_thread() is threading.main_thread()
    assert torch.ones(2).sum().item() == 2
