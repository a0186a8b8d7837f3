"""Classes that C++ libraries register with PyTorch: not supported."""

__all__ = []
loaded_libraries = frozenset()


def load_library(path):
    """Raises NotImplementedError: C++ libraries for PyTorch cannot be loaded."""
    raise NotImplementedError(f"torch.classes.load_library: libraries for PyTorch cannot be loaded ({path})")
