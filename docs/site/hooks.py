"""Build hooks of mkdocs: pages outside of docs/, links to sources, and tabs.

A link to a page of the site remains a link, with the title of the page in place of a file name; a link to another file of the tree becomes
the name of the file. A link to a missing file fails the build. Adjacent code blocks in different languages become tabs.
"""

import json
import re
from pathlib import Path, PurePosixPath

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
# Pages that are made of files outside docs/.
OUTSIDE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "packages/python.md": "bindings/python/README.md",
    "packages/node.md": "bindings/node/README.md",
    "header.md": "include/tensor.h",
}
LANGUAGES = {"c": "C", "cpp": "C++", "python": "Python", "py": "Python", "js": "Node", "ts": "Node", "go": "Go"}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\((?!\w+:)([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
BLOCKS = re.compile(r"(?:^```(?:%s)\n(?:(?!```).*\n)*```\n\n?){2,}" % "|".join(LANGUAGES), re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n((?:(?!```).*\n)*)```$", re.MULTILINE)
SECTION = re.compile(r"^// -{20,} (.+)\n", re.MULTILINE)
# What a search prefers, where it finds as much in several pages. Tables of facts about every operator, and changes, are not searched.
BOOSTS = {"get-started/": 4, "autograd.md": 4, "performance.md": 0.5, "operators/": 0.5, "contributing.md": 0.5, "differences.md": 1}
UNSEARCHED = ("changelog.md", "gen_dtypes.md", "gen_cuda.md", "operators/gen_operators.md")


def on_files(files, config):
    for uri, source in OUTSIDE.items():
        text = (ROOT / source).read_text()
        files.append(File.generated(config, uri, content=header(text) if source.endswith(".h") else text))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    boost = next((value for start, value in BOOSTS.items() if uri.startswith(start)), 2)
    page.meta["search"] = {"exclude": True} if uri in UNSEARCHED else {"boost": boost}
    page.meta["hide"] = ["navigation"] if uri == "index.md" else ["toc"] if uri in UNSEARCHED else []
    source = PurePosixPath(OUTSIDE.get(uri, f"docs/{uri}"))
    parts, end, labels = [], 0, dict(named(config.nav))
    for block in FENCED.finditer(markdown):
        parts += [relinked(markdown[end : block.start()], source, uri, labels), block.group()]
        end = block.end()
    text = "".join([*parts, relinked(markdown[end:], source, uri, labels)])
    return BLOCKS.sub(lambda found: tabs(found.group()), text)


def on_page_content(html, page, config, files):
    # Names, spaces and signs have the colour of text, and HTML does without the ends of cells: a third of a page of operators is left.
    html = re.sub(r'<span class="(?:n|nx|o|p|w)">([^<]*)</span>', r"\1", html)
    return re.sub(r"</td>\s*(?=<td|</tr>)", "", html)


def on_post_page(output, page, config):
    """The theme's lines without their indentation, which is a third of a small page."""
    head, article, rest = re.split(r"(<article.*</article>)", output, maxsplit=1, flags=re.DOTALL)
    return re.sub(r"\n\s+", "\n", head) + article + re.sub(r"\n\s+", "\n", rest)


def on_post_build(config):
    """Operators are searched by the first sentence that is said of them, and pages without their code: with all that pages have, the index
    would be three times as large."""
    path = Path(config.site_dir, "search/search_index.json")
    index = json.loads(path.read_text())
    for section in index["docs"]:
        text = re.sub(r"<pre>.*?</pre>", "", section["text"], flags=re.DOTALL)
        if section["location"].startswith("operators/") and "#" in section["location"]:
            text = re.sub(
                r"(?<=\w[.])\s.*|</p>.*", "", re.sub(r"^<p><code>.*?</p>", "", text.strip(), flags=re.DOTALL).strip(), flags=re.DOTALL
            )
        section["text"] = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)).strip()
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")))


def named(nav):
    """The pages of the navigation with their names there."""
    for entry in nav:
        for label, inner in entry.items():
            if isinstance(inner, list):
                yield from named(inner)
            else:
                yield inner, label


def relinked(text, source, uri, labels):
    """The text with its links as the site has them."""

    def replace(link):
        words, target, fragment = link.groups()
        path = normal(source.parent / target)
        if not (ROOT / path).exists():
            raise PluginError(f"{source}: there is no {target}")
        there = next((page for page, outside in OUTSIDE.items() if outside == str(path)), None)
        if there is None and path.suffix == ".md" and path.parts[0] == "docs":
            there = str(path.relative_to("docs"))
        if there is None:
            return words if "`" in words else f"`{words}`"
        if words.endswith(".md") and "`" not in words:
            words = labels[there]
        up = "../" * (len(PurePosixPath(uri).parts) - 1)
        return f"[{words}]({up}{there}{fragment or ''})"

    def place(image):
        """Returns an image of docs/ with its path from the page."""
        path = normal(source.parent / image[2])
        if not (ROOT / path).exists():
            raise PluginError(f"{source}: there is no {image[2]}")
        up = "../" * (len(PurePosixPath(uri).parts) - 1)
        return f"![{image[1]}]({up}{path.relative_to('docs')})"

    return LINK.sub(replace, IMAGE.sub(place, text))


def normal(path):
    parts = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return PurePosixPath(*parts)


def tabs(run):
    """Blocks of different languages, one after the other, as tabs."""
    found = BLOCK.findall(run)
    if len({language for language, _ in found}) < len(found):
        return run
    out = ""
    for language, code in found:
        lines = "".join(f"    {line}\n" if line else "\n" for line in code.splitlines())
        out += f'=== "{LANGUAGES[language]}"\n\n    ```{language}\n{lines}    ```\n\n'
    return out


def header(text):
    """include/tensor.h as a page: its conventions, and the sections without operators, which have separate pages."""
    head, *sections = SECTION.split(text)
    conventions = head.split("\n//\n", 1)[1].split("#ifndef")[0]
    out = (
        "# The C header\n\nThe parts of `include/tensor.h` other than the [operators](../docs/operators/gen_operators.md), which have "
        "separate pages.\n\n"
    )
    headings = re.sub(r"^// (?=\w)(.*)$", r"## \1\n", conventions, flags=re.MULTILINE)
    out += re.sub(r"(?<![\w`])(\w*_\w*(?:\(\))?)", r"`\1`", re.sub(r"^//(?:   )?", "", headings, flags=re.MULTILINE))
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title == "creation":  # from here on it is all operators
            break
        out += f"\n## {title[:1].upper()}{title[1:]}\n\n```c\n{body.strip()}\n```\n"
    return out
