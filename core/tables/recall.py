"""Tables of the recall training: the two curves, and what both heads do with fresh sequences."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.ablation import uniform_ceiling
from core.ablation_scores import standard_error
from core.evaluation import Evaluation
from core.reported import (
    ABLATION_LEARNED,
    ABLATION_N_KEYS,
    ABLATION_N_PAIRS,
    ABLATION_N_VALUES,
    ABLATION_UNIFORM,
    RECALL_LEARNED,
    RECALL_MATCH,
    RECALL_ON_TOP,
    RECALL_OTHER,
    RECALL_QUESTION,
)
from core.tables.numbers import significant
from core.tables.text import text_table
from core.training import N_TEST, Checkpoint, TrainSettings

STEP, ACCURACY, LOSS = "Step", "Accuracy (%)", "Loss (nats)"
QUANTITY = "Quantity"
WEIGHT = "Weight (%)"
SOLVED = "First checkpoint with every test sequence right (step)"

_ARTICLES_N_STEPS = 3000
LEARNED_ACCURACY = 0.95  # share right from which a head counts as having learned the task


def curve(
    learned: Sequence[Checkpoint], uniform: Sequence[Checkpoint], settings: TrainSettings
) -> pd.DataFrame:
    """Return a row for each mark of the two curves.

    ``Series`` is learned, uniform, chance, ceiling, or article. Chance and ceiling run from step 0
    to the last step from the start, so that the axis has its length before the run does.
    """
    rows = []
    for series, checkpoints in (("learned", learned), ("uniform", uniform)):
        for point in checkpoints:
            rows.append(_mark(series, point.step, 100 * point.accuracy, point.loss))
    chance = 100 / settings.n_values
    ceiling = 100 * float(uniform_ceiling(settings.n_pairs, settings.n_values))
    for step in (0, settings.n_steps):
        rows.append(_mark("chance", step, chance, float(np.log(settings.n_values))))
        rows.append(_mark("ceiling", step, ceiling, np.nan))
    if is_articles_task(settings):
        solved, stalled = int(ABLATION_LEARNED.value), ABLATION_UNIFORM.value
        for step, accuracy, words in (
            (solved, RECALL_LEARNED.value, f"article: solved by step {solved}"),
            (_ARTICLES_N_STEPS, stalled, f"article: {stalled} %"),
        ):
            if step <= settings.n_steps:
                rows.append(_mark("article", step, accuracy, np.nan) | {"Words": words})
    return pd.DataFrame(rows)


def checkpoint_list(learned: Sequence[Checkpoint], uniform: Sequence[Checkpoint]) -> pd.DataFrame:
    """Return accuracy and loss of both runs at every checkpoint that either has reached."""
    frames = [
        pd.DataFrame(
            {
                STEP: [point.step for point in checkpoints],
                f"{name}: {ACCURACY}": [100 * point.accuracy for point in checkpoints],
                f"{name}: {LOSS}": [point.loss for point in checkpoints],
            }
        )
        for name, checkpoints in (("Learned", learned), ("Uniform", uniform))
    ]
    return frames[0].merge(frames[1], on=STEP, how="outer").sort_values(STEP, ignore_index=True)


def measured(
    learned: Sequence[Checkpoint],
    uniform: Sequence[Checkpoint],
    of_learned: Evaluation | None,
    of_uniform: Evaluation | None,
    settings: TrainSettings,
) -> pd.DataFrame:
    """Return what was measured of both heads, beside the article's figures.

    NaN is what is not known yet, does not exist, or was not reported; the article's columns are
    empty for any task but its own.
    """
    same = is_articles_task(settings)
    rows = [_row(SOLVED, solved_at(learned), solved_at(uniform), ABLATION_LEARNED.value, same=same)]
    for quantity, field, article in (
        ("Right answers (%)", "accuracy", RECALL_LEARNED.value),
        ("Weight on the matching pair (%)", "weight_on_match", RECALL_MATCH.value),
        ("Weight on each other pair (%)", "weight_on_other", RECALL_OTHER.value),
        ("Weight on the question (%)", "weight_on_question", RECALL_QUESTION.value),
        ("Match has the highest weight of the pairs (%)", "match_on_top", RECALL_ON_TOP.value),
    ):
        learned_found, uniform_found = (_percent(seen, field) for seen in (of_learned, of_uniform))
        row = _row(quantity, learned_found, uniform_found, article, same=same)
        if field == "accuracy" and same:
            row["Article, uniform"] = ABLATION_UNIFORM.value
        rows.append(row)
    return pd.DataFrame(rows)


def measured_in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Return the measurements as text."""
    quantities = table[QUANTITY].tolist()
    formats = [",.0f" if quantity == SOLVED else ".1f" for quantity in quantities]
    return text_table(
        {
            QUANTITY: quantities,
            "Learned": map(_number, table["Learned"], formats),
            "Uniform": map(_number, table["Uniform"], formats),
            "Article, learned": map(_articles, table["Article, learned"], quantities),
            "Article, uniform": [significant(value, 4) for value in table["Article, uniform"]],
        }
    )


