"""Exported programs: loading, signatures, printing and running."""

from __future__ import annotations

import copy
import ctypes
import functools
import inspect
import io
import json
import os
import types
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_void_p
from typing import Any

from .._base import overrides
from .._base.dtypes import DTYPES
from .._base.errors import failure
from .._base.library import bind, getter
from .._core.modes import is_grad_enabled
from .._core.owner import Held
from .._core.results import wrap
from .._core.tensor import Tensor
from .._core.values import BOOL, FLOAT, INT, NONE, STRING, TENSOR, Unsupported, Value, read_value, set_value, take_result
from .._data.interop import raw_bytes
from .._gen import gen_functions as _f
from .._storages.files import is_path, read, readable
from .._storages.files import load as load_tensors
from ..autograd.profiler import observed_operators
from ..nn import Module, Parameter
from ..utils import _pytree
from .call_spec import CallSpec, ModuleCallEntry, read_call
from .graph_signature import ExportGraphSignature, InputKind
from .reader import EXTRA, read_model
from .signature import read_signature, show_graph

__all__ = ["ExportedProgram", "load"]

_state: Any = overrides.state
PLAIN = frozenset((Tensor, Parameter, bool, int, float, str, type(None)))  # classes whose instances override no calls


class Described(ctypes.Structure):
    """tensor_program_value."""

    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int32),
        ("dtype", c_int32),
        ("shape", c_char_p),
        ("role", c_char_p),
        ("is_written", ctypes.c_bool),
        ("requires_grad", ctypes.c_bool),
        ("constant", Value),
    ]


class Options(ctypes.Structure):
    """tensor_program_options."""

    _fields_ = [("size", ctypes.c_size_t), ("state", c_void_p), ("state_count", c_int32), ("gradients", ctypes.c_bool)]


c_load = bind("tensor_program_load", c_char_p, POINTER(c_void_p))
c_load_memory = bind("tensor_program_load_memory", c_void_p, c_int64, POINTER(c_void_p))
c_run = bind("tensor_program_run_with", c_void_p, POINTER(Options), POINTER(Value), c_int32, POINTER(Value), c_int32)
c_structure = bind("tensor_program_structure", c_void_p, POINTER(c_char_p), POINTER(c_char_p))
c_tensor = bind("tensor_program_tensor", c_void_p, c_int32, POINTER(c_void_p))
c_lists = {
    name: bind(f"tensor_program_{name}", c_void_p, POINTER(POINTER(Described)), POINTER(c_int32)) for name in ("inputs", "outputs", "state")
}
program_free = getter("tensor_program_free", c_int32, c_void_p)


def check(status: int) -> None:
    if status:
        raise failure(status)


class Item:
    """An input or an output of a program, or a parameter, buffer or constant. `constant` is the value of an exported constant, which an
    argument must equal."""

    def __init__(self, described: Described):
        self.name = described.name.decode()
        self.kind = {NONE: "None", TENSOR: "Tensor", INT: "int", FLOAT: "float", BOOL: "bool", STRING: "str"}.get(described.kind, "object")
        self.dtype = DTYPES[described.dtype] if described.dtype >= 0 else None
        self.shape = described.shape.decode()
        self.role = described.role.decode()
        self.constant = read_value(described.constant)
        self.requires_grad: bool = described.requires_grad

    def __repr__(self) -> str:
        return f"{self.name}: {self.kind}" if self.dtype is None else f"{self.name}: {str(self.dtype).removeprefix('torch.')}{self.shape}"


def store(value: Any, to: Value, kept: list[Any]) -> None:
    """Stores an argument, whose memory is valid while `kept` is."""
    if isinstance(value, Tensor):
        to.kind, to.content.p = TENSOR, value._h
        return
    plain = next((base(value) for base in (bool, int, float, str) if isinstance(value, base)), None)
    if value is not None and plain is None:
        raise TypeError(f"an exported program takes tensors, numbers, strings and None, not {type(value).__name__}")
    try:
        set_value(to, plain, kept)
    except Unsupported:
        raise TypeError(f"an exported program takes integers of 64 bits and strings without NUL, not {plain!r}") from None


