"""Writes the JSON and the archive of exported programs, in the format of torch.export.save."""

from __future__ import annotations

import io
import json
import operator
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from .. import empty, frombuffer, uint8
from .._base.device import device as _device
from .._base.dtypes import EXPORTED
from .._base.dtypes import dtype as _dtype
from .._base.dtypes import layout as _layout
from .._base.dtypes import memory_format as _memory_format
from .._core.tensor import Tensor
from .._storages.files import save
from ..fx.node import Node
from ..library.operators import OpOverload
from ..utils import _pytree as pytree
from .arguments import create_node
from .dims import Symbol
from .higher_order import HigherOrderOperator
from .reader import EXTRA, FORMATS
from .recording import Recording
from .trace import Sizes

__all__ = ["write_archive", "write_model", "write_samples"]

CODES = {dtype.name: code for code, dtype in EXPORTED.items()}
VERSION = {"major": 8, "minor": 20}
STRIDED = 7


def code_of(dtype: Any) -> int:
    name = str(dtype).rpartition(".")[2]
    if name not in CODES:
        raise NotImplementedError(f"export: the format of exported programs does not support the dtype {dtype}")
    return CODES[name]


def write_device(value: Any) -> dict[str, Any]:
    return {"type": value.type, "index": value.index}


def write_size(value: int | str, hint: int) -> dict[str, Any]:
    return {"as_int": value} if isinstance(value, int) else {"as_expr": {"expr_str": value, "hint": {"as_int": hint}}}


def list_strides(values: tuple[Tensor, ...]) -> list[tuple[int, ...]]:
    """Returns the strides of a value in each recording. The stride of a dimension of size 1 is arbitrary: it is that of the other
    recordings."""
    strides = [list(v.stride()) for v in values]
    for d in range(values[0].dim()):
        wide = [i for i, v in enumerate(values) if v.shape[d] != 1]
        if not wide or len(wide) == len(values):
            continue
        inner = [e for e in range(values[0].dim()) if e != d and all(strides[i][d] == strides[i][e] * values[i].shape[e] for i in wide)]
        for i, v in enumerate(values):
            if v.shape[d] == 1 and len({strides[k][d] for k in wide}) == 1:
                strides[i][d] = strides[wide[0]][d]
            elif v.shape[d] == 1 and inner:
                strides[i][d] = strides[i][inner[0]] * v.shape[inner[0]]
    return [tuple(s) for s in strides]


def write_meta(values: tuple[Tensor, ...], sizes: Sizes, requires_grad: bool | None = None) -> dict[str, Any]:
    """Returns the TensorMeta of a value, from its tensors in all recordings."""
    first = values[0]

    def express(lists: Iterable[tuple[int, ...]]) -> list[dict[str, Any]]:
        return [write_size(sizes.express(vector), vector[0]) for vector in zip(*lists, strict=True)]

    return {
        "dtype": code_of(first.dtype),
        "sizes": express(tuple(v.shape) for v in values),
        "requires_grad": first.requires_grad if requires_grad is None else requires_grad,
        "device": {"type": "cpu", "index": None},
        "strides": express(list_strides(values)),
        "storage_offset": {"as_int": first.storage_offset()},
        "layout": STRIDED,
    }


def is_number(value: Any) -> bool:
    """Returns whether an argument is a node of a size."""
    return isinstance(value, Node) and "values" in value.meta


def write_number(value: Any) -> dict[str, Any]:
    return {"as_name": value.name} if is_number(value) else {"as_int": value}


def write_list(values: list[Any], kind: str) -> dict[str, Any]:
    """Returns a list, whose type decides for an empty one."""
    if kind.startswith("Tensor"):
        if any(v is None for v in values) or kind.startswith("Tensor?"):
            return {"as_optional_tensors": [{"as_none": True} if v is None else {"as_tensor": {"name": v.name}} for v in values]}
        return {"as_tensors": [{"name": v.name} for v in values]}
    if any(map(is_number, values)):
        return {"as_sym_ints": [write_number(v) for v in values]}
    if kind.startswith("float") or any(isinstance(v, float) for v in values):
        return {"as_floats": [float(v) for v in values]}
    if kind.startswith("bool") or (values and all(isinstance(v, bool) for v in values)):
        return {"as_bools": values}
    if all(isinstance(v, str) for v in values) and (values or kind.startswith("str")):
        return {"as_strings": values}
    return {"as_ints": values}


