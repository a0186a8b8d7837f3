"""A report of the system, the library and related packages for bug reports: `python -m libtensor.utils.collect_env`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import NamedTuple

from .. import accelerator
from .._base.library import __version__

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]

PACKAGES = ("libtensor", "numpy", "scipy", "safetensors", "transformers", "accelerate", "lightning", "torchvision", "cloudpickle")


class SystemEnv(NamedTuple):
    """The facts of a report."""

    libtensor_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    cpu_count: int | None
    is_accelerator_available: bool
    pip_packages: str


def get_env_info() -> SystemEnv:
    """Returns the facts of a report."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return SystemEnv(
        __version__, platform.system(), "-".join(platform.libc_ver()), sys.version.replace("\n", " "), platform.platform(), os.cpu_count(),
        accelerator.is_available(), "\n".join(found),
    )  # fmt: skip


def get_pretty_env_info() -> str:
    """Returns a report as a string."""
    return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in get_env_info()._asdict().items())


def main() -> None:
    """Prints a report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
