"""Memory of devices shared with other libraries, files, pickles, and legacy names."""

import contextlib
import copy
import ctypes
import io
import pickle

import pytest

import libtensor as torch
from libtensor import safetensors


class Foreign:
    """Another library's array: what is behind the protocols, and the streams that it was told."""

    def __init__(self, tensor, dlpack=True):
        self.tensor, self.streams = tensor, []
        if not dlpack:
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    def __getattr__(self, name):
        if name in ("__dlpack__", "__dlpack_device__") and "__cuda_array_interface__" not in self.__dict__:
            return getattr(self, name.strip("_"))
        raise AttributeError(name)

    def dlpack(self, *, stream=None, max_version=None, **_):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream, max_version=max_version)

    def dlpack_device(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.bool, torch.complex64, torch.bfloat16])
def test_dlpack(dtype):
    for index in (0, 1):
        x = torch.arange(12, device=f"cuda:{index}").reshape(3, 4).to(dtype).t()[1:]
        assert x.__dlpack_device__() == (2, index)
        y = torch.from_dlpack(x.__dlpack__(max_version=(1, 0)))
        assert y.device == x.device and y.data_ptr() == x.data_ptr() and y.stride() == x.stride() and y.dtype == dtype
        y.zero_()
        assert not x.cpu().any()
        assert torch.equal(torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x)).cpu(), x.cpu())


def test_the_context_of_another_library(simulation):
    """A context that another library has made current is still current after any call; without one, the device's stays."""
    driver = simulation.library
    other, current = ctypes.c_void_p(), ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(other), 1)
    x = torch.arange(6.0, device="cuda:0")
    calls = (
        lambda: x + 1,
        lambda: x.cpu(),
        lambda: torch.ones(3).to("cuda:0"),
        lambda: x.to("cuda:1") + 1,
        lambda: x.sum().item(),
        lambda: x.view(2, 3) @ x.view(3, 2),
        lambda: torch.cuda.Event().record(torch.cuda.Stream(0)),
        lambda: torch.cuda.synchronize(0),
        lambda: x.view(2, 3) @ x,
    )
    driver.cuCtxSetCurrent(other)
    try:
        for call in calls:
            with contextlib.suppress(RuntimeError):  # as the last one raises
                call()
            driver.cuCtxGetCurrent(ctypes.byref(current))
            assert current.value == other.value
    finally:
        driver.cuCtxSetCurrent(None)
    x.add_(1)
    driver.cuCtxGetCurrent(ctypes.byref(current))
    assert current.value and current.value != other.value


def test_dlpack_and_streams(simulation):
    s, mine = torch.cuda.Stream(), torch.cuda.Stream()
    for seed in range(100):
        simulation.seed(seed)
        with s:
            x = torch.full((50,), 3.0, device="cuda") * 2
            capsule = x.__dlpack__(stream=mine.cuda_stream, max_version=(1, 0))
            with mine:
                z = torch.from_dlpack(capsule) + 1
                assert z.cpu().tolist() == [7] * 50, seed
    foreign = Foreign(x)
    with mine:
        torch.from_dlpack(foreign)
        assert foreign.streams == [mine.cuda_stream]
    assert x.__dlpack__(stream=-1) and x.__dlpack__(stream=1) and x.__dlpack__(stream=2) and x.__dlpack__(stream=s.cuda_stream)
    for wrong in (0, "s"):
        with pytest.raises(BufferError, match="stream must be None, -1 or the handle of a CUDA stream that is not 0"):
            x.__dlpack__(stream=wrong)
    with pytest.raises(BufferError, match="stream must be None for a tensor on the CPU"):
        torch.ones(1).__dlpack__(stream=1)


def test_the_default_stream_is_that_of_other_libraries(simulation):
    """Work of other libraries in the legacy default stream, by either of its handles, is ordered with that of the default stream."""
    assert torch.cuda.default_stream().cuda_stream == 0
    assert torch.cuda.ExternalStream(0) == torch.cuda.ExternalStream(1) == torch.cuda.default_stream()
    foreign = Foreign(torch.ones(3, device="cuda"))
    torch.from_dlpack(foreign)
    assert foreign.streams == [1]
    driver = simulation.library
    for seed in range(200):
        simulation.seed(seed)
        x = torch.full((50,), 3, dtype=torch.uint8, device="cuda")
        x += 1
        driver.cuMemsetD8Async(ctypes.c_uint64(x.data_ptr()), 7, 25, ctypes.c_void_p(seed % 2))
        assert (x + 1).tolist() == [8] * 25 + [5] * 25, seed


@pytest.mark.usefixtures("simulation")
def test_default_streams_of_two_devices_wait_for_each_other():
    first, second = torch.cuda.default_stream(0), torch.cuda.default_stream(1)
    event, x = torch.cuda.Event(), torch.ones(3, device="cuda:0")
    event.record(first)
    second.wait_event(event)
    second.wait_stream(first)
    first.wait_stream(second)
    assert (x.to("cuda:1") + 1).to("cuda:0").tolist() == [2, 2, 2]


