"""Words in a table, side by side or in a line, as one piece of HTML.

Streamlit's own static table makes a Markdown document of every cell: a page with 300 cells took
14 ms longer to paint its chart. Here a text is text and nothing else, whatever a student typed.
"""

from html import escape

import pandas as pd
import streamlit as st

# The colours are the theme's own text colour, so that both themes are right. On a phone every row
# is a card of its own, its cells named, so that nothing is cut off or scrolled sideways.
STYLE = """
.lab-table {overflow-x: auto; margin-bottom: 0.5rem; font-size: 0.9rem; line-height: 1.45;
  font-variant-numeric: tabular-nums; --line: color-mix(in srgb, currentColor 22%, transparent)}
.lab-table table {border-collapse: collapse; width: 100%}
.lab-table th, .lab-table td {text-align: left; vertical-align: top; padding: 0.35rem 0.6rem;
  border: 1px solid var(--line)}
.lab-table thead th {font-weight: 600;
  background: color-mix(in srgb, currentColor 5%, transparent)}
.lab-table tbody th {font-weight: 400}
@media (max-width: 640px) {
  .lab-table table, .lab-table tbody, .lab-table tr, .lab-table tbody th {display: block}
  .lab-table thead {position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%)}
  .lab-table tbody tr {border: 1px solid var(--line); border-radius: 0.5rem;
    padding: 0.3rem 0; margin-bottom: 0.6rem}
  .lab-table tbody th {font-weight: 600; border: 0}
  .lab-table td {display: grid; grid-template-columns: 40% 1fr; gap: 0.6rem; border: 0;
    padding-block: 0.15rem; overflow-wrap: anywhere}
  .lab-table td::before {content: attr(data-column)}
  .lab-table td:empty {display: none}
}
.lab-line {margin: 0; line-height: 1.6; min-height: calc(1.6rem * var(--lines))}
.lab-pair {display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr));
  gap: 0.6rem 1rem; padding: 1rem; margin-bottom: 0.5rem; border-radius: 0.5rem; line-height: 1.6;
  border: 1px solid color-mix(in srgb, currentColor 22%, transparent)}
.lab-pair p {margin: 0}
.lab-pair .lab-name {font-size: 0.85rem; color: color-mix(in srgb, currentColor 75%, transparent)}
.lab-pair .lab-below {grid-column: 1 / -1}
"""


def show_words(frame: pd.DataFrame, *, label: str) -> None:
    """Draw the frame as a static table that wraps its text.

    Args:
        frame: words, or whole numbers; its index is not shown.
        label: names the table for a screen reader. The table takes the focus, so that the keyboard
            can scroll it where it is wider than the screen.
    """
    st.html(table_of(frame, label=label))


def show_pair(*sides: tuple[str, str], below: str) -> None:
    """Draw texts side by side, each under its name, and one more below them."""
    beside = "".join(
        f'<div><p class="lab-name">{escape(name)}</p><p>{_unbroken(text)}</p></div>'
        for name, text in sides
    )
    st.html(f'<div class="lab-pair">{beside}<p class="lab-below">{_unbroken(below)}</p></div>')


def steady(text: str, *, name: str = "", lines: int = 2) -> None:
    """Write a live sentence in a place of fixed height, so that a shorter one moves nothing.

    Args:
        text: the sentence.
        name: what it is about, in bold before it.
        lines: the lines kept for it: as many as its longest takes at 1280 pixels.
    """
    about = f"<b>{escape(name)}</b>: " if name else ""
    st.html(f'<p class="lab-line" style="--lines: {lines}">{about}{_unbroken(text)}</p>')


def table_of(frame: pd.DataFrame, *, label: str) -> str:
    """Write the frame as HTML, every cell escaped.

    The roles say again what the elements say already: browsers forget it of a table whose rows
    are drawn as cards.
    """
    names = [escape(str(name)) for name in frame.columns]
    columns = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in names)
    rows = "".join(_row(names, cells) for cells in frame.itertuples(index=False, name=None))
    return (
        f'<div class="lab-table" role="region" tabindex="0" aria-label="{escape(label)}">'
        f'<table role="table"><thead role="rowgroup"><tr role="row">{columns}</tr></thead>'
        f'<tbody role="rowgroup">{rows}</tbody></table></div>'
    )


def _row(names: list[str], cells: tuple[object, ...]) -> str:
    first, *rest = (
        _unbroken(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in cells
    )
    others = "".join(
        f'<td role="cell" data-column="{name}">{cell}</td>'
        for name, cell in zip(names[1:], rest, strict=True)
    )
    return f'<tr role="row"><th scope="row" role="rowheader">{first}</th>{others}</tr>'


def _unbroken(text: str) -> str:
    """Escape the text, and keep a number and its % on one line."""
    return escape(text).replace(" %", "&nbsp;%")
