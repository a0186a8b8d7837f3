"""Trees of containers: nested lists, tuples, dictionaries and registered classes, flattened to their leaves and a TreeSpec that restores
them."""

from __future__ import annotations

import collections
import functools
import json
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ._pytree_nodes import (  # noqa: F401
    _NAMEDTUPLE,
    BUILTIN_TYPES,
    CONSTANT_NODES,
    DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    ConstantNode,
    Context,
    DumpableContext,
    FlattenFn,
    FlattenFunc,
    FlattenWithKeysFn,
    FlattenWithKeysFunc,
    FnAny,
    FromDumpableContextFn,
    GetAttrKey,
    IsLeaf,
    KeyEntry,
    KeyPath,
    MappingKey,
    NodeDef,
    PyTree,
    SequenceKey,
    ToDumpableContextFn,
    UnflattenFn,
    UnflattenFunc,
    _class_name,
    _class_of,
    _defaultdict_deserialize,
    _defaultdict_flatten,
    _defaultdict_flatten_with_keys,
    _defaultdict_serialize,
    _defaultdict_unflatten,
    _deque_flatten,
    _deque_flatten_with_keys,
    _deque_unflatten,
    _deregister_pytree_node,
    _dict_flatten,
    _dict_flatten_with_keys,
    _dict_unflatten,
    _get_node_type,
    _is_namedtuple_instance,
    _list_flatten,
    _list_flatten_with_keys,
    _list_unflatten,
    _mapping_flatten_with_keys,
    _namedtuple_deserialize,
    _namedtuple_flatten,
    _namedtuple_flatten_with_keys,
    _namedtuple_serialize,
    _namedtuple_unflatten,
    _odict_flatten,
    _odict_unflatten,
    _ordereddict_flatten,
    _ordereddict_flatten_with_keys,
    _ordereddict_unflatten,
    _private_register_pytree_node,
    _register_namedtuple,
    _sequence_flatten_with_keys,
    _SerializeNodeDef,
    _tuple_flatten,
    _tuple_flatten_with_keys,
    _tuple_unflatten,
    find_serialized,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    register_constant,
    register_dataclass,
    register_pytree_node,
)

__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "LeafSpec",
    "PyTree",
    "PyTreeSpec",
    "ToDumpableContextFn",
    "TreeSpec",
]
__all__ += [
    "UnflattenFn",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
]
__all__ += [
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
]
__all__ += [
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]


