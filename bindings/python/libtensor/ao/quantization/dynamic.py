"""Dynamic quantization: layers with quantized weights, whose input is quantized at each call."""

from __future__ import annotations

import copy
from typing import Any

from ... import nn, qint8
from .qconfig import QConfigDynamic, default_dynamic_qconfig, per_channel_dynamic_qconfig

__all__ = ["QConfigDynamic", "default_dynamic_qconfig", "per_channel_dynamic_qconfig", "quantize_dynamic"]


def list_mappings() -> dict[Any, Any]:
    """Returns the classes of layers that quantize_dynamic converts, and those it converts them to."""
    from ..nn.quantized import dynamic

    return {nn.Linear: dynamic.Linear, nn.LSTM: dynamic.LSTM}


def quantize_dynamic(
    model: nn.Module, qconfig_spec: Any = None, dtype: Any = qint8, mapping: dict[Any, Any] | None = None, inplace: bool = False
) -> nn.Module:
    """Returns a copy of a model, or the model with `inplace`, in evaluation mode, whose Linear and LSTM layers have qint8 weights.

    `qconfig_spec` is a set of classes and names of submodules, or a dict of these with default_dynamic_qconfig, per_channel_dynamic_qconfig
    or None as values; by default all Linear and LSTM layers are converted. An entry applies to the submodules of a module as well. Other
    layers, and the model itself, are not converted. Converted layers keep their forward hooks and forward pre-hooks.

    >>> torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(3, 2)))
    Sequential(
      (0): DynamicQuantizedLinear(in_features=3, out_features=2, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
    )
    """
    if dtype is not qint8:
        raise NotImplementedError(f"quantize_dynamic: dtype {dtype} is not supported; use qint8")
    mapping = list_mappings() if mapping is None else mapping
    if qconfig_spec is None:
        qconfig_spec = set(mapping)
    qconfig_spec = _checked(qconfig_spec)
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    _convert(model, "", _config_of(model, "", None, qconfig_spec), qconfig_spec, mapping)
    return model


def _checked(spec: Any) -> dict[Any, Any]:
    """Returns the argument qconfig_spec as a dict."""
    if isinstance(spec, (str, bytes, type)) or not hasattr(spec, "__iter__"):
        raise TypeError(
            f"quantize_dynamic: qconfig_spec must be a set or dict of classes and names of submodules, such as {{nn.Linear}}, not {spec!r}"
        )
    found = spec if isinstance(spec, dict) else dict.fromkeys(spec, default_dynamic_qconfig)
    for key, config in found.items():
        if not isinstance(key, (str, type)):
            raise TypeError(f"quantize_dynamic: the keys of qconfig_spec must be classes and names of submodules, not {key!r:.100}")
        if config is not None and not callable(getattr(config, "weight", None)):
            raise TypeError(
                f"quantize_dynamic: the values of qconfig_spec must be default_dynamic_qconfig or a related one, not {config!r:.99}"
            )
    return found


def _config_of(module: nn.Module, name: str, parents: Any, spec: dict[Any, Any]) -> Any:
    return spec.get(name, spec.get(type(module), parents))


def _convert(module: nn.Module, prefix: str, parents: Any, spec: dict[Any, Any], mapping: dict[Any, Any]) -> None:
    """Converts the submodules of a module."""
    for name, child in module.named_children():
        config = _config_of(child, prefix + name, parents, spec)
        if type(child) in mapping and config is not None:
            child.qconfig = config
            try:
                made = mapping[type(child)].from_float(child)
            finally:
                del child.qconfig
            # the same dicts, so that the handles of the hooks remove them
            vars(made).update({key: value for key, value in vars(child).items() if key.startswith("_forward_")})
            setattr(module, name, made)
        else:
            _convert(child, f"{prefix}{name}.", config, spec, mapping)
