#!/usr/bin/env python3
"""Finds lines of Go that are too long: columns.py FILE... A line may be longer if a string, with the punctuation that follows, crosses the
limit."""

import re
import sys

LIMIT = 140
# A string, raw or not, a rune, or a comment; a raw string may have several lines.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|`[^`]*`|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S)


def long_lines(text: str) -> list[int]:
    """The numbers of lines that are longer than the limit without a string that crosses it. A tab counts as one column."""
    strings = [m.span() for m in TOKEN.finditer(text) if m[0][0] in '"`']
    found, begin = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        limit = begin + LIMIT
        if len(line) > LIMIT and not any(start < limit < end + 2 for start, end in strings):
            found.append(number)
        begin += len(line) + 1
    return found


def main() -> int:
    failed = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for number in long_lines(file.read()):
                print(f"{path}:{number}: the line has more than {LIMIT} columns")
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
