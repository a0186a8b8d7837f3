"""Exported programs: export() records the operators of a module, save() and load() write and read PyTorch's .pt2 files.

Inputs and results can be tensors, numbers, strings and None, in lists, tuples, dicts and the dataclasses that register_dataclass()
registers."""

import dataclasses
from typing import TYPE_CHECKING, Any

from .._inert import declare_unsupported
from ..utils._pytree_nodes import register_dataclass as register_node
from .call_spec import ModuleCallEntry, ModuleCallSignature
from .dims import Dim, ShapesCollection, dims
from .graph_signature import ConstantArgument, ExportBackwardSignature, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec
from .program import ExportedProgram, load

if TYPE_CHECKING:
    from .decompose import CustomDecompTable, default_decompositions
    from .exporter import export, save

__all__ = ["ConstantArgument", "CustomDecompTable", "Dim", "ExportBackwardSignature", "ExportGraphSignature", "ExportedProgram"]
__all__ += ["InputKind", "InputSpec", "ModuleCallEntry", "ModuleCallSignature", "OutputKind", "OutputSpec", "ShapesCollection"]
__all__ += ["default_decompositions"]
__all__ += ["dims", "export", "load", "register_dataclass", "save"]

WHY = "parts of programs and modules of other forms are not supported; use torch.export.export"


def __getattr__(name: str) -> Any:
    """Imports what traces functions on first use: a process that loads programs runs them sooner without it."""
    made: Any
    if name == "export":
        from .exporter import export as made
    elif name == "save":
        from .exporter import save as made
    elif name == "default_decompositions":
        from .decompose import default_decompositions as made
    elif name == "CustomDecompTable":
        from .decompose import CustomDecompTable as made
    else:
        raise AttributeError(f"module 'libtensor.export' has no attribute '{name}'")
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Registers a dataclass, whose instances can then be inputs and results of exported programs. Raises AssertionError for other classes.

    A process that loads such a program must register the class, too, before the load. `serialized_type_name` is its name in the file, by
    default that of the module and the class."""
    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    register_node(cls, serialized_type_name=serialized_type_name or f"{cls.__module__}.{cls.__qualname__}")


__all__ += declare_unsupported(globals(), WHY, "export_for_training draft_export unflatten")
__all__ += declare_unsupported(globals(), WHY, "UnflattenedModule AdditionalInputs Constraint")
