"""The documentation in a browser: code and pictures fit at three widths, in light and dark mode.

`make test-site` builds the site and runs this with Playwright and an installed Chromium; without them it is skipped.
SITE_PICTURES=FOLDER keeps a picture of each page.
"""

import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "target" / "site"
PAGES = [
    "index.html",
    "writing.html",
    "merge-on-read.html",
    "operations.html",
    "write-options.html",
    "api/table-writes.html",
    "notebook.html",
]
WIDTHS = [1440, 1024, 390]
CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
TOO_WIDE = """() => [...document.querySelectorAll('pre > code, article img')]
    .filter(one => one.offsetParent && (one.scrollWidth > one.clientWidth + 1 && one.tagName === 'CODE'
        || one.getBoundingClientRect().right > document.documentElement.clientWidth + 1))
    .map(one => one.textContent.slice(0, 60) || one.src)"""
LIGHT_PICTURES = """() => [...document.querySelectorAll('article img')].filter(one => one.offsetParent)
    .filter(one => one.src.endsWith('light-mode-only')
        || !one.src.includes('mode-only') && getComputedStyle(one).filter === 'none').map(one => one.src)"""

pytestmark = pytest.mark.slow


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    if not (SITE / "index.html").exists():
        pytest.skip("make site builds the site")
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_the_window(browser, address, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    # The scheme decides no widths.
    names = sorted(str(one.relative_to(SITE)) for one in SITE.rglob("*.html")) if scheme == "light" else PAGES
    for name in names:
        page.goto(f"{address}/{name}")
        assert page.evaluate(TOO_WIDE) == [], name
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        assert page.evaluate("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
        if scheme == "dark":
            assert page.evaluate(LIGHT_PICTURES) == [], name
        if name in PAGES and (folder := os.environ.get("SITE_PICTURES")):
            page.screenshot(path=f"{folder}/{name.replace('/', '-')}-{width}-{scheme}.png")
    context.close()


def test_a_search_for_deletes_finds_the_page_on_deleting_first(browser, address):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{address}/index.html")
    page.click("[data-md-component=search-query]")
    # By keys: the page listens to them, and not to values that are set.
    page.locator("[data-md-component=search-query]").press_sequentially("delete rows")
    page.wait_for_selector(".md-search-result__list > li a")
    found = page.eval_on_selector_all(".md-search-result__list > li > a", "all => all.map(one => one.pathname)")
    assert found[0] == "/deleting.html", found[:3]
    page.close()
