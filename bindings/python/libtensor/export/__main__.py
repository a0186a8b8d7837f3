"""Inspects, runs and times exported programs: python -m libtensor.export inspect|run|bench MODEL.pt2."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import libtensor as torch

from .._core.tensor import Tensor
from .._storages.files import readable
from .operator_times import operator_table
from .program import ExportedProgram, Item, Program, load, read_records
from .signature import read_signature


def inspect(path: str, graph: bool) -> int:
    """Prints the inputs, outputs and operators of a program; returns 1 if libtensor lacks one of them."""
    text, _ = read_records(readable(path))
    version = text["schema_version"]
    print(f"schema version {version['major']}.{version['minor']}, PyTorch {text.get('torch_version', '?')}")
    try:
        loaded = ExportedProgram(Program(readable(path)), text)
    except NotImplementedError as error:
        for spec in read_signature(text["graph_module"]["signature"]).input_specs:
            print(f"  input {spec}")
        print(error)
        return 1
    state = loaded._program.state
    size = sum(x.numel() * x.element_size() for x in map(loaded._program.tensor, range(len(state))))
    print("inputs:", *(f"  {x}" for x in loaded.inputs), "outputs:", *(f"  {x}" for x in loaded.outputs), sep="\n")
    print(f"state: {len(state)} tensors of {size} bytes")
    print("operators:", *(f"  {count:5} {name.removeprefix('torch.ops.')}" for name, count in loaded.operators.items()), sep="\n")
    if graph:
        print(loaded)
    return 0


def list_sizes(item: Item) -> list[str]:
    """Returns the sizes of an input, as integers or expressions of symbols; none for a tensor of 0 dimensions and for a number."""
    return [x for x in item.shape.strip("[]").split(", ") if x]


def example(item: Item, symbols: dict[str, int]) -> Any:
    """Returns a value for an input that is not constant: zeros or ones, with sizes for symbols."""
    if item.dtype is None:
        return 1
    sizes = [int(x) if x.isdigit() else symbols.get(x, 2) for x in list_sizes(item)]
    return torch.zeros(sizes, dtype=item.dtype) if item.dtype is torch.bool else torch.ones(sizes).to(item.dtype)


def given(loaded: ExportedProgram, paths: list[str], symbols: dict[str, int]) -> list[Any]:
    """Returns the flat inputs: tensors of .npy files in their order, and examples of the others. Raises ValueError for a file or a size of
    none."""
    count = sum(item.dtype is not None for item in loaded.inputs)
    if len(paths) > count:
        raise ValueError(f"the program has {count} input tensors, but {len(paths)} are given; the first without one is {paths[count]}")
    known = {size for item in loaded.inputs for size in list_sizes(item) if not size.isdigit()}
    for name in symbols:
        if name not in known:
            raise ValueError(
                f"no input of the program has the size of --size {name}={symbols[name]}; the sizes are "
                f"{', '.join(sorted(known)) or 'fixed'}"
            )
    tensors = [torch.load_npy(path) for path in paths]
    inputs = []
    for item in loaded.inputs:
        if item.dtype is not None and tensors:
            inputs.append(tensors.pop(0))
        else:
            inputs.append(example(item, symbols) if item.constant is None and item.kind != "None" else item.constant)
    return inputs


def run(path: str, inputs: list[str], outputs: list[str], symbols: dict[str, int]) -> int:
    """Runs a program, and prints its outputs, or saves the first ones if there are paths for them."""
    loaded = load(path)
    results = loaded._program.run(*given(loaded, inputs, symbols))
    tensors = [x for x in results if isinstance(x, Tensor)]
    if len(outputs) > len(tensors):
        raise ValueError(f"the program has {len(tensors)} output tensors; none for --output {outputs[len(tensors)]}")
    for tensor, to in zip(tensors, outputs, strict=False):
        torch.save_npy(tensor, to)
    if outputs:
        return 0
    for item, result in zip(loaded.outputs, results, strict=True):
        print(f"{item.name}:", result)
    return 0


def bench(path: str, inputs: list[str], symbols: dict[str, int], seconds: float) -> int:
    """Prints the times of loading a program, of its first run, of the following ones, and of its operators."""
    begin = time.perf_counter()
    program = Program(readable(path))
    loading = time.perf_counter() - begin
    loaded = ExportedProgram(program, *read_records(readable(path)))
    values = given(loaded, inputs, symbols)
    times: list[float] = []
    while not times or (sum(times) < seconds and len(times) < 100000):
        begin = time.perf_counter()
        program.run(*values)
        times.append(time.perf_counter() - begin)
    rest = sorted(times[1:]) or times
    nodes = sum(loaded.operators.values())
    print(f"load {loading * 1e3:.2f} ms, first run {times[0] * 1e3:.2f} ms, {nodes} nodes, {torch.get_num_threads()} threads")
    median, late = statistics.median(rest), rest[len(rest) * 9 // 10]
    print(f"{len(rest)} runs: median {median * 1e3:.3f} ms, fastest {rest[0] * 1e3:.3f} ms, 90 % within {late * 1e3:.3f} ms")
    print(operator_table(lambda: program.run(*values), seconds / 2))
    return 0


def import_code(name: str) -> None:
    """Imports a module by its name, or the file of one, for what it defines. Raises ImportError for all errors."""
    try:
        if not name.endswith(".py"):
            importlib.import_module(name)
            return
        spec = importlib.util.spec_from_file_location(Path(name).stem, name)
        if spec is None or spec.loader is None:
            raise ImportError("the file cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(module.__name__, module)
        spec.loader.exec_module(module)
    except Exception as error:
        raise ImportError(f"--import {name}: {type(error).__name__}: {error}") from error


def size_of(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    if not name or not value.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N, a name and a size")
    return name, int(value)


def duration(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m libtensor.export", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in [("inspect", "prints inputs, outputs and operators"), ("run", "runs a program once"), ("bench", "times a program")]:
        command = commands.add_parser(name, help=text)
        command.add_argument("model", help="a .pt2 file of torch.export.save")
        text = "import a module first, or a file FILE.py, that defines custom operators or registers dataclasses; repeat for each"
        command.add_argument("--import", action="append", default=[], dest="modules", metavar="MODULE", help=text)
        if name == "inspect":
            command.add_argument("--graph", action="store_true", help="print the graph and the signature")
            continue
        command.add_argument(
            "--input", action="append", default=[], metavar="X.npy", help="an input tensor; those that are not given are ones"
        )
        command.add_argument(
            "--size", action="append", default=[], type=size_of, metavar="NAME=N", help="a symbolic size of inputs that are not given"
        )
        if name == "run":
            text = "save an output tensor in place of printing all; repeat for each"
            command.add_argument("--output", action="append", default=[], metavar="Y.npy", help=text)
        else:
            command.add_argument("--seconds", type=duration, default=2, help="how long to repeat the run")
    options = parser.parse_args(arguments)
    try:
        for name in options.modules:
            import_code(name)
        return execute(options)
    except (ImportError, RuntimeError, ValueError, TypeError, NotImplementedError, OSError, MemoryError) as error:
        print(f"{parser.prog} {options.command}: {error}", file=sys.stderr)
        return 1


def execute(options: argparse.Namespace) -> int:
    """Executes a command; returns the exit status."""
    if options.command == "inspect":
        return inspect(options.model, options.graph)
    if options.command == "run":
        return run(options.model, options.input, options.output, dict(options.size))
    return bench(options.model, options.input, dict(options.size), options.seconds)


if __name__ == "__main__":
    sys.exit(main())
