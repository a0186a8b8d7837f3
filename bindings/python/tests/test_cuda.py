"""The CUDA backend where there is no driver."""

import subprocess

import pytest

import libtensor as torch
from libtensor import _library

NO_DRIVER = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")


@NO_DRIVER
def test_absence_in_words():
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
    assert torch.cuda.absence() == "no driver: libcuda.so.1 was not found"
    for make in (lambda: torch.zeros(2, device="cuda"), lambda: torch.ones(2).to("cuda:1"), lambda: torch.ones(2).cuda()):
        with pytest.raises(RuntimeError, match=r"device cuda(:1)? is not available: no driver: libcuda.so.1 was not found; use device='cpu'"):
            make()


def test_the_library_needs_no_driver():
    needed = subprocess.run(["readelf", "-d", _library.path], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in needed and "libcuda" not in needed


def test_types_without_devices():
    assert torch.xpu.device_count() == 0
    with pytest.raises(RuntimeError, match="device xpu is not available: this library has no backend for it"):
        torch.zeros(2, device="xpu")
