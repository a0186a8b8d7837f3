"""Compares a program's graph with recordings for more sizes and elements than those that the graph was made of."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from .. import arange, no_grad
from .. import bool as torch_bool
from .. import uint8 as torch_uint8
from .._core.tensor import Tensor
from .._dynamo.exc import UserError
from ..fx.node import Node
from ..library.aten import AtenOverload
from ..library.operators import OpOverload
from .bounds import SCANNED, raise_bounds
from .dims import Size, Symbol
from .guards import Expressions, Guards, find_expressions, record_guards
from .recording import Recording
from .size_numbers import Conversion, Guard
from .thresholds import list_thresholds
from .trace import Sizes, call_plainly, copy_state, have_same_constants, is_close, record, sample

__all__ = ["ERRORS", "FAR", "LIMIT", "SizeChooser", "SpecializationError", "check_comparisons", "check_elements", "check_graphs"]
__all__ += ["check_recorded_guards", "check_sizes", "find_difference", "list_near", "list_varying", "record_variations"]

FAR = (4096, 512, 96)  # sizes that are tried where no bound forbids them
NEAR = 24  # the number of thresholds of a function near which sizes are tried
GRID = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 256, 512, 1024, 4096)
POWERS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
UNKNOWN = "a constant tensor whose elements are not known"
TRIES = 4  # sizes that are tried for one comparison until the function accepts some
MOST = 256  # calls of the function for comparisons
LIMIT = 1 << 18  # elements of inputs up to which a function is called for these sizes
VARIATIONS = 4  # recordings for other elements of the inputs
# Operators whose results have sizes that depend on elements; index and custom operators may do so, too.
VARYING = frozenset(
    ("nonzero", "argwhere", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive")
)
VARYING |= frozenset(("bincount", "one_hot", "repeat_interleave"))
ERRORS = (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, ArithmeticError, AssertionError, MemoryError)


class _Evaluator:
    """Computes the numbers of a graph for the sizes of another recording."""

    def __init__(self, first: Recording, other: Recording) -> None:
        self.other = other
        self.order = {node: i for i, node in enumerate(first.nodes)}
        self.known: dict[Node, int] = {}

    def number(self, node: Node) -> int:
        if node not in self.known:
            if node.op == "placeholder":
                self.known[node] = self.other.nodes[self.order[node]].meta["given"]
                return self.known[node]
            first, second = node.args
            if isinstance(node.target, AtenOverload):
                self.known[node] = (self.other.sizes(self.order[first]) or ())[second]
            else:
                self.known[node] = node.target(*(self.number(x) if isinstance(x, Node) else x for x in node.args))
        return self.known[node]

    def agree(self, value: Any, found: Any) -> bool:
        """Returns whether an argument of the graph is an argument of the other recording."""
        if isinstance(value, Recording):
            return isinstance(found, Recording) and find_difference(value, found) is None
        if isinstance(value, Node):
            if "values" in value.meta:
                return type(found) is int and self.number(value) == found
            return isinstance(found, Node) and found.name == value.name
        if isinstance(value, list | tuple):
            return isinstance(found, list | tuple) and len(value) == len(found) and all(map(self.agree, value, found))
        return type(value) is type(found) and bool(value == found or value != value)


def find_difference(first: Recording, other: Recording) -> str | None:
    """Returns the part that differs between the graph of `first`, after unify, and another recording; None if nothing does."""
    evaluator = _Evaluator(first, other)
    for i in range(max(len(first.nodes), len(other.nodes))):
        a, b = (nodes[i] if i < len(nodes) else None for nodes in (first.nodes, other.nodes))
        if a is None or b is None or (a.op, a.target, a.name) != (b.op, b.target, b.name):
            return f"an operator ({getattr(b, 'target', 'the end')} instead of {getattr(a, 'target', 'the end')})"
        named = [(a.kwargs[k], b.kwargs.get(k)) for k in a.kwargs if k != "device"]
        if not evaluator.agree(a.args, b.args) or not all(evaluator.agree(*pair) for pair in named):
            return "an output" if a.op == "output" else f"an argument of {a.target}"
    if first.spec != other.spec:
        return "the structure of the result"
    return None if have_same_constants(first, other) else "a constant tensor"


def run_equals(first: Recording, call: tuple[Any, ...], inputs: list[Any]) -> bool:
    """Returns whether a graph, after unify, computes the outputs of a function for the flat inputs."""
    function, state, _, spec = call
    expected = call_plainly(function, state, inputs, spec)
    if expected is None:
        return False
    with no_grad():
        found = first.run(*copy_state(state).values(), *inputs)
    return all(map(is_close, found, expected))


def list_near(numbers: Sequence[int]) -> list[int]:
    """Returns the first NEAR of `numbers`, each with the next and the previous integer."""
    return [n + step for n in numbers[:NEAR] for step in (0, 1, -1)]


class SizeChooser:
    """Chooses the sizes, which are at least `smallest`, for which a graph is compared with the function."""

    def __init__(self, symbols: list[Symbol], smallest: int = 2) -> None:
        self.symbols, self.smallest = symbols, smallest
        self.hints = {symbol: symbol.hint for symbol in symbols}

    def fits(self, symbol: Symbol, size: int) -> bool:
        return size >= max(symbol.least, self.smallest) and (symbol.most is None or size <= symbol.most)

    def list_each(self, numbers: list[int], escaped: set[str]) -> Iterator[tuple[Symbol, list[int]]]:
        """Returns the sizes to try for each symbol alone: in each list until the function accepts one. `numbers` are those that code has,
        near which all symbols are tried. The symbols in `escaped`, which operators of this package use as plain integers, are also tried
        near powers of two."""
        near = list_near([n for n in numbers if n > 1])
        for symbol in self.symbols:
            for n in dict.fromkeys([*near, *list_near(POWERS)] if symbol.name in escaped else near):
                if n != symbol.hint and self.fits(symbol, n):
                    yield symbol, [n]
            most = symbol.most
            yield symbol, [n for n in ([] if most is None else [most]) + [n for n in FAR if most is None or n < most] if n > symbol.hint]
            yield symbol, [n for n in (symbol.least, 2, 3) if symbol.least <= n < symbol.hint and n > 1]
            yield symbol, [1] if symbol.least <= 1 < symbol.hint else []

    def list_flips(self, guard: Guard, before: list[Guard], current: dict[Symbol, int]) -> list[dict[Symbol, int]]:
        """Returns sizes, small ones first, for which a comparison has another result than for `current`, and those before it have the
        same."""
        involved = [symbol for symbol in self.symbols if symbol.name in guard.names]
        others = [symbol for symbol in self.symbols if symbol in involved or any(symbol.name in x.names for x in before)]
        values = {symbol.name: size for symbol, size in current.items()}
        found: list[dict[Symbol, int]] = []
        lists = (
            self._list_single(involved, current),
            self._list_grid(involved),
            self._list_grid(others if len(others) > len(involved) else []),
        )
        for sizes in itertools.chain(*lists):
            chosen = values | {symbol.name: size for symbol, size in sizes.items()}
            if not guard.holds(chosen) and all(x.holds(chosen) for x in before):
                found.append({**current, **sizes})
                if len(found) == TRIES:
                    break
        return found

    def _list_single(self, symbols: list[Symbol], current: dict[Symbol, int]) -> Iterator[dict[Symbol, int]]:
        """Returns other sizes of one symbol, the nearest ones first."""
        for symbol in symbols:
            near = range(self.smallest, min(SCANNED if symbol.most is None else symbol.most, SCANNED) + 1)
            far = [2**k for k in range(12, 25)] + ([] if symbol.most is None else [symbol.most])
            for size in sorted({*near, *far}, key=functools.partial(_distance, current[symbol])):
                if size != current[symbol] and self.fits(symbol, size):
                    yield {symbol: size}

    def _list_grid(self, symbols: list[Symbol]) -> Iterator[dict[Symbol, int]]:
        """Returns sizes of several symbols, the smallest ones first."""
        lists = [[n for n in (*range(self.smallest, 2), *GRID) if self.fits(symbol, n)] for symbol in symbols]
        if len(symbols) == 2:
            choices = list(itertools.product(*lists))
        else:
            rng = random.Random(len(symbols))
            choices = [tuple(map(rng.choice, lists)) for _ in range(4000 if len(symbols) > 2 and all(lists) else 0)]
        for sizes in sorted(choices, key=sum):
            yield dict(zip(symbols, sizes, strict=True))


def has_unknown_constants(recording: Recording) -> bool:
    """Returns whether tensors that the function makes from numbers are on the device meta."""
    return any(value.is_meta for _, value in recording.constants.values())


class Checker(Protocol):
    """Records a function for sizes, and compares a graph with such a recording."""

    def record(self, sizes: dict[Symbol, int]) -> tuple[Recording, Guards] | None: ...

    def compare(self, other: Recording, sizes: dict[Symbol, int]) -> str | None: ...

    def find_lost_error(self, sizes: dict[Symbol, int]) -> Exception | None: ...


def _distance(one: int, two: int) -> int:
    return abs(one - two)


class FunctionChecker:
    """Compares a graph with what a function does for other sizes."""

    def __init__(
        self, recordings: list[Recording], expressions: Expressions, call: tuple[Any, ...], values: list[Any], dims: list[dict[int, Size]]
    ) -> None:
        self.values = values
        self.first, self.expressions, self.dims, self.call = recordings[0], expressions, dims, call

    def sample(self, device: str, sizes: dict[Symbol, int]) -> list[Any]:
        """Returns copies of the inputs on a device, with other sizes."""
        return sample([v.detach().to(device) if isinstance(v, Tensor) else v for v in self.values], self.dims, sizes, device)

    def record(self, sizes: dict[Symbol, int]) -> tuple[Recording, Guards] | None:
        """Returns a recording for sizes, and the comparisons of sizes; None if the function fails, or if inputs are too large to compute
        with.

        Raises NotImplementedError if the function fails for the sizes of the samples, for which it has not failed with plain integers."""
        made, is_example = None, all(symbol.hint == size for symbol, size in sizes.items())
        for device in ("meta", "cpu"):
            try:
                inputs = self.sample(device, sizes)
                if device == "cpu" and not is_example and sum(v.numel() for v in inputs if isinstance(v, Tensor)) > LIMIT:
                    return made
                made = record_guards(self.expressions, self.call, inputs, device)
            except ERRORS as error:
                if device == "cpu" and made is None and is_example:
                    raise NotImplementedError(
                        f"export: the function fails if variable sizes are not plain integers: {type(error).__name__}: {error}; compute "
                        "with "
                        "operators of Python and of torch, or make the sizes static"
                    ) from error
                continue
            if not has_unknown_constants(made[0]):
                return made
        return made

    def find_lost_error(self, sizes: dict[Symbol, int]) -> Exception | None:
        """Returns the error that the function raises for sizes for which the graph runs; None if both fail or neither does."""
        function, state, names, spec = self.call
        inputs, device = self.sample("meta", sizes), "meta"
        if sum(v.numel() for v in inputs if isinstance(v, Tensor)) <= LIMIT:
            inputs, device = self.sample("cpu", sizes), "cpu"
        try:
            record(function, state, names, inputs, spec, device)
        except ERRORS as error:
            try:
                with no_grad():
                    self.first.run(*copy_state(state, device).values(), *inputs)
            except ERRORS:
                return None
            return error
        return None

    def has_results(self, sizes: dict[Symbol, int]) -> bool:
        """Returns whether the graph has the results of the function for sizes, though the operators of the function are others."""
        inputs = sample(self.values, self.dims, sizes)
        if sum(v.numel() for v in inputs if isinstance(v, Tensor)) > LIMIT:
            return False
        try:
            return run_equals(self.first, self.call, inputs)
        except ERRORS:
            return False

    def compare(self, other: Recording, sizes: dict[Symbol, int]) -> str | None:
        """Returns what differs for sizes; None if nothing does."""
        difference = find_difference(self.first, other) or (UNKNOWN if has_unknown_constants(other) else None)
        return None if difference is None or self.has_results(sizes) else difference


def _raise_difference(difference: str, sizes: dict[Symbol, int], hints: dict[Symbol, int], guard: Guard | None) -> None:
    """Raises NotImplementedError for what find_difference() returns."""
    changed = [symbol for symbol in sizes if sizes[symbol] != hints[symbol]]
    if len(changed) == 1:
        what, now, before = f"size {changed[0].name}", f"size {sizes[changed[0]]}", f"size {hints[changed[0]]}"
    else:
        what = f"sizes {', '.join(symbol.name for symbol in changed)}"
        now, before = (", ".join(f"{symbol.name} = {chosen[symbol]}" for symbol in changed) for chosen in (sizes, hints))
    compared = "" if guard is None else f" ({guard.where} compares {guard.text})"
    raise NotImplementedError(
        f"export: the function depends on the variable {what}: the graph differs: {difference} for {now} "
        f"{'may differ' if difference == UNKNOWN else 'differs'} from that for {before}{compared}; make the size static, or bound it with "
        "min and max of Dim to sizes for which the function does the same"
    )


class SpecializationError(UserError):
    """The function uses `symbols` as plain integers, so that its graph is valid for their sizes in the samples alone."""

    def __init__(self, symbols: list[Symbol], conversion: Conversion) -> None:
        self.symbols = symbols
        labels = ", ".join(symbol.label for symbol in symbols)
        sizes = " and ".join(
            f"You marked {symbol.label} as dynamic but your code specialized it to be a constant ({symbol.hint})" for symbol in symbols
        )
        super().__init__(
            f"export: Constraints violated ({labels})! {sizes}: {conversion.where} {conversion.what}. Compute and compare with the size "
            "itself "
            "(n // 2, n > 3, math.floor(n / 2)), or make it static: with an integer or None in dynamic_shapes, or with Dim.AUTO"
        )


def check_conversions(guards: Guards, symbols: list[Symbol]) -> None:
    """Raises SpecializationError if the function has converted sizes to plain numbers or strings: comparisons of these are not known."""
    known = {symbol.name: symbol for symbol in symbols}
    for conversion in guards.conversions:
        if not known.keys() >= set(conversion.names):
            raise NotImplementedError(
                f"export: {conversion.where} uses a size that depends on elements of the inputs as a plain integer: it {conversion.what}; "
                "compute with the size itself"
            )
        raise SpecializationError([known[name] for name in conversion.names], conversion)


def check_recorded_guards(
    recordings: list[Recording],
    samples: list[dict[Symbol, int]],
    call: tuple[Any, ...],
    values: list[Any],
    sizes: list[dict[int, Size]],
    symbols: list[Symbol],
    error: Exception,
) -> None:
    """Raises SpecializationError if a function converts sizes to plain numbers or strings, which can be why its `recordings` for the first
    of the samples have no common graph, or why it raises `error` for the next sample; BoundsError if it raises that because of a
    comparison. The other arguments are those of check_sizes."""
    if not recordings or not symbols:
        return
    try:
        expressions = find_expressions(recordings, Sizes(symbols, samples[: len(recordings)]).express)
        expressions[()] |= {name: express_shape(value, found) for name, value, found in zip(call[2], values, sizes, strict=True) if found}
        made = FunctionChecker(recordings, expressions, call, values, sizes).record(samples[0])
    except ERRORS:
        return  # the caller raises its own error
    if made is None:
        return
    check_conversions(made[1], symbols)
    if len(recordings) == len(samples):
        return
    failed = samples[len(recordings)]
    values_by_name = {symbol.name: size for symbol, size in failed.items()}
    guard = next((x for x in made[1].found if values_by_name.keys() >= set(x.names) and not x.holds(values_by_name)), None)
    if guard is not None:
        raise_bounds(guard, failed, error.__cause__ if isinstance(error.__cause__, ERRORS) else error)


def express_shape(value: Tensor, sizes: dict[int, Size]) -> tuple[int | str, ...]:
    """Returns the shape of an input, with expressions of Python for the variable sizes."""
    shape: list[int | str] = list(value.shape)
    for dim, (symbol, factor, offset) in sizes.items():
        shape[dim] = symbol.name if (factor, offset) == (1, 0) else f"({factor}*{symbol.name}+{offset})"
    return tuple(shape)


def check_comparisons(checker: Checker, chooser: SizeChooser) -> set[str] | None:
    """Compares the graph with the function for sizes for which a comparison in its code has another result. Returns the names of the sizes
    that became plain numbers, whose comparisons are not known; None if the function cannot be called with sizes whose comparisons are
    collected."""
    made = checker.record(chooser.hints)
    if made is None:
        return None
    escaped: set[str] = set()
    queue, tried, known, calls = [(chooser.hints, made[1])], set(), {symbol.name for symbol in chooser.symbols}, 0
    while queue:
        current, guards = queue.pop()
        check_conversions(guards, chooser.symbols)
        escaped |= guards.escaped
        for i, guard in enumerate(guards.found):
            if (guard.text, guard.outcome) in tried or (guard.is_own and not known.issuperset(guard.names)):
                continue
            tried.add((guard.text, guard.outcome))
            if not known.issuperset(guard.names):
                raise NotImplementedError(
                    f"export: {guard.where} compares a size that depends on elements of the inputs ({guard.text}); select with torch.where "
                    "or masks"
                )
            lost = None
            for sizes in chooser.list_flips(guard, guards.found[:i], current):
                calls += 1
                if calls > MOST:
                    raise NotImplementedError(
                        f"export: the function compares variable sizes in more ways than can be checked, such as {guard.text} "
                        f"({guard.where}); "
                        "make sizes static, or bound them with min and max of Dim"
                    )
                other = checker.record(sizes)
                if other is None:
                    error = None if lost else checker.find_lost_error(sizes)
                    lost = (sizes, error) if error else lost
                    continue
                check_conversions(other[1], chooser.symbols)
                difference = checker.compare(other[0], sizes)
                if difference is not None:
                    _raise_difference(difference, sizes, chooser.hints, guard)
                queue.append((sizes, other[1]))
                break
            else:
                if lost:
                    raise_bounds(guard, *lost)
    return escaped


def check_sizes(
    recordings: list[Recording],
    expressions: Expressions,
    call: tuple[Any, ...],
    values: list[Any],
    sizes: list[dict[int, Size]],
    symbols: list[Symbol],
) -> None:
    """Raises NotImplementedError if the graph differs from what the function does for small and large sizes, or for sizes for which a
    comparison in its code has another result; BoundsError if the function raises an error for some of these, and the graph does not. A
    graph that does not hold for the size 1, or for 0, requires larger sizes. `call` has the function, the state, the names of inputs and
    their structure, and `values` are the inputs."""
    if not symbols:
        return
    checker, chooser = FunctionChecker(recordings, expressions, call, values, sizes), SizeChooser(symbols)
    escaped = check_comparisons(checker, chooser)
    names = {symbol.name for symbol in symbols} if escaped is None else escaped
    numbers = list_thresholds(lambda: checker.record(chooser.hints))
    for symbol, candidates in chooser.list_each(numbers, names):
        for size in candidates:
            chosen = {**chooser.hints, symbol: size}
            other = checker.record(chosen)
            if other is None:
                continue
            difference = checker.compare(other[0], chosen)
            if difference == UNKNOWN:
                continue
            if difference is not None and size == 1:
                symbol.least = 2
            elif difference is not None:
                _raise_difference(difference, chosen, chooser.hints, None)
            break
    for symbol in symbols:
        for size in (1, 0):
            if symbol.least <= size < symbol.hint and checker.find_lost_error({**chooser.hints, symbol: size}):
                symbol.least = size + 1


def list_varying(recording: Recording) -> list[Node]:
    """Returns the nodes whose results may have sizes that depend on elements."""

    def varies(node: Node) -> bool:
        if not isinstance(node.target, AtenOverload):
            return node.op == "call_function" and isinstance(node.target, OpOverload)
        if node.target.op_name == "index":
            return any(isinstance(x, Node) and x.meta["val"].dtype in (torch_bool, torch_uint8) for x in node.args[1])
        return node.target.op_name in VARYING

    return [node for node in recording.nodes if varies(node)]


def check_graphs(recording: Recording) -> None:
    """Raises NotImplementedError if a graph of control flow has results with sizes that depend on elements."""
    for node in recording.nodes:
        for graph in (x for x in node.args if isinstance(x, Recording)):
            check_graphs(graph)
            varying = [
                x.target for x in list_varying(graph) if isinstance(x.target, AtenOverload) or getattr(x.target, "fake", None) is None
            ]
            if varying:
                what = (
                    "its result has a size that depends on elements"
                    if isinstance(varying[0], AtenOverload)
                    else "it has no fake implementation"
                )
                raise NotImplementedError(
                    f"export: a function of {node.target} calls {varying[0]}, but {what}; call it outside of the function, or use a mask"
                )


def _vary(value: Any, step: int, is_strong: bool) -> Any:
    """Returns a tensor with other elements, which are valid indices where those of `value` are: some of its elements, and others if
    `is_strong`."""
    if not isinstance(value, Tensor) or not value.numel():
        return value
    positions = arange(value.numel())
    flat = value.detach().flatten()[(positions * positions + (2 * step + 1) * positions + step) % value.numel()]
    is_changed = (positions + step) % (step + 2) == 0
    if is_strong and value.dtype == torch_bool:
        flat = flat ^ is_changed
    elif is_strong:
        other = (1 - 2 * flat) * 100**step if value.is_floating_point() else 1 - flat.clamp(0, 1)
        flat = flat.where(~is_changed, other.to(flat.dtype))
    return flat.reshape(value.shape)


def record_variations(
    first: Recording, function: Callable[..., Any], state: dict[str, tuple[str, Tensor]], names: list[str], values: list[Any], spec: Any
) -> list[Recording]:
    """Returns recordings for other elements of the inputs, in which sizes that depend on elements differ; none if there are no such sizes.

    Raises NotImplementedError if the operators or constants depend on elements."""
    found = []
    for step in range(VARIATIONS if list_varying(first) else 0):
        for is_strong in (True, False):
            try:
                other = record(function, state, names, [_vary(v, step, is_strong) for v in values], spec)
            except ERRORS:
                continue
            pairs = itertools.zip_longest(first.nodes, other.nodes)
            if (
                any(a is None or b is None or (a.op, a.target, a.name) != (b.op, b.target, b.name) for a, b in pairs)
                or first.spec != other.spec
            ):
                raise NotImplementedError(
                    "export: the operators depend on elements of the inputs: Python code branches on, or repeats for, "
                    "a size such as that of nonzero(); "
                    "select with torch.where or masks"
                )
            if not have_same_constants(first, other):
                raise NotImplementedError(CONSTANTS)
            found.append(other)
            break
    return found


CONSTANTS = (
    "export: a constant tensor depends on elements of the inputs, or differs from call to call; make tensors with operators, "
    "not from numpy(), tolist() or random numbers of Python"
)


def check_elements(
    first: Recording, function: Callable[..., Any], state: dict[str, tuple[str, Tensor]], names: list[str], values: list[Any], spec: Any
) -> None:
    """Raises NotImplementedError if constants of a graph depend on elements of the inputs."""
    if not any(name.startswith("lifted_tensor_") for name, _ in first.constants.values()):
        return
    inputs = [v.detach().clone() if isinstance(v, Tensor) else v for v in values]
    for v in inputs:
        if isinstance(v, Tensor) and v.numel():
            v.copy_(v.flatten().roll(1).reshape(v.shape) * (0.75 if v.is_floating_point() or v.is_complex() else 1))
    try:
        other = record(function, state, names, inputs, spec)
    except ERRORS:
        return
    if not have_same_constants(first, other):
        raise NotImplementedError(CONSTANTS)
