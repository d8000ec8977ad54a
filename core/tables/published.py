"""Published models and the article's figures as frames, beside what the ledger counts."""

import pandas as pd

from core.gpt3_article import NamedTotal, Step
from core.ledger import Ledger
from core.published import Gpt3Row, Reconciliation
from core.tables.ledger import count_in_words, in_words


def article_table(steps: tuple[Step, ...]) -> pd.DataFrame:
    """Return the article's arithmetic, redone, beside the values it gives."""
    return pd.DataFrame(
        {
            "Quantity": [step.quantity for step in steps],
            "Arithmetic": [step.arithmetic for step in steps],
            # Objects, so that whole numbers stay whole beside the shares.
            "Computed here": pd.Series([step.computed for step in steps], dtype=object),
            "Article": pd.Series([step.article.value for step in steps], dtype=object),
            "Unit": [step.article.unit for step in steps],
            "Agree to the article's rounding": [step.agrees for step in steps],
        }
    )


def article_in_words(steps: tuple[Step, ...]) -> pd.DataFrame:
    """Return the same as text, each number with the digits it deserves."""
    return pd.DataFrame(
        {
            "Quantity": [step.quantity for step in steps],
            "Arithmetic": [step.arithmetic for step in steps],
            "Computed here": [_amount(step.computed, step.article.unit, 2) for step in steps],
            "Article": [_as_reported(step) for step in steps],
            "Agree": ["yes" if step.agrees else "no" for step in steps],
        }
    )


def _amount(value: float, unit: str, decimals: int) -> str:
    return f"{value:.{decimals}f} %" if unit == "%" else f"{value:,.0f}"


def _as_reported(step: Step) -> str:
    article = step.article
    is_quoted = article.conditions.startswith("“")  # the article has words there, no number
    return article.conditions if is_quoted else _amount(article.value, article.unit, 1)


def total_table(totals: tuple[NamedTotal, ...]) -> pd.DataFrame:
    """Return GPT-3's totals by name, and attention's share of each."""
    return pd.DataFrame(
        {
            "Total": [total.name for total in totals],
            "Parameters": [total.parameters for total in totals],
            "Attention (parameters)": [total.attention for total in totals],
            "Attention's share (%)": [total.attention_share for total in totals],
        }
    )


def total_table_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the totals as text."""
    return pd.DataFrame(
        {
            "Total": frame["Total"],
            "Parameters": frame["Parameters"].map(count_in_words),
            "Attention": frame["Attention (parameters)"].map(count_in_words),
            "Attention's share": frame["Attention's share (%)"].map("{:.2f} %".format),
        }
    )


def reconciliation_table(reconciliations: tuple[Reconciliation, ...]) -> pd.DataFrame:
    """Return every published model: counted, published, difference, and its habits."""
    configs = [reconciled.published.config for reconciled in reconciliations]
    return pd.DataFrame(
        {
            "Model": [config.model for config in configs],
            "Counted (parameters)": [reconciled.counted for reconciled in reconciliations],
            "Published (parameters)": [
                reconciled.published.total_parameters for reconciled in reconciliations
            ],
            "Difference (parameters)": [reconciled.difference for reconciled in reconciliations],
            "In words": [in_words(reconciled.counted) for reconciled in reconciliations],
            "Heads": [config.n_heads for config in configs],
            "Key-value heads": [config.n_kv_heads for config in configs],
            "Heads × head size (numbers)": [c.n_heads * c.d_head for c in configs],
            "Model width (numbers)": [config.d_model for config in configs],
            "Tied embedding": ["yes" if config.tied_embedding else "no" for config in configs],
            "Notes": [reconciled.published.notes for reconciled in reconciliations],
        }
    )


def gpt3_paper_table(rows: tuple[Gpt3Row, ...]) -> pd.DataFrame:
    """Return the GPT-3 paper's table as printed, with its contradictory rows flagged."""
    return pd.DataFrame(
        {
            "Model": [row.model for row in rows],
            "Flag": [row.flag for row in rows],
            "Printed size": [row.n_params_printed for row in rows],
            "Layers": [row.n_layers for row in rows],
            "Model width (numbers)": [row.d_model for row in rows],
            "Heads": [row.n_heads for row in rows],
            "Head size (numbers)": [row.d_head for row in rows],
            "Heads × head size (numbers)": [row.heads_width for row in rows],
            "Counted as printed (parameters)": [row.counted for row in rows],
        }
    )


def gpt3_paper_table_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the GPT-3 paper's table as text, with the product written out."""
    products = zip(
        frame["Heads"],
        frame["Head size (numbers)"],
        frame["Heads × head size (numbers)"],
        strict=True,
    )
    return pd.DataFrame(
        {
            "Model": frame["Model"],
            "Printed size": frame["Printed size"],
            "Layers": frame["Layers"].astype(str),
            "Model width": frame["Model width (numbers)"].map("{:,}".format),
            "Heads × head size": [
                f"{heads} × {size} = {width:,}" for heads, size, width in products
            ],
            "Flag": frame["Flag"],
            "Counted as printed": frame["Counted as printed (parameters)"].map(count_in_words),
        }
    )


def match_sentence(
    ledger: Ledger, published: Reconciliation | None, printed: Gpt3Row | None
) -> str:
    """Say which published model has these sizes, and how the count stands to its total."""
    if published is not None:
        return (
            f"These are the sizes of {published.published.config.model}. Published: "
            f"{published.published.total_parameters:,}. Counted: {ledger.total:,}. "
            f"Difference: {published.difference:,}."
        )
    if printed is not None:
        return (
            f"These are the sizes of {printed.model}. Its paper prints "
            f"{printed.n_params_printed}, rounded; it gives no exact total."
        )
    return "No published model below has these sizes."


def reconciliation_sentence(reconciliations: tuple[Reconciliation, ...]) -> str:
    """Count the models that come out to the parameter."""
    exact = sum(reconciled.difference == 0 for reconciled in reconciliations)
    return f"{exact} of {len(reconciliations)} models come out to the parameter."


def contradiction_sentence(rows: tuple[Gpt3Row, ...]) -> str:
    """Say which rows of the GPT-3 paper's table contradict themselves, and how."""
    flagged = [row for row in rows if row.contradicts_itself]
    reasons = [
        f"{row.model} has {row.n_heads} × {row.d_head} = {row.heads_width:,} beside a width of "
        f"{row.d_model:,}, and counts to {in_words(row.counted)} beside a printed "
        f"{row.n_params_printed}."
        for row in flagged
    ]
    kept = f"{len(rows) - len(flagged)} of {len(rows)} rows"
    return " ".join([f"In {kept}, heads × head size is the model width.", *reasons])
