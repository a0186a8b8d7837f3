"""Linear layers with quantized weights and a floating-point input."""

from __future__ import annotations

from typing import Any

from ...... import Tensor, nn, qint8, tensor, zeros
from ......ops import quantized as _ops
from .....quantization.qconfig import default_dynamic_qconfig
from ...modules.linear import LinearPackedParams, require_float32


class Linear(nn.Module):
    """A linear layer with a qint8 weight. Its float32 input is quantized to 7 bits with one scale and zero point for each call.

    >>> layer = torch.ao.nn.quantized.dynamic.Linear.from_float(torch.nn.Linear(3, 2))
    >>> layer
    DynamicQuantizedLinear(in_features=3, out_features=2, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
    >>> layer(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    _version = 4
    _FLOAT_MODULE = nn.Linear

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = qint8) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.scale, self.zero_point = 1.0, 0  # of a result, which is not quantized
        self._packed_params = LinearPackedParams(dtype)
        self.set_weight_bias(default_dynamic_qconfig.weight(zeros(out_features, in_features)), zeros(out_features) if bias_ else None)

    def set_weight_bias(self, weight: Tensor, bias: Tensor | None) -> None:
        """Replaces the quantized weight and the bias."""
        self._packed_params.set_weight_bias(weight, bias)

    def weight(self) -> Any:
        """Returns the quantized weight."""
        return self._packed_params._weight_bias()[0]

    def bias(self) -> Any:
        """Returns the bias, or None."""
        return self._packed_params._weight_bias()[1]

    def forward(self, x: Tensor) -> Tensor:
        return _ops.linear_dynamic(x, self._packed_params._packed_params, reduce_range=True)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Returns the layer of a torch.nn.Linear, whose attribute qconfig selects how the weight is quantized."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise TypeError(f"Linear.from_float: the module must be a torch.nn.Linear, not {type(mod).__name__}")
        require_float32("Linear", mod.bias)
        made = cls(mod.in_features, mod.out_features, mod.bias is not None)
        config = getattr(mod, "qconfig", None) or default_dynamic_qconfig
        made.set_weight_bias(config.weight(mod.weight.detach().float()), mod.bias)
        return made

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"], destination[prefix + "zero_point"] = tensor(self.scale), tensor(self.zero_point)

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
        for name, convert in (("scale", float), ("zero_point", int)):
            if prefix + name in state_dict:
                try:
                    setattr(self, name, convert(state_dict[prefix + name]))
                except (RuntimeError, TypeError, ValueError) as error:
                    error_msgs.append(f"{prefix}{name} must be a number: {error}")
            elif strict:
                missing_keys.append(prefix + name)
        key, sizes = prefix + "_packed_params._packed_params", (self.out_features, self.in_features)
        found = state_dict.get(key)
        if isinstance(found, tuple) and found and isinstance(found[0], Tensor) and found[0].shape != sizes:
            error_msgs.append(f"size mismatch for {key}: the state has a weight of shape {list(found[0].shape)}, the layer {list(sizes)}")

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"
