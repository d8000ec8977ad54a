"""The pages in lesson order, and what every page opens and closes with."""

from dataclasses import dataclass

import streamlit as st

from pages.parts.controls import forget_other_pages
from pages.parts.lesson import begin_page
from pages.parts.present import enlarge, presenting
from pages.parts.server import settle
from pages.parts.show import style_page


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page: where it lives, its name in the menu and the question it answers."""

    path: str
    title: str
    question: str
    beyond: bool = False  # whether it answers what the article left open


SIDEBAR_WIDTH = 230  # pixels: the longest title in the menu fits on one line

HOME = Page(
    path="streamlit_app.py", title="Attention Lab", question="How does attention work, and why?"
)

PAGES = (
    Page(
        path="pages/mechanism.py",
        title="Mechanism",
        question="How does a word take meaning from its neighbours?",
    ),
    Page(
        path="pages/mask_leak.py",
        title="Mask leak",
        question="Can a token see the tokens that come after it?",
    ),
    Page(
        path="pages/recall_training.py",
        title="Recall training",
        question="Can a head learn by itself what to ask and where to look?",
    ),
    Page(
        path="pages/ablation.py",
        title="Ablation",
        question="How good is the answer when attention is taken away?",
    ),
    Page(
        path="pages/parameter_ledger.py",
        title="Parameter ledger",
        question="How much of GPT-3 is attention?",
    ),
    Page(
        path="pages/context_cost.py",
        title="Context cost",
        question="What does a context twice as long cost?",
    ),
    Page(
        path="pages/why_the_question.py",
        title="Why the question",
        question="What decides where a trained head looks?",
        beyond=True,
    ),
    Page(
        path="pages/many_heads.py",
        title="Many heads",
        question="What can two heads do that one cannot?",
        beyond=True,
    ),
    Page(
        path="pages/word_order.py",
        title="Word order",
        question="Does a head know which of two facts came last?",
        beyond=True,
    ),
    Page(
        path="pages/your_model.py",
        title="Your own model",
        question="When does attention cost more than feed-forward in your own model?",
        beyond=True,
    ),
    Page(
        path="pages/inference_cost.py",
        title="Inference cost",
        question="What does the next token cost?",
        beyond=True,
    ),
    Page(
        path="pages/scale.py",
        title="Does it scale",
        question="How few numbers can a query have before keys get mixed up?",
        beyond=True,
    ),
)


def open_page(path: str) -> Page:
    """Set the tab's title, draw the menu and the heading, and return the page.

    Raises:
        KeyError: if no page has this path.
    """
    page = {page.path: page for page in (HOME, *PAGES)}[path]
    tab = page.title if page is HOME else f"{page.title} · {HOME.title}"
    st.set_page_config(
        page_title=tab,
        layout="wide",
        initial_sidebar_state="collapsed" if presenting() else SIDEBAR_WIDTH,
    )
    forget_other_pages(path)
    begin_page()
    settle()
    enlarge()
    style_page()
    with st.sidebar:
        for entry in (HOME, *PAGES):
            if entry is first_beyond():
                st.caption("Beyond the article")
            st.page_link(entry.path, label=entry.title)
    if page is not HOME and not presenting():
        st.caption(f"{page.title} · experiment {PAGES.index(page) + 1} of {len(PAGES)}")
    st.title(page.question, anchor=False)
    return page


def first_beyond() -> Page | None:
    """Return the first page that goes beyond the article, before which menus put a heading."""
    return next((page for page in PAGES if page.beyond), None)


def close_page(path: str) -> None:
    """Draw the links to the experiment before this one and to the one after it."""
    paths = [page.path for page in PAGES]
    here = paths.index(path)
    before, after = st.columns(2)
    if here > 0:
        before.page_link(PAGES[here - 1].path, label=f"← {PAGES[here - 1].title}")
    if here + 1 < len(PAGES):
        after.page_link(PAGES[here + 1].path, label=f"{PAGES[here + 1].title} →")
    else:
        after.page_link(HOME.path, label="All experiments →")
