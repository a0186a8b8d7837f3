"""Builds a wheel that carries the shared libraries, which `make` builds when they are not there."""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"


class BuildWithLibrary(build_py):
    """Copies the shared libraries, and the licence of the bundled one, to libtensor/lib."""

    def run(self):
        # What an earlier build left there may be in no package any more.
        shutil.rmtree(Path(self.build_lib) / "libtensor", ignore_errors=True)
        super().run()
        chosen = os.environ.get("LIBTENSOR_LIBRARY")
        library = Path(chosen) if chosen else BUILD / "libtensor.so"
        direct = BUILD / "libtensor_direct.so"
        missing = [f"build/{path.name}" for path in (library, direct) if not path.exists()]
        if missing:
            subprocess.run(["make", "-C", str(ROOT), *missing], check=True)
        folder = Path(self.build_lib) / "libtensor" / "lib"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(library, folder / "libtensor.so")
        shutil.copy2(direct, folder / direct.name)
        for extra in (BUILD / "openblas").glob("*"):
            shutil.copy2(extra, folder / extra.name)


class PlatformWheel(bdist_wheel):
    """Any Python 3 on one platform: the shared libraries are loaded by ctypes and serve every version."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    """Installs beside other compiled packages, because of the shared library."""

    def has_ext_modules(self):
        return True


setup(distclass=PlatformDistribution, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
