"""How the library was built."""

from ._gen.gen_functions import get_num_threads
from .backends.cpu import get_cpu_capability
from .version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Returns a description of the build."""
    return f"libtensor {__version__}\n  - CPU capability usage: {get_cpu_capability()}\n  - CUDA, MKL, oneDNN and OpenMP are not linked\n"


def parallel_info() -> str:
    """Returns the number of threads."""
    return f"libtensor parallel info:\n\tget_num_threads() : {get_num_threads()}\n"


def _cxx_flags() -> str:
    """Returns the flags of C++ compilers, "": the build does not record them."""
    return ""
