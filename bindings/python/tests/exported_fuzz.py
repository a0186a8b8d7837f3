"""Loads and runs mutated exported programs: exported_fuzz.py COUNT [SEED] [FILE...]. Every mutation is an error or a run; prints their
numbers.

With the first argument --python, programs are also printed and decomposed in Python, where every error must be a RuntimeError, or an
OSError of load. A crash ends the process. So does a load or run that takes more than a second of processor time or does not end, and a load
that takes more memory than 16 times the file and 4 MB. Endless loops of programs are interrupted by a signal. The last mutation is in the
file /tmp/exported_fuzz.SEED. Files are archives of small programs; without any, programs with all kinds of nodes are generated."""

import contextlib
import copy
import faulthandler
import io
import json
import os
import pathlib
import random
import signal
import sys
import time
import zipfile

import exported_writer as w

import libtensor as torch
from libtensor.export.program import Program

LIMIT = 1 << 28  # bytes of tensors while a mutated program runs
STATUS, REFERENCES = os.open("/proc/self/status", os.O_RDONLY), os.open("/proc/self/clear_refs", os.O_WRONLY)


torch.library.define("exported_fuzz::parts", "(Tensor x) -> Tensor[]")
torch.library.impl("exported_fuzz::parts", "default", lambda x: [x.clone(), x[:1].clone()])
torch.library.define("exported_fuzz::write", "(Tensor(a!) x, Tensor(b!)[] ys) -> Tensor")
torch.library.impl("exported_fuzz::write", "default", lambda x, ys: [y.zero_() for y in [x, *ys]][0].sum())


