"""Names of tensors without elements that PyTorch's compiler traces with; libtensor has tensors on the device meta."""

from typing import Any

from .._inert import declare_unsupported

FakeTensor: Any
FakeTensorMode: Any

__all__ = ["is_fake", "unset_fake_temporarily"]


def is_fake(x):
    """Returns False: nothing is traced."""
    return False


def unset_fake_temporarily():
    """Returns a context manager that changes nothing."""
    from contextlib import nullcontext

    return nullcontext()


__all__ += declare_unsupported(
    globals(),
    "tracing is not supported; tensors on the device meta have shapes and no elements",
    "FakeTensor FakeTensorMode FakeTensorConverter",
)
