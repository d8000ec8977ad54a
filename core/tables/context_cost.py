"""Tables and sentences of the context-cost experiment."""

from statistics import median

import pandas as pd

from core.binary_units import MIB, in_binary_units
from core.context_cost import CostSnapshot
from core.context_plan import METHODS, ContextSettings, needed_mib, predicted_peak_bytes
from core.growth import doublings, fastest_by_size, fitted_exponent
from core.reported import COST_RATIOS
from core.tables import measured as any_measured
from core.tables.measured import queue_sentence as queue_sentence
from core.tables.numbers import scientific

ALL_SIZES = (256, 512, 1024, 2048, 4096, 8192, 16384)  # tokens; the axis of both charts
WIDE_SCATTER = 2.0  # median ÷ fastest from which on the repeats are said to lie far apart
PICTURE_TOKENS = 32  # tokens in the picture of the row blocks


def times(snapshot: CostSnapshot | None) -> pd.DataFrame:
    """Return one row for each size and method, with every repeat."""
    n_repeats = snapshot.settings.n_repeats if snapshot else 0
    rows = []
    for measured in snapshot.measurements if snapshot else ():
        runs = [1000 * seconds for seconds in measured.seconds]
        rows.append(
            {
                "Tokens": measured.n,
                "Method": measured.method,
                "Fastest (ms)": min(runs, default=None),
                "Median (ms)": median(runs) if runs else None,
                **{
                    f"Run {i + 1} (ms)": runs[i] if i < len(runs) else None
                    for i in range(n_repeats)
                },
            }
        )
    return pd.DataFrame(rows, columns=None if rows else ["Tokens", "Method", "Fastest (ms)"])


def ratios(snapshot: CostSnapshot | None) -> pd.DataFrame:
    """Return by what each doubling multiplied the time: the article's, and those measured here."""
    largest = snapshot.settings.n_largest if snapshot else 0
    measured = {method: doublings(snapshot, method) if snapshot else {} for method in METHODS}
    return pd.DataFrame(
        [
            {
                "From (tokens)": n,
                "To (tokens)": 2 * n,
                "Article (×)": COST_RATIOS[n, 2 * n].value if (n, 2 * n) in COST_RATIOS else None,
                "Formula, here (×)": measured["formula"].get((n, 2 * n)),
                "Row blocks, here (×)": measured["row blocks"].get((n, 2 * n)),
                "n² alone (×)": 4.0,
            }
            for n in ALL_SIZES
            if (n, 2 * n) in COST_RATIOS or 2 * n <= largest
        ]
    )


def ratios_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios as text, with a dash for what was not measured."""
    words = pd.DataFrame(
        {
            # Spaces that do not break, so that a doubling stays on one line.
            "Tokens": [
                f"{n:,}\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}{twice:,}"
                for n, twice in zip(table["From (tokens)"], table["To (tokens)"], strict=True)
            ]
        }
    )
    for column in table.columns[2:]:
        words[column] = ["–" if pd.isna(value) else f"{value:.2f}" for value in table[column]]
    return words


def time_points(snapshot: CostSnapshot | None) -> pd.DataFrame:
    """Return every timed run, the fastest of each size, and the n² line.

    The n² line is drawn through the last fastest time of the first method that has one.
    """
    rows: list[tuple[int, str, str, float]] = []
    guided = False
    for method in METHODS if snapshot else ():
        assert snapshot is not None
        fastest = fastest_by_size(snapshot, method)
        rows += [
            (measured.n, method, "run", 1000 * seconds)
            for measured in snapshot.measurements
            if measured.method == method
            for seconds in measured.seconds
        ]
        rows += [(n, method, "fastest", 1000 * seconds) for n, seconds in fastest.items()]
        if fastest and not guided:
            n_last = max(fastest)
            rows += [
                (n, "n²", "guide", 1000 * fastest[n_last] * (n / n_last) ** 2) for n in ALL_SIZES
            ]
            guided = True
    return pd.DataFrame(rows, columns=["Tokens", "Method", "Kind", "Time (ms)"])


def memory(snapshot: CostSnapshot | None) -> pd.DataFrame:
    """Return the measured peak of each size and method beside the predicted one."""
    return pd.DataFrame(
        [
            (
                measured.n,
                measured.method,
                measured.peak_bytes / MIB,
                measured.predicted_bytes / MIB,
                measured.peak_bytes / measured.predicted_bytes,
            )
            for measured in (snapshot.measurements if snapshot else ())
        ],
        columns=[
            "Tokens",
            "Method",
            "Measured peak (MiB)",
            "Predicted peak (MiB)",
            "Measured ÷ predicted (no unit)",
        ],
    )


def memory_points(settings: ContextSettings, snapshot: CostSnapshot | None) -> pd.DataFrame:
    """Return the predicted peak at every size, the measured ones so far, and the cap."""
    rows = [
        (n, method, "predicted", predicted_peak_bytes(n, method, settings) / MIB)
        for method in METHODS
        for n in ALL_SIZES
    ]
    rows += [(n, "cap", "cap", float(settings.memory_cap_mib)) for n in ALL_SIZES]
    rows += [
        (measured.n, measured.method, "measured", measured.peak_bytes / MIB)
        for measured in (snapshot.measurements if snapshot else ())
    ]
    return pd.DataFrame(rows, columns=["Tokens", "Method", "Kind", "Peak memory (MiB)"])


def block_cells() -> pd.DataFrame:
    """Return the cells of the row-block picture: the table, and what stands along its edges.

    The queries stand left of the table, the outputs right of it, keys and values above it.
    """
    n = PICTURE_TOKENS
    rows = [("scores", column, row) for row in range(n) for column in range(n)]
    rows += [("queries", -2, row) for row in range(n)]
    rows += [("output", n + 1, row) for row in range(n)]
    rows += [("keys and values", column, -2) for column in range(n)]
    return pd.DataFrame(rows, columns=["Part", "Column", "Row"])


def left_out_sentences(settings: ContextSettings) -> list[str]:
    """Say which measurements the memory cap forbids, and by how much."""
    return [
        f"At {n:,} tokens the {method} is left out: it needs {needed_mib(n, method, settings):,} "
        f"MiB, and this server's memory cap is {settings.memory_cap_mib:,} MiB."
        for n in settings.sizes
        for method in METHODS
        if method not in settings.methods_at(n)
    ]


def progress_sentence(snapshot: CostSnapshot | None) -> str:
    """Say which run was the last one finished."""
    if snapshot is None:
        return "Measuring now: preparing the random queries, keys and values."
    run = snapshot.run
    if run.traced:
        return f"Measuring now: {run.method} at {run.n:,} tokens, memory."
    return (
        f"Measuring now: {run.method} at {run.n:,} tokens, time, "
        f"repeat {run.repeat} of {snapshot.settings.n_repeats}."
    )


def when_sentence(snapshot: CostSnapshot, timezone: str | None) -> str:
    """Say when the measurement began, in the visitor's time zone; see `core.tables.measured`."""
    n_repeats, whole = snapshot.settings.n_repeats, snapshot.share_done == 1
    return any_measured.when_sentence(snapshot.started, n_repeats, timezone, whole=whole)


