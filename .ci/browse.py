#!/usr/bin/env python3
"""Looks at every page of the site with a browser: browse.py [--site FOLDER] [--pictures FOLDER]

No page may have an error on its console, a request that fails or leaves this machine, a link or an anchor that leads nowhere, more than
400,000 compressed bytes with all that it loads, or be wider than a phone. The search has to find what newcomers ask for. Needs Playwright,
and Debian's Chromium."""

import argparse
import functools
import gzip
import http.server
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

ROOT = Path(__file__).resolve().parents[1]
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
).split()
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
MOST = 400_000  # bytes of a page, with styles, scripts and the index of the search, compressed with gzip as servers send them
# Search terms, and the pages that treat them: one of the pages is among the first three results.
QUESTIONS = {
    "install": ["get-started/install/"],
    "first tensor": ["get-started/python/", "get-started/c/"],
    "views": ["get-started/python/", "operators/gen_view/"],
    "save": ["files/"],
    "numpy": ["get-started/from-numpy/"],
    "threads": ["embedding/"],
    "embedding": ["embedding/"],
    "gradients": ["autograd/"],
    "own operator": ["adding_an_operator/"],
    "errors": ["errors/"],
    "convolution kernel size": ["operators/gen_convolution/"],
    "callback": ["embedding/", "errors/", "autograd/"],
    "I/O error": ["errors/", "files/"],
    "contiguous": ["memory/", "operators/gen_view/", "operators/gen_copy/", "get-started/python/"],
    "read-only": ["memory/", "get-started/from-numpy/", "differences/", "embedding/"],
    "pinned memory": ["cuda/", "memory/"],
    "stride": [
        "operators/gen_convolution/",
        "get-started/from-numpy/",
        "get-started/c/",
        "get-started/python/",
        "operators/gen_view/",
        "operators/gen_query/",
        "memory/",
    ],
    "weights_only": ["files/"],
    "state_dict": ["modules/", "optim/", "files/"],
    "DataLoader": ["data/"],
    "learning rate": ["optim/"],
    "mixed precision": ["amp/"],
    "checkpoint": ["autograd/", "files/"],
    "hook": ["autograd/"],
    "dtype promotion": ["dtypes/"],
    "fork": ["embedding/"],
    "custom operator": ["custom_operators/"],
    "memory limit": ["memory/"],
    "DLPack": ["memory/", "interop/"],
    "vmap": ["autograd/"],
    "sparse CSR": ["sparse/", "operators/gen_sparse/"],
    "quantize": ["quantized/", "operators/gen_quantized/"],
    "KL divergence": ["distributions/"],
    "install_as_torch": ["programs/"],
    "reproducible": ["random/", "performance/", "accuracy/"],
}
INPUT, RESULTS, HREFS = ".md-search__input", ".md-search-result__item > a", "found => found.map(e => e.href)"
WAIT = 60_000  # milliseconds
# Pages whose pictures are worth a look.
PICTURED = ("", "operators/gen_arithmetic/", "get-started/c/", "memory/", "gen_dtypes/", "operators/gen_operators/")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class Browsing:
    """A browser on the pages of a folder, and what was wrong with them."""

    def __init__(self, context, site, home):
        self.context, self.site, self.home = context, site, home
        self.problems, self.anchors, self.links = [], {}, {}
        self.shared = set()  # files that pages load

    def file(self, url):
        path = self.site / unquote(urlparse(url).path).lstrip("/")
        return path / "index.html" if path.is_dir() else path

    def open(self, name, viewport):
        """The page, when all of it is there."""
        page, loaded = self.context.new_page(), set()
        page.set_viewport_size(viewport)
        page.on("console", lambda message: message.type == "error" and self.problems.append(f"{name}: console: {message.text}"))
        page.on("pageerror", lambda error: self.problems.append(f"{name}: {error}"))
        page.on("requestfailed", lambda request: self.problems.append(f"{name}: {request.url} failed"))
        page.on("request", lambda request: loaded.add(urldefrag(request.url)[0]))
        page.on("response", lambda response: response.status >= 400 and self.problems.append(f"{name}: {response.url}: {response.status}"))
        page.goto(self.home + name, wait_until="networkidle")
        for url in loaded:
            if not url.startswith((self.home, "data:", "blob:")):
                self.problems.append(f"{name}: asks {url}")
        self.shared |= {url for url in loaded if url.startswith(self.home) and self.file(url).suffix not in ("", ".html")}
        return page

    def look(self, name, pictures):
        page = self.open(name, DESKTOP)
        self.anchors[name] = set(page.eval_on_selector_all("[id]", "found => found.map(e => e.id)"))
        self.links[name] = set(page.eval_on_selector_all("a[href]", HREFS))
        if pictures and name in PICTURED:
            self.picture(page, pictures, name, "desktop")
        page.set_viewport_size(PHONE)
        page.wait_for_timeout(50)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            self.problems.append(f"{name}: {width} pixels wide on a phone of {PHONE['width']}")
        if pictures and name in PICTURED:
            self.picture(page, pictures, name, "phone")
        page.close()

    @staticmethod
    def picture(page, pictures, name, kind):
        pictures.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=pictures / f"{name.strip('/').replace('/', '-') or 'home'}-{kind}.png")

    def check_sizes(self, names):
        """The largest page and its bytes, with all that any page loads: a browser has that once."""
        shared = sum(self.compressed(url) for url in self.shared if self.file(url).exists())
        sizes = {name: shared + self.compressed(self.home + name) for name in names}
        self.problems += [f"{name}: {size} bytes" for name, size in sizes.items() if size > MOST]
        return max(sizes.items(), key=lambda item: item[1])

    def compressed(self, url):
        return len(gzip.compress(self.file(url).read_bytes()))

    def check_links(self):
        count = 0
        for name, links in self.links.items():
            for url in links:
                address, fragment = urldefrag(url)
                if not address.startswith(self.home):
                    continue
                count += 1
                target = address.removeprefix(self.home)
                if not self.file(address).exists():
                    self.problems.append(f"{name}: a link to {target}, which is not there")
                elif fragment and target in self.anchors and unquote(fragment) not in self.anchors[target]:
                    self.problems.append(f"{name}: a link to {target}#{fragment}, which is not there")
        return count

    def check_search(self):
        page = self.open("", DESKTOP)
        for question, wanted in QUESTIONS.items():
            found = self.ask(page, question)
            if not set(found[:3]) & set(wanted):
                self.problems.append(f"search: {question!r} finds {found[:3]}, not {' or '.join(wanted)}")
        page.close()

    def ask(self, page, question):
        """The pages that the search finds, best first, once nothing comes any more."""
        page.click(INPUT)
        page.fill(INPUT, "")
        page.wait_for_function(f"document.querySelectorAll({RESULTS!r}).length == 0", timeout=WAIT)
        page.locator(INPUT).press_sequentially(question, delay=30)
        page.wait_for_selector(RESULTS, timeout=WAIT)
        found, before = page.eval_on_selector_all(RESULTS, HREFS), None
        while found != before:
            page.wait_for_timeout(1000)
            found, before = page.eval_on_selector_all(RESULTS, HREFS), found
        pages = [urlparse(url).path.removeprefix("/") for url in found]
        return list(dict.fromkeys(pages))


def main():
    parser = argparse.ArgumentParser(prog="browse", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, default=ROOT / "build/site")
    parser.add_argument("--browser", default="/usr/bin/chromium")
    parser.add_argument("--pictures", type=Path, help="where pictures of some pages go")
    parser.add_argument("names", nargs="*", help="pages, such as memory/; all without")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright  # which --help does without

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=options.site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    names = options.names or sorted(
        f"{path.parent.relative_to(options.site)}/".removeprefix("./") for path in options.site.rglob("index.html")
    )
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(profile, executable_path=options.browser, headless=True, args=FLAGS)
        browsing = Browsing(context, options.site, f"http://127.0.0.1:{server.server_address[1]}/")
        for number, name in enumerate(names, 1):
            browsing.look(name, options.pictures)
            if number % 10 == 0:
                print(f"{number} of {len(names)} pages", flush=True)
        links = browsing.check_links()
        largest, size = browsing.check_sizes(names)
        if not options.names:
            browsing.check_search()
        context.close()
    print("\n".join(browsing.problems))
    print(f"{len(names)} pages, {links} links, the largest {largest or 'home'} with {size} bytes, {len(browsing.problems)} problems")
    return bool(browsing.problems)


if __name__ == "__main__":
    sys.exit(main())
