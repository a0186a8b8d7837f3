"""The CUDA backend where there is no driver."""

import subprocess

import pytest

import libtensor as torch
from libtensor._base import library as _library

NO_DRIVER = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")


@NO_DRIVER
def test_the_reason_of_absence():
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
    assert torch.cuda.absence() == "no driver: libcuda.so.1 was not found"
    for make in (lambda: torch.zeros(2, device="cuda"), lambda: torch.ones(2).to("cuda:1"), lambda: torch.ones(2).cuda()):
        with pytest.raises(
            RuntimeError, match=r"device cuda(:1)? is not available: no driver: libcuda.so.1 was not found; use device='cpu'"
        ):
            make()


@NO_DRIVER
def test_errors_of_functions_that_need_a_device():
    missing = r"no driver: libcuda.so.1 was not found"
    calls = (
        torch.cuda.current_device,
        torch.cuda.synchronize,
        torch.cuda.Stream,
        torch.cuda.Event,
        torch.cuda.current_stream,
        torch.cuda.get_device_properties,
        torch.cuda.mem_get_info,
        torch.ones(2).pin_memory,
        lambda: torch.zeros(2, pin_memory=True),
        lambda: torch.cuda.set_device(0),
        lambda: torch.cuda.FloatTensor(2),
        lambda: torch.cuda.set_per_process_memory_fraction(0.5),
    )
    for call in calls:
        with pytest.raises(RuntimeError, match=missing):
            call()
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_reserved() == 0 and torch.cuda.memory_stats() == {}
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    with torch.cuda.device(None), torch.cuda.stream(None), torch.cuda.device_of(torch.ones(1)):
        assert not torch.ones(2).is_pinned()


def test_streams_are_of_devices():
    from libtensor._gen import gen_functions as functions

    for call in (
        lambda: functions.stream_new("cpu"),
        lambda: functions.stream_current("cpu"),
        lambda: functions.device_name("cpu"),
        lambda: functions.stream_query(0),
    ):
        with pytest.raises(RuntimeError, match="device cpu has no streams: its operators are synchronous"):
            call()
    for call in (lambda: functions.stream_query(-1), lambda: functions.event_free(7), lambda: functions.stream_wait_stream(0, 99 << 32)):
        with pytest.raises(ValueError, match="there is no (stream|event)"):
            call()
    assert functions.device_current("cuda") == 0 and functions.device_current("cpu") == -1


def test_the_library_needs_no_driver():
    needed = subprocess.run(["readelf", "-d", _library.path], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in needed and "libcuda" not in needed


def test_types_without_devices():
    assert torch.xpu.device_count() == 0
    with pytest.raises(RuntimeError, match="device xpu is not available: this library has no backend for it"):
        torch.zeros(2, device="xpu")
