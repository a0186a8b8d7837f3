"""cuda/include/cuda.h says what the toolkit's own header says: the numbers, the layouts, the parameters."""

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

OURS = Path(__file__).resolve().parents[1] / "include"
TOOLKIT = Path(sysconfig.get_path("purelib"), "nvidia/cuda_runtime/include")


@pytest.fixture(scope="module")
def text():
    expanded = subprocess.run(["cc", "-E", "-P", OURS / "cuda.h"], check=True, capture_output=True, text=True).stdout
    return expanded[expanded.index("typedef int CUdevice;") :]


def told(include, folder, lines):
    """What a program prints that is compiled with a header."""
    source, program = folder / "told.c", folder / "told"
    source.write_text("#include <cuda.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n")
    subprocess.run(["cc", "-w", f"-I{include}", source, "-o", program], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def same(folder, lines):
    ours, toolkit = (told(include, folder, lines) for include in (OURS, TOOLKIT))
    assert ours == toolkit
    return ours.count("\n")


def test_numbers(text, tmp_path):
    names = re.findall(r"^ +(CU\w+) = ", text, re.MULTILINE) + re.findall(r"^#define (CU\w+) ", (OURS / "cuda.h").read_text(), re.MULTILINE)
    assert same(tmp_path, [f'printf("{name} %lld\\n", (long long){name});' for name in names]) > 250


def test_layouts(text, tmp_path):
    lines = []
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.DOTALL):
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));' for field in re.findall(r"(\w+)(?:\[\d+\])?;", body)]
    assert same(tmp_path, lines) > 100
    plain = re.findall(r"typedef [^;{}]*?(CU\w+|cu\w+);", text)
    assert same(tmp_path, [f'printf("{name} %zu\\n", sizeof({name}));' for name in plain]) > 12


def test_parameters(text, tmp_path):
    def prototypes(include):
        listed = tmp_path / "listed"
        source = tmp_path / "source.c"
        source.write_text("#include <cuda.h>\n")
        subprocess.run(["cc", "-w", "-fsyntax-only", "-aux-info", listed, f"-I{include}", source], check=True)
        return dict(re.findall(r"extern CUresult (\w+) (\(.*\));", listed.read_text()))

    ours, toolkit = prototypes(OURS), prototypes(TOOLKIT)
    assert len(ours) > 150
    assert ours == {name: toolkit[name] for name in ours}


def test_names_mean_their_newest_version(tmp_path):
    renamed = re.findall(r"^#define (cu\w+) (cu\w+)$", (OURS / "cuda.h").read_text(), re.MULTILINE)
    quote = "#define NAMED(X) #X\n#define OF(X) NAMED(X)\n"
    lines = [quote] + [f'printf("{plain} %s\\n", OF({plain}));' for plain, _ in renamed]
    assert same(tmp_path, lines) > 50
