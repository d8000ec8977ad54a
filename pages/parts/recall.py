"""The sections of the recall training page, each drawn from what its run has so far."""

import re
from dataclasses import replace

import streamlit as st

from core.asking import ask
from core.charts import circuits as circuit_charts
from core.charts import recall as charts
from core.gradcheck import GradientCheck, check_gradients
from core.tables import asking, circuits, gradcheck
from core.tables import recall as tables
from core.tables.counts import count_of
from core.training import N_TEST, TrainSettings
from pages.parts.controls import Text, draw, in_words, plain
from pages.parts.followed import redraw_if_changed
from pages.parts.lesson import compare
from pages.parts.present import STATUS, side_by_side
from pages.parts.show import fold, show_chart, show_table
from pages.parts.training import Visit
from pages.parts.training_ask import read_pairs, read_question

AXES = charts.AXES
LARGEST_CHECK = 64  # sequences: nudging 24 parameters of the largest model then takes 0.1 s


def show_curve(visit: Visit, axis: str, *, polling: bool) -> None:
    """Draw both curves as far as the run is, and the button that stops it or runs it again.

    Args:
        visit: the run.
        axis: of the steps, one of `AXES`.
        polling: whether the page draws this again and again, as it should only while it goes on.
    """
    visit.poll()
    where, button = st.columns([3, 1], vertical_alignment="center")
    where.markdown(plain(visit.sentence()))
    if visit.live:
        button.button("Stop", key="stop", on_click=visit.stop, width="stretch")
    else:
        button.button(
            "Run again",
            key="again",
            on_click=visit.start,
            kwargs={"again": True},
            width="stretch",
        )
    run = visit.run
    show_chart(
        charts.accuracy_curve,
        tables.curve(run.learned, run.uniform, visit.settings),
        axis,
        key="accuracy_curve",
        above=STATUS,
        says=tables.curve_sentence(
            run.learned, run.uniform, visit.settings, run.asked.learned if run.asked else None
        ),
        lines=3,
        alt_text=f"Lines: accuracy on {N_TEST:,} test sequences against the training step, learned "
        "and uniform, with chance, the ceiling without attention, and the article's two figures.",
    )
    # Below the curve, which would jump down when the run breaks off.
    for variant, sentence in run.diverged:
        st.warning(f"{variant.capitalize()}: {sentence}")
    st.caption(tables.ceiling_sentence(visit.settings))
    redraw_if_changed(live=visit.live, polling=polling)


def show_checkpoints(visit: Visit, axis: str) -> None:
    """Draw the loss of both runs, and list accuracy and loss at every checkpoint, if unfolded."""
    with fold("Accuracy and loss at every checkpoint", key="checkpoints") as unfolded:
        if unfolded:
            _show_checkpoints(visit, axis)


def _show_checkpoints(visit: Visit, axis: str) -> None:
    run = visit.run
    show_chart(
        charts.loss_curve,
        tables.curve(run.learned, run.uniform, visit.settings),
        axis,
        key="loss_curve",
        says=tables.loss_sentence(run.learned, run.uniform, visit.settings),
        alt_text=f"Lines: loss on {N_TEST:,} test sequences against the training step, learned "
        "and uniform, with the loss of chance.",
    )
    show_table(tables.checkpoint_list(run.learned, run.uniform), key="curve")


def show_fresh(visit: Visit, title: str) -> None:
    """Draw what both heads do with the fresh sequences, beside the article's and the prediction.

    Args:
        visit: the run.
        title: the page's, under which the prediction is kept.
    """
    run = visit.run
    of_learned, of_uniform = (run.asked.learned, run.asked.uniform) if run.asked else (None, None)
    measured = tables.measured(run.learned, run.uniform, of_learned, of_uniform, visit.settings)
    show_table(measured, key="fresh", display=tables.measured_in_words(measured))
    if of_learned is not None:
        compare(title, tables.looked_sentence(of_learned), tables.why_there(of_learned))
    show_chart(
        charts.weights,
        tables.weights(of_learned, of_uniform, visit.settings),
        key="weights",
        says=tables.weights_sentence(of_learned),
        lines=3,
        alt_text="Bars: the learned head's mean weight on the matching pair, each other pair and "
        "the question, beside the uniform head's and the article's.",
    )


