"""The meta of the node that an interpreter runs, which nodes of a new graph take over."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from .node import Node

__all__ = ["annotate", "format_stack", "get_current_meta", "get_current_replay_node", "has_preserved_node_meta", "preserve_node_meta"]
__all__ += ["reset_grad_fn_seq_nr", "set_current_meta", "set_current_replay_node", "set_grad_fn_seq_nr", "set_stack_trace"]


class _State(local):
    meta: dict[str, Any] = {}
    preserved = False
    replayed: Node | None = None


_state = _State()


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Makes new nodes take over the meta of the node that is run, until the end of the with statement."""
    before = _state.preserved, _state.meta
    _state.preserved, _state.meta = enable, dict(_state.meta)
    try:
        yield
    finally:
        _state.preserved, _state.meta = before


def has_preserved_node_meta() -> bool:
    """Returns whether new nodes take over meta."""
    return _state.preserved


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Adds entries to `meta["custom"]` of nodes that are created until the end of the with statement, where they take over meta."""
    before = _state.meta
    _state.meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        _state.meta = before


def set_stack_trace(stack: list[str]) -> None:
    """Sets the traceback of new nodes."""
    if _state.preserved and stack:
        _state.meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """Returns the traceback of the node that is run; of the caller without one."""
    if _state.preserved:
        return [_state.meta.get("stack_trace", "")]
    import traceback

    return traceback.format_list(traceback.extract_stack()[:-1])


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Does nothing: operations of the autograd graph have no number here."""


def reset_grad_fn_seq_nr() -> None:
    """Does nothing: operations of the autograd graph have no number here."""


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Makes a node the one whose meta new nodes take over, until the end of the with statement."""
    if not (_state.preserved and node.meta):
        yield
        return
    before = _state.meta
    _state.meta = dict(node.meta)
    try:
        yield
    finally:
        _state.meta = before


def get_current_meta() -> dict[str, Any]:
    """Returns the meta of the node that is run."""
    return _state.meta


@contextmanager
def set_current_replay_node(node: Node | None) -> Iterator[None]:
    """Sets the node that is run again, until the end of the with statement."""
    before, _state.replayed = _state.replayed, node
    try:
        yield
    finally:
        _state.replayed = before


def get_current_replay_node() -> Node | None:
    """Returns the node that is run again."""
    return _state.replayed
