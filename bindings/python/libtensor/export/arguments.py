"""Values and arguments in the JSON of exported programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import ops
from .. import preserve_format as torch_preserve_format
from .. import strided as torch_strided
from .._base.device import device as _device
from .._base.dtypes import EXPORTED
from .reader import FORMATS

__all__ = ["Node", "Table", "create_node", "find_operator", "list_names", "list_results", "read_argument", "replace_names"]

Table = dict[Any, Callable[..., Any]]
Node = dict[str, Any]


def create_node(target: str, inputs: dict[str, Any] | list[dict[str, Any]], outputs: list[dict[str, Any]], name: str | None = None) -> Node:
    """Returns a node with the inputs of the format, or with positional ones by the names of parameters."""
    if isinstance(inputs, dict):
        inputs = [{"name": parameter, "arg": arg, "kind": 1} for parameter, arg in inputs.items()]
    return {"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}, "is_hop_single_tensor_return": None, "name": name}


def list_names(value: Any) -> Iterator[str]:
    """Yields the names of the graph's values in an argument, in order."""
    if isinstance(value, list):
        for item in value:
            yield from list_names(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "as_graph":
                continue
            if key == "as_name" or (key == "name" and len(value) == 1):
                yield item
            else:
                yield from list_names(item)


def replace_names(value: Any, names: dict[str, str] | Callable[[str], str]) -> Any:
    """Returns a copy of an argument with other names of values: those that a dict or a function has for them."""
    if isinstance(value, list):
        return [replace_names(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for k, v in value.items():
        if k == "as_name" or (k == "name" and len(value) == 1):
            made[k] = names.get(v, v) if isinstance(names, dict) else names(v)
        else:
            made[k] = v if k == "as_graph" else replace_names(v, names)
    return made


def find_operator(target: str) -> Any:
    """Returns the overload of a node's target, such as torch.ops.aten.relu.default; None for others."""
    parts = target.split(".")
    if len(parts) != 5 or parts[:2] != ["torch", "ops"] or parts[2] == "higher_order":
        return None
    try:
        return getattr(getattr(getattr(ops, parts[2]), parts[3]), parts[4])
    except AttributeError:
        return None


def read_argument(arg: dict[str, Any], values: dict[str, Any]) -> Any:
    """Returns an argument of the JSON. Raises NotImplementedError for a graph and a custom object."""
    if "name" in arg and len(arg) == 1:
        return values[arg["name"]]
    ((kind, value),) = arg.items()
    if kind in ("as_tensor", "as_token", "as_name"):
        return values[value if kind == "as_name" else value["name"]]
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool", "as_optional_tensor"):
        return read_argument(value, values)
    if kind in ("as_tensors", "as_sym_ints", "as_sym_floats", "as_sym_bools", "as_optional_tensors"):
        return [read_argument(x, values) for x in value]
    if kind == "as_none":
        return None
    if kind == "as_scalar_type":
        return EXPORTED[value]
    if kind == "as_memory_format":
        from .. import channels_last, channels_last_3d, contiguous_format

        formats = {"contiguous_format": contiguous_format, "channels_last": channels_last, "channels_last_3d": channels_last_3d}
        return formats.get(FORMATS[value], torch_preserve_format)
    if kind == "as_layout":
        return torch_strided
    if kind == "as_device":
        return _device("cpu")
    if kind == "as_complex":
        return complex(float(value["real"]), float(value["imag"]))
    if kind == "as_float":
        return float(value)
    if kind == "as_floats":
        return [float(x) for x in value]
    if kind in ("as_int", "as_bool", "as_string", "as_operator", "as_ints", "as_bools", "as_strings"):
        return list(value) if isinstance(value, list) else value
    raise NotImplementedError(f"exported program: an argument of the kind {kind} is not supported")


def list_results(node: Node) -> list[dict[str, Any]]:
    """Returns the results of a node one by one, also those of lists."""
    return [{"as_tensor": x} if "name" in x else x for y in node["outputs"] for x in y.get("as_tensors", [y])]
