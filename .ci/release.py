#!/usr/bin/env python3
"""Makes a release ready, but for publishing: its version wherever one is written, the date in CHANGELOG.md, the list of its functions in
capi/abi; then every check, the packages, a commit and a tag.

release.py VERSION [--quick] [--date DATE]. The tree must be clean, and CHANGELOG.md begin with a section for VERSION without a date, which
tells users what changes for them. --quick leaves the checks and the packages out. What is rejected changes nothing; after a check that
fails, `git checkout .` undoes the rest."""

import argparse
import datetime
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = r"\d+\.\d+\.\d+"
# Where the version is written; all else takes it from the Makefile or from these.
PLACES = {
    "Makefile": rf"^VERSION := ({VERSION})$",
    "bindings/python/pyproject.toml": rf'^version = "({VERSION})"$',
    "bindings/python/libtensor/_base/library.py": rf'^__version__ = "({VERSION})"$',
    "bindings/node/package.json": rf'^  "version": "({VERSION})",$',
    "bindings/node/package-lock.json": rf'"name": "libtensor",\n +"version": "({VERSION})",',
    "cuda/package/pyproject.toml": rf'^version = "({VERSION})"$',
    "cuda/package/package.json": rf'^  "version": "({VERSION})",$',
    "cuda/kernels/gen_entries.txt": rf"\Alibtensor ({VERSION})$",
}
SECTION = re.compile(rf"^## ({VERSION})(?: \((\d{{4}}-\d\d-\d\d)\))?$", re.M)
CHECKS = ("make test-all", "make lint", "make dist", "make test-world WORLD='dist glibc prefix rooms source'")


def numbers(version):
    return tuple(map(int, version.split(".")))


def versions(root):
    """The versions by the file that has them, which are one."""
    return {name: " and ".join({*re.findall(pattern, (root / name).read_text(), re.M)}) for name, pattern in PLACES.items()}


def find_obstacles(root, version):
    """Why there can be no such release now."""
    if not re.fullmatch(VERSION, version):
        return [f"{version} is no version: MAJOR.MINOR.PATCH, as 0.2.0"]
    said = []
    if changed := subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True).stdout:
        said.append(f"the tree has changes that are not committed:\n{changed.rstrip()}")
    if len({*versions(root).values()}) != 1:
        said.append("versions differ: " + ", ".join(f"{found} in {name}" for name, found in versions(root).items()))
    sections = SECTION.findall((root / "CHANGELOG.md").read_text())
    released = [each for each, date in sections if date]
    if not sections or sections[0] != (version, ""):
        said.append(f"CHANGELOG.md begins with no section `## {version}` that tells users what changes for them")
    if released and numbers(version) <= max(map(numbers, released)):
        said.append(f"{version} does not come after {max(released, key=numbers)}, the last release")
    return said


def write(root, version, date):
    """The version and the date, wherever they belong."""
    for name, pattern in PLACES.items():
        path = root / name
        path.write_text(re.sub(pattern, lambda match: match[0].replace(match[1], version), path.read_text(), flags=re.M))
    private = root / "capi" / "tensor.map"
    private.write_text(re.sub(r"TENSOR_PRIVATE_\d+\.\d+", "TENSOR_PRIVATE_{}.{}".format(*numbers(version)), private.read_text()))
    changes = root / "CHANGELOG.md"
    changes.write_text(SECTION.sub(f"## {version} ({date})", changes.read_text(), count=1))


def run(command, **options):
    """A command of the shell, in a make of its own: this one's VERSION is not for those that it calls."""
    print(f"-- {command}", flush=True)
    inherited = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "VERSION")}
    return subprocess.run(command, shell=True, cwd=ROOT, env=inherited, check=True, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", metavar="VERSION")
    parser.add_argument("--quick", action="store_true", help="without the checks and the packages")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the release (today)")
    args = parser.parse_args()
    if said := find_obstacles(ROOT, args.version):
        sys.exit("release: " + "\nrelease: ".join(said))
    write(ROOT, args.version, args.date)
    run("make generate")
    with open(ROOT / "capi" / "abi" / f"{args.version}.txt", "w") as file:
        run(".ci/abi.py", stdout=file)
    run("build/venv/bin/python -m pytest -q .ci/test_abi.py")
    for check in () if args.quick else CHECKS:
        run(check)
    run(f"git add -A && git commit -qm 'libtensor {args.version}' && git tag v{args.version}")
    print(f"libtensor {args.version} is committed and has the tag v{args.version}. To publish: push both, and what is in build/dist")


if __name__ == "__main__":
    main()
