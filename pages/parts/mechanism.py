"""Pieces of the mechanism page: its presets, the moves, the heat-maps and the row."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from core.attention import Floats
from core.charts import mechanism as charts
from core.lexicon import tokenise
from core.mechanism import PRESETS, Mechanism, explain_row, moves, preset_moves
from core.tables import mechanism as tables
from pages.parts.controls import plain, set_some
from pages.parts.html_table import steady
from pages.parts.lesson import compare, try_this
from pages.parts.mechanism_lesson import CASES, CONTROLS, DIAGRAM, STAGES_IN_WORDS, WHY
from pages.parts.moving import paint_first
from pages.parts.present import presenting, shown
from pages.parts.show import fold, show_chart, show_table


def show_presets() -> None:
    """Draw one button for each preset; it sets sentence, vectors, head and word to follow."""
    if not shown("sentence"):
        return
    if presenting():
        places = [st.container() for _ in PRESETS]
    else:
        st.caption("Start from one of these, or type a sentence of your own below.")
        places = st.columns(len(PRESETS))
    for at, (place, name) in enumerate(zip(places, PRESETS, strict=True)):
        place.button(name, key=f"preset_{at}", on_click=_use, args=(name,), width="stretch")


def _use(name: str) -> None:
    preset = PRESETS[name]
    kept = {
        "sentence": preset.sentence,
        "vectors": preset.vectors,
        "head": preset.head,
        "token": len(tokenise(preset.sentence)),
    }
    set_some(CONTROLS, kept)


def show_moves(result: Mechanism, index: int, title: str) -> None:
    """Draw where the followed word turned, and where the presets' words do."""
    turned = moves(result, index)
    said = tables.moves_sentence(turned)
    show_chart(
        charts.moves,
        tables.move_points(turned),
        len(turned),
        key="moves",
        says=said,
        lines=3,
        alt_text="Points: the cosine of the followed word's vector with each direction, before "
        "the head and after it, from −1 to 1.",
    )
    steady(tables.looking_sentence(result, index), lines=3)
    paint_first()
    compare(title, said, WHY)
    st.markdown(
        "The presets, each with the head made for it and otherwise your settings; the article "
        "tells these stories without numbers. “bank” starts from the same vector twice. A cosine "
        "of 1 is the same direction, 0 a right angle."
    )
    found = tables.move_table(preset_moves(result.settings))
    show_table(found, key="preset_moves", display=tables.move_table_in_words(found))
    try_this(CONTROLS, *CASES)


def show_stages(result: Mechanism, index: int) -> None:
    """Draw the data flow, then every stage as a heat-map, in the order of computation."""
    st.header("One head, stage by stage", anchor=False)
    diagram, words = st.columns(2, gap="large")
    with diagram:
        st.mermaid_chart(DIAGRAM, width="content", alt="Data flow of one attention head")
    words.markdown(STAGES_IN_WORDS)
    labels, dimensions = tables.token_labels(result), tables.dimension_names(result)
    steps, of_key = result.steps, tables.numbers(result.settings.d_k)
    n = len(labels)

    def vectors(name: str, meaning: str, values: Floats, columns: list[str], limit: float) -> None:
        frame, says = tables.vector_cells(labels, columns, values), tables.range_sentence(values)
        _draw_map(charts.vectors, frame, n, limit, name=name, meaning=meaning, says=says)

    def scores(name: str, meaning: str, values: Floats) -> None:
        frame, says = tables.score_cells(result, values), tables.range_sentence(values)
        _draw_map(charts.scores, frame, n, 6.0, name=name, meaning=meaning, says=says)

    # Full colour at ±2 for vectors: the lexicon goes to ±1, a random entry rarely beyond 1.5.
    vectors("X", "one vector for each token", result.X, dimensions, 2.0)
    # A pair of columns for each two stages, so that a narrow screen keeps the order.
    left, right = st.columns(2, gap="large")
    with left:
        vectors("Q", "X W_Q, what each token asks", steps.Q, of_key, 4.0)
    with right:
        vectors("K", "X W_K, what each token offers", steps.K, of_key, 4.0)
    left, right = st.columns(2, gap="large")
    with left:
        scores("Scores", "q·k for each pair, divided and scaled", steps.scores)
    with right:
        scores("Masked scores", "grey is −∞: may not look", steps.masked_scores)
    left, right = st.columns(2, gap="large")
    with left:
        _draw_map(
            charts.pattern,
            tables.pattern_cells(result),
            n,
            name="Pattern",
            meaning="softmax of each row, weights that sum to 1",
            says=tables.looking_sentence(result, index),
            lines=3,
        )
    with right:
        vectors("V", "X W_V, what is taken from each token", steps.V, dimensions, 2.0)
    left, right = st.columns(2, gap="large")
    with left:
        vectors("Output", "pattern × V, a weighted sum", steps.output, dimensions, 2.0)
    with right:
        vectors("X + output", "what leaves the step", result.updated, dimensions, 2.0)
    with fold("Every stage as one table", key="stages") as unfolded:
        if unfolded:
            show_table(tables.stage_table(result), key="stages", height=300)


def show_row(result: Mechanism, index: int) -> None:
    """Draw the arithmetic of the followed token's row, and what each key adds."""
    labels, dimensions = tables.token_labels(result), tables.dimension_names(result)
    row = explain_row(result, index)
    st.header("One row, step by step", anchor=False)
    st.markdown(
        plain(f"The word you follow is “{labels[index]}”. ")
        + tables.row_sentence(row, result.settings)
    )
    show_table(
        tables.row_table(row, labels), key="row", formats=dict.fromkeys(tables.ROW_NUMBERS, "%.4f")
    )
    _draw_map(
        charts.vectors,
        tables.weighted_value_cells(row, labels, dimensions),
        len(labels) + 1,
        2.0,
        name="Weight × value",
        meaning="what each key adds, and the sum",
        says="The last row is the sum of the others: this token's row of the output.",
    )
    with fold("Weight × value as a table", key="weighted_values") as unfolded:
        if unfolded:
            show_table(
                tables.weighted_value_table(row, labels, dimensions),
                key="weighted_values",
                formats=dict.fromkeys(dimensions, "%.4f"),
            )


def _draw_map(
    make: Callable[..., Any],
    frame: pd.DataFrame,
    *args: float,
    name: str,
    meaning: str,
    says: str,
    lines: int = 2,
) -> None:
    steady(meaning, name=name, lines=1)
    show_chart(
        make,
        frame,
        *args,
        key=f"map_{name}",
        says=says,
        lines=lines,
        alt_text=f"Heat-map of {name}: a row for each token, its numbers as colours.",
    )
