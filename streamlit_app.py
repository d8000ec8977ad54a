"""Attention Lab: the questions in order, each linking to the page that answers it live."""

import streamlit as st

from pages import HOME, PAGES, first_beyond, open_page
from pages.parts.lesson import collected, seen

open_page(HOME.path)
st.markdown(
    "Experiments on one attention head; the first six follow an article. Move a slider and the "
    "real computation runs again, in NumPy, beside what the article reported. Each page asks you "
    "to guess first."
)
st.markdown(
    "The article is *Attention, With Q, K and V Learned From Scratch*, part 6 of the series *How "
    "an LLM Works*. Its text names no author and gives no address; the matching video, it says, is "
    "3Blue1Brown's chapter on attention."
)
met = seen()
for number, page in enumerate(PAGES, start=1):
    if page is first_beyond():
        st.header("Beyond the article", anchor=False)
        st.markdown("What the article did not do, or left open, answered by experiment.")
    with st.container(border=True):
        st.markdown(f"**{number}. {page.question}**")
        st.page_link(page.path, label=f"{page.title} →")
        if page.title in met:
            st.caption("Looked at in this visit.")
collected()
