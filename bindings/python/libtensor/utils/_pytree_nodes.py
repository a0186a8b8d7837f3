"""The classes of containers that are nodes of trees: how each is flattened, restored and named in JSON, and the keys of its children."""

from __future__ import annotations

import collections
import dataclasses
import importlib as _importlib
import types
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from .._base.size import Size
from .._core.results import types as result_types

PyTree = Any
Context = Any
DumpableContext = Any
FlattenFn = Callable[[Any], "tuple[list[Any], Context]"]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
FlattenWithKeysFn = Callable[[Any], "tuple[list[tuple[Any, Any]], Any]"]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
FlattenFunc, UnflattenFunc, FlattenWithKeysFunc = FlattenFn, UnflattenFn, FlattenWithKeysFn
IsLeaf = Callable[[Any], bool]
FnAny = Callable[[Any], Any]

NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"
RESULTS = "torch.return_types."  # the beginning of the names of classes of results in files
DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
_NAMEDTUPLE: Any = collections.namedtuple  # represents all classes of named tuples


class KeyEntry(Protocol):
    """A step from a container to one of its children."""

    def get(self, parent: Any) -> Any:
        """Returns the child."""


KeyPath = tuple[KeyEntry, ...]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The step to an item of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[Any]) -> Any:
        """Returns the item."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The step to a value of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[Any, Any]) -> Any:
        """Returns the value."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The step to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Returns the attribute."""
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """The functions that flatten and unflatten a class of containers."""

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: FlattenWithKeysFn | None


class _SerializeNodeDef(NamedTuple):
    typ: Any
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a node without leaves whose value is part of the TreeSpec."""

    value: Any


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
BUILTIN_TYPES = frozenset(
    {tuple, list, dict, _NAMEDTUPLE, collections.OrderedDict, collections.defaultdict, collections.deque},
)
STANDARD_DICT_TYPES = frozenset({dict, collections.OrderedDict, collections.defaultdict})


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Registers `cls` as a node of trees. `flatten_fn(x)` returns a list of children and a context; `unflatten_fn(children, context)`
    returns the instance again. `flatten_with_keys_fn` returns (key, child) pairs instead of children.

    `serialized_type_name` names the class in `treespec_dumps`; the functions of contexts convert contexts to and from JSON values. Raises
    ValueError for a class that is registered, and if only one of these two functions is given.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _private_register_pytree_node(
    cls: Any,
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    if cls in SUPPORTED_NODES:
        warnings.warn(f"{cls} is already registered as pytree node. Overwriting the previous registration.", stacklevel=3)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    if serialized_type_name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Makes instances of `cls` leaves again."""
    del SUPPORTED_NODES[cls]
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name, None)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Registers a dataclass as a node. Children are the values of `field_names`, by default all fields that `__init__` takes; fields that
    are None are omitted. `drop_field_names` are restored from their defaults. Raises ValueError for other classes and fields.
    """
    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a dataclass.")
        field_names = [field.name for field in dataclasses.fields(cls) if field.init]
    dropped = set(drop_field_names or ())
    if dataclasses.is_dataclass(cls):
        taken = {field.name for field in dataclasses.fields(cls) if field.init}
        if taken != set(field_names) | dropped:
            raise ValueError(
                f"register_dataclass: the fields of {cls} are {sorted(taken)}, but field_names and drop_field_names are "
                f"{sorted(set(field_names) | dropped)}"
            )
    names = [name for name in field_names if name not in dropped]

    def flatten(x: Any) -> tuple[list[Any], Any]:
        given = [name for name in names if getattr(x, name) is not None]
        return [getattr(x, name) for name in given], [given, [name for name in names if name not in given]]

    def flatten_with_keys(x: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = flatten(x)
        return [(GetAttrKey(name), child) for name, child in zip(context[0], children, strict=True)], context

    def unflatten(children: Iterable[Any], context: Any) -> Any:
        return cls(**dict(zip(context[0], children, strict=True)), **dict.fromkeys(context[1]))

    _private_register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )  # fmt: skip


def register_constant(cls: type[Any]) -> None:
    """Makes instances of `cls`, which must be hashable, parts of the TreeSpec instead of leaves."""
    _private_register_pytree_node(
        cls,
        lambda x: ([], ConstantNode(x)),
        lambda children, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Returns whether instances of `cls` are parts of the TreeSpec."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def is_namedtuple_class(cls: type) -> bool:
    """Returns whether `cls` is a class of named tuples."""
    if not isinstance(cls, type) or not issubclass(cls, tuple) or is_structseq_class(cls):
        return False
    return isinstance(getattr(cls, "_fields", None), tuple) and callable(getattr(cls, "_make", None))


def is_namedtuple_instance(obj: object) -> bool:
    """Returns whether `obj` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: Any) -> bool:
    """Returns whether `obj` is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq_class(cls: type) -> bool:
    """Returns whether `cls` is a class of results with named fields, such as that of `max`, or of Python's structures, such as
    `time.struct_time`."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "n_sequence_fields", None), int)