def examples():
    """Returns archives whose graphs have every kind of node and argument."""
    x, n = w.meta("float32", [w.symbol("s0"), 4]), w.meta("int64", [])
    yes = w.subgraph("yes", ["a", "p"], [w.aten("add.Tensor", "b", "a", 1)], ["b"])
    no = w.subgraph("no", ["a", "p"], [w.aten("mul.Tensor", "b", "a", "p")], ["b"])
    nodes = [
        w.aten("sym_size.int", [w.sym("u")], "x", 0),
        w.node("_operator.floordiv", [w.sym("half")], w.sym("u"), 2),
        w.aten("addmm.default", "h", "q", "x", "p"),
        w.aten("relu_.default", "r", "h"),
        w.aten("split.Tensor", [w.tensors("a", "b")], "r", 2, 1),
        w.aten("max.dim", [w.tensor("m"), w.tensor("i")], "a", 0),
        w.aten("cat.default", "c", w.tensors("a", "b", "r"), 1),
        w.aten("zeros.default", "z", ["half", 3], dtype={"as_scalar_type": 7}),
        w.aten("sum.default", "s", "c"),
        w.aten("gt.Scalar", "g", "s", 0.5),
        w.node("torch.ops.higher_order.cond", "d", "g", yes, no, w.tensors("r", "p")),
        w.aten("add_.Tensor", "more", "n", 1),
        w.aten("clamp.default", "y", "d", -1.0, None),
    ]
    weights = [("p", "parameter", "p", w.meta("float32", [4, 4])), ("q", "parameter", "q", w.meta("float32", [4])), ("n", "buffer", "n", n)]
    values = dict.fromkeys(("h", "r", "d", "y"), x) | {name: w.meta("float32", [w.symbol("s0"), 2]) for name in ("a", "b")}
    values |= {
        "m": w.meta("float32", [2]),
        "i": w.meta("int64", [2]),
        "c": w.meta("float32", [w.symbol("s0"), 8]),
        "s": w.meta("float32", []),
    }
    values |= {"z": w.meta("float32", [f"FloorDiv({w.symbol('s0')}, Integer(2))", 3]), "g": w.meta("bool", []), "more": n}
    outputs, ranges = ["y", "m", "z", w.sym("half"), None], {"s0": {"min_val": 2, "max_val": None}}
    text = w.model({"x": x, "k": None}, nodes, outputs, weights=weights, ranges=ranges, values=values)
    records = [("weight_0", bytes(64)), ("weight_1", bytes(16)), ("weight_2", bytes(8))]
    yield w.archive(text, records, weights=[("p", "weight_0", weights[0][3]), ("q", "weight_1", weights[1][3]), ("n", "weight_2", n)])
    inner = w.subgraph("inner", ["a"], [w.aten("exp.default", "b", "a")], ["b"])
    nodes = [w.node("torch.ops.higher_order.wrap_with_set_grad_enabled", "e", False, inner, "x"), w.aten("item.default", [w.sym("v")], "t")]
    nodes += [
        w.node("_operator.pow", [w.sym("v2")], w.sym("v"), 2),
        w.aten("full.default", "f", ["v2"], 1.0),
        w.aten("t.default", "y", "e"),
    ]
    mutations = [("user_input_mutation", "e", "user_input_name", "x")]
    text = w.model(
        {"x": w.meta("float32", [2, 3]), "t": n}, nodes, ["y", "f"], mutations=mutations, constants=[("flag", {"as_bool": True})]
    )
    yield w.archive(text)
    test = w.subgraph("test", ["i", "v", "k"], [w.aten("lt.Scalar", "c", "i", 3)], ["c"])
    body = w.subgraph("body", ["i", "v", "k"], [w.aten("add.Tensor", "n", "i", 1), w.aten("mul.Tensor", "d", "v", "k")], ["n", "d"])
    combine = w.subgraph("combine", ["c", "a", "k"], [w.aten("add.Tensor", "s", "c", "a"), w.aten("mul.Tensor", "d", "a", "k")], ["s", "d"])
    each = w.subgraph("each", ["a", "b", "k"], [w.aten("sub.Tensor", "d", "a", "b")], ["d", "a"])
    pair = w.subgraph("pair", ["a", "b", "k"], [w.aten("add.Tensor", "s", "a", "b"), w.aten("mul.Tensor", "d", "s", "k")], ["d"])
    nodes = [
        w.node("torch.ops.higher_order.while_loop", [w.tensor("i1"), w.tensor("v1")], test, body, w.tensors("i", "x"), w.tensors("k")),
        w.node("torch.ops.higher_order.scan", [w.tensor("c1"), w.tensor("ys")], combine, w.tensors("k"), w.tensors("v1"), w.tensors("k")),
        w.node("torch.ops.higher_order.map_impl", [w.tensor("m1"), w.tensor("m2")], each, w.tensors("ys", "x"), w.tensors("k")),
    ]
    nodes.append(w.node("torch.ops.higher_order.associative_scan", "p1", pair, w.tensors("m1"), w.tensors("k")))
    text = w.model({"i": n, "x": x, "k": w.meta("float32", [4])}, nodes, ["i1", "c1", "m1", "m2", "p1"])
    yield w.archive(text)
    nodes = [w.node("torch.ops.exported_fuzz.parts.default", [w.tensors("a", "b")], "x"), w.aten("add.Tensor", "y", "a", 1)]
    values = {"a": x, "b": w.meta("float32", [w.symbol("u0"), 4])}  # the results, which a run checks
    yield w.archive(w.model({"x": x}, nodes, ["y", "b"], values=values))
    write, scalar, part = {"as_operator": "torch.ops.exported_fuzz.write.default"}, w.meta("float32", []), w.meta("float32", [2, 2])
    views = {"_x_base_index": 0, "_x_size": [2, 2], "_x_stride": [4, 1], "_x_storage_offset": 1, "_ys_length": 2, "_ys_0_base_index": 1}
    views |= {"_ys_1_base_index": 0, "_ys_1_slice_dim": 0, "_ys_1_slice_start": 0, "_ys_1_slice_end": 1, "_all_bases": w.tensors("x", "y")}
    nodes = [
        w.node("torch.ops.higher_order.auto_functionalized_v2", [w.tensor("a"), w.tensor("b"), w.tensor("c")], write, **views),
        w.node(
            "torch.ops.higher_order.auto_functionalized",
            [w.tensor("d"), w.tensor("e"), w.tensors("f", "g")],
            write,
            x="y",
            ys=w.tensors("b", "c"),
        ),
    ]
    yield w.archive(
        w.model({"x": w.meta("float32", [3, 4]), "y": part}, nodes, ["a", "d", "e", "f", "g"], values={"a": scalar, "d": scalar})
    )