def _register_pytree_node(cls: type[Any], flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *unused: Any, **kwargs: Any) -> None:
    """The earlier name of register_pytree_node, which replaces an existing registration."""
    warnings.warn(f"`{__name__}._register_pytree_node` is deprecated; use `register_pytree_node`.", FutureWarning, stacklevel=2)
    kwargs.pop("to_str_fn", None), kwargs.pop("maybe_from_str_fn", None)
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether `tree` is a leaf: no container, or one for which `is_leaf` is true.

    >>> torch.utils._pytree.tree_is_leaf([])
    False
    """
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


class TreeSpec:
    """The structure of a tree without its leaves: the class of each node, its context, and the specs of its children."""

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    num_children: int
    num_leaves: int
    num_nodes: int

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type, self._context, self._children = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in children_specs)

    @property
    def context(self) -> Context:
        """The context of the root."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The specs of the children; `children()` returns them too."""
        return self._children

    def is_leaf(self) -> bool:
        """Returns whether this is the spec of a leaf."""
        return self.num_nodes == 1 and self.num_leaves == 1

    def children(self) -> list[TreeSpec]:
        """Returns the specs of the children."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """Returns the spec of a child."""
        return self._children[index]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type == other.type and self._context == other._context and self._children == other._children

    def __hash__(self) -> int:
        context = tuple(self._context) if self.type in (dict, collections.OrderedDict) else None
        if self.type is _NAMEDTUPLE:
            context = self._context
        return hash((self.type, context, tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        children = [child.__repr__(indent + 2) for child in self._children]
        separator = ",\n" + " " * (indent + 2)
        return f"TreeSpec({self.type.__name__}, {self._context!r}, [{separator.join(children)}])"

    def __getstate__(self) -> tuple[Any, ...]:
        return self.type, self._context, self._children

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        TreeSpec.__init__(self, *state)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Returns the tree with other leaves. Raises ValueError for more or fewer than the tree has."""
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(values)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items "
                f"({self})."
            )
        return self._build(iter(values))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([child._build(leaves) for child in self._children], self._context)

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """Returns the parts of `tree` at the leaves of this spec. Raises ValueError for a tree of another structure above them."""
        parts: list[PyTree] = []
        self._collect(tree, parts)
        return parts

    def _collect(self, tree: PyTree, parts: list[PyTree]) -> None:
        if self.type is None:
            parts.append(tree)
            return
        for child, part in zip(self._children, self._children_of(tree), strict=True):
            child._collect(part, parts)

    def _children_of(self, tree: PyTree) -> list[PyTree]:
        kind = _get_node_type(tree)
        if kind != self.type and not (kind in STANDARD_DICT_TYPES and self.type in STANDARD_DICT_TYPES):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if kind in STANDARD_DICT_TYPES:
            keys = self._context[1] if self.type is collections.defaultdict else self._context
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch; missing key(s): {set(keys) - set(tree)}; extra key(s): {set(tree) - set(keys)}.")
            return [tree[key] for key in keys]
        if context != self._context and kind is not collections.deque:
            raise ValueError(f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got {context!r}.")
        return children


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF_SPEC = LeafSpec()


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf | None) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else _get_node_type(tree)
    if kind not in SUPPORTED_NODES:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeSpec]:
    """Returns the leaves of a tree and its TreeSpec. None is a leaf.

    >>> torch.utils._pytree.tree_flatten({"a": [1, 2], "b": 3})[0]
    [1, 2, 3]
    """
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Returns the tree of a TreeSpec with the given leaves. Raises TypeError if `treespec` is not a TreeSpec, ValueError for a wrong number
    of leaves.

    >>> leaves, spec = torch.utils._pytree.tree_flatten((1, [2]))
    >>> torch.utils._pytree.tree_unflatten(["x", "y"], spec)
    ('x', ['y'])
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf | None = None) -> Iterator[Any]:
    """Returns an iterator over the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Returns the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> TreeSpec:
    """Returns the TreeSpec of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Returns the leaves of all arguments."""
    return [leaf for arg in (*args, *kwargs.values()) for leaf in tree_leaves(arg)]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Returns the tree whose leaves are `func` of the leaves of `tree` and of the parts of the other trees at the same positions.

    >>> torch.utils._pytree.tree_map(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)})
    {'x': 11, 'y': (22,)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(func(*row) for row in zip(*columns, strict=True))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Calls `func` for the leaves as tree_map does, and returns `tree`."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for row in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests), strict=True):
        func(*row)
    return tree


def _predicate(of: Any) -> IsLeaf:
    if isinstance(of, (type, tuple, types.UnionType)):
        return lambda x: isinstance(x, of)
    if callable(of):
        return of  # type: ignore[no-any-return]
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[FnAny], FnAny]:
    """Returns a decorator for functions of leaves, which then return leaves of other types, or for which the predicate is False,
    unchanged."""
    applies = _predicate(type_or_types_or_pred)

    def wrap(func: FnAny) -> FnAny:
        @functools.wraps(func)
        def mapped(x: Any) -> Any:
            return func(x) if applies(x) else x

        return mapped

    return wrap


def tree_map_only(type_or_types_or_pred: Any, /, func: FnAny, tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Returns the tree with `func` of the leaves of the given type, or types, or for which the given predicate is true.

    >>> torch.utils._pytree.tree_map_only(int, lambda x: -x, [1, "a"])
    [-1, 'a']
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: FnAny, tree: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Calls `func` for the leaves that tree_map_only replaces, and returns `tree`."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: IsLeaf, tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether `pred` is true for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: IsLeaf, tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether `pred` is true for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: IsLeaf, tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether `pred` is true for all leaves of a type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: IsLeaf, tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Returns whether `pred` is true for a leaf of a type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf | None = None) -> list[Any] | None:
    """Returns a leaf of `tree` for each leaf of `treespec`, whose structure may be finer: a leaf is repeated for all leaves below it. None
    if the structures do not match.
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _get_node_type(tree)
    if treespec.is_leaf() or kind != treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [_broadcast_to_and_flatten(child, spec, is_leaf) for child, spec in zip(children, treespec.children(), strict=True)]
    return None if None in parts else [leaf for part in parts for leaf in part or ()]


