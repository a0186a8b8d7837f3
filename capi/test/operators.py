"""Calls every operator, in all its forms, from Python and from C, and from Python by name (tensor_call), and compares the results bit for
bit.

usage: operators.py FOLDER. Writes operators.json (the calls and Python's answers, which the Node suite compares itself with)
and operators.c to FOLDER. Fails when a C function has neither a call nor a reason in operators_uncovered.json.
"""

import json
import math
import struct
import subprocess
import sys
from pathlib import Path

from operators_record import FORMATS, FORMS, HERE, gen_functions, gen_lists, record, torch

from libtensor._gen import gen_nn_functional
from libtensor.library import calls as named

KEPT = 2  # calls for each C function
UNCOVERED = json.loads((HERE / "operators_uncovered.json").read_text())
# Their elements are whatever the memory held.
UNINITIALISED = ("empty", "new_empty", "resize_")
# Python's functions of these names return a part of the results, or a different structure.
COMPOSED = ("unique", "unique_consecutive", "histogramdd", "lu", "tensordot", "gradient")


# --------------------------------------------------------------------------------------------------------------- Python


def tensor_of(value):
    if value is None:
        return None
    flat = torch.frombuffer(bytearray.fromhex(value["bytes"]), dtype=getattr(torch, value["dtype"])) if value["bytes"] else None
    flat = torch.empty(0, dtype=getattr(torch, value["dtype"])) if flat is None else flat
    return flat.as_strided(value["size"], value["stride"], value["offset"])


def scalar_of(value):
    match value["kind"]:
        case "none":
            return None
        case "bool":
            return bool(value["value"])
        case "int":
            return value["value"]
        case "float":
            return float(value["re"])
    return complex(float(value["re"]), float(value["im"]))


def index_of(items):
    def bound(value):
        return None if value == -(2**63) else value

    made = {
        0: lambda i: i["bounds"][0],
        1: lambda i: slice(*map(bound, i["bounds"])),
        2: lambda i: None,
        3: lambda i: Ellipsis,
        4: lambda i: tensor_of(i["tensor"]),
        5: lambda i: bool(i["bounds"][0]),
    }
    return tuple(made[i["kind"]](i) for i in items)


def python_value(kind, value):
    base = kind.replace("?", "")
    if value is None:
        return None
    if base == "Tensor[]":
        return [tensor_of(v) for v in value]
    if base == "float[]":
        return [float(v) for v in value]
    convert = {"Tensor": tensor_of, "Scalar": scalar_of, "Index": index_of, "float": float}
    convert |= dict.fromkeys(("dtype", "layout", "memory_format"), lambda name: getattr(torch, name))
    return convert.get(base, lambda v: v)(value)


def call_python(call):
    """What a call gives."""
    operator, form = FORMS[call["c"]]
    values = [python_value(k, v) for k, v in zip(form["types"], call["args"], strict=True)]
    outs = [torch.empty(0, dtype=getattr(torch, d)) for d in call["out"]] if form["mode"] == "out" else ()
    return apply(operator, form, values, outs)


def call_by_name(call):
    """What a call by name gives, with every argument as a keyword; raises Unsupported for arguments that Python does not pass by name."""
    operator, form = FORMS[call["c"]]
    if "Index" in form["types"]:
        raise named.Unsupported
    name = operator["id"].replace(operator["name"], operator["name"] + "_", 1) if form["mode"] == "inplace" else operator["id"]
    values = [python_value(k, v) for k, v in zip(form["types"], call["args"], strict=True)]
    keywords = {a["name"]: v for a, v in zip(operator["args"], values, strict=True) if v is not None or not a["default"]}
    outs = [torch.empty(0, dtype=getattr(torch, d)) for d in call["out"]] if form["mode"] == "out" else []
    if outs:
        written = [i for i in named.describe(name) if i.result_count and i.results[0].parameter >= 0][0]
        keywords |= {written.parameters[written.results[i].parameter].name.decode(): out for i, out in enumerate(outs)}
    torch.manual_seed(0)
    got = named.call_operator(name, (), keywords)
    if outs:
        return outs
    if not operator["returns"] or form["mode"] == "inplace":
        return values[0] if form["types"][:1] == ["Tensor"] else ()
    return got