def is_structseq_instance(obj: object) -> bool:
    """Returns whether `obj` is a result with named fields."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Returns whether `obj` is a result with named fields or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree: Any) -> Any:
    """Returns the class under which a node is registered, the class itself for leaves."""
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if is_structseq_class(kind):
        register_results(kind)
        return kind
    return _NAMEDTUPLE if is_namedtuple_class(kind) else kind


def register_results(kind: Any) -> None:
    """Registers a class of results, each of which has its node type, at its first use. Its name in files is that in PyTorch."""
    name = f"{RESULTS}{kind.__name__}" if result_types.get(kind.__name__) is kind else None
    unflatten: UnflattenFn = lambda values, context: kind(list(values))  # noqa: E731
    _private_register_pytree_node(
        kind, _tuple_flatten, unflatten, serialized_type_name=name, flatten_with_keys_fn=_sequence_flatten_with_keys
    )


def find_serialized(name: str) -> Any:
    """Returns the class of a name in files; None for one that is not registered. PyTorch has other classes of results that were written to
    `out`."""
    if name.startswith(RESULTS):
        name = name.removesuffix("_out")
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE and name.startswith(RESULTS):
        _importlib.import_module("..linalg", __package__)  # which registers its classes when it is imported
        kind = result_types.get(name.removeprefix(RESULTS))
        if kind is not None:
            register_results(kind)
    return SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name)


def _tuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), None


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:
    return tuple(values)


def _sequence_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    values, context = SUPPORTED_NODES[_get_node_type(d)].flatten_fn(d)
    return [(SequenceKey(i), value) for i, value in enumerate(values)], context


_tuple_flatten_with_keys = _list_flatten_with_keys = _deque_flatten_with_keys = _sequence_flatten_with_keys
_list_flatten = _tuple_flatten


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:
    return list(values)


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _mapping_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Context]:
    values, context = SUPPORTED_NODES[type(d)].flatten_fn(d)
    return [(MappingKey(key), value) for key, value in zip(d, values, strict=True)], context


_dict_flatten_with_keys = _ordereddict_flatten_with_keys = _defaultdict_flatten_with_keys = _mapping_flatten_with_keys


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


_ordereddict_flatten = _odict_flatten = _dict_flatten


def _ordereddict_unflatten(values: Iterable[Any], context: Context) -> Any:
    return collections.OrderedDict(zip(context, values, strict=True))


_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values: Iterable[Any], context: Context) -> Any:
    return collections.defaultdict(context[0], zip(context[1], values, strict=True))


def _class_name(cls: Any) -> Any:
    return cls and f"{cls.__module__}.{cls.__qualname__}"


def _class_of(name: Any) -> Any:
    """Returns the class of a name with its module."""
    if name is None:
        return None
    module, _, attribute = name.rpartition(".")
    return getattr(_importlib.import_module(module), attribute)


def _defaultdict_serialize(context: Context) -> DumpableContext:
    return {"default_factory_module": context[0].__module__, "default_factory_name": context[0].__qualname__, "dict_context": context[1]}


def _defaultdict_deserialize(dumped: DumpableContext) -> Context:
    return [_class_of(f"{dumped['default_factory_module']}.{dumped['default_factory_name']}"), dumped["dict_context"]]


def _deque_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), d.maxlen


def _deque_unflatten(values: Iterable[Any], context: Context) -> Any:
    return collections.deque(values, maxlen=context)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Context]:
    return [(GetAttrKey(name), value) for name, value in zip(d._fields, d, strict=True)], type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _namedtuple_serialize(context: Context) -> DumpableContext:
    if (
        context not in SUPPORTED_SERIALIZED_TYPES
        or SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND
    ):
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a serialized_type_name. Please register "
            "using "
            "`_register_namedtuple`."
        )
    return SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name


def _namedtuple_deserialize(dumped: DumpableContext) -> Context:
    if dumped not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Can't deserialize TreeSpec of namedtuple class {dumped} because we couldn't find a serialized name.")
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumped]


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Names a class of named tuples in `treespec_dumps`."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


_NAMED = _namedtuple_serialize, _namedtuple_deserialize
_DEFAULT = _defaultdict_serialize, _defaultdict_deserialize

for _cls, _apart, _unflatten, _with_keys, _name, _to, _from in (
    (tuple, _tuple_flatten, _tuple_unflatten, _sequence_flatten_with_keys, "builtins.tuple", None, None),
    (list, _list_flatten, _list_unflatten, _sequence_flatten_with_keys, "builtins.list", None, None),
    (dict, _dict_flatten, _dict_unflatten, _mapping_flatten_with_keys, "builtins.dict", None, None),
    (_NAMEDTUPLE, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys, "collections.namedtuple", *_NAMED),
    (collections.OrderedDict, _ordereddict_flatten, _ordereddict_unflatten, _dict_flatten_with_keys, "collections.OrderedDict", None, None),
    (collections.defaultdict, _defaultdict_flatten, _defaultdict_unflatten, _dict_flatten_with_keys, "collections.defaultdict", *_DEFAULT),
    (collections.deque, _deque_flatten, _deque_unflatten, _sequence_flatten_with_keys, "collections.deque", None, None),
    (Size, _tuple_flatten, lambda values, context: Size(values), _sequence_flatten_with_keys, "torch.Size", None, None),
):  # fmt: skip
    _private_register_pytree_node(
        _cls,
        _apart,
        _unflatten,
        serialized_type_name=_name,
        to_dumpable_context=_to,
        from_dumpable_context=_from,
        flatten_with_keys_fn=_with_keys,
    )


for _made in list(vars().values()):
    if isinstance(_made, (type, types.FunctionType)) and _made.__module__ == __name__:
        _made.__module__ = __name__.removesuffix("_nodes")  # the name in files
