"""Generation of the Python source of a graph."""

import enum
import math
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .. import device
from ..utils import _pytree as pytree
from . import _pytree as fx_pytree
from ._names import Namespace, is_from_torch, qualified_name, type_name, type_origin
from .node import Node, format_container, map_arg

ROOT = __name__.partition(".")[0]
UNARY = {"pos": "+{}", "neg": "-{}", "invert": "~{}"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "div": "/", "mod": "%", "pow": "**", "matmul": "@"}
BITWISE = {"lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^"}
IN_PLACE = {"i" + name.rstrip("_"): f"{{}} {sign}= {{}}" for name, sign in (ARITHMETIC | BITWISE).items() if name != "div"}

# Functions of the module operator that are written as operators.
reflectable_magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in (ARITHMETIC | BITWISE).items()} | {"getitem": "{}[{}]"}
magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in COMPARISONS.items()} | UNARY | reflectable_magic_methods
inplace_methods = IN_PLACE | {"setitem": "{}[{}] = {}"}


@dataclass
class PythonCode:
    """The source of a function, and the globals that it needs."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


def common_globals() -> dict[str, Any]:
    """Returns the globals of all generated code."""
    return {
        "inf": math.inf,
        "nan": math.nan,
        "NoneType": type(None),
        "torch": sys.modules[ROOT],
        "device": device,
        "fx_pytree": fx_pytree,
        "pytree": pytree,
    }


def common_imports() -> dict[str, str]:
    """Returns the import statements for these globals, in a process that has the package under its present name."""
    root = "torch" if sys.modules.get("torch") is sys.modules[ROOT] else ROOT
    return {
        "inf": "from math import inf",
        "nan": "from math import nan",
        "NoneType": "NoneType = type(None)",
        "torch": "import torch" if root == "torch" else f"import {root} as torch",
        "device": f"from {root} import device",
        "fx_pytree": f"import {root}.fx._pytree as fx_pytree",
        "pytree": f"import {root}.utils._pytree as pytree",
    }


class _Writer:
    """Writes statements, and collects the globals that they need."""

    def __init__(self, namespace: Namespace, root_module: str) -> None:
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.namespace = namespace
        self.root_module = root_module
        self.parameters: list[str] = []
        self.returns = ""

    def add_global(self, hint: str, value: Any) -> str:
        """Returns the name of a value in the code."""
        if is_from_torch(value) and value is not device:
            return qualified_name(value)
        name = self.namespace.create_name(hint, value)
        self.globals.setdefault(name, value)
        return name

    def annotation(self, value: Any) -> str:
        """Returns the name of a type in the code."""
        if value == ():
            return "()"
        if value is None:
            return "NoneType"
        if value is device:
            return "device"
        origin = type_origin(value)
        if hasattr(value, "__args__") or origin is not value:
            name = self.add_global(type_name(origin), origin)
            inner = [self.annotation(item) for item in getattr(value, "__args__", ()) if item != ()]
            return f"{name}[{','.join(inner)}]" if inner else name
        if value is type(None):
            return "NoneType"
        return self.add_global(type_name(value), value)

    def value(self, arg: Any) -> str:
        """Returns an argument as code."""
        if isinstance(arg, Node):
            return arg.name
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            return f"{self.add_global(qualified_name(type(arg)), type(arg))}({', '.join(map(self.value, arg))})"
        text = format_container(arg, self.value, self.value)
        if text is not None:
            return text
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, complex):
            return f"complex({arg.real!r}, {arg.imag!r})"
        if callable(arg) and not isinstance(arg, type) and is_from_torch(arg) and hasattr(arg, "__name__"):
            return self.add_global(qualified_name(arg), arg)
        return repr(arg)

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return ", ".join((*map(self.value, args), *(f"{key} = {self.value(item)}" for key, item in kwargs.items())))

    def path(self, target: str) -> str:
        """Returns the attribute of the module with a dotted name."""
        made = self.root_module
        for name in target.split("."):
            made = f"{made}.{name}" if name.isidentifier() else f'getattr({made}, "{name}")'
        return made

    def call(self, node: Node) -> str:
        """Returns the expression of a call of a function."""
        function, args = node.target, node.args
        name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
        if module == "_operator" and name in magic_methods and not node.kwargs:
            return magic_methods[name].format(*(repr(arg) if isinstance(arg, complex) else self.value(arg) for arg in args))
        if function is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier() and isinstance(args[0], Node):
            self.add_global("getattr", getattr)
            return f"{self.value(args[0])}.{args[1]}"
        called = self.add_global(qualified_name(function), function)
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(called)
        return f"{called}({self.arguments(args, node.kwargs)})"

    def statement(self, node: Node) -> str:
        """Returns the statement of a node other than inputs and output."""
        made = f"{node.name}{'' if node.type is None else f' : {self.annotation(node.type)}'} = "
        if node.op == "call_method":
            return f"{made}{self.receiver(node.args[0])}.{node.target}({self.arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{made}{self.path(node.target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "get_attr":
            return made + self.path(node.target)
        name = getattr(node.target, "__name__", None)
        if getattr(node.target, "__module__", None) == "_operator" and name in inplace_methods:
            return f"{inplace_methods[name].format(*map(self.value, node.args))};  {made}{self.value(node.args[0])}"
        return made + self.call(node)

    def receiver(self, arg: Any) -> str:
        """Returns the object of a call of a method."""
        text = self.value(arg)
        return f"({text})" if isinstance(arg, (int, float, complex)) else text

    def parameter(self, node: Node) -> str:
        """Adds an input to the parameters, and returns the statement that names it, where the names differ."""
        typed = "" if node.type is None else f" : {self.annotation(node.type)}"
        default = f" = {self.value(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{typed}{default}")
        raw = node.target.lstrip("*")
        return f"{node.name} = {raw}\n" if raw != node.name else ""


class CodeGen:
    """Generates the function of a graph. Subclasses change its parameters, first statements and result."""

    _body_transformer: Callable[[list[str]], list[str]] | None = None
    _func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Returns the line of the function with the parameters `free_vars`."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        listed = "".join(f"\n    {name}," for name in free_vars) + "\n" if expanded_def else ", ".join(free_vars)
        return f"def {self._func_name}({listed}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] = repr) -> str:
        """Returns the statement that returns the result."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Returns the values of the inputs of the graph for the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Returns the result of a call for the value of the output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Returns pairs of a name and a value that the code needs."""
        return []

    def _gen_python_code(
        self,
        nodes: Iterable[Node],
        root_module: str,
        namespace: Namespace,
        *,
        verbose: bool = False,
        expanded_def: bool = False,
        **unused: Any,
    ) -> PythonCode:
        writer = _Writer(namespace, root_module)
        for name, value in common_globals().items():
            namespace._rename_object(value, name)
            writer.globals[name] = value
        for name, value in self.additional_globals():
            namespace._rename_object(value, name)
            writer.globals[name] = value
        body = self._body(list(nodes), writer, verbose)
        if self._body_transformer:
            body = self._body_transformer(body)
        wraps = "".join(f'\ntorch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        header = f"{wraps}\n\n" if wraps else "\n\n\n"
        options = {"expanded_def": True} if expanded_def else {}  # an override may lack the parameter
        definition = self.gen_fn_def(writer.parameters, writer.returns, **options)
        code = "".join(body).lstrip("\n")
        indented = "\n".join("    " + line for line in code.split("\n"))
        source = f"{header}{definition}\n{indented}"
        return PythonCode(source, writer.globals, {})

    def _body(self, nodes: list[Node], writer: _Writer, verbose: bool) -> list[str]:
        unused_after = last_uses(nodes)
        body: list[str] = []
        traced = ""
        for node in nodes:
            if verbose and node.op not in ("placeholder", "output"):
                traced = _write_trace(node, traced, body)
            if node.op == "placeholder":
                body.append(writer.parameter(node))
            elif node.op == "output":
                if node.type is not None:
                    writer.returns = f" -> {writer.annotation(node.type)}"
                body.append(self.generate_output(node.args[0], repr_fn=writer.value) + "\n")
            else:
                body.append(writer.statement(node))
            if node.op != "output":
                dropped = unused_after.get(node, ())
                body.append(f";  {' = '.join((*(n.name for n in dropped), 'None'))}\n" if dropped and node.op != "placeholder" else "")
                if not dropped and node.op != "placeholder":
                    body.append("\n")
        return body or ["pass\n"]


def last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """Returns, for each node, the nodes that no later one uses, in the order of the arguments; itself, if nothing uses it."""
    last: dict[Node, Node] = {}
    made: dict[Node, list[Node]] = {}
    for user in reversed(nodes):

        def note(used: Node, user: Node = user) -> Node:
            if used not in last:
                last[used] = user
                made.setdefault(user, []).append(used)
            return used

        map_arg(user.args, note)
        map_arg(user.kwargs, note)
    for node in nodes:
        if not node.users and node not in last:
            made.setdefault(node, []).append(node)
    return made


def _write_trace(node: Node, before: str, body: list[str]) -> str:
    """Adds a comment with the source line of a node, if it differs from that of the node before."""
    trace = node.stack_trace
    lines = [line.strip() for line in trace.strip().splitlines()] if trace else []
    at = next((i for i in range(len(lines) - 1, -1, -1) if re.match(r'File ".*", line \d+', lines[i])), None)
    if at is None:
        comment = "# No stacktrace found for following nodes"
    else:
        code = lines[at + 1] if at + 1 < len(lines) else ""
        file, line, where = re.match(r'File "(.*)", line (\d+)(?:, in (.*))?$', lines[at]).groups()  # type: ignore[union-attr]
        comment = f"# File: {file}:{line} in {where}, code: {code}"
    if comment != before:
        body.append(("\n" if any(body) else "") + comment + "\n")
    return comment


@dataclass
class _PyTreeInfo:
    """The parameters of a function, and the positions of the graph's inputs in its arguments."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any

    def _replace(self, **changes: Any) -> "_PyTreeInfo":
        return _PyTreeInfo(**{**self.__dict__, **changes})


class _PyTreeCodeGen(CodeGen):
    """Writes a function that takes the inputs out of its arguments, and returns its outputs in the structure of the traced function's."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """Returns the leaves of the arguments."""
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        """Returns the outputs in the structure of the traced function's."""
        values = list(out) if isinstance(out, (list, tuple)) else [out]
        return out if self.pytree_info.out_spec is None else pytree.tree_unflatten(values, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Returns the line of the function, and the statement that names the inputs."""
        given = {name.partition(" ")[0]: name for name in free_vars}
        parameters = self.pytree_info.orig_args
        defaults = (f"{name} ={given[name].partition('=')[2]}" if " = " in given.get(name, "") else name for name in parameters)
        definition = super().gen_fn_def(list(defaults), maybe_return_annotation, expanded_def=expanded_def)
        inputs = [name for name in given if name != "self"]
        if not inputs:
            return definition
        names = ", ".join((*parameters[: parameters[0] == "self"], *inputs))
        return f"{definition}\n    {names}, = fx_pytree.tree_flatten_spec({self.show_arguments(parameters)}, self._in_spec)"

    def show_arguments(self, parameters: list[str]) -> str:
        """Returns the arguments in the structure of the input: a list, or a pair of a list and a dictionary of keyword arguments."""
        parts: list[Any] = getattr(self.pytree_info.in_spec, "children_specs", [])
        if [part.type for part in parts] != [tuple, dict]:
            return f"[{', '.join(parameters)}]"
        count = parts[0].num_children
        keywords = ", ".join(f"{key!r}: {name}" for key, name in zip(parts[1].context, parameters[count:], strict=True))
        return f"([{', '.join(parameters[:count])}], {{{keywords}}})"

    def generate_output(self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] = repr) -> str:
        """Returns the statement that returns the outputs in the structure of the traced function's."""
        if self.pytree_info is not None and self.pytree_info.out_spec is not None:
            return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"
        return super().generate_output(output_args, repr_fn=repr_fn)
