"""Finds subgraphs that match a pattern."""

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..._calls import torch_name
from ...graph import Graph
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A match: `nodes_map` maps nodes of the pattern to nodes, or values, of the graph; `anchors` are the outputs of the pattern."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> "InternalMatch":
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes), dict(self.name_node_map)
        )


class SubgraphMatcher:
    """Finds matches of the graph `pattern`. Its inputs match every value. With `match_output` and `match_placeholder` outputs and inputs
    match those of the graph alone; with `ignore_literals` constants match every constant; without `remove_overlapping_matches` matches may
    have nodes in common."""

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Returns the matches, in the order of the graph."""
        candidates = [[node for node in graph.nodes if self._are_alike(anchor, node)] for anchor in self.pattern_anchors]
        found = []
        for nodes in itertools.product(*candidates):
            if len(set(nodes)) < len(nodes):
                continue
            match = InternalMatch(anchors=list(self.pattern_anchors))
            if all(self._match_nodes(anchor, node, match) for anchor, node in zip(self.pattern_anchors, nodes, strict=True)):
                self._finish(match)
                if self._is_contained(match):
                    found.append(match)
        return self._apart(found) if self.remove_overlapping_matches else found

    def _finish(self, match: InternalMatch) -> None:
        match.placeholder_nodes = [match.nodes_map[node] for node in self.pattern_placeholder_nodes if node in match.nodes_map]
        match.returning_nodes = [match.nodes_map[node] for node in self.pattern_returning_nodes if node in match.nodes_map]
        match.name_node_map = {pattern.name: node for pattern, node in match.nodes_map.items()}

    def _are_alike(self, pattern: Node, node: Node) -> bool:
        """Returns whether a node has the kind and target of one of the pattern."""
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            return bool(pattern.target.rpartition(".")[2] == node.target.rpartition(".")[2])
        if pattern.target == node.target:
            return True
        return (
            pattern.op == "call_function"
            and torch_name(pattern.target) is not None
            and torch_name(pattern.target) == torch_name(node.target)
        )

    def _match_nodes(self, pattern: Node, node: Any, match: InternalMatch) -> bool:
        """Returns whether a node computes what one of the pattern computes, and adds what its arguments match."""
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is node
        if not isinstance(node, Node) or any(node is other for other in match.nodes_map.values()) and pattern.op != "placeholder":
            return False
        if not self._are_alike(pattern, node):
            return False
        saved = copy.copy(match)
        match.nodes_map[pattern] = node
        if pattern.op == "placeholder":
            return True
        if self._match_arguments(pattern, node, match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    def _match_arguments(self, pattern: Node, node: Node, match: InternalMatch) -> bool:
        if pattern.kwargs.keys() == node.kwargs.keys() and len(pattern.args) == len(node.args):
            pairs = [*zip(pattern.args, node.args, strict=True), *((value, node.kwargs[key]) for key, value in pattern.kwargs.items())]
            return all(self._match_values(a, b, match) for a, b in pairs)
        a, b = _by_name(pattern), _by_name(node)
        return a is not None and b is not None and a.keys() == b.keys() and all(self._match_values(a[key], b[key], match) for key in a)

    def _match_values(self, pattern: Any, value: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, Node) and isinstance(value, Node):
            return self._match_nodes(pattern, value, match)
        if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)):
            return len(pattern) == len(value) and all(self._match_values(a, b, match) for a, b in zip(pattern, value, strict=True))
        if isinstance(pattern, dict) and isinstance(value, dict):
            return pattern.keys() == value.keys() and all(self._match_values(pattern[key], value[key], match) for key in pattern)
        if isinstance(pattern, Node):
            if pattern.op != "placeholder":
                return False
            if pattern in match.nodes_map:
                return bool(match.nodes_map[pattern] == value)
            match.nodes_map[pattern] = value
            return True
        if isinstance(value, Node):
            return False
        return self.ignore_literals or (type(pattern) is type(value) and bool(pattern == value))

    def _is_contained(self, match: InternalMatch) -> bool:
        """Returns whether no node outside of a match uses a value inside of it, other than the results."""
        kept = {node for node in match.nodes_map.values() if isinstance(node, Node)}
        for pattern, node in match.nodes_map.items():
            if pattern.op == "placeholder" or pattern in self.pattern_returning_nodes or not isinstance(node, Node):
                continue
            if pattern.op != "get_attr" and any(user not in kept for user in node.users):
                return False
        return True

    def _apart(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        """Returns the matches without those that have a node of an earlier one."""
        taken: set[Node] = set()
        kept = []
        for match in matches:
            nodes = set(_inner(match))
            if not nodes & taken:
                kept.append(match)
                taken |= nodes
        return kept


def _inner(match: InternalMatch) -> Iterator[Node]:
    """Yields the nodes of a match other than inputs and the output."""
    for pattern, node in match.nodes_map.items():
        if pattern.op not in ("placeholder", "output") and isinstance(node, Node):
            yield node


def _by_name(node: Node) -> dict[str, Any] | None:
    """Returns the arguments of a call of a function by name, with defaults."""
    from ...operator_schemas import normalize_function

    found = normalize_function(node.target, node.args, dict(node.kwargs), None, None, True) if node.op == "call_function" else None
    return found.kwargs if found is not None else None
