"""How much of GPT-3 is attention? Every parameter, from the sizes alone."""

import streamlit as st

from core.charts import ledger as charts
from core.gpt3_article import article_steps, named_totals
from core.ledger import Ledger, count_parameters
from core.ledger_formulas import part_formulas
from core.published import gpt3_row_of, gpt3_table, reconciliation_of, reconciliations
from core.tables import ledger as tables
from core.tables import published
from pages import close_page, open_page
from pages.parts.glossary import introduce
from pages.parts.html_table import steady
from pages.parts.ledger import CONTROLS, PREDICTION, cases, choose_sizes
from pages.parts.lesson import ask, compare, seen, try_this
from pages.parts.moving import draw_moving, paint_first
from pages.parts.present import side_by_side
from pages.parts.show import show_chart, show_limits, show_source, show_table


def follow(title: str) -> None:
    """Draw the controls and everything that depends on them."""
    left, right = side_by_side()
    with left:
        values, config = choose_sizes()
    if config is None:
        return
    with right:
        waiting = ask(title, PREDICTION, CONTROLS, values)
    if waiting:
        return
    ledger = count_parameters(config)
    with right:
        show_parts(ledger, title)
    show_lines(ledger)


def show_parts(ledger: Ledger, title: str) -> None:
    """Draw where the parameters are, and whether the total is the published one."""
    config = ledger.config
    show_chart(
        charts.parts,
        tables.picture_table(ledger),
        key="parts",
        says=tables.total_sentence(ledger),
        alt_text="Bars: the whole model from 0 to 100 % of its parameters, and below it the "
        "embeddings, attention, feed-forward, and biases and norms, each where it lies in the "
        "whole and cut into its matrices.",
    )
    steady(tables.sharing_sentence(config))
    paint_first()
    compare(title, tables.shares_sentence(ledger), tables.layer_sentence(ledger))
    steady(
        published.match_sentence(ledger, reconciliation_of(config), gpt3_row_of(config))
        + " "
        + tables.width_sentence(config),
        lines=3,
    )
    try_this(CONTROLS, *cases())


def show_lines(ledger: Ledger) -> None:
    """List every matrix, and the same total from formulas."""
    st.header("Line by line", anchor=False)
    st.markdown(
        f"Every matrix of {ledger.config.model}. The article calls W_V the value's "
        "down-projection and W_O its up-projection; many programs store the heads of a layer side "
        "by side in one matrix, with the same parameters."
    )
    lines = tables.line_table(ledger)
    show_table(lines, key="ledger_lines", display=tables.line_table_in_words(lines))
    st.header("The same from formulas", anchor=False)
    st.markdown("One formula for each part, worked out apart from the lines above.")
    formulas = tables.formula_table(part_formulas(ledger.config), ledger)
    show_table(formulas, key="ledger_formulas", display=tables.formula_table_in_words(formulas))


page = open_page("pages/parameter_ledger.py")
introduce(
    "A model's parameters are the entries of its learned matrices, so its sizes alone say how many "
    "there are and where they sit. Begin with GPT-3, then choose another model, or move any size.",
    *("parameter", "token", "embedding", "head", "W_Q, W_K, W_V", "W_O", "d_model", "d_head"),
    *("d_ff", "feed-forward", "gated feed-forward", "grouped-query attention"),
    "learned positions",
)
draw_moving(follow, page.title)
if page.title not in seen():
    close_page(page.path)
    st.stop()

st.header("GPT-3 as the article counts it", anchor=False)
steps = article_steps()
show_table(
    published.article_table(steps), key="gpt3_article", display=published.article_in_words(steps)
)

st.header("A share of which total?", anchor=False)
st.markdown(
    "GPT-3 goes by more than one total, so a share must name its own. The article's 0.7 % for the "
    "embeddings is what the token table comes to if it is counted twice, once in and once out."
)
totals = published.total_table(named_totals())
show_table(totals, key="gpt3_totals", display=published.total_table_in_words(totals))

st.header("Published models, to the parameter", anchor=False)
st.markdown(
    "The ledger against the totals of published checkpoints. "
    + published.reconciliation_sentence(reconciliations())
)
models = published.reconciliation_table(reconciliations())
show_table(models, key="reconciliation")

st.header("Two rows that contradict themselves", anchor=False)
rows = gpt3_table()
st.markdown(
    "Table 2.1 of the GPT-3 paper (Brown et al. 2020), as printed. "
    + published.contradiction_sentence(rows)
)
paper = published.gpt3_paper_table(rows)
show_table(paper, key="gpt3_table_2_1", display=published.gpt3_paper_table_in_words(paper))
st.caption(
    "Nothing is corrected. Each row is counted as printed, with what the paper says in words: a "
    "feed-forward width of 4 × d_model, 2,048 positions, and GPT-2's architecture."
)

show_limits(
    (
        "The article counts attention and, in its part 5, the embeddings. Biases, norms and "
        "positions are this ledger's own addition.",
        "GPT-3's weights are not public. Its habits (one tied token table, learned positions, "
        "biases everywhere) are GPT-2's, which the paper says it follows; the printed 175.0 "
        "billion is rounded.",
        "Parameters are not work: this page says nothing about the time a part takes. For that, "
        "see context cost.",
        "Mixtures of experts and models that share layers do not fit these lines.",
    )
)
show_source(count_parameters, part_formulas)
close_page(page.path)
