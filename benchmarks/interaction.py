"""How long from a key press on a slider until the new chart is painted, in a real browser.

    python -m benchmarks.interaction --presses 30
    python -m benchmarks.interaction --pages mask_leak mechanism

Each press is timed inside the page, from the key to the frame after the last change of the chart's
drawing; on pages that train or measure, to the frame after its first change, for there the chart
goes on changing. The stages add up: the browser and Streamlit's wait for further keys until the
value is sent; the network and the server's queue until the first answer; the script until the chart
is handed over, and what of that turns data into bytes; what is left until the drawing has changed,
which is the chart's way to the browser, React and Vega; and the frame.

A second table says how often the training page paints its curve while it trains.
"""

import argparse
import json
import re
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from benchmarks.report import Row, machine, markdown, write
from benchmarks.server import Server
from benchmarks.timing import load
from tests.e2e.conftest import launch, visit

WARM_UP = 3  # presses that are not counted
PAUSE = 700  # milliseconds between presses, in which all of one press's changes come in
STAGES = ("Browser, before sending", "Network, queue", "Script", "Data", "Vega", "Frame")

# Stamps what the websocket sends and receives, and when the watched chart's drawing changes.
WATCH = """
() => {
  const seen = (window.seen = {key: 0, sent: 0, answered: 0, first: 0, last: 0, painted: []});
  addEventListener("keydown", () => {
    Object.assign(seen, {key: performance.now(), sent: 0, answered: 0, first: 0, last: 0});
    seen.painted = [];
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
  window.watchChart = (number) => {
    const chart = document.querySelectorAll("[data-testid=stVegaLiteChart]")[number];
    let waiting = false;
    new MutationObserver(() => {
      if (!seen.answered) return;
      seen.last = performance.now();
      seen.first = seen.first || seen.last;
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => setTimeout(() => {
        waiting = false;
        seen.painted.push(performance.now());
      }));
    }).observe(chart, {subtree: true, childList: true, attributes: true, characterData: true});
  };
}
"""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A slider, and the chart that it changes."""

    page: str
    slider: str  # its label
    live: bool = False  # whether a press begins work that goes on changing the chart
    chart: int = 0  # its number on the page
    link: str = ""  # settings to begin with


WATCHED = (
    Watched(page="mechanism", slider="d_k"),
    Watched(page="mask_leak", slider="Changed position"),
    Watched(page="mask_leak", slider="Tokens"),
    Watched(page="parameter_ledger", slider="Layers"),
    Watched(page="your_model", slider="Context (tokens)"),
    Watched(page="scale", slider="d_k (numbers in a query)"),
    Watched(page="recall_training", slider="Seed", live=True),
    Watched(page="ablation", slider="Seed", live=True),
    Watched(page="why_the_question", slider="Seed", live=True),
    Watched(page="many_heads", slider="Seed", live=True),
    Watched(page="word_order", slider="Seed", live=True),
    Watched(page="context_cost", slider="Seed", live=True, link="?n_largest=512"),
    Watched(page="inference_cost", slider="Seed", live=True, link="?n_tokens=256"),
)


def open_page(page: Page, address: str, watched: Watched) -> None:
    """Open the page past its question, unfold its controls and watch its chart."""
    page.add_init_script(f"({WATCH})()")
    page.goto(f"{address}/{watched.page}{watched.link}")
    skip = page.get_by_role("button", name="Skip: show me")
    chart = page.get_by_test_id("stVegaLiteChart").nth(watched.chart)
    skip.or_(chart).first.wait_for()
    if skip.count():
        skip.click()
    chart.locator("svg, canvas").first.wait_for()
    if not slider_of(page, watched).count():
        for folded in page.get_by_text(re.compile(r"\d+ more controls")).all():
            folded.click()
    slider_of(page, watched).wait_for(state="attached")
    page.wait_for_timeout(2000)
    page.evaluate("number => watchChart(number)", watched.chart)


def slider_of(page: Page, watched: Watched) -> Locator:
    """Find the slider by its label, which another's may begin with: “Seed” and “Seeds”."""
    return page.get_by_role("slider", name=re.compile(rf"^{re.escape(watched.slider)}(?!\w)")).first


