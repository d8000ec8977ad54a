"""The student's own sequence, as it is typed: ``0:6 3:0 4:1`` and a question."""

import re

_PAIR = re.compile(r"(\d{1,4}):(\d{1,4})", re.ASCII)
_NUMBER = re.compile(r"\d{1,4}", re.ASCII)
_SHOWN = 30  # characters of a bad entry that are shown back


def read_pairs(text: str) -> tuple[list[int], list[int]]:
    """Return the keys and the values.

    Raises:
        ValueError: if an entry is not a key, a colon and a value.

    >>> read_pairs("0:6, 3 : 0; 4=1")
    ([0, 3, 4], [6, 0, 1])
    """
    entries = re.split(r"[\s,;]+", re.sub(r"\s*[:=→]\s*", ":", text.strip()))
    keys, values = [], []
    for entry in entries:
        pair = _PAIR.fullmatch(entry)
        if pair is None:
            raise ValueError(
                f"pairs must each be a key, a colon and a value, as in 0:6 3:0 4:1, "
                f"got {_short(entry)}"
            )
        keys.append(int(pair[1]))
        values.append(int(pair[2]))
    return keys, values


def read_question(text: str) -> int:
    """Return the key that is asked about.

    Raises:
        ValueError: if the text is not a whole number.
    """
    if _NUMBER.fullmatch(text.strip()) is None:
        raise ValueError(f"question must be one key, a whole number, got {_short(text.strip())}")
    return int(text)


def _short(text: str) -> str:
    if not text:
        return "nothing"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