def show_circuits(visit: Visit) -> None:
    """Draw both circuits with a slider over the training, which asks nothing of the server."""
    checkpoints, settings = visit.run.learned, visit.settings
    if not checkpoints:
        st.markdown("The first checkpoint is still to come.")
        return
    show_chart(
        circuit_charts.circuits,
        circuits.circuit_frames(checkpoints, settings),
        circuits.n_frames(settings),
        settings.n_keys + settings.n_values,
        key="circuits",
        says=circuits.circuits_sentence(checkpoints),
        alt_text="Heat-maps: the QK circuit, a row for each key asked about, above the OV "
        "circuit, a row for each value answered; a column for each part of a token.",
    )


def show_answer(visit: Visit, controls: tuple[Text, ...]) -> None:
    """Let the student set the pairs and the question, and show what the trained head says."""
    settings, result = visit.settings, visit.run.learned_result
    boxes, reply_side = side_by_side()
    with boxes:
        st.markdown(
            f"Keys run from 0 to {settings.n_keys - 1}, values from 0 to {settings.n_values - 1}. "
            f"The head was trained on {count_of(settings.n_pairs, 'pair')}; give it 1 to "
            f"{settings.n_keys}, each with another key."
        )
        typed = draw(controls)
    with reply_side:
        if result is None:
            st.markdown("The head can be asked when its training has ended.")
            return
        try:
            keys, values = read_pairs(typed["pairs"])
            reply = ask(result.parameters, keys, values, read_question(typed["question"]))
        except ValueError as error:
            sentence = re.sub(r"^(keys|values)\b", r"The \1 of pairs", str(error))
            st.warning(plain(in_words(sentence, controls)))
            return
        tokens, answers = asking.reply_tokens(reply), asking.reply_values(reply)
        show_chart(
            charts.reply_weights,
            tokens,
            len(tokens),
            key="reply_weights",
            says=asking.reply_sentence(reply),
            alt_text="Bars: the question's weight on each pair and on itself.",
        )
        show_chart(
            charts.reply_values,
            answers,
            len(answers),
            key="reply_values",
            says="Hover over a bar for its score or logit.",
            alt_text="Bars: the probability of each value as the answer.",
        )
        with fold("The answer as tables", key="reply") as unfolded:
            if unfolded:
                show_table(tokens, key="reply_weights")
                show_table(answers, key="reply_values")


def show_gradients(visit: Visit) -> None:
    """Check the hand-written gradient by nudging, and draw every sampled parameter."""
    settings = visit.settings
    check = None  # it can take longer than all the rest of an answer to a moved slider
    if not visit.live:
        check = _check(replace(settings, batch_size=min(settings.batch_size, LARGEST_CHECK)))
    points = gradcheck.gradient_points(check)
    agreement, differences = st.columns(2, gap="large")
    with agreement:
        show_chart(
            charts.gradient_agreement,
            points,
            key="gradient_agreement",
            says="On the dashed line both are equal.",
            alt_text="Points: each sampled parameter's gradient by nudging against the backward "
            "pass's, with the diagonal on which they are equal.",
        )
    with differences:
        show_chart(
            charts.gradient_differences,
            points,
            key="gradient_differences",
            says=gradcheck.gradient_sentence(check),
            lines=3,
            alt_text="Points: the relative difference of each sampled parameter, by matrix, with "
            "the article's largest.",
        )
    with fold("Every sampled parameter", key="gradients") as unfolded:
        if unfolded and check:
            table = gradcheck.gradient_check(check)
            show_table(table, key="gradients", display=gradcheck.gradient_check_in_words(table))
        elif unfolded:
            st.markdown(gradcheck.gradient_sentence(check))


@st.cache_data(max_entries=64, show_spinner=False)
def _check(settings: TrainSettings) -> GradientCheck:
    return check_gradients(settings)