def whose_sentence(snapshot: CostSnapshot, asked: float) -> str:
    """Say whether the measurement began when the visitor asked, in seconds since 1970."""
    return any_measured.whose_sentence(snapshot.started, asked)


def time_sentence(snapshot: CostSnapshot | None) -> str:
    """Say with which power of n each method's time grew, and how much faster one was."""
    if snapshot is None:
        return "Nothing is measured yet."
    parts = []
    for method in METHODS:
        fastest = fastest_by_size(snapshot, method)
        sizes = [n for n in snapshot.settings.sizes if method in snapshot.settings.methods_at(n)]
        if len(fastest) == len(sizes) >= 3:
            exponent, error = fitted_exponent(list(fastest), list(fastest.values()))
            parts.append(f"{method}: time grew as n to the power {exponent:.2f} ± {error:.2f}")
    formula, blocks = (fastest_by_size(snapshot, method) for method in METHODS)
    both = [n for n in formula if n in blocks]
    if both:
        n = max(both)
        ratio = formula[n] / blocks[n]
        slow, quick = ("the formula", "row blocks") if ratio >= 1 else ("row blocks", "the formula")
        ratio = max(ratio, 1 / ratio)
        parts.append(f"at {n:,} tokens {slow} took {ratio:.2f} times as long as {quick}")
    if not parts:
        return "No run is timed yet: the first runs measure memory."
    what = "One run" if snapshot.settings.n_repeats == 1 else "Fastest"
    noted = "; ± one standard error" if any("±" in part for part in parts) else ""
    return f"{_sentence('; '.join(parts))} ({what} of each size{noted}.)"


def memory_sentence(snapshot: CostSnapshot | None) -> str:
    """Say how much each method held at the largest size that both were measured at."""
    peaks = {
        (measured.n, measured.method): measured.peak_bytes
        for measured in (snapshot.measurements if snapshot else ())
    }
    both = [n for n, _ in peaks if all((n, method) in peaks for method in METHODS)]
    if snapshot is None or not both:
        return "Nothing is measured yet: the lines are predictions."
    n = max(both)
    formula, blocks = (peaks[n, method] for method in METHODS)
    return (
        f"At {n:,} tokens, beyond the queries, keys and values: {in_binary_units(formula)} by the "
        f"formula, {in_binary_units(blocks)} by row blocks. The two outputs differ by at most "
        f"{scientific(snapshot.differences[n])}."
    )


def scatter_sentence(snapshot: CostSnapshot) -> str | None:
    """Warn if the repeats lie so far apart that the ratios say little, or return None."""
    ratios = [
        median(measured.seconds) / measured.fastest
        for measured in snapshot.measurements
        if measured.seconds
    ]
    if max(ratios, default=1.0) < WIDE_SCATTER:
        return None
    return (
        f"The repeats lie far apart: at one size the median took {max(ratios):.1f} times as long "
        "as the fastest. This machine was busy with other work, so trust no single ratio. Measure "
        "again, or with more repeats."
    )


def doubling_sentence(snapshot: CostSnapshot) -> str:
    """Say what the last doubling did to the time of each method."""
    by_pair: dict[tuple[int, int], list[str]] = {}
    for method in METHODS:
        measured = doublings(snapshot, method)
        if measured:
            pair, ratio = max(measured.items())
            by_pair.setdefault(pair, []).append(f"{ratio:.2f} times as long by {method}")
    return " ".join(
        f"From {n:,} to {twice:,} tokens: {', '.join(words)}."
        for (n, twice), words in by_pair.items()
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
