"""Writes a call down as a C program that makes it."""

import math

from library import ABSENT, DTYPES, FORMATS, FORMS, Store

HEAD = r"""#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tensor.h>

static tensor_storage_t *store(const void *bytes, int64_t n) {
  tensor_storage_t *s = NULL;
  void *at = NULL;
  tensor_storage_new(n, (tensor_device){TENSOR_CPU, -1}, &s);
  tensor_storage_data_ptr(s, &at);
  if (n) memcpy(at, bytes, n);
  return s;
}
static tensor_t *view(tensor_storage_t *s, tensor_dtype d, const int64_t *size, const int64_t *stride, int64_t dims, int64_t offset) {
  tensor_t *t = NULL;
  tensor_empty((const int64_t[]){0}, 1, d, TENSOR_LAYOUT_NONE, (tensor_device){TENSOR_CPU, -1}, TENSOR_FORMAT_NONE, &t);
  tensor_set__storage_geometry(t, s, offset, size, dims, stride, dims);
  return t;
}
static void show(const tensor_t *t) {
  char *text = NULL;
  if (t && tensor_to_string(t, 9, 1000, 3, 120, -1, &text) == TENSOR_OK) puts(text), tensor_string_free(text);
}
"""
RESULTS = {
    "Tensor": "tensor_t *r{} = NULL;",
    "Storage": "tensor_storage_t *r{} = NULL;",
    "Generator": "tensor_generator_t *r{} = NULL;",
    "Node": "tensor_node_t *r{} = NULL;",
    "Scalar": "tensor_scalar r{};",
    "int": "int64_t r{} = 0;",
    "bool": "bool r{} = false;",
    "float": "double r{} = 0;",
    "str": "char *r{} = NULL;",
    "dtype": "tensor_dtype r{};",
    "device": "tensor_device r{};",
    "pointer": "void *r{} = NULL;",
    "Tensor[]": "tensor_t **r{0} = NULL; int64_t n{0} = 0;",
    "str[]": "char **r{0} = NULL; int64_t n{0} = 0;",
}


def integer(v):
    return "INT64_MIN" if v == -(2**63) else f"INT64_C({v})"


def integers(values):
    return f"(const int64_t[]){{{', '.join(map(integer, values)) or '0'}}}"


def real(v):
    v = float(v)
    if math.isnan(v):
        return "NAN"
    return v.hex() if math.isfinite(v) else f"{'-' if v < 0 else ''}INFINITY"


def scalar(v):
    match (v or {"kind": "none"})["kind"]:
        case "none":
            return "tensor_none()"
        case "bool" | "int":
            return f"tensor_{v['kind']}({integer(v['value'])})"
        case "float":
            return f"tensor_float({real(v['re'])})"
    return f"tensor_complex({real(v['re'])}, {real(v['im'])})"


