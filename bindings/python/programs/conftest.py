"""--table FILE writes the rows of the table in docs/gen_programs.md, once all programs have run."""

from importlib import metadata
from pathlib import Path

from programs import PROGRAMS


def pytest_addoption(parser):
    parser.addoption("--table", type=Path, help="the file to write rows to")


def pytest_sessionfinish(session, exitstatus):
    to = session.config.getoption("table")
    if to and exitstatus == 0:
        found = {name: metadata.distribution(name) for name in PROGRAMS}
        to.write_text("".join(f"| {d.metadata['Name']} | {d.version} | {PROGRAMS[name][0]} |\n" for name, d in found.items()))