def test_dlpack_to_the_host():
    x = torch.arange(4.0, device="cuda")
    assert torch.from_dlpack(x.__dlpack__(dl_device=(1, 0))).tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="cannot be exported to device"):
        x.__dlpack__(dl_device=(2, 1))


def test_the_array_interface_of_devices(simulation):
    x = torch.arange(12.0, device="cuda:1").reshape(3, 4).t()
    about = x.__cuda_array_interface__
    assert about["shape"] == (4, 3) and about["strides"] == (4, 16) and about["typestr"] == "<f4" and about["data"] == (x.data_ptr(), False)
    assert about["version"] == 3 and about["stream"] == 1  # the legacy default stream
    with torch.cuda.Stream(1) as s:
        assert x.__cuda_array_interface__["stream"] == s.cuda_stream
    assert x.t().__cuda_array_interface__["strides"] is None
    y = torch.as_tensor(Foreign(x, dlpack=False))
    assert y.device == x.device and y.data_ptr() == x.data_ptr() and torch.equal(y.cpu(), x.cpu())
    at = x.data_ptr()
    kept = Foreign(torch.ones(5000, device="cuda"), dlpack=False)
    z = torch.as_tensor(kept)
    del kept
    torch.zeros(5000, device="cuda")
    assert z.sum().item() == 5000 and at
    for wrong in (torch.ones(2), torch.ones(2, device="cuda", dtype=torch.bfloat16)):
        assert not hasattr(wrong, "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="use tensor.detach"):
        torch.ones(2, device="cuda", requires_grad=True).__cuda_array_interface__
    masked = Foreign(x, dlpack=False)
    masked.__cuda_array_interface__ = {**x.__cuda_array_interface__, "mask": masked}
    with pytest.raises(ValueError, match="arrays with a mask are not supported"):
        torch.as_tensor(masked)
    masked.__cuda_array_interface__ = {**x.__cuda_array_interface__, "data": (8, False)}
    with pytest.raises(
        RuntimeError,
        match="^__cuda_array_interface__ of Foreign: CUDA error in cuPointerGetAttribute: CUDA_ERROR_INVALID_VALUE, .*; the address is "
        "0x8$",
    ):
        torch.as_tensor(masked)


def test_files(tmp_path):
    x, y = torch.arange(20.0, device="cuda:1").reshape(4, 5), torch.arange(3, device="cuda:0")
    saved = {"x": x, "view": x[1:].t(), "y": y, "host": torch.ones(2), "none": torch.empty(0, device="cuda"), "half": x.bfloat16()}
    for target in (io.BytesIO(), tmp_path / "f.pt"):
        torch.save(saved, target)

        def back(target=target, **options):
            if hasattr(target, "seek"):
                target.seek(0)
            return torch.load(target, **options)

        here = back()
        assert [v.device for v in here.values()] == [v.device for v in saved.values()]
        assert all(torch.equal(here[k].cpu(), saved[k].cpu()) and here[k].dtype == saved[k].dtype for k in saved)
        assert here["view"].untyped_storage().data_ptr() == here["x"].untyped_storage().data_ptr()
        for place, devices in (("cpu", "cpu"), ("cuda:0", "cuda:0"), ({"cuda:1": "cuda:0"}, "cuda:0")):
            there = back(map_location=place)
            assert str(there["x"].device) == devices and torch.equal(there["x"].cpu(), x.cpu())
        moved = back(map_location=lambda storage, location: storage.cuda(0) if location == "cuda:1" else storage)
        assert moved["x"].device == torch.device("cuda:0") and moved["host"].device == torch.device("cpu")
        again = back(map_location=lambda storage, location: None)  # on its former device
        assert [v.device for v in again.values()] == [v.device for v in saved.values()] and torch.equal(
            again["view"].cpu(), saved["view"].cpu()
        )
        assert again["view"].untyped_storage().data_ptr() == again["x"].untyped_storage().data_ptr()
    mapped = torch.load(tmp_path / "f.pt", mmap=True)
    assert mapped["x"].device == torch.device("cuda:1") and torch.equal(mapped["x"].cpu(), x.cpu())
    torch.save(torch.ones(2), tmp_path / "host.pt")
    assert torch.load(tmp_path / "host.pt", map_location="cuda:1").device == torch.device("cuda:1")


def test_files_of_other_libraries(tmp_path):
    x = torch.arange(20.0, device="cuda:1").reshape(4, 5)
    for saved in (x, x[1:].t(), x.half(), x[:0]):
        safetensors.save_file({"x": saved}, tmp_path / "f.safetensors")
        torch.save_npy(saved, tmp_path / "f.npy")
        torch.save_npz({"x": saved}, tmp_path / "f.npz")
        for back in (
            safetensors.load_file(tmp_path / "f.safetensors")["x"],
            torch.load_npy(tmp_path / "f.npy"),
            torch.load_npz(tmp_path / "f.npz")["x"],
        ):
            assert back.device.type == "cpu" and back.dtype == saved.dtype and torch.equal(back, saved.cpu())
    with pytest.raises(
        RuntimeError, match='^save_file: tensor "x" is a strided one on device meta; only strided tensors with elements can be saved'
    ):
        safetensors.save_file({"x": x.to("meta")}, tmp_path / "f.safetensors")


def test_pickles_and_copies():
    x = torch.arange(6.0, device="cuda:1").reshape(2, 3).t()
    y = pickle.loads(pickle.dumps(x))
    assert y.device == x.device and torch.equal(y.cpu(), x.cpu()) and y.stride() == x.stride()
    a, b = copy.deepcopy([x, x[1:]])
    assert (
        a.device == x.device
        and torch.equal(a.cpu(), x.cpu())
        and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() != x.data_ptr()
    )


def test_storages():
    s = torch.UntypedStorage(8, device="cuda")
    s.fill_(3)
    assert s.device == torch.device("cuda:0") and s.is_cuda and s.cpu().tolist() == [3] * 8 and s.clone().device == s.device
    s.copy_(torch.UntypedStorage([1, 2, 3, 4, 5, 6, 7, 8]))
    assert s.tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and s[2] == 3 and s[2:4].tolist() == [3, 4]
    assert s.cuda(1).device == torch.device("cuda:1") and s.cpu().cuda().tolist() == s.tolist()
    s = s.clone()
    s.resize_(12)
    assert s.nbytes() == 12 and s.tolist()[:8] == [1, 2, 3, 4, 5, 6, 7, 8]
    x = torch.ones(4, device="cuda").untyped_storage()
    assert x.device.type == "cuda" and x.data_ptr()
    wide = torch.tensor([2**62 + 1, -7], device="cuda").storage()
    assert wide.tolist() == list(wide) == [2**62 + 1, -7]
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        s.cuda("cpu")


def test_legacy_names():
    x = torch.cuda.FloatTensor([1, 2])
    assert x.type() == "torch.cuda.FloatTensor" and x.is_cuda and torch.cuda.LongTensor(2, 3).shape == (2, 3)
    assert (
        isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor) and not isinstance(x.cpu(), torch.cuda.FloatTensor)
    )
    assert (
        torch.ones(2).type("torch.cuda.DoubleTensor").type() == "torch.cuda.DoubleTensor"
        and x.type(torch.IntTensor).type() == "torch.IntTensor"
    )
    assert torch.ones(2, device="cuda:1").type(torch.cuda.IntTensor).device.index == 1 and x.type(torch.int16).is_cuda
    with torch.cuda.device(1):
        assert torch.cuda.ByteTensor([1]).device.index == 1
    with pytest.raises(TypeError, match="expected a Tensor on cuda, but got one on cpu"):
        torch.cuda.FloatTensor(torch.ones(2))
    with pytest.raises(TypeError, match="expected a Tensor on cpu, but got one on cuda:0"):
        torch.FloatTensor(x)
    with pytest.raises(TypeError, match="legacy constructor expects device type: cuda but device type: cpu was passed"):
        torch.cuda.FloatTensor(2, device="cpu")
    torch.set_default_tensor_type(torch.cuda.DoubleTensor)
    try:
        assert torch.zeros(1).type() == "torch.cuda.DoubleTensor"
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.zeros(1).type() == "torch.FloatTensor"


