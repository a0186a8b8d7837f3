"""Containers of tensors as the JSON text and list of tensors that files take, and back."""

import json
from base64 import b64decode, b64encode
from collections import OrderedDict
from itertools import groupby
from math import isfinite

from .._base.device import device
from .._base.dtypes import NAMES, dtype, layout
from .._base.size import Size
from .._core.convert import foreign
from .._core.owner import TypedStorage, UntypedStorage
from .._core.tensor import Tensor

encode = json.JSONEncoder(ensure_ascii=False).encode
EXACT = 2**53  # integers up to here are the same in JavaScript
DEPTH = 201  # as in the engine: in 200 containers, and what is in the innermost
CONTAINERS = (list, tuple, dict, set)


def is_json(value):
    """Tells whether a value stands for itself; long lists are mostly of such."""
    kind = value.__class__
    if kind is str:
        return value.isascii() or whole(value)
    return kind is int and -EXACT <= value <= EXACT or kind is float and isfinite(value) or kind is bool


def whole(value):
    """Tells whether a text is without halves of surrogate pairs, which JSON does not carry."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


class Encoder:
    """Collects the tensors of an object while it turns the object into JSON.

    A container is a generator of its parts: pieces of text, and pairs of a value and its path, which are written in their place. That
    takes no room on Python's stack, whatever depth the containers and the program have.
    """

    def __init__(self, obj):
        self.tensors, self.numbers = [], {}
        self.seen, self.open, self.defined = {}, set(), {}
        self.count(obj)
        text, writing = [], [iter(((obj, "obj"),))]
        while writing:
            for part in writing[-1]:
                if part.__class__ is str:
                    text.append(part)
                elif len(writing) - 1 > DEPTH:
                    raise ValueError(f"save(): containers lie more than {DEPTH - 1} deep in each other")
                else:
                    writing.append(self.node(*part))
                    break
            else:
                writing.pop()
        self.text = "".join(text)

    def count(self, obj):
        """Finds the containers that occur more than once."""
        todo = [obj]
        while todo:
            obj = todo.pop()
            if isinstance(obj, CONTAINERS):
                self.seen[id(obj)] = self.seen.get(id(obj), 0) + 1
                if self.seen[id(obj)] == 1:
                    todo.extend(obj.values() if isinstance(obj, dict) else obj)
            elif isinstance(obj, Tensor) and obj.__dict__:
                todo.append(obj.__dict__)

    def node(self, obj, path):
        if id(obj) in self.defined:
            yield f'{{"ref": {self.defined[id(obj)]}}}'
        elif self.seen.get(id(obj), 0) < 2:
            yield from self.plain(obj, path)
        elif id(obj) in self.open:
            raise ValueError(f"save(): {path} contains itself")
        else:
            self.open.add(id(obj))
            number = len(self.defined) + len(self.open) - 1
            yield f'{{"def": {number}, "value": '
            yield from self.plain(obj, path)
            yield "}"
            self.open.remove(id(obj))
            self.defined[id(obj)] = number

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
        if -EXACT <= obj <= EXACT:
            return (str(obj),)
        if obj.bit_length() > 14_000:
            raise ValueError(f"save(): {path} is an integer of {obj.bit_length()} bits, and files hold up to 14000")
        return (f'{{"int": "{obj}"}}',)

    def real(self, obj, path):
        obj = float(obj)
        return (repr(obj) if isfinite(obj) else f'{{"float": "{obj}"}}',)

    def items(self, obj, path):
        yield "["
        at = 0
        for simple, run in groupby(obj, is_json):
            if at:
                yield ", "
            if simple:
                run = list(run)
                yield encode(run)[1:-1]
                at += len(run)
                continue
            for i, item in enumerate(run):
                if i:
                    yield ", "
                yield item, f"{path}[{at}]"
                at += 1
        yield "]"

    def tagged(self, tag, obj, path):
        yield f'{{"{tag}": '
        yield from self.items(obj, path)
        yield "}"

    def dict(self, tag, obj, path):
        yield f'{{"{tag}": ['
        for i, (key, value) in enumerate(obj.items()):
            yield ", [" if i else "["
            yield encode(key) if is_json(key) else (key, f"a key of {path}")
            yield ", "
            yield encode(value) if is_json(value) else (value, f"{path}[{key!r}]")
            yield "]"
        yield "]"
        if tag == "ordered_dict" and getattr(obj, "__dict__", None):
            yield ', "state": '
            yield obj.__dict__, path + ".__dict__"
        yield "}"

    def text(self, obj, path):
        obj = str(obj)
        return (encode(obj),) if whole(obj) else text("text", b64encode(obj.encode("utf-8", "surrogatepass")).decode())

    def tensor(self, obj, path):
        first = id(obj) not in self.numbers
        yield f'{{"tensor": {self.number(obj, id(obj))}'
        if obj.__dict__ and first:
            self.open.add(id(obj))
            yield ', "state": '
            yield from self.dict("dict", obj.__dict__, path + ".__dict__")
            self.open.remove(id(obj))
        elif id(obj) in self.open:
            raise ValueError(f"save(): {path} contains itself")
        yield "}"

    def storage(self, tag, obj):
        return (f'{{"{tag}": {self.number(obj._tensor(), (id(obj), "storage"))}}}',)


def text(tag, content):
    return (f'{{"{tag}": {encode(content)}}}',)


# The first that fits counts: subclasses stand before their bases.
WRITERS = (
    ((type(None), bool), lambda e, o, p: (encode(o),)),
    (str, Encoder.text),
    (int, Encoder.integer),
    (float, Encoder.real),
    (complex, lambda e, o, p: e.tagged("complex", (o.real, o.imag), p)),
    (Tensor, Encoder.tensor),
    (UntypedStorage, lambda e, o, p: e.storage("storage", o)),
    (TypedStorage, lambda e, o, p: e.storage("typed_storage", o)),
    (Size, lambda e, o, p: (f'{{"size": {list(o)}}}',)),
    (tuple, lambda e, o, p: e.tagged("tuple", o, p)),
    (list, Encoder.items),
    (OrderedDict, lambda e, o, p: e.dict("ordered_dict", o, p)),
    (dict, lambda e, o, p: e.dict("dict", o, p)),
    (set, lambda e, o, p: e.tagged("set", o, p)),
    (bytes, lambda e, o, p: text("bytes", b64encode(o).decode())),
    (bytearray, lambda e, o, p: text("bytearray", b64encode(o).decode())),
    (dtype, lambda e, o, p: text("dtype", o.name)),
    (device, lambda e, o, p: text("device", str(o))),
    (layout, lambda e, o, p: text("layout", o.name)),
)


class Decoder:
    """Turns a structure's JSON into objects, while it is read. restore(tensor, location) brings a loaded tensor to its device."""

    def __init__(self, text, tensors, restore):
        self.tensors, self.restore, self.made, self.defined = tensors, restore, {}, {}
        self.value = json.loads(text, object_pairs_hook=self.read)

    def read(self, node):
        """The value of an object, whose own items have been read."""
        tag, content = node[0]
        return READERS[tag](self, content, dict(node[1:]))

    def tensor(self, i, more):
        if i not in self.made:
            self.made[i] = self.restore(self.tensors[i], more.get("location", "cpu"))
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
