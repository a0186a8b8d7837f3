"""Reads the JSON of exported programs: checks the types and the presence of all fields that this package uses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .._base.dtypes import EXPORTED
from .expressions import fits

__all__ = ["EXTRA", "FORMATS", "read_model"]

Check = Callable[[Any], Any]
ABSENT = object()
EXTRA = "extra/"  # the folder of the files of the caller
FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}


class _Damage(Exception):
    """A value that the format does not allow. `path` are the keys of the value, the innermost one first."""

    def __init__(self, text: str) -> None:
        self.text, self.path = text, list[Any]()


def instance_of(kind: type, name: str) -> Check:
    """Returns a check of the type of values."""

    def check(value: Any) -> None:
        if type(value) is not kind:
            raise _Damage(f"{name} is expected, not {show(value)}")

    return check


def show(value: Any) -> str:
    return f"{value!r:.60}" if isinstance(value, str | int | float | None) else "an object" if isinstance(value, dict) else "a list"


def check_integer(value: Any) -> None:
    if type(value) is not int or not fits(value):
        raise _Damage(f"an integer of 64 bits is expected, not {show(value)}")


def check_number(value: Any) -> None:
    """Raises _Damage unless a value is an int, a float or a string of a float, as infinities and NaN are."""
    try:
        if type(value) in (int, float, str):
            float(value)
            return
    except (ValueError, OverflowError):
        pass
    raise _Damage(f"a number is expected, not {show(value)}")


def check_name(value: Any) -> None:
    if type(value) is not str or not value:
        raise _Damage(f"a name is expected, not {show(value)}")


def accept_any(value: Any) -> None:
    """Accepts every value."""


def none_or(check: Check) -> Check:
    """Returns a check that also accepts None."""
    return lambda value: None if value is None else check(value)


def list_of(check: Check) -> Check:
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


def object_of(check: Check) -> Check:
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


def object_with(fields: dict[str, Check], defaults: dict[str, tuple[Check, Any]] | None = None) -> Check:
    """Returns a check of objects with `fields`, and possibly those of `defaults`, which are added unless they are ABSENT. Others are
    ignored."""
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


def union_of(kinds: dict[str, Check]) -> Check:
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


def member_of(known: Any, what: str) -> Check:
    """Returns a check of integers that are in `known`."""

    def check(value: Any) -> None:
        if type(value) is not int or value not in known:
            raise _Damage(f"{what} {show(value)} is unknown")

    return check


check_string, check_boolean = instance_of(str, "a string"), instance_of(bool, "true or false")
check_null = none_or(check_boolean)
check_dtype = member_of(EXPORTED, "the dtype")
check_named_value = object_with({"name": check_name})
check_device = object_with({"type": check_name}, {"index": (none_or(check_integer), None)})
check_sym_int, check_sym_float = (
    union_of({"as_name": check_name, "as_int": check_integer}),
    union_of({"as_name": check_name, "as_float": check_number}),
)
check_sym_bool = union_of({"as_name": check_name, "as_bool": check_boolean})
check_optional_tensor = union_of({"as_tensor": check_named_value, "as_none": check_null})


ARGUMENT_CHECKS: dict[str, Check] = {
    "as_none": check_null,
    "as_tensor": check_named_value,
    "as_tensors": list_of(check_named_value),
    "as_optional_tensor": check_optional_tensor,
    "as_optional_tensors": list_of(check_optional_tensor),
    "as_custom_obj": check_named_value,
    "as_token": check_named_value,
    "as_name": check_name,
    "as_int": check_integer,
    "as_ints": list_of(check_integer),
    "as_float": check_number,
    "as_floats": list_of(check_number),
    "as_bool": check_boolean,
    "as_bools": list_of(check_boolean),
    "as_string": check_string,
    "as_strings": list_of(check_string),
    "as_operator": check_string,
    "as_complex": object_with({"real": check_number, "imag": check_number}),
    "as_scalar_type": check_dtype,
    "as_memory_format": member_of(FORMATS, "the memory format"),
    "as_layout": check_integer,
    "as_device": check_device,
    "as_sym_int": check_sym_int,
    "as_sym_ints": list_of(check_sym_int),
    "as_sym_float": check_sym_float,
    "as_sym_floats": list_of(check_sym_float),
    "as_sym_bool": check_sym_bool,
    "as_sym_bools": list_of(check_sym_bool),
    "as_graph": object_with({"name": check_name, "graph": lambda value: check_graph(value)}),
}
check_argument = union_of(ARGUMENT_CHECKS)
check_node = object_with(
    {
        "target": check_name,
        "inputs": list_of(object_with({"name": check_string, "arg": check_argument}, {"kind": (none_or(check_integer), None)})),
        "outputs": list_of(check_argument),
    },
    {"metadata": (object_of(accept_any), dict), "name": (none_or(check_string), None)},
)


def value_or_expression(kind: str, check: Check) -> Check:
    hint = none_or(union_of({"as_int": check_integer, "as_float": check_number, "as_bool": check_boolean}))
    return union_of({kind: check, "as_expr": object_with({"expr_str": check_string}, {"hint": (hint, None)})})


check_size = value_or_expression("as_int", check_integer)
check_tensor_meta = object_with(
    {"dtype": check_dtype, "sizes": list_of(check_size), "strides": list_of(check_size)},
    {
        "requires_grad": (check_boolean, False),
        "storage_offset": (check_size, lambda: {"as_int": 0}),
        "layout": (check_integer, 7),
        "device": (check_device, lambda: {"type": "cpu", "index": None}),
    },
)
check_graph: Check = object_with(
    {
        "inputs": list_of(check_argument),
        "outputs": list_of(check_argument),
        "nodes": list_of(check_node),
        "tensor_values": object_of(check_tensor_meta),
    },
    {
        "sym_int_values": (object_of(check_size), dict),
        "sym_bool_values": (object_of(value_or_expression("as_bool", check_boolean)), dict),
        "sym_float_values": (object_of(value_or_expression("as_float", check_number)), dict),
    },
)
check_input_spec = union_of(
    {
        "user_input": object_with({"arg": check_argument}),
        "parameter": object_with({"arg": check_named_value, "parameter_name": check_name}),
        "buffer": object_with({"arg": check_named_value, "buffer_name": check_name}, {"persistent": (check_boolean, True)}),
        "tensor_constant": object_with({"arg": check_named_value, "tensor_constant_name": check_name}),
        "constant_input": object_with({"name": check_name, "value": check_argument}),
        "token": object_with({"arg": check_named_value}),
    }
)
check_output_spec = union_of(
    {
        "user_output": object_with({"arg": check_argument}),
        "loss_output": object_with({"arg": check_named_value}),
        "buffer_mutation": object_with({"arg": check_named_value, "buffer_name": check_name}),
        "parameter_mutation": object_with({"arg": check_named_value, "parameter_name": check_name}),
        "user_input_mutation": object_with({"arg": check_named_value, "user_input_name": check_name}),
        "token": object_with({"arg": check_named_value}),
    }
)
check_signature = object_with({"input_specs": list_of(check_input_spec), "output_specs": list_of(check_output_spec)})


def check_bounds(value: Any) -> None:
    object_with({}, {"min_val": (none_or(check_integer), None), "max_val": (none_or(check_integer), None)})(value)
    least, most = value["min_val"], value["max_val"]
    if least is not None and most is not None and least > most:
        raise _Damage(f"the range from {least} to {most} is empty")


check_model = object_with(
    {"graph_module": object_with({"graph": check_graph, "signature": check_signature})},
    {"range_constraints": (object_of(check_bounds), dict), "guards_code": (list_of(check_string), ABSENT)},
)


def check_encodable(value: Any) -> None:
    """Raises _Damage for a string that C and files cannot represent: one with a NUL or a surrogate."""
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= x <= "\udfff" for x in value)):
        raise _Damage(f"the string {value!a:.60} has a NUL or a part of a surrogate pair")
    if isinstance(value, dict):
        for key, item in value.items():
            check_encodable(key)
            check_encodable(item)
    elif isinstance(value, list):
        for item in value:
            check_encodable(item)


def read_model(data: bytes) -> dict[str, Any]:
    """Returns the JSON of a program, with fields that older versions of the format lack. Raises RuntimeError if it does not have the
    format."""
    try:
        text: dict[str, Any] = json.loads(data.decode())
        if b"\\u" in data:
            check_encodable(text)
        check_model(text)
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
