"""Classes of compiled modules, of which there are none."""

from ..nn import Module


class OptimizedModule(Module):
    """The class of modules that torch.compile() returns in PyTorch; libtensor's returns the module itself."""


def is_dynamo_supported():
    """Returns False: there is no compiler."""
    return False


def check_if_dynamo_supported():
    """Raises RuntimeError: there is no compiler."""
    raise RuntimeError("torch.compile is not supported: libtensor has no compiler")