def read_structure(text: bytes | None, name: str, count: int) -> _pytree.TreeSpec | None:
    """Returns the structure of arguments or results in a file, which has `count` leaves. Raises RuntimeError for a damaged one."""
    if not text:
        return None
    try:
        spec = _pytree.treespec_loads(text.decode())
        check_structure(spec)
        if spec.num_leaves != count:
            raise ValueError(f"it has {spec.num_leaves} leaves, but the program {count} values")
        if name == "in_spec" and [spec.type, *(child.type for child in spec.children_specs)] != [tuple, tuple, dict]:
            raise ValueError("it is not a tuple of positional arguments and a dict of keyword arguments")
    except NotImplementedError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise RuntimeError(f"load: the {name} of the program is damaged: {type(error).__name__}: {error}") from error
    return spec


def check_structure(spec: _pytree.TreeSpec) -> None:
    """Raises ValueError if a dict in a structure has another number of keys than values."""
    if spec.type in (dict, OrderedDict) and (not isinstance(spec.context, list) or len(spec.context) != spec.num_children):
        raise ValueError(f"a dict of {spec.num_children} values has the keys {spec.context!r}")
    for child in spec.children_specs:
        check_structure(child)


class Program:
    """A handle of a loaded program. `text` is its JSON."""

    text: dict[str, Any]

    def __init__(self, source: str | Tensor):
        handle = c_void_p()
        if isinstance(source, str):
            check(c_load(os.fsencode(source), byref(handle)))
        else:
            check(c_load_memory(source.data_ptr(), source.numel(), byref(handle)))
        self._h, self._held = handle.value, Held(handle.value, program_free)
        self.inputs, self.outputs, self.state = (self._list(name) for name in ("inputs", "outputs", "state"))
        inputs, outputs = c_char_p(), c_char_p()
        check(c_structure(self._h, byref(inputs), byref(outputs)))
        self.in_spec = read_structure(inputs.value, "in_spec", len(self.inputs))
        self.out_spec = read_structure(outputs.value, "out_spec", len(self.outputs))

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        """Returns the program itself: runs receive the state, which alone changes."""
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a program cannot be pickled; torch.export.save writes it to a file")

    def _list(self, name: str) -> list[Item]:
        values, count = POINTER(Described)(), c_int32()
        check(c_lists[name](self._h, byref(values), byref(count)))
        return [Item(values[i]) for i in range(count.value)]

    @functools.cached_property
    def evaluator(self) -> Any:
        """The evaluator of the program, for calls whose operators a mode or a subclass of Tensor receives."""
        from .evaluate import Evaluator

        return Evaluator(self.text, Program)

    @functools.cached_property
    def branches(self) -> bool:
        """Whether the program calls torch.cond, whose conditions can be batched inside vmap."""
        return '"torch.ops.higher_order.cond"' in json.dumps(self.text["graph_module"]["graph"]["nodes"])

    def tensor(self, index: int) -> Tensor:
        """Returns the tensor of state `index`."""
        handle = c_void_p()
        check(c_tensor(self._h, index, byref(handle)))
        tensor: Tensor = wrap(handle.value)
        return tensor

    def run(self, *inputs: Any, state: list[Tensor] | None = None, gradients: bool = False) -> list[Any]:
        """Returns the outputs of the program for its flat inputs, with other tensors than those of the program if `state` has one for
        each."""
        given, made = (Value * max(len(inputs), 1))(), (Value * max(len(self.outputs), 1))()
        kept: list[Any] = []
        for value, to in zip(inputs, given, strict=False):
            store(value, to, kept)
        options = Options(ctypes.sizeof(Options), None, 0, gradients)
        if state:
            handles = (c_void_p * len(state))(*[t._h for t in state])
            options.state, options.state_count = ctypes.addressof(handles), len(state)
        with observed_operators():
            check(c_run(self._h, byref(options), given, len(inputs), made, len(self.outputs)))
        return [take_result(made[i]) for i in range(len(self.outputs))]


