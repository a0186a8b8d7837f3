"""L-BFGS: the limited-memory method of Broyden, Fletcher, Goldfarb and Shanno (Nocedal and Wright, Numerical Optimization)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import cat, preserve_format, view_as_real
from .._core.modes import enable_grad, no_grad
from .._core.tensor import Tensor
from ._lists import Scalar, check_lr, number, scalar
from .optimizer import Optimizer, ParamsT

__all__ = ["LBFGS"]

_Closure = Callable[[], Any]
# Loss, gradient and slope along the direction at a step size.
_Point = tuple[float, float, Tensor, float]


def _cubic(x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, bounds: tuple[float, float] | None = None) -> float:
    """Returns the minimum within bounds, or [x1, x2], of the cubic polynomial with values f and slopes g at x1 and x2; the middle where it
    has none."""
    low, high = bounds or (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    if x1 > x2:
        x1, g1, x2, g2 = x2, g2, x1, g1
    if g2 - g1 + 2 * d2 == 0:
        return (low + high) / 2
    x = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    return min(max(x, low), high)


class _Search:
    """A line search for a step that satisfies the strong Wolfe conditions."""

    def __init__(
        self, evaluate: Callable[[float], tuple[float, Tensor]], direction: Tensor, loss: float, grad: Tensor, slope: float
    ) -> None:
        self.evaluate, self.direction = evaluate, direction
        self.loss, self.slope, self.evaluations = loss, slope, 0
        self.start: _Point = (0.0, loss, grad, slope)
        self.c1, self.c2, self.most = 1e-4, 0.9, 25

    def at(self, t: float) -> _Point:
        """Returns the point of step size t."""
        loss, grad = self.evaluate(t)
        self.evaluations += 1
        return t, loss, grad.clone(memory_format=preserve_format), float(grad.dot(self.direction).item())

    def rises(self, p: _Point) -> bool:
        """Returns whether the loss has not fallen enough."""
        return p[1] > self.loss + self.c1 * p[0] * self.slope

    def flat(self, p: _Point) -> bool:
        """Returns whether the slope is small enough."""
        return abs(p[3]) <= -self.c2 * self.slope

    def run(self, t: float, tolerance: float) -> _Point:
        """Returns the point that the search finds from the first step size t."""
        before, point = self.start, self.at(t)
        for i in range(self.most):
            if self.rises(point) or i > 1 and point[1] >= before[1]:
                return self.zoom(before, point, i, tolerance)
            if self.flat(point):
                return point
            if point[3] >= 0:
                return self.zoom(before, point, i, tolerance)
            low, high = point[0] + 0.01 * (point[0] - before[0]), point[0] * 10
            t = _cubic(before[0], before[1], before[3], point[0], point[1], point[3], (low, high))
            before, point = point, self.at(t)
        return min((self.start, point), key=lambda p: p[1])

    def zoom(self, a: _Point, b: _Point, i: int, tolerance: float) -> _Point:
        """Returns the point that is found between two, of which the better one comes first."""
        low, high = (a, b) if a[1] <= b[1] else (b, a)
        width = float(self.direction.abs().max().item())
        stalled = False
        while i < self.most:
            if abs(high[0] - low[0]) * width < tolerance:
                break
            left, right = sorted((low[0], high[0]))
            t = _cubic(a[0], a[1], a[3], b[0], b[1], b[3])
            margin = 0.1 * (right - left)
            if min(right - t, t - left) < margin:
                if stalled or t >= right or t <= left:
                    t = right - margin if abs(t - right) < abs(t - left) else left + margin
                    stalled = False
                else:
                    stalled = True
            else:
                stalled = False
            point = self.at(t)
            i += 1
            if self.rises(point) or point[1] >= low[1]:
                a, b = (low, point) if a is low else (point, low)
                high = point
                low, high = (low, high) if low[1] <= high[1] else (high, low)
            else:
                if self.flat(point):
                    return point
                if point[3] * (high[0] - low[0]) >= 0:
                    a, b = (low, point) if b is low else (point, low)
                    high = low
                else:
                    a, b = (point, high) if b is high else (high, point)
                low = point
        return low


class LBFGS(Optimizer):
    """L-BFGS: steps along `-H * grad`, where H approximates the inverse Hessian matrix by the last `history_size` changes of the gradient.

    `step` calls its closure, which computes the loss and its gradients, up to `max_eval` times (default: `max_iter * 1.25`) in `max_iter`
    iterations, which end if the gradient or the change is below a tolerance. `line_search_fn` is None, for steps of `lr`, or
    "strong_wolfe". Raises ValueError for more than one group of parameters.

    `maximize` is an option of `Optimizer`.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Scalar = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        most = max_iter * 5 // 4 if max_eval is None else max_eval
        defaults = {"lr": scalar(lr), "max_iter": max_iter, "max_eval": most, "tolerance_grad": tolerance_grad}
        defaults |= {
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]
        self._numel_cache: int | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("maximize", False)

    def _gather_flat_grad(self) -> Tensor:
        """Returns the gradients of all parameters, negated in order to maximize, in one vector."""
        parts = []
        for param in self._params:
            if param.grad is None:
                part = param.new_zeros(param.numel())
            else:
                part = (param.grad.to_dense() if param.grad.is_sparse else param.grad).reshape(-1)
            parts.append(view_as_real(part).reshape(-1) if part.is_complex() else part)
        flat = cat(parts, 0)
        return -flat if self.param_groups[0]["maximize"] else flat

    def _add_grad(self, step_size: float, direction: Tensor) -> None:
        """Adds `step_size` times the parts of a vector to the parameters."""
        offset = 0
        for param in self._params:
            target = view_as_real(param) if param.is_complex() else param
            size = target.numel()
            target.add_(direction[offset : offset + size].view_as(target), alpha=step_size)
            offset += size

    def _loss(self, closure: _Closure) -> tuple[Any, float]:
        loss = closure()
        value = float(loss.item() if isinstance(loss, Tensor) else loss)
        return loss, -value if self.param_groups[0]["maximize"] else value

    @no_grad()
    def step(self, closure: _Closure) -> Any:  # type: ignore[override]
        """Runs up to `max_iter` iterations; returns the loss before them."""
        group = self.param_groups[0]
        closure = enable_grad()(closure)
        lr, search = number(group["lr"]), group["line_search_fn"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first, loss = self._loss(closure)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._gather_flat_grad()
        if grad.abs().max() <= group["tolerance_grad"]:
            return first
        direction, t, loss_before, grad_before = (state.get(name) for name in ("d", "t", "prev_loss", "prev_flat_grad"))
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = grad.neg()
                state.update({"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1})
            else:
                self._remember(state, grad - grad_before, direction.mul(t), group["history_size"])
                direction = self._direction(state, grad)
            grad_before = grad.clone(memory_format=preserve_format)
            loss_before = loss
            t = min(1.0, (1.0 / grad.abs().sum()).item()) * lr if state["n_iter"] == 1 else lr
            slope = float(grad.dot(direction).item())
            if slope > -group["tolerance_change"]:
                break
            calls = 0
            if search is None:
                self._add_grad(t, direction)
                if iteration != group["max_iter"]:
                    _, loss = self._loss(closure)
                    grad = self._gather_flat_grad()
                    calls = 1
            elif search != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            else:
                t, loss, grad, calls = self._line_search(closure, direction, t, loss, grad, slope, group["tolerance_change"])
                self._add_grad(t, direction)
            evaluations += calls
            state["func_evals"] += calls
            if iteration == group["max_iter"] or evaluations >= group["max_eval"] or grad.abs().max() <= group["tolerance_grad"]:
                break
            if direction.mul(t).abs().max() <= group["tolerance_change"] or abs(loss - loss_before) < group["tolerance_change"]:
                break
        state.update({"d": direction, "t": t, "prev_flat_grad": grad_before, "prev_loss": loss_before})
        return first

    @staticmethod
    def _remember(state: dict[str, Any], change: Tensor, step: Tensor, history: int) -> None:
        """Takes the change of the gradient over a step into the approximation of the Hessian matrix, where it is curved enough."""
        curvature = change.dot(step)
        if not curvature > 1e-10:  # NaN after an overflow
            return
        if len(state["old_dirs"]) == history:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(step)
        state["ro"].append(1.0 / curvature)
        state["H_diag"] = curvature / change.dot(change)

    @staticmethod
    def _direction(state: dict[str, Any], grad: Tensor) -> Tensor:
        """Returns the product of the approximate inverse Hessian matrix and the negative gradient (two-loop recursion)."""
        steps = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
        direction: Tensor = grad.neg()
        weights = []
        for change, step, ro in reversed(steps):
            weights.append(step.dot(direction) * ro)
            direction.add_(change * -weights[-1])
        direction = direction * state["H_diag"]
        for (change, step, ro), weight in zip(steps, reversed(weights), strict=True):
            direction.add_(step * (weight - change.dot(direction) * ro))
        return direction

    def _line_search(
        self, closure: _Closure, direction: Tensor, t: float, loss: float, grad: Tensor, slope: float, tolerance: float
    ) -> tuple[float, float, Tensor, int]:
        """Returns the step size that satisfies the strong Wolfe conditions, with its loss, gradient, and the number of evaluations."""
        start = [param.clone(memory_format=preserve_format) for param in self._params]

        def evaluate(size: float) -> tuple[float, Tensor]:
            self._add_grad(size, direction)
            value = self._loss(closure)[1]
            found = self._gather_flat_grad()
            for param, saved in zip(self._params, start, strict=True):
                param.copy_(saved)
            return value, found

        search = _Search(evaluate, direction, loss, grad, slope)
        t, loss, grad, _ = search.run(t, tolerance)
        return t, loss, grad, search.evaluations
