"""Records decompositions for several sizes, and checks whether the graph of a decomposition is valid for all other sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .. import arange, autocast, empty_strided, get_rng_state, no_grad, set_rng_state
from .. import bool as torch_bool
from .. import device as make_device
from .. import equal as are_equal
from .._base.device import device as _device
from .._base.dtypes import EXPORTED
from .._core.tensor import Tensor
from ..fx.experimental.operator_tracer import OperatorTracer
from ..fx.graph import Graph
from ..library.aten import AtenOverload
from ..nn import Module
from .arguments import Node, Table, list_names, list_results, read_argument
from .dims import Symbol
from .expressions import evaluate, write_python
from .guards import Collecting, Expressions, Guards, collecting, find_expressions
from .recording import Recording
from .samples import KnownSizes, Plan
from .size_numbers import make_number, plain
from .thresholds import list_thresholds
from .trace import is_close
from .verify import ERRORS, FAR, LIMIT, SizeChooser, SpecializationError, check_comparisons, find_difference, list_near

__all__ = ["DecompositionCall", "find_numbers", "find_required", "holds_for_sizes"]

SMALL = (0, 1, 2, 3, 5)  # sizes that are tried where no bound forbids them


class _Tracer(OperatorTracer):
    """Records the operators of the decomposition of `target` as operators on the CPU. Decompositions are called with tensors on the device
    meta; other tensors that they use are constants."""

    def __init__(self, target: str, table: Table) -> None:
        super().__init__(Graph(), Module(), table)
        self.target = target
        self.lifted: dict[
            int, tuple[Tensor, Tensor, str]
        ] = {}  # constants, with their copies on the device meta and the names of their nodes

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = self.lift(args), self.lift(kwargs or {})
        if isinstance(func, AtenOverload):
            return self.__torch_dispatch__(func, types, args, kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    def lift(self, value: Any) -> Any:
        """Returns an argument with copies on the device meta of tensors that have elements."""
        if isinstance(value, Tensor) and not value.is_meta:
            if id(value) not in self.lifted:
                node = self.graph.get_attr(f"constant_{len(self.lifted)}")
                copied = empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
                self.track(copied, node)
                self.lifted[id(value)] = value, copied, node.name
            return self.lifted[id(value)][1]
        if type(value) in (list, tuple):
            return type(value)(map(self.lift, value))
        return {k: self.lift(v) for k, v in value.items()} if type(value) is dict else value

    def reject_control_flow(self, *_: Any) -> Any:
        raise RuntimeError(
            f"run_decompositions: the decomposition of {self.target} calls torch.cond or another function of control flow, which "
            "decompositions "
            "cannot; select with torch.where, or return NotImplemented"
        )

    record_cond = record_while = record_map = record_scan = reject_control_flow

    def choose_keywords(self, func: Any, args: Any, kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        creates = isinstance(func, AtenOverload) and any(a.name == "device" for a in func._schema.arguments)
        if not creates or ("device" not in kwargs and any(isinstance(x, Tensor) for x in args)):
            return kwargs, kwargs
        return {**kwargs, "device": _device("meta")}, {**kwargs, "device": _device("cpu")}


class _Collector(Collecting, _Tracer):
    """Also collects the comparisons of sizes in the code of the decompositions."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = self.decompose(func, args, kwargs or {}) if isinstance(func, AtenOverload) else NotImplemented
        if result is not NotImplemented:
            return result
        return super().__torch_function__(func, types, args, kwargs)