class ExportedModule(Module):
    """The module of an exported program: it is called with the arguments of the exported module, and returns its results.

    A call uses the tensors that the module has then, and is recorded on the autograd graph if autograd is enabled."""

    def __init__(self, program: Program, tensors: list[Tensor], unsaved: Collection[str | None] = ()):
        super().__init__()
        slots: list[tuple[dict[str, Any], str]] = []
        self.__dict__["_program"], self.__dict__["_slots"] = program, slots
        for i, item in enumerate(program.state):
            *folders, name = item.name.split(".")
            owner: Any = self
            for folder in folders:
                if folder not in owner._modules:
                    check_attribute(owner, folder, item.name)
                    owner.add_module(folder, Module())
                owner = owner._modules[folder]
            check_attribute(owner, name, item.name)
            if isinstance(tensors[i], Parameter):
                owner.register_parameter(name, tensors[i])
                slots.append((owner._parameters, name))
            else:
                owner.register_buffer(name, tensors[i], persistent=item.role == "buffer" and item.name not in unsaved)
                slots.append((owner._buffers, name))

    @property
    def _graph_module(self) -> Any:
        from ..fx._codegen import _PyTreeInfo
        from .graph import build_graph_module

        if "graph_module" not in self.__dict__:
            program, slots = self.__dict__["_program"], self.__dict__["_slots"]
            state = {item.name: tensors[name] for item, (tensors, name) in zip(program.state, slots, strict=True)}
            names = list(inspect.signature(self.forward).parameters)
            info = None if program.in_spec is None else _PyTreeInfo(names, program.in_spec, program.out_spec)
            self.__dict__["graph_module"] = build_graph_module(program.text, state, info)
        return self.__dict__["graph_module"]

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "_graph_" in name and name in (graphs := self._graph_module._modules):  # of control flow, which `graph` refers to
                return graphs[name]
            raise

    @property
    def graph(self) -> Any:
        """The operators as a torch.fx.Graph, in which the state are attributes. It does not check inputs, and changes of it do not change
        the program."""
        return self._graph_module.graph

    @property
    def code(self) -> Any:
        """The source of a function with the operators of the graph."""
        return self._graph_module.code

    def print_readable(self, *args: Any, **kwargs: Any) -> Any:
        """Prints and returns the source with the shapes of values, as torch.fx.GraphModule.print_readable does."""
        return self._graph_module.print_readable(*args, **kwargs)

    def train(self, mode: bool = True) -> Any:
        """Raises NotImplementedError: the mode of a program is that of the module when it was exported."""
        raise NotImplementedError(
            f"Calling {'train' if mode else 'eval'}() is not supported: a program has the mode that the module had in the export"
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        program = self.__dict__["_program"]
        leaves, spec = _pytree.tree_flatten((args, kwargs))
        if program.in_spec is not None and spec != program.in_spec:
            leaves = arrange(args, kwargs, program.in_spec, [item.name for item in program.inputs])
        state = [tensors[name] for tensors, name in self.__dict__["_slots"]]
        if is_intercepted((*leaves, *state)) or (_f.transform_level() and program.branches):
            outputs = program.evaluator.run(leaves, {item.name: tensor for item, tensor in zip(program.state, state, strict=True)})
        else:
            outputs = program.run(*leaves, state=state, gradients=is_grad_enabled())
        return outputs if program.out_spec is None else program.out_spec.unflatten(outputs)


def create_class(program: Program, names: list[str] | None) -> type[ExportedModule]:
    """Returns the class of a program's module, whose forward has the signature of the exported one. `names` are those of the arguments in
    the file; without them, an argument has the name of its input."""
    if program.in_spec is None:
        return ExportedModule
    positional, keywords = program.in_spec.children_specs
    given = names
    if not names or len(names) != positional.num_children + keywords.num_children:
        names, at = [], 0
        for i, spec in enumerate(positional.children_specs):
            names.append(program.inputs[at].name if spec.is_leaf() else f"args_{i}")
            at += spec.num_leaves
        names += keywords.context
    try:
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ["self", *names]]
        signature = inspect.Signature(parameters)
    except (TypeError, ValueError):  # names of a file that are no identifiers
        return ExportedModule
    function = ExportedModule.forward
    forward: Any = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    forward.__signature__ = signature

    def reduce(self: ExportedModule) -> Any:
        return create_instance, (program, given), self.__dict__

    members = {"forward": forward, "__reduce__": reduce, "__doc__": ExportedModule.__doc__, "__module__": __name__}
    return type("ExportedModule", (ExportedModule,), members)


