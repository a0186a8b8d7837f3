"""Binds the arguments of nodes to the parameters of operators, and checks that values have descriptions, before a program is decomposed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..library.operators import OpOverload
from ..library.schemas import Argument
from .arguments import Node, find_operator, list_names
from .writer import write_argument

__all__ = ["describe", "normalize", "walk_nodes"]


def walk_nodes(graph: dict[str, Any]) -> Iterator[Node]:
    """Yields the nodes of a graph and of the graphs of its control flow."""
    for node in graph["nodes"]:
        yield node
        for x in node["inputs"]:
            if "as_graph" in x["arg"]:
                yield from walk_nodes(x["arg"]["as_graph"]["graph"])


def describe(graph: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns the description of a tensor. Raises RuntimeError if the file has none."""
    found: dict[str, Any] | None = graph["tensor_values"].get(name)
    if found is None:
        raise RuntimeError(f"run_decompositions: the file has no description (tensor_values) of the tensor {name:.60}")
    return found


def normalize(graph: dict[str, Any]) -> None:
    """Writes the arguments of all nodes in the order of the parameters of their operators, with the defaults of omitted ones that others
    follow.

    Raises RuntimeError for arguments that an operator does not have, and for other numbers of results."""
    for node in walk_nodes(graph):
        op = find_operator(node["target"])
        if isinstance(op, OpOverload):
            _bind(node, op)


def _bind(node: Node, op: OpOverload) -> None:
    schema, target = op._schema, node["target"]
    parameters = {a.name: a for a in schema.arguments}
    positional = [a.name for a in schema.arguments if not a.kwarg_only]
    given: dict[str, Any] = {}
    for i, x in enumerate(node["inputs"]):
        name = x["name"] or (positional[i] if i < len(positional) else "")
        if name not in parameters or name in given:
            what = (
                "has more arguments than parameters" if not name else f"has the argument {name!r:.60} " + ("twice" if name in given else "")
            )
            raise RuntimeError(f"run_decompositions: a call of {target} {what.rstrip()}; the schema of the operator is {schema}")
        _check_alias(parameters[name], x["arg"], target)
        given[name] = x["arg"]
    missing = next((a.name for a in schema.arguments if not a.has_default_value() and a.name not in given), None)
    if missing is not None:
        raise RuntimeError(f"run_decompositions: a call of {target} has no argument {missing!r}; the schema of the operator is {schema}")
    count = max((i + 1 for i, name in enumerate(positional) if name in given), default=0)
    inputs = []
    for name in positional[:count]:
        arg = given[name] if name in given else write_argument(parameters[name].default_value, parameters[name].kind)
        inputs.append({"name": name, "arg": arg, "kind": 1})
    inputs += [{"name": name, "arg": arg, "kind": 2} for name, arg in given.items() if parameters[name].kwarg_only]
    node["inputs"] = inputs
    if all(kind.startswith("Tensor") for kind in schema.result_kinds) and len(node["outputs"]) != len(schema.result_kinds):
        raise RuntimeError(
            f"run_decompositions: a call of {target} has {len(node['outputs'])} results, but the operator {len(schema.result_kinds)}"
        )


def _check_alias(parameter: Argument, arg: dict[str, Any], target: str) -> None:
    """Raises RuntimeError if an operator writes to or returns a view of an argument that is no tensor."""
    if parameter.alias_info is not None and next(list_names(arg), None) is None and not arg.keys() & {"as_none", "as_tensors"}:
        raise RuntimeError(
            f"run_decompositions: the argument {parameter.name!r} of {target} must be a tensor, but is {' '.join(arg)} in the program"
        )
