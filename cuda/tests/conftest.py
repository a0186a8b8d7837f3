"""The simulated device: `make test-cuda` puts it on LD_LIBRARY_PATH. On another driver, what needs the simulation is left out."""

import ctypes
import gc

import pytest

import libtensor as torch


class Simulation:
    """The simulated driver's own functions."""

    def __init__(self, library):
        self.library = library
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
def simulated():
    """The simulation, where the driver is that."""
    assert torch.cuda.is_available(), f"{torch.cuda.absence()}: run make test-cuda"
    library = ctypes.CDLL("libcuda.so.1")
    return Simulation(library) if hasattr(library, "lt_sim_fail") else None


@pytest.fixture(scope="session")
def simulation(simulated):
    return simulated or pytest.skip("the driver is no simulation")


@pytest.fixture(autouse=True)
def whole(simulated):
    """Every test begins and ends with a device that works."""
    yield
    if simulated:
        simulated.fail_any()
        simulated.repair()


@pytest.fixture
def collected():
    """The memory and events of earlier tests are freed before the test, which counts its own."""
    gc.collect()
    torch.empty(0)  # frees wait for the next call
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def without_second(item):
    """Leaves a test out that there are too few devices for."""
    try:
        return (yield)
    except Exception as error:
        if torch.cuda.device_count() == 1 and "device cuda:1 does not exist" in str(error):
            pytest.skip("there is one device")
        raise


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(without_second)
pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup
