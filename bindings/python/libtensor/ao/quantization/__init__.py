"""Dynamic quantization of modules, and the names of static quantization and quantization-aware training, which are not supported."""

from typing import Any

from ..._inert import declare_unsupported
from ...nn import Identity
from .dynamic import default_dynamic_qconfig, per_channel_dynamic_qconfig, quantize_dynamic

WHY = (
    "the static conversion of modules to quantized ones is not supported; quantize_dynamic() converts modules, and "
    "quantize_per_tensor() and quantize_per_channel() quantize their weights"
)


class QuantStub(Identity):
    """Returns its input: marks where a converted module would quantize it."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig


class DeQuantStub(QuantStub):
    """Returns its input: marks where a converted module would dequantize it."""


__all__ = ["DeQuantStub", "QuantStub", "default_dynamic_qconfig", "per_channel_dynamic_qconfig", "quantize_dynamic"]
__all__ += declare_unsupported(globals(), WHY, "quantize quantize_qat prepare prepare_qat convert fuse_modules fuse_modules_qat")
__all__ += declare_unsupported(globals(), WHY, "get_default_qconfig")
__all__ += declare_unsupported(
    globals(), WHY, "get_default_qat_qconfig get_default_qconfig_mapping QConfig QConfigMapping ObserverBase MinMaxObserver"
)
__all__ += declare_unsupported(globals(), WHY, "FakeQuantize")