class Module(torch.nn.Module):
    """A module with buffers, views that it writes to, normalizations and control flow."""

    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2)
        self.register_buffer("count", torch.zeros(2, dtype=torch.int64), persistent=False)

    def forward(self, x, y, mode="sum"):
        self.count[0].add_(1)
        z = self.linear(self.norm(x)).reshape(x.shape[0] * 2)
        z[1:] += torch.nn.functional.silu(z[:-1].clone())
        torch.mul(z, 2, out=z)
        y = torch.cond(y.sum() > 0, lambda y: torch.softmax(y, 0), lambda y: y.clone(), (y,))
        return {"z": z, "y": y.view(y.shape[0] // 1, -1).expand(y.shape[0], 4), "n": x.shape[0] + 1}


def exported():
    """Returns archives of programs that export() has made, with variable sizes."""
    for model, args, shapes in (
        (Module(), (torch.ones(4, 3), torch.ones(5, 4)), ({0: torch.export.Dim("n", min=2)}, {0: torch.export.Dim("m", min=2, max=64)})),
        (lambda x: x.squeeze().flip(0).std() + x.new_zeros(2 * x.shape[0]).sum(), (torch.ones(4, 1, 3),), ({0: torch.export.Dim("n")},)),
        (lambda x, k: (torch.nonzero(x), x.masked_fill_(x > k, 0).T), (torch.ones(4, 3), 0.5), None),
    ):
        file = io.BytesIO()
        torch.export.save(torch.export.export(model, args, dynamic_shapes=shapes), file)
        yield file.getvalue()


INTEGERS = [0, 1, -1, 2, 3, 5, 7, 8, 31, 255, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**64, 10**30]
TARGETS = [f"torch.ops.{op}" for op in torch.export.default_decompositions()] + ["torch.ops.aten.add_.Tensor", "torch.ops.aten.mul.out"]
TARGETS += [
    f"torch.ops.aten.{name}"
    for name in ("t_.default", "squeeze_.dim", "transpose.int", "unbind.int", "_foreach_add_.List", "resize_.default")
]
TARGETS += [
    "_operator.pow",
    "_operator.truediv",
    "torch.ops.higher_order.cond",
    "torch.ops.aten.copy_.default",
    "torch.ops.aten.split.sizes",
]
HINTS = [None, {"as_int": 4}, {"as_int": -4}, {"as_bool": True}]
EXPRESSIONS = [w.symbol("s0"), w.symbol("abs"), w.symbol("if"), "Symbol(s0)", "Symbol('s0'", "Integer('1')", "Integer(True)", "Pow()"]
EXPRESSIONS += [
    "Pow(Integer(9), Pow(Integer(9), Integer(99999)))",
    f"FloorDiv({w.symbol('s0')}, Integer(0))",
    f"Pow({w.symbol('s0')}, Integer(-1))",
]
EXPRESSIONS += [
    f"Integer({10**40})",
    f"Integer({2**63 - 1})",
    f"Where({w.symbol('s0')}, Integer(1))",
    "Max()",
    "x.y(Integer(1))",
    "Add(*Integer(1))",
]
EXPRESSIONS += [
    "Pow(" * 40 + w.symbol("s0") + ", Integer(60))" * 40,
    "Add(" * 300 + "Integer(1)" + ")" * 300,
    "\ud800",
    "Symbol('\ud800')",
    "s0 + 1",
]
EXPRESSIONS += [
    f"Mod(Integer(7), Add({w.symbol('s0')}, Mul(Integer(-1), {w.symbol('s0')})))",
    f"FloorDiv({w.symbol('s0')})",
    "'%s'",
    "Integer(-1)",
    "Mul(Integer(-1))",
]
OTHERS = [None, True, False, "", "x", "a", "NaN", "Infinity", 0.5, -1e308, [], {}, [[]], {"as_int": 1}, {"as_none": True}, {"name": "x"}]
OTHERS += [{"as_expr": {"expr_str": text, "hint": hint}} for text, hint in zip(EXPRESSIONS, HINTS * 9, strict=False)] + EXPRESSIONS
OTHERS += [{"as_bools": [True] * 2000}, w.tensors(*["x"] * 2000), {"as_strings": ["x"] * 2000}, {"as_sym_ints": [{"as_int": 1}] * 2000}]


def walk(value, found):
    """Collects the places of a JSON value: (container, key)."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found.append((value, key))
        walk(item, found)
    return found


def edit(text, rng):
    """Changes a JSON value in place."""
    places = walk(text, [])
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        container, key = rng.choice(places)
        try:
            value = container[key]
        except (KeyError, IndexError):
            continue
        kind = rng.randrange(12)
        if kind >= 8:  # another value of the same kind, with which more files are accepted
            others = [c[k] for c, k in places if k == key and type(c) is dict and k in c and type(c[k]) is type(value)]
            others += {"target": TARGETS, "expr_str": EXPRESSIONS, "as_int": INTEGERS[:8], "dtype": range(1, 30)}.get(key, [])
            container[key] = copy.deepcopy(rng.choice(others)) if others else value
        elif kind == 0:
            del container[key]
        elif kind == 1:
            container[key] = rng.choice(INTEGERS)
        elif kind == 2:
            container[key] = rng.choice(OTHERS)
        elif kind in (3, 4):
            other, where = rng.choice(places)
            try:
                container[key], other[where] = copy.deepcopy(other[where]), copy.deepcopy(value) if kind == 3 else other[where]
            except (KeyError, IndexError):
                continue
        elif kind == 5 and isinstance(container, list):
            container.insert(rng.randrange(len(container) + 1), copy.deepcopy(value))
        elif kind == 6 and isinstance(container, dict):
            container[rng.choice(("as_int", "as_tensor", "as_graph", "name", "x", "as_sym_ints", str(key) + "x"))] = container.pop(key)
        elif isinstance(value, int) and not isinstance(value, bool):
            container[key] = value + rng.choice((-1, 1, 2, 64))
        elif isinstance(value, str):
            container[key] = value[: rng.randrange(len(value) + 1)] + rng.choice(("", "0", "_", "\x00", "é", "(" * 300, "'"))


def mutate(data, rng):
    """Returns the bytes of a changed archive."""
    if rng.random() < 0.25:
        data = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        return bytes(data)
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        records = {name: zipped.read(name) for name in zipped.namelist()}
    name = rng.choice([x for x in records if x.endswith(".json") for _ in range(8 if "/models/" in x else 1)])
    if rng.random() < 0.7:
        text = json.loads(records[name])
        edit(text, rng)
        records[name] = json.dumps(text).encode()
    else:
        changed = bytearray(records[name])
        for _ in range(rng.choice((1, 1, 2, 8))):
            at = rng.randrange(len(changed) + 1)
            changed[at : at + rng.randrange(3)] = rng.choice(
                (b"", b"{", b"]", b'"', b",", b"[" * 500, b"9" * 30, bytes([rng.randrange(256)]))
            )
        records[name] = bytes(changed)
    if rng.random() < 0.1:
        other = rng.choice(list(records))
        records[other] = records[other][: rng.randrange(len(records[other]) + 1)]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        for name, content in records.items():
            zipped.writestr(name, content)
    return out.getvalue()


def arguments(program):
    """Returns values for the inputs of a program."""
    for item in program.inputs:
        if item.dtype is None:
            yield {"bool": True, "int": 2, "None": None}.get(item.kind, 1)
            continue
        sizes = [int(x) if x.lstrip("-").isdigit() else 3 for x in item.shape.strip("[]").split(", ") if x]
        if any(n < 0 or n > 64 for n in sizes) or len(sizes) > 4:
            raise ValueError(item.shape)
        yield torch.ones(sizes).to(item.dtype)


def is_float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


ERRORS = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, MemoryError, OSError, KeyError)


def peak():
    """Returns the largest resident memory in bytes since reset_peak."""
    text = os.pread(STATUS, 8192, 0)
    return int(text[text.index(b"VmHWM:") + 6 :].split(None, 1)[0]) << 10


def reset_peak():
    os.pwrite(REFERENCES, b"5", 0)


@contextlib.contextmanager
def limited(what):
    """Ends the process if the body takes more than a second of processor time."""
    begin = time.process_time()
    try:
        yield
    finally:
        took = time.process_time() - begin
        if took > 1:
            sys.exit(f"{what} took {took:.1f} s")


def interrupt(*_):
    raise RuntimeError("the program did not end")


@contextlib.contextmanager
def interrupted():
    """Raises RuntimeError in a body that takes more than 0.4 seconds of processor time."""
    signal.setitimer(signal.ITIMER_PROF, 0.4)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run(data):
    """Loads and runs a program; returns how far it came."""
    source = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.zeros(0, dtype=torch.uint8)
    reset_peak()
    before = peak()
    try:
        with limited("a load"):
            program = Program(source)
    except ERRORS:
        return "rejected"
    finally:
        grown = peak() - before
        if grown > 16 * len(data) + (4 << 20):
            sys.exit(f"a file of {len(data)} bytes took {grown} bytes of memory")
    try:
        with limited("a run"), interrupted():
            gradients = len(data) % 2 == 1
            values = [x.requires_grad_() if gradients and is_float(x) else x for x in arguments(program)]
            program.run(*values, gradients=gradients)
    except ERRORS:
        return "failed"
    return "ran"


USES = {
    "str": str,
    "graph_signature": lambda program: str(program.graph_signature),
    "properties": lambda program: (program.range_constraints, program.operators, program.inputs, program.outputs, program.constants),
    "state_dict": lambda program: dict(program.state_dict),
    "module": lambda program: dict(program.module().named_parameters()),
    "run_decompositions({})": lambda program: str(program.run_decompositions({})),
    "run_decompositions": lambda program: str(program.run_decompositions()),
    "save": lambda program: torch.export.load(save(program)),
}


def save(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    return io.BytesIO(file.getvalue())


def check(name, errors, function, *args):
    """Calls a function, which must end within a second. Returns its result; None for one of the errors. Others end the process."""
    try:
        with limited(name):
            return function(*args)
    except RecursionError:
        raise
    except errors:
        return None


def use(data):
    """Uses a program in Python; returns how far it came."""
    program = check("load", (RuntimeError, OSError, MemoryError), torch.export.load, io.BytesIO(data))
    if program is None:
        return "rejected"
    made = [check(name, RuntimeError, function, program) for name, function in USES.items()]
    return "failed" if None in made else "ran"


def main(count, seed=0, *files):
    if count == "--python":
        count, seed, files, attempt = seed, *(files[:1] or (0,)), files[1:], use
        seeds = [*examples(), *exported()]
    else:
        attempt, seeds = run, list(examples())
    rng = random.Random(int(seed))
    seeds = [pathlib.Path(x).read_bytes() for x in files] or seeds
    signal.signal(signal.SIGPROF, interrupt)
    torch.set_num_threads(1)
    torch.set_memory_limit(LIMIT)
    for data in seeds:
        attempt(data)  # imports modules
        if attempt(data) == "rejected":
            sys.exit("an example is rejected")
    numbers = {"rejected": 0, "failed": 0, "ran": 0}
    last = os.open(f"/tmp/exported_fuzz.{seed}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    for i in range(int(count)):
        if i % 256 == 0:
            faulthandler.dump_traceback_later(600, exit=True)
        data = mutate(rng.choice(seeds), rng)
        os.ftruncate(last, 0)
        os.pwrite(last, data, 0)
        numbers[attempt(data)] += 1
    faulthandler.cancel_dump_traceback_later()
    print(numbers)


if __name__ == "__main__":
    main(*sys.argv[1:])
