"""What is in each package, what it says where it cannot be built, and that the README's steps are true. Run by make test-install."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYTHON, NODE, BUILD = ROOT / "bindings" / "python", ROOT / "bindings" / "node", ROOT / "build"
README = (ROOT / "README.md").read_text()
BUNDLED = [path.name for path in BUILD.glob("libscipy_openblas*.so")]
MODULES = {"github.com-google-uuid", "github.com-mattn-go-pointer", "github.com-pkg-errors", "gorgonia.org-cu"}
LICENSES = {f"{name}.txt" for name in {"libtensor", "go", *MODULES, *(["openblas"] if BUNDLED else [])}} | {"libtensor.spdx"}
KERNELS = {path.name for path in (ROOT / "cuda/kernels").glob("gen_*")}
HOME = "https://github.com/libtensor/libtensor"
FLOOR = 28  # of glibc 2, which manylinux_2_28 has
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "LIBTENSOR_", "npm_"))}


def run(*command, cwd=ROOT, fails=False, **environment):
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=ENVIRONMENT | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout


def wheel(project, folder, fails=False, **environment):
    """A wheel of a project, or why there is none."""
    options = ("--no-build-isolation", "--no-deps", "--no-cache-dir", "--disable-pip-version-check", "-w", folder)
    said = run(sys.executable, "-m", "pip", "wheel", *options, project, fails=fails, **environment)
    return said if fails else next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """Environment's variables that have wheels packed without compression, where their size says nothing."""
    settings = tmp_path_factory.mktemp("settings") / "setup.cfg"
    settings.write_text("[bdist_wheel]\ncompression = stored\n")
    return {"DIST_EXTRA_CONFIG": str(settings)}


def loads_with_older_glibc(folder):
    """Each library asks of glibc for nothing newer than FLOOR."""
    libraries = [path for path in folder.rglob("*") if re.search(r"\.(so|node)\b", path.name) and path.is_file()]
    assert libraries
    for path in libraries:
        wanted = re.findall(r"\*UND\*.*\(GLIBC_2\.(\d+)[.\d]*\) +(\w+)", run("objdump", "-T", path))
        newer = sorted(name for minor, name in wanted if int(minor) > FLOOR)
        assert not newer, f"{path.name} does not load with glibc 2.{FLOOR}: add {', '.join(newer)} to capi/glibc.c, or do without"


def accounted_for(folder):
    """The list in a package says what each file is under: parts of others have their texts beside it, and what it does not name is ours."""
    (listed,) = folder.rglob("libtensor.spdx")
    parts = [dict(re.findall(r"^(\w+): (.*)$", block, re.MULTILINE)) for block in listed.read_text().split("\n\n")[1:]]
    texts = {re.sub("</?text>", "", part["PackageLicenseComments"]) for part in parts}
    assert {path.name for path in listed.parent.iterdir()} == texts | {listed.name} == LICENSES
    assert all(re.fullmatch(r"[A-Z][\w.-]+(( AND | WITH )[A-Z][\w.-]+)*", part["PackageLicenseConcluded"]) for part in parts)
    others = {part["PackageFileName"] for part in parts if "PackageFileName" in part}
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent != listed.parent]
    assert others == {path.name for path in files} & {"libscipy_openblas64_.so"}
    all_ours(path for path in files if path.name not in others)


def all_ours(files):
    """No file has somebody else's name on it, but for the texts of licences."""
    for path in files:
        if path.is_file() and not path.name.startswith("LICENSE"):
            foreign = re.search(rb"(?i)copyright (\(c\)|\xc2\xa9|\d{4}).*|SPDX-Licen[s]e-Identifier.*", path.read_bytes())
            assert not foreign, f"{path}: whose is this? {foreign[0]}. Name it in .ci/licenses"


def links_lead_somewhere(folder):
    """What a package's texts link to is in it, or in the sources of its version."""
    (version,) = re.findall(r"^VERSION := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for path in folder.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#: ][^) ]*)\)", path.read_text()):
            name = link.removeprefix(f"{HOME}/blob/v{version}/").partition("#")[0]
            assert (path.parent / name if link.startswith(name) else ROOT / name).exists() or link == HOME, f"{path.name} links to {link}"


def prints(text, *command, cwd, **environment):
    assert run(*command, cwd=cwd, **environment).strip() == text


