"""The code blocks of the documentation, and the output that follows them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([\w.]+\.\w+)`[^`\n]*:\n\n?\Z")
PROGRAMS = ("python", "c", "cpp", "js", "go")


class Block:
    def __init__(self, page, number, before, language, code):
        self.page, self.number, self.language, self.code = page, number, language, code
        self.before = before  # the text between the preceding block and this one
        self.output = None  # of the program, if the page has it
        named = NAMED.search(before)
        self.name = named and named[1]

    @property
    def whole(self):
        """Whether the block is a program, rather than declarations or an excerpt."""
        return self.language in ("js", "python") or re.search(r"\bmain\(", self.code) is not None


def pages():
    own = [ROOT / "docs/adding_an_operator.md"]
    return [
        path for path in [ROOT / "README.md", ROOT / "bindings/python/README.md", *sorted(ROOT.glob("docs/**/*.md"))] if path not in own
    ]


def blocks(path):
    """Returns the blocks of a page. A block `text` is the output of the adjacent programs before it."""
    text, found, side, end = path.read_text(), [], [], 0
    for number, match in enumerate(FENCE.finditer(text)):
        block = Block(str(path.relative_to(ROOT)), number, text[end : match.start()], *match.groups())
        end = match.end()
        if block.language == "text":
            for program in side:
                program.output = block.code
        if block.language not in PROGRAMS or block.before.strip() or block.language in {program.language for program in side}:
            side = []
        if block.language in PROGRAMS:
            side.append(block)
        found.append(block)
    return found


PAGES = {path: blocks(path) for path in pages()}
