"""Tells of circles among the C files of a folder: file A leans on file B where it uses a function or a variable of B's.
python .ci/circles.py FOLDER... fails where files lean on each other in a circle."""

import re
import sys
from pathlib import Path

NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# Definitions begin in a line's first column and are neither static nor only a type: a function with a body, or a variable.
FUNCTION = re.compile(r"^(?!static\b|typedef\b|extern\b|enum\b|#|return\b)\w[^;{}=()]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
VARIABLE = re.compile(
    r"^(?!(?:LT_KEPT )?static\b|typedef\b|extern\b|enum\b|#|struct \w+;)\w[\w *]*?\b(\w+)(?:\[[^]]*\])*(?: = [^;]*)?;", re.M
)


def leans(files):
    """For each file, {the file that it leans on: the names of it that it uses}."""
    texts = {f: NOISE.sub(" ", text) for f, text in files.items()}
    home = {name: f for f, text in texts.items() for kind in (FUNCTION, VARIABLE) for name in kind.findall(text)}
    on = {f: {} for f in texts}
    for f, text in texts.items():
        for name in sorted(set(re.findall(r"\w+", text)) & home.keys()):
            if home[name] != f:
                on[f].setdefault(home[name], []).append(name)
    return on


def circles(on):
    """The sets of files each of which reaches all others of its set."""
    reach = {}
    for start in on:
        seen, left = set(), list(on[start])
        while left:
            f = left.pop()
            if f not in seen:
                seen.add(f)
                left.extend(on[f])
        reach[start] = seen
    found = {frozenset(g for g in reach[f] if f in reach[g]) for f in on if f in reach[f]}
    return sorted(map(sorted, found))


def told(folder):
    """A line for each circle of a folder's, and one for each arrow in it."""
    on = leans({f.name: f.read_text() for f in sorted(Path(folder).glob("*.c"))})
    for circle in circles(on):
        yield f"{folder}: {', '.join(circle)} lean on each other in a circle"
        yield from (f"  {f} uses {', '.join(on[f][g])} of {g}" for f in circle for g in on[f] if g in circle)


if __name__ == "__main__":
    lines = [line for folder in sys.argv[1:] for line in told(folder)]
    print(*lines, sep="\n", file=sys.stderr)
    sys.exit(bool(lines))