def compare_names(calls):
    """The calls that give other results by name, and how many were made."""
    problems, made = [], 0
    for call in calls:
        try:
            answer = call["id"] + text(call_by_name(call), has_values(call))
        except named.Unsupported:
            continue
        except Exception as error:
            answer = f"{call['id']}: {type(error).__name__}: {error}"
        made += 1
        if answer != call["answer"]:
            problems.append(f"a call by name differs:\n  by name {answer[:300]}\n  Python  {call['answer'][:300]}")
    return problems, made


def function_of(name):
    """The function that an operator is in Python."""
    if name.startswith("nn."):
        return getattr(gen_nn_functional, name[3:])
    if name.startswith(("foreach_", "fused_")):
        return getattr(gen_lists, name)
    found = gen_functions if name in COMPOSED or not hasattr(torch, name.split(".")[0]) else torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


def apply(operator, form, values, outs=()):
    """What Python's function for a form of an operator gives of arguments in the order of the entry."""
    arguments = list(zip(operator["args"], values, strict=True))
    keywords = {a["python"]: v for a, v in arguments if a["kwonly"] and v is not None}
    positional = [v for a, v in arguments if not a["kwonly"]]
    while positional and positional[-1] is None:
        positional.pop()
    if operator["variadic"]:
        positional = [item for v in positional for item in (v if isinstance(v, list) else [v])]
    torch.manual_seed(0)
    if form["mode"] == "inplace" or form["method"]:
        name = operator["name"] + ("_" if form["mode"] == "inplace" else "")
        # The operators behind subscripts are not attributes of Tensor, nor are functions of neural networks.
        function = getattr(positional.pop(0), name) if hasattr(torch.Tensor, name) else function_of(name)
    else:
        function = function_of(operator["name"])
    if form["mode"] == "out":
        keywords["out"] = outs[0] if len(outs) == 1 else tuple(outs)
    got = function(*positional, **keywords) if callable(function) else function
    if not operator["returns"]:
        got = values[0] if form["types"][:1] == ["Tensor"] else ()
    return got


def text(value, values):
    if isinstance(value, torch.Tensor):
        sizes = ",".join(map(str, value.shape)), ",".join(map(str, value.stride()))
        return f" {str(value.dtype).split('.')[-1]} [{sizes[0]}] [{sizes[1]}] {elements(value) if values else ''}"
    if isinstance(value, torch.dtype):
        return f" dtype {str(value).split('.')[-1]}"
    if isinstance(value, (tuple, list)):
        return "".join(text(v, values) for v in value)
    if isinstance(value, bool):
        return f" bool {int(value)}"
    if isinstance(value, int):
        return f" int {value}"
    if isinstance(value, float):
        return f" float {struct.pack('d', value).hex()}"
    if isinstance(value, complex):
        return f" complex {struct.pack('dd', value.real, value.imag).hex()}"
    if isinstance(value, str):
        return f" str {value}"
    raise TypeError(f"a {type(value).__name__} has no text")


def elements(t):
    dense = t.resolve_conj().resolve_neg().contiguous()
    return bytes(dense.untyped_storage())[dense.storage_offset() * dense.element_size() :][: dense.numel() * dense.element_size()].hex()


def has_values(call):
    return not FORMS[call["c"]][0]["name"].startswith(UNINITIALISED)


def answered(calls):
    """The calls to make, with Python's answers."""
    chosen = []
    outputs = {}
    problems = []
    for c, candidates in sorted(calls.items(), key=lambda item: FORMS[item[0]][1]["mode"] != "function"):
        if c in UNCOVERED:
            continue
        operator, form = FORMS[c]
        kept, failure = 0, "no recorded call"
        for args in candidates if RESULTS.keys() >= set(operator["returns"]) - {"Tensor[]"} else []:
            call = {"c": c, "id": f"{c}/{kept}", "args": args}
            key = (operator["name"], json.dumps(args))
            if form["mode"] == "out":
                if key not in outputs:
                    continue
                call["out"] = outputs[key]
            try:
                got = call_python(call)
                call["answer"] = call["id"] + text(got, has_values(call))
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
                continue
            if form["mode"] == "function":
                outputs[key] = [
                    str(t.dtype).split(".")[-1] for t in (got if isinstance(got, (tuple, list)) else [got]) if isinstance(t, torch.Tensor)
                ]
            if kept < KEPT:
                chosen.append(call)
                kept += 1
        if not kept:
            problems.append(f"{c}: {failure.splitlines()[0][:200]}")
    problems += [f"{c} is not an operator's function" for c in UNCOVERED if c not in FORMS]
    return chosen, problems


