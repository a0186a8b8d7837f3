"""Builds a wheel that carries the shared libraries, which make builds, and an sdist that carries their sources."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
CARRIED = HERE / "source"  # in an sdist
ROOT = CARRIED if CARRIED.exists() else HERE.parent.parent
BUILD = ROOT / "build"

# What make needs of the project to build the libraries, and what it does not need of these folders.
SOURCES = ["Makefile", "LICENSE", "go.mod", "go.sum", ".ci", "capi", "cuda", "engine", "include", "bindings/python/direct"]
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", ".*_cache", "*_test.go", "accuracy", "bench", "sim", "test", "testdata", "tests", "*.ptx.gz"
)
TOOLS = ["make", "go", "gcc", "g++"]


def fail(why):
    sys.exit(f"libtensor: {why}; a wheel needs none of this")


def make():
    """Builds the libraries with all CPU tiers, and collects their licenses."""
    try:
        os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        sys.exit("libtensor needs glibc, which this Python is not built for: on Alpine, which has musl, use python:3-slim, say")
    if not (ROOT / "capi" / "tensor.map").exists():
        fail(f"the sources of libtensor.so are not in {ROOT}: build from a checkout, or from an sdist, which carries them")
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        fail(
            f"libtensor.so is built from sources here, for which there is no {', '.join(missing)}: install make, gcc, g++ and Go 1.26 or "
            "newer"
        )
    environment = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}  # of a make that this runs below
    if subprocess.run(["make", "-C", str(ROOT), "lib", "licenses", "TIERS=all"], env=environment).returncode:
        fail("libtensor.so could not be built, for the reason that make gives above")


class BuildWithLibrary(build_py):
    """Copies the shared libraries and their licenses to libtensor/lib."""

    def run(self):
        # What an earlier build left there may be in no package any more.
        shutil.rmtree(Path(self.build_lib) / "libtensor", ignore_errors=True)
        super().run()
        chosen = os.environ.get("LIBTENSOR_LIBRARY")  # of which the caller knows that it is current
        if not chosen:
            make()
        folder = Path(self.build_lib) / "libtensor" / "lib"
        folder.mkdir(parents=True, exist_ok=True)
        built = Path(chosen).parent if chosen else BUILD
        for library in [built / "libtensor.so", built / "libtensor_direct.so", *built.glob("libscipy_openblas*.so")]:
            shutil.copy2(library, folder)
        shutil.copytree(built / "licenses", folder / "licenses")


class SdistWithSources(sdist):
    """Carries what make needs."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in SOURCES:
            to = Path(base_dir) / CARRIED.name / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, to, ignore=LEFT_OUT)
            else:
                shutil.copy2(ROOT / name, to)


def oldest_glibc(folder):
    """The minor version of the oldest glibc that all libraries in a folder load with, as they name it; None without glibc."""
    named = rb"\0GLIBC_2\.(\d+)[.\d]*(?=\0)"
    return max((int(minor) for path in folder.glob("*.so") for minor in re.findall(named, path.read_bytes())), default=None)


class PlatformWheel(bdist_wheel):
    """Any Python 3 on one platform, from one version of glibc on: the shared libraries are loaded by ctypes and serve every version of
    Python."""

    def get_tag(self):
        platform = super().get_tag()[2]
        minor = oldest_glibc(Path(self.get_finalized_command("build").build_lib) / "libtensor" / "lib")
        return "py3", "none", platform if minor is None else platform.replace("linux", f"manylinux_2_{minor}", 1)


class PlatformDistribution(Distribution):
    """Installs to the folder of platform-specific packages, because of the shared library."""

    def has_ext_modules(self):
        return True


# The packages carry the licence, which is at the top of the project.
if (ROOT / "LICENSE").exists():
    shutil.copy2(ROOT / "LICENSE", HERE / "LICENSE")

setup(distclass=PlatformDistribution, cmdclass={"build_py": BuildWithLibrary, "sdist": SdistWithSources, "bdist_wheel": PlatformWheel})
