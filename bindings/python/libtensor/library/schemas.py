"""Schemas of custom operators: how they are inferred from annotations, parsed, and what arguments fit them."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._base.device import device as _device
from .._base.dtypes import EXPORTED
from .._base.dtypes import dtype as _dtype
from .._core.tensor import Tensor
from .schema_types import AliasInfo, SchemaType

__all__ = ["Argument", "Schema", "describe_result", "infer_schema"]

SCALARS: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    _dtype: "ScalarType",
    _device: "Device",
}
RETURNS = {"Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"}
# The types of a schema, without list and optional suffixes.
TYPES = frozenset(
    ("Tensor", "int", "SymInt", "float", "SymFloat", "bool", "SymBool", "complex", "number", "Scalar", "str", "ScalarType", "Layout")
)
TYPES |= {
    "MemoryFormat",
    "Device",
    "Generator",
    "Dimname",
    "Storage",
    "Stream",
    "QScheme",
    "Any",
    "ConstQuantizerPtr",
    "DeviceIndex",
    "NoneType",
}
ALIAS = r"[\w|]+!?(?:\s*->\s*[\w*|]+)?"  # alias sets
NAME = r"([A-Za-z_]\w*::)?[A-Za-z_]\w*(\.\w+)?"
KINDS: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "int": (int,),
    "SymInt": (int,),
    "float": (float, int),
    "bool": (bool, int),
    "str": (str,),
}
KINDS |= {"ScalarType": (_dtype, int), "Device": (_device, str), "Scalar": (int, float, bool, complex)}
LITERALS = frozenset(("int", "SymInt", "float", "bool", "Scalar", "str"))  # the types whose defaults are numbers or strings in quotes
DTYPES = {str(d).removeprefix("torch."): d for d in EXPORTED.values()}
NUMBERS: dict[str, type] = {"int": int, "SymInt": int, "float": float, "bool": bool}


class Argument:
    """An argument or a result of a schema, of the type whose text is `kind`. `alias_info` is None where the schema names no alias set."""

    def __init__(self, name: str, kind: str, alias: str | None, default: str | None = None, kwarg_only: bool = False) -> None:
        self.name, self.kind, self.kwarg_only, self.default_text = name, kind, kwarg_only, default
        self.alias_info = None if alias is None else AliasInfo(alias, kind.endswith("]"))
        size = re.search(r"\[(\d+)\]\??$", kind)
        self.N = int(size[1]) if size else None
        value = _parse_default(default)
        if kind.startswith("ScalarType"):
            value = DTYPES.get(value, value)
        self.default_value = [value] * self.N if self.N and value is not None and not isinstance(value, list) else value

    def __str__(self) -> str:
        kind = self.kind if self.alias_info is None else re.sub(r"^\w+", rf"\g<0>({self.alias_info.text})", self.kind)
        default = "" if self.default_text is None else f"={_format_default(_parse_default(self.default_text), self.default_text)}"
        return f"{kind} {self.name}{default}".rstrip()

    @functools.cached_property
    def type(self) -> SchemaType:
        """The type. Dtypes, layouts and memory formats are integers."""
        return SchemaType(self.kind)

    @functools.cached_property
    def real_type(self) -> SchemaType:
        """The type as in the schema."""
        return SchemaType(self.kind, is_real=True)

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to the argument."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        """Whether the argument is a tensor for a result, such as `out`."""
        return self.kwarg_only and self.is_write

    def has_default_value(self) -> bool:
        """Returns whether the argument can be omitted."""
        return self.default_text is not None

    def accepts(self, value: Any) -> bool:
        """Returns whether a value is of the argument's type."""
        return _fits(self.kind, value)


def _fits(kind: str, value: Any) -> bool:
    if kind.endswith("?"):
        return value is None or _fits(kind[:-1], value)
    if kind.endswith("]"):
        inner, _, size = kind[:-1].rpartition("[")
        if size and _fits(inner, value):
            return True
        return isinstance(value, list | tuple) and all(_fits(inner, item) for item in value)
    expected = KINDS.get(kind)
    if expected is None or kind == "Any":
        return True
    if kind in ("int", "SymInt") and isinstance(value, bool):
        return True
    return isinstance(value, expected)


