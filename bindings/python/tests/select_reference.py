"""Writes reference.jsonl.gz from a folder of recorded cases: a few short ones of every variant that pass.

usage: select_reference.py FOLDER
"""

import gzip
import json
import sys
from pathlib import Path

from reference import Case

MOST, LONGEST = 5, 6000


def passes(record):
    try:
        return not Case(record).run()
    except Exception:
        return False


def select(lines):
    """Cases of different dtypes first, then a refused one."""
    records = [json.loads(line) for line in lines if len(line) < LONGEST]
    chosen, seen = [], set()
    for record in sorted(records, key=lambda r: "raises" in r):
        kind = record["id"].split("/")[1]
        if kind not in seen and len(chosen) < MOST and passes(record):
            seen.add(kind)
            chosen.append(record)
    return chosen


def main(folder):
    lines = []
    for path in sorted(Path(folder).glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            lines += [json.dumps(record, separators=(",", ":")) + "\n" for record in select(file)]
    target = Path(__file__).parent / "reference.jsonl.gz"
    target.write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))
    print(f"{len(lines)} cases, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
