"""Every test must give back the handles and bytes that it takes."""

import gc

import pytest

import libtensor as torch
from libtensor._base import library as _library


def in_use():
    """Handles and bytes. What is there by now is not looked at again, so that a test is as quick as its own objects are few."""
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
