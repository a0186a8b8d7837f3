"""The structure of calls of an exported program and of the modules that it consisted of."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from ..utils import _pytree

__all__ = ["CallSpec", "ModuleCallEntry", "ModuleCallSignature", "read_call"]


class CallSpec(NamedTuple):
    """The structure of the arguments, a pair of a tuple and a dict, and that of the result; None for what the file does not have."""

    in_spec: _pytree.TreeSpec | None
    out_spec: _pytree.TreeSpec | None


@dataclasses.dataclass
class ModuleCallSignature:
    """The inputs, outputs and structures of the calls of a module. `inputs` and `outputs` are empty for the whole program."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: _pytree.TreeSpec
    out_spec: _pytree.TreeSpec
    forward_arg_names: list[str] | None = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module of the exported one by its name, which is empty for the whole, and the signature of its calls if it was preserved."""

    fqn: str
    signature: ModuleCallSignature | None = None


def read_call(entry: dict[str, Any]) -> ModuleCallEntry:
    """Returns an entry of `module_call_graph` in the JSON of a program."""
    found = entry.get("signature")
    if not found:
        return ModuleCallEntry(entry["fqn"])
    in_spec, out_spec = map(_pytree.treespec_loads, (found["in_spec"], found["out_spec"]))
    return ModuleCallEntry(entry["fqn"], ModuleCallSignature([], [], in_spec, out_spec, found.get("forward_arg_names")))