def time_presses(
    browser: Browser, address: str, watched: Watched, presses: int, stamps: Path
) -> list[dict[str, float]]:
    """Press an arrow key on the slider, again and again; return the stages of each press."""
    times = []
    with visit(browser, address) as screen:
        page = screen.page
        open_page(page, address, watched)
        slider = slider_of(page, watched)
        slider.focus()
        for press in range(presses + WARM_UP):
            # One direction where each value is work of its own; back and forth where it is not.
            slider.press("ArrowLeft" if press % 2 and not watched.live else "ArrowRight")
            page.wait_for_function("seen.painted.length > 0", timeout=10_000)
            page.wait_for_timeout(PAUSE)
            if press >= WARM_UP:
                times.append(stages(page.evaluate("seen"), runs(stamps)[0], live=watched.live))
            stamps.write_text("")
    return times


def stages(seen: dict[str, float], run: dict[str, dict[str, float]], *, live: bool) -> dict:
    """Split one press into its stages, in milliseconds."""
    drawn = seen["first"] if live else seen["last"]
    painted = next(time for time in seen["painted"] if time >= drawn)
    script, data = run["chart"]["script"], run["chart"]["converting"]
    parts = (
        seen["sent"] - seen["key"],
        seen["answered"] - seen["sent"],
        script - data,
        data,
        drawn - seen["answered"] - script,
        painted - drawn,
    )
    whole_run = run["whole"]["script"]
    return {
        "whole": painted - seen["key"],
        "run": whole_run,
        **dict(zip(STAGES, parts, strict=True)),
    }


def runs(stamps: Path) -> list[dict[str, dict[str, float]]]:
    """Return the runs since the file was last emptied that drew a chart."""
    lines = [json.loads(line) for line in stamps.read_text().splitlines()]
    return [line for line in lines if line["chart"]]


def row(watched: Watched, times: list[dict[str, float]]) -> Row:
    """Sum one slider up: the whole in percentiles, the stages in medians, all in milliseconds."""
    whole = [time["whole"] for time in times]
    return {
        "Page": watched.page,
        "Slider": watched.slider,
        "Presses": len(times),
        "p50 (ms)": round(float(np.percentile(whole, 50))),
        "p95 (ms)": round(float(np.percentile(whole, 95))),
        **{f"{name} (ms)": statistics.median(time[name] for time in times) for name in STAGES},
        "Whole script (ms)": statistics.median(time["run"] for time in times),
    }


def repaints(browser: Browser, address: str, n_runs: int) -> Row:
    """Count how often the training page paints its curve while it trains."""
    watched = Watched(page="recall_training", slider="Seed", live=True, link="?n_steps=10000")
    rates, gaps = [], []
    with visit(browser, address) as screen:
        page = screen.page
        open_page(page, address, watched)
        slider = slider_of(page, watched)
        slider.focus()
        for _ in range(n_runs):
            slider.press("ArrowRight")
            page.get_by_text("Training: step").first.wait_for()
            page.get_by_text("Training has ended.", exact=True).wait_for()
            page.wait_for_timeout(PAUSE)
            painted = np.array(page.evaluate("seen.painted"))
            rates.append(1000 * (len(painted) - 1) / (painted[-1] - painted[0]))
            gaps += list(np.diff(painted))
    return {
        "Runs of 10,000 steps": n_runs,
        "Paints a second, median": statistics.median(rates),
        "slowest run": min(rates),
        "Between paints, median (ms)": statistics.median(gaps),
        "longest (ms)": max(gaps),
    }


def main() -> None:
    """Time the sliders and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--presses", type=int, default=30)
    parser.add_argument("--pages", nargs="+", default=[watched.page for watched in WATCHED])
    parser.add_argument("--write", type=Path, nargs="+", default=[], help=".md or .csv files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        stamps = Path(folder) / "stamps"
        stamps.write_text("")
        browser = launch(playwright)
        with Server(
            Path(folder) / "log", module="benchmarks.stamped", environment={"STAMPS": str(stamps)}
        ) as server:
            rows = []
            for watched in WATCHED:
                if watched.page in options.pages:
                    times = time_presses(browser, server.address, watched, options.presses, stamps)
                    rows.append(row(watched, times))
                    print(markdown(rows[-1:]), flush=True)
            painting = [repaints(browser, server.address, 10)]
    notes = [machine("streamlit", "numpy", "altair"), load()]
    print("\n\n".join([markdown(rows), markdown(painting), *notes]))
    for path in options.write:
        write(path, rows, [markdown(painting), *notes])


if __name__ == "__main__":
    main()
