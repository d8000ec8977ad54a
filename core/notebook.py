"""What a student predicted and what came out, kept in order and written out for keeping."""

import html
from dataclasses import dataclass
from datetime import date

import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One page of the visit: the question, the prediction before and the result after."""

    page: str
    question: str
    predicted: str | None  # None where the student chose to look without predicting
    result: str | None = None  # None until the result has been on screen
    why: str | None = None  # one sentence


def notebook_table(entries: list[Entry]) -> pd.DataFrame:
    """Return the visit as a table, a row for each page that was opened.

    >>> notebook_table([Entry(page="Mask leak", question="Which?", predicted=None)])["Predicted"][0]
    'not predicted'
    """
    return pd.DataFrame(
        {
            "Page": [entry.page for entry in entries],
            "Question": [entry.question for entry in entries],
            "Predicted": [entry.predicted or "not predicted" for entry in entries],
            "Result": [entry.result or "not looked at yet" for entry in entries],
            "Why": [entry.why or "" for entry in entries],
        }
    )


def notebook_page(entries: list[Entry], day: date) -> str:
    """Return the visit as one HTML page that prints on paper and needs nothing else.

    Whatever a student wrote is escaped: it is text, never markup.
    """
    rows = "\n".join(
        f"<section><h2>{_text(entry.page)}</h2><p><b>{_text(entry.question)}</b></p>"
        f"<p>Predicted: {_text(entry.predicted or 'not predicted')}</p>"
        f"<p>Result: {_text(entry.result or 'not looked at yet')}</p>"
        f"<p>{_text(entry.why or '')}</p></section>"
        for entry in entries
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<title>Attention Lab: predictions and results</title><style>"
        "body{font:16px/1.5 sans-serif;max-width:42rem;margin:2rem auto;color:#161514}"
        "section{break-inside:avoid;border-top:1px solid #999}</style></head><body>"
        f"<h1>Attention Lab: predictions and results</h1><p>{day.isoformat()}</p>"
        f"{rows}</body></html>"
    )


def _text(text: str) -> str:
    return html.escape(text)
