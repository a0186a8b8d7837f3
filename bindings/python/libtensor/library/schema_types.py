"""The types and alias sets of schemas, with the attributes of PyTorch's: str(type), kind() and getElementType()."""

from __future__ import annotations

import builtins
import re

__all__ = ["AliasInfo", "SchemaType"]

# The names and kinds of types whose kind is not their name and "Type".
KINDS = {"int": ("int", "IntType"), "SymInt": ("int", "SymIntType"), "float": ("float", "FloatType"), "SymFloat": ("float", "SymFloatType")}
KINDS |= {
    "bool": ("bool", "BoolType"),
    "SymBool": ("bool", "SymBoolType"),
    "str": ("str", "StringType"),
    "complex": ("complex", "ComplexType"),
}
KINDS |= {"Scalar": ("number", "NumberType"), "number": ("number", "NumberType"), "Device": ("Device", "DeviceObjType")}
KINDS |= {"Stream": ("Stream", "StreamObjType"), "NoneType": ("NoneType", "NoneType")}
# The types that `type` replaces; `real_type` keeps them.
REPLACED = {"ScalarType": "int", "Layout": "int", "MemoryFormat": "int", "SymInt": "int", "SymFloat": "float"}


class SchemaType:
    """The type of an argument or a result, by its text in a schema, such as `Tensor?[]`. Without `is_real` dtypes, layouts, memory
    formats and symbolic integers have the type int."""

    def __init__(self, text: str, is_real: bool = False) -> None:
        self._inner: SchemaType | None = None
        suffix = re.search(r"\?$|\[\d*\]$", text)
        if suffix is None:
            name = text if is_real else REPLACED.get(text, text)
            self._text, self._kind = KINDS.get(name, (name, f"{name}Type"))
        else:
            self._inner = SchemaType(text[: suffix.start()], is_real)
            name = "Optional" if suffix[0] == "?" else "List"
            self._text, self._kind = f"{name}[{self._inner}]", f"{name}Type"

    def __str__(self) -> builtins.str:
        return self._text

    __repr__ = str = __str__

    @property
    def annotation_str(self) -> builtins.str:
        """The type as in an annotation."""
        return self._text

    def kind(self) -> builtins.str:
        """Returns the name of the type's class in PyTorch, such as TensorType."""
        return self._kind

    def getElementType(self) -> SchemaType:
        """Returns the type of the items of a list, or of the value of an optional type. Raises AttributeError for other types."""
        if self._inner is None:
            raise AttributeError(f"'{self._kind}' object has no attribute 'getElementType'")
        return self._inner

    def containedTypes(self) -> list[SchemaType]:
        """Returns a list of the element type; an empty one for types that have none."""
        return [] if self._inner is None else [self._inner]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaType) and (self._text, self._kind) == (other._text, other._kind)

    def __hash__(self) -> int:
        return hash((self._text, self._kind))


class AliasInfo:
    """The alias sets of an argument or a result before and after the call, and whether the operator writes to it, by their text in a
    schema, such as `a!` or `a -> *`. Those of a list are empty, as in PyTorch, where they belong to its items."""

    def __init__(self, text: str, is_list: bool) -> None:
        before, _, after = text.replace("!", "").partition("->")
        self.text, self.is_write = text, "!" in text
        self.before_set = set() if is_list else set(before.strip().split("|"))
        self.after_set = set() if is_list else set((after or before).strip().split("|"))