def weights(
    of_learned: Evaluation | None, of_uniform: Evaluation | None, settings: TrainSettings
) -> pd.DataFrame:
    """Return the mean weight on each kind of position, one row for each who and position.

    ``Who`` is learned, uniform, or article; the article only for its own task.
    """
    rows = []
    for who, seen in (("learned", of_learned), ("uniform", of_uniform)):
        if seen is not None:
            found = (seen.weight_on_match, seen.weight_on_other, seen.weight_on_question)
            rows += _positions(who, [np.nan if w is None else 100 * w for w in found])
    if is_articles_task(settings):
        articles = [RECALL_MATCH.value, RECALL_OTHER.value, RECALL_QUESTION.value]
        rows += _positions("article", articles)
    return pd.DataFrame(rows, columns=["Who", "Position", "Meaning", WEIGHT])


def curve_sentence(
    learned: Sequence[Checkpoint],
    uniform: Sequence[Checkpoint],
    settings: TrainSettings,
    of_learned: Evaluation | None = None,
) -> str:
    """Say where both runs are; at the end also whether the task is solved, and the weights.

    Args:
        learned: the learned head's checkpoints so far.
        uniform: the uniform head's.
        settings: of both.
        of_learned: what the learned head does with fresh sequences, once it is trained.
    """
    if not learned:
        return "No checkpoint yet."
    parts = [f"Step {learned[-1].step:,} of {settings.n_steps:,}:"]
    parts.append(f"learned {100 * learned[-1].accuracy:.1f} % right")
    if uniform:
        parts.append(f"and uniform {100 * uniform[-1].accuracy:.1f} %.")
    else:
        parts[-1] += "."
    solved = solved_at(learned)
    if not np.isnan(solved):
        parts.append(f"The learned head had every test sequence right at step {solved:,.0f}.")
    elif learned[-1].step == settings.n_steps:
        parts.append("The learned head never had every test sequence right.")
    if of_learned is not None:
        parts.append(
            f"Weight: {100 * of_learned.weight_on_match:.0f} % on the matching pair, "
            f"{100 * of_learned.weight_on_question:.0f} % on the question."
        )
    return " ".join(parts)


def ceiling_sentence(settings: TrainSettings) -> str:
    """Say what the ceiling bounds, and how far a sample may lie from it."""
    ceiling = float(uniform_ceiling(settings.n_pairs, settings.n_values))
    words = f"The ceiling, {100 * ceiling:.1f} %, is the best that even attention can do on average"
    error = 100 * standard_error(ceiling, N_TEST)
    if not error:
        return f"{words}: with one pair, always."
    return (
        f"{words}. {N_TEST:,} test sequences are a sample, whose share moves by about "
        f"±{error:.1f} percentage points (one standard error), so the uniform head can be measured "
        "above its ceiling."
    )