# -------------------------------------------------------------------------------------------------------------------- C


class Body:
    """The C block of one call."""

    def __init__(self):
        self.lines, self.tensors = [], 0

    def tensor(self, value):
        if value is None:
            return "NULL"
        raw = ",".join(str(b) for b in bytes.fromhex(value["bytes"])) or "0"
        i = self.tensors
        self.tensors += 1
        dtype = value["dtype"]
        count = f"{len(value['bytes']) // 2} / tensor_dtype_size(TENSOR_{dtype.upper()})"
        self.lines.append(f"_Alignas(16) static unsigned char b{i}[] = {{{raw}}};")
        place = f"{integers(value['size'])}, {integers(value['stride'])}, {len(value['size'])}, {value['offset']}"
        self.lines.append(f"tensor_t *t{i} = make(b{i}, {count}, TENSOR_{dtype.upper()}, {place});")
        return f"t{i}"

    def argument(self, kind, value):
        """The C expressions for one argument."""
        base = kind.replace("?", "")
        optional = kind.endswith("?")
        if base.endswith("[]") or base == "Index":
            if value is None:
                return ["NULL", "0"]
            return [self.items(base.removesuffix("[]"), value), str(len(value))]
        match base:
            case "Tensor":
                return [self.tensor(value)]
            case "Scalar":
                return [scalar_expression(value)]
            case "int":
                return ["TENSOR_NONE" if value is None else integer(value)]
            case "bool":
                return ["-1" if value is None else str(int(value))]
            case "float":
                return ["NULL" if value is None else f"(const double[]){{{real(value)}}}" if optional else real(value)]
            case "str":
                return ["NULL" if value is None else json.dumps(value)]
            case "dtype":
                return [f"TENSOR_{value.upper()}" if value else "TENSOR_DTYPE_NONE"]
            case "layout":
                return [f"TENSOR_{value.upper()}" if value else "TENSOR_LAYOUT_NONE"]
            case "memory_format":
                return [str(FORMATS.index(value)) if value else "TENSOR_FORMAT_NONE"]
            case "device":
                return ["(tensor_device){TENSOR_CPU, -1}" if value else "tensor_device_default()"]
        return ["NULL"]

    def items(self, base, values):
        if not values:
            return "NULL"
        match base:
            case "Tensor":
                return f"(const tensor_t *const[]){{{', '.join(self.tensor(v) for v in values)}}}"
            case "Index":
                made = (f"{{{i['kind']}, {self.tensor(i['tensor'])}, {', '.join(map(integer, i['bounds']))}}}" for i in values)
                return f"(const tensor_index[]){{{', '.join(made)}}}"
            case "float":
                return f"(const double[]){{{', '.join(map(real, values))}}}"
            case "bool":
                return f"(const bool[]){{{', '.join(str(int(v)) for v in values)}}}"
        return integers(values)


def integer(value):
    return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"


def integers(values):
    return f"(const int64_t[]){{{', '.join(map(integer, values)) or '0'}}}"


def real(value):
    number = float(value)
    if math.isnan(number):
        return "NAN"
    return number.hex() if math.isfinite(number) else f"{'-' if number < 0 else ''}INFINITY"


def scalar_expression(value):
    match value["kind"]:
        case "none":
            return "tensor_none()"
        case "bool" | "int":
            return f"tensor_{value['kind']}({integer(value['value'])})"
        case "float":
            return f"tensor_float({real(value['re'])})"
    return f"tensor_complex({real(value['re'])}, {real(value['im'])})"


# A result's variable, how it is printed and how it is freed.
RESULTS = {
    "Tensor": ("tensor_t *r{0} = NULL;", "put_tensor(r{0}, {1});", "OK(tensor_free(r{0}));"),
    "int": ("int64_t r{0} = 0;", 'printf(" int %lld", (long long)r{0});', ""),
    "bool": ("bool r{0} = false;", 'printf(" bool %d", r{0});', ""),
    "float": ("double r{0} = 0;", 'printf(" float "), put_hex(&r{0}, 8);', ""),
    "dtype": ("tensor_dtype r{0};", 'printf(" dtype %s", tensor_dtype_name(r{0}));', ""),
    "str": ("char *r{0} = NULL;", 'printf(" str %s", r{0});', "tensor_string_free(r{0});"),
    "Scalar": ("tensor_scalar r{0};", "put_scalar(r{0});", ""),
}
LIST = (
    "tensor_t **r{0} = NULL; int64_t n{0} = 0;",
    "for (int64_t i = 0; i < n{0}; i++) put_tensor(r{0}[i], {1});",
    "OK(tensor_list_free(r{0}, n{0}));",
)


