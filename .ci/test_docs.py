"""Every block of code in the documentation runs in its language, and prints what the block `text` after it says.

- `python`: a session (`>>>`) or a program. `c`, `cpp`, `js`: a program; C without a `main` is declarations, which the header must have.
- `go`: a program; without a `main` an excerpt of the file that the text before it names.
- `sh`: commands in a folder that has the programs of the page which the line before them names (`hello.c`:), with an installed prefix,
  $PREFIX.
- `py`, `ts`: signatures, whose names must exist (or code that the tests of a package run, bindings/python/interop). Others are no code.

Adjacent blocks in different languages are the same program: they print the same.

docs/adding_an_operator.md has a program of its own, and bindings/node/README.md a test there.
"""

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
from functools import reduce
from pathlib import Path

import pytest
from documentation import PAGES, ROOT

import libtensor as torch

BUILD = ROOT / "build"
WARNINGS = ("-O1", "-Wall", "-Wextra", "-Werror")
LINKED = (f"-I{ROOT}/include", f"-L{BUILD}", "-ltensor", f"-Wl,-rpath,{BUILD}")
COMPILERS = {"c": ("cc", "-std=c11"), "cpp": ("c++", "-std=c++17")}


def chosen(*languages, whole=True):
    every = [block for listed in PAGES.values() for block in listed if block.language in languages and block.whole == whole]
    return pytest.mark.parametrize("block", [pytest.param(block, id=f"{block.page} {block.number}") for block in every])


def check(block, output):
    if block.output is not None:
        assert output.rstrip() == block.output.rstrip()


def run(*command, cwd, **environment):
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def tmp_path(tmp_path):
    """A folder with the exported program that docs/exported_programs.md runs."""
    shutil.copy(ROOT / "engine/program/testdata/classifier.pt2", tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore::UserWarning")  # of examples of deprecated operators
@chosen("python")
def test_python(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if ">>>" not in block.code:
        exec(compile(block.code, f"{block.page} {block.number}", "exec"), {"__name__": "snippet", "torch": torch})
        check(block, capsys.readouterr().out)
        return
    runner, out = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE), []
    runner.run(doctest.DocTestParser().get_doctest(block.code, {"torch": torch}, block.page, None, 0), out=out.append)
    assert (runner.tries or "+SKIP" in block.code) and not runner.failures, "".join(out)


@chosen("c", "cpp")
def test_c(block, tmp_path):
    source = tmp_path / f"program.{block.language}"
    source.write_text(block.code)
    run(*COMPILERS[block.language], *WARNINGS, source, "-o", tmp_path / "program", *LINKED, cwd=tmp_path)
    check(block, run("sh", "-c", "./program 2>&1", cwd=tmp_path))


@pytest.mark.parametrize(
    "path", [path for path, listed in PAGES.items() if any(b.language == "c" and not b.whole for b in listed)], ids=lambda path: path.name
)
def test_declarations(path, tmp_path):
    """A declaration that is not the header's is an error to the compiler, and so is one that it has not seen before."""
    for language, compiler in COMPILERS.items():
        source = tmp_path / f"declarations.{language}"
        listed = [block.code for block in PAGES[path] if block.language == "c" and not block.whole]
        source.write_text("#include <tensor.h>\n" + "".join(listed))
        text = source.read_text()
        if language == "cpp":
            source.write_text(f'#include <tensor.h>\nextern "C" {{\n{"".join(listed)}}}\n')
        run(*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT}/include", source, cwd=tmp_path)
    names = set(re.findall(r"\b(tensor_\w+)\(", text))
    assert names <= set(re.findall(r"\b(tensor_\w+)\(", (ROOT / "include/tensor.h").read_text()))


def signatures(language):
    """The dotted names that pages of operators give signatures of."""
    listed = [
        block.code for path, listed in PAGES.items() if path.parent.name == "operators" for block in listed if block.language == language
    ]
    return sorted({name for code in listed for name in re.findall(r"^([\w.]+)\(", code, re.MULTILINE)})


def test_names_in_python():
    names = signatures("py")
    missing = []
    for name in names:
        try:
            reduce(getattr, name.split(".")[1:], torch.Tensor if name.startswith("Tensor.") else torch)
        except AttributeError:
            missing.append(name)
    assert len(names) > 900 and missing == []


def test_names_in_node():
    names = signatures("ts")
    program = """
        const lt = require('./bindings/node');
        const owners = { lt, tensor: lt.zeros(1), storage: lt.zeros(1).untypedStorage(), generator: lt.generatorNew() };
        const found = (name) => name.split('.').reduce((owner, part) => owner?.[part], owners);
        console.log(JSON.parse(process.argv[1]).filter((name) => found(name) === undefined).join(' '));
    """
    assert len(names) > 900 and run("node", "-e", program, json.dumps(names), cwd=ROOT).split() == []


@chosen("js")
def test_node(block, tmp_path):
    program = tmp_path / "program.js"
    program.write_text(block.code)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules/libtensor").symlink_to(ROOT / "bindings/node")
    check(block, run("node", program, cwd=tmp_path))


@pytest.mark.xdist_group("go")  # programs have one folder
@chosen("go")
def test_go(block, tmp_path):
    """A program beside the engine, of whose module it is a part."""
    folder = BUILD / "docs" / "program"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "main.go"
    try:
        program.write_text(block.code)
        assert run("gofmt", "-l", program, cwd=ROOT) == ""
        run("go", "build", "-o", tmp_path / "program", f"./{folder.relative_to(ROOT)}", cwd=ROOT)
        check(block, run(tmp_path / "program", cwd=tmp_path, LD_LIBRARY_PATH=str(BUILD)))
    finally:
        program.unlink()


@chosen("go", whole=False)
def test_excerpts(block):
    path = re.findall(r"`([\w/]+\.go)`", block.before)[-1]
    lines = {line.strip() for line in (ROOT / path).read_text().splitlines()}
    assert [line for line in block.code.splitlines() if line.strip() not in lines] == []


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("prefix")
    run("make", "--no-print-directory", "install", f"PREFIX={path}", cwd=ROOT)
    return path


WITH_COMMANDS = [path for path, listed in PAGES.items() if any(block.language == "sh" for block in listed)]


@pytest.mark.xdist_group("commands")  # which share the prefix
@pytest.mark.parametrize("path", WITH_COMMANDS, ids=lambda path: path.name)
def test_commands(path, tmp_path, prefix):
    environment = {
        "PREFIX": str(prefix),
        "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig",
        "CMAKE_PREFIX_PATH": str(prefix),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    printed = None
    for block in PAGES[path]:
        if block.name:
            (tmp_path / block.name).write_text(block.code)
        if block.language == "text" and printed is not None:
            assert printed.rstrip() == block.code.rstrip()
        printed = run("bash", "-euc", block.code, cwd=tmp_path, **environment) if block.language == "sh" else None