def create_instance(program: Program, names: list[str] | None) -> ExportedModule:
    """Returns a module of a program, for copies, that has no attributes yet."""
    made = create_class(program, names)
    return made.__new__(made)


def is_intercepted(values: tuple[Any, ...]) -> bool:
    """Returns whether a mode other than the profiler's is active, or one of the values overrides the calls that receive it."""
    if _state.modes and not all(mode.is_observer for mode in _state.modes):
        return True
    return not PLAIN.issuperset(map(type, values)) and not _state.disabled and any(overrides.hook(value) is not None for value in values)


def check_attribute(owner: Module, name: str, full: str) -> None:
    """Raises RuntimeError if a module cannot have an attribute of a name, which is a part of the name of a parameter or a buffer."""
    if not name or hasattr(owner, name):
        raise RuntimeError(f"the program cannot be a module: {full!r:.100} is not a name of a parameter or a buffer")


def arrange(args: tuple[Any, ...], kwargs: dict[str, Any], spec: _pytree.TreeSpec, names: list[str]) -> list[Any]:
    """Returns the leaves of arguments, whose inputs have `names`, in the order of the exported ones. The keys of dicts can be in any order.

    Raises ValueError for another structure."""
    positional, keywords = spec.children_specs
    if set(keywords.context) != set(kwargs):
        passed = [name for name in kwargs if name in names and name not in keywords.context]
        hint = f"; the program takes {', '.join(passed)} by position" if passed else ""
        raise ValueError(
            f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {list(keywords.context)}{hint}"
        )
    kwargs = {name: kwargs[name] for name in keywords.context}
    if len(args) != positional.num_children:
        known = ", ".join(names[: positional.num_leaves])
        reason = f"The program takes {positional.num_children} positional arguments ({known}), but {len(args)} were given"
        raise mismatch((args, kwargs), spec, reason)
    specs = positional.children_specs + keywords.children_specs
    leaves: list[Any] = []
    for i, (value, expected) in enumerate(zip([*args, *kwargs.values()], specs, strict=True)):
        if not isinstance(value, Tensor) and overrides.hook(value) is not None:
            leaves += select_leaves(value, expected)
            continue
        given, found = _pytree.tree_flatten(value)
        try:
            leaves += align_leaves(iter(given), found, expected)
        except ValueError:
            name = f"The argument {list(kwargs)[i - len(args)]!r}" if i >= len(args) else f"Positional argument {i}"
            reason = f"{name} has the structure {found}; the program was exported with {expected}"
            raise mismatch((args, kwargs), spec, reason) from None
    return leaves


def mismatch(given: Any, spec: _pytree.TreeSpec, reason: str) -> ValueError:
    """Returns the error of arguments with another structure than the exported ones."""
    return ValueError(
        f"Trying to flatten user inputs with exported input tree spec: \n{spec}\nbut actually got inputs with tree spec of: \n"
        f"{_pytree.tree_structure(given)}.\n{reason}"
    )


