"""Replaces what matches a pattern in the graph of a module."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A match: the node of the pattern's result, and a map of nodes of the pattern to nodes of the graph."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A match, and the nodes that replace it."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replaces every part of the graph of `gm` that computes what the function or module `pattern` computes by `replacement`, which takes
    and returns as many values. Returns the matches. Values inside of a match may have no users outside; matches do not overlap.

    >>> import libtensor.fx
    >>> traced = libtensor.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> matches = libtensor.fx.replace_pattern(traced, lambda a: torch.relu(a), lambda a: torch.neg(a))
    >>> len(matches), traced(torch.ones(2))
    (1, tensor([0., 0.]))
    """
    replaced = _replace(gm, pattern, replacement)
    return [Match(found.anchor, found.nodes_map) for found in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Replaces as `replace_pattern` does, the matches for which all of `match_filters` return true: filter(match, graph, pattern_graph).
    `replacement_callback(match, graph, pattern_graph)` returns the graph of a replacement, in the place of `replacement`."""
    return _replace(gm, pattern, replacement, match_filters or [], ignore_literals, replacement_callback)


def _graph_of(value: Any) -> Graph:
    if isinstance(value, GraphModule):
        return value.graph
    return value if isinstance(value, Graph) else symbolic_trace(value).graph


def _replace(
    gm: GraphModule,
    pattern: Any,
    replacement: Any,
    filters: Any = (),
    ignore_literals: bool = False,
    make_replacement: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    common = None if make_replacement else _graph_of(replacement)
    found = SubgraphMatcher(pattern_graph, remove_overlapping_matches=True, ignore_literals=ignore_literals).match(graph)
    made: list[ReplacedPatterns] = []
    renamed: dict[Node, Node] = {}
    for match in found:
        if not all(accepts(match, graph, pattern_graph) for accepts in filters):
            continue
        new = make_replacement(match, graph, pattern_graph) if make_replacement else common
        if new is None:
            raise ValueError("replace_pattern: requires a replacement")
        made.append(_replace_match(graph, pattern_graph, new, match, renamed))
    gm.recompile()
    root = replacement if isinstance(replacement, Module) else None
    if root is not None:
        _copy_used(gm, root)
    return made


def _replace_match(graph: Graph, pattern: Graph, new: Graph, match: InternalMatch, renamed: dict[Node, Node]) -> ReplacedPatterns:
    """Inserts a replacement before the first node that uses results of a match, and removes the nodes of the match."""
    inputs = [renamed.get(node, node) if isinstance(node, Node) else node for node in match.placeholder_nodes]
    placeholders = [node for node in new.nodes if node.op == "placeholder"]
    if len(inputs) != len(placeholders):
        raise AssertionError(f"the replacement has {len(placeholders)} inputs, but the pattern has {len(inputs)}")
    copies: dict[Node, Any] = dict(zip(placeholders, inputs, strict=True))
    results = [node for node in match.nodes_map.values() if isinstance(node, Node) and node in match.returning_nodes]
    users = {user for result in results for user in result.users}
    first = next((node for node in graph.nodes if node in users), None)
    before = set(graph.nodes)
    with graph.inserting_before(first if first is not None else graph.output_node()):
        returned = graph.graph_copy(new, copies)
    values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if len(values) != len(match.returning_nodes):
        raise AssertionError(f"the replacement has {len(values)} results, but the pattern has {len(match.returning_nodes)}")
    for old, value in zip(match.returning_nodes, values, strict=True):
        old.replace_all_uses_with(value)
        renamed[old] = value
    for node in reversed(pattern.nodes):
        if node.op not in ("placeholder", "output"):
            matched = match.nodes_map.get(node)
            if isinstance(matched, Node) and not matched.users and not matched._erased:
                graph.erase_node(matched)
    inserted = [node for node in graph.nodes if node not in before]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, inserted)


def _copy_used(gm: GraphModule, replacement: Module) -> None:
    """Copies the modules and attributes of the replacement that the graph uses, and deletes modules that it does not use."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        *path, name = node.target.split(".")
        owner: Any = gm
        for part in path:
            owner = getattr(owner, part, None)
        if owner is not None and hasattr(owner, name):
            continue
        source: Any = replacement
        for part in node.target.split("."):
            source = getattr(source, part)
        if isinstance(source, Module):
            gm.add_submodule(node.target, copy.deepcopy(source))
        else:
            target: Any = gm
            for part in path:
                if not hasattr(target, part):
                    target.add_module(part, Module())
                target = getattr(target, part)
            setattr(target, name, copy.deepcopy(source))
    gm.graph.lint()
