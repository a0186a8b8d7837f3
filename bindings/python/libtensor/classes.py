"""Classes that C++ libraries register with PyTorch: not supported."""

__all__: list[str] = []
loaded_libraries: frozenset[str] = frozenset()


def load_library(path: str) -> None:
    """Raises NotImplementedError: C++ libraries for PyTorch cannot be loaded."""
    raise NotImplementedError(f"torch.classes.load_library: C++ extensions of PyTorch are not supported ({path})")
