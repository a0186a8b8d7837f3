"""--table FILE writes the rows of the table in docs/gen_programs.md: one for each program, whether it passed or failed."""

from importlib import metadata
from pathlib import Path

import recorded  # noqa: F401 - adds programs

from programs import PROGRAMS

results = {}  # by the name of a program: "passes", or the last line of what it failed with


def pytest_addoption(parser):
    parser.addoption("--table", type=Path, help="the file to write rows to")


def pytest_runtest_logreport(report):
    if report.when == "call":
        name = report.nodeid.rpartition("[")[2].rstrip("]")
        lines = [line.removeprefix("E").strip() for line in report.longreprtext.splitlines() if line.startswith("E ") and "Error" in line]
        results[name] = "passes" if report.passed else "fails: " + (lines or ["no message"])[-1].replace("|", " ")[:200]


def pytest_sessionfinish(session):
    to = session.config.getoption("table")
    if not to:
        return
    rows = []
    for name, (tried, _, limits) in PROGRAMS.items():
        found = metadata.distribution(name)
        rows.append(f"| {found.metadata['Name']} | {found.version} | {tried} | {results.get(name, 'not run')} | {limits or '–'} |\n")
    to.write_text("".join(rows), encoding="utf-8")
