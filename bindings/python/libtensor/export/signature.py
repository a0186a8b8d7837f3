"""Reads the signature of an exported program, and shows its graph as Python code."""

from __future__ import annotations

from typing import Any

from .._base.dtypes import EXPORTED
from .expressions import show_expression
from .graph_signature import (
    Argument,
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)
from .reader import FORMATS

__all__ = ["read_signature", "show_graph"]

KINDS = {"parameter": "PARAMETER", "buffer": "BUFFER", "tensor_constant": "CONSTANT_TENSOR", "custom_obj": "CUSTOM_OBJ", "token": "TOKEN"}
TARGETS = ("parameter_name", "buffer_name", "tensor_constant_name", "custom_obj_name", "user_input_name")


# The arguments of the JSON that are values of the graph, of which `as_sym_...` can also contain a number.
ARGUMENTS: dict[str, Any] = {"as_tensor": TensorArgument, "as_sym_int": SymIntArgument, "as_sym_float": SymFloatArgument}
ARGUMENTS |= {"as_sym_bool": SymBoolArgument, "name": TensorArgument}


def read_argument(kind: str, spec: dict[str, Any]) -> Argument:
    """Returns the argument of the input or output of a kind in a program's JSON."""
    if kind == "constant_input":
        return ConstantArgument(spec["name"], value_of(spec["value"]))
    arg = spec["arg"]
    value = value_of(arg)
    if not isinstance(value, Name):
        return ConstantArgument("", value)
    if kind == "token":
        return TokenArgument(str(value))
    found: Any = arg.get("as_custom_obj", arg)
    if "class_fqn" in found:
        return CustomObjArgument(str(value), found["class_fqn"])
    made: Argument = next((ARGUMENTS[key] for key in arg if key in ARGUMENTS), TensorArgument)(str(value))
    return made


def read_signature(text: dict[str, Any]) -> ExportGraphSignature:
    """Returns the signature in a program's JSON."""
    inputs, outputs = [], []
    for union in text["input_specs"]:
        ((kind, spec),) = union.items()
        target = next((spec[name] for name in TARGETS if name in spec), None)
        inputs.append(InputSpec(InputKind[KINDS.get(kind, "USER_INPUT")], read_argument(kind, spec), target, spec.get("persistent")))
    for union in text["output_specs"]:
        ((kind, spec),) = union.items()
        target = next((spec[name] for name in TARGETS if name in spec), None)
        outputs.append(OutputSpec(OutputKind[kind.upper()], read_argument(kind, spec), target))
    return ExportGraphSignature(inputs, outputs)


class Name(str):
    """The name of a value, which is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def value_of(arg: dict[str, Any]) -> Any:
    """Returns an argument of the JSON: Name for values of the graph."""
    if "name" in arg:
        return Name(arg["name"])
    ((kind, value),) = arg.items()
    if kind in ("as_tensor", "as_custom_obj"):
        return Name(value["name"])
    if kind == "as_name":
        return Name(value)
    if kind == "as_none":
        return None
    if kind in ("as_tensors", "as_sym_ints", "as_sym_floats", "as_sym_bools", "as_optional_tensors"):
        return [value_of(x) for x in value]
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool", "as_optional_tensor"):
        return value_of(value)
    if kind == "as_scalar_type":
        return Name(repr(EXPORTED[value]) if value in EXPORTED else f"torch.{value}")
    if kind == "as_memory_format":
        return Name(f"torch.{FORMATS.get(value, value)}")
    if kind == "as_layout":
        return Name("torch.strided" if value == 7 else f"layout({value})")
    if kind == "as_device":
        return Name(f"device(type={value['type']!r}" + ("" if value["index"] is None else f", index={value['index']}") + ")")
    if kind == "as_complex":
        return complex(value["real"], value["imag"])
    if kind == "as_graph":
        return Name(value["name"])
    return value


def show_size(size: dict[str, Any]) -> str:
    """Returns a size as text; expressions as sympy prints them: 4*s0 + 1."""
    return str(size["as_int"]) if "as_int" in size else show_expression(size["as_expr"]["expr_str"])


def show_type(graph: dict[str, Any], name: str) -> str:
    """Returns the annotation of a value."""
    meta = graph["tensor_values"].get(name)
    if meta is None:
        number = graph["sym_int_values"].get(name)
        return "object" if number is None else f'"Sym({show_size(number)})"'
    dtype = EXPORTED[meta["dtype"]].abbr if meta["dtype"] in EXPORTED else meta["dtype"]
    return f'"{dtype}[{", ".join(map(show_size, meta["sizes"]))}]"'


def show_lines(graph: dict[str, Any], indent: str, name: str, constants: dict[int, str] | None = None) -> list[str]:
    """Returns the code of a graph, with those of its control flow behind it. `constants` are the names of constant inputs, by their
    indices."""
    values = [value_of(x) for x in graph["inputs"]]
    named = constants or {}
    inputs = "".join(f", {named[i]}" if i in named else f", {x}: {show_type(graph, x)}" for i, x in enumerate(values))
    lines = [f"{indent}class {name}(torch.nn.Module):", f"{indent}    def forward(self{inputs}):"]
    inner: list[str] = []
    for node in graph["nodes"]:
        args = [f"{x['name']}={value_of(x['arg'])!r}" if x["kind"] == 2 and x["name"] else repr(value_of(x["arg"])) for x in node["inputs"]]
        results = [value_of(x) for x in node["outputs"]]
        if len(results) == 1 and isinstance(results[0], Name):
            to = f"{results[0]}: {show_type(graph, results[0])} = "
        else:
            to = ", ".join(map(repr, results)) + " = " if results else ""
        lines.append(f"{indent}        {to}{node['target']}({', '.join(args)})")
        for x in node["inputs"]:
            if "as_graph" in x["arg"]:
                part = x["arg"]["as_graph"]
                inner += ["", *show_lines(part["graph"], indent + "    ", part["name"])]
    outputs = "".join(f"{value_of(x)!r}, " for x in graph["outputs"])
    return [*lines, f"{indent}        return ({outputs.rstrip(' ') if len(graph['outputs']) == 1 else outputs.rstrip(', ')})", *inner]


def show_graph(text: dict[str, Any]) -> str:
    specs = text["graph_module"]["signature"]["input_specs"]
    constants = {i: union["constant_input"]["name"] for i, union in enumerate(specs) if "constant_input" in union}
    return "\n".join(show_lines(text["graph_module"]["graph"], "    ", "GraphModule", constants))