def without(folder, *tools):
    """A PATH that has all but some programs."""
    folder.mkdir()
    for place in ENVIRONMENT["PATH"].split(":"):
        for path in Path(place).glob("*") if place else ():
            if path.name not in tools and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
    return str(folder)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})", cwd=PYTHON)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def test_wheel(tmp_path):
    made = wheel(PYTHON, tmp_path)
    with zipfile.ZipFile(made) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        metadata = archive.read(next(name for name in sizes if name.endswith("METADATA"))).decode()
    libraries = {name.removeprefix("libtensor/lib/") for name in sizes if name.startswith("libtensor/lib/")}
    assert libraries == {"libtensor.so", "libtensor_direct.so", *BUNDLED} | {f"licenses/{name}" for name in LICENSES}
    for field in (
        "License-Expression: Apache-2.0",
        "Author: libtensor contributors",
        "Provides-Extra: numpy",
        "Provides-Extra: cuda",
        "Requires-Python: >=3.10",
    ):
        assert field in metadata
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in sizes)
    with zipfile.ZipFile(made) as archive:
        archive.extractall(tmp_path / "unpacked")
    loads_with_older_glibc(tmp_path / "unpacked")
    accounted_for(tmp_path / "unpacked")
    tag = made.stem.split("-")[-1]
    assert 17 <= int(re.fullmatch(r"manylinux_2_(\d+)_\w+", tag)[1]) <= FLOOR
    assert f'"{tag}"' in run(sys.executable, "-m", "auditwheel", "show", made)
    assert sum(sizes.values()) < 62e6 and made.stat().st_size < 25e6


def test_an_sdist_builds_from_what_it_carries(sdist, tmp_path, at_once):
    assert (sdist / "LICENSE").exists() and not list(sdist.rglob("*_test.go"))
    all_ours(sdist.rglob("*"))
    # Nothing is fetched: neither the checkout nor the network is there for it.
    shutil.copytree(BUILD / "openblas", sdist / "source" / "build" / "openblas")
    made = wheel(sdist, tmp_path, **at_once)
    # The same sources produce the same library, in any folder.
    with zipfile.ZipFile(made) as archive:
        assert archive.read("libtensor/lib/libtensor.so") == (BUILD / "libtensor.so").read_bytes()
    run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", tmp_path / "installed", made)
    prints(
        "tensor([1, 2])",
        sys.executable,
        "-c",
        "import libtensor; print(libtensor.tensor([1, 2]))",
        cwd=tmp_path,
        PYTHONPATH=str(tmp_path / "installed"),
    )
    assert {path.name for path in (tmp_path / "installed/libtensor/lib/licenses").iterdir()} == LICENSES


def test_an_sdist_says_what_it_needs(sdist, tmp_path):
    assert "there is no go, g++: install make, gcc, g++ and Go" in wheel(
        sdist, tmp_path, fails=True, PATH=without(tmp_path / "bin", "go", "g++")
    )
    # A Python without glibc, such as Alpine's.
    (tmp_path / "other").mkdir()
    (tmp_path / "other/sitecustomize.py").write_text("import os\nos.confstr = lambda name: os.stat('/nowhere')\n")
    assert "libtensor needs glibc, which this Python is not built for" in wheel(
        sdist, tmp_path, fails=True, PYTHONPATH=str(tmp_path / "other")
    )
    alone = shutil.copytree(sdist, tmp_path / "alone" / "within" / "folders", ignore=shutil.ignore_patterns("source"))
    said = wheel(alone, tmp_path, fails=True)
    assert f"the sources of libtensor.so are not in {tmp_path / 'alone'}: build from a checkout, or from an sdist" in said
    assert "make: " not in said


def test_npm_packages(tmp_path):
    run("make", "addon", "TIERS=all")
    names = run("node", NODE / "pack.js", tmp_path).split()
    program = tmp_path / "program"
    program.mkdir()
    (program / "package.json").write_text("{}")
    # No compiler is there, and no script is run.
    run(
        "npm",
        "install",
        "--offline",
        "--ignore-scripts",
        *(tmp_path / name for name in names),
        cwd=program,
        PATH=without(tmp_path / "bin", "cc", "gcc", "make"),
    )
    prints("tensor([1., 2.])", "node", "-e", "console.log(`${require('libtensor').tensor([1, 2])}`)", cwd=program)
    package, platform = (
        program / "node_modules" / name for name in ("libtensor", next(iter((program / "node_modules/@libtensor").iterdir())))
    )
    links_lead_somewhere(package), links_lead_somewhere(platform)
    assert {path.name for path in platform.iterdir()} == {
        "LICENSE",
        "README.md",
        "package.json",
        "libtensor.node",
        "libtensor.so.0",
        "licenses",
        *BUNDLED,
    }
    described, own = (json.loads((folder / "package.json").read_text()) for folder in (package, platform))
    assert described["optionalDependencies"][own["name"]] == own["version"] == described["version"]
    assert own["libc"] == ["glibc"] and len(own["cpu"]) == 1 and "LICENSE" in os.listdir(package)
    loads_with_older_glibc(program)
    accounted_for(program)
    shutil.rmtree(platform)
    said = run("node", "-e", "require('libtensor')", cwd=program, fails=True)
    assert f"neither the package {own['name']} is installed, which npm install brings unless optional dependencies are omitted" in said


