"""The parts of the ablation page that are drawn again while runs go on."""

import streamlit as st

from core.ablation_runs import AblationSettings
from core.charts import ablation as charts
from core.reported import ABLATION_UNIFORM
from core.tables import ablation as tables
from core.tables import ceiling as ceilings
from core.tables import sampling
from core.training import N_TEST
from pages.parts.ablation_series import AblationSeries, remember, remembered
from pages.parts.followed import redraw_if_changed
from pages.parts.lesson import compare
from pages.parts.show import show_chart, show_table

WHY = (
    "A score comes from W_Q and W_K and from the embeddings they are multiplied with. Where the "
    "tables stay random, the embeddings are still trained, and the scores with them; where the "
    "tables are zero, every score is 0 whatever the embeddings are."
)

ceiling_cells = st.cache_data(max_entries=1, show_spinner=False)(ceilings.ceiling_cells)


def show_runs(
    series: AblationSeries, settings: AblationSettings, title: str, *, polling: bool
) -> None:
    """Draw every finished run and what each variant's runs say, beside the prediction.

    Args:
        series: the runs.
        settings: what they were made from.
        title: the page's, under which the prediction is kept.
        polling: whether the page draws this again and again, as it should only while runs go on.
    """
    series.poll()
    remember(series.runs)
    show_chart(
        charts.run_points,
        tables.run_points(series.runs, settings),
        key="runs",
        says=tables.progress_sentence(series.runs, settings),
        lines=3,
        alt_text="Points: the accuracy of every run, a row for each variant, with lines at chance "
        "and at the ceiling for even attention.",
    )
    series.show_progress()
    result = tables.frozen_sentence(series.runs)
    if result and not series.live:
        compare(title, result, WHY)
    summary = tables.variant_summary(series.runs, settings)
    show_table(summary, key="variants", display=tables.variant_summary_in_words(summary))
    st.caption(
        f"99 %: on {N_TEST:,} sequences at a checkpoint of the training. “With the scores of the "
        "start”: the trained head, its attention scores put back to what they were before "
        f"training. Article: {ABLATION_UNIFORM.conditions}."
    )
    redraw_if_changed(live=series.live, polling=polling)


def show_findings(series: AblationSeries, settings: AblationSettings) -> None:
    """Answer each variant's question as far as its runs do."""
    series.poll()
    st.markdown("\n".join(f"- {line}" for line in tables.findings(series.runs, settings)))


def show_cases(series: AblationSeries, settings: AblationSettings) -> None:
    """Draw each case of the ceiling beside what the uniform runs scored in it."""
    series.poll()
    cases = ceilings.case_table(settings.train.n_pairs, settings.train.n_values, series.runs)
    show_table(cases, key="cases", display=ceilings.case_table_in_words(cases))


def show_sampling(series: AblationSeries, settings: AblationSettings) -> None:
    """Draw how far every score lies from the ceiling."""
    series.poll()
    show_chart(
        charts.sampling_points,
        sampling.sampling_points(series.runs, settings.train),
        key="sampling",
        says=sampling.sampling_sentence(series.runs, settings.train),
        alt_text="Points: distance from the exact ceiling in standard errors, for every uniform "
        "run, the best strategy on the same sequences, and the article.",
    )
    summary = sampling.sampling_summary(series.runs, settings.train)
    show_table(summary, key="sampling", display=sampling.sampling_summary_in_words(summary))


def show_map(series: AblationSeries | None, settings: AblationSettings, *, polling: bool) -> None:
    """Draw the map of the ceiling with the cells measured so far."""
    if series is not None:
        series.poll()
        remember(series.runs)
        series.show_progress()
    task = settings.train
    runs = remembered(task)
    show_chart(
        charts.ceiling_map,
        ceilings.map_cells(ceiling_cells(), runs, (task.n_pairs, task.n_values)),
        key="map",
        says=ceilings.map_sentence(runs),
        alt_text="Heat-map: the ceiling for even attention over different values and pairs in a "
        "sequence, with a dot on each cell that was measured.",
    )
    redraw_if_changed(live=series is not None and series.live, polling=polling)
