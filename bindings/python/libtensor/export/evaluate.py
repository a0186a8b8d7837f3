"""Evaluates exported programs node by node with the operators of this package, for calls that modes or subclasses of Tensor receive."""

from __future__ import annotations

import contextlib
import copy
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import device as make_device
from .. import set_grad_enabled
from .._base import overrides
from .._core.modes import is_grad_enabled
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .._inert.names import _sym_sqrt, sym_ite, sym_max, sym_min
from .arguments import Node, find_operator, list_names, list_results, read_argument
from .auto_functionalized import call_functionalized
from .expressions import fits
from .guards import is_collecting
from .higher_order import CONTROL_FLOW, HIGHER
from .input_checks import compare_sizes
from .normalize import normalize
from .size_numbers import plain
from .writer import write_archive

__all__ = ["Evaluator"]

_state: Any = overrides.state
VMAP = "torch._functorch.predispatch."


def round_number(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that rounds a number to an integer; sizes keep their expression."""
    return lambda x: function(x) if isinstance(x, float) else +x


# The functions of numbers, by their names without the module.
BINARY = (
    "add",
    "sub",
    "mul",
    "floordiv",
    "mod",
    "truediv",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
)
NUMBERS: dict[str, Callable[..., Any]] = {name: getattr(operator, name) for name in (*BINARY, "neg", "pos", "not_")}
NUMBERS |= {
    "sym_max": sym_max,
    "sym_min": sym_min,
    "max": sym_max,
    "min": sym_min,
    "sym_not": operator.not_,
    "sym_float": lambda x: x * 1.0,
}
NUMBERS |= {"sym_sqrt": _sym_sqrt, "_sym_sqrt": _sym_sqrt, "sqrt": _sym_sqrt, "sym_ite": sym_ite, "sym_sum": sum}
NUMBERS |= dict.fromkeys(("_sym_log2", "log2"), math.log2)
NUMBERS |= {"floor": round_number(math.floor), "ceil": round_number(math.ceil), "round": round_number(round)}
NUMBERS |= {"trunc": round_number(math.trunc), "sym_int": round_number(math.trunc)}


def read_item(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def check_condition(condition: Any, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


def check_range(size: Any, min: int | None = None, max: int | None = None) -> None:
    """Raises RuntimeError for a number out of a range."""
    if (min is not None and size < min) or (max is not None and size > max):
        bounds = f"{'' if min is None else f'{min} <= '}x{'' if max is None else f' <= {max}'}"
        raise RuntimeError(f"x = {size} is outside the exported range {bounds}")


# The operators that return or check numbers.
CHECKS: dict[str, Callable[..., Any]] = {
    "sym_size.int": lambda self, dim: self.size(dim),
    "sym_stride.int": lambda self, dim: self.stride(dim),
    "sym_numel.default": lambda self: self.numel(),
    "sym_storage_offset.default": lambda self: self.storage_offset(),
    "item.default": read_item,
    "_local_scalar_dense.default": read_item,
    "_assert_scalar.default": check_condition,
    "sym_constrain_range.default": check_range,
    "sym_constrain_range_for_size.default": check_range,
}
NUMBERS |= {f"torch.ops.aten.{name}": function for name, function in CHECKS.items()}


class Run:
    """One evaluation of a graph. Regions set the grad mode only if it was enabled before."""

    def __init__(self) -> None:
        self.records = is_grad_enabled()
        self.levels: list[int] = []  # of vmap, the innermost one last
        self.around = 0  # the level of transforms around them

    def call(self, graph: dict[str, Any], operands: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the outputs of a graph for values of its inputs."""
        values: dict[str, Any] = {}
        for x, value in zip(graph["inputs"], operands, strict=True):
            values |= dict.fromkeys(list_names(x), value)
        return self.evaluate(graph, values)

    def evaluate(self, graph: dict[str, Any], values: dict[str, Any]) -> tuple[Any, ...]:
        """Returns the outputs of a graph, whose inputs are in `values`. Values are dropped after their last use."""
        for node, last in zip(graph["nodes"], graph["last"], strict=True):
            self.evaluate_node(node, values)
            for name in last:
                values.pop(name, None)
        return tuple(read_argument(x, values) for x in graph["outputs"])

    def read(self, arg: dict[str, Any], values: dict[str, Any]) -> Any:
        """Returns an argument; for a graph, a function of its inputs."""
        if "as_graph" in arg:
            graph = arg["as_graph"]["graph"]
            return lambda *operands: self.call(graph, operands)
        return read_argument(arg, values)

    def evaluate_node(self, node: Node, values: dict[str, Any]) -> None:
        target = node["target"]
        args = [self.read(x["arg"], values) for x in node["inputs"] if x["kind"] != 2]
        kwargs = {x["name"]: self.read(x["arg"], values) for x in node["inputs"] if x["kind"] == 2}
        if target.startswith(HIGHER):
            self.call_higher_order(node, target.removeprefix(HIGHER), args, kwargs, values)
            return
        if target.startswith(VMAP):
            made = self.call_vmap(node, target.removeprefix(VMAP), args)
        else:
            function = NUMBERS.get(target if target.startswith("torch.ops.") else target.rpartition(".")[2])
            made = find_callable(node, target)(*args, **kwargs) if function is None else call_number(node, function, args, kwargs)
        store_results(node["outputs"], made, values)

    def call_higher_order(self, node: Node, name: str, args: list[Any], kwargs: dict[str, Any], values: dict[str, Any]) -> None:
        """Calls a function of graphs or of another operator, and stores its results."""
        if name == "with_effects":  # a token, an operator and its arguments
            store_result(node["outputs"][0], None, values)
            store_results(node["outputs"][1:], find_callable(node, args[1])(*args[2:], **kwargs), values)
            return
        if name in ("auto_functionalized", "auto_functionalized_v2"):
            given = dict(zip([x["name"] for x in node["inputs"][1:]], args[1:], strict=False)) | kwargs
            made = call_functionalized(find_callable(node, args[0]), given, name.endswith("_v2"), len(node["outputs"]))
            for output, value in zip(node["outputs"], made, strict=False):
                store_result(output, value, values)
            return
        function = self.set_grad if name == "wrap_with_set_grad_enabled" else CONTROL_FLOW.get(name)
        if function is None:
            raise unsupported(node, node["target"])
        for result, value in zip(list_results(node), function(*args, **kwargs), strict=True):
            values |= dict.fromkeys(list_names(result), value)

    def set_grad(self, enabled: bool, function: Callable[..., Any], *operands: Any) -> Any:
        with set_grad_enabled(enabled) if self.records else contextlib.nullcontext():
            return function(*operands)

    def call_vmap(self, node: Node, name: str, args: list[Any]) -> Any:
        """Begins or ends a level of vmap, or converts a tensor to it or from it."""
        if name == "lazy_load_decompositions":
            return None
        if name == "_vmap_increment_nesting":
            self.around = self.around if self.levels else _f.transform_level()
            self.levels.append(_f.vmap_begin(*args))
        elif name == "_vmap_decrement_nesting":
            _f.vmap_end(self.levels.pop())
        elif name == "_add_batch_dim":
            return _f.vmap_wrap(args[0], args[1], self.levels[args[2] - 1])
        elif name == "_remove_batch_dim":
            return _f.vmap_unwrap(args[0], args[3], self.levels[args[1] - 1])
        else:
            raise unsupported(node, node["target"])
        return None

    def leave(self) -> None:
        """Ends the levels of vmap that an error has left open."""
        if self.levels:
            with suspended():
                _f.transform_leave(self.around)


def unsupported(node: Node, target: str) -> NotImplementedError:
    return NotImplementedError(
        f"program_run: node {node['name']!r} calls {target}, which a program cannot call while a mode or a subclass of Tensor receives its "
        "operators; call the program outside of the mode, with plain tensors"
    )


def find_callable(node: Node, target: Any) -> Any:
    """Returns the operator of a target. Raises NotImplementedError if there is none."""
    op = find_operator(target if isinstance(target, str) else "")
    if op is None:
        raise unsupported(node, target)
    return op


def call_number(node: Node, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Calls a function of numbers, whose errors name the node. Integers have at most 64 bits."""
    try:
        made = function(*args, **kwargs)
        if isinstance(made, int) and not fits(plain(made)):
            raise OverflowError("the result overflows int64")
        return made
    except (ArithmeticError, ValueError, TypeError) as error:
        raise RuntimeError(f"program_run: node {node['name']!r}: cannot compute {node['target']}{tuple(args)}: {error}") from error
    except RuntimeError as error:
        if function not in CHECKS.values() or function is read_item:
            raise
        raise RuntimeError(f"program_run: node {node['name']!r}: {error}") from error


def store_results(outputs: list[dict[str, Any]], made: Any, values: dict[str, Any]) -> None:
    """Stores the results of a call, of which one is not in a tuple."""
    items = [made] if len(outputs) == 1 else list_items(made, len(outputs))
    for output, value in zip(outputs, items, strict=False):
        store_result(output, value, values)


def list_items(value: Any, count: int) -> Sequence[Any]:
    """Returns the items of a tuple, a list or None, or of a Proxy of torch.fx, which cannot be iterated over."""
    if value is None or isinstance(value, list | tuple):
        return value or ()
    return [value[i] for i in range(count)]


def store_result(output: dict[str, Any], value: Any, values: dict[str, Any]) -> None:
    items = output.get("as_tensors", output.get("as_optional_tensors"))
    for x, item in [(output, value)] if items is None else zip(items, list_items(value, len(items)), strict=True):
        values |= dict.fromkeys(list_names(x), item)


def list_last_uses(graph: dict[str, Any]) -> None:
    """Stores in a graph, and in the graphs of its control flow, the names of the values that no node after each one uses."""
    seen = set(list_names(graph["outputs"]))
    last: list[list[str]] = []
    for node in reversed(graph["nodes"]):
        used = dict.fromkeys(list_names([[x["arg"] for x in node["inputs"]], node["outputs"]]))
        last.append([name for name in used if name not in seen])
        seen.update(used)
        for x in node["inputs"]:
            if "as_graph" in x["arg"]:
                list_last_uses(x["arg"]["as_graph"]["graph"])
    graph["last"] = last[::-1]


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """A context manager in which no mode is active, and tensors are created on the CPU."""
    modes, _state.modes = _state.modes, ()
    try:
        with make_device("cpu"):
            yield
    finally:
        _state.modes = modes


def is_argument(union: dict[str, Any]) -> bool:
    """Returns whether the specification of an input is that of an argument of calls."""
    return not union.keys().isdisjoint(("user_input", "constant_input"))


def write_checks(text: dict[str, Any]) -> Tensor:
    """Returns the archive of a program that checks arguments as that of `text` does, and has neither nodes nor results."""
    module = text["graph_module"]
    specs = [union for union in module["signature"]["input_specs"] if is_argument(union)]
    inputs = [union["user_input"]["arg"] for union in specs if "user_input" in union]
    known = set(list_names(inputs))
    tensors = {name: meta for name, meta in module["graph"]["tensor_values"].items() if name in known}
    graph = module["graph"] | {"nodes": [], "inputs": inputs, "outputs": [], "tensor_values": tensors}
    signature = {"input_specs": specs, "output_specs": []}
    made = text | {"graph_module": module | {"graph": graph, "signature": signature, "module_call_graph": []}}
    archive: Tensor = _f.archive_save_bytes(*write_archive(made, {}, None))
    return archive


class Evaluator:
    """Evaluates the program with the JSON `text` on the calling thread, with the results of a run in C. `load` returns the program of an
    archive."""

    def __init__(self, text: dict[str, Any], load: Callable[[Tensor], Any]) -> None:
        self.text = text
        self.graph, self.signature = copy.deepcopy(text["graph_module"]["graph"]), text["graph_module"]["signature"]
        normalize(self.graph)
        list_last_uses(self.graph)
        with suspended():
            self.checks = load(write_checks(text))

    def run(self, leaves: Sequence[Any], state: dict[str, Tensor]) -> list[Any]:
        """Returns the outputs for the flat arguments, and the parameters, buffers and constants by name.

        Arguments that are no tensors and override calls, as those of torch.fx.symbolic_trace do, are not checked."""
        if all(isinstance(x, Tensor) or overrides.hook(x) is None for x in leaves):
            self.checks.run(*leaves)
            if is_collecting():
                compare_sizes(self.text, [union for union in self.signature["input_specs"] if is_argument(union)], leaves)
        values: dict[str, Any] = {}
        given = iter(leaves)
        for union in self.signature["input_specs"]:
            ((kind, spec),) = union.items()
            if is_argument(union):
                value = next(given)
            else:
                value = state.get(spec.get("parameter_name") or spec.get("buffer_name") or spec.get("tensor_constant_name"))
            if kind != "constant_input":
                values |= dict.fromkeys(list_names(spec["arg"]), value)
        targets = dict(values)
        run = Run()
        try:
            results = run.evaluate(self.graph, values)
        finally:
            run.leave()
        return self.write_results(results, targets, state)

    def write_results(self, results: Sequence[Any], inputs: dict[str, Any], state: dict[str, Tensor]) -> list[Any]:
        """Copies the new values of buffers and inputs to their tensors, and returns the outputs."""
        outputs = []
        copy_ = find_operator("torch.ops.aten.copy_.default")
        for union, value in zip(self.signature["output_specs"], results, strict=True):
            ((kind, spec),) = union.items()
            if kind in ("buffer_mutation", "parameter_mutation"):
                copy_(state[spec.get("buffer_name") or spec["parameter_name"]], value)
            elif kind == "user_input_mutation":
                copy_(inputs[spec["user_input_name"]], value)
            elif kind != "token":
                outputs.append(value)
        return outputs