def test_npm_says_what_to_run(tmp_path):
    unbuilt = tmp_path / "checkout" / "bindings" / "node"
    shutil.copytree(NODE, unbuilt, ignore=shutil.ignore_patterns("build", "node_modules"))
    program = tmp_path / "program"
    program.mkdir()
    (program / "package.json").write_text("{}")
    missing = f"build/libtensor.node is missing; run `make addon` in {tmp_path / 'checkout'} first"
    assert missing in run("npm", "install", "--offline", unbuilt, cwd=program, fails=True)
    run("npm", "run", "prepare", cwd=unbuilt)  # which npm ci does here before anything is built
    said = run("node", "-e", f"require({str(unbuilt)!r})", cwd=program, fails=True)
    assert f"nor is there {unbuilt}/build/libtensor.node; in a checkout of libtensor, run `make addon` at its top" in said


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(ROOT / ".ci/dist", folder, "tarball", "deb", "cuda", "source", LEVEL="1")
    return folder


GRADIENT = "tensor([[2., 4.],\n        [6., 8.]])\n"  # the output of the README's programs


def consume(folder, libraries, **environment):
    """Builds the README's programs in C and C++ by pkg-config's flags, with what was installed in a folder, and runs it."""
    (folder / "hello.c").write_text(example("c"))
    line = "cc hello.c $(pkg-config --cflags --libs tensor) && ./a.out"
    said = run("bash", "-c", line, cwd=folder, PKG_CONFIG_PATH=str(libraries / "pkgconfig"), **environment)
    assert said == GRADIENT
    (folder / "hello.cpp").write_text(example("cpp"))
    line = "c++ -std=c++17 -Wall -Wextra -Werror hello.cpp $(pkg-config --cflags --libs tensor) && ./a.out"
    assert run("bash", "-c", line, cwd=folder, PKG_CONFIG_PATH=str(libraries / "pkgconfig"), **environment) == GRADIENT


