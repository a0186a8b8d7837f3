"""Exported programs: export() records the operators of a module, save() and load() write and read PyTorch's .pt2 files."""

from typing import Any

from .._inert import refuse
from .decompose import CustomDecompTable, default_decompositions
from .dims import Dim, ShapesCollection, dims
from .exporter import export, save
from .program import ExportedProgram, load
from .signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec

__all__ = ["CustomDecompTable"]
__all__ += ["Dim", "ExportGraphSignature", "ExportedProgram", "InputKind", "InputSpec", "OutputKind", "OutputSpec", "ShapesCollection"]
__all__ += ["default_decompositions"]
__all__ += ["dims", "export", "load", "register_dataclass", "save"]

WHY = "parts of programs and modules of other forms are not supported; use torch.export.export"


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Does nothing: dataclasses are not inputs of exported programs."""


__all__ += refuse(globals(), WHY, "export_for_training draft_export unflatten")
__all__ += refuse(globals(), WHY, "ExportBackwardSignature")
__all__ += refuse(globals(), WHY, "ModuleCallEntry ModuleCallSignature UnflattenedModule AdditionalInputs Constraint")
