"""Recurrent layers with quantized weights and a floating-point input."""

from __future__ import annotations

from typing import Any

from ...... import Tensor, cat, nn, qint8, stack, zeros
from ......ops import quantized as _ops
from .....quantization.qconfig import default_dynamic_qconfig
from ...modules.linear import require_float32


class PackedParameter(nn.Module):
    """The packed weights of one direction of a layer: of its input, and of its hidden state."""

    def __init__(self, param: Any) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        destination[prefix + "param"] = tuple(_ops.linear_unpack(packed) for packed in self.param)

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
        if prefix + "param" not in state_dict:
            missing_keys.append(prefix + "param")
            return
        try:
            made = tuple(_ops.linear_prepack(weight, bias) for weight, bias in state_dict[prefix + "param"])
        except (RuntimeError, TypeError, ValueError) as error:
            error_msgs.append(f"{prefix}param must be two tuples of a qint8 weight and a float32 bias or None: {error}")
            return
        found, expected = ([list(_ops.linear_unpack(packed)[0].shape) for packed in params] for params in (made, self.param))
        if found != expected:
            error_msgs.append(f"size mismatch for {prefix}param: the state has weights of shapes {found}, the layer {expected}")
        else:
            self.param = made


class LSTM(nn.Module):
    """A long short-term memory with qint8 weights. The float32 input of a layer, and the hidden state before each step, are quantized to 7
    bits with one scale and zero point each.

    >>> layer = torch.ao.nn.quantized.dynamic.LSTM.from_float(torch.nn.LSTM(3, 2))
    >>> output, (h, c) = layer(torch.ones(5, 1, 3))
    >>> output.shape
    torch.Size([5, 1, 2])
    """

    _version = 2
    _FLOAT_MODULE = nn.LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = qint8,
    ) -> None:
        super().__init__()
        if dtype is not qint8:
            raise NotImplementedError(f"LSTM: dtype {dtype} is not supported; use qint8")
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.dtype = batch_first, float(dropout), bidirectional, dtype
        directions = 2 if bidirectional else 1
        sizes = [input_size if i < directions else directions * hidden_size for i in range(num_layers * directions)]

        def packed(columns: int) -> Any:
            weight = default_dynamic_qconfig.weight(zeros(4 * hidden_size, columns))
            return _ops.linear_prepack(weight, zeros(4 * hidden_size) if bias else None)

        self._all_weight_values = nn.ModuleList([PackedParameter((packed(n), packed(hidden_size))) for n in sizes])

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Returns the layer of a torch.nn.LSTM, whose attribute qconfig selects how the weights are quantized."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise TypeError(f"LSTM.from_float: the module must be a torch.nn.LSTM, not {type(mod).__name__}")
        if mod.proj_size:
            raise NotImplementedError("LSTM.from_float: proj_size is not supported")
        require_float32("LSTM", *(getattr(mod, name) for name in dir(mod) if name.startswith("bias_")))
        made = cls(mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout, mod.bidirectional)
        config = getattr(mod, "qconfig", None) or default_dynamic_qconfig
        for i, parameter in enumerate(made._all_weight_values):
            layer, reverse = divmod(i, 2) if mod.bidirectional else (i, 0)
            suffix = f"_l{layer}" + "_reverse" * reverse

            def packed(kind: str, suffix: str = suffix) -> Any:
                weight, bias = getattr(mod, f"weight_{kind}{suffix}"), getattr(mod, f"bias_{kind}{suffix}") if mod.bias else None
                return _ops.linear_prepack(config.weight(weight.detach().float()), None if bias is None else bias.detach())

            parameter.param = (packed("ih"), packed("hh"))
        return made

    def forward(self, input: Any, hx: Any = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        if not hasattr(input, "dim") or input.dim() != 3:
            raise NotImplementedError("LSTM: the input must be a tensor of three dimensions; packed sequences are not supported")
        x = input.transpose(0, 1) if self.batch_first else input
        if hx is None:
            hidden = zeros(len(self._all_weight_values), x.shape[1], self.hidden_size, dtype=x.dtype, device=x.device)
            hx = (hidden, hidden)
        directions, states = (2 if self.bidirectional else 1), []
        for layer in range(self.num_layers):
            outputs = []
            for i in range(layer * directions, (layer + 1) * directions):
                output, state = self._run(x, (hx[0][i], hx[1][i]), self._all_weight_values[i].param, i % directions)
                outputs.append(output)
                states.append(state)
            x = cat(outputs, 2) if directions == 2 else outputs[0]
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = nn.functional.dropout(x, self.dropout)
        result = x.transpose(0, 1) if self.batch_first else x
        return result, tuple(stack(part) for part in zip(*states, strict=True))

    def _run(self, x: Tensor, state: Any, weights: Any, reverse: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Returns the outputs of one direction of a layer, and its last state."""
        gates, (h, c), outputs = _ops.linear_dynamic(x, weights[0], reduce_range=True), state, []
        for step in reversed(gates.unbind(0)) if reverse else gates.unbind(0):
            i, f, g, o = (step + _ops.linear_dynamic(h, weights[1], reduce_range=True)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        return stack(outputs[::-1] if reverse else outputs), (h, c)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTM"

    def extra_repr(self) -> str:
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        changed = [f", {name}={getattr(self, name)}" for name, default in defaults.items() if getattr(self, name) != default]
        return f"{self.input_size}, {self.hidden_size}" + "".join(changed)

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"
