"""Writes build/laws/hostile.c, a program that calls every C function with hostile arguments, and builds it."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import hostile_calls
from inputs import Inputs
from library import ABSENT, FORMATS, FORMS, HERE, KINDS, LAYOUTS, NAMES, OK, PLAIN, ROOT, Call, Library, Tensor
from program import integer, integers, real

# Their contract excludes the arguments that are drawn here.
LEFT_OUT = {
    "tensor_from_blob": "hands over memory for as long as it lives; its arguments beside it are drawn in law errors",
    "tensor_from_blob_on": "hands over memory of a device for as long as it lives",
    "tensor_storage_from_descriptor": "maps and closes any file descriptor of the process",
}
# Functions of hostile_given.h, which receive the reference call, if there is one, and the number of the argument.
ARGUMENTS = {
    "Tensor": "T",
    "Tensor?": "T_optional",
    "Storage": "ST",
    "Generator": "G",
    "Node": "N",
    "Scalar": "scalar",
    "Scalar?": "scalar",
    "int": "I",
    "int?": "I",
    "bool": "B",
    "bool?": "B_optional",
    "float": "F",
    "str": "text",
    "str?": "text_optional",
    "device": "D",
    "dtype": "dtype",
    "layout": "layout",
    "memory_format": "format",
}
CALLBACKS = {
    "hook": "hostile_hook",
    "backward": "hostile_hook",
    "pack": "hostile_pack",
    "unpack": "hostile_unpack",
    "drop": "hostile_drop",
    "deleter": "hostile_deleter",
    "watcher": "hostile_watcher",
    "context": "memory",
}
RECORDED = 4  # calls of a function that the program has
# The tensors of the pool that functions of a category prefer (hostile.h): the first one and their number.
PREFERRED = {"sparse": (3, 5), "quantized": (8, 6), "gradient": (15, 5)}
LISTS = {
    "int": ("int64_t", "ints"),
    "float": ("double", "floats"),
    "Scalar": ("tensor_scalar", "scalars"),
    "bool": ("bool", "bools"),
    "str": ("string", "texts"),
    "Tensor": ("tensor_handle", "tensors"),
    "Index": ("tensor_index", "items"),
}
C_TYPES = {
    "Tensor": "tensor_t *",
    "Storage": "tensor_storage_t *",
    "Generator": "tensor_generator_t *",
    "Node": "tensor_node_t *",
    "Scalar": "tensor_scalar ",
    "int": "int64_t ",
    "bool": "bool ",
    "bool?": "int32_t ",
    "float": "double ",
    "str": "char *",
    "dtype": "tensor_dtype ",
    "device": "tensor_device ",
    "pointer": "void *",
    "layout": "tensor_layout ",
    "memory_format": "tensor_memory_format ",
}
MAIN = r"""
static void (*const calls[])(void) = {
%s};
static const char *const names[] = {
%s};
enum { CALLS = sizeof calls / sizeof *calls, BLOCK = 2000, GROWTH = 256 << 10 };

static uint64_t seed = 1, block;
static bool *left_out;

// A call within another, of a callback.
static void call_one(void) {
  size_t outer = used;
  int tensors_before = temporaries, storages_before = storages_of_call;
  say("/* within: ");
  calls[below(CALLS)]();
  finish_temporaries(tensors_before), finish_storages(storages_before);
  used = outer, line[used] = 0;
}

static void make_call(int i) {
  state = mix(mix(seed * 1000003 + block) + (uint64_t)i);
  used = 0, line[0] = 0;
  int which = below(CALLS);
  say("  ");
  double start = seconds();
  if (transforms && below(12) == 0) {
    begin_level();
  } else if (below(16) == 0) {  // freed, so that later calls meet stale handles and empty places
    int k = below(TENSORS);
    say("tensor_free(t[%%d]); t[%%d] = NULL;\n", k, k);
    if (tracing) fputs(line, stdout), fflush(stdout);
    drop_tensor(atomic_exchange(&t[k], NULL));
    make(k);
  } else {
    calls[which]();
    finish_temporaries(0), finish_storages(0);
  }
  timed(names[which], start);
  if (i %% 64 == 0) settings(), make_node(below(NODES));
}

