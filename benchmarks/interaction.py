"""How long from a key press on a slider until the new chart is painted, in a real browser.

    python -m benchmarks.interaction --presses 30

Each press is timed inside the page, in stages that add up: until the websocket sends the slider's
value (the browser and Streamlit's wait for further keys), until the first answer (the network and
the server's queue), until the last change to the chart's drawing (the script, the data, Vega), and
until the frame after it.
"""

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.report import Row, machine, markdown, write
from tests.e2e.conftest import ARGUMENTS, BROWSERS, serving, visit

PAGES = ("mask_leak", "mechanism", "parameter_ledger")
STAGES = ("until sent", "until answered", "until drawn", "until painted")

# Stamps what the websocket sends and receives, and when the first chart's drawing changes.
WATCH = """
() => {
  const seen = (window.seen = {key: 0, sent: 0, answered: 0, drawn: 0, painted: 0});
  addEventListener("keydown", () => {
    Object.assign(seen, {key: performance.now(), sent: 0, answered: 0, drawn: 0, painted: 0});
  }, true);
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (!this.watched) {
      this.watched = true;
      this.addEventListener("message", () => {
        if (seen.sent && !seen.answered) seen.answered = performance.now();
      });
    }
    if (seen.key && !seen.sent) seen.sent = performance.now();
    return send.call(this, data);
  };
  window.watchChart = () => {
    const chart = document.querySelector("[data-testid=stVegaLiteChart]");
    new MutationObserver(() => {
      if (!seen.sent) return;
      seen.drawn = performance.now();
      requestAnimationFrame(() => setTimeout(() => { seen.painted = performance.now(); }));
    }).observe(chart, {subtree: true, childList: true, attributes: true, characterData: true});
  };
}
"""


def time_page(browser: Browser, address: str, name: str, presses: int) -> list[dict[str, float]]:
    """Press an arrow key on the page's first slider, again and again, and return the stamps."""
    times = []
    with visit(browser, address) as screen:
        page = screen.page
        page.add_init_script(f"({WATCH})()")
        page.goto(f"{address}/{name}?seed=1" if name != "parameter_ledger" else f"{address}/{name}")
        skip = page.get_by_role("button", name="Skip: show me")
        chart = page.get_by_test_id("stVegaLiteChart").first
        skip.or_(chart).first.wait_for()
        if skip.count():
            skip.click()
        chart.locator("svg, canvas").first.wait_for()
        page.wait_for_timeout(2000)
        page.evaluate("watchChart()")
        slider = page.get_by_role("slider").first
        slider.focus()
        for press in range(presses + 3):  # the first three warm up
            slider.press("ArrowRight" if press % 2 == 0 else "ArrowLeft")
            page.wait_for_function("seen.painted > 0", timeout=10_000)
            page.wait_for_timeout(700)  # all of this press's changes are in
            if press >= 3:
                times.append(page.evaluate("seen"))
    return times


def row(name: str, times: list[dict[str, float]]) -> Row:
    """Sum one page up: the whole in percentiles, the stages in medians, all in milliseconds."""
    whole = sorted(time["painted"] - time["key"] for time in times)
    stamps = ("key", "sent", "answered", "drawn", "painted")
    stages = {
        stage: statistics.median(time[end] - time[start] for time in times)
        for stage, start, end in zip(STAGES, stamps[:-1], stamps[1:], strict=True)
    }
    return {
        "Page": name,
        "Presses": len(times),
        "p50 (ms)": round(statistics.median(whole)),
        "p95 (ms)": round(whole[int(0.95 * (len(whole) - 1))]),
        **{f"{stage} (ms)": round(value) for stage, value in stages.items()},
    }


def main() -> None:
    """Time the pages that answer at once and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--presses", type=int, default=30)
    parser.add_argument("--write", type=Path, nargs="*", default=[], help=".md or .csv files")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder) / "log") as address,
        sync_playwright() as playwright,
    ):
        found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        rows = [row(name, time_page(browser, address, name, options.presses)) for name in PAGES]
    print(machine("streamlit", "numpy", "altair"))
    print(markdown(rows))
    for path in options.write:
        write(path, rows, [machine("streamlit", "numpy", "altair")])


if __name__ == "__main__":
    main()
