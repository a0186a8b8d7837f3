#!/usr/bin/env python3
"""Writes the kernels of the CUDA backend: generate.py ptx | simulator FOLDER | check.

A unit is a file of engine/kernel/src/units whose kernels are elementwise, or one beside this script. Its table of kernels is expanded by
the C++ preprocessor into an entry for every kernel and dtype. `ptx` compiles units by NVRTC into gen_UNIT.ptx.gz, and lists them in
gen_entries.txt, each with a digest of its sources, which `check` compares, and its entries; what is up to date stays. `simulator` writes
the same sources for the simulated driver."""

import concurrent.futures
import ctypes
import gzip
import hashlib
import importlib.util
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = ROOT / "engine/kernel/src"
DTYPES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64".split()
DTYPES += ["complex64", "complex128", "complex32", "bcomplex32"]
OWN = ["copy", "dequantize", "drawing", "matrices", "normalizing", "ranking", "resampling", "sampling", "searching", "selecting", "sorting"]
OWN += ["targets", "vectors", "windows"]
UNITS = (
    "activation alignment arithmetic bessel bitwise classify comparison complex distance division entropy exponential extremum format "
    "histogram hyperbolic implicit index inverse_trigonometric"
    " logarithm logical loss normal polynomials power ranges reduce_minmax reduce_norm reduce_sum reduce_var rounding scan scatter sign "
    "softmax sort special ternary"
    " trigonometric unique update"
).split()
# Units whose elements take too few instructions to wait for memory: they have separate entries for contiguous operands.
CONTIGUOUS = "activation arithmetic bitwise classify comparison division exponential extremum logical rounding sign ternary".split()
STORED = {"float32": {"float32": "float", "float16": "lt::Float16", "bfloat16": "lt::BFloat16"}}  # the dtypes in memory by compute dtype
HEADERS = {
    "LT_CONTIGUOUS": "contiguous",
    "LT_REDUCING": "reducing",
    "LT_COMBINE": "combining",
    "LT_SEEKING": "seeking",
    "LT_SOFT": "soft",
    "LT_SCANNING": "scanning",
    "LT_RANGE": "lanes",
    "LT_LINE": "lines",
    "LT_MEMBER": "grouping",
    "LT_BINS": "counting",
    "LT_DISTANCES": "distances",
    "LT_UPDATE": "updating",
    "LT_ALIGN": "aligning",
}
# The types of operands whose kernel computes in one, as OperandDType of engine/tensoriter has their dtypes.
LETTERS = {"T": "{}", "X": "{}", "b": "lt::Bool", "i": "int32_t", "l": "int64_t", "R": "lt::RealOf<{}>", "C": "lt::Complex<{}>"}
SORTING = ("sort", "sort_stages", "searchsorted")  # kernels of the unit sort that units in this folder implement or do not need
# The kernels that grouping.h makes of those of the unit unique.
GROUPING = {
    "unique": [],
    "member": ["member"],
    "unique_consecutive": ["group_flags"],
    "unique_rows": ["rows_runs", "rows_merge"],
}
# Entries for bfloat16 in memory are compiled for the first devices with instructions for it, as separate units.
UNITS += [f"{unit}_bfloat16" for unit in CONTIGUOUS if unit != "bitwise"]
# The kernels of soft.h.
SOFT = {
    "softmax": "kSoftLane",
    "log_softmax": "kLogSoftLane",
    "logsumexp": "kLogSumExpLane",
    "softmax_gradient": "kSoftGradientLane",
    "log_softmax_gradient": "kLogSoftGradientLane",
}
# The steps of scanning.h, with the elements of a strand: few of long functions.
SCANNING = {
    "cumsum": "Accumulating<lt::AddStep, {}, 8>",
    "cumprod": "Accumulating<lt::MulStep, {}, 8>",
    "logcumsumexp": "Accumulating<lt::LogAddExpStep, {}, 1>",
    "cummax": "Extremes<true, {}>",
    "cummin": "Extremes<false, {}>",
}
OPTIONS = ["-std=c++17", "-default-device", "--device-int128", "-fmad=false", "-w"]


def options(unit):
    """The options of NVRTC for a unit."""
    return [f"--gpu-architecture=compute_{80 if unit.endswith('_bfloat16') else 75}", *OPTIONS]


def includes(path, seen):
    """The files that a source includes, itself among them."""
    if path not in seen:
        seen.add(path)
        for name in re.findall(r'#include "([^"]+)"', path.read_text()):
            found = (path.parent / name).resolve()
            if found.exists() and "sim" not in found.parts:
                includes(found, seen)
    return seen


