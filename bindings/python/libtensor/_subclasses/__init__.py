"""Names of tensors without elements that PyTorch's compiler traces with; libtensor has tensors on the device meta."""

from . import fake_tensor
from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode", "fake_tensor"]
