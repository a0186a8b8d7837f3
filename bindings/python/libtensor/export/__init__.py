"""Programs that torch.export.save of PyTorch wrote: load() reads one to run it. Exporting is not supported."""

from .._inert import identity, refuse
from .program import ExportedProgram, load
from .signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec

__all__ = ["Dim", "ExportGraphSignature", "ExportedProgram", "InputKind", "InputSpec", "OutputKind", "OutputSpec", "load", "register_dataclass"]

WHY = "the export of programs is not supported; save the state_dict() of the module"


class Dim:
    """A named size with bounds, for the argument dynamic_shapes of an export."""

    def __init__(self, name, *, min=None, max=None):
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, 0 if min is None else min, max

    def __repr__(self):
        return f"Dim('{self.__name__}', min={self.min}" + ("" if self.max is None else f", max={self.max}") + ")"


class _Hint:
    """What an export finds out about a size."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Dim.{self.name}"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = map(_Hint, ("AUTO", "DYNAMIC", "STATIC"))


def dims(*names, min=None, max=None):
    """Returns a Dim for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


def register_dataclass(cls, *, serialized_type_name=None):
    """Does nothing: nothing is exported."""


__all__ += ["dims"]
__all__ += refuse(globals(), WHY, "export export_for_training draft_export save unflatten")
__all__ += refuse(globals(), WHY, "ExportBackwardSignature")
__all__ += refuse(globals(), WHY, "ModuleCallEntry ModuleCallSignature UnflattenedModule ShapesCollection AdditionalInputs Constraint")
__all__ += refuse(globals(), WHY, "CustomDecompTable")
