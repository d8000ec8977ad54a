"""Tables of measurements: printed, and written as CSV or Markdown with the machine named."""

import csv
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

Row = Mapping[str, str | float | int]
"""A line of a table: its cells by the names of their columns, units in the names."""


def machine(*packages: str) -> str:
    """Describe in one line where and with what the numbers came about."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in _read("/proc/cpuinfo").splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = next(
        (
            f", {int(line.split()[1]) / 2**20:.0f} GB"
            for line in _read("/proc/meminfo").splitlines()
            if line.startswith("MemTotal")
        ),
        "",
    )
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return (
        f"{datetime.now(UTC):%Y-%m-%d}. {cpu}, {os.cpu_count()} cores{memory}, "
        f"{platform.system()}. Python {platform.python_version()}, {versions}."
    )


def markdown(rows: Sequence[Row]) -> str:
    """Lay the rows out as a Markdown table that also reads well as text.

    >>> print(markdown([{"Students": 60, "p95 (ms)": 33.333}]))
    | Students | p95 (ms) |
    | -------: | -------: |
    |       60 |     33.3 |
    """
    names = list(rows[0])
    cells = [[_cell(row[name]) for name in names] for row in rows]
    words = [isinstance(rows[0][name], str) for name in names]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]

    def line(texts: Sequence[str]) -> str:
        padded = (
            text.ljust(width) if left else text.rjust(width)
            for text, width, left in zip(texts, widths, words, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * width if left else "-" * (width - 1) + ":"
        for width, left in zip(widths, words, strict=True)
    ]
    return "\n".join([line(names), line(rule), *map(line, cells)])


def write(path: Path, rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
    """Write the rows: unrounded as CSV when the file is called so, else as Markdown with notes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("\n\n".join([markdown(rows), *notes]) + "\n")


def _cell(value: str | float) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""