def c_function(call, number):
    operator, form = FORMS[call["c"]]
    values = "true" if has_values(call) else "false"
    body = Body()
    args = [e for k, v in zip(form["types"], call["args"], strict=True) for e in body.argument(k, v)]
    shown, freed = [], []
    if form["mode"] == "out":
        for i, dtype in enumerate(call["out"]):
            body.lines.append(f"tensor_t *r{i} = empty(TENSOR_{dtype.upper()});")
            args.append(f"r{i}")
            shown.append(f"put_tensor(r{i}, {values});")
            freed.append(f"OK(tensor_free(r{i}));")
    elif form["mode"] == "inplace" or not operator["returns"]:
        shown += [f"put_tensor({args[0]}, {values});"] if form["types"][:1] == ["Tensor"] else []
    else:
        for i, kind in enumerate(operator["returns"]):
            declared, show, free = LIST if kind == "Tensor[]" else RESULTS[kind]
            body.lines.append(declared.format(i))
            args += [f"&r{i}", f"&n{i}"] if kind == "Tensor[]" else [f"&r{i}"]
            shown.append(show.format(i, values))
            freed.append(free.format(i))
    freed += [f"OK(tensor_free(t{i}));" for i in range(body.tensors)]
    lines = [*body.lines, "OK(tensor_manual_seed(0));", f"OK({call['c']}({', '.join(args)}));", f'printf("{call["id"]}");', *shown]
    return "\n  ".join([f"static void call_{number}(void) {{", *lines, 'printf("\\n");', *filter(None, freed)]) + "\n}\n"


def c_answers(calls, folder):
    source, program, build = folder / "operators.c", folder / "operators", folder.resolve().parent
    functions = [c_function(call, i) for i, call in enumerate(calls)]
    main = "".join(f"  call_{i}();\n" for i in range(len(calls)))
    main = (
        f"int main(void) {{\n  int64_t before = tensor_live_handles();\n{main}  CHECK(tensor_live_handles() == before);\n  return 0;\n}}\n"
    )
    source.write_text(f'#include "{(HERE / "operators.h").resolve()}"\n\n' + "\n".join(functions) + "\n" + main)
    flags = ["-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", f"-L{build}", "-ltensor", f"-Wl,-rpath,{build}"]
    subprocess.run(["cc", str(source), "-o", str(program), *flags], check=True)
    done = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines(), done.returncode


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    calls, problems = answered(record())
    nodes = [{**call, "node": FORMS[call["c"]][0]["node"], **shape(call)} for call in calls]
    (folder / "operators.json").write_text("[\n" + ",\n".join(json.dumps(call) for call in nodes) + "\n]\n")
    answers, status = c_answers(calls, folder)
    expected = [call["answer"] for call in calls]
    problems += [f"C and Python differ:\n  C      {c[:300]}\n  Python {p[:300]}" for c, p in zip(answers, expected, strict=False) if c != p]
    if status or len(answers) != len(expected):
        problems.append(f"the C program ended after {len(answers)} of {len(expected)} calls with status {status}")
    differing, made = compare_names(calls)
    problems += differing
    print("\n".join(problems))
    print(f"{made} calls by name")
    functions = len({call["c"] for call in calls})
    print(f"{len(calls)} calls of {functions} functions from C and Python; {len(UNCOVERED)} functions are not called")
    print(f"operators: {len(calls) - len(problems)} passed, {len(problems)} failed")
    return bool(problems)


def shape(call):
    """What Node's player needs to know beside the values."""
    operator, form = FORMS[call["c"]]
    names = [a["node"] for a in operator["args"]]
    return {
        "mode": form["mode"],
        "method": form["method"],
        "types": form["types"],
        "names": names,
        "returns": operator["returns"],
        "values": has_values(call),
    }


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
