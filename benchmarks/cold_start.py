"""How long from starting the server until a student can use the first page, and what takes it.

    python -m benchmarks.cold_start --repeats 5

Every repeat has a server and a browser profile of its own, so that nothing is in any cache but the
system's. A second table says how long the imports take, each in a process of its own.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.report import Row, machine, markdown, write
from benchmarks.server import ROOT, Server
from benchmarks.timing import load
from tests.e2e.conftest import launch, visit

STAGES = ("The port answers", "The heading stands", "The page is complete", "Its chart is drawn")
# Each with what the one before has imported already.
IMPORTS = ("", "streamlit.web.cli", "numpy", "pandas", "altair", "pages", "core.charts.style")
PAGE = "mask_leak?position=9"  # a link with a setting, so that the chart is drawn at once


def start_once(browser: Browser) -> list[float]:
    """Start a server, open a page, and return when each stage was reached, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with Server(Path(folder) / "log") as server:
            times = [time.perf_counter() - start]
            with visit(browser, server.address) as screen:
                page = screen.page
                page.goto(f"{server.address}/{PAGE}", wait_until="commit")
                page.get_by_role("heading", level=1).first.wait_for()
                times.append(time.perf_counter() - start)
                page.locator("[data-testid=stVegaLiteChart] svg").first.wait_for()
                drawn = time.perf_counter() - start
                screen.settle()
                times += [time.perf_counter() - start, drawn]
    return times


def import_times(n_repeats: int) -> list[Row]:
    """Time the imports: each line's is what it adds to those above."""
    rows: list[Row] = []
    before = 0.0
    for n in range(len(IMPORTS)):
        code = "".join(f"import {name};" for name in IMPORTS[: n + 1] if name)
        seconds = min(_run(code) for _ in range(n_repeats))
        name = IMPORTS[n] or "Python itself"
        rows.append({"Import": name, "Adds (s)": seconds - before, "So far (s)": seconds})
        before = seconds
    return rows


def _run(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Start the server a few times and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", type=Path, nargs="+", default=[], help=".md or .csv files")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        times = [start_once(browser) for _ in range(options.repeats)]
    rows: list[Row] = [
        {
            "From the server's start until": name,
            "Median (s)": statistics.median(values),
            "Least (s)": min(values),
            "Most (s)": max(values),
        }
        for name, values in zip(STAGES, zip(*times, strict=True), strict=True)
    ]
    imports = import_times(options.repeats)
    notes = [f"{options.repeats} repeats.", machine("streamlit", "numpy", "altair"), load()]
    print("\n\n".join([markdown(rows), markdown(imports), *notes]))
    for path in options.write:
        write(path, rows, [markdown(imports), *notes])


if __name__ == "__main__":
    main()
