"""The words of a frame that has a row for each entry of several tables, one below the other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Block = tuple[str, Sequence[str], Sequence[str]]
"""A table's circuit, and the names of its rows and of its columns."""


def entry_words(blocks: Sequence[Block]) -> dict[str, NDArray[np.str_]]:
    """Return which circuit, row and part each entry belongs to: the blocks in order, row by row.

    Whole columns at once: with a frame for each block, and their concatenation, one head's two
    circuits took 1.8 ms in place of 1.1, and those of 40 steps 4.8 in place of 1.4.

    >>> words = entry_words([("QK", ["asks 0", "asks 1"], ["key 0", "key 1"])])
    >>> words["Row"].tolist(), words["Part"].tolist()
    (['asks 0', 'asks 0', 'asks 1', 'asks 1'], ['key 0', 'key 1', 'key 0', 'key 1'])
    """
    sizes = [len(rows) * len(columns) for _, rows, columns in blocks]
    return {
        "Circuit": np.repeat([circuit for circuit, _, _ in blocks], sizes),
        "Row": np.concatenate([np.repeat(rows, len(columns)) for _, rows, columns in blocks]),
        "Part": np.concatenate([np.tile(columns, len(rows)) for _, rows, columns in blocks]),
    }
