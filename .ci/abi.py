#!/usr/bin/env python3
"""What programs that are linked with the library rely on: each function with its types, constants, structures, and types of functions, a
line each.

abi.py > capi/abi/VERSION.txt writes it down for a release, with which later ones are compared (test_abi.py). Names of parameters do not
count."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "include" / "tensor.h"
ADVICE = """Programs that were linked with {version} would break. Keep what it was, and give what is new another name. For a release that shall break
them, raise the library's number (SONAME in the Makefile, TENSOR_0 in capi/tensor.map), and let .ci/abi.py write the only file of capi/abi anew."""


def squeezed(text):
    return re.sub(r"\s*([*,(){};])\s*", r"\1", re.sub(r"\s+", " ", text)).strip()


def unnamed(parameter):
    """The type of a parameter."""
    return re.sub(r"(?<=[\w*])( |(?<=\*))\w+$", "", parameter) if parameter not in ("const", "void") else parameter


def function(declaration):
    """A function, or a type of functions, by name and without the names of its parameters."""
    text = squeezed(declaration)
    result, name, parameters = (re.fullmatch(r"(.+)\(\*(\w+)\)\((.*)\)", text) or re.fullmatch(r"(.+?)(\w+)\((.*)\)", text)).groups()
    return name, f"{result.strip()} ({', '.join(unnamed(p) for p in parameters.split(','))})"


def described(header):
    """What programs rely on, by name."""
    text = re.sub(r"//.*", "", header)
    found = {}
    for declaration in re.findall(r"^TENSOR_API ([^;]*);", text, re.MULTILINE):
        name, kind = function(declaration)
        found[name] = f"function {kind}"
    for declaration in re.findall(r"^typedef ([^;{]*\)\([^;{]*);", text, re.MULTILINE):
        name, kind = function(declaration)
        found[name] = f"callback {kind}"
    for name, body in re.findall(r"^typedef struct (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        found[name] = f"struct {squeezed(body)}"
    for name in re.findall(r"^typedef struct \w+ (\w+);", text, re.MULTILINE):
        found[name] = "handle"
    for kind, body in re.findall(r"^typedef enum (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        found |= {name: f"{kind} {value}" for name, value in re.findall(r"(\w+) = (-?\w+)", body)}
    for name, value in re.findall(r"^#define (TENSOR_\w+) (.+)$", text, re.MULTILINE):
        if not name.startswith(("TENSOR_VERSION", "TENSOR_API")):
            found[name] = f"macro {value.strip()}"
    return found


def broken(before, now, version):
    """Says what a program that relies on `before` would miss, and what to do; nothing where it works as it is."""
    changes = [
        f"{name} was `{kind}`, and is {f'`{now[name]}`' if name in now else 'gone'}."
        for name, kind in before.items()
        if now.get(name) != kind
    ]
    return "\n".join([*changes, ADVICE.format(version=version)]) if changes else ""


def read(path):
    return dict(line.split(": ", 1) for line in path.read_text().splitlines())


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}: {kind}\n" for name, kind in sorted(described(HEADER.read_text()).items()))
