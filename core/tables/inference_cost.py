"""Tables and sentences of the inference-cost experiment: time, work and equality of outputs."""

import math
from statistics import median

import numpy as np
import pandas as pd

from core.binary_units import in_binary_units
from core.decode_agreement import Agreement, DecodeSettings
from core.decode_cost import DecodeSnapshot
from core.generation import AT_ONCE, CACHE, LAST_ROW, METHODS, WHOLE, draw_writer
from core.generation_by_hand import by_hand
from core.generation_work import intensity, multiply_adds, per_token
from core.row_blocks import BLOCK_SIZE
from core.tables.numbers import significant

POSITIONS = tuple(2**i for i in range(12))  # tokens; the axis of the charts
SPEEDS = (0.1, 1.0, 10.0, 100.0)  # billions of multiply-adds a second; lines in a chart
WORK_DOMAIN = (1e3, 3e10)  # multiply-adds for one output
COUNTED = (12, 8, 4)  # tokens, d_model and d_k of the run that loops count
FORMULAS = {
    WHOLE: "3 · n · d_model · d_k + 2 · n · n · d_k",
    LAST_ROW: "(2 · n + 1) · d_model · d_k + 2 · n · d_k",
    CACHE: "3 · d_model · d_k + 2 · n · d_k",
    AT_ONCE: "3 · n · d_model · d_k + 2 · (scores in its row blocks) · d_k, for n outputs",
}
_GIGA = 1e9
DASHED_SPEED = 50 * _GIGA  # multiply-adds a second that the dashed lines assume


def time_points(settings: DecodeSettings, snapshot: DecodeSnapshot | None) -> pd.DataFrame:
    """Return every run, the fastest of each position, and the counted work at one speed."""
    rows: list[tuple[int, str, str, float]] = []
    for timing in snapshot.timings if snapshot else ():
        rows += [(timing.n, timing.method, "run", 1000 * taken) for taken in timing.seconds]
        rows.append((timing.n, timing.method, "fastest", 1000 * timing.fastest))
    sizes = (settings.d_model, settings.d_k)
    rows += [
        (n, method, "counted", 1000 * per_token(method, n, *sizes) / DASHED_SPEED)
        for method in (WHOLE, LAST_ROW, CACHE)
        for n in settings.positions
    ]
    return pd.DataFrame(rows, columns=["Tokens", "Method", "Kind", "Time (ms)"])


def work_points(snapshot: DecodeSnapshot | None) -> pd.DataFrame:
    """Return the multiply-adds for one output beside its fastest time, and lines of equal speed."""
    rows: list[tuple[str, str, int | None, float, float, float]] = []
    for timing in snapshot.timings if snapshot else ():
        assert snapshot is not None
        work = _per_token(snapshot, timing.method, timing.n)
        speed = _speed(snapshot, timing.method, timing.n) / _GIGA
        rows.append(("measured", timing.method, timing.n, work, 1000 * timing.fastest, speed))
    for speed in SPEEDS:
        rows += [
            ("speed", f"{speed:g} billion/s", None, work, 1000 * work / speed / _GIGA, speed)
            for work in WORK_DOMAIN
        ]
    columns = ["Kind", "Method", "Tokens", "Multiply-adds", "Time (ms)", "Speed (billion/s)"]
    return pd.DataFrame(rows, columns=columns)


def times(snapshot: DecodeSnapshot | None) -> pd.DataFrame:
    """Return one row for each method and position, with every repeat."""
    n_repeats = snapshot.settings.n_repeats if snapshot else 0
    rows = []
    for timing in snapshot.timings if snapshot else ():
        runs = [1000 * taken for taken in timing.seconds]
        rows.append(
            {
                "Method": timing.method,
                "Tokens": timing.n,
                "Fastest (ms)": min(runs),
                "Median (ms)": median(runs),
                **{
                    f"Run {i + 1} (ms)": runs[i] if i < len(runs) else None
                    for i in range(n_repeats)
                },
            }
        )
    return pd.DataFrame(rows, columns=None if rows else ["Method", "Tokens", "Fastest (ms)"])


