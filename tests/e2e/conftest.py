"""A server of its own and a real browser, for tests that must see what a student sees."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "msedge")
# Without these a browser looks for its maker's servers at every start.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WAIT = 30_000  # milliseconds


@contextmanager
def serving(log: Path, **environment: str) -> Iterator[str]:
    """Run the app on a free port of this machine, yield its address, and end it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py"]
    options = {
        "server.port": port,
        "server.address": "127.0.0.1",
        "server.headless": "true",
        "server.fileWatcherType": "none",
    }
    command += [f"--{name}={value}" for name, value in options.items()]
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=output, env={**os.environ, **environment}
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address, process, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=10)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not answer:\n{log.read_text()}")


def launch(playwright: Playwright) -> Browser:
    """Start a browser from the PATH, or Playwright's own.

    Raises:
        Error: if there is none.
    """
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    return playwright.chromium.launch(executable_path=found, args=ARGUMENTS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser from the PATH, or Playwright's own; skipped without one, except on CI.

    It ends with this package: Playwright keeps an event loop running in the main thread, in which
    later tests could not start their own.
    """
    with sync_playwright() as playwright:
        try:
            browser = launch(playwright)
        except Error as error:
            reason = f"no browser to test with: {str(error).splitlines()[0]}"
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(reason)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one server shared by all browser tests; its log must hold no traceback."""
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with serving(log) as address:
        yield address
    assert "Traceback" not in log.read_text()


class Screen:
    """One page as a student sees it, with what its console said."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text) if message.type == "error" else None
            ),
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, path: str, heading: str) -> None:
        """Go to a page by its link, past its question, and wait until nothing runs."""
        self.page.goto(f"{self.address}/{path}")
        self.page.get_by_role("heading", level=1, name=re.compile(re.escape(heading))).wait_for(
            timeout=WAIT
        )
        skip = self.page.get_by_role("button", name="Skip: show me")
        chart = self.page.get_by_test_id("stVegaLiteChart")
        skip.or_(chart).first.wait_for()
        if skip.count():
            skip.click()
            skip.wait_for(state="detached")
            self.settle()

    def settle(self) -> None:
        """Wait until the script has run to its end."""
        self.page.wait_for_function(
            "document.querySelector('[data-testid=stApp]')"
            "?.getAttribute('data-test-script-state') === 'notRunning'",
            timeout=WAIT,
        )


@pytest.fixture
def screen(browser: Browser, server: str) -> Iterator[Screen]:
    """A fresh visit, 1280 pixels wide."""
    with visit(browser, server) as screen:
        yield screen


@contextmanager
def visit(
    browser: Browser, address: str, width: int = 1280, height: int = 900, theme: str = "light"
) -> Iterator[Screen]:
    """Open a visit of its own: no cookies or state of another."""
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme
    )
    context.set_default_timeout(WAIT)
    try:
        yield Screen(context.new_page(), address)
    finally:
        context.close()
