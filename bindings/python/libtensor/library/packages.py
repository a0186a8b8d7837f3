"""Packages whose libraries of operators are compiled for PyTorch: libtensor implements operators of torchvision and torchaudio."""

from __future__ import annotations

from pathlib import Path

from .operators import loaded_libraries


def find_packages(library: Path) -> list[str]:
    """Returns the names of the folders of packages that contain a library."""
    found = []
    for folder in library.resolve().parents:
        if not (folder / "__init__.py").exists():
            break
        found.append(folder.name)
    return found


def record(library: Path) -> None:
    """Records a library, and defines the operators of its package that are implemented."""
    packages = find_packages(library)
    if "torchvision" in packages:
        from . import torchvision  # noqa: F401 - the import defines the operators
    if "torchaudio" in packages:
        from . import torchaudio  # noqa: F401
    loaded_libraries.add(str(library))
