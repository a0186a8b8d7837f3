"""The Chinese page on tensor attributes: its examples in order. Examples that need a GPU raise a clear error."""

import pytest

import libtensor as torch


def tensors():
    made = {name: torch.ones(1, dtype=getattr(torch, name)) for name in ("float", "double", "int", "long", "uint8", "bool")}
    return made | {"long0": torch.tensor(1, dtype=torch.long), "int0": torch.tensor(1, dtype=torch.int)}


def test_promotion():
    t = tensors()
    assert torch.add(5, 5).dtype is torch.int64
    assert (t["int"] + 5).dtype is torch.int32
    assert (t["int"] + t["long0"]).dtype is torch.int32
    assert (t["long"] + t["int"]).dtype is torch.int64
    assert (t["bool"] + t["long"]).dtype is torch.int64
    assert (t["bool"] + t["uint8"]).dtype is torch.uint8
    assert (t["float"] + t["double"]).dtype is torch.float64
    assert (t["bool"] + t["int"]).dtype is torch.int32
    assert torch.add(t["long"], t["float"]).dtype is torch.float32


def test_allowed_in_place():
    t = tensors()
    for name in ("double", "int", "uint8", "bool"):
        t["float"] *= t[name]
    t["int"] *= t["long"]
    t["int"] *= t["uint8"]
    t["uint8"] *= t["int"]
    assert t["float"].dtype is torch.float32 and t["int"].dtype is torch.int32 and t["uint8"].dtype is torch.uint8


@pytest.mark.parametrize(("left", "right"), [("int", "float"), ("bool", "int"), ("bool", "uint8")])
def test_rejected_in_place(left, right):
    t = tensors()
    with pytest.raises(RuntimeError, match="result type .* can't be cast to the desired output type"):
        t[left] *= t[right]
    assert t[left].item() == 1


def test_devices():
    assert repr(torch.device("cuda:0")) == "device(type='cuda', index=0)"
    assert repr(torch.device("cpu")) == "device(type='cpu')"
    assert repr(torch.device("cuda")) == "device(type='cuda')"
    assert repr(torch.device("cuda", 0)) == "device(type='cuda', index=0)"
    assert repr(torch.device("cpu", 0)) == "device(type='cpu', index=0)"
    assert repr(torch.device(1)) == "device(type='cuda', index=1)"


@pytest.mark.parametrize("device", [torch.device("cuda:1"), "cuda:1", 1])
def test_tensors_on_a_gpu(device):
    with pytest.raises(RuntimeError, match="cuda"):
        torch.randn((2, 3), device=device)


def test_strides():
    x = torch.Tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    assert x.stride() == (5, 1)
    assert x.t().stride() == (1, 5)