static void *thread(void *from) {
  for (int i = (int)(intptr_t)from; i < BLOCK; i += 2)
    if (!left_out[i]) make_call(i);
  return NULL;
}

static int64_t resident(void) {  // KiB
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f) return 0;
  if (fscanf(f, "%%*d %%ld", &pages) != 1) pages = 0;
  fclose(f);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// hostile SEED FIRST COUNT [threads|trace] [left-out calls...]: COUNT blocks of BLOCK calls
int main(int argc, char **argv) {
  if (argc < 4) return 2;
  bool threads = argc > 4 && !strcmp(argv[4], "threads");
  tracing = argc > 4 && !strcmp(argv[4], "trace");
  seed = strtoull(argv[1], NULL, 0);
  uint64_t first = strtoull(argv[2], NULL, 0), count = strtoull(argv[3], NULL, 0);
  if (getenv("HOSTILE_PATIENCE")) patience = atof(getenv("HOSTILE_PATIENCE"));
  if (getenv("HOSTILE_DTYPES")) favour(getenv("HOSTILE_DTYPES"));
  left_out = calloc(BLOCK, 1);
  stored = all_stored, stored_bytes = all_bytes, call_any = call_one;
  for (int i = 5; i < argc; i++) {  // ranges a-b
    int low = 0, high = 0;
    if (sscanf(argv[i], "%%d-%%d", &low, &high) == 2)
      for (int k = low; k <= high && k < BLOCK; k++) left_out[k] = true;
  }
  int64_t settled = 0;
  for (block = first; block < first + count && !faults; block++) {
    if (block == first + count / 2) settled = resident();
    printf("BLOCK %%" PRIu64 "\n", block), fflush(stdout);
    alarm(300);
    ending = false;
    transforms = block %% 2;
    begin(seed, block);
    if (threads) {
      pthread_t a, b;
      pthread_create(&a, NULL, thread, (void *)0);
      pthread_create(&b, NULL, thread, (void *)1);
      pthread_join(a, NULL), pthread_join(b, NULL);
    } else {
      for (int i = 0; i < BLOCK && !faults; i++) {
        if (left_out[i]) continue;
        if (tracing) printf("CALL %%d\n", i), fflush(stdout);
        make_call(i);
      }
    }
    end_callbacks();
    end();
  }
  for (int i = 0; i < CALLS && getenv("HOSTILE_SHARE"); i++)
    if (accepted[i]) printf("ACCEPTED %%s\n", names[i]);
  int64_t grown = resident() - settled;
#ifdef __SANITIZE_ADDRESS__
  grown = 0;  // what is freed stays, to be watched
#endif
  if (count >= 20 && grown > GROWTH) fault("resident memory grew by: %%" PRId64 " KiB", grown);
  printf("DONE %%" PRId64 " answered, %%" PRId64 " rejected, %%" PRId64 " callbacks, %%" PRId64 " KiB resident\n", (int64_t)answered,
         (int64_t)rejected, (int64_t)callbacks, resident());
  return faults ? 3 : 0;
}
"""


def argument(i, form, operator):
    """(declarations, C expressions) of an argument."""
    kind = form["types"][i]
    optional, base = kind.endswith("?"), kind.replace("?", "")
    name = operator["args"][i]["name"]
    if base.endswith("[]") or base == "Index":
        c, listed = LISTS[base.removesuffix("[]")]
        if form["types"][i] in ("Tensor?[]", "Tensor[]?") or base == "Tensor[]" and optional:
            listed = "tensors_optional"
        if form["c"] == "tensor_from_data":  # the memory at the pointer must be long enough
            return [
                f"int64_t v{i}[] = {{below(4) - 1, below(4)}}, n{i} = below(3);",
                'say("(const int64_t[]){%d, %d}, %d", (int)v1[0], (int)v1[1], (int)n1);',
            ], [f"v{i}", f"n{i}"]
        return [f"{c} v{i}[LIST]; int64_t n{i}; const {c} *p{i} = {listed}_of(v{i}, &n{i}, c, {i});"], [f"p{i}", f"n{i}"]
    if base == "pointer":
        given = CALLBACKS.get(name, "memory")
        return [f'say("{given}");'], [given]
    if kind == "float?":
        return [f"double v{i}; const double *p{i} = F_optional_of(&v{i}, c, {i});"], [f"p{i}"]
    expression = f"{'path' if name in ('path', 'filename') else ARGUMENTS[kind]}_of(c, {i})"
    c = "const char *" if base == "str" else C_TYPES.get(kind) or C_TYPES[base]
    cast = f"({c.strip()})" if base in ("dtype", "layout", "memory_format") else ""
    return [f"{c}a{i} = {cast}{expression};"], [f"a{i}"]


class Recorded:
    """Recorded calls as tables of C."""

    def __init__(self):
        # The plain library: one with sanitizers is not loaded into this process.
        self.library, self.stored, self.rows, self.data = Library(PLAIN), {}, [], bytearray()
        self.calls = Inputs().calls
        for c, args in hostile_calls.calls():
            self.calls[c].append(Call(c, args))

    def row(self, t):
        """The number of a tensor or of a storage, -1 for none."""
        if t is None:
            return -1
        if isinstance(t, hostile_calls.Slot):
            return -2 - t
        store = t.store if isinstance(t, Tensor) else t
        size, stride = (t.size, t.stride) if isinstance(t, Tensor) else ((), ())
        dtype, offset = (NAMES.index(t.dtype), t.offset) if isinstance(t, Tensor) else (1, 0)
        key = (store.data, dtype, size, stride, offset)
        if key not in self.stored:
            self.stored[key] = len(self.rows)
            listed = (", ".join(map(str, values)) or "0" for values in (size, stride))
            self.rows.append("{%d, %d, {%s}, {%s}, %d, %d, %d}" % (dtype, len(size), *listed, offset, len(self.data), len(store.data)))
            self.data += store.data
        return self.stored[key]

    def argument(self, kind, value):
        """The initializer of a `given`."""
        base = kind.replace("?", "")
        if base.endswith("[]") or base == "Index":
            if value is None:
                return "{.n = -1}"
            return "{.n = %d, .p = %s}" % (len(value), self.items(base.removesuffix("[]"), value) if value else "NULL")
        match base:
            case "Tensor" | "Storage":
                return "{.i = %d}" % self.row(value)
            case "Generator":
                return "{.i = %d}" % (-1 if value is None else value)
            case "Scalar":
                return "{.p = (const tensor_scalar[]){%s}}" % number(value)
            case "int":
                if value is hostile_calls.LEVEL:
                    return "{.n = 1}"
                return "{.i = %s}" % integer(ABSENT if value is None else value)
            case "bool":
                return "{.i = %d}" % (-1 if value is None else value)
            case "float":
                return "{.n = %d, .f = %s}" % (value is not None, real(value or 0))
            case "str":
                return "{.p = %s}" % ("NULL" if value is None else json.dumps(value))
            case "dtype":
                return "{.i = %d}" % (NAMES.index(value) if value else -1)
            case "layout" | "memory_format":
                return "{.i = %d}" % ((LAYOUTS if base == "layout" else FORMATS).index(value) if value else -1)
        return "{0}"

    def items(self, base, values):
        match base:
            case "Tensor":
                return "(const int64_t[]){%s}" % ", ".join(str(self.row(v)) for v in values)
            case "Index":
                made = ("{%d, %d, %s}" % (v["kind"], self.row(v["tensor"]), ", ".join(map(integer, v["bounds"]))) for v in values)
                return "(const given_item[]){%s}" % ", ".join(made)
            case "Scalar":
                return "(const tensor_scalar[]){%s}" % ", ".join(map(number, values))
            case "float":
                return "(const double[]){%s}" % ", ".join(map(real, values))
            case "bool":
                return "(const bool[]){%s}" % ", ".join(str(int(v)) for v in values)
            case "str":
                return "(const string[]){%s}" % ", ".join(map(json.dumps, values))
        return integers(values)

    def table(self, name, c):
        """Declares the recorded calls of a C function and returns how many they are."""
        calls = spread(self.calls[c]) if c != "tensor_from_data" else []
        rows = []
        for call in calls:
            row = [self.argument(k, v) for k, v in zip(call.form["types"], call.args, strict=True)]
            rows.append(", ".join(row + [f"{{.i = {dtype}}}" for dtype in self.outputs(call)]))
        made = [f"static const given {name}_{i}[] = {{{row or '{0}'}}};\n" for i, row in enumerate(rows)]
        if made:
            made.append(f"static const given *const {name}[] = {{{', '.join(f'{name}_{i}' for i in range(len(rows)))}}};\n")
        return "".join(made), len(rows)

    def outputs(self, call):
        """The numbers of the dtypes that outputs of the call need, -1 where they are not known."""
        if call.form["mode"] != "out":
            return []
        unknown = [-1] * len(call.operator["returns"])
        same = [f["c"] for f in call.operator["forms"] if f["mode"] == "function" and f["types"] == call.form["types"]]
        if not same or any(isinstance(t, hostile_calls.Slot) for t in call.args):
            return unknown
        made = self.library.run(replace(call, c=same[0]))
        return [NAMES.index(seen.dtype) for seen in made.results] if made.status == OK else unknown

    def tables(self):
        shown = "".join(f"\\{b:03o}" for b in self.data)
        lines = "\n".join(f'    "{shown[i : i + 100]}"' for i in range(0, len(shown), 100))
        rows = ",\n    ".join(self.rows)
        return f"static const unsigned char all_bytes[] =\n{lines};\nstatic const stored_tensor all_stored[] = {{\n    {rows}}};\n"


def spread(calls):
    """Some of the calls, from the first to the last."""
    return [calls[i * len(calls) // RECORDED] for i in range(RECORDED)] if len(calls) > RECORDED else calls


def number(value):
    """The initializer of a scalar."""
    value = value or {"kind": "none"}
    kind = KINDS.index(value["kind"])
    if "re" in value:
        return "{%d, {.f = {%s, %s}}}" % (kind, real(value["re"]), real(value["im"]))
    return "{%d, {.i = %s}}" % (kind, integer(value.get("value", 0)))


def stub(number, c, calls):
    operator, form = FORMS[c]
    first, count = PREFERRED.get(operator["category"], (0, 0))
    chosen = f"below(3) ? call_{number}_given[below({calls})] : NULL; exact = below(2)" if calls else "NULL"
    lines, words = [f'const given *c = {chosen}; prefer({first}, {count}); say("{c}(");'], []
    first = True

    def comma():
        nonlocal first
        if not first:
            lines.append('say(", ");')
        first = False

    for i in range(len(form["types"])):
        comma()
        made, names = argument(i, form, operator)
        lines += made
        words += names
    after, checks = [], []
    if form["mode"] == "out":
        for i in range(len(operator["returns"])):
            comma()
            lines.append(f"tensor_t *o{i} = out_of(c, {len(form['types']) + i});")
            words.append(f"o{i}")
    elif form["mode"] == "function":
        for i, kind in enumerate(operator["returns"]):
            comma()
            base = kind.replace("[]", "").replace("?", "")
            star = "*" if "[]" in kind else ""
            if base == "Tensor" and not star:
                lines.append(f'int k{i} = PLAIN + below(TENSORS - PLAIN); say("&r{i}");')
                lines.append(f"tensor_t *r{i} = (tensor_t *)memory;")
                after.append(f"if (r{i}) put_tensor(k{i}, r{i});")
                checks.append(f"r{i} != (tensor_t *)memory")
            elif star:
                lines.append(f'{C_TYPES[base]}*r{i} = NULL; int64_t m{i} = -77; say("&r{i}, &m{i}");')
                after.append(f"tensor_{'string_' if base == 'str' else ''}list_free(r{i}, m{i});")
                checks.append(f"r{i} || m{i} != -77")
            else:
                lines.append(f'{C_TYPES[base]}r{i}; memset(&r{i}, 0, sizeof r{i}); say("&r{i}");')
                free = {
                    "str": "tensor_string_free",
                    "Storage": "tensor_storage_free",
                    "Generator": "tensor_generator_free",
                    "Node": "tensor_node_free",
                }.get(base)
                if free:
                    after.append(f"{free}(r{i});")
                    checks.append(f"r{i}")
            if kind == "Node":
                after[-1] = f"tensor_node_free(atomic_exchange(&n[below(NODES)], r{i}));"
            pointer = f"below(200) ? &r{i} : NULL"
            lines.append(f"{C_TYPES[base]}{star}*q{i} = {pointer};")
            words.append(f"q{i}")
            if star:
                lines.append(f"int64_t *w{i} = q{i} ? &m{i} : NULL;")
                words.append(f"w{i}")
    text = " ".join(lines)
    check = f'if ({" || ".join(checks)}) fault("{c}: a rejected call wrote a result");' if checks else ""
    if c == "tensor_set_memory_limit":
        after.append("capped();")
    store = f"if (status == TENSOR_OK) {{ {' '.join(after)} }}" if after else ""
    rejected = f"if (status != TENSOR_OK) {{ {check} }}" if check else ""
    return f"""static void call_{number}(void) {{
  {text}
  say(");\\n");
  if (tracing) fputs(line, stdout), fflush(stdout);
  tensor_status status = judged("{c}", {c}({", ".join(words)}), 0);
  (void)c; {rejected} {store}
  if (status == TENSOR_OK) accepted[{number}] = true;
}}
"""


def write(path):
    names, given, stubs = [c for c in FORMS if c not in LEFT_OUT], Recorded(), []
    for i, c in enumerate(names):
        table, calls = given.table(f"call_{i}_given", c)
        stubs.append(table + stub(i, c, calls))
    calls = "".join(f"    call_{i},\n" for i in range(len(names)))
    head = f'#include "hostile_callbacks.h"\n\nstatic bool accepted[{len(names)}];  // functions of which a call has succeeded\n'
    main = MAIN % (calls, "".join(f'    "{c}",\n' for c in names))
    path.write_text(head + given.tables() + "\n".join(stubs) + main)
    return names


BUILDING = threading.Lock()  # concurrent tests share the program


def build(library=None, flags=()):
    """The program, linked with a library."""
    with BUILDING:
        return built(library, flags)


def built(library, flags):
    library = Path(library or os.environ.get("LIBTENSOR_LIBRARY") or ROOT / "build/libtensor.so").resolve()
    folder = ROOT / "build/laws"
    folder.mkdir(parents=True, exist_ok=True)
    source, program = folder / "hostile.c", folder / ("hostile-" + library.parent.name)
    sources = [
        HERE / name for name in ("hostile.h", "hostile_given.h", "hostile_callbacks.h", "hostile.py", "hostile_calls.py", "seeds.py")
    ]
    fresh = max(p.stat().st_mtime for p in (*sources, HERE.parent / "gen_operators.json"))
    if not program.exists() or program.stat().st_mtime < fresh:
        write(source)
        command = [
            os.environ.get("CC", "cc"),
            "-std=gnu11",
            "-O1",
            "-g",
            "-Wall",
            "-Wno-unused-function",
            *flags,
            f"-I{HERE}",
            f"-I{ROOT / 'include'}",
            str(source),
        ]
        partial = program.with_suffix(f".{os.getpid()}")  # another process must not run a program that is being written
        command += ["-o", str(partial), f"-L{library.parent}", "-ltensor", "-lm", "-pthread", f"-Wl,-rpath,{library.parent}"]
        subprocess.run(command, check=True)
        partial.replace(program)
    return program


if __name__ == "__main__":
    print(build(*sys.argv[1:2]))
