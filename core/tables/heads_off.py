"""What each head of one run looks at and writes, and what is lost when it is switched off."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.ablation_scores import SOLVED
from core.many_heads import Answered, Case, HeadsRun, of_case
from core.tables.counts import count_runs
from core.tables.entries import entry_words

ANSWERS = ("both", "first", "second")
ALL_ON = "all heads on"
_POINTS = 1.0  # percentage points: what counts as a loss


def heads_off(run: HeadsRun) -> pd.DataFrame:
    """Return the accuracy of each answer with all heads on, and with each head off."""
    states = [(ALL_ON, run.whole)]
    states += [(f"head {head} off", off) for head, off in enumerate(run.without, start=1)]
    rows = []
    for state, answered in states:
        for answer in ANSWERS:
            score = getattr(answered, answer)
            rows.append(
                {
                    "Heads": state,
                    "Answer": answer,
                    "Accuracy (%)": 100 * score.share,
                    "Right": score.right,
                    "Sequences": score.total,
                }
            )
    return pd.DataFrame(rows)


def head_table(run: HeadsRun) -> pd.DataFrame:
    """Return a row for each head: where it looks, and what is right without it."""
    rows = []
    for head, (looks, off) in enumerate(zip(run.looks, run.without, strict=True), start=1):
        rows.append(
            {
                "Head": head,
                "Weight on the pair named first (no unit)": looks.first,
                "Weight on the pair named second (no unit)": looks.second,
                "Weight on each other pair (no unit)": np.nan
                if looks.other is None
                else looks.other,
                "First right without it (%)": 100 * off.first.share,
                "Second right without it (%)": 100 * off.second.share,
                "Both right without it (%)": 100 * off.both.share,
                "What it is for": purpose(run.whole, off),
            }
        )
    return pd.DataFrame(rows)


def head_table_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the heads as text."""
    rows = []
    for row in table.to_dict("records"):
        other = row["Weight on each other pair (no unit)"]
        rows.append(
            {
                "Head": str(row["Head"]),
                "Weight on the first": f"{row['Weight on the pair named first (no unit)']:.3f}",
                "On the second": f"{row['Weight on the pair named second (no unit)']:.3f}",
                "On each other": "—" if np.isnan(other) else f"{other:.3f}",
                "First right without it": f"{row['First right without it (%)']:.2f} %",
                "Second right without it": f"{row['Second right without it (%)']:.2f} %",
                "Both right without it": f"{row['Both right without it (%)']:.2f} %",
                "What it is for": row["What it is for"],
            }
        )
    return pd.DataFrame(rows)


def purpose(whole: Answered, off: Answered) -> str:
    """Say which answers lose at least one percentage point when a head is off."""
    lost = [
        answer
        for answer in ("first", "second")
        if 100 * (getattr(whole, answer).share - getattr(off, answer).share) >= _POINTS
    ]
    if not lost:
        return "neither answer needs it"
    return "both answers" if len(lost) == 2 else f"the {lost[0]} answer"


def off_sentence(runs: Sequence[HeadsRun], case: Case) -> str:
    """Say, over all runs of a case, what switching off one head costs."""
    mine = of_case(runs, case)
    if not mine:
        return "No run with this many heads has finished yet."
    needed = [
        sum(purpose(run.whole, off) != "neither answer needs it" for off in run.without)
        for run in mine
    ]
    spare = sum(any(off.both.share >= SOLVED for off in run.without) for run in mine)
    one_each = sum(
        sorted(purpose(run.whole, off) for off in run.without)
        == ["the first answer", "the second answer"]
        for run in mine
    )
    words = (
        f"Heads that cost at least one percentage point when switched off, in "
        f"{count_runs(len(mine))}: "
        f"{_range(min(needed), max(needed))} of {case.n_heads}."
    )
    if case.n_heads == 2:
        words += (
            f" In {one_each} of {count_runs(len(mine))} each head carries one of the two answers."
        )
    elif case.n_heads > 2:
        words += f" In {spare} of {count_runs(len(mine))} some head can go and 99 % stay right."
    return words


def head_circuits(run: HeadsRun, head: int) -> pd.DataFrame:
    """Return one head's two circuits, a row for each entry.

    Args:
        run: a finished run.
        head: which, from 0.

    Returns:
        Both circuits share the column axis, the parts of a pair; the OV circuit's rows are its
        answers. ``Limit`` is the largest size of any entry of that circuit in any head of the run,
        so that heads can be compared.
    """
    n_keys, n_values = run.settings.n_keys, run.settings.n_values
    parts = [f"key {i}" for i in range(n_keys)] + [f"value {i}" for i in range(n_values)]
    asks = [f"{place} key {i}" for place in ("first", "second") for i in range(n_keys)]
    says = [f"{place} says {i}" for place in ("first", "second") for i in range(n_values)]
    qk, ov = run.qk[head], run.ov[head].T  # (2 n_keys, P), (2 n_values, P)
    words = entry_words([("QK", asks, parts), ("gap", [" "], parts[:1]), ("OV", says, parts)])
    entries = np.concatenate([qk.ravel(), [0.0], ov.ravel()], dtype=float)
    frame = pd.DataFrame({**words, "Entry": entries})
    limits = {"QK": _size(run.qk), "OV": _size(run.ov), "gap": 1.0}
    frame["Limit"] = frame["Circuit"].map(limits)
    frame["Share"] = frame["Entry"] / frame["Limit"]
    return frame


def circuits_sentence(run: HeadsRun, head: int) -> str:
    """Say in numbers what one head asks for and what it writes."""
    n_keys, n_values = run.settings.n_keys, run.settings.n_values
    qk, ov = run.qk[head][:, :n_keys], run.ov[head][n_keys:]
    first, second = _stands_out(qk[:n_keys]), _stands_out(qk[n_keys:])
    says_first, says_second = _stands_out(ov[:, :n_values]), _stands_out(ov[:, n_values:])
    return (
        f"Head {head + 1}: a key's score with itself is {first} the others if it is named first, "
        f"{second} them if named second; a value's logit for itself is {says_first} the others in "
        f"the first answer, {says_second} them in the second."
    )


def _stands_out(square: np.ndarray) -> str:
    """Say how far the mean of the diagonal lies above or below the mean of the rest."""
    n = len(square)
    own = float(np.trace(square)) / n
    rest = (float(square.sum()) - n * own) / max(1, n * (n - 1))
    return f"{abs(own - rest):.1f} {'above' if own >= rest else 'below'}"


def _size(tables: np.ndarray) -> float:
    return float(np.abs(tables).max()) or 1.0


def _range(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"
