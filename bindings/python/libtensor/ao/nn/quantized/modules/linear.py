"""Parameters of linear layers with quantized weights."""

from __future__ import annotations

from typing import Any

from ..... import Tensor, float32, qint8, quantize_per_tensor, zeros
from .....nn import Module
from .....ops import quantized as _ops


def require_float32(layer: str, *tensors: Tensor | None) -> None:
    """Raises RuntimeError, as PyTorch does, for biases of layers that are not float32."""
    for tensor in tensors:
        if tensor is not None and tensor.dtype is not float32:
            raise RuntimeError(
                f"{layer}.from_float: the parameters must be float32, but are {tensor.dtype}; call float() of the model first"
            )


class LinearPackedParams(Module):
    """The packed qint8 weight and the bias of a linear layer. A state dict has them as a tuple, under the names of PyTorch."""

    _version = 3

    def __init__(self, dtype: Any = qint8) -> None:
        super().__init__()
        if dtype is not qint8:
            raise NotImplementedError(f"LinearPackedParams: dtype {dtype} is not supported; use qint8")
        self.dtype = dtype
        self.set_weight_bias(quantize_per_tensor(zeros(1, 1), 1.0, 0, qint8), None)

    def set_weight_bias(self, weight: Tensor, bias: Tensor | None) -> None:
        """Replaces the weight and the bias."""
        self._packed_params = _ops.linear_prepack(weight, bias)

    def _weight_bias(self) -> Any:
        return _ops.linear_unpack(self._packed_params)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        key = prefix + "_packed_params"
        if key not in state_dict:
            missing_keys.append(key)
            return
        dtype = state_dict.get(prefix + "dtype", qint8)
        if dtype is not qint8:
            error_msgs.append(f"{prefix}dtype is {dtype}, which is not supported; quantize with qint8")
            return
        try:
            weight, bias = state_dict[key]
            self.set_weight_bias(weight, bias)
        except (AttributeError, RuntimeError, TypeError, ValueError) as error:
            error_msgs.append(f"{key} must be a tuple of a qint8 weight and a float32 bias or None: {error}")

    def __repr__(self) -> str:
        return repr(self._weight_bias())
