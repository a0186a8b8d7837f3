"""Every test must free its handles and bytes."""

import gc

import pytest

import libtensor as torch
from libtensor._base import library as _library


def in_use():
    """Returns handles and bytes. Existing objects are not visited again, so that the cost of a test depends only on its objects."""
    gc.collect()
    gc.freeze()
    torch.zeros(1)  # a call makes the library release freed objects
    return _library.live_handles(), torch.memory_stats().in_use


@pytest.fixture(autouse=True)
def no_leaks(request):
    if request.node.get_closest_marker("keeps_memory"):
        yield
        return
    before = in_use()
    yield
    assert in_use() == before


@pytest.fixture
def evaluated_too(request, monkeypatch):
    """Also evaluates each program that the test runs node by node: the results must be bitwise identical."""
    if not request.node.get_closest_marker("runs_in_c"):
        from evaluated_programs import evaluate_too

        from libtensor.export.program import Program

        monkeypatch.setattr(Program, "run", evaluate_too(Program.run))
