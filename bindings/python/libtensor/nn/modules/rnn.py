"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from ..._core.autocast import is_autocast_enabled
from ..._core.tensor import Tensor
from ..._gen.gen_functions import empty, zeros
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FUNCTIONS: dict[str, Any] = {"LSTM": F.lstm, "GRU": F.gru, "RNN_TANH": F.rnn_tanh, "RNN_RELU": F.rnn_relu}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Deprecated name of `tensor.index_select(dim, permutation)`."""
    warnings.warn("apply_permutation is deprecated, please use tensor.index_select(dim, permutation) instead", FutureWarning, stacklevel=2)
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """The weights and options of a recurrent layer; `mode` is LSTM, GRU, RNN_TANH or RNN_RELU.

    Layer k in a direction has `weight_ih_lk` (gates * hidden_size, input size), `weight_hh_lk` (gates * hidden_size, hidden_size),
    `bias_ih_lk` and `bias_hh_lk` (gates * hidden_size), and with `proj_size` `weight_hr_lk` (proj_size, hidden_size); names of the reverse
    direction end in `_reverse`. All are drawn from the uniform distribution over [-k, k) with k = 1 / sqrt(hidden_size)."""

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size"]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_options(dropout)
        rows = _GATES[mode] * hidden_size
        output_size = proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            columns = input_size if layer == 0 else output_size * (2 if bidirectional else 1)
            for direction in ("", "_reverse") if bidirectional else ("",):
                shapes: dict[str, Any] = {"weight_ih": (rows, columns), "weight_hh": (rows, output_size)}
                if bias:
                    shapes |= {"bias_ih": rows, "bias_hh": rows}
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = {f"{name}_l{layer}{direction}": shape for name, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(names))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _check_options(self, dropout: Any) -> None:
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and self.num_layers == 1:  # type: ignore[operator]
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, "
                "but got "
                f"dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name in ("input_size", "hidden_size"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Does nothing: weights of recurrent layers need not be adjacent in memory."""

    def reset_parameters(self) -> None:
        """Draws new weights and biases."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_flat_weights": self._flat_weights}  # which PyTorch's layers have, for its files

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name not in ("_flat_weights", "_flat_weight_refs")})
        self.__dict__.setdefault("proj_size", 0)
        if "all_weights" in state:
            self._all_weights = self.__dict__.pop("all_weights")
        if "_flat_weights_names" not in self.__dict__:
            self._flat_weights_names = [name for names in self._all_weights for name in names]

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises ValueError or RuntimeError unless dtype and sizes of `input` are those of the layer."""
        weight = getattr(self, self._flat_weights_names[0])
        if input.dtype is not weight.dtype and not is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: input.to({weight.dtype}), "
                f"or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")

    def _expected_size(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Returns the sizes of the hidden state."""
        return self._expected_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raises RuntimeError unless the hidden state has the expected sizes."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raises unless input and hidden state have the sizes and the dtype of the layer."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Returns the hidden state with its batch dimension permuted."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        return zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device)

    def _batched_state(self, hx: Any, batched: bool) -> Any:
        """Returns the state (layers, N, H) for one of a batch, or for a single sequence without N."""
        n = 3 if batched else 2
        if hx.dim() != n:
            raise RuntimeError(
                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be {n}-D but got {hx.dim()}-D tensor"
            )
        return hx if batched else hx.unsqueeze(1)

    def _unbatched_state(self, hx: Any) -> Any:
        return hx.squeeze(1)

    def _run(self, input: Tensor, batch_sizes: Tensor | None, hx: Any) -> Any:
        """Returns the outputs and the last state."""
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            return _FUNCTIONS[self.mode](input, hx, *options, self.batch_first)
        return _FUNCTIONS[self.mode](input, batch_sizes, hx, *options)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Returns the outputs of the last layer and the last state of each layer. `hx`, the first state, defaults to zeros."""
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            state = self._zero_state(data, batch_sizes) if hx is None else self.permute_hidden(hx, order)
            self.check_forward_args(data, state, batch_sizes)
            output, last = self._run(data, batch_sizes, state)
            return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(last, back)
        if input.dim() not in (2, 3):
            tensor = "" if self.mode in ("LSTM", "GRU") else " tensor"
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead")
        batched, dim = input.dim() == 3, 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(dim)
        state = self._zero_state(input, None) if hx is None else self._batched_state(hx, batched)
        self.check_forward_args(input, state, None)
        output, last = self._run(input, None, state)
        return (output, last) if batched else (output.squeeze(dim), self._unbatched_state(last))

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            shown += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            shown += f", num_layers={self.num_layers}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        if self.batch_first is not False:
            shown += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            shown += f", dropout={self.dropout}"
        return shown + (f", bidirectional={self.bidirectional}" if self.bidirectional is not False else "")


class RNN(RNNBase):
    """Applies an Elman RNN of `num_layers` layers to sequences: `h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh)`.

    Shapes: input (L, N, input_size), (N, L, input_size) with `batch_first`, or (L, input_size), or a PackedSequence; initial state (D *
    num_layers, N, hidden_size), zeros by default, with D = 2 if `bidirectional`, else 1; output (L, N, D * hidden_size) and the final
    state.

    `nonlinearity` is tanh or relu. `dropout` is the dropout probability after all layers except the last. Raises ValueError for invalid
    options.

    >>> output, state = torch.nn.RNN(10, 20, 2)(torch.ones(5, 3, 10))
    >>> output.shape, state.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        _check_no_projection(type(self), kwargs)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


def _check_no_projection(kind: type, others: dict[str, Any]) -> None:
    if "proj_size" in others:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
    if others:
        raise TypeError(f"{kind.__name__}.__init__() got an unexpected keyword argument '{next(iter(others))}'")


class LSTM(RNNBase):
    """Applies a long short-term memory (LSTM) RNN of `num_layers` layers to sequences:

    `i, f, g, o = W_ih x_t + b_ih + W_hh h_(t-1) + b_hh`, `c_t = sigmoid(f) * c_(t-1) + sigmoid(i) * tanh(g)`, `h_t = sigmoid(o) *
    tanh(c_t)`.

    Shapes: input (L, N, input_size), (N, L, input_size) with `batch_first`, or (L, input_size), or a PackedSequence; initial states h (D *
    num_layers, N, proj_size or hidden_size) and c (D * num_layers, N, hidden_size), zeros by default, with D = 2 if `bidirectional`, else
    1; output (L, N, D * (proj_size or hidden_size)) and the pair of the final states.

    `dropout` is the dropout probability after all layers except the last. With `proj_size` h is multiplied by `weight_hr`. Raises
    ValueError for invalid options.

    >>> output, (h, c) = torch.nn.LSTM(10, 20, 2)(torch.ones(5, 3, 10))
    >>> output.shape, h.shape, c.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Returns the sizes of the cell state."""
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        return hx if permutation is None else tuple(state.index_select(1, permutation) for state in hx)

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        sizes = (self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes))
        return tuple(zeros(size, dtype=input.dtype, device=input.device) for size in sizes)

    def _batched_state(self, hx: Any, batched: bool) -> Any:
        n = 3 if batched else 2
        if hx[0].dim() != n or hx[1].dim() != n:
            raise RuntimeError(
                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx and cx should also be {n}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )
        return hx if batched else tuple(state.unsqueeze(1) for state in hx)

    def _unbatched_state(self, hx: Any) -> Any:
        return tuple(state.squeeze(1) for state in hx)

    def _run(self, input: Tensor, batch_sizes: Tensor | None, hx: Any) -> Any:
        output, *last = super()._run(input, batch_sizes, hx)
        return output, tuple(last)


class GRU(RNNBase):
    """Applies a gated recurrent unit (GRU) RNN of `num_layers` layers to sequences:

    `r = sigmoid(W_ir x_t + b_ir + W_hr h_(t-1) + b_hr)`, `z` likewise, `n = tanh(W_in x_t + b_in + r * (W_hn h_(t-1) + b_hn))`, `h_t = (1 -
    z) * n + z * h_(t-1)`. The rows of the weights are in the order r, z, n.

    Shapes and options are those of RNN without `nonlinearity`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        _check_no_projection(type(self), kwargs)
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)


