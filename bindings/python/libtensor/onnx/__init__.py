"""Names of the export to ONNX, which is not supported."""

import enum
from typing import Any

from .._inert import declare_unsupported

__all__ = [
    "OnnxExporterError",
    "OperatorExportTypes",
    "TrainingMode",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]


class TrainingMode(enum.Enum):
    """Whether a module is exported as it trains."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """Which operators an export has."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class OnnxExporterError(RuntimeError):
    """The class of errors of an export."""


def is_in_onnx_export() -> bool:
    """Returns False: nothing is exported."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Does nothing: nothing is exported."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Does nothing: nothing is exported."""


__all__ += declare_unsupported(
    globals(), "the export to ONNX is not supported; export with PyTorch from the state_dict() of the module", "export dynamo_export"
)
__all__ += declare_unsupported(
    globals(), "the export to ONNX is not supported; export with PyTorch from the state_dict() of the module", "ONNXProgram"
)
__all__ += declare_unsupported(
    globals(), "the export to ONNX is not supported; export with PyTorch from the state_dict() of the module", "ExportOptions"
)
__all__ += declare_unsupported(
    globals(), "the export to ONNX is not supported; export with PyTorch from the state_dict() of the module", "JitScalarType"
)
