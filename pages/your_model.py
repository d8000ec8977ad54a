"""When does attention cost more than feed-forward in your own model? Count it from its file."""

import streamlit as st

from core.architectures import FAMILIES, read_model
from core.charts import your_model as charts
from core.config_reader import read_config
from core.model_presets import presets
from core.tables import token_cost as costs
from core.tables import your_model as tables
from core.token_cost import crossing, kept_numbers, token_work
from pages import close_page, open_page
from pages.parts import your_model as parts
from pages.parts.controls import draw, plain
from pages.parts.glossary import introduce
from pages.parts.lesson import ask, compare, seen, try_this
from pages.parts.moving import draw_moving, paint_first
from pages.parts.present import side_by_side
from pages.parts.show import show_chart, show_limits, show_source, show_table


def follow(title: str) -> None:
    """Draw the controls and everything that depends on them."""
    left, right = side_by_side()
    with left:
        parts.draw_box()
        values = draw(parts.CONTROLS)
        shown = parts.choose_model(values["model"])
        st.caption(plain(tables.size_sentence(shown.model)))
    n, compressed = values["model_context"], values["short_vectors"]
    with right:
        waiting = ask(title, parts.PREDICTION, parts.CONTROLS, values)
    if waiting:
        return
    with right:
        show_work(shown, n, title, compressed=compressed)
    st.header("Where are the parameters?", anchor=False)
    st.markdown(
        "Every tensor of the model, counted from its shape. In a mixture of experts, a token meets "
        "only a few of them; the others are drawn faint."
    )
    parts.show_parameters(shown)
    st.header("What is kept of every token?", anchor=False)
    st.markdown(
        "Keys and values of all tokens so far are kept, so that they need not be made again. "
        + costs.sharing_sentence(shown.model, compressed=compressed)
    )
    parts.show_cache(shown.model, n, values["sequences"], compressed=compressed)
    try_this(parts.CONTROLS, *parts.CACHE_CASES, at="the chart of the cache", key="cache")
    show_source(
        *(read_config, read_model, FAMILIES[shown.model.model_type]),
        *(token_work, crossing, kept_numbers),
    )


def show_work(shown: parts.Shown, n: int, title: str, *, compressed: bool) -> None:
    """Draw what the next token costs as the context grows."""
    model = shown.model
    crossed = costs.crossing_sentence(shown.name, model, compressed=compressed)
    work = costs.work_table(model, n, compressed=compressed)
    show_chart(
        charts.work,
        costs.work_points(model, n, compressed=compressed),
        *costs.work_decades(model, compressed=compressed),
        key="own_work",
        says=f"{crossed} {costs.work_sentence(model, n, compressed=compressed)}",
        lines=4,
        alt_text="Lines: multiply-adds of one token in attention and in feed-forward against the "
        "context, both axes logarithmic; attention's matrices and looking back also apart. "
        "Upright lines: the chosen context, and the one the model was made for. A point: where "
        "attention meets feed-forward.",
    )
    paint_first()
    st.caption(
        "Attention is its matrices and looking back together. Solid upright line: your context. "
        "Dotted: the one the model was made for. Circle: where attention meets feed-forward."
    )
    compare(title, crossed, parts.WHY)
    show_table(work, key="own_work", display=costs.work_table_in_words(work))
    try_this(parts.CONTROLS, *parts.CASES)


page = open_page("pages/your_model.py")
introduce(
    "A model's config.json holds its sizes. They alone say, without running anything, where its "
    "parameters are, what it keeps of every token, and what the next token costs. Take a published "
    "model, or bring a file of your own.",
    *("token", "embedding", "context", "parameter", "multiply-add", "head", "W_Q, W_K, W_V"),
    *("W_O", "d_model", "feed-forward", "gated feed-forward", "expert", "router"),
    *("grouped-query attention", "key–value cache", "window", "short vector", "MiB, GiB"),
)

draw_moving(follow, page.title)
if page.title not in seen():
    close_page(page.path)
    st.stop()

st.header("Published models, to the parameter", anchor=False)
st.markdown(
    "The same count for every model of the list, beside the total of its published weights. "
    + tables.reconciliation_sentence(presets())
)
show_table(tables.published_table(presets()), key="own_published", formats=tables.PUBLISHED_FORMATS)

show_limits(parts.LIMITS)
close_page(page.path)
