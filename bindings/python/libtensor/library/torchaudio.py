"""Operators of torchaudio: recursive filters, alignment and the transducer loss, as composite operators."""

from __future__ import annotations

from typing import Any

from .. import arange, full, inf, logaddexp, stack, tensor, zeros
from .._core.tensor import Tensor
from ..linalg import solve_triangular
from .operators import implement

BLOCK = 256  # samples that one triangular system solves


@implement("_torchaudio::cuda_version() -> int?")
def cuda_version() -> Any:
    return None


@implement("_torchaudio::is_align_available() -> bool")
def is_align_available() -> bool:
    return True


def _toeplitz(coefficients: list[Tensor], rows: int, shift: int) -> Tensor:
    """Returns a matrix (rows, rows) whose diagonal `i - j = k + shift` is coefficient k."""
    distance = arange(rows)[:, None] - arange(rows)[None, :]
    made = coefficients[0].new_zeros(rows, rows)
    for k, value in enumerate(coefficients):
        made = made + value * (distance == k + shift)
    return made


@implement(
    "torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)"
)
def lfilter_core_loop(windows: Tensor, flipped: Tensor, padded: Tensor) -> Tensor:
    """Writes y[t] = x[t] - sum over k >= 1 of a[k] * y[t - k], after the padding of a.size - 1 samples. Blocks of samples are the solutions
    of triangular systems."""
    order, count = flipped.size(1) - 1, windows.size(2)
    for channel in range(windows.size(1)):
        a = flipped[channel].flip(0)
        ones = [a.new_ones(()), *a[1:].unbind(0)]
        block = max(BLOCK, order)
        for first in range(0, count, block):
            length = min(block, count - first)
            rest = windows[:, channel, first : first + length].clone()
            for k in range(1, order + 1):
                known = min(k, length)  # samples whose k-th predecessor is before the block
                start = first + order - k
                rest[:, :known] -= a[k] * padded[:, channel, start : start + known]
            solved = solve_triangular(_toeplitz(ones[: length + 1], length, 0), rest.T, upper=False, unitriangular=True).T
            padded[:, channel, first + order : first + order + length] = solved
    return padded


@implement(
    "torchaudio::_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) "
    "-> (Tensor(a!), Tensor(b!), Tensor(c!))"
)
def overdrive_core_loop(waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    for t in range(waveform.size(-1)):
        current = temp[:, t]
        last_out.copy_(current - last_in + 0.995 * last_out)
        last_in.copy_(current)
        output[:, t] = waveform[:, t] * 0.5 + last_out * 0.75
    return last_in, last_out, output


def _extend(targets: list[int], blank: int) -> list[int]:
    """Returns the targets with a blank before, between and after them."""
    made = [blank]
    for target in targets:
        made += [target, blank]
    return made


@implement(
    "torchaudio::forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)"
)
def forced_align(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    """Returns the most probable path of CTC (1, T) through the targets, and `log_probs`."""
    if log_probs.dim() != 3 or log_probs.size(0) != 1 or targets.dim() != 2 or targets.size(0) != 1:
        raise RuntimeError("forced_align: The batch dimension for log_probs and targets must be 1 at the current version.")
    symbols = _extend(targets[0].tolist(), blank)
    count, states = log_probs.size(1), len(symbols)
    repeats = sum(a == b for a, b in zip(symbols[1::2], symbols[3::2], strict=False))
    if count < states // 2 + repeats:
        raise RuntimeError(
            f"forced_align: targets length is too long for CTC. Found log_probs length: {count}, targets length: {states // 2}, and number "
            "of "
            f"repeats: {repeats}"
        )
    emitted = log_probs[0].detach()[:, symbols]
    may_skip = tensor([k >= 2 and s != blank and s != symbols[k - 2] for k, s in enumerate(symbols)])
    best = full((states,), -inf, dtype=log_probs.dtype)
    best[:2] = emitted[0, :2]
    moves = []
    for t in range(1, count):
        one, two = best.roll(1), best.roll(2)
        one[:1], two[~may_skip] = -inf, -inf
        top, move = stack([best, one, two]).max(0)
        moves.append(move.tolist())
        best = top + emitted[t]
    state = states - 1 if states == 1 or best[-1] > best[-2] else states - 2
    path = [state]
    for move in reversed(moves):
        state -= move[state]
        path.append(state)
    path.reverse()
    chosen = [symbols[k] for k in path]
    return tensor([chosen], dtype=targets.dtype), log_probs


@implement(
    "torchaudio::rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, float clamp, "
    "bool fused_log_softmax) -> (Tensor, Tensor)"
)
def rnnt_loss_forward(
    logits: Tensor, targets: Tensor, logit_lengths: Tensor, target_lengths: Tensor, blank: int, clamp: float, is_fused: bool
) -> tuple[Tensor, Tensor]:
    """Returns the losses (B,) of transducers, and their gradients for `logits` (B, T, U + 1, classes)."""
    from ..autograd import grad
    from ..autograd.grad_mode import enable_grad

    with enable_grad():
        leaf = logits.detach().clone().requires_grad_()
        log_probs = leaf.float().log_softmax(-1) if is_fused else leaf.float()
        costs = []
        for b, (times, length) in enumerate(zip(logit_lengths.tolist(), target_lengths.tolist(), strict=True)):
            rows = log_probs[b, :times, : length + 1]
            stay = rows[..., blank]
            emit = rows[:, :length].gather(2, targets[b, :length].long().expand(times, length)[..., None])[..., 0]
            column = stay[:, 0].cumsum(0) - stay[:, 0]
            for u in range(1, length + 1):
                arriving = column + emit[:, u - 1]
                reached = [arriving[0]]
                for t in range(1, times):
                    reached.append(logaddexp(reached[-1] + stay[t - 1, u], arriving[t]))
                column = stack(reached)
            costs.append(-(column[-1] + stay[-1, length]))
        total = stack(costs) if costs else zeros(0)
        (gradient,) = grad(total.sum(), leaf)
    if clamp > 0:
        gradient = gradient.clamp(-clamp, clamp)
    return total.detach().to(logits.dtype), gradient