def work_table(snapshot: DecodeSnapshot) -> pd.DataFrame:
    """Return, at the last position, each method's work, time, speed and work for a number fetched.

    All for one output.
    """
    n, settings = snapshot.settings.n_tokens, snapshot.settings
    rows = []
    for method in METHODS:
        taken = snapshot.fastest_of(method).get(n)
        rows.append(
            {
                "Method": method,
                "Tokens": n,
                "Multiply-adds for one output": _per_token(snapshot, method, n),
                "Fastest (ms)": None if taken is None else 1000 * taken,
                "Speed (billion/s)": (
                    None if taken is None else _speed(snapshot, method, n) / _GIGA
                ),
                "Multiply-adds for a number fetched, at most": intensity(
                    method, n, settings.d_model, settings.d_k
                ),
            }
        )
    return pd.DataFrame(rows)


def work_table_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the work as text, with a dash for what is not measured yet."""
    speed, fetched = table["Speed (billion/s)"], table.columns[-1]
    return pd.DataFrame(
        {
            "At the last token": table["Method"],
            "Multiply-adds": [f"{work:,.0f}" for work in table["Multiply-adds for one output"]],
            "Time (ms)": [_or_dash(ms, 3) for ms in table["Fastest (ms)"]],
            "Billion a second": [_or_dash(one, 2) for one in speed],
            "Multiply-adds for a number fetched": [f"{one:,.1f}" for one in table[fetched]],
        }
    )


def counted_table() -> pd.DataFrame:
    """Return each method's formula beside a count by loops over single numbers, for one run."""
    n, d_model, d_k = COUNTED
    rng = np.random.default_rng(0)
    writer = draw_writer(d_model, d_k, rng)
    x = rng.standard_normal((n, d_model))
    return pd.DataFrame(
        [
            {
                "Method": method,
                "Multiply-adds of a run": formula,
                "By formula": multiply_adds(method, n, d_model, d_k),
                "Counted": by_hand(method, x, writer, block_size=BLOCK_SIZE).multiply_adds,
            }
            for method, formula in FORMULAS.items()
        ]
    )


def agreement_table(agreements: tuple[Agreement, ...]) -> pd.DataFrame:
    """Return how far each way's outputs are from the full head's."""
    return pd.DataFrame(
        [
            {
                "Way": agreement.way,
                "Outputs compared": agreement.n_outputs,
                "Largest difference (no unit)": agreement.largest,
                "Largest number in an output (no unit)": agreement.size,
                "Same next token": agreement.n_same_token,
                "Equal to rounding": agreement.is_rounding,
            }
            for agreement in agreements
        ]
    )


def agreement_in_words(agreements: tuple[Agreement, ...]) -> pd.DataFrame:
    """Return the comparison as text, broken caches named as such."""
    return pd.DataFrame(
        {
            "Way": [
                one.way if one.way in METHODS else f"broken cache: {one.way}" for one in agreements
            ],
            "Outputs compared": [f"{one.n_outputs:,}" for one in agreements],
            "Largest difference": [significant(one.largest, 2) for one in agreements],
            "Same next token": [f"{one.n_same_token:,}" for one in agreements],
            "Equal to rounding": ["yes" if one.is_rounding else "no" for one in agreements],
        }
    )


def agreement_sentence(snapshot: DecodeSnapshot | None) -> str:
    """Say whether the sound ways agree, and whether the comparison noticed the broken caches."""
    if snapshot is None or not snapshot.agreements:
        return "Nothing is compared yet: that comes when everything is timed."
    sound = [one for one in snapshot.agreements if one.way in METHODS]
    broken = [one for one in snapshot.agreements if one.way not in METHODS]
    noticed = sum(not one.is_rounding for one in broken)
    if not all(one.is_rounding for one in sound):
        wrong = " and ".join(one.way for one in sound if not one.is_rounding)
        return f"Not the same: {wrong} differs from the full head by more than rounding."
    most, least = max(one.largest for one in sound), min(one.largest for one in broken)
    return (
        f"The same outputs: no number differs by more than {significant(most, 2)}, beside numbers "
        f"of up to {sound[0].size:.1f}. {noticed} of {len(broken)} broken caches are noticed; the "
        f"least of them differs by {significant(least, 2)}."
    )


def progress_sentence(snapshot: DecodeSnapshot | None) -> str:
    """Say which run was the last one finished."""
    if snapshot is None:
        return "Measuring now: the head writes its tokens."
    if snapshot.run is None:
        return "All is timed. Comparing the outputs now."
    run, n_repeats = snapshot.run, snapshot.settings.n_repeats
    return f"Measuring now: {run.method} at {run.n:,} tokens, repeat {run.repeat} of {n_repeats}."


