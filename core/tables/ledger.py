"""The parameter ledger as frames: whole numbers as they are, and the same in words beside them."""

from dataclasses import replace

import pandas as pd

from core.gpt3_article import PRINTED_TOTAL
from core.ledger import Ledger, Line, ModelConfig, count_parameters
from core.ledger_formulas import PartFormula
from core.tables.counts import count_of
from core.tables.numbers import significant
from core.tables.text import text_table

OWN_SHARE = "Share of this ledger's total (%)"
PRINTED_SHARE = "Share of GPT-3's printed 175 billion (%)"

PICTURE_ROWS = ("whole model", "embeddings", "attention", "feed-forward", "biases and norms")
"""The rows of the picture, top to bottom; the parts are in the order of the ledger's lines."""

PICTURE_PARTS = {
    "embeddings": "embeddings",
    "attention": "attention",
    "feed-forward": "feed-forward",
    "biases": "biases and norms",
    "norms": "biases and norms",
}


def in_words(n: int) -> str:
    """Write a count as people say it, to one decimal.

    >>> in_words(57982058496), in_words(6291456), in_words(999_960_000), in_words(640)
    ('58.0 billion', '6.3 million', '1.0 billion', '640')
    """
    for size, name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if round(1000 * n / size, 1) >= 1000:  # 999.95 million is written 1.0 billion
            return f"{n / size:.1f} {name}"
    return f"{n:,}"


def count_in_words(n: int) -> str:
    """Write a count in full, with its words beside it when it has more than six digits.

    >>> count_in_words(57982058496), count_in_words(24576)
    ('57,982,058,496 (58.0 billion)', '24,576')
    """
    return f"{n:,} ({in_words(n)})" if n >= 10**6 else f"{n:,}"


def share_in_words(share: float) -> str:
    """Write a share in per cent with the digits that its size deserves.

    >>> share_in_words(33.208), share_in_words(0.0088), share_in_words(0.00002)
    ('33.2 %', '0.0088 %', 'under 0.001 %')
    """
    if 0 < share < 0.001:
        return "under 0.001 %"
    return f"{share:.1f} %" if share >= 1 or share == 0 else f"{share:.2g} %"


def line_table(ledger: Ledger) -> pd.DataFrame:
    """Return one row for each line of the ledger, and the total."""
    rows = [_line_row(line, ledger.total) for line in ledger.lines]
    rows.append(
        {
            **dict.fromkeys(rows[0], ""),
            "Part": "total",
            "Per head (parameters)": None,
            "Per layer (parameters)": None,
            "Whole model (parameters)": ledger.total,
            OWN_SHARE: 100.0,
            PRINTED_SHARE: 100 * ledger.total / PRINTED_TOTAL,
        }
    )
    frame = pd.DataFrame(rows)
    for column in ("Per head (parameters)", "Per layer (parameters)"):
        frame[column] = frame[column].astype("Int64")  # empty cells, without turning to floats
    return frame


def _line_row(line: Line, total: int) -> dict[str, object]:
    return {
        "Part": line.part,
        "Matrix": line.matrix,
        "Shape": line.shape_formula,
        "Shape (numbers)": " × ".join(f"{size:,}" for size in line.shape),
        "Copies": copies(line),
        "Per head (parameters)": line.per_head,
        "Per layer (parameters)": line.per_layer,
        "Whole model (parameters)": line.whole_model,
        OWN_SHARE: 100 * line.whole_model / total,
        PRINTED_SHARE: 100 * line.whole_model / PRINTED_TOTAL,
    }


def copies(line: Line) -> str:
    """Say how often the model holds a line's matrix."""
    if line.n_layers is None:
        return "1"
    if line.is_per_head:
        heads = "key-value head" if line.matrix[2] in "KV" else "head"
        return f"{count_of(line.in_layer, heads)} × {count_of(line.n_layers, 'layer')}"
    return f"{line.in_layer} × {count_of(line.n_layers, 'layer')}"


def line_table_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the line table as text, each large number with its words beside it."""
    shapes = zip(frame["Shape"], frame["Shape (numbers)"], strict=True)
    return text_table(
        {
            "Part": frame["Part"],
            "Matrix": frame["Matrix"],
            "Shape": [f"{formula} = {sizes}" if formula else "" for formula, sizes in shapes],
            "Per head": map(_count_or_blank, frame["Per head (parameters)"]),
            "Per layer": map(_count_or_blank, frame["Per layer (parameters)"]),
            "Whole model": map(count_in_words, frame["Whole model (parameters)"]),
            OWN_SHARE.removesuffix(" (%)"): map(share_in_words, frame[OWN_SHARE]),
            PRINTED_SHARE.removesuffix(" (%)"): map(share_in_words, frame[PRINTED_SHARE]),
        }
    )


def formula_table(formulas: tuple[PartFormula, ...], ledger: Ledger) -> pd.DataFrame:
    """Return each part's formula beside the sum of its lines, and the total of both."""
    frame = pd.DataFrame(
        {
            "Part": [*(formula.part for formula in formulas), "total"],
            "Formula": [*(formula.formula for formula in formulas), "the sum of these"],
            "In numbers": [*(formula.in_numbers for formula in formulas), ""],
            "Formula gives (parameters)": [
                *(formula.value for formula in formulas),
                sum(formula.value for formula in formulas),
            ],
            "Lines add up to (parameters)": [
                *(ledger.part(formula.part) for formula in formulas),
                ledger.total,
            ],
        }
    )
    frame["Difference (parameters)"] = (
        frame["Lines add up to (parameters)"] - frame["Formula gives (parameters)"]
    )
    frame[OWN_SHARE] = 100 * frame["Lines add up to (parameters)"] / ledger.total
    return frame


