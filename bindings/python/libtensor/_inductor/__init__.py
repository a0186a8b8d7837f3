"""Names of PyTorch's code generator: libtensor has none (torch.compiler)."""

from .._inert import declare_unsupported
from . import config


def list_mode_options(mode=None, dynamic=None):
    """Returns the options of the modes of compilation: none."""
    return {}


def list_options():
    """Returns the names of options: none."""
    return []


declare_unsupported(globals(), "libtensor has no compiler", "compile aot_compile aoti_compile_and_package aoti_load_package")
