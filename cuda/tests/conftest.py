"""The simulated device: `make test-cuda` puts it on LD_LIBRARY_PATH."""

import ctypes

import pytest

import libtensor as torch


class Simulation:
    """The simulated driver's own functions."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.library.lt_sim_culprit.restype = ctypes.c_char_p

    def fail(self, function, call=1, code=2):
        """Has a later call of a function of the driver return an error."""
        self.library.lt_sim_fail(function.encode(), call, code)

    def calls(self, function):
        return self.library.lt_sim_calls(function.encode())

    def fail_any(self, call=0, code=1):
        """Has a later call of whatever function return an error; 0 for none."""
        self.library.lt_sim_fail_any(call, code)

    def all_calls(self):
        """The calls of all functions since fail_any()."""
        return self.library.lt_sim_all_calls()

    def culprit(self):
        """The function that was made to fail."""
        return self.library.lt_sim_culprit().decode()

    def repair(self):
        self.library.lt_sim_repair()

    def seed(self, seed):
        self.library.lt_sim_seed(ctypes.c_uint64(seed))

    def live(self):
        """Allocations on devices, pinned ones of the host, work that waits, streams and events."""
        numbers = (ctypes.c_int64 * 5)()
        self.library.lt_sim_live(numbers)
        return tuple(numbers)


@pytest.fixture(scope="session")
def simulation():
    assert torch.cuda.is_available(), f"{torch.cuda.absence()}: run make test-cuda"
    return Simulation()


@pytest.fixture(autouse=True)
def whole(simulation):
    """Every test begins and ends with a device that works."""
    yield
    simulation.fail_any()
    simulation.repair()