def select_leaves(value: Any, expected: _pytree.TreeSpec) -> list[Any]:
    """Returns the leaves of a value that represents an argument, as a Proxy of torch.fx does: it is indexed as the exported argument
    was."""
    if expected.is_leaf():
        return [value]
    is_dict = expected.type in (dict, OrderedDict)
    if not is_dict and expected.type not in (list, tuple):
        raise TypeError(f"a {type(value).__name__} cannot represent an argument with the structure {expected}")
    keys = expected.context if is_dict else range(expected.num_children)
    return [leaf for key, child in zip(keys, expected.children_specs, strict=True) for leaf in select_leaves(value[key], child)]


def align_leaves(leaves: Iterator[Any], found: _pytree.TreeSpec, expected: _pytree.TreeSpec) -> list[Any]:
    """Returns the leaves of the structure `found` in the order of `expected`, which can have the keys of dicts in another order.

    Raises ValueError for another structure."""
    if found.type != expected.type or found.num_children != expected.num_children:
        raise ValueError
    if found.is_leaf():
        return [next(leaves)]
    if found.type is not dict:
        if found.context != expected.context:
            raise ValueError
        pairs = zip(found.children_specs, expected.children_specs, strict=True)
        return [leaf for child, other in pairs for leaf in align_leaves(leaves, child, other)]
    # A list, because keys in a file can be lists, which are not hashable.
    positions = [expected.context.index(key) for key in found.context]
    parts = {at: align_leaves(leaves, child, expected.child(at)) for at, child in zip(positions, found.children_specs, strict=True)}
    return [leaf for at in sorted(parts) for leaf in parts[at]]