class DecompositionCall:
    """A call of the decomposition `function` with the arguments of a node. `names` are the tensors and numbers in these arguments. The
    function must have the results of `operator`, the operator of the node."""

    def __init__(
        self, table: Table, graph: dict[str, Any], node: Node, function: Callable[..., Any], names: list[str], operator: Any
    ) -> None:
        self.table, self.graph, self.node, self.function, self.names, self.operator = table, graph, node, function, names, operator

    def evaluate_number(self, name: str, sizes: dict[str, int]) -> int:
        """Returns the value of a number in the arguments."""
        value = self.graph["sym_int_values"].get(name)
        if value is None:
            raise NotImplementedError(f"run_decompositions: the number {name} is not an integer")
        return evaluate_size(value, sizes)

    def create_tensor(self, name: str, sizes: dict[str, int], device: str = "meta") -> Tensor:
        """Returns a tensor, whose elements are not initialized, with the shape, strides and dtype of one in the arguments."""
        meta = self.graph["tensor_values"][name]
        shape, strides = ([evaluate_size(x, sizes) for x in meta[k]] for k in ("sizes", "strides"))
        return empty_strided(shape, strides, dtype=EXPORTED[meta["dtype"]], device=device)

    def has_empty_tensor(self, sizes: dict[str, int]) -> bool:
        """Returns whether a tensor in the arguments has no elements for the values of symbols."""
        return not all(self.create_tensor(x, sizes).numel() for x in self.names if x in self.graph["tensor_values"])

    def read_arguments(self, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Returns the positional and the keyword arguments for the values of `names`."""
        args = [read_argument(x["arg"], values) for x in self.node["inputs"] if x["kind"] != 2]
        return args, {x["name"]: read_argument(x["arg"], values) for x in self.node["inputs"] if x["kind"] == 2}

    def record_graph(self, sizes: dict[str, int], guards: Guards | None = None) -> Recording:
        """Records a call of the function for the values of symbols. Collects its comparisons of sizes in `guards`. Raises
        NotImplementedError if the function returns NotImplemented."""
        tracer = (_Tracer if guards is None else _Collector)(self.node["target"], self.table)
        recorded = tracer.graph
        if isinstance(tracer, _Collector) and guards is not None:
            tracer.guards = guards
        values: dict[str, Any] = {}
        for i, name in enumerate(self.names):
            placeholder = recorded.placeholder(f"input_{i}")
            if name in self.graph["tensor_values"]:
                values[name] = self.create_tensor(name, sizes)
                tracer.track(values[name], placeholder)
            else:
                values[name] = placeholder.meta["given"] = self.evaluate_number(name, sizes)
                text = self.graph["sym_int_values"][name].get("as_expr", {}).get("expr_str")
                if guards is not None and text is not None:
                    values[name] = make_number(values[name], write_python(text), guards)
            placeholder.meta["name"] = name
        args, kwargs = self.read_arguments(values)
        try:
            with (
                no_grad(),
                autocast("cpu", enabled=False),
                make_device("meta"),
                tracer,
                contextlib.nullcontext() if guards is None else collecting(),
            ):
                result = self.function(*args, **kwargs)
        finally:
            if guards is not None:
                guards.release()
        if result is NotImplemented:
            raise NotImplementedError(f"run_decompositions: {self.node['target']} is not decomposed")
        flat = [tracer.lift(plain(x)) for x in (result if isinstance(result, list | tuple) else [result])]
        check_results(self.graph, self.node, flat)
        recorded.output(tracer.find(flat))
        constants = {name: (name, value.detach()) for value, _, name in tracer.lifted.values()}
        if any(n.op == "get_attr" and n.name not in constants for n in recorded.nodes):
            raise RuntimeError(
                f"run_decompositions: the decomposition of {self.node['target']} creates a tensor from numbers, which is not an operator; "
                "use torch.full"
            )
        return Recording(recorded, None, constants)

    def check_example(self, sizes: dict[str, int]) -> None:
        """Raises an error if the decomposition does not fit the example inputs."""
        try:
            self.record_graph(sizes)
        except Exception as error:
            raise self.describe_failure(error) from error

    def describe_failure(self, error: Exception) -> Exception:
        """Returns an error that names the operator; an error of a function of the caller's table unchanged."""
        is_own = getattr(self.function, "__module__", "").partition(".")[0] == __name__.partition(".")[0]
        if str(error).startswith("run_decompositions: ") or not (is_own or isinstance(error, RuntimeError)):
            return error
        kind = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
        return RuntimeError(f"run_decompositions: the decomposition of {self.node['target']} fails: {kind}{error}")

    def accepts_sizes(self, sizes: dict[str, int]) -> bool:
        """Returns whether the operator accepts the arguments for the values of symbols."""
        tensors = self.graph["tensor_values"]
        try:
            values = {x: self.create_tensor(x, sizes) if x in tensors else self.evaluate_number(x, sizes) for x in self.names}
            args, kwargs = self.read_arguments(values)
            with no_grad(), make_device("meta"):
                self.operator(*args, **{k: v for k, v in kwargs.items() if k != "device"})
        except ERRORS:
            return False
        return True

    def compute_results(self, sizes: dict[str, int], run: Callable[..., Any], limit: int) -> list[Any]:
        """Returns the results of `run(values)`, and the values after it, to which it can write. The elements of integer tensors are less
        than `limit`."""
        values: dict[str, Any] = {}
        for name in self.names:
            is_tensor = name in self.graph["tensor_values"]
            values[name] = fill_elements(self.create_tensor(name, sizes, "cpu"), limit) if is_tensor else self.evaluate_number(name, sizes)
        with no_grad(), autocast("cpu", enabled=False):
            made = run(values)
        return [*(made if isinstance(made, list | tuple) else [made]), *values.values()]


def fill_elements(value: Tensor, limit: int) -> Tensor:
    """Initializes the elements of a tensor, and returns it. Integers are from 0 to `limit` - 1: valid indices of `limit` elements."""
    positions = arange(value.numel()).reshape(value.shape)
    if value.dtype == torch_bool:
        return value.copy_(positions % 3 != 1)
    if value.is_floating_point() or value.is_complex():
        return value.copy_((positions * 7 % 11 + 1) / 8)
    return value.copy_(positions % limit)


def find_numbers(recordings: list[Recording]) -> dict[tuple[int, ...], Any]:
    """Returns the placeholders of numbers, by the tuples of their values in the recordings. Stores the tuples in the placeholders."""
    numbers: dict[tuple[int, ...], Any] = {}
    for nodes in zip(*(r.nodes for r in recordings), strict=False):
        if "given" in nodes[0].meta:
            nodes[0].meta["values"] = tuple(x.meta["given"] for x in nodes)
            numbers.setdefault(nodes[0].meta["values"], nodes[0])
    return numbers


class DecompositionChecker:
    """Compares the graph of a decomposition with the decomposition for other sizes."""

    def __init__(self, call: DecompositionCall, first: Recording, plan: Plan, expressions: Expressions) -> None:
        self.call, self.first, self.plan, self.expressions = call, first, plan, expressions

    def record(self, sizes: dict[Symbol, int]) -> tuple[Recording, Guards] | None:
        """Returns a recording for sizes, and the comparisons of sizes; None if the operator is not defined for them."""
        completed, guards = self.complete(sizes), Guards(self.expressions)
        try:
            return self.call.record_graph(completed, guards), guards
        except ERRORS as error:
            if isinstance(error, NotImplementedError) or (self.call.accepts_sizes(completed) and not self.raises_for_empty(completed)):
                raise NotImplementedError(f"run_decompositions: the decomposition fails for {completed}") from error
            return None

    def complete(self, sizes: dict[Symbol, int]) -> dict[str, int]:
        """Returns the values of all symbols, by name."""
        return self.plan.complete({symbol.name: size for symbol, size in sizes.items()})

    def compare(self, other: Recording, sizes: dict[Symbol, int]) -> str | None:
        """Returns the part of the graph that differs for sizes; None if nothing does, or if the results are equal."""
        difference, completed = find_difference(self.first, other), self.complete(sizes)
        return None if difference is None or self.has_results(completed, other) or self.raises_for_empty(completed) else difference

    def find_lost_error(self, _: dict[Symbol, int]) -> None:
        """Returns None: record() raises for sizes that the operator accepts."""

    def raises_for_empty(self, sizes: dict[str, int]) -> bool:
        """Returns whether an argument is an empty tensor and the graph raises for it."""
        if not self.call.has_empty_tensor(sizes):
            return False
        try:
            self.call.compute_results(sizes, self.run, 1)
        except ERRORS:
            return True
        return False

    def run(self, values: dict[str, Any]) -> list[Any]:
        return self.first.run(*values.values())

    def has_results(self, sizes: dict[str, int], other: Recording) -> bool:
        """Returns whether the graph has the results of the function."""
        call = self.call
        if sum((other.nodes[i].meta["val"].numel() if "val" in other.nodes[i].meta else 0) for i in range(len(call.names))) > LIMIT:
            return False
        before = get_rng_state()

        def call_function(values: dict[str, Any]) -> Any:
            args, kwargs = call.read_arguments(values)
            return call.function(*args, **kwargs)

        for limit in (3, 1):
            try:
                expected = call.compute_results(sizes, call_function, limit)
                found = call.compute_results(sizes, self.run, limit)
            except ERRORS:
                continue
            finally:
                is_random = not are_equal(before, get_rng_state())
                set_rng_state(before)
            return not is_random and len(found) == len(expected) and all(map(is_close, found, expected))
        return False


def list_sizes(chooser: SizeChooser, numbers: list[int]) -> Iterator[dict[Symbol, int]]:
    """Yields sizes to try. For each symbol, with the examples of the others: its bounds, small and large sizes and those near `numbers`;
    then small sizes for all symbols together."""
    near = list_near(numbers)
    for symbol in chooser.symbols:
        ends = [symbol.least, *SMALL, 2 * symbol.hint, *([FAR[0]] if symbol.most is None else [symbol.most]), *near]
        for size in dict.fromkeys(ends):
            if size != symbol.hint and chooser.fits(symbol, size):
                yield {**chooser.hints, symbol: size}
    for i in range(len(SMALL)):
        yield {symbol: SMALL[i] if chooser.fits(symbol, SMALL[i]) else symbol.hint for symbol in chooser.symbols}


def holds_for_sizes(call: DecompositionCall, first: Recording, recordings: list[Recording], plan: Plan, known: KnownSizes) -> bool:
    """Returns whether the graph `first`, which unify() made of `recordings`, has the results of the function for the sizes within the
    bounds of the symbols. Tries the bounds, small and large sizes, and sizes on both sides of the size comparisons in the code of the
    function."""
    chooser = SizeChooser(plan.symbols, 0)
    try:
        checker = DecompositionChecker(call, first, plan, find_expressions(recordings, known.express))
        check_comparisons(checker, chooser)
        numbers = list_thresholds(lambda: checker.record(chooser.hints))
        for sizes in list_sizes(chooser, numbers):
            made = checker.record(sizes)
            if made is not None and checker.compare(made[0], sizes) is not None:
                return False
    except (NotImplementedError, SpecializationError):
        return False
    return True


def find_required(
    call: DecompositionCall, first: Recording, recordings: list[Recording], plan: Plan, known: KnownSizes, assumed: set[str]
) -> set[str]:
    """Returns the symbols in `assumed` for which graph and operator differ at size 1."""
    checker, hints = DecompositionChecker(call, first, plan, find_expressions(recordings, known.express)), SizeChooser(plan.symbols).hints
    required = set()
    for symbol in plan.symbols:
        sizes = {**hints, symbol: 1}
        try:
            made = checker.record(sizes) if symbol.name in assumed else None
            holds = made is None or checker.compare(made[0], sizes) is None
        except NotImplementedError:
            holds = False
        if not holds:
            required |= {symbol.name, *(name for name, other in plan.same.items() if other == symbol.name)}
    return required


def check_results(graph: dict[str, Any], node: Node, found: list[Any]) -> None:
    """Raises RuntimeError if a decomposition returns another number of results than its operator, or a result of another shape."""
    where, results = f"run_decompositions: the decomposition of {node['target']}", list_results(node)
    if len(found) < len(results):
        raise RuntimeError(f"{where} returns {len(found)} results, but the operator returns {len(results)}")
    for i, (result, value) in enumerate(zip(results, found, strict=False)):
        name = result.get("as_tensor", {}).get("name")
        if name is None:
            continue
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{where} returns {value!r} as result {i}, which must be a tensor, or NotImplemented to keep the operator")
        meta = graph["tensor_values"].get(name)
        if meta is None or not is_used(graph, name):
            continue
        sizes = meta["sizes"]
        if len(sizes) != value.dim() or any(s.get("as_int", n) != n for s, n in zip(sizes, value.shape, strict=True)):
            shape = ", ".join(str(s.get("as_int", "?")) for s in sizes)
            raise RuntimeError(
                f"{where} returns a tensor of shape {list(value.shape)} as result {i}; that of the operator has the shape [{shape}]"
            )


def is_used(graph: dict[str, Any], name: str) -> bool:
    """Returns whether a value is an argument of a node or an output of the graph."""
    return name in list_names(graph["outputs"]) or any(name in list_names([x["arg"] for x in node["inputs"]]) for node in graph["nodes"])


def evaluate_size(size: dict[str, Any], sizes: dict[str, int]) -> int:
    """Returns the value of a size in the JSON for values of symbols."""
    return size["as_int"] if "as_int" in size else evaluate(size["as_expr"]["expr_str"], sizes)