def write_argument(value: Any, kind: str = "") -> dict[str, Any]:
    """Returns an Argument of the format. `kind` is the type in the operator's schema."""
    if is_number(value):
        return {"as_sym_int": {"as_name": value.name}}
    if isinstance(value, Node):
        return {"as_tensor": {"name": value.name}}
    if value is None:
        return {"as_none": True}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise NotImplementedError(f"export: the format of exported programs supports integers of 64 bits, not {value}")
        return {"as_float": float(value)} if kind.rstrip("?") == "float" else {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, complex):
        return {"as_complex": {"real": value.real, "imag": value.imag}}
    if isinstance(value, str):
        return {"as_device": write_device(_device(value))} if kind.rstrip("?") == "Device" else {"as_string": value}
    if isinstance(value, _dtype):
        return {"as_scalar_type": code_of(value)}
    if isinstance(value, _layout):
        return {"as_layout": STRIDED}
    if isinstance(value, _memory_format):
        return {"as_memory_format": {name: code for code, name in FORMATS.items()}[str(value).rpartition(".")[2]]}
    if isinstance(value, _device):
        return {"as_device": write_device(value)}
    if isinstance(value, list | tuple):
        return write_list(list(value), kind)
    raise NotImplementedError(f"export: the format of exported programs does not support an argument of type {type(value).__name__}")


def write_call(node: Node) -> dict[str, Any]:
    """Returns a node that calls an operator or a function of the module operator."""
    if isinstance(node.target, OpOverload):
        schema = node.target._schema.arguments
        if len(node.args) > sum(not a.kwarg_only for a in schema):
            raise RuntimeError(f"export: {node.target} was recorded with {len(node.args)} positional arguments; please report this")
        inputs = [{"name": a.name, "arg": write_argument(v, a.kind), "kind": 1} for a, v in zip(schema, node.args, strict=False)]
        kinds = {a.name: a.kind for a in schema}
        inputs += [{"name": k, "arg": write_argument(v, kinds.get(k, "")), "kind": 2} for k, v in node.kwargs.items()]
        target = f"torch.ops.{node.target}"
    else:
        inputs = [{"name": name, "arg": write_argument(v), "kind": 1} for name, v in zip("ab", node.args, strict=False)]
        target = f"_operator.{node.target.__name__}"
    return create_node(target, inputs, write_results(node), node.name)


def write_control(nodes: list[Node], sizes: Sizes) -> dict[str, Any]:
    """Returns a node of control flow, from its nodes in all recordings."""
    inputs = []
    for values in zip(*(node.args for node in nodes), strict=True):
        first = values[0]
        arg = (
            {"as_graph": {"name": first.name, "graph": write_part(values, sizes)}} if isinstance(first, Recording) else write_operand(first)
        )
        inputs.append({"name": "", "arg": arg, "kind": 1})
    node = nodes[0]
    return create_node(f"torch.ops.higher_order.{node.target}", inputs, write_results(node), node.name) | {
        "is_hop_single_tensor_return": False
    }


def write_operand(value: Any) -> dict[str, Any]:
    return write_list(list(value), "Tensor[]") if isinstance(value, list | tuple) else write_argument(value)


def write_part(graphs: tuple[Recording, ...], sizes: Sizes) -> dict[str, Any]:
    """Returns the graph of a function of control flow."""
    inputs = [{"as_tensor": {"name": node.name}} for node in graphs[0].nodes if node.op == "placeholder"]
    graph = write_graph(list(graphs), sizes, [write_argument(x) for x in graphs[0].outputs], inputs)
    return graph | {"is_single_tensor_return": graphs[0].is_single}


def write_results(node: Node) -> list[dict[str, Any]]:
    """Returns the results of a node, by the names of the nodes that select them."""
    if is_number(node):
        return [{"as_sym_int": {"as_name": node.name}}]
    value = node.meta.get("val")
    if isinstance(value, Tensor):
        return [{"as_tensor": {"name": node.name}}]
    if not isinstance(value, tuple | list):
        return []
    if isinstance(node.target, OpOverload) and node.target._schema.result_kinds[0].endswith("[]") and len(node.target._schema.returns) == 1:
        return [{"as_tensors": list_selected(node)}]
    selected = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    results: list[dict[str, Any]] = []
    for i, (v, name) in enumerate(zip(value, list_selected(node), strict=True)):
        if isinstance(v, list | tuple):
            results.append({"as_tensors": list_selected(selected[i])})
        else:
            results.append({"as_tensor": name} if isinstance(v, Tensor) else {"as_none": True})
    return results


