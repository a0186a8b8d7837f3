"""Containers of tensors as the JSON text and list of tensors that files take, and back."""

import json
from base64 import b64decode, b64encode
from collections import OrderedDict
from math import isfinite

from ._convert import foreign
from ._device import device
from ._dtypes import NAMES, dtype, layout
from ._size import Size
from ._storage import UntypedStorage
from ._tensor import Tensor
from ._typed_storage import TypedStorage

EXACT = 2**53  # integers up to here are the same in JavaScript
DEPTH = 200  # as in the engine


def is_json(value):
    """Tells whether a value stands for itself; long lists are mostly of such."""
    kind = value.__class__
    return kind is int and -EXACT <= value <= EXACT or kind is float and isfinite(value) or kind is str or kind is bool


class Encoder:
    """Collects the tensors of an object while it turns the object into what json.dumps takes."""

    def __init__(self, obj):
        self.tensors, self.numbers = [], {}
        self.seen, self.open, self.defined = {}, set(), {}
        self.count(obj, 0)
        self.text = json.dumps(self.node(obj, "obj"), ensure_ascii=False, allow_nan=False)

    def count(self, obj, depth):
        """Finds the containers that occur more than once."""
        if not isinstance(obj, (list, tuple, dict, set)):
            return
        if depth > DEPTH:
            raise ValueError(f"save(): containers lie more than {DEPTH} deep in each other")
        self.seen[id(obj)] = self.seen.get(id(obj), 0) + 1
        if self.seen[id(obj)] == 1:
            for item in obj.values() if isinstance(obj, dict) else obj:
                self.count(item, depth + 1)

    def node(self, obj, path):
        if id(obj) in self.defined:
            return {"ref": self.defined[id(obj)]}
        if self.seen.get(id(obj), 0) < 2:
            return self.plain(obj, path)
        if id(obj) in self.open:
            raise ValueError(f"save(): {path} contains itself")
        self.open.add(id(obj))
        value = self.plain(obj, path)
        self.open.remove(id(obj))
        self.defined[id(obj)] = len(self.defined)
        return {"def": self.defined[id(obj)], "value": value}

    def plain(self, obj, path):
        for kinds, write in WRITERS:
            if isinstance(obj, kinds):
                return write(self, obj, path)
        number = foreign(obj)
        if number is not None:
            return self.plain(number, path)
        raise TypeError(
            f"save(): {path} is a {type(obj).__name__}, which files cannot hold; they hold tensors, storages, lists, tuples, dicts, sets, "
            "numbers, strings, bytes, sizes, dtypes, devices and layouts"
        )

    def number(self, tensor, key):
        """The number of a tensor in the list."""
        if key not in self.numbers:
            self.numbers[key] = len(self.tensors)
            self.tensors.append(tensor)
        return self.numbers[key]

    def integer(self, obj, path):
        obj = int(obj)
        return obj if -EXACT <= obj <= EXACT else {"int": str(obj)}

    def real(self, obj, path):
        obj = float(obj)
        return obj if isfinite(obj) else {"float": str(obj)}

    def items(self, obj, path):
        return [item if is_json(item) else self.node(item, f"{path}[{i}]") for i, item in enumerate(obj)]

    def pairs(self, obj, path):
        return [[self.node(key, f"a key of {path}"), self.node(value, f"{path}[{key!r}]")] for key, value in obj.items()]

    def ordered(self, obj, path):
        found = {"ordered_dict": self.pairs(obj, path)}
        if getattr(obj, "__dict__", None):
            found["state"] = self.node(obj.__dict__, path + ".__dict__")
        return found

    def untyped(self, obj, path):
        return {"storage": self.number(obj._tensor(), (id(obj), "storage"))}

    def typed(self, obj, path):
        return {"typed_storage": self.number(obj._tensor(), (id(obj), "storage"))}


# The first that fits counts: subclasses stand before their bases.
WRITERS = (
    ((type(None), bool), lambda e, o, p: o),
    (str, lambda e, o, p: str(o)),
    (int, Encoder.integer),
    (float, Encoder.real),
    (complex, lambda e, o, p: {"complex": [e.real(o.real, p), e.real(o.imag, p)]}),
    (Tensor, lambda e, o, p: {"tensor": e.number(o, id(o))}),
    (UntypedStorage, Encoder.untyped),
    (TypedStorage, Encoder.typed),
    (Size, lambda e, o, p: {"size": list(o)}),
    (tuple, lambda e, o, p: {"tuple": e.items(o, p)}),
    (list, Encoder.items),
    (OrderedDict, Encoder.ordered),
    (dict, lambda e, o, p: {"dict": e.pairs(o, p)}),
    (set, lambda e, o, p: {"set": e.items(o, p)}),
    (bytes, lambda e, o, p: {"bytes": b64encode(o).decode()}),
    (bytearray, lambda e, o, p: {"bytearray": b64encode(o).decode()}),
    (dtype, lambda e, o, p: {"dtype": o.name}),
    (device, lambda e, o, p: {"device": str(o)}),
    (layout, lambda e, o, p: {"layout": o.name}),
)


class Decoder:
    """Turns a structure's JSON into objects. restore(tensor, location) brings a loaded tensor to its device."""

    def __init__(self, text, tensors, restore):
        self.tensors, self.restore, self.made, self.defined = tensors, restore, {}, {}
        self.value = self.read(json.loads(text))

    def read(self, node):
        if node.__class__ is dict:
            for tag, read in READERS.items():
                if tag in node:
                    return read(self, node[tag], node)
        return list(map(self.read, node)) if node.__class__ is list else node

    def all(self, nodes):
        return map(self.read, nodes)

    def pairs(self, nodes):
        return [(self.read(key), self.read(value)) for key, value in nodes]

    def tensor(self, i, node):
        if i not in self.made:
            self.made[i] = self.restore(self.tensors[i], node.get("location", "cpu"))
        return self.made[i]

    def ordered(self, nodes, node):
        found = OrderedDict(self.pairs(nodes))
        if "state" in node:
            found.__dict__.update(self.read(node["state"]))
        return found

    def typed(self, i, node):
        tensor = self.tensor(i, node)
        return TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype)

    def define(self, number, node):
        self.defined[number] = self.read(node["value"])
        return self.defined[number]


READERS = {
    "tensor": Decoder.tensor,
    "storage": lambda d, i, node: d.tensor(i, node).untyped_storage(),
    "typed_storage": Decoder.typed,
    "tuple": lambda d, nodes, _: tuple(d.all(nodes)),
    "size": lambda d, nodes, _: Size(d.all(nodes)),
    "dict": lambda d, nodes, _: dict(d.pairs(nodes)),
    "ordered_dict": Decoder.ordered,
    "set": lambda d, nodes, _: set(d.all(nodes)),
    "int": lambda d, text, _: int(text),
    "float": lambda d, text, _: float(text),
    "complex": lambda d, nodes, _: complex(*d.all(nodes)),
    "bytes": lambda d, text, _: b64decode(text),
    "bytearray": lambda d, text, _: bytearray(b64decode(text)),
    "dtype": lambda d, name, _: NAMES[name],
    "device": lambda d, name, _: device(name),
    "layout": lambda d, name, _: NAMES[name],
    "ref": lambda d, number, _: d.defined[number],
    "def": Decoder.define,
}