def formula_table_in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the formula table as text."""
    return text_table(
        {
            "Part": frame["Part"],
            "Formula": frame["Formula"],
            "In numbers": frame["In numbers"],
            "Formula gives": map("{:,}".format, frame["Formula gives (parameters)"]),
            "Lines add up to": map(count_in_words, frame["Lines add up to (parameters)"]),
            "Difference": map("{:,}".format, frame["Difference (parameters)"]),
            OWN_SHARE.removesuffix(" (%)"): map(share_in_words, frame[OWN_SHARE]),
        }
    )


def picture_table(ledger: Ledger) -> pd.DataFrame:
    """Return the picture's bars: each line once in its part's row, each part once in the top row.

    ``Start`` and ``End`` are the shares before and after it, so that the parts' rows form stairs
    from 0 to 100 %. ``Row`` is what the row says above its bars; a part without a line has one
    empty bar, so that there are always the rows of `PICTURE_ROWS`, in their order.
    """
    total, done = ledger.total, 0
    top, below = [], []
    for part in PICTURE_ROWS[1:]:
        start = done
        lines = [line for line in ledger.lines if PICTURE_PARTS[line.part] == part]
        size = sum(line.whole_model for line in lines)
        row = _row_words(part, size, total)
        for line in lines:
            below.append(_bar(row, part, line.matrix, done, done + line.whole_model, total))
            done += line.whole_model
        if not lines:
            below.append(_bar(row, part, "none", done, done, total))
        whole = _row_words(PICTURE_ROWS[0], total, total)
        top.append(_bar(whole, part, part, start, done, total))
    return pd.DataFrame(top + below)


def _row_words(row: str, size: int, total: int) -> str:
    share = share_in_words(100 * size / total)
    return f"{row.capitalize()}: {share}, {in_words(size)}"


def _bar(row: str, part: str, name: str, start: int, end: int, total: int) -> dict[str, object]:
    return {
        "Row": row,
        "Part": part,
        "Matrix": name,
        "Parameters": end - start,
        "Share (%)": 100 * (end - start) / total,
        "Start (%)": 100 * start / total,
        "End (%)": 100 * end / total,
    }


def total_sentence(ledger: Ledger) -> str:
    """Say how many parameters there are and what share of them attention has."""
    share = share_in_words(100 * ledger.attention / ledger.total)
    return (
        f"{ledger.total:,} parameters ({in_words(ledger.total)}). Attention has "
        f"{ledger.attention:,} ({in_words(ledger.attention)}): {share} of this total."
    )


def shares_sentence(ledger: Ledger) -> str:
    """Say what share of the model each of its three large parts has."""
    shares = [
        f"{part} {share_in_words(100 * ledger.part(part) / ledger.total)}"
        for part in ("attention", "feed-forward", "embeddings")
    ]
    return f"Of {ledger.config.model}: {', '.join(shares)}."


def layer_sentence(ledger: Ledger) -> str:
    """Say why attention has the share it has, by the matrices of one layer."""
    config = ledger.config
    queries, keys = config.n_heads * config.d_head, config.n_kv_heads * config.d_head
    matrices = "three" if config.gated_feed_forward else "two"
    ratio = ledger.part("feed-forward") / ledger.part("attention")
    times = f"{ratio:.1f}" if ratio >= 1 else significant(ratio, 2)
    wide = f"{config.d_model:,} × "
    if queries == keys:
        of_attention = f"four of {wide}{queries:,}"
    else:
        of_attention = f"two of {wide}{queries:,} and two of {wide}{keys:,}"
    return (
        f"The sizes of its matrices decide. In each layer attention has {of_attention}, all heads "
        f"side by side, and feed-forward {matrices} of {wide}{config.d_ff:,}: {times} times as "
        "many numbers."
    )


def sharing_sentence(config: ModelConfig) -> str:
    """Say how much larger attention would be if every head had a key and a value matrix."""
    if config.n_kv_heads == config.n_heads:
        return "Every head has a W_K and a W_V of its own: nothing is shared, and nothing saved."
    shared, unshared = (
        in_words(count_parameters(one).attention)
        for one in (config, replace(config, n_kv_heads=config.n_heads))
    )
    return (
        f"{config.n_heads} heads share {count_of(config.n_kv_heads, 'key–value head')}: attention "
        f"has {shared} parameters, and would have {unshared} if each head had its own W_K and W_V."
    )


def width_sentence(config: ModelConfig) -> str:
    """Say whether the heads together are as wide as the model, and what it means if not."""
    width = config.n_heads * config.d_head
    product = f"Heads × head size is {config.n_heads} × {config.d_head} = {width:,}"
    if width == config.d_model:
        return f"{product}, exactly the model width. They need not be equal."
    side = "wider" if width > config.d_model else "narrower"
    return (
        f"{product}, {side} than the model width of {config.d_model:,}. Nothing forbids it: the "
        f"query matrices take {config.d_model:,} numbers to {width:,}, and the output matrices "
        "bring them back."
    )


def _count_or_blank(n: int | float) -> str:
    return "" if pd.isna(n) else f"{n:,}"
