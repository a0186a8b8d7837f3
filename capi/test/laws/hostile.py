"""Writes build/laws/hostile.c, a program that calls every C function with hostile arguments, and builds it."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from library import FORMS, HERE, ROOT

CALLS_BACK = (
    "node_set_context",
    "register_hook",
    "register_multi_grad_hook",
    "register_post_accumulate_grad_hook",
    "node_register_hook",
    "node_register_prehook",
    "push_saved_tensors_hooks",
    "record_function",
    "set_anomaly_watcher",
)
# Their contract lets no caller give what is drawn here.
LEFT_OUT = dict.fromkeys((f"tensor_{name}" for name in CALLS_BACK), "calls what it is given; capi/test/callbacks.c") | {
    "tensor_from_blob": "hands over memory for as long as it lives; its arguments beside it are drawn in law refusals",
    "tensor_from_blob_on": "hands over memory of a device for as long as it lives",
    "tensor_storage_from_descriptor": "maps and closes any file descriptor of the process",
}
ARGUMENTS = {
    "Tensor": "T()",
    "Tensor?": "T_optional()",
    "Storage": "ST()",
    "Generator": "G()",
    "Node": "N()",
    "Scalar": "scalar()",
    "Scalar?": "scalar()",
    "int": "I()",
    "int?": "I()",
    "bool": "B()",
    "bool?": "B_optional()",
    "float": "F()",
    "str": "text()",
    "str?": "text_optional()",
    "device": "D()",
    "dtype": "dtype()",
    "layout": "number_of(5, -1)",
    "memory_format": "number_of(3, -1)",
}
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

static void make_call(int i) {
  state = mix(mix(seed * 1000003 + block) + (uint64_t)i);
  used = 0, line[0] = 0;
  int which = below(CALLS);
  say("  ");
  double start = seconds();
  if (below(16) == 0) {  // freed, so that later calls meet stale handles and empty places
    int k = below(TENSORS);
    say("tensor_free(t[%%d]); t[%%d] = NULL;\n", k, k);
    if (tracing) fputs(line, stdout), fflush(stdout);
    tensor_free(atomic_exchange(&t[k], NULL));
    make(k);
  } else {
    calls[which]();
  }
  timed(names[which], start);
  if (i %% 64 == 0) settings();
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
    end();
  }
  int64_t grown = resident() - settled;
#ifdef __SANITIZE_ADDRESS__
  grown = 0;  // what is freed stays, to be watched
#endif
  if (count >= 20 && grown > GROWTH) fault("resident memory grew by: %%" PRId64 " KiB", grown);
  printf("DONE %%" PRId64 " answered, %%" PRId64 " refused, %%" PRId64 " KiB resident\n", (int64_t)answered, (int64_t)refusals, resident());
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
        if form["c"] == "tensor_from_data":  # what lies behind the pointer must be long enough
            return [
                f"int64_t v{i}[] = {{below(4) - 1, below(4)}}, n{i} = below(3);",
                'say("(const int64_t[]){%d, %d}, %d", (int)v1[0], (int)v1[1], (int)n1);',
            ], [f"v{i}", f"n{i}"]
        return [f"{c} v{i}[LIST]; int64_t n{i}; const {c} *p{i} = {listed}(v{i}, &n{i});"], [f"p{i}", f"n{i}"]
    if base == "pointer":
        return [f'void *p{i} = memory; say("memory");'], [f"p{i}"]
    if kind == "float?":
        return [f"double v{i}; const double *p{i} = F_optional(&v{i});"], [f"p{i}"]
    expression = "path()" if name in ("path", "filename") else ARGUMENTS[kind]
    c = "const char *" if base == "str" else C_TYPES.get(kind) or C_TYPES[base]
    cast = f"({c.strip()})" if base in ("dtype", "layout", "memory_format") else ""
    return [f"{c}a{i} = {cast}{expression};"], [f"a{i}"]


def stub(number, c):
    operator, form = FORMS[c]
    lines, words = [f'say("{c}(");'], []
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
            lines.append(f"tensor_t *o{i} = T();")
            words.append(f"o{i}")
    elif form["mode"] == "function":
        for i, kind in enumerate(operator["returns"]):
            comma()
            base = kind.replace("[]", "").replace("?", "")
            star = "*" if "[]" in kind else ""
            if base == "Tensor" and not star:
                lines.append(f'int k{i} = below(TENSORS); say("&r{i}");')
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
            pointer = f"below(200) ? &r{i} : NULL"
            lines.append(f"{C_TYPES[base]}{star}*q{i} = {pointer};")
            words.append(f"q{i}")
            if star:
                lines.append(f"int64_t *w{i} = q{i} ? &m{i} : NULL;")
                words.append(f"w{i}")
    text = " ".join(lines)
    check = f'if ({" || ".join(checks)}) fault("{c}: a refused call wrote a result");' if checks else ""
    if c == "tensor_set_memory_limit":
        after.append("capped();")
    store = f"if (status == TENSOR_OK) {{ {' '.join(after)} }}" if after else ""
    refused = f"if (status != TENSOR_OK) {{ {check} }}" if check else ""
    return f"""static void call_{number}(void) {{
  {text}
  say(");\\n");
  if (tracing) fputs(line, stdout), fflush(stdout);
  tensor_status status = judged("{c}", {c}({", ".join(words)}), 0);
  (void)status; {refused} {store}
}}
"""


def write(path):
    names = [c for c in FORMS if c not in LEFT_OUT]
    stubs = "\n".join(stub(i, c) for i, c in enumerate(names))
    calls = "".join(f"    call_{i},\n" for i in range(len(names)))
    path.write_text('#include "hostile.h"\n\n' + stubs + MAIN % (calls, "".join(f'    "{c}",\n' for c in names)))
    return names


BUILDING = threading.Lock()  # laws that run side by side share the program


def build(library=None, flags=()):
    """The program, linked with a library."""
    with BUILDING:
        return built(library, flags)


def built(library, flags):
    library = Path(library or os.environ.get("LIBTENSOR_LIBRARY") or ROOT / "build/libtensor.so").resolve()
    folder = ROOT / "build/laws"
    folder.mkdir(parents=True, exist_ok=True)
    source, program = folder / "hostile.c", folder / ("hostile-" + library.parent.name)
    fresh = max(p.stat().st_mtime for p in (HERE / "hostile.h", HERE / "hostile.py", HERE.parent / "gen_operators.json"))
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
        partial = program.with_suffix(f".{os.getpid()}")  # nobody runs a program that is being written
        command += ["-o", str(partial), f"-L{library.parent}", "-ltensor", "-lm", "-pthread", f"-Wl,-rpath,{library.parent}"]
        subprocess.run(command, check=True)
        partial.replace(program)
    return program


if __name__ == "__main__":
    print(build(*sys.argv[1:2]))
