"""Checks the types of the documentation's programs: Python with mypy --strict and pyright, JavaScript with tsc --strict.

Each block becomes a file in build/docs/types. Blocks of the README of the Node package run in an async function with `lt`, as in its test.
"""

import doctest
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from documentation import PAGES, ROOT, blocks

FOLDER = ROOT / "build/docs/types"
NODE = ROOT / "bindings/node"
# Pages whose programs use operators that the reader adds, or the name torch, which exists at run time only.
EXCLUDED = ("docs/adding_an_operator.md", "docs/programs.md")
MYPY = "[mypy]\nstrict = true\n[mypy-h5py.*]\nignore_missing_imports = true\n"
PYRIGHT = {"include": ["python"], "typeCheckingMode": "standard", "reportUnusedExpression": False}
TSC = {"strict": True, "noEmit": True, "allowJs": True, "checkJs": True, "target": "es2022", "lib": ["es2022", "esnext.disposable"]}
TSC |= {
    "module": "node16",
    "moduleResolution": "node16",
    "moduleDetection": "force",
    "types": ["node"],
    "typeRoots": [str(NODE / "node_modules/@types")],
}


def python_program(code):
    if ">>>" in code:
        code = "".join(example.source for example in doctest.DocTestParser().get_examples(code))
    return code if re.search(r"\bas torch\b|^import libtensor$", code, re.MULTILINE) else f"import libtensor as torch\n{code}"


def readme_program(code):
    declared = "" if re.search(r"^const lt = ", code, re.MULTILINE) else "const lt = require('libtensor');\n"
    return f"{declared}module.exports = async () => {{\n{code}}};\n"


def write_programs():
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name in ("python", "node/node_modules"):
        (FOLDER / name).mkdir(parents=True)
    (FOLDER / "node/node_modules/libtensor").symlink_to(NODE)
    listed = [block for found in PAGES.values() for block in found if block.page not in EXCLUDED]
    for block in [*listed, *blocks(NODE / "README.md")]:
        path = "{}/" + re.sub(r"\W", "_", block.page.removesuffix(".md")) + f"_{block.number}.{{}}"
        if block.language == "python":
            (FOLDER / path.format("python", "py")).write_text(python_program(block.code))
        elif block.language == "js":
            is_readme = block.page == "bindings/node/README.md"
            (FOLDER / path.format("node", "js")).write_text(readme_program(block.code) if is_readme else block.code)


def commands():
    """Yields the command of each type checker, with its configuration written."""
    (FOLDER / "mypy.ini").write_text(MYPY)
    yield [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", *sorted(str(path) for path in Path(FOLDER, "python").iterdir())]
    (FOLDER / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    yield [str(NODE / "node_modules/.bin/pyright"), "--pythonpath", sys.executable]
    (FOLDER / "tsconfig.json").write_text(json.dumps({"compilerOptions": TSC, "include": ["node/*.js"]}))
    yield [str(NODE / "node_modules/.bin/tsc"), "-p", "."]


def main():
    write_programs()
    failed = [command for command in commands() if subprocess.run(command, cwd=FOLDER).returncode]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
