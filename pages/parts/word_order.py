"""The parts of the word-order page: those drawn again while runs go on, and the pictures."""

from dataclasses import replace

import streamlit as st

from core.attention import Floats
from core.charts import positions as picture_charts
from core.charts import word_order as charts
from core.order_pictures import position_scores, scheme_vectors, shuffle_pairs
from core.order_training import N_FRESH, N_SHUFFLED, OrderRun, OrderSeries
from core.positions import SCHEMES
from core.tables import order_findings as findings
from core.tables import positions as pictures
from core.tables import word_order as tables
from core.word_order import OrderSettings
from pages.parts.followed import redraw_if_changed
from pages.parts.lesson import compare
from pages.parts.series import Series
from pages.parts.show import fold, show_chart, show_table

WHY = (
    "Without positions, every order of the same pairs gives the same output, so the head cannot "
    "tell which of the key's values came last. Each of them is right equally often, whatever it "
    "answers."
)

WHAT = {
    "none": "Nothing is added. A pair's score is the same wherever it stands.",
    "learned": "A trained vector for each position is added to the embedding. It has as many "
    "vectors as the training sequences have tokens, and no more.",
    "sinusoidal": "A fixed vector of sines and cosines is added to the embedding, each pair of "
    "numbers slower than the one before (Vaswani et al. 2017, section 3.5). Two of these vectors' "
    "dot product depends on the distance alone; the score's does not, as W_Q and W_K come between.",
    "rotary": "Each pair of numbers of a query and of a key vector is turned by an angle that "
    "grows with the position (RoPE, Su et al. 2021). Turned by the same angle, the two vectors "
    "keep their score: only the difference of the angles is left, and that is the distance.",
    "alibi": "The score loses a fixed amount for each position of distance (Press et al. 2022). It "
    "is not trained, and the same for all words.",
}

VECTORS = {
    "learned": "Not trained yet: the random start.",
    "sinusoidal": "Rows: the vector of each position. Fast waves left, slow ones right.",
    "rotary": "The cosine of the angle by which each position turns each pair of numbers.",
}

OrderFollowed = Series[OrderSettings, OrderRun]


def show_runs(series: OrderFollowed, settings: OrderSeries, title: str, *, polling: bool) -> None:
    """Draw every finished run and what each scheme's runs say, beside the prediction.

    Args:
        series: the runs.
        settings: what they were made from.
        title: the page's, under which the prediction is kept.
        polling: whether the page draws this again and again, as it should only while runs go on.
    """
    series.poll()
    show_chart(
        charts.run_points,
        tables.run_points(series.runs, settings),
        key="order_runs",
        says=tables.progress_sentence(series.runs, settings.train),
        lines=3,
        alt_text="Points: the accuracy of every run, a row for each scheme of positions, with "
        "lines at chance and at the ceiling without positions.",
    )
    series.show_progress()
    result = tables.result_sentence(series.runs, settings.train)
    if result and not series.live:
        compare(title, result, WHY)
    summary = tables.scheme_summary(series.runs)
    show_table(summary, key="schemes", display=tables.scheme_summary_in_words(summary))
    st.caption(
        f"Weights: means over {N_FRESH:,} fresh sequences a run. Pairs shuffled: {N_SHUFFLED} "
        "sequences a run, the largest change of any value's probability, in float64. The article's "
        "task had no order."
    )
    redraw_if_changed(live=series.live, polling=polling)


def show_mechanism(series: OrderFollowed, settings: OrderSeries) -> None:
    """Draw how the trained heads score a pair by how long ago it stood."""
    series.poll()
    frame = findings.distances(series.runs)
    show_chart(
        charts.distances,
        frame,
        settings.train.n_pairs,
        key="distances",
        says=findings.distances_sentence(frame),
        alt_text="Lines: the mean score of the asked key's pairs against their distance from the "
        "question, one line for each scheme.",
    )


def show_lengths(series: OrderFollowed, settings: OrderSeries) -> None:
    """Draw the trained heads' accuracy on sequences of other lengths."""
    series.poll()
    frame = findings.lengths(series.runs)
    show_chart(
        charts.lengths,
        frame,
        settings.train.n_others,
        key="lengths",
        says=findings.lengths_sentence(frame, settings.train),
        lines=3,
        alt_text="Lines: accuracy against the number of other pairs in the tested sequences, one "
        "line for each scheme, with a mark at the trained number.",
    )
    with fold("These numbers, and all runs, as tables", key="lengths") as unfolded:
        if unfolded:
            show_table(frame, key="lengths", height=300)
            show_table(tables.run_list(series.runs), key="order_runs", height=300)


