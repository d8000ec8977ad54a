"""One causal head as the number of tokens doubles: the formula, row blocks, and PyTorch.

    python -m benchmarks.compute_attention
    python -m benchmarks.compute_attention --largest 4096 --repeats 3

Time and memory of each method at each size, on one thread and on two; how both grow; and what the
size of a row block does.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.one_head import D_K, METHODS, draw, head, memory_apart
from benchmarks.report import Row, machine, markdown, write
from benchmarks.timing import Spread, blas, load, measure_in_turns, ratio
from core.binary_units import MIB
from core.growth import fitted_exponent
from core.row_blocks import BLOCK_SIZE

OURS = "row blocks"
SMALLEST = 256  # tokens
BLOCK_SIZES = (32, 64, 128, 256, 512)  # query rows
LONG = 2048  # tokens, from where a method's fixed cost is small against the rest
TOLERANCE = 1e-5  # between the methods' outputs, which are about 1

Key = tuple[int, int, str]  # tokens, threads, method


def methods_on(n_threads: int) -> list[str]:
    """Return what is compared on this many threads."""
    return [name for name in METHODS if n_threads > 1 or name != "row blocks, threads in BLAS"]


def measure_times(sizes: list[int], n_threads: int, n_repeats: int) -> dict[Key, list[float]]:
    """Time every method at every size, after checking that their outputs agree."""
    times: dict[Key, list[float]] = {}
    for n in sizes:
        heads = {name: head(name, *draw(n), n_threads) for name in methods_on(n_threads)}
        expected = heads[OURS]()
        for name, run in heads.items():
            np.testing.assert_allclose(run(), expected, rtol=0, atol=TOLERANCE, err_msg=name)
        for name, seconds in measure_in_turns(heads, n_repeats).items():
            times[n, n_threads, name] = seconds
    return times


def cost_rows(times: dict[Key, list[float]], peaks: dict[Key, dict[str, int]]) -> list[Row]:
    """Lay out time and memory, a line for each method at each size."""
    return [
        {
            "Tokens": n,
            "Threads": n_threads,
            "Method": name,
            **Spread.of(seconds).columns("Time", "ms", 1000),
            **ratio(seconds, times[n, n_threads, OURS]).columns("Against row blocks", "×"),
            "Peak memory (MiB)": peaks[n, n_threads, name]["resident"] / MIB,
            "of it NumPy arrays (MiB)": peaks[n, n_threads, name]["arrays"] / MIB or "",
        }
        for (n, n_threads, name), seconds in times.items()
    ]


def growth_rows(rows: list[Row]) -> list[Row]:
    """Fit how time and memory grow, over all sizes and over the long ones."""
    return [
        {
            "Method": name,
            "Threads": n_threads,
            **_exponents("Time", rows, name, n_threads, "Time (ms)"),
            **_exponents("Memory", rows, name, n_threads, "Peak memory (MiB)"),
        }
        for n_threads, name in dict.fromkeys((row["Threads"], row["Method"]) for row in rows)
    ]


def _exponents(
    what: str, rows: list[Row], name: object, n_threads: object, column: str
) -> dict[str, str]:
    cells = {}
    for words, least in ((what, 0), (f"{what}, {LONG:,} tokens up", LONG)):
        points = [
            (int(row["Tokens"]), float(row[column]))
            for row in rows
            if (row["Method"], row["Threads"]) == (name, n_threads)
            and int(row["Tokens"]) >= least
            and float(row[column]) > 0
        ]
        cells[f"{words} (exponent)"] = "too few sizes"
        if len(points) >= 3:
            exponent, error = fitted_exponent(*map(list, zip(*points, strict=True)))
            cells[f"{words} (exponent)"] = f"{exponent:.2f} ± {error:.2f}"
    return cells


def block_rows(sizes: list[int], n_threads: int, n_repeats: int) -> list[Row]:
    """Time row blocks of several sizes, against the one that shorter sequences have."""
    rows: list[Row] = []
    for n in sizes:
        heads = {
            str(size): head(OURS, *draw(n), n_threads, block_size=size) for size in BLOCK_SIZES
        }
        seconds = measure_in_turns(heads, n_repeats)
        rows.append(
            {
                "Tokens": n,
                "Threads": n_threads,
                f"Blocks of {BLOCK_SIZE} rows (ms)": Spread.of(seconds[str(BLOCK_SIZE)]).median
                * 1000,
            }
            | {
                f"{size} rows (×)": ratio(seconds[str(size)], seconds[str(BLOCK_SIZE)]).median
                for size in BLOCK_SIZES
                if size != BLOCK_SIZE
            }
        )
    return rows


def thread_verdict(n: int) -> str:
    """Say whether the number of threads changes a bit of the output."""
    expected = head(OURS, *draw(n), 1)()
    same = all(np.array_equal(head(OURS, *draw(n), count)(), expected) for count in (2, 3, 4, 7))
    blas = np.array_equal(head("row blocks, threads in BLAS", *draw(n), 2)(), expected)
    return (
        f"Row blocks on 1, 2, 3, 4 and 7 threads, {n:,} tokens: "
        f"{'the same bits' if same else 'NOT the same bits'}; "
        f"on one thread with two in BLAS: {'the same' if blas else 'not the same'}."
    )


def verdicts(rows: list[Row]) -> list[str]:
    """Compare with what is aimed at."""
    found = {(row["Tokens"], row["Threads"], row["Method"]): row for row in rows}
    words = []
    for (n, n_threads, name), row in found.items():
        where = f"{n:,} tokens, {n_threads} thread{'s' if int(n_threads) > 1 else ''}"
        times = float(row["Against row blocks (×)"])
        if name == "formula" and n == 8192:
            less = float(row["Peak memory (MiB)"]) / float(
                found[n, n_threads, OURS]["Peak memory (MiB)"]
            )
            words.append(
                f"{where}: the formula took {times:.1f} times as long as row blocks and "
                f"{less:.0f} times the memory; the aims are at least 5 and 30: "
                f"{'met' if times >= 5 and less >= 30 else 'missed'}."
            )
        if name == "PyTorch fused" and int(n) >= LONG:
            words.append(
                f"{where}: row blocks took {1 / times:.2f} times as long as PyTorch's fused "
                f"kernel; the aim is at most 1.15: {'met' if 1 / times <= 1.15 else 'missed'}."
            )
    return words


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--largest", type=int, default=16_384, help="tokens, 256 doubled")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--write", type=Path, nargs="+", default=[], help=".csv or .md files")
    return parser.parse_args(arguments)


def main() -> None:
    """Run from the command line."""
    options = parse()
    notes = [machine("numpy", "torch"), blas(), load()]
    sizes = [SMALLEST << i for i in range((options.largest // SMALLEST).bit_length())]
    times: dict[Key, list[float]] = {}
    blocks: list[Row] = []
    for n_threads in options.threads:
        times |= measure_times(sizes, n_threads, options.repeats)
        blocks += block_rows([n for n in sizes if n >= 1024], n_threads, options.repeats)
    peaks = {(n, count, name): memory_apart(name, n, count) for n, count, name in times}
    rows = cost_rows(times, peaks)
    notes += [
        f"One causal head, float32, d_k = {D_K}. Medians of {options.repeats} repeats, all methods "
        "in turns, with their quartiles (from, to); a ratio is between times of the same repeat. "
        "All methods have the number of threads named: NumPy's formula in its BLAS library, row "
        "blocks by their own with BLAS held to one, PyTorch in its own pool.",
        "Peak memory is beyond q, k and v, one call in a process of its own, output included. "
        "Exponents are least-squares slopes of log time or memory on log tokens, ± their standard "
        "error.",
        thread_verdict(min(4096, sizes[-1])),
        *verdicts(rows),
    ]
    tables = [rows, growth_rows(rows), blocks]
    print("\n\n".join([*map(markdown, tables), *notes]))
    for path in options.write:
        write(path, rows, [*map(markdown, tables[1:]), *notes])


if __name__ == "__main__":
    main()
