"""Reads the JSON of exported programs: checks the types and the presence of all fields that this package uses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .._base.dtypes import EXPORTED
from .expressions import fits

__all__ = ["FORMATS", "read_model"]

Check = Callable[[Any], Any]
ABSENT = object()
FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}


class _Damage(Exception):
    """A value that the format does not allow. `path` are the keys of the value, the innermost one first."""

    def __init__(self, text: str) -> None:
        self.text, self.path = text, list[Any]()


def _scalar(kind: type, name: str) -> Check:
    def check(value: Any) -> None:
        if type(value) is not kind:
            raise _Damage(f"{name} is expected, not {show(value)}")

    return check


def show(value: Any) -> str:
    return f"{value!r:.60}" if isinstance(value, str | int | float | None) else "an object" if isinstance(value, dict) else "a list"


def integer(value: Any) -> None:
    if type(value) is not int or not fits(value):
        raise _Damage(f"an integer of 64 bits is expected, not {show(value)}")


def number(value: Any) -> None:
    """Infinities and NaN can be strings."""
    try:
        if type(value) in (int, float, str):
            float(value)
            return
    except (ValueError, OverflowError):
        pass
    raise _Damage(f"a number is expected, not {show(value)}")


def name(value: Any) -> None:
    if type(value) is not str or not value:
        raise _Damage(f"a name is expected, not {show(value)}")


def anything(value: Any) -> None:
    """Accepts every value."""


def optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def items(check: Check) -> Check:
    """Returns a check of lists of values."""

    def check_items(values: Any) -> None:
        if type(values) is not list:
            raise _Damage(f"a list is expected, not {show(values)}")
        for i, value in enumerate(values):
            try:
                check(value)
            except _Damage as damage:
                damage.path.append(i)
                raise

    return check_items


def mapping(check: Check) -> Check:
    """Returns a check of objects with any keys."""

    def check_mapping(values: Any) -> None:
        if type(values) is not dict:
            raise _Damage(f"an object is expected, not {show(values)}")
        for key, value in values.items():
            try:
                check(value)
            except _Damage as damage:
                damage.path.append(key)
                raise

    return check_mapping


def record(fields: dict[str, Check], defaults: dict[str, tuple[Check, Any]] | None = None) -> Check:
    """Returns a check of objects with `fields`, and possibly those of `defaults`, which are added unless they are ABSENT. Others are ignored."""
    others = (defaults or {}).items()

    def check_record(value: Any) -> None:
        if type(value) is not dict:
            raise _Damage(f"an object is expected, not {show(value)}")
        key = ""
        try:
            for key, check in fields.items():
                if key not in value:
                    raise _Damage("it is missing")
                check(value[key])
            for key, (check, default) in others:
                if key in value:
                    check(value[key])
                elif default is not ABSENT:
                    value[key] = default() if callable(default) else default
        except _Damage as damage:
            damage.path.append(key)
            raise

    return check_record


def union(kinds: dict[str, Check]) -> Check:
    """Returns a check of objects with one of the fields."""

    def check_union(value: Any) -> None:
        if type(value) is not dict or len(value) != 1:
            raise _Damage(f"an object with one field is expected, not {show(value)}")
        for kind, content in value.items():
            check = kinds.get(kind)
            if check is None:
                raise _Damage(f"the field {kind!r:.60} is unknown")
            try:
                check(content)
            except _Damage as damage:
                damage.path.append(kind)
                raise

    return check_union


def one_of(known: Any, what: str) -> Check:
    def check(value: Any) -> None:
        if type(value) is not int or value not in known:
            raise _Damage(f"{what} {show(value)} is unknown")

    return check


string, boolean = _scalar(str, "a string"), _scalar(bool, "true or false")
null = optional(boolean)
dtype = one_of(EXPORTED, "the dtype")
named = record({"name": name})
device = record({"type": name}, {"index": (optional(integer), None)})
sym_int, sym_float = union({"as_name": name, "as_int": integer}), union({"as_name": name, "as_float": number})
sym_bool = union({"as_name": name, "as_bool": boolean})
optional_tensor = union({"as_tensor": named, "as_none": null})


ARGUMENTS: dict[str, Check] = {
    "as_none": null,
    "as_tensor": named,
    "as_tensors": items(named),
    "as_optional_tensor": optional_tensor,
    "as_optional_tensors": items(optional_tensor),
    "as_custom_obj": named,
    "as_token": named,
    "as_name": name,
    "as_int": integer,
    "as_ints": items(integer),
    "as_float": number,
    "as_floats": items(number),
    "as_bool": boolean,
    "as_bools": items(boolean),
    "as_string": string,
    "as_strings": items(string),
    "as_operator": string,
    "as_complex": record({"real": number, "imag": number}),
    "as_scalar_type": dtype,
    "as_memory_format": one_of(FORMATS, "the memory format"),
    "as_layout": integer,
    "as_device": device,
    "as_sym_int": sym_int,
    "as_sym_ints": items(sym_int),
    "as_sym_float": sym_float,
    "as_sym_floats": items(sym_float),
    "as_sym_bool": sym_bool,
    "as_sym_bools": items(sym_bool),
    "as_graph": record({"name": name, "graph": lambda value: graph(value)}),
}
argument = union(ARGUMENTS)
node = record(
    {
        "target": name,
        "inputs": items(record({"name": string, "arg": argument}, {"kind": (optional(integer), None)})),
        "outputs": items(argument),
    },
    {"metadata": (mapping(anything), dict), "name": (optional(string), None)},
)


def value_of_symbol(kind: str, check: Check) -> Check:
    hint = optional(union({"as_int": integer, "as_float": number, "as_bool": boolean}))
    return union({kind: check, "as_expr": record({"expr_str": string}, {"hint": (hint, None)})})


size = value_of_symbol("as_int", integer)
tensor_meta = record(
    {"dtype": dtype, "sizes": items(size), "strides": items(size)},
    {
        "requires_grad": (boolean, False),
        "storage_offset": (size, lambda: {"as_int": 0}),
        "layout": (integer, 7),
        "device": (device, lambda: {"type": "cpu", "index": None}),
    },
)
graph: Check = record(
    {"inputs": items(argument), "outputs": items(argument), "nodes": items(node), "tensor_values": mapping(tensor_meta)},
    {
        "sym_int_values": (mapping(size), dict),
        "sym_bool_values": (mapping(value_of_symbol("as_bool", boolean)), dict),
        "sym_float_values": (mapping(value_of_symbol("as_float", number)), dict),
    },
)
input_spec = union(
    {
        "user_input": record({"arg": argument}),
        "parameter": record({"arg": named, "parameter_name": name}),
        "buffer": record({"arg": named, "buffer_name": name}, {"persistent": (boolean, True)}),
        "tensor_constant": record({"arg": named, "tensor_constant_name": name}),
        "constant_input": record({"name": name, "value": argument}),
        "token": record({"arg": named}),
    }
)
output_spec = union(
    {
        "user_output": record({"arg": argument}),
        "loss_output": record({"arg": named}),
        "buffer_mutation": record({"arg": named, "buffer_name": name}),
        "parameter_mutation": record({"arg": named, "parameter_name": name}),
        "user_input_mutation": record({"arg": named, "user_input_name": name}),
        "token": record({"arg": named}),
    }
)
signature = record({"input_specs": items(input_spec), "output_specs": items(output_spec)})


def bounds(value: Any) -> None:
    record({}, {"min_val": (optional(integer), None), "max_val": (optional(integer), None)})(value)
    least, most = value["min_val"], value["max_val"]
    if least is not None and most is not None and least > most:
        raise _Damage(f"the range from {least} to {most} is empty")


model = record(
    {"graph_module": record({"graph": graph, "signature": signature})},
    {"range_constraints": (mapping(bounds), dict), "guards_code": (items(string), ABSENT)},
)


def check_strings(value: Any) -> None:
    """Raises _Damage for a string that C and files cannot represent: one with a NUL or a surrogate."""
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= x <= "\udfff" for x in value)):
        raise _Damage(f"the string {value!a:.60} has a NUL or a part of a surrogate pair")
    if isinstance(value, dict):
        for key, item in value.items():
            check_strings(key)
            check_strings(item)
    elif isinstance(value, list):
        for item in value:
            check_strings(item)


def read_model(data: bytes) -> dict[str, Any]:
    """Returns the JSON of a program, with fields that older versions of the format lack. Raises RuntimeError if it does not have the format."""
    try:
        text: dict[str, Any] = json.loads(data.decode())
        if b"\\u" in data:
            check_strings(text)
        model(text)
        check_outputs(text["graph_module"])
    except _Damage as damage:
        where = ".".join(map(str, reversed(damage.path)))[:200]
        raise RuntimeError(f"load: the file is damaged: {where}{': ' if where else ''}{damage.text}") from None
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"load: the file is damaged: its model is not JSON: {error}") from None
    return text


def check_outputs(module: dict[str, Any]) -> None:
    """Raises _Damage if the signature has other outputs than the graph."""
    specs, values = module["signature"]["output_specs"], module["graph"]["outputs"]
    if len(specs) != len(values):
        raise _Damage(f"the signature has {len(specs)} outputs, but the graph {len(values)}")
    for (spec,), value in zip(map(dict.values, specs), values, strict=True):
        if "name" in spec["arg"] and "as_tensor" not in value and "as_token" not in value:
            raise _Damage(f"the output {spec['arg']['name']!r:.60} is no tensor in the graph")
