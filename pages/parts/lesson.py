"""Predict, look, explain: what the pages ask first, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from core.notebook import Entry, notebook_page, notebook_table
from pages.parts.controls import AnyControl, plain, set_controls
from pages.parts.html_table import show_pair, show_words
from pages.parts.present import presenting

_ENTRIES = "lesson_entries"  # page title → Entry, for the whole visit
_ANSWERED = "lesson_answered"  # set by a click on an answer, until the page has been drawn
_WHOLE = "lesson_whole_page"  # set while the whole page is drawn, not a fragment of it


@dataclass(frozen=True, kw_only=True)
class Choose:
    """A question with a few answers, the tempting wrong ones among them."""

    question: str
    answers: tuple[str, ...]

    def draw(self, key: str, answer: Callable[[str], None]) -> None:
        """Put one button a possible answer on the page."""
        for number, text in enumerate(self.answers):
            st.button(
                plain(text),
                key=f"{key}_{number}",
                on_click=answer,
                args=(text,),
                width="stretch",
            )


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A question whose answer is a number, guessed with a slider."""

    question: str
    low: int
    high: int
    start: int
    unit: str

    def draw(self, key: str, answer: Callable[[str], None]) -> None:
        """Put the slider and the button that hands the guess in on the page."""
        guess = st.slider(
            f"Your guess ({self.unit})", self.low, self.high, self.start, key=f"{key}_guess"
        )
        st.button(
            "That is my guess",
            key=f"{key}_give",
            on_click=answer,
            args=(f"{guess:,} {self.unit}",),
            width="stretch",
        )


def begin_page() -> None:
    """Take note that the whole page is being drawn; its fragments may be drawn alone later."""
    st.session_state[_WHOLE] = True


def ask(
    page: str,
    prediction: Choose | Guess,
    controls: tuple[AnyControl, ...],
    values: dict[str, Any],
) -> bool:
    """Ask for a prediction, and return whether the answer has to wait for it.

    A student who moved a control, who came by a link that carries settings, or who is shown the
    page on a projector has begun already, and is not held up. Asked in a fragment, what waits
    outside it is drawn as soon as it need not wait.
    """
    alone = not st.session_state.pop(_WHOLE, False)
    if page in _entries():
        if st.session_state.pop(_ANSWERED, False) and alone:
            st.rerun()
        return False
    key = f"predict_{page}"
    entry = Entry(page=page, question=prediction.question, predicted=None)
    begun = any(values[control.key] != control.default for control in controls)
    if begun or presenting():
        _keep(entry)
        if alone:
            st.rerun()
        return False
    with st.container(border=True):
        st.markdown(f"**Before you look.** {plain(prediction.question)}")
        prediction.draw(key, lambda text: _answer(replace(entry, predicted=text)))
        st.button(
            "Skip: show me", key=f"{key}_skip", type="tertiary", on_click=_answer, args=(entry,)
        )
    return True


def compare(page: str, result: str, why: str) -> None:
    """Show the prediction beside the result, with one sentence on why; neither is marked.

    The result of the first look is what is kept and shown: the prediction was made for it. What
    other settings give is for the chart's own sentence to say. On a projector nobody was asked, and
    only the reason is written.
    """
    entry = _entries()[page]
    if entry.result is None:
        entry = replace(entry, result=result, why=why)
        _keep(entry)
    if presenting():
        st.markdown(plain(why))
        return
    show_pair(
        ("You predicted", entry.predicted or "Nothing: you went straight to the result."),
        ("What came out when you first looked", entry.result or result),
        below=entry.why or why,
    )


def try_this(
    controls: tuple[AnyControl, ...],
    *cases: tuple[str, dict[str, Any]],
    at: str = "the page's first chart",
    key: str | None = None,
) -> None:
    """Offer telling cases: each a question, and the settings under which to look for its answer.

    A case sets every control, those it does not name to their defaults, and so the link too.

    Args:
        controls: those that the cases set.
        *cases: questions that the sentence under the chart answers, with their settings.
        at: where to look for the answer.
        key: names the cases, where the same controls have others on the page.
    """
    st.markdown(f"**Try this**, and look at {at} again")
    for number, (question, case) in enumerate(cases):
        st.button(
            question,
            key=f"try_{key or controls[0].key}_{number}",
            type="tertiary",
            icon=":material/arrow_forward:",
            on_click=set_controls,
            args=(controls, case),
        )


def collected() -> None:
    """Show what the visit has brought together so far, to be kept as a file or printed."""
    entries = list(_entries().values())
    st.header("Your predictions and results", anchor=False)
    if not entries:
        st.markdown("Nothing yet. Each page asks you for a prediction; it is collected here.")
        return
    table = notebook_table(entries)
    show_words(table, label="Your predictions and results")
    as_file, as_page = st.columns(2)
    as_file.download_button(
        "Download as CSV",
        data=lambda: table.to_csv(index=False),
        file_name="attention_lab.csv",
        mime="text/csv",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
    as_page.download_button(
        "Download as a page to print",
        data=lambda: notebook_page(entries, datetime.now(UTC).date()),
        file_name="attention_lab.html",
        mime="text/html",
        on_click="ignore",
        type="tertiary",
        icon=":material/print:",
    )


def seen() -> set[str]:
    """Return the titles of the pages whose question this visitor has met."""
    return set(_entries())


def _entries() -> dict[str, Entry]:
    entries: dict[str, Entry] = st.session_state.setdefault(_ENTRIES, {})
    return entries


def _answer(entry: Entry) -> None:
    st.session_state[_ANSWERED] = True
    _keep(entry)


def _keep(entry: Entry) -> None:
    _entries()[entry.page] = entry
