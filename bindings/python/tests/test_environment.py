"""What scripts ask and set before they choose the CPU."""

import importlib
import inspect
from pathlib import Path

import pytest

import libtensor as torch

NO_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")


@NO_CUDA
def test_devices_that_are_not_there():
    for module in (torch.cuda, torch.mps, torch.xpu, torch.accelerator):
        assert module.is_available() is False and module.device_count() == 0
    assert torch.accelerator.current_accelerator() is None and torch.cpu.is_available() and not torch.distributed.is_available()
    assert str(torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")) == "cpu"
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == 0 and torch.version.cuda is None and torch.version.__version__ == torch.__version__


@NO_CUDA
@pytest.mark.parametrize(
    "name", ["current_device", "synchronize", "get_device_name", "get_device_capability", "get_device_properties", "init"]
)
def test_functions_that_need_a_device(name):
    with pytest.raises(RuntimeError, match="cuda"):
        getattr(torch.cuda, name)()


def test_backends():
    for name in ("cudnn", "mps", "mkl", "mkldnn", "openmp"):
        assert importlib.import_module(f"libtensor.backends.{name}").is_available() is False
    assert torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512") and torch.backends.cudnn.version() is None
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.backends.cudnn.benchmark and torch.backends.cuda.matmul.allow_tf32
    assert torch.get_float32_matmul_precision() == "high"
    torch.backends.cuda.matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest" and not torch.backends.cuda.matmul.allow_tf32


def test_grad_modes():
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled() and not (torch.ones(2) * 2).requires_grad
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    with torch.inference_mode(False):
        assert not torch.is_inference_mode_enabled()
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)


def test_grad_modes_as_decorators():
    @torch.no_grad()
    def called(n):
        return (n and called(n - 1)) or torch.is_grad_enabled()

    @torch.no_grad
    def bare():
        return torch.is_grad_enabled()

    @torch.inference_mode()
    def inference():
        return torch.is_inference_mode_enabled()

    @torch.set_grad_enabled(False)
    def set_off():
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled()
    assert called(3) is False and bare() is False and inference() is True and set_off() is False and torch.is_grad_enabled()
    assert called.__name__ == "called"


def test_settings_are_remembered():
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_deterministic_debug_mode("error")
    assert torch.get_deterministic_debug_mode() == 2
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled()
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high" and torch.get_num_interop_threads() >= 1 and not torch.is_warn_always_enabled()
    with pytest.raises(
        RuntimeError, match="^set_float32_matmul_precision: precision must be one of highest, high, medium, but got 'lower'$"
    ):
        torch.set_float32_matmul_precision("lower")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    with torch.autocast("cpu", enabled=False):
        assert not torch.is_autocast_enabled("cpu")


def test_random_numbers_leave_no_trace_in_a_fork():
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.rand(5)
    a = torch.rand(2)
    torch.manual_seed(3)
    assert torch.equal(a, torch.rand(2)) and torch.default_generator.initial_seed() == 3
    with pytest.raises(RuntimeError, match="str"):
        torch.Generator().manual_seed("a")


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (torch.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None)"),
        (torch.any, "(input, dim=None, keepdim=False, *, out=None)"),
        (torch.add, "(input, other, *, alpha=1, out=None)"),
        (torch.ones(2).sum, "(dim=None, keepdim=False, *, dtype=None, out=None)"),
        (torch.cat, "(tensors, dim=0, *, out=None)"),
        (torch.Tensor.__add__, "(self, other)"),
        (torch.unique, "(input, sorted=True, return_inverse=False, return_counts=False, dim=None)"),
    ],
)
def test_signatures(function, text):
    assert str(inspect.signature(function)) == text


def test_every_signature_is_readable():
    for name in torch.__all__:
        thing = getattr(torch, name)
        if callable(thing) and not isinstance(thing, type):
            text = str(inspect.signature(thing))
            assert "object" not in text and "kwargs" not in text and "0x" not in text, f"{name}{text}"


def test_every_file_of_the_package_is_installed():
    def files(folder):
        return {str(path.relative_to(folder)) for suffix in ("py", "pyi") for path in folder.rglob(f"*.{suffix}")}

    assert files(Path(torch.__file__).parent) == files(Path(__file__).parent.parent / "libtensor")
