"""Settings of dynamic quantization: how the weights of layers are quantized."""

from __future__ import annotations

from typing import Any

from ... import Tensor, finfo, float32, float64, int64, qint8, quantize_per_channel, quantize_per_tensor, zeros

__all__ = ["QConfigDynamic", "default_dynamic_qconfig", "per_channel_dynamic_qconfig"]


class QConfigDynamic:
    """How weights are quantized: symmetrically, with one scale, or with one for each row."""

    def __init__(self, name: str, per_channel: bool) -> None:
        self._name, self._per_channel = name, per_channel

    def weight(self, weight: Tensor) -> Any:
        """Returns a float32 weight as qint8: the largest magnitude, of all elements or of a row, is 127.5 scales."""
        if weight.numel():
            scales = (weight.abs().flatten(1).amax(1) if self._per_channel else weight.abs().amax()) / 127.5
        else:
            scales = zeros(len(weight) if self._per_channel else ())
        scales = scales.clamp(min=finfo(float32).eps)
        if self._per_channel:
            return quantize_per_channel(weight, scales.to(float64), zeros(len(scales), dtype=int64), 0, qint8)
        return quantize_per_tensor(weight, scales.item(), 0, qint8)

    def __repr__(self) -> str:
        return self._name

    def __deepcopy__(self, _: Any) -> Any:
        return self


default_dynamic_qconfig = QConfigDynamic("default_dynamic_qconfig", False)
per_channel_dynamic_qconfig = QConfigDynamic("per_channel_dynamic_qconfig", True)
