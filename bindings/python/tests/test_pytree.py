"""utils._pytree: trees of containers, their leaves and their structure."""

import collections
import copy
import dataclasses
import pickle

import pytest

import libtensor as torch
from libtensor.utils import _pytree as pytree

Pair = collections.namedtuple("Pair", "a b")
TREE = {
    "x": [1, (2, 3)],
    "y": Pair(4, None),
    "z": collections.OrderedDict(k=5),
    "d": collections.deque([6], maxlen=3),
    "dd": collections.defaultdict(list, {"q": 7}),
}
PRINTED = """TreeSpec(dict, ['x', 'y', 'z', 'd', 'dd'], [TreeSpec(list, None, [*,
    TreeSpec(tuple, None, [*,
      *])]),
  TreeSpec(namedtuple, <class 'test_pytree.Pair'>, [*,
    *]),
  TreeSpec(OrderedDict, ['k'], [*]),
  TreeSpec(deque, 3, [*]),
  TreeSpec(defaultdict, [<class 'list'>, ['q']], [*])])"""


class Box:
    def __init__(self, a, b):
        self.a, self.b = a, b


@pytest.fixture
def registered():
    keys = pytree.GetAttrKey("a"), pytree.GetAttrKey("b")
    pytree.register_pytree_node(
        Box, lambda x: ([x.a, x.b], None), lambda children, _: Box(*children), serialized_type_name="tests.Box",
        flatten_with_keys_fn=lambda x: (list(zip(keys, [x.a, x.b], strict=True)), None),
    )  # fmt: skip
    yield
    pytree._deregister_pytree_node(Box)


def test_trees_come_back():
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == [1, 2, 3, 4, None, 5, 6, 7] and str(spec) == PRINTED
    again = spec.unflatten(leaves)
    assert again == TREE and again["d"].maxlen == 3 and again["dd"].default_factory is list and isinstance(again["y"], Pair)
    assert (spec.num_leaves, spec.num_nodes, spec.num_children, spec.type) == (8, 15, 5, dict)
    assert spec == pytree.tree_structure(again) and hash(spec) == hash(pytree.tree_structure(again))
    assert pickle.loads(pickle.dumps(pytree.tree_structure([1, {"a": 2}]))) == pytree.tree_structure([1, {"a": 2}])
    assert copy.deepcopy(spec) == spec and list(pytree.tree_iter(TREE)) == leaves
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 8 items"):
        pytree.tree_unflatten([1], spec)