def test_tarball(dist, tmp_path):
    with tarfile.open(next(dist.glob("libtensor-*-linux-*.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (prefix,) = tmp_path.iterdir()
    files = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()}
    assert {name for name in files if "licenses" in name} == {f"share/licenses/libtensor/{name}" for name in LICENSES}
    assert {Path(name).name for name in files if ".so" in name} == {"libtensor.so.0.1.0", *BUNDLED}
    loads_with_older_glibc(tmp_path)
    accounted_for(tmp_path)
    links_lead_somewhere(tmp_path)
    consume(prefix, prefix / "lib")
    assert run(prefix / "bin/tensor-run", "--version") == "libtensor 0.1.0\n"


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="there are Debian packages on Debian alone")
def test_deb(dist, tmp_path):
    for package in dist.glob("*.deb"):
        run("dpkg-deb", "-x", package, tmp_path)
    assert {path.name for path in (tmp_path / "usr/share/libtensor-cuda").iterdir()} == KERNELS
    (library,) = (path for path in tmp_path.rglob("libtensor.so.*") if not path.is_symlink())
    assert {path.name for path in library.parent.iterdir()} == {
        *("libtensor.a", "libtensor.so", "libtensor.so.0", "libtensor.so.0.1.0", "cmake", "pkgconfig")
    }
    said = (tmp_path / "usr/share/doc/libtensor0/copyright").read_text()
    assert "/usr/share/common-licenses/Apache-2.0" in said and all(
        name in said for name in ("Google Inc.", "Go Authors", "Dave Cheney", "Yasuhiro Matsumoto")
    )
    all_ours(path for path in tmp_path.rglob("*") if path.name != "copyright")
    assert "libopenblas0" in run("dpkg-deb", "-f", next(dist.glob("libtensor0_*.deb")), "Depends")
    loads_with_older_glibc(tmp_path)
    assert "rpath" not in (library.parent / "pkgconfig/tensor.pc").read_text()  # the system finds it
    consume(tmp_path, library.parent, LD_LIBRARY_PATH=str(library.parent))
    assert run(tmp_path / "usr/bin/tensor-run", "--version", LD_LIBRARY_PATH=str(library.parent)) == "libtensor 0.1.0\n"
    assert not re.search("R(UN)?PATH", run("readelf", "-d", tmp_path / "usr/bin/tensor-run"))


def test_kernels_of_devices(dist, tmp_path):
    """They are the same in each form, and in no other package."""
    links_lead_somewhere(ROOT / "cuda/package")
    (packed,) = dist.glob("libtensor-cuda-*.tar.gz")
    with tarfile.open(packed) as archive:
        assert {Path(name).name for name in archive.getnames() if "share/libtensor-cuda/" in name} == KERNELS
    (made,) = dist.glob("libtensor_cuda-*-py3-none-any.whl")
    with zipfile.ZipFile(made) as archive:
        assert {name.removeprefix("libtensor_cuda/") for name in archive.namelist() if ".dist-info/" not in name} == KERNELS
    (packed,) = dist.glob("libtensor-cuda-*.tgz")
    with tarfile.open(packed) as archive:
        assert {Path(name).name for name in archive.getnames()} == KERNELS | {"LICENSE", "README.md", "package.json"}


def test_source_archive(dist, tmp_path):
    """It has what Go would fetch."""
    with tarfile.open(next(dist.glob("*-source.tar.gz"))) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    modules = {path.parent for path in (tree / "vendor").rglob("LICENSE*")}
    all_ours(path for path in tree.rglob("*") if not modules & set(path.parents))
    assert {"Makefile", "LICENSE", "README.md", "vendor", "include", "engine", "capi"} <= set(os.listdir(tree))
    listed = run("go", "list", "-deps", "./capi", cwd=tree, GOPROXY="off", GOMODCACHE=str(tmp_path / "none"), GOFLAGS="-mod=vendor")
    assert "gorgonia.org/cu" in listed and "github.com/libtensor/libtensor/capi" in listed


def test_the_c_library_needs_no_python():
    listed = run("make", "-n", "install", "OPENBLAS=system")
    assert "go build" in listed or "capi/link" in listed
    assert not re.search(r"python|pip |\.py\b", listed)


SHOWN = [("libopenblas.so.0 (libc6,x86-64) => /lib/libopenblas.so.0", False), ("libblas.so.3 => /lib", True)]


@pytest.mark.parametrize(("shown", "missing"), SHOWN)
def test_whether_the_system_has_openblas(tmp_path, shown, missing):
    (tmp_path / "ldconfig").write_text(f"#!/bin/sh\necho '{shown}'\n")
    (tmp_path / "ldconfig").chmod(0o755)
    said = run("make", "system-openblas", "OPENBLAS=system", fails=missing, PATH=f"{tmp_path}:{ENVIRONMENT['PATH']}")
    assert ("The system has no OpenBLAS (libopenblas.so.0). On Debian: apt-get install libopenblas0" in said) == missing


def commands(language):
    """What the README tells a reader of this language to type."""
    paragraph = re.search(rf"^\*\*{language}\*\*.*?\n\n", README, re.MULTILINE | re.DOTALL).group()
    return re.findall(r"`((?:cc|make|npm|pip) [^`]*)`", paragraph)


def example(language):
    return re.search(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL).group(1)


def test_readme_c(tmp_path):
    install, plain, packaged = commands("C")
    (tmp_path / "hello.c").write_text(example("c"))
    run(*shlex.split(install.replace("PREFIX=...", f"PREFIX={tmp_path / 'prefix'}")))
    for line in (plain, packaged):
        said = run(
            "bash",
            "-c",
            f"{line} && ./a.out",
            cwd=tmp_path,
            PREFIX=str(tmp_path / "prefix"),
            PKG_CONFIG_PATH=str(tmp_path / "prefix/lib/pkgconfig"),
        )
        assert said == GRADIENT


def test_readme_python(tmp_path, at_once):
    (step,) = commands("Python")
    assert step == "pip install ./bindings/python"
    run(sys.executable, "-m", *shlex.split(step), "--no-build-isolation", "--no-deps", "--target", tmp_path, **at_once)
    (tmp_path / "example.py").write_text(example("python"))
    assert run(sys.executable, "example.py", cwd=tmp_path) == GRADIENT


def test_readme_node(tmp_path):
    first, step = commands("Node")
    run(*shlex.split(first))
    (tmp_path / "package.json").write_text("{}")
    assert step == "npm install ./bindings/node"
    run("npm", "install", "--offline", NODE, cwd=tmp_path)
    (tmp_path / "example.js").write_text(example("js"))
    assert run("node", "example.js", cwd=tmp_path) == GRADIENT


def test_readme_targets():
    """Every target that the README names is one."""
    for target in set(re.findall(r"\bmake ([a-z][a-z-]*)\b(?!\.)", re.sub(r"^(?!```|make|.*`make).*$", "", README, flags=re.MULTILINE))):
        run("make", "-n", target)