class ExportedProgram:
    """A loaded or newly exported program: a graph of operators with its parameters, buffers and constants.

    `module()` returns a module with the program's weights, which is called as the exported one. `graph_signature` names inputs and outputs,
    `state_dict` has the parameters and buffers, which all modules of the program share; str() shows its operators.
    """

    def __init__(self, program: Program, text: dict[str, Any], samples: Tensor | None = None):
        self._program, self._text = program, text
        program.text = text
        self._samples = samples  # the bytes of data/sample_inputs/model.pt
        self.graph_signature: ExportGraphSignature = read_signature(text["graph_module"]["signature"])
        known = {item.name for item in program.state}
        unknown = next((x.target for x in self.graph_signature.input_specs if x.target is not None and x.target not in known), None)
        if unknown is not None:
            raise RuntimeError(f"load: the file is damaged: the program has no tensor {unknown!r:.100}, which its signature names")

    def __deepcopy__(self, memo: dict[int, Any]) -> ExportedProgram:
        copied = ExportedProgram(self._program, copy.deepcopy(self._text, memo), self._samples)
        copied.__dict__["_tensors"] = copy.deepcopy(self._tensors, memo)
        return copied

    def module(self, check_guards: bool = True) -> ExportedModule:
        """Returns a module that runs the program with autograd, if it is enabled. `check_guards` is ignored: inputs are always checked.

        Parameters require grad as in the export.

        >>> module = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),)).module()
        >>> module(torch.ones(3, 2)).sum().backward()
        >>> module.weight.grad
        tensor([[3., 3.]])
        """
        calls = self._text["graph_module"].get("module_call_graph", ())
        names = next((x["signature"].get("forward_arg_names") for x in calls if x.get("signature") and not x.get("fqn")), None)
        return create_class(self._program, names)(self._program, self._tensors, self._list_unsaved())

    @functools.cached_property
    def _tensors(self) -> list[Tensor]:
        """The parameters, buffers and constants, in the order of the program's state."""
        state = self._program.state
        tensors = [self._program.tensor(i) for i in range(len(state))]
        made = [Parameter(t, x.requires_grad) if x.role == "parameter" else t for t, x in zip(tensors, state, strict=True)]
        known: dict[Any, Tensor] = {}  # parameters with the same memory are one parameter
        for i, (t, x) in enumerate(zip(tensors, state, strict=True)):
            if x.role == "parameter" and t.numel():
                made[i] = known.setdefault((t.data_ptr(), t.shape, t.stride(), t.dtype, x.requires_grad), made[i])
        return made

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and persistent buffers."""
        names = self._list_unsaved()
        return {x.name: t for t, x in zip(self._tensors, self._program.state, strict=True) if x.role != "constant" and x.name not in names}

    def _list_unsaved(self) -> set[str | None]:
        """Returns the names of the buffers that are not persistent."""
        return {spec.target for spec in self.graph_signature.input_specs if spec.kind is InputKind.BUFFER and not spec.persistent}

    @functools.cached_property
    def graph_module(self) -> Any:
        """The operators as a torch.fx.GraphModule, whose inputs are the parameters, buffers and constants before those of the program. A
        node's `meta["val"]` is a tensor on the device meta with the sizes of the sample inputs, or a number. Changes of it do not change
        the program."""
        from .graph import build_graph_module

        return build_graph_module(self._text)

    @property
    def graph(self) -> Any:
        """The torch.fx.Graph of `graph_module`."""
        return self.graph_module.graph

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yields the name and the tensor of each parameter."""
        for item, tensor in zip(self._program.state, self._tensors, strict=True):
            if item.role == "parameter":
                yield item.name, tensor

    def parameters(self) -> Iterator[Tensor]:
        """Yields the parameters."""
        for _, tensor in self.named_parameters():
            yield tensor

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Yields the name and the tensor of each buffer."""
        for item, tensor in zip(self._program.state, self._tensors, strict=True):
            if item.role == "buffer":
                yield item.name, tensor

    def buffers(self) -> Iterator[Tensor]:
        """Yields the buffers."""
        for _, tensor in self.named_buffers():
            yield tensor

    @property
    def tensor_constants(self) -> dict[str, Tensor]:
        """The same as `constants`."""
        return self.constants

    @property
    def call_spec(self) -> CallSpec:
        """The structure of the arguments, a pair of a tuple and a dict, and that of the result."""
        return CallSpec(self._program.in_spec, self._program.out_spec)

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The modules that the exported one consisted of. The first entry is the whole module, with the structure of its calls."""
        return list(map(read_call, self._text["graph_module"].get("module_call_graph", ())))

    @property
    def dialect(self) -> str:
        """TRAINING for a program as export returns it, and ATEN after run_decompositions, if the file has it; otherwise an empty string."""
        return next(iter(self._text.get("verifiers", ())), "")

    @property
    def constants(self) -> dict[str, Tensor]:
        """The tensors that are neither parameters nor persistent buffers."""
        names = self._list_unsaved()
        return {x.name: t for t, x in zip(self._tensors, self._program.state, strict=True) if x.role == "constant" or x.name in names}

    def run_decompositions(
        self, decomp_table: dict[Any, Callable[..., Any]] | None = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """Returns a program of simpler operators with the same results, which has copies of the weights.

        Without a table, operators become those of Core ATen IR where libtensor has a decomposition. `decomp_table` is a dict from overloads
        to functions that call other operators, such as a changed `default_decompositions()`; with an empty one, operators stay as they are.
        An operator is kept if its decomposition is not valid for all sizes within the bounds of `Dim`: set `min` and `max`. Operators that
        write to tensors become ones that return new tensors, and buffers and inputs that the program writes to become outputs of the graph.

        Raises TypeError for a key that is not an overload, RuntimeError for a function whose results have another number or shape than
        those of the operator.

        `decompose_custom_triton_ops` is accepted for compatibility with PyTorch, and not used.

        >>> silu = torch.export.export(torch.nn.SiLU(), (torch.ones(2),))
        >>> list(silu.run_decompositions().operators)
        ['torch.ops.aten.mul.Tensor', 'torch.ops.aten.sigmoid.default']
        """
        from .decompose import decompose
        from .writer import write_archive

        text, constants = decompose(self._text, decomp_table)
        tensors = {x.name: t for t, x in zip(self._tensors, self._program.state, strict=True)} | constants
        return ExportedProgram(Program(_f.archive_save_bytes(*write_archive(text, tensors, self._samples))), text, self._samples)

    @property
    def range_constraints(self) -> dict[str, tuple[int | None, int | None]]:
        """The least and the largest value of each symbolic size."""
        return {name: (x["min_val"], x["max_val"]) for name, x in self._text["range_constraints"].items()}

    @property
    def example_inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The positional and the keyword arguments of the export; None if the file has none."""
        if self._samples is None:
            return None
        found: tuple[tuple[Any, ...], dict[str, Any]] = load_tensors(io.BytesIO(self._samples.numpy().tobytes()))
        return found

    @property
    def inputs(self) -> list[Item]:
        """The inputs, in the order of the leaves of the arguments."""
        return list(self._program.inputs)

    @property
    def outputs(self) -> list[Item]:
        """The outputs, in the order of the leaves of the result."""
        return list(self._program.outputs)

    @property
    def operators(self) -> dict[str, int]:
        """The operators, and how often the graph calls each."""
        counts: dict[str, int] = {}
        graphs = [self._text["graph_module"]["graph"]]
        while graphs:
            for node in graphs.pop()["nodes"]:
                counts[node["target"]] = counts.get(node["target"], 0) + 1
                graphs += [x["arg"]["as_graph"]["graph"] for x in node["inputs"] if "as_graph" in x["arg"]]
        return dict(sorted(counts.items()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        return (
            f"ExportedProgram:\n{show_graph(self._text)}\n\nGraph signature: {self.graph_signature}\nRange constraints: "
            f"{self.range_constraints}"
        )


def list_records(source: str | Tensor) -> dict[str, Tensor]:
    """Returns the records of an archive by their names without the first folder."""
    names, records = _f.archive_load(source, mmap=True) if isinstance(source, str) else _f.archive_load_bytes(source)
    return {name.partition("/")[2]: record for name, record in zip(names, records, strict=True)}


def read_records(source: str | Tensor) -> tuple[dict[str, Any], Tensor | None]:
    """Returns the JSON of the model in an archive, and the bytes of the sample inputs."""
    found = list_records(source)
    model = next(record for name, record in found.items() if name.startswith("models/") and name.endswith(".json"))
    samples = next((record for name, record in found.items() if name.startswith("data/sample_inputs/")), None)
    return read_model(bytes(raw_bytes(model))), samples


def read_extra_files(source: str | Tensor) -> dict[str, str]:
    """Returns the contents of the extra files of an archive, by name. Raises RuntimeError for one that is not in UTF-8."""
    texts = {}
    for name, record in list_records(source).items():
        if not name.startswith(EXTRA):
            continue
        try:
            texts[name.removeprefix(EXTRA)] = bytes(raw_bytes(record)).decode()
        except UnicodeDecodeError:
            raise RuntimeError(f"load: the record {name!r:.100} is not a string in UTF-8; read it from the archive with zipfile") from None
    return texts


def load(f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: dict[str, int] | None = None) -> ExportedProgram:
    """Loads a program that torch.export.save of libtensor, or of PyTorch 2.9 or later, wrote. Nothing in the file is executed.

    `f` is a path, whose weights are mapped into memory, or a file object. The contents of the files that `save` received as `extra_files`
    are stored in the dict `extra_files`, by name. `expected_opset_version` is accepted for compatibility with PyTorch, and not used.

    Raises NotImplementedError with the names of the operators that libtensor lacks, OSError for a file that cannot be read, and
    RuntimeError for a damaged archive."""
    source = readable(f) if is_path(f) else read(f, "load")
    program = ExportedProgram(Program(source), *read_records(source))
    if extra_files is not None:
        extra_files.update(read_extra_files(source))
    return program
