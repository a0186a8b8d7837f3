"""Law 25: no function of tensor.h crashes if a pointer argument is NULL.

build/laws/pointers.c calls each function of the header, those without an entry in the schema too, with NULL for one pointer argument at a
time and for all. Other pointers are of a tensor, a string or zeroed memory, integers are 0 or 1. A call that crashes is reported, and the
program starts again after it."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from library import ROOT

NAME = "pointers"
HOST_ONLY = "functions check their pointers before they look at devices"
STARTS_CHILDREN = True
# Functions whose contract excludes the arguments that are drawn here.
LEFT_OUT = {
    "tensor_storage_from_descriptor": "maps and closes any file descriptor of the process",
    "tensor_run": "runs a callback of the caller's",
}
MAIN = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tensor.h"

static _Alignas(64) char memory[1 << 16];
static tensor_t *make_tensor(void) {
  tensor_t *made = NULL;
  const int64_t sizes[] = {2, 3};
  tensor_ones(sizes, 2, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &made);
  return made;
}
#define T make_tensor()
#define M (memset(memory, 0, sizeof memory), (void *)memory)
"""


def list_functions(text):
    """(name, types of the arguments) of each function that the header declares."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    for name, given in re.findall(r"TENSOR_API\s[\w\s*]*?\b(tensor_\w+)\(([^;]*)\)\s*;", text):
        items = [" ".join(item.split()) for item in given.split(",")]
        yield (
            name,
            [] if items == ["void"] else [re.sub(r"\b\w+$", "", item).strip() for item in items],
        )


def is_pointer(kind, callbacks):
    return kind.endswith("*") or kind in callbacks


def write_value(kind, number, callbacks):
    """An argument that is not the tested one."""
    if kind in callbacks:
        return "NULL"
    if kind in ("tensor_t *", "const tensor_t *"):
        return "T"
    if kind == "const char *":
        return '"x"'
    if kind.endswith("*"):
        return "M"
    if kind.startswith(("int", "uint", "size_t")):
        return str(number)
    return f"({kind}){{0}}"


def write_calls(header):
    """The calls of the program, as (function, statement)."""
    callbacks = set(re.findall(r"typedef [^;]*\(\*(tensor_\w+)\)\s*\(", header))
    for name, kinds in list_functions(header):
        pointers = [i for i, kind in enumerate(kinds) if is_pointer(kind, callbacks)]
        if name in LEFT_OUT or not pointers:
            continue
        for tested in ([i] for i in pointers) if len(pointers) > 1 else ():
            for number in (0, 1):
                args = ["NULL" if i in tested else write_value(kind, number, callbacks) for i, kind in enumerate(kinds)]
                yield name, f"{name}({', '.join(args)})"
        for number in (0, 1):
            args = ["NULL" if i in pointers else write_value(kind, number, callbacks) for i, kind in enumerate(kinds)]
            yield name, f"{name}({', '.join(args)})"


def build(calls, library):
    folder = ROOT / "build/laws"
    folder.mkdir(parents=True, exist_ok=True)
    source, program = folder / "pointers.c", folder / "pointers"
    cases = "\n".join(f"    case {i}: {statement}; break;" for i, (_, statement) in enumerate(calls))
    source.write_text(
        f"{MAIN}static void call(int i) {{\n  switch (i) {{\n{cases}\n  }}\n}}\n"
        "int main(int argc, char **argv) {\n"
        f'  for (int i = atoi(argv[1]); i < {len(calls)}; i++) printf("%d\\n", i), fflush(stdout), call(i);\n'
        '  return puts("done") < 0;\n}\n'
    )
    command = [
        os.environ.get("CC", "cc"),
        "-std=gnu11",
        "-O0",
        "-w",
        f"-I{ROOT / 'include'}",
        str(source),
        "-o",
        str(program),
    ]
    subprocess.run(
        [*command, f"-L{library.parent}", "-ltensor", f"-Wl,-rpath,{library.parent}"],
        check=True,
    )
    return program


def run(options, law, report):
    library = Path(os.environ.get("LIBTENSOR_LIBRARY") or ROOT / "build/libtensor.so").resolve()
    calls = list(write_calls((ROOT / "include/tensor.h").read_text()))
    chosen = [(name, call) for name, call in calls if options.operator in (None, name, name.removeprefix("tensor_"))]
    program, first = build(chosen, library), 0
    while first < len(chosen):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [str(program), str(first)],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        if done.stdout.endswith("done\n"):
            break
        at = int(done.stdout.split()[-1])
        report.count(law, at - first)
        lines = [line for line in done.stderr.splitlines() if line]
        report.fail(
            law,
            f"{chosen[at][0]}/0",
            f"status {done.returncode}: {chosen[at][1]}",
            "\n".join(lines[:3]),
        )
        first = at + 1
    report.count(law, len(chosen) - first)
    print(f"{law}: {len(chosen)} calls of {len({name for name, _ in chosen})} functions with NULL")
