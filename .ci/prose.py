"""Writes the docstrings and comments of Python files, without examples, for the prose linter: prose.py FOLDER FILE...

A line of a file FOLDER/PATH.md is the line of the same number in PATH.py.
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
DIRECTIVES = ("noqa", "type: ", "mypy: ", "ruff: ", "!")


def find_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            yield node.body[0]


def find_prose(source):
    """Returns the lines of a file, with its docstrings and comments alone."""
    code = source.splitlines()
    lines = [""] * len(code)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string.lstrip("# ")
        if token.type == tokenize.COMMENT and not text.startswith(DIRECTIVES):
            lines[token.start[0] - 1] = text
    for node in find_docstrings(ast.parse(source)):
        for number in range(node.lineno - 1, node.end_lineno):
            line = code[number].strip()
            lines[number] = "" if line.startswith((">>>", "...")) else line.replace('"""', "")
    return lines


def main():
    folder, *paths = map(Path, sys.argv[1:])
    for path in paths:
        target = folder / path.with_suffix(".md")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(find_prose(path.read_text())))


if __name__ == "__main__":
    main()