def list_selected(node: Node) -> list[dict[str, str]]:
    """Returns the names of the nodes that select the values of a tuple or a list; others for values that are not used."""
    selected = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
    return [{"name": selected.get(i, f"{node.name}_unused_{i}")} for i in range(len(node.meta["val"]))]


def write_graph(recordings: list[Recording], sizes: Sizes, outputs: list[dict[str, Any]], inputs: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the graph of the first recording."""
    first, values = recordings[0], {}
    order = {node: i for i, node in enumerate(first.nodes)}
    for node in first.graph.nodes:
        if node in order and isinstance(node.meta.get("val"), Tensor):
            metas = tuple(r.nodes[order[node]].meta["val"] for r in recordings)
            values[node.name] = write_meta(metas, sizes, node.meta.get("requires_grad", False))
    calls = [node for node in first.graph.nodes if node.op == "call_function" and node.target is not operator.getitem]
    numbers = {n.name: write_size(sizes.express(n.meta["values"]), n.meta["values"][0]) for n in calls if is_number(n)}

    def write(node: Node) -> dict[str, Any]:
        return (
            write_control([r.nodes[order[node]] for r in recordings], sizes)
            if isinstance(node.target, HigherOrderOperator)
            else write_call(node)
        )

    return {
        "inputs": inputs,
        "outputs": outputs,
        "nodes": [write(node) for node in calls],
        "tensor_values": values,
        "sym_int_values": {name: size if "as_expr" in size else {"as_int": size["as_int"]} for name, size in numbers.items()},
        "sym_bool_values": {},
        "is_single_tensor_return": False,
        "custom_obj_values": {},
        "sym_float_values": {},
    }


def write_output(value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, Node) or value is None or isinstance(value, bool | int | float | str):
        return write_argument(value)
    raise NotImplementedError(f"export: {where} is a {type(value).__name__}; results can be tensors, numbers, strings and None")


def write_model(
    recordings: list[Recording],
    symbols: list[Symbol],
    sizes: Sizes,
    state: dict[str, tuple[str, Tensor]],
    buffers: dict[str, bool],
    values: list[Any],
    specs: tuple[Any, Any],
    names: list[str],
    modules: list[str],
) -> dict[str, Any]:
    """Returns the JSON of a program.

    `state` has a name and the tensor of each parameter and buffer, by its placeholder, and `buffers` whether a buffer is persistent.
    `values` are the flat inputs, `specs` the structures of arguments and results, `names` those of the arguments of the module, and
    `modules` its submodules."""
    first = recordings[0]
    placeholders = [node for node in first.nodes if node.op == "placeholder"]
    input_specs: list[dict[str, Any]] = []
    inputs: list[dict[str, Any]] = []
    for node, (target, value) in zip(placeholders, state.values(), strict=False):
        node.meta["requires_grad"] = value.requires_grad
        if target in buffers:
            input_specs.append({"buffer": {"arg": {"name": node.name}, "buffer_name": target, "persistent": buffers[target]}})
        else:
            input_specs.append({"parameter": {"arg": {"name": node.name}, "parameter_name": target}})
        inputs.append({"as_tensor": {"name": node.name}})
    for name, (target, _) in first.constants.items():
        input_specs.append({"tensor_constant": {"arg": {"name": name}, "tensor_constant_name": target}})
        inputs.append({"as_tensor": {"name": name}})
    for node, value in zip(placeholders[len(state) :], values, strict=True):
        if isinstance(value, Tensor):
            input_specs.append({"user_input": {"arg": {"as_tensor": {"name": node.name}}}})
            inputs.append({"as_tensor": {"name": node.name}})
        else:
            input_specs.append({"constant_input": {"name": node.name, "value": write_argument(value)}})
            inputs.append(write_argument(value))
    outputs = [write_output(value, f"output {i}") for i, value in enumerate(first.outputs)]
    graph = write_graph(recordings, sizes, outputs, inputs)
    ranges = {s.name: {"min_val": s.least, "max_val": s.most} for s in symbols} | {
        name: {"min_val": 0, "max_val": None} for name in sizes.created
    }
    # In a file with guards, lower bounds of up to 2 are assumptions of PyTorch's export, which runs do not check.
    guards: dict[str, Any] = {} if any(0 < s.least <= 2 for s in symbols) else {"guards_code": []}
    in_spec, out_spec = map(pytree.treespec_dumps, specs)
    entry = {"inputs": [], "outputs": [], "in_spec": in_spec, "out_spec": out_spec, "forward_arg_names": names}
    return {
        "graph_module": {
            "graph": graph,
            "signature": {"input_specs": input_specs, "output_specs": [{"user_output": {"arg": x}} for x in outputs]},
            "module_call_graph": [{"fqn": "", "signature": entry}, *({"fqn": name, "signature": None} for name in modules)],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": ranges,
        "schema_version": VERSION,
        "verifiers": ["TRAINING"],
        "torch_version": "2.15.0",
        **guards,
    }


def view_bytes(value: Tensor) -> Tensor:
    """Returns the bytes of a tensor, whose elements fill its memory, as a 1-D tensor."""
    if not value.numel():
        return empty(0, dtype=uint8)
    return value.as_strided((value.numel(),), (1,)).view(uint8)


def make_dense(value: Tensor) -> Tensor:
    """Returns a tensor with its strides if its elements fill its memory, and a contiguous one otherwise."""
    value, size = value.detach(), 1
    for stride, length in sorted((s, n) for s, n in zip(value.stride(), value.shape, strict=True) if n != 1):
        if stride != size:
            return value.contiguous()
        size *= length
    return value


def encode_text(text: str) -> Tensor:
    return frombuffer(bytearray(text.encode()), dtype=uint8) if text else empty(0, dtype=uint8)


class _Folder:
    """The tensors of a folder of the archive, with their descriptions."""

    def __init__(self, folder: str, prefix: str, write: Callable[[str, Tensor], None]) -> None:
        self.folder, self.prefix, self.write = folder, prefix, write
        self.paths: dict[tuple[Any, ...], str] = {}
        self.config: dict[str, Any] = {}

    def add(self, name: str, value: Tensor, is_parameter: bool) -> None:
        """Adds a tensor. Tied tensors are stored once."""
        key = value.data_ptr(), value.dtype, tuple(value.shape), value.stride()
        if key not in self.paths:
            self.paths[key] = f"{self.prefix}_{len(self.paths)}"
            self.write(f"{self.folder}/{self.paths[key]}", view_bytes(make_dense(value)))
        meta = write_meta((make_dense(value),), Sizes([], [{}]), value.requires_grad)
        meta["storage_offset"] = {"as_int": 0}
        self.config[name] = {"path_name": self.paths[key], "is_param": is_parameter, "use_pickle": False, "tensor_meta": meta}


def write_samples(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Returns the record of the sample inputs."""
    file = io.BytesIO()
    save(
        pytree.tree_map(lambda x: x.detach().clone() if isinstance(x, Tensor) else x, (args, kwargs)), file
    )  # views would save whole storages
    return frombuffer(bytearray(file.getvalue()), dtype=uint8)


def write_archive(
    text: dict[str, Any], tensors: dict[str, Tensor], samples: Tensor | None, extra_files: dict[str, str] | None = None
) -> tuple[list[str], list[Tensor]]:
    """Returns the names and records of the archive of a program, whose parameters, buffers and constants `tensors` has by name. The archive
    has `extra_files`, whose contents are strings, in the folder extra."""
    names: list[str] = []
    records: list[Tensor] = []

    def write(name: str, record: Tensor) -> None:
        names.append("model/" + name)
        records.append(record)

    weights, constants = _Folder("data/weights", "weight", write), _Folder("data/constants", "tensor", write)
    for union in text["graph_module"]["signature"]["input_specs"]:
        ((kind, spec),) = union.items()
        if kind == "parameter" or (kind == "buffer" and spec["persistent"]):
            name = spec.get("parameter_name") or spec["buffer_name"]
            weights.add(name, tensors[name], kind == "parameter")
        elif kind in ("buffer", "tensor_constant"):
            name = spec.get("buffer_name") or spec["tensor_constant_name"]
            constants.add(name, tensors[name], False)
    write("data/weights/model_weights_config.json", encode_text(json.dumps({"config": weights.config})))
    write("data/constants/model_constants_config.json", encode_text(json.dumps({"config": constants.config})))
    write("models/model.json", encode_text(json.dumps(text)))
    write("data/sample_inputs/model.pt", write_samples((), {}) if samples is None else samples)
    for name, content in (extra_files or {}).items():
        write(f"{EXTRA}{name}", encode_text(content))
    for name, content in [("archive_format", "pt2"), ("archive_version", "0"), (".data/version", "6\n"), ("byteorder", "little")]:
        write(name, encode_text(content))
    write(".data/serialization_id", encode_text(f"{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(text)).int:040d}"[:40]))
    return names, records
