"""Bounds of variable sizes outside of which a function raises an error."""

from __future__ import annotations

from .._dynamo.exc import UserError
from .dims import Symbol
from .size_numbers import Guard

__all__ = ["SCANNED", "BoundsError", "raise_bounds"]

SCANNED = 4096  # sizes up to which each one is tried


class BoundsError(UserError):
    """The function raises an error for sizes of `symbol` outside of the inclusive bounds `least` and `most` (None: no upper bound)."""

    def __init__(self, symbol: Symbol, least: int, most: int | None, guard: Guard, size: int, error: Exception) -> None:
        self.symbol, self.least, self.most = symbol, least, most
        bounds = [f"min={least}"] * (least > symbol.least) + [f"max={most}"] * (most is not None)
        super().__init__(
            f"export: Constraints violated ({symbol.label})! Not all values of {symbol.label} in the specified range satisfy the generated "
            f"guard {guard.text} ({guard.where}): the function raises {type(error).__name__} for {symbol.label} = {size}: {error}. "
            f"Suggested fixes: {symbol.label} = Dim({symbol.label!r}, {', '.join(bounds)})"
        )


def find_bounds(guard: Guard, symbol: Symbol) -> tuple[int, int | None]:
    """Returns the largest interval of sizes around that of the samples for which a comparison of one symbol has the same result."""

    def holds(size: int) -> bool:
        return guard.holds({symbol.name: size})

    least = most = symbol.hint
    while least > symbol.least and holds(least - 1):
        least -= 1
    while most < (SCANNED if symbol.most is None else min(symbol.most, SCANNED)) and holds(most + 1):
        most += 1
    if most < SCANNED or most == symbol.most:
        return least, most
    limits = [n for n in (2**k for k in range(13, 63)) if symbol.most is None or n < symbol.most] + (
        [] if symbol.most is None else [symbol.most]
    )
    outside = next((n for n in limits if not holds(n)), None)
    if outside is None:
        return least, symbol.most
    while outside - most > 1:
        middle = (most + outside) // 2
        most, outside = (middle, outside) if holds(middle) else (most, middle)
    return least, most


def raise_bounds(guard: Guard, sizes: dict[Symbol, int], error: Exception) -> None:
    """Raises BoundsError for an error of the function for `sizes`, for which a comparison of one symbol has another result than for the
    samples, and NotImplementedError if no bounds of one symbol exclude these sizes."""
    involved = [symbol for symbol in sizes if symbol.name in guard.names]
    if len(involved) == 1 and guard.holds({involved[0].name: involved[0].hint}):
        symbol = involved[0]
        least, most = find_bounds(guard, symbol)
        if least < symbol.hint or most is None or most > symbol.hint:
            raise BoundsError(symbol, least, most, guard, sizes[symbol], error) from error
    given = ", ".join(f"{symbol.name} = {size}" for symbol, size in sizes.items())
    raise NotImplementedError(
        f"export: the function raises {type(error).__name__} for sizes for which the program would not ({given}): {error} "
        f"({guard.where} compares {guard.text}); make the sizes static, or give equal ones the same Dim"
    ) from error
