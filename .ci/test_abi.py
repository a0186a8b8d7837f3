"""Programs that are linked with a release work with the library as it is now."""

import re
import subprocess

import abi
import pytest

HEADER = abi.HEADER.read_text()
NOW = abi.described(HEADER)
LIBRARY = abi.ROOT / "build" / "libtensor.so"
RELEASES = sorted((abi.ROOT / "capi" / "abi").glob("*.txt"))


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_programs_of_a_release(release):
    assert not (said := abi.broken(abi.read(release), NOW, release.stem)), said


def test_there_is_a_release():
    assert RELEASES


def exports():
    """What the library exports, by its node in the version script."""
    nodes = {}
    for line in subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout.splitlines():
        name, _, node = line.split()[-1].partition("@@")
        if node:
            nodes.setdefault(node, set()).add(name)
    return nodes


def test_exports_are_those_of_the_header():
    nodes = exports()
    private = re.search(r"TENSOR_PRIVATE\S* \{(.*?)\}", (abi.ROOT / "capi" / "tensor.map").read_text(), re.DOTALL)[1]
    assert nodes.pop("TENSOR_0") == {name for name, kind in NOW.items() if kind.startswith("function ")}
    # The symbols for bindings of the same version have a version node of that version.
    assert nodes == {f"TENSOR_PRIVATE_{'.'.join(version()[:2])}": set(re.findall(r"(tensor_\w+);", private))}


def version():
    return [re.search(rf"#define TENSOR_VERSION_{part} (\d+)", HEADER)[1] for part in ("MAJOR", "MINOR", "PATCH")]


def test_soname():
    dynamic = subprocess.run(["objdump", "-p", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert re.search(r"SONAME +(\S+)", dynamic)[1] == "libtensor.so.0"


BREAKS = [
    (
        "tensor_abs(const tensor_t *self, tensor_t **out)",
        "tensor_abs(const tensor_t *self, bool fast, tensor_t **out)",
        "tensor_abs was `function tensor_status (const",
    ),
    ("TENSOR_API tensor_status tensor_abs(", "TENSOR_API int32_t tensor_abs(", "and is `function int32_t (const tensor_t*, tensor_t**)`"),
    (
        "TENSOR_API tensor_status tensor_abs(const tensor_t *self, tensor_t **out);\n",
        "",
        "tensor_abs was `function tensor_status (const tensor_t*, tensor_t**)`, and is gone.",
    ),
    ("TENSOR_BOOL = 0", "TENSOR_BOOL = 22", "TENSOR_BOOL was `tensor_dtype 0`, and is `tensor_dtype 22`."),
    ("  int32_t index;\n", "  int64_t index;\n", "tensor_device was `struct int32_t type;int32_t index;`"),
    ("void *packed, tensor_t **out);", "tensor_t **out);", "tensor_unpack was `callback tensor_status (void*, void*, tensor_t**)`"),
    ("#define TENSOR_NONE INT64_MIN", "#define TENSOR_NONE INT64_MAX", "TENSOR_NONE was `macro INT64_MIN`"),
]
KEEPS = [
    ("tensor_abs(const tensor_t *self, tensor_t **out)", "tensor_abs(const tensor_t *input,\n    tensor_t **out)"),
    ("TENSOR_API int32_t tensor_version(void);", "TENSOR_API int32_t tensor_version(void);\nTENSOR_API void tensor_more(int32_t);"),
    ("TENSOR_UINT64 = 21", "TENSOR_UINT64 = 21,\n  TENSOR_UINT128 = 22"),
    ("#define TENSOR_VERSION_MINOR 1", "#define TENSOR_VERSION_MINOR 2"),
]


@pytest.mark.parametrize(("old", "new", "said"), BREAKS, ids=range(len(BREAKS)))
def test_what_breaks_programs(old, new, said):
    assert HEADER.count(old) == 1
    answer = abi.broken(NOW, abi.described(HEADER.replace(old, new)), "0.1.0")
    assert said in answer and "Programs that were linked with 0.1.0 would break. Keep what it was" in answer


@pytest.mark.parametrize(("old", "new"), KEEPS, ids=range(len(KEEPS)))
def test_what_does_not(old, new):
    assert HEADER.count(old) == 1
    assert not abi.broken(NOW, abi.described(HEADER.replace(old, new)), "0.1.0")
