#!/usr/bin/env python3
"""Follows docs/adding_an_operator.md to the letter, in a copy of the tree: both operators are built and their cases run. The one with a
kernel is an entry, lines of one unit and a case; what is generated for other operators stays as it is.

usage: adding_an_operator.py. Needs what `make setup` builds.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"(At the end of|[Ii]n the new file|In) `([^`]+)`(?:, before `([^`]+)`)?:\n```\w+\n(.*?)```\n", re.DOTALL)
BLOCK = re.compile(r"^```(?!sh)\w+$", re.MULTILINE)
COMMANDS = re.compile(r"```sh\n(.*?)```\n", re.DOTALL)


def copy(tree):
    """Copies the files of the project, but for the recorded cases, and what the build does not make itself."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        if (ROOT / name).is_file() and "/golden/" not in name:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    shutil.copytree(ROOT / "build" / "openblas", tree / "build" / "openblas")
    (tree / "build" / "venv").symlink_to(ROOT / "build" / "venv")


def follow(tree, text):
    """Puts every block where the line above it says."""
    if len(PLACE.findall(text)) != len(BLOCK.findall(text)):
        sys.exit("docs/adding_an_operator.md: a block has no line above it that says where it goes")
    for how, path, before, block in PLACE.findall(text):
        file = tree / path
        old = file.read_text() if file.exists() else None
        if (old is None) != how.endswith("new file"):
            sys.exit(f"docs/adding_an_operator.md: {path} is {'missing' if old is None else 'there already'}")
        if before and before not in old:
            sys.exit(f"docs/adding_an_operator.md: {path} has no {before!r}")
        file.write_text(old.replace(before, block + before, 1) if before else (old or "") + block)


def run(tree, command):
    # The kernels of this CPU's tier suffice.
    setting = f"PATH={ROOT / 'build/venv/bin'}:$PATH; export TIERS=native"
    done = subprocess.run(["bash", "-c", f"{setting}; {command}"], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}\ndocs/adding_an_operator.md does not work: the command above fails")


def check_generated(tree):
    """A new operator changes no generated line of another one, and has at most 400 of its own."""
    added = 0
    for pattern in ("capi/gen_*", "engine/*/gen_*.go"):
        for path in sorted(tree.glob(pattern)):
            name = path.relative_to(tree)
            compared = subprocess.run(["diff", ROOT / name, path], capture_output=True, text=True).stdout.splitlines()
            added += sum(line.startswith(">") for line in compared)
            if lost := [line for line in compared if line.startswith("<")]:
                sys.exit(f"{name}: lines of other operators have changed, such as {lost[0]}")
    if added > 2 * 400:
        sys.exit(f"two operators have {added} generated lines")


def main():
    composed, kernel = (ROOT / "docs/adding_an_operator.md").read_text().split("\n## An operator with a kernel\n")
    kernel = kernel.split("\n## ")[0]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        copy(tree)
        for text in (composed, kernel):
            follow(tree, text)
        for text in (composed, kernel):  # the library is built once for both
            for command in COMMANDS.search(text).group(1).splitlines():
                run(tree, command)
        run(tree, "gofmt -l engine | (! grep .) && make generate | grep ' 0 of'")
        check_generated(tree)
        run(tree, "grep -q 'tensor_cube_out' include/tensor.h && grep -q 'def cube' bindings/python/libtensor/_gen/gen_functions.py")
    written = {path for _, path, _, _ in PLACE.findall(kernel)}
    if written != {"engine/schema/operators/functions.yaml", "engine/kernel/src/units/power.h", "bindings/python/tests/test_cube.py"}:
        sys.exit(f"docs/adding_an_operator.md: an operator with a kernel is an entry, a unit and a case, not {sorted(written)}")
    print("ok    docs/adding_an_operator.md, followed to the letter: 2 operators built and called")


if __name__ == "__main__":
    main()
