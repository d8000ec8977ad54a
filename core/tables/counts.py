"""Counts: in words, with the grammar of one, and in tables, whole where some are missing."""

import pandas as pd


def count_runs(count: int) -> str:
    """Write a number of runs.

    >>> count_runs(1), count_runs(5)
    ('1 run', '5 runs')
    """
    return count_of(count, "run")


def count_of(count: int, thing: str) -> str:
    """Write a number of things whose name takes an s.

    >>> count_of(1, "layer"), count_of(1280, "softmax row")
    ('1 layer', '1,280 softmax rows')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def keep_whole(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the frame with this column of counts whole: beside missing ones they become floats.

    >>> keep_whole(pd.DataFrame({"Step": [1500, None]}), "Step").to_csv(index=False).split()
    ['Step', '1500', '""']
    """
    return frame.astype({column: "Int64"}) if column in frame else frame
