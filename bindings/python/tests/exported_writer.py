"""Writes small .pt2 archives in the layout of torch.export.save, from Python descriptions of graphs."""

import io
import json
import struct
import zipfile

DTYPES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float16": 6, "float32": 7, "float64": 8, "complex64": 10, "bool": 12}


def size(value):
    """Returns a SymInt: a number, or the srepr of an expression."""
    return {"as_int": value} if isinstance(value, int) else {"as_expr": {"expr_str": value, "hint": None}}


def symbol(name):
    return f"Symbol('{name}', positive=True, integer=True)"


def meta(dtype, sizes, strides=None, offset=0):
    """Returns a TensorMeta, of a contiguous tensor unless strides are given."""
    if strides is None:
        strides, step = [], 1
        for n in reversed(sizes):
            strides.insert(0, step)
            step *= n if isinstance(n, int) else 1
    return {
        "dtype": DTYPES.get(dtype, dtype),
        "sizes": [size(n) for n in sizes],
        "requires_grad": False,
        "device": {"type": "cpu", "index": None},
        "strides": [size(n) for n in strides],
        "storage_offset": {"as_int": offset},
        "layout": 7,
    }


def tensor(name):
    return {"as_tensor": {"name": name}}


def tensors(*names):
    return {"as_tensors": [{"name": name} for name in names]}


def sym(name):
    return {"as_sym_int": {"as_name": name}}


def arg(value):
    """Returns an Argument: a str is the name of a tensor, a dict an Argument already."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        return tensor(value)
    if value is None:
        return {"as_none": True}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, (int, float)):
        return {"as_int" if isinstance(value, int) else "as_float": value}
    if all(isinstance(x, int) for x in value):
        return {"as_ints": list(value)}
    return {"as_sym_ints": [{"as_name": x} if isinstance(x, str) else {"as_int": x} for x in value]}


def node(target, results, *args, **keywords):
    """Returns a node. `results` is a name, a list of Arguments, or None."""
    outputs = [] if results is None else [tensor(results)] if isinstance(results, str) else results
    inputs = [{"name": "", "arg": arg(x), "kind": 1} for x in args]
    inputs += [{"name": name, "arg": arg(x), "kind": 2} for name, x in keywords.items()]
    first = next((x for x in outputs), {})
    name = results if isinstance(results, str) else str(next(iter(first.values()), {"name": target}))
    return {"target": target, "inputs": inputs, "outputs": outputs, "metadata": {}, "is_hop_single_tensor_return": None, "name": name}


def aten(name, results, *args, **keywords):
    return node("torch.ops.aten." + name, results, *args, **keywords)


def graph(inputs, nodes, outputs, values=None):
    return {
        "inputs": [arg(x) for x in inputs],
        "outputs": [arg(x) for x in outputs],
        "nodes": nodes,
        "tensor_values": values or {},
        "sym_int_values": {},
        "sym_bool_values": {},
        "is_single_tensor_return": False,
        "custom_obj_values": {},
        "sym_float_values": {},
    }


def subgraph(name, inputs, nodes, outputs):
    return {"as_graph": {"name": name, "graph": graph(inputs, nodes, outputs)}}


LEAF = {"type": None, "context": None, "children_spec": []}


def spec(children, kind="builtins.tuple", context="null"):
    return {"type": kind, "context": context, "children_spec": children}


def structure(inputs, outputs, keywords=()):
    """Returns the in_spec and out_spec of positional and keyword tensors, and of one output or a tuple."""
    positional = spec([LEAF] * (inputs - len(keywords)))
    named = spec([LEAF] * len(keywords), "builtins.dict", json.dumps(list(keywords)))
    result = LEAF if outputs == 1 else spec([LEAF] * outputs)
    return json.dumps([1, spec([positional, named])]), json.dumps([1, result])


def model(
    inputs, nodes, outputs, *, weights=(), ranges=None, specs=None, mutations=(), constants=(), version=(8, 20), values=None, guards=()
):
    """Returns the JSON of a program.

    `inputs` is a dict of a TensorMeta, or None for an int, by name; `weights` has (name of the value, kind, name, TensorMeta); `mutations`
    has (kind, value, field, name); `constants` has (name, ConstantValue), which follow the inputs; `guards` are expressions of Python.
    """
    described = {name: x for name, x in inputs.items() if x is not None} | {value: x for value, _, _, x in weights} | (values or {})
    fields = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
    input_specs = [
        {kind: {"arg": {"name": value}, fields[kind]: name} | ({"persistent": True} if kind == "buffer" else {})}
        for value, kind, name, _ in weights
    ]
    input_specs += [{"user_input": {"arg": tensor(name) if x is not None else sym(name)}} for name, x in inputs.items()]
    input_specs += [{"constant_input": {"name": name, "value": value}} for name, value in constants]
    output_specs = [{kind: {"arg": {"name": value}, field: name}} for kind, value, field, name in mutations]
    output_specs += [{"user_output": {"arg": arg(x)}} for x in outputs]
    in_spec, out_spec = specs or structure(len(inputs) + len(constants), len(outputs))
    values_in = [value for value, *_ in weights] + [sym(name) if x is None else name for name, x in inputs.items()]
    return {
        "graph_module": {
            "graph": graph(values_in, nodes, [x for _, x, _, _ in mutations] + list(outputs), described),
            "signature": {"input_specs": input_specs, "output_specs": output_specs},
            "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": in_spec, "out_spec": out_spec}}],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": ranges or {},
        "schema_version": {"major": version[0], "minor": version[1]},
        "verifiers": ["TRAINING"],
        "torch_version": "2.15.0",
        "guards_code": list(guards),
    }


def archive(text, records=(), *, weights=(), align=64, compress=False):
    """Returns the bytes of an archive. `records` has (path, bytes) of weights, `weights` (name, path, TensorMeta)."""
    config = {"config": {name: {"path_name": path, "is_param": True, "use_pickle": False, "tensor_meta": x} for name, path, x in weights}}
    files = [("data/weights/" + path, data) for path, data in records]
    files += [
        ("data/weights/model_weights_config.json", json.dumps(config)),
        ("data/constants/model_constants_config.json", '{"config": {}}'),
    ]
    files.append(("models/model.json", text if isinstance(text, (str, bytes)) else json.dumps(text)))
    files += [("archive_format", "pt2"), ("archive_version", "0"), ("byteorder", "little")]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as zipped:
        for path, data in files:
            info = zipfile.ZipInfo("program/" + path)
            info.compress_type = zipped.compression
            if align:  # an extra field moves the data to a multiple
                begin = out.tell() + 30 + len(info.filename) + 4
                info.extra = struct.pack("<HH", 0x4C54, -begin % align) + bytes(-begin % align)
            zipped.writestr(info, data)
    return out.getvalue()


def program(text, path=None, **options):
    """Returns an archive, or writes it to a path."""
    data = archive(text, **options)
    if path is None:
        return data
    path.write_bytes(data)
    return str(path)
