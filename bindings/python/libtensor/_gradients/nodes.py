"""Nodes of the autograd graph as Python objects: one object for each node while it is referenced."""

from collections import namedtuple
from weakref import WeakValueDictionary

from .._base.direct import NodeBase, d_ctx
from .._base.library import node_free
from .._core.tensor import Tensor
from .._gen import gen_functions as _f
from .callbacks import DELETER, PACK, UNPACK, kept, kept_by

# The objects of nodes, by the library's number.
nodes = WeakValueDictionary()

# Python's leaves, by the address of their memory, among which the leaf of a node is found.
leaves = WeakValueDictionary()


class Node(NodeBase):
    """A node of the autograd graph, as `grad_fn` returns it. It keeps the node's saved tensors and the graph before it."""

    __slots__ = ("__weakref__",)

    def name(self):
        """Returns the name of the operation, such as AddBackward0."""
        return _f.node_name(self._h)

    @property
    def next_functions(self):
        """For each operand the node that receives its gradient, and the output number of that node; (None, 0) for operands that do not
        require grad.
        """
        edges = (_f.node_edge(self._h, i) for i in range(_f.node_edges(self._h)))
        return tuple((node_of(handle), output) for handle, output in edges)

    @property
    def metadata(self):
        """A dictionary of user-defined data of the node."""
        return metadata_of(self._h)

    @property
    def requires_grad(self):
        """True."""
        return True

    def __call__(self, *grads):
        """Returns the gradients of the operands for those of the results (None for zeros), without hooks. The node's saved tensors are
        kept; the call is added to the autograd graph if grad mode is enabled.

        >>> x = torch.tensor(4.0, requires_grad=True)
        >>> with torch.no_grad():
        ...     x.log().grad_fn(torch.tensor(1.0))
        tensor(0.2500)
        """
        for i, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, Tensor):
                raise TypeError(f"{self.name()}: argument {i} is not a Tensor or None, but {type(grad).__name__}")
        made = _f.node_call(self._h, grads)
        return made[0] if len(made) == 1 else tuple(made)

    def __getattr__(self, name):
        known = saved_names(self) if name.startswith(("_saved_", "_raw_saved_")) else {}
        if name not in known:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        argument, several = known[name]
        if name.startswith("_raw"):
            made = tuple(saved_tensor(self, argument, i) for i in range(len(_f.node_saved_as(self._h, argument)) if several else 1))
        else:
            made = tuple(map(leaf_of, _f.node_saved_as(self._h, argument)))
        return made if several else made[0]

    def __dir__(self):
        return [*super().__dir__(), *saved_names(self)]

    def __repr__(self):
        return f"<{type(self).__name__} object at {id(self):#x}>"


class AccumulateGrad(Node):
    """The node that accumulates the gradient of a leaf."""

    __slots__ = ()

    @property
    def variable(self):
        """The leaf."""
        return leaf_of(_f.node_variable(self._h))


class SavedTensor:
    """A saved tensor of a node, such as `_raw_saved_self`."""

    __slots__ = ("node", "argument", "place")

    def __init__(self, *_, **__):
        raise RuntimeError(
            "Trying to create a SavedTensor object from Python is forbidden: use attributes such as `_raw_saved_self` of a grad_fn"
        )

    def unpack(self):
        """Returns the tensor, with its grad_fn."""
        return leaf_of(_f.node_saved_as(self.node._h, self.argument)[self.place])

    def register_hooks(self, pack_hook, unpack_hook):
        """Stores pack_hook(tensor) instead of the tensor, and calls unpack_hook to restore it."""

        def keep(number):
            _f.node_pack_saved(self.node._h, self.argument, self.place, PACK, UNPACK, DELETER, number, DELETER)

        kept_by(keep, (pack_hook, unpack_hook))


def saved_tensor(node, argument, place):
    made = object.__new__(SavedTensor)
    made.node, made.argument, made.place = node, argument, place
    return made


class GradientEdge(namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,))):
    """An edge of the graph: a node and an output number. `ownership_token` is None: the node keeps the graph alive."""

    __slots__ = ()


def saved_names(node):
    """Returns the attributes of a node that hold saved values: for each the argument, and whether it is a list."""
    named = [(name.removesuffix("[]"), name.endswith("[]")) for name in _f.node_saved_names(node._h).split()] if node._h else []
    return {f"{kind}_{name}": (name, several) for kind in ("_saved", "_raw_saved") for name, several in named}


def leaf_of(tensor):
    """Returns the Python leaf of a tensor of the library; the tensor itself if there is none."""
    if tensor is None or not (tensor.requires_grad and tensor.is_leaf):
        return tensor
    node = edge_of(tensor)[0]
    same = (leaf for leaf in list(leaves.values()) if leaf.requires_grad and leaf.is_leaf and edge_of(leaf)[0] is node)
    return next((leaf for leaf in same if _f.is_set_to(leaf, tensor)), tensor)


def metadata_of(handle):
    """Returns the dictionary of a node: its context, or the context's attributes."""
    number = _f.node_context(handle)
    if not number:
        kept_by(lambda made: _f.node_set_context(handle, made, DELETER), {})
        number = _f.node_context(handle)
    return kept[number] if number in kept else d_ctx(number).metadata


# The classes of nodes by name.
kinds = {"AccumulateGrad": AccumulateGrad}


def node_of(handle):
    """Returns the object of the node of a handle, which it owns; None for a null handle."""
    if not handle:
        return None
    number = _f.node_id(handle)
    found = nodes.get(number)
    if found is not None:
        node_free(handle)
        return found
    context = _f.node_context(handle)
    if context and context not in kept:  # the node of a Function, which is the context itself
        node_free(handle)
        return nodes.setdefault(number, d_ctx(context))
    name = _f.node_name(handle)
    kind = kinds.get(name) or kinds.setdefault(name, type(name, (Node,), {"__slots__": (), "__module__": "libtensor.autograd"}))
    made = object.__new__(kind)
    made._h = handle
    return nodes.setdefault(number, made)


def edge_of(tensor):
    """Returns the node that receives the gradient of a tensor, and the output number."""
    handle, output = _f.gradient_edge(tensor)
    return node_of(handle), output


def leaf(tensor):
    """Notes a tensor that may be a leaf."""
    leaves[id(tensor)] = tensor
    return tensor