def loss_sentence(
    learned: Sequence[Checkpoint], uniform: Sequence[Checkpoint], settings: TrainSettings
) -> str:
    """Say what the loss of each run is at its last checkpoint, beside that of blind guessing."""
    parts = [
        f"{name} {significant(points[-1].loss)} at step {points[-1].step:,}"
        for name, points in (("learned", learned), ("uniform", uniform))
        if points
    ]
    blind = f"guessing blindly ln {settings.n_values} = {significant(np.log(settings.n_values))}"
    return f"Loss in nats: {', '.join([*parts, blind])}."


def weights_sentence(of_learned: Evaluation | None) -> str:
    """Say where the learned head looks."""
    if of_learned is None:
        return "The fresh sequences are asked when the training has ended."
    seen = of_learned
    return (
        f"Over {seen.n_sequences:,} fresh sequences the learned head puts "
        f"{100 * seen.weight_on_match:.1f} % of the question's weight on the matching pair and "
        f"{100 * seen.weight_on_question:.1f} % on the question itself; the match has the highest "
        f"weight of the pairs in {100 * seen.match_on_top:.1f} % of them."
    )


def looked_sentence(of_learned: Evaluation) -> str:
    """Say in few words where the learned head looks, on average."""
    parts = [
        f"{100 * of_learned.weight_on_match:.0f} % at the matching pair",
        f"{100 * of_learned.weight_on_question:.0f} % at the question itself",
    ]
    if of_learned.weight_on_other is not None:
        parts.append(f"{100 * of_learned.weight_on_other:.1f} % at each other pair")
    return f"{', '.join(parts)}; {100 * of_learned.accuracy:.0f} % of the answers are right."


def why_there(of_learned: Evaluation) -> str:
    """Say what training makes of the weight, or that this head has not learned the task.

    Why the question gets the share it gets is left to the page that asks for it first.
    """
    if of_learned.accuracy < LEARNED_ACCURACY:
        return (
            f"With {100 * of_learned.accuracy:.0f} % right answers this head has not learned the "
            "task: where it looks says little."
        )
    return (
        "The head only hears how wrong its answers are. Another pair's value can spoil one, so "
        "training takes the weight off the other pairs. The question holds no value: weight on it "
        "spoils no answer. How much stays there is what “Why the question” looks into."
    )


def solved_at(checkpoints: Sequence[Checkpoint]) -> float:
    """Return the step of the first checkpoint with every test sequence right, or NaN."""
    return next((float(point.step) for point in checkpoints if point.accuracy == 1), np.nan)


def is_articles_task(settings: TrainSettings) -> bool:
    """Whether pairs, keys and values are the article's; its text gives no other sizes."""
    articles = (ABLATION_N_PAIRS, ABLATION_N_KEYS, ABLATION_N_VALUES)
    return (settings.n_pairs, settings.n_keys, settings.n_values) == articles


def _mark(series: str, step: int, accuracy: float, loss: float) -> dict[str, object]:
    words = f"{series} {accuracy:.1f} %"
    return {"Series": series, STEP: step, ACCURACY: accuracy, LOSS: loss, "Words": words}


def _row(
    quantity: str,
    learned: float,
    uniform: float,
    article: float,
    *,
    same: bool,
) -> dict[str, object]:
    return {
        QUANTITY: quantity,
        "Learned": learned,
        "Uniform": uniform,
        "Article, learned": article if same else np.nan,
        "Article, uniform": np.nan,
    }


def _percent(evaluation: Evaluation | None, field: str) -> float:
    value = None if evaluation is None else getattr(evaluation, field)
    return np.nan if value is None else 100 * value


def _positions(who: str, percent: list[float]) -> list[dict[str, object]]:
    names = ("matching pair", "other pairs", "question")
    labels = ("the matching pair", "each other pair", "the question")
    return [
        {"Who": who, "Position": label, "Meaning": name, WEIGHT: value}
        for name, label, value in zip(names, labels, percent, strict=True)
    ]


def _number(value: float, form: str) -> str:
    return "—" if np.isnan(value) else format(value, form)


def _articles(value: float, quantity: str) -> str:
    words = significant(value, 4)
    if np.isnan(value):
        return words
    if quantity == SOLVED:
        return f"{words} at most"
    return f"about {words}" if quantity.startswith("Weight") else words
