"""Train the map of recall at scale, a few minutes of one core, and ship it as data.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.recall_at_scale

writes ``core/data/recall_at_scale.csv``, a row for each run. What the file holds already is not
run again, so it can be stopped and started; ``--minutes`` bounds one go, and ``--write`` names
another file. Delete the file to measure everything anew.
"""

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.report import machine
from core.recall_at_scale import KEYS_PER_PAIR, PAIRS, WIDTHS, ScaleSettings, cell_runs, run_steps
from core.recall_map import (
    COLUMNS,
    FILE,
    LONG_PAIRS,
    LONG_STEPS,
    LONG_WIDTHS,
    N_SEEDS,
    N_STEPS,
    row_of,
    settings_of,
)


def all_runs() -> Iterator[ScaleSettings]:
    """Return every run of the map, the control with equal scores, then the longer runs."""
    base = ScaleSettings(n_steps=N_STEPS)
    for keys_per_pair in KEYS_PER_PAIR:
        for n_pairs in PAIRS:
            for d_k in WIDTHS:
                yield from cell_runs(base, n_pairs, d_k, keys_per_pair, N_SEEDS)
    control = replace(base, variant="uniform")
    for keys_per_pair in KEYS_PER_PAIR:
        for n_pairs in PAIRS:
            yield from cell_runs(control, n_pairs, WIDTHS[-1], keys_per_pair, N_SEEDS)
    longer = replace(base, n_steps=LONG_STEPS)
    for keys_per_pair in KEYS_PER_PAIR:
        for n_pairs in LONG_PAIRS:
            for d_k in LONG_WIDTHS:
                yield from cell_runs(longer, n_pairs, d_k, keys_per_pair, N_SEEDS)


def measure(path: Path, runs: Iterator[ScaleSettings], seconds: float) -> tuple[int, int]:
    """Run what the file lacks, for so long at most, and return how many were run and how many not.

    Each run is written when it has finished, so that stopping loses one run at most.
    """
    done = set()
    if path.exists():
        with path.open(newline="") as file:
            done = {settings_of(row) for row in csv.DictReader(file)}
    else:
        path.write_text(",".join(COLUMNS) + "\n")
    end = time.monotonic() + seconds
    where = machine("numpy")
    n_run = n_left = 0
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        for settings in runs:
            if settings in done:
                continue
            if time.monotonic() > end:
                n_left += 1
                continue
            began = time.process_time()
            steps = [step for step in run_steps((settings,)) if step is not None]
            run = steps[-1].run
            assert run is not None
            writer.writerow(row_of(run, time.process_time() - began, where))
            file.flush()
            n_run += 1
    return n_run, n_left


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=60, help="stop after so many")
    parser.add_argument("--write", type=Path, default=FILE, help="the CSV file")
    arguments = parser.parse_args()
    n_run, n_left = measure(arguments.write, all_runs(), arguments.minutes * 60)
    print(f"{n_run} runs measured, {n_left} left, in {arguments.write}.")


if __name__ == "__main__":
    main()
