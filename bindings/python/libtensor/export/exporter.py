"""Exports modules and functions: export() records their operators, and save() writes a program to a file."""

from __future__ import annotations

import inspect
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from .. import inference_mode
from .._core.tensor import Tensor
from .._data.interop import raw_bytes
from .._gen import gen_functions as _f
from .._storages.files import is_path, writing
from ..library.operators import OpOverload
from ..nn import Module
from ..utils import _pytree as pytree
from .bounds import BoundsError
from .dims import Size, Symbol, expand_rest, find_symbols
from .guards import find_expressions
from .program import ExportedProgram, Program
from .recording import Recording
from .trace import REGISTER, Sizes, record, sample, unify
from .verify import (
    ERRORS,
    SpecializationError,
    check_elements,
    check_graphs,
    check_recorded_guards,
    check_sizes,
    list_varying,
    record_variations,
)
from .writer import write_archive, write_model, write_samples

__all__ = ["export", "save"]


def _list_state(module: Any) -> tuple[dict[str, tuple[str, Tensor]], dict[str, bool]]:
    """Returns the parameters and buffers of a module by the names of their placeholders, and which buffers are persistent."""
    if not isinstance(module, Module):
        return {}, {}
    state: dict[str, tuple[str, Tensor]] = {
        f"p_{_clean(name)}": (name, value) for name, value in module.named_parameters(remove_duplicate=False)
    }
    buffers = dict(module.named_buffers(remove_duplicate=False))
    state |= {f"b_{_clean(name)}": (name, value) for name, value in buffers.items()}
    kept = set(module.state_dict())
    return state, {name: name in kept for name in buffers}


