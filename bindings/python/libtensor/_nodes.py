"""The recorded calls of a graph as Python objects: one for each node, as long as somebody holds it."""

from collections import namedtuple
from weakref import WeakValueDictionary

from . import gen_functions as _f
from ._callbacks import DELETER, kept, kept_by
from ._library import node_free

# The objects of nodes, by the library's number.
nodes = WeakValueDictionary()

# The leaves of Python's, by their place in memory, among which that of a node is looked for.
leaves = WeakValueDictionary()


class Node:
    """A recorded call, as grad_fn gives it. It keeps what the call saved, and the graph behind it."""

    __slots__ = ("_h", "__weakref__")

    def name(self):
        """The name of the call, such as AddBackward0."""
        return _f.node_name(self._h)

    @property
    def next_functions(self):
        """For each operand the node that its gradient goes to, and to which of that one's results; (None, 0) where it is not wanted."""
        edges = (_f.node_edge(self._h, i) for i in range(_f.node_edges(self._h)))
        return tuple((node_of(handle), output) for handle, output in edges)

    @property
    def metadata(self):
        """A dict for whatever is to be kept with the node."""
        return metadata_of(self._h)

    @property
    def requires_grad(self):
        return True

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def __del__(self, free=node_free):
        handle = getattr(self, "_h", None)
        if handle:
            free(handle)


class AccumulateGrad(Node):
    """Where the gradient of a leaf is added to those that came before."""

    __slots__ = ()

    @property
    def variable(self):
        """The leaf."""
        made = _f.node_variable(self._h)
        same = (leaf for leaf in list(leaves.values()) if leaf.requires_grad and leaf.is_leaf and edge_of(leaf)[0] is self)
        return next(same, made)


class GradientEdge(namedtuple("GradientEdge", ("node", "output_nr"))):
    """Where a gradient goes: to a node, and to which of its results."""

    __slots__ = ()


def metadata_of(handle):
    """The dict that is kept with a node: the node's context, or what that has of attributes."""
    number = _f.node_context(handle)
    if not number:
        kept_by(lambda made: _f.node_set_context(handle, made, DELETER), {})
        number = _f.node_context(handle)
    context = kept[number]
    return context if isinstance(context, dict) else context.__self__.metadata


# The classes of nodes, by name.
kinds = {"AccumulateGrad": AccumulateGrad}


def node_of(handle):
    """The object of the node of a handle, which it takes over; None for none."""
    if not handle:
        return None
    number = _f.node_id(handle)
    found = nodes.get(number)
    if found is not None:
        node_free(handle)
        return found
    name = _f.node_name(handle)
    kind = kinds.get(name) or kinds.setdefault(name, type(name, (Node,), {"__slots__": (), "__module__": "libtensor.autograd"}))
    made = object.__new__(kind)
    made._h = handle
    return nodes.setdefault(number, made)


def edge_of(tensor):
    """The node that the gradient of a tensor goes to, and to which of its results."""
    handle, output = _f.gradient_edge(tensor)
    return node_of(handle), output


def leaf(tensor):
    """Notes a tensor that may be a leaf."""
    leaves[id(tensor)] = tensor
    return tensor
