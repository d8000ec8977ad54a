"""The six pages of the article open in Firefox too."""

import json
import shutil
from pathlib import Path

import pytest

from pages import PAGES
from tests.e2e.firefox import Firefox, running

pytestmark = pytest.mark.browser

NAMES = ("firefox-esr", "firefox")
SKIP = "[...document.querySelectorAll('button')].find(b => b.innerText === 'Skip: show me')"
DRAWN = "document.querySelector('[data-testid=stVegaLiteChart] :is(svg, canvas)')"
# Streamlit looks for its base path below the page's own on a deep link, and gets a 404.
HARMLESS = ("_stcore/health", "_stcore/host-config")


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("no Firefox is installed: on Debian, apt-get install firefox-esr")
    with running(program, tmp_path_factory.mktemp("firefox")) as firefox:
        yield firefox


def complaints(firefox: Firefox) -> list[str]:
    return [text for text in firefox.complaints if not any(part in text for part in HARMLESS)]


@pytest.mark.parametrize("page", [page for page in PAGES if not page.beyond], ids=lambda p: p.title)
def test_a_page_asks_and_draws(firefox, server, page):
    firefox.open(f"{server}/{Path(page.path).stem}")
    question = json.dumps(page.question)
    firefox.wait_for(f"document.querySelector('h1')?.innerText.trim() === {question}")
    firefox.wait_for(f"Boolean({SKIP})")
    assert not firefox.evaluate(f"Boolean({DRAWN})") or page.path == "pages/mechanism.py"
    firefox.evaluate(f"{SKIP}.click()")
    firefox.wait_for(f"Boolean({DRAWN}) && !{SKIP}")
    firefox.wait_for(f"{DRAWN}.getBoundingClientRect().height > 100")
    assert firefox.evaluate("document.querySelectorAll('[data-testid=stException]').length") == 0
    assert complaints(firefox) == []


def test_an_error_on_the_console_is_seen(firefox, server):
    firefox.open(server)
    firefox.evaluate("console.error('seen')")
    assert firefox.complaints.pop() == "seen"
