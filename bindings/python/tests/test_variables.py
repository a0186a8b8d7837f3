"""The table of docs/embedding.md has every variable of the environment that the library and its bindings read."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDERS = ("capi", "engine", "cuda", "bindings/python/libtensor", "bindings/python/direct", "bindings/node/src", "bindings/node/lib")
# Variables of tests, of the simulated device, of the generator and of benchmarks are not listed.
OTHERS = re.compile(r"_test\.go$|/(tests?|sim|bench|accuracy|generate)/")
READS = re.compile(r"(?:getenv|os\.Getenv|os\.LookupEnv|os\.environ(?:\.get)?|process\.env)\b *[.(\[] *([\"']?)(\w+)\1")
# The loader of shared libraries reads the variable of a Library.
LOADED = re.compile(r'\bVariable: +(?:"(\w+)"|(\w+)),')
CONSTANTS = re.compile(r'^(?:const )?\s*(\w*Variable)\s*= "(\w+)"', re.MULTILINE)


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = "/" + path.relative_to(ROOT).as_posix()
            if path.suffix in (".c", ".h", ".cpp", ".go", ".py", ".js", ".mjs") and not OTHERS.search(name):
                yield name, path.read_text()


def variables():
    """Returns the names of environment variables with the files that read them; names of Go constants are replaced by their values."""
    found, of_packages = {}, {}
    for name, text in sources():
        of_packages.setdefault(Path(name).parent, {}).update(CONSTANTS.findall(text))
    for name, text in sources():
        constants = of_packages[Path(name).parent]
        for word, constant in LOADED.findall(text):
            found.setdefault(word or constants[constant], set()).add(name)
        for quoted, word in READS.findall(text):
            if name == "/engine/dynlib/library.go":
                continue
            assert quoted or word in constants, f"{name} reads a variable whose name is not plain: {word}"
            found.setdefault(word if quoted else constants[word], set()).add(name)
    return found


def test_the_table_has_the_variables_that_are_read():
    page = (ROOT / "docs/embedding.md").read_text()
    section = page.split("## Environment\n")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(variables())