def _key_paths(path: KeyPath, tree: PyTree, is_leaf: IsLeaf | None) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        yield from _key_paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[tuple[KeyPath, Any]]:
    """Returns the path and the value of each leaf."""
    return list(_key_paths((), tree, is_leaf))


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Returns the path and the value of each leaf, and the TreeSpec. Raises ValueError for nodes that were registered without keys.

    >>> (path, value), *_ = torch.utils._pytree.tree_flatten_with_path({"a": [7]})[0]
    >>> torch.utils._pytree.keystr(path), value
    ("['a'][0]", 7)
    """
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Returns the tree with `func` of the path and the value of each leaf, and of the parts of other trees at the same positions."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[path for path, _ in found], [value for _, value in found], *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(func(*row) for row in zip(*columns, strict=True))


def keystr(kp: KeyPath) -> str:
    """Returns the Python expression of a path."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Returns the part of a tree at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Returns a TreeSpec as JSON. Raises NotImplementedError for classes without a serialized_type_name, ValueError for an unknown
    protocol.

    >>> spec = torch.utils._pytree.tree_structure([1, (2,)])
    >>> torch.utils._pytree.treespec_loads(torch.utils._pytree.treespec_dumps(spec)) == spec
    True
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of PyTreeSpec but got item of type {type(treespec)}."
        )
    _check_protocol(DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol)
    return json.dumps([DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL, _to_schema(treespec)])


def _check_protocol(protocol: Any) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]")


def _to_schema(spec: TreeSpec) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None or known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` "
            "kwarg."
        )
    if known.to_dumpable_context is not None:
        context = known.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer."
            ) from error
    return {"type": known.serialized_type_name, "context": context, "children_spec": [_to_schema(child) for child in spec.children()]}


def treespec_loads(serialized: str) -> TreeSpec:
    """Returns the TreeSpec of JSON. Raises NotImplementedError for classes that are not registered, ValueError for an unknown protocol."""
    protocol, schema = json.loads(serialized)
    _check_protocol(protocol)
    return _of_schema(schema)


def _of_schema(schema: Any) -> TreeSpec:
    name = schema["type"]
    if name is None:
        return _LEAF_SPEC
    cls = find_serialized(name)
    if cls is None:
        raise NotImplementedError(
            f"Deserializing {name} in pytree failed because the serialized type is not registered in this process; import the package that "
            "registers it, or call register_pytree_node with that serialized_type_name."
        )
    known = SUPPORTED_SERIALIZED_TYPES[cls]
    context = json.loads(schema["context"]) if known.from_dumpable_context is None else known.from_dumpable_context(schema["context"])
    return TreeSpec(cls, context, [_of_schema(child) for child in schema["children_spec"]])


def treespec_pprint(treespec: TreeSpec) -> str:
    """Returns the tree of a TreeSpec with `*` for each leaf, as a string."""
    leaf = type("Leaf", (), {"__repr__": lambda self: "*"})()
    return repr(treespec.unflatten([leaf] * treespec.num_leaves))


def pytree_to_str(treespec: TreeSpec) -> str:
    """The earlier name of treespec_dumps."""
    warnings.warn("`pytree_to_str` is deprecated. Please use `treespec_dumps` instead.", FutureWarning, stacklevel=2)
    return treespec_dumps(treespec)


def str_to_pytree(json: str) -> TreeSpec:
    """The earlier name of treespec_loads."""
    warnings.warn("`str_to_pytree` is deprecated. Please use `treespec_loads` instead.", FutureWarning, stacklevel=2)
    return treespec_loads(json)