def test_names_and_gradients_stay():
    x = torch.ones(2, 3, names=("a", "b"), requires_grad=True)
    y = x.cuda()
    assert y.names == ("a", "b") and y.requires_grad
    (y * 3).sum().backward()
    assert x.grad.device == torch.device("cpu") and x.grad.sum().item() == 18
    number, there = torch.tensor(2.0, requires_grad=True), torch.ones(3, device="cuda", requires_grad=True)
    (there * number).to("cuda:1").sum().backward()
    assert number.grad.device == torch.device("cpu") and number.grad.item() == 3
    assert there.grad.device == torch.device("cuda:0") and there.grad.tolist() == [2, 2, 2]


@pytest.mark.usefixtures("collected")
def test_limits(simulation):
    held, total = torch.cuda.memory_reserved(), torch.cuda.mem_get_info()[1]  # workspaces of products, if other tests have computed some
    fraction = (held + 8.19 * 2**20) / total
    torch.cuda.set_per_process_memory_fraction(fraction)
    try:
        assert torch.cuda.get_per_process_memory_fraction() == pytest.approx(fraction)
        x = torch.zeros(1 << 20, device="cuda")
        taken = f"the limit is {held / 2**20 + 8.19:.2f} MiB, of which {held / 2**20 + 4:.2f} MiB are taken"
        with pytest.raises(torch.OutOfMemoryError, match=taken):
            torch.zeros(1 << 22, device="cuda")
        del x
        torch.empty(0)
        assert torch.zeros(3 << 19, device="cuda").numel()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.cuda.get_per_process_memory_fraction() == 1.0
    torch.cuda.reset_peak_memory_stats()
    assert (
        torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
        and torch.cuda.max_memory_reserved() == torch.cuda.memory_reserved()
    )
    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] >= 1 and "num_ooms" in torch.cuda.memory_summary()
    for wrong, kind in ((1, TypeError), (1.5, ValueError)):
        with pytest.raises(kind, match="fraction"):
            torch.cuda.set_per_process_memory_fraction(wrong)
