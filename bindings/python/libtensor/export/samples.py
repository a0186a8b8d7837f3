"""The symbols of exported programs, and the sizes for which decompositions are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .dims import Symbol
from .expressions import evaluate, list_symbols, parse_expression
from .trace import Sizes, write_symbol

__all__ = ["KnownSizes", "Plan", "Samples", "walk_expressions"]

# The steps of each sample after the first: the n-th symbol is its example plus step n, or its example times 1 + step n.
STEPS = ((3, 5, 2, 7, 4), (7, 2, 5, 3, 8), (11, 13, 6, 9, 10))
PARTITIONS = 64  # the number of partitions of symbols into tied ones that are tried


def walk_expressions(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "expr_str" in value:
            yield value
        else:
            for item in value.values():
                yield from walk_expressions(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk_expressions(item)


class KnownSizes(Sizes):
    """Expressions for the sizes in the recordings of a decomposition: those of symbols and the `texts` in a program. Raises
    NotImplementedError for a size that is not an expression of these."""

    def __init__(self, plan: Plan, texts: list[str]) -> None:
        super().__init__([], [])
        self.bases = {tuple(sizes[symbol.name] for sizes in plan.values): write_symbol(symbol.name) for symbol in plan.symbols}
        for text in map(plan.rename, texts):
            vector = tuple(evaluate(text, sizes) for sizes in plan.values)
            self.known.setdefault(vector, text)
            if len(set(vector)) > 1:
                self.bases.setdefault(vector, text)

    def _create(self, vector: tuple[int, ...]) -> str:
        raise NotImplementedError(f"run_decompositions: no expression of the variable sizes is {list(vector)} for these samples")


class Plan:
    """The `values` of symbols for which a decomposition is recorded. `symbols` are independent; `same` maps the name of each tied symbol to
    the name of the independent symbol that it is equal to."""

    def __init__(self, symbols: list[Symbol], same: dict[str, str], values: list[dict[str, int]]) -> None:
        self.symbols, self.same = symbols, same
        self.values = [self.complete(sizes) for sizes in values]

    def complete(self, sizes: dict[str, int]) -> dict[str, int]:
        """Returns the values of all symbols for those of the independent ones."""
        return sizes | {name: sizes[other] for name, other in self.same.items()}

    def rename(self, text: str) -> str:
        """Returns an expression with each tied symbol replaced by the independent one."""
        for name, other in self.same.items():
            text = text.replace(f"Symbol('{name}'", f"Symbol('{other}'")
        return text


class Samples:
    """The symbols of a program, with their bounds and their values in the example inputs."""

    def __init__(self, text: dict[str, Any]) -> None:
        self.symbols: dict[str, Symbol] = {}
        self.known: set[str] = set()  # symbols with an example
        # Symbols of at least 2 only because PyTorch's export assumes so: runs of files with guards accept smaller sizes.
        ranges = text["range_constraints"].items() if "guards_code" in text else ()
        self.assumed = {name for name, bounds in ranges if 1 <= (bounds["min_val"] or 0) <= 2}
        for x in walk_expressions(text):
            try:
                expression, names = parse_expression(x["expr_str"]), list_symbols(x["expr_str"])
            except NotImplementedError:
                continue
            for name in names:
                bounds = text["range_constraints"].get(name, {})
                least, most = bounds.get("min_val") or 0, bounds.get("max_val")
                symbol = self.symbols.setdefault(name, Symbol(name, least, most, max(least, 4 + len(self.symbols))))
                hint = (x.get("hint") or {}).get("as_int")
                if expression.function == "Symbol" and hint is not None and name not in self.known:
                    self.known.add(name)
                    symbol.hint = hint

    def list_plans(self, names: list[str]) -> Iterator[Plan]:
        """Yields plans: first all symbols independent, then with symbols of equal example tied, each once with the examples plus steps and
        once with multiples of the examples. Operators may require equal or divisible sizes."""
        if not names:
            yield Plan([], {}, [{}])
            return
        for i, same in enumerate(list_equalities([self.symbols[name] for name in names])):
            if i == PARTITIONS:
                return
            symbols = [self.symbols[name] for name in names if name not in same]
            for is_multiple in (False, True):
                yield Plan(
                    symbols, same, [{x.name: x.hint for x in symbols}, *(choose_sizes(symbols, steps, is_multiple) for steps in STEPS)]
                )


def choose_sizes(symbols: list[Symbol], steps: tuple[int, ...], is_multiple: bool) -> dict[str, int]:
    """Returns the examples of symbols plus steps, or multiples of them, within the bounds of the symbols."""
    chosen = {}
    for i, symbol in enumerate(symbols):
        step = steps[i % len(steps)] * (1 + i // len(steps))
        size = symbol.hint * (1 + step) if is_multiple else symbol.hint + step
        if symbol.most is not None and size > symbol.most:
            size = symbol.least + (size - symbol.least) % (symbol.most - symbol.least + 1)
        chosen[symbol.name] = size
    return chosen


def list_equalities(symbols: list[Symbol]) -> list[dict[str, str]]:
    """Returns partitions of symbols, as dicts from the names of tied symbols to those of earlier ones with an equal example, in ascending
    order of the number of tied symbols: the first dict is empty."""
    found: list[dict[str, str]] = [{}]
    for i, symbol in enumerate(symbols):
        earlier = [x for x in symbols[:i] if x.hint == symbol.hint]
        found += [same | {symbol.name: x.name} for same in found for x in earlier if x.name not in same][:PARTITIONS]
    return sorted(found, key=len)