def show_slopes(series: OrderFollowed | None, task: OrderSettings, *, polling: bool) -> None:
    """Draw the accuracy of ALiBi runs by their slope, as far as they were asked for."""
    runs: tuple[OrderRun, ...] = ()
    if series is not None:
        series.poll()
        series.show_progress()
        runs = series.runs
    frame = findings.slope_points(runs, task)
    show_chart(
        charts.slopes,
        frame,
        key="slopes",
        says=findings.slopes_sentence(runs),
        alt_text="Points: the accuracy of ALiBi runs against their slope, with a line at the "
        "ceiling without positions.",
    )
    with fold("The runs by slope, as a table", key="slopes") as unfolded:
        if unfolded:
            show_table(frame, key="slopes", height=300)
    redraw_if_changed(live=series is not None and series.live, polling=polling)


def show_shuffle(settings: OrderSettings, scheme: str, order: int) -> None:
    """Draw the weights of one sequence's pairs in two orders."""
    shuffle = shuffle_pairs(replace(settings, scheme=scheme), order)
    show_chart(
        picture_charts.shuffled_weights,
        pictures.shuffled_weights(shuffle),
        key="shuffled",
        says=pictures.shuffle_sentence(shuffle),
        alt_text="Points: the weight of each pair in two orders of the sequence, joined by a line.",
    )


def show_shuffles(settings: OrderSettings, order: int) -> None:
    """Put the largest change of every scheme side by side, on the same pairs."""
    summary = pictures.shuffle_summary(
        [shuffle_pairs(replace(settings, scheme=scheme), order) for scheme in SCHEMES]
    )
    show_table(summary, key="shuffles", display=pictures.shuffle_summary_in_words(summary))


def show_scores(settings: OrderSettings, n_positions: int) -> None:
    """Draw the scores of one word between all positions."""
    scores = position_scores(settings, n_positions)
    show_chart(
        picture_charts.scores,
        pictures.score_cells(scores),
        key="position_scores",
        says=pictures.score_sentence(scores, settings.scheme),
        alt_text="Heat-map: the score of one word about itself, from each position (rows) to each "
        "position (columns).",
    )


def show_spreads(settings: OrderSettings, n_positions: int) -> None:
    """Put side by side, for every scheme, whether the distance alone decides a score."""
    table = pictures.spreads(
        {
            scheme: position_scores(replace(settings, scheme=scheme), n_positions)
            for scheme in SCHEMES
        }
    )
    show_table(table, key="spreads", display=pictures.spreads_in_words(table))


def show_scheme(settings: OrderSettings, n_positions: int, runs: tuple[OrderRun, ...]) -> None:
    """Draw what the scheme itself is made of."""
    if settings.scheme == "alibi":
        show_chart(
            picture_charts.bias_lines,
            pictures.bias_lines(settings.alibi_slope, n_positions),
            n_positions,
            key="bias_lines",
            says=f"Thick: your slope, {settings.alibi_slope:g}. Dashed: the paper's for eight "
            "heads, 1/2 to 1/256.",
            alt_text="Lines: what ALiBi adds to a score against the distance.",
        )
        return
    if settings.scheme == "none":
        st.markdown("There is nothing to draw: the head is told no position.")
        return
    vectors, name, says = _vectors(settings, n_positions, runs)
    show_chart(
        picture_charts.vectors,
        pictures.vector_cells(vectors),
        name,
        key=f"vectors_{settings.scheme}",
        says=says,
        alt_text="Heat-map: a row of numbers for each position.",
    )


def _vectors(
    settings: OrderSettings, n_positions: int, runs: tuple[OrderRun, ...]
) -> tuple[Floats, str, str]:
    """Return a row of numbers for each position, what a column is, and what they are."""
    column = "Pair of numbers" if settings.scheme == "rotary" else "Number of the vector"
    trained = [run for run in runs if run.settings.scheme == settings.scheme == "learned"]
    if trained:
        says = f"The trained vectors, seed {trained[0].settings.seed}: one for each token."
        return trained[0].positions, column, says
    return scheme_vectors(settings, n_positions), column, VECTORS[settings.scheme]