def clock_sentence(snapshot: DecodeSnapshot | None) -> str:
    """Say which time is measured, and what the dashed lines are."""
    dashed = (
        "Dashed: what the counted multiply-adds of the first three ways would take at "
        f"{DASHED_SPEED / _GIGA:.0f} billion a second."
    )
    if snapshot is None:
        return dashed
    if snapshot.processor_time:
        return f"Processor time: what other programs took in between is left out. {dashed}"
    return (
        "Time by the clock: what other programs took in between is counted, and falls on long runs "
        f"more often than on short ones. {dashed}"
    )


def time_sentence(snapshot: DecodeSnapshot | None) -> str:
    """Say what one output took after the most tokens that all ways were timed at."""
    n = _last_common(snapshot)
    if snapshot is None or n is None:
        return "Nothing is timed yet."
    whole, row, cached = (
        1000 * snapshot.fastest_of(method)[n] for method in (WHOLE, LAST_ROW, CACHE)
    )
    counted = [
        significant(_per_token(snapshot, method, n) / _per_token(snapshot, CACHE, n), 2)
        for method in (LAST_ROW, WHOLE)
    ]
    return (
        f"After {n:,} tokens the next output took {_ms(cached)} with the cache. Making keys and "
        f"values again took {significant(row / cached, 2)} times as long, the whole head again "
        f"{significant(whole / cached, 2)} times; by their multiply-adds it would be {counted[0]} "
        f"and {counted[1]} times. (Fastest of each.)"
    )


def result_sentence(snapshot: DecodeSnapshot) -> str:
    """Say how much of the next token's work the cache saved, counted and in time."""
    n = snapshot.settings.n_tokens
    saved = 100 * (1 - _per_token(snapshot, CACHE, n) / _per_token(snapshot, LAST_ROW, n))
    taken = [snapshot.fastest_of(method)[n] for method in (CACHE, LAST_ROW)]
    return (
        f"After {n:,} tokens: {_percent(saved)} of the multiply-adds, and "
        f"{_percent(100 * (1 - taken[0] / taken[1]))} of the time. The rest is one query, one key, "
        "one value and one row of the pattern."
    )