class RNNCellBase(Module):
    """The weights of a cell with `num_chunks` gates: `weight_ih` (num_chunks * hidden_size, input_size), `weight_hh`
    (num_chunks * hidden_size, hidden_size), and the biases `bias_ih` and `bias_hh`, None with `bias=False`. All are drawn from the uniform
    distribution over [-k, k) with k = 1 / sqrt(hidden_size)."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights and biases."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check(self, name: str, value: Tensor) -> None:
        if value.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {value.dim()}D instead")

    def _step(self, function: Any, input: Tensor, hx: Tensor | None) -> Tensor:
        """Returns the next state of a cell with one state."""
        self._check("input", input)
        if hx is not None:
            self._check("hidden", hx)
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            hx = zeros((x.size(0), self.hidden_size), dtype=x.dtype, device=x.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        made = function(x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return made if batched else made.squeeze(0)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}{f', bias={self.bias}' if self.bias is not True else ''}"


class RNNCell(RNNCellBase):
    """Computes one step of an Elman RNN: `h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`, with relu instead of tanh if `nonlinearity="relu"`.

    Shapes: input (N, input_size) or (input_size), state and result (N, hidden_size) or (hidden_size). The state defaults to zeros.
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(F.rnn_tanh_cell if self.nonlinearity == "tanh" else F.rnn_relu_cell, input, hx)

    def extra_repr(self) -> str:
        return super().extra_repr() + (f", nonlinearity={self.nonlinearity}" if self.nonlinearity != "tanh" else "")


class LSTMCell(RNNCellBase):
    """Computes one step of an LSTM, with the formula of `LSTM`.

    Shapes: input (N, input_size) or (input_size); states h and c, a pair that defaults to zeros, and results (N, hidden_size) or
    (hidden_size)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check("input", input)
        for i, state in enumerate(hx or ()):
            self._check(f"hx[{i}]", state)
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        if hx is None:
            zero = zeros((x.size(0), self.hidden_size), dtype=x.dtype, device=x.device)
            hx = (zero, zero)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = F.lstm_cell(x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """Computes one step of a GRU, with the formula of `GRU`.

    Shapes: input (N, input_size) or (input_size), state and result (N, hidden_size) or (hidden_size). The state defaults to zeros.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(F.gru_cell, input, hx)
