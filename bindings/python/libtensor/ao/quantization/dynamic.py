"""Dynamic quantization: layers with quantized weights, whose input is quantized at each call."""

import copy

from ... import finfo, float32, float64, int64, nn, qint8, quantize_per_channel, quantize_per_tensor, zeros

__all__ = ["QConfigDynamic", "default_dynamic_qconfig", "per_channel_dynamic_qconfig", "quantize_dynamic"]


class QConfigDynamic:
    """How weights are quantized: symmetrically, with one scale, or with one for each row."""

    def __init__(self, name, per_channel):
        self._name, self._per_channel = name, per_channel

    def weight(self, weight):
        """Returns a float32 weight as qint8: the largest magnitude, of all elements or of a row, is 127.5 scales."""
        scales = (weight.abs().flatten(1).amax(1) if self._per_channel else weight.abs().amax()) / 127.5
        scales = scales.clamp(min=finfo(float32).eps)
        if self._per_channel:
            return quantize_per_channel(weight, scales.to(float64), zeros(len(scales), dtype=int64), 0, qint8)
        return quantize_per_tensor(weight, scales.item(), 0, qint8)

    def __repr__(self):
        return self._name

    def __deepcopy__(self, _):
        return self


default_dynamic_qconfig = QConfigDynamic("default_dynamic_qconfig", False)
per_channel_dynamic_qconfig = QConfigDynamic("per_channel_dynamic_qconfig", True)


def list_mappings():
    """Returns the classes of layers that quantize_dynamic converts, and those it converts them to."""
    from ..nn.quantized import dynamic

    return {nn.Linear: dynamic.Linear, nn.LSTM: dynamic.LSTM}


def quantize_dynamic(model, qconfig_spec=None, dtype=qint8, mapping=None, inplace=False):
    """Returns a copy of a model, or the model with `inplace`, in evaluation mode, whose Linear and LSTM layers have qint8 weights.

    `qconfig_spec` is a set of classes and names of submodules, or a dict of these with default_dynamic_qconfig, per_channel_dynamic_qconfig
    or None as values; by default all Linear and LSTM layers are converted. An entry applies to the submodules of a module as well. Other
    layers, and the model itself, are not converted.

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
    if not isinstance(qconfig_spec, dict):
        qconfig_spec = dict.fromkeys(qconfig_spec, default_dynamic_qconfig)
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    _convert(model, "", _config_of(model, "", None, qconfig_spec), qconfig_spec, mapping)
    return model


def _config_of(module, name, parents, spec):
    return spec.get(name, spec.get(type(module), parents))


def _convert(module, prefix, parents, spec, mapping):
    """Converts the submodules of a module."""
    for name, child in module.named_children():
        config = _config_of(child, prefix + name, parents, spec)
        if type(child) in mapping and config is not None:
            child.qconfig = config
            setattr(module, name, mapping[type(child)].from_float(child))
            del child.qconfig
        else:
            _convert(child, f"{prefix}{name}.", config, spec, mapping)