def code(text):
    """A source without comments and white space, which do not change the PTX."""
    literal = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    text = re.sub(rf"({literal})|//[^\n]*|/\*.*?\*/", lambda m: m[1] or " ", text, flags=re.S)
    return " ".join(text.split()).encode()


def digest(unit):
    """Identifies the sources of a unit."""
    text = source(unit)[1]
    seen = set(HERE.glob("nvrtc/*"))
    for name in re.findall(r'#include "([^"]+)"', text):
        includes(ROOT / name, seen)
    parts = [code(text), " ".join(options(unit)).encode(), *(code(p.read_text()) for p in sorted(seen))]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def split(text):
    """The parts of a list between commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return [p.strip() for p in [*parts, text[begin:]]]


def entries(unit):
    """Name and macro of every kernel of a unit."""
    command = ["g++", "-E", "-P", "-x", "c++", "-std=c++17", "-DLT_TIER=cuda", str(SOURCES / f"units/{unit}.h")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    table = text[text.index(f"lt_{unit}_cuda[] =") :]
    seen = set()
    for name, signature, rows in re.findall(r'\{\s*"(\w+)",\s*"([^"]*)",\s*\{(.*?)\}\s*\}', table, re.S):
        at = max(signature.find(">"), signature.find("="))
        letters = signature.replace(">", "").replace("=", "")
        for dtype, row in zip(DTYPES, split(rows)):
            reducer = re.search(r"ReducerOf<lt::(.+)>::value$", row)
            found = re.search(r"lt::(\w+)::row<(.+)>$", row)
            entry = f"{name}_{dtype}"
            if unit == "softmax" and found:
                yield entry, f"LT_SOFT({entry}, {SOFT[name]}, {found[2]})"
            elif unit == "scan" and found:
                yield entry, f"LT_SCANNING({entry}, {SCANNING[name].format(found[2])}, {found[2]})"
            elif unit == "sort" and found and name not in SORTING:
                yield entry, f"LT_LINE({entry}, {found[1]}, {found[2]})"
            elif unit == "unique" and found:
                for kernel in GROUPING[name] if "float" in dtype else GROUPING[name][:2]:
                    yield f"{kernel}_{dtype}", f"LT_{kernel.upper()}({kernel}_{dtype}, {found[2]})"
            elif name == "histogram" and found:
                yield f"bins_{dtype}", f"LT_BINS(bins_{dtype}, {found[2]})"
            elif unit == "distance" and found:
                yield entry, f"LT_DISTANCES({entry}, {found[1]}, {found[2]})"
            elif unit == "update" and found:
                yield entry, f"LT_UPDATE({entry}, {found[2]})"
            elif unit == "alignment" and found:
                yield entry, f"LT_ALIGN({entry}, {found[2]})"
            elif unit == "ranges" and found:
                yield entry, f"LT_RANGE({entry}, {found[1]}, {found[2]})"
            elif signature == "reduce" and reducer:
                yield f"reduce_{name}_{dtype}", f"LT_REDUCING(reduce_{name}_{dtype}, {reducer[1]})"
            elif at >= 0 and len(letters) <= 4 and found:
                flag = 24 if "l" in letters and "=" in signature else 0
                if signature == "X=lT":
                    macro = f"LT_COMBINE({entry}, {str(name == 'put').lower()}"
                elif flag or at == 0:
                    macro = f"LT_SEEKING({entry}, {at}, {len(letters)}, {flag}"
                else:
                    types = ", ".join(LETTERS[letter].format(found[2]) for letter in letters)
                    yield entry, f"LT_ELEMENTWISE({entry}, {at}, {str('>' in signature).lower()}, {found[1]}, {found[2]}, {types})"
                    if ">" in signature and unit in CONTIGUOUS and ("complex" not in dtype or unit == "arithmetic"):
                        for stored in STORED.get(dtype, {dtype: found[2]}).items():
                            entry = f"{name}_contiguous_{stored[0]}"
                            if entry in seen:  # a kernel that computes in the dtype
                                continue
                            seen.add(entry)
                            yield entry, f"LT_CONTIGUOUS({entry}, {at}, {found[1]}, {found[2]}, {stored[1]}, {types})"
                    continue
                yield entry, f"{macro}, {found[1]}, {found[2]})"


def source(unit):
    """The entries of a unit, and its source."""
    if unit in OWN:
        command = ["g++", "-E", "-P", "-x", "c++", "-std=c++17", "-DLT_SIMULATED", str(HERE / f"{unit}.h")]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return re.findall(r'extern "C" void (\w+)\(const void', text), f'#include "cuda/kernels/{unit}.h"\n'
    unit, half, _ = unit.partition("_bfloat16")
    text = (SOURCES / f"units/{unit}.h").read_text()
    body = text[: text.index("LT_UNIT(")].replace('#include "../native.h"', '#include "cuda/kernels/native.h"')
    body = body.replace('#include "../', '#include "engine/kernel/src/')
    if unit == "sort":  # its radix sort uses vectors of the CPU
        body = re.sub(r"// Sorts rows of n elements.*?struct SortStages \{.*?\n\};\n", "", body, flags=re.S).replace(
            "src/radix.h", "src/sort.h"
        )
    found = [(entry, macro) for entry, macro in entries(unit) if entry.endswith("_contiguous_bfloat16") == bool(half)]
    macros = "\n".join(macro for _, macro in found)
    needs = dict.fromkeys(header for macro, header in HEADERS.items() if f"{macro}(" in macros) or ["elementwise"]
    included = "\n".join(f'#include "cuda/kernels/{header}.h"' for header in needs)
    return [name for name, _ in found], f"{included}\n{body}\n{macros}\n"


class Nvrtc:
    """The run-time compiler, from its wheel."""

    def __init__(self):
        folder = importlib.util.find_spec("nvidia.cuda_nvrtc").submodule_search_locations[0]
        self.lib = ctypes.CDLL(f"{folder}/lib/libnvrtc.so.12")

    def text(self, what, program):
        size = ctypes.c_size_t()
        getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(self.lib, f"nvrtcGet{what}")(program, text)
        return text.value.decode()

    def compile(self, unit, text):
        program = ctypes.c_void_p()
        self.lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), f"{unit}.cu".encode(), 0, None, None)
        words = [*options(unit), f"-I{ROOT}", f"-I{HERE}/nvrtc"]
        array = (ctypes.c_char_p * len(words))(*(o.encode() for o in words))
        if self.lib.nvrtcCompileProgram(program, len(words), array):
            raise SystemExit(f"{unit}:\n{self.text('ProgramLog', program)}")
        return self.text("PTX", program)


def plain(ptx):
    """PTX of version 8.0, which drivers for CUDA 12.0 read, without comments, and with names of internal functions that are the same in
    every process."""
    ptx = re.sub(r"^\.version .*$", ".version 8.0", ptx, flags=re.M)
    ptx = re.sub(r'^\s*\.pragma "used_bytes_mask .*\n', "", ptx, flags=re.M)  # a hint of later versions
    ptx = re.sub(r"^\s*//.*\n", "", ptx, flags=re.M)
    ptx = re.sub(r" // callseq .*$", "", ptx, flags=re.M)
    names = dict.fromkeys(re.findall(r"\b\w*_INTERNAL_\w+", ptx))
    for number, name in enumerate(names):
        ptx = re.sub(rf"\b{name}\b", f"internal_{number}", ptx)
    return re.sub(r"\d+_GLOBAL__N__\w*?_cu_[0-9a-f]{8}_\d+", "internal_", ptx)


def title():
    """The first line of gen_entries.txt, by which libtensor knows the kernels for its own."""
    return "libtensor " + re.search(r"^VERSION := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]


def listed():
    """The other lines of gen_entries.txt, by unit."""
    path = HERE / "gen_entries.txt"
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return {line.split()[0]: line for line in lines}


def compiled(unit, line):
    mark, path = digest(unit), HERE / f"gen_{unit}.ptx.gz"
    if line and line.split()[1] == mark and path.exists():
        return line
    names, text = source(unit)
    made = plain(Nvrtc().compile(unit, text))
    if not path.exists() or plain(gzip.decompress(path.read_bytes()).decode()) != made:
        path.write_bytes(gzip.compress(made.encode(), 9, mtime=0))
    return f"{unit} {mark} {' '.join(names)}"


def ptx():
    units, old = [*OWN, *UNITS], listed()
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        lines = list(pool.map(compiled, units, map(old.get, units)))
    (HERE / "gen_entries.txt").write_text("\n".join([title(), *lines]) + "\n")


def simulator(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for unit in [*OWN, *UNITS]:
        path, text = folder / f"{unit}.cpp", source(unit)[1]
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def check():
    lines = listed()
    old = [unit for unit in [*OWN, *UNITS] if unit not in lines or lines[unit].split()[1] != digest(unit)]
    if old:
        raise SystemExit(f"kernels in cuda/kernels are older than their sources ({', '.join(old)}): run make cuda-kernels")
    first = (HERE / "gen_entries.txt").read_text().partition("\n")[0]
    if first != title():
        raise SystemExit(f"cuda/kernels/gen_entries.txt is that of {first}, and this is {title()}: run make cuda-kernels")


if __name__ == "__main__":
    {"ptx": ptx, "simulator": simulator, "check": check}[sys.argv[1]](*sys.argv[2:])