@pytest.mark.parametrize(
    "tree", [1, None, [], (), {}, [[]], [1, {"a": (2, [3])}], (Pair(1, [2]),), torch.Size([2, 3]), collections.deque([1])]
)
def test_specs_come_back_from_json(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.tree_map(lambda x: x, tree) == tree and type(pytree.tree_map(lambda x: x, tree)) is type(tree)
    if isinstance(tree, tuple) and tree and isinstance(tree[0], Pair):
        with pytest.raises(NotImplementedError, match="Can't serialize TreeSpec of namedtuple class"):
            pytree.treespec_dumps(spec)
    else:
        assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_json_is_that_of_pytorch():
    leaf = '{"type": null, "context": null, "children_spec": []}'
    inner = f'{{"type": "builtins.dict", "context": "[\\"a\\"]", "children_spec": [{leaf}]}}'
    wanted = f'[1, {{"type": "builtins.list", "context": "null", "children_spec": [{leaf}, {inner}]}}]'
    assert pytree.treespec_dumps(pytree.tree_structure([1, {"a": 2}])) == wanted
    with pytest.raises(ValueError, match=r"Unknown protocol 7. Available protocols: \[1\]"):
        pytree.treespec_dumps(pytree.tree_structure(1), protocol=7)


def test_maps():
    assert pytree.tree_map(lambda a, b: a + b, [1, (2,)], [3, (4,)]) == [4, (6,)]
    assert pytree.tree_map(lambda a, b: (a, b), [1, 2], [(3, 4), 5]) == [(1, (3, 4)), (2, 5)]
    assert pytree.tree_map(lambda a, b: a - b, {"a": 1, "b": 2}, {"b": 2, "a": 1}) == {"a": 0, "b": 0}
    for rest, message in (([3], "arity mismatch; expected 2, but got 1"), ((3, 4), "type mismatch; expected <class 'list'>")):
        with pytest.raises(ValueError, match=message):
            pytree.tree_map(lambda a, b: a, [1, 2], rest)
    with pytest.raises(ValueError, match="missing key.*'a'.*extra key.*'b'"):
        pytree.tree_map(lambda a, b: a, {"a": 1}, {"b": 1})
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.0]) == [-1, "a", 2.0]
    assert pytree.tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.0]) == [2, "aa", 2.0]
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: 9, [1, 2]) == [9, 2]
    with pytest.raises(TypeError, match="Argument must be a type, a tuple of types, or a callable"):
        pytree.tree_map_only(3, abs, [1])
    assert pytree.tree_all(bool, [1, [2]]) and not pytree.tree_any(lambda x: x > 2, [1, 2]) and pytree.tree_all_only(int, bool, [1, 0.0])
    assert pytree.tree_leaves([1, [2]], is_leaf=lambda x: x == [2]) == [1, [2]] and pytree.arg_tree_leaves(1, [2], a=3) == [1, 2, 3]
    assert pytree._broadcast_to_and_flatten((0, None), pytree.tree_structure(([1, 2], 3))) == [0, 0, None]
    assert pytree._broadcast_to_and_flatten([1], pytree.tree_structure([1, 2])) is None


def test_paths():
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(TREE)]
    assert paths == ["['x'][0]", "['x'][1][0]", "['x'][1][1]", "['y'].a", "['y'].b", "['z']['k']", "['d'][0]", "['dd']['q']"]
    assert all(pytree.key_get(TREE, path) == leaf for path, leaf in pytree.tree_leaves_with_path(TREE))
    assert pytree.tree_map_with_path(lambda path, x, y: (len(path), x + y), [1, [2]], [10, [20]]) == [(1, 11), [(2, 22)]]


def test_classes_of_programs(registered):
    leaves, spec = pytree.tree_flatten([Box(1, [2]), 3])
    assert leaves == [1, 2, 3] and isinstance(spec.unflatten(leaves)[0], Box)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert pytree.keystr(pytree.tree_leaves_with_path(Box(1, [2]))[1][0]) == ".b[0]"
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(Box, lambda x: ([], None), lambda c, _: Box(0, 0))
    with pytest.raises(ValueError, match="must be None or registered"):
        pytree.register_pytree_node(str, lambda x: ([], None), lambda c, _: "", to_dumpable_context=repr)


def test_dataclasses_results_and_constants():
    @dataclasses.dataclass
    class Point:
        x: int
        y: int = 2

    pytree.register_dataclass(Point)
    pytree.register_constant(bytes)
    try:
        assert pytree.tree_map(lambda v: v + 1, Point(1, None)) == Point(2, None) and pytree.tree_leaves(Point(1, 5)) == [1, 5]
        assert pytree.tree_flatten([b"a", 1]) == ([1], pytree.tree_structure([b"a", 2])) != ([1], pytree.tree_structure([b"b", 2]))
    finally:
        pytree._deregister_pytree_node(Point), pytree._deregister_pytree_node(bytes)
    found = torch.max(torch.ones(2, 3), 1)
    doubled = pytree.tree_map(lambda t: t * 2, found)
    assert type(doubled) is type(found) and doubled.values.tolist() == [2, 2]
    assert (
        pytree.is_structseq(found) and not pytree.is_namedtuple(found) and pytree.is_namedtuple(Pair(1, 2)) and pytree.is_namedtuple(Pair)
    )