def _clean(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _name_arguments(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[list[str], str, int]:
    """Returns the names of positional arguments, with numbers for those of *args, and the name and the number of *args."""
    called = function.forward if isinstance(function, Module) else function
    parameters = list(inspect.signature(called).parameters.values())
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    if len(args) > len(named) and rest is None:
        raise TypeError(f"export: args has {len(args)} items, but the function takes {len(named)} positional arguments")
    count = max(len(args) - len(named), 0)
    return named[: len(args)] + [f"{rest}_{i}" for i in range(count)], rest or "", count


def _name_inputs(args: dict[str, Any], taken: set[str]) -> list[str]:
    """Returns the names of the flat inputs."""
    names = []
    for name, value in args.items():
        for path, _ in pytree.tree_flatten_with_path(value)[0]:
            full = base = _clean("_".join([name, *(str(getattr(k, "idx", getattr(k, "key", getattr(k, "name", "")))) for k in path)]))
            number = 0
            while full in taken:
                number += 1
                full = f"{base}_{number}"
            taken.add(full)
            names.append(full)
    return names


def _choose_samples(symbols: list[Symbol]) -> list[dict[Symbol, int]]:
    """Returns values of the symbols: those of the sample inputs, other ones for each symbol, and two for all together."""
    hints = {symbol: symbol.hint for symbol in symbols}

    def other(symbol: Symbol, step: int) -> int:
        values = [v for v in range(symbol.hint + step, symbol.hint + step + 8) if symbol.most is None or v <= symbol.most]
        values += [v for v in range(symbol.hint - step, -1, -1) if v >= max(symbol.least, 1)]
        values += [v for v in range(max(symbol.least, 1), (symbol.most or symbol.hint) + 1) if v != symbol.hint]
        return values[0] if values else symbol.hint

    samples = [hints]
    samples += [{**hints, symbol: other(symbol, 1 + i)} for i, symbol in enumerate(symbols)]
    samples += [{symbol: other(symbol, step + 2 * i) for i, symbol in enumerate(symbols)} for step in (2, 5)]
    return samples if symbols else [hints]


def _merge(sizes: list[dict[int, Size]], hinted: list[tuple[Symbol, Any]], static: bool) -> list[dict[int, Size]]:
    """Returns sizes in which those of Dim.AUTO and Dim.DYNAMIC that are equal in the sample inputs are one symbol, or without them."""
    merged: dict[Any, Symbol] = {}
    by_symbol = {symbol: merged.setdefault((symbol.hint, symbol.least, symbol.most), symbol) for symbol, _ in hinted}
    return [{d: (by_symbol.get(s, s), a, b) for d, (s, a, b) in found.items() if not (static and s in by_symbol)} for found in sizes]


@inference_mode(False)
def _record_all(
    function: Callable[..., Any],
    state: dict[str, tuple[str, Tensor]],
    names: list[str],
    values: list[Any],
    spec: Any,
    sizes: list[dict[int, Size]],
) -> tuple[list[Recording], list[Symbol], list[dict[Symbol, int]]]:
    symbols = list(dict.fromkeys(symbol for found in sizes for symbol, _, _ in found.values()))
    samples = _choose_samples(symbols)
    call = function, state, names, spec
    recordings: list[Recording] = []
    try:
        for of in samples:
            recordings.append(_record_sample(call, sample(values, sizes, of), of, of is samples[0]))
        check_graphs(recordings[0])
        variations = record_variations(recordings[0], function, state, names, values, spec)
        recordings += variations
        samples += [samples[0]] * len(variations)
        first = unify(recordings)
    except ERRORS as error:
        check_recorded_guards(recordings, samples, call, values, sizes, symbols, error)
        raise
    check_elements(first, function, state, names, values, spec)
    expressions = find_expressions(recordings, Sizes(symbols, samples).express) if symbols else {}
    check_sizes(recordings, expressions, call, values, sizes, symbols)
    return recordings, symbols, samples


def _record_sample(call: tuple[Any, ...], inputs: list[Any], sizes: dict[Symbol, int], is_first: bool) -> Recording:
    """Records a call for the values of symbols. An error for other sizes than those of the sample inputs, which are the first, names
    them."""
    function, state, names, spec = call
    try:
        return record(function, state, names, inputs, spec)
    except NotImplementedError:
        raise
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        if is_first:
            raise
        given = ", ".join(f"{symbol.name} = {size}" for symbol, size in sizes.items())
        raise RuntimeError(f"export: the function fails for other variable sizes ({given}): {error}") from error


def check_keys(spec: Any) -> None:
    """Raises NotImplementedError if the key of a dict in a structure is not what JSON can represent."""
    keys = spec.context if spec.type in (dict, OrderedDict) else spec.context[1] if spec.type is defaultdict else ()
    for key in keys:
        if not isinstance(key, str | int | float | None):
            raise NotImplementedError(f"export: keys of dicts can be strings, numbers and None, not {key!r}")
    for child in spec.children_specs:
        check_keys(child)


def export(
    mod: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Records the operators of a module, or of a function of tensors, as a program, which runs without Python.

    `args` and `kwargs` are sample inputs: tensors, numbers, strings and None, in lists, tuples, dicts and registered dataclasses
    (`torch.export.register_dataclass`). All sizes are fixed, except those that `dynamic_shapes` makes variable: for each argument None, or
    a dict or list with a `Dim`, `Dim.AUTO` or `Dim.DYNAMIC` for a dimension. The function is called for several sizes, and the numbers that
    depend on them become operators of sizes. Numbers, strings and None in the arguments are constants. The program writes to buffers and
    inputs as the module does; export itself changes neither. The program has a copy of the weights.

    Raises RuntimeError if Python code reads elements of a tensor (`if x.sum() > 0`) or converts a variable size to a plain number or a
    string (`int(n)`, `math.sqrt(n)`; a size of `Dim.AUTO` becomes static instead), if the function fails for another size, or if two calls
    return different results; UserError if it raises an error for sizes within the bounds of a Dim (those of `Dim.AUTO` and `Dim.DYNAMIC`
    become narrower); NotImplementedError if the sequence of operators depends on a variable size, and for writes to a tensor that is
    neither an input nor a buffer. The sizes of the calls are near those of the samples, the bounds of each `Dim`, and up to 4096 without an
    upper bound. If the program is correct only for sizes of at least 1 or 2, that becomes the lower bound. `strict` and the following
    arguments are accepted for compatibility with PyTorch, and not used.

    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    >>> program.module()(torch.ones(5, 2)).shape
    torch.Size([5, 1])
    """
    if not callable(mod):
        raise TypeError(f"export: mod must be a module or a function, not {type(mod).__name__}")
    if not isinstance(args, tuple):
        raise TypeError(f"export: args must be a tuple of sample inputs, not {type(args).__name__}")
    kwargs = dict(kwargs or {})
    values, spec = pytree.tree_flatten((args, kwargs))
    unsupported = next((v for v in values if not isinstance(v, Tensor | bool | int | float | str | None)), None)
    if unsupported is not None:
        raise TypeError(
            "export: inputs can be tensors, numbers, strings and None, in lists, tuples, dicts and registered dataclasses, "
            f"but one is a {type(unsupported).__name__}. {REGISTER}"
        )
    argument_names, rest, count = _name_arguments(mod, args)
    state, buffers = _list_state(mod)
    names = _name_inputs({**dict(zip(argument_names, args, strict=True)), **kwargs}, set(state))
    dynamic_shapes = expand_rest(dynamic_shapes, rest, len(args) - count, count, len(kwargs))
    sizes, hinted = find_symbols(dynamic_shapes, argument_names, args, kwargs)

    def record_with(sizes: list[dict[int, Size]]) -> tuple[list[Recording], list[Symbol], list[dict[Symbol, int]]]:
        while True:
            try:
                return _record_all(mod, state, names, values, spec, sizes)
            except SpecializationError as error:
                automatic = {symbol for symbol, hint in hinted if hint.name == "AUTO"}
                if not automatic.issuperset(error.symbols):
                    raise
                sizes = [{d: size for d, size in found.items() if size[0] not in error.symbols} for found in sizes]
            except BoundsError as error:
                if all(symbol is not error.symbol for symbol, _ in hinted):
                    raise
                error.symbol.least, error.symbol.most = error.least, error.most

    try:
        recordings, symbols, samples = record_with(sizes)
    except (RuntimeError, NotImplementedError):
        if not hinted:
            raise
        try:  # sizes that an operator requires to be equal
            recordings, symbols, samples = record_with(_merge(sizes, hinted, False))
        except (RuntimeError, NotImplementedError):
            if any(hint.name == "DYNAMIC" for _, hint in hinted):
                raise
            recordings, symbols, samples = record_with(_merge(sizes, hinted, True))
    for tree in (spec, recordings[0].spec):
        check_keys(tree)
    modules = [name for name, _ in mod.named_modules() if name] if isinstance(mod, Module) else []
    created = Sizes(symbols, samples)
    for node in list_varying(recordings[0]):
        created.create_all(recordings, recordings[0].nodes.index(node))
    text = write_model(
        recordings, symbols, created, state, buffers, values, (spec, recordings[0].spec), [*argument_names, *kwargs], modules
    )
    tensors = dict([*state.values(), *recordings[0].constants.values()])
    example = write_samples(args, kwargs)
    check_operators(recordings[0])
    return ExportedProgram(Program(_f.archive_save_bytes(*write_archive(text, tensors, example))), text, example)


def check_operators(recording: Recording) -> None:
    """Raises NotImplementedError for a custom operator that programs cannot call."""
    for node in recording.nodes:
        op = node.target
        if type(op) is OpOverload and op.definition is None and not op.is_fixed:
            raise NotImplementedError(
                f"export: the operator {op.name()} has the schema {op.schema.signature()}, with types that only Python supports; "
                "exported programs call operators of tensors, numbers, strings and lists of them, whose results are tensors and numbers"
            )
        for graph in (x for x in node.args if isinstance(x, Recording)):
            check_operators(graph)


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Writes a program to a path or a file object, as PyTorch's torch.export.save does: torch.export.load of PyTorch and of libtensor read
    it.

    A file at the path is replaced atomically. `extra_files` are the contents of more files in the archive, as strings, by name; `load`
    reads them. `opset_version` and `pickle_protocol` are accepted for compatibility with PyTorch, and not used."""
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    for name, content in (extra_files or {}).items():
        if not isinstance(name, str) or not name or not isinstance(content, str):
            raise TypeError(
                f"export.save: extra_files must have strings by name, but {name!r:.60} is a {type(content).__name__}; decode bytes first"
            )
    tensors = {x.name: t for t, x in zip(ep._tensors, ep._program.state, strict=True)}
    archive = write_archive(ep._text, tensors, ep._samples, extra_files)
    if is_path(f):
        with writing(f) as path:
            _f.archive_save(path, *archive)
    else:
        f.write(raw_bytes(_f.archive_save_bytes(*archive)))
