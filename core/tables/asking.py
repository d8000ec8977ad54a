"""Tables of one question that was asked of the recall model."""

import pandas as pd

from core.asking import Reply


def reply_tokens(reply: Reply) -> pd.DataFrame:
    """Return a row for each token: what it is, its score, and its weight."""
    tokens = [
        (f"key {key}, value {value}", "matching pair" if key == reply.question else "other pairs")
        for key, value in zip(reply.keys, reply.values, strict=True)
    ]
    tokens.append((f"question: key {reply.question}", "question"))
    return pd.DataFrame(
        {
            "Token": [token for token, _ in tokens],
            "Meaning": [meaning for _, meaning in tokens],
            "Score (no unit)": reply.scores,
            "Weight (%)": 100 * reply.weights,
        }
    )


def reply_values(reply: Reply) -> pd.DataFrame:
    """Return a row for each value: its logit and its probability."""
    n_values = len(reply.probabilities)
    return pd.DataFrame(
        {
            "Value": [f"value {i}" for i in range(n_values)],
            "Meaning": [
                "right answer" if i == reply.right else "other values" for i in range(n_values)
            ],
            "Logit (no unit)": reply.logits,
            "Probability (%)": 100 * reply.probabilities,
        }
    )


def reply_sentence(reply: Reply) -> str:
    """Say what the model answered, and whether that is right."""
    probability = 100 * float(reply.probabilities[reply.predicted])
    answer = f"The answer is value {reply.predicted}, with probability {probability:.1f} %"
    if reply.right is None:
        return f"{answer}. No pair has key {reply.question}, so no answer is right."
    if reply.right == reply.predicted:
        return f"{answer}. That is right."
    return f"{answer}. The right answer is value {reply.right}."
