"""Can a token see the tokens that come after it? Change one, and see which outputs move."""

import streamlit as st

from core.charts import mask_leak as charts
from core.mask_leak import MASKS, LeakSettings, check_masks, influence, leak, pattern_under
from core.reported import LEAK_BEFORE_MASKED
from core.tables import mask_leak as tables
from pages import close_page, open_page
from pages.parts.controls import Choice, Slider, draw, keep_at_most, settings_or_none
from pages.parts.glossary import introduce
from pages.parts.html_table import steady
from pages.parts.lesson import Choose, ask, compare, try_this
from pages.parts.moving import draw_moving, paint_first
from pages.parts.present import side_by_side
from pages.parts.show import fold, show_chart, show_limits, show_source, show_table

CONTROLS = (
    Slider(key="n_tokens", label="Tokens", low=2, high=64, default=16),
    Slider(
        key="position",
        label="Changed position",
        low=0,
        high=63,
        default=10,
        help="Positions are counted from 0.",
    ),
    Slider(
        key="size",
        label="Size of the change",
        low=0.0,
        high=10.0,
        default=1.0,
        step=0.1,
        help="The changed token's vector gets this many times a random vector added to it.",
    ),
    Slider(
        key="seed",
        label="Seed",
        low=0,
        high=99,
        default=0,
        help="Fixes the random vectors, the random head and the change.",
    ),
    Choice(
        key="mask",
        label="Mask for the map",
        options=MASKS,
        default="correct",
        help="One causal mask that works, three that are broken, and no mask.",
    ),
)

WHY = (
    "With the mask, each output is a weighted sum of the values of tokens up to its own position. "
    "A later token has weight exactly 0 in it, so nothing that token holds can arrive."
)

PREDICTION = Choose(
    question="Sixteen tokens, the causal mask on. You change the token at position 10. Which "
    "outputs move?",
    answers=(
        "Only output 10",
        "Outputs 10 to 15",
        "Outputs 0 to 10",
        "All of them a little",
    ),
)


def follow(title: str) -> None:
    """Draw the controls and everything that depends on them."""
    left, right = side_by_side()
    with left:
        values = draw(CONTROLS)
        values = keep_at_most(values, CONTROLS, "position", values["n_tokens"] - 1)
        settings = settings_or_none(LeakSettings, CONTROLS, values)
        if settings is None:
            return
    with right:
        waiting = ask(title, PREDICTION, CONTROLS, values)
    if waiting:
        return
    with right:
        show_leak(settings, title)
    show_influence(settings)
    show_broken(settings)


def show_leak(settings: LeakSettings, title: str) -> None:
    """Draw how far each output moves when one token is changed."""
    result = leak(settings)
    summary = tables.leak_summary(result)
    show_chart(
        charts.output_changes,
        tables.output_changes(result),
        key="output_changes",
        says=tables.leak_sentence(result),
        alt_text="Points: the largest change of each output against its position, with the causal "
        "mask and without one. A dashed line marks the changed position.",
    )
    chosen = tables.chosen_sentence(result)
    if chosen:
        steady(chosen)
    paint_first()
    compare(title, tables.leak_sentence(result), WHY)
    show_table(summary, key="mask_leak", display=tables.leak_summary_in_words(summary))
    st.caption(
        f"One random sequence of {settings.n_tokens} tokens, one random head with d_model = "
        f"{settings.d_model} numbers a token and d_k = {settings.d_k}, seed {settings.seed}. "
        f"Article: {LEAK_BEFORE_MASKED.conditions}."
    )
    try_this(
        CONTROLS,
        ("Change the very first token: who is safe?", {"position": 0}),
        ("Off by one: which token notices?", {"mask": "off by one"}),
        ("Is −10 close enough to −∞?", {"mask": "−10 for −∞"}),
        ("What must a change of size 0 show?", {"size": 0.0}),
    )


def show_influence(settings: LeakSettings) -> None:
    """Draw how far each output moves when each token is changed in turn."""
    st.header("Who can move whom?", anchor=False)
    st.markdown(
        "Now every token is changed in turn. A row is an output, a column is the token that was "
        "changed. With a correct mask, everything above the diagonal is exactly 0 and stays blank."
    )
    cells = tables.influence_cells(influence(settings))
    show_chart(
        charts.influence,
        cells,
        key="influence",
        says=tables.influence_sentence(cells, settings.mask),
        alt_text="Heat-map: how far each output moves when each token is changed. Blank means "
        "exactly 0.",
    )
    with fold("The map as a table", key="influence") as unfolded:
        if unfolded:
            show_table(cells, key="influence", height=300)


def show_broken(settings: LeakSettings) -> None:
    """List what the test sees of each mask."""
    st.header("Break the mask", anchor=False)
    st.markdown(
        "The same test on the correct mask and on four that are broken. Which would you miss?"
    )
    checks = tables.mask_checks(check_masks(settings))
    show_table(checks, key="masks", display=tables.mask_checks_in_words(checks))


page = open_page("pages/mask_leak.py")
introduce(
    "A language model is trained to guess, at each place in a text, what comes next. A place that "
    "could look ahead would read the answer. The causal mask forbids it. Here you change one "
    "token's vector and measure how far every output moves.",
    "token",
    "vector",
    "causal mask",
    "−∞",
    "softmax",
    "weight",
    "d_model",
    "d_k",
    "seed",
)
draw_moving(follow, page.title)

show_limits(
    (
        "The vectors and the head are random. What this finds holds for the formula; whether a "
        "given program has it right has to be tested on that program.",
        "The article changed one position, once. Its text gives no numbers for the run without a "
        "mask.",
    )
)
show_source(leak, pattern_under)
close_page(page.path)
