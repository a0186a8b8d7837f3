"""Classes that libraries of C++ code register: loading them is not supported."""

__all__ = []
loaded_libraries = frozenset()


def load_library(path):
    """Raises NotImplementedError: libraries of C++ code for PyTorch cannot be loaded."""
    raise NotImplementedError(f"torch.classes.load_library: libraries for PyTorch cannot be loaded ({path})")
