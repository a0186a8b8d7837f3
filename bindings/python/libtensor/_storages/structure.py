"""Containers of tensors, from the JSON string and list of tensors that the engine reads from files."""

import json
from base64 import b64decode
from collections import Counter, OrderedDict

from .._base.device import device
from .._base.dtypes import NAMES
from .._base.size import Size
from .._core.owner import TypedStorage
from .unpickling import find


class Decoder:
    """Decodes the JSON of a structure to objects while it is parsed. restore(tensor, location) moves a loaded tensor to its device."""

    def __init__(self, text, tensors, restore):
        self.tensors, self.restore, self.made, self.defined = tensors, restore, {}, {}
        self.value = json.loads(text, object_pairs_hook=self.read)

    def read(self, node):
        """Returns the value of an object whose items have been decoded."""
        tag, content = node[0]
        return READERS[tag](self, content, dict(node[1:]))

    def tensor(self, i, more):
        if i not in self.made:
            made = self.restore(self.tensors[i], more.get("location", "cpu"))
            if "parameter" in more:
                made = find("torch._utils", "_rebuild_parameter")(made, more["parameter"], None)
            self.made[i] = made
        self.made[i].__dict__.update(more.get("state", ()))
        return self.made[i]

    def ordered(self, pairs, more):
        found = OrderedDict(pairs)
        found.__dict__.update(more.get("state", ()))
        return found

    def typed(self, i, more):
        tensor = self.tensor(i, more)
        return TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype)

    def define(self, number, more):
        self.defined[number] = more["value"]
        return self.defined[number]


READERS = {
    "tensor": Decoder.tensor,
    "storage": lambda d, i, more: d.tensor(i, more).untyped_storage(),
    "typed_storage": Decoder.typed,
    "tuple": lambda d, items, _: tuple(items),
    "size": lambda d, items, _: Size(items),
    "dict": lambda d, pairs, _: dict(pairs),
    "counter": lambda d, pairs, _: Counter(dict(pairs)),
    "ordered_dict": Decoder.ordered,
    "set": lambda d, items, _: set(items),
    "text": lambda d, text, _: b64decode(text).decode("utf-8", "surrogatepass"),
    "int": lambda d, text, _: int(text),
    "float": lambda d, text, _: float(text),
    "complex": lambda d, items, _: complex(*items),
    "bytes": lambda d, text, _: b64decode(text),
    "bytearray": lambda d, text, _: bytearray(b64decode(text)),
    "dtype": lambda d, name, _: NAMES[name],
    "device": lambda d, name, _: device(name),
    "layout": lambda d, name, _: NAMES[name],
    "ref": lambda d, number, _: d.defined[number],
    "def": Decoder.define,
}