class Schema:
    """The signature of an operator, by its text, such as `ns::add.overload(Tensor x, int k=1) -> Tensor`. `overload_name` is empty for
    `default`.

    Raises RuntimeError for text that is no schema."""

    def __init__(self, text: str) -> None:
        found = re.fullmatch(r"\s*([\w:.]*)\s*\((.*)\)\s*->\s*(\S.*?)\s*", text, re.S)
        if found is None:
            raise RuntimeError(f"schema: expected 'name(arguments) -> results', but got {text!r}")
        given, returned = found[2], found[3]
        if not re.fullmatch(NAME, found[1]):
            raise RuntimeError(f"schema: the name of an operator consists of letters, digits and _, and begins with no digit: {found[1]!r}")
        self.name: str = found[1].partition(".")[0]
        self.overload_name: str = found[1].partition(".")[2]
        self.arguments: list[Argument] = []
        kwarg_only = False
        for item in _split(given):
            if item == "*":
                kwarg_only = True
                continue
            self.arguments.append(_argument(item, kwarg_only, text))
        self.is_tuple = returned.startswith("(") and returned.endswith(")")
        self.returns = [_result(item, text) for item in _split(returned[1:-1] if self.is_tuple else returned)]
        self.result_kinds = [result.kind for result in self.returns]
        self.returns_list = self.result_kinds == ["Tensor[]"]

    def __str__(self) -> str:
        return self.full_name + self.signature()

    def __repr__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def full_name(self) -> str:
        """The name with its overload, such as `ns::op.overload`."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    def signature(self) -> str:
        """Returns the schema without the name."""
        items: list[str] = []
        for a in self.arguments:
            if a.kwarg_only and "*" not in items:
                items.append("*")
            items.append(str(a))
        returned = ", ".join(map(str, self.returns))
        return f"({', '.join(items)}) -> {f'({returned})' if self.is_tuple else returned}"

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes to an argument."""
        return any(a.is_write for a in self.arguments)

    def convert_results(self, function: str, made: Any) -> Any:
        """Returns the results of a function in the types of the schema: several in a tuple, a list of tensors as a list, and 0-dim tensors
        and NumPy scalars as numbers where the schema has numbers.

        Raises RuntimeError, in the name of the function, for results of another number or type."""
        kinds = self.result_kinds
        if not kinds and made is not None:
            raise RuntimeError(f"{function} must return None, but returned {describe_result(made)}")
        if len(kinds) < 2:
            return _convert_result(function, kinds[0], made, "") if kinds else None
        required = f"a tuple of {len(kinds)} values ({', '.join(map(_readable, kinds))})"
        if not isinstance(made, list | tuple) or len(made) != len(kinds):
            raise RuntimeError(f"{function} must return {required}, but returned {describe_result(made)}")
        return tuple(
            [_convert_result(function, kind, value, f" as result {i}") for i, (kind, value) in enumerate(zip(kinds, made, strict=True))]
        )

    def bind(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Returns a value for each argument. Raises RuntimeError, in the name of an operator, for missing, surplus and unfit values."""
        declaration = f"Declaration: {name}{self.signature()}"
        positional = [a for a in self.arguments if not a.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{name}() expected at most {len(positional)} argument(s) but received {len(args) + len(kwargs)} argument(s). {declaration}"
            )
        values = []
        left = dict(kwargs)
        for i, a in enumerate(self.arguments):
            if i < len(args) and not a.kwarg_only:
                if a.name in left:
                    raise RuntimeError(f"{name}() received a value for argument '{a.name}' by position and by name. {declaration}")
                value = args[i]
            elif a.name in left:
                value = left.pop(a.name)
            elif a.has_default_value():
                value = a.default_value
            else:
                raise RuntimeError(f"{name}() is missing value for argument '{a.name}'. {declaration}")
            if not a.accepts(value):
                raise RuntimeError(
                    f"{name}() Expected a value of type '{_readable(a.kind)}' for argument '{a.name}' but instead found "
                    f"type '{type(value).__name__}'.\n"
                    f"Position: {i}\nValue: "
                    f"{value!r}\n{declaration}"
                )
            values.append(value)
        if left:
            raise RuntimeError(f"Unknown keyword argument '{next(iter(left))}' for operator '{name}'. {declaration}")
        return values


class _UnfitResult(Exception):
    """A result has another type than its schema."""


def _convert(kind: str, value: Any) -> Any:
    """Returns a result in the type of its schema. Raises _UnfitResult for values of other types."""
    if kind.endswith("?"):
        return None if value is None else _convert(kind[:-1], value)
    if kind.endswith("]"):
        if not isinstance(value, list | tuple):
            raise _UnfitResult
        return [_convert(kind[: kind.rindex("[")], item) for item in value]
    number = NUMBERS.get(kind)
    if number is not None and getattr(value, "shape", None) == ():
        value = value.item()
    expected = KINDS.get(kind)
    is_huge = kind in ("int", "SymInt", "Scalar") and isinstance(value, int) and not -(2**63) <= value < 2**63
    if is_huge or expected is not None and not isinstance(value, expected):
        raise _UnfitResult
    return value if number is None else number(value)


def _convert_result(function: str, kind: str, value: Any, place: str) -> Any:
    if type(value) is Tensor and kind == "Tensor":
        return value
    try:
        return _convert(kind, value)
    except _UnfitResult:
        raise RuntimeError(
            f"{function} must return a value of type '{_readable(kind)}'{place}, but returned {describe_result(value)}"
        ) from None


def describe_result(value: Any) -> str:
    """Returns what a function has returned, for errors."""
    if isinstance(value, Tensor):
        return f"a tensor of dtype {str(value.dtype).removeprefix('torch.')} and shape {list(value.shape)}"
    if isinstance(value, list | tuple):
        types = ", ".join(type(item).__name__ for item in value[:8]) + (", ..." if len(value) > 8 else "")
        return (
            f"a {type(value).__name__} of {len(value)} value{'s' * (len(value) != 1)} ({types})"
            if value
            else f"an empty {type(value).__name__}"
        )
    if isinstance(value, int | float | complex | str):
        return f"the {type(value).__name__} {value!r}" if len(repr(value)) < 60 else f"a {type(value).__name__}"
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _readable(kind: str) -> str:
    if kind.endswith("?"):
        return f"Optional[{_readable(kind[:-1])}]"
    if kind.endswith("]"):
        return f"List[{_readable(kind[: kind.rindex('[')])}]"
    return kind.replace("SymInt", "int")


def _split(text: str) -> list[str]:
    """The items of a list with commas between, but for those in brackets and quotes."""
    items, depth, current, quote = [], 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        if c == "," and depth == 0 and not quote:
            items.append(current.strip())
            current = ""
        else:
            current += c
    return [item for item in [*items, current.strip()] if item]


def _check_type(kind: str, place: str, schema: str) -> None:
    if kind not in TYPES and not kind.startswith("__torch__"):
        raise RuntimeError(
            f"schema: unknown type specifier {kind!r} of {place} in {schema!r}; types are Tensor, SymInt, int, float, bool, Scalar, str, "
            "ScalarType, Layout, MemoryFormat, Device, Generator, lists such as int[] and optional ones such as Tensor?"
        )


def _argument(item: str, kwarg_only: bool, schema: str) -> Argument:
    found = re.fullmatch(rf"([A-Za-z]\w*)(?:\(({ALIAS})\))?([\[\]\d?]*)\s+([A-Za-z_]\w*)(?:\s*=\s*(.+))?", item, re.S)
    if found is None:
        raise RuntimeError(f"schema: cannot parse the argument {item!r} of {schema!r}; expected 'type name' or 'type name=default'")
    base, alias, suffix, name, default = found.groups()
    _check_type(base, f"the argument {name!r}", schema)
    value = _parse_default(default)
    if default is not None and not _is_default(base, suffix, default, value):
        raise RuntimeError(f"schema: the default {default} of the argument {name!r} does not have the type {base + suffix}, in {schema!r}")
    for x in value if isinstance(value, list) else [value]:
        if isinstance(x, int) and not -(2**63) <= x < 2**63 and base not in ("float", "complex"):
            raise RuntimeError(f"schema: the default {x} of the argument {name!r} must be from -2**63 to 2**63 - 1, in {schema!r}")
    return Argument(name, base + suffix, alias, default, kwarg_only)


def _result(item: str, schema: str) -> Argument:
    found = re.fullmatch(rf"([A-Za-z_][\w.]*)(?:\(({ALIAS})\))?([\[\]\d?]*)(?:\s+([A-Za-z_]\w*))?", item, re.S)
    if found is None:
        raise RuntimeError(f"schema: cannot parse the result {item!r} of {schema!r}; expected 'type' or 'type name'")
    base, alias, suffix, name = found.groups()
    _check_type(base, "a result", schema)
    return Argument(name or "", base + suffix, alias)


def _parse_default(text: str | None) -> Any:
    if text is None or text == "None":
        return None
    if text in ("True", "False"):
        return text == "True"
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return [_parse_default(item) for item in _split(text[1:-1])]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _is_default(base: str, suffix: str, text: str, value: Any) -> bool:
    """Returns whether a default, with its value, is a number or a string in quotes, or a list of these for a list. Other types are not
    checked."""
    if base not in LITERALS:
        return True
    if isinstance(value, list):
        return "[" in suffix and all(_is_default(base, "", item, x) for item, x in zip(_split(text[1:-1]), value, strict=True))
    return type(value) is not str or text[0] in "\"'"


def _format_default(value: Any, text: str) -> str:
    """Returns a default as in PyTorch's schemas: floats with 17 digits and a decimal point, strings in double quotes. Names are as
    given."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_format_default, value, _split(text[1:-1]))) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if text[0] in "\"'" else text
    if isinstance(value, float):
        shown = f"{value:.17g}"
        return shown if re.search(r"[.en]", shown) else shown + "."
    return str(value)


def _type_text(annotation: Any) -> str | None:
    """The type in a schema for an annotation, None if there is none."""
    if annotation in SCALARS:
        return SCALARS[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        if set(args) == {int, float, bool}:
            return "Scalar"
        rest = [a for a in args if a is not type(None)]
        if len(rest) < len(args):
            inner = _type_text(functools.reduce(operator.or_, rest))
            return None if inner is None else inner + "?"
        return None
    if origin in (list, collections.abc.Sequence) and len(args) == 1:
        inner = _type_text(args[0])
        return None if inner is None or inner.endswith("]") else inner + "[]"
    return None


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None, tags: Any = ()
) -> str:
    """Returns the schema of a function with annotations: `mutates_args` are the names of the arguments that it writes to, or "unknown" for
    all.

    Raises ValueError for parameters and results without annotations or of types that schemas do not have.

    >>> def scale(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    hints = _hints(prototype_function)
    signature = inspect.signature(prototype_function)

    def fail(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    written = {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
    everything = written == {"unknown"}
    items: list[str] = []
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if p.kind is p.KEYWORD_ONLY and "*" not in items:
            items.append("*")
        if p.annotation is p.empty:
            fail(f"Parameter {name} must have a type annotation.")
        kind = _type_text(hints[name])
        if kind is None:
            fail(
                f"Parameter {name} has unsupported type {hints[name]}. The valid types are: Tensor, int, float, bool, str, dtype, device, "
                "int | float | bool, and Optional, list and Sequence of these."
            )
        if everything and kind.startswith("Tensor") or name in written:
            if not kind.startswith("Tensor"):
                fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            kind = f"Tensor(a{i}!)" + kind.removeprefix("Tensor")
        default = ""
        if p.default is not p.empty:
            if p.default is not None and not isinstance(p.default, int | float | bool | str | _dtype | _device):
                fail(f"Parameter {name} has an unsupported default value type {type(p.default)}.")
            text = str(p.default).removeprefix("torch.") if isinstance(p.default, _dtype) else p.default
            if isinstance(text, str) and ('"' in text or "\\" in text):
                fail(f"Parameter {name} has a default value with a quote or a backslash, which schemas cannot have.")
            default = "=" + (f'"{text}"' if isinstance(p.default, str | _device) else str(text))
        items.append(f"{kind} {name}{default}")
    unknown = set() if everything else written - set(signature.parameters)
    if unknown:
        fail(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of all args "
            "that "
            f"the custom op mutates, or just the string 'unknown' if you don't "
            f"know."
        )
    if signature.return_annotation is signature.empty:
        fail("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(items)}) -> {_return_text(hints.get('return'), fail)}"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    names = {"Tensor": Tensor, **getattr(function, "__globals__", {})}
    return {
        name: eval(value, names) if isinstance(value, str) else value for name, value in getattr(function, "__annotations__", {}).items()
    }


def _return_text(annotation: Any, fail: Callable[[str], typing.NoReturn]) -> str:
    if annotation is None:
        return "()"
    if typing.get_origin(annotation) is tuple:
        return "(" + ", ".join(_return_text(a, fail) for a in typing.get_args(annotation)) + ")"
    kind = _type_text(annotation)
    if kind not in RETURNS:
        fail(
            f"Return has unsupported type {annotation}. The valid types are: Tensor, list[Tensor], int, float, bool and int | float | bool."
        )
    return str(kind)
