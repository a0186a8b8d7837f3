"""Runs a Python program in which torch is libtensor, as the interpreter would run it: python -m libtensor."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from io import open_code
from os.path import abspath, dirname, realpath
from pkgutil import get_importer
from typing import NoReturn

from .._base.library import __version__ as libtensor_version
from .as_torch import VERSION, install_as_torch

USAGE = """usage: python -m libtensor PROGRAM [ARGS...]
       python -m libtensor -m MODULE [ARGS...]
       python -m libtensor -c CODE [ARGS...]

Runs a program that is written for PyTorch: `import torch` imports libtensor in the program and in its worker processes.
PROGRAM is a file, or a folder or a zip file with a __main__.py; - reads the program from standard input. sys.argv, sys.path,
the module __main__ and the exit code are those of `python PROGRAM ARGS`. Programs that PROGRAM starts with subprocess are
started by their own command line: `python -m libtensor` there too.

options:
  -h, --help     print this text
  -V, --version  print the versions of libtensor and of the names of PyTorch that it has
"""


class Program:
    """What runs as __main__: code and the attributes of the module."""

    def __init__(self, code, **attributes):
        self.code, self.attributes = code, attributes


def fail(why: str, status: int = 2) -> NoReturn:
    print(f"{sys.executable} -m libtensor: {why}", file=sys.stderr)
    sys.exit(status)


def enter_folder(folder):
    """Makes a folder the first of sys.path, as the interpreter does, unless it was started with -P."""
    if not getattr(sys.flags, "safe_path", False) and sys.path:
        sys.path[0] = folder


def from_spec(spec):
    """Returns the program of a module's spec."""
    code = spec.loader.get_code(spec.name)
    if code is None:
        fail(f"No code object available for {spec.name}", 1)
    cached = getattr(spec, "cached", None)
    return Program(code, __spec__=spec, __file__=spec.origin, __loader__=spec.loader, __package__=spec.parent, __cached__=cached)


def from_module(name):
    """Returns the program of a module, or of __main__ of a package."""
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = find_spec(name)
    except (ImportError, ValueError) as error:
        fail(f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})", 1)
    if spec is None:
        fail(f"No module named {name}", 1)
    sys.argv[0] = str(spec.origin)
    return from_spec(spec)


def from_file(path):
    """Returns the program of a file, or of __main__.py in a folder or zip file."""
    importer = get_importer(path)
    if importer is not None:
        sys.path.insert(0, abspath(path)) if getattr(sys.flags, "safe_path", False) else enter_folder(abspath(path))
        spec = importer.find_spec("__main__")
        if spec is None:
            fail(f"can't find '__main__' module in {path!r}", 1)
        return from_spec(spec)
    enter_folder(dirname(realpath(path)))
    try:
        with open_code(path) as file:
            source = file.read()
    except OSError as error:
        fail(f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}")
    path = abspath(path)
    return Program(compile(source, path, "exec", dont_inherit=True), __file__=path, __loader__=SourceFileLoader("__main__", path))


def from_text(text, name):
    """Returns the program of a string."""
    enter_folder("")
    return Program(compile(text, name, "exec", dont_inherit=True))


def choose(arguments):
    """Returns a function that makes the program of the command line, and sets sys.argv."""
    first, rest = arguments[0], arguments[1:]
    option, attached = (first[:2], first[2:]) if first[:2] in ("-c", "-m") else (first, "")
    if option in ("-c", "-m"):
        if attached:
            rest.insert(0, attached)
        if not rest:
            fail(f"argument expected for the {option} option\n{USAGE}")
        sys.argv = [option, *rest[1:]]
        return (lambda: from_module(rest[0])) if option == "-m" else (lambda: from_text(rest[0], "<string>"))
    if first == "-":
        sys.argv = arguments
        return lambda: from_text(sys.stdin.read(), "<stdin>")
    if first.startswith("-"):
        fail(f"unknown option {first}\n{USAGE}")
    sys.argv = arguments
    return lambda: from_file(first)


def without_ours(traceback):
    """Returns the part of a traceback that begins in the program."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback


def run(make):
    """Runs the program that make() returns in the module __main__. An exception is printed as the interpreter prints it."""
    try:
        program = make()
        module = sys.modules["__main__"]
        builtins = module.__builtins__
        vars(module).clear()
        unset = {"__doc__": None, "__package__": None, "__spec__": None, "__loader__": None}
        vars(module).update(unset | {"__name__": "__main__", "__builtins__": builtins} | program.attributes)
        exec(program.code, vars(module))
    except SystemExit:
        raise
    except BaseException as error:
        error = error.with_traceback(without_ours(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        sys.excepthook = lambda *printed: None  # the interpreter exits with the exception
        raise


def main():
    """Runs the program that the command line names."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return
    if arguments[0] in ("-V", "--version"):
        print(f"libtensor {libtensor_version}, torch {VERSION}")
        return
    install_as_torch()
    run(choose(arguments))
