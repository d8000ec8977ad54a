"""What the article and the papers reported, to stand beside what is measured here.

Nothing in this file is computed. "Article" is "How an LLM Works, Part 6: Attention, With Q, K and
V Learned From Scratch".
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reported:
    """One published figure: what it is, its value and unit, and how it was obtained."""

    quantity: str
    value: float
    unit: str
    conditions: str
    source: str = "article"


# Mask leak: the article's text gives the outcome with the mask, and no numbers without it.
LEAK_N_TOKENS = 16
LEAK_POSITION = 10
LEAK_BEFORE_MASKED = Reported(
    quantity="Largest change before the changed token, with the mask",
    value=0.0,
    unit="no unit",
    conditions=f"{LEAK_N_TOKENS} random tokens, position {LEAK_POSITION} changed",
)


# Parameter ledger: the article's count of GPT-3.
LEDGER_HEAD = Reported(
    quantity="Attention, one head",
    value=6_291_456,
    unit="parameters",
    conditions="four matrices of 12,288 × 128",
)
LEDGER_LAYER = Reported(
    quantity="Attention, one layer",
    value=603_979_776,
    unit="parameters",
    conditions="96 heads",
)
LEDGER_ATTENTION = Reported(
    quantity="Attention, whole model",
    value=57_982_058_496,
    unit="parameters",
    conditions="96 layers",
)
LEDGER_ATTENTION_SHARE = Reported(
    quantity="Attention, share of the whole model",
    value=33.1,
    unit="%",
    conditions="of 175 billion",
)
LEDGER_EMBEDDING_SHARE = Reported(
    quantity="Embeddings, share of the whole model",
    value=0.7,
    unit="%",
    conditions="from the article's part 5, total not named",
)
LEDGER_FEED_FORWARD_SHARE = Reported(
    quantity="Feed-forward, share of the whole model",
    value=200 / 3,
    unit="%",
    conditions="“about two thirds”",
)


# Ablation: the article's head with W_Q and W_K frozen at zero, and what it reasoned about it.
ABLATION_UNIFORM = Reported(
    quantity="Accuracy with even attention",
    value=45.7,
    unit="%",
    conditions="3 pairs, 8 keys, 8 values, 3,000 steps, 5,000 fresh sequences",
)
ABLATION_CEILING = Reported(
    quantity="Accuracy of naming the most repeated value",
    value=45.3,
    unit="%",
    conditions="3 pairs, 8 values, calculated",
)
ABLATION_LEARNED = Reported(
    quantity="Training steps until the task was solved",
    value=100,
    unit="steps, at most",
    conditions="3 pairs, 8 keys, 8 values, everything learned",
)
ABLATION_N_PAIRS = 3
ABLATION_N_KEYS = 8
ABLATION_N_VALUES = 8
ABLATION_N_FRESH = 5000


# Context cost: one head on a CPU in float32, d_k 128. The article's text gives the ratios, and not
# the times, the repeats or the machine.
_COST_CONDITIONS = "one head, CPU, float32, d_k = 128"
COST_RATIOS = {
    (n, 2 * n): Reported(
        quantity=f"Time at {2 * n:,} tokens ÷ time at {n:,}",
        value=ratio,
        unit="no unit",
        conditions=_COST_CONDITIONS,
    )
    for n, ratio in ((256, 4.25), (512, 3.34), (1024, 4.11), (2048, 4.12), (4096, 3.69))
}
COST_PATTERN_MIB = {
    n: Reported(
        quantity=f"One pattern at {n:,} tokens", value=mib, unit="MiB", conditions="float32"
    )
    for n, mib in ((2048, 16), (4096, 64), (8192, 256))
}
COST_GPT3_PATTERN_ENTRIES = Reported(
    quantity="Entries in one pattern",
    value=4_194_304,
    unit="entries",
    conditions="2,048 tokens",
)
COST_GPT3_ENTRIES = Reported(
    quantity="Entries in all patterns of GPT-3",
    value=38.7e9,
    unit="entries",
    conditions="2,048 tokens, 96 heads, 96 layers",
)
COST_GPT3_PATTERNS_GIB = Reported(
    quantity="All patterns of GPT-3",
    value=72,
    unit="GiB",
    conditions="2,048 tokens, 96 heads, 96 layers, 2 bytes an entry",
)


# Recall training: the article's two runs. Its table of weights is not in the text; the matching
# pair's share is what the two shares in the text leave.
_RECALL = "3 pairs, 8 keys, 8 values, averaged over 5,000 fresh sequences"
RECALL_LEARNED = Reported(
    quantity="Accuracy when everything is learned",
    value=100.0,
    unit="%",
    conditions="3 pairs, 8 keys, 8 values, 3,000 steps, 5,000 fresh sequences",
)
RECALL_MATCH = Reported(
    quantity="Weight on the matching pair",
    value=51.0,
    unit="%, about",
    conditions=f"{_RECALL}; by subtraction, 100 − 47 − 2 × 1",
)
RECALL_OTHER = Reported(
    quantity="Weight on each other pair", value=1.0, unit="%, about", conditions=_RECALL
)
RECALL_QUESTION = Reported(
    quantity="Weight on the question", value=47.0, unit="%, about", conditions=_RECALL
)
RECALL_ON_TOP = Reported(
    quantity="Sequences whose match has the highest weight of the pairs",
    value=100.0,
    unit="%",
    conditions="3 pairs, 8 keys, 8 values, 5,000 fresh sequences",
)
RECALL_GRADIENT = Reported(
    quantity="Largest relative difference of a gradient from nudging",
    value=1.2e-6,
    unit="no unit",
    conditions="24 parameters, sampled from all six matrices",
)


# Why the question: attention sinks in large language models.
_SINK_PERPLEXITY = "Llama-2-13B, 1,024 cached tokens, the first book of PG19's test set, table 1"
SINK_KEPT = Reported(
    quantity="Perplexity with the four first tokens kept",
    value=5.40,
    unit="no unit",
    conditions=_SINK_PERPLEXITY,
    source="Xiao et al. 2024, Efficient Streaming Language Models with Attention Sinks",
)
SINK_DROPPED = Reported(
    quantity="Perplexity with the first tokens dropped",
    value=5158.07,
    unit="no unit",
    conditions=_SINK_PERPLEXITY,
    source=SINK_KEPT.source,
)
_SINK_HEADS = "language models of about 60 million parameters, table 6"
SINK_SOFTMAX = Reported(
    quantity="Heads with a sink at the first token, softmax",
    value=18.18,
    unit="%",
    conditions=_SINK_HEADS,
    source="Gu et al. 2025, When Attention Sink Emerges in Language Models: An Empirical View",
)
SINK_SIGMOID = Reported(
    quantity="Heads with a sink at the first token, sigmoid without normalisation",
    value=0.44,
    unit="%",
    conditions=f"{_SINK_HEADS}, by a stand-in for the weights",
    source=SINK_SOFTMAX.source,
)
