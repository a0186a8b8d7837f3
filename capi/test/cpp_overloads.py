"""Writes a C++ program that calls every overloaded function of tensor.hpp with each way of writing each argument, for compilers to resolve.

Usage: cpp_overloads.py include/tensor/gen_operators.hpp > overloads.cpp
"""

import collections
import re
import sys

# How callers write an argument of a type: the first is the usual way.
WAYS = {
    "Tensor": ["t"],
    "Operand": ["t", "2", "0", "0.5"],
    "Scalar": ["2", "0", "0.5"],
    "Int": ["2", "0", "{0}"],
    "Real": ["0.5", "0"],
    "Bool": ["true"],
    "Ints": ["{1, 1}", "{1}", "{0}", "1", "0", "std::vector<int64_t>{1}"],
    "Doubles": ["{0., 1.}", "{0, 1}"],
    "Scalars": ["{0.5, 1}"],
    "Text": ['"a"', "s"],
    "Strings": ['{"a"}'],
    "Tensors": ["{t, t}", "{t}", "list"],
    "Options": ["float32", "{}", "{float32}", "Device()", "Options(float32).requires_grad()"],
    "Constant<Dtype>": ["float32"],
    "Constant<Layout>": ["TENSOR_STRIDED"],
    "Constant<MemoryFormat>": ["TENSOR_CONTIGUOUS"],
    "Device": ["Device()", "TENSOR_CPU"],
    "Generator": ["generator"],
    "Storage": ["storage"],
}
WAYS |= {"Dtype": WAYS["Constant<Dtype>"], "Layout": WAYS["Constant<Layout>"], "MemoryFormat": WAYS["Constant<MemoryFormat>"]}

LISTS = ("Ints", "Doubles", "Scalars", "Strings", "Tensors")
DEFAULT_MADE = ("Tensor", "Options", "Device", "Storage", "Generator") + LISTS

Parameter = collections.namedtuple("Parameter", "type optional default")


def split(text):
    """Splits a parameter list at the commas that are outside braces and brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<({") - (c in ">)}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def parameter(text):
    declared, _, default = text.partition(" = ")
    kind = re.sub(r"^const | ?[&*]?\w+$", "", declared).strip()
    inner = re.fullmatch(r"std::optional<(.*)>", kind)
    return Parameter(inner[1] if inner else kind, bool(inner), bool(default))


def overloads(header):
    """Returns the parameters of each overload by the function's qualified name."""
    space, found = "tensor", collections.defaultdict(list)
    for line in header.splitlines():
        if opened := re.fullmatch(r"namespace ([\w:]+) \{", line):
            space = "tensor" if opened[1] == "tensor" else f"tensor::{opened[1]}"
        elif line.startswith("}  // namespace"):
            space = "tensor"
        elif defined := re.fullmatch(r"inline [^=]*?(\w+)\((.*?)\) \{(?: .*\})?", line):
            if not re.search(r"\boperator\b|Methods<", line):
                found[f"{space}::{defined[1]}"].append([parameter(p) for p in split(defined[2])])
    return {name: forms for name, forms in found.items() if len(forms) > 1}


def empty_braces(forms, parameters, i):
    """Whether {} stands for argument i of one overload alone. Where two make something of it, {} is ambiguous."""
    p = parameters[i]
    others = [form[i] for form in forms if i < len(form) and form[i].type != p.type]
    return (p.optional or p.type in LISTS) and not any(o.optional or o.type in DEFAULT_MADE for o in others)


def calls(name, forms):
    """Yields calls of each overload with each number of arguments, one of which is written in each way and the others in the usual one."""
    for parameters in forms:
        if any(p.type not in WAYS for p in parameters):
            continue
        required = sum(not p.default for p in parameters)
        for count in range(max(required, 1), len(parameters) + 1):
            usual = [WAYS[p.type][0] for p in parameters[:count]]
            yield f"{name}({', '.join(usual)})"
            for i, p in enumerate(parameters[:count]):
                for way in WAYS[p.type][1:] + ["{}"] * empty_braces(forms, parameters, i):
                    yield f"{name}({', '.join(usual[:i] + [way] + usual[i + 1 :])})"


def main():
    with open(sys.argv[1]) as file:
        found = overloads(file.read())
    print('#include "tensor.hpp"\nusing namespace tensor;')
    print(
        "void all(const Tensor &t, const std::string &s, const std::vector<Tensor> &list, const Generator &generator, const Storage "
        "&storage) {"
    )
    for call in dict.fromkeys(call for name, forms in sorted(found.items()) for call in calls(name, forms)):
        print(f"  {call};")
    print("}")


if __name__ == "__main__":
    main()
