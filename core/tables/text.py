"""Tables of text: what a table of numbers says in words."""

from collections.abc import Iterable, Mapping

import pandas as pd


def text_table(columns: Mapping[str, Iterable[object]]) -> pd.DataFrame:
    """Return a table of texts, kept as the objects they are.

    pandas's own type for text takes twice as long to make from strings, and to read cell by cell:
    1 ms for a table of 17 rows, and a page has several in every answer.

    >>> text_table({"Part": ["W_Q", "W_K"], "Share": ["1 %", "2 %"]})["Share"].tolist()
    ['1 %', '2 %']
    """
    return pd.DataFrame({name: list(column) for name, column in columns.items()}, dtype=object)
