"""The signature of an exported program, and its graph as Python code."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from .._base.dtypes import EXPORTED
from .expressions import show_expression
from .reader import FORMATS

__all__ = ["ConstantArgument", "ExportBackwardSignature", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind", "OutputSpec"]


class InputKind(enum.Enum):
    """The kind of an input of the graph."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """The kind of an output of the graph."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclasses.dataclass
class ConstantArgument:
    """An argument that was a number, a bool, a string or None in the export."""

    name: str
    value: int | float | bool | str | None


@dataclasses.dataclass
class InputSpec:
    """An input of the graph. `arg` is its name, or a ConstantArgument; `target` the name of a parameter, buffer or constant."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        text = f"{self.arg.name if isinstance(self.arg, ConstantArgument) else self.arg}: {self.kind.name}"
        text += "" if self.target is None else f" target={self.target!r}"
        return text + ("" if self.persistent is None else f" persistent={self.persistent}")


@dataclasses.dataclass
class OutputSpec:
    """An output of the graph. `target` is the name of the buffer, parameter or input that it changes."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        return f"{self.arg}: {self.kind.name}" + ("" if self.target is None else f" target={self.target!r}")


@dataclasses.dataclass
class ExportBackwardSignature:
    """The outputs of a graph that are gradients, by the names of the outputs, and the name of the loss."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclasses.dataclass
class ExportGraphSignature:
    """The inputs and outputs of a graph, with the names of the parameters and buffers that they are."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(str(x.target) for x in self.input_specs if x.kind is kind)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> set[str]:
        """The names of the buffers that are not in the state_dict."""
        return {str(x.target) for x in self.input_specs if x.kind is InputKind.BUFFER and not x.persistent}

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the other tensors."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The inputs that a caller passes: names, or the values of constants."""
        given = (x.arg for x in self.input_specs if x.kind is InputKind.USER_INPUT)
        return tuple(x.value if isinstance(x, ConstantArgument) else x for x in given)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The outputs that a caller gets."""
        return tuple(x.arg for x in self.output_specs if x.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT))

    def _inputs_to(self, kind: InputKind) -> dict[str, str]:
        return {x.arg: str(x.target) for x in self.input_specs if x.kind is kind}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """The parameters by the names of inputs."""
        return self._inputs_to(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """The buffers by the names of inputs."""
        return self._inputs_to(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """The other tensors by the names of inputs."""
        return self._inputs_to(InputKind.CONSTANT_TENSOR)

    def _changed(self, kind: OutputKind) -> dict[str, str]:
        return {x.arg: str(x.target) for x in self.output_specs if x.kind is kind}

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """The buffers that outputs change, by the names of the outputs."""
        return self._changed(OutputKind.BUFFER_MUTATION)

    @property
    def parameters_to_mutate(self) -> dict[str, str]:
        """The parameters that outputs change, by the names of the outputs."""
        return self._changed(OutputKind.PARAMETER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """The inputs that outputs change, by the names of the outputs."""
        return self._changed(OutputKind.USER_INPUT_MUTATION)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """The gradients that the graph returns; None for a graph without a loss."""
        loss = next((x.arg for x in self.output_specs if x.kind is OutputKind.LOSS_OUTPUT), None)
        if loss is None:
            return None
        parameters, inputs = map(self._changed, (OutputKind.GRADIENT_TO_PARAMETER, OutputKind.GRADIENT_TO_USER_INPUT))
        return ExportBackwardSignature(parameters, inputs, loss)

    def __str__(self) -> str:
        lines = ["Graph signature:", "    # inputs", *(f"    {x}" for x in self.input_specs)]
        return "\n".join([*lines, "", "    # outputs", *(f"    {x}" for x in self.output_specs), ""])


KINDS = {"parameter": "PARAMETER", "buffer": "BUFFER", "tensor_constant": "CONSTANT_TENSOR", "custom_obj": "CUSTOM_OBJ", "token": "TOKEN"}
TARGETS = ("parameter_name", "buffer_name", "tensor_constant_name", "custom_obj_name", "user_input_name")


def read_signature(text: dict[str, Any]) -> ExportGraphSignature:
    """Returns the signature in a program's JSON."""
    inputs, outputs = [], []
    for union in text["input_specs"]:
        ((kind, spec),) = union.items()
        target = next((spec[name] for name in TARGETS if name in spec), None)
        if kind == "constant_input":
            arg: Any = ConstantArgument(spec["name"], value_of(spec["value"]))
        else:
            arg = value_of(spec["arg"])
        inputs.append(InputSpec(InputKind[KINDS.get(kind, "USER_INPUT")], arg, target, spec.get("persistent")))
    for union in text["output_specs"]:
        ((kind, spec),) = union.items()
        target = next((spec[name] for name in TARGETS if name in spec), None)
        outputs.append(OutputSpec(OutputKind[kind.upper()], value_of(spec["arg"]), target))
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
    """Returns the code of a graph, with those of its control flow behind it. `constants` are the names of constant inputs, by their indices."""
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
