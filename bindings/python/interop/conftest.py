"""Tests of other packages with tensors: a file test_NAME.py for each, whose docstring describes the tested features. --table FILE adds rows
to the table in docs/gen_interop.md, after all tests have passed.
"""

from collections import Counter
from importlib import metadata
from pathlib import Path

passed, tried = Counter(), {}


def pytest_addoption(parser):
    parser.addoption("--table", type=Path, help="the file to add rows to")


def pytest_collection_modifyitems(items):
    for item in items:
        tried[item.path.stem.removeprefix("test_")] = " ".join(item.module.__doc__.split())


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed:
        passed[Path(report.location[0]).stem.removeprefix("test_")] += 1


def distribution(name):
    """The name and the version of the package that a file is about: of a distribution, or of a module of one."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        found = metadata.distribution(metadata.packages_distributions()[name][0])
    return found.metadata["Name"], found.version


def pytest_sessionfinish(session, exitstatus):
    to = session.config.getoption("table")
    if to and exitstatus == 0:
        with to.open("a") as file:
            for name in tried:
                file.write(f"| {' | '.join(map(str, (*distribution(name), passed[name], tried[name])))} |\n")
