"""The signature of an exported program: its inputs and outputs with the parameters, buffers and constants that they are."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

__all__ = [
    "ConstantArgument",
    "CustomObjArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
]
__all__ += ["OutputSpec", "SymBoolArgument", "SymFloatArgument", "SymIntArgument", "TensorArgument", "TokenArgument"]


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
class TensorArgument:
    """A tensor of the graph."""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """An integer of the graph."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A floating-point number of the graph."""

    name: str


@dataclasses.dataclass
class SymBoolArgument:
    """A bool of the graph."""

    name: str


@dataclasses.dataclass
class CustomObjArgument:
    """An object of the graph, of a class of a C++ extension."""

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclasses.dataclass
class TokenArgument:
    """A token of the graph, which orders calls with effects."""

    name: str


@dataclasses.dataclass
class ConstantArgument:
    """An argument or a result that was a number, a bool, a string or None in the export. The name of a result is empty."""

    name: str
    value: Any


Argument = TensorArgument | SymIntArgument | SymFloatArgument | SymBoolArgument | CustomObjArgument | TokenArgument | ConstantArgument


@dataclasses.dataclass
class InputSpec:
    """An input of the graph. `target` is the name of a parameter, buffer or constant."""

    kind: InputKind
    arg: Argument
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        text = f"{self.arg.name}: {self.kind.name}" + ("" if self.target is None else f" target={self.target!r}")
        return text + ("" if self.persistent is None else f" persistent={self.persistent}")


@dataclasses.dataclass
class OutputSpec:
    """An output of the graph. `target` is the name of the buffer, parameter or input that it changes."""

    kind: OutputKind
    arg: Argument
    target: str | None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}" + ("" if self.target is None else f" target={self.target!r}")


def get_value(arg: Argument) -> Any:
    """Returns the value of a constant, and the name of another argument."""
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


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
        return tuple(get_value(x.arg) for x in self.input_specs if x.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The outputs that a caller gets: names, or the values of constants."""
        return tuple(get_value(x.arg) for x in self.output_specs if x.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT))

    @property
    def lifted_custom_objs(self) -> tuple[str, ...]:
        """The names of the objects of classes of C++ extensions."""
        return self._targets(InputKind.CUSTOM_OBJ)

    def _inputs_to(self, kind: InputKind) -> dict[str, str]:
        return {x.arg.name: str(x.target) for x in self.input_specs if x.kind is kind}

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

    @property
    def inputs_to_lifted_custom_objs(self) -> dict[str, str]:
        """The objects by the names of inputs."""
        return self._inputs_to(InputKind.CUSTOM_OBJ)

    @property
    def input_tokens(self) -> tuple[str, ...]:
        """The names of the inputs that are tokens."""
        return tuple(x.arg.name for x in self.input_specs if x.kind is InputKind.TOKEN)

    @property
    def output_tokens(self) -> tuple[str, ...]:
        """The names of the outputs that are tokens."""
        return tuple(x.arg.name for x in self.output_specs if x.kind is OutputKind.TOKEN)

    def _changed(self, kind: OutputKind) -> dict[str, str]:
        return {x.arg.name: str(x.target) for x in self.output_specs if x.kind is kind}

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
        loss = next((x.arg.name for x in self.output_specs if x.kind is OutputKind.LOSS_OUTPUT), None)
        if loss is None:
            return None
        parameters, inputs = map(self._changed, (OutputKind.GRADIENT_TO_PARAMETER, OutputKind.GRADIENT_TO_USER_INPUT))
        return ExportBackwardSignature(parameters, inputs, loss)

    def __str__(self) -> str:
        return "\n".join(["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs), ""])
