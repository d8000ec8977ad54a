"""Counts in words, with the grammar of one."""


def count_runs(count: int) -> str:
    """Write a number of runs.

    >>> count_runs(1), count_runs(5)
    ('1 run', '5 runs')
    """
    return "1 run" if count == 1 else f"{count} runs"