def growth_table(snapshot: DecodeSnapshot) -> pd.DataFrame:
    """Return by what the last doubling multiplied the work and the time of one output."""
    n = 2 ** (snapshot.settings.n_tokens.bit_length() - 1)
    rows = []
    for method in METHODS:
        fastest = snapshot.fastest_of(method)
        work = [_per_token(snapshot, method, tokens) for tokens in (n // 2, n)]
        rows.append(
            {
                "Method": method,
                "From (tokens)": n // 2,
                "To (tokens)": n,
                "Multiply-adds (×)": work[1] / work[0],
                "Time (×)": fastest[n] / fastest[n // 2] if {n, n // 2} <= set(fastest) else None,
            }
        )
    return pd.DataFrame(rows)


def growth_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the growth as text, with a dash for what is not measured yet."""
    span = f"From {table['From (tokens)'].iloc[0]:,} to {table['To (tokens)'].iloc[0]:,} tokens"
    return pd.DataFrame(
        {
            span: table["Method"],
            "Multiply-adds": [f"× {ratio:.2f}" for ratio in table["Multiply-adds (×)"]],
            "Time": ["–" if pd.isna(ratio) else f"× {ratio:.2f}" for ratio in table["Time (×)"]],
        }
    )


def totals(snapshot: DecodeSnapshot) -> pd.DataFrame:
    """Return what all tokens take together: measured where they were all run, else reckoned.

    Reckoned: between two measured positions, time is taken to grow as a power of the position.
    """
    settings = snapshot.settings
    everywhere = np.arange(1, settings.n_tokens + 1)
    rows: list[tuple[str, int, float, str]] = []
    for method in METHODS:
        fastest = snapshot.fastest_of(method)
        if set(fastest) != set(settings.positions):
            continue
        if method == CACHE:
            work = sum(_work(snapshot, method, int(n)) for n in everywhere)
            seconds, how = min(float(steps.sum()) for steps in snapshot.cached_steps), "measured"
        elif method == AT_ONCE:
            work = _work(snapshot, method, settings.n_tokens)
            seconds, how = fastest[settings.n_tokens] * settings.n_tokens, "measured"
        else:
            work = sum(_work(snapshot, method, int(n)) for n in everywhere)
            logs = np.log(list(fastest)), np.log(list(fastest.values()))
            seconds, how = float(np.exp(np.interp(np.log(everywhere), *logs)).sum()), "reckoned"
        rows.append((method, work, seconds, how))
    return pd.DataFrame(rows, columns=["Method", "Multiply-adds", "Time (s)", "How"])


def totals_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the totals as text."""
    return pd.DataFrame(
        {
            "All tokens": table["Method"],
            "Multiply-adds": [f"{work:,}" for work in table["Multiply-adds"]],
            "Time (s)": [significant(seconds) for seconds in table["Time (s)"]],
            "How": table["How"],
        }
    )


def totals_sentence(snapshot: DecodeSnapshot) -> str:
    """Say what writing all tokens takes with the cache, without it, and reading them at once."""
    table = totals(snapshot).set_index("Method")["Time (s)"]
    if set(table.index) != set(METHODS):
        return "Not all positions are timed yet."
    return (
        f"All {snapshot.settings.n_tokens:,} tokens, one after another: {_s(table[CACHE])} with "
        f"the cache, about {_s(table[LAST_ROW])} with keys and values made again, about "
        f"{_s(table[WHOLE])} with the whole head run again. All at once: {_s(table[AT_ONCE])}."
    )


def speed_sentence(snapshot: DecodeSnapshot | None) -> str:
    """Compare the speeds of one token at a time and all at once, at the same number of tokens."""
    n = _last_common(snapshot)
    if snapshot is None or n is None:
        return "Nothing is timed yet: the lines are speeds to compare with."
    cached, at_once = (
        significant(_speed(snapshot, method, n) / _GIGA, 2) for method in (CACHE, AT_ONCE)
    )
    best = max(snapshot.settings.positions, key=lambda m: _ratio(snapshot, m))
    return (
        f"At {n:,} tokens: {cached} billion multiply-adds a second one at a time with the cache, "
        f"{at_once} billion all at once. The two lie furthest apart at {best:,} tokens, where "
        f"one at a time takes {_ratio(snapshot, best):.1f} times as long for a token."
    )


def cache_bytes_sentence(snapshot: DecodeSnapshot | None) -> str:
    """Say how large the arrays of our own head's cache are, counted on the arrays."""
    if snapshot is None:
        return "The head above has not written anything yet."
    settings = snapshot.settings
    return (
        f"The head above kept 2 · {settings.d_k:,} numbers of 4 bytes for each of "
        f"{settings.n_tokens:,} tokens: its two arrays hold "
        f"{in_binary_units(snapshot.cache_bytes)} ({snapshot.cache_bytes:,} bytes)."
    )


def _ratio(snapshot: DecodeSnapshot, n: int) -> float:
    cached, at_once = (snapshot.fastest_of(method).get(n) for method in (CACHE, AT_ONCE))
    return cached / at_once if cached and at_once else 0.0


def _last_common(snapshot: DecodeSnapshot | None) -> int | None:
    if snapshot is None:
        return None
    common = set.intersection(*(set(snapshot.fastest_of(method)) for method in METHODS))
    return max(common, default=None)


def _work(snapshot: DecodeSnapshot, method: str, n: int) -> int:
    return multiply_adds(method, n, snapshot.settings.d_model, snapshot.settings.d_k)


def _per_token(snapshot: DecodeSnapshot, method: str, n: int) -> float:
    return per_token(method, n, snapshot.settings.d_model, snapshot.settings.d_k)


def _speed(snapshot: DecodeSnapshot, method: str, n: int) -> float:
    return _per_token(snapshot, method, n) / snapshot.fastest_of(method)[n]


def _ms(milliseconds: float) -> str:
    return f"{significant(milliseconds)} ms"


def _s(seconds: float) -> str:
    return f"{significant(seconds, 2)} s"


def _percent(share: float) -> str:
    # Never rounded up to all of it.
    return f"{math.floor(10 * share) / 10:.1f} %"


def _or_dash(value: float | None, digits: int) -> str:
    return "–" if value is None or pd.isna(value) else significant(value, digits)