class Program:
    def __init__(self):
        self.lines, self.stores, self.tensors = [], {}, {}

    def store(self, s):
        if s not in self.stores:
            name = self.stores[s] = f"s{len(self.stores)}"
            shown = ", ".join(str(b) for b in s.data[:4096]) or "0"
            if len(s.data) > 4096:
                shown += f" /* {len(s.data)} bytes in all: --write FOLDER writes them */"
            self.lines.append(f"static const unsigned char b_{name}[] = {{{shown}}};")
            self.lines.append(f"tensor_storage_t *{name} = store(b_{name}, {len(s.data)});")
        return self.stores[s]

    def tensor(self, t):
        if t is None:
            return "NULL"
        if isinstance(t, Store):
            return self.store(t)
        if t not in self.tensors:
            place = f"{integers(t.size)}, {integers(t.stride)}, {len(t.size)}"
            dtype = f"TENSOR_{t.dtype.upper()}"
            name = f"t{len(self.tensors)}"
            if t.device == "meta":
                self.lines.append(
                    f"tensor_t *{name} = NULL; tensor_empty_strided({integers(t.size)}, {len(t.size)}, {integers(t.stride)}, "
                    f"{len(t.size)}, "
                    f"{dtype}, TENSOR_LAYOUT_NONE, (tensor_device){{TENSOR_META, -1}}, &{name});"
                )
            else:
                s = self.store(t.store)
                note = "  // read-only: tensor_from_blob" if t.read_only else ""
                self.lines.append(f"tensor_t *{name} = view({s}, {dtype}, {place}, {t.offset});{note}")
                for key in t.lazy:
                    self.lines.append(f"tensor_{'conj' if key == 'conj' else 'neg_view'}({name}, &{name});")
            self.tensors[t] = name
        return self.tensors[t]

    def argument(self, kind, v):
        optional, base = kind.endswith("?"), kind.replace("?", "")
        if base.endswith("[]") or base == "Index":
            if v is None or not v:
                return ["NULL", "0"]
            return [self.items(base.removesuffix("[]"), v), str(len(v))]
        match base:
            case "Tensor" | "Storage":
                return [self.tensor(v)]
            case "Scalar":
                return [scalar(v)]
            case "int":
                return [integer(ABSENT if v is None else v)]
            case "bool":
                return ["-1" if v is None else str(int(v))]
            case "float":
                return ["NULL" if v is None else f"(const double[]){{{real(v)}}}" if optional else real(v)]
            case "str":
                return ["NULL" if v is None else '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"']
            case "dtype":
                return [f"TENSOR_{v.upper()}" if v in DTYPES else "TENSOR_DTYPE_NONE"]
            case "layout":
                return ["TENSOR_STRIDED" if v else "TENSOR_LAYOUT_NONE"]
            case "memory_format":
                return [f"(tensor_memory_format){FORMATS.index(v)}" if v else "TENSOR_FORMAT_NONE"]
            case "device":
                return [f"(tensor_device){{TENSOR_{v.upper()}, -1}}" if v else "tensor_device_default()"]
        return ["NULL"]

    def items(self, base, values):
        match base:
            case "Tensor":
                return f"(const tensor_t *const[]){{{', '.join(self.tensor(v) for v in values)}}}"
            case "Index":
                made = (f"{{{v['kind']}, {self.tensor(v['tensor'])}, {', '.join(map(integer, v['bounds']))}}}" for v in values)
                return f"(const tensor_index[]){{{', '.join(made)}}}"
            case "Scalar":
                return f"(const tensor_scalar[]){{{', '.join(map(scalar, values))}}}"
            case "float":
                return f"(const double[]){{{', '.join(map(real, values))}}}"
            case "bool":
                return f"(const bool[]){{{', '.join(str(int(v)) for v in values)}}}"
            case "str":
                return "(const char *const[]){" + ", ".join(f'"{v}"' for v in values) + "}"
        return integers(values)

    def call(self, call):
        operator, form = FORMS[call.c]
        args = [e for k, v in zip(form["types"], call.args, strict=True) for e in self.argument(k, v)]
        shown = []
        if form["mode"] == "out":
            args += [self.tensor(t) for t in call.outs]
            shown = [self.tensor(t) for t in call.outs]
        elif form["mode"] == "function" and operator["returns"]:
            for i, kind in enumerate(operator["returns"]):
                self.lines.append(RESULTS[kind].format(i))
                args += [f"&r{i}", f"&n{i}"] if kind.endswith("[]") else [f"&r{i}"]
                shown += [f"r{i}"] if kind == "Tensor" else []
        elif form["types"][:1] == ["Tensor"]:
            shown = [args[0]]
        self.lines.append(f'printf("%d %s\\n", {call.c}({", ".join(args)}), tensor_last_error());')
        self.lines += [f"show({name});" for name in shown]


def program(call):
    p = Program()
    p.lines.append("tensor_manual_seed(0);")
    p.call(call)
    return HEAD + "int main(void) {\n  " + "\n  ".join(p.lines) + "\n}\n"
